//! Patterns with regions, whatever users write down. Those of two threads on one or two
//! variables, and so all that are built in, are in [`couples`](super::couples).
//!
//! The accesses that a pattern wants of one region are its *unit*; accesses of one
//! execution of a region that fit are a [`Binding`] of it. Bindings of the anchors,
//! the units in which others act, are looked for first; for all others it is then
//! known which locations they have to be about.

use std::collections::BTreeSet;
use std::rc::Rc;

use racehound_trace::{Mode, SiteId, SyncId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::context::ContextId;
use crate::index::{Group, Index};
use crate::pattern::{AccessType, Step};

use super::{Contours, Places, Search, Unit, fits, same_variable, units};

/// Accesses that fit a unit, wherever they differ in time only.
#[derive(Debug)]
pub(super) struct Binding {
    thread: ThreadId,
    groups: Vec<u32>,
    times: Times,
}

/// The events of a binding, for each time.
type Times = Rc<Vec<Vec<u32>>>;

/// An access of a region: its group and its event.
type Access = (u32, u32);

/// Who is told of accesses that fit a unit.
type Found<'f> = dyn FnMut(&mut Index<'_>, &[Access]) + 'f;

/// What makes units of different patterns alike: the accesses and their variables,
/// and behind each which of these variables others access before the next one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Shape(Vec<(AccessType, usize, Vec<usize>)>);

impl Shape {
    fn new(steps: &[Step], unit: &Unit) -> Self {
        let own: Vec<usize> = unit.steps.iter().map(|s| steps[*s].variable).collect();
        let number = |variable: usize| own.iter().position(|v| *v == variable);
        let part = |(i, step): (usize, &usize)| {
            let next = unit.steps.get(i + 1).copied().unwrap_or(*step + 1);
            let foreign = steps[*step + 1..next].iter();
            let foreign = foreign.filter(|s| s.thread != unit.thread);
            let acted: BTreeSet<usize> = foreign.filter_map(|s| number(s.variable)).collect();
            let Step {
                access, variable, ..
            } = steps[*step];
            (
                access,
                number(variable).unwrap_or(0),
                acted.into_iter().collect(),
            )
        };
        Self(unit.steps.iter().enumerate().map(part).collect())
    }
}

/// Bindings of a unit, by the slots they are about.
#[derive(Default)]
pub(super) struct Bindings {
    all: Vec<Binding>,
    by_slot: FxHashMap<u32, Vec<usize>>,
    /// Of those that are about two slots.
    by_pair: FxHashMap<(u32, u32), Vec<usize>>,
    known: FxHashMap<(Vec<u32>, Vec<ContextId>), usize>,
}

impl Bindings {
    fn add(
        &mut self,
        index: &Index<'_>,
        thread: ThreadId,
        contours: &Contours,
        accesses: &[Access],
    ) {
        let groups: Vec<u32> = accesses.iter().map(|(group, _)| *group).collect();
        let events: Vec<u32> = accesses.iter().map(|(_, event)| *event).collect();
        let mut contexts: Vec<ContextId> = Vec::new();
        for pair in events.windows(2) {
            contexts.extend(contours.between(pair[0], pair[1]));
        }
        let slot = |group: &u32| index.groups[*group as usize].slot;
        let mut slots: Vec<u32> = groups.iter().map(slot).collect();
        slots.sort_unstable();
        slots.dedup();
        let number = *self
            .known
            .entry((groups, contexts))
            .or_insert_with_key(|(groups, _)| {
                let number = self.all.len();
                if let [a, b] = slots[..] {
                    self.by_pair.entry((a, b)).or_default().push(number);
                }
                for slot in slots {
                    self.by_slot.entry(slot).or_default().push(number);
                }
                self.all.push(Binding {
                    thread,
                    groups: groups.clone(),
                    times: Times::default(),
                });
                number
            });
        let times = &mut self.all[number].times;
        let moments = |events: &[u32]| {
            [events[0], events[events.len() - 1]].map(|e| index.order.moment(thread, e))
        };
        if times
            .last()
            .is_none_or(|last| moments(last) != moments(&events))
        {
            Rc::make_mut(times).push(events);
        }
    }
}

