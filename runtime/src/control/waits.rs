//! What threads wait for, primitive by primitive: each as the C library has it,
//! but by way of the [`roster`](super::roster).

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

use racehound_trace::{Loc, MemoryOrder, Mode, Op, ThreadId};

use super::clock::Until;
use super::roster::{self, Arrival, Roster, Standing, Want};
use super::turn::{Came, Turn, cancellation_point};
use super::{children, doubt, is_guided};
use crate::interpose::{Errno, descriptors};
use crate::shared_memory::{self, Whose};
use crate::signals;
use crate::thread::Visit;

/// A lock, as it is about to be taken.
#[derive(Clone, Copy)]
pub(crate) struct Lock {
    pub(crate) address: usize,
    pub(crate) mode: Mode,
    /// Who holds it can take it again.
    pub(crate) reentrant: bool,
    /// It begins with a word that is zero when it is free.
    pub(crate) word: bool,
}

impl Lock {
    /// A mutex of the C library.
    pub(crate) fn mutex(address: usize, reentrant: bool) -> Self {
        Self {
            address,
            mode: Mode::Exclusive,
            reentrant,
            word: true,
        }
    }

    /// A lock of a library that keeps it where nobody sees it.
    pub(crate) fn of_library(address: usize, reentrant: bool) -> Self {
        Self {
            reentrant,
            ..Self::other(address, Mode::Exclusive)
        }
    }

    /// A lock of another kind.
    pub(crate) fn other(address: usize, mode: Mode) -> Self {
        Self {
            address,
            mode,
            reentrant: false,
            word: false,
        }
    }

    fn want(self) -> Want {
        let Self {
            address,
            mode,
            reentrant,
            word,
        } = self;
        Want::Lock {
            address,
            mode,
            reentrant,
            word,
        }
    }
}

/// Any bits of those that wait for a futex.
pub(crate) const ANY_BITS: u32 = u32::MAX;

impl Turn {
    /// Takes a lock, for which `attempt` only tries; `really` waits for it.
    pub(crate) fn lock(
        &self,
        lock: Lock,
        until: Option<Until>,
        mut attempt: impl FnMut() -> c_int,
        really: impl FnOnce() -> c_int,
    ) -> c_int {
        let Lock {
            address,
            mode,
            reentrant,
            ..
        } = lock;
        let want = lock.want();
        // Who takes a lock again that it can only have once waits for itself: that is told.
        let is_again = |roster: &Roster| {
            (reentrant || mode == Mode::Shared) && self.holds(roster, address, mode)
        };
        let op = |roster: &mut Roster| match is_again(roster) {
            true => None,
            false => Some(Op::Acquire {
                lock: roster.object(address),
                mode,
            }),
        };
        if !self.asking(address, || self.wait(want, until, op)) {
            return libc::ETIMEDOUT;
        }
        let mut result = attempt();
        if result == libc::EBUSY {
            result = self.lock_of_a_stranger(address, really);
        }
        self.took(address, mode, result)
    }

    /// Takes a lock for writing that prefers who waits for that to who wants to read. A
    /// thread that has come to the lock and one that has not yet are told apart, so
    /// coming is a step of its own if the lock is not free.
    pub(crate) fn lock_preferred(
        &self,
        address: usize,
        until: Option<Until>,
        mut attempt: impl FnMut() -> c_int,
        really: impl FnOnce() -> c_int,
    ) -> c_int {
        let mode = Mode::Exclusive;
        let op = |roster: &mut Roster| {
            let lock = roster.object(address);
            Some(Op::Acquire { lock, mode })
        };
        self.asking(address, || self.wait(Want::Nothing, None, op));
        let mut result = match self.is_awaited(address) {
            true => libc::EBUSY,
            false => attempt(),
        };
        if result == libc::EBUSY {
            self.note(|roster| roster.locks.prefer(self.number, address));
            let want = Lock::other(address, mode).want();
            let in_time = self.wait(want, until, |_| None);
            self.note(|roster| roster.no_longer_prefer(self.number, address));
            if !in_time {
                return libc::ETIMEDOUT;
            }
            result = attempt();
        }
        if result == libc::EBUSY {
            result = self.lock_of_a_stranger(address, really);
        }
        self.took(address, mode, result)
    }

