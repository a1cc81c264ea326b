//! Locks taken in different orders: a deadlock that has not happened yet.
//!
//! The graph has an edge from lock *a* to lock *b* if some thread took *b* while
//! it held *a*. A circle of edges made by different threads, with no lock in
//! common that all of them held (a gate that lets only one of them in at a
//! time), and that have not run in turn, means that threads in the right interleaving wait for each other.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::context::Context;
use crate::objects::Held;
use crate::registry;
use crate::report::{self, Inversion};
use crate::spin::Locked;
use crate::thread::Thread;

/// An order of two locks as a thread had it.
struct Edge {
    to: u32,
    thread: u32,
    /// Where the second was taken, and where the first had been.
    taken: Context,
    held: Context,
    /// All locks the thread held.
    gates: Vec<u32>,
}

#[derive(Default)]
struct Graph {
    edges: FxHashMap<u32, Vec<Edge>>,
    /// Circles that were reported, by their locks.
    told: FxHashSet<Vec<u32>>,
}

static GRAPH: Locked<Option<Graph>> = Locked::new(None);

/// Different ways in which one lock was taken after another that are kept:
/// different threads or gates.
const WAYS: usize = 4;

/// A circle that is looked for is not longer.
const LONGEST: usize = 12;

/// Edges that are looked at for a circle: where every lock is taken after every
/// other, there are more ways than time.
const EFFORT: usize = 4096;

/// The thread is about to wait for a lock while it holds others.
pub(crate) fn before_lock(thread: &mut Thread, object: Held, place: usize) {
    let id = object.id;
    let mutex = object.mutex;
    drop(object);
    if mutex.owner == thread.number + 1 || thread.held.all().is_empty() {
        return;
    }
    let held: Vec<(u32, Context)> = thread
        .held
        .all()
        .iter()
        .map(|h| (h.hold.lock.0, h.taken))
        .collect();
    if held.iter().any(|&(lock, _)| lock == id) {
        return;
    }
    let gates: Vec<u32> = held.iter().map(|&(lock, _)| lock).collect();
    let mut guard = GRAPH.lock();
    let graph = guard.get_or_insert_default();
    let mut taken = None;
    let mut circle = None;
    for &(from, where_held) in &held {
        let edges = graph.edges.entry(from).or_default();
        let same = |e: &Edge| e.to == id && e.thread == thread.number && e.gates == gates;
        if edges.iter().any(same) || edges.iter().filter(|e| e.to == id).count() >= WAYS {
            continue;
        }
        let taken = *taken.get_or_insert_with(|| thread.context(place));
        edges.push(Edge {
            to: id,
            thread: thread.number,
            taken,
            held: where_held,
            gates: gates.clone(),
        });
        circle = circle.or_else(|| graph.circle(from));
    }
    drop(guard);
    if let Some(circle) = circle {
        report::inversion(&circle);
    }
}

/// The thread has taken a lock: where it only tried, it never waited, so nothing
/// can come of it.
pub(crate) fn after_lock(_thread: &mut Thread, object: &mut Held, _tried: bool) {
    object.mutex.node = object.id + 1;
}

/// A lock is gone.
pub(crate) fn forget(node: u32) {
    let id = node - 1;
    if let Some(graph) = GRAPH.lock().as_mut() {
        graph.edges.remove(&id);
        for edges in graph.edges.values_mut() {
            edges.retain(|e| e.to != id);
        }
    }
}

impl Graph {
    /// A circle through the newest edge of a lock that was not reported yet.
    fn circle(&mut self, from: u32) -> Option<Vec<Inversion>> {
        let newest = self.edges.get(&from)?.last()?;
        if !self.leads(newest.to, from) {
            return None;
        }
        let mut path = vec![(from, newest)];
        let mut effort = EFFORT;
        if !self.extend(&mut path, from, &mut effort) {
            return None;
        }
        let mut locks: Vec<u32> = path.iter().map(|(lock, _)| *lock).collect();
        locks.sort_unstable();
        let inversion = |(from, edge): &(u32, &Edge)| Inversion {
            from: *from,
            to: edge.to,
            thread: edge.thread,
            taken: edge.taken,
            held: edge.held,
        };
        // The oldest first: the newest closes the circle.
        path.rotate_left(1);
        let circle = path.iter().map(inversion).collect();
        self.told.insert(locks).then_some(circle)
    }

    /// Whether some way leads from one lock to another.
    fn leads(&self, from: u32, to: u32) -> bool {
        let mut seen = FxHashSet::default();
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            if at == to {
                return true;
            }
            if seen.insert(at) {
                open.extend(
                    self.edges
                        .get(&at)
                        .into_iter()
                        .flatten()
                        .map(|edge| edge.to),
                );
            }
        }
        false
    }

    /// Goes on from the end of the path until it is back at its beginning.
    fn extend<'a>(
        &'a self,
        path: &mut Vec<(u32, &'a Edge)>,
        goal: u32,
        effort: &mut usize,
    ) -> bool {
        let Some((_, last)) = path.last() else {
            return false;
        };
        let at = last.to;
        if at == goal {
            return is_dangerous(path);
        }
        if path.len() >= LONGEST || path.iter().any(|(lock, _)| *lock == at) {
            return false;
        }
        for edge in self.edges.get(&at).into_iter().flatten() {
            if *effort == 0 {
                return false;
            }
            *effort -= 1;
            path.push((at, edge));
            if self.extend(path, goal, effort) {
                return true;
            }
            path.pop();
        }
        false
    }
}

/// Whether different threads have taken part, with no gate in common.
fn is_dangerous(path: &[(u32, &Edge)]) -> bool {
    let locks: Vec<u32> = path.iter().map(|(lock, _)| *lock).collect();
    path.iter().enumerate().all(|(i, (_, a))| {
        path[..i].iter().all(|(_, b)| {
            let gate = |lock: &u32| b.gates.contains(lock) && !locks.contains(lock);
            a.thread != b.thread
                && !a.gates.iter().any(gate)
                && !registry::in_turn(a.thread, b.thread)
        })
    })
}
