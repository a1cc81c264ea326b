//! What a detector is.
//!
//! A detector is a state machine over one variable's cell. The host owns the
//! cells, guards them, keeps order and locks with [`Sync`](crate::order::Sync),
//! and hands every access to [`Detector::access`] unless
//! [`Detector::same_epoch`] already says that there is nothing to do. That
//! split is the whole interface, so one implementation serves an offline loop
//! and a live program: `same_epoch` is what a live fast path checks without
//! taking the cell, and `access` changes nothing but the cell and the list of
//! conflicts, so a host that lost a race for the cell drops both and retries.

use racehound_trace::SiteId;

use crate::access::{AccessKind, Stamp};
use crate::clock::Epoch;
use crate::lockset::{ATOMIC, LockSetId, LockSets};
use crate::order::{Order, ThreadCell};
use crate::stats::Stats;

/// A race detector.
pub trait Detector: 'static {
    /// Which operations order threads for it.
    const ORDER: Order;

    /// Whether a warning means that both accesses were seen unordered in this
    /// very execution, or only that another could bring them together.
    const PRECISE: bool;

    /// What is remembered of one location.
    type Var: Default + Clone + Send;

    /// Whether an access at `site` in `epoch` adds nothing to what is
    /// remembered: the hot path, decided from the cell alone.
    #[inline(always)]
    fn same_epoch(_x: &Self::Var, _epoch: Epoch, _site: SiteId, _kind: AccessKind) -> bool {
        false
    }

    /// What an access to the location will look at beyond the cell itself: a
    /// host that knows what comes asks for it ahead of use.
    #[inline(always)]
    fn out_of_line(_x: &Self::Var) -> Option<*const u8> {
        None
    }

    /// Analyses an access for which [`same_epoch`](Self::same_epoch) was false.
    fn access(x: &mut Self::Var, cx: &mut Context<'_>, kind: AccessKind);
}

/// The accessing thread's side of an access.
pub struct Context<'a> {
    /// The accessing thread.
    pub thread: &'a mut ThreadCell,
    /// Where in the program it is.
    pub site: SiteId,
    /// All locksets.
    pub locksets: &'a mut LockSets,
    /// Counters.
    pub stats: &'a mut Stats,
    /// Where conflicts are put, most important first.
    pub conflicts: &'a mut Vec<Conflict>,
}

impl Context<'_> {
    /// `epoch(t)`.
    #[inline]
    pub fn epoch(&self) -> Epoch {
        self.thread.epoch()
    }

    /// Whether that moment happened before now.
    #[inline]
    pub fn knows(&self, epoch: Epoch) -> bool {
        self.thread.clock.knows(epoch)
    }

    /// The access as it will be remembered, with the locks that protect it.
    #[inline]
    pub fn stamp(&mut self, kind: AccessKind) -> Stamp {
        let protection = self.thread.held.protection(self.locksets);
        Stamp {
            epoch: self.epoch(),
            site: self.site,
            locks: match kind.is_write() {
                true => protection.writes,
                false => protection.reads,
            },
        }
    }

    /// The access's locks for a detector that knows nothing but locks: an
    /// atomic access also holds [`ATOMIC`].
    pub fn locks_with_atomic(&mut self, stamp: Stamp, kind: AccessKind) -> LockSetId {
        match kind.is_atomic() {
            true => self.locksets.with(stamp.locks, ATOMIC),
            false => stamp.locks,
        }
    }

    /// Reports a conflict with an earlier access.
    pub fn conflict(&mut self, prior: Stamp, kind: AccessKind, reason: Reason) {
        self.conflicts.push(Conflict {
            prior,
            kind,
            reason,
        });
    }
}

/// An earlier access that the current one is in conflict with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The earlier access.
    pub prior: Stamp,
    /// What it did.
    pub kind: AccessKind,
    /// How the detector came to it.
    pub reason: Reason,
}

/// How a detector came to a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing orders the two in this execution.
    Unordered,
    /// Nothing but locks orders the two, and they have no lock in common.
    NoCommonLock,
    /// Nothing but locks orders the two, and the writes so far have only these
    /// locks in common, none of them held now.
    WritesShareOnly(LockSetId),
    /// No lock was held at every access so far.
    NoConsistentLock,
    /// The same, and threads were seen to access it concurrently.
    NoConsistentLockAndConcurrent,
}
