//! From a tuple of events to an order of the trace in which it happens in pattern
//! order (pecan.txt §6, Algorithms 3 and 4).
//!
//! # The idea
//! The schedule is the trace with as little changed as possible. What has to
//! happen at all is found first: the tuple, what must come before it, and as much of
//! the rest as is asked for, but nothing behind it, which cuts the schedule after the
//! violation. Whether the tuple can happen is decided with the least. Up to the
//! *outermost lock* that
//! protects an event of the tuple everything stays as it was. From there on the
//! earliest event of the trace goes next that can, and that leaves everybody else
//! a way on. So events are moved behind others only where the trace's own order
//! would not do, and a lock that would have to be given back is not taken: the
//! paper's "outermost lock node" moves along with what it protects.
//!
//! # What leaves others a way on
//! * Whatever takes no lock.
//! * To take a lock that is given back, if all that happens until then can happen
//!   now, without anybody else: no lock is needed that others have, and nobody has
//!   to be waited for. Whatever the others could do before, they can do after it.
//! * To take a lock that is held to the end, if nobody else needs it any more.
//!
//! Such steps are never regretted. Where there is none, one of those that are left
//! is tried, those of the tuple first and in its order, and taken back if it leads
//! nowhere. Threads may have to go on beyond what is needed, to give a lock back.
//!
//! # What is promised
//! The paper's theorem: if locks are nested, that is given back in the reverse of
//! the order in which they were taken, then for every tuple that can happen in
//! pattern order with the events of the trace there is a schedule, and this finds
//! it. The steps that are never regretted rest on that nesting: in between a thread
//! holds what it held before, and more. Other programs get a schedule if one is
//! found, which nearly always is the case. What the program does when it is
//! followed is another matter: values read may differ, and then it may take another
//! branch. That is noticed when it is executed.
//!
//! Where all is tried in vain, no order of these events exists that respects locks
//! and partial order, and the prediction is *pruned* (as with Figure 5) before
//! anything is executed. With semaphores this is not claimed.

use std::collections::VecDeque;

use racehound_trace::{Mode, SyncId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::context::ContextId;
use crate::flow::Flow;
use crate::index::{Act, Index, NONE, Node};
use crate::order::Moment;

/// Steps that are tried and taken back before it is given up.
const REGRETS: u32 = 2_000;

/// Of longer traces than so many nodes the beginning is not changed.
const LARGEST: usize = 100_000;

/// Whether a tuple can happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Woven {
    /// In this order.
    Feasible(Weave),
    /// In none.
    Infeasible,
    /// Too much would have to be tried.
    Unknown,
}

/// An order of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Weave {
    /// Up to this event, whatever is needed happens as in the trace.
    pub(crate) prefix: u32,
    /// By thread: the event before which it stops.
    pub(crate) limits: Vec<u32>,
    /// Nodes and events of the tuple, from the prefix on.
    pub(crate) order: Vec<u32>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal<'g> {
    /// The events, in pattern order.
    pub(crate) events: &'g [u32],
    /// Whether the two stand at their accesses together.
    pub(crate) neighbours: bool,
    /// Accesses that come in this order: before two stand together, or around the events,
    /// which are among them then.
    pub(crate) waypoints: &'g [u32],
}

impl<'g> Goal<'g> {
    /// What comes in a given order.
    pub(crate) fn steps(&self) -> &'g [u32] {
        match self.neighbours || !self.waypoints.is_empty() {
            true => self.waypoints,
            false => self.events,
        }
    }
}

/// Finds an order in which the goal is reached, with as little as it takes.
pub(crate) fn weave(index: &Index<'_>, goal: Goal<'_>) -> Woven {
    weave_counting(index, goal).0
}

/// The same, and how many steps it took, about.
pub(crate) fn weave_counting(index: &Index<'_>, goal: Goal<'_>) -> (Woven, u64) {
    match Limits::required(index, goal) {
        Some(must) => weave_within(index, goal, &must),
        None => (Woven::Infeasible, 1),
    }
}

