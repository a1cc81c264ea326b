//! What regions do at two places, one after the other.
//!
//! Anomalies on two variables are told apart by four places, two of either region. So a
//! region is looked at through two places at a time: its [`Span`] has the accesses there, to
//! whatever memory, and the lock contexts between them. Spans that do the same to the same
//! memory, with the same locks, differ in time only: a loop over an array is one, however
//! often it was executed, and whatever else the region did.
//!
//! Where a pattern has others act between the two accesses, an access counts only if others
//! can access its variable behind it, or before it. In a program that locks what it should
//! there are hardly any.

use std::cell::OnceCell;

use racehound_trace::{SiteId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::context::ContextId;
use crate::index::Index;
use crate::order::Moment;
use crate::pattern::AccessType;

use super::anchors::Openness;

/// A place, and what is done there, by its number.
pub(super) type Place = u32;

/// What must be open to others for a span to count: the first access's variable, behind it;
/// and the second one's, before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Need {
    pub(super) behind_first: bool,
    pub(super) before_second: bool,
}

/// Two places of a region, and where others access the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook {
    pub(super) places: [Place; 2],
    pub(super) need: Need,
    /// Where others access what is accessed at the first place, and at the second.
    pub(super) rivals: [Place; 2],
}

/// An access of a region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    place: Place,
    pub(super) event: u32,
    pub(super) group: u32,
    pub(super) slot: u32,
    pub(super) mask: u8,
    /// How many nodes of its thread come up to it.
    passed: u32,
    /// Whether others can access it later in the region, and earlier.
    open_behind: bool,
    open_before: bool,
}

/// A region's accesses, by place and then in order.
struct Stay {
    thread: ThreadId,
    visits: Vec<Visit>,
}

impl Stay {
    fn at(&self, place: Place) -> &[Visit] {
        let start = self.visits.partition_point(|visit| visit.place < place);
        let count = self.visits[start..].partition_point(|visit| visit.place == place);
        &self.visits[start..start + count]
    }

    fn firsts(&self, place: Place, need: Need) -> impl DoubleEndedIterator<Item = &Visit> {
        let counts = move |visit: &&Visit| visit.open_behind || !need.behind_first;
        self.at(place).iter().filter(counts)
    }

    fn seconds(&self, place: Place, need: Need) -> impl DoubleEndedIterator<Item = &Visit> {
        let counts = move |visit: &&Visit| visit.open_before || !need.before_second;
        self.at(place).iter().filter(counts)
    }
}

/// All regions, by place.
#[derive(Default)]
pub(super) struct Stays {
    all: Vec<Stay>,
    numbers: FxHashMap<(SiteId, AccessType), Place>,
    places: Vec<(SiteId, AccessType)>,
    /// By place: the regions that have it.
    by_place: Vec<Vec<u32>>,
    /// By place: those at which other threads access the same variables.
    conflicts: Vec<Vec<Place>>,
    /// By place: the contexts there.
    contexts: Vec<Set>,
    /// By place and slot: who accesses it there, and in which contexts.
    visitors: FxHashMap<(Place, u32), Vec<(ThreadId, ContextId)>>,
}

impl Stays {
    pub(super) fn new(index: &mut Index<'_>, openness: &mut Openness) -> Self {
        let mut stays = Self::default();
        for number in 0..index.regions.len() {
            stays.add(index, openness, number);
        }
        stays.find_conflicts();
        stays.find_contexts(index);
        stays
    }

    fn place(&mut self, site: SiteId, access: AccessType) -> Place {
        let next = self.places.len() as Place;
        let place = *self.numbers.entry((site, access)).or_insert(next);
        if place == next {
            self.places.push((site, access));
            self.by_place.push(Vec::new());
        }
        place
    }

    pub(super) fn site(&self, place: Place) -> SiteId {
        self.places[place as usize].0
    }

    pub(super) fn access(&self, place: Place) -> AccessType {
        self.places[place as usize].1
    }

    /// Places at which other threads access the same variables.
    pub(super) fn conflicts(&self, place: Place) -> &[Place] {
        &self.conflicts[place as usize]
    }

