//! Control: one thread runs at a time, and a strategy decides which.
//!
//! Before everything that orders threads a thread says what it is about to do and
//! what must be the case before it can, gives the [`baton`] away, and goes on when
//! it has it back. The [`roster`] knows who can go on; the strategy, an oracle from
//! `racehound-schedule`, picks one of them. What a thread does between two such
//! points nobody else sees happen, so the picks alone determine the execution.
//!
//! Threads do not wait in the C library: whoever gets the baton can do what it
//! announced without waiting. So the real operation is only tried, and where it
//! would have to wait nevertheless somebody whom we do not see has the lock.
//!
//! Waiting for a moment is done in virtual time (see [`clock`]). A thread that
//! waits for the outside world goes [outside]: others go on meanwhile, and it has
//! to wait for its turn when it comes back. The [`monitor`] sends those outside who
//! turn out to be there without having said so.
//!
//! # Invariants
//! * No lock of the runtime is held by who waits for the baton, and no
//!   [`Visit`] lasts meanwhile.
//! * A thread that is not on the roster, and a process without control, never get
//!   further than [`Turn::here`].

mod baton;
pub(crate) mod clock;
mod deadlock;
mod meeting;
mod monitor;
mod noise;
mod roster;
mod sites;
pub(crate) mod watch;

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use racehound_schedule::{Plan, Replay, Schedule};
use racehound_trace::{Loc, MemoryOrder, Mode, Op, SiteId, ThreadId};

use crate::context::Context;
use crate::interpose::Errno;
use crate::options;
use crate::spin::{Guard, Locked};
use crate::thread::{self, Visit};
use crate::tls::hot;
use baton::Baton;
use clock::{Moment, Until};
use roster::{Chooser, Next, Roster, Standing, Want};

static ON: AtomicBool = AtomicBool::new(false);
static ROSTER: Locked<Option<Roster>> = Locked::new(None);

/// Whether the process is under control.
#[inline]
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Takes control, if that is wanted. Only the main thread exists.
pub(crate) fn start() {
    let options = options::get();
    let Some(plan) = &options.plan else {
        return;
    };
    if let Plan::ConTest(settings) = plan {
        return noise::start(*settings);
    }
    let chooser = match (plan, plan.strategy(|place| vec![sites::watch(place)])) {
        (_, Some(oracle)) => Chooser::Oracle(oracle),
        (Plan::Replay { file }, None) => Chooser::Replay(Box::new(replay(file))),
        (_, None) => return,
    };
    let mut roster = Roster::new(chooser, !options.schedule_file.is_empty());
    roster.join(0, sites::site(0));
    if let Some(main) = roster.member(0) {
        // SAFETY: asks who we are.
        main.os_id = unsafe { libc::gettid() };
    }
    *ROSTER.lock() = Some(roster);
    ON.store(true, Ordering::Relaxed);
    monitor::start();
}