/// How much of what happened before a tuple happens in its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breadth {
    /// All that can happen as it was, with the same values read.
    Faithful,
    /// All that no order forbids: the paper's.
    All,
    /// As little as it takes.
    Least,
}

/// Finds an order in which the goal is reached, with so much of the trace.
pub(crate) fn weave_with(
    index: &Index<'_>,
    goal: Goal<'_>,
    flow: &Flow,
    breadth: Breadth,
) -> Woven {
    if breadth == Breadth::Least {
        return weave(index, goal);
    }
    let Some(least) = Limits::required(index, goal) else {
        return Woven::Infeasible;
    };
    let mut must = least.clone();
    let reads = breadth == Breadth::Faithful;
    let stops = flow.stops(index, goal, &least.stops, reads);
    for (t, stop) in stops.into_iter().enumerate() {
        if !must.fixed[t] && index.order.has_begun(ThreadId::from_index(t), stop) {
            must.stops[t] = must.stops[t].max(stop);
        }
    }
    must.complete(index);
    match must.is_within(&least) {
        true => weave_within(index, goal, &must).0,
        false => Woven::Infeasible,
    }
}

/// Finds an order in which everybody goes as far as it must.
fn weave_within(index: &Index<'_>, goal: Goal<'_>, must: &Limits) -> (Woven, u64) {
    let may = must.closing(index);
    let late = must.outermost(index, goal);
    let mut loom = Loom::new(index, goal, must, &may);
    let mut woven = loom.run(late);
    if late > 0 && !matches!(woven, Woven::Feasible(_)) {
        if may.nodes(index) > LARGEST {
            return (Woven::Unknown, loom.steps);
        }
        loom.regrets = 0;
        woven = loom.run(0);
    }
    let woven = match woven {
        Woven::Infeasible if loom.meets_semaphores => Woven::Unknown,
        woven => woven,
    };
    (woven, loom.steps)
}

fn thread_of(index: &Index<'_>, event: u32) -> ThreadId {
    index.trace.events[event as usize].thread
}

/// How far threads go: by thread, the event before which it stops.
#[derive(Clone, Debug)]
struct Limits {
    stops: Vec<u32>,
    /// Threads that must not go further.
    fixed: Vec<bool>,
}

impl Limits {
    /// As far as is needed; `None` if somebody would have to go further than
    /// the goal allows.
    fn required(index: &Index<'_>, goal: Goal<'_>) -> Option<Self> {
        let threads = index.order.threads();
        let mut limits = Self {
            stops: vec![0; threads],
            fixed: vec![false; threads],
        };
        let last = goal.events.len() - 1;
        for (number, &event) in goal.events.iter().enumerate() {
            let thread = thread_of(index, event);
            if goal.neighbours || number == last {
                limits.fixed[thread.index()] = true;
            }
            let stop = event + u32::from(!goal.neighbours);
            let stops = &mut limits.stops[thread.index()];
            *stops = (*stops).max(stop);
        }
        let tuple = limits.clone();
        for &event in goal.waypoints {
            let stop = &mut limits.stops[thread_of(index, event).index()];
            *stop = (*stop).max(event + 1);
        }
        limits.complete(index);
        limits.is_within(&tuple).then_some(limits)
    }

    /// Whether nobody goes further who must not.
    fn is_within(&self, fixed: &Self) -> bool {
        let stops = self.stops.iter().zip(&fixed.stops).zip(&fixed.fixed);
        { stops }.all(|((stop, most), is_fixed)| !is_fixed || stop <= most)
    }

