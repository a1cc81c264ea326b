//! Locks taken in different orders: a deadlock that has not happened yet.
//!
//! The graph has an edge from lock *a* to lock *b* if some thread took *b* while
//! it held *a*. A circle of edges made by different threads, with no lock in
//! common that all of them held (a gate that lets only one of them in at a time),
//! and that have not run in turn, means that threads in the right interleaving
//! wait for each other.
//!
//! Numbers of locks are never used twice, so an order that a thread has looked at
//! once has nothing new to tell: [`Seen`] keeps nested locking in a loop away from
//! the graph, which all threads share.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use crate::context::Context;
use crate::locks::LocksId;
use crate::objects::Held;
use crate::registry;
use crate::report::{self, Inversion};
use crate::spin::Locked;
use crate::thread::Thread;

/// How a thread took one lock after another.
struct Way {
    thread: u32,
    /// Where the second was taken, and where the first had been.
    taken: Context,
    held: Context,
    /// All locks the thread held.
    gates: Vec<u32>,
}

/// An edge, and one way in which it came to be.
#[derive(Clone, Copy)]
struct Step<'a> {
    from: u32,
    to: u32,
    way: &'a Way,
}

/// Every edge is there in both directions: what is known of a lock that is gone
/// is found without a look at the others.
#[derive(Default)]
struct Graph {
    /// By the lock that was held and the one that was taken.
    ways: BTreeMap<(u32, u32), Vec<Way>>,
    /// By the lock that was taken and the one that was held.
    back: BTreeSet<(u32, u32)>,
    /// Circles that were reported, by their locks.
    told: FxHashSet<Vec<u32>>,
}

static GRAPH: Locked<Option<Graph>> = Locked::new(None);

/// Different ways in which one lock was taken after another that are kept:
/// different threads or gates.
const WAYS: usize = 4;

/// A circle that is looked for is not longer.
const LONGEST: usize = 12;

/// Steps that are looked at for a circle: where every lock is taken after every
/// other, there are more ways than time.
const EFFORT: usize = 4096;

/// Orders that a thread remembers to have looked at.
const SEEN: usize = 64;

/// What a thread has looked at lately: the locks it held, and the one it took.
pub(crate) struct Seen([(LocksId, u32); SEEN]);

impl Default for Seen {
    fn default() -> Self {
        Self([(LocksId::NONE, 0); SEEN])
    }
}

impl Seen {
    /// Whether that order is new; it is not from now on. At least one lock is
    /// held.
    fn is_new(&mut self, held: LocksId, lock: u32) -> bool {
        let slot = held.to_bits().wrapping_mul(5) ^ lock;
        let seen = &mut self.0[slot as usize % SEEN];
        std::mem::replace(seen, (held, lock)) != (held, lock)
    }
}

/// The thread is about to wait for a lock while it holds others.
pub(crate) fn before_lock(thread: &mut Thread, object: Held, place: usize) {
    let (id, owner) = (object.id, object.mutex.owner);
    drop(object);
    if owner == thread.number + 1 || thread.held.all().is_empty() {
        return;
    }
    let set = thread.held.set();
    if thread.orders.is_new(set, id) {
        look(thread, id, place);
    }
}

/// Adds what the thread is about to do to the graph, and reports a circle.
#[cold]
fn look(thread: &Thread, id: u32, place: usize) {
    let held = thread.held.all();
    if held.iter().any(|h| h.hold.lock.0 == id) {
        return;
    }
    let gates: Vec<u32> = held.iter().map(|h| h.hold.lock.0).collect();
    let mut taken = None;
    let mut new = Vec::new();
    let mut guard = GRAPH.lock();
    let graph = guard.get_or_insert_default();
    for holding in held {
        let from = holding.hold.lock.0;
        if !graph.wants(from, id, thread.number, &gates) {
            continue;
        }
        let way = Way {
            thread: thread.number,
            taken: *taken.get_or_insert_with(|| thread.context(place)),
            held: holding.taken,
            gates: gates.clone(),
        };
        graph.add(from, id, way);
        new.push(from);
    }
    let circle = graph.circle_through(&new, id);
    drop(guard);
    if let Some(circle) = circle {
        report::inversion(&circle);
    }
}

/// The thread has taken a lock.
pub(crate) fn after_lock(object: &mut Held) {
    object.mutex.node = object.id + 1;
}

/// A lock is gone.
pub(crate) fn forget(node: u32) {
    if let Some(graph) = GRAPH.lock().as_mut() {
        graph.forget(node - 1);
    }
}

/// Everything in a set or map of pairs that begins with a lock.
fn all_of(lock: u32) -> std::ops::RangeInclusive<(u32, u32)> {
    (lock, 0)..=(lock, u32::MAX)
}

impl Graph {
    /// Whether the graph lacks that way, and has room for it.
    fn wants(&self, from: u32, to: u32, thread: u32, gates: &[u32]) -> bool {
        let known = self.ways.get(&(from, to)).map_or(&[][..], Vec::as_slice);
        let same = |way: &Way| way.thread == thread && way.gates == gates;
        known.len() < WAYS && !known.iter().any(same)
    }

    fn add(&mut self, from: u32, to: u32, way: Way) {
        self.ways.entry((from, to)).or_default().push(way);
        self.back.insert((to, from));
    }

    fn forget(&mut self, lock: u32) {
        let taken: Vec<u32> = self.ways.range(all_of(lock)).map(|(k, _)| k.1).collect();
        let held: Vec<u32> = self.back.range(all_of(lock)).map(|k| k.1).collect();
        for to in taken {
            self.ways.remove(&(lock, to));
            self.back.remove(&(to, lock));
        }
        for from in held {
            self.ways.remove(&(from, lock));
            self.back.remove(&(lock, from));
        }
    }

