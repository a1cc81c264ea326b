//! The cells of threads and synchronisation objects, and which operation of
//! the trace is which operation on them.

use racehound_trace::{Event, Loc, MemoryOrder, Op, SyncId, ThreadId};
use rustc_hash::FxHashMap;

use crate::order::{AtomicCell, AtomicOp, Order, Sync, SyncCell, ThreadCell, Volatiles};

/// Everything but the variables.
pub(super) struct World {
    pub(super) sync: Sync,
    threads: Vec<ThreadCell>,
    objects: Vec<SyncCell>,
    atomics: FxHashMap<u64, AtomicCell>,
    /// Threads that were joined, and by whom first.
    heirs: FxHashMap<ThreadId, ThreadId>,
}

impl World {
    pub(super) fn new(order: Order, volatiles: Volatiles) -> Self {
        Self {
            sync: Sync::new(order, volatiles),
            threads: Vec::new(),
            objects: Vec::new(),
            atomics: FxHashMap::default(),
            heirs: FxHashMap::default(),
        }
    }

    #[inline]
    pub(super) fn thread(&mut self, id: ThreadId) -> &mut ThreadCell {
        if id.index() >= self.threads.len() {
            self.add_threads(id);
        }
        &mut self.threads[id.index()]
    }

    #[cold]
    fn add_threads(&mut self, last: ThreadId) {
        let ids = self.threads.len()..=last.index();
        self.threads
            .extend(ids.map(|i| ThreadCell::new(ThreadId::from_index(i))));
    }

    /// The cells of the acting thread and of an object.
    fn with(
        &mut self,
        thread: ThreadId,
        object: SyncId,
    ) -> (&mut Sync, &mut ThreadCell, &mut SyncCell) {
        self.thread(thread);
        if object.index() >= self.objects.len() {
            self.objects
                .resize_with(object.index() + 1, SyncCell::default);
        }
        let Self {
            sync,
            threads,
            objects,
            ..
        } = self;
        (
            sync,
            &mut threads[thread.index()],
            &mut objects[object.index()],
        )
    }

    /// Carries out what orders threads. Calls and annotations do not; accesses
    /// are the business of the detector, and atomics come in two halves around
    /// it.
    pub(super) fn step(&mut self, event: &Event) {
        let thread = event.thread;
        match event.op {
            Op::Acquire { lock, mode } => {
                let (sync, t, cell) = self.with(thread, lock);
                sync.acquire(t, lock, mode, cell);
            }
            Op::Release { lock, mode } => {
                let (sync, t, cell) = self.with(thread, lock);
                sync.release(t, lock, mode, cell);
            }
            Op::Fork { child } => {
                self.heirs.remove(&child);
                if let Some((sync, t, u)) = self.two(thread, child) {
                    sync.fork(t, u);
                }
            }
            Op::Join { child } => self.join(thread, child),
            Op::Wait { cond, lock } => self.wait(thread, cond, lock),
            Op::Wake {
                cond,
                lock,
                notified,
            } => {
                let (sync, t, cell) = self.with(thread, cond);
                sync.wake(t, cell, notified);
                if let Some(lock) = lock {
                    let (sync, t, cell) = self.with(thread, lock);
                    sync.reacquire(t, lock, cell);
                }
            }
            Op::NotifyOne { cond, woken } => {
                let (sync, t, cell) = self.with(thread, cond);
                sync.notify(t, cell, woken);
            }
            Op::NotifyAll { cond } => {
                let (sync, t, cell) = self.with(thread, cond);
                sync.notify(t, cell, None);
            }
            Op::BarrierArrive { barrier } => {
                let (sync, t, cell) = self.with(thread, barrier);
                sync.arrive(t, cell);
            }
            Op::BarrierLeave { barrier } => {
                let (sync, t, cell) = self.with(thread, barrier);
                sync.depart(t, cell);
            }
            Op::SemPost { sem } => {
                let (sync, t, cell) = self.with(thread, sem);
                sync.post(t, cell);
            }
            Op::SemWait { sem } => {
                let (sync, t, cell) = self.with(thread, sem);
                sync.take(t, cell);
            }
            Op::Fence { order } => {
                self.thread(thread);
                self.sync.fence(&mut self.threads[thread.index()], order);
            }
            Op::Alloc { loc, size } => self.forget_atomics(loc, size),
            Op::Read { .. }
            | Op::Write { .. }
            | Op::AtomicLoad { .. }
            | Op::AtomicStore { .. }
            | Op::AtomicRmw { .. }
            | Op::Free { .. }
            | Op::Call { .. }
            | Op::Return
            | Op::RegionBegin
            | Op::RegionEnd => {}
        }
    }

