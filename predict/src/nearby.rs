//! The same places elsewhere in a trace, where accesses are close to each other.
//!
//! The search takes accesses for one that differ in time only, and the first of them for
//! all. That is enough to know what can happen, and for the schedule; but whether the program
//! follows it depends on values, and the more lies between two accesses that are to come
//! together, the more of it changes. So whoever executes schedules is offered accesses of the
//! whole trace, the closest first. Whether locks and order allow them their schedules tell.

use racehound_trace::{SiteId, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::flow::Sights;
use crate::pattern::{Pattern, Step};
use crate::regions::{RegionId, Regions};

/// So many tuples are offered.
const MOST: usize = 48;

/// Around each access of one thread so many of the other are looked at, and so many taken.
const AROUND: usize = 64;
const TAKEN: usize = 2;

/// An access, and the region it is in.
#[derive(Clone, Copy, Debug)]
struct Visit {
    event: u32,
    region: Option<RegionId>,
}

/// All accesses at some places.
#[derive(Debug)]
pub(crate) struct Visits {
    by_site: FxHashMap<SiteId, Vec<Visit>>,
}

/// What one thread does, by the numbers of a pattern's steps.
type Part = Vec<(usize, u32)>;

impl Visits {
    pub(crate) fn new(trace: &Trace, regions: &Regions, sites: &FxHashSet<SiteId>) -> Self {
        let mut regions = regions.clone();
        let mut by_site: FxHashMap<SiteId, Vec<Visit>> = FxHashMap::default();
        for (event, at) in trace.events.iter().zip(0..) {
            let region = regions.step(event);
            if event.op.access().is_some() && sites.contains(&event.site) {
                let visit = Visit { event: at, region };
                by_site.entry(event.site).or_default().push(visit);
            }
        }
        Self { by_site }
    }

    /// Tuples of a pattern of two threads at these places, the closest first.
    pub(crate) fn tuples(
        &self,
        trace: &Trace,
        sights: &Sights,
        pattern: &Pattern,
        sites: &[SiteId],
    ) -> Vec<Vec<u32>> {
        let steps = pattern.steps();
        let regions = 1 + steps.iter().map(|step| step.region).max().unwrap_or(0);
        let parts = (0..regions).map(|region| self.parts(trace, steps, sites, region));
        let parts: Vec<Vec<Part>> = parts.collect();
        let [ours, theirs] = &parts[..] else {
            return Vec::new();
        };
        let thread = |part: &Part| trace.events[part[0].1 as usize].thread;
        let fits = |a: &Part, b: &Part| {
            thread(a) != thread(b) && is_fitting(steps, sights, a.iter().chain(b))
        };
        let mut found: Vec<(u32, Vec<u32>)> = Vec::new();
        for part in ours {
            let next = theirs.partition_point(|other| other[0].1 < part[0].1);
            let before = theirs[..next].iter().rev().take(AROUND);
            let behind = theirs[next..].iter().take(AROUND);
            let before = before.filter(|other| fits(part, other)).take(TAKEN);
            let behind = behind.filter(|other| fits(part, other)).take(TAKEN);
            found.extend(before.chain(behind).map(|other| together(part, other)));
        }
        found.sort_unstable();
        found.dedup();
        found
            .into_iter()
            .take(MOST)
            .map(|(_, tuple)| tuple)
            .collect()
    }

    /// What threads do in one region of a pattern, in the order of the trace. Of two places,
    /// the last and the first access at one before each at the other.
    fn parts(&self, trace: &Trace, steps: &[Step], sites: &[SiteId], region: usize) -> Vec<Part> {
        let own = (0..steps.len()).filter(|i| steps[*i].region == region);
        let own: Vec<usize> = own.collect();
        let at = |step: usize| {
            let visits = self
                .by_site
                .get(&sites[step])
                .map_or(&[][..], Vec::as_slice);
            let op = |visit: &Visit| trace.events[visit.event as usize].op;
            let matches = move |visit: &&Visit| steps[step].access.matches(&op(visit));
            visits.iter().filter(matches)
        };
        match own[..] {
            [step] => at(step).map(|visit| vec![(step, visit.event)]).collect(),
            [first, second] => {
                let mut before: FxHashMap<RegionId, Vec<u32>> = FxHashMap::default();
                for visit in at(first) {
                    if let Some(region) = visit.region {
                        before.entry(region).or_default().push(visit.event);
                    }
                }
                let mut found: Vec<Part> = Vec::new();
                for visit in at(second) {
                    let Some(firsts) = visit.region.and_then(|region| before.get(&region)) else {
                        continue;
                    };
                    let count = firsts.partition_point(|event| *event < visit.event);
                    let mut ends: Vec<u32> = Vec::new();
                    ends.extend(firsts[..count].last());
                    ends.extend(firsts[..count].first().filter(|_| count > 1));
                    let part = |event| vec![(first, event), (second, visit.event)];
                    found.extend(ends.into_iter().map(part));
                }
                found.sort_unstable_by_key(|part| part[0].1);
                found
            }
            _ => Vec::new(),
        }
    }
}

/// How far apart two parts are, and their accesses in the pattern's order.
fn together(a: &Part, b: &Part) -> (u32, Vec<u32>) {
    let mut all: Vec<(usize, u32)> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    let tuple: Vec<u32> = all.into_iter().map(|(_, event)| event).collect();
    let ends = tuple.iter().max().zip(tuple.iter().min());
    (ends.map_or(0, |(last, first)| last - first), tuple)
}

/// Whether accesses are to the same variables where the pattern has it so, and nowhere else.
fn is_fitting<'p>(
    steps: &[Step],
    sights: &Sights,
    all: impl Iterator<Item = &'p (usize, u32)> + Clone,
) -> bool {
    all.clone().enumerate().all(|(i, (step, event))| {
        let mut before = all.clone().take(i);
        before.all(|(other, its)| {
            let same = steps[*step].variable == steps[*other].variable;
            sights.overlap(*event, *its) == same
        })
    })
}

