//! Patterns of two threads with two accesses each in a region, to the same two variables:
//! atomic-set violations.
//!
//! # The idea
//! Whoever goes through all pairs of locations of all regions has too much to do: a region
//! with a thousand locations has half a million of them. So the search goes from place to
//! place: which two places follow upon each other in a region, and at which others do other
//! threads access the same. For each four places that may do, the [spans](super::spans) of
//! the two regions are joined by the memory that they share. Whether two spans have two
//! variables that locks and order allow is then told by one sweep over what they share.
//!
//! # The sweep
//! Call the variable of the first thread's first access `x` and that of its second one `y`.
//! For all that is asked for, be it of locks, order or position, `x` says *from when on* and
//! `y` says *until when*: the first region must have a place to stand behind its access to
//! `x`, with locks that let the other thread and nothing that orders them, and that place
//! must come before its access to `y`. So there are two deadlines of `y`, one in either region,
//! and for those `y` that ask for the same locks `x` has two times that must be before them.
//! With the `x` sorted by one of these times, the best one by the other is always at hand.

use std::collections::BTreeSet;
use std::rc::Rc;

use racehound_trace::{SiteId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::context::ContextId;
use crate::index::Index;
use crate::order::Moment;
use crate::pattern::{AccessType, Pattern, Step};

use super::spans::{Need, Outlook, Place, Set, Span, Stays, View, Visit};
use super::{Places, Search, TRIES, Unit, units};

/// So many that can happen are taken of two spans: others are about other memory and
/// threads.
const OF_TWO: u32 = 2;

/// So many regions of either unit are looked at first, and then all.
const SOME: [usize; 2] = [32, 256];

/// A pattern of two units with two accesses each.
struct Duet {
    pattern: usize,
    units: Vec<Unit>,
    /// By thread, in the order of the pattern, its two steps.
    steps: [[usize; 2]; 2],
    access: [[AccessType; 2]; 2],
    /// The first thread goes on before the second one has made both of its accesses.
    is_crossed: bool,
    /// Both threads access the same variable first.
    is_parallel: bool,
}

/// Whether a pattern is of two threads that have the same two variables in a region each, and
/// access either once, and neither is done before the other one begins.
pub(super) fn is_duet(pattern: &Pattern) -> bool {
    Duet::new(0, pattern.steps()).is_some()
}

impl Duet {
    fn new(pattern: usize, steps: &[Step]) -> Option<Self> {
        let units = units(steps);
        let [one, other] = &units[..] else {
            return None;
        };
        let (first, second) = match one.steps[0] < other.steps[0] {
            true => (one, other),
            false => (other, one),
        };
        let of = |unit: &Unit| <[usize; 2]>::try_from(&unit.steps[..]).ok();
        let own = [of(first)?, of(second)?];
        let variables = own.map(|two| two.map(|step| steps[step].variable));
        let [[x, y], theirs] = variables;
        let is_parallel = theirs == [x, y];
        let is_duet = first.thread != second.thread
            && x != y
            && (is_parallel || theirs == [y, x])
            && own[1][0] < own[0][1];
        let duet = Self {
            pattern,
            steps: own,
            access: own.map(|two| two.map(|step| steps[step].access)),
            is_crossed: own[0][1] < own[1][1],
            is_parallel,
            units,
        };
        is_duet.then_some(duet)
    }

    /// What has to be open to the other thread, by unit.
    fn needs(&self) -> [Need; 2] {
        let need = |behind_first: bool, before_second: bool| Need {
            behind_first,
            before_second,
        };
        match (self.is_crossed, self.is_parallel) {
            (false, _) => [need(true, true), need(false, false)],
            (true, true) => [need(true, false), need(false, true)],
            (true, false) => [need(false, true), need(true, false)],
        }
    }

    /// Which of the second unit's accesses are to the first variable and to the second.
    fn sides(&self) -> [usize; 2] {
        match self.is_parallel {
            true => [0, 1],
            false => [1, 0],
        }
    }

    /// Whether locks allow it for some of these contexts: by unit, those between its accesses
    /// and those of either.
    fn is_let(&self, index: &Index<'_>, [ours, theirs]: [Contexts<'_>; 2]) -> bool {
        let meet = |gaps: &[ContextId], visits: &[ContextId]| {
            let lets = |gap: &ContextId| {
                let coexists = |visit: &ContextId| index.contexts.can_coexist(*gap, *visit);
                visits.iter().any(coexists)
            };
            gaps.iter().any(lets)
        };
        meet(ours.0, theirs.1[0])
            && match self.is_crossed {
                true => meet(theirs.0, ours.1[1]),
                false => meet(ours.0, theirs.1[1]),
            }
    }

    /// What is by unit, in the order of the pattern.
    fn in_order<T: Copy>(&self, of: [[T; 2]; 2]) -> [T; 4] {
        let mut all = [of[0][0]; 4];
        for (steps, own) in self.steps.iter().zip(of) {
            for (step, one) in steps.iter().zip(own) {
                all[*step] = one;
            }
        }
        all
    }

    /// Groups and events that access these variables, in the order of the pattern.
    fn candidate(&self, x: &Shared, y: &Shared) -> [[u32; 4]; 2] {
        let of = |unit: usize| match unit == 0 || self.is_parallel {
            true => [x.visits[unit], y.visits[unit]],
            false => [y.visits[unit], x.visits[unit]],
        };
        let visits = [of(0), of(1)];
        [
            self.in_order(visits.map(|two| two.map(|visit| visit.group))),
            self.in_order(visits.map(|two| two.map(|visit| visit.event))),
        ]
    }
}