    fn add(&mut self, index: &mut Index<'_>, openness: &mut Openness, number: usize) {
        let region = &index.regions[number];
        let thread = region.thread;
        let accesses = region.accesses.clone();
        let (Some(&(_, first)), Some(&(_, last))) = (accesses.first(), accesses.last()) else {
            return;
        };
        let gaps = index.gaps(thread, first, last);
        let segments: Vec<Segment> = gaps.map(|gap| (gap.event, gap.context)).collect();
        let mut rooms: FxHashMap<(u32, u8), Option<(u32, u32)>> = FxHashMap::default();
        let mut visits = Vec::with_capacity(accesses.len());
        let nodes = &index.nodes[thread.index()];
        let mut passed = nodes.partition_point(|node| node.event <= first) as u32;
        for (group, event) in accesses {
            let nodes = &index.nodes[thread.index()];
            while nodes
                .get(passed as usize)
                .is_some_and(|node| node.event <= event)
            {
                passed += 1;
            }
            let g = &index.groups[group as usize];
            let (slot, mask, site) = (g.slot, g.mask, g.site);
            let sorts = [(g.reads, AccessType::Read), (g.writes, AccessType::Write)];
            let room = *rooms
                .entry((slot, mask))
                .or_insert_with(|| room(index, openness, group, &segments));
            for (_, access) in sorts.into_iter().filter(|(is, _)| *is) {
                visits.push(Visit {
                    place: self.place(site, access),
                    event,
                    group,
                    slot,
                    mask,
                    passed,
                    open_behind: room.is_some_and(|(_, until)| until > event),
                    open_before: room.is_some_and(|(from, _)| from < event),
                });
            }
        }
        visits.sort_by_key(|visit| (visit.place, visit.event));
        let own = self.all.len() as u32;
        for of_place in visits.chunk_by(|a, b| a.place == b.place) {
            self.by_place[of_place[0].place as usize].push(own);
        }
        self.all.push(Stay { thread, visits });
    }

    fn find_contexts(&mut self, index: &Index<'_>) {
        self.contexts = vec![Set::new(); self.places.len()];
        for stay in &self.all {
            for visit in &stay.visits {
                let contexts = &mut self.contexts[visit.place as usize];
                let context = index.groups[visit.group as usize].context;
                if contexts.last() != Some(&context) {
                    contexts.push(context);
                }
                let visitors = self.visitors.entry((visit.place, visit.slot)).or_default();
                if !visitors.contains(&(stay.thread, context)) {
                    visitors.push((stay.thread, context));
                }
            }
        }
        for contexts in &mut self.contexts {
            contexts.sort_unstable();
            contexts.dedup();
        }
    }

    /// The contexts of accesses at a place.
    pub(super) fn contexts(&self, place: Place) -> &Set {
        &self.contexts[place as usize]
    }

    /// Two places conflict if threads access one variable there.
    fn find_conflicts(&mut self) {
        let mut by_slot: FxHashMap<u32, Vec<(Place, u8, ThreadId)>> = FxHashMap::default();
        for stay in &self.all {
            for visit in &stay.visits {
                let own = by_slot.entry(visit.slot).or_default();
                let this = (visit.place, visit.mask, stay.thread);
                // A loop has the same again and again.
                if own.last() != Some(&this) {
                    own.push(this);
                }
            }
        }
        let mut found: FxHashSet<(Place, Place)> = FxHashSet::default();
        let mut known: FxHashSet<Vec<(Place, u8, ThreadId)>> = FxHashSet::default();
        for (_, mut own) in by_slot {
            own.sort_unstable();
            own.dedup();
            if !known.insert(own.clone()) {
                continue;
            }
            for (i, a) in own.iter().enumerate() {
                for b in &own[i + 1..] {
                    if a.1 & b.1 != 0 && a.2 != b.2 && !found.contains(&(a.0, b.0)) {
                        found.insert((a.0, b.0));
                        found.insert((b.0, a.0));
                    }
                }
            }
        }
        self.conflicts = vec![Vec::new(); self.places.len()];
        let mut found: Vec<(Place, Place)> = found.into_iter().collect();
        found.sort_unstable();
        for (a, b) in found {
            self.conflicts[a as usize].push(b);
        }
    }

    /// Places of which some region has the first before the second, sorted.
    pub(super) fn successions(&self, need: Need) -> Vec<(Place, Place)> {
        let mut found: FxHashSet<(Place, Place)> = FxHashSet::default();
        let mut known: FxHashSet<Vec<(bool, Place)>> = FxHashSet::default();
        for stay in &self.all {
            // Where each place begins as a first one, and where it ends as a second one: that
            // is before the first ones of the same event, if need be.
            let mut ends: Vec<(u32, bool, Place)> = Vec::new();
            for of_place in stay.visits.chunk_by(|a, b| a.place == b.place) {
                let place = of_place[0].place;
                let begins = stay.firsts(place, need).next();
                ends.extend(begins.map(|visit| (visit.event, true, place)));
                let stops = stay.seconds(place, need).next_back();
                ends.extend(stops.map(|visit| (visit.event, false, place)));
            }
            ends.sort_unstable();
            let order = ends.iter().map(|(_, is_first, place)| (*is_first, *place));
            if !known.insert(order.collect()) {
                continue;
            }
            for (i, (_, is_first, first)) in ends.iter().enumerate() {
                let behind = ends[i + 1..].iter().filter(|(_, is_first, _)| !is_first);
                if *is_first {
                    found.extend(behind.map(|(.., second)| (*first, *second)));
                }
            }
        }
        let mut found: Vec<(Place, Place)> = found.into_iter().collect();
        found.sort_unstable();
        found
    }

