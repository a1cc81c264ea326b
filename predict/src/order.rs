//! The order graph: which events must come before which (pecan.txt §4.3, §5.1).
//!
//! Only *thread communication* is kept: a thread's life is cut into **moments**,
//! a new one wherever it hears of another thread or tells others of itself. For
//! each moment there is a row of what it has heard of, and that answers for any
//! two events whether one must come before the other, on demand.
//!
//! # What orders
//! The paper's partial order relation (Definition 1): program order, fork and
//! join, notify and wake. Lock releases order nothing: who has a lock first may
//! be different the next time.
//!
//! The paper is silent on the rest. An order that is not certain would hide real
//! anomalies, one that is left out costs a prediction that its re-execution
//! prunes; so an order is kept here only if it is certain, or, for atomics, if the
//! program says that it means it:
//!
//! * *Notifications* whose receiver is not known: only if there is one that can
//!   have been the one.
//! * *Semaphores*: a wait comes after a post that it cannot do without: not even
//!   with all posts that other threads make, anywhere in the trace. The initial
//!   value is the least that explains the trace.
//! * *Barriers*: arrivals before departures of a round in which everybody takes
//!   part who ever comes to this barrier. Otherwise the rounds may be made up
//!   differently the next time.
//! * *Atomics and fences*: release and acquire as in C11, where an acquire reads
//!   what was released, as the hybrid detectors have it ([`Atomics::Order`]). That
//!   is what keeps data published by a flag or owned by a reference count out of
//!   the predictions. It is not certain, for two increments of a counter could come
//!   the other way round: [`Atomics::Free`] has none of it.
//!
//! # What only schedules need
//! A schedule repeats what happened, where the order above says only what cannot
//! be otherwise. So there are [links](Link) besides: a wake-up after the notify that
//! caused it, that notify after the wait began, a departure after the arrivals of
//! a round of some.

use racehound_detect::clock::VectorClock;
use racehound_detect::order::{AtomicCell, AtomicOp, Order, Sync, ThreadCell, Volatiles};
use racehound_trace::{Event, Loc, Op, SyncId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Whether atomics order threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Atomics {
    /// As their memory order says.
    #[default]
    Order,
    /// They order nothing: everything is predicted that may happen, and more.
    Free,
}

/// A thread's moment, numbered from 0.
pub(crate) type Moment = u32;

/// `at` can only happen after `after`, in a schedule in which `only_if` happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) at: u32,
    pub(crate) after: u32,
    pub(crate) only_if: u32,
}

/// What a moment has heard of.
#[derive(Clone, Debug)]
struct Row {
    /// The thread's own time.
    time: u64,
    /// The first event of the moment.
    first: u32,
    /// An index of `OrderGraph::heard`.
    heard: u32,
}

#[derive(Clone, Debug, Default)]
struct Life {
    rows: Vec<Row>,
    /// The event that ended the thread's time 1, 2, and so on.
    tellings: Vec<u32>,
    last: u32,
}

/// The partial order of a trace.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrderGraph {
    lives: Vec<Life>,
    heard: Vec<VectorClock>,
    /// By the thread of `only_if`, in the order of that.
    pub(crate) links: Vec<Vec<Link>>,
}

impl OrderGraph {
    /// Whether an event of `a`'s thread in that moment must come before one of
    /// `b`'s, another thread.
    pub(crate) fn before(&self, a: (ThreadId, Moment), b: (ThreadId, Moment)) -> bool {
        let time = self.row(a).time;
        self.heard[self.row(b).heard as usize].get(a.0) >= time
    }

    /// Whether a thread can stand just behind one of its events while another one is in that
    /// moment: what the event tells others has been told then.
    pub(crate) fn can_stand(
        &self,
        (thread, event): (ThreadId, u32),
        b: (ThreadId, Moment),
    ) -> bool {
        let tellings = &self.lives[thread.index()].tellings;
        let time = 1 + tellings.partition_point(|telling| *telling <= event) as u64;
        self.heard[self.row(b).heard as usize].get(thread) < time
            && !self.before(b, (thread, self.moment(thread, event)))
    }

    fn row(&self, (thread, moment): (ThreadId, Moment)) -> &Row {
        &self.lives[thread.index()].rows[moment as usize]
    }

