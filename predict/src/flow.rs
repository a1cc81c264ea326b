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

use racehound_trace::{Mode, Op, SiteId, SyncId, ThreadId};
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

/// A detour around the events of a tuple, in whose order they stay: each access as late as
/// what comes behind it allows. `None` if a thread would have to go back.
pub(crate) fn around(
    tuple: &[u32],
    detour: &[u32],
    thread: impl Fn(&u32) -> ThreadId,
) -> Option<Vec<u32>> {
    let mut steps = tuple.to_vec();
    let mut latest = steps.len() - 1;
    for access in detour.iter().rev() {
        let is_bound = |step: &u32| thread(step) == thread(access) && step >= access;
        let bound = steps.iter().position(is_bound).unwrap_or(latest);
        latest = latest.min(bound);
        if steps[latest] != *access {
            steps.insert(latest, *access);
        }
    }
    let is_program_order = |(i, step): (usize, &u32)| {
        let before = &steps[..i];
        before.iter().all(|b| thread(b) != thread(step) || b < step)
    };
    { steps.iter().enumerate() }
        .all(is_program_order)
        .then_some(steps)
}

/// So many detours are worth trying.
const DETOURS: usize = 12;

/// Of so many writes before and behind a read each is tried as the one that it sees.
const NEAR: usize = 4;

/// A read that sees another write in an order than it saw in the trace.
struct Misreading {
    /// Its place in the order.
    number: usize,
    read: u32,
    slot: u32,
    bytes: u8,
    /// What it saw, and what it sees.
    seen: Option<u32>,
    sees: Option<u32>,
}

/// What an event accesses, and which event it sees there if it reads.
#[derive(Clone, Copy, Debug)]
struct Sight {
    slot: u32,
    bytes: u8,
    /// `NONE` if nobody has written there before.
    seen: u32,
}

/// What all accesses of a trace see.
#[derive(Debug)]
pub(crate) struct Sights {
    all: Vec<Sight>,
    /// By event: where its sights begin. They end where the next one's begin.
    starts: Vec<u32>,
}

impl Sights {
    pub(crate) fn new(index: &Index<'_>) -> Self {
        let count = index.trace.events.len();
        let mut sights = Self {
            all: Vec::new(),
            starts: Vec::with_capacity(count + 1),
        };
        let mut values = Values::new(index);
        each_access(index, |at, slot, bytes| {
            let mut seen = NONE;
            values.access(at, slot, bytes, |write, _| seen = write);
            sights
                .starts
                .resize(at as usize + 1, sights.all.len() as u32);
            sights.all.push(Sight { slot, bytes, seen });
        });
        sights.starts.resize(count + 1, sights.all.len() as u32);
        sights
    }

    /// Whether two events access the same memory.
    pub(crate) fn overlap(&self, one: u32, other: u32) -> bool {
        let is_same = |a: &Sight, b: &Sight| a.slot == b.slot && a.bytes & b.bytes != 0;
        { self.of(one).iter() }.any(|a| self.of(other).iter().any(|b| is_same(a, b)))
    }

    fn of(&self, event: u32) -> &[Sight] {
        let [from, to] = [0, 1].map(|next| self.starts[event as usize + next] as usize);
        &self.all[from..to]
    }
}

/// How much threads see of an order of a trace's events that they have not seen in the trace,
/// before the last thing they do: the more, the likelier it is that somebody takes another
/// branch. What a thread sees of a location again and again counts once, and once more if it
/// has not changed in the trace and does in the order.
pub(crate) fn strangeness(index: &Index<'_>, sights: &Sights, order: &[u32]) -> usize {
    let thread = |event: u32| index.trace.events[event as usize].thread;
    let mut last = vec![0; index.order.threads()];
    for (number, event) in order.iter().enumerate() {
        last[thread(*event).index()] = number;
    }
    let (misreadings, _) = misreadings(index, sights, order);
    let counts = |m: &&Misreading| last[thread(m.read).index()] != m.number;
    let sight = |m: &Misreading| (thread(m.read), m.slot, m.seen, m.sees);
    let strange: FxHashSet<_> = misreadings.iter().filter(counts).map(sight).collect();
    let disagreements = disagreements(index, sights, order);
    let counts = |[read, _]: &&[u32; 2]| order.get(last[thread(*read).index()]) != Some(read);
    strange.len() + disagreements.iter().filter(counts).count()
}