    /// The cells of two different threads.
    fn two(
        &mut self,
        a: ThreadId,
        b: ThreadId,
    ) -> Option<(&mut Sync, &mut ThreadCell, &mut ThreadCell)> {
        self.thread(a.max(b));
        let [t, u] = self.threads.get_disjoint_mut([a.index(), b.index()]).ok()?;
        Some((&mut self.sync, t, u))
    }

    /// A thread that was joined needs no clock of its own: whoever joined it
    /// knows all it knew. Should another thread join it as well, that one learns
    /// what the first has learnt up to then, which includes it.
    fn join(&mut self, thread: ThreadId, child: ThreadId) {
        // Who acts is alive, whatever a broken trace says: so heirs never form
        // a circle.
        self.heirs.remove(&thread);
        let mut source = child;
        while let Some(&heir) = self.heirs.get(&source)
            && heir != thread
        {
            source = heir;
        }
        if let Some((sync, t, u)) = self.two(thread, source) {
            sync.join(t, u);
        }
        if child != thread && !self.heirs.contains_key(&child) {
            self.threads[child.index()].retire();
            self.heirs.insert(child, thread);
        }
    }

    fn wait(&mut self, thread: ThreadId, cond: SyncId, lock: Option<SyncId>) {
        let lock = match lock {
            Some(lock) if lock == cond => {
                let (sync, t, cell) = self.with(thread, cond);
                return sync.monitor_wait(t, lock, cell);
            }
            other => other,
        };
        self.with(thread, lock.map_or(cond, |lock| lock.max(cond)));
        let Self {
            sync,
            threads,
            objects,
            ..
        } = self;
        let t = &mut threads[thread.index()];
        match lock {
            None => sync.wait(t, &mut objects[cond.index()], None),
            Some(lock) => {
                let cells = objects.get_disjoint_mut([cond.index(), lock.index()]);
                let [cond, cell] = cells.expect("two different objects, both there");
                sync.wait(t, cond, Some((lock, cell)));
            }
        }
    }

    /// What comes before the access of an atomic operation.
    pub(super) fn before_atomic(
        &mut self,
        thread: ThreadId,
        loc: Loc,
        op: AtomicOp,
        order: MemoryOrder,
    ) {
        self.thread(thread);
        let cell = self.atomics.entry(loc.0).or_default();
        let t = &mut self.threads[thread.index()];
        self.sync.before_atomic(t, op, order, cell);
    }

    /// What comes after it.
    pub(super) fn after_atomic(
        &mut self,
        thread: ThreadId,
        loc: Loc,
        op: AtomicOp,
        order: MemoryOrder,
    ) {
        let cell = self.atomics.entry(loc.0).or_default();
        let t = &mut self.threads[thread.index()];
        self.sync.after_atomic(t, op, order, cell);
    }

    /// New memory carries no release sequence.
    fn forget_atomics(&mut self, loc: Loc, size: u32) {
        let range = loc.0..loc.0 + u64::from(size);
        if range.end - range.start < self.atomics.len() as u64 {
            for at in range {
                self.atomics.remove(&at);
            }
        } else {
            self.atomics.retain(|at, _| !range.contains(at));
        }
    }
}