impl Search<'_, '_> {
    pub(super) fn find_tuples(&mut self, pattern: usize) {
        let steps = Rc::<[Step]>::from(self.patterns[pattern].steps());
        let units = units(&steps);
        let mut slots: Option<FxHashSet<u32>> = None;
        let mut bindings: Vec<Rc<Bindings>> = Vec::new();
        for (number, unit) in units.iter().enumerate() {
            // What is shared with the first unit is about the same locations.
            let bound = |s: &usize| {
                let first = units[0].steps.iter();
                number > 0
                    && first
                        .clone()
                        .any(|f| steps[*f].variable == steps[*s].variable)
            };
            let known = |s: &usize| slots.as_ref().filter(|_| bound(s));
            let of_unit = match unit.steps.len() {
                1 => Rc::default(),
                _ if unit.is_anchor => self.lasting(&steps, unit),
                _ => Rc::new(self.bindings(&steps, unit, &known)),
            };
            if unit.steps.len() > 1 && of_unit.all.is_empty() {
                return;
            }
            if number == 0 && unit.steps.len() > 1 {
                slots = Some(of_unit.by_slot.keys().copied().collect());
            }
            bindings.push(of_unit);
        }
        let mut join = Join {
            pattern,
            steps: &steps,
            units: &units,
            bindings: &bindings,
            groups: vec![u32::MAX; steps.len()],
            times: Vec::new(),
        };
        self.extend(&mut join);
    }

    /// All bindings of a unit that do not depend on other units.
    fn lasting(&mut self, steps: &[Step], unit: &Unit) -> Rc<Bindings> {
        let key = Shape::new(steps, unit);
        if let Some(known) = self.bindings.get(&key) {
            return known.clone();
        }
        let found = Rc::new(self.bindings(steps, unit, &|_| None));
        self.bindings.insert(key, found.clone());
        found
    }

    /// What is known of all regions.
    pub(super) fn survey(&mut self) -> Rc<Survey> {
        if let Some(survey) = &self.survey {
            return survey.clone();
        }
        let survey = Rc::new(self.survey_regions());
        self.survey = Some(survey.clone());
        survey
    }

    fn survey_regions(&mut self) -> Survey {
        let (mut open, mut repeated) = (Vec::new(), Vec::new());
        let mut accesses: Vec<(u32, u8, u32, u32)> = Vec::new();
        for number in 0..self.index.regions.len() {
            if self.is_over() {
                break;
            }
            let region = &self.index.regions[number];
            let contours = region.contours(self.index);
            accesses.clear();
            accesses.extend(region.accesses.iter().map(|&(group, event)| {
                let g = &self.index.groups[group as usize];
                (g.slot, g.mask, group, event)
            }));
            accesses.sort_unstable();
            let (mut is_open, mut is_repeated) = (false, false);
            for of_slot in accesses.chunk_by(|a, b| a.0 == b.0) {
                let events = || of_slot.iter().map(|(.., event)| *event);
                let (first, last) = (events().min().unwrap_or(0), events().max().unwrap_or(0));
                for alike in of_slot.chunk_by(|a, b| a.1 == b.1) {
                    let mut opens = |context: &ContextId| {
                        self.openness.is_open(self.index, alike[0].2, *context)
                    };
                    is_open = is_open || contours.all().any(|context| opens(&context));
                    is_repeated = is_repeated
                        || first < last && contours.between(first, last).iter().any(opens);
                }
            }
            if is_open {
                open.push(number);
            }
            if is_repeated {
                repeated.push(number);
            }
        }
        Survey {
            open: open.into(),
            repeated: repeated.into(),
        }
    }

    /// The regions that can have bindings of a unit.
    fn regions(&mut self, steps: &[Step], unit: &Unit) -> Rc<[usize]> {
        let acted_upon = |s: &usize| is_acted_upon(steps, unit, *s);
        if !unit.is_anchor || !unit.steps.iter().any(acted_upon) {
            return (0..self.index.regions.len()).collect();
        }
        let mut variables = unit.steps.iter().map(|s| steps[*s].variable);
        let first = variables.next();
        match variables.all(|v| Some(v) == first) {
            true => self.survey().repeated.clone(),
            false => self.survey().open.clone(),
        }
    }

