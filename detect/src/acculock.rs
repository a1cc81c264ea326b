//! AccuLock: epochs for everything but locks, and locksets for locks
//! (acculock.txt §III, Algorithms 4–13).
//!
//! Order is accu-hb, happens-before without lock acquires and releases, so the
//! verdict does not depend on who came first to a lock. Where accu-hb leaves two
//! accesses unordered, the locks that protected them decide. Algorithms 4–9 and
//! 12–13 are in [`order`](crate::order); Algorithms 10 and 11 are here.
//!
//! # Invariants
//! * Between two ticks of a thread's clock it only acquires locks, so of two
//!   accesses in one epoch the first has the fewer locks, and what races with
//!   the second races with the first: Lemma 1 lets a read be skipped after a
//!   read or write in the same epoch, Lemma 2 a write after a write.
//! * `candidates` (the paper's `W_x.lockset`) is the intersection of the locks
//!   of all writes since the last one that accu-hb orders after its
//!   predecessor.
//!
//! # Where the printed algorithms leave something open
//! * `R_x[t]` of the writing thread itself needs no test: a thread is ordered
//!   with itself.
//! * What follows a report: the paper reports one race for each location. We go
//!   on (all pairs may be asked for) with the candidates of the present write
//!   alone; an empty set would hold every later access against it, whatever
//!   locks both have.
//! * A warning names the last write with the locks it held, and separately the
//!   candidate set, which may be smaller: acculock.txt Figure 3 is such a case.
//!
//! # Beyond the paper
//! * A read lock protects reads only.
//! * C11 atomics, as in [`fasttrack`](crate::fasttrack): never tested against
//!   each other, kept in maps because unordered atomic writes are no race, and
//!   forgotten by a plain write.

use racehound_trace::SiteId;

use crate::access::{AccessKind, AccessMap, Stamp};
use crate::clock::Epoch;
use crate::detector::{Context, Detector, Reason};
use crate::fasttrack::Atomics;
use crate::lockset::LockSetId;
use crate::order::Order;

/// The detector.
pub struct AccuLock;

/// `W_x`, `R_x`, and the same for atomics.
#[derive(Clone, Debug, Default)]
pub struct Var {
    write: Stamp,
    candidates: LockSetId,
    reads: AccessMap,
    atomics: Option<Box<Atomics>>,
}

impl Detector for AccuLock {
    const ORDER: Order = Order::WithoutLocks;
    const PRECISE: bool = false;
    type Var = Var;

    #[inline(always)]
    fn same_epoch(x: &Var, epoch: Epoch, _site: SiteId, kind: AccessKind) -> bool {
        match kind {
            // Which of the two it is cannot be foreseen; either takes one jump.
            AccessKind::Read => {
                (x.write.epoch == epoch) | x.reads.last_is(epoch) || x.reads.has(epoch)
            }
            AccessKind::Write => x.write.epoch == epoch,
            AccessKind::AtomicRead => x.atomics.as_ref().is_some_and(|a| a.reads.has(epoch)),
            AccessKind::AtomicWrite => x.atomics.as_ref().is_some_and(|a| a.writes.has(epoch)),
        }
    }

    #[inline(always)]
    fn out_of_line(x: &Var) -> Option<*const u8> {
        Some(x.reads.out_of_line())
    }

    #[inline(always)]
    fn access(x: &mut Var, cx: &mut Context<'_>, kind: AccessKind) {
        let now = cx.stamp(kind);
        let after_write = cx.knows(x.write.epoch);
        if !after_write
            && kind != AccessKind::Write
            && cx.locksets.disjoint(now.locks, x.candidates)
        {
            against_write(x, cx);
        }
        match kind {
            AccessKind::Read => {
                x.reads.insert(now);
                if let Some(atomics) = &x.atomics {
                    unprotected(&atomics.writes, AccessKind::AtomicWrite, now, cx);
                }
                cx.stats.read(x.reads.is_shared());
            }
            AccessKind::AtomicRead => {
                let atomics = x.atomics.get_or_insert_default();
                atomics.reads.insert(now);
                cx.stats.read(atomics.reads.is_shared());
            }
            AccessKind::AtomicWrite => {
                unprotected(&x.reads, AccessKind::Read, now, cx);
                x.atomics.get_or_insert_default().writes.insert(now);
                cx.stats.write(x.reads.is_shared());
            }
            AccessKind::Write => {
                let common = match after_write {
                    true => now.locks,
                    false => cx.locksets.meet(x.candidates, now.locks),
                };
                x.candidates = match common.is_empty() && !after_write {
                    true => {
                        against_write(x, cx);
                        now.locks
                    }
                    false => common,
                };
                x.write = now;
                unprotected(&x.reads, AccessKind::Read, now, cx);
                cx.stats.write(x.reads.is_shared());
                x.reads.clear();
                if let Some(atomics) = &mut x.atomics {
                    unprotected(&atomics.writes, AccessKind::AtomicWrite, now, cx);
                    unprotected(&atomics.reads, AccessKind::AtomicRead, now, cx);
                    atomics.writes.clear();
                    atomics.reads.clear();
                }
            }
        }
    }
}

/// Reports the last write, for want of a common lock with the writes so far.
fn against_write(x: &Var, cx: &mut Context<'_>) {
    let reason = match x.candidates == x.write.locks {
        true => Reason::NoCommonLock,
        false => Reason::WritesShareOnly(x.candidates),
    };
    cx.conflict(x.write, AccessKind::Write, reason);
}

/// Reports the entries that are neither ordered before now nor protected by a
/// lock that is held now.
fn unprotected(map: &AccessMap, kind: AccessKind, now: Stamp, cx: &mut Context<'_>) {
    // Nearly always all entries are protected by the very locks held now. One
    // pass without jumps settles that.
    let clock = &cx.thread.clock;
    let harmless = |stamp: &Stamp| {
        (stamp.locks == now.locks) & !now.locks.is_empty() | clock.knows(stamp.epoch)
    };
    if map.slots().fold(true, |all, stamp| all & harmless(stamp)) {
        return;
    }
    for stamp in map.entries() {
        if !cx.knows(stamp.epoch) && cx.locksets.disjoint(stamp.locks, now.locks) {
            cx.conflict(stamp, kind, Reason::NoCommonLock);
        }
    }
}