    /// How many threads there are.
    pub(crate) fn threads(&self) -> usize {
        self.lives.len()
    }

    /// Whether a thread has begun before an event.
    pub(crate) fn has_begun(&self, thread: ThreadId, event: u32) -> bool {
        let first = self.lives[thread.index()].rows.first();
        first.is_some_and(|row| row.first < event)
    }

    /// All moments: where they begin, and whose they are.
    pub(crate) fn moments(&self) -> impl Iterator<Item = (u32, ThreadId, Moment)> + '_ {
        let lives = self.lives.iter().enumerate();
        lives.flat_map(|(thread, life)| {
            let rows = life.rows.iter().zip(0..);
            rows.map(move |(row, moment)| (row.first, ThreadId::from_index(thread), moment))
        })
    }

    /// The moment of one of the thread's events.
    pub(crate) fn moment(&self, thread: ThreadId, event: u32) -> Moment {
        let rows = &self.lives[thread.index()].rows;
        rows.partition_point(|row| row.first <= event).max(1) as u32 - 1
    }

    /// For each other thread that must have got somewhere before this moment:
    /// its last event that must have happened.
    pub(crate) fn required(
        &self,
        at: (ThreadId, Moment),
    ) -> impl Iterator<Item = (ThreadId, u32)> + '_ {
        let heard = &self.heard[self.row(at).heard as usize];
        let others = (0..self.lives.len()).map(ThreadId::from_index);
        others
            .filter(move |other| *other != at.0)
            .filter_map(|other| {
                let life = &self.lives[other.index()];
                match heard.get(other) {
                    0 => None,
                    // Who was joined and has done nothing need not do it.
                    _ if life.rows.is_empty() => None,
                    // A thread that was joined has told everything with its end.
                    time => Some((
                        other,
                        *life.tellings.get(time as usize - 1).unwrap_or(&life.last),
                    )),
                }
            })
    }
}

/// Builds the graph from the events, one after the other.
pub(crate) struct OrderBuilder {
    graph: OrderGraph,
    sync: Sync,
    atomics_order: bool,
    cells: Vec<ThreadCell>,
    atomics: FxHashMap<Loc, AtomicCell>,
    waiting: FxHashMap<SyncId, Vec<Waiting>>,
    semaphores: FxHashMap<SyncId, Semaphore>,
    barriers: FxHashMap<SyncId, Barrier>,
}

struct Waiting {
    thread: ThreadId,
    since: u32,
    /// The notifications that may have been for it, and what they knew.
    notices: Vec<(u32, VectorClock)>,
}

#[derive(Default)]
struct Semaphore {
    /// The least initial value that explains the trace.
    initial: u64,
    /// By thread: how many posts it makes in all.
    all_posts: FxHashMap<ThreadId, u64>,
    /// By thread: what it knew at each post so far.
    posts: FxHashMap<ThreadId, Vec<VectorClock>>,
    waits: FxHashMap<ThreadId, u64>,
}

#[derive(Default)]
struct Barrier {
    /// Who ever comes here.
    members: FxHashSet<ThreadId>,
    open: Round,
    closed: Vec<Round>,
}

#[derive(Default)]
struct Round {
    known: VectorClock,
    arrivals: Vec<(ThreadId, u32)>,
    left: usize,
}

impl OrderBuilder {
    /// For the trace of these events.
    pub(crate) fn new(events: &[Event], threads: usize, atomics: Atomics) -> Self {
        let mut semaphores: FxHashMap<SyncId, Semaphore> = FxHashMap::default();
        let mut barriers: FxHashMap<SyncId, Barrier> = FxHashMap::default();
        let mut values: FxHashMap<SyncId, i64> = FxHashMap::default();
        for event in events {
            match event.op {
                Op::SemPost { sem } => {
                    let posts = &mut semaphores.entry(sem).or_default().all_posts;
                    *posts.entry(event.thread).or_default() += 1;
                    *values.entry(sem).or_default() += 1;
                }
                Op::SemWait { sem } => {
                    let value = values.entry(sem).or_default();
                    *value -= 1;
                    let semaphore = semaphores.entry(sem).or_default();
                    semaphore.initial = semaphore.initial.max((-*value).max(0) as u64);
                }
                Op::BarrierArrive { barrier } => {
                    let members = &mut barriers.entry(barrier).or_default().members;
                    members.insert(event.thread);
                }
                _ => {}
            }
        }
        let ids = || (0..threads).map(ThreadId::from_index);
        Self {
            graph: OrderGraph {
                lives: vec![Life::default(); threads],
                heard: vec![VectorClock::default()],
                links: vec![Vec::new(); threads],
            },
            sync: Sync::new(Order::WithoutLocks, Volatiles::AsEdges),
            atomics_order: atomics == Atomics::Order,
            cells: ids().map(ThreadCell::new).collect(),
            atomics: FxHashMap::default(),
            waiting: FxHashMap::default(),
            semaphores,
            barriers,
        }
    }

