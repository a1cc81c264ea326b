//! What a thread does with memory of its own making before anybody else has
//! [heard](crate::hearsay) of it.
//!
//! That comes before whatever others do there. If it is in no region, it is part of no anomaly
//! of regions either: an object that is filled in, linked into a list, and from then on
//! accessed under the list's lock, is protected by that lock.

use racehound_trace::{Event, Op, Trace};

use crate::hearsay::Hearsay;

/// So many events are looked at for each one of the trace to find out who hears of memory when.
/// What is left then is taken for known.
const PATIENCE: u64 = 8;

/// Follows a trace and knows what is new.
#[derive(Debug)]
pub(super) struct Novelty<'t> {
    hearsay: Hearsay<'t>,
    /// By thread: up to this event something that it has made may be its own.
    until: Vec<Option<u32>>,
}

impl<'t> Novelty<'t> {
    pub(super) fn new(trace: &'t Trace, threads: usize) -> Self {
        let patience = PATIENCE * trace.events.len() as u64;
        Self {
            hearsay: Hearsay::with_patience(trace, patience),
            until: vec![None; threads],
        }
    }

    /// Whether an event is an access to what only its thread knows. All events are to be shown,
    /// in their order.
    pub(super) fn step(&mut self, at: u32, event: &Event) -> bool {
        let until = &mut self.until[event.thread.index()];
        if let Op::Alloc { loc, .. } = event.op {
            *until = (*until).max(self.hearsay.told(loc, at));
            return false;
        }
        until.is_some_and(|until| at <= until) && self.hearsay.is_untold(at)
    }
}