    /// Whether the thread holds a lock in this mode already. Taking it again means nothing to
    /// others, and is not recorded either.
    fn holds(&self, roster: &Roster, address: usize, mode: Mode) -> bool {
        let holders = roster.locks.holders(address);
        let is_owner = holders.is_some_and(|holders| holders.owner == Some(self.number));
        is_owner == (mode == Mode::Exclusive) && roster.locks.depth(address, self.number) > 0
    }

    /// Whether the thread holds a lock for itself alone.
    pub(crate) fn owns(&self, lock: usize) -> bool {
        self.note(|roster| {
            let holders = roster.locks.holders(lock);
            holders.is_some_and(|holders| holders.owner == Some(self.number))
        })
    }

    /// Whether somebody waits to write whom the lock prefers.
    fn is_awaited(&self, lock: usize) -> bool {
        self.note(|roster| {
            let holders = roster.locks.holders(lock);
            holders.is_some_and(|holders| !holders.preferred.is_empty())
        })
    }

    /// Takes a lock that somebody has whom we do not see.
    fn lock_of_a_stranger(&self, lock: usize, really: impl FnOnce() -> c_int) -> c_int {
        let whose = {
            let _visit = Visit::begin();
            shared_memory::whose(lock)
        };
        if whose == Some(Whose::Family) {
            return self.among_kin(really);
        }
        let stranger = "is held by another process or by code that is not under control";
        doubt::tell("a lock", stranger);
        self.outside(really)
    }

    /// Tries to take a lock.
    pub(crate) fn try_lock(
        &self,
        (address, mode): (usize, Mode),
        attempt: impl FnOnce() -> c_int,
    ) -> c_int {
        let op = |roster: &mut Roster| match self.holds(roster, address, mode) {
            true => None,
            false => Some(Op::Acquire {
                lock: roster.object(address),
                mode,
            }),
        };
        self.asking(address, || self.wait(Want::Nothing, None, op));
        let result = match self.is_awaited(address) {
            true => libc::EBUSY,
            false => attempt(),
        };
        if self.took(address, mode, result) != 0 {
            self.idles();
        }
        result
    }

    fn took(&self, address: usize, mode: Mode, result: c_int) -> c_int {
        if result == 0 || result == libc::EOWNERDEAD {
            self.note(|roster| {
                roster.locks.taken(self.number, address, mode);
                if let Some(member) = roster.member(self.number) {
                    member.idle = 0;
                }
            });
        }
        result
    }

    /// Gives a lock back.
    pub(crate) fn unlock(&self, address: usize, real: impl FnOnce() -> c_int) -> c_int {
        self.gives_back(address);
        self.act(|roster| {
            if roster.locks.depth(address, self.number) > 1 {
                return None;
            }
            let lock = roster.object(address);
            let mode = match roster.locks.holders(address) {
                Some(holders) if holders.owner.is_none() => Mode::Shared,
                _ => Mode::Exclusive,
            };
            Some(Op::Release { lock, mode })
        });
        let result = real();
        if result == 0 {
            self.note(|roster| roster.given_back(self.number, address));
        }
        result
    }

    /// Is about to wait for a condition: others may come first. From then on until it waits
    /// nobody does.
    pub(crate) fn is_about_to_wait(&self, condition: usize, mutex: usize) {
        cancellation_point();
        self.act(|roster| {
            let (cond, lock) = (roster.object(condition), roster.object(mutex));
            Some(Op::Wait {
                cond,
                lock: Some(lock),
            })
        });
        // It may be since the turn was given away; from now on it interrupts the wait.
        cancellation_point();
    }

    /// Waits for a condition with a mutex that is given up meanwhile.
    pub(crate) fn wait_for_condition(
        &self,
        (condition, mutex): (usize, usize),
        until: Option<Until>,
        unlock: impl FnOnce() -> c_int,
        mut attempt: impl FnMut() -> c_int,
        really: impl FnOnce() -> c_int,
    ) -> c_int {
        let result = unlock();
        if result != 0 {
            return result;
        }
        self.note(|roster| roster.given_back(self.number, mutex));
        let want = Want::Notice {
            condition,
            lock: mutex,
        };
        let op = |roster: &mut Roster| {
            let (cond, lock) = (roster.object(condition), roster.object(mutex));
            Some(Op::Wake {
                cond,
                lock: Some(lock),
                notified: true,
            })
        };
        let came = self.asking(mutex, || self.wait_once(want, self.moment(until), op));
        if came != Came::Fulfilled {
            // The lock may be somebody's.
            self.wait(Lock::mutex(mutex, false).want(), None, |_| None);
        }
        let mut result = attempt();
        if result == libc::EBUSY {
            result = self.lock_of_a_stranger(mutex, really);
        }
        let result = self.took(mutex, Mode::Exclusive, result);
        // Waits may end for no reason.
        cancellation_point();
        match (result, came) {
            (0, Came::TimedOut) => libc::ETIMEDOUT,
            _ => result,
        }
    }

