//! Plain accesses that the strategy asked for.
//!
//! All others cost a look into a table: it has, by the lower bits of the address
//! that an access returns to, the last such place that nobody watches. Only what
//! is not found there comes here.

use std::sync::atomic::{AtomicUsize, Ordering};

use racehound_trace::{Loc, Op};

use super::{Turn, pace, sites};
use crate::benign;

/// Places in the table.
pub(crate) const PLACES: usize = 1 << 14;

std::arch::global_asm!(
    ".bss",
    ".hidden __racehound_unwatched",
    ".globl __racehound_unwatched",
    ".type __racehound_unwatched, @object",
    ".size __racehound_unwatched, {size}",
    ".p2align 12",
    "__racehound_unwatched:",
    ".zero {size}",
    ".text",
    size = const PLACES * 8,
);

unsafe extern "C" {
    #[link_name = "__racehound_unwatched"]
    static UNWATCHED: [AtomicUsize; PLACES];
}

/// Where a place is in the table, as the entry points have it.
fn slot(place: usize) -> usize {
    (place ^ place >> 14) % PLACES
}

/// An access by the instrumentation: of one of ten sorts, reads of 1, 2, 4, 8 and
/// 16 bytes, then writes.
pub(crate) extern "C" fn access(address: usize, place: usize, sort: usize) {
    if !sites::is_watched(sites::site_of_access(place, sort >= 5)) {
        // SAFETY: defined above, of that size.
        unsafe { UNWATCHED[slot(place)].store(place, Ordering::Relaxed) };
        return;
    }
    if let Some(turn) = Turn::here(place) {
        turn.access(address, 1 << (sort % 5), sort >= 5);
    }
}

impl Turn {
    /// Something is read or written, if that is watched here. What a function of the
    /// C library writes is announced when it has: the thread has ordered itself
    /// before nobody since, so what it meets there is a race all the same.
    pub(crate) fn access(&self, address: usize, size: usize, is_write: bool) {
        let site = sites::site_of_access(self.place, is_write);
        if !sites::is_watched(site) || benign::holds(address, size) {
            return;
        }
        let (loc, size) = (Loc(address as u64), size.min(u32::MAX as usize) as u32);
        let op = match is_write {
            true => Op::Write { loc, size },
            false => Op::Read { loc, size },
        };
        self.at(site).act(|_| Some(op));
        if self.note(|roster| roster.stops(self.number)) {
            pace::stop_soon();
        }
    }
}
