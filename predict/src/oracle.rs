//! Predictions against going through everything: all tuples of a small trace that fit a
//! pattern, each of which is put to [`weave`]. Nothing that can happen is missed, and nothing
//! else is predicted.

use std::collections::BTreeSet;

use racehound_trace::generate::{Chaos, chaos};
use racehound_trace::{Builder, Loc, MemoryOrder, Mode, Op, SiteId, Space, ThreadId, Trace};

use crate::forecast::predict_with;
use crate::hearsay::Hearsay;
use crate::index::memory::Memory;
use crate::index::{Index, Settings, access_at};
use crate::pattern::{AccessType, Kind, Pattern, builtin, parse_all};
use crate::regions::{RegionId, Regions};
use crate::weave::{Goal, Woven, weave};
use crate::{Options, predict};

#[derive(Clone, Copy)]
struct Access {
    event: u32,
    thread: ThreadId,
    site: SiteId,
    slot: u32,
    mask: u8,
    region: Option<RegionId>,
}

type Places = (String, Vec<SiteId>);

/// Tuples of a trace.
struct Tuples<'t> {
    index: Index<'t>,
    accesses: Vec<Access>,
    found: BTreeSet<Places>,
    /// Some tuple was neither scheduled nor refuted.
    is_open: bool,
}

impl<'t> Tuples<'t> {
    fn new(trace: &'t Trace) -> Self {
        let settings = Settings {
            thorough: true,
            every_access: true,
            ..Settings::default()
        };
        let mut regions = Regions::default();
        let mut memory = Memory::new(trace.space);
        let mut accesses = Vec::new();
        for (event, at) in trace.events.iter().zip(0..) {
            let region = regions.step(event);
            if event.op.access().is_none() {
                memory.renew(&event.op);
            }
            let Some(access) = access_at(trace, at) else {
                continue;
            };
            for (word, mask) in memory.words(&access) {
                accesses.push(Access {
                    event: at,
                    thread: event.thread,
                    site: event.site,
                    slot: memory.slot(word),
                    mask,
                    region,
                });
            }
        }
        Self {
            index: Index::new(trace, &settings),
            accesses,
            found: BTreeSet::new(),
            is_open: false,
        }
    }

    fn extend(&mut self, pattern: &Pattern, chosen: &mut Vec<Access>) {
        let steps = pattern.steps();
        let Some(step) = steps.get(chosen.len()) else {
            self.judge(pattern, chosen);
            return;
        };
        let is_race = pattern.kind() == Kind::Race;
        for i in 0..self.accesses.len() {
            let this = self.accesses[i];
            let op = &self.index.trace.events[this.event as usize].op;
            let order = &self.index.order;
            let at = |a: &Access| (a.thread, order.moment(a.thread, a.event));
            let agrees = |(earlier, other): (&crate::pattern::Step, &Access)| {
                let same_variable = this.slot == other.slot && this.mask & other.mask != 0;
                let same_region = this.region.is_some() && this.region == other.region;
                let in_order = match this.thread == other.thread {
                    true => other.event < this.event,
                    // Nothing orders those that race.
                    false if is_race && order.before(at(other), at(&this)) => false,
                    false => !order.before(at(&this), at(other)),
                };
                (this.thread == other.thread) == (step.thread == earlier.thread)
                    && same_variable == (step.variable == earlier.variable)
                    && (same_region || step.region != earlier.region)
                    && in_order
            };
            if step.access.matches(op) && steps.iter().zip(&*chosen).all(agrees) {
                chosen.push(this);
                self.extend(pattern, chosen);
                chosen.pop();
            }
        }
    }

    fn judge(&mut self, pattern: &Pattern, chosen: &[Access]) {
        let events: Vec<u32> = chosen.iter().map(|access| access.event).collect();
        let is_race = pattern.kind() == Kind::Race;
        let atomic = |event: &u32| {
            let access = self.index.trace.events[*event as usize].op.access();
            access.is_some_and(|access| access.is_atomic)
        };
        if is_race && events.iter().all(atomic) {
            return;
        }
        let places = places(pattern, chosen.iter().map(|access| access.site).collect());
        if self.found.contains(&places) {
            return;
        }
        let goal = Goal {
            events: &events,
            neighbours: is_race,
            waypoints: &[],
        };
        if !Hearsay::new(self.index.trace).allows(&events, is_race) {
            return;
        }
        match weave(&self.index, goal) {
            Woven::Feasible(_) => {
                self.found.insert(places);
            }
            Woven::Infeasible => {}
            Woven::Unknown => self.is_open = true,
        }
    }
}

fn places(pattern: &Pattern, mut sites: Vec<SiteId>) -> Places {
    match pattern.kind() {
        Kind::Race => {
            sites.sort_unstable();
            ("race".to_owned(), sites)
        }
        _ => (pattern.name().to_owned(), sites),
    }
}

/// How many anomalies there are, if everything is known.
fn check(trace: &Trace, patterns: &[Pattern]) -> Option<usize> {
    let mut tuples = Tuples::new(trace);
    for pattern in patterns {
        tuples.extend(pattern, &mut Vec::new());
    }
    if tuples.is_open {
        return None;
    }
    let options = Options {
        patterns: patterns.to_vec(),
        ..Options::default()
    };
    let forecast = predict(trace, &options);
    let site = |event: &u32| trace.events[*event as usize].site;
    let predictions = forecast.predictions.iter().map(|prediction| {
        let sites = prediction.events.iter().map(site).collect();
        places(forecast.pattern(prediction), sites)
    });
    let predicted: BTreeSet<Places> = predictions.collect();
    let listing = || {
        let line = |(i, e): (usize, &racehound_trace::Event)| {
            format!("{i} {:?} {:?} {:?}\n", e.thread, e.site, e.op)
        };
        trace
            .events
            .iter()
            .enumerate()
            .map(line)
            .collect::<String>()
    };
    let missed: Vec<_> = tuples.found.difference(&predicted).collect();
    let wrong: Vec<_> = predicted.difference(&tuples.found).collect();
    assert!(
        missed.is_empty() && wrong.is_empty(),
        "{}missed {missed:?}\nwrong {wrong:?}",
        listing()
    );
    Some(predicted.len())
}

