//! Pattern-directed search (pecan.txt §5.2).
//!
//! A tuple of accesses is a candidate if it fits the pattern but for the order in
//! which it happened, and if nothing speaks against its happening in the
//! pattern's order: no access must come before an earlier one of the tuple, and
//! where others act between two accesses of a thread there is a *gap* between
//! these, a place to stand, in which its locks let them (Algorithms 1 and 2; in the
//! former the printed inequality is a slip, §4.2 has what is meant).
//!
//! Those are necessary conditions, so every tuple that can happen at all in the
//! order of some execution with the same events is found. What is found need not
//! be possible: that the schedule tells.
//!
//! # How it scales
//! The search is over [groups](crate::index) of accesses, not over accesses; and for
//! two groups that cannot be told apart but by time, the moments in which they
//! meet are found by bisection. Locations that a lock protects are not looked at.
//! For patterns with regions those regions come first that others can act in, the
//! *anchors*, and whatever shares a location with them second: in a program that
//! locks what it should there are none. For the built-in ones, what regions do is looked
//! at apart from the memory it is done to: with one variable ([`couples`]), thousands of
//! objects with which the same is done at the same places are one; with two ([`duets`]), the
//! search goes from place to place.

mod anchors;
mod couples;
mod courses;
mod duets;
mod races;
mod spans;

use std::rc::Rc;

use racehound_trace::{SiteId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::context::ContextId;
use crate::index::{Group, Index, Region};
use crate::pattern::{AccessType, Kind, Pattern, Step};

use anchors::{Bindings, Openness, Shape, Survey};
use couples::is_single;
use duets::is_duet;

/// Tries for one set of places that cost nothing. With groups that differ in time only, the
/// first one nearly always settles it. Where none does, others are tried as long as the
/// [patience](Search::new) lasts that is there for all places together; if it does not, that
/// is said.
const TRIES: u32 = 64;

/// So many that can happen are kept for one set of places, fewer where traces are long. They
/// are about other memory, or of other threads: which values are read there decides whether
/// they do happen.
const INSTANCES: std::ops::RangeInclusive<usize> = 8..=64;

/// Events of all instances of a trace, about.
const EVENTS_OF_INSTANCES: usize = 1 << 22;

/// What becomes of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It can happen.
    Accepted,
    /// Perhaps another one for the same places can. To know this took so many steps.
    Rejected(u64),
}

/// Who judges candidates: a pattern's number, and events in pattern order.
pub(crate) type Judge<'a> = dyn FnMut(&Index<'_>, usize, &[u32]) -> Verdict + 'a;

/// What makes two candidates the same to a user: the pattern's number and the
/// sites. The three patterns of races are one here, whose sites have no order.
type Places = (usize, Vec<SiteId>);

/// The number that stands for all patterns of races.
const ANY_RACE: usize = usize::MAX;

/// A search for all patterns.
pub(crate) struct Search<'s, 't> {
    index: &'s mut Index<'t>,
    patterns: &'s [Pattern],
    judge: &'s mut Judge<'s>,
    /// No two events of a tuple are further apart.
    window: Option<u32>,
    /// Steps that are left for what was tried often.
    patience: u64,
    /// As many as are kept of one set of places.
    instances: u32,
    /// What was tried for which places.
    tries: FxHashMap<Places, Tries>,
    /// Places for which some candidates were too many to be gathered.
    cut: FxHashSet<Places>,
    openness: Openness,
    survey: Option<Rc<Survey>>,
    /// What was found for units that are alike.
    bindings: FxHashMap<Shape, Rc<Bindings>>,
    /// By slot: its groups, by site.
    groups_at: FxHashMap<u32, Rc<[u32]>>,
    /// Places of accesses that nothing orders: synchronisation alone does not
    /// say what they see.
    racing: FxHashSet<SiteId>,
    /// Whether to stop; asked now and then, and not again after a yes.
    stop: &'s dyn Fn() -> bool,
    asked: u32,
    is_stopped: bool,
}

