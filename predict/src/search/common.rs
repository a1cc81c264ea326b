//! What two large regions have in common: of thousands of locations, as few pairs as
//! stand for all.
//!
//! Locations with which both regions do the same, at the same places and with the same
//! locks, between the same steps of synchronisation, are one *cell*. Two pairs of the same
//! two cells are told apart by nothing but the order of their accesses: in either region
//! one location can come before the other, or behind it, or both. For two cells there is
//! a pair here for each such combination that occurs, found in one sweep over their
//! members, so nothing is missed that locks or order allow.
//!
//! If regions synchronise so often that there are more than [`MANY`] cells, steps of
//! synchronisation are not told apart: then those at either end and those that follow
//! upon each other stand for all, besides those of the sweep. A pair in the middle that
//! is the only one that can happen may be missed then.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::index::Index;

/// More cells than so many are too many to look at each two of them.
const MANY: usize = 64;

/// How many of a cell stand for all at either end of a region.
const ENDS: usize = 2;

/// What a region does with a slot: for each access its place, its sort, its context and
/// how many nodes come before it.
type Trail = Vec<[u32; 4]>;

/// The first and the last access of a region to a slot.
type Span = (u32, u32);

/// A slot that both regions have.
#[derive(Clone, Copy)]
struct Member {
    slot: u32,
    /// By region.
    spans: [Span; 2],
}

impl Member {
    /// Whether a region accesses this before the other one.
    fn can_precede(&self, other: &Self, region: usize) -> bool {
        self.spans[region].0 < other.spans[region].1
    }
}

/// Pairs of slots that stand for all that two regions have in common. `is_open` tells
/// whether others can access a slot while one of the two lasts.
pub(super) fn pairs(
    index: &Index<'_>,
    regions: [usize; 2],
    is_open: impl Fn(u32) -> bool,
) -> FxHashSet<(u32, u32)> {
    let trails = regions.map(|number| trails(index, number));
    let mut cells = cells(&trails, &is_open, true);
    let is_coarse = cells.len() > MANY;
    if is_coarse {
        cells = self::cells(&trails, &is_open, false);
    }
    let mut found = FxHashSet::default();
    let mut add = |a: &Member, b: &Member| {
        if a.slot != b.slot && (is_open(a.slot) || is_open(b.slot)) {
            found.insert((a.slot.min(b.slot), a.slot.max(b.slot)));
        }
    };
    if cells.len() <= MANY {
        for first in &cells {
            for second in &cells {
                sweep(first, second, &mut add);
            }
        }
    }
    if is_coarse {
        add_ends(&cells, &mut add);
        add_neighbours(&cells, &mut add);
    }
    found
}

fn trails(index: &Index<'_>, number: usize) -> FxHashMap<u32, (Trail, Span)> {
    let region = &index.regions[number];
    let nodes = &index.nodes[region.thread.index()];
    let mut trails: FxHashMap<u32, (Trail, Span)> = FxHashMap::default();
    for &(group, event) in &region.accesses {
        let g = &index.groups[group as usize];
        let sorts = [g.reads, g.writes, g.atomic].map(u32::from);
        let sort = sorts[0] | sorts[1] << 1 | sorts[2] << 2 | u32::from(g.mask) << 8;
        let passed = nodes.partition_point(|n| n.event < event) as u32;
        let entry = trails.entry(g.slot);
        let (trail, span) = entry.or_insert_with(|| (Trail::new(), (event, event)));
        trail.push([g.site.0, sort, g.context.number(), passed]);
        span.1 = event;
    }
    trails
}

