//! The sign by which a thread learns that it is its turn.
//!
//! To be woken takes several microseconds, more than most threads need for what they do
//! in their turn. So a thread that has given its turn away looks whether it comes back
//! before it goes to sleep, for as long as going to sleep would take: then it never costs
//! more than twice what is best. One looks at a time, since others need the processors,
//! and where that has been in vain, the more seldom the longer it was.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use crate::interpose::Errno;

/// One for each thread. They stay for ever and are used again, so a sign that
/// comes late does no harm: who gets it looks whether it was meant.
#[derive(Default)]
pub(super) struct Baton(AtomicU32);

const ABSENT: u32 = 0;
const HERE: u32 = 1;
/// Absent, and its thread sleeps until it comes.
const AWAITED: u32 = 2;

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
        if self.0.swap(HERE, Ordering::AcqRel) == AWAITED {
            self.futex(libc::FUTEX_WAKE, 1);
        }
    }

    /// Waits until it is given.
    pub(super) fn take(&self) {
        if self.comes_soon() {
            return;
        }
        let _errno = Errno::keep();
        while !self.try_take() {
            if self.is_announced() {
                self.futex(libc::FUTEX_WAIT, AWAITED);
            }
        }
    }

    /// Whether its thread sleeps, and nobody has given it.
    pub(super) fn is_awaited(&self) -> bool {
        self.0.load(Ordering::Relaxed) == AWAITED
    }

    /// Looks for it for a while, if that is worthwhile and nobody else does.
    fn comes_soon(&self) -> bool {
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

    /// Lets the giver know that somebody sleeps; false if it has come meanwhile.
    fn is_announced(&self) -> bool {
        let relaxed = Ordering::Relaxed;
        let before = self.0.compare_exchange(ABSENT, AWAITED, relaxed, relaxed);
        before != Err(HERE)
    }

    fn try_take(&self) -> bool {
        self.0.load(Ordering::Relaxed) == HERE && self.0.swap(ABSENT, Ordering::Acquire) == HERE
    }

    fn futex(&self, operation: i32, value: u32) {
        let operation = operation | libc::FUTEX_PRIVATE_FLAG;
        let forever = std::ptr::null::<libc::timespec>();
        // SAFETY: a word that stays, and what the call takes.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), operation, value, forever) };
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
