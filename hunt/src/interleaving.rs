//! How a finding happens: the steps of a recorded execution that shows it.
//!
//! Of everything that the threads did these are told: what orders threads, the accesses
//! of the finding, and other accesses to the same memory. Of a failure nobody knows which
//! accesses are to blame, so all are told whose memory is written while several threads use
//! it, and the last of the execution.
//!
//! # Which execution of an access
//! A line may be executed a thousand times. What counts is where the accesses of the
//! finding come closest to each other: between two that race, in an execution that was made
//! to show it, nobody synchronises; those of a pattern come in its order.

use std::collections::BTreeMap;

use racehound_report::finding::{
    AWAITS, Access, BLOCK, ENDED, FORK, Finding, Frame, INTERRUPTED, Interleaving, Kind,
    NOT_COPIED, Step, THE_BLOCK, is_librarys,
};
use racehound_trace::event::Access as Memory;
use racehound_trace::{Event, Op, SiteId, Space, SyncId, Tables, ThreadId, Trace};

use crate::callers::{Callers, Lines};
use crate::lineage::Lineage;

/// Steps that are told at most.
const MOST: usize = 160;
/// Steps that are told of what comes after.
const AFTER: usize = 4;
/// Bytes that an access is long, if it is looked for.
const LONGEST: u64 = 4096;
/// Beginnings of a pattern that are tried.
const BEGINNINGS: usize = 2_000;

/// What is known of the program beside its trace.
pub trait Names: Lines {
    /// What memory at an address is called.
    fn memory(&self, address: u64) -> Option<String>;
}

/// The steps of the trace that show the finding; nothing if it does not.
pub fn of(trace: &Trace, finding: &Finding, names: &dyn Names) -> Option<Interleaving> {
    let is_stuck = finding.kind == Kind::Deadlock && finding.harm.is_some();
    let numbered = |marks: Vec<usize>| marks.into_iter().zip(1..).collect();
    let (marks, unreached): (Vec<(usize, usize)>, _) = match finding.kind {
        Kind::Failure | Kind::Deadlock => (Vec::new(), None),
        Kind::Race => match pair(trace, finding) {
            Some(both) => (numbered(both), None),
            None => {
                let last = last_of_two(trace, finding)?;
                (vec![last], Some(unreached(trace, finding, last)))
            }
        },
        _ => (numbered(sequence(trace, finding)?), None),
    };
    let concerned: Vec<Memory> = marks
        .iter()
        .filter_map(|(mark, _)| trace.events[*mark].op.access())
        .collect();
    let shared = match finding.kind {
        Kind::Failure => shared(trace),
        _ => BTreeMap::new(),
    };
    let last = match finding.kind {
        Kind::Failure => beginning_of_the_end(trace),
        _ => usize::MAX,
    };
    let is_told = |at: usize, event: &Event| match event.op.access() {
        Some(_) if at >= last => true,
        _ if event.op.synchronises() && !matches!(event.op, Op::Fence { .. }) => true,
        Some(memory) => {
            concerned.iter().any(|other| other.overlaps(memory))
                || shared.get(&memory.loc.0).is_some_and(|s| s.matters)
        }
        None => false,
    };
    let end = marks
        .iter()
        .max()
        .map_or(trace.events.len(), |(mark, _)| mark + 1);
    let mut teller = Teller {
        tables: &trace.tables,
        space: trace.space,
        held: BTreeMap::new(),
        callers: Callers::default(),
        name: finding.location.name.clone(),
        concerned: &concerned,
        names,
    };
    let (mut steps, mut after) = (Vec::new(), 0);
    for (at, event) in trace.events.iter().enumerate() {
        teller.follow(event);
        if !is_told(at, event) {
            continue;
        }
        if at >= end {
            after += 1;
            if after > AFTER {
                break;
            }
        }
        let access = marks.iter().find(|(mark, _)| *mark == at);
        steps.push(teller.step(event, access.map(|(_, number)| *number)));
    }
    steps.extend(unreached);
    if steps.iter().any(|step| step.line.is_some()) {
        steps.retain(|step| !is_nowhere(step));
    }
    steps.retain(|step| !step.object.starts_with(INTERNAL));
    if is_stuck {
        rename(&mut steps, &teller.names_of_held(finding));
        mark_causes(&mut steps, finding);
        steps.extend(waits(finding));
    }
    let skipped = steps.len().saturating_sub(MOST);
    steps.drain(..skipped);
    (!steps.is_empty()).then_some(Interleaving {
        skipped: skipped as u64,
        steps,
    })
}