/// Where an order of a trace's events has a thread read what it has not read in the trace:
/// events that had better come in this order for it to see another write.
pub(crate) fn detours(index: &Index<'_>, sights: &Sights, order: &[u32]) -> Vec<Vec<u32>> {
    let (misreadings, writes) = misreadings(index, sights, order);
    let mut found = stand_ins(index, sights, &misreadings);
    found.truncate(DETOURS);
    let shifts = misreadings.iter().flat_map(|m| shifts(index, &writes, m));
    found.extend(shifts.take(DETOURS));
    found
}

/// Where a thread reads the same location twice in an order, saw the same write both times in
/// the trace, and does not any more: the later read and the write that had better come behind
/// it. Who finds that nothing has changed takes the same branch, whatever it is that is there.
pub(crate) fn disagreements(index: &Index<'_>, sights: &Sights, order: &[u32]) -> Vec<[u32; 2]> {
    let thread = |event: u32| index.trace.events[event as usize].thread;
    let mut writes: FxHashMap<u32, Vec<(u32, u8)>> = FxHashMap::default();
    // By thread, location and what was seen there: what is seen first.
    let mut views: FxHashMap<(ThreadId, u32, u32), Option<u32>> = FxHashMap::default();
    let mut found: Vec<[u32; 2]> = Vec::new();
    for &at in order {
        for &Sight { slot, bytes, seen } in sights.of(at) {
            let of_slot = writes.entry(slot).or_default();
            if reads_at(index, at) {
                let mut last = of_slot.iter().rev();
                let sees = last.find(|(_, others)| others & bytes != 0);
                let sees = sees.map(|(event, _)| *event);
                let first = *views.entry((thread(at), slot, seen)).or_insert(sees);
                if let Some(write) = sees.filter(|_| sees != first)
                    && thread(write) != thread(at)
                {
                    // What holds for the last read holds for those before.
                    found.retain(|[read, known]| *known != write || thread(*read) != thread(at));
                    found.push([at, write]);
                }
            }
            if writes_at(index, at) {
                of_slot.push((at, bytes));
            }
        }
    }
    found
}

/// The reads of an order that see something else than in the trace, and its writes.
fn misreadings(index: &Index<'_>, sights: &Sights, order: &[u32]) -> (Vec<Misreading>, Writes) {
    let mut writes: Writes = FxHashMap::default();
    let mut found = Vec::new();
    for (number, &at) in order.iter().enumerate() {
        for &Sight { slot, bytes, seen } in sights.of(at) {
            let of_slot = writes.entry(slot).or_default();
            if reads_at(index, at) {
                let seen = (seen != NONE).then_some(seen);
                let mut last = of_slot.iter().rev();
                let sees = last.find(|w| w.bytes & bytes != 0).map(|w| w.event);
                if seen != sees {
                    found.push(Misreading {
                        number,
                        read: at,
                        slot,
                        bytes,
                        seen,
                        sees,
                    });
                }
            }
            if writes_at(index, at) {
                of_slot.push(OrderedWrite {
                    number,
                    event: at,
                    bytes,
                });
            }
        }
    }
    (found, writes)
}

/// Writes of an order, by slot.
type Writes = FxHashMap<u32, Vec<OrderedWrite>>;

/// A write, and its place in an order.
struct OrderedWrite {
    number: usize,
    event: u32,
    bytes: u8,
}

/// Writes that are not to be had any more, for the tuple comes before them, have others
/// stand in for them: those of other threads at the same place in the program, also if they
/// come later in the trace.
fn stand_ins(index: &Index<'_>, sights: &Sights, misreadings: &[Misreading]) -> Vec<Vec<u32>> {
    let events = &index.trace.events;
    let site = |event: u32| events[event as usize].site;
    let mut wanted: FxHashMap<(u32, SiteId), Vec<u32>> = FxHashMap::default();
    let missing = |m: &Misreading| {
        let missing = m.seen.map(site);
        missing.filter(|missing| m.sees.map(site) != Some(*missing))
    };
    for (misreading, site) in misreadings.iter().filter_map(|m| Some((m, missing(m)?))) {
        wanted.entry((misreading.slot, site)).or_default();
    }
    if wanted.is_empty() {
        return Vec::new();
    }
    for at in (0..events.len() as u32).filter(|at| writes_at(index, *at)) {
        for sight in sights.of(at) {
            if let Some(writes) = wanted.get_mut(&(sight.slot, site(at))) {
                writes.push(at);
            }
        }
    }
    let mut found = Vec::new();
    for misreading in misreadings {
        let read = misreading.read;
        let Some(writes) = missing(misreading).and_then(|s| wanted.get(&(misreading.slot, s)))
        else {
            continue;
        };
        let foreign = |write: &&u32| {
            events[**write as usize].thread != events[read as usize].thread
                && Some(**write) != misreading.seen
        };
        let mut near: Vec<u32> = writes.iter().filter(foreign).copied().collect();
        near.sort_by_key(|write| write.abs_diff(read));
        found.extend(near.into_iter().take(NEAR).map(|write| vec![write, read]));
    }
    found
}

