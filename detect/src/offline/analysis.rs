//! One detector over one stream of events.

use std::collections::hash_map::Entry;

use racehound_trace::{Event, Loc, MemoryOrder, Op, SiteId, Space};
use rustc_hash::FxHashMap;

use super::prefetch::prefetch;
use super::shadow::{Cell, Memory, Named, PAGE};
use super::world::World;
use super::{Options, Side, Warning, Why};
use crate::access::{AccessKind, Stamp};
use crate::detector::{Conflict, Context, Detector, Reason};
use crate::lockset::{LockSetId, LockSets};
use crate::order::AtomicOp;
use crate::stats::Stats;

/// Which variables a worker looks at: those whose number is `index` modulo
/// `of`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) index: u64,
    pub(super) of: u64,
}

impl Share {
    #[inline]
    fn has(self, number: u64) -> bool {
        self.of == 1 || number % self.of == self.index
    }
}

const READ: usize = 0;
const WRITE: usize = 1;
const ATOMIC_READ: usize = 2;
const ATOMIC_WRITE: usize = 3;
const KINDS: [AccessKind; 4] = [
    AccessKind::Read,
    AccessKind::Write,
    AccessKind::AtomicRead,
    AccessKind::AtomicWrite,
];

/// How many events take about as long as memory takes to answer.
const AHEAD: usize = 6;

/// An analysis, whichever its detector.
pub(super) trait Analyze: Send {
    /// Takes the next events.
    fn events(&mut self, space: Space, events: &[Event]);

    /// The warnings so far, in order of discovery.
    fn warnings(&self) -> &[Warning];

    /// The warnings, and the counts.
    fn finish(self: Box<Self>) -> (Vec<Warning>, Stats);
}

/// The state of a [`Detector`] over a trace.
pub(super) struct Analysis<D: Detector> {
    named: Named<D::Var>,
    memory: Memory<D::Var>,
    share: Share,
    core: Core,
}

/// All but the variables, so that it can be used while one is held.
struct Core {
    world: World,
    locksets: LockSets,
    stats: Stats,
    conflicts: Vec<Conflict>,
    all_pairs: bool,
    warnings: Vec<Warning>,
    /// Pairs of sites, and where their warning is.
    pairs: FxHashMap<(SiteId, SiteId), usize>,
    seen: u64,
}

impl<D: Detector> Analysis<D> {
    pub(super) fn new(options: &Options, share: Share) -> Self {
        Self {
            named: Named::new(),
            memory: Memory::new(),
            share,
            core: Core {
                world: World::new(D::ORDER, options.volatiles),
                locksets: LockSets::default(),
                stats: Stats::default(),
                conflicts: Vec::new(),
                all_pairs: options.all_pairs,
                warnings: Vec::new(),
                pairs: FxHashMap::default(),
                seen: 0,
            },
        }
    }

    #[inline(always)]
    fn access(&mut self, space: Space, event: &Event, loc: Loc, size: u32, kind: AccessKind) {
        let Self {
            named,
            memory,
            share,
            core,
        } = self;
        match space {
            Space::Names if share.has(loc.0) => {
                core.access::<D>(event, named.cell(loc), kind, || (loc, size));
            }
            Space::Names => {}
            Space::Addresses => {
                memory.range(
                    loc,
                    size,
                    |page| share.has(page),
                    |place, cell| core.access::<D>(event, cell, kind, || place),
                );
            }
        }
    }

    /// Asks for the cells of coming accesses, and then for what is behind them.
    #[inline(always)]
    fn prepare(&self, events: &[Event], now: usize) {
        let coming = |ahead: usize| match events.get(now + ahead)?.op {
            Op::Read { loc, .. } | Op::Write { loc, .. } => self.named.peek(loc),
            _ => None,
        };
        if let Some(cell) = coming(2 * AHEAD) {
            prefetch(cell);
        }
        if let Some(cell) = coming(AHEAD)
            && let Some(more) = D::out_of_line(&cell.var)
        {
            prefetch(more);
        }
    }

    fn atomic(
        &mut self,
        space: Space,
        event: &Event,
        (loc, size): (Loc, u32),
        op: AtomicOp,
        order: MemoryOrder,
    ) {
        let kind = match op {
            AtomicOp::Load => AccessKind::AtomicRead,
            AtomicOp::Store | AtomicOp::Rmw => AccessKind::AtomicWrite,
        };
        let thread = event.thread;
        self.core.world.before_atomic(thread, loc, op, order);
        self.access(space, event, loc, size, kind);
        self.core.world.after_atomic(thread, loc, op, order);
    }

    /// New memory has no past.
    fn alloc(&mut self, space: Space, loc: Loc, size: u32) {
        match space {
            Space::Names if self.share.has(loc.0) => self.named.forget(loc),
            Space::Names => {}
            Space::Addresses => self.memory.forget(loc, size),
        }
    }

    /// Giving memory back is a write to all of it, and the end of its life:
    /// whoever uses it afterwards has to do with that write only.
    fn free(&mut self, space: Space, event: &Event, loc: Loc, size: u32) {
        let kind = AccessKind::Write;
        let Self {
            named,
            memory,
            share,
            core,
        } = self;
        let mut dead = Cell::default();
        core.access::<D>(event, &mut dead, kind, || (loc, size));
        match space {
            Space::Names if share.has(loc.0) => {
                core.access::<D>(event, named.cell(loc), kind, || (loc, size));
                *named.cell(loc) = dead;
            }
            Space::Names => {}
            Space::Addresses => {
                memory.existing(loc, size, |loc, size, cell| {
                    if share.has(loc.0 / PAGE) {
                        core.access::<D>(event, cell, kind, || (loc, size));
                    }
                });
                memory.bury(loc, size, dead.var);
            }
        }
    }
}

