//! Memory that other processes have as well. Who waits for something that is there may be
//! waiting for them, of whom we know nothing.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::spin::Locked;

static MAPPED: Locked<Vec<Range<usize>>> = Locked::new(Vec::new());
static IS_THERE_ANY: AtomicBool = AtomicBool::new(false);

/// There is shared memory here now.
pub(crate) fn add(range: Range<usize>) {
    IS_THERE_ANY.store(true, Ordering::Relaxed);
    MAPPED.lock().push(range);
}

/// There is something else here now, or nothing.
pub(crate) fn remove(range: &Range<usize>) {
    if !IS_THERE_ANY.load(Ordering::Relaxed) {
        return;
    }
    let left = |one: &Range<usize>| {
        let before = one.start..one.end.min(range.start);
        let after = one.start.max(range.end)..one.end;
        [before, after].into_iter().filter(|part| !part.is_empty())
    };
    let mut all = MAPPED.lock();
    *all = all.iter().flat_map(left).collect();
}

/// Whether an address is in shared memory.
pub(crate) fn includes(address: usize) -> bool {
    IS_THERE_ANY.load(Ordering::Relaxed)
        && MAPPED.lock().iter().any(|range| range.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unmapped_in_the_middle_is_not_shared() {
        add(0x1000..0x5000);
        remove(&(0x2000..0x3000));
        let shared = [
            0xfff, 0x1000, 0x1fff, 0x2000, 0x2fff, 0x3000, 0x4fff, 0x5000,
        ]
        .map(includes);
        assert_eq!(shared, [false, true, true, false, false, true, true, false]);
    }
}
