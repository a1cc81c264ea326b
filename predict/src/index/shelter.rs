//! Locations that stay sheltered: whoever accesses them in a region keeps a lock that
//! protects them until the region is over, or at least until it accesses nothing of interest
//! any more.
//!
//! # Why these are of no interest
//! In an anomaly of two regions with one variable or two, one of the regions accesses a
//! variable, then the other one does, and then the first one goes on to its other access.
//! So there is a variable that a region *lets go*: it stands somewhere between that access
//! and a later one, and holds nothing that protects the variable. The other variable is
//! what the region accesses then. A location that no region lets go, nor accesses after it
//! has let go of something, is in no such anomaly; and what one lock protects does not
//! race. A program with nested locks has many contexts for each location, and hardly any of
//! these locations left.
//!
//! A lock that is held for reading protects nothing here: others may read meanwhile.

use racehound_trace::{Mode, SyncId};

use super::{Act, Index, Settings, Slots};
use crate::context::ContextId;
use crate::regions::RegionId;

/// What a thread has done in its present region.
#[derive(Clone, Debug, Default)]
struct Stay {
    region: Option<RegionId>,
    /// By lock that is held: what it protects of what was accessed.
    sections: Vec<(SyncId, Vec<u32>)>,
    /// What was accessed and is protected no longer.
    free: Vec<u32>,
    /// Whether something was let go, be it still in `free` or not.
    is_free: bool,
}

impl Stay {
    fn clear(&mut self) {
        self.sections
            .iter_mut()
            .for_each(|(_, slots)| slots.clear());
        self.free.clear();
        self.is_free = false;
    }

    /// A slot is protected by this lock, if by any.
    fn put(&mut self, slot: u32, lock: Option<SyncId>) {
        let Some(lock) = lock else {
            self.free.push(slot);
            self.is_free = true;
            return;
        };
        let known = self.sections.iter().position(|(l, _)| *l == lock);
        let at = known.unwrap_or_else(|| {
            self.sections.push((lock, Vec::new()));
            self.sections.len() - 1
        });
        let slots = &mut self.sections[at].1;
        if slots.last() != Some(&slot) {
            slots.push(slot);
        }
    }
}

impl Index<'_> {
    /// Of slots that are of interest, those that do not stay sheltered. `common` has the locks
    /// that protect every access to a slot.
    pub(super) fn unsheltered<'c>(
        &self,
        settings: &Settings,
        slots: &Slots,
        interesting: &[bool],
        common: &dyn Fn(u32) -> &'c [SyncId],
    ) -> Vec<bool> {
        let is_bare = |(slot, is): (usize, &bool)| *is && common(slot as u32).is_empty();
        let mut kept: Vec<bool> = interesting.iter().enumerate().map(is_bare).collect();
        let mut regions = settings.regions.clone();
        let mut slots = slots.by_event();
        let mut passed = vec![0; self.nodes.len()];
        let mut stays = vec![Stay::default(); self.nodes.len()];
        for (at, event) in self.trace.events.iter().enumerate() {
            let (at, t) = (at as u32, event.thread.index());
            let region = regions.step(event);
            let stay = &mut stays[t];
            if event.op.access().is_none() {
                let nodes = &self.nodes[t];
                while passed[t] < nodes.len() && nodes[passed[t]].event <= at {
                    passed[t] += 1;
                }
                let node = passed[t].checked_sub(1).map(|last| &nodes[last]);
                if let Some(node) = node.filter(|node| node.event == at)
                    && let Act::Release(lock) = node.act
                    && let Some(own) = stay.sections.iter().position(|(l, _)| *l == lock)
                {
                    let (_, mut slots) = stay.sections.swap_remove(own);
                    // Nothing comes after the end of a region.
                    if regions.root(event.thread).is_some() {
                        for slot in slots.drain(..) {
                            stay.put(slot, self.guard(node.context, common(slot)));
                        }
                    }
                }
                continue;
            }
            for (slot, _) in slots.of(at) {
                if !interesting[slot as usize] || region.is_none() {
                    continue;
                }
                if stay.region != region {
                    stay.clear();
                    stay.region = region;
                }
                if stay.is_free {
                    for slot in stay.free.drain(..) {
                        kept[slot as usize] = true;
                    }
                    kept[slot as usize] = true;
                }
                let context = match passed[t] {
                    0 => ContextId::FREE,
                    n => self.nodes[t][n - 1].context,
                };
                stay.put(slot, self.guard(context, common(slot)));
            }
        }
        kept
    }

    /// One of these locks that a context has for itself.
    fn guard(&self, context: ContextId, locks: &[SyncId]) -> Option<SyncId> {
        let mut held = self.contexts.locks(context);
        let guards =
            |(lock, mode): &(SyncId, Mode)| *mode == Mode::Exclusive && locks.contains(lock);
        held.find(guards).map(|(lock, _)| lock)
    }
}
