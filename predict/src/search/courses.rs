//! What regions do with one or two locations, apart from which memory that is and when.
//!
//! An [`Excerpt`] of a region has its accesses to one slot or two. Its [`Course`] is what is
//! left of it without memory, time, thread and locks: the places and sorts of the
//! accesses, and in which contexts the thread stands at each and between two of them, as
//! numbers in the order in which they come up. Two courses and the [`Leave`] that the
//! contexts of one give those of the other tell all that locks have to say about them.

use std::ops::Range;

use racehound_trace::{SiteId, ThreadId};
use rustc_hash::FxHashMap;

use crate::context::ContextId;
use crate::index::{Group, Index};
use crate::order::{Moment, OrderGraph};
use crate::pattern::AccessType;

/// An access of a region.
#[derive(Clone, Copy)]
pub(super) struct Share {
    pub(super) slot: u32,
    event: u32,
    group: u32,
    /// How many nodes of its thread come up to it.
    passed: u32,
}

/// What regions access, by slot.
pub(super) struct Shares {
    regions: Vec<(ThreadId, Vec<Share>)>,
    by_slot: FxHashMap<u32, Vec<u32>>,
}

impl Shares {
    /// Of these regions; `keeps` is shown the accesses of each to a slot.
    pub(super) fn new(
        index: &Index<'_>,
        regions: &[usize],
        keeps: impl Fn(&[Share]) -> bool,
    ) -> Self {
        let mut shares = Self {
            regions: Vec::with_capacity(regions.len()),
            by_slot: FxHashMap::default(),
        };
        for &number in regions {
            let region = &index.regions[number];
            let nodes = &index.nodes[region.thread.index()];
            let share = |&(group, event): &(u32, u32)| Share {
                slot: index.groups[group as usize].slot,
                event,
                group,
                passed: nodes.partition_point(|n| n.event <= event) as u32,
            };
            let mut all: Vec<Share> = region.accesses.iter().map(share).collect();
            all.sort_by_key(|share| (share.slot, share.event));
            let mut own: Vec<Share> = Vec::with_capacity(all.len());
            let by_slot = all.chunk_by(|a, b| a.slot == b.slot);
            for of_slot in by_slot.filter(|shares| keeps(shares)) {
                let regions = shares.by_slot.entry(of_slot[0].slot).or_default();
                regions.push(shares.regions.len() as u32);
                own.extend(of_slot);
            }
            shares.regions.push((region.thread, own));
        }
        shares
    }

    /// All slots, sorted.
    pub(super) fn slots(&self) -> Vec<u32> {
        let mut slots: Vec<u32> = self.by_slot.keys().copied().collect();
        slots.sort_unstable();
        slots
    }

    /// The regions that have a slot.
    pub(super) fn regions(&self, slot: u32) -> impl Iterator<Item = u32> + '_ {
        self.by_slot.get(&slot).into_iter().flatten().copied()
    }
}

fn at(shares: &[Share], slot: u32) -> &[Share] {
    let start = shares.partition_point(|share| share.slot < slot);
    let count = shares[start..].partition_point(|share| share.slot == slot);
    &shares[start..start + count]
}

/// A course, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CourseId(u32);

/// An access of a course.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub(super) site: SiteId,
    reads: bool,
    writes: bool,
    /// To the second slot of the two.
    is_second: bool,
    mask: u8,
    /// Whether it is the same event as the one before.
    is_same: bool,
    pub(super) context: usize,
}

impl Stop {
    fn new(group: &Group, is_second: bool, is_same: bool, context: usize) -> Self {
        Self {
            site: group.site,
            reads: group.reads,
            writes: group.writes,
            is_second,
            mask: group.mask,
            is_same,
            context,
        }
    }

    fn fits(&self, access: AccessType) -> bool {
        match access {
            AccessType::Read => self.reads,
            AccessType::Write => self.writes,
        }
    }

    /// Whether two accesses of the same slots are to one variable.
    pub(super) fn same_variable(&self, other: &Self) -> bool {
        self.is_second == other.is_second && self.mask & other.mask != 0
    }

    fn words(&self) -> [u32; 2] {
        let sort = u32::from(self.reads)
            | u32::from(self.writes) << 1
            | u32::from(self.is_second) << 2
            | u32::from(self.is_same) << 3;
        [
            self.site.0,
            sort | u32::from(self.mask) << 8 | (self.context as u32) << 16,
        ]
    }
}

/// Accesses, and the contexts behind each of them up to the next.
#[derive(Debug, Default)]
pub(super) struct Course {
    pub(super) stops: Vec<Stop>,
    pub(super) between: Vec<Vec<usize>>,
}

impl Course {
    fn words(&self) -> Vec<u32> {
        let mut words = Vec::with_capacity(4 * self.stops.len());
        for (stop, contexts) in self.stops.iter().zip(&self.between) {
            words.extend(stop.words());
            words.push(contexts.len() as u32);
            words.extend(contexts.iter().map(|c| *c as u32));
        }
        words
    }

