//! The sign by which a thread learns that it is its turn.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::interpose::Errno;

/// One for each thread. They stay for ever and are used again, so a sign that
/// comes late does no harm: who gets it looks whether it was meant.
#[derive(Default)]
pub(super) struct Baton(AtomicU32);

const ABSENT: u32 = 0;
const HERE: u32 = 1;

/// Looks before a thread goes to sleep: the other one may be about to give it back.
const LOOKS: u32 = 100;

impl Baton {
    /// A thread that waits, or will, goes on.
    pub(super) fn give(&self) {
        self.0.store(HERE, Ordering::Release);
        self.futex(libc::FUTEX_WAKE, 1);
    }

    /// Waits until it is given.
    pub(super) fn take(&self) {
        let _errno = Errno::keep();
        for _ in 0..LOOKS {
            if self.try_take() {
                return;
            }
            std::hint::spin_loop();
        }
        while !self.try_take() {
            self.futex(libc::FUTEX_WAIT, ABSENT);
        }
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
