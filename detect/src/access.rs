//! Accesses as detectors see and remember them.

use racehound_trace::SiteId;
use thin_vec::ThinVec;

use crate::clock::{Epoch, ThreadClock};
use crate::lockset::LockSetId;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// A plain read.
    Read,
    /// A plain write, or giving memory back.
    Write,
    /// An atomic load.
    AtomicRead,
    /// An atomic store or read-modify-write.
    AtomicWrite,
}

impl AccessKind {
    /// Whether memory changes.
    #[inline]
    pub fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::AtomicWrite)
    }

    /// Whether it is an atomic operation.
    #[inline]
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::AtomicRead | Self::AtomicWrite)
    }

    /// One of the two writes and one is not atomic.
    #[inline]
    pub fn conflicts_with(self, other: Self) -> bool {
        (self.is_write() || other.is_write()) && !(self.is_atomic() && other.is_atomic())
    }
}

/// An access that was made: when and by whom, where in the program, and which
/// locks protected it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Thread and time.
    pub epoch: Epoch,
    /// Place in the program.
    pub site: SiteId,
    /// Locks that protected it, for what it did.
    pub locks: LockSetId,
}

impl Default for Stamp {
    fn default() -> Self {
        Self {
            epoch: Epoch::NEVER,
            site: SiteId(0),
            locks: LockSetId::EMPTY,
        }
    }
}

/// Threads to their last access: the papers' read map `R_x`.
///
/// The entry set last is inline: a thread mostly comes back before another one
/// does, and as long as there is only one thread nothing is allocated. The
/// others are out of line, in slots found by thread number, so that looking one
/// up touches one cache line however many there are.
///
/// Invariants: `others` is empty or has a power of two of slots. A slot of the
/// thread of `last` is out of date and does not count.
#[derive(Clone, Debug, Default)]
pub struct AccessMap {
    last: Stamp,
    others: ThinVec<Stamp>,
}

/// Slots to begin with: one cache line.
const FIRST_SLOTS: usize = 4;

impl AccessMap {
    /// All entries, the one set last first.
    #[inline]
    pub fn entries(&self) -> impl Iterator<Item = Stamp> + '_ {
        let last = self.last;
        let current = move |stamp: &&Stamp| stamp.epoch.thread() != last.epoch.thread();
        let others = self.others.iter().filter(current).copied();
        let all = std::iter::once(last).chain(others);
        all.filter(|stamp| stamp.epoch != Epoch::NEVER)
    }

    /// All entries, and some that are none any more.
    #[inline]
    pub fn slots(&self) -> impl Iterator<Item = &Stamp> {
        std::iter::once(&self.last).chain(&self.others)
    }

    /// Whether `epoch`'s thread has an entry of exactly this epoch.
    #[inline(always)]
    pub fn has(&self, epoch: Epoch) -> bool {
        self.last.epoch == epoch || (!self.others.is_empty() && self.others_have(epoch))
    }

    /// Whether the entry set last is of this epoch.
    #[inline(always)]
    pub fn last_is(&self, epoch: Epoch) -> bool {
        self.last.epoch == epoch
    }

    #[inline]
    fn others_have(&self, epoch: Epoch) -> bool {
        match find(&self.others, epoch) {
            Some(at) => self.others[at].epoch == epoch,
            None => false,
        }
    }

    /// The entry, if there has been only one thread since the last
    /// [`clear`](Self::clear).
    #[inline]
    pub fn single(&self) -> Option<Stamp> {
        self.others.is_empty().then_some(self.last)
    }

    /// Whether there may be entries of several threads.
    #[inline]
    pub fn is_shared(&self) -> bool {
        !self.others.is_empty()
    }

    /// Sets the entry of the stamp's thread.
    #[inline]
    pub fn insert(&mut self, stamp: Stamp) {
        let before = std::mem::replace(&mut self.last, stamp);
        if before.epoch.thread() != stamp.epoch.thread() && before.epoch != Epoch::NEVER {
            self.put_aside(before);
        }
    }

    fn put_aside(&mut self, stamp: Stamp) {
        loop {
            match find(&self.others, stamp.epoch) {
                Some(at) => return self.others[at] = stamp,
                None => self.grow(),
            }
        }
    }

    /// Makes slots, or doubles them, in the memory there is if it suffices.
    #[cold]
    fn grow(&mut self) {
        let slots = (self.others.len() * 2).max(FIRST_SLOTS);
        let mut small = [Stamp::default(); 4 * FIRST_SLOTS];
        let before: &[Stamp] = match small.get_mut(..self.others.len()) {
            Some(part) => {
                part.copy_from_slice(&self.others);
                part
            }
            None => &self.others.clone(),
        };
        self.others.clear();
        self.others.resize(slots, Stamp::default());
        for stamp in before {
            let at = find(&self.others, stamp.epoch).expect("there are more slots than before");
            self.others[at] = *stamp;
        }
    }

    /// Makes this the only entry.
    #[inline]
    pub fn set_only(&mut self, stamp: Stamp) {
        self.others.clear();
        self.last = stamp;
    }

    /// Forgets all entries, and keeps the memory: what is shared once is shared
    /// again.
    #[inline]
    pub fn clear(&mut self) {
        self.set_only(Stamp::default());
    }

    /// Where the entries of other threads are, to ask for it ahead of use.
    #[inline(always)]
    pub fn out_of_line(&self) -> *const u8 {
        self.others.as_ptr().cast()
    }

    /// The entries whose time `clock` does not know: they are concurrent with
    /// whoever has that clock.
    pub fn concurrent<'a>(&'a self, clock: &'a ThreadClock) -> impl Iterator<Item = Stamp> + 'a {
        self.entries().filter(|stamp| !clock.knows(stamp.epoch))
    }
}

