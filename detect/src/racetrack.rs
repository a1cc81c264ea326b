//! RaceTrack: lockset and concurrency, each tracked only when the other has
//! raised suspicion (Yu, Rodeheffer and Chen, SOSP 2005; acculock.txt §V-B).
//!
//! A location's *threadset* holds the last access of every thread that is
//! concurrent with the present one, by the order without locks. Tracking
//! escalates step by step:
//!
//! ```text
//!  Virgin ─► Exclusive0 ──another thread──► Exclusive1 ──threadset > 1──┐
//!            (one thread,                   (threadset)            read │ write
//!             nothing kept)                                             ▼
//!                                  SharedRead ──write──► SharedModify1
//!                                  (lockset)             (lockset)
//!                                                            │ lockset empty
//!                                      threadset = 1         ▼
//!              report ◄── SharedModify2 ───────────► Exclusive2
//!        lockset empty    (lockset and  ◄──────────  (threadset)
//!                          threadset)   threadset > 1
//! ```
//! So a location is reported only after it was concurrent, then without a
//! common lock, then concurrent again, and again without a common lock. That
//! is why it is quick, and why it misses much (acculock.txt §V-B).
//!
//! The paper's own text is not among our sources; this is its published state
//! machine as the literature describes it. Object-level granularity, which it
//! also adapts, does not exist in our traces.

use crate::access::{AccessKind, AccessMap, Partners};
use crate::clock::Epoch;
use crate::detector::{Context, Detector, Reason};
use crate::lockset::LockSetId;
use crate::order::Order;

/// The detector.
pub struct RaceTrack;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Virgin,
    Exclusive0,
    Exclusive1,
    SharedRead,
    SharedModify1,
    Exclusive2,
    SharedModify2,
}

/// State, lockset and threadset; each of the two is meaningful only in the
/// states that track it.
#[derive(Clone, Debug, Default)]
pub struct Var {
    state: State,
    first: Epoch,
    candidates: LockSetId,
    threads: AccessMap,
    partners: Partners,
}

impl Var {
    /// Adds the access to the threadset, drops what precedes it, and returns
    /// how many threads are left.
    fn meet_threads(&mut self, cx: &mut Context<'_>, kind: AccessKind) -> usize {
        let stamp = cx.stamp(kind);
        let concurrent: Vec<_> = self.threads.concurrent(&cx.thread.clock).collect();
        self.threads.set_only(stamp);
        for other in concurrent {
            self.threads.insert(other);
        }
        self.threads.entries().count()
    }

    fn start_locks(&mut self, cx: &mut Context<'_>, kind: AccessKind) {
        let stamp = cx.stamp(kind);
        self.candidates = cx.locks_with_atomic(stamp, kind);
    }

    fn meet_locks(&mut self, cx: &mut Context<'_>, kind: AccessKind) {
        let stamp = cx.stamp(kind);
        let held = cx.locks_with_atomic(stamp, kind);
        self.candidates = cx.locksets.meet(self.candidates, held);
    }

    fn start_threads(&mut self, cx: &mut Context<'_>, kind: AccessKind) {
        self.threads.set_only(cx.stamp(kind));
    }

    /// Moves on by one access; true if it is to be reported.
    fn step(&mut self, cx: &mut Context<'_>, kind: AccessKind) -> bool {
        match self.state {
            State::Virgin => {
                self.first = cx.epoch();
                self.state = State::Exclusive0;
            }
            State::Exclusive0 => {
                if self.first.thread() != cx.epoch().thread() {
                    self.start_threads(cx, kind);
                    self.state = State::Exclusive1;
                }
            }
            State::Exclusive1 => {
                if self.meet_threads(cx, kind) > 1 {
                    self.start_locks(cx, kind);
                    self.state = match kind.is_write() {
                        true => State::SharedModify1,
                        false => State::SharedRead,
                    };
                }
            }
            State::SharedRead => {
                self.meet_locks(cx, kind);
                if kind.is_write() {
                    self.state = State::SharedModify1;
                }
            }
            State::SharedModify1 => {
                self.meet_locks(cx, kind);
                if self.candidates.is_empty() {
                    self.start_threads(cx, kind);
                    self.state = State::Exclusive2;
                }
            }
            State::Exclusive2 => {
                if self.meet_threads(cx, kind) > 1 {
                    self.start_locks(cx, kind);
                    self.state = State::SharedModify2;
                }
            }
            State::SharedModify2 => {
                self.meet_locks(cx, kind);
                if self.meet_threads(cx, kind) == 1 {
                    self.state = State::Exclusive2;
                }
            }
        }
        self.state == State::SharedModify2 && self.candidates.is_empty()
    }
}

impl Detector for RaceTrack {
    const ORDER: Order = Order::WithoutLocks;
    const PRECISE: bool = false;
    type Var = Var;

    fn access(x: &mut Var, cx: &mut Context<'_>, kind: AccessKind) {
        if x.step(cx, kind)
            && let Some((prior, prior_kind)) = x.partners.conflicting(cx.epoch(), kind)
        {
            cx.conflict(prior, prior_kind, Reason::NoConsistentLockAndConcurrent);
        }
        x.partners.insert(cx.stamp(kind), kind);
    }
}