    /// Adds whatever must come before.
    fn complete(&mut self, index: &Index<'_>) {
        let threads = (0..self.stops.len()).map(ThreadId::from_index);
        let mut left: VecDeque<ThreadId> = threads.filter(|t| self.stops[t.index()] > 0).collect();
        while let Some(thread) = left.pop_front() {
            let stop = self.stops[thread.index()];
            let moment = index.order.moment(thread, stop - 1);
            let mut needed: Vec<(ThreadId, u32)> = index.order.required((thread, moment)).collect();
            let links = &index.order.links[thread.index()];
            let caused = links.iter().take_while(|link| link.only_if < stop);
            needed.extend(caused.flat_map(|link| {
                [link.at, link.after].map(|event| (thread_of(index, event), event))
            }));
            for (other, event) in needed {
                if self.stops[other.index()] <= event {
                    self.stops[other.index()] = event + 1;
                    left.push_back(other);
                }
            }
        }
    }

    /// As far as threads can go to give back what they hold in the end.
    fn closing(&self, index: &Index<'_>) -> Self {
        let mut limits = self.clone();
        loop {
            let before = limits.stops.clone();
            for thread in (0..limits.stops.len()).map(ThreadId::from_index) {
                if limits.fixed[thread.index()] {
                    continue;
                }
                let Some(release) = last_release(index, thread, limits.stops[thread.index()])
                else {
                    continue;
                };
                let mut further = limits.clone();
                further.stops[thread.index()] = release + 1;
                further.complete(index);
                if further.is_within(&limits) {
                    limits = further;
                }
            }
            if limits.stops == before {
                return limits;
            }
        }
    }

    /// How many nodes there are within the limits.
    fn nodes(&self, index: &Index<'_>) -> usize {
        let limits = index.nodes.iter().zip(&self.stops);
        let within = limits.map(|(nodes, stop)| nodes.partition_point(|n| n.event < *stop));
        within.sum()
    }

    /// The first event from which on the trace may have to be changed: the
    /// outermost lock around the tuple, or around where somebody stops.
    fn outermost(&self, index: &Index<'_>, goal: Goal<'_>) -> u32 {
        let around = |thread: ThreadId, event: u32| {
            let open = open_sections(index, thread, event);
            open.map(|node| node.event).min()
        };
        let events = goal.events.iter().chain(goal.waypoints);
        let tuple = events.map(|&e| around(thread_of(index, e), e).unwrap_or(e));
        let ends = (0..self.stops.len()).filter_map(|t| {
            let stop = self.stops[t];
            around(ThreadId::from_index(t), stop).filter(|_| stop > 0)
        });
        tuple.chain(ends).min().unwrap_or(0)
    }
}

/// The acquires of what a thread holds before an event.
fn open_sections<'i>(
    index: &'i Index<'_>,
    thread: ThreadId,
    event: u32,
) -> impl Iterator<Item = &'i Node> + 'i {
    let nodes = &index.nodes[thread.index()];
    let count = nodes.partition_point(|n| n.event < event);
    let held = match count.checked_sub(1) {
        Some(last) => index.contexts.locks(nodes[last].context).count(),
        None => 0,
    };
    let is_open = move |n: &&Node| {
        matches!(n.act, Act::Acquire(..))
            && (n.release == NONE || nodes[n.release as usize].event >= event)
    };
    // The last ones, as many as are held.
    nodes[..count].iter().rev().filter(is_open).take(held)
}

/// The last release of what a thread holds before an event.
fn last_release(index: &Index<'_>, thread: ThreadId, stop: u32) -> Option<u32> {
    let nodes = &index.nodes[thread.index()];
    let open = open_sections(index, thread, stop).filter(|n| n.release != NONE);
    open.map(|n| nodes[n.release as usize].event).max()
}

/// Who holds a lock.
#[derive(Clone, Debug, Default)]
struct Holders {
    owner: Option<ThreadId>,
    readers: Vec<ThreadId>,
}

impl Holders {
    fn admits(&self, thread: ThreadId, mode: Mode) -> bool {
        let others = |holder: &ThreadId| *holder != thread;
        let owned = self.owner.iter().any(others);
        !owned && (mode == Mode::Shared || !self.readers.iter().any(others))
    }
}

