//! The locks a thread holds, and the sets of them that accesses remember.
//!
//! A set is a number, as in `racehound_detect::lockset`, but one that also
//! knows how each lock was held, for reports, and which of its locks protect
//! reads and writes, for AccuLock.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashTable;
use racehound_detect::lockset::{LockSetId, LockSets, Protection};
use racehound_trace::{Mode, SyncId};
use rustc_hash::FxBuildHasher;

use crate::context::Context;
use crate::memory::Table;
use crate::spin::Locked;

/// A set of locks held, as a number. The lowest bit tells whether one of them is
/// held for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(transparent)]
pub(crate) struct LocksId(u32);

impl LocksId {
    pub(crate) const NONE: Self = Self(0);
    /// Of several accesses, which may differ in their locks: equal to no set.
    pub(crate) const MIXED: Self = Self(u32::MAX - 1);

    fn new(index: usize, exclusive: bool) -> Self {
        Self((index as u32) << 1 | u32::from(exclusive))
    }

    pub(crate) fn to_bits(self) -> u32 {
        self.0
    }

    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    fn index(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Whether one of the locks is held for writing.
    #[inline(always)]
    pub(crate) fn is_exclusive(self) -> bool {
        self.0 & 1 == 1
    }
}

/// A lock in such a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hold {
    pub(crate) lock: SyncId,
    pub(crate) mode: Mode,
}

/// All sets there ever were.
struct Sets {
    all: Vec<Box<[Hold]>>,
    ids: HashTable<LocksId>,
    protections: LockSets,
}

static SETS: Locked<Option<Sets>> = Locked::new(None);

/// What the locks of each set protect: the two numbers of a [`Protection`]. Read
/// without a lock.
static PROTECTIONS: Table<AtomicU64, { 1 << 28 }> = Table::new();

fn with_sets<R>(f: impl FnOnce(&mut Sets) -> R) -> R {
    let mut guard = SETS.lock();
    f(guard.get_or_insert_with(|| Sets {
        all: vec![Box::default()],
        ids: HashTable::new(),
        protections: LockSets::default(),
    }))
}

impl Sets {
    fn with(&mut self, set: LocksId, hold: Hold) -> LocksId {
        let mut holds = self.all[set.index()].to_vec();
        holds.push(hold);
        let hash = FxBuildHasher.hash_one(&holds);
        let Self { all, ids, .. } = self;
        if let Some(&id) = ids.find(hash, |id| *all[id.index()] == holds[..]) {
            return id;
        }
        let mut protection = protection(set);
        protection.reads = self.protections.with(protection.reads, hold.lock);
        if hold.mode == Mode::Exclusive {
            protection.writes = self.protections.with(protection.writes, hold.lock);
        }
        let id = LocksId::new(self.all.len(), !protection.writes.is_empty());
        let bits =
            u64::from(protection.reads.number()) | u64::from(protection.writes.number()) << 32;
        PROTECTIONS.get(id.index()).store(bits, Ordering::Release);
        self.all.push(holds.into_boxed_slice());
        let all = &self.all;
        self.ids
            .insert_unique(hash, id, |id| FxBuildHasher.hash_one(&all[id.index()]));
        id
    }
}

/// The locks of a set, in the order they were taken.
pub(crate) fn holds(set: LocksId) -> Vec<Hold> {
    with_sets(|sets| sets.all[set.index()].to_vec())
}

/// Which of its locks protect what.
pub(crate) fn protection(set: LocksId) -> Protection {
    let bits = PROTECTIONS.get(set.index()).load(Ordering::Acquire);
    Protection {
        reads: LockSetId::from_number(bits as u32),
        writes: LockSetId::from_number((bits >> 32) as u32),
    }
}

/// `a ∩ b`, for AccuLock.
pub(crate) fn meet(a: LockSetId, b: LockSetId) -> LockSetId {
    if a == b || a.is_empty() {
        return a;
    }
    if b.is_empty() {
        return b;
    }
    with_sets(|sets| sets.protections.meet(a, b))
}

/// The locks of a set that AccuLock made.
pub(crate) fn members(set: LockSetId) -> Vec<SyncId> {
    with_sets(|sets| sets.protections.locks(set).to_vec())
}