    /// All ways to have these accesses of these variables, one after the other, as
    /// numbers of stops.
    pub(super) fn choices(&self, wish: &Wish) -> Vec<Box<[usize]>> {
        let mut found = Vec::new();
        self.choose(wish, &mut Vec::new(), &mut found);
        found
    }

    fn choose(&self, wish: &Wish, chosen: &mut Vec<usize>, found: &mut Vec<Box<[usize]>>) {
        let Some(&(access, variable)) = wish.get(chosen.len()) else {
            found.push(chosen[..].into());
            return;
        };
        let from = chosen.last().map_or(0, |last| {
            let same = |stop: &&Stop| stop.is_same;
            last + 1 + self.stops[last + 1..].iter().take_while(same).count()
        });
        for number in from..self.stops.len() {
            let stop = &self.stops[number];
            let agrees = |(step, earlier): (usize, &usize)| {
                self.stops[*earlier].same_variable(stop) == (wish[step].1 == variable)
            };
            if stop.fits(access) && chosen.iter().enumerate().all(agrees) {
                chosen.push(number);
                self.choose(wish, chosen, found);
                chosen.pop();
            }
        }
    }
}

/// What a unit of a pattern wants: accesses, and of which of its variables.
pub(super) type Wish = Vec<(AccessType, usize)>;

/// What regions do with one slot or two, if it differs in time only.
pub(super) struct Excerpt {
    pub(super) thread: ThreadId,
    pub(super) course: CourseId,
    /// The contexts, by the course's numbers.
    pub(super) contexts: Vec<ContextId>,
    /// By stop.
    pub(super) groups: Vec<u32>,
    /// The events, for each time.
    pub(super) times: Vec<Vec<u32>>,
    /// The moments of the first and the last event, for each time.
    moments: Vec<[Moment; 2]>,
}

impl Excerpt {
    /// Whether there are times of which neither must come wholly before the other.
    pub(super) fn can_meet(&self, order: &OrderGraph, other: &Self) -> bool {
        let at = |moment: Moment| (self.thread, moment);
        let there = |moment: Moment| (other.thread, moment);
        self.moments.iter().any(|&[begin, end]| {
            let is_early = |theirs: &[Moment; 2]| order.before(there(theirs[1]), at(begin));
            let next = other.moments.partition_point(is_early);
            let theirs = other.moments.get(next);
            theirs.is_some_and(|theirs| !order.before(at(end), there(theirs[0])))
        })
    }
}

/// All courses.
#[derive(Default)]
pub(super) struct Courses {
    numbers: FxHashMap<Vec<u32>, CourseId>,
    all: Vec<Course>,
    whereabouts: Whereabouts,
}

impl Courses {
    pub(super) fn get(&self, id: CourseId) -> &Course {
        &self.all[id.0 as usize]
    }

    fn number(&mut self, course: Course) -> CourseId {
        let next = CourseId(self.all.len() as u32);
        let id = *self.numbers.entry(course.words()).or_insert(next);
        if id == next {
            self.all.push(course);
        }
        id
    }

    /// All accesses to a slot, each for itself, those of the same course one after the
    /// other.
    pub(super) fn singles(&mut self, index: &Index<'_>, slot: u32) -> Vec<Excerpt> {
        let mut excerpts: Vec<Excerpt> = Vec::new();
        for (id, group) in index.at(slot) {
            let moment = |event: u32| index.order.moment(group.thread, event);
            let course = Course {
                stops: vec![Stop::new(group, false, false, 0)],
                between: vec![Vec::new()],
            };
            excerpts.push(Excerpt {
                thread: group.thread,
                course: self.number(course),
                contexts: vec![group.context],
                groups: vec![id],
                times: group.ends().map(|event| vec![event]).collect(),
                moments: group.ends().map(|event| [moment(event); 2]).collect(),
            });
        }
        excerpts.sort_by_key(|excerpt| excerpt.course);
        excerpts
    }

    /// What regions do with two slots, or with one that is given twice; those of the same
    /// course one after the other.
    pub(super) fn excerpts(
        &mut self,
        index: &Index<'_>,
        shares: &Shares,
        (first, second): (u32, u32),
        regions: impl Iterator<Item = u32>,
    ) -> Vec<Excerpt> {
        type Key = (ThreadId, CourseId, Vec<ContextId>);
        let mut known: FxHashMap<Key, usize> = FxHashMap::default();
        let mut excerpts: Vec<Excerpt> = Vec::new();
        let mut accesses: Vec<(Share, bool)> = Vec::new();
        for region in regions {
            let (thread, own) = &shares.regions[region as usize];
            accesses.clear();
            accesses.extend(at(own, first).iter().map(|share| (*share, false)));
            if first != second {
                accesses.extend(at(own, second).iter().map(|share| (*share, true)));
                accesses.sort_by_key(|(share, _)| share.event);
            }
            let (course, contexts) = course(index, &mut self.whereabouts, *thread, &accesses);
            let key = (*thread, self.number(course), contexts);
            let events: Vec<u32> = accesses.iter().map(|(share, _)| share.event).collect();
            let ends = [events[0], events[events.len() - 1]];
            let ends = ends.map(|event| index.order.moment(*thread, event));
            let number = *known
                .entry(key)
                .or_insert_with_key(|(thread, course, contexts)| {
                    excerpts.push(Excerpt {
                        thread: *thread,
                        course: *course,
                        contexts: contexts.clone(),
                        groups: accesses.iter().map(|(share, _)| share.group).collect(),
                        times: Vec::new(),
                        moments: Vec::new(),
                    });
                    excerpts.len() - 1
                });
            let excerpt = &mut excerpts[number];
            if excerpt.moments.last() != Some(&ends) {
                excerpt.moments.push(ends);
                excerpt.times.push(events);
            }
        }
        excerpts.sort_by_key(|excerpt| excerpt.course);
        excerpts
    }
}