/// What became of the candidates for some places.
#[derive(Clone, Copy, Debug, Default)]
struct Tries {
    accepted: u32,
    rejected: u32,
}

/// How many steps of the search come between two questions whether to stop.
const UNASKED: u32 = 1 << 10;

/// What a search comes to, beside the candidates that were judged.
pub(crate) struct Outcome {
    /// Places of accesses that nothing orders.
    pub(crate) racing: FxHashSet<SiteId>,
    /// Whether everything was looked at.
    pub(crate) is_complete: bool,
    /// For these sets of places it was given up, and nothing was found.
    pub(crate) given_up: Vec<Abandoned>,
}

/// Places for which not all was tried, and nothing was found: the number of a pattern, none
/// for races, and the sites.
pub(crate) type Abandoned = (Option<usize>, Vec<SiteId>);

impl<'s, 't> Search<'s, 't> {
    /// For these patterns, each candidate put to the judge; with so many steps to spend on
    /// places for which many a candidate was rejected.
    pub(crate) fn new(
        index: &'s mut Index<'t>,
        patterns: &'s [Pattern],
        window: Option<u32>,
        patience: u64,
        stop: &'s dyn Fn() -> bool,
        judge: &'s mut Judge<'s>,
    ) -> Self {
        let most = EVENTS_OF_INSTANCES / index.trace.events.len().max(1);
        Self {
            instances: most.clamp(*INSTANCES.start(), *INSTANCES.end()) as u32,
            index,
            patterns,
            judge,
            window,
            patience,
            tries: FxHashMap::default(),
            cut: FxHashSet::default(),
            openness: Openness::default(),
            survey: None,
            bindings: FxHashMap::default(),
            groups_at: FxHashMap::default(),
            racing: FxHashSet::default(),
            stop,
            asked: 0,
            is_stopped: false,
        }
    }

    /// Finds everything, unless it is stopped.
    pub(crate) fn run(mut self) -> Outcome {
        self.find_races();
        let with_regions = |number: &usize| self.patterns[*number].kind() != Kind::Race;
        let numbers = (0..self.patterns.len()).filter(with_regions);
        let (single, others): (Vec<usize>, Vec<usize>) =
            numbers.partition(|number| is_single(&self.patterns[*number]));
        let (duets, others): (Vec<usize>, Vec<usize>) =
            { others.into_iter() }.partition(|number| is_duet(&self.patterns[*number]));
        self.find_single(&single);
        self.find_duets(&duets);
        for number in others {
            self.find_tuples(number);
        }
        let settled = self.tries.keys().filter(|places| self.is_settled(places));
        let given_up: FxHashSet<&Places> = settled.chain(&self.cut).collect();
        let in_vain = given_up.into_iter().filter(|places| !self.is_found(places));
        let told = |(pattern, sites): &Places| {
            let pattern = Some(*pattern).filter(|pattern| *pattern != ANY_RACE);
            (pattern, sites.clone())
        };
        let mut given_up: Vec<Abandoned> = in_vain.map(told).collect();
        given_up.sort_unstable();
        Outcome {
            given_up,
            racing: self.racing,
            is_complete: !self.is_stopped,
        }
    }

    /// Whether the search is over before its end.
    fn is_over(&mut self) -> bool {
        self.asked = self.asked.wrapping_add(1);
        if self.asked.is_multiple_of(UNASKED) && !self.is_stopped {
            self.is_stopped = (self.stop)();
        }
        self.is_stopped
    }

    fn is_settled(&self, places: &Places) -> bool {
        let tries = self.tries.get(places);
        let is_hopeless = |tries: &Tries| tries.rejected >= TRIES && self.patience == 0;
        tries.is_some_and(|tries| is_hopeless(tries) || tries.accepted >= self.instances)
    }

    /// Whether something can happen at these places.
    fn is_found(&self, places: &Places) -> bool {
        let tries = self.tries.get(places);
        tries.is_some_and(|tries| tries.accepted > 0)
    }

