//! Hybrid: every pair of accesses that only locks could order, and no lock
//! does (O'Callahan and Choi, PPoPP 2003, as racefuzzer.txt §2.2 gives it).
//!
//! Two events race iff they are by different threads on one location, at least
//! one writes, their locksets are disjoint, and neither precedes the other in
//! the order made by fork, join and notify:
//!
//! ```text
//! e_i = MEM(σ_i, m, a_i, t_i, L_i)  ∧  e_j = MEM(σ_j, m, a_j, t_j, L_j)
//!   ∧ t_i ≠ t_j ∧ (a_i = WRITE ∨ a_j = WRITE) ∧ L_i ∩ L_j = ∅ ∧ ¬(e_i ≺ e_j) ∧ ¬(e_j ≺ e_i)
//! ```
//! Evaluated exactly, for every pair of the execution, without keeping every
//! event: of a thread's accesses at one site, of one kind and with one lockset,
//! only the last is needed. If an earlier one `e` races with a future `f`, so
//! does a later `e'`, because `e ≺ e'`, and `e' ≺ f` would imply `e ≺ f`. For
//! the same reason `e'` also stands for an `e` with more locks. What is kept
//! grows with threads, places and the locksets they are reached with, not with
//! the length of the execution.

use racehound_trace::SiteId;

use crate::access::{AccessKind, Stamp};
use crate::clock::Epoch;
use crate::detector::{Context, Detector, Reason};
use crate::order::Order;

/// The detector.
pub struct Hybrid;

/// The accesses that stand for all others.
#[derive(Clone, Debug, Default)]
pub struct Var {
    accesses: Vec<(Stamp, AccessKind)>,
}

impl Detector for Hybrid {
    const ORDER: Order = Order::WithoutLocks;
    const PRECISE: bool = false;
    type Var = Var;

    /// A repetition in the same epoch has at least the locks of the first, so
    /// what it races with the first does too.
    #[inline(always)]
    fn same_epoch(x: &Var, epoch: Epoch, site: SiteId, kind: AccessKind) -> bool {
        let same = |(stamp, k): &(Stamp, AccessKind)| {
            stamp.epoch == epoch && stamp.site == site && *k == kind
        };
        x.accesses.iter().any(same)
    }

    fn access(x: &mut Var, cx: &mut Context<'_>, kind: AccessKind) {
        let now = cx.stamp(kind);
        for &(prior, prior_kind) in &x.accesses {
            // A thread always knows its own past.
            if prior_kind.conflicts_with(kind)
                && !cx.knows(prior.epoch)
                && cx.locksets.disjoint(prior.locks, now.locks)
            {
                cx.conflict(prior, prior_kind, Reason::NoCommonLock);
            }
        }
        x.accesses.retain(|&(prior, prior_kind)| {
            let stands_for = prior.epoch.thread() == now.epoch.thread()
                && prior.site == now.site
                && prior_kind == kind
                && cx.locksets.subset(now.locks, prior.locks);
            !stands_for
        });
        x.accesses.push((now, kind));
    }
}