fn check_all(patterns: &[Pattern], seeds: std::ops::Range<u64>, at_least: usize) {
    let (mut known, mut anomalies) = (0, 0);
    for seed in seeds {
        let trace = chaos(&Chaos {
            seed,
            events: 40 + seed as usize % 40,
            threads: 2 + (seed / 2) as u32 % 3,
            variables: 2 + seed as u32 % 4,
            locks: 1 + (seed / 3) as u32 % 3,
            sites: [8, 40][(seed / 5) as usize % 2],
            space: [Space::Names, Space::Addresses][(seed / 7) as usize % 2],
            everything: seed % 2 == 0,
        });
        if let Some(count) = check(&trace, patterns) {
            known += 1;
            anomalies += count;
        }
    }
    assert!(anomalies >= at_least, "{known} traces, {anomalies}");
}

#[test]
fn every_tuple_of_the_built_in_patterns_is_found() {
    check_all(&builtin(), 0..400, 1_000);
}

/// Of reads and writes in any order, as users may write them down.
#[test]
fn every_tuple_of_two_threads_and_two_variables_is_found() {
    let orders = [
        ["t1 t2 t2 t1", "u1 u2 u2 u1"],
        ["t1 t2 t1 t2", "u1 u2 u1 u2"],
    ];
    let variables = [["x x y y", "x y x y"], ["x x y y", "x y y x"]];
    let mut text = String::new();
    for (order, variables) in orders.iter().zip(variables) {
        for variables in variables {
            for access in ["r w r w", "w r w r", "r r w w", "w w w w", "w r r w"] {
                text += &format!(
                    "pattern p{}\nT = {}\nSV = {variables}\nAR = {}\nAT = {access}\n",
                    text.len(),
                    order[0],
                    order[1]
                );
            }
        }
    }
    let patterns = parse_all(&text).unwrap();
    let writes = |p: &&Pattern| p.steps().iter().any(|s| s.access == AccessType::Write);
    assert_eq!(patterns.iter().filter(writes).count(), 20);
    check_all(&patterns, 1_000..1_200, 1_000);
}

/// Rounds in which two threads tell each other something while one of them has a lock that the
/// other one needs on its way, as in Figure 5: in none of them can they meet, though neither
/// order nor locks alone say so. With a last round in which nobody needs the lock, they can.
fn rounds(count: u32, can_meet: bool) -> Trace {
    let mut builder = Builder::new();
    let (ours, theirs) = (builder.thread("1"), builder.thread("2"));
    let (lock, own) = (builder.sync("lock"), builder.sync("own"));
    let [x, y] = ["x", "y"].map(|name| builder.variable(name));
    let mode = Mode::Exclusive;
    let mut push = |thread, site: &str, op| builder.push(thread, site, op);
    for round in 0..=count {
        let order = MemoryOrder::AcqRel;
        let [call, answer, end] = [0, 1, 2].map(|i| Loc(u64::from(1_000 + 3 * round + i)));
        let store = |loc| Op::AtomicStore {
            loc,
            size: 1,
            order,
        };
        let load = |loc| Op::AtomicLoad {
            loc,
            size: 1,
            order,
        };
        push(ours, "a", Op::Acquire { lock, mode });
        push(ours, "b", Op::Write { loc: x, size: 1 });
        push(ours, "c", store(call));
        push(theirs, "d", load(call));
        push(theirs, "e", store(answer));
        push(ours, "f", load(answer));
        push(ours, "g", Op::Write { loc: y, size: 1 });
        push(ours, "h", Op::Release { lock, mode });
        if round < count || !can_meet {
            push(theirs, "i", Op::Acquire { lock, mode });
            push(theirs, "j", Op::Release { lock, mode });
        }
        push(theirs, "k", Op::Acquire { lock: own, mode });
        push(theirs, "l", Op::Read { loc: x, size: 1 });
        push(theirs, "m", Op::Read { loc: y, size: 1 });
        push(theirs, "n", Op::Release { lock: own, mode });
        push(theirs, "o", store(end));
        push(ours, "p", load(end));
    }
    builder.finish()
}

#[test]
fn what_is_possible_behind_many_that_are_not_is_found() {
    let mut patterns = builtin();
    patterns.retain(|p| p.kind() == Kind::Race || p.name() == "atomic-set-torn-read-nested");
    for count in [1, 70] {
        let found = [false, true].map(|can_meet| check(&rounds(count, can_meet), &patterns));
        assert_eq!(found, [Some(0), Some(2)], "{count}");
    }
}

#[test]
fn what_is_given_up_is_told() {
    let trace = rounds(70, true);
    let given_up = |patience| {
        let options = Options::default();
        predict_with(&trace, &options, patience, &|| false).given_up
    };
    assert_eq!(given_up(1 << 20), []);
    let abandoned = given_up(0);
    assert!(!abandoned.is_empty());
    assert!(
        abandoned
            .iter()
            .all(|a| a.pattern.is_none() == (a.sites.len() == 2))
    );
}