/// How far everybody is.
#[derive(Clone, Debug)]
struct State {
    /// By thread: the next node.
    next: Vec<usize>,
    /// How many events of the tuple have happened.
    done: usize,
    holders: FxHashMap<SyncId, Holders>,
    semaphores: FxHashMap<SyncId, i64>,
    /// By lock that somebody holds to the end: by thread, how often it has yet
    /// to take it.
    wanted: FxHashMap<SyncId, Vec<u32>>,
    order: Vec<u32>,
}

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Node(usize),
    /// An event of the tuple or a waypoint, by its number.
    Tuple(usize),
}

/// A step, whose it is, and its event.
type NextStep = (u32, ThreadId, Step);

struct Loom<'l, 't> {
    index: &'l Index<'t>,
    goal: Goal<'l>,
    must: &'l Limits,
    may: &'l Limits,
    /// By thread: its events that wait for others beyond the partial order, and
    /// for which.
    links: Vec<Vec<(u32, u32)>>,
    regrets: u32,
    /// Nodes that were looked at.
    steps: u64,
    meets_semaphores: bool,
}

impl<'l, 't> Loom<'l, 't> {
    fn new(index: &'l Index<'t>, goal: Goal<'l>, must: &'l Limits, may: &'l Limits) -> Self {
        let mut links = vec![Vec::new(); may.stops.len()];
        for (of_thread, stop) in index.order.links.iter().zip(&may.stops) {
            for link in of_thread.iter().take_while(|link| link.only_if < *stop) {
                let waits = thread_of(index, link.at).index();
                links[waits].push((link.at, link.after));
            }
        }
        links.iter_mut().for_each(|links| links.sort_unstable());
        Self {
            index,
            goal,
            must,
            may,
            links,
            regrets: 0,
            steps: 0,
            meets_semaphores: false,
        }
    }

    /// Keeps the trace up to `prefix`, and finds an order for the rest.
    fn run(&mut self, prefix: u32) -> Woven {
        let mut state = self.begin(prefix);
        let mut choices: Vec<(State, VecDeque<ThreadId>)> = Vec::new();
        let mut seen: FxHashSet<(Vec<usize>, usize)> = FxHashSet::default();
        loop {
            if self.advance(&mut state) {
                return Woven::Feasible(Weave {
                    prefix,
                    limits: self.reached(&state),
                    order: state.order,
                });
            }
            if seen.insert((state.next.clone(), state.done)) {
                let candidates = self.candidates(&state);
                choices.push((state, candidates));
            }
            loop {
                let Some((before, candidates)) = choices.last_mut() else {
                    return Woven::Infeasible;
                };
                let Some(thread) = candidates.pop_front() else {
                    choices.pop();
                    continue;
                };
                self.regrets += 1;
                self.steps += before.next.len() as u64;
                if self.regrets >= REGRETS {
                    return Woven::Unknown;
                }
                let mut tried = before.clone();
                if let Some(step) = self.step_of(&tried, thread, self.may) {
                    self.take(&mut tried, thread, step);
                }
                state = tried;
                break;
            }
        }
    }

    /// The state after the prefix.
    fn begin(&mut self, prefix: u32) -> State {
        let index = self.index;
        let threads = index.order.threads();
        let mut state = State {
            next: vec![0; threads],
            done: 0,
            holders: FxHashMap::default(),
            semaphores: FxHashMap::default(),
            wanted: FxHashMap::default(),
            order: Vec::new(),
        };
        for (semaphore, initial) in &index.semaphores {
            state.semaphores.insert(*semaphore, *initial as i64);
            self.meets_semaphores = true;
        }
        for t in 0..threads {
            let thread = ThreadId::from_index(t);
            let end = prefix.min(self.must.stops[t]);
            let nodes = &index.nodes[t];
            let count = nodes.partition_point(|n| n.event < end);
            state.next[t] = count;
            if let Some(last) = count.checked_sub(1) {
                for (lock, mode) in index.contexts.locks(nodes[last].context) {
                    hold(&mut state, thread, lock, mode);
                }
            }
            if self.meets_semaphores {
                for node in &nodes[..count] {
                    match node.act {
                        Act::Take(sem) => *state.semaphores.entry(sem).or_default() -= 1,
                        Act::Post(sem) => *state.semaphores.entry(sem).or_default() += 1,
                        _ => {}
                    }
                }
            }
        }
        self.count_wanted(&mut state);
        let left = |(t, next): (usize, &usize)| {
            let nodes = &index.nodes[t][*next..];
            nodes.partition_point(|n| n.event < self.may.stops[t]) as u64
        };
        self.steps += state.next.iter().enumerate().map(left).sum::<u64>();
        state
    }

