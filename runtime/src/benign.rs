//! Memory whose races the program has declared benign.
//!
//! Shadow words have a mark for it. Who has none asks here: the trace, detectors that
//! are fed with events, and whoever brings two accesses together on purpose.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::spin::Locked;

static ANY: AtomicBool = AtomicBool::new(false);
static RANGES: Locked<Vec<Range<usize>>> = Locked::new(Vec::new());

/// Nothing is to be said of these bytes while they live.
pub(crate) fn declare(address: usize, size: usize) {
    RANGES.lock().push(address..address.saturating_add(size));
    ANY.store(true, Ordering::Release);
}

/// Whether an access is about such bytes only.
#[inline]
pub(crate) fn holds(address: usize, size: usize) -> bool {
    ANY.load(Ordering::Relaxed) && is_inside(address, size)
}

#[cold]
fn is_inside(address: usize, size: usize) -> bool {
    let end = address.saturating_add(size);
    let ranges = RANGES.lock();
    ranges
        .iter()
        .any(|range| range.start <= address && end <= range.end)
}

/// The bytes have a new life.
#[inline]
pub(crate) fn forget(address: usize, size: usize) {
    if ANY.load(Ordering::Relaxed) {
        let end = address.saturating_add(size);
        RANGES
            .lock()
            .retain(|range| range.end <= address || end <= range.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_excused_until_they_have_a_new_life() {
        assert!(!holds(0x1000, 1));
        declare(0x1000, 8);
        assert!(holds(0x1000, 8) && holds(0x1004, 4));
        assert!(!holds(0x1004, 8) && !holds(0xfff, 2));
        forget(0x1008, 8);
        assert!(holds(0x1000, 8));
        forget(0xff8, 64);
        assert!(!holds(0x1000, 8));
    }
}
