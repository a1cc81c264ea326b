//! Locations that two threads access together.
//!
//! A pattern on two variables wants both of them in a region of either thread. So two
//! locations of a region matter only if they are *mates*: another thread has both in a
//! region, too, and one of the two regions leaves room for others at one of them. In
//! a program that locks what it should there are hardly any; and a region with
//! thousands of locations need not be looked at pair by pair, only where another one
//! has two of them.
//!
//! A slot of eight bytes may hold two variables: a slot that two threads access in parts
//! is its own mate.
//!
//! # How many
//! Anomalies are told apart by their places. So of pairs with which two threads do the
//! same, at the same places, as many are taken as are ever tried for one set of places.
//!
//! Two large regions may have thousands of locations in common: both go through an
//! array. Of these, as many pairs are taken as stand for [all](super::common). Large
//! regions that differ in time only are one.

use racehound_trace::ThreadId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::context::ContextId;
use crate::index::Index;

use super::common;

/// A region with more locations is large.
pub(super) const LARGE: usize = 48;

/// Regions between two questions whether to stop.
const UNASKED: usize = 256;

/// So many pairs with which two threads do the same are looked at.
const ENOUGH: usize = 64;

type Pair = (u32, u32);

fn pair(a: u32, b: u32) -> Pair {
    (a.min(b), a.max(b))
}

/// A region's slots.
pub(super) struct Extent {
    pub(super) thread: ThreadId,
    /// Sorted.
    pub(super) slots: Vec<Part>,
}

/// A slot of a region.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) slot: u32,
    /// Whether others can access it while the region lasts.
    pub(super) is_open: bool,
    /// Whether it is accessed in parts.
    pub(super) is_split: bool,
    /// What the region does with it: the places and the sorts of its accesses.
    pub(super) dealing: Dealing,
}

/// What a region does with a slot, as a number.
pub(super) type Dealing = u32;

impl Extent {
    fn is_open(&self) -> bool {
        self.slots.iter().any(|part| part.is_open)
    }

    fn is_large(&self) -> bool {
        self.slots.len() > LARGE
    }

    fn find(&self, slot: u32) -> Option<&Part> {
        let at = self.slots.binary_search_by_key(&slot, |part| part.slot);
        at.ok().map(|at| &self.slots[at])
    }

    fn leaves_room_at(&self, slot: u32) -> bool {
        self.find(slot).is_some_and(|part| part.is_open)
    }

    /// What it does with two slots.
    fn manner(&self, a: &Part, b: &Part) -> Manner {
        let (first, second) = match a.slot < b.slot {
            true => (a, b),
            false => (b, a),
        };
        (self.thread, first.dealing, second.dealing)
    }
}

/// What a thread does with two slots in a region.
type Manner = (ThreadId, Dealing, Dealing);

/// Which slots are mates.
#[derive(Debug, Default)]
pub(super) struct Mates {
    pairs: FxHashSet<Pair>,
    /// How many there are of which two regions do the same.
    alike: FxHashMap<(Manner, Manner), usize>,
    by_slot: FxHashMap<u32, Vec<u32>>,
}

impl Mates {
    /// Of all regions; by region, its slots.
    pub(super) fn new(
        index: &mut Index<'_>,
        extents: &[Extent],
        wanted: &Wanted,
        stop: &mut dyn FnMut() -> bool,
    ) -> Self {
        let mut mates = Self::default();
        mates.add_split(extents);
        let large = Large::new(index, extents);
        for (number, extent) in extents.iter().enumerate() {
            if number.is_multiple_of(UNASKED) && stop() {
                break;
            }
            match extent.is_large() {
                false => mates.add_small(index, (number, extent), wanted, &large),
                true => mates.add_large(index, (number, extent), wanted),
            }
            if extent.is_large() && large.is_first(number) {
                for other in large.others(number) {
                    mates.add_common(index, (number, extent), (other, &extents[other]));
                }
            }
        }
        mates
    }

    pub(super) fn of(&self, slot: u32) -> &[u32] {
        self.by_slot.get(&slot).map_or(&[], Vec::as_slice)
    }

    pub(super) fn are(&self, a: u32, b: u32) -> bool {
        self.pairs.contains(&pair(a, b))
    }

    fn add(&mut self, a: u32, b: u32) {
        if self.pairs.insert(pair(a, b)) {
            self.by_slot.entry(a).or_default().push(b);
            if a != b {
                self.by_slot.entry(b).or_default().push(a);
            }
        }
    }

