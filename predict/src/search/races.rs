//! Data races: two accesses of two threads that nothing orders and that no lock
//! keeps apart.

use racehound_trace::ThreadId;

use crate::context::ContextId;
use crate::index::{Group, Index, Spell};
use crate::pattern::{AccessType, Kind};

use super::{ANY_RACE, Search, TRIES, same_variable};

impl Search<'_, '_> {
    pub(super) fn find_races(&mut self) {
        // What one lock protects does not race, in however many contexts it is accessed.
        let is_free = |slot: &u32| !self.index.common.contains_key(slot);
        let slots: Vec<u32> = self.index.slots().filter(is_free).collect();
        for slot in slots {
            self.races_at(slot);
        }
    }

    fn races_at(&mut self, slot: u32) {
        // Who is in the same place as far as threads and locks go, stands or falls
        // together; and one of the two has to write.
        let index = &*self.index;
        let mut groups: Vec<(ThreadId, ContextId, u32)> = index
            .at(slot)
            .map(|(id, g)| (g.thread, g.context, id))
            .collect();
        groups.sort_unstable();
        let writes = |(_, _, id): &&(ThreadId, ContextId, u32)| index.groups[*id as usize].writes;
        let writers: Vec<_> = groups.iter().filter(writes).copied().collect();
        let bundles = |groups: &[(ThreadId, ContextId, u32)]| -> Vec<Vec<u32>> {
            let alike = groups.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
            let ids = alike.map(|bundle| bundle.iter().map(|(_, _, id)| *id).collect());
            ids.collect()
        };
        let (writers, groups) = (bundles(&writers), bundles(&groups));
        for ours in &writers {
            for theirs in &groups {
                let [here, there] = [ours[0], theirs[0]].map(|id| {
                    let group = &self.index.groups[id as usize];
                    (group.thread, group.context)
                });
                if here.0 == there.0 || !self.index.contexts.can_coexist(here.1, there.1) {
                    continue;
                }
                for &a in ours {
                    for &b in theirs {
                        // Two that write come here from either side.
                        if a < b || !self.index.groups[b as usize].writes {
                            self.pair(a, b);
                        }
                    }
                }
            }
        }
    }

    fn pair(&mut self, a: u32, b: u32) {
        if self.is_over() {
            return;
        }
        let (first, second) = (
            &self.index.groups[a as usize],
            &self.index.groups[b as usize],
        );
        if !same_variable(first, second)
            || !(first.writes || second.writes)
            || (first.atomic && second.atomic)
        {
            return;
        }
        let mut sites = vec![first.site, second.site];
        sites.sort_unstable();
        let known = sites.iter().all(|site| self.racing.contains(site));
        let places = (ANY_RACE, sites);
        if known && self.is_settled(&places) {
            return;
        }
        // The first ones nearly always do.
        for (passed, count) in [
            (0, TRIES as usize),
            (TRIES as usize, self.most_candidates()),
        ] {
            let groups = [a, b].map(|id| &self.index.groups[id as usize]);
            let meetings = meetings(self.index, groups[0], groups[1]);
            let meetings: Vec<[u32; 2]> = meetings.skip(passed).take(count).collect();
            if meetings.is_empty() {
                return;
            }
            if passed > 0 && meetings.len() >= count {
                self.cut.insert(places.clone());
            }
            self.racing.extend(&places.1);
            for mut events in meetings {
                if self.is_settled(&places) {
                    return;
                }
                events.sort_unstable();
                // One of these is enough: others are about the same.
                if let Some(pattern) = self.race_pattern(events)
                    && self.propose(&places, pattern, &events)
                {
                    return;
                }
            }
        }
    }

    /// The pattern that two accesses fit in this order.
    fn race_pattern(&self, events: [u32; 2]) -> Option<usize> {
        let access = |event: u32| {
            let op = self.index.trace.events[event as usize].op;
            match AccessType::Write.matches(&op) {
                true => AccessType::Write,
                false => AccessType::Read,
            }
        };
        let wanted = events.map(access);
        self.patterns
            .iter()
            .position(|p| p.kind() == Kind::Race && p.steps().iter().map(|s| s.access).eq(wanted))
    }
}

/// Accesses of two groups that nothing orders.
fn meetings<'a>(
    index: &'a Index<'_>,
    a: &'a Group,
    b: &'a Group,
) -> impl Iterator<Item = [u32; 2]> + 'a {
    let order = &index.order;
    let other = b.thread;
    a.spells.iter().flat_map(move |spell| {
        let at = (a.thread, spell.moment);
        let from = b
            .spells
            .partition_point(|s| order.before((other, s.moment), at));
        let open = move |s: &&Spell| !order.before(at, (other, s.moment));
        let concurrent = b.spells[from..].iter().take_while(open);
        concurrent.flat_map(move |s| closest_first(spell, s))
    })
}

/// Accesses of two spells, those first that are close to each other: the closer
/// they are, the less has to be changed for them to meet.
fn closest_first(a: &Spell, b: &Spell) -> impl Iterator<Item = [u32; 2]> + use<> {
    let closest = match (a.last < b.first, b.last < a.first) {
        (true, _) => [a.last, b.first],
        (_, true) => [a.first, b.last],
        _ => [a.first, b.first],
    };
    let all = [closest, [a.first, b.first], [a.last, b.last]];
    let first_of_its_kind = move |i: &usize| !all[..*i].contains(&all[*i]);
    (0..all.len())
        .filter(first_of_its_kind)
        .map(move |i| all[i])
}