/// Contexts between two accesses, and of either.
type Contexts<'c> = (&'c [ContextId], [&'c [ContextId]; 2]);

/// Where a thread stands, as far as others are concerned: its locks, and its moment if that
/// matters.
type Standing = (ContextId, Option<(ThreadId, Moment)>);

/// A variable that both regions access, the same at two places.
#[derive(Clone, Copy)]
struct Shared {
    /// By unit.
    visits: [Visit; 2],
    standings: [Standing; 2],
}

impl Shared {
    fn slot(&self) -> u32 {
        self.visits[0].slot
    }

    fn event(&self, unit: usize) -> u32 {
        self.visits[unit].event
    }

    /// Whether these are two variables, whoever accesses them.
    fn differs(&self, other: &Self) -> bool {
        let masks = |of: &Self| of.visits[0].mask | of.visits[1].mask;
        self.slot() != other.slot() || masks(self) & masks(other) == 0
    }
}

/// Two views, and where in them others can act.
struct Meeting<'m, 't> {
    index: &'m Index<'t>,
    views: [&'m View; 2],
    is_timed: bool,
    /// By view and standing: for each segment, the event behind which the next one begins that
    /// lets it, itself included.
    next: [FxHashMap<Standing, Rc<[u32]>>; 2],
}

const NEVER: u32 = u32::MAX;

impl<'m, 't> Meeting<'m, 't> {
    fn new(index: &'m Index<'t>, views: [&'m View; 2], is_timed: bool) -> Self {
        Self {
            index,
            views,
            is_timed,
            next: Default::default(),
        }
    }

    fn lets(&self, view: usize, (event, context): (u32, ContextId), other: Standing) -> bool {
        let order = &self.index.order;
        let thread = self.views[view].thread;
        self.index.contexts.can_coexist(context, other.0)
            && other
                .1
                .is_none_or(|there| order.can_stand((thread, event), there))
    }

    /// The first event from this one on behind which a thread can stand while the other one
    /// stands there.
    fn room(&mut self, view: usize, from: u32, other: Standing) -> u32 {
        let segments = &self.views[view].segments;
        let at = segments.partition_point(|(event, _)| *event <= from);
        let at = at.saturating_sub(1);
        if self.lets(view, (from, segments[at].1), other) {
            return from;
        }
        let next = match self.next[view].get(&other) {
            Some(next) => next.clone(),
            None => {
                let mut found = vec![NEVER; segments.len() + 1];
                for (i, segment) in segments.iter().enumerate().rev() {
                    found[i] = match self.lets(view, *segment, other) {
                        true => segment.0,
                        false => found[i + 1],
                    };
                }
                let found: Rc<[u32]> = found.into();
                self.next[view].insert(other, found.clone());
                found
            }
        };
        next[at + 1]
    }

    fn standing(&self, view: usize, visit: &Visit) -> Standing {
        let thread = self.views[view].thread;
        let context = self.index.groups[visit.group as usize].context;
        let moment = self.is_timed.then(|| {
            let order = &self.index.order;
            (thread, order.moment(thread, visit.event))
        });
        (context, moment)
    }

    /// What both access, one at `ours` of its places and the other one at `theirs`.
    fn shared(&self, ours: usize, theirs: usize) -> Vec<Shared> {
        let (mine, other) = (&self.views[0].visits[ours], &self.views[1].visits[theirs]);
        let mut found = Vec::new();
        let mut add = |visit: &Visit, its: &Visit| {
            if its.mask & visit.mask != 0 {
                found.push(Shared {
                    visits: [*visit, *its],
                    standings: [self.standing(0, visit), self.standing(1, its)],
                });
            }
        };
        // The fewer are looked up among the others.
        match mine.len() <= other.len() {
            true => each_same(mine, other, |visit, its| add(visit, its)),
            false => each_same(other, mine, |its, visit| add(visit, its)),
        }
        found
    }

    /// Where the other region's accesses must both be on the same side, if they are made while
    /// the first one stands between its own: the events behind which it has locks that nowhere
    /// in the first region are free.
    fn blocks(&self, duet: &Duet) -> Vec<u32> {
        if duet.is_crossed {
            return Vec::new();
        }
        let lets = |context: &ContextId| {
            let mut gaps = self.views[0].segments.iter();
            gaps.any(|(_, gap)| self.index.contexts.can_coexist(*gap, *context))
        };
        let mut known: FxHashMap<ContextId, bool> = FxHashMap::default();
        let mut is_let =
            |context: &ContextId| *known.entry(*context).or_insert_with(|| lets(context));
        let segments = self.views[1].segments.iter();
        let blocked = segments.filter(|(_, context)| !is_let(context));
        blocked.map(|(event, _)| *event).collect()
    }

    /// Shows variables that can be those of a duet: for each second one the best first one, or
    /// all; `show` tells whether to go on. Whether it was gone through to the end.
    fn sweep(
        &mut self,
        duet: &Duet,
        all: bool,
        show: &mut dyn FnMut(&Shared, &Shared) -> bool,
    ) -> bool {
        let sides = duet.sides();
        let (xs, mut ys) = (self.shared(0, sides[0]), self.shared(1, sides[1]));
        if xs.is_empty() || ys.is_empty() {
            return true;
        }
        let blocks = self.blocks(duet);
        let block = |shared: &Shared| blocks.partition_point(|start| *start <= shared.event(1));
        ys.sort_by_cached_key(|y| (y.standings, block(y), y.event(0)));
        let mut by_block: Vec<(usize, usize)> = Vec::with_capacity(xs.len());
        by_block.extend(xs.iter().enumerate().map(|(i, x)| (block(x), i)));
        by_block.sort_unstable();
        let is_alike = |a: &Shared, b: &Shared| a.standings == b.standings && block(a) == block(b);
        for alike in ys.chunk_by(is_alike) {
            let (standings, own) = (alike[0].standings, block(&alike[0]));
            let start = by_block.partition_point(|(block, _)| *block < own);
            let within = by_block[start..]
                .iter()
                .take_while(|(block, _)| *block == own);
            let mut times: Vec<(u32, u32, usize)> = Vec::new();
            for &(_, i) in within {
                let [here, there] = self.times(duet, &xs[i], standings);
                if here != NEVER && there != NEVER {
                    times.push((here, there, i));
                }
            }
            times.sort_unstable();
            let mut next = times.iter().peekable();
            let mut in_time: BTreeSet<(u32, usize)> = BTreeSet::new();
            for y in alike {
                while let Some((_, there, i)) = next.next_if(|(here, ..)| *here < y.event(0)) {
                    in_time.insert((*there, *i));
                }
                let deadline = self.deadline(duet, y);
                let before = in_time.range(..(deadline, 0)).rev();
                let others = before.filter(|(_, i)| xs[*i].differs(y));
                let count = if all { usize::MAX } else { 1 };
                for (_, i) in others.take(count) {
                    if !show(&xs[*i], y) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// From when on the second access of the first unit can follow, and what the deadline in
    /// the other unit has to be behind, for a second variable with these standings.
    fn times(&mut self, duet: &Duet, x: &Shared, y: [Standing; 2]) -> [u32; 2] {
        let [ours, theirs] = [x.event(0), x.event(1)];
        let of_x = |this: &mut Self| this.room(0, ours, x.standings[1]);
        let of_y = |this: &mut Self| this.room(0, ours, y[1]);
        match (duet.is_crossed, duet.is_parallel) {
            (false, true) => [of_x(self).max(of_y(self)), theirs],
            (false, false) => [of_x(self).max(of_y(self)), NEVER - 1 - theirs],
            (true, true) => [of_x(self), self.room(1, theirs, y[0])],
            (true, false) => [of_y(self), NEVER - 1 - theirs],
        }
    }

    fn deadline(&mut self, duet: &Duet, y: &Shared) -> u32 {
        let theirs = y.event(1);
        match (duet.is_crossed, duet.is_parallel) {
            (_, true) => theirs,
            (false, false) => NEVER - 1 - theirs,
            (true, false) => match self.room(1, theirs, y.standings[0]) {
                NEVER => 0,
                room => NEVER - 1 - room,
            },
        }
    }
}

/// Shows each two visits to the same slot; both are sorted by slot.
fn each_same(few: &[Visit], mut many: &[Visit], mut show: impl FnMut(&Visit, &Visit)) {
    for visit in few {
        many = &many[many.partition_point(|other| other.slot < visit.slot)..];
        let same = many.iter().take_while(|other| other.slot == visit.slot);
        same.for_each(|other| show(visit, other));
    }
}

/// What is known while the search goes on.
struct Duets {
    stays: Stays,
    gaps: FxHashMap<([Place; 2], Need), Rc<Set>>,
    successions: FxHashMap<Need, Rc<[(Place, Place)]>>,
}

impl Duets {
    fn gaps(&mut self, index: &Index<'_>, places: [Place; 2], need: Need) -> Rc<Set> {
        let stays = &self.stays;
        let known = self.gaps.entry((places, need));
        let gaps = known.or_insert_with(|| Rc::new(stays.gaps(index, places, need)));
        gaps.clone()
    }

    fn successions(&mut self, need: Need) -> Rc<[(Place, Place)]> {
        let stays = &self.stays;
        let known = self.successions.entry(need);
        known
            .or_insert_with(|| stays.successions(need).into())
            .clone()
    }

    /// Whether locks allow a duet at some of the regions that have these places.
    fn is_let(&mut self, index: &Index<'_>, duet: &Duet, places: [[Place; 2]; 2]) -> bool {
        let needs = duet.needs();
        let gaps = [0, 1].map(|unit| match unit == 0 || duet.is_crossed {
            true => self.gaps(index, places[unit], needs[unit]),
            false => Rc::default(),
        });
        let visits = places.map(|two| two.map(|place| &self.stays.contexts(place)[..]));
        duet.is_let(index, [0, 1].map(|unit| (&gaps[unit][..], visits[unit])))
    }
}

impl Search<'_, '_> {
    /// Finds what fits these patterns.
    pub(super) fn find_duets(&mut self, patterns: &[usize]) {
        if patterns.is_empty() {
            return;
        }
        let mut duets = Duets {
            stays: Stays::new(self.index, &mut self.openness),
            gaps: FxHashMap::default(),
            successions: FxHashMap::default(),
        };
        for &pattern in patterns {
            let steps = self.patterns[pattern].steps();
            if let Some(duet) = Duet::new(pattern, steps) {
                self.find_duet(&mut duets, &duet);
            }
        }
    }

    fn find_duet(&mut self, duets: &mut Duets, duet: &Duet) {
        let needs = duet.needs();
        let successions = needs.map(|need| duets.successions(need));
        let mut candidates: Vec<[[Place; 2]; 2]> = Vec::new();
        {
            let stays = &duets.stays;
            let fits = |unit: usize, places: [Place; 2]| {
                [0, 1]
                    .iter()
                    .all(|i| stays.access(places[*i]) == duet.access[unit][*i])
            };
            for &(x, y) in successions[0].iter().filter(|(x, y)| fits(0, [*x, *y])) {
                for &a in stays.conflicts(x) {
                    for &b in stays.conflicts(y) {
                        let theirs = if duet.is_parallel { [a, b] } else { [b, a] };
                        if fits(1, theirs)
                            && successions[1]
                                .binary_search(&(theirs[0], theirs[1]))
                                .is_ok()
                        {
                            candidates.push([[x, y], theirs]);
                        }
                    }
                }
            }
        }
        for places in candidates {
            if self.is_over() {
                return;
            }
            self.find_at(duets, duet, places);
        }
    }

    /// Finds what fits a duet at these places.
    fn find_at(&mut self, duets: &mut Duets, duet: &Duet, places: [[Place; 2]; 2]) {
        let sites: [SiteId; 4] =
            duet.in_order(places.map(|two| two.map(|place| duets.stays.site(place))));
        let goal: Places = (duet.pattern, sites.to_vec());
        if self.is_settled(&goal) {
            return;
        }
        if !duets.is_let(self.index, duet, places) {
            return;
        }
        let (needs, sides) = (duet.needs(), duet.sides());
        let stays = &duets.stays;
        let outlooks = [0, 1].map(|unit: usize| Outlook {
            places: places[unit],
            need: needs[unit],
            rivals: sides.map(|side| places[1 - unit][side]),
        });
        let [mut ours, mut theirs] = outlooks.map(|outlook| stays.spans(outlook));
        // Most of what can happen can happen soon. If not, only those regions of the many are
        // looked at that have to do with the few.
        for count in SOME.into_iter().chain([usize::MAX]) {
            let is_last = count == usize::MAX;
            let [few, many] = match ours.estimate() <= theirs.estimate() {
                true => [&mut ours, &mut theirs],
                false => [&mut theirs, &mut ours],
            };
            stays.extend(self.index, few, count, None);
            if is_last && few.all.is_empty() {
                return;
            }
            let others = is_last.then_some((&*few, sides));
            stays.extend(self.index, many, count, others);
            for span in &ours.all {
                for other in theirs.sharing(span, sides) {
                    let spans = [span, &theirs.all[other as usize]];
                    if duet.is_let(self.index, spans.map(|span| span.contexts(self.index))) {
                        self.find_in(duets, duet, &outlooks, spans, &goal);
                    }
                    if self.is_settled(&goal) || self.is_over() {
                        return;
                    }
                }
            }
            if self.is_found(&goal) || ours.is_complete() && theirs.is_complete() {
                return;
            }
        }
    }

    /// Finds what fits a duet in two spans.
    fn find_in(
        &mut self,
        duets: &Duets,
        duet: &Duet,
        outlooks: &[Outlook; 2],
        spans: [&Span; 2],
        goal: &Places,
    ) {
        // If locks do not let them, nothing does.
        let mut is_let = false;
        Meeting::new(self.index, [&spans[0].view, &spans[1].view], false).sweep(
            duet,
            false,
            &mut |_, _| {
                is_let = true;
                false
            },
        );
        if !is_let {
            return;
        }
        for [mine, other] in self.encounters(spans) {
            let times = [spans[0].times[mine].0, spans[1].times[other].0];
            let [Some(ours), Some(theirs)] = [0, 1].map(|unit| {
                let stays = &duets.stays;
                stays.view(self.index, times[unit], &outlooks[unit])
            }) else {
                continue;
            };
            let is_timed = !self.are_concurrent(&ours, &theirs);
            let mut tried = FxHashSet::default();
            let mut count = 0;
            // The best ones nearly always do; all others are gathered if none of them does.
            for (all, most) in [(false, TRIES as usize), (true, self.most_candidates())] {
                let mut found: Vec<[[u32; 4]; 2]> = Vec::new();
                let mut meeting = Meeting::new(self.index, [&ours, &theirs], is_timed);
                meeting.sweep(duet, all, &mut |x, y| {
                    let candidate = duet.candidate(x, y);
                    if tried.insert(candidate[1]) {
                        found.push(candidate);
                    }
                    found.len() < most
                });
                if all {
                    self.patience = self.patience.saturating_sub(found.len() as u64);
                    if found.len() >= most {
                        self.cut.insert(goal.clone());
                    }
                }
                for [groups, events] in &found {
                    if self.can_happen(&duet.units, groups, events)
                        && self.propose(goal, duet.pattern, events)
                    {
                        count += 1;
                    }
                    if count >= OF_TWO || self.is_settled(goal) || self.is_over() {
                        return;
                    }
                }
                if found.is_empty() || self.is_found(goal) {
                    break;
                }
            }
        }
    }

    fn are_concurrent(&self, ours: &View, theirs: &View) -> bool {
        let order = &self.index.order;
        let at = |view: &View, event: u32| (view.thread, order.moment(view.thread, event));
        !order.before(at(ours, ours.first), at(theirs, theirs.last))
            && !order.before(at(theirs, theirs.first), at(ours, ours.last))
    }

    /// Times of two spans of which neither must come wholly before the other, those first that
    /// are close to each other: the closer they are, the less has to be changed for them to
    /// meet.
    fn encounters(&self, spans: [&Span; 2]) -> impl Iterator<Item = [usize; 2]> + use<> {
        let order = &self.index.order;
        let [ours, theirs] = spans.map(|span| &span.times);
        let at = |unit: usize, moment: Moment| (spans[unit].view.thread, moment);
        let mut close: Vec<(u32, [usize; 2])> = Vec::new();
        let mut all: Vec<(usize, std::ops::Range<usize>)> = Vec::new();
        for (mine, (region, [begin, end])) in ours.iter().enumerate() {
            let is_early =
                |(_, time): &(u32, [Moment; 2])| order.before(at(1, time[1]), at(0, *begin));
            let is_late =
                |(_, time): &(u32, [Moment; 2])| order.before(at(0, *end), at(1, time[0]));
            let from = theirs.partition_point(is_early);
            let to = theirs.partition_point(|time| !is_late(time)).max(from);
            if from == to {
                continue;
            }
            let next = theirs.partition_point(|(other, _)| other < region);
            let next = next.clamp(from, to - 1);
            close.push((theirs[next].0.abs_diff(*region), [mine, next]));
            all.push((mine, from..to));
        }
        close.sort_unstable();
        let closest: Vec<[usize; 2]> = close.into_iter().map(|(_, two)| two).collect();
        let known: FxHashSet<[usize; 2]> = closest.iter().copied().collect();
        let all = all
            .into_iter()
            .flat_map(|(mine, range)| range.map(move |other| [mine, other]));
        let left = all.filter(move |two| !known.contains(two));
        closest.into_iter().chain(left)
    }
}