    /// Adds slots that are their own mates.
    fn add_split(&mut self, extents: &[Extent]) {
        let mut split: FxHashMap<u32, Split> = FxHashMap::default();
        for extent in extents {
            for part in extent.slots.iter().filter(|part| part.is_split) {
                let known = split.entry(part.slot).or_insert(Split {
                    thread: extent.thread,
                    by_several: false,
                    is_open: false,
                });
                known.by_several |= known.thread != extent.thread;
                known.is_open |= part.is_open;
            }
        }
        for (slot, split) in split {
            if split.by_several && split.is_open {
                self.add(slot, slot);
            }
        }
    }

    /// Adds two of one more region, unless there are enough of the same manner.
    fn add_one_more(&mut self, (a, b): Pair, ours: Manner, theirs: &[Manner]) {
        for manner in theirs {
            let count = self.alike.entry((ours, *manner)).or_default();
            if *count < ENOUGH {
                *count += 1;
                self.add(a, b);
            }
        }
    }

    fn add_small(
        &mut self,
        index: &mut Index<'_>,
        (number, extent): (usize, &Extent),
        wanted: &Wanted,
        large: &Large<'_>,
    ) {
        let known = |part: &&Part| {
            wanted.by_slot.contains_key(&part.slot) || large.open.contains_key(&part.slot)
        };
        let parts: Vec<&Part> = extent.slots.iter().filter(known).collect();
        for (i, a) in parts.iter().enumerate() {
            for b in &parts[i + 1..] {
                let slots = (a.slot, b.slot);
                if self.are(a.slot, b.slot) {
                    continue;
                }
                let mut theirs = wanted.by_others(index, number, slots);
                theirs.extend(large.open_elsewhere(extent, slots));
                self.add_one_more(slots, extent.manner(a, b), &theirs);
            }
        }
    }

    fn add_large(
        &mut self,
        index: &mut Index<'_>,
        (number, extent): (usize, &Extent),
        wanted: &Wanted,
    ) {
        for a in &extent.slots {
            let others = wanted.by_slot.get(&a.slot);
            for b in others.into_iter().flatten() {
                let Some(b) = extent.find(*b).filter(|b| !self.are(a.slot, b.slot)) else {
                    continue;
                };
                let slots = (a.slot, b.slot);
                let theirs = wanted.by_others(index, number, slots);
                self.add_one_more(slots, extent.manner(a, b), &theirs);
            }
        }
    }

    /// What two large regions have in common.
    fn add_common(&mut self, index: &Index<'_>, ours: (usize, &Extent), theirs: (usize, &Extent)) {
        if !ours.1.is_open() && !theirs.1.is_open() {
            return;
        }
        let leave_room = |slot| ours.1.leaves_room_at(slot) || theirs.1.leaves_room_at(slot);
        for (a, b) in common::pairs(index, [ours.0, theirs.0], leave_room) {
            self.add(a, b);
        }
    }
}

/// Regions that access a slot in parts.
struct Split {
    thread: ThreadId,
    /// Others than that thread have such, too.
    by_several: bool,
    /// One of them leaves room for others.
    is_open: bool,
}

/// Pairs of small regions at which these leave room for others.
#[derive(Default)]
pub(super) struct Wanted {
    by: FxHashMap<Pair, Rooms>,
    by_slot: FxHashMap<u32, Vec<u32>>,
}

/// Room that regions leave between their accesses to two slots.
#[derive(Default)]
struct Rooms {
    /// Who leaves it and how, for an access to which slot, and with which locks.
    all: Vec<Room>,
    /// There are more than are kept.
    overflows: bool,
}

type Room = (Manner, u32, ContextId);

impl Rooms {
    const MOST: usize = 16;

    fn add(&mut self, room: Room) {
        if self.overflows || self.all.contains(&room) {
            return;
        }
        self.overflows = self.all.len() == Self::MOST;
        if !self.overflows {
            self.all.push(room);
        }
    }
}

/// A slot of a region, while it is looked at.
pub(super) struct Visited {
    pub(super) slot: u32,
    pub(super) is_split: bool,
    pub(super) dealing: Dealing,
    /// The first and the last access to it.
    pub(super) first: u32,
    pub(super) last: u32,
    /// The contexts of gaps in which others can access it.
    pub(super) open: Vec<ContextId>,
}

