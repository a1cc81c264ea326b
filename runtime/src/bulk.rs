//! Working through a range of shadow memory without an atomic operation for each
//! word.
//!
//! A thread announces the range before it looks at the first word, and takes the
//! announcement back after it has written the last. Everybody else changes words
//! one at a time, by compare-and-swap, and looks *afterwards* whether a range is
//! announced around the word: the range's owner may have looked before the swap
//! and be about to write over it. Then one waits until the range is done, and
//! tries again if the word is not what one made it. Two ranges that overlap go
//! one after the other.
//!
//! Both sides write first and look then, with a full barrier in between: the
//! announcement's exchange, the swap's own. So at least one sees the other.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::shadow::{self, Group, Word};
use crate::spin::pause;

/// Ranges at least this large are announced.
pub(crate) const WORTHWHILE: usize = 256;

/// Ranges at a time; more wait.
const SLOTS: usize = 16;

struct Slot {
    /// Shadow addresses; 0 if there is none.
    from: AtomicUsize,
    to: AtomicUsize,
}

static ACTIVE: AtomicUsize = AtomicUsize::new(0);
static RANGES: [Slot; SLOTS] = [const {
    Slot {
        from: AtomicUsize::new(0),
        to: AtomicUsize::new(0),
    }
}; SLOTS];

/// Whether there is any range.
#[inline(always)]
pub(crate) fn is_active() -> bool {
    ACTIVE.load(Ordering::SeqCst) != 0
}

/// An announced range.
pub(crate) struct Range {
    slot: usize,
    from: usize,
    to: usize,
}

/// Claimed, not announced yet.
const CLAIMED: usize = 1;

impl Range {
    /// Announces a range, when no other overlaps it.
    pub(crate) fn announce(groups: &[Group]) -> Self {
        let range = groups.as_ptr_range();
        let (from, to) = (range.start as usize, range.end as usize);
        ACTIVE.fetch_add(1, Ordering::SeqCst);
        let mut rounds = 0;
        let slot = loop {
            let free = |slot: &Slot| {
                slot.from
                    .compare_exchange(0, CLAIMED, Ordering::SeqCst, Ordering::Relaxed)
                    .is_ok()
            };
            if let Some(slot) = RANGES.iter().position(free) {
                break slot;
            }
            pause(&mut rounds);
        };
        let range = Self { slot, from, to };
        range.resume();
        range
    }

    /// Announces it, or announces it again.
    pub(crate) fn resume(&self) {
        let mut rounds = 0;
        loop {
            RANGES[self.slot].to.store(self.to, Ordering::SeqCst);
            RANGES[self.slot].from.store(self.from, Ordering::SeqCst);
            let Some(other) = self.rival() else {
                return;
            };
            // The lower slot goes first.
            if other < self.slot {
                RANGES[self.slot].from.store(CLAIMED, Ordering::SeqCst);
            }
            pause(&mut rounds);
            while self.overlaps(other) {
                pause(&mut rounds);
            }
        }
    }

    /// Takes the announcement back for a while.
    pub(crate) fn suspend(&self) {
        RANGES[self.slot].from.store(CLAIMED, Ordering::SeqCst);
    }

    fn overlaps(&self, other: usize) -> bool {
        let from = RANGES[other].from.load(Ordering::SeqCst);
        let to = RANGES[other].to.load(Ordering::SeqCst);
        from > CLAIMED && from < self.to && self.from < to
    }

    fn rival(&self) -> Option<usize> {
        (0..SLOTS).find(|&other| other != self.slot && self.overlaps(other))
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        RANGES[self.slot].from.store(0, Ordering::SeqCst);
        ACTIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits until no range is around the group any more; whether it is then still
/// what it was made to be.
#[cold]
pub(crate) fn outlasts(group: &Group, words: [Word; 2]) -> bool {
    let at = std::ptr::from_ref(group) as usize;
    let around = |slot: &Slot| {
        let from = slot.from.load(Ordering::SeqCst);
        from > CLAIMED && from <= at && at < slot.to.load(Ordering::SeqCst)
    };
    if !RANGES.iter().any(around) {
        return true;
    }
    let mut rounds = 0;
    while RANGES.iter().any(around) {
        pause(&mut rounds);
    }
    shadow::load(group) == words
}

/// Replaces the words of a few groups, from the first on, until there is a word that may not
/// be; how many groups it were. For groups of different pasts: `may_be` is asked once for
/// words that follow each other and are the same.
#[inline(always)]
pub(crate) fn overwrite(groups: &[Group], by: Word, may_be: impl Fn(Word) -> bool) -> usize {
    use std::arch::x86_64::{_mm_set1_epi64x, _mm_store_si128};
    // Nothing looks like this.
    let mut known = Word(!0);
    for (i, group) in groups.iter().enumerate() {
        for word in shadow::load(group) {
            if word != known {
                if !may_be(word) {
                    return i;
                }
                known = word;
            }
        }
        // SAFETY: as in `alike`.
        unsafe {
            let at = std::ptr::from_ref(group).cast_mut().cast();
            _mm_store_si128(at, _mm_set1_epi64x(by.0 as i64));
        }
    }
    groups.len()
}

/// Replaces groups as `change` says, from the first on, until there is one that
/// it does not know what to do with; how many it were. Neighbours mostly have
/// the same past, so `change` is seldom asked.
#[inline(always)]
pub(crate) fn alike(
    groups: &[Group],
    mut change: impl FnMut([Word; 2]) -> Option<[Word; 2]>,
) -> usize {
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_cmpeq_epi32, _mm_load_si128, _mm_movemask_epi8, _mm_set_epi64x,
        _mm_store_si128,
    };
    /// Groups in a line of the processor's cache, looked at together.
    const LINE: usize = 4;
    let pack = |words: [Word; 2]| {
        // SAFETY: every x86-64 processor has the instruction.
        unsafe { _mm_set_epi64x(words[1].0 as i64, words[0].0 as i64) }
    };
    let place = |i: usize| std::ptr::from_ref(&groups[i]).cast_mut().cast::<__m128i>();
    let nothing_yet = [Word(!0); 2];
    let (mut old, mut new) = (pack(nothing_yet), pack(nothing_yet));
    let mut same = false;
    let mut i = 0;
    while i < groups.len() {
        // SAFETY: a group is sixteen bytes, aligned so. Others may change it by
        // compare-and-swap; the announcement makes sure that nothing is lost.
        unsafe {
            let as_before = |i: usize| _mm_cmpeq_epi32(_mm_load_si128(place(i)), old);
            if i + LINE <= groups.len() {
                let two = _mm_and_si128(as_before(i), as_before(i + 1));
                let more = _mm_and_si128(as_before(i + 2), as_before(i + 3));
                if _mm_movemask_epi8(_mm_and_si128(two, more)) == 0xffff {
                    if !same {
                        for i in i..i + LINE {
                            _mm_store_si128(place(i), new);
                        }
                    }
                    i += LINE;
                    continue;
                }
            }
            if _mm_movemask_epi8(as_before(i)) != 0xffff {
                let before = shadow::load(&groups[i]);
                let Some(after) = change(before) else {
                    return i;
                };
                (old, new, same) = (pack(before), pack(after), shadow::are_same(before, after));
            }
            if !same {
                _mm_store_si128(place(i), new);
            }
        }
        i += 1;
    }
    groups.len()
}
