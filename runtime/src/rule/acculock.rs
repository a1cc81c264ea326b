//! AccuLock (acculock.txt §III, Algorithms 10 and 11), on shadow words and
//! cells: the rules of `racehound_detect::acculock`.
//!
//! The locks of a remembered access are in its record. The candidate set of the
//! writes is that of the last write, unless an entry says otherwise; then the
//! location has a cell. Those of a merge are in the records of its parts, so a
//! merge that is not known from elsewhere has a cell, too.
//!
//! # Beyond the paper
//! A read takes the place of an earlier one that accu-hb orders before it and
//! that had the very same locks: whatever races with the earlier one races with
//! the later. So memory that threads hand to each other stays in shadow words.

use racehound_detect::lockset::LockSetId;
use racehound_detect::{AccessKind, Reason};

use super::{Rule, Worst};
use crate::access::Conflict;
use crate::cell::{Cell, Entry};
use crate::locks::{self, LocksId};
use crate::shadow::Group;
use crate::stamp::Stamp;
use crate::thread::Thread;

/// The detector.
pub(crate) struct AccuLock;

#[inline(always)]
fn locks_of(stamp: Stamp) -> LocksId {
    stamp.record().locks
}

/// The locks that protect an access of this kind.
fn protecting(set: LocksId, kind: AccessKind) -> LockSetId {
    if set == LocksId::NONE {
        return LockSetId::EMPTY;
    }
    let protection = locks::protection(set);
    match kind.is_write() {
        true => protection.writes,
        false => protection.reads,
    }
}

/// Whether accesses of these kinds have a protecting lock in common.
fn common(a: (Stamp, AccessKind), b: (Stamp, AccessKind)) -> bool {
    let (x, y) = (locks_of(a.0), locks_of(b.0));
    if x == LocksId::NONE || y == LocksId::NONE {
        return false;
    }
    !locks::meet(protecting(x, a.1), protecting(y, b.1)).is_empty()
}

/// Whether the same locks are held now, and at least one of them for writing.
#[inline(always)]
fn same_exclusive(before: Stamp, now: Stamp) -> bool {
    let set = locks_of(before);
    set.is_exclusive() && set == locks_of(now)
}

fn candidates(entry: Entry) -> LockSetId {
    match entry.candidates() {
        Some(set) => LockSetId::from_number(set),
        None => protecting(locks_of(entry.stamp()), AccessKind::Write),
    }
}

impl Rule for AccuLock {
    const FIRST_COUNTS: bool = true;

    #[inline(always)]
    fn write_after_write(thread: &Thread, before: Stamp, now: Stamp) -> bool {
        thread.knows(before) || same_exclusive(before, now)
    }

    #[inline(always)]
    fn write_after_read(thread: &Thread, before: Stamp, now: Stamp) -> bool {
        thread.knows(before) || same_exclusive(before, now)
    }

    #[inline(always)]
    fn read_after_write(thread: &Thread, before: Stamp, now: Stamp) -> bool {
        thread.knows(before) || same_exclusive(before, now)
    }

    #[inline(always)]
    fn read_replaces(thread: &Thread, before: Stamp, now: Stamp) -> bool {
        thread.made(before) || (thread.knows(before) && locks_of(before) == locks_of(now))
    }

    #[inline(always)]
    fn read_merges(thread: &Thread, before: Stamp) -> bool {
        thread.made(before)
    }

    fn is_conflict(thread: &Thread, before: (Stamp, AccessKind), now: (Stamp, AccessKind)) -> bool {
        before.1.conflicts_with(now.1) && !thread.knows(before.0) && !common(before, now)
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
        let mine = protecting(locks_of(now), kind);
        let mut left = None;
        let mut stranger = None;
        cell.each(bytes, |entry| {
            if entry.kind() == AccessKind::Read && !Self::read_replaces(thread, entry.stamp(), now)
            {
                stranger = Some(entry.stamp());
            }
            if thread.knows(entry.stamp()) {
                return;
            }
            if entry.kind() == AccessKind::Write {
                let shared = locks::meet(candidates(entry), mine);
                if shared.is_empty() {
                    let own = protecting(locks_of(entry.stamp()), AccessKind::Write);
                    worst.consider(
                        entry,
                        match candidates(entry) == own {
                            true => Reason::NoCommonLock,
                            false => Reason::WritesShareOnly(candidates(entry)),
                        },
                    );
                } else if kind == AccessKind::Write && shared != mine {
                    left = Some(shared);
                }
            } else if entry.kind().conflicts_with(kind)
                && !common((entry.stamp(), entry.kind()), (now, kind))
            {
                worst.consider(entry, Reason::NoCommonLock);
            }
        });
        match kind {
            AccessKind::Write => {
                cell.forget(bytes, |_| false);
                cell.forget_slots(bytes);
                match left {
                    Some(set) => {
                        cell.push(Entry::new(now, bytes, kind).with_candidates(set.number()));
                    }
                    None => cell.add(now, bytes, kind),
                }
            }
            AccessKind::Read if cell.is_shared() || stranger.is_some() => {
                let me = thread.chain();
                cell.forget(bytes, |e| e.kind() != kind || !thread.made(e.stamp()));
                if !cell.is_shared() {
                    let other = stranger.map_or(me, |stamp| stamp.epoch().thread());
                    cell.share(me, other, group, &mut thread.spare);
                }
                cell.read(me, now, bytes, group, &mut thread.spare);
            }
            _ => {
                cell.forget(bytes, |e| {
                    e.kind() != kind
                        || !(thread.made(e.stamp())
                            || kind == AccessKind::Read
                                && thread.knows(e.stamp())
                                && locks_of(e.stamp()) == locks_of(now))
                });
                cell.add(now, bytes, kind);
            }
        }
        worst.conclude(bytes)
    }
}
