//! Definitions, evaluated without cleverness: happens-before as reachability
//! in a graph of events, locksets by replaying the locks, races pair by pair.
//! Shares nothing with the detectors but the trace.

#![allow(dead_code)] // Every test uses a part of it.

use std::collections::{BTreeMap, BTreeSet};

use racehound_trace::{Event, Loc, Mode, Op, SiteId, SyncId, ThreadId, Trace};

/// A set of event numbers.
type Events = Vec<bool>;

pub(crate) struct Oracle<'a> {
    trace: &'a Trace,
    /// For each event, the events that happen before it.
    before: Vec<Events>,
    /// For each event, the locks that would protect a read and a write there.
    locks: Vec<(BTreeSet<SyncId>, BTreeSet<SyncId>)>,
    /// For each event, how often its thread has ticked.
    pub(crate) ticks: Vec<u64>,
}

/// An access of one byte or variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) event: usize,
    pub(crate) thread: ThreadId,
    pub(crate) site: SiteId,
    pub(crate) is_write: bool,
    pub(crate) is_atomic: bool,
}

impl<'a> Oracle<'a> {
    pub(crate) fn new(trace: &'a Trace, with_lock_edges: bool) -> Self {
        let events = &trace.events;
        let mut edges: Vec<(usize, usize)> = Vec::new();
        program_order(events, &mut edges);
        fork_and_join(events, &mut edges);
        if with_lock_edges {
            lock_order(events, &mut edges);
        }
        notifications(events, &mut edges);
        semaphores(events, &mut edges);
        barriers(events, &mut edges);
        atomics(events, &mut edges);

        let mut before: Vec<Events> = vec![vec![false; events.len()]; events.len()];
        edges.sort_by_key(|&(_, to)| to);
        for (from, to) in edges {
            assert!(from < to);
            let (lower, upper) = before.split_at_mut(to);
            for (mine, theirs) in upper[0].iter_mut().zip(&lower[from]) {
                *mine |= *theirs;
            }
            upper[0][from] = true;
        }
        Self {
            trace,
            before,
            locks: locksets(events),
            ticks: ticks(events),
        }
    }

    pub(crate) fn ordered(&self, a: usize, b: usize) -> bool {
        self.before[b][a] || self.before[a][b]
    }

    /// The locks that protected an access.
    pub(crate) fn protection(&self, access: &Access) -> &BTreeSet<SyncId> {
        let (reads, writes) = &self.locks[access.event];
        match access.is_write {
            true => writes,
            false => reads,
        }
    }

    pub(crate) fn no_common_lock(&self, a: &Access, b: &Access) -> bool {
        self.protection(a).is_disjoint(self.protection(b))
    }

    /// The accesses of every life of every location. Allocating begins a new
    /// life; freeing is a write that ends one and begins the next.
    pub(crate) fn accesses(&self) -> Vec<(u64, Vec<Access>)> {
        let mut open: BTreeMap<u64, Vec<Access>> = BTreeMap::new();
        let mut closed = Vec::new();
        for (event, e) in self.trace.events.iter().enumerate() {
            let bytes = |loc: Loc, size: u32| loc.0..loc.0 + u64::from(size);
            if let Op::Alloc { loc, size } = e.op {
                for byte in bytes(loc, size) {
                    closed.extend(open.remove(&byte).map(|list| (byte, list)));
                }
            }
            let access = match e.op {
                Op::Free { loc, size } => Some((loc, size, true, false)),
                op => op
                    .access()
                    .map(|a| (a.loc, a.size, a.is_write, a.is_atomic)),
            };
            if let Some((loc, size, is_write, is_atomic)) = access {
                for byte in bytes(loc, size) {
                    let access = Access {
                        event,
                        thread: e.thread,
                        site: e.site,
                        is_write,
                        is_atomic,
                    };
                    let life = open.entry(byte).or_default();
                    life.push(access);
                    if matches!(e.op, Op::Free { .. }) {
                        closed.push((byte, std::mem::replace(life, vec![access])));
                    }
                }
            }
        }
        closed.extend(open);
        closed
    }

    /// All pairs of conflicting accesses by different threads, on one life of
    /// one location, that `race` holds to be a race.
    pub(crate) fn races(
        &self,
        race: impl Fn(&Access, &Access) -> bool,
    ) -> Vec<(u64, Access, Access)> {
        let mut found = Vec::new();
        for (loc, list) in self.accesses() {
            for (i, b) in list.iter().enumerate() {
                for a in &list[..i] {
                    if conflict(a, b) && race(a, b) {
                        found.push((loc, *a, *b));
                    }
                }
            }
        }
        found
    }

    pub(crate) fn happens_before_races(&self) -> Vec<(u64, Access, Access)> {
        self.races(|a, b| !self.ordered(a.event, b.event))
    }

