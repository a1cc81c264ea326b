//! Predictions to findings of the contract.

use std::collections::BTreeMap;

use racehound_predict::pattern::{Kind as PatternKind, Pattern};
use racehound_predict::regions::Root;
use racehound_predict::{Circumstances, Forecast, Prediction};
use racehound_report::finding::{Access, Explanation, Finding, Kind, Location, Status};
use racehound_report::innocent::is_nobodys_fault;
use racehound_trace::{Loc, Trace};

use crate::blocks::Blocks;
use crate::findings::{ADDRESS, at_site, names, what};

/// The technique's name in findings.
const PECAN: &str = "pecan";

/// A finding, and a prediction that shows it.
pub(crate) struct Predicted {
    pub(crate) finding: Finding,
    pub(crate) prediction: Prediction,
    /// Whether somebody says that its regions are atomic. A critical section does not: who
    /// gets into it does not hold its lock, so what is accessed there has another guard, or
    /// none, and that is a race.
    pub(crate) is_meant: bool,
    /// Others at the same source positions.
    others: Vec<Prediction>,
}

/// One finding for each kind of anomaly and source positions, by kind.
pub(crate) fn findings(trace: &Trace, forecast: &Forecast<'_>) -> Vec<Predicted> {
    let circumstances = forecast.circumstances(&forecast.predictions);
    let blocks = Blocks::of(trace);
    let mut all: Vec<Predicted> = Vec::new();
    let mut known = BTreeMap::new();
    for prediction in &forecast.predictions {
        let pattern = forecast.pattern(prediction);
        let about = |event: &u32| circumstances.get(event);
        let finding = finding(trace, pattern, prediction, &about);
        if is_nobodys_fault(&finding) {
            continue;
        }
        let at = *known.entry(finding.identity()).or_insert(all.len());
        match all.get_mut(at) {
            Some(first) => {
                first.finding.locations += usize::from(first.finding.location != finding.location);
                first.others.push(prediction.clone());
            }
            None => all.push(Predicted {
                finding,
                prediction: prediction.clone(),
                is_meant: is_meant(pattern, prediction, &about),
                others: Vec::new(),
            }),
        }
    }
    for predicted in &mut all {
        let location = &mut predicted.finding.location;
        tell_block(location, trace, &predicted.prediction, &blocks);
    }
    all.sort_by_key(|p| forecast.pattern(&p.prediction).kind());
    for (i, predicted) in all.iter_mut().enumerate() {
        predicted.finding.id = format!("R{}", i + 1);
    }
    all
}

/// Of the predictions at the same source positions so many are compared; of longer traces
/// fewer, as it takes a look at all that comes before.
const MOST_COMPARED: usize = 64;

/// Events that are looked at for that, about.
const EVENTS_COMPARED: usize = 1 << 23;

/// A prediction, and on the way to it how many reads see something else than when it was
/// recorded.
pub(crate) struct Instance {
    pub(crate) prediction: Prediction,
    pub(crate) strangeness: usize,
}

impl Predicted {
    /// The events that were predicted, and others at the same source positions, those first
    /// for which the least has to change.
    pub(crate) fn instances(&self, trace: &Trace, forecast: &Forecast<'_>) -> Vec<Instance> {
        let most = EVENTS_COMPARED / trace.events.len().max(1);
        let most = most.clamp(4, MOST_COMPARED);
        let all = || std::iter::once(&self.prediction).chain(&self.others);
        let close =
            all().flat_map(|prediction| forecast.nearby(prediction).into_iter().take(most / 2));
        let all = close
            .take(most / 2)
            .chain(all().flat_map(|prediction| forecast.instances(prediction)));
        let mut found: Vec<((usize, u32), Prediction)> = Vec::new();
        for prediction in all.take(most) {
            let strangeness = forecast.strangeness(&prediction);
            found.push((strangeness, prediction));
            // There is none that is less strange, and one more is enough of a reserve.
            if found.iter().filter(|((reads, _), _)| *reads == 0).count() > 1 {
                break;
            }
        }
        found.sort_by_key(|(strangeness, _)| *strangeness);
        let instance = |((strangeness, _), prediction)| Instance {
            prediction,
            strangeness,
        };
        found.into_iter().map(instance).collect()
    }

    /// Tells it as it is with these events, at the same places.
    pub(crate) fn tell_as(
        &mut self,
        trace: &Trace,
        forecast: &Forecast<'_>,
        prediction: &Prediction,
    ) {
        let circumstances = forecast.circumstances(std::slice::from_ref(prediction));
        let about = |event: &u32| circumstances.get(event);
        let told = finding(trace, forecast.pattern(prediction), prediction, &about);
        self.finding.accesses = told.accesses;
        self.finding.location = told.location;
        let location = &mut self.finding.location;
        tell_block(location, trace, prediction, &Blocks::of(trace));
        self.finding.reasons = told.reasons;
    }
}

