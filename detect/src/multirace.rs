//! MultiRace: Djit+ that compares clocks only where Eraser finds no lock
//! (acculock.txt §V-B; Pozniansky and Schuster, CCPE 2007).
//!
//! Every first access of its kind in an epoch is logged as Djit+ does and moves
//! Eraser's state machine. The O(n) comparison is made only while the candidate
//! set is empty. So it inherits what Eraser misses: the first thread's accesses
//! are never compared while the location counts as exclusive. The paper says
//! that it may also report false warnings; ours cannot, because what it reports
//! it has found unordered.

use racehound_trace::SiteId;

use crate::access::AccessKind;
use crate::clock::Epoch;
use crate::detector::{Context, Detector};
use crate::order::Order;
use crate::{djit, eraser};

/// The detector.
pub struct MultiRace;

/// Both halves.
#[derive(Clone, Debug, Default)]
pub struct Var {
    discipline: eraser::Var,
    clocks: djit::Var,
    last: Option<(Epoch, AccessKind)>,
}

impl Detector for MultiRace {
    const ORDER: Order = Order::HappensBefore;
    const PRECISE: bool = true;
    type Var = Var;

    #[inline(always)]
    fn same_epoch(x: &Var, epoch: Epoch, _site: SiteId, kind: AccessKind) -> bool {
        // In one epoch locks are only acquired, so a repetition cannot shrink
        // the candidate set, unless somebody else came by in between.
        x.last == Some((epoch, kind))
    }

    fn access(x: &mut Var, cx: &mut Context<'_>, kind: AccessKind) {
        x.discipline.step(cx, kind);
        if x.discipline.unprotected() {
            x.clocks.check(cx, kind);
        }
        x.clocks.log(cx, kind);
        x.last = Some((cx.epoch(), kind));
    }
}
