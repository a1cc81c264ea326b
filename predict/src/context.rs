//! Lock contexts: which locks a thread holds, and what it took since.
//!
//! Two threads can stand at two places at the same time only if no lock that
//! both hold excludes the other (pecan.txt §4.2, the lockset condition), and if
//! neither had to get past the other to get there: that is told by
//! *acquisition histories* (Kahlon, Ivančić and Gupta, CAV 2005). If one thread
//! took `b` while it has held `a` ever since, and the other took `a` while it
//! has held `b` ever since, each would have had to be first. Both conditions are
//! necessary, so nothing real is lost by them; for two threads with nested locks
//! and no other order between them they are sufficient, too.
//!
//! Contexts are interned: equal ones have equal ids. Whether two can coexist is hardly
//! ever worth remembering: a program with many nested locks has millions of pairs, and
//! most of them are told apart by a [`Shade`] of their locks.

use std::rc::Rc;

use racehound_trace::{Mode, SyncId};
use rustc_hash::FxHashMap;

/// An interned lock context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ContextId(u32);

impl ContextId {
    /// No lock is held.
    pub(crate) const FREE: Self = Self(0);

    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

/// Histories longer than this are not kept: nothing is concluded from them.
const LONGEST_HISTORY: usize = 64;

/// A lock that is held.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Held {
    lock: SyncId,
    mode: Mode,
    /// What was taken since, sorted.
    history: Vec<SyncId>,
}

/// A set of locks, as a bit for each. Several locks share a bit: what two sets have in
/// common casts a common shade, but a common shade proves nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Shade(u64);

impl Shade {
    fn of(locks: impl Iterator<Item = SyncId>) -> Self {
        Self(locks.fold(0, |bits, lock| bits | 1 << (lock.0 % u64::BITS)))
    }

    fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// What a context is, and the shades of that.
#[derive(Debug, Default)]
struct Context {
    held: Rc<[Held]>,
    locks: Shade,
    /// What was taken while these were held.
    taken: Shade,
}

/// All contexts of a trace.
#[derive(Debug)]
pub(crate) struct Contexts {
    known: FxHashMap<Rc<[Held]>, ContextId>,
    all: Vec<Context>,
}

impl Default for Contexts {
    fn default() -> Self {
        Self {
            known: FxHashMap::from_iter([(Rc::default(), ContextId::FREE)]),
            all: vec![Context::default()],
        }
    }
}

impl Contexts {
    fn intern(&mut self, held: &[Held]) -> ContextId {
        if let Some(&id) = self.known.get(held) {
            return id;
        }
        let id = ContextId(self.all.len() as u32);
        let held: Rc<[Held]> = held.into();
        self.all.push(Context {
            held: held.clone(),
            locks: Shade::of(held.iter().map(|h| h.lock)),
            taken: Shade::of(held.iter().flat_map(|h| h.history.iter().copied())),
        });
        self.known.insert(held, id);
        id
    }

    /// The locks held, in the order of their ids.
    pub(crate) fn locks(&self, id: ContextId) -> impl Iterator<Item = (SyncId, Mode)> + '_ {
        let held = self.all[id.0 as usize].held.iter();
        held.map(|h| (h.lock, h.mode))
    }

    /// Whether this lock is held in a way that excludes one who wants it in
    /// this mode.
    pub(crate) fn excludes(&self, id: ContextId, lock: SyncId, mode: Mode) -> bool {
        let excludes = |held: Mode| held == Mode::Exclusive || mode == Mode::Exclusive;
        self.locks(id).any(|(l, held)| l == lock && excludes(held))
    }

    /// Whether two threads can be in these contexts at the same time.
    pub(crate) fn can_coexist(&self, a: ContextId, b: ContextId) -> bool {
        let (a, b) = (&self.all[a.0 as usize], &self.all[b.0 as usize]);
        let may_share = a.locks.meets(b.locks);
        let may_pass = a.taken.meets(b.locks) && b.taken.meets(a.locks);
        let is_excluded = may_share && share(&a.held, &b.held);
        let is_barred = may_pass && each_first(&a.held, &b.held);
        !is_excluded && !is_barred
    }
}