/// The members of each cell. Steps of synchronisation are told apart if that is wanted.
fn cells(
    trails: &[FxHashMap<u32, (Trail, Span)>; 2],
    is_open: &impl Fn(u32) -> bool,
    by_step: bool,
) -> Vec<Vec<Member>> {
    type Key = (bool, Trail, Trail);
    let mut numbers: FxHashMap<Key, usize> = FxHashMap::default();
    let mut cells: Vec<Vec<Member>> = Vec::new();
    let mut slots: Vec<u32> = trails[0].keys().copied().collect();
    slots.sort_unstable();
    for slot in slots {
        let (Some(ours), Some(theirs)) = (trails[0].get(&slot), trails[1].get(&slot)) else {
            continue;
        };
        let [a, b] = [&ours.0, &theirs.0].map(|trail| {
            let mut trail = trail.clone();
            if !by_step {
                trail.iter_mut().for_each(|access| access[3] = 0);
            }
            trail
        });
        let number = *numbers.entry((is_open(slot), a, b)).or_insert(cells.len());
        if number == cells.len() {
            cells.push(Vec::new());
        }
        let spans = [ours.1, theirs.1];
        cells[number].push(Member { slot, spans });
    }
    cells
}

/// Adds a pair of two cells in which the first can come before the second in the first
/// region, for either order in the second region.
fn sweep(first: &[Member], second: &[Member], add: &mut impl FnMut(&Member, &Member)) {
    let mut early: Vec<&Member> = first.iter().collect();
    early.sort_unstable_by_key(|member| member.spans[0].0);
    let mut late: Vec<&Member> = second.iter().collect();
    late.sort_unstable_by_key(|member| member.spans[0].1);
    let mut early = early.into_iter().peekable();
    // Those that come first and last in the second region; two, for one may be the
    // very same slot.
    let (mut soonest, mut latest): (Vec<&Member>, Vec<&Member>) = (Vec::new(), Vec::new());
    let mut left = [true; 2];
    for member in late {
        while let Some(next) = early.next_if(|next| next.can_precede(member, 0)) {
            soonest.push(next);
            soonest.sort_by_key(|m| m.spans[1].0);
            soonest.truncate(2);
            latest.push(next);
            latest.sort_by_key(|m| std::cmp::Reverse(m.spans[1].1));
            latest.truncate(2);
        }
        let mut take = |which: usize, other: Option<&&Member>| {
            if left[which]
                && let Some(other) = other
            {
                left[which] = false;
                add(other, member);
            }
        };
        let is_other = |m: &&&Member| m.slot != member.slot;
        let mut before = soonest.iter().filter(is_other);
        take(0, before.find(|m| m.can_precede(member, 1)));
        let mut behind = latest.iter().filter(is_other);
        take(1, behind.find(|m| member.can_precede(m, 1)));
        if left == [false; 2] {
            return;
        }
    }
}

/// Adds those at either end of either region: nothing else leaves more room in between.
fn add_ends(cells: &[Vec<Member>], add: &mut impl FnMut(&Member, &Member)) {
    let mut chosen: Vec<Member> = Vec::new();
    for cell in cells {
        for region in [0, 1] {
            let mut members = cell.clone();
            members.sort_unstable_by_key(|member| member.spans[region].0);
            chosen.extend(members.iter().take(ENDS));
            chosen.extend(members.iter().rev().take(ENDS));
        }
    }
    chosen.sort_unstable_by_key(|member| member.slot);
    chosen.dedup_by_key(|member| member.slot);
    for (i, a) in chosen.iter().enumerate() {
        for b in &chosen[i + 1..] {
            add(a, b);
        }
    }
}

/// Adds those that follow upon each other: nothing else leaves less room in between.
fn add_neighbours(cells: &[Vec<Member>], add: &mut impl FnMut(&Member, &Member)) {
    for region in [0, 1] {
        let numbered = cells.iter().enumerate();
        let mut order: Vec<(usize, Member)> = numbered
            .flat_map(|(number, cell)| cell.iter().map(move |member| (number, *member)))
            .collect();
        order.sort_unstable_by_key(|(_, member)| member.spans[region].0);
        let mut followed: FxHashMap<(usize, usize), usize> = FxHashMap::default();
        for two in order.windows(2) {
            let count = followed.entry((two[0].0, two[1].0)).or_default();
            *count += 1;
            if *count <= ENDS {
                add(&two[0].1, &two[1].1);
            }
        }
    }
}