/// Adds the steps to a finding. Its accesses come in their order then; memory of which
/// only the address was known is called as the steps call it, and locks as the finding
/// does.
pub fn add(finding: &mut Finding, mut interleaving: Interleaving) {
    if finding.kind == Kind::Race && is_about_turned(finding, &interleaving) {
        turn(&mut interleaving);
    }
    let numbered = interleaving.steps.iter().filter_map(|step| {
        let access = finding.accesses.get(step.access?.checked_sub(1)?)?;
        match (&step.locks[..], &access.locks[..]) {
            ([number], [name]) if number != name => Some((number.clone(), name.clone())),
            _ => None,
        }
    });
    let names: BTreeMap<String, String> = numbered.collect();
    rename(&mut interleaving.steps, &names);
    let marked = || {
        interleaving
            .steps
            .iter()
            .filter(|step| step.access.is_some())
    };
    if finding.location.what == "address" {
        let mut names: Vec<&str> = marked().map(|step| step.object.as_str()).collect();
        names.dedup();
        if !names.is_empty() && !names.contains(&"") {
            finding.location.name = names.join(", ");
            finding.location.what = "global".to_owned();
        }
    }
    let order: Vec<usize> = marked().filter_map(|step| step.access).collect();
    if finding.kind == Kind::Race {
        // Other threads may have been there when it was suspected.
        for step in marked() {
            let number = step.access.and_then(|number| number.checked_sub(1));
            if let Some(access) = number.and_then(|at| finding.accesses.get_mut(at)) {
                access.thread.clone_from(&step.thread);
            }
        }
    }
    if finding.kind == Kind::Race && order == [2, 1] {
        finding.accesses.reverse();
        turn(&mut interleaving);
    }
    // What is done in a library is looked for where the program calls it.
    for step in &mut interleaving.steps {
        let number = step.access.and_then(|number| number.checked_sub(1));
        if let Some(access) = number.and_then(|at| finding.accesses.get_mut(at)) {
            let stack = std::mem::take(&mut step.stack);
            if access.stack.is_empty() && !stack.is_empty() {
                (access.stack, access.source) = (stack, None);
            }
            let spot = access.spot();
            if access.is_free() {
                "frees".clone_into(&mut step.op);
            }
            if spot.line != access.line {
                step.file = spot.file.map(str::to_owned);
                step.line = spot.line;
                step.function = spot.function.map(str::to_owned);
            }
        }
    }
    finding.interleaving = Some(interleaving);
}

/// Whether the accesses of a pattern have come in its order, in an execution.
pub fn shows(trace: &Trace, finding: &Finding) -> bool {
    sequence(trace, finding).is_some()
}

/// How often threads took turns in an execution.
pub fn turns(trace: &Trace) -> usize {
    let pairs = trace.events.windows(2);
    pairs
        .filter(|pair| pair[0].thread != pair[1].thread)
        .count()
}

/// Says of the steps that they are of a process that the program has created, and what the
/// finding says of its creation.
pub fn tell_of_child(interleaving: &mut Interleaving, finding: &Finding) {
    let before = |(number, access): (usize, &Access)| {
        let op = match access.op.as_str() {
            NOT_COPIED => "acquire",
            FORK => "forks",
            _ => return None,
        };
        Some(Step {
            op: op.to_owned(),
            object: access.locks.join(", "),
            ..standing(number, access)
        })
    };
    let before: Vec<Step> = (1..).zip(&finding.accesses).filter_map(before).collect();
    let copier = before.iter().find(|step| step.op == "forks");
    let child = Step {
        thread: copier.map_or("0", |step| &step.thread).to_owned(),
        op: "goes on in a child".to_owned(),
        ..Step::default()
    };
    let before = before.into_iter().chain([child]);
    interleaving.steps.splice(0..0, before);
}

