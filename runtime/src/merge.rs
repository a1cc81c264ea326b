//! Merges: half a shadow word about bytes that were accessed at different places.
//!
//! A loop that was unrolled, a structure of small fields, a text that is written
//! over byte by byte: each byte of a word has an access of its own, and a shadow
//! word has room for one stamp. So such accesses get one stamp in common, whose
//! records are the halves it stands for: a *merge*.
//!
//! # Invariants
//! * The thread that makes a merge knows all its parts. So whoever knows the merge
//!   knows the parts, and a stamp can be taken for ordered without a look at them.
//!   Who does not know the merge must look.
//! * The bytes of a half that is a merge are those that its thread has accessed in
//!   the epoch of the merge. Parts about other bytes are older, and only told by
//!   [`parts`].
//! * [Cells](crate::cell) never hold a merge, only its parts.

use crate::shadow::Half;
use crate::stamp::{self, Stamp};
use crate::thread::Thread;

/// Bytes of a word, so parts of a merge.
pub(crate) const PARTS: usize = 4;

/// What a half stands for: itself, or the parts of a merge. The rest are none.
#[inline]
pub(crate) fn parts(half: Half) -> [Half; PARTS] {
    if half.is_none() {
        return [Half::NONE; PARTS];
    }
    match stamp::merged(half.stamp()) {
        Some(parts) => parts,
        None => [half, Half::NONE, Half::NONE, Half::NONE],
    }
}

/// All bytes that a half, which is no set, is about.
#[inline(always)]
pub(crate) fn bytes(half: Half) -> u8 {
    match half.bytes() {
        15 => 15,
        0 => 0,
        some => match stamp::merged(half.stamp()) {
            Some(parts) => parts.iter().fold(0, |all, part| all | part.bytes()),
            None => some,
        },
    }
}

/// Half a word as it was, but for some bytes that are accessed now. None if it
/// takes a cell.
///
/// The thread knows what was before.
#[inline(always)]
pub(crate) fn with(thread: &mut Thread, before: Half, stamp: Stamp, now: u8) -> Option<Half> {
    if before.is_none() || now == 15 {
        return Some(Half::new(stamp, now));
    }
    if before.stamp() == stamp {
        return Some(Half::new(stamp, before.bytes() | now));
    }
    if before.bytes() & !now == 0 && !stamp::is_merge(before.stamp()) {
        return Some(Half::new(stamp, now));
    }
    let key = Key {
        before: before.0,
        stamp,
        now,
    };
    if let Some(after) = thread.merges.find(key) {
        return Some(after);
    }
    make(thread, key)
}

#[inline(never)]
fn make(thread: &mut Thread, key: Key) -> Option<Half> {
    let (before, now) = (Half(key.before), key.now);
    let mut rest = parts(before);
    let mut some = 0;
    for part in &mut rest {
        *part = part.without(now);
        some |= part.0;
    }
    let after = match some {
        0 => Half::new(key.stamp, now),
        _ => {
            let bytes = match thread.is_now(before.stamp()) {
                true => before.bytes() | now,
                false => now,
            };
            let mut all = in_order(rest);
            all[now.trailing_zeros() as usize % PARTS] = Half::new(key.stamp, now);
            Half::new(of_parts(thread, all)?, bytes)
        }
    };
    thread.merges.add(key, after);
    Some(after)
}

/// Parts that are about different bytes, each at the number of its first.
#[inline(always)]
fn in_order(parts: [Half; PARTS]) -> [Half; PARTS] {
    let mut all = [Half::NONE; PARTS];
    for part in parts {
        if !part.is_none() {
            all[part.bytes().trailing_zeros() as usize % PARTS] = part;
        }
    }
    all
}

/// The merge of these parts: one that was made in this epoch, or a new one.
#[inline(always)]
fn of_parts(thread: &mut Thread, parts: [Half; PARTS]) -> Option<Stamp> {
    let slot = Merges::slot_of(parts);
    let (known, stamp) = thread.merges.made[slot];
    if known == parts && thread.is_now(stamp) {
        return Some(stamp);
    }
    let stamp = thread.merged(parts)?;
    thread.merges.made[slot] = (parts, stamp);
    Some(stamp)
}

/// Half a word about reads, without those of some bytes that are written now. None
/// if it takes a cell.
#[inline(always)]
pub(crate) fn without(thread: &mut Thread, before: Half, now: u8) -> Option<Half> {
    if !stamp::is_merge(before.stamp()) {
        return Some(before.without(now));
    }
    if !thread.knows(before.stamp()) {
        return None;
    }
    let key = Key {
        before: before.0,
        stamp: Stamp::NONE,
        now,
    };
    match thread.merges.find(key) {
        Some(after) => Some(after),
        None => part(thread, key),
    }
}

#[inline(never)]
fn part(thread: &mut Thread, key: Key) -> Option<Half> {
    let (before, now) = (Half(key.before), key.now);
    let rest = parts(before).map(|part| part.without(now));
    let mut some = rest.iter().filter(|part| !part.is_none());
    let after = match (some.next(), some.next()) {
        (None, _) => Half::NONE,
        (Some(&only), None) => only,
        _ => {
            // A half is about some byte. To say that bytes were read which are
            // written in the same epoch is no lie that matters.
            let bytes = match thread.is_now(before.stamp()) && before.bytes() & !now != 0 {
                true => before.bytes() & !now,
                false => now,
            };
            Half::new(of_parts(thread, in_order(rest))?, bytes)
        }
    };
    thread.merges.add(key, after);
    Some(after)
}

/// Merges that a thread has made lately.
pub(crate) struct Merges {
    recent: Box<[(Key, Half); RECENT]>,
    /// By what they are made of: however words have come to the same past, they have
    /// the same future.
    made: Box<[([Half; PARTS], Stamp); MADE]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    before: u32,
    stamp: Stamp,
    now: u8,
}

const RECENT: usize = 1024;
const MADE: usize = 512;

/// Nothing is merged with nothing.
const NO_KEY: Key = Key {
    before: 0,
    stamp: Stamp::NONE,
    now: 0,
};

impl Default for Merges {
    fn default() -> Self {
        Self {
            recent: crate::memory::boxed((NO_KEY, Half::NONE)),
            made: crate::memory::boxed(([Half::NONE; PARTS], Stamp::NONE)),
        }
    }
}

impl Merges {
    fn slot(key: Key) -> usize {
        let mixed = (key.before ^ key.stamp.0.rotate_left(16) ^ u32::from(key.now) << 12)
            .wrapping_mul(0x9e37_79b1);
        (mixed >> (32 - RECENT.ilog2())) as usize
    }

    #[inline(always)]
    fn slot_of(parts: [Half; PARTS]) -> usize {
        let mixed = parts.iter().fold(0u32, |mixed, part| {
            (mixed.rotate_left(9) ^ part.0).wrapping_mul(0x9e37_79b1)
        });
        (mixed >> (32 - MADE.ilog2())) as usize
    }

    #[inline(always)]
    fn find(&self, key: Key) -> Option<Half> {
        let (known, after) = self.recent[Self::slot(key)];
        (known == key).then_some(after)
    }

    fn add(&mut self, key: Key, after: Half) {
        self.recent[Self::slot(key)] = (key, after);
    }

    /// Stamps may get new meanings.
    pub(crate) fn forget(&mut self) {
        self.recent.fill((NO_KEY, Half::NONE));
        self.made.fill(([Half::NONE; PARTS], Stamp::NONE));
    }
}