    /// Waits for a condition that another process may notify. While `real` waits the
    /// lock is free.
    pub(crate) fn wait_for_others(&self, mutex: usize, real: impl FnOnce() -> c_int) -> c_int {
        self.touch();
        self.note(|roster| roster.given_back(self.number, mutex));
        let result = self.among_kin(real);
        self.took(mutex, Mode::Exclusive, 0);
        result
    }

    /// Notifies one or all of those who wait for a condition.
    pub(crate) fn notify(&self, condition: usize, everybody: bool) {
        self.act(|roster| {
            let cond = roster.object(condition);
            Some(match everybody {
                true => Op::NotifyAll { cond },
                false => Op::NotifyOne { cond, woken: None },
            })
        });
        let most = match everybody {
            true => usize::MAX,
            false => 1,
        };
        self.note(|roster| {
            roster.tell(
                most,
                |want| matches!(want, Want::Notice { condition: c, .. } if c == condition),
            )
        });
    }

    /// Lowers a semaphore; `attempt` says whether that succeeded. The error, if
    /// any.
    pub(crate) fn take(
        &self,
        semaphore: usize,
        until: Option<Until>,
        mut attempt: impl FnMut() -> bool,
    ) -> c_int {
        cancellation_point();
        let until = self.moment(until);
        signals::interrupted();
        let op = |roster: &mut Roster| {
            let sem = roster.object(semaphore);
            Some(Op::SemWait { sem })
        };
        loop {
            match self.wait_once(Want::Semaphore(semaphore), until, op) {
                // Another process may have been faster.
                Came::Fulfilled if !attempt() => {}
                Came::Fulfilled => return 0,
                Came::TimedOut => return libc::ETIMEDOUT,
                Came::Interrupted => {
                    cancellation_point();
                    if signals::interrupted() {
                        return libc::EINTR;
                    }
                }
            }
        }
    }

    /// Raises a semaphore.
    pub(crate) fn post(&self, semaphore: usize) {
        self.act(|roster| {
            let sem = roster.object(semaphore);
            Some(Op::SemPost { sem })
        });
    }

    /// Waits at a barrier: whether the thread was the last to come. None if nobody
    /// knows how many must come.
    pub(crate) fn meet(&self, barrier: usize) -> Option<bool> {
        self.act(|roster| {
            let barrier = roster.object(barrier);
            Some(Op::BarrierArrive { barrier })
        });
        match self.note(|roster| roster.arrive(barrier))? {
            Arrival::Last => Some(true),
            Arrival::Early(round) => {
                self.wait(Want::Round { barrier, round }, None, |_| None);
                Some(false)
            }
        }
    }

    /// A barrier for so many threads is made.
    pub(crate) fn make_barrier(&self, barrier: usize, size: u32) {
        self.note(|roster| roster.make_barrier(barrier, size));
    }

    /// Waits until a thread has ended. False if it was too late.
    pub(crate) fn await_thread(&self, other: u32, until: Option<Until>) -> bool {
        cancellation_point();
        let child = ThreadId(other);
        let op = |_: &mut Roster| Some(Op::Join { child });
        let until = self.moment(until);
        loop {
            match self.wait_once(Want::End(other), until, op) {
                Came::Fulfilled => return true,
                Came::TimedOut => return false,
                Came::Interrupted => cancellation_point(),
            }
        }
    }

    /// Waits while somebody else does what is to be done once.
    pub(crate) fn before_once(&self, address: usize) {
        self.wait(Want::Once(address), None, |_| None);
    }

    /// The thread begins to do what is to be done once.
    pub(crate) fn begin_once(&self, address: usize) {
        self.note(|roster| roster.begin_once(self.number, address));
    }

    /// It has ended.
    pub(crate) fn end_once(&self, address: usize) {
        self.note(|roster| roster.end_once(address));
    }

