//! Locksets, interned: a set is a number, equal sets have equal numbers
//! (acculock.txt §IV-A, after Eraser).

use std::hash::BuildHasher;

use hashbrown::HashTable;
use racehound_trace::{Mode, SyncId};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

/// A set of locks, as an index into [`LockSets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LockSetId(u32);

impl LockSetId {
    /// No lock at all.
    pub const EMPTY: Self = Self(0);

    /// Whether the set has no lock.
    #[inline]
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// The index, for a host that packs it.
    #[inline]
    pub fn number(self) -> u32 {
        self.0
    }

    /// The set with an index that was [`number`](Self::number).
    #[inline]
    pub fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// A lock that every atomic access holds: two of them never race.
pub const ATOMIC: SyncId = SyncId(u32::MAX);
/// A lock that every read holds (acculock.txt Algorithm 3): two of them never
/// race either.
pub const READERS: SyncId = SyncId(u32::MAX - 1);

/// How often the table was used (acculock.txt Table IV).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockSetCounts {
    /// Times a thread's current lockset was asked for.
    pub lookups: u64,
    /// Intersections, disjointness tests included.
    pub intersects: u64,
    /// Distinct sets that were ever entered.
    pub inserts: u64,
}

/// A power of two; at twelve bytes each they stay in the first-level cache.
const RECENT: usize = 1024;

/// All locksets there ever were.
pub struct LockSets {
    /// Sorted, without repetition.
    sets: Vec<Box<[SyncId]>>,
    ids: HashTable<LockSetId>,
    /// Sets of one lock, by lock: the common case without hashing.
    single: Vec<Option<LockSetId>>,
    with: FxHashMap<(LockSetId, SyncId), LockSetId>,
    /// Intersections computed lately; the same few come up again and again.
    recent: Box<[(LockSetId, LockSetId, LockSetId); RECENT]>,
    /// Use of the table so far.
    pub counts: LockSetCounts,
}

impl Default for LockSets {
    fn default() -> Self {
        Self {
            sets: vec![Box::default()],
            ids: HashTable::new(),
            single: Vec::new(),
            with: FxHashMap::default(),
            recent: Box::new([(LockSetId::EMPTY, LockSetId::EMPTY, LockSetId::EMPTY); RECENT]),
            counts: LockSetCounts::default(),
        }
    }
}

impl LockSets {
    /// The locks in a set, sorted.
    pub fn locks(&self, set: LockSetId) -> &[SyncId] {
        &self.sets[set.0 as usize]
    }

    fn intern(&mut self, locks: Vec<SyncId>) -> LockSetId {
        if locks.is_empty() {
            return LockSetId::EMPTY;
        }
        let hash = FxBuildHasher.hash_one(&locks[..]);
        let Self { sets, ids, .. } = self;
        if let Some(&id) = ids.find(hash, |id| *sets[id.0 as usize] == locks[..]) {
            return id;
        }
        let id = LockSetId(u32::try_from(sets.len()).expect("fewer than 2^32 locksets"));
        sets.push(locks.into_boxed_slice());
        ids.insert_unique(hash, id, |id| {
            FxBuildHasher.hash_one(&sets[id.0 as usize][..])
        });
        self.counts.inserts += 1;
        id
    }

    /// `set ∪ {lock}`.
    #[inline]
    pub fn with(&mut self, set: LockSetId, lock: SyncId) -> LockSetId {
        match self.single.get(lock.index()) {
            Some(&Some(id)) if set.is_empty() => id,
            _ => self.with_slowly(set, lock),
        }
    }

    fn with_slowly(&mut self, set: LockSetId, lock: SyncId) -> LockSetId {
        // The pretended locks have numbers too large to index by.
        if set.is_empty() && lock < READERS {
            let id = self.intern(vec![lock]);
            if self.single.len() <= lock.index() {
                self.single.resize(lock.index() + 1, None);
            }
            self.single[lock.index()] = Some(id);
            return id;
        }
        if let Some(&id) = self.with.get(&(set, lock)) {
            return id;
        }
        let mut locks = self.locks(set).to_vec();
        if let Err(at) = locks.binary_search(&lock) {
            locks.insert(at, lock);
        }
        let id = self.intern(locks);
        self.with.insert((set, lock), id);
        id
    }

    /// `a ∩ b`.
    #[inline]
    pub fn meet(&mut self, a: LockSetId, b: LockSetId) -> LockSetId {
        self.counts.intersects += 1;
        match a == b {
            true => a,
            false if a.is_empty() || b.is_empty() => LockSetId::EMPTY,
            false => self.meet_slowly(a, b),
        }
    }

