//! What threads saw of each other, and how far they go if they are to see it again.
//!
//! # The idea
//! Algorithms 3 and 4 (pecan.txt §6.1) move what depends on the violation behind it and
//! leave all else where it was. So a schedule has whatever happened before the tuple's
//! last event, also what no order demands: a thread that brought the data may be one
//! that nobody waits for, and without it the program takes another branch. The paper
//! takes it for granted that control stays as it is; here it stays wherever it can.
//!
//! A thread is *true to the trace* as long as whatever it waited for has happened and
//! every value it reads is the one that was there: the same write was the last one. What
//! is moved behind the tuple, and all that comes after it in its thread, is gone for the
//! others; who would read it stops before, and so does who would take a lock that
//! somebody keeps where it stops. If that is one whom the tuple needs, the lock's section
//! is moved as a whole: the paper's outermost lock. So what all threads do up to where
//! they stop is part of the trace and can happen just so. Only what the tuple needs
//! beyond that sees something else.
//!
//! That is more than the paper asks for: other values need not lead to another branch,
//! and who would read them may be the one who makes the tuple possible. So there is the
//! paper's own way besides, for which reading is no dependence.
//!
//! Where the tuple needs more than is true to the trace, its threads read something else;
//! [`detours`] tells of accesses that had better come in another order.

