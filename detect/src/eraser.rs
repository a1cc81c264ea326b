//! Eraser: every shared location must be protected by one lock throughout
//! (acculock.txt §II-C; Savage et al., TOCS 1997).
//!
//! The candidate set of a location starts with all locks and shrinks to those
//! held at each access. To spare initialisation and read-only data it starts
//! only once a second thread comes by, and an empty set is reported only once
//! somebody writes after that:
//!
//! ```text
//!            first access          another thread reads
//!   Virgin ───────────────► Exclusive ───────────────► Shared
//!                               │                         │ any write
//!                               │ another thread writes   ▼
//!                               └─────────────────► SharedModified  (reports)
//! ```
//! Unsound by design: what the first thread did is never held against anyone.
//! A read lock protects reads only, as Eraser refines it for rwlocks. Atomic
//! accesses hold [`ATOMIC`](crate::lockset::ATOMIC). A warning names two
//! accesses, so an empty set is reported at the first access that conflicts with
//! one of another thread, which may be later than where Eraser would.

use crate::access::{AccessKind, Partners};
use crate::clock::Epoch;
use crate::detector::{Context, Detector, Reason};
use crate::lockset::LockSetId;
use crate::order::Order;

/// The detector.
pub struct Eraser;

/// How far a location's sharing has gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Virgin,
    Exclusive,
    Shared,
    SharedModified,
}

/// State and candidate set.
#[derive(Clone, Debug, Default)]
pub struct Var {
    state: State,
    first: Epoch,
    candidates: LockSetId,
    partners: Partners,
}

impl Var {
    /// Whether the location is shared, written to, and protected by no lock.
    pub(crate) fn unprotected(&self) -> bool {
        self.state == State::SharedModified && self.candidates.is_empty()
    }

    /// Moves on by one access.
    pub(crate) fn step(&mut self, cx: &mut Context<'_>, kind: AccessKind) {
        let stamp = cx.stamp(kind);
        let same_thread = self.first.thread() == stamp.epoch.thread();
        let next = match (self.state, kind.is_write()) {
            (State::Virgin, _) => State::Exclusive,
            (State::Exclusive, _) if same_thread => State::Exclusive,
            (State::Exclusive | State::Shared, false) => State::Shared,
            (State::Exclusive | State::Shared, true) => State::SharedModified,
            (State::SharedModified, _) => State::SharedModified,
        };
        match (self.state, next) {
            (State::Virgin, _) => self.first = stamp.epoch,
            (_, State::Exclusive) => {}
            (State::Exclusive, _) => self.candidates = cx.locks_with_atomic(stamp, kind),
            _ => {
                let held = cx.locks_with_atomic(stamp, kind);
                self.candidates = cx.locksets.meet(self.candidates, held);
            }
        }
        self.state = next;
    }
}

impl Detector for Eraser {
    const ORDER: Order = Order::Nothing;
    const PRECISE: bool = false;
    type Var = Var;

    fn access(x: &mut Var, cx: &mut Context<'_>, kind: AccessKind) {
        x.step(cx, kind);
        if x.unprotected()
            && let Some((prior, prior_kind)) = x.partners.conflicting(cx.epoch(), kind)
        {
            cx.conflict(prior, prior_kind, Reason::NoConsistentLock);
        }
        x.partners.insert(cx.stamp(kind), kind);
    }
}
