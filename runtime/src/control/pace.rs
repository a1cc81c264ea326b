//! Loops without a step in them.
//!
//! A thread that waits for another by reading a plain variable again and again
//! takes no step at which somebody else could go on. So accesses are counted under
//! control: who has only read, that many times since its last step, or has written
//! very often, lets others go first, as if it had yielded. If it does so several
//! times in a row it counts as spinning and waits until somebody has changed
//! something. Threads that only compute are not harmed by that.
//!
//! What is counted is what the program does, so it happens at the same points in
//! every execution. The counting is done by twins of the entry points (see
//! [`entry`](crate::entry)): without control nothing is counted, and nothing is
//! lost. Loops in code that is not instrumented are left to the
//! [`monitor`](super::monitor).

use super::Turn;
use crate::tls::hot;

/// So many reads without a write take a fraction of a millisecond.
pub(crate) const READS: u32 = 1 << 18;
/// Who writes does something, most likely.
pub(crate) const WRITES: u32 = 1 << 22;

/// The current thread takes a step: its loop, if it was in one, has come round.
#[inline]
pub(super) fn begin() {
    let hot = hot();
    // SAFETY: our own block.
    unsafe {
        (*hot).reads_left = READS;
        (*hot).writes_left = WRITES;
    }
}

/// The next access of the current thread is one too many.
pub(super) fn stop_soon() {
    let hot = hot();
    // SAFETY: our own block.
    unsafe {
        (*hot).reads_left = 0;
        (*hot).writes_left = 0;
    }
}

/// One of the two numbers is used up.
pub(crate) extern "C" fn is_over(place: usize) {
    begin();
    if let Some(turn) = Turn::here(place) {
        turn.give_way();
    }
}