    pub(crate) fn hybrid_races(&self) -> Vec<(u64, Access, Access)> {
        self.races(|a, b| !self.ordered(a.event, b.event) && self.no_common_lock(a, b))
    }
}

pub(crate) fn conflict(a: &Access, b: &Access) -> bool {
    a.thread != b.thread && (a.is_write || b.is_write) && !(a.is_atomic && b.is_atomic)
}

fn program_order(events: &[Event], edges: &mut Vec<(usize, usize)>) {
    let mut last: BTreeMap<ThreadId, usize> = BTreeMap::new();
    for (i, e) in events.iter().enumerate() {
        edges.extend(last.insert(e.thread, i).map(|previous| (previous, i)));
    }
}

fn fork_and_join(events: &[Event], edges: &mut Vec<(usize, usize)>) {
    for (i, e) in events.iter().enumerate() {
        if let Op::Fork { child } = e.op {
            let first = (i + 1..events.len()).find(|&j| events[j].thread == child);
            edges.extend(first.map(|j| (i, j)));
            // A thread may end without having done anything.
            let joins = |j: &usize| events[*j].op == Op::Join { child };
            edges.extend((i + 1..events.len()).find(joins).map(|j| (i, j)));
        }
        if let Op::Join { child } = e.op {
            let last = (0..i).rev().find(|&j| events[j].thread == child);
            edges.extend(last.map(|j| (j, i)));
        }
    }
}

/// Outermost acquisitions and releases: which lock, mode, and whether it is
/// taken.
fn outermost(events: &[Event]) -> Vec<Option<(SyncId, Mode, bool)>> {
    let mut depth: BTreeMap<(ThreadId, SyncId, bool), u32> = BTreeMap::new();
    events
        .iter()
        .map(|e| match e.op {
            Op::Acquire { lock, mode } => {
                let d = depth
                    .entry((e.thread, lock, mode == Mode::Shared))
                    .or_default();
                *d += 1;
                (*d == 1).then_some((lock, mode, true))
            }
            Op::Release { lock, mode } => {
                let d = depth
                    .entry((e.thread, lock, mode == Mode::Shared))
                    .or_default();
                *d -= 1;
                (*d == 0).then_some((lock, mode, false))
            }
            // The depth is kept through the wait: it is the same afterwards.
            Op::Wait { lock, .. } => lock.map(|lock| (lock, Mode::Exclusive, false)),
            Op::Wake { lock, .. } => lock.map(|lock| (lock, Mode::Exclusive, true)),
            _ => None,
        })
        .collect()
}

fn lock_order(events: &[Event], edges: &mut Vec<(usize, usize)>) {
    let locks = outermost(events);
    for (i, release) in locks.iter().enumerate() {
        let Some((lock, mode, false)) = release else {
            continue;
        };
        for (j, acquire) in locks.iter().enumerate().skip(i + 1) {
            if let Some((other, other_mode, true)) = acquire
                && other == lock
                && (*mode == Mode::Exclusive || *other_mode == Mode::Exclusive)
            {
                edges.push((i, j));
            }
        }
    }
}

fn notifications(events: &[Event], edges: &mut Vec<(usize, usize)>) {
    for (begin, e) in events.iter().enumerate() {
        let Op::Wait { cond, .. } = e.op else {
            continue;
        };
        let wake = events.iter().enumerate().skip(begin + 1).find(|(_, w)| {
            w.thread == e.thread && matches!(w.op, Op::Wake { cond: c, .. } if c == cond)
        });
        let Some((end, wake)) = wake else { continue };
        if !matches!(wake.op, Op::Wake { notified: true, .. }) {
            continue;
        }
        for (i, n) in events.iter().enumerate().take(end).skip(begin + 1) {
            let reaches = match n.op {
                Op::NotifyAll { cond: c } => c == cond,
                Op::NotifyOne { cond: c, woken } => {
                    c == cond && woken.is_none_or(|thread| thread == e.thread)
                }
                _ => false,
            };
            if reaches {
                edges.push((i, end));
            }
        }
    }
}

fn semaphores(events: &[Event], edges: &mut Vec<(usize, usize)>) {
    for (i, post) in events.iter().enumerate() {
        if let Op::SemPost { sem } = post.op {
            let waits = events.iter().enumerate().skip(i + 1);
            let waits = waits.filter(|(_, w)| matches!(w.op, Op::SemWait { sem: s } if s == sem));
            edges.extend(waits.map(|(j, _)| (i, j)));
        }
    }
}