    /// All bindings of a unit. `known` has the slots that a step can be about,
    /// where that is known.
    fn bindings<'k>(
        &mut self,
        steps: &[Step],
        unit: &Unit,
        known: &dyn Fn(&usize) -> Option<&'k FxHashSet<u32>>,
    ) -> Bindings {
        let mut found = Bindings::default();
        for &number in self.regions(steps, unit).iter() {
            let region = &self.index.regions[number];
            let thread = region.thread;
            let fits_some = |(group, _): &&Access| {
                let group = &self.index.groups[*group as usize];
                unit.steps.iter().any(|s| {
                    known(s).is_none_or(|slots| slots.contains(&group.slot))
                        && fits(steps[*s].access, group)
                })
            };
            let mut accesses: Vec<Access> =
                region.accesses.iter().filter(fits_some).copied().collect();
            if accesses.len() < unit.steps.len() {
                continue;
            }
            let contours = region.contours(self.index);
            if unit.is_anchor {
                accesses.retain(|(group, _)| {
                    let spared = |s: &usize| !is_acted_upon(steps, unit, *s);
                    let fits =
                        |s: &usize| fits(steps[*s].access, &self.index.groups[*group as usize]);
                    unit.steps.iter().filter(|s| fits(s)).any(spared)
                        || contours
                            .all()
                            .any(|c| self.openness.is_open(self.index, *group, c))
                });
            }
            let mut by_slot: Vec<(u32, usize)> = accesses
                .iter()
                .enumerate()
                .map(|(at, (group, _))| (self.index.groups[*group as usize].slot, at))
                .collect();
            by_slot.sort_unstable();
            let view = View {
                accesses: &accesses,
                by_slot: &by_slot,
            };
            let mut chosen = Vec::with_capacity(unit.steps.len());
            let mut openness = std::mem::take(&mut self.openness);
            self.choose(steps, unit, &view, 0, &mut chosen, &mut |index, chosen| {
                let opens = !unit.is_anchor
                    || leaves_room(index, &mut openness, unit, steps, chosen, &contours);
                if opens {
                    found.add(index, thread, &contours, chosen);
                }
            });
            self.openness = openness;
        }
        found
    }

    /// Chooses an access for the next step of a unit, from `from` on.
    fn choose(
        &mut self,
        steps: &[Step],
        unit: &Unit,
        view: &View<'_>,
        from: usize,
        chosen: &mut Vec<Access>,
        found: &mut Found<'_>,
    ) {
        let Some(&step) = unit.steps.get(chosen.len()) else {
            found(self.index, chosen);
            return;
        };
        let slot = |(group, _): &Access| self.index.groups[*group as usize].slot;
        let same = |earlier: &usize| steps[*earlier].variable == steps[step].variable;
        let bound = unit.steps[..chosen.len()].iter().position(same);
        let candidates = match bound {
            Some(at) => Candidates::Some(view.at(slot(&chosen[at]), from)),
            None => Candidates::All(from..view.accesses.len()),
        };
        for i in candidates {
            if self.is_over() {
                return;
            }
            let (group, event) = view.accesses[i];
            let later = chosen.last().is_none_or(|(_, last)| event > *last);
            let this = &self.index.groups[group as usize];
            let agrees = |(number, (other, _)): (usize, &Access)| {
                let earlier = &steps[unit.steps[number]];
                let same = same_variable(&self.index.groups[*other as usize], this);
                same == (earlier.variable == steps[step].variable)
            };
            if later && fits(steps[step].access, this) && chosen.iter().enumerate().all(agrees) {
                chosen.push((group, event));
                self.choose(steps, unit, view, i + 1, chosen, found);
                chosen.pop();
            }
        }
    }

    /// Finds accesses for the next unit.
    fn extend(&mut self, join: &mut Join<'_>) {
        let number = join.times.len();
        let Some(unit) = join.units.get(number) else {
            self.meet(join);
            return;
        };
        if unit.steps.len() == 1 {
            let step = unit.steps[0];
            let candidates: Rc<[u32]> = match join.slot_of(self.index, step) {
                Some(slot) => self.groups_at(slot),
                None => (0..self.index.groups.len() as u32).collect(),
            };
            let site = |group: &u32| self.index.groups[*group as usize].site;
            let by_site: Vec<&[u32]> = candidates.chunk_by(|a, b| site(a) == site(b)).collect();
            for groups in by_site {
                for &group in groups {
                    if self.is_over() {
                        return;
                    }
                    let g = &self.index.groups[group as usize];
                    if fits(join.steps[step].access, g)
                        && join.admits(self.index, unit, g.thread, &[group])
                        && !self.extend_with(join, g.thread, &[group], None)
                    {
                        // All others at this place come to the same.
                        break;
                    }
                }
            }
            return;
        }
        let of_unit = join.bindings[number].clone();
        let slots = unit
            .steps
            .iter()
            .filter_map(|s| join.slot_of(self.index, *s));
        let mut slots: Vec<u32> = slots.collect();
        slots.sort_unstable();
        slots.dedup();
        let candidates: Vec<usize> = match slots[..] {
            [] => (0..of_unit.all.len()).collect(),
            [a, b] => of_unit.by_pair.get(&(a, b)).cloned().unwrap_or_default(),
            [slot, ..] => of_unit.by_slot.get(&slot).cloned().unwrap_or_default(),
        };
        for candidate in candidates {
            if self.is_over() {
                return;
            }
            let binding = &of_unit.all[candidate];
            if join.admits(self.index, unit, binding.thread, &binding.groups) {
                let times = Some(binding.times.clone());
                self.extend_with(join, binding.thread, &binding.groups, times);
            }
        }
    }

    /// The groups of a slot, by site.
    fn groups_at(&mut self, slot: u32) -> Rc<[u32]> {
        let index = &*self.index;
        let found = self.groups_at.entry(slot).or_insert_with(|| {
            let mut groups: Vec<u32> = index.at(slot).map(|(id, _)| id).collect();
            groups.sort_unstable_by_key(|group| (index.groups[*group as usize].site, *group));
            groups.into()
        });
        found.clone()
    }

    /// Goes on with these accesses for the next unit; without times, they are those of the
    /// one group. Whether something is left to be found at their places.
    fn extend_with(
        &mut self,
        join: &mut Join<'_>,
        thread: ThreadId,
        groups: &[u32],
        times: Option<Times>,
    ) -> bool {
        let unit = &join.units[join.times.len()];
        for (step, group) in unit.steps.iter().zip(groups) {
            join.groups[*step] = *group;
        }
        let places = join.places(self.index);
        let is_left = places.is_none_or(|places| !self.is_settled(&places));
        if is_left {
            let times = times.unwrap_or_else(|| self.times_of(groups[0]));
            join.times.push((thread, times));
            self.extend(join);
            join.times.pop();
        }
        for step in &unit.steps {
            join.groups[*step] = u32::MAX;
        }
        is_left
    }

    /// The times of a single access: the ends of each spell.
    fn times_of(&self, group: u32) -> Times {
        let ends = self.index.groups[group as usize].ends();
        Rc::new(ends.map(|event| vec![event]).collect())
    }

    /// All units have accesses: finds times at which they can come together.
    fn meet(&mut self, join: &Join<'_>) {
        let Some(places) = join.places(self.index) else {
            return;
        };
        let mut events = vec![u32::MAX; join.steps.len()];
        self.meet_at(join, &places, 0, &mut events);
    }

    /// Whether some were found that can happen: others of the same accesses are about the
    /// same.
    fn meet_at(
        &mut self,
        join: &Join<'_>,
        places: &Places,
        number: usize,
        events: &mut Vec<u32>,
    ) -> bool {
        let Some((thread, times)) = join.times.get(number) else {
            return self.can_happen(join.units, &join.groups, events)
                && self.propose(places, join.pattern, events);
        };
        let order = &self.index.order;
        let moment = |t: ThreadId, event: u32| (t, order.moment(t, event));
        // Times that must come wholly before or after those of the first unit are
        // out of the question, where the pattern has it otherwise.
        let mut range = 0..times.len();
        let (first, _) = &join.times[0];
        if number > 0 && first != thread {
            let (ours, theirs) = (&join.units[number].steps, &join.units[0].steps);
            let own = theirs.iter().map(|s| events[*s]);
            let (from, to) = (own.clone().min(), own.max());
            let (from, to) = (from.unwrap_or(0), to.unwrap_or(0));
            let ends = |time: &Vec<u32>| moment(*thread, time[time.len() - 1]);
            let begins = |time: &Vec<u32>| moment(*thread, time[0]);
            let early = |time: &Vec<u32>| order.before(ends(time), moment(*first, from));
            let late = |time: &Vec<u32>| order.before(moment(*first, to), begins(time));
            if ours[ours.len() - 1] > theirs[0] {
                range.start = times.partition_point(early);
            }
            if theirs[theirs.len() - 1] > ours[0] {
                range.end = times.partition_point(|time| !late(time));
            }
        }
        for at in range {
            for (step, event) in join.units[number].steps.iter().zip(&times[at]) {
                events[*step] = *event;
            }
            if self.meet_at(join, places, number + 1, events) {
                return true;
            }
            if self.is_settled(places) || self.is_over() {
                return false;
            }
        }
        false
    }

    /// Whether nothing speaks against these events of these groups in pattern order.
    pub(super) fn can_happen(&self, units: &[Unit], groups: &[u32], events: &[u32]) -> bool {
        let index = &*self.index;
        let thread = |step: usize| index.groups[groups[step] as usize].thread;
        let at = |step: usize| (thread(step), index.order.moment(thread(step), events[step]));
        for later in 0..events.len() {
            for earlier in 0..later {
                let backwards = match thread(earlier) == thread(later) {
                    true => events[earlier] >= events[later],
                    false => index.order.before(at(later), at(earlier)),
                };
                if backwards {
                    return false;
                }
            }
        }
        for unit in units {
            for pair in unit.steps.windows(2) {
                let own = thread(pair[0]);
                let foreign = groups.iter().enumerate().take(pair[1]).skip(pair[0] + 1);
                for (between, group) in foreign {
                    let other = &index.groups[*group as usize];
                    if other.thread == own {
                        continue;
                    }
                    let (context, foreign) = (other.context, at(between));
                    let mut gaps = index.gaps(own, events[pair[0]], events[pair[1]]);
                    let stands = gaps.any(|gap| {
                        index.order.can_stand((own, gap.event), foreign)
                            && index.contexts.can_coexist(gap.context, context)
                    });
                    if !stands {
                        return false;
                    }
                }
            }
        }
        true
    }
}