    /// The initial values of the semaphores.
    pub(crate) fn semaphores(&self) -> FxHashMap<SyncId, u64> {
        let initial = self.semaphores.iter();
        initial.map(|(sem, s)| (*sem, s.initial)).collect()
    }

    /// The graph.
    pub(crate) fn finish(self) -> OrderGraph {
        self.graph
    }

    /// The thread's moment now.
    pub(crate) fn moment(&self, thread: ThreadId) -> Moment {
        self.graph.lives[thread.index()].rows.len() as u32 - 1
    }

    /// What a thread hears of by its next event, before it happens. Whether it
    /// is another moment from then on.
    pub(crate) fn hear(&mut self, at: u32, event: &Event) -> bool {
        let (thread, t) = (event.thread, event.thread.index());
        self.graph.lives[t].last = at;
        match event.op {
            Op::Join { child } if child != thread => {
                let Ok([me, other]) = self.cells.get_disjoint_mut([t, child.index()]) else {
                    return self.enter(at, thread);
                };
                self.sync.join(me, other);
            }
            Op::Wake { cond, notified, .. } => self.wake(at, thread, cond, notified),
            Op::SemWait { sem } => self.take(thread, sem),
            Op::BarrierLeave { barrier } => self.depart(at, thread, barrier),
            Op::Fence { order } if self.atomics_order => {
                self.sync.fence(&mut self.cells[t], order);
            }
            op => {
                if let Some((loc, atomic, order)) = self.atomic(&op) {
                    let cell = self.atomics.entry(loc).or_default();
                    self.sync
                        .before_atomic(&mut self.cells[t], atomic, order, cell);
                } else {
                    let time = self.cells[t].epoch().clock();
                    let row = self.graph.lives[t].rows.last();
                    if row.is_some_and(|row| row.time == time) {
                        return false;
                    }
                }
            }
        }
        self.enter(at, thread)
    }

    /// What a thread tells others by an event that has happened. Whether it has
    /// told something.
    pub(crate) fn tell(&mut self, at: u32, event: &Event) -> bool {
        let (thread, t) = (event.thread, event.thread.index());
        match event.op {
            Op::Fork { child } if child != thread => {
                if let Ok([me, other]) = self.cells.get_disjoint_mut([t, child.index()]) {
                    self.sync.fork(me, other);
                }
            }
            Op::Wait { cond, .. } => {
                let waiting = self.waiting.entry(cond).or_default();
                waiting.retain(|w| w.thread != thread);
                waiting.push(Waiting {
                    thread,
                    since: at,
                    notices: Vec::new(),
                });
            }
            Op::NotifyOne { cond, woken } => self.notify(at, thread, cond, woken),
            Op::NotifyAll { cond } => self.notify(at, thread, cond, None),
            Op::SemPost { sem } => {
                let known = self.knowledge(thread);
                let posts = &mut self.semaphores.entry(sem).or_default().posts;
                posts.entry(thread).or_default().push(known);
                self.cells[t].clock.tick();
            }
            Op::BarrierArrive { barrier } => {
                let round = &mut self.barriers.entry(barrier).or_default().open;
                self.cells[t].clock.tell(&mut round.known);
                round.arrivals.push((thread, at));
                self.cells[t].clock.tick();
            }
            Op::Alloc { loc, size } => {
                if u64::from(size) < self.atomics.len() as u64 {
                    for byte in 0..u64::from(size) {
                        self.atomics.remove(&Loc(loc.0.wrapping_add(byte)));
                    }
                } else {
                    let fresh = |l: &Loc| l.0.wrapping_sub(loc.0) < u64::from(size);
                    self.atomics.retain(|l, _| !fresh(l));
                }
            }
            op => {
                if let Some((loc, atomic, order)) = self.atomic(&op) {
                    let cell = self.atomics.entry(loc).or_default();
                    self.sync
                        .after_atomic(&mut self.cells[t], atomic, order, cell);
                }
            }
        }
        let tellings = &mut self.graph.lives[t].tellings;
        let time = self.cells[t].epoch().clock();
        let told = (tellings.len() as u64) + 1 < time;
        while (tellings.len() as u64) + 1 < time {
            tellings.push(at);
        }
        told
    }