fn barriers(events: &[Event], edges: &mut Vec<(usize, usize)>) {
    // Which round of a barrier each thread is in, and who arrived in a round.
    let mut open: BTreeMap<SyncId, usize> = BTreeMap::new();
    let mut arrivals: BTreeMap<(SyncId, usize), Vec<usize>> = BTreeMap::new();
    let mut inside: BTreeMap<(SyncId, ThreadId), usize> = BTreeMap::new();
    for (i, e) in events.iter().enumerate() {
        match e.op {
            Op::BarrierArrive { barrier } => {
                let round = *open.entry(barrier).or_default();
                arrivals.entry((barrier, round)).or_default().push(i);
                inside.insert((barrier, e.thread), round);
            }
            Op::BarrierLeave { barrier } => {
                let round = inside[&(barrier, e.thread)];
                let open = open.entry(barrier).or_default();
                *open = (*open).max(round + 1);
                edges.extend(arrivals[&(barrier, round)].iter().map(|&a| (a, i)));
            }
            _ => {}
        }
    }
}

fn atomics(events: &[Event], edges: &mut Vec<(usize, usize)>) {
    for (read, e) in events.iter().enumerate() {
        let (Op::AtomicLoad { loc, order, .. } | Op::AtomicRmw { loc, order, .. }) = e.op else {
            continue;
        };
        // Where the read takes effect: itself, or the acquire fences after it.
        let targets: Vec<usize> = match order.acquires() {
            true => vec![read],
            false => (read + 1..events.len())
                .filter(|&j| events[j].thread == e.thread)
                .filter(|&j| matches!(events[j].op, Op::Fence { order } if order.acquires()))
                .collect(),
        };
        // Back through the release sequence it reads from.
        for write in (0..read).rev() {
            let w = &events[write];
            let (order, is_store) = match w.op {
                Op::AtomicStore { loc: l, order, .. } if l == loc => (order, true),
                Op::AtomicRmw { loc: l, order, .. } if l == loc => (order, false),
                Op::Alloc { loc: start, size }
                    if (start.0..start.0 + u64::from(size)).contains(&loc.0) =>
                {
                    break;
                }
                _ => continue,
            };
            let source = match order.releases() {
                true => Some(write),
                false => (0..write)
                    .rev()
                    .filter(|&j| events[j].thread == w.thread)
                    .find(|&j| matches!(events[j].op, Op::Fence { order } if order.releases())),
            };
            for &target in &targets {
                edges.extend(source.map(|source| (source, target)));
            }
            if is_store {
                break;
            }
        }
    }
}

fn locksets(events: &[Event]) -> Vec<(BTreeSet<SyncId>, BTreeSet<SyncId>)> {
    let mut held: BTreeMap<ThreadId, Vec<(SyncId, Mode)>> = BTreeMap::new();
    let mut parked: BTreeMap<ThreadId, usize> = BTreeMap::new();
    events
        .iter()
        .map(|e| {
            let mine = held.entry(e.thread).or_default();
            match e.op {
                Op::Acquire { lock, mode } => mine.push((lock, mode)),
                Op::Release { lock, mode } => {
                    let at = mine.iter().rposition(|h| *h == (lock, mode));
                    mine.remove(at.expect("chaos releases what is held"));
                }
                Op::Wait {
                    lock: Some(lock), ..
                } => {
                    let before = mine.len();
                    mine.retain(|(l, _)| *l != lock);
                    parked.insert(e.thread, before - mine.len());
                }
                Op::Wake {
                    lock: Some(lock), ..
                } => {
                    let depth = parked[&e.thread];
                    mine.extend((0..depth).map(|_| (lock, Mode::Exclusive)));
                }
                _ => {}
            }
            let all = mine.iter().map(|(lock, _)| *lock).collect();
            let exclusive = mine.iter().filter(|(_, mode)| *mode == Mode::Exclusive);
            (all, exclusive.map(|(lock, _)| *lock).collect())
        })
        .collect()
}

/// A thread's clock ticks when it gives a lock up, creates or notifies a
/// thread, posts, arrives, or releases through an atomic or a fence.
fn ticks(events: &[Event]) -> Vec<u64> {
    let outermost = outermost(events);
    let mut clocks: BTreeMap<ThreadId, u64> = BTreeMap::new();
    events
        .iter()
        .zip(outermost)
        .map(|(e, lock)| {
            let clock = clocks.entry(e.thread).or_default();
            let before = *clock;
            let ticks = match e.op {
                Op::Fork { .. }
                | Op::NotifyOne { .. }
                | Op::NotifyAll { .. }
                | Op::SemPost { .. }
                | Op::BarrierArrive { .. } => true,
                Op::AtomicStore { order, .. }
                | Op::AtomicRmw { order, .. }
                | Op::Fence { order } => order.releases(),
                _ => matches!(lock, Some((_, _, false))),
            };
            *clock += u64::from(ticks);
            before
        })
        .collect()
}