    /// The regions that have both places.
    fn with_both(&self, places: [Place; 2]) -> Vec<u32> {
        let [ours, theirs] = places.map(|place| &self.by_place[place as usize]);
        let mut theirs = theirs.iter().peekable();
        let is_theirs = |region: &&u32| {
            while theirs.next_if(|other| other < region).is_some() {}
            theirs.peek() == Some(region)
        };
        ours.iter().filter(is_theirs).copied().collect()
    }

    /// Where regions stand between two places, where it counts.
    pub(super) fn gaps(&self, index: &Index<'_>, places: [Place; 2], need: Need) -> Set {
        let mut found: FxHashSet<ContextId> = FxHashSet::default();
        for region in self.with_both(places) {
            if let Some((first, last)) = self.ends(region, places, need) {
                let thread = self.all[region as usize].thread;
                let segments = segments(index, thread, first, last.event);
                found.extend(segments.map(|(_, context)| context));
            }
        }
        let mut found: Set = found.into_iter().collect();
        found.sort_unstable();
        found
    }

    /// The first access at the first place and the last one at the second.
    fn ends(&self, region: u32, places: [Place; 2], need: Need) -> Option<(&Visit, &Visit)> {
        let stay = &self.all[region as usize];
        let first = stay.firsts(places[0], need).next()?;
        let last = stay.seconds(places[1], need).next_back()?;
        (first.event < last.event).then_some((first, last))
    }

    /// What regions do at two places, where it counts; nothing is looked at yet.
    pub(super) fn spans(&self, outlook: Outlook) -> Spans {
        let places = outlook.places;
        Spans {
            outlook,
            regions: self.with_both(places),
            taken: 0,
            all: Vec::new(),
            known: FxHashMap::default(),
            by_slot: Default::default(),
        }
    }

    /// Looks at more regions, until it is so many; only at those that share slots with others,
    /// if these are given: `sides` tells which of their places goes with the first of these
    /// and which with the second.
    pub(super) fn extend(
        &self,
        index: &Index<'_>,
        spans: &mut Spans,
        count: usize,
        others: Option<(&Spans, [usize; 2])>,
    ) {
        let end = count.min(spans.regions.len()).max(spans.taken);
        for span in &mut spans.all {
            span.has_grown = false;
        }
        for at in spans.taken..end {
            let region = spans.regions[at];
            let stay = &self.all[region as usize];
            let visits = spans.outlook.places.map(|place| stay.at(place));
            if others.is_some_and(|(others, sides)| !others.meet(stay.thread, visits, sides)) {
                continue;
            }
            let Some(view) = self.view(index, region, &spans.outlook) else {
                continue;
            };
            let ends = [view.first, view.last].map(|event| index.order.moment(view.thread, event));
            let next = spans.all.len();
            let number = *spans.known.entry(view.key()).or_insert(next);
            if number == next {
                spans.add(view);
            }
            let span = &mut spans.all[number];
            if span
                .times
                .last()
                .is_none_or(|(_, moments)| *moments != ends)
            {
                span.times.push((region, ends));
                span.has_grown = true;
            }
        }
        spans.taken = end;
    }