    /// For locks that are held to the end, who takes them from now on.
    fn count_wanted(&self, state: &mut State) {
        let nodes = |t: usize| {
            let stop = self.may.stops[t];
            let left = self.index.nodes[t][state.next[t]..].iter();
            left.take_while(move |n| n.event < stop)
        };
        let threads = state.next.len();
        let mut wanted: FxHashMap<SyncId, Vec<u32>> = FxHashMap::default();
        for t in 0..threads {
            for node in nodes(t) {
                if let Act::Acquire(lock, _) = node.act
                    && self.is_last(ThreadId::from_index(t), node)
                {
                    wanted.entry(lock).or_insert_with(|| vec![0; threads]);
                }
            }
        }
        if !wanted.is_empty() {
            for t in 0..threads {
                for node in nodes(t) {
                    if let Act::Acquire(lock, _) = node.act
                        && let Some(counts) = wanted.get_mut(&lock)
                    {
                        counts[t] += 1;
                    }
                }
            }
        }
        state.wanted = wanted;
    }

    /// Whether what an acquire takes is held to the end.
    fn is_last(&self, thread: ThreadId, node: &Node) -> bool {
        let t = thread.index();
        node.release == NONE
            || self.index.nodes[t][node.release as usize].event >= self.may.stops[t]
    }

    /// Takes all steps that are never regretted; whether the goal is reached.
    fn advance(&mut self, state: &mut State) -> bool {
        let mut needed = self.steps(state, self.must);
        let sound = |state: &State, steps: &[NextStep]| {
            let mut steps = steps.iter();
            let is_sound = |(_, thread, step): &&NextStep| self.is_sound(state, *thread, *step);
            steps.find(is_sound).copied()
        };
        while !needed.is_empty() {
            // Beyond what is needed only if nothing else is left.
            let best = sound(state, &needed).or_else(|| sound(state, &self.steps(state, self.may)));
            let Some((_, thread, step)) = best else {
                return false;
            };
            self.take(state, thread, step);
            self.refresh(&mut needed, state, thread);
        }
        true
    }

    /// Brings what each thread would do next up to date: this thread has done something.
    fn refresh(&self, needed: &mut Vec<NextStep>, state: &State, thread: ThreadId) {
        needed.retain(|(_, other, _)| *other != thread);
        if let Some(next) = self.next_step(state, thread, self.must) {
            let at = needed.partition_point(|(event, ..)| *event < next.0);
            needed.insert(at, next);
        }
    }

    /// What each thread would do next within these limits, in trace order.
    fn steps(&self, state: &State, limits: &Limits) -> Vec<NextStep> {
        let threads = (0..state.next.len()).map(ThreadId::from_index);
        let step = |thread: ThreadId| self.next_step(state, thread, limits);
        let mut steps: Vec<NextStep> = threads.filter_map(step).collect();
        steps.sort_unstable_by_key(|(event, ..)| *event);
        steps
    }

    fn next_step(&self, state: &State, thread: ThreadId, limits: &Limits) -> Option<NextStep> {
        let step = self.step_of(state, thread, limits)?;
        Some((self.event(thread, step), thread, step))
    }