/// So few nodes are gone through one by one.
const FEW: usize = 32;

/// In which contexts threads stand, by thread: sorted by context, and then by node. Where a
/// whole thread is one region, there are thousands of nodes between two accesses, and hardly
/// any contexts.
#[derive(Default)]
struct Whereabouts {
    by_thread: FxHashMap<ThreadId, Vec<(ContextId, u32)>>,
}

impl Whereabouts {
    /// The contexts behind some nodes of a thread, in the order in which they come up.
    fn contexts(
        &mut self,
        index: &Index<'_>,
        thread: ThreadId,
        nodes: Range<usize>,
    ) -> Vec<ContextId> {
        let all = &index.nodes[thread.index()];
        if nodes.len() <= FEW {
            return all[nodes].iter().map(|node| node.context).collect();
        }
        let sorted = self.by_thread.entry(thread).or_insert_with(|| {
            let places = all.iter().zip(0..).map(|(node, at)| (node.context, at));
            let mut places: Vec<(ContextId, u32)> = places.collect();
            places.sort_unstable();
            places
        });
        let mut left = &sorted[..];
        let mut found: Vec<(u32, ContextId)> = Vec::new();
        while let Some(&(context, _)) = left.first() {
            let begin = left.partition_point(|place| *place < (context, nodes.start as u32));
            let first = left
                .get(begin)
                .filter(|(other, at)| *other == context && nodes.contains(&(*at as usize)));
            found.extend(first.map(|(_, at)| (*at, context)));
            left = &left[begin..];
            left = &left[left.partition_point(|(other, _)| *other == context)..];
        }
        found.sort_unstable();
        found.into_iter().map(|(_, context)| context).collect()
    }
}

/// The course of accesses, and its contexts.
fn course(
    index: &Index<'_>,
    whereabouts: &mut Whereabouts,
    thread: ThreadId,
    accesses: &[(Share, bool)],
) -> (Course, Vec<ContextId>) {
    let nodes = &index.nodes[thread.index()];
    let mut contexts: Vec<ContextId> = Vec::new();
    let mut numbers: FxHashMap<ContextId, usize> = FxHashMap::default();
    let mut number = |context: ContextId| {
        *numbers.entry(context).or_insert_with(|| {
            contexts.push(context);
            contexts.len() - 1
        })
    };
    let mut course = Course::default();
    for (i, (share, is_second)) in accesses.iter().enumerate() {
        let group: &Group = &index.groups[share.group as usize];
        let before = i.checked_sub(1).map(|before| accesses[before].0.event);
        let is_same = before == Some(share.event);
        let context = number(group.context);
        let stop = Stop::new(group, *is_second, is_same, context);
        course.stops.push(stop);
        let mut between: Vec<usize> = Vec::new();
        if let Some((next, _)) = accesses.get(i + 1).filter(|(n, _)| n.event > share.event) {
            let from = share.passed as usize;
            let here = from
                .checked_sub(1)
                .map_or(ContextId::FREE, |n| nodes[n].context);
            let count = nodes[from..].partition_point(|n| n.event < next.event);
            between.push(number(here));
            let within = whereabouts.contexts(index, thread, from..from + count);
            between.extend(within.into_iter().map(&mut number));
            between.sort_unstable();
            between.dedup();
        }
        course.between.push(between);
    }
    (course, contexts)
}

/// Which contexts of one excerpt let those of another: a bit for each two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leave {
    bits: u64,
    width: usize,
}

impl Leave {
    /// All let all: no two excerpts have more.
    pub(super) const ALL: Self = Self {
        bits: u64::MAX,
        width: 0,
    };

    /// `None` if there are too many.
    pub(super) fn new(index: &Index<'_>, ours: &Excerpt, theirs: &Excerpt) -> Option<Self> {
        let width = theirs.contexts.len();
        if ours.contexts.len() * width > u64::BITS as usize {
            return None;
        }
        let mut bits = 0;
        for (i, a) in ours.contexts.iter().enumerate() {
            for (j, b) in theirs.contexts.iter().enumerate() {
                let lets = index.contexts.can_coexist(*a, *b);
                bits |= u64::from(lets) << (i * width + j);
            }
        }
        Some(Self { bits, width })
    }

    pub(super) fn lets(self, ours: usize, theirs: usize) -> bool {
        self == Self::ALL || self.bits >> (ours * self.width + theirs) & 1 == 1
    }
}
