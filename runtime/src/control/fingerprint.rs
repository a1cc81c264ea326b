//! A number that tells executions apart: the same one for the same steps of the
//! same threads at the same places.

use racehound_trace::{Loc, Op, SiteId};
use rustc_hash::FxHashMap;

/// The steps so far.
#[derive(Default)]
pub(super) struct Fingerprint {
    value: u64,
    /// Locations by the order in which they first take part: where they are in
    /// memory does not matter.
    locations: FxHashMap<Loc, u64>,
}

impl Fingerprint {
    /// Adds a step.
    pub(super) fn step(&mut self, thread: u32, op: Option<&Op>, site: SiteId, timed_out: bool) {
        let (kind, object) = match op {
            None => (0, 0),
            Some(op) => (1 + op.kind() as u64, self.object(op)),
        };
        for part in [u64::from(thread), kind, object, u64::from(site.0)] {
            self.add(part);
        }
        self.add(u64::from(timed_out));
    }

    fn add(&mut self, part: u64) {
        self.value = (self.value.rotate_left(23) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn object(&mut self, op: &Op) -> u64 {
        let loc = match *op {
            Op::Acquire { lock, .. } | Op::Release { lock, .. } => return u64::from(lock.0),
            Op::Wait { cond, .. } | Op::NotifyOne { cond, .. } | Op::NotifyAll { cond } => {
                return u64::from(cond.0);
            }
            Op::SemPost { sem } | Op::SemWait { sem } => return u64::from(sem.0),
            Op::BarrierArrive { barrier } => return u64::from(barrier.0),
            Op::Fork { child } | Op::Join { child } => return u64::from(child.0),
            _ => match op.access() {
                Some(access) => access.loc,
                None => return 0,
            },
        };
        let next = self.locations.len() as u64;
        *self.locations.entry(loc).or_insert(next)
    }

    /// The number.
    pub(super) fn value(&self) -> u64 {
        self.value
    }
}