    /// Puts a candidate to the judge; whether it can happen.
    fn propose(&mut self, places: &Places, pattern: usize, events: &[u32]) -> bool {
        if let Some(window) = self.window {
            let (Some(first), Some(last)) = (events.iter().min(), events.iter().max()) else {
                return false;
            };
            if last - first > window {
                return false;
            }
        }
        // A schedule takes longer than anything else.
        self.is_stopped |= (self.stop)();
        if self.is_stopped {
            return false;
        }
        let verdict = (self.judge)(self.index, pattern, events);
        let tries = self.tries.entry(places.clone()).or_default();
        match verdict {
            Verdict::Accepted => tries.accepted += 1,
            Verdict::Rejected(steps) => {
                tries.rejected += 1;
                if tries.rejected > TRIES {
                    self.patience = self.patience.saturating_sub(steps);
                }
            }
        }
        verdict == Verdict::Accepted
    }

    /// So many candidates are worth gathering if the first ones did not do. If there are more,
    /// their places are [cut](Self::cut).
    fn most_candidates(&self) -> usize {
        const MOST: u64 = 1 << 20;
        self.patience.min(MOST) as usize
    }
}

fn fits(access: AccessType, group: &Group) -> bool {
    match access {
        AccessType::Read => group.reads,
        AccessType::Write => group.writes,
    }
}

/// Whether two accesses are to one variable.
fn same_variable(a: &Group, b: &Group) -> bool {
    a.slot == b.slot && a.mask & b.mask != 0
}

/// The steps of a pattern in one region.
#[derive(Clone, Debug)]
struct Unit {
    thread: usize,
    /// Their numbers in the pattern.
    steps: Vec<usize>,
    /// Whether another thread acts between the first and the last.
    is_anchor: bool,
}

/// The units of a pattern, in the order in which to look for them: an anchor
/// first, then whatever shares a variable with those before.
fn units(steps: &[Step]) -> Vec<Unit> {
    let regions = 1 + steps.iter().map(|s| s.region).max().unwrap_or(0);
    let unit = |region: usize| {
        let own = |i: &usize| steps[*i].region == region;
        let numbers: Vec<usize> = (0..steps.len()).filter(own).collect();
        let thread = steps[numbers[0]].thread;
        let span = numbers[0]..numbers[numbers.len() - 1];
        let foreign = |step: &Step| step.thread != thread;
        Unit {
            thread,
            is_anchor: numbers.len() > 1 && steps[span].iter().any(foreign),
            steps: numbers,
        }
    };
    let mut left: Vec<Unit> = (0..regions).map(unit).collect();
    let mut ordered: Vec<Unit> = Vec::new();
    while !left.is_empty() {
        let shares = |unit: &Unit| {
            let mut variables = unit.steps.iter().map(|s| steps[*s].variable);
            let bound = |v| {
                let before = ordered.iter().flat_map(|u| &u.steps);
                before.clone().any(|s| steps[*s].variable == v)
            };
            variables.any(bound)
        };
        let rank = |unit: &Unit| (!shares(unit), !unit.is_anchor);
        let best = (0..left.len()).min_by_key(|i| rank(&left[*i])).unwrap_or(0);
        ordered.push(left.remove(best));
    }
    ordered
}

/// Whether what a lock protects can be left out for a pattern: every variable is
/// written, and two threads access it in regions that overlap. If the lock's
/// critical sections are those regions, they do not.
pub(crate) fn spares_the_protected(pattern: &Pattern) -> bool {
    if pattern.kind() == Kind::Race {
        return true;
    }
    let steps = pattern.steps();
    let variables = 1 + steps.iter().map(|s| s.variable).max().unwrap_or(0);
    let units = units(steps);
    (0..variables).all(|variable| {
        let on = |i: &usize| steps[*i].variable == variable;
        let written = steps
            .iter()
            .any(|s| s.variable == variable && s.access == AccessType::Write);
        let own: Vec<&Unit> = units.iter().filter(|u| u.steps.iter().any(on)).collect();
        let span = |u: &Unit| (u.steps[0], u.steps[u.steps.len() - 1]);
        let overlap = |a: &Unit, b: &Unit| {
            let ((from, to), (start, end)) = (span(a), span(b));
            a.thread != b.thread && from < end && start < to
        };
        written && own.iter().any(|a| own.iter().any(|b| overlap(a, b)))
    })
}