/// The slot of a thread: its own, or a free one to put it in; none if there is
/// neither.
#[inline]
fn find(slots: &[Stamp], epoch: Epoch) -> Option<usize> {
    let mask = slots.len().checked_sub(1)?;
    let home = epoch.thread().index();
    (0..=mask).map(|i| (home + i) & mask).find(|&at| {
        let slot = slots[at].epoch;
        slot == Epoch::NEVER || slot.thread() == epoch.thread()
    })
}

/// The last access of one kind, and the last one by any other thread: enough
/// to name one by another thread, whoever asks.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    last: Stamp,
    other: Stamp,
}

impl Recent {
    fn insert(&mut self, stamp: Stamp) {
        if self.last.epoch.thread() != stamp.epoch.thread() {
            self.other = self.last;
        }
        self.last = stamp;
    }

    fn by_another(&self, epoch: Epoch) -> Option<Stamp> {
        let another =
            |stamp: &Stamp| stamp.epoch != Epoch::NEVER && stamp.epoch.thread() != epoch.thread();
        [self.last, self.other].into_iter().find(another)
    }
}

/// The latest accesses of a location, kept by detectors that only know
/// locksets, to say with whom an access is in conflict.
#[derive(Clone, Debug, Default)]
pub struct Partners {
    reads: Recent,
    writes: Recent,
    /// Atomic reads and writes, which most locations never see.
    atomics: Option<Box<(Recent, Recent)>>,
}

impl Partners {
    /// Notes an access.
    pub fn insert(&mut self, stamp: Stamp, kind: AccessKind) {
        let recent = match kind {
            AccessKind::Read => &mut self.reads,
            AccessKind::Write => &mut self.writes,
            AccessKind::AtomicRead => &mut self.atomics.get_or_insert_default().0,
            AccessKind::AtomicWrite => &mut self.atomics.get_or_insert_default().1,
        };
        recent.insert(stamp);
    }

    /// A recent access by another thread that conflicts with one of this kind
    /// in this epoch; there is one whenever there ever was one.
    pub fn conflicting(&self, epoch: Epoch, kind: AccessKind) -> Option<(Stamp, AccessKind)> {
        let atomics = self.atomics.as_deref();
        [
            (AccessKind::Write, Some(&self.writes)),
            (AccessKind::AtomicWrite, atomics.map(|a| &a.1)),
            (AccessKind::Read, Some(&self.reads)),
            (AccessKind::AtomicRead, atomics.map(|a| &a.0)),
        ]
        .into_iter()
        .filter(|(prior, _)| prior.conflicts_with(kind))
        .find_map(|(prior, recent)| Some((recent?.by_another(epoch)?, prior)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use racehound_trace::ThreadId;

    use super::*;

    #[test]
    fn a_stamp_is_two_words_and_a_map_three() {
        assert_eq!(size_of::<Stamp>(), 16);
        assert_eq!(size_of::<AccessMap>(), 24);
    }

    proptest! {
        #[test]
        fn the_map_is_a_map(
            steps in prop::collection::vec((0u32..20, 1u64..9, 0u8..10), 0..60),
        ) {
            let mut map = AccessMap::default();
            let mut plain = BTreeMap::new();
            for (thread, clock, what) in steps {
                let epoch = Epoch::new(ThreadId(thread), clock);
                let stamp = Stamp { epoch, ..Stamp::default() };
                match what {
                    0 => {
                        map.clear();
                        plain.clear();
                    }
                    1 => {
                        map.set_only(stamp);
                        plain = BTreeMap::from([(thread, stamp)]);
                    }
                    _ => {
                        map.insert(stamp);
                        plain.insert(thread, stamp);
                    }
                }
                let mut entries: Vec<_> = map.entries().collect();
                entries.sort_by_key(|stamp| stamp.epoch.thread());
                prop_assert!(entries.iter().eq(plain.values()));
                prop_assert_eq!(map.has(epoch), plain.get(&thread).is_some_and(|s| s.epoch == epoch));
            }
        }

        #[test]
        fn a_partner_is_found_whenever_there_is_one(
            accesses in prop::collection::vec((0u32..4, 0usize..4), 0..12),
            (asking, does) in (0u32..4, 0usize..4),
        ) {
            use AccessKind::{AtomicRead, AtomicWrite, Read, Write};
            let kinds = [Read, Write, AtomicRead, AtomicWrite];
            let epoch = |thread| Epoch::new(ThreadId(thread), 1);
            let mut partners = Partners::default();
            for &(thread, kind) in &accesses {
                let stamp = Stamp { epoch: epoch(thread), ..Stamp::default() };
                partners.insert(stamp, kinds[kind]);
            }
            let fits = |thread: u32, kind: AccessKind| {
                thread != asking && kind.conflicts_with(kinds[does])
            };
            match partners.conflicting(epoch(asking), kinds[does]) {
                Some((stamp, kind)) => prop_assert!(fits(stamp.epoch.thread().0, kind)),
                None => prop_assert!(!accesses.iter().any(|&(t, k)| fits(t, kinds[k]))),
            }
        }
    }
}
