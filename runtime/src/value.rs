//! A value that a function accesses on the program's behalf: a link of a list, say, which
//! the function follows as the program would.
//!
//! Such functions access as much as the program, so their accesses take the ways of the
//! program's own: a look whether the value was accessed in this epoch, as in [`entry`],
//! and what comes behind it.
//!
//! [`entry`]: crate::entry

use crate::access;
use crate::detector::{self, Engine};
use crate::rule::AccuLock;
use crate::shadow;
use crate::tls::is_now;
use crate::usual;
use crate::{record, sampling};

/// Whether an access to an aligned value of four or eight bytes could be looked at as the
/// program's own are: then it was.
#[inline(always)]
pub(crate) fn accessed<const SIZE: usize, const WRITE: bool>(address: usize, place: usize) -> bool {
    if record::is_recorded() || !address.is_multiple_of(SIZE) || !shadow::is_user(address) {
        return false;
    }
    is_known::<SIZE, WRITE>(address) || anew::<SIZE, WRITE>(address, place)
}

/// Whether the thread has accessed it in this epoch.
#[inline(always)]
fn is_known<const SIZE: usize, const WRITE: bool>(address: usize) -> bool {
    let group = shadow::readable(address);
    match SIZE {
        8 => {
            let [first, second] = shadow::load(group);
            is_now::<WRITE>(first) && (first == second || is_now::<WRITE>(second))
        }
        _ => is_now::<WRITE>(shadow::word(&group[address / 4 % 2])),
    }
}

#[inline(never)]
fn anew<const SIZE: usize, const WRITE: bool>(address: usize, place: usize) -> bool {
    let engine = detector::engine();
    if !matches!(engine, Engine::FastTrack | Engine::AccuLock) {
        return false;
    }
    if !sampling::looks_away() {
        match engine {
            Engine::FastTrack => usual::enter::<SIZE, WRITE>(address, place),
            _ => access::small::<AccuLock, SIZE, WRITE>(address, place),
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::shadow::{Half, Word};
    use crate::stamp::Stamp;
    use crate::tls::hot;

    #[test]
    fn only_an_access_of_this_epoch_to_all_of_a_value_is_known() {
        crate::init();
        let _alone = crate::agreement::alone();
        let values = Box::new([0u64; 2]);
        let at = values.as_ptr() as usize;
        let group = shadow::group(at);
        let hot = hot();
        // SAFETY: our own block.
        let before = unsafe { ((*hot).floor, (*hot).span) };
        // SAFETY: as above.
        unsafe { ((*hot).floor, (*hot).span) = (100 << 4, 10) };
        let half = |stamp, bytes| Half::new(Stamp(stamp), bytes);
        let put = |first: Word, second: Word| {
            group[0].store(first.0, Ordering::Relaxed);
            group[1].store(second.0, Ordering::Relaxed);
        };
        let known = || {
            (
                is_known::<8, false>(at),
                is_known::<8, true>(at),
                is_known::<4, false>(at),
                is_known::<4, true>(at + 4),
            )
        };
        let written = |stamp, bytes| Word::new(half(stamp, bytes), Half::NONE);
        let read = |stamp, bytes| Word::new(half(50, 15), half(stamp, bytes));
        put(written(104, 15), written(104, 15));
        assert_eq!(known(), (true, true, true, true));
        put(read(104, 15), read(104, 15));
        assert_eq!(known(), (true, false, true, false));
        put(written(104, 15), written(105, 15));
        assert_eq!(known(), (true, true, true, true));
        put(written(104, 15), written(99, 15));
        assert_eq!(known(), (false, false, true, false));
        for (stamp, bytes) in [(99, 15), (110, 15), (104, 7)] {
            put(written(stamp, bytes), written(stamp, bytes));
            assert_eq!(known(), Default::default(), "{stamp} {bytes}");
        }
        for other in [Word::EMPTY, Word::DONE, Word::CONSTANT, Word::cell(104)] {
            put(other, other);
            assert_eq!(known(), Default::default(), "{other:?}");
        }
        put(Word::EMPTY, Word::EMPTY);
        // SAFETY: as above.
        unsafe { ((*hot).floor, (*hot).span) = before };
    }
}