use racehound_trace::{Mode, Op, SyncId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::index::memory::Memory;
use crate::index::{Act, Index, NONE};
use crate::order::Moment;
use crate::weave::Goal;

/// A dependence of a thread on others.
#[derive(Clone, Copy, Debug)]
enum Dependence {
    /// It reads what this event of another thread has written.
    Read(u32),
    /// It can only come after this event of another thread.
    Link(u32),
    /// It has heard of others: this moment begins.
    Hearing(Moment),
    /// It takes a lock, which it gives back by this event.
    Lock(SyncId, Mode, u32),
}

/// All dependences of a trace, in its order.
#[derive(Debug)]
pub(crate) struct Flow {
    all: Vec<(u32, ThreadId, Dependence)>,
}

/// The last write of some bytes of a slot, and who has read it last.
struct Written {
    bytes: u8,
    by: u32,
    reader: ThreadId,
}

/// A critical section that was begun.
#[derive(Clone, Copy)]
struct Section {
    thread: ThreadId,
    mode: Mode,
    acquire: u32,
    release: u32,
}

impl Flow {
    pub(crate) fn new(index: &Index<'_>) -> Self {
        let mut all = Vec::new();
        for (event, thread, moment) in index.order.moments() {
            all.push((event, thread, Dependence::Hearing(moment)));
        }
        for link in index.order.links.iter().flatten() {
            let thread = index.trace.events[link.at as usize].thread;
            all.push((link.at, thread, Dependence::Link(link.after)));
        }
        for (thread, nodes) in index.nodes.iter().enumerate() {
            let thread = ThreadId::from_index(thread);
            for node in nodes {
                if let Act::Acquire(lock, mode) = node.act {
                    let release = nodes.get(node.release as usize);
                    let release = release.map_or(NONE, |release| release.event);
                    all.push((node.event, thread, Dependence::Lock(lock, mode, release)));
                }
            }
        }
        add_reads(index, &mut all);
        all.sort_by_key(|(event, ..)| *event);
        Self { all }
    }

    /// How far threads are true to the trace up to the last event of a goal: by thread, the
    /// event before which it stops. `needed` is how far they go in any case.
    /// Whether they are to read the same besides is up to `reads`.
    pub(crate) fn stops(
        &self,
        index: &Index<'_>,
        goal: Goal<'_>,
        needed: &[u32],
        reads: bool,
    ) -> Vec<u32> {
        let mut first = moved(index, goal);
        loop {
            let mut stops = first.clone();
            match self.pass(index, goal, needed, reads, &mut stops) {
                Ok(()) => return stops,
                Err((thread, outermost)) => first[thread.index()] = outermost,
            }
        }
    }

    /// Lowers the stops until everybody before them is true to the trace. An error is a
    /// section that has to be moved as a whole.
    fn pass(
        &self,
        index: &Index<'_>,
        goal: Goal<'_>,
        needed: &[u32],
        reads: bool,
        stops: &mut [u32],
    ) -> Result<(), (ThreadId, u32)> {
        let end = goal.events.iter().max().map_or(0, |last| last + 1);
        let mut sections: FxHashMap<SyncId, Vec<Section>> = FxHashMap::default();
        for &(at, thread, dependence) in self.all.iter().take_while(|(at, ..)| *at < end) {
            let t = thread.index();
            let is_gone = |other: ThreadId, event: u32| stops[other.index()] <= event;
            let misses = match dependence {
                Dependence::Read(_) if !reads => false,
                Dependence::Read(event) | Dependence::Link(event) => {
                    is_gone(index.trace.events[event as usize].thread, event)
                }
                Dependence::Hearing(moment) => {
                    let mut required = index.order.required((thread, moment));
                    required.any(|(other, event)| is_gone(other, event))
                }
                Dependence::Lock(lock, mode, release) => {
                    let begun = sections.entry(lock).or_default();
                    begun.retain(|section| is_gone(section.thread, section.release));
                    let excludes = |section: &&Section| {
                        section.thread != thread
                            && (section.mode == Mode::Exclusive || mode == Mode::Exclusive)
                    };
                    let holder = begun.iter().find(excludes).copied();
                    match holder {
                        Some(holder) if needed[t] > at => {
                            return Err((holder.thread, holder.acquire));
                        }
                        Some(_) => true,
                        None => {
                            if stops[t] > at {
                                begun.push(Section {
                                    thread,
                                    mode,
                                    acquire: at,
                                    release,
                                });
                            }
                            false
                        }
                    }
                }
            };
            if misses {
                stops[t] = stops[t].min(at);
            }
        }
        Ok(())
    }
}

/// What was written last.
struct Values<'i, 't> {
    index: &'i Index<'t>,
    /// By slot.
    slots: Vec<Vec<Written>>,
}

impl<'i, 't> Values<'i, 't> {
    fn new(index: &'i Index<'t>) -> Self {
        Self {
            index,
            slots: Vec::new(),
        }
    }

    /// An event accesses some bytes of a slot; `sees` is told of each write that is read,
    /// and by whom it was read before.
    fn access(&mut self, at: u32, slot: u32, bytes: u8, mut sees: impl FnMut(u32, ThreadId)) {
        let event = &self.index.trace.events[at as usize];
        let Some(access) = event.op.access() else {
            return;
        };
        let slot = slot as usize;
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, Vec::new);
        }
        let written = &mut self.slots[slot];
        if reads_at(self.index, at) {
            for last in written.iter_mut().filter(|w| w.bytes & bytes != 0) {
                sees(last.by, last.reader);
                last.reader = event.thread;
            }
        }
        if access.is_write {
            written.retain_mut(|w| {
                w.bytes &= !bytes;
                w.bytes != 0
            });
            written.push(Written {
                bytes,
                by: at,
                reader: event.thread,
            });
        }
    }
}

fn writes_at(index: &Index<'_>, at: u32) -> bool {
    let access = index.trace.events[at as usize].op.access();
    access.is_some_and(|access| access.is_write)
}

fn reads_at(index: &Index<'_>, at: u32) -> bool {
    let op = &index.trace.events[at as usize].op;
    let access = op.access();
    access.is_some_and(|a| !a.is_write || matches!(op, Op::AtomicRmw { .. }))
}

/// Shows all accesses of a trace, with slots and bytes, in its order.
fn each_access(index: &Index<'_>, mut show: impl FnMut(u32, u32, u8)) {
    let mut memory = Memory::new(index.trace.space);
    for (event, at) in index.trace.events.iter().zip(0..) {
        match event.op.access() {
            None => memory.renew(&event.op),
            Some(access) => {
                for (word, bytes) in memory.words(&access) {
                    show(at, memory.slot(word), bytes);
                }
            }
        }
    }
}

