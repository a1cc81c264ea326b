//! Djit+: happens-before with a vector clock for the reads and one for the
//! writes of every location (acculock.txt §II-A; Pozniansky and Schuster,
//! PPoPP 2003).
//!
//! The yardstick of FastTrack: it finds the same first race of every location,
//! at O(threads) for each access that is the first of its kind in its epoch.
//! Our vector clocks carry the site and locks of each entry, so that a warning
//! can name them; threads that never came by have no entry.

use racehound_trace::SiteId;

use crate::access::{AccessKind, AccessMap};
use crate::clock::Epoch;
use crate::detector::{Context, Detector, Reason};
use crate::order::Order;

/// The detector.
pub struct Djit;

const KINDS: [AccessKind; 4] = [
    AccessKind::Write,
    AccessKind::Read,
    AccessKind::AtomicWrite,
    AccessKind::AtomicRead,
];

/// The last access of each kind by each thread: `W_x`, `R_x`, and the same for
/// atomics.
#[derive(Clone, Debug, Default)]
pub struct Var {
    last: [AccessMap; KINDS.len()],
}

impl Var {
    fn map(&self, kind: AccessKind) -> &AccessMap {
        &self.last[position(kind)]
    }

    /// Whether this kind of access was already seen in this epoch.
    pub(crate) fn seen(&self, epoch: Epoch, kind: AccessKind) -> bool {
        self.map(kind).has(epoch)
    }

    /// Reports what the access races with.
    pub(crate) fn check(&self, cx: &mut Context<'_>, kind: AccessKind) {
        for prior in KINDS {
            if prior.conflicts_with(kind) {
                for stamp in self.map(prior).entries() {
                    if !cx.knows(stamp.epoch) {
                        cx.conflict(stamp, prior, Reason::Unordered);
                    }
                }
            }
        }
    }

    /// Remembers the access.
    pub(crate) fn log(&mut self, cx: &mut Context<'_>, kind: AccessKind) {
        let stamp = cx.stamp(kind);
        let shared = self.map(AccessKind::Read).is_shared();
        let map = &mut self.last[position(kind)];
        map.insert(stamp);
        match kind.is_write() {
            true => cx.stats.write(shared),
            false => cx.stats.read(map.is_shared()),
        }
    }
}

fn position(kind: AccessKind) -> usize {
    match kind {
        AccessKind::Write => 0,
        AccessKind::Read => 1,
        AccessKind::AtomicWrite => 2,
        AccessKind::AtomicRead => 3,
    }
}

impl Detector for Djit {
    const ORDER: Order = Order::HappensBefore;
    const PRECISE: bool = true;
    type Var = Var;

    #[inline(always)]
    fn same_epoch(x: &Var, epoch: Epoch, _site: SiteId, kind: AccessKind) -> bool {
        x.seen(epoch, kind)
    }

    fn access(x: &mut Var, cx: &mut Context<'_>, kind: AccessKind) {
        x.check(cx, kind);
        x.log(cx, kind);
    }
}