impl Wanted {
    /// Adds a region. `between` tells the contexts of its gaps between two events.
    pub(super) fn add_region(
        &mut self,
        thread: ThreadId,
        slots: &[Visited],
        between: impl Fn(u32, u32) -> Vec<ContextId>,
    ) {
        if slots.len() > LARGE || slots.iter().all(|s| s.open.is_empty()) {
            return;
        }
        for (i, a) in slots.iter().enumerate() {
            for b in &slots[i + 1..] {
                if a.open.is_empty() && b.open.is_empty() {
                    continue;
                }
                let manner = (thread, a.dealing, b.dealing);
                let gaps = between(a.first.min(b.first), a.last.max(b.last));
                for visited in [a, b] {
                    let there = visited
                        .open
                        .iter()
                        .filter(|c| gaps.binary_search(c).is_ok());
                    for context in there {
                        self.add((a.slot, b.slot), (manner, visited.slot, *context));
                    }
                }
            }
        }
    }

    fn add(&mut self, (a, b): Pair, room: Room) {
        let rooms = self.by.entry(pair(a, b)).or_insert_with(|| {
            self.by_slot.entry(a).or_default().push(b);
            self.by_slot.entry(b).or_default().push(a);
            Rooms::default()
        });
        rooms.add(room);
    }

    /// How other threads leave room for a region with both.
    fn by_others(&self, index: &mut Index<'_>, number: usize, (a, b): Pair) -> Vec<Manner> {
        let Some(rooms) = self.by.get(&pair(a, b)) else {
            return Vec::new();
        };
        let Index {
            regions,
            groups,
            contexts,
            ..
        } = index;
        let region = &regions[number];
        let mut fits = |(manner, slot, room): &&Room| {
            manner.0 != region.thread
                && (rooms.overflows
                    || region.accesses.iter().any(|(group, _)| {
                        let g = &groups[*group as usize];
                        g.slot == *slot && contexts.can_coexist(*room, g.context)
                    }))
        };
        let mut manners: Vec<Manner> = Vec::new();
        for (manner, ..) in rooms.all.iter().filter(&mut fits) {
            if !manners.contains(manner) {
                manners.push(*manner);
            }
        }
        manners
    }
}

/// The large regions, without those that differ in time only from an earlier one.
struct Large<'e> {
    extents: &'e [Extent],
    first: FxHashSet<usize>,
    /// By slot: those that others can act in.
    open: FxHashMap<u32, Vec<usize>>,
    /// By slot: all.
    all: FxHashMap<u32, Vec<usize>>,
}

impl<'e> Large<'e> {
    fn new(index: &Index<'_>, extents: &'e [Extent]) -> Self {
        let mut large = Self {
            extents,
            first: FxHashSet::default(),
            open: FxHashMap::default(),
            all: FxHashMap::default(),
        };
        let mut known: FxHashSet<(Vec<u32>, u32)> = FxHashSet::default();
        for (number, extent) in extents.iter().enumerate().filter(|(_, e)| e.is_large()) {
            let region = &index.regions[number];
            let groups = region.accesses.iter().map(|(group, _)| *group).collect();
            let begins = region.accesses.first().map_or(0, |(_, event)| *event);
            if !known.insert((groups, index.order.moment(extent.thread, begins))) {
                continue;
            }
            large.first.insert(number);
            for part in &extent.slots {
                large.all.entry(part.slot).or_default().push(number);
                if extent.is_open() {
                    large.open.entry(part.slot).or_default().push(number);
                }
            }
        }
        large
    }

    fn is_first(&self, number: usize) -> bool {
        self.first.contains(&number)
    }

    /// Large regions of other threads, before this one, that have two of its slots.
    fn others(&self, number: usize) -> Vec<usize> {
        let extent = &self.extents[number];
        let mut counts: FxHashMap<usize, u32> = FxHashMap::default();
        for part in &extent.slots {
            for &other in self.all.get(&part.slot).map_or(&[][..], Vec::as_slice) {
                if other < number && self.extents[other].thread != extent.thread {
                    *counts.entry(other).or_default() += 1;
                }
            }
        }
        let mut others: Vec<usize> = counts
            .into_iter()
            .filter(|(_, count)| *count > 1)
            .map(|(other, _)| other)
            .collect();
        others.sort_unstable();
        others
    }

    /// How large regions of other threads leave room at one of two slots, having both.
    fn open_elsewhere(&self, extent: &Extent, (a, b): Pair) -> Vec<Manner> {
        let (Some(of_a), Some(of_b)) = (self.open.get(&a), self.open.get(&b)) else {
            return Vec::new();
        };
        let fewer = match of_a.len() <= of_b.len() {
            true => of_a,
            false => of_b,
        };
        let mut manners = Vec::new();
        for &number in fewer {
            let large = &self.extents[number];
            if large.thread == extent.thread {
                continue;
            }
            if let (Some(a), Some(b)) = (large.find(a), large.find(b))
                && (a.is_open || b.is_open)
            {
                manners.push(large.manner(a, b));
            }
        }
        manners.sort_unstable();
        manners.dedup();
        manners
    }
}