/// A lock being held.
#[derive(Clone, Copy)]
pub(crate) struct Holding {
    pub(crate) hold: Hold,
    pub(crate) depth: u32,
    /// Where it was taken.
    pub(crate) taken: Context,
    /// The set of this lock and those before it, once somebody asked.
    set: Option<LocksId>,
}

/// The locks a thread holds, in the order taken.
#[derive(Default)]
pub(crate) struct Held {
    stack: Vec<Holding>,
    /// Sets computed lately.
    recent: Recent,
}

/// The set before, the lock, the outcome.
struct Recent([(LocksId, Option<Hold>, LocksId); RECENT]);

const RECENT: usize = 128;

impl Default for Recent {
    fn default() -> Self {
        Self([(LocksId::NONE, None, LocksId::NONE); RECENT])
    }
}

impl Recent {
    fn slot(&mut self, before: LocksId, hold: Hold) -> &mut (LocksId, Option<Hold>, LocksId) {
        let mixed = (before.0 ^ hold.lock.0 << 8).wrapping_mul(0x9e37_79b1);
        &mut self.0[(mixed >> (32 - RECENT.ilog2())) as usize]
    }
}

impl Held {
    /// Notes an acquisition; true unless it was re-entrant.
    #[inline]
    pub(crate) fn push(&mut self, lock: SyncId, mode: Mode, taken: Context) -> bool {
        let hold = Hold { lock, mode };
        if let Some(known) = self.stack.iter_mut().rev().find(|h| h.hold == hold) {
            known.depth += 1;
            return false;
        }
        self.stack.push(Holding {
            hold,
            depth: 1,
            taken,
            set: None,
        });
        // Most locks are taken to access something.
        self.find();
        true
    }

    /// Notes a release; true unless the lock is still held.
    #[inline]
    pub(crate) fn pop(&mut self, lock: SyncId, mode: Mode) -> bool {
        let hold = Hold { lock, mode };
        let Some(at) = self.stack.iter().rposition(|h| h.hold == hold) else {
            return true;
        };
        self.stack[at].depth -= 1;
        if self.stack[at].depth > 0 {
            return false;
        }
        self.remove(at);
        true
    }

    /// Forgets a lock whatever its mode and depth.
    pub(crate) fn forget(&mut self, lock: SyncId) {
        while let Some(at) = self.stack.iter().position(|h| h.hold.lock == lock) {
            self.remove(at);
        }
    }

    #[inline]
    fn remove(&mut self, at: usize) {
        // Mostly the last to be taken is the first to be given back.
        if at + 1 == self.stack.len() {
            self.stack.truncate(at);
            return;
        }
        self.stack.remove(at);
        for later in &mut self.stack[at..] {
            later.set = None;
        }
    }

    /// The locks held.
    pub(crate) fn all(&self) -> &[Holding] {
        &self.stack
    }

    /// The set of the locks held.
    #[inline]
    pub(crate) fn set(&mut self) -> LocksId {
        match self.stack.last() {
            None => LocksId::NONE,
            Some(Holding { set: Some(set), .. }) => *set,
            Some(_) => self.find(),
        }
    }

    /// The same, if somebody has asked before.
    #[inline(always)]
    pub(crate) fn known_set(&self) -> Option<LocksId> {
        match self.stack.last() {
            None => Some(LocksId::NONE),
            Some(innermost) => innermost.set,
        }
    }

    fn find(&mut self) -> LocksId {
        let known = self.stack.iter().rposition(|h| h.set.is_some());
        let first = known.map_or(0, |at| at + 1);
        let mut set = known.and_then(|at| self.stack[at].set).unwrap_or_default();
        for at in first..self.stack.len() {
            let hold = self.stack[at].hold;
            let recent = self.recent.slot(set, hold);
            if recent.0 != set || recent.1 != Some(hold) {
                let after = with_sets(|sets| sets.with(set, hold));
                *recent = (set, Some(hold), after);
            }
            set = recent.2;
            self.stack[at].set = Some(set);
        }
        set
    }
}
