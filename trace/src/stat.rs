//! What is in a trace: how many of everything, and who shares what.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::check::Checker;
use crate::error::Result;
use crate::event::{Event, Kind, Op};
use crate::id::{SyncId, ThreadId};
use crate::source::Source;

/// Who touches a location.
#[derive(Clone, Copy)]
struct Sharing {
    first: ThreadId,
    shared: bool,
    written: bool,
}

/// Counts over a whole trace.
#[derive(Default)]
pub struct Stats {
    /// Events in all.
    pub events: u64,
    /// Events of each kind, by the kind's number.
    kinds: Vec<u64>,
    threads: FxHashSet<ThreadId>,
    locks: FxHashSet<SyncId>,
    locations: FxHashMap<u64, Sharing>,
    depths: FxHashMap<ThreadId, u32>,
    /// Most locks one thread held at once, re-entrant ones counted again.
    pub max_depth: u32,
    /// How often one event is by another thread than the event before.
    pub switches: u64,
    last: Option<ThreadId>,
    checker: Checker,
}

impl Stats {
    /// Counts everything `source` has.
    pub fn of(mut source: impl Source) -> Result<Self> {
        let mut stats = Self::default();
        source.for_each_batch(&mut |_, batch| {
            stats.add(batch);
            Ok(())
        })?;
        Ok(stats)
    }

    /// Counts more events.
    pub fn add(&mut self, events: &[Event]) {
        self.kinds.resize(Kind::ALL.len(), 0);
        self.events += events.len() as u64;
        for event in events {
            let Event { thread, op, .. } = *event;
            self.kinds[op.kind() as usize] += 1;
            self.threads.insert(thread);
            if self.last.replace(thread).is_some_and(|last| last != thread) {
                self.switches += 1;
            }
            match op {
                Op::Acquire { lock, .. } => {
                    self.locks.insert(lock);
                    let depth = self.depths.entry(thread).or_default();
                    *depth += 1;
                    self.max_depth = self.max_depth.max(*depth);
                }
                Op::Release { .. } => {
                    let depth = self.depths.entry(thread).or_default();
                    *depth = depth.saturating_sub(1);
                }
                _ => {}
            }
            if let Some(access) = op.access() {
                let sharing = self.locations.entry(access.loc.0).or_insert(Sharing {
                    first: thread,
                    shared: false,
                    written: false,
                });
                sharing.shared |= sharing.first != thread;
                sharing.written |= access.is_write;
            }
        }
        self.checker.check(events);
    }

    /// How many events of this kind.
    pub fn kind(&self, kind: Kind) -> u64 {
        self.kinds.get(kind as usize).copied().unwrap_or(0)
    }

    /// How many threads act.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// How many locks are taken.
    pub fn locks(&self) -> usize {
        self.locks.len()
    }

    /// How many locations are accessed.
    pub fn variables(&self) -> usize {
        self.locations.len()
    }

    /// How many plain and atomic accesses there are.
    pub fn accesses(&self) -> u64 {
        use Kind::{AtomicLoad, AtomicRmw, AtomicStore, Read, Write};
        [Read, Write, AtomicLoad, AtomicStore, AtomicRmw]
            .iter()
            .map(|&k| self.kind(k))
            .sum()
    }

    /// Locations of one thread only, read by several and never written, and
    /// accessed by several and written.
    pub fn sharing(&self) -> (usize, usize, usize) {
        let mut counts = (0, 0, 0);
        for sharing in self.locations.values() {
            match (sharing.shared, sharing.written) {
                (false, _) => counts.0 += 1,
                (true, false) => counts.1 += 1,
                (true, true) => counts.2 += 1,
            }
        }
        counts
    }

    /// The first thing that cannot happen in an execution, if any.
    pub fn problem(&self) -> Option<&crate::check::Problem> {
        self.checker.problem()
    }
}