    /// All steps from a lock to another.
    fn steps(&self, from: u32) -> impl Iterator<Item = Step<'_>> {
        let edges = self.ways.range(all_of(from));
        edges.flat_map(|(&(from, to), ways)| ways.iter().map(move |way| Step { from, to, way }))
    }

    /// A circle through the newest way from one of some locks to another. Mostly
    /// nothing leads back to any of them, and one search tells.
    fn circle_through(&mut self, from: &[u32], to: u32) -> Option<Vec<Inversion>> {
        if from.is_empty() || !self.leads(to, from) {
            return None;
        }
        from.iter().find_map(|&from| self.circle(from, to))
    }

    /// A circle through the newest way from one lock to another that was not
    /// reported yet.
    fn circle(&mut self, from: u32, to: u32) -> Option<Vec<Inversion>> {
        if !self.leads(to, &[from]) {
            return None;
        }
        let way = self.ways.get(&(from, to))?.last()?;
        let mut path = vec![Step { from, to, way }];
        let mut effort = EFFORT;
        if !self.extend(&mut path, from, &mut effort) {
            return None;
        }
        let mut locks: Vec<u32> = path.iter().map(|step| step.from).collect();
        locks.sort_unstable();
        let inversion = |step: &Step| Inversion {
            from: step.from,
            to: step.to,
            thread: step.way.thread,
            taken: step.way.taken,
            held: step.way.held,
        };
        // The oldest first: the newest closes the circle.
        path.rotate_left(1);
        let circle = path.iter().map(inversion).collect();
        self.told.insert(locks).then_some(circle)
    }

    /// Whether some way leads from one lock to one of others.
    fn leads(&self, from: u32, to: &[u32]) -> bool {
        let mut seen = FxHashSet::default();
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            if to.contains(&at) {
                return true;
            }
            if seen.insert(at) {
                open.extend(self.ways.range(all_of(at)).map(|(edge, _)| edge.1));
            }
        }
        false
    }

    /// Goes on from the end of the path until it is back at its beginning.
    fn extend<'a>(&'a self, path: &mut Vec<Step<'a>>, goal: u32, effort: &mut usize) -> bool {
        let Some(last) = path.last() else {
            return false;
        };
        let at = last.to;
        if at == goal {
            return is_dangerous(path);
        }
        if path.len() >= LONGEST || path.iter().any(|step| step.from == at) {
            return false;
        }
        for step in self.steps(at) {
            if *effort == 0 {
                return false;
            }
            *effort -= 1;
            path.push(step);
            if self.extend(path, goal, effort) {
                return true;
            }
            path.pop();
        }
        false
    }
}

/// Whether different threads have taken part, with no gate in common.
fn is_dangerous(path: &[Step]) -> bool {
    let locks: Vec<u32> = path.iter().map(|step| step.from).collect();
    path.iter().enumerate().all(|(i, a)| {
        path[..i].iter().all(|b| {
            let (a, b) = (a.way, b.way);
            let gate = |lock: &u32| b.gates.contains(lock) && !locks.contains(lock);
            a.thread != b.thread
                && !a.gates.iter().any(gate)
                && !registry::in_turn(a.thread, b.thread)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread takes locks one after another, and keeps them.
    fn takes(graph: &mut Graph, thread: u32, locks: &[u32]) -> bool {
        let mut danger = false;
        for (at, &to) in locks.iter().enumerate() {
            let gates = &locks[..at];
            let wanted = |from: &u32| graph.wants(*from, to, thread, gates);
            let new: Vec<u32> = gates.iter().copied().filter(wanted).collect();
            for &from in &new {
                let way = Way {
                    thread,
                    taken: Context::UNKNOWN,
                    held: Context::UNKNOWN,
                    gates: gates.to_vec(),
                };
                graph.add(from, to, way);
            }
            danger |= graph.circle_through(&new, to).is_some();
        }
        danger
    }

    #[test]
    fn a_circle_of_two_threads_is_dangerous() {
        let mut graph = Graph::default();
        assert!(!takes(&mut graph, 1000, &[1, 2]));
        assert!(takes(&mut graph, 1001, &[2, 1]));
    }

    #[test]
    fn a_circle_of_one_thread_or_behind_a_gate_is_not() {
        let mut graph = Graph::default();
        assert!(!takes(&mut graph, 1000, &[1, 2]));
        assert!(!takes(&mut graph, 1000, &[2, 1]));
        assert!(!takes(&mut graph, 1000, &[9, 3, 4]));
        assert!(!takes(&mut graph, 1001, &[9, 4, 3]));
    }

    #[test]
    fn a_lock_that_is_gone_leaves_nothing() {
        let mut graph = Graph::default();
        takes(&mut graph, 1000, &[1, 2, 3]);
        graph.forget(2);
        assert!(graph.ways.keys().eq([&(1, 3)]));
        assert!(graph.back.iter().eq([&(3, 1)]));
        assert!(!takes(&mut graph, 1001, &[2, 1]));
        assert!(takes(&mut graph, 1001, &[3, 1]));
        for lock in 1..=3 {
            graph.forget(lock);
        }
        assert!(graph.ways.is_empty() && graph.back.is_empty());
    }

    #[test]
    fn an_order_is_new_once() {
        let mut seen = Seen::default();
        let (some, other) = (LocksId::from_bits(3), LocksId::from_bits(5));
        assert!(seen.is_new(some, 0));
        assert!(!seen.is_new(some, 0));
        assert!(seen.is_new(other, 0));
        assert!(seen.is_new(some, 7));
        assert!(!seen.is_new(some, 7));
    }
}