impl<D: Detector> Analyze for Analysis<D> {
    fn events(&mut self, space: Space, events: &[Event]) {
        let look_ahead = self.named.exceeds_cache();
        for (i, event) in events.iter().enumerate() {
            if look_ahead {
                self.prepare(events, i);
            }
            match event.op {
                Op::Read { loc, size } => self.access(space, event, loc, size, AccessKind::Read),
                Op::Write { loc, size } => self.access(space, event, loc, size, AccessKind::Write),
                Op::AtomicLoad { loc, size, order } => {
                    self.atomic(space, event, (loc, size), AtomicOp::Load, order);
                }
                Op::AtomicStore { loc, size, order } => {
                    self.atomic(space, event, (loc, size), AtomicOp::Store, order);
                }
                Op::AtomicRmw { loc, size, order } => {
                    self.atomic(space, event, (loc, size), AtomicOp::Rmw, order);
                }
                Op::Alloc { loc, size } => {
                    self.core.world.step(event);
                    self.alloc(space, loc, size);
                }
                Op::Free { loc, size } => self.free(space, event, loc, size),
                _ => self.core.world.step(event),
            }
            self.core.seen += 1;
        }
    }

    fn warnings(&self) -> &[Warning] {
        &self.core.warnings
    }

    fn finish(self: Box<Self>) -> (Vec<Warning>, Stats) {
        let mut stats = self.core.stats;
        stats.clock_ops = self.core.world.sync.clock_ops;
        stats.locksets = self.core.locksets.counts;
        (self.core.warnings, stats)
    }
}

impl Core {
    /// The hot path: most accesses end at `same_epoch`. Inlined for each kind
    /// of access, so that none of the decisions on it is left for run time.
    #[inline(always)]
    fn access<D: Detector>(
        &mut self,
        event: &Event,
        cell: &mut Cell<D::Var>,
        kind: AccessKind,
        place: impl FnOnce() -> (Loc, u32),
    ) {
        if cell.done {
            return;
        }
        let thread = self.world.thread(event.thread);
        if D::same_epoch(&cell.var, thread.epoch(), event.site, kind) {
            return self.stats.same_epoch(kind);
        }
        let conflicting = match kind {
            AccessKind::Read => self.analyse::<D, READ>(event, cell),
            AccessKind::Write => self.analyse::<D, WRITE>(event, cell),
            AccessKind::AtomicRead => self.analyse::<D, ATOMIC_READ>(event, cell),
            AccessKind::AtomicWrite => self.analyse::<D, ATOMIC_WRITE>(event, cell),
        };
        if conflicting {
            cell.done = !self.all_pairs;
            self.report(event, kind, place());
        }
    }

    /// The slow path, once for each kind of access: what the detector decides by
    /// the kind is decided when this is compiled. True if there are conflicts.
    #[inline(never)]
    fn analyse<D: Detector, const KIND: usize>(
        &mut self,
        event: &Event,
        cell: &mut Cell<D::Var>,
    ) -> bool {
        let mut cx = Context {
            thread: self.world.thread(event.thread),
            site: event.site,
            locksets: &mut self.locksets,
            stats: &mut self.stats,
            conflicts: &mut self.conflicts,
        };
        D::access(&mut cell.var, &mut cx, KINDS[KIND]);
        !self.conflicts.is_empty()
    }

    #[cold]
    fn report(&mut self, event: &Event, kind: AccessKind, (loc, size): (Loc, u32)) {
        let held = &mut self.world.thread(event.thread).held;
        let protection = held.protection(&mut self.locksets);
        let second = Side {
            thread: event.thread,
            site: event.site,
            kind,
            locks: self.spell_out(match kind.is_write() {
                true => protection.writes,
                false => protection.reads,
            }),
        };
        let conflicts = std::mem::take(&mut self.conflicts);
        let wanted = if self.all_pairs { conflicts.len() } else { 1 };
        for conflict in conflicts.iter().take(wanted) {
            let warning = Warning {
                event: self.seen,
                loc,
                size,
                first: self.first(conflict.prior, conflict.kind),
                second: second.clone(),
                why: self.why(conflict.reason),
            };
            self.keep(warning);
        }
    }

    /// Keeps a warning; of one pair of sites, if pairs are wanted, the earliest
    /// and of those the lowest in memory, in whatever order memory is visited.
    fn keep(&mut self, warning: Warning) {
        if !self.all_pairs {
            return self.warnings.push(warning);
        }
        match self.pairs.entry(warning.pair()) {
            Entry::Vacant(entry) => {
                entry.insert(self.warnings.len());
                self.warnings.push(warning);
            }
            Entry::Occupied(entry) => {
                let known = &mut self.warnings[*entry.get()];
                if (warning.event, warning.loc) < (known.event, known.loc) {
                    *known = warning;
                }
            }
        }
    }

    fn first(&self, stamp: Stamp, kind: AccessKind) -> Side {
        Side {
            thread: stamp.epoch.thread(),
            site: stamp.site,
            kind,
            locks: self.spell_out(stamp.locks),
        }
    }

    fn why(&self, reason: Reason) -> Why {
        match reason {
            Reason::Unordered => Why::Unordered,
            Reason::NoCommonLock => Why::NoCommonLock,
            Reason::WritesShareOnly(set) => Why::WritesShareOnly(self.spell_out(set)),
            Reason::NoConsistentLock => Why::NoConsistentLock,
            Reason::NoConsistentLockAndConcurrent => Why::NoConsistentLockAndConcurrent,
        }
    }

    fn spell_out(&self, set: LockSetId) -> Vec<racehound_trace::SyncId> {
        self.locksets.locks(set).to_vec()
    }
}
