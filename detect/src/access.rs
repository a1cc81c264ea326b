//! Accesses as detectors see and remember them.

use racehound_trace::SiteId;
use thin_vec::ThinVec;

use crate::clock::{Epoch, VectorClock};
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

/// Threads to their last access: the papers' read map `R_x`. Empty or one
/// entry without allocating; sorted by thread beyond.
///
/// Once it had several entries it keeps their memory: what is shared once is
/// shared again.
#[derive(Clone, Debug, Default)]
pub enum AccessMap {
    /// No access.
    #[default]
    Empty,
    /// One thread's.
    One(Stamp),
    /// Any number of threads'.
    Many(Shared),
}

/// The entries of several threads.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The entry set last. A thread mostly comes back before another does, and
    /// then this answers without following the pointer.
    last: Epoch,
    /// Sorted by thread.
    stamps: ThinVec<Stamp>,
}

impl AccessMap {
    /// All entries.
    #[inline]
    pub fn entries(&self) -> &[Stamp] {
        match self {
            Self::Empty => &[],
            Self::One(stamp) => std::slice::from_ref(stamp),
            Self::Many(shared) => &shared.stamps,
        }
    }

    /// Whether `epoch`'s thread has an entry of exactly this epoch.
    #[inline(always)]
    pub fn has(&self, epoch: Epoch) -> bool {
        match self {
            Self::Empty => false,
            Self::One(stamp) => stamp.epoch == epoch,
            Self::Many(shared) => shared.last == epoch || shared.has(epoch),
        }
    }

    /// Sets the entry of the stamp's thread.
    pub fn insert(&mut self, stamp: Stamp) {
        match self {
            Self::Empty => *self = Self::One(stamp),
            Self::One(old) if old.epoch.thread() == stamp.epoch.thread() => *old = stamp,
            Self::One(old) => {
                let mut stamps = ThinVec::with_capacity(4);
                stamps.push(*old);
                let mut shared = Shared {
                    last: Epoch::NEVER,
                    stamps,
                };
                shared.insert(stamp);
                *self = Self::Many(shared);
            }
            Self::Many(shared) => shared.insert(stamp),
        }
    }

    /// Makes this the only entry.
    pub fn set_only(&mut self, stamp: Stamp) {
        match self {
            Self::Many(_) => {
                self.clear();
                self.insert(stamp);
            }
            _ => *self = Self::One(stamp),
        }
    }

    /// Forgets all entries.
    #[inline]
    pub fn clear(&mut self) {
        match self {
            Self::Empty => {}
            Self::One(_) => *self = Self::Empty,
            Self::Many(shared) => {
                shared.last = Epoch::NEVER;
                shared.stamps.clear();
            }
        }
    }

    /// The entries whose time `clock` does not know: they are concurrent with
    /// whoever has that clock.
    pub fn concurrent<'a>(&'a self, clock: &'a VectorClock) -> impl Iterator<Item = Stamp> + 'a {
        let stamps = self.entries().iter().copied();
        stamps.filter(|stamp| !clock.knows(stamp.epoch))
    }
}

impl Shared {
    fn has(&self, epoch: Epoch) -> bool {
        match find(&self.stamps, epoch) {
            Ok(at) => self.stamps[at].epoch == epoch,
            Err(_) => false,
        }
    }

    fn insert(&mut self, stamp: Stamp) {
        self.last = stamp.epoch;
        match find(&self.stamps, stamp.epoch) {
            Ok(at) => self.stamps[at] = stamp,
            Err(at) => self.stamps.insert(at, stamp),
        }
    }
}

#[inline]
fn find(stamps: &[Stamp], epoch: Epoch) -> Result<usize, usize> {
    let thread = epoch.thread();
    if stamps.len() <= 8 {
        for (i, stamp) in stamps.iter().enumerate() {
            if stamp.epoch.thread() >= thread {
                return match stamp.epoch.thread() == thread {
                    true => Ok(i),
                    false => Err(i),
                };
            }
        }
        return Err(stamps.len());
    }
    stamps.binary_search_by_key(&thread, |stamp| stamp.epoch.thread())
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
                prop_assert!(map.entries().iter().eq(plain.values()));
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
