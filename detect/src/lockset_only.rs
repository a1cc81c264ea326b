//! LockSet: the locking discipline and nothing else (acculock.txt §II-C,
//! Algorithm 3).
//!
//! The candidate set of a location is the locks held at every access so far.
//! Reads also hold the pretended lock `readers_lock`, so that reading alone
//! never empties it. Insensitive to the interleaving, blind to order: the upper
//! bound of what AccuLock may report (Theorem 1).
//!
//! # Beyond the paper
//! Algorithm 3 would report a location that only one thread ever touches. The
//! text says *shared* location, and a warning names two accesses, so we report
//! once another thread's conflicting access is known. Atomic accesses hold
//! [`ATOMIC`](crate::lockset::ATOMIC), in the manner of `readers_lock`.

use crate::access::{AccessKind, Partners};
use crate::detector::{Context, Detector, Reason};
use crate::lockset::{LockSetId, READERS};
use crate::order::Order;

/// The detector.
pub struct LockSet;

/// `CL_x`; none stands for the set of all locks.
#[derive(Clone, Debug, Default)]
pub struct Var {
    candidates: Option<LockSetId>,
    partners: Partners,
}

impl Detector for LockSet {
    const ORDER: Order = Order::Nothing;
    const PRECISE: bool = false;
    type Var = Var;

    fn access(x: &mut Var, cx: &mut Context<'_>, kind: AccessKind) {
        let stamp = cx.stamp(kind);
        let mut held = cx.locks_with_atomic(stamp, kind);
        if !kind.is_write() {
            held = cx.locksets.with(held, READERS);
        }
        let candidates = match x.candidates {
            None => held,
            Some(candidates) => cx.locksets.meet(candidates, held),
        };
        x.candidates = Some(candidates);
        if candidates.is_empty()
            && let Some((prior, prior_kind)) = x.partners.conflicting(cx.epoch(), kind)
        {
            cx.conflict(prior, prior_kind, Reason::NoConsistentLock);
        }
        x.partners.insert(stamp, kind);
    }
}
