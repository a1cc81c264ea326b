//! FastTrack (acculock.txt §II-B), on shadow words and cells: the rules of
//! `racehound_detect::fasttrack`, with one difference: a read makes all reads
//! forgotten that happened before it, also where others are concurrent. Any
//! write that races with one of them races with it.

use racehound_detect::{AccessKind, Reason};

use super::{Rule, Worst};
use crate::access::Conflict;
use crate::cell::Cell;
use crate::shadow::Group;
use crate::stamp::Stamp;
use crate::thread::Thread;

/// The detector.
pub(crate) struct FastTrack;

impl Rule for FastTrack {
    const FIRST_COUNTS: bool = false;

    #[inline(always)]
    fn write_after_write(thread: &Thread, before: Stamp, _now: Stamp) -> bool {
        thread.knows(before)
    }

    #[inline(always)]
    fn write_after_read(thread: &Thread, before: Stamp, _now: Stamp) -> bool {
        thread.knows(before)
    }

    #[inline(always)]
    fn read_after_write(thread: &Thread, before: Stamp, _now: Stamp) -> bool {
        thread.knows(before)
    }

    #[inline(always)]
    fn read_replaces(thread: &Thread, before: Stamp, _now: Stamp) -> bool {
        thread.knows(before)
    }

    #[inline(always)]
    fn read_merges(thread: &Thread, before: Stamp) -> bool {
        thread.knows(before)
    }

    fn is_conflict(thread: &Thread, before: (Stamp, AccessKind), now: (Stamp, AccessKind)) -> bool {
        before.1.conflicts_with(now.1) && !thread.knows(before.0)
    }

    fn access(
        thread: &mut Thread,
        cell: &mut Cell,
        group: &Group,
        now: Stamp,
        bytes: u8,
        kind: AccessKind,
    ) -> Option<Conflict> {
        let mut worst = Worst::default();
        let mut stranger = None;
        cell.each(bytes, |entry| {
            let known = thread.knows(entry.stamp());
            if entry.kind() == kind && !known {
                stranger = Some(entry.stamp());
            }
            if entry.kind().conflicts_with(kind) && !known {
                worst.consider(entry, Reason::Unordered);
            }
        });
        match kind {
            AccessKind::Write => {
                cell.forget(bytes, |_| false);
                cell.forget_slots(bytes);
                cell.add(now, bytes, kind);
            }
            AccessKind::Read if stranger.is_some() => {
                let me = thread.chain();
                cell.forget(bytes, |e| e.kind() != kind || !thread.knows(e.stamp()));
                if !cell.is_shared() {
                    let other = stranger.map_or(me, |stamp| stamp.epoch().thread());
                    cell.share(me, other, group, &mut thread.spare);
                }
                cell.read(me, now, bytes, group, &mut thread.spare);
            }
            _ => {
                // What happened before is implied by what happens now.
                cell.forget(bytes, |e| e.kind() != kind || !thread.knows(e.stamp()));
                if kind == AccessKind::Read {
                    cell.forget_slots(bytes);
                }
                cell.add(now, bytes, kind);
            }
        }
        worst.conclude(bytes)
    }
}