/// Marks where locks were taken that are never given back.
fn mark_causes(steps: &mut Vec<Step>, finding: &Finding) {
    for (number, cause) in (1..).zip(&finding.accesses) {
        let is_lost = [ENDED, INTERRUPTED].contains(&cause.op.as_str());
        let Some(lock) = cause.locks.first().filter(|_| is_lost) else {
            continue;
        };
        let is_about = |step: &Step| step.thread == cause.thread && step.object == *lock;
        let taken = steps.iter_mut().rev();
        let mut taken = taken.filter(|step| step.op == "acquire" && is_about(step));
        if let Some(step) = taken.next() {
            step.access = Some(number);
            // Who is interrupted while it gives a lock back has announced that only.
            let mut is_after = false;
            steps.retain(|step| {
                is_after |= step.access == Some(number);
                !(is_after && step.op == "release" && is_about(step))
            });
        }
    }
}

/// What the runtime uses itself to tell who has heard of whom.
const INTERNAL: &str = "racehound_runtime::";

/// Whether nobody can tell what an access is about: a library does that by itself.
fn is_nowhere(step: &Step) -> bool {
    let is_access = ["read", "write"].contains(&step.op.as_str());
    let is_atomic = step.op.starts_with("atomic-");
    let is_librarys = step.file.as_deref().is_some_and(is_librarys);
    let is_nowhere = is_access && step.line.is_none() || is_atomic && is_librarys;
    let is_of_nobody = is_nowhere && step.object.is_empty();
    // What a library hands on in a program that has not begun.
    let is_handed_on = step.op.starts_with("semaphore-") && step.line.is_none();
    (is_of_nobody || is_handed_on) && step.access.is_none()
}

/// Calls locks by their better names.
fn rename(steps: &mut [Step], names: &BTreeMap<String, String>) {
    for step in steps {
        for name in step.locks.iter_mut().chain([&mut step.object]) {
            if let Some(better) = names.get(name) {
                name.clone_from(better);
            }
        }
    }
}

/// Whether the accesses of a race have been put in another order since the steps were
/// numbered: what each does fits the other one's step better.
fn is_about_turned(finding: &Finding, interleaving: &Interleaving) -> bool {
    let fit = |turned: bool| -> usize {
        let fit_of = |step: &Step| {
            let number = step.access?.checked_sub(1)?;
            let access = finding
                .accesses
                .get(if turned { 1 - number } else { number })?;
            let same = [
                access.op == step.op,
                access.line == step.line,
                access.thread == step.thread,
            ];
            Some(same.into_iter().filter(|same| *same).count())
        };
        interleaving.steps.iter().filter_map(fit_of).sum()
    };
    finding.accesses.len() == 2 && fit(true) > fit(false)
}

/// The first access is the second, and the other way round.
fn turn(interleaving: &mut Interleaving) {
    let steps = interleaving.steps.iter_mut();
    for access in steps.filter_map(|step| step.access.as_mut()) {
        *access = 3 - *access;
    }
}

/// What threads wait for in the end, and for ever.
fn waits(finding: &Finding) -> impl Iterator<Item = Step> + '_ {
    let waits = |(number, access): (usize, &Access)| {
        let what = access.awaits.as_deref().unwrap_or_default();
        let (what, _) = what.split_once(", which ").unwrap_or((what, ""));
        let what = what.trim_start_matches("the end of ");
        Step {
            op: AWAITS.to_owned(),
            object: what.to_owned(),
            ..standing(number, access)
        }
    };
    let accesses = (1..).zip(&finding.accesses);
    accesses.filter(|(_, access)| !access.is_cause()).map(waits)
}

/// The access of a race after which the program came to grief, before the other thread,
/// which stood at its own, could go on; and which of the two it is.
fn last_of_two(trace: &Trace, finding: &Finding) -> Option<(usize, usize)> {
    finding.harm.as_ref()?;
    let (at, index) = candidates(trace, finding).pop()?;
    (finding.accesses.len() == 2).then_some((at, index + 1))
}