    /// What a region does at two places, if it does it one after the other.
    pub(super) fn view(&self, index: &Index<'_>, region: u32, outlook: &Outlook) -> Option<View> {
        let &Outlook {
            places,
            need,
            rivals,
        } = outlook;
        let stay = &self.all[region as usize];
        let (start, end) = self.ends(region, places, need)?;
        let (first, last) = (start.event, end.event);
        let is_within = |visit: &Visit| (first..=last).contains(&visit.event);
        let segments: Vec<Segment> = segments(index, stay.thread, start, last).collect();
        // Whether there is somebody whom the locks of this region let at the other place.
        let is_met = |visit: &Visit, rival: Place| {
            let visitors = self.visitors.get(&(rival, visit.slot));
            visitors.into_iter().flatten().any(|(thread, context)| {
                let lets = |segment: &Segment| index.contexts.can_coexist(segment.1, *context);
                *thread != stay.thread && segments.iter().any(lets)
            })
        };
        let is_first =
            |visit: &&Visit| is_within(visit) && (!need.behind_first || is_met(visit, rivals[0]));
        let is_second =
            |visit: &&Visit| is_within(visit) && (!need.before_second || is_met(visit, rivals[1]));
        let firsts: Vec<Visit> = { stay.firsts(places[0], need) }
            .filter(is_first)
            .copied()
            .collect();
        if firsts.is_empty() {
            return None;
        }
        let seconds: Vec<Visit> = { stay.seconds(places[1], need) }
            .filter(is_second)
            .copied()
            .collect();
        if seconds.is_empty() {
            return None;
        }
        let sorted = |visits: Vec<Visit>| {
            let mut visits = visits;
            visits.sort_by_key(|visit| (visit.slot, visit.event));
            visits
        };
        Some(View {
            thread: stay.thread,
            first,
            last,
            visits: [sorted(firsts), sorted(seconds)],
            segments,
        })
    }
}

/// Where a context begins: behind which event.
pub(super) type Segment = (u32, ContextId);

/// The contexts from a visit to a later event of its thread, as [`Index::gaps`] has them.
fn segments<'i>(
    index: &'i Index<'_>,
    thread: ThreadId,
    from: &Visit,
    to: u32,
) -> impl Iterator<Item = Segment> + 'i {
    let (passed, event) = (from.passed as usize, from.event);
    let nodes = &index.nodes[thread.index()];
    let here = passed
        .checked_sub(1)
        .map_or(ContextId::FREE, |last| nodes[last].context);
    let within = nodes[passed..]
        .iter()
        .take_while(move |node| node.event < to);
    std::iter::once((event, here)).chain(within.map(|node| (node.event, node.context)))
}

/// From where on and until where others can access what a group does, if at all.
fn room(
    index: &mut Index<'_>,
    openness: &mut Openness,
    group: u32,
    segments: &[Segment],
) -> Option<(u32, u32)> {
    let mut is_open = |(_, context): &Segment| openness.is_open(index, group, *context);
    let from = segments.iter().position(&mut is_open)?;
    let until = segments.iter().rposition(is_open)?;
    let end = segments
        .get(until + 1)
        .map_or(u32::MAX, |(event, _)| *event);
    Some((segments[from].0, end))
}

/// What one execution of a region does at two places.
pub(super) struct View {
    pub(super) thread: ThreadId,
    pub(super) first: u32,
    pub(super) last: u32,
    /// The accesses at the first place and those at the second, by slot and then in order.
    pub(super) visits: [Vec<Visit>; 2],
    pub(super) segments: Vec<Segment>,
}

impl View {
    /// The same for those that differ in time only.
    fn key(&self) -> Vec<u32> {
        let mut all: Vec<(u32, u32)> = Vec::new();
        for (side, visits) in (0..).zip(&self.visits) {
            all.extend(visits.iter().map(|v| (v.event, v.group << 1 | side)));
        }
        all.sort_unstable();
        let mut words = Vec::with_capacity(2 * all.len() + 2 * self.segments.len() + 1);
        words.push(self.thread.0);
        let mut segments = self.segments.iter().peekable();
        let mut last = u32::MAX;
        for (event, word) in all {
            while let Some((_, context)) = segments.next_if(|(start, _)| *start <= event) {
                words.extend([u32::MAX, context.number()]);
            }
            if event == last {
                words.push(u32::MAX - 1);
            }
            last = event;
            words.push(word);
        }
        words
    }
}

/// Lock contexts, sorted.
pub(super) type Set = Vec<ContextId>;

/// The contexts of spans.
#[derive(Clone, Debug, Default)]
struct Sets {
    /// Of places to stand between two accesses.
    gaps: Set,
    /// Of the accesses, by place.
    visits: [Set; 2],
}

impl Sets {
    fn new(index: &Index<'_>, view: &View) -> Self {
        let context = |visit: &Visit| index.groups[visit.group as usize].context;
        let sets = Self {
            gaps: view.segments.iter().map(|(_, context)| *context).collect(),
            visits: [0, 1].map(|side: usize| view.visits[side].iter().map(context).collect()),
        };
        sets.sorted()
    }

    fn sorted(mut self) -> Self {
        for set in [&mut self.gaps].into_iter().chain(&mut self.visits) {
            set.sort_unstable();
            set.dedup();
        }
        self
    }
}