/// Whether some lock is held by both that one of them has for itself.
fn share(mine: &[Held], theirs: &[Held]) -> bool {
    mine.iter().any(|held| {
        let excludes = |other: &Held| {
            other.lock == held.lock
                && (other.mode == Mode::Exclusive || held.mode == Mode::Exclusive)
        };
        theirs.iter().any(excludes)
    })
}

/// Whether each had to get past the other.
fn each_first(mine: &[Held], theirs: &[Held]) -> bool {
    let exclusive = |held: &&Held| held.mode == Mode::Exclusive;
    mine.iter().filter(exclusive).any(|held| {
        theirs.iter().filter(exclusive).any(|other| {
            held.history.binary_search(&other.lock).is_ok()
                && other.history.binary_search(&held.lock).is_ok()
        })
    })
}

/// The locks of one thread as it goes. Re-entrant acquires are folded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holding {
    held: Vec<Held>,
    /// How often each is held.
    depths: Vec<u32>,
}

impl Holding {
    fn find(&self, lock: SyncId) -> Option<usize> {
        self.held.iter().position(|held| held.lock == lock)
    }

    /// Takes a lock so many times; whether it was not held before.
    pub(crate) fn take(&mut self, lock: SyncId, mode: Mode, times: u32) -> bool {
        if let Some(at) = self.find(lock) {
            self.depths[at] += times;
            return false;
        }
        for held in &mut self.held {
            if held.history.len() < LONGEST_HISTORY
                && let Err(at) = held.history.binary_search(&lock)
            {
                held.history.insert(at, lock);
            }
        }
        let history = Vec::new();
        let held = Held {
            lock,
            mode,
            history,
        };
        let at = self.held.partition_point(|held| held.lock < lock);
        self.held.insert(at, held);
        self.depths.insert(at, times);
        true
    }

    /// Gives a lock back once; whether it is held no longer.
    pub(crate) fn give(&mut self, lock: SyncId) -> bool {
        let Some(at) = self.find(lock) else {
            return false;
        };
        self.depths[at] -= 1;
        self.depths[at] == 0 && self.give_all(lock) == 0
    }

    /// Gives a lock back however often it is held; says how often that was.
    pub(crate) fn give_all(&mut self, lock: SyncId) -> u32 {
        let Some(at) = self.find(lock) else { return 0 };
        self.held.remove(at);
        self.depths.remove(at)
    }

    /// Where the thread is now.
    pub(crate) fn context(&self, contexts: &mut Contexts) -> ContextId {
        match &self.held[..] {
            [] => ContextId::FREE,
            held => contexts.intern(held),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A context from steps such as `+1` (take lock 1), `~1` (for reading), `-1`.
    fn context(contexts: &mut Contexts, steps: &str) -> ContextId {
        let mut holding = Holding::default();
        for step in steps.split_whitespace() {
            let lock = SyncId(step[1..].parse().unwrap());
            match &step[..1] {
                "+" => holding.take(lock, Mode::Exclusive, 1),
                "~" => holding.take(lock, Mode::Shared, 1),
                _ => holding.give(lock),
            };
        }
        holding.context(contexts)
    }

    #[test]
    fn a_common_lock_excludes_unless_both_read() {
        let mut contexts = Contexts::default();
        for (a, b, possible) in [
            ("+1", "+2", true),
            ("+1", "+1", false),
            ("~1", "+1", false),
            ("~1", "~1", true),
            ("+1 +1 -1", "+1", false),
            ("+1 -1", "+1", true),
        ] {
            let (a, b) = (context(&mut contexts, a), context(&mut contexts, b));
            assert_eq!(contexts.can_coexist(a, b), possible);
            assert_eq!(contexts.can_coexist(b, a), possible);
        }
    }

    #[test]
    fn who_had_to_get_past_each_other_cannot_both_be_there() {
        let mut contexts = Contexts::default();
        for (a, b, possible) in [
            ("+1 +2 -2", "+2 +1 -1", false),
            ("+1 +2 -2", "+2", true),
            ("+2 -2 +1", "+2 +1 -1", true),
            ("+1 +3 -3 +2 -2", "+2 +1 -1", false),
        ] {
            let (a, b) = (context(&mut contexts, a), context(&mut contexts, b));
            assert_eq!(contexts.can_coexist(a, b), possible);
        }
    }
}
