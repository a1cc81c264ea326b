//! What a trace foretells.

use racehound_schedule::{Naming, Schedule};
use racehound_trace::{FunctionId, SiteId, SyncId, ThreadId, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::clip;
use crate::index::{Index, Settings, Stand};
use crate::order::Atomics;
use crate::pattern::{Kind, Pattern, builtin};
use crate::regions::{Regions, Root};
use crate::search::{Outcome, Search, Verdict, has_long_regions, spares_the_protected};
use crate::weave::{Goal, Weave, Woven, weave};

/// What to look for, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The patterns.
    pub patterns: Vec<Pattern>,
    /// Functions that are atomic regions.
    pub atomic_functions: Vec<FunctionId>,
    /// Whether atomics order threads.
    pub atomics: Atomics,
    /// Only tuples whose events are at most so far apart in the trace.
    pub window: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            patterns: builtin(),
            atomic_functions: Vec::new(),
            atomics: Atomics::default(),
            window: None,
        }
    }
}

/// An anomaly that can happen. There is one for each pattern and sites; for races,
/// one for each pair of sites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Its number among the patterns.
    pub pattern: usize,
    /// The events, by their index in the trace, in pattern order.
    pub events: Vec<u32>,
    /// Whether there is a schedule in which it happens. Where there is none, it
    /// was given up after long trying, and the prediction rests on the search.
    pub has_schedule: bool,
}

/// Where an event of a prediction happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circumstances {
    /// The locks held.
    pub locks: Vec<SyncId>,
    /// What makes the atomic region, if it is in one.
    pub region: Option<Root>,
}

/// Everything predicted from one trace.
#[derive(Debug)]
pub struct Forecast<'t> {
    index: Index<'t>,
    patterns: Vec<Pattern>,
    regions: Regions,
    racing: FxHashSet<SiteId>,
    /// By site: the number of its name; and by that, the sites of this name.
    names: Vec<u32>,
    sites: Vec<Vec<SiteId>>,
    /// What can happen, in the order of the trace.
    pub predictions: Vec<Prediction>,
    /// What the search has found, and no order of the trace's events allows.
    pub pruned: Vec<Prediction>,
    /// Whether everything was looked for, to the end.
    pub is_complete: bool,
}

/// Predicts access anomalies from a trace.
///
/// ```
/// use racehound_predict::{Options, predict};
/// use racehound_trace::{rapid, Trace};
///
/// let text = "T1|w(x)|3\nT1|acq(l)|4\nT1|rel(l)|5\nT2|acq(l)|6\nT2|r(x)|7\nT2|rel(l)|8\n";
/// let trace = Trace::collect(rapid::Reader::new(text.as_bytes()))?;
/// let forecast = predict(&trace, &Options::default());
///
/// // The accesses in lines 3 and 7 race, although this time a lock came between.
/// assert_eq!(forecast.predictions.len(), 1);
/// assert_eq!(forecast.predictions[0].events, [0, 4]);
/// let schedule = forecast.schedule(&forecast.predictions[0]).unwrap();
/// assert!(schedule.to_string().contains("anomaly race race-w-r"));
/// # Ok::<(), racehound_trace::Error>(())
/// ```
pub fn predict<'t>(trace: &'t Trace, options: &Options) -> Forecast<'t> {
    predict_until(trace, options, &|| false)
}

/// The same, as far as it comes before it is told to stop: races first, then what is in
/// more and more places.
pub fn predict_until<'t>(
    trace: &'t Trace,
    options: &Options,
    stop: &dyn Fn() -> bool,
) -> Forecast<'t> {
    let regions = Regions::with_functions(options.atomic_functions.iter().copied());
    let settings = Settings {
        atomics: options.atomics,
        regions: regions.clone(),
        thorough: !options.patterns.iter().all(spares_the_protected),
        every_access: options.patterns.iter().any(has_long_regions),
    };
    let mut index = Index::new(trace, &settings);
    let mut found: FxHashMap<(usize, Vec<SiteId>), Found> = FxHashMap::default();
    let mut tried: FxHashMap<(bool, Vec<Stand>), Chance> = FxHashMap::default();
    let patterns = &options.patterns;
    let mut judge = |index: &Index<'_>, pattern: usize, events: &[u32]| {
        let kind = patterns[pattern].kind();
        let mut sites: Vec<SiteId> = events
            .iter()
            .map(|e| index.trace.events[*e as usize].site)
            .collect();
        let name = match kind {
            Kind::Race => {
                sites.sort_unstable();
                usize::MAX
            }
            _ => pattern,
        };
        // What is in between two nodes is all the same to a schedule.
        let stands: Vec<Stand> = events.iter().map(|e| index.stand(*e)).collect();
        let woven = tried
            .entry((kind == Kind::Race, stands))
            .or_insert_with(|| Chance::of(&weave(index, goal(kind, events))));
        let entry = found.entry((name, sites)).or_insert_with(|| Found {
            prediction: Prediction {
                pattern,
                events: events.to_vec(),
                has_schedule: false,
            },
            is_open: false,
        });
        match woven {
            Chance::None => Verdict::Rejected,
            Chance::Unknown => {
                entry.is_open = true;
                Verdict::Rejected
            }
            Chance::Some => {
                entry.prediction = Prediction {
                    pattern,
                    events: events.to_vec(),
                    has_schedule: true,
                };
                Verdict::Accepted
            }
        }
    };
    let search = Search::new(&mut index, patterns, options.window, stop, &mut judge);
    let Outcome {
        racing,
        is_complete,
    } = search.run();
    let mut found: Vec<Found> = found.into_values().collect();
    found.sort_unstable_by_key(|f| (f.prediction.pattern, f.prediction.events.clone()));
    let (kept, pruned): (Vec<Found>, Vec<Found>) = found
        .into_iter()
        .partition(|f| f.prediction.has_schedule || f.is_open);
    let predictions = |found: Vec<Found>| found.into_iter().map(|f| f.prediction).collect();
    let mut forecast = Forecast {
        index,
        patterns: patterns.clone(),
        regions,
        racing,
        names: Vec::new(),
        sites: Vec::new(),
        predictions: predictions(kept),
        pruned: predictions(pruned),
        is_complete,
    };
    forecast.name_sites();
    forecast
}