fn replay(file: &str) -> Replay<sites::Names> {
    let schedule = match std::fs::read_to_string(file) {
        Ok(text) => text.parse::<Schedule>().map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match schedule {
        Ok(schedule) => {
            for name in &schedule.watched {
                sites::watch(name);
            }
            Replay::new(schedule, sites::Names)
        }
        Err(error) => crate::fatal(&format!("{file}: {error}")),
    }
}

/// Whether accesses at some places are watched.
pub(crate) fn is_watching() -> bool {
    is_on() && sites::any_watched()
}

/// The roster, held. There is one while control is on.
pub(crate) struct Held(Guard<'static, Option<Roster>>);

impl std::ops::Deref for Held {
    type Target = Roster;
    fn deref(&self) -> &Roster {
        self.0.as_ref().expect("control is on")
    }
}

impl std::ops::DerefMut for Held {
    fn deref_mut(&mut self) -> &mut Roster {
        self.0.as_mut().expect("control is on")
    }
}

fn roster() -> Held {
    Held(ROSTER.lock())
}

/// Keeps everybody from the roster, if there is one.
pub(crate) fn hold() -> Option<Held> {
    is_on().then(roster)
}

/// Why a turn came.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Came {
    /// What the thread waited for is the case.
    Fulfilled,
    TimedOut,
    /// A signal was handled, or the thread is to be cancelled.
    Interrupted,
}

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

/// A thread under control that is at a point where others may go on.
pub(crate) struct Turn {
    number: u32,
    baton: &'static Baton,
    place: usize,
    site: SiteId,
}

impl Turn {
    /// The current thread, about to do something at `place` on behalf of the
    /// program; none if it is not under control.
    #[inline]
    pub(crate) fn here(place: usize) -> Option<Self> {
        if is_on() {
            return Self::find(place);
        }
        if noise::is_on() {
            noise::make();
        }
        None
    }

    fn find(place: usize) -> Option<Self> {
        // SAFETY: our own block, and a thread stays while it is in it.
        let number = unsafe {
            let hot = hot();
            match (*hot).home.as_ref() {
                Some(home) if (*hot).busy == 0 => home.number,
                _ => return None,
            }
        };
        let _visit = Visit::begin();
        let baton = roster().member(number)?.baton;
        Some(Self {
            number,
            baton,
            place,
            site: sites::site(place),
        })
    }

    /// Changes the roster, with the turn as it is.
    fn note<R>(&self, change: impl FnOnce(&mut Roster) -> R) -> R {
        let _visit = Visit::begin();
        change(&mut roster())
    }

    /// Says what comes next, and waits for the turn to do it, whatever comes in
    /// between. False if it was too late.
    fn wait(
        &self,
        want: Want,
        until: Option<Until>,
        op: impl Fn(&mut Roster) -> Option<Op>,
    ) -> bool {
        let until = self.moment(until);
        loop {
            match self.wait_once(want, until, &op) {
                Came::Fulfilled => return true,
                Came::TimedOut => return false,
                Came::Interrupted => {}
            }
        }
    }

    fn moment(&self, until: Option<Until>) -> Option<Moment> {
        until.map(|until| self.note(|roster| until.moment(roster.clock.now())))
    }

    /// The same, but signals that come in between end the wait.
    fn wait_once(
        &self,
        want: Want,
        until: Option<Moment>,
        op: impl Fn(&mut Roster) -> Option<Op>,
    ) -> Came {
        park(true);
        let context = match sites::is_watched(self.site) {
            true => thread::current().map_or(Context::UNKNOWN, |t| t.context(self.place)),
            false => Context::UNKNOWN,
        };
        let next = self.note(|roster| {
            let op = op(roster);
            let now = roster.clock.now();
            let member = roster.member(self.number).expect("it was found");
            member.standing = Standing::Waiting;
            member.want = want;
            member.until = until;
            member.timed_out = until.is_some_and(|until| until <= now);
            member.told = false;
            member.op = op;
            member.site = self.site;
            member.context = context;
            if matches!(want, Want::Notice { .. } | Want::Wake { .. }) {
                roster.enlist(self.number);
            }
            if roster.running == Some(self.number) {
                roster.running = None;
            }
            roster.next(self.number)
        });
        self.pass(next);
        let came = self.note(|roster| {
            roster.strike(self.number);
            let member = roster.member(self.number).expect("it was found");
            let (timed_out, told) = (member.timed_out, member.told);
            match std::mem::take(&mut member.interrupted) {
                true if !timed_out && !told => Came::Interrupted,
                _ if timed_out && !told => Came::TimedOut,
                _ => Came::Fulfilled,
            }
        });
        park(false);
        came
    }

    /// Gives the baton to whoever is next, and waits until it is back.
    fn pass(&self, next: Next) {
        self.tell_meetings();
        match next {
            Next::Same => return,
            Next::Other(baton) => baton.give(),
            Next::Nobody => {}
            Next::Deadlock => deadlock::report(),
        }
        // SAFETY: our own block.
        if unsafe { (*hot()).pending } != 0 {
            interrupt();
        }
        self.baton.take();
        let leaving = self.note(|roster| std::mem::take(&mut roster.leaving));
        leaving.into_iter().for_each(await_end);
    }

    /// Reports the races that have been brought about.
    fn tell_meetings(&self) {
        let _visit = Visit::begin();
        let met = std::mem::take(&mut roster().met);
        for met in met.iter().filter(|met| met.meeting.pair.is_some()) {
            meeting::report(met);
        }
    }

    /// Something that has an effect on others, and never waits.
    fn act(&self, op: impl Fn(&mut Roster) -> Option<Op>) {
        self.wait(Want::Nothing, None, op);
        self.note(|roster| {
            roster.changes += 1;
            if let Some(member) = roster.member(self.number) {
                member.idle = 0;
            }
        });
    }

    /// What was done had no effect: a thread that does nothing else for long waits
    /// for somebody to change something, or for time to pass.
    fn idles(&self) {
        /// So many steps may be by chance.
        const PATIENCE: u32 = 8;
        /// After that time others may have changed something that we do not see.
        const LONGEST: u64 = 1_000_000;
        let since = self.note(|roster| {
            let since = roster.changes;
            let member = roster.member(self.number).expect("it was found");
            member.idle += 1;
            let spins = member.idle > PATIENCE;
            if spins {
                roster.yields(self.number);
            }
            spins.then_some(since)
        });
        if let Some(since) = since {
            let until = Some(Until::Passed(LONGEST));
            self.wait(Want::Change { since }, until, |_| None);
        }
    }

    /// Takes a lock, for which `attempt` only tries; `really` waits for it.
    pub(crate) fn lock(
        &self,
        lock: Lock,
        until: Option<Until>,
        mut attempt: impl FnMut() -> c_int,
        really: impl FnOnce() -> c_int,
    ) -> c_int {
        let Lock { address, mode, .. } = lock;
        let want = lock.want();
        let op = |roster: &mut Roster| {
            let lock = roster.object(address);
            Some(Op::Acquire { lock, mode })
        };
        if !self.wait(want, until, op) {
            return libc::ETIMEDOUT;
        }
        let mut result = attempt();
        if result == libc::EBUSY {
            // Somebody has it whom we do not see.
            result = self.outside(really);
        }
        self.took(address, mode, result)
    }

    /// Tries to take a lock.
    pub(crate) fn try_lock(
        &self,
        (address, mode): (usize, Mode),
        attempt: impl FnOnce() -> c_int,
    ) -> c_int {
        let op = |roster: &mut Roster| {
            let lock = roster.object(address);
            Some(Op::Acquire { lock, mode })
        };
        self.wait(Want::Nothing, None, op);
        let result = self.took(address, mode, attempt());
        if result != 0 {
            self.idles();
        }
        result
    }

    fn took(&self, address: usize, mode: Mode, result: c_int) -> c_int {
        if result == 0 || result == libc::EOWNERDEAD {
            self.note(|roster| {
                roster.taken(self.number, address, mode);
                if let Some(member) = roster.member(self.number) {
                    member.idle = 0;
                }
            });
        }
        result
    }

    /// Gives a lock back.
    pub(crate) fn unlock(&self, address: usize, real: impl FnOnce() -> c_int) -> c_int {
        self.act(|roster| {
            let lock = roster.object(address);
            let mode = match roster.holders(address) {
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

    /// Waits for a condition with a mutex that is given up meanwhile.
    pub(crate) fn wait_for_condition(
        &self,
        (condition, mutex): (usize, usize),
        until: Option<Until>,
        unlock: impl FnOnce() -> c_int,
        mut attempt: impl FnMut() -> c_int,
        really: impl FnOnce() -> c_int,
    ) -> c_int {
        self.act(|roster| {
            let (cond, lock) = (roster.object(condition), roster.object(mutex));
            Some(Op::Wait {
                cond,
                lock: Some(lock),
            })
        });
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
        let came = self.wait_once(want, self.moment(until), op);
        if came != Came::Fulfilled {
            // The lock may be somebody's.
            self.wait(Lock::mutex(mutex, false).want(), None, |_| None);
        }
        let mut result = attempt();
        if result == libc::EBUSY {
            result = self.outside(really);
        }
        let result = self.took(mutex, Mode::Exclusive, result);
        // Waits may end for no reason.
        cancellation_point();
        match (result, came) {
            (0, Came::TimedOut) => libc::ETIMEDOUT,
            _ => result,
        }
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
        let until = self.moment(until);
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
                    return libc::EINTR;
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
            Err(()) => Some(true),
            Ok(round) => {
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

    /// It has ended, or was given up.
    pub(crate) fn end_once(&self, address: usize) {
        self.note(|roster| roster.end_once(address));
    }

    /// Waits for a futex to be woken. The error, if any.
    pub(crate) fn wait_for_futex(&self, futex: usize, bits: u32, until: Option<Until>) -> c_int {
        let want = Want::Wake { futex, bits };
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
        let until = self.moment(Some(until));
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
        self.wait(Want::Nothing, None, |_| Some(op));
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

    /// Something happens that others may wait for.
    pub(crate) fn touch(&self) {
        self.act(|_| None);
    }

    /// Waits until something can be done with a descriptor.
    pub(crate) fn await_descriptor(&self, fd: c_int, events: i16, until: Option<Until>) -> bool {
        let want = Want::Ready { fd, events };
        self.await_world(want, until)
    }

    /// Waits until something can be done with one of many.
    pub(crate) fn await_descriptors(
        &self,
        fds: *mut libc::pollfd,
        count: usize,
        until: Option<Until>,
    ) -> bool {
        let fds = fds as usize;
        self.await_world(Want::Polled { fds, count }, until)
    }

    /// Waits until a child has something to tell. A child that soon has is waited
    /// for without others going on, so that what they do does not depend on how fast
    /// it is.
    pub(crate) fn await_child(&self, kind: libc::idtype_t, id: u32, options: c_int) {
        const LOOKS: u32 = 200;
        self.touch();
        let _errno = Errno::keep();
        for _ in 0..LOOKS {
            if roster::has_told(kind, id, options) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_micros(500));
        }
        self.await_world(Want::Child { kind, id, options }, None);
    }

    /// False if it was too late, or a signal came.
    fn await_world(&self, want: Want, until: Option<Until>) -> bool {
        let _errno = Errno::keep();
        let came = self.wait_once(want, self.moment(until), |_| None);
        cancellation_point();
        came == Came::Fulfilled
    }

    /// Does something that may wait for the outside world: others go on meanwhile.
    pub(crate) fn outside<R>(&self, real: impl FnOnce() -> R) -> R {
        let next = self.note(|roster| {
            let member = roster.member(self.number).expect("it was found");
            member.standing = Standing::Outside;
            if roster.running == Some(self.number) {
                roster.running = None;
            }
            roster.next(self.number)
        });
        if let Next::Other(baton) = next {
            baton.give();
        }
        let result = real();
        let _errno = Errno::keep();
        self.wait(Want::Nothing, None, |_| None);
        result
    }

    /// The thread makes another one, whose number is known already.
    pub(crate) fn fork(&self, child: u32) {
        self.act(|_| {
            let child = ThreadId(child);
            Some(Op::Fork { child })
        });
        self.note(|roster| roster.join(child, self.site));
    }

    /// There is no such thread after all.
    pub(crate) fn never_began(&self, child: u32) {
        self.note(|roster| roster.members[child as usize] = None);
    }
}

/// The thread begins to wait for its turn, or has it.
fn park(parked: bool) {
    let hot = hot();
    // SAFETY: our own block.
    unsafe {
        (&raw mut (*hot).parked).write_volatile(u32::from(parked));
        if !parked && (*hot).pending != 0 {
            crate::signals::deliver();
        }
    }
}

/// Ends the thread here if somebody wants that.
fn cancellation_point() {
    unsafe extern "C" {
        fn pthread_testcancel();
    }
    // SAFETY: nothing of ours is held.
    unsafe { pthread_testcancel() };
}

/// A signal has come for the current thread, which waits for its turn: it has to
/// look after that first.
pub(crate) fn interrupt() {
    // SAFETY: our own block, and a thread stays while it is in it.
    if let Some(number) = unsafe { (*hot()).home.as_ref().map(|home| home.number) } {
        interrupt_thread(number);
    }
}

/// The same for any thread: somebody has cancelled it.
pub(crate) fn interrupt_thread(number: u32) {
    if is_on()
        && let Some(baton) = roster().interrupt(number)
    {
        baton.give();
    }
}

/// A new thread waits for its first turn.
pub(crate) fn begin(number: u32) {
    if !is_on() {
        return;
    }
    let baton = {
        let _visit = Visit::begin();
        let mut roster = roster();
        let Some(member) = roster.member(number) else {
            return;
        };
        // SAFETY: asks who we are.
        member.os_id = unsafe { libc::gettid() };
        member.baton
    };
    baton.take();
}

/// The thread has ended. Signals are blocked.
pub(crate) fn end(number: u32) {
    if !is_on() {
        return;
    }
    let next = {
        let mut roster = roster();
        if roster.member(number).is_none() {
            return;
        }
        roster.leave(number);
        if roster.is_deserted() {
            drop(roster);
            return monitor::dismiss();
        }
        roster.next(u32::MAX)
    };
    match next {
        Next::Other(baton) => baton.give(),
        Next::Deadlock => deadlock::report(),
        Next::Same | Next::Nobody => {}
    }
}

/// Waits until a thread that has ended is gone: what it had, its stack above all,
/// can be had by others only then.
fn await_end(os_id: i32) {
    /// It takes a few dozen microseconds. Should it be kept from ending, so be it.
    const LOOKS: usize = 10_000;
    let _errno = Errno::keep();
    for _ in 0..LOOKS {
        // SAFETY: asks whether there is such a thread.
        unsafe {
            if libc::syscall(libc::SYS_tgkill, libc::getpid(), os_id, 0) != 0 {
                return;
            }
            libc::sched_yield();
        }
    }
}

/// The process was copied: only the current thread is in the copy.
pub(crate) fn in_child() {
    if !is_on() {
        return;
    }
    // SAFETY: our own block, and a thread stays while it is in it.
    let number = unsafe { (*hot()).home.as_ref().map(|home| home.number) };
    {
        let mut roster = roster();
        for (other, member) in roster.members.iter_mut().enumerate() {
            if Some(other as u32) != number {
                *member = None;
            }
        }
        roster.running = number;
        roster.leaving.clear();
        if let Some(member) = number.and_then(|number| roster.member(number)) {
            // SAFETY: asks who we are.
            member.os_id = unsafe { libc::gettid() };
        }
    }
    monitor::start();
}

/// What is said in the end; the schedule is kept, if that is wanted.
pub(crate) fn conclude() -> Option<String> {
    static CONCLUDED: AtomicBool = AtomicBool::new(false);
    if !is_on() || CONCLUDED.swap(true, Ordering::Relaxed) {
        return None;
    }
    let options = options::get();
    let (choices, fingerprint, steps, divergence) = {
        let mut roster = roster();
        let choices = roster.choices.take();
        (
            choices,
            roster.fingerprint,
            roster.steps,
            roster.divergence(),
        )
    };
    let plan = options.plan.as_ref()?;
    let mut text = format!("racehound: schedule {plan}: {steps} steps, hash {fingerprint}\n");
    if let Some(divergence) = divergence {
        text += &format!("racehound: the execution left the schedule at {divergence}\n");
    }
    if let Some(choices) = choices {
        let mut schedule = Schedule::of(&choices, &sites::Names);
        schedule.plan = Some(plan.clone());
        schedule.fingerprint = Some(fingerprint);
        schedule.watched = sites::watched();
        let file = &options.schedule_file;
        if let Err(error) = std::fs::write(file, schedule.to_string()) {
            text += &format!("racehound: {file}: {error}; the schedule is lost\n");
        }
    }
    Some(text)
}