/// Executions of regions that do the same at two places.
pub(super) struct Span {
    /// The first of them.
    pub(super) view: View,
    sets: OnceCell<Sets>,
    /// The regions, with the moments of their ends.
    pub(super) times: Vec<(u32, [Moment; 2])>,
    /// Whether there are more of these than before.
    pub(super) has_grown: bool,
}

impl Span {
    /// The contexts between its accesses, and of either.
    pub(super) fn contexts(&self, index: &Index<'_>) -> (&[ContextId], [&[ContextId]; 2]) {
        let sets = self.sets.get_or_init(|| Sets::new(index, &self.view));
        let [first, second] = &sets.visits;
        (&sets.gaps, [first, second])
    }

    /// The slots at one of its places, sorted.
    fn slots(&self, side: usize) -> impl Iterator<Item = u32> + '_ {
        let alike = self.view.visits[side].chunk_by(|a, b| a.slot == b.slot);
        alike.map(|visits| visits[0].slot)
    }

    /// Whether two spans share a slot at these places.
    fn shares(&self, side: usize, other: &Self, its: usize) -> bool {
        let (mut few, mut many) = (&self.view.visits[side][..], &other.view.visits[its][..]);
        if few.len() > many.len() {
            std::mem::swap(&mut few, &mut many);
        }
        few.iter().any(|visit| {
            many = &many[many.partition_point(|other| other.slot < visit.slot)..];
            many.first().is_some_and(|other| other.slot == visit.slot)
        })
    }
}

/// Spans of two places.
pub(super) struct Spans {
    outlook: Outlook,
    /// All regions that have both places, and how many of them have been looked at.
    regions: Vec<u32>,
    taken: usize,
    pub(super) all: Vec<Span>,
    known: FxHashMap<Vec<u32>, usize>,
    /// By place and slot.
    by_slot: [FxHashMap<u32, Vec<u32>>; 2],
}

impl Spans {
    fn add(&mut self, view: View) {
        let number = self.all.len() as u32;
        let span = Span {
            view,
            sets: OnceCell::new(),
            times: Vec::new(),
            has_grown: true,
        };
        for side in [0, 1] {
            for slot in span.slots(side) {
                self.by_slot[side].entry(slot).or_default().push(number);
            }
        }
        self.all.push(span);
    }

    /// How many there will be, as far as one can tell.
    pub(super) fn estimate(&self) -> usize {
        self.all.len() * self.regions.len() / self.taken.max(1)
    }

    /// Whether one of them shares slots with visits of another thread to two places: `sides`
    /// tells which of its places goes with the first and which with the second.
    fn meet(&self, thread: ThreadId, visits: [&[Visit]; 2], sides: [usize; 2]) -> bool {
        let with = |side: usize| {
            let slots = visits[side].iter().map(|visit| visit.slot);
            slots.flat_map(move |slot| self.having(sides[side], slot))
        };
        let count = |side: usize| -> usize {
            let slots = visits[side].iter().map(|visit| visit.slot);
            slots.map(|slot| self.having(sides[side], slot).len()).sum()
        };
        let side = usize::from(count(1) < count(0));
        let (other, its) = (visits[1 - side], sides[1 - side]);
        { with(side) }.any(|number| {
            let view = &self.all[*number as usize].view;
            let theirs = &view.visits[its];
            let shares = |visit: &Visit| {
                let found = theirs.binary_search_by_key(&visit.slot, |its| its.slot);
                found.is_ok()
            };
            view.thread != thread && other.iter().any(shares)
        })
    }

    /// Whether all regions have been looked at.
    pub(super) fn is_complete(&self) -> bool {
        self.taken == self.regions.len()
    }

    fn having(&self, side: usize, slot: u32) -> &[u32] {
        self.by_slot[side].get(&slot).map_or(&[], Vec::as_slice)
    }

    /// Those of other threads that share slots with a span at both places, if either has grown:
    /// `sides` tells which of their places goes with its first and which with its second.
    pub(super) fn sharing(&self, span: &Span, sides: [usize; 2]) -> Vec<u32> {
        let count = |side: usize| -> usize {
            let slots = span.slots(side);
            slots.map(|slot| self.having(sides[side], slot).len()).sum()
        };
        let side = usize::from(count(1) < count(0));
        let slots = span.slots(side);
        let with = slots.flat_map(|slot| self.having(sides[side], slot));
        let mut found: Vec<u32> = with.copied().collect();
        found.sort_unstable();
        found.dedup();
        found.retain(|other| {
            let other = &self.all[*other as usize];
            other.view.thread != span.view.thread && span.shares(1 - side, other, sides[1 - side])
        });
        found
    }
}
