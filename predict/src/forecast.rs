//! What a trace foretells.

use std::cell::OnceCell;

use racehound_schedule::{Naming, Schedule};
use racehound_trace::{FunctionId, SiteId, SyncId, ThreadId, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::clip;
use crate::flow::{self, Flow, Sights};
use crate::hearsay::Hearsay;
use crate::index::{Index, Settings, Stand};
use crate::nearby::Visits;
use crate::order::Atomics;
use crate::pattern::{Kind, Pattern, builtin};
use crate::regions::{Regions, Root};
use crate::search::{
    Outcome, Search, Verdict, has_long_regions, spares_the_protected, spares_the_sheltered,
};
use crate::weave::{Breadth, Goal, Weave, Woven, weave_counting, weave_with};

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
    /// Other events at the same places, to other memory or of other threads. Whether
    /// these can happen only their schedules tell.
    pub others: Vec<Vec<u32>>,
}

impl Prediction {
    /// The same with other events.
    fn with(&self, events: &[u32]) -> Self {
        Self {
            pattern: self.pattern,
            events: events.to_vec(),
            has_schedule: self.has_schedule,
            others: Vec::new(),
        }
    }
}

/// Where an event of a prediction happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circumstances {
    /// The locks held.
    pub locks: Vec<SyncId>,
    /// What makes the atomic region, if it is in one.
    pub region: Option<Root>,
}

/// Places for which not all was tried, and nothing was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abandoned {
    /// The number of the pattern; none for races.
    pub pattern: Option<usize>,
    /// The places, in pattern order; of races in any.
    pub sites: Vec<SiteId>,
}

/// Everything predicted from one trace.
#[derive(Debug)]
pub struct Forecast<'t> {
    index: Index<'t>,
    /// Made when the first schedule is asked for.
    flow: OnceCell<Flow>,
    /// Made when it is first asked what is seen on the way to a prediction.
    sights: OnceCell<Sights>,
    /// Made when it is first asked where else something could happen.
    visits: OnceCell<Visits>,
    patterns: Vec<Pattern>,
    regions: Regions,
    racing: FxHashSet<SiteId>,
    hearsay: OnceCell<Hearsay<'t>>,
    /// By site: the number of its name; and by that, the sites of this name.
    names: Vec<u32>,
    sites: Vec<Vec<SiteId>>,
    /// What can happen, in the order of the trace.
    pub predictions: Vec<Prediction>,
    /// What the search has found, and no order of the trace's events allows.
    pub pruned: Vec<Prediction>,
    /// Whether everything was looked for, to the end.
    pub is_complete: bool,
    /// Where the search was given up: of the candidates for these places many cannot happen,
    /// and some were not tried.
    pub given_up: Vec<Abandoned>,
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
    // In proportion to the trace, so that the time is, too; and for short ones enough to try
    // all there is.
    let patience = (4 * trace.events.len() as u64).max(1 << 22);
    predict_with(trace, options, patience, stop)
}

/// The same, with so many steps for places for which many a candidate was tried in vain.
pub(crate) fn predict_with<'t>(
    trace: &'t Trace,
    options: &Options,
    patience: u64,
    stop: &dyn Fn() -> bool,
) -> Forecast<'t> {
    let regions = Regions::with_functions(options.atomic_functions.iter().copied());
    let settings = Settings {
        atomics: options.atomics,
        regions: regions.clone(),
        thorough: !options.patterns.iter().all(spares_the_protected),
        sparing: options.patterns.iter().all(spares_the_sheltered),
        every_access: options.patterns.iter().any(has_long_regions),
    };
    let mut index = Index::new(trace, &settings);
    let mut found: FxHashMap<(usize, Vec<SiteId>), Found> = FxHashMap::default();
    let mut tried: FxHashMap<(bool, Vec<Stand>), Chance> = FxHashMap::default();
    let patterns = &options.patterns;
    let hearsay: OnceCell<Hearsay<'t>> = OnceCell::new();
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
        let none_yet = || Found {
            prediction: Prediction {
                pattern,
                events: events.to_vec(),
                has_schedule: false,
                others: Vec::new(),
            },
            is_open: false,
        };
        let heard = hearsay.get_or_init(|| Hearsay::new(trace));
        if !heard.allows(events, kind == Kind::Race) {
            found.entry((name, sites)).or_insert_with(none_yet);
            return Verdict::Rejected(1);
        }
        if let Some(known) = found.get_mut(&(name, sites.clone()))
            && known.prediction.has_schedule
        {
            let mut events = events.to_vec();
            // A race can come in either order.
            if known.prediction.pattern != pattern {
                events.reverse();
            }
            known.prediction.others.push(events);
            return Verdict::Accepted;
        }
        // What is in between two nodes is all the same to a schedule.
        let stands: Vec<Stand> = events.iter().map(|e| index.stand(*e)).collect();
        let mut steps = 1;
        let woven = tried
            .entry((kind == Kind::Race, stands))
            .or_insert_with(|| {
                let (woven, taken) = weave_counting(index, goal(kind, events));
                steps += taken;
                Chance::of(&woven)
            });
        let entry = found.entry((name, sites)).or_insert_with(none_yet);
        match woven {
            Chance::None => Verdict::Rejected(steps),
            Chance::Unknown => {
                entry.is_open = true;
                Verdict::Rejected(steps)
            }
            Chance::Some => {
                entry.prediction = Prediction {
                    pattern,
                    events: events.to_vec(),
                    has_schedule: true,
                    others: Vec::new(),
                };
                Verdict::Accepted
            }
        }
    };
    let window = options.window;
    let search = Search::new(&mut index, patterns, window, patience, stop, &mut judge);
    let Outcome {
        racing,
        is_complete,
        given_up,
    } = search.run();
    let mut found: Vec<Found> = found.into_values().collect();
    found.sort_unstable_by_key(|f| (f.prediction.pattern, f.prediction.events.clone()));
    let (kept, pruned): (Vec<Found>, Vec<Found>) = found
        .into_iter()
        .partition(|f| f.prediction.has_schedule || f.is_open);
    let predictions = |found: Vec<Found>| found.into_iter().map(|f| f.prediction).collect();
    let mut forecast = Forecast {
        index,
        flow: OnceCell::new(),
        sights: OnceCell::new(),
        visits: OnceCell::new(),
        patterns: patterns.clone(),
        regions,
        racing,
        hearsay,
        names: Vec::new(),
        sites: Vec::new(),
        predictions: predictions(kept),
        pruned: predictions(pruned),
        is_complete,
        given_up: { given_up.into_iter() }
            .map(|(pattern, sites)| Abandoned { pattern, sites })
            .collect(),
    };
    forecast.name_sites();
    forecast
}