    /// Waits for a futex to be woken. The error, if any.
    pub(crate) fn wait_for_futex(&self, futex: usize, bits: u32, until: Option<Until>) -> c_int {
        let want = Want::Wake { futex, bits };
        self.note(|roster| roster.is_futex(futex));
        match self.wait_once(want, self.moment(until), |_| None) {
            Came::Fulfilled => 0,
            Came::TimedOut => libc::ETIMEDOUT,
            Came::Interrupted => libc::EINTR,
        }
    }

    /// Wakes up to `most` of those who wait for a futex; how many it were.
    pub(crate) fn wake_futex(&self, futex: usize, bits: u32, most: usize) -> usize {
        self.act(|_| None);
        self.note(|roster| {
            roster.is_futex(futex);
            roster.tell(
                most,
                |want| matches!(want, Want::Wake { futex: f, bits: b } if f == futex && b & bits != 0),
            )
        })
    }

    /// Lets up to `most` of those who wait for a futex wait for another one; how
    /// many it were.
    pub(crate) fn requeue_futex(&self, futex: usize, to: usize, most: usize) -> usize {
        self.note(|roster| roster.requeue(futex, to, most))
    }

    /// Lets time pass; how many nanoseconds are left if a signal came.
    pub(crate) fn sleep(&self, until: Until) -> u64 {
        cancellation_point();
        let until = self.moment(Some(until));
        self.note(|roster| roster.rests(self.number));
        let came = self.wait_once(Want::Time, until, |_| None);
        cancellation_point();
        match (came, until) {
            (Came::Interrupted, Some(until)) => {
                let now = self.note(|roster| roster.clock.now());
                until.0.saturating_sub(now.0).max(1)
            }
            _ => 0,
        }
    }

    /// Lets others go first.
    pub(crate) fn give_way(&self) {
        self.wait(Want::Nothing, None, |_| None);
        self.idles();
    }