/// Accesses for some units of a pattern.
struct Join<'j> {
    pattern: usize,
    steps: &'j [Step],
    units: &'j [Unit],
    bindings: &'j [Rc<Bindings>],
    /// By step, as far as they are found.
    groups: Vec<u32>,
    /// By unit.
    times: Vec<(ThreadId, Times)>,
}

impl Join<'_> {
    fn found(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let found = self.groups.iter().copied().enumerate();
        found.filter(|(_, group)| *group != u32::MAX)
    }

    /// The places, if all are known.
    fn places(&self, index: &Index<'_>) -> Option<Places> {
        let site = |group: &u32| index.groups.get(*group as usize).map(|group| group.site);
        let sites: Option<Vec<SiteId>> = self.groups.iter().map(site).collect();
        Some((self.pattern, sites?))
    }

    /// The slot of a step's variable, if another step has it.
    fn slot_of(&self, index: &Index<'_>, step: usize) -> Option<u32> {
        let variable = self.steps[step].variable;
        let same = |(other, _): &(usize, u32)| self.steps[*other].variable == variable;
        let (_, group) = self.found().find(same)?;
        Some(index.groups[group as usize].slot)
    }

    /// Whether accesses of a unit agree with all others: in threads, variables
    /// and regions.
    fn admits(&self, index: &Index<'_>, unit: &Unit, thread: ThreadId, groups: &[u32]) -> bool {
        let of = |group: u32| -> &Group { &index.groups[group as usize] };
        let threads_agree = self.found().all(|(step, group)| {
            (of(group).thread == thread) == (self.steps[step].thread == unit.thread)
        });
        threads_agree
            && unit.steps.iter().zip(groups).all(|(step, group)| {
                self.found().all(|(other, found)| {
                    let same = self.steps[other].variable == self.steps[*step].variable;
                    same_variable(of(found), of(*group)) == same
                })
            })
    }
}