/// So many pairs of a read and a write are put in order for threads to agree with what they
/// read before.
const MOST_AGREEMENTS: usize = 4;

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
        waypoints: &[],
    }
}

impl<'t> Forecast<'t> {
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
            others: Vec::new(),
        })
        .filter(|_| pattern.kind() == Kind::Race)
    }

    /// How much is different from the trace on the way to a prediction: reads that see
    /// something else; and how far its events are apart. The less, the likelier it happens.
    pub fn strangeness(&self, prediction: &Prediction) -> (usize, u32) {
        let order = self.order(prediction);
        let count = |order: Vec<u32>| flow::strangeness(&self.index, self.sights(), &order);
        let reads = order.map_or(usize::MAX, count);
        let events = prediction.events.iter();
        let ends = events.clone().max().zip(events.min());
        (reads, ends.map_or(0, |(last, first)| last - first))
    }

    /// A prediction, and the same with other events.
    pub fn instances(&self, prediction: &Prediction) -> impl Iterator<Item = Prediction> {
        let events = std::iter::once(&prediction.events).chain(&prediction.others);
        let all: Vec<Prediction> = events.map(|events| prediction.with(events)).collect();
        all.into_iter()
    }

    /// A prediction with other events at the same places, those first that are close to each
    /// other. Whether these can happen only their schedules tell.
    pub fn nearby(&self, prediction: &Prediction) -> Vec<Prediction> {
        let trace = self.index.trace;
        let sites = |prediction: &Prediction| -> Vec<SiteId> {
            let events = prediction.events.iter();
            events.map(|e| trace.events[*e as usize].site).collect()
        };
        let visits = self.visits.get_or_init(|| {
            let all = self.predictions.iter().flat_map(&sites).collect();
            Visits::new(trace, &self.regions, &all)
        });
        let pattern = self.pattern(prediction);
        let tuples = visits.tuples(trace, self.sights(), pattern, &sites(prediction));
        let hearsay = self.hearsay.get_or_init(|| Hearsay::new(trace));
        let is_race = pattern.kind() == Kind::Race;
        let allowed = tuples.iter().filter(|tuple| hearsay.allows(tuple, is_race));
        allowed.map(|tuple| prediction.with(tuple)).collect()
    }

    /// What was looked for where the search was given up.
    pub fn abandoned_pattern(&self, abandoned: &Abandoned) -> &str {
        let pattern = abandoned.pattern.map(|number| self.patterns[number].name());
        pattern.unwrap_or("race")
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

    fn flow(&self) -> &Flow {
        self.flow.get_or_init(|| Flow::new(&self.index))
    }

    fn sights(&self) -> &Sights {
        self.sights.get_or_init(|| Sights::new(&self.index))
    }

    /// Orders in which events happen as a prediction says, the likeliest to be followed
    /// first.
    fn weaves<'f>(&'f self, prediction: &Prediction) -> impl Iterator<Item = Weave> + use<'f, 't> {
        let kind = self.pattern(prediction).kind();
        let events = prediction.events.clone();
        let mut known: Vec<Weave> = Vec::new();
        let breadths = [Breadth::Faithful, Breadth::All, Breadth::Least].into_iter();
        breadths.filter_map(move |breadth| {
            let woven = weave_with(&self.index, goal(kind, &events), self.flow(), breadth);
            let Woven::Feasible(weave) = woven else {
                return None;
            };
            let is_new = !known.contains(&weave);
            known.push(weave.clone());
            is_new.then_some(weave)
        })
    }

    /// Orders in which they happen, and somebody reads something else than in those.
    fn detours<'f>(&'f self, prediction: &Prediction) -> impl Iterator<Item = Weave> + use<'f, 't> {
        let kind = self.pattern(prediction).kind();
        let events = prediction.events.clone();
        let first = self.weaves(prediction).next();
        let order = first.map(|w| clip::order(&self.index, &w, goal(kind, &events), &|_| true));
        let order = order.unwrap_or_default();
        let detours = flow::detours(&self.index, self.sights(), &order);
        let agreeing = self.agreeing(kind, &events, order);
        let around = detours.into_iter().filter_map(move |detour| {
            let waypoints = self.around(kind, &events, &detour)?;
            self.weave_by(kind, &events, &waypoints)
        });
        agreeing.into_iter().chain(around)
    }

    /// An order to which as much is added as it takes for threads to find that what they read
    /// twice has not changed meanwhile, where it had not in the trace; one thing at a time.
    fn agreeing(&self, kind: Kind, events: &[u32], mut order: Vec<u32>) -> Vec<Weave> {
        let mut found = Vec::new();
        let mut steps = match kind {
            Kind::Race => Vec::new(),
            _ => events.to_vec(),
        };
        while found.len() < MOST_AGREEMENTS {
            let all = flow::disagreements(&self.index, self.sights(), &order);
            let next = all.into_iter().find_map(|[read, write]| {
                let waypoints = self.around(kind, &steps, &[read, write])?;
                let weave = self.weave_by(kind, events, &waypoints)?;
                (waypoints != steps).then_some((waypoints, weave))
            });
            let Some((waypoints, weave)) = next else {
                break;
            };
            order = clip::order(&self.index, &weave, goal(kind, events), &|_| true);
            found.push(weave);
            // Those who meet have no order by which more could be added.
            if kind == Kind::Race {
                break;
            }
            steps = waypoints;
        }
        found
    }

    /// Steps that lead around others, or, before two meet, to where they do.
    fn around(&self, kind: Kind, steps: &[u32], detour: &[u32]) -> Option<Vec<u32>> {
        let thread = |event: &u32| self.index.trace.events[*event as usize].thread;
        match kind {
            Kind::Race => Some(detour.to_vec()),
            _ => flow::around(steps, detour, thread),
        }
    }

    /// An order in which events happen, and others in a given one.
    fn weave_by(&self, kind: Kind, events: &[u32], waypoints: &[u32]) -> Option<Weave> {
        let goal = goal(kind, events);
        let breadths = match goal.neighbours {
            true => &[Breadth::Faithful][..],
            false => &[Breadth::Faithful, Breadth::Least][..],
        };
        let goal = Goal { waypoints, ..goal };
        { breadths.iter() }.find_map(|breadth| {
            match weave_with(&self.index, goal, self.flow(), *breadth) {
                Woven::Feasible(weave) => Some(weave),
                Woven::Infeasible | Woven::Unknown => None,
            }
        })
    }

    /// All accesses and synchronisation up to a prediction's last event, by their
    /// index in the trace, in an order in which it happens.
    pub fn order(&self, prediction: &Prediction) -> Option<Vec<u32>> {
        let weave = self.weaves(prediction).next()?;
        let goal = goal(self.pattern(prediction).kind(), &prediction.events);
        Some(clip::order(&self.index, &weave, goal, &|_| true))
    }

    /// The schedule of a prediction, the paper's "bug hatching clip": for
    /// synchronisation, for the accesses of the prediction, and for those whose
    /// order synchronisation leaves open.
    pub fn schedule(&self, prediction: &Prediction) -> Option<Schedule> {
        self.schedules(prediction).next()
    }

    /// That schedule, and others that lead to the same events with other parts of what
    /// happened before.
    pub fn schedules<'f>(
        &'f self,
        prediction: &Prediction,
    ) -> impl Iterator<Item = Schedule> + use<'f, 't> {
        self.clips(prediction, self.weaves(prediction))
    }

    /// Schedules that lead to the same events on other ways, on which other values are read
    /// and other branches may be taken.
    pub fn other_ways<'f>(
        &'f self,
        prediction: &Prediction,
    ) -> impl Iterator<Item = Schedule> + use<'f, 't> {
        self.clips(prediction, self.detours(prediction))
    }

    fn clips<'f, W: Iterator<Item = Weave>>(
        &'f self,
        prediction: &Prediction,
        weaves: W,
    ) -> impl Iterator<Item = Schedule> + use<'f, 't, W> {
        let pattern = self.pattern(prediction);
        let events = &self.index.trace.events;
        let own = prediction.events.iter().map(|e| events[*e as usize].site);
        let mut watched = self.racing.clone();
        watched.extend(own.flat_map(|site| self.namesakes(site)));
        let tuple = prediction.events.clone();
        weaves.map(move |weave| {
            let goal = goal(pattern.kind(), &tuple);
            let counts = |site| watched.contains(&site);
            let order = clip::order(&self.index, &weave, goal, &counts);
            let watched = watched.iter().copied();
            clip::schedule(self.index.trace, pattern, &tuple, &order, watched)
        })
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