/// A read comes before the write that it sees, or behind a later one, or an earlier one comes
/// later.
fn shifts(index: &Index<'_>, writes: &Writes, misreading: &Misreading) -> Vec<Vec<u32>> {
    let read = misreading.read;
    let thread = |event: u32| index.trace.events[event as usize].thread;
    let is_foreign = |write: &u32| thread(*write) != thread(read);
    let all = writes.get(&misreading.slot).map_or(&[][..], Vec::as_slice);
    let same = all.iter().filter(|w| w.bytes & misreading.bytes != 0);
    let (before, behind): (Vec<_>, Vec<_>) = same.partition(|w| w.number < misreading.number);
    let near = before.iter().rev().take(NEAR).map(|w| w.event);
    let before: Vec<u32> = near.filter(is_foreign).collect();
    let behind = behind.iter().take(NEAR).map(|w| w.event);
    let mut found: Vec<Vec<u32>> = before.iter().map(|write| vec![read, *write]).collect();
    found.extend(behind.filter(is_foreign).map(|write| vec![write, read]));
    if let Some(sees) = misreading.sees {
        let earlier = before.iter().filter(|write| **write != sees);
        found.extend(earlier.map(|write| vec![sees, *write, read]));
    }
    found
}

/// By thread: its first event that comes later than in the trace, because in the goal it
/// follows upon one that it preceded, or that does not come at all. Of those who meet,
/// both accesses come later.
fn moved(index: &Index<'_>, goal: Goal<'_>) -> Vec<u32> {
    let end = goal.events.iter().max().map_or(0, |last| last + 1);
    let steps = match goal.neighbours {
        true => goal.events,
        false => goal.steps(),
    };
    let mut stops = vec![end; index.order.threads()];
    let mut stop = |event: u32, at: u32| {
        let thread = index.trace.events[event as usize].thread;
        let stop = &mut stops[thread.index()];
        *stop = (*stop).min(at);
    };
    for (number, &event) in steps.iter().enumerate() {
        let is_overtaken = steps[..number].iter().any(|before| *before > event);
        if is_overtaken || goal.neighbours {
            stop(event, event);
        }
    }
    if let Some(&last) = goal.events.last() {
        stop(last, last + 1);
    }
    stops
}

#[cfg(test)]
mod tests {
    use racehound_trace::{Trace, rapid};

    use super::*;
    use crate::index::Settings;

    /// A reads x, and later x and y.
    const LOOKS: &str = "B|w(x)|1\nA|r(x)|2\nA|r(x)|3\nA|r(y)|4\n";

    fn of(order: &[u32]) -> (usize, Vec<[u32; 2]>) {
        let trace = Trace::collect(rapid::Reader::new(LOOKS.as_bytes())).unwrap();
        let index = Index::new(&trace, &Settings::default());
        let sights = Sights::new(&index);
        let disagreements = disagreements(&index, &sights, order);
        (strangeness(&index, &sights, order), disagreements)
    }

    #[test]
    fn what_was_seen_before_is_not_strange() {
        assert_eq!(of(&[0, 1, 2, 3]), (0, vec![]));
    }

    #[test]
    fn what_is_seen_twice_is_strange_once() {
        assert_eq!(of(&[1, 2, 0, 3]), (1, vec![]));
    }

    #[test]
    fn what_changes_in_between_is_stranger() {
        // The second read and the write had better come the other way round.
        assert_eq!(of(&[1, 0, 2, 3]), (2, vec![[2, 0]]));
    }

    #[test]
    fn what_is_seen_last_does_not_matter() {
        assert_eq!(of(&[1, 0]).0, 0);
        assert_eq!(of(&[1, 0, 2]).0, 1);
    }
}