    fn meet_slowly(&mut self, a: LockSetId, b: LockSetId) -> LockSetId {
        let (a, b) = (a.min(b), a.max(b));
        let slot = (a.0.wrapping_mul(31) ^ b.0) as usize % RECENT;
        let (x, y, common) = self.recent[slot];
        if (x, y) == (a, b) {
            return common;
        }
        let common = self.meet_sets(a, b);
        self.recent[slot] = (a, b, common);
        common
    }

    fn meet_sets(&mut self, a: LockSetId, b: LockSetId) -> LockSetId {
        let other = self.locks(b);
        let common = self.locks(a).iter().copied();
        let common = common.filter(|lock| other.binary_search(lock).is_ok());
        self.intern(common.collect())
    }

    /// `a ∩ b = ∅`.
    #[inline]
    pub fn disjoint(&mut self, a: LockSetId, b: LockSetId) -> bool {
        self.meet(a, b).is_empty()
    }

    /// `a ⊆ b`.
    pub fn subset(&self, a: LockSetId, b: LockSetId) -> bool {
        let b = self.locks(b);
        self.locks(a)
            .iter()
            .all(|lock| b.binary_search(lock).is_ok())
    }
}

/// `L_t`: the locks a thread holds now, in the order taken.
///
/// Re-entrant acquisitions are folded into a depth. The interned sets of every
/// prefix are remembered, so that giving locks back in reverse order costs no
/// lookup, and computed only when an access asks.
#[derive(Clone, Debug, Default)]
pub struct HeldLocks {
    stack: Vec<Held>,
    /// What is in the stack, kept only while that is [`DEEP`].
    members: FxHashSet<(SyncId, Mode)>,
}

/// Looking through more locks than this takes longer than hashing.
const DEEP: usize = 32;

#[derive(Clone, Debug)]
struct Held {
    lock: SyncId,
    mode: Mode,
    depth: u32,
    /// The sets of this lock and those below.
    sets: Option<Protection>,
}

/// What the locks held protect. A read lock protects reads only: another
/// thread may hold it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Protection {
    /// Locks that protect a read: all of them.
    pub reads: LockSetId,
    /// Locks that protect a write: those held exclusively.
    pub writes: LockSetId,
}

impl HeldLocks {
    /// Notes an acquisition; true unless it was re-entrant.
    pub fn push(&mut self, lock: SyncId, mode: Mode) -> bool {
        if let Some(held) = self.find(lock, mode) {
            self.stack[held].depth += 1;
            return false;
        }
        self.stack.push(Held {
            lock,
            mode,
            depth: 1,
            sets: None,
        });
        match self.stack.len() > DEEP && self.members.is_empty() {
            true => self
                .members
                .extend(self.stack.iter().map(|h| (h.lock, h.mode))),
            false if self.stack.len() > DEEP => _ = self.members.insert((lock, mode)),
            false => {}
        }
        true
    }

    /// Notes a release; true unless the lock is still held. Releasing what is
    /// not held counts as giving it up: the acquisition was not seen.
    pub fn pop(&mut self, lock: SyncId, mode: Mode) -> bool {
        let Some(at) = self.find(lock, mode) else {
            return true;
        };
        self.stack[at].depth -= 1;
        if self.stack[at].depth > 0 {
            return false;
        }
        self.remove(at);
        true
    }

    /// Gives a lock up whatever its depth, and returns the depth.
    pub fn pop_all(&mut self, lock: SyncId) -> u32 {
        let Some(at) = self.find(lock, Mode::Exclusive) else {
            return 0;
        };
        let depth = self.stack[at].depth;
        self.remove(at);
        depth
    }

    /// Takes a lock back at a depth.
    pub fn push_depth(&mut self, lock: SyncId, depth: u32) {
        self.push(lock, Mode::Exclusive);
        if let Some(at) = self.find(lock, Mode::Exclusive) {
            self.stack[at].depth = depth.max(1);
        }
    }

    fn find(&self, lock: SyncId, mode: Mode) -> Option<usize> {
        if self.stack.len() > DEEP && !self.members.contains(&(lock, mode)) {
            return None;
        }
        self.stack
            .iter()
            .rposition(|held| held.lock == lock && held.mode == mode)
    }