    /// An atomic operation on some bytes. Its effect is seen in memory.
    pub(crate) fn atomic<R>(
        &self,
        (address, size): (usize, usize),
        is_load: bool,
        operation: impl FnOnce() -> R,
    ) -> R {
        let (loc, length, order) = (Loc(address as u64), size as u32, MemoryOrder::SeqCst);
        let op = match is_load {
            true => Op::AtomicLoad {
                loc,
                size: length,
                order,
            },
            false => Op::AtomicRmw {
                loc,
                size: length,
                order,
            },
        };
        let is_shared = {
            let _visit = Visit::begin();
            shared_memory::whose(address).is_some()
        };
        if is_shared {
            children::share();
        }
        if !self.goes_on_locking(is_load) {
            let takes =
                !is_load && is_guided() && self.note(|roster| roster.is_free_futex(address, size));
            match takes {
                true => self.about_to_lock(address, Mode::Exclusive),
                false => _ = self.wait(Want::Nothing, None, |_| Some(op)),
            }
        }
        let bytes = || {
            let mut bytes = [0; 16];
            // SAFETY: the program's atomic of that size, which only we access now.
            unsafe {
                let from = address as *const u8;
                std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), size.min(16));
            };
            bytes
        };
        let before = bytes();
        let result = operation();
        if is_shared {
            children::share();
        }
        if before == bytes() {
            self.idles();
        } else {
            self.note(|roster| {
                roster.changes += 1;
                if let Some(member) = roster.member(self.number) {
                    member.idle = 0;
                }
            });
        }
        result
    }

    /// What clocks show.
    pub(crate) fn look_at_clock(&self, clock: c_int) -> Option<libc::timespec> {
        self.note(|roster| roster.clock.look(clock))
    }

    /// Randomness, as far as the program can tell.
    pub(crate) fn random(&self, bytes: &mut [u8]) {
        self.note(|roster| {
            for part in bytes.chunks_mut(8) {
                let bits = roster.chance.next_u64().to_ne_bytes();
                part.copy_from_slice(&bits[..part.len()]);
            }
        });
    }

    /// Whether something can be done with a descriptor right now: nobody comes in between,
    /// so there is nothing to wait for.
    pub(crate) fn finds_ready(&self, fd: c_int, events: i16) -> bool {
        cancellation_point();
        if descriptors::never_waits(fd) {
            return true;
        }
        let _errno = Errno::keep();
        let mut entry = libc::pollfd {
            fd,
            events,
            revents: 0,
        };
        roster::is_ready(&raw mut entry, 1)
    }

    /// Waits until something can be done with a descriptor.
    pub(crate) fn await_descriptor(&self, fd: c_int, events: i16, until: Option<Until>) -> Came {
        self.await_world(Want::Ready { fd, events }, until, true)
    }

    /// Waits until something can be done with one of many, or a signal was handled.
    pub(crate) fn await_descriptors(
        &self,
        fds: *mut libc::pollfd,
        count: usize,
        until: Option<Until>,
    ) -> Came {
        let fds = fds as usize;
        self.await_world(Want::Polled { fds, count }, until, false)
    }

    /// Waits until a child has something to tell. A child that soon has is waited
    /// for without others going on, so that what they do does not depend on how fast
    /// it is.
    pub(crate) fn await_child(&self, kind: libc::idtype_t, id: u32, options: c_int) {
        const LOOKS: u32 = 1000;
        self.touch();
        let _errno = Errno::keep();
        let soon = || {
            (0..LOOKS).any(|_| {
                let told = roster::has_told(kind, id, options);
                if !told {
                    std::thread::sleep(std::time::Duration::from_micros(500));
                }
                told
            })
        };
        self.note(|roster| roster.excused = true);
        let told = soon();
        self.note(|roster| roster.excused = false);
        if told {
            return;
        }
        doubt::tell("a child process", "runs for long");
        self.await_world(Want::Child { kind, id, options }, None, true);
    }

    /// A wait that was interrupted goes on if it is of a kind that does, unless a
    /// handler has run that lets calls fail.
    fn await_world(&self, want: Want, until: Option<Until>, goes_on: bool) -> Came {
        cancellation_point();
        let _errno = Errno::keep();
        let until = self.moment(until);
        signals::interrupted();
        loop {
            let came = self.wait_once(want, until, |_| None);
            self.admit_that_others_decided();
            cancellation_point();
            if came != Came::Interrupted || !goes_on || signals::interrupted() {
                return came;
            }
        }
    }

    /// Says so if other processes may have decided when the thread goes on, while others
    /// went on.
    fn admit_that_others_decided(&self) {
        static TIMES: AtomicU32 = AtomicU32::new(0);
        let fds = self.note(|roster| roster.was_overtaken_for(self.number));
        // To find out is work, and mostly comes out the same.
        if fds.is_empty() || !(TIMES.fetch_add(1, Ordering::Relaxed) + 1).is_power_of_two() {
            return;
        }
        if fds.into_iter().any(descriptors::depends_on_others) {
            let what = "waits for another process; others go on meanwhile";
            doubt::tell(&format!("T{}", self.number), what);
        }
    }

    /// Does something that waits for a child process where nobody sees it: others wait
    /// along, unless it takes long.
    pub(crate) fn patiently<R>(&self, real: impl FnOnce() -> R) -> R {
        self.touch();
        self.soon(real)
    }

    /// Waits for something that comes soon, however busy the machine is: a thread that has
    /// ended is gone. Nobody goes on meanwhile, unless it takes long.
    pub(crate) fn soon<R>(&self, real: impl FnOnce() -> R) -> R {
        self.note(|roster| roster.excused = true);
        let result = real();
        let _errno = Errno::keep();
        let is_outside = self.note(|roster| {
            roster.excused = false;
            let member = roster.member(self.number);
            member.is_some_and(|member| member.standing == Standing::Outside)
        });
        if is_outside {
            self.wait(Want::Nothing, None, |_| None);
        }
        result
    }

    /// Does something for which one has to wait and of which it cannot be told when
    /// it is possible: tries again when others have changed something or time has
    /// passed, more and more of it. None if that leads nowhere, so that somebody
    /// outside has to help.
    pub(crate) fn persists<R>(&self, mut attempt: impl FnMut() -> Option<R>) -> Option<R> {
        const SOON: u64 = 1_000_000;
        /// By then it is hours.
        const ATTEMPTS: u32 = 24;
        cancellation_point();
        self.touch();
        for round in 0..ATTEMPTS {
            let since = self.note(|roster| roster.changes);
            if let Some(done) = attempt() {
                return Some(done);
            }
            let _errno = Errno::keep();
            self.wait(
                Want::Change { since },
                Some(Until::Passed(SOON << round)),
                |_| None,
            );
            cancellation_point();
        }
        None
    }
}