fn finding<'c>(
    trace: &Trace,
    pattern: &Pattern,
    prediction: &Prediction,
    about: &dyn Fn(&u32) -> Option<&'c Circumstances>,
) -> Finding {
    let tables = &trace.tables;
    let access = |event: &u32| {
        let Some(happened) = trace.events.get(*event as usize) else {
            return Access::default();
        };
        let memory = happened.op.access();
        let access = Access {
            op: match memory.is_some_and(|m| m.is_write) {
                true => "write",
                false => "read",
            }
            .to_owned(),
            size: memory.map_or(0, |m| m.size),
            thread: tables.thread_name(happened.thread),
            locks: about(event).map_or_else(Vec::new, |c| names(&c.locks, tables)),
            atomic: memory.is_some_and(|m| m.is_atomic),
            ..Access::default()
        };
        at_site(access, happened.site, tables)
    };
    let (kind, detail) = match pattern.kind() {
        PatternKind::Race => (Kind::Race, None),
        PatternKind::Atomicity => (Kind::Atomicity, pattern.name().strip_prefix("atomicity-")),
        PatternKind::AtomicSet => (Kind::AtomicSet, pattern.name().strip_prefix("atomic-set-")),
        PatternKind::User => (Kind::Pattern(pattern.name().to_owned()), None),
    };
    Finding {
        id: String::new(),
        kind,
        detail: detail.map(str::to_owned),
        status: Status::Predicted,
        location: location(trace, pattern, prediction),
        locations: 1,
        accesses: prediction.events.iter().map(access).collect(),
        found_by: vec![PECAN.to_owned()],
        reasons: vec![Explanation {
            by: PECAN.to_owned(),
            because: reason(trace, pattern, prediction, about),
        }],
        first_run: 1,
        ..Finding::default()
    }
}

/// Whether each region in which a pattern has several accesses is said to be atomic.
fn is_meant<'c>(
    pattern: &Pattern,
    prediction: &Prediction,
    about: &dyn Fn(&u32) -> Option<&'c Circumstances>,
) -> bool {
    let is_lock = |event: &u32| {
        let region = about(event).and_then(|circumstances| circumstances.region);
        matches!(region, Some(Root::Lock(_)))
    };
    let steps = pattern.steps();
    let is_alone = |region| steps.iter().filter(|step| step.region == region).count() < 2;
    let mut events = steps.iter().zip(&prediction.events);
    events.all(|(step, event)| is_alone(step.region) || !is_lock(event))
}

/// Memory that has no name is told by the block that it is part of.
fn tell_block(
    location: &mut Location,
    trace: &Trace,
    prediction: &Prediction,
    blocks: &Blocks<'_>,
) {
    if location.what != ADDRESS {
        return;
    }
    let event = prediction.events.first().map_or(0, |&event| event as usize);
    let memory = trace.events.get(event).and_then(|event| event.op.access());
    if let Some(block) = memory.and_then(|memory| blocks.describe(memory.loc, event)) {
        *location = block;
    }
}

/// The variables of the pattern, in their order.
fn location(trace: &Trace, pattern: &Pattern, prediction: &Prediction) -> Location {
    let mut variables: Vec<Option<(Loc, u32)>> = Vec::new();
    for (step, event) in pattern.steps().iter().zip(&prediction.events) {
        let memory = trace.events[*event as usize].op.access();
        let place = memory.map(|m| (m.loc, m.size));
        if variables.len() <= step.variable {
            variables.resize(step.variable + 1, None);
        }
        variables[step.variable] = variables[step.variable].take().or(place);
    }
    let all: Vec<(Loc, u32)> = variables.into_iter().flatten().collect();
    let named = |(loc, _): &(Loc, u32)| trace.tables.shown_loc(trace.space, *loc);
    let names: Vec<String> = all.iter().map(named).collect();
    let first = all.first().map_or(Loc(0), |(loc, _)| *loc);
    Location {
        what: what(&trace.tables, trace.space, first).to_owned(),
        name: names.join(", "),
        size: all.first().map_or(0, |(_, size)| *size),
        ..Location::default()
    }
}

/// Why it can happen, in a sentence.
fn reason<'c>(
    trace: &Trace,
    pattern: &Pattern,
    prediction: &Prediction,
    about: &dyn Fn(&u32) -> Option<&'c Circumstances>,
) -> String {
    let how = match prediction.has_schedule {
        true => "there is a schedule for it",
        false => "nothing speaks against it, but no schedule was found",
    };
    if pattern.kind() == PatternKind::Race {
        return format!("no lock in common, and no order between the two; {how}");
    }
    let mut regions = Vec::new();
    for region in 0.. {
        let of_region = |i: &usize| pattern.steps()[*i].region == region;
        let steps: Vec<usize> = (0..pattern.steps().len()).filter(of_region).collect();
        let Some(&first) = steps.first() else { break };
        if steps.len() < 2 {
            continue;
        }
        let numbers: Vec<String> = steps.iter().map(|i| format!("({})", i + 1)).collect();
        let root = about(&prediction.events[first]).and_then(|c| c.region);
        let made = match root {
            Some(Root::Lock(lock)) => {
                format!("a critical section of {}", trace.tables.sync_name(lock))
            }
            Some(Root::Function(function)) => {
                format!("one call of {}", trace.tables.function_name(function))
            }
            Some(Root::Annotation) | None => "an atomic region".to_owned(),
        };
        regions.push(format!("{} are in {made}", numbers.join(" and ")));
    }
    match regions.is_empty() {
        true => how.to_owned(),
        false => format!("{}; {how}", regions.join(", ")),
    }
}