/// The other one.
fn unreached(trace: &Trace, finding: &Finding, (at, number): (usize, usize)) -> Step {
    let (mine, other) = (&finding.accesses[number - 1], &finding.accesses[2 - number]);
    let here = trace.tables.thread_name(trace.events[at].thread);
    let thread = [other, mine].map(|access| &access.thread);
    let elsewhere = thread.into_iter().find(|thread| **thread != here);
    Step {
        thread: elsewhere.unwrap_or(&other.thread).clone(),
        op: "comes too late".to_owned(),
        ..standing(3 - number, other)
    }
}

/// A thread at its access.
fn standing(number: usize, access: &Access) -> Step {
    Step {
        thread: access.thread.clone(),
        file: access.file.clone(),
        line: access.line,
        function: access.function.clone(),
        locks: access.locks.clone(),
        access: Some(number),
        ..Step::default()
    }
}

/// The accesses from this event on are the last: what a program dies of is among them.
fn beginning_of_the_end(trace: &Trace) -> usize {
    const LAST: usize = 3;
    let events = trace.events.iter().enumerate().rev();
    let accesses = events.filter(|(_, event)| event.op.access().is_some());
    accesses.take(LAST).last().map_or(usize::MAX, |(at, _)| at)
}

/// Who uses a location.
struct Sharing {
    last: ThreadId,
    /// Somebody else has used it.
    by_many: bool,
    /// And somebody has written to it since.
    matters: bool,
}

fn shared(trace: &Trace) -> BTreeMap<u64, Sharing> {
    let mut all: BTreeMap<u64, Sharing> = BTreeMap::new();
    for event in &trace.events {
        let Some(memory) = event.op.access() else {
            continue;
        };
        let sharing = all.entry(memory.loc.0).or_insert(Sharing {
            last: event.thread,
            by_many: false,
            matters: false,
        });
        sharing.by_many |= sharing.last != event.thread;
        sharing.matters |= sharing.by_many && memory.is_write;
        sharing.last = event.thread;
    }
    all
}

/// Whether an event is an access of the finding, by place and sort.
fn fits(trace: &Trace, event: &Event, access: &Access) -> bool {
    let Some(memory) = event.op.access() else {
        return false;
    };
    memory.is_write == (access.op == "write") && trace.tables.site_name(event.site) == access.site
}

/// The events that fit each access of the finding.
fn candidates(trace: &Trace, finding: &Finding) -> Vec<(usize, usize)> {
    let sites: Vec<bool> = (0..trace.tables.sites.len())
        .map(|site| {
            let name = trace.tables.site_name(SiteId::from_index(site));
            finding.accesses.iter().any(|access| access.site == name)
        })
        .collect();
    let events = trace.events.iter().enumerate();
    let events = events.filter(|(_, e)| sites.get(e.site.index()).is_some_and(|known| *known));
    let fitting = events.flat_map(|(at, event)| {
        let accesses = finding.accesses.iter().enumerate();
        accesses
            .filter_map(move |(number, access)| fits(trace, event, access).then_some((at, number)))
    });
    fitting.collect()
}

/// The two accesses of a race where they come closest: by different threads, to the same
/// memory, one of them a write.
fn pair(trace: &Trace, finding: &Finding) -> Option<Vec<usize>> {
    if finding.accesses.len() != 2 {
        return None;
    }
    let mut synchronised = vec![0usize];
    for event in &trace.events {
        let so_far = synchronised.last().copied().unwrap_or(0);
        synchronised.push(so_far + usize::from(event.op.synchronises()));
    }
    let distance = |found: [usize; 2]| {
        let (first, second) = (found[0].min(found[1]), found[0].max(found[1]));
        let between = synchronised[second] - synchronised[first];
        let is_other = |(at, access): &(usize, &Access)| {
            trace.tables.thread_name(trace.events[*at].thread) != access.thread
        };
        let strangers = found.into_iter().zip(&finding.accesses).filter(is_other);
        (between, strangers.count(), second - first)
    };
    // Who has not been created yet races with nobody, nor who has been joined.
    let mut lineage = Lineage::default();
    let mut past = 0;
    // By location, access and thread: the last event that fits.
    let mut last: BTreeMap<(u64, usize, ThreadId), usize> = BTreeMap::new();
    let mut best: Option<[usize; 2]> = None;
    for (at, number) in candidates(trace, finding) {
        let event = &trace.events[at];
        let memory = event.op.access()?;
        let start = memory.loc.0;
        let around = (start.saturating_sub(LONGEST), 0, ThreadId(0))
            ..(start.saturating_add(u64::from(memory.size)), 0, ThreadId(0));
        for (at, event) in trace.events[past..at].iter().enumerate() {
            lineage.follow(past + at, event);
        }
        past = at;
        let earlier = last.range(around).filter(|((_, other, thread), before)| {
            let theirs = trace.events[**before].op.access();
            *other != number
                && *thread != event.thread
                && lineage.may_meet(event.thread, *thread, **before)
                && theirs.is_some_and(|theirs| theirs.overlaps(memory))
        });
        if let Some(before) = earlier.map(|(_, before)| *before).max() {
            let mut found = [0; 2];
            found[number] = at;
            found[1 - number] = before;
            if best.is_none_or(|best| distance(found) < distance(best)) {
                best = Some(found);
            }
        }
        last.insert((start, number, event.thread), at);
    }
    best.map(|best| best.to_vec())
}

