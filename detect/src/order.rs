//! Who happens before whom: the synchronisation half of every detector.
//!
//! Detectors differ in which operations order threads, and in nothing else
//! here. The happens-before detectors (Djit+, FastTrack, MultiRace) count
//! everything, *hb*; AccuLock, Hybrid and RaceTrack leave out lock acquires and
//! releases, *accu-hb* (acculock.txt §III-A, racefuzzer.txt §2.2), so that
//! their verdict depends less on who came first; Eraser and LockSet have no
//! notion of order at all. [`Order`] says which; the operations are functions
//! over cells that the host stores and guards. No operation touches more than
//! the acting thread's cell and one object's, or parent's and child's.
//!
//! # Which edges there are
//! * fork, join: acculock.txt Algorithms 6 and 7.
//! * lock release to later acquire (hb only). A rwlock's readers are not
//!   ordered among each other.
//! * notify to the woken waiter: Algorithms 8 and 9. Where the trace does not
//!   know whom a notification woke, every thread then waiting counts.
//! * semaphore post to later wait. Which post a wait took is not observable,
//!   so all earlier ones count.
//! * barrier: every arrival to every departure of the same round.
//! * atomics: a release store or read-modify-write to an acquire load that
//!   reads from it or from its release sequence, which is made of the
//!   read-modify-writes that follow it (C++20; a plain store ends it). Fences:
//!   a release fence lends its thread's later relaxed stores what it knew, an
//!   acquire fence collects what earlier relaxed loads saw. Sequentially
//!   consistent fences order nothing beyond that, exactly as in C11, where
//!   their total order does not synchronise.
//! * with [`Volatiles::AsLocks`], an atomic access is instead an acquire and a
//!   release of a lock of its own (acculock.txt §III-A).
//!
//! # When a thread's clock ticks
//! After everything that hands knowledge on, and at every lock release in all
//! orders: AccuLock's Lemmas 1 and 2 rest on it, because between two ticks
//! locks are only acquired.

use racehound_trace::{MemoryOrder, Mode, SyncId, ThreadId};

use crate::clock::{Epoch, ThreadClock, VectorClock};
use crate::lockset::HeldLocks;

/// Which operations order threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// None: clocks are not kept.
    Nothing,
    /// All but locks: accu-hb.
    WithoutLocks,
    /// All: hb.
    HappensBefore,
}

/// What volatiles and atomics are (`--volatile`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Volatiles {
    /// They order threads as their memory order says.
    #[default]
    AsEdges,
    /// Each access acquires and releases a lock.
    AsLocks,
}

/// A thread, as far as order and locks go.
#[derive(Clone, Debug)]
pub struct ThreadCell {
    /// `C_t`.
    pub clock: ThreadClock,
    /// `L_t`.
    pub held: HeldLocks,
    /// What the last release fence knew.
    fence_released: VectorClock,
    /// What relaxed loads have seen since the last acquire fence.
    fence_pending: VectorClock,
    /// How deep the lock given up by a wait was held.
    wait_depth: u32,
}

impl ThreadCell {
    /// A thread before its first operation.
    pub fn new(thread: ThreadId) -> Self {
        Self {
            clock: ThreadClock::new(thread),
            held: HeldLocks::default(),
            fence_released: VectorClock::default(),
            fence_pending: VectorClock::default(),
            wait_depth: 0,
        }
    }

    /// `epoch(t)`.
    #[inline]
    pub fn epoch(&self) -> Epoch {
        self.clock.epoch()
    }

    /// Whether a release fence lends its knowledge to relaxed stores.
    pub fn has_fenced(&self) -> bool {
        !self.fence_released.is_empty()
    }

    /// The thread has ended: what it knew is not needed any more, only who it
    /// was. Should it act again, against the rules, its time goes on (Algorithm
    /// 7 ticks it for that).
    pub fn retire(&mut self) {
        self.clock.forget();
        self.clock.tick();
        self.fence_released = VectorClock::default();
        self.fence_pending = VectorClock::default();
    }
}

/// A synchronisation object.
#[derive(Clone, Debug, Default)]
pub struct SyncCell {
    /// What its last exclusive release, or its posts, knew.
    released: VectorClock,
    /// What releases of read locks since then knew.
    read_released: VectorClock,
    waiters: Vec<Waiter>,
    rounds: Rounds,
}

#[derive(Clone, Debug)]
struct Waiter {
    thread: ThreadId,
    /// What those who notified it knew.
    told: VectorClock,
}

/// The rounds of a barrier. A thread may reach the next round before the last
/// one has left the previous, so closed rounds stay until all have left.
#[derive(Clone, Debug, Default)]
struct Rounds {
    open: Round,
    closed: Vec<Round>,
}

#[derive(Clone, Debug, Default)]
struct Round {
    known: VectorClock,
    inside: Vec<ThreadId>,
}

