//! The oracle of the oracle: every interleaving, step by step.
//!
//! No reduction, no caching, no partial orders. It shares the single-step
//! interpreter and the definition of atomic regions with
//! [`explore`](crate::explore()), and nothing else, so that a mistake in the
//! argument for a reduction shows up as a difference. It takes exponential
//! time; programs of a dozen steps are what it is for.

use std::collections::BTreeMap;

use racehound_predict::pattern::{Kind, Pattern, Step};
use racehound_predict::regions::{RegionId, Regions};
use racehound_trace::{Event, SiteId};

use crate::machine::{Abort, Machine, Skips};
use crate::program::Program;
use crate::truth::Truth;

/// The truth about a program, or `None` if it has more than `max_executions`
/// interleavings.
pub fn explore(program: &Program, patterns: &[Pattern], max_executions: u64) -> Option<Truth> {
    let mut walk = Walk {
        patterns,
        max_executions,
        events: Vec::new(),
        truth: Truth::default(),
    };
    walk.from(&Machine::start(program, Skips::Each))?;
    Some(walk.truth)
}

struct Walk<'p> {
    patterns: &'p [Pattern],
    max_executions: u64,
    events: Vec<Event>,
    truth: Truth,
}

impl Walk<'_> {
    fn from(&mut self, machine: &Machine<'_>) -> Option<()> {
        self.truth.states += 1;
        let enabled = machine.enabled();
        if enabled.is_empty() {
            return self.end(machine);
        }
        for a in &enabled {
            for b in &enabled {
                let (Some(x), Some(y)) = (a.op, b.op) else {
                    continue;
                };
                let (Some(x), Some(y)) = (x.access(), y.access()) else {
                    continue;
                };
                if a.thread < b.thread && x.loc == y.loc && x.conflicts_with(y) {
                    let mut pair = [a.site, b.site];
                    pair.sort();
                    self.truth.races.insert((pair[0], pair[1]));
                }
            }
        }
        for pending in &enabled {
            let mut waiter = 0;
            loop {
                let mut next = machine.clone();
                let event = next.step(pending.thread, waiter);
                self.events.extend(event);
                self.from(&next)?;
                if event.is_some() {
                    self.events.pop();
                }
                waiter += 1;
                if waiter >= machine.waiters(pending.thread).len() {
                    break;
                }
            }
        }
        Some(())
    }

    fn end(&mut self, machine: &Machine<'_>) -> Option<()> {
        self.truth.executions += 1;
        if self.truth.executions > self.max_executions {
            return None;
        }
        match machine.abort() {
            None => {
                if !machine.alive().is_empty() {
                    self.truth.deadlocks.insert(machine.alive());
                }
            }
            Some(Abort::Failed { site, name }) => {
                self.truth.failures.insert((*site, name.clone()));
            }
            Some(Abort::Misuse { site, message }) => {
                self.truth.misuses.insert((*site, message.clone()));
            }
            Some(Abort::LoopBound { site }) => {
                self.truth.loop_bounds.insert(*site);
            }
            Some(Abort::Endless) => return None,
        }
        let mut regions = Regions::default();
        let accesses: Vec<_> = self
            .events
            .iter()
            .map(|event| (*event, regions.step(event)))
            .filter(|(event, _)| event.op.access().is_some())
            .collect();
        for pattern in self.patterns {
            if pattern.kind() != Kind::Race {
                let mut bound = Bindings::default();
                subsequences(
                    pattern,
                    pattern.steps(),
                    &accesses,
                    &mut bound,
                    &mut self.truth,
                );
            }
        }
        Some(())
    }
}

/// What the numbers of a pattern stand for so far.
#[derive(Default)]
struct Bindings {
    threads: BTreeMap<usize, u64>,
    variables: BTreeMap<usize, u64>,
    regions: BTreeMap<usize, Region>,
    sites: Vec<SiteId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Region {
    Open(RegionId),
    /// A region of its own: the number of accesses bound before it.
    Own(usize),
}

/// Binds `number` to `value`, which no other number may have. Says whether
/// that is possible, and whether it is new.
fn bind<T: PartialEq>(bound: &mut BTreeMap<usize, T>, number: usize, value: T) -> Option<bool> {
    match bound.get(&number) {
        Some(known) => (*known == value).then_some(false),
        None if bound.values().any(|other| *other == value) => None,
        None => {
            bound.insert(number, value);
            Some(true)
        }
    }
}

fn subsequences(
    pattern: &Pattern,
    steps: &[Step],
    accesses: &[(Event, Option<RegionId>)],
    bound: &mut Bindings,
    truth: &mut Truth,
) {
    let Some((step, later_steps)) = steps.split_first() else {
        let found = truth.violations.entry(pattern.name().to_owned());
        found.or_default().insert(bound.sites.clone());
        return;
    };
    for (i, (event, region)) in accesses.iter().enumerate() {
        let Some(access) = event.op.access() else {
            continue;
        };
        if !step.access.matches(&event.op) {
            continue;
        }
        let region = region.map_or(Region::Own(bound.sites.len()), Region::Open);
        let thread = bind(&mut bound.threads, step.thread, u64::from(event.thread.0));
        let variable = bind(&mut bound.variables, step.variable, access.loc.0);
        let region = bind(&mut bound.regions, step.region, region);
        if thread.is_some() && variable.is_some() && region.is_some() {
            bound.sites.push(event.site);
            subsequences(pattern, later_steps, &accesses[i + 1..], bound, truth);
            bound.sites.pop();
        }
        if thread == Some(true) {
            bound.threads.remove(&step.thread);
        }
        if variable == Some(true) {
            bound.variables.remove(&step.variable);
        }
        if region == Some(true) {
            bound.regions.remove(&step.region);
        }
    }
}