#[cfg(test)]
mod tests {
    use racehound_trace::rapid;

    use crate::{Options, predict};

    /// A counts in two sections, B comes in between, but only much later.
    #[test]
    fn the_closest_accesses_come_first() {
        let a = "A|acq(m)|1\nA|acq(l)|2\nA|r(x)|3\nA|rel(l)|4\nA|acq(l)|5\nA|w(x)|6\nA|rel(l)|7\n\
                 A|rel(m)|8\n";
        let b = "B|acq(l)|9\nB|w(x)|10\nB|rel(l)|11\n";
        let text = format!("{}{b}{}{b}{b}", a.repeat(3), a.repeat(2));
        let trace = racehound_trace::Trace::collect(rapid::Reader::new(text.as_bytes())).unwrap();
        let forecast = predict(&trace, &Options::default());
        let torn = |p: &&crate::Prediction| forecast.pattern(p).name() == "atomicity-r-w-w";
        let prediction = forecast.predictions.iter().find(torn).unwrap();
        let offered = forecast.nearby(prediction);
        let site = |event: u32| trace.events[event as usize].site;
        let sites = |events: &[u32]| events.iter().map(|e| site(*e)).collect::<Vec<_>>();
        let distance = |events: &[u32]| {
            let (last, first) = (events.iter().max().unwrap(), events.iter().min().unwrap());
            last - first
        };
        assert!(!offered.is_empty());
        assert!(
            offered
                .iter()
                .all(|o| sites(&o.events) == sites(&prediction.events))
        );
        // The last of the three that A does before B's first.
        assert_eq!(offered[0].events, [18, 25, 21]);
        assert!(offered.is_sorted_by_key(|o| distance(&o.events)));
    }
}