/// Adds which event has written what a thread reads.
fn add_reads(index: &Index<'_>, all: &mut Vec<(u32, ThreadId, Dependence)>) {
    let mut values = Values::new(index);
    each_access(index, |at, slot, bytes| {
        let thread = index.trace.events[at as usize].thread;
        values.access(at, slot, bytes, |write, reader| {
            // Who has seen it before depends on it already.
            if reader != thread {
                all.push((at, thread, Dependence::Read(write)));
            }
        });
    });
}

/// So many detours are worth trying.
const DETOURS: usize = 12;

/// Of so many writes before and behind a read each is tried as the one that it sees.
const NEAR: usize = 4;

/// Where an order of a trace's events has a thread read what it has not read in the trace:
/// events that had to come in this order for it to see another write. It comes before the
/// write that it sees, or behind a later one, or an earlier one comes later.
pub(crate) fn detours(index: &Index<'_>, order: &[u32]) -> Vec<Vec<u32>> {
    let wanted: FxHashSet<u32> = order.iter().copied().collect();
    let mut places: FxHashMap<u32, Vec<(u32, u8)>> = FxHashMap::default();
    let mut seen: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    let mut values = Values::new(index);
    each_access(index, |at, slot, bytes| {
        let is_wanted = wanted.contains(&at);
        values.access(at, slot, bytes, |write, _| {
            if is_wanted {
                seen.insert((at, slot), write);
            }
        });
        if is_wanted {
            places.entry(at).or_default().push((slot, bytes));
        }
    });
    let places = |at: &u32| places.get(at).map_or(&[][..], Vec::as_slice);
    let mut writes: FxHashMap<u32, Vec<(usize, u32, u8)>> = FxHashMap::default();
    for (number, at) in order
        .iter()
        .enumerate()
        .filter(|(_, at)| writes_at(index, **at))
    {
        for &(slot, bytes) in places(at) {
            writes.entry(slot).or_default().push((number, *at, bytes));
        }
    }
    let mut found: Vec<Vec<u32>> = Vec::new();
    for (number, &at) in order
        .iter()
        .enumerate()
        .filter(|(_, at)| reads_at(index, **at))
    {
        let thread = |event: u32| index.trace.events[event as usize].thread;
        let is_foreign = |event: u32| thread(event) != thread(at);
        for &(slot, bytes) in places(&at) {
            let all = writes.get(&slot).map_or(&[][..], Vec::as_slice);
            let same = all.iter().filter(|(_, _, others)| others & bytes != 0);
            let (before, behind): (Vec<_>, Vec<_>) = same.partition(|(n, ..)| *n < number);
            let now = before.last().map(|(_, write, _)| *write);
            if now == seen.get(&(at, slot)).copied() || found.len() >= DETOURS {
                continue;
            }
            let near = || before.iter().rev().take(NEAR).map(|(_, write, _)| *write);
            let foreign = || near().filter(|write| is_foreign(*write));
            found.extend(foreign().map(|write| vec![at, write]));
            let behind = behind.iter().take(NEAR).map(|(_, write, _)| *write);
            let later = behind.filter(|write| is_foreign(*write));
            found.extend(later.map(|write| vec![write, at]));
            let earlier = foreign().filter(|write| Some(*write) != now);
            found.extend(earlier.flat_map(|write| Some(vec![now?, write, at])));
        }
    }
    found
}

/// By thread: its first event that comes later than in the trace, because in the goal it
/// follows upon one that it preceded, or that does not come at all. Of those who meet,
/// both accesses come later.
fn moved(index: &Index<'_>, goal: Goal<'_>) -> Vec<u32> {
    let end = goal.events.iter().max().map_or(0, |last| last + 1);
    let mut stops = vec![end; index.order.threads()];
    let mut stop = |event: u32, at: u32| {
        let thread = index.trace.events[event as usize].thread;
        let stop = &mut stops[thread.index()];
        *stop = (*stop).min(at);
    };
    for (number, &event) in goal.events.iter().enumerate() {
        let is_overtaken = goal.events[..number].iter().any(|before| *before > event);
        if is_overtaken || goal.neighbours {
            stop(event, event);
        }
    }
    if let Some(&last) = goal.events.last() {
        stop(last, last + 1);
    }
    stops
}
