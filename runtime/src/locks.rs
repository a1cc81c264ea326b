//! The locks a thread holds, and the sets of them that accesses remember.
//!
//! A set is a number, as in `racehound_detect::lockset`, but one that also
//! knows how each lock was held, for reports, and which of its locks protect
//! reads and writes, for AccuLock.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use racehound_detect::lockset::{LockSetId, LockSets, Protection};
use racehound_trace::{Mode, SyncId};
use rustc_hash::FxBuildHasher;

use crate::context::Context;
use crate::spin::Locked;

/// A set of locks held, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(transparent)]
pub(crate) struct LocksId(pub(crate) u32);

impl LocksId {
    pub(crate) const NONE: Self = Self(0);
}

/// A lock in such a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hold {
    pub(crate) lock: SyncId,
    pub(crate) mode: Mode,
}

struct Set {
    holds: Box<[Hold]>,
    protection: Protection,
}

/// All sets there ever were.
struct Sets {
    all: Vec<Set>,
    ids: HashTable<u32>,
    protections: LockSets,
}

static SETS: Locked<Option<Sets>> = Locked::new(None);

fn with_sets<R>(f: impl FnOnce(&mut Sets) -> R) -> R {
    let mut guard = SETS.lock();
    f(guard.get_or_insert_with(|| Sets {
        all: vec![Set {
            holds: Box::default(),
            protection: Protection::default(),
        }],
        ids: HashTable::new(),
        protections: LockSets::default(),
    }))
}

impl Sets {
    fn with(&mut self, set: LocksId, hold: Hold) -> LocksId {
        let mut holds = self.all[set.0 as usize].holds.to_vec();
        holds.push(hold);
        let hash = FxBuildHasher.hash_one(&holds);
        let Self { all, ids, .. } = self;
        if let Some(&id) = ids.find(hash, |id| *all[*id as usize].holds == holds[..]) {
            return LocksId(id);
        }
        let mut protection = self.all[set.0 as usize].protection;
        protection.reads = self.protections.with(protection.reads, hold.lock);
        if hold.mode == Mode::Exclusive {
            protection.writes = self.protections.with(protection.writes, hold.lock);
        }
        let id = self.all.len() as u32;
        self.all.push(Set {
            holds: holds.into_boxed_slice(),
            protection,
        });
        let all = &self.all;
        self.ids.insert_unique(hash, id, |id| {
            FxBuildHasher.hash_one(&all[*id as usize].holds)
        });
        LocksId(id)
    }
}

/// The locks of a set, in the order they were taken.
pub(crate) fn holds(set: LocksId) -> Vec<Hold> {
    with_sets(|sets| sets.all[set.0 as usize].holds.to_vec())
}

/// Which of its locks protect what.
pub(crate) fn protection(set: LocksId) -> Protection {
    with_sets(|sets| sets.all[set.0 as usize].protection)
}

/// `a ∩ b`, for AccuLock.
pub(crate) fn meet(a: LockSetId, b: LockSetId) -> LockSetId {
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
    /// Sets computed lately: the one before, the lock, the outcome.
    recent: [(LocksId, Option<Hold>, LocksId); 16],
}

impl Held {
    /// Notes an acquisition; true unless it was re-entrant.
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
        true
    }

    /// Notes a release; true unless the lock is still held.
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

    fn remove(&mut self, at: usize) {
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

    fn find(&mut self) -> LocksId {
        let known = self.stack.iter().rposition(|h| h.set.is_some());
        let first = known.map_or(0, |at| at + 1);
        let mut set = known.and_then(|at| self.stack[at].set).unwrap_or_default();
        for at in first..self.stack.len() {
            let hold = self.stack[at].hold;
            let recent = (set.0 ^ hold.lock.0.wrapping_mul(7)) as usize % self.recent.len();
            let (before, lock, after) = self.recent[recent];
            set = match before == set && lock == Some(hold) {
                true => after,
                false => {
                    let after = with_sets(|sets| sets.with(set, hold));
                    self.recent[recent] = (set, Some(hold), after);
                    after
                }
            };
            self.stack[at].set = Some(set);
        }
        set
    }
}
