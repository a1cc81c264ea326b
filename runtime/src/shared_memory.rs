//! Memory that other processes have as well. Who waits for something that is there may be
//! waiting for them, of whom we know nothing.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::spin::Locked;

/// Who else may have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// It has no name: only processes that were made by copying have it.
    Family,
    Anybody,
}

static MAPPED: Locked<Vec<(Range<usize>, Whose)>> = Locked::new(Vec::new());
static IS_THERE_ANY: AtomicBool = AtomicBool::new(false);

/// Whether there may be some that processes have who were made by copying.
pub(crate) fn is_in_family() -> bool {
    IS_THERE_ANY.load(Ordering::Relaxed)
}

/// There is shared memory here now.
pub(crate) fn add(range: Range<usize>, whose: Whose) {
    IS_THERE_ANY.store(true, Ordering::Relaxed);
    MAPPED.lock().push((range, whose));
}

/// There is something else here now, or nothing.
pub(crate) fn remove(range: &Range<usize>) {
    if !IS_THERE_ANY.load(Ordering::Relaxed) {
        return;
    }
    let left = |(one, whose): &(Range<usize>, Whose)| {
        let before = one.start..one.end.min(range.start);
        let after = one.start.max(range.end)..one.end;
        let parts = [(before, *whose), (after, *whose)];
        parts.into_iter().filter(|(part, _)| !part.is_empty())
    };
    let mut all = MAPPED.lock();
    *all = all.iter().flat_map(left).collect();
}

/// Who else may have what is at an address; none if it is not shared. Not to be interrupted
/// by a signal.
#[inline]
pub(crate) fn whose(address: usize) -> Option<Whose> {
    match IS_THERE_ANY.load(Ordering::Relaxed) {
        true => look_up(address),
        false => None,
    }
}

#[cold]
fn look_up(address: usize) -> Option<Whose> {
    let all = MAPPED.lock();
    let found = all.iter().find(|(range, _)| range.contains(&address));
    found.map(|(_, whose)| *whose)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unmapped_in_the_middle_is_not_shared() {
        add(0x1000..0x5000, Whose::Family);
        remove(&(0x2000..0x3000));
        let shared = [
            0xfff, 0x1000, 0x1fff, 0x2000, 0x2fff, 0x3000, 0x4fff, 0x5000,
        ]
        .map(|address| whose(address).is_some());
        assert_eq!(shared, [false, true, true, false, false, true, true, false]);
    }
}
