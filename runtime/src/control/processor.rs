//! Where threads run that take turns: all on one processor.
//!
//! One runs at a time, so they need no more. To wake a thread on another processor, which
//! has gone to sleep meanwhile, takes several times as long as to go on with it on the one
//! that is just becoming free. So who gives its turn away binds the next thread, which
//! sleeps, to the processor that is [home](HOME), unless it is already.
//!
//! That nobody else may notice: a thread is free while it starts another process, counts
//! processors, or is no longer waited for. Programs that decide by themselves where their
//! threads run are left alone from then on. If others want the same processor, home is
//! somewhere else soon.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use super::is_on;
use super::roster::Roster;
use crate::interpose::Errno;
use crate::tls::hot;

/// The processor for those who have the turn.
static HOME: AtomicI32 = AtomicI32::new(NOWHERE);
const NOWHERE: i32 = -1;
/// Where the thread that made this one was, if that.
const INHERITED: i32 = -2;
/// Where threads may run that are not bound.
static ANYWHERE: OnceLock<libc::cpu_set_t> = OnceLock::new();

/// Control begins: home is here. All threads may run wherever the current one may.
pub(super) fn init() {
    let _errno = Errno::keep();
    let mut anywhere = nowhere();
    let size = size_of_val(&anywhere);
    // SAFETY: a set of that size, and a question.
    unsafe {
        let found = libc::syscall(libc::SYS_sched_getaffinity, 0, size, &raw mut anywhere);
        if found > 0 && libc::CPU_COUNT(&anywhere) > 1 {
            ANYWHERE.get_or_init(|| anywhere);
            HOME.store(libc::sched_getcpu(), Ordering::Relaxed);
        }
    }
}

/// Whether threads come home.
pub(super) fn is_shared() -> bool {
    HOME.load(Ordering::Relaxed) != NOWHERE
}

/// Where a thread is bound to.
pub(super) struct Bond(AtomicI32);

impl Default for Bond {
    fn default() -> Self {
        Self(AtomicI32::new(INHERITED))
    }
}

impl Bond {
    /// It is that of a new thread.
    pub(super) fn renew(&self) {
        self.0.store(INHERITED, Ordering::Relaxed);
    }

    /// The thread is to run at home.
    pub(super) fn tie(&self, thread: c_int) {
        let home = HOME.load(Ordering::Relaxed);
        if home == self.0.load(Ordering::Relaxed) || home == NOWHERE {
            return;
        }
        let mut only = nowhere();
        // SAFETY: a set, in which there is room for all that systems have.
        unsafe { libc::CPU_SET(home as usize % libc::CPU_SETSIZE as usize, &mut only) };
        self.0.store(home, Ordering::Relaxed);
        bind(thread, &only);
    }

    /// It may run anywhere.
    pub(super) fn loosen(&self, thread: c_int) {
        if self.0.swap(NOWHERE, Ordering::Relaxed) != NOWHERE
            && let Some(anywhere) = ANYWHERE.get()
        {
            bind(thread, anywhere);
        }
    }
}

fn nowhere() -> libc::cpu_set_t {
    // SAFETY: zeroes are a set.
    unsafe { std::mem::zeroed() }
}

fn bind(thread: c_int, to: &libc::cpu_set_t) {
    let _errno = Errno::keep();
    let (size, to) = (size_of_val(to), std::ptr::from_ref(to));
    // SAFETY: a set of that size. If it fails, that is as well.
    unsafe { libc::syscall(libc::SYS_sched_setaffinity, thread, size, to) };
}

/// The current thread may run anywhere until it has its next turn: what it starts is as free
/// as it is, and it may look.
pub(crate) fn loosen_me() {
    if !is_on() || !is_shared() {
        return;
    }
    // SAFETY: our own block, and a thread stays while it is in it.
    let number = unsafe { (*hot()).home.as_ref().map(|home| home.number) };
    let Some(number) = number else {
        return;
    };
    if let Some(member) = super::roster().member(number) {
        member.baton.bond.loosen(0);
    }
}

/// The program decides where its threads run, from now on.
pub(crate) fn leave_to_program() {
    if is_on() && HOME.swap(NOWHERE, Ordering::Relaxed) != NOWHERE {
        for member in super::roster().members.iter().flatten() {
            member.baton.bond.loosen(member.os_id);
        }
    }
}

/// Notices that others want the processor that is home.
pub(super) struct Crowd {
    since: Instant,
    used: Duration,
}

impl Crowd {
    /// How long one looks.
    const WHILE: Duration = Duration::from_millis(25);

    pub(super) fn new() -> Self {
        Self {
            since: Instant::now(),
            used: used(),
        }
    }

    /// Somebody has had the turn since the last time: if the program got little of the
    /// processor, home may be somewhere else from now on. Not each time: the others may go.
    pub(super) fn avoid(&mut self, roster: &mut Roster) {
        let passed = self.since.elapsed();
        if passed < Self::WHILE || !is_shared() {
            return;
        }
        let got = used().saturating_sub(self.used);
        *self = Self::new();
        let is_crowded = got < passed.mul_f64(0.7);
        if !is_crowded || (passed.subsec_nanos() / 64).is_multiple_of(2) {
            return;
        }
        HOME.store(next(HOME.load(Ordering::Relaxed)), Ordering::Relaxed);
        let running = roster.running.and_then(|number| roster.member(number));
        if let Some(member) = running {
            member.baton.bond.tie(member.os_id);
        }
    }

    /// Nobody had it.
    pub(super) fn forget(&mut self) {
        *self = Self::new();
    }
}

/// What the program has used of processors.
fn used() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a result of that size.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The processor behind one, of those that there are.
fn next(home: i32) -> i32 {
    let most = libc::CPU_SETSIZE;
    let mut others = (1..=most).map(|step| (home + step) % most);
    // SAFETY: within the set.
    let may_be = |&number: &i32| {
        ANYWHERE
            .get()
            .is_some_and(|all| unsafe { libc::CPU_ISSET(number as usize, all) })
    };
    others.find(may_be).unwrap_or(home)
}