/// Whether events can happen in an order.
enum Chance {
    Some,
    None,
    Unknown,
}

impl Chance {
    fn of(woven: &Woven) -> Self {
        match woven {
            Woven::Feasible(_) => Self::Some,
            Woven::Infeasible => Self::None,
            Woven::Unknown => Self::Unknown,
        }
    }
}

struct Found {
    prediction: Prediction,
    /// Some candidate was neither scheduled nor refuted.
    is_open: bool,
}

fn goal(kind: Kind, events: &[u32]) -> Goal<'_> {
    Goal {
        events,
        neighbours: kind == Kind::Race,
    }
}

impl Forecast<'_> {
    /// A race the other way round: the accesses meet as well, and the other one goes
    /// first. `None` for what is no race.
    pub fn reversed(&self, race: &Prediction) -> Option<Prediction> {
        let pattern = self.pattern(race);
        let [a, b] = race.events[..] else { return None };
        let [first, second] = pattern.steps() else {
            return None;
        };
        let other_way = |p: &Pattern| {
            let access = p.steps().iter().map(|s| s.access);
            p.kind() == Kind::Race && access.eq([second.access, first.access])
        };
        Some(Prediction {
            pattern: self.patterns.iter().position(other_way)?,
            events: vec![b, a],
            has_schedule: race.has_schedule,
        })
        .filter(|_| pattern.kind() == Kind::Race)
    }

    /// The pattern of a prediction.
    pub fn pattern(&self, prediction: &Prediction) -> &Pattern {
        &self.patterns[prediction.pattern]
    }

    /// Groups the sites by name; of those that race, all of a name do.
    fn name_sites(&mut self) {
        let tables = &self.index.trace.tables;
        let mut numbers: FxHashMap<String, u32> = FxHashMap::default();
        for site in (0..tables.sites.len()).map(SiteId::from_index) {
            let next = self.sites.len() as u32;
            let number = *numbers.entry(tables.site(site)).or_insert(next);
            if number == next {
                self.sites.push(Vec::new());
            }
            self.sites[number as usize].push(site);
            self.names.push(number);
        }
        let racing: Vec<SiteId> = self.racing.iter().copied().collect();
        for site in racing {
            let namesakes = self.namesakes(site).to_vec();
            self.racing.extend(namesakes);
        }
    }

    /// The sites that nobody can tell from this one by name.
    fn namesakes(&self, site: SiteId) -> &[SiteId] {
        let name = self.names.get(site.index()).copied();
        let sites = name.and_then(|name| self.sites.get(name as usize));
        sites.map_or(&[], Vec::as_slice)
    }

    fn weave(&self, prediction: &Prediction) -> Option<Weave> {
        let kind = self.pattern(prediction).kind();
        match weave(&self.index, goal(kind, &prediction.events)) {
            Woven::Feasible(weave) => Some(weave),
            Woven::Infeasible | Woven::Unknown => None,
        }
    }

    /// All accesses and synchronisation up to a prediction's last event, by their
    /// index in the trace, in an order in which it happens.
    pub fn order(&self, prediction: &Prediction) -> Option<Vec<u32>> {
        let weave = self.weave(prediction)?;
        let goal = goal(self.pattern(prediction).kind(), &prediction.events);
        Some(clip::order(&self.index, &weave, goal, &|_| true))
    }

    /// The schedule of a prediction, the paper's "bug hatching clip": for
    /// synchronisation, for the accesses of the prediction, and for those whose
    /// order synchronisation leaves open.
    pub fn schedule(&self, prediction: &Prediction) -> Option<Schedule> {
        let weave = self.weave(prediction)?;
        let pattern = self.pattern(prediction);
        let goal = goal(pattern.kind(), &prediction.events);
        let events = &self.index.trace.events;
        let own = prediction.events.iter().map(|e| events[*e as usize].site);
        let mut watched = self.racing.clone();
        watched.extend(own.flat_map(|site| self.namesakes(site)));
        let order = clip::order(&self.index, &weave, goal, &|site| watched.contains(&site));
        Some(clip::schedule(
            self.index.trace,
            pattern,
            &prediction.events,
            &order,
        ))
    }

    /// Under which circumstances the events of predictions happen.
    pub fn circumstances(&self, predictions: &[Prediction]) -> FxHashMap<u32, Circumstances> {
        let wanted: FxHashSet<u32> = predictions
            .iter()
            .flat_map(|p| p.events.iter().copied())
            .collect();
        let mut regions = self.regions.clone();
        let mut all = FxHashMap::default();
        for (at, event) in self.index.trace.events.iter().enumerate() {
            regions.step(event);
            let at = at as u32;
            if wanted.contains(&at) {
                let context = self.index.context_before(event.thread, at);
                let locks = self.index.contexts.locks(context);
                let circumstances = Circumstances {
                    locks: locks.map(|(lock, _)| lock).collect(),
                    region: regions.root(event.thread),
                };
                all.insert(at, circumstances);
            }
        }
        all
    }

    /// How many threads the trace has.
    pub fn threads(&self) -> usize {
        let events = &self.index.trace.events;
        let threads: FxHashSet<ThreadId> = events.iter().map(|e| e.thread).collect();
        threads.len()
    }
}