/// An atomic location: what its current release sequence hands on.
#[derive(Clone, Debug, Default)]
pub struct AtomicCell {
    released: VectorClock,
}

impl AtomicCell {
    /// Hands on nothing, keeping the memory.
    pub fn clear(&mut self) {
        self.released.clear();
    }
}

/// What an atomic operation does to its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicOp {
    /// Reads it.
    Load,
    /// Overwrites it.
    Store,
    /// Reads and overwrites it.
    Rmw,
}

/// Carries operations out, for one kind of order.
#[derive(Clone, Debug)]
pub struct Sync {
    order: Order,
    volatiles: Volatiles,
    /// O(n) operations on the clocks of synchronisation objects (acculock.txt
    /// Tables III and IV).
    pub clock_ops: u64,
}

impl Sync {
    /// Operations for this order.
    pub fn new(order: Order, volatiles: Volatiles) -> Self {
        Self {
            order,
            volatiles,
            clock_ops: 0,
        }
    }

    /// Whether a lock orders who gives it back and who takes it next.
    #[inline]
    pub fn locks_order(&self) -> bool {
        self.order == Order::HappensBefore
    }

    #[inline]
    fn learn(&mut self, t: &mut ThreadCell, from: &VectorClock) {
        if self.order != Order::Nothing && !from.is_empty() {
            self.clock_ops += 1;
            t.clock.learn(from);
        }
    }

    /// `to ⊔= C_t`.
    #[inline]
    fn tell(&mut self, t: &ThreadCell, to: &mut VectorClock) {
        if self.order != Order::Nothing {
            self.clock_ops += 1;
            t.clock.tell(to);
        }
    }

    #[inline]
    fn tick(&self, t: &mut ThreadCell) {
        if self.order != Order::Nothing {
            t.clock.tick();
        }
    }

    /// Thread `t` has taken a lock.
    pub fn acquire(&mut self, t: &mut ThreadCell, lock: SyncId, mode: Mode, cell: &SyncCell) {
        if t.held.push(lock, mode) {
            self.enter(t, mode, cell);
        }
    }

    /// The order half of [`acquire`](Self::acquire), for a host that keeps the
    /// locks held itself.
    #[inline]
    pub fn enter(&mut self, t: &mut ThreadCell, mode: Mode, cell: &SyncCell) {
        if self.locks_order() {
            self.learn(t, &cell.released);
            if mode == Mode::Exclusive {
                self.learn(t, &cell.read_released);
            }
        }
    }

    /// Thread `t` gives a lock back.
    pub fn release(&mut self, t: &mut ThreadCell, lock: SyncId, mode: Mode, cell: &mut SyncCell) {
        if t.held.pop(lock, mode) {
            self.leave(t, mode, cell);
        }
    }

    /// The order half of [`release`](Self::release).
    #[inline]
    pub fn leave(&mut self, t: &mut ThreadCell, mode: Mode, cell: &mut SyncCell) {
        if self.locks_order() {
            self.clock_ops += 1;
            match mode {
                // The holder knew all there was to know of the lock.
                Mode::Exclusive => {
                    t.clock.overwrite(&mut cell.released);
                    cell.read_released.clear();
                }
                Mode::Shared => t.clock.tell(&mut cell.read_released),
            }
        }
        self.tick(t);
    }

    /// Thread `t` creates thread `u`.
    pub fn fork(&mut self, t: &mut ThreadCell, u: &mut ThreadCell) {
        self.learn_from(u, t);
        self.tick(t);
    }

    /// Thread `t` has waited for the end of thread `u`.
    pub fn join(&mut self, t: &mut ThreadCell, u: &ThreadCell) {
        self.learn_from(t, u);
    }

    fn learn_from(&mut self, t: &mut ThreadCell, from: &ThreadCell) {
        if self.order != Order::Nothing {
            self.clock_ops += 1;
            t.clock.learn_from(&from.clock);
        }
    }

    /// Thread `t` begins to wait for `cond`, giving `lock` up.
    pub fn wait(
        &mut self,
        t: &mut ThreadCell,
        cond: &mut SyncCell,
        lock: Option<(SyncId, &mut SyncCell)>,
    ) {
        self.enlist(t, cond);
        if let Some((lock, cell)) = lock {
            t.wait_depth = t.held.pop_all(lock);
            self.leave(t, Mode::Exclusive, cell);
        }
    }

    /// The same, where one object is both condition and lock.
    pub fn monitor_wait(&mut self, t: &mut ThreadCell, monitor: SyncId, cell: &mut SyncCell) {
        self.enlist(t, cell);
        t.wait_depth = t.held.pop_all(monitor);
        self.leave(t, Mode::Exclusive, cell);
    }

    fn enlist(&self, t: &ThreadCell, cond: &mut SyncCell) {
        let thread = t.epoch().thread();
        cond.waiters.retain(|w| w.thread != thread);
        cond.waiters.push(Waiter {
            thread,
            told: VectorClock::default(),
        });
    }

