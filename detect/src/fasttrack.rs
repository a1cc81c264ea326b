//! FastTrack: happens-before with epochs (acculock.txt §II-B, Algorithms 1
//! and 2; Flanagan and Freund, PLDI 2009).
//!
//! Writes to a location are totally ordered until the first race, so one epoch
//! remembers them all. Reads may be concurrent; as long as they are not, one
//! epoch will do for them too, else a map from threads to epochs.
//!
//! # Invariants, while the location has not raced
//! * `write` is the last plain write, and every other write precedes it.
//! * Every read since that write precedes an entry of `reads` or is one.
//!
//! # Beyond the paper
//! C11 atomics: an atomic access races with plain ones only. Atomic writes can
//! thus be concurrent without a race, so they need a map, and so do atomic
//! reads. Both live out of line, because a location is mostly all atomic or
//! not at all. A plain write forgets them like reads: each either precedes it
//! or was just reported. The read of a location already read in this epoch is
//! skipped also when others read it too (the paper's [FT READ SHARED] with the
//! extension that its authors mention).

use racehound_trace::SiteId;

use crate::access::{AccessKind, AccessMap, Stamp};
use crate::clock::Epoch;
use crate::detector::{Context, Detector, Reason};
use crate::order::Order;

/// The detector.
pub struct FastTrack;

/// `W_x`, `R_x`, and the same for atomics.
#[derive(Clone, Debug, Default)]
pub struct Var {
    write: Stamp,
    reads: AccessMap,
    atomics: Option<Box<Atomics>>,
}

/// Atomic accesses since the last plain write.
#[derive(Clone, Debug, Default)]
pub(crate) struct Atomics {
    pub(crate) reads: AccessMap,
    pub(crate) writes: AccessMap,
}

impl Detector for FastTrack {
    const ORDER: Order = Order::HappensBefore;
    const PRECISE: bool = true;
    type Var = Var;

    #[inline(always)]
    fn same_epoch(x: &Var, epoch: Epoch, _site: SiteId, kind: AccessKind) -> bool {
        match kind {
            AccessKind::Read => x.reads.has(epoch),
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
        if !cx.knows(x.write.epoch) {
            cx.conflict(x.write, AccessKind::Write, Reason::Unordered);
        }
        match kind {
            AccessKind::Read => {
                if let Some(atomics) = &x.atomics {
                    unordered(&atomics.writes, AccessKind::AtomicWrite, cx);
                }
                keep(&mut x.reads, cx, kind);
                cx.stats.read(x.reads.is_shared());
            }
            AccessKind::AtomicRead => {
                let atomics = x.atomics.get_or_insert_default();
                keep(&mut atomics.reads, cx, kind);
                cx.stats.read(atomics.reads.is_shared());
            }
            AccessKind::AtomicWrite => {
                unordered(&x.reads, AccessKind::Read, cx);
                let atomics = x.atomics.get_or_insert_default();
                keep(&mut atomics.writes, cx, kind);
                cx.stats.write(x.reads.is_shared());
            }
            AccessKind::Write => {
                unordered(&x.reads, AccessKind::Read, cx);
                cx.stats.write(x.reads.is_shared());
                x.reads.clear();
                if let Some(atomics) = &mut x.atomics {
                    unordered(&atomics.writes, AccessKind::AtomicWrite, cx);
                    unordered(&atomics.reads, AccessKind::AtomicRead, cx);
                    atomics.writes.clear();
                    atomics.reads.clear();
                }
                x.write = cx.stamp(kind);
            }
        }
    }
}

/// Reports the entries that do not happen before now.
fn unordered(map: &AccessMap, kind: AccessKind, cx: &mut Context<'_>) {
    for stamp in map.entries() {
        if !cx.knows(stamp.epoch) {
            cx.conflict(stamp, kind, Reason::Unordered);
        }
    }
}

/// Remembers the access: in place of the only one before it, if that precedes
/// it, else beside the others.
fn keep(map: &mut AccessMap, cx: &mut Context<'_>, kind: AccessKind) {
    let stamp = cx.stamp(kind);
    match map.single() {
        Some(one) if cx.knows(one.epoch) => map.set_only(stamp),
        _ => map.insert(stamp),
    }
}
