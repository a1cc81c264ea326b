//! What the detectors with shadow words of their own decide.
//!
//! FastTrack and AccuLock are fast because nearly everything they need fits a
//! shadow word. The rules here are theirs, applied to that representation; a
//! test holds them against the detectors of `racehound-detect`.

mod acculock;
mod fasttrack;

use racehound_detect::{AccessKind, Reason};

pub(crate) use acculock::AccuLock;
pub(crate) use fasttrack::FastTrack;

use crate::access::Conflict;
use crate::cell::{Cell, Entry};
use crate::shadow::Group;
use crate::stamp::Stamp;
use crate::thread::Thread;

/// A detector over shadow words and cells.
pub(crate) trait Rule {
    /// Whether of several accesses in one epoch only the first counts, because
    /// they may differ in their locks. Else the last may stand for all.
    const FIRST_COUNTS: bool;

    /// Whether a write may simply take the place of an earlier one.
    fn write_after_write(thread: &Thread, before: Stamp, now: Stamp) -> bool;

    /// Whether a write may make an earlier read forgotten.
    fn write_after_read(thread: &Thread, before: Stamp, now: Stamp) -> bool;

    /// Whether a read is in no conflict with an earlier write.
    fn read_after_write(thread: &Thread, before: Stamp, now: Stamp) -> bool;

    /// Whether a read may take the place of an earlier one.
    fn read_replaces(thread: &Thread, before: Stamp, now: Stamp) -> bool;

    /// Whether a read may be [merged](crate::merge) with an earlier one.
    fn read_merges(thread: &Thread, before: Stamp) -> bool;

    /// Whether an access is in conflict with an earlier one that shadow words remember.
    fn is_conflict(thread: &Thread, before: (Stamp, AccessKind), now: (Stamp, AccessKind)) -> bool;

    /// The access in a cell that is held and has room for one more entry. The
    /// conflict that matters most, if there are any.
    fn access(
        thread: &mut Thread,
        cell: &mut Cell,
        group: &Group,
        now: Stamp,
        bytes: u8,
        kind: AccessKind,
    ) -> Option<Conflict>;
}

/// The conflict that matters most, in the order in which the detectors report
/// them.
#[derive(Default)]
struct Worst {
    found: Option<Conflict>,
    /// All bytes that are in conflict with something.
    bytes: u8,
}

impl Worst {
    fn consider(&mut self, entry: Entry, reason: Reason) {
        let weight = |kind: AccessKind| match kind {
            AccessKind::Write => 3,
            AccessKind::Read => 2,
            AccessKind::AtomicWrite => 1,
            AccessKind::AtomicRead => 0,
        };
        self.bytes |= entry.bytes();
        let worse = |known: &Conflict| weight(entry.kind()) > weight(known.entry.kind());
        if self.found.as_ref().is_none_or(worse) {
            self.found = Some(Conflict {
                entry,
                reason,
                bytes: 0,
            });
        }
    }

    /// The conflict, if there was one, with the accessed bytes that have some.
    fn conclude(self, accessed: u8) -> Option<Conflict> {
        let bytes = self.bytes & accessed;
        self.found.map(|found| Conflict { bytes, ..found })
    }
}