    fn atomic(&self, op: &Op) -> Option<(Loc, AtomicOp, racehound_trace::MemoryOrder)> {
        if !self.atomics_order {
            return None;
        }
        match *op {
            Op::AtomicLoad { loc, order, .. } => Some((loc, AtomicOp::Load, order)),
            Op::AtomicStore { loc, order, .. } => Some((loc, AtomicOp::Store, order)),
            Op::AtomicRmw { loc, order, .. } => Some((loc, AtomicOp::Rmw, order)),
            _ => None,
        }
    }

    fn knowledge(&self, thread: ThreadId) -> VectorClock {
        let mut known = VectorClock::default();
        self.cells[thread.index()].clock.tell(&mut known);
        known
    }

    /// Begins a new moment, if the thread knows more or its time has passed.
    fn enter(&mut self, at: u32, thread: ThreadId) -> bool {
        let known = self.knowledge(thread);
        let time = self.cells[thread.index()].epoch().clock();
        let OrderGraph { lives, heard, .. } = &mut self.graph;
        let rows = &mut lives[thread.index()].rows;
        let others_same = |a: &VectorClock, b: &VectorClock, threads: usize| {
            let others = (0..threads).map(ThreadId::from_index);
            others
                .filter(|other| *other != thread)
                .all(|other| a.get(other) == b.get(other))
        };
        if let Some(row) = rows.last() {
            let same = others_same(&heard[row.heard as usize], &known, self.cells.len());
            if same && row.time == time {
                return false;
            }
            let heard_of = if same { row.heard } else { heard.len() as u32 };
            rows.push(Row {
                time,
                first: at,
                heard: heard_of,
            });
            if !same {
                heard.push(known);
            }
            return !same;
        }
        rows.push(Row {
            time,
            first: at,
            heard: heard.len() as u32,
        });
        heard.push(known);
        true
    }

    fn notify(&mut self, at: u32, thread: ThreadId, cond: SyncId, woken: Option<ThreadId>) {
        let known = self.knowledge(thread);
        for waiting in self.waiting.entry(cond).or_default() {
            match woken {
                Some(woken) if woken == waiting.thread => {
                    waiting.notices = vec![(at, known.clone())];
                }
                Some(_) => {}
                None => waiting.notices.push((at, known.clone())),
            }
        }
        self.cells[thread.index()].clock.tick();
    }

    fn wake(&mut self, at: u32, thread: ThreadId, cond: SyncId, notified: bool) {
        let waiting = self.waiting.entry(cond).or_default();
        let Some(index) = waiting.iter().position(|w| w.thread == thread) else {
            return;
        };
        let Waiting { since, notices, .. } = waiting.swap_remove(index);
        let (true, Some((notify, known))) = (notified, notices.first()) else {
            return;
        };
        if notices.len() == 1 {
            self.cells[thread.index()].clock.learn(known);
        }
        let link = |at, after, only_if| Link { at, after, only_if };
        let links = [link(at, *notify, at), link(*notify, since, at)];
        self.graph.links[thread.index()].extend(links);
    }