/// The accesses of a pattern in its order, as close together as they come.
fn sequence(trace: &Trace, finding: &Finding) -> Option<Vec<usize>> {
    let candidates = candidates(trace, finding);
    let accesses = &finding.accesses;
    let begins = |(i, (_, number)): (usize, &(usize, usize))| (*number == 0).then_some(i);
    let beginnings = candidates.iter().enumerate().filter_map(begins);
    let mut best: Option<Vec<usize>> = None;
    for beginning in beginnings.take(BEGINNINGS) {
        let mut found: Vec<usize> = Vec::new();
        for &(at, number) in &candidates[beginning..] {
            if number != found.len() || found.last() == Some(&at) {
                continue;
            }
            // Accesses of one thread are of one thread here, others of others.
            let agrees = |(other, before): (usize, &usize)| {
                let together = accesses[other].thread == accesses[number].thread;
                together == (trace.events[*before].thread == trace.events[at].thread)
            };
            if found.iter().enumerate().all(agrees) {
                found.push(at);
            }
            if found.len() == accesses.len() {
                break;
            }
        }
        let length = |found: &[usize]| found.last().zip(found.first()).map(|(l, f)| l - f);
        if found.len() == accesses.len()
            && best
                .as_ref()
                .is_none_or(|best| length(&found) < length(best))
        {
            best = Some(found);
        }
    }
    best
}

/// Says what events are, and who holds which locks.
struct Teller<'a> {
    tables: &'a Tables,
    space: Space,
    held: BTreeMap<ThreadId, Vec<SyncId>>,
    callers: Callers,
    name: String,
    concerned: &'a [Memory],
    names: &'a dyn Names,
}