    fn event(&self, thread: ThreadId, step: Step) -> u32 {
        match step {
            Step::Node(n) => self.index.nodes[thread.index()][n].event,
            Step::Tuple(n) => self.goal.steps()[n],
        }
    }

    fn step_of(&self, state: &State, thread: ThreadId, limits: &Limits) -> Option<Step> {
        let t = thread.index();
        let node = self.index.nodes[t].get(state.next[t]);
        let node = node.filter(|n| n.event < limits.stops[t]);
        // Those who meet stand at theirs in the end; there is nothing to do until then.
        let tuple = self.goal.steps();
        let next = (state.done..tuple.len()).find(|n| thread_of(self.index, tuple[*n]) == thread);
        match (node, next) {
            (Some(node), Some(n)) if tuple[n] <= node.event => Some(Step::Tuple(n)),
            (Some(_), _) => Some(Step::Node(state.next[t])),
            (None, Some(n)) => Some(Step::Tuple(n)),
            (None, None) => None,
        }
    }

    /// Whether an event of a thread has happened.
    fn has_happened(&self, state: &State, event: u32) -> bool {
        let thread = thread_of(self.index, event);
        let t = thread.index();
        let next = self.index.nodes[t].get(state.next[t]);
        next.is_none_or(|n| n.event > event) && event < self.may.stops[t]
    }

    /// Whether a thread has heard all it hears by a node.
    fn can_hear(&self, state: &State, thread: ThreadId, node: &Node) -> bool {
        (!node.hears || self.is_informed(state, thread, node.moment))
            && self.is_linked(state, thread, node.event, node.event)
    }

    /// Whether all has happened that must have before a moment.
    fn is_informed(&self, state: &State, thread: ThreadId, moment: Moment) -> bool {
        let mut required = self.index.order.required((thread, moment));
        required.all(|(_, event)| self.has_happened(state, event))
    }

    /// Whether all has happened that these events of a thread are linked to.
    fn is_linked(&self, state: &State, thread: ThreadId, from: u32, to: u32) -> bool {
        let links = &self.links[thread.index()];
        let start = links.partition_point(|(at, _)| *at < from);
        let within = links[start..].iter().take_while(|(at, _)| *at <= to);
        { within }.all(|(_, after)| self.has_happened(state, *after))
    }

    /// Whether a step can be taken now.
    fn can_go(&self, state: &State, thread: ThreadId, step: Step) -> bool {
        match step {
            Step::Tuple(n) => {
                // If it is a node as well, that has its own conditions.
                let t = thread.index();
                let node = self.index.nodes[t].get(state.next[t]);
                let same = node.filter(|node| node.event == self.goal.steps()[n]);
                n == state.done
                    && same.is_none_or(|_| self.can_go(state, thread, Step::Node(state.next[t])))
            }
            Step::Node(n) => {
                let node = &self.index.nodes[thread.index()][n];
                let free = match node.act {
                    Act::Acquire(lock, mode) => {
                        let holders = state.holders.get(&lock);
                        holders.is_none_or(|h| h.admits(thread, mode))
                    }
                    Act::Take(sem) => state.semaphores.get(&sem).is_some_and(|v| *v > 0),
                    _ => true,
                };
                free && self.can_hear(state, thread, node)
            }
        }
    }

