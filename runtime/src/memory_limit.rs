//! A limit to the memory of the process, by the option `memory_limit_mb`.
//!
//! What is remembered of accesses can be forgotten at any time: races between
//! accesses before and after that moment are missed, all others are found as
//! before. A thread of our own looks at the size of the process ten times a second
//! and lets everything be forgotten when it has grown half way to the limit.
//!
//! The thread begins with the program's first one, or at once if the option
//! `force_background_thread` says so, and ends with its last. While it looks,
//! nobody else is in the runtime: a process that is copied meanwhile finds
//! nothing half done.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::memory::PAGE;
use crate::signals::Blocked;
use crate::sweep::{self, Pause};
use crate::thread::Visit;
use crate::tls::hot;
use crate::{options, output, registry};

const PERIOD: Duration = Duration::from_millis(100);

/// The thread that looks, or 0. No handle is 1: that one is being made.
static HANDLE: AtomicUsize = AtomicUsize::new(0);
static DISMISSED: AtomicBool = AtomicBool::new(false);
const IN_THE_MAKING: usize = 1;

/// Begins to look, if there is a limit and nobody looks yet.
pub(crate) fn watch() {
    let first = || {
        HANDLE
            .compare_exchange(0, IN_THE_MAKING, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    };
    if options::get().memory_limit_mb == 0 || !first() {
        return;
    }
    let _visit = Visit::begin();
    let _blocked = Blocked::begin();
    DISMISSED.store(false, Ordering::Relaxed);
    // SAFETY: the thread takes no argument, and the handle is written before it is
    // used.
    unsafe {
        let mut handle = std::mem::zeroed();
        let none = std::ptr::null_mut();
        let made = libc::pthread_create(&raw mut handle, std::ptr::null(), look, none) == 0;
        let known = if made { handle as usize } else { 0 };
        HANDLE.store(known, Ordering::Relaxed);
    }
}

/// A thread of the program has ended. With the last one we end, too, for the
/// process ends with its last thread.
pub(crate) fn thread_ended() {
    if HANDLE.load(Ordering::Relaxed) == 0 || registry::anybody_left() {
        return;
    }
    DISMISSED.store(true, Ordering::Relaxed);
    let handle = HANDLE.swap(0, Ordering::Relaxed);
    if handle != 0 {
        // SAFETY: the thread that was made above; only who has swapped waits for it.
        unsafe { libc::pthread_join(handle as libc::pthread_t, std::ptr::null_mut()) };
    }
}

/// Whether a thread of ours looks.
pub(crate) fn is_watched() -> bool {
    HANDLE.load(Ordering::Relaxed) != 0
}

/// This is a copy of the process, in which nobody looks.
pub(crate) fn in_child() {
    HANDLE.store(0, Ordering::Relaxed);
}

extern "C" fn look(_: *mut c_void) -> *mut c_void {
    // SAFETY: our own block. What the C library does for this thread is not the
    // program's doing.
    unsafe { (*hot()).gone = 1 };
    let mut guard = Guard {
        limit: options::get().memory_limit_mb << 20,
        left: 0,
    };
    loop {
        std::thread::sleep(PERIOD);
        if DISMISSED.load(Ordering::Relaxed) {
            return std::ptr::null_mut();
        }
        let pause = Pause::begin();
        let now = resident();
        let verbose = options::get().verbosity > 0;
        if verbose {
            output::write(&format!(
                "ThreadSanitizer: memory flush check RSS={} LAST={} LIMIT={}\n",
                now >> 20,
                guard.left >> 20,
                guard.limit >> 20
            ));
        }
        if guard.is_due(now) {
            sweep::forget_all(&pause);
            guard.left = resident();
            if verbose {
                output::write(&format!(
                    "ThreadSanitizer: memory flushed RSS={}\n",
                    guard.left >> 20
                ));
            }
        }
    }
}

/// When it is time to forget. Sizes are in bytes.
struct Guard {
    limit: u64,
    /// What was left the last time.
    left: u64,
}

impl Guard {
    /// Whether a process of that size has come half way from what was left to the
    /// limit. One that is beyond the limit by itself is let grow by an eighth, or
    /// it would do nothing but forget.
    fn is_due(&self, now: u64) -> bool {
        now > self.left.midpoint(self.limit) && now > self.left + self.left / 8
    }
}

/// How much memory the process has, in bytes.
fn resident() -> u64 {
    let sizes = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = sizes.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * PAGE as u64
}

#[cfg(test)]
mod tests {
    use super::Guard;

    #[test]
    fn forgetting_is_due_half_way_to_the_limit() {
        let guard = |left| Guard { limit: 1000, left };
        assert!(!guard(0).is_due(500));
        assert!(guard(0).is_due(501));
        assert!(!guard(400).is_due(700));
        assert!(guard(400).is_due(701));
        // What cannot be helped is not tried again and again.
        assert!(!guard(2000).is_due(2200));
        assert!(guard(2000).is_due(2300));
    }

    #[test]
    fn the_process_has_some_memory() {
        assert!(super::resident() > 1 << 16);
    }
}