impl Teller<'_> {
    /// What the finding calls the locks that its threads hold in the end, by what the trace
    /// calls them.
    fn names_of_held(&self, finding: &Finding) -> BTreeMap<String, String> {
        let mut names = BTreeMap::new();
        for (thread, held) in &self.held {
            let thread = self.tables.thread_name(*thread);
            let mut accesses = finding.accesses.iter();
            let access = accesses.find(|access| access.thread == thread && !access.is_cause());
            // Both are in the order in which they were taken.
            if let Some(access) = access.filter(|access| access.locks.len() == held.len()) {
                let pairs = held.iter().zip(&access.locks);
                names
                    .extend(pairs.map(|(lock, name)| (self.tables.sync_name(*lock), name.clone())));
            }
        }
        names
    }

    fn follow(&mut self, event: &Event) {
        self.callers.follow(event);
        let held = self.held.entry(event.thread).or_default();
        match event.op {
            Op::Acquire { lock, .. }
            | Op::Wake {
                lock: Some(lock), ..
            } => held.push(lock),
            Op::Release { lock, .. } => {
                if let Some(at) = held.iter().rposition(|other| *other == lock) {
                    held.remove(at);
                }
            }
            Op::Wait {
                lock: Some(lock), ..
            } => held.retain(|other| *other != lock),
            _ => {}
        }
    }

    fn step(&self, event: &Event, access: Option<usize>) -> Step {
        let tables = self.tables;
        let site = tables.sites.get(event.site.index());
        let mut locks: Vec<String> = Vec::new();
        for lock in self.held.get(&event.thread).into_iter().flatten() {
            let name = tables.sync_name(*lock);
            if !locks.contains(&name) {
                locks.push(name);
            }
        }
        let step = Step {
            thread: tables.thread_name(event.thread),
            op: event.op.kind().name().replace(' ', "-"),
            object: self.object(&event.op),
            file: tables.site_file(event.site).map(str::to_owned),
            line: site.map(|site| site.line).filter(|line| *line > 0),
            function: site
                .and_then(|site| site.function)
                .map(|function| tables.function_name(function)),
            text: None,
            locks,
            access,
            stack: Vec::new(),
        };
        let mut stack = self.callers.stack(event, tables, self.names);
        // The finding says where its own accesses are.
        if access.is_some() {
            let stack = stack.collect();
            return Step { stack, ..step };
        }
        if step.file.as_deref().is_none_or(|file| !is_librarys(file)) {
            return step;
        }
        match stack.find(Frame::is_users) {
            None => step,
            Some(frame) => Step {
                file: frame.file,
                line: frame.line,
                function: Some(frame.function),
                ..step
            },
        }
    }

    fn object(&self, op: &Op) -> String {
        match *op {
            Op::Acquire { lock: sync, .. }
            | Op::Release { lock: sync, .. }
            | Op::Wait { cond: sync, .. }
            | Op::Wake { cond: sync, .. }
            | Op::NotifyOne { cond: sync, .. }
            | Op::NotifyAll { cond: sync }
            | Op::BarrierArrive { barrier: sync }
            | Op::BarrierLeave { barrier: sync }
            | Op::SemPost { sem: sync }
            | Op::SemWait { sem: sync } => self.tables.sync_name(sync),
            Op::Fork { child } | Op::Join { child } => {
                format!("thread {}", self.tables.thread_name(child))
            }
            _ => op
                .access()
                .map(|memory| self.memory(memory))
                .unwrap_or_default(),
        }
    }

    /// What memory is called. The finding has a name for what it is about, if that is one
    /// location.
    fn memory(&self, memory: Memory) -> String {
        if self.space == Space::Names {
            return self.tables.loc_name(self.space, memory.loc);
        }
        let one = self.concerned.first();
        let is_one = |all: &Memory| self.concerned.iter().all(|other| other.overlaps(*all));
        let named = !self.name.is_empty() && !self.name.starts_with("0x");
        match one {
            Some(one) if named && is_one(one) && one.overlaps(memory) => {
                match self.name.starts_with(BLOCK) {
                    true => THE_BLOCK.to_owned(),
                    false => self.name.clone(),
                }
            }
            _ => match self.tables.variable_at(memory.loc) {
                Some(_) => self.tables.shown_loc(self.space, memory.loc),
                None => self.names.memory(memory.loc.0).unwrap_or_default(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use racehound_report::finding::Location;
    use racehound_trace::rapid;

    use super::*;

    fn trace(text: &str) -> Trace {
        let text = text.replace("; ", "\n");
        Trace::collect(rapid::Reader::new(text.as_bytes())).unwrap()
    }

    fn access(op: &str, thread: &str, site: &str) -> Access {
        Access {
            op: op.into(),
            thread: thread.into(),
            site: site.into(),
            ..Access::default()
        }
    }

    fn told(interleaving: &Interleaving) -> Vec<String> {
        let step = |step: &Step| {
            let mark = step.access.map(|n| format!("{n}:")).unwrap_or_default();
            let locks = step.locks.join(",");
            format!(
                "{mark}{} {} {} [{locks}]",
                step.thread, step.op, step.object
            )
        };
        interleaving.steps.iter().map(step).collect()
    }

    /// Of nothing anything is known, but that one header is used in the third line.
    struct Unnamed;

    impl Names for Unnamed {
        fn memory(&self, _: u64) -> Option<String> {
            None
        }
    }

    impl Lines for Unnamed {
        fn frames(&self, module: &str, offset: u64) -> Vec<Frame> {
            let frame = |file: &str, line| Frame {
                file: Some(file.into()),
                line: Some(line),
                ..Frame::default()
            };
            match (module, offset) {
                ("build", 7) => vec![
                    frame("/usr/include/atomic_base.h", 488),
                    frame("own.cpp", 3),
                ],
                _ => Vec::new(),
            }
        }
    }

    #[test]
    fn what_is_in_a_header_of_the_system_is_told_where_it_is_used() {
        let mut trace = trace("T0|acq(l)|1; T0|rel(l)|2; T1|acq(l)|1; T1|rel(l)|2");
        for (name, offset) in [("/usr/include/atomic_base.h", 7), ("inline.h", 7)] {
            let file = trace.tables.names.add(name);
            let module = trace.tables.names.add("build");
            for site in &mut trace.tables.sites {
                (site.file, site.line) = (Some(file), 488);
                (site.module, site.offset) = (Some(module), offset);
            }
            let finding = Finding {
                kind: Kind::Failure,
                ..Finding::default()
            };
            let told = of(&trace, &finding, &Unnamed).unwrap();
            let place = (told.steps[0].file.as_deref(), told.steps[0].line);
            match name {
                "inline.h" => assert_eq!(place, (Some("inline.h"), Some(488))),
                _ => assert_eq!(place, (Some("own.cpp"), Some(3))),
            }
        }
    }

    #[test]
    fn a_race_is_told_where_its_accesses_meet() {
        let trace = trace(
            "T0|w(x)|1; T1|acq(l)|2; T1|w(x)|3; T1|rel(l)|4; T0|w(y)|5; T0|r(x)|6; T1|acq(l)|2; \
             T0|r(x)|6; T0|r(z)|6; T1|w(x)|3; T1|rel(l)|4; T0|w(x)|1",
        );
        let sites: Vec<String> = (0..trace.tables.sites.len())
            .map(|i| trace.tables.site_name(SiteId::from_index(i)))
            .collect();
        let place = |number: &str| sites.iter().find(|s| s.ends_with(number)).unwrap().clone();
        let finding = Finding {
            location: Location {
                name: "x".into(),
                ..Location::default()
            },
            accesses: vec![
                access("read", "T0", &place("6")),
                access("write", "T1", &place("3")),
            ],
            ..Finding::default()
        };
        let interleaving = of(&trace, &finding, &Unnamed).unwrap();
        let told = told(&interleaving);
        let marked: Vec<&String> = told.iter().filter(|s| s.contains(':')).collect();
        assert_eq!(marked, ["1:T0 read x []", "2:T1 write x [l]"]);
        assert!(!told.iter().any(|step| step.contains('y')), "{told:?}");
        assert_eq!(told.last().unwrap(), "T0 write x []");
        let elsewhere = Finding {
            accesses: vec![access("read", "T0", "9"), access("write", "T1", "9")],
            ..finding
        };
        assert_eq!(of(&trace, &elsewhere, &Unnamed), None);
    }

    #[test]
    fn who_is_not_created_yet_or_was_joined_races_with_nobody() {
        let not_created = "T0|r(x)|6; T0|fork(T1)|1; T1|w(x)|3; T0|acq(l)|4; T0|rel(l)|5; \
                           T0|acq(l)|4; T0|rel(l)|5; T0|r(x)|6";
        let joined = "T0|fork(T1)|1; T0|r(x)|6; T0|acq(l)|4; T0|rel(l)|5; T0|acq(l)|4; \
                      T0|rel(l)|5; T1|w(x)|3; T0|join(T1)|2; T0|r(x)|6";
        // What is closer is by another thread than was suspected.
        let joined_by_another = "T0|fork(T1)|1; T0|fork(T2)|1; T1|w(x)|3; T1|acq(l)|4; \
                                 T1|rel(l)|5; T1|acq(l)|4; T1|rel(l)|5; T2|r(x)|6; T2|w(x)|3; \
                                 T0|join(T2)|7; T0|r(x)|6";
        for (text, threads, expected) in [
            (not_created, ["T1", "T0"], [2, 7]),
            (joined, ["T1", "T0"], [6, 1]),
            (joined_by_another, ["T1", "T2"], [2, 7]),
        ] {
            let trace = trace(text);
            let sites = (0..trace.tables.sites.len()).map(SiteId::from_index);
            let sites: Vec<String> = sites.map(|site| trace.tables.site_name(site)).collect();
            let place = |number: &str| sites.iter().find(|s| s.ends_with(number)).unwrap().clone();
            let [writer, reader] = threads;
            let finding = Finding {
                accesses: vec![
                    access("write", writer, &place("3")),
                    access("read", reader, &place("6")),
                ],
                ..Finding::default()
            };
            assert_eq!(pair(&trace, &finding), Some(expected.to_vec()));
        }
    }

    #[test]
    fn a_race_that_ends_the_program_is_told_though_one_access_is_not_made() {
        let trace = trace("T1|w(y)|1; T1|acq(l)|2; T1|rel(l)|3; T0|r(x)|6");
        let read = trace.tables.site_name(trace.events[3].site);
        let assertion = Finding {
            location: Location {
                name: "x".into(),
                ..Location::default()
            },
            harm: Some(racehound_report::finding::Harm::default()),
            accesses: vec![
                access("write", "T1", "elsewhere"),
                access("read", "T0", &read),
            ],
            ..Finding::default()
        };
        let steps = told(&of(&trace, &assertion, &Unnamed).unwrap());
        assert_eq!(steps[2..], ["2:T0 read x []", "1:T1 comes too late  []"]);
        let harmless = Finding {
            harm: None,
            ..assertion
        };
        assert_eq!(of(&trace, &harmless, &Unnamed), None);
    }

    #[test]
    fn accesses_come_in_the_order_of_the_steps() {
        let mut finding = Finding {
            location: Location {
                what: "address".into(),
                name: "0x5510".into(),
                ..Location::default()
            },
            accesses: vec![
                access("read", "0.2", "b"),
                Access {
                    locks: vec!["bank->gate".into()],
                    ..access("write", "0.1", "a")
                },
            ],
            ..Finding::default()
        };
        let step = |number, op: &str, locks: &[&str]| Step {
            object: "balance".into(),
            op: op.into(),
            access: Some(number),
            locks: locks.iter().map(|lock| (*lock).to_owned()).collect(),
            ..Step::default()
        };
        let steps = vec![step(2, "write", &["M3"]), step(1, "read", &[])];
        let interleaving = Interleaving { skipped: 0, steps };
        // A report may be made more than once.
        for _ in 0..3 {
            add(&mut finding, interleaving.clone());
            assert_eq!(finding.accesses[0].site, "a");
            assert_eq!(finding.location.name, "balance");
            let steps = &finding.interleaving.as_ref().unwrap().steps;
            assert_eq!([steps[0].access, steps[1].access], [Some(1), Some(2)]);
            assert_eq!(steps[0].locks, ["bank->gate"]);
        }
    }

    #[test]
    fn a_pattern_is_told_in_its_order() {
        let trace = trace(
            "T0|r(x)|1; T0|w(x)|2; T0|acq(l)|7; T0|r(x)|1; T0|rel(l)|8; T1|w(x)|3; T0|w(x)|2",
        );
        let name = |i: usize| trace.tables.site_name(trace.events[i].site);
        let finding = Finding {
            kind: Kind::Atomicity,
            accesses: vec![
                access("read", "a", &name(3)),
                access("write", "b", &name(5)),
                access("write", "a", &name(6)),
            ],
            ..Finding::default()
        };
        let told = told(&of(&trace, &finding, &Unnamed).unwrap());
        let marked: Vec<&String> = told.iter().filter(|s| s.contains(':')).collect();
        assert_eq!(
            marked,
            ["1:T0 read x [l]", "2:T1 write x []", "3:T0 write x []"]
        );
    }

    #[test]
    fn of_a_failure_everything_shared_is_told() {
        let trace = trace(
            "T0|w(c)|1; T0|w(x)|1; T1|w(x)|2; T1|w(y)|3; T1|acq(l)|4; T0|r(c)|5; T1|r(c)|6; \
             T1|w(z)|7; T1|r(z)|8",
        );
        let finding = Finding {
            kind: Kind::Failure,
            ..Finding::default()
        };
        let told = told(&of(&trace, &finding, &Unnamed).unwrap());
        let shared = ["T0 write x []", "T1 write x []", "T1 acquire l [l]"];
        let last = ["T1 read c [l]", "T1 write z [l]", "T1 read z [l]"];
        assert_eq!(told, [shared, last].concat());
    }
}