    /// Whether it can be taken, and is never regretted.
    fn is_sound(&self, state: &State, thread: ThreadId, step: Step) -> bool {
        if !self.can_go(state, thread, step) {
            return false;
        }
        let Step::Node(n) = step else { return true };
        let t = thread.index();
        let node = &self.index.nodes[t][n];
        let Act::Acquire(lock, _) = node.act else {
            return true;
        };
        if self.is_last(thread, node) {
            let wanted = state.wanted.get(&lock);
            let spares = |u: usize, times: u32| u == t || times == 0 || self.is_content(state, u);
            return wanted.is_none_or(|by| (0..by.len()).all(|u| spares(u, by[u])));
        }
        let (from, to) = node.inner;
        let inner = &self.index.inner[from as usize..to as usize];
        let free = inner.iter().all(|(lock, mode)| {
            let holders = state.holders.get(lock);
            holders.is_none_or(|h| h.admits(thread, *mode))
        });
        let nodes = &self.index.nodes[t];
        let release = &nodes[node.release as usize];
        // Moments grow: who knows enough for the last knows enough for all.
        let informed =
            release.moment == node.moment || self.is_informed(state, thread, release.moment);
        let linked = self.is_linked(state, thread, node.event, release.event);
        let alone = {
            let left = &self.goal.steps()[state.done..];
            let own = |e: &u32| {
                thread_of(self.index, *e) == thread && (node.event..release.event).contains(e)
            };
            // Those before its last one that are not its own have to be waited for.
            let last = left.iter().rposition(own);
            last.is_none_or(|last| left[..=last].iter().all(own))
        };
        let takes = |n: &Node| matches!(n.act, Act::Take(_));
        let section = &nodes[n..node.release as usize];
        free && informed && linked && alone && !(self.meets_semaphores && section.iter().any(takes))
    }

    /// Whether a thread has done what it must, and has nothing to give back.
    fn is_content(&self, state: &State, t: usize) -> bool {
        let last = state.next[t].checked_sub(1);
        let free = last.is_none_or(|n| self.index.nodes[t][n].context == ContextId::FREE);
        free && self
            .step_of(state, ThreadId::from_index(t), self.must)
            .is_none()
    }

    /// Steps that may be regretted: those of the tuple first, in its order.
    fn candidates(&self, state: &State) -> VecDeque<ThreadId> {
        let mut steps = self.steps(state, self.may);
        steps.retain(|(_, thread, step)| self.can_go(state, *thread, *step));
        let rank = |thread: ThreadId| {
            let left = self.goal.steps()[state.done..].iter();
            let mut threads = left.map(|e| thread_of(self.index, *e));
            threads.position(|t| t == thread).unwrap_or(usize::MAX)
        };
        steps.sort_by_key(|(event, thread, _)| (rank(*thread), *event));
        steps.into_iter().map(|(_, thread, _)| thread).collect()
    }

    /// Takes a step.
    fn take(&self, state: &mut State, thread: ThreadId, step: Step) {
        let t = thread.index();
        let event = self.event(thread, step);
        state.order.push(event);
        if let Step::Tuple(_) = step {
            state.done += 1;
        }
        let Some(node) = self.index.nodes[t].get(state.next[t]) else {
            return;
        };
        if node.event != event {
            return;
        }
        state.next[t] += 1;
        match node.act {
            Act::Acquire(lock, mode) => {
                hold(state, thread, lock, mode);
                if let Some(wanted) = state.wanted.get_mut(&lock) {
                    wanted[t] -= 1;
                }
            }
            Act::Release(lock) => {
                if let Some(holders) = state.holders.get_mut(&lock) {
                    holders.owner = holders.owner.filter(|owner| *owner != thread);
                    holders.readers.retain(|reader| *reader != thread);
                }
            }
            Act::Take(sem) => *state.semaphores.entry(sem).or_default() -= 1,
            Act::Post(sem) => *state.semaphores.entry(sem).or_default() += 1,
            Act::None => {}
        }
    }

    /// How far everybody went.
    fn reached(&self, state: &State) -> Vec<u32> {
        let stop = |t: usize| {
            let last = state.next[t].checked_sub(1);
            let last = last.map_or(0, |n| self.index.nodes[t][n].event + 1);
            last.max(self.must.stops[t])
        };
        (0..state.next.len()).map(stop).collect()
    }
}

fn hold(state: &mut State, thread: ThreadId, lock: SyncId, mode: Mode) {
    let holders = state.holders.entry(lock).or_default();
    match mode {
        Mode::Exclusive => holders.owner = Some(thread),
        Mode::Shared => holders.readers.push(thread),
    }
}