/// Whether what no region lets go before its end can be left out for a pattern: it has two
/// accesses of a region between which another thread accesses what one of them, the first
/// or the second, is about; or it is the other thread whose accesses are like that.
pub(crate) fn spares_the_sheltered(pattern: &Pattern) -> bool {
    pattern.kind() == Kind::Race || is_single(pattern) || is_duet(pattern)
}

/// Whether some region of a pattern has more than two of its steps.
pub(crate) fn has_long_regions(pattern: &Pattern) -> bool {
    units(pattern.steps()).iter().any(|u| u.steps.len() > 2)
}

/// A place to stand between two accesses of a thread.
#[derive(Clone, Copy, Debug)]
struct Gap {
    event: u32,
    context: ContextId,
}

impl Index<'_> {
    /// The gaps between two events of a thread: behind the first one, and behind
    /// each node until the second.
    fn gaps(&self, thread: ThreadId, from: u32, to: u32) -> impl Iterator<Item = Gap> + '_ {
        let nodes = &self.nodes[thread.index()];
        let start = nodes.partition_point(|n| n.event <= from);
        let first = Gap {
            event: from,
            context: match start {
                0 => ContextId::FREE,
                n => nodes[n - 1].context,
            },
        };
        let within = nodes[start..].iter().take_while(move |n| n.event < to);
        std::iter::once(first).chain(within.map(|n| Gap {
            event: n.event,
            context: n.context,
        }))
    }
}

/// The contexts of a region's gaps, and where they are.
struct Contours {
    gaps: Vec<Gap>,
    /// The contexts and the events behind which they begin, sorted.
    starts: Vec<(ContextId, u32)>,
}

impl Region {
    /// The gaps between its accesses.
    fn contours(&self, index: &Index<'_>) -> Contours {
        let event = |access: Option<&(u32, u32)>| access.map_or(0, |(_, event)| *event);
        let (first, last) = (event(self.accesses.first()), event(self.accesses.last()));
        Contours::new(index, self.thread, first, last)
    }
}

impl Contours {
    /// So few gaps are gone through one by one.
    const FEW: usize = 8;

    fn new(index: &Index<'_>, thread: ThreadId, from: u32, to: u32) -> Self {
        let gaps: Vec<Gap> = index.gaps(thread, from, to).collect();
        let mut starts: Vec<_> = gaps.iter().map(|gap| (gap.context, gap.event)).collect();
        starts.sort_unstable();
        Self { gaps, starts }
    }

    fn by_context(&self) -> impl Iterator<Item = &[(ContextId, u32)]> {
        self.starts.chunk_by(|a, b| a.0 == b.0)
    }

    fn all(&self) -> impl Iterator<Item = ContextId> + '_ {
        self.by_context().map(|starts| starts[0].0)
    }

    /// Those between two events of the region, sorted.
    fn between(&self, from: u32, to: u32) -> Vec<ContextId> {
        let at = self.gaps.partition_point(|gap| gap.event <= from);
        let at = at.saturating_sub(1);
        let end = at + self.gaps[at..].partition_point(|gap| gap.event < to);
        let within = &self.gaps[at..end];
        if within.len() <= Self::FEW {
            let mut contexts: Vec<ContextId> = within.iter().map(|gap| gap.context).collect();
            contexts.sort_unstable();
            contexts.dedup();
            return contexts;
        }
        let here = within[0].context;
        let begins = |starts: &&[(ContextId, u32)]| {
            let first = starts.partition_point(|(_, event)| *event <= from);
            starts[0].0 == here || starts.get(first).is_some_and(|(_, event)| *event < to)
        };
        let contexts = self.by_context().filter(begins);
        contexts.map(|starts| starts[0].0).collect()
    }
}