/// What is known of all regions.
pub(super) struct Survey {
    /// Those with an access to something that others can access meanwhile.
    open: Rc<[usize]>,
    /// Those that access something twice that others can access in between.
    pub(super) repeated: Rc<[usize]>,
}

/// The accesses of a region that a unit may want.
struct View<'v> {
    accesses: &'v [Access],
    /// By slot: which of them.
    by_slot: &'v [(u32, usize)],
}

/// Some accesses of a view, in order.
enum Candidates {
    All(std::ops::Range<usize>),
    Some(Vec<usize>),
}

impl IntoIterator for Candidates {
    type Item = usize;
    type IntoIter = std::iter::Chain<std::ops::Range<usize>, std::vec::IntoIter<usize>>;

    fn into_iter(self) -> Self::IntoIter {
        match self {
            Self::All(range) => range.chain(Vec::new()),
            Self::Some(some) => (0..0).chain(some),
        }
    }
}

impl View<'_> {
    /// The accesses of a slot from there on.
    fn at(&self, slot: u32, from: usize) -> Vec<usize> {
        let start = self.by_slot.partition_point(|entry| *entry < (slot, from));
        let of_slot = self.by_slot[start..].iter().take_while(|(s, _)| *s == slot);
        of_slot.map(|(_, at)| *at).collect()
    }
}