    /// The posts that a wait cannot do without: if all posts of others and its
    /// own earlier ones are not enough, then so many of one thread's.
    fn take(&mut self, thread: ThreadId, sem: SyncId) {
        let semaphore = self.semaphores.entry(sem).or_default();
        let waits = semaphore.waits.entry(thread).or_default();
        *waits += 1;
        let own = semaphore.posts.get(&thread).map_or(0, Vec::len) as u64;
        let others = || semaphore.all_posts.iter().filter(|(t, _)| **t != thread);
        let there: u64 = others().map(|(_, posts)| posts).sum::<u64>() + own + semaphore.initial;
        for (poster, all) in others() {
            let needed = waits.saturating_sub(there - all);
            let posts = semaphore.posts.get(poster);
            if needed > 0
                && let Some(known) = posts.and_then(|posts| posts.get(needed as usize - 1))
            {
                self.cells[thread.index()].clock.learn(known);
            }
        }
    }

    fn depart(&mut self, at: u32, thread: ThreadId, barrier: SyncId) {
        let barrier = self.barriers.entry(barrier).or_default();
        let takes_part = |round: &Round| round.arrivals.iter().any(|(t, _)| *t == thread);
        if takes_part(&barrier.open) {
            barrier.closed.push(std::mem::take(&mut barrier.open));
        }
        let Some(index) = barrier.closed.iter().position(takes_part) else {
            return;
        };
        let round = &mut barrier.closed[index];
        if round.arrivals.len() == barrier.members.len() {
            self.cells[thread.index()].clock.learn(&round.known);
        } else {
            let others = round.arrivals.iter().filter(|(t, _)| *t != thread);
            let links = others.map(|&(_, after)| Link {
                at,
                after,
                only_if: at,
            });
            self.graph.links[thread.index()].extend(links);
        }
        round.left += 1;
        if round.left == round.arrivals.len() {
            barrier.closed.remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use racehound_trace::{Builder, MemoryOrder, Trace};

    use super::*;

    fn graph(trace: &Trace, atomics: Atomics) -> (OrderGraph, Vec<Moment>) {
        let threads = trace.tables.threads.len();
        let mut builder = OrderBuilder::new(&trace.events, threads, atomics);
        let mut moments = Vec::new();
        for (at, event) in trace.events.iter().enumerate() {
            builder.hear(at as u32, event);
            moments.push(builder.moment(event.thread));
            builder.tell(at as u32, event);
        }
        (builder.finish(), moments)
    }

    /// Whether the last event labelled `x` must come after the first one.
    fn ordered(trace: &Trace, atomics: Atomics) -> bool {
        let (graph, moments) = graph(trace, atomics);
        let label = |event: &Event| trace.tables.site_text(event.site) == Some("x");
        let first = trace.events.iter().position(label).unwrap();
        let last = trace.events.iter().rposition(label).unwrap();
        let at = |i: usize| (trace.events[i].thread, moments[i]);
        assert_eq!(graph.moment(at(last).0, last as u32), moments[last]);
        assert!(!graph.before(at(last), at(first)));
        graph.before(at(first), at(last))
    }

    /// A trace of steps such as `0 x`, `0 fork 1`, `1 post s`.
    fn trace(steps: &str) -> Trace {
        let mut b = Builder::new();
        let threads = ["T0", "T1", "T2"].map(|name| b.thread(name));
        let order = MemoryOrder::SeqCst;
        for step in steps.split(';') {
            let words: Vec<_> = step.split_whitespace().collect();
            let thread = threads[words[0].parse::<usize>().unwrap()];
            let child = || threads[words[2].parse::<usize>().unwrap()];
            let x = b.variable("x");
            let cond = b.sync("c");
            let op = match words[1] {
                "x" => Op::Write { loc: x, size: 1 },
                "fork" => Op::Fork { child: child() },
                "join" => Op::Join { child: child() },
                "post" => Op::SemPost { sem: b.sync("s") },
                "take" => Op::SemWait { sem: b.sync("s") },
                "arrive" => Op::BarrierArrive {
                    barrier: b.sync("b"),
                },
                "leave" => Op::BarrierLeave {
                    barrier: b.sync("b"),
                },
                "wait" => Op::Wait { cond, lock: None },
                "wake" => Op::Wake {
                    cond,
                    lock: None,
                    notified: true,
                },
                "notify" => Op::NotifyOne {
                    cond,
                    woken: words.get(2).map(|_| child()),
                },
                "store" => Op::AtomicStore {
                    loc: b.variable("a"),
                    size: 1,
                    order,
                },
                "load" => Op::AtomicLoad {
                    loc: b.variable("a"),
                    size: 1,
                    order,
                },
                "fence" => Op::Fence { order },
                "relaxed" => Op::AtomicStore {
                    loc: b.variable("a"),
                    size: 1,
                    order: MemoryOrder::Relaxed,
                },
                "acq" => Op::Acquire {
                    lock: b.sync("l"),
                    mode: racehound_trace::Mode::Exclusive,
                },
                "rel" => Op::Release {
                    lock: b.sync("l"),
                    mode: racehound_trace::Mode::Exclusive,
                },
                other => panic!("{other}"),
            };
            let label = if words[1] == "x" { "x" } else { step };
            b.push(thread, label, op);
        }
        b.finish()
    }

    #[test]
    fn what_orders_and_what_does_not() {
        for (steps, expected) in [
            ("0 x; 0 fork 1; 1 x", true),
            ("0 fork 1; 0 x; 1 x", false),
            ("1 x; 0 join 1; 0 x", true),
            ("0 acq; 0 x; 0 rel; 1 acq; 1 x; 1 rel", false),
            ("1 wait; 0 x; 0 notify 1; 1 wake; 1 x", true),
            ("1 wait; 0 x; 0 notify; 1 wake; 1 x", true),
            ("1 wait; 0 x; 0 notify; 2 notify; 1 wake; 1 x", false),
            (
                "1 wait; 2 wait; 0 x; 0 notify 2; 0 notify 1; 1 wake; 1 x",
                true,
            ),
            ("1 wait; 2 notify 1; 0 x; 0 notify; 1 wake; 1 x", false),
            // A semaphore as a signal, and the signal of either of two.
            ("0 x; 0 post; 1 take; 1 x", true),
            ("0 x; 0 post; 1 take; 2 post; 1 x", false),
            ("0 post; 0 x; 0 post; 1 take; 1 x", false),
            ("0 post; 0 x; 0 post; 1 take; 1 take; 1 x", true),
            // As a mutex.
            ("0 take; 0 x; 0 post; 1 take; 1 x; 1 post", false),
            // A barrier for all, and one of which two make a round.
            ("0 x; 0 arrive; 1 arrive; 1 leave; 1 x; 0 leave", true),
            (
                "0 x; 0 arrive; 1 arrive; 1 leave; 1 x; 0 leave; 2 arrive; 0 arrive",
                false,
            ),
            ("0 x; 0 store; 1 load; 1 x", true),
            ("0 x; 0 relaxed; 1 load; 1 x", false),
            ("0 x; 0 fence; 0 relaxed; 1 load; 1 x", true),
            ("0 fence; 0 x; 0 relaxed; 1 load; 1 x", false),
        ] {
            assert_eq!(ordered(&trace(steps), Atomics::Order), expected, "{steps}");
        }
    }

    #[test]
    fn free_atomics_order_nothing() {
        for steps in [
            "0 x; 0 store; 1 load; 1 x",
            "0 x; 0 fence; 0 relaxed; 1 load; 1 x",
        ] {
            assert!(!ordered(&trace(steps), Atomics::Free), "{steps}");
        }
    }

    #[test]
    fn what_is_required_is_the_last_event_told_of() {
        let trace = trace("0 x; 0 fork 1; 0 x; 1 x; 0 join 1; 0 x");
        let (graph, moments) = graph(&trace, Atomics::Order);
        let required = |at: usize| {
            let at = (trace.events[at].thread, moments[at]);
            graph
                .required(at)
                .map(|(t, e)| (t.0, e))
                .collect::<Vec<_>>()
        };
        assert_eq!(required(0), []);
        assert_eq!(required(3), [(0, 1)]);
        assert_eq!(required(5), [(1, 3)]);
    }

    #[test]
    fn a_wake_up_is_linked_to_its_notify_and_that_to_the_wait() {
        let (graph, _) = graph(&trace("1 wait; 0 notify; 0 notify; 1 wake"), Atomics::Order);
        let links: Vec<_> = graph.links[1].iter().map(|l| (l.at, l.after)).collect();
        assert_eq!(links, [(3, 1), (1, 0)]);
    }
}
