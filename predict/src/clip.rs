//! Bug hatching clips: a woven order as a schedule to follow.
//!
//! Between what the weave has put in order, everything is as in the trace.

use racehound_schedule::{Anomaly, Mark, Naming, Point, Schedule, is_landmark};
use racehound_trace::{Op, SiteId, ThreadId, Trace};

use crate::index::Index;
use crate::pattern::{Kind, Pattern};
use crate::weave::{Goal, Weave};

/// All synchronisation, and the accesses at sites that count, in the woven order
/// up to the goal.
pub(crate) fn order(
    index: &Index<'_>,
    weave: &Weave,
    goal: Goal<'_>,
    counts: &dyn Fn(SiteId) -> bool,
) -> Vec<u32> {
    let events = &index.trace.events;
    let is_relevant = |at: u32| {
        let event = &events[at as usize];
        at < weave.limits[event.thread.index()]
            && (is_landmark(event.op.kind()) || (event.op.access().is_some() && counts(event.site)))
    };
    let mut order: Vec<u32> = (0..weave.prefix).filter(|at| is_relevant(*at)).collect();
    let threads = index.order.threads();
    let end = weave.limits.iter().copied().max().unwrap_or(0);
    let mut pending: Vec<Vec<u32>> = vec![Vec::new(); threads];
    for at in (weave.prefix..end).rev().filter(|at| is_relevant(*at)) {
        pending[events[at as usize].thread.index()].push(at);
    }
    let mut fixed: Vec<Vec<u32>> = vec![Vec::new(); threads];
    for &at in weave.order.iter().rev() {
        fixed[events[at as usize].thread.index()].push(at);
    }
    for &at in &weave.order {
        loop {
            let next = |t: usize| {
                let first = *pending[t].last()?;
                let before = fixed[t].last().copied().unwrap_or(u32::MAX);
                (first < before.min(at)).then_some((first, t))
            };
            let Some((first, t)) = (0..threads).filter_map(next).min() else {
                break;
            };
            pending[t].pop();
            order.push(first);
        }
        let t = events[at as usize].thread.index();
        fixed[t].pop();
        if pending[t].last() == Some(&at) {
            pending[t].pop();
            order.push(at);
        }
    }
    if goal.neighbours {
        let mut rest: Vec<u32> = Vec::new();
        for &event in goal.events {
            let t = events[event as usize].thread.index();
            rest.append(&mut pending[t]);
        }
        rest.sort_unstable();
        order.extend(rest);
        order.extend(goal.events);
    }
    order
}

/// An order as text, the events of the prediction marked. All places that count are
/// watched, also those to which nobody comes: who stops before an access must not go on
/// with it because the schedule does not name its place.
pub(crate) fn schedule(
    trace: &Trace,
    pattern: &Pattern,
    tuple: &[u32],
    order: &[u32],
    watched: impl Iterator<Item = SiteId>,
) -> Schedule {
    let mut schedule = Schedule::default();
    let mut names = Names::new(trace);
    for at in order {
        let event = &trace.events[*at as usize];
        let step = tuple.iter().position(|e| e == at);
        let mark = step.map(|number| Mark {
            event: number,
            variable: pattern.steps()[number].variable,
        });
        let point = Point {
            kind: Some(event.op.kind()),
            site: names.site(event.site),
        };
        schedule.go_on(names.thread(event.thread), point, mark);
        if let Op::NotifyOne {
            woken: Some(woken), ..
        } = event.op
        {
            schedule.notify(names.thread(woken));
        }
    }
    schedule.watched = watched.map(|site| names.site(site)).collect();
    schedule.watched.sort_unstable();
    schedule.watched.dedup();
    schedule.anomaly = Some(Anomaly {
        kind: match pattern.kind() {
            Kind::Race => "race",
            Kind::Atomicity => "atomicity",
            Kind::AtomicSet => "atomic-set",
            Kind::User => "pattern",
        }
        .to_owned(),
        name: pattern.name().to_owned(),
    });
    schedule
}

/// Names, each looked up once.
struct Names<'t> {
    trace: &'t Trace,
    sites: Vec<Option<String>>,
    threads: Vec<Option<String>>,
}

impl<'t> Names<'t> {
    fn new(trace: &'t Trace) -> Self {
        Self {
            trace,
            sites: vec![None; trace.tables.sites.len()],
            threads: vec![None; trace.tables.threads.len()],
        }
    }

    fn site(&mut self, site: SiteId) -> String {
        let name = || self.trace.tables.site(site);
        match self.sites.get_mut(site.index()) {
            Some(known) => known.get_or_insert_with(name).clone(),
            None => name(),
        }
    }

    fn thread(&mut self, thread: ThreadId) -> String {
        let name = || self.trace.tables.thread(thread);
        match self.threads.get_mut(thread.index()) {
            Some(known) => known.get_or_insert_with(name).clone(),
            None => name(),
        }
    }
}
