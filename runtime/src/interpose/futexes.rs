//! Futexes of threads that are under control: they wait for each other here, and
//! not in the kernel.

use std::ffi::{c_int, c_long};

use crate::control::clock::Until;
use crate::control::{ANY_BITS, Turn};

/// Carries an operation out, as the kernel would; none if it is one that only the
/// kernel can.
pub(super) unsafe fn call(turn: &Turn, arguments: &[usize; 6]) -> Option<c_long> {
    let [futex, operation, value, fourth, second, last] = *arguments;
    let (command, flags) = (
        operation as c_int & libc::FUTEX_CMD_MASK,
        operation as c_int,
    );
    let clock = match flags & libc::FUTEX_CLOCK_REALTIME {
        0 => libc::CLOCK_MONOTONIC,
        _ => libc::CLOCK_REALTIME,
    };
    // SAFETY: the program gives what the call takes: a word, and perhaps a time.
    let time = || unsafe { (fourth as *const libc::timespec).as_ref() };
    let word = |at: usize| unsafe { (at as *const u32).read_volatile() };
    match command {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            let (bits, until) = match command {
                libc::FUTEX_WAIT => (ANY_BITS, time().map(Until::passed)),
                _ => (last as u32, time().map(|&time| Until::Shows(clock, time))),
            };
            turn.give_way();
            if word(futex) != value as u32 {
                return Some(fails(libc::EAGAIN));
            }
            match turn.wait_for_futex(futex, bits, until) {
                0 => Some(0),
                error => Some(fails(error)),
            }
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            let bits = match command {
                libc::FUTEX_WAKE => ANY_BITS,
                _ => last as u32,
            };
            Some(turn.wake_futex(futex, bits, value) as c_long)
        }
        libc::FUTEX_CMP_REQUEUE if word(futex) != last as u32 => Some(fails(libc::EAGAIN)),
        libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE => {
            let woken = turn.wake_futex(futex, ANY_BITS, value);
            let moved = turn.requeue_futex(futex, second, fourth);
            Some((woken + moved) as c_long)
        }
        _ => None,
    }
}

fn fails(error: c_int) -> c_long {
    // SAFETY: our own.
    unsafe { *libc::__errno_location() = error };
    -1
}