    fn remove(&mut self, at: usize) {
        let gone = self.stack.remove(at);
        match self.stack.len() > DEEP {
            true => _ = self.members.remove(&(gone.lock, gone.mode)),
            false => self.members.clear(),
        }
        for above in &mut self.stack[at..] {
            above.sets = None;
        }
    }

    /// The interned sets of the locks held now.
    #[inline]
    pub fn protection(&mut self, table: &mut LockSets) -> Protection {
        table.counts.lookups += 1;
        match self.stack.last() {
            None => Protection::default(),
            Some(Held {
                sets: Some(sets), ..
            }) => *sets,
            Some(_) => self.compute(table),
        }
    }

    /// Extends the nearest known sets. Where that is far down, the sets between
    /// are not entered into the table: nobody may ever ask for them.
    fn compute(&mut self, table: &mut LockSets) -> Protection {
        let known = self.stack.iter().rposition(|held| held.sets.is_some());
        let from = known.map_or(0, |at| at + 1);
        let top = self.stack.len() - 1;
        let sets = if top - from < NEAR {
            let mut sets = known.and_then(|at| self.stack[at].sets).unwrap_or_default();
            for held in &mut self.stack[from..] {
                sets.reads = table.with(sets.reads, held.lock);
                if held.mode == Mode::Exclusive {
                    sets.writes = table.with(sets.writes, held.lock);
                }
                held.sets = Some(sets);
            }
            sets
        } else {
            let set = |table: &mut LockSets, wanted: fn(&Held) -> bool| {
                let held = self.stack.iter().filter(|held| wanted(held));
                let mut locks: Vec<SyncId> = held.map(|held| held.lock).collect();
                locks.sort_unstable();
                locks.dedup();
                table.intern(locks)
            };
            Protection {
                reads: set(table, |_| true),
                writes: set(table, |held| held.mode == Mode::Exclusive),
            }
        };
        self.stack[top].sets = Some(sets);
        sets
    }
}

/// How many locks may have been taken since the sets were last asked for, so
/// that adding them one by one is worth it.
const NEAR: usize = 8;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn set(table: &mut LockSets, locks: &BTreeSet<u32>) -> LockSetId {
        let add = |set, &lock| table.with(set, SyncId(lock));
        locks.iter().fold(LockSetId::EMPTY, add)
    }

    proptest! {
        #[test]
        fn sets_behave_like_sets(
            a in prop::collection::btree_set(0u32..6, 0..5),
            b in prop::collection::btree_set(0u32..6, 0..5),
        ) {
            let mut table = LockSets::default();
            let (x, y) = (set(&mut table, &a), set(&mut table, &b));
            let common: BTreeSet<u32> = a.intersection(&b).copied().collect();
            prop_assert_eq!(x == y, a == b);
            prop_assert_eq!(table.meet(x, y), set(&mut table, &common));
            prop_assert_eq!(table.disjoint(x, y), common.is_empty());
            prop_assert_eq!(table.subset(x, y), a.is_subset(&b));
        }

        #[test]
        fn held_locks_agree_with_a_plain_list(
            // Few locks for re-entrance, many for depth.
            (locks, steps) in (prop_oneof![Just(4u32), Just(80u32)], 0usize..160).prop_flat_map(
                |(locks, steps)| {
                    let step = (0..locks, any::<bool>(), prop::bool::weighted(0.7));
                    (Just(locks), prop::collection::vec(step, 0..=steps))
                },
            ),
        ) {
            prop_assert!(locks > 0);
            let mut table = LockSets::default();
            let mut held = HeldLocks::default();
            let mut plain: Vec<(u32, Mode)> = Vec::new();
            for (lock, shared, acquire) in steps {
                let mode = if shared { Mode::Shared } else { Mode::Exclusive };
                if acquire {
                    held.push(SyncId(lock), mode);
                    plain.push((lock, mode));
                } else if let Some(at) = plain.iter().rposition(|l| *l == (lock, mode)) {
                    plain.remove(at);
                    let gone = !plain.contains(&(lock, mode));
                    prop_assert_eq!(held.pop(SyncId(lock), mode), gone);
                }
                let all = plain.iter().map(|(lock, _)| *lock).collect();
                let exclusive = plain.iter().filter(|(_, m)| *m == Mode::Exclusive);
                let exclusive = exclusive.map(|(lock, _)| *lock).collect();
                let expected = Protection {
                    reads: set(&mut table, &all),
                    writes: set(&mut table, &exclusive),
                };
                prop_assert_eq!(held.protection(&mut table), expected);
            }
        }
    }
}