    /// Thread `t` notifies `woken`, or all that wait if it is not known whom.
    pub fn notify(&mut self, t: &mut ThreadCell, cond: &mut SyncCell, woken: Option<ThreadId>) {
        for waiter in &mut cond.waiters {
            if woken.is_none_or(|thread| thread == waiter.thread) {
                self.tell(t, &mut waiter.told);
            }
        }
        self.tick(t);
    }

    /// The wait of thread `t` is over; nobody ordered it unless `notified`.
    pub fn wake(&mut self, t: &mut ThreadCell, cond: &mut SyncCell, notified: bool) {
        let thread = t.epoch().thread();
        if let Some(at) = cond.waiters.iter().position(|w| w.thread == thread) {
            let waiter = cond.waiters.swap_remove(at);
            if notified {
                self.learn(t, &waiter.told);
            }
        }
    }

    /// Thread `t` has back the lock it gave up to wait.
    pub fn reacquire(&mut self, t: &mut ThreadCell, lock: SyncId, cell: &SyncCell) {
        t.held.push_depth(lock, t.wait_depth);
        self.enter(t, Mode::Exclusive, cell);
    }

    /// Thread `t` raises a semaphore.
    pub fn post(&mut self, t: &mut ThreadCell, sem: &mut SyncCell) {
        self.tell(t, &mut sem.released);
        self.tick(t);
    }

    /// Thread `t` has lowered a semaphore.
    pub fn take(&mut self, t: &mut ThreadCell, sem: &SyncCell) {
        self.learn(t, &sem.released);
    }

    /// Thread `t` reaches a barrier.
    pub fn arrive(&mut self, t: &mut ThreadCell, barrier: &mut SyncCell) {
        let round = &mut barrier.rounds.open;
        self.tell(t, &mut round.known);
        round.inside.push(t.epoch().thread());
        self.tick(t);
    }

    /// Thread `t` leaves the barrier: its round is complete.
    pub fn depart(&mut self, t: &mut ThreadCell, barrier: &mut SyncCell) {
        let thread = t.epoch().thread();
        let Rounds { open, closed } = &mut barrier.rounds;
        if open.inside.contains(&thread) {
            closed.push(std::mem::take(open));
        }
        let inside = |round: &Round| round.inside.contains(&thread);
        let Some(at) = closed.iter().position(inside) else {
            return;
        };
        self.learn(t, &closed[at].known);
        closed[at].inside.retain(|other| *other != thread);
        if closed[at].inside.is_empty() {
            closed.remove(at);
        }
    }

    /// Thread `t` is about to operate on an atomic or volatile location: what
    /// it learns by reading comes before the access.
    #[inline]
    pub fn before_atomic(
        &mut self,
        t: &mut ThreadCell,
        op: AtomicOp,
        order: MemoryOrder,
        cell: &AtomicCell,
    ) {
        match self.volatiles {
            Volatiles::AsLocks if self.locks_order() => self.learn(t, &cell.released),
            Volatiles::AsLocks => {}
            Volatiles::AsEdges if op == AtomicOp::Store || cell.released.is_empty() => {}
            Volatiles::AsEdges if order.acquires() => self.learn(t, &cell.released),
            Volatiles::AsEdges => {
                self.clock_ops += 1;
                t.fence_pending.join(&cell.released);
            }
        }
    }

    /// Thread `t` has operated on it: what it hands on by writing includes the
    /// access.
    #[inline]
    pub fn after_atomic(
        &mut self,
        t: &mut ThreadCell,
        op: AtomicOp,
        order: MemoryOrder,
        cell: &mut AtomicCell,
    ) {
        if self.volatiles == Volatiles::AsLocks {
            if self.locks_order() {
                self.tell(t, &mut cell.released);
            }
            return self.tick(t);
        }
        if op == AtomicOp::Load || self.order == Order::Nothing {
            return;
        }
        if op == AtomicOp::Store {
            cell.released.clear();
        }
        if order.releases() {
            self.tell(t, &mut cell.released);
            self.tick(t);
        } else if !t.fence_released.is_empty() {
            self.clock_ops += 1;
            cell.released.join(&t.fence_released);
        }
    }

    /// Thread `t` executes a fence.
    pub fn fence(&mut self, t: &mut ThreadCell, order: MemoryOrder) {
        if self.order == Order::Nothing || self.volatiles == Volatiles::AsLocks {
            return;
        }
        if order.acquires() && !t.fence_pending.is_empty() {
            self.clock_ops += 1;
            t.clock.learn(&t.fence_pending);
            t.fence_pending.clear();
        }
        if order.releases() {
            self.clock_ops += 1;
            t.clock.overwrite(&mut t.fence_released);
            self.tick(t);
        }
    }
}
