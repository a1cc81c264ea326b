//! What TSan's own tests use: a barrier that orders nothing, and the depth of
//! the stack.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

use super::is_off;
use crate::interpose::Errno;
use crate::thread::Visit;

/// The word holds how many threads meet in its upper bits, and how often one has
/// come, modulo two rounds, in the others. Two rounds are enough: the one after
/// the next cannot be complete before everybody has left this one.
const COME_BITS: u32 = 17;
const COME: u32 = (1 << COME_BITS) - 1;

/// `__tsan_testonly_barrier_init` of the ABI. Only four bytes are used: newer
/// tests have no more, older ones eight.
///
/// # Safety
/// `barrier` is four aligned bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_testonly_barrier_init(barrier: *const AtomicU32, count: u32) {
    if count == 0 || count >= 1 << (32 - COME_BITS) {
        crate::fatal("__tsan_testonly_barrier_init: so many threads cannot meet");
    }
    // SAFETY: the caller's promise.
    unsafe { &*barrier }.store(count << COME_BITS, Ordering::SeqCst);
}

/// `__tsan_testonly_barrier_wait` of the ABI.
///
/// # Safety
/// `barrier` was initialised by [`__tsan_testonly_barrier_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_testonly_barrier_wait(barrier: *const AtomicU32) {
    // SAFETY: the caller's promise.
    let word = unsafe { &*barrier };
    let _errno = Errno::keep();
    let one_more = |now: u32| {
        let count = now >> COME_BITS;
        (count << COME_BITS) | (((now & COME) + 1) % (2 * count))
    };
    let mut before = word.load(Ordering::SeqCst);
    while let Err(now) =
        word.compare_exchange(before, one_more(before), Ordering::SeqCst, Ordering::SeqCst)
    {
        before = now;
    }
    let round = |now: u32| (now & COME) / (now >> COME_BITS);
    if round(one_more(before)) != round(before) {
        // SAFETY: wakes whoever waits there.
        unsafe { libc::syscall(libc::SYS_futex, barrier, libc::FUTEX_WAKE, c_int::MAX) };
        return;
    }
    loop {
        let now = word.load(Ordering::SeqCst);
        if round(now) != round(before) {
            return;
        }
        let forever = std::ptr::null::<libc::timespec>();
        // SAFETY: waits while the word has that value; a signal may end it.
        unsafe { libc::syscall(libc::SYS_futex, barrier, libc::FUTEX_WAIT, now, forever) };
    }
}

/// `__tsan_testonly_shadow_stack_current_size` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_testonly_shadow_stack_current_size() -> usize {
    if is_off() {
        return 0;
    }
    let visit = Visit::begin();
    // SAFETY: both are in the frames of the current thread.
    let depth = unsafe {
        (*visit.hot())
            .top
            .offset_from(visit.thread().frames.bottom())
    };
    depth.try_into().unwrap_or(0)
}
