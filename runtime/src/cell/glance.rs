//! What a cell says to who does not hold it, or holds it for a moment only.
//!
//! Cells stay cells, and what is read here changes under our eyes, but atomically. That the
//! group still referred to the cell afterwards confirms it.

use std::sync::atomic::Ordering;

use racehound_detect::AccessKind;
use racehound_trace::ThreadId;

use super::{Cell, Entry, HEADER, LINE, body, header, slot_count};
use crate::shadow::{self, Group, Half, Word};
use crate::stamp::Stamp;

/// Whether accesses like this one by the same thread in the same epoch are
/// remembered for all of these bytes: looked at without holding the cell.
#[inline]
pub(crate) fn covers(
    number: u32,
    bytes: u8,
    group: &Group,
    chain: ThreadId,
    counts: impl Fn(Stamp, AccessKind) -> bool,
) -> bool {
    let reference = Word::cell(number);
    // SAFETY: cells stay cells; what is read here changes under our eyes, but
    // atomically, and is confirmed below.
    let covered = unsafe {
        let header = &*header(number);
        let mut missing = bytes & !header.done;
        let readers = header.readers.load(Ordering::Relaxed);
        let slots = slot_count(readers);
        if slots != 0 {
            let mask = readers as usize / 8;
            let word = Word((*body(number).add(chain.index() & mask)).load(Ordering::Relaxed));
            for (half, shift) in [(word.write(), 0), (word.read(), 4)] {
                if !half.is_none() && counts(half.stamp(), AccessKind::Read) {
                    missing &= !(half.bytes() << shift);
                }
            }
        }
        let room = ((LINE << header.shape.class()) - HEADER) / 8;
        let len = (header.len.load(Ordering::Relaxed) as usize)
            .min(room.saturating_sub(slots))
            .min(8);
        for i in 0..len {
            let entry = Entry((*body(number).add(slots + i)).load(Ordering::Relaxed));
            if entry.bytes() & missing != 0 && counts(entry.stamp(), entry.kind()) {
                missing &= !entry.bytes();
            }
        }
        missing == 0
    };
    covered && group[0].load(Ordering::Acquire) == reference.0
}

/// Whether the thread is one of several readers of these bytes, with reads that `count`:
/// looked at without holding the cell.
#[inline]
pub(crate) fn has_read(
    number: u32,
    bytes: u8,
    group: &Group,
    chain: ThreadId,
    counts: impl Fn(Stamp) -> bool,
) -> bool {
    // SAFETY: cells stay cells; what is read here changes under our eyes, but
    // atomically, and is confirmed below.
    let word = unsafe {
        let readers = (*header(number)).readers.load(Ordering::Relaxed);
        if readers == 0 {
            return false;
        }
        let slot = chain.index() & (readers as usize / 8);
        Word((*body(number).add(slot)).load(Ordering::Relaxed))
    };
    let has =
        |half: Half, bytes: u8| bytes & !half.bytes() == 0 && (bytes == 0 || counts(half.stamp()));
    has(word.write(), bytes & 15)
        && (word.write() == word.read() && bytes == 0xff || has(word.read(), bytes >> 4))
        && group[0].load(Ordering::Acquire) == Word::cell(number).0
}

/// Whether nothing is said of these bytes of a group any more, according to its
/// cell, which is not held.
#[inline(always)]
pub(crate) fn is_done(number: u32, bytes: u8, group: &Group) -> bool {
    // SAFETY: cells stay cells; a byte that changes under our eyes is confirmed.
    let done = unsafe { (&raw const (*header(number)).done).read_volatile() };
    bytes & !done == 0 && group[0].load(Ordering::Acquire) == Word::cell(number).0
}

/// Whether a cell that is not held has slots for readers.
#[inline(always)]
pub(crate) fn is_shared(number: u32) -> bool {
    // SAFETY: cells stay cells, and the field is atomic.
    unsafe { (*header(number)).readers.load(Ordering::Relaxed) != 0 }
}

/// Remembers a read, given as thread, stamp and bytes, where the thread is one of
/// several readers already: its slot has a read that is `mine`, and all writes
/// are `ordered` before. False if it is not as simple as that.
#[inline]
pub(crate) fn reread(
    number: u32,
    group: &Group,
    (chain, stamp, bytes): (ThreadId, Stamp, u8),
    mine: impl Fn(Stamp) -> bool,
    ordered: impl Fn(Stamp) -> bool,
) -> bool {
    let cell = Cell { number };
    cell.header().lock.lock();
    let refers = shadow::load(group)[0].as_cell() == Some(number);
    let settled = refers && cell.is_shared() && cell.header().done & bytes == 0 && {
        let slot = cell.slot(chain);
        let before = Word(slot.load(Ordering::Relaxed));
        let (first, second) = (before.write(), before.read());
        let becomes = |half: Half, part: u8| match part {
            0 => Some(half),
            _ => {
                let again = !half.is_none() && half.bytes() & !part == 0 && mine(half.stamp());
                again.then(|| Half::new(stamp, part))
            }
        };
        let after = match first == second && bytes == 0xff {
            true => becomes(first, 15).map(|half| Word::new(half, half)),
            false => becomes(first, bytes & 15)
                .zip(becomes(second, bytes >> 4))
                .map(|(first, second)| Word::new(first, second)),
        };
        let fine = |entry: &Entry| {
            entry.bytes() & bytes == 0
                || !entry.kind().is_write()
                || (entry.candidates().is_none() && ordered(entry.stamp()))
        };
        match after {
            Some(after) if cell.entries().iter().all(fine) => {
                slot.store(after.0, Ordering::Relaxed);
                true
            }
            _ => false,
        }
    };
    cell.unlock();
    settled
}

/// Different after a cell was held by somebody; none while it is.
#[inline(always)]
pub(crate) fn version(number: u32) -> Option<u32> {
    // SAFETY: cells stay cells, and the field is atomic.
    unsafe { (*header(number)).lock.version() }
}

/// The first synchronisation object of a cell that is not held.
#[inline(always)]
pub(crate) fn object_of(number: u32) -> u32 {
    // SAFETY: cells stay cells, and the field is atomic.
    unsafe { (*header(number)).sync.load(Ordering::Acquire) }
}
