//! The sign by which a thread learns that it is its turn.
//!
//! To be woken takes several microseconds, more than most threads need for what they do
//! in their turn. So a thread that has given its turn away looks for a while whether it
//! comes back before it goes to sleep: one at a time, since others need the processors,
//! and seldom where that has been in vain.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::interpose::Errno;

/// One for each thread. They stay for ever and are used again, so a sign that
/// comes late does no harm: who gets it looks whether it was meant.
#[derive(Default)]
pub(super) struct Baton(AtomicU32);

const ABSENT: u32 = 0;
const HERE: u32 = 1;
/// Absent, and its thread sleeps until it comes.
const AWAITED: u32 = 2;

/// Looks before a thread goes to sleep: some tens of microseconds.
const LOOKS: u32 = 2000;

/// Whether a thread is looking.
static LOOKING: AtomicBool = AtomicBool::new(false);
/// How well that has worked lately.
static LUCK: AtomicU32 = AtomicU32::new(MOST_LUCK);
const MOST_LUCK: u32 = 8;
/// Threads that have gone to sleep at once, one of so many looks nevertheless.
static SLEEPERS: AtomicU32 = AtomicU32::new(0);
const STUBBORN: u32 = 32;

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

    /// Looks for it for a while, if that is worthwhile and nobody else does.
    fn comes_soon(&self) -> bool {
        let luck = LUCK.load(Ordering::Relaxed);
        let is_worthwhile = luck > 0
            || SLEEPERS
                .fetch_add(1, Ordering::Relaxed)
                .is_multiple_of(STUBBORN);
        if !is_worthwhile || LOOKING.swap(true, Ordering::Relaxed) {
            return self.try_take();
        }
        let mut looks = 0..LOOKS;
        let came = looks.any(|_| {
            std::hint::spin_loop();
            self.try_take()
        });
        LOOKING.store(false, Ordering::Relaxed);
        let luck = match came {
            true => MOST_LUCK.min(luck + 1),
            false => luck.saturating_sub(1),
        };
        LUCK.store(luck, Ordering::Relaxed);
        came
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
