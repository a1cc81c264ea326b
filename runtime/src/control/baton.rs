//! The sign by which a thread learns that it is its turn.
//!
//! Mostly it goes on on the same [`processor`] then. To be woken on another one takes many
//! microseconds, more than most threads need for what they do in their turn. So there a
//! thread that has given its turn away looks whether it comes back before it goes to sleep,
//! for as long as going to sleep would take: then it never costs more than twice what is
//! best. One looks at a time, since others need the processors, and where that has been in
//! vain, the more seldom the longer it was.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::time::Instant;

use super::processor::{self, Bond};
use crate::interpose::Errno;

/// One for each thread. They stay for ever and are used again, so a sign that
/// comes late does no harm: who gets it looks whether it was meant.
#[derive(Default)]
pub(super) struct Baton {
    state: AtomicU32,
    /// The thread that sleeps, as the kernel knows it.
    sleeper: AtomicI32,
    pub(super) bond: Bond,
}

const ABSENT: u32 = 0;
const HERE: u32 = 1;
/// Absent, and its thread sleeps until it comes.
const AWAITED: u32 = 2;
/// As before, and it is on its way.
const SENT: u32 = 3;

/// Nanoseconds for which a thread looks before it goes to sleep.
const WHILE: u128 = 8_000;
/// Looks between two at the clock.
const LOOKS: u32 = 16;

/// Whether a thread is looking.
static LOOKING: AtomicBool = AtomicBool::new(false);
/// How well that has worked lately.
static LUCK: AtomicU32 = AtomicU32::new(MOST_LUCK);
const MOST_LUCK: u32 = 8;
/// Threads that will go to sleep at once before one looks nevertheless.
static SLEEPERS: AtomicU32 = AtomicU32::new(0);
/// How many it were the last time. They double each time that it was in vain.
static RESIGNATION: AtomicU32 = AtomicU32::new(LEAST_RESIGNATION);
const LEAST_RESIGNATION: u32 = 32;
const MOST_RESIGNATION: u32 = 4096;

impl Baton {
    /// A thread that waits, or will, goes on.
    pub(super) fn give(&self) {
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        let sleeps = self.state.compare_exchange(AWAITED, SENT, acquire, relaxed);
        if sleeps.is_ok() {
            self.bond.tie(self.sleeper.load(relaxed));
        }
        if matches!(self.state.swap(HERE, Ordering::AcqRel), AWAITED | SENT) {
            self.futex(libc::FUTEX_WAKE, 1);
        }
    }

    /// Waits until it is given.
    pub(super) fn take(&self) {
        if self.comes_soon() {
            return;
        }
        let _errno = Errno::keep();
        // SAFETY: asks who we are.
        let me = unsafe { libc::gettid() };
        self.sleeper.store(me, Ordering::Relaxed);
        while !self.try_take() {
            if let Some(absent) = self.announce() {
                self.futex(libc::FUTEX_WAIT, absent);
            }
        }
    }

    /// Whether its thread sleeps, and nobody has given it.
    pub(super) fn is_awaited(&self) -> bool {
        self.state.load(Ordering::Relaxed) == AWAITED
    }

    /// Looks for it for a while, if that is worthwhile and nobody else does.
    fn comes_soon(&self) -> bool {
        if processor::is_shared() {
            return self.try_take();
        }
        let relaxed = Ordering::Relaxed;
        let luck = LUCK.load(relaxed);
        if luck == 0 {
            let sleepers = SLEEPERS.load(relaxed);
            SLEEPERS.store(sleepers.saturating_sub(1), relaxed);
            if sleepers > 0 {
                return self.try_take();
            }
        }
        if LOOKING.swap(true, relaxed) {
            return self.try_take();
        }
        let came = self.looks();
        LOOKING.store(false, relaxed);
        if luck == 0 {
            let resignation = match came {
                true => LEAST_RESIGNATION,
                false => MOST_RESIGNATION.min(2 * RESIGNATION.load(relaxed)),
            };
            RESIGNATION.store(resignation, relaxed);
            SLEEPERS.store(resignation, relaxed);
        }
        let luck = match came {
            true => MOST_LUCK.min(luck + 1),
            false => luck.saturating_sub(1),
        };
        LUCK.store(luck, relaxed);
        came
    }

    fn looks(&self) -> bool {
        let since = Instant::now();
        loop {
            for _ in 0..LOOKS {
                if self.try_take() {
                    return true;
                }
                std::hint::spin_loop();
            }
            if since.elapsed().as_nanos() > WHILE {
                return false;
            }
        }
    }

    /// Lets the giver know that somebody sleeps: how it is absent, unless it has come
    /// meanwhile.
    fn announce(&self) -> Option<u32> {
        let (release, relaxed) = (Ordering::Release, Ordering::Relaxed);
        let before = self
            .state
            .compare_exchange(ABSENT, AWAITED, release, relaxed);
        match before {
            Ok(_) => Some(AWAITED),
            Err(HERE) => None,
            Err(absent) => Some(absent),
        }
    }

    fn try_take(&self) -> bool {
        self.state.load(Ordering::Relaxed) == HERE
            && self.state.swap(ABSENT, Ordering::Acquire) == HERE
    }

    fn futex(&self, operation: i32, value: u32) {
        let operation = operation | libc::FUTEX_PRIVATE_FLAG;
        let forever = std::ptr::null::<libc::timespec>();
        // SAFETY: a word that stays, and what the call takes.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.state.as_ptr(),
                operation,
                value,
                forever,
            )
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baton_is_awaited_until_it_is_given_however_late() {
        let baton = Baton::default();
        assert!(!baton.is_awaited());
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| baton.take());
            while !baton.is_awaited() {
                std::thread::yield_now();
            }
            baton.give();
            assert!(!baton.is_awaited());
            thread.join().unwrap();
        });
        assert!(!baton.is_awaited());
    }
}
