//! The oracle of the oracle: every interleaving, step by step.
//!
//! No reduction, no caching, no partial orders. It shares the single-step
//! interpreter and the definition of atomic regions with
//! [`explore`](crate::explore()), and nothing else, so that a mistake in the
//! argument for a reduction shows up as a difference. It takes exponential
//! time; programs of a dozen steps are what it is for.

use std::collections::BTreeSet;

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
            if pattern.kind() == Kind::Race {
                continue;
            }
            let mut found = BTreeSet::new();
            let mut bound = Bindings::default();
            subsequences(pattern.steps(), &accesses, &mut bound, &mut found);
            if !found.is_empty() {
                let known = self.truth.violations.entry(pattern.name().to_owned());
                known.or_default().append(&mut found);
            }
        }
        Some(())
    }
}

/// What the numbers of a pattern stand for so far.
#[derive(Default)]
struct Bindings {
    threads: Vec<(usize, u64)>,
    variables: Vec<(usize, u64)>,
    regions: Vec<(usize, Region)>,
    sites: Vec<SiteId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Region {
    Open(RegionId),
    /// A region of its own: the number of accesses bound before it.
    Own(usize),
}

/// Binds `number` to `value`, which no other number may have. Says whether
/// that is possible.
fn bind<T: PartialEq>(bound: &mut Vec<(usize, T)>, number: usize, value: T) -> bool {
    for (other, known) in bound.iter() {
        if (*other == number) != (*known == value) {
            return false;
        }
    }
    bound.push((number, value));
    true
}

fn subsequences(
    steps: &[Step],
    accesses: &[(Event, Option<RegionId>)],
    bound: &mut Bindings,
    found: &mut BTreeSet<Vec<SiteId>>,
) {
    let Some((step, later_steps)) = steps.split_first() else {
        if !found.contains(&bound.sites) {
            found.insert(bound.sites.clone());
        }
        return;
    };
    for (i, (event, region)) in accesses.iter().enumerate() {
        let Some(access) = event.op.access() else {
            continue;
        };
        if !step.access.matches(&event.op) {
            continue;
        }
        let depth = bound.sites.len();
        let region = region.map_or(Region::Own(depth), Region::Open);
        if bind(&mut bound.threads, step.thread, u64::from(event.thread.0))
            && bind(&mut bound.variables, step.variable, access.loc.0)
            && bind(&mut bound.regions, step.region, region)
        {
            bound.sites.push(event.site);
            subsequences(later_steps, &accesses[i + 1..], bound, found);
        }
        bound.threads.truncate(depth);
        bound.variables.truncate(depth);
        bound.regions.truncate(depth);
        bound.sites.truncate(depth);
    }
}