/// Whether another thread accesses the variable of a step while the unit lasts.
pub(super) fn is_acted_upon(steps: &[Step], unit: &Unit, step: usize) -> bool {
    let span = unit.steps[0]..unit.steps[unit.steps.len() - 1];
    let acts = |s: &Step| s.thread != unit.thread && s.variable == steps[step].variable;
    steps[span].iter().any(acts)
}

/// Whether others can access something while a thread stands in a context.
#[derive(Default)]
pub(super) struct Openness {
    answers: FxHashMap<(u32, u8, ThreadId, ContextId), bool>,
    /// By slot: who accesses which bytes in which contexts.
    neighbours: FxHashMap<u32, Rc<[Neighbour]>>,
}

type Neighbour = (ThreadId, u8, ContextId);

impl Openness {
    /// Whether somebody else can access what a group accesses while its thread
    /// stands in this context.
    pub(super) fn is_open(
        &mut self,
        index: &mut Index<'_>,
        group: u32,
        context: ContextId,
    ) -> bool {
        let Group {
            slot, mask, thread, ..
        } = index.groups[group as usize];
        let protected = index.common.get(&slot).is_some_and(|common| {
            let excludes_all =
                |lock: &SyncId| index.contexts.excludes(context, *lock, Mode::Shared);
            common.iter().any(excludes_all)
        });
        if protected {
            return false;
        }
        let key = (slot, mask, thread, context);
        if let Some(&open) = self.answers.get(&key) {
            return open;
        }
        let neighbours = self.neighbours.entry(slot).or_insert_with(|| {
            let all = index.at(slot).map(|(_, g)| (g.thread, g.mask, g.context));
            let distinct: FxHashSet<Neighbour> = all.collect();
            distinct.into_iter().collect()
        });
        let open = neighbours.iter().any(|&(other, bytes, there)| {
            other != thread && bytes & mask != 0 && index.contexts.can_coexist(context, there)
        });
        self.answers.insert(key, open);
        open
    }
}

/// Whether, for every variable of the unit that others access in between, there is
/// a gap that lets somebody.
fn leaves_room(
    index: &mut Index<'_>,
    openness: &mut Openness,
    unit: &Unit,
    steps: &[Step],
    chosen: &[Access],
    contours: &Contours,
) -> bool {
    for (pair, events) in unit.steps.windows(2).zip(chosen.windows(2)) {
        let contexts = contours.between(events[0].1, events[1].1);
        for between in &steps[pair[0] + 1..pair[1]] {
            if between.thread == unit.thread {
                continue;
            }
            let own = |s: &usize| steps[*s].variable == between.variable;
            let Some(at) = unit.steps.iter().position(own) else {
                continue;
            };
            let group = chosen[at].0;
            if !contexts.iter().any(|c| openness.is_open(index, group, *c)) {
                return false;
            }
        }
    }
    true
}
