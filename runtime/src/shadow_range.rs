//! Whole stretches of memory whose past changes at once: allocated, freed,
//! mapped, unmapped.

use crate::bulk;
use crate::cell::Cell;
use crate::memory;
use crate::objects;
use crate::record;
use crate::shadow::{self, Half, Word};
use crate::stamp::{self, Stamp};
use crate::thread::{Thread, Visit};
use std::sync::atomic::Ordering;

/// From this size on whole pages of shadow are given back instead of being
/// cleared.
const LARGE: usize = 64 << 10;

/// Groups that are filled one by one: more are mostly alike.
const FEW: usize = 16;

/// Makes a stretch of memory have no past.
pub(crate) fn forget(thread: &mut Thread, address: usize, size: usize) {
    fill(thread, address, size, Stamp::NONE);
}

/// Makes a stretch of memory look as if it had just been written, and nothing
/// before.
pub(crate) fn written(thread: &mut Thread, address: usize, size: usize, stamp: Stamp) {
    fill(thread, address, size, stamp);
}

fn fill(thread: &mut Thread, address: usize, size: usize, stamp: Stamp) {
    let Some(last) = size.checked_sub(1).and_then(|n| address.checked_add(n)) else {
        return;
    };
    if !shadow::is_user(last) {
        return;
    }
    let (first_group, last_group) = (address / 8, last / 8);
    if size >= LARGE {
        return fill_large(thread, address, size);
    }
    let nothing_there = !shadow::is_backed(address) && !shadow::is_backed(last);
    if stamp.is_none() && nothing_there {
        return;
    }
    let (head, tail) = (0xffu8 << (address % 8), 0xffu8 >> (7 - last % 8));
    if first_group == last_group {
        return fill_group(thread, address & !7, head & tail, stamp);
    }
    let mut number = first_group;
    if head != 0xff {
        fill_group(thread, number * 8, head, stamp);
        number += 1;
    }
    let word = blank(stamp);
    let end = last_group + usize::from(tail == 0xff);
    while number < end {
        let run = shadow::run(number * 8, end * 8);
        let plain = match run.len() <= FEW {
            true => bulk::overwrite(run, word, |old| old.as_cell().is_none()),
            false => bulk::alike(run, |old| old[0].as_cell().is_none().then_some([word; 2])),
        };
        number += plain;
        if plain < run.len() {
            fill_cell(thread, number * 8, 0xff, stamp);
            number += 1;
        }
    }
    if tail != 0xff {
        fill_group(thread, last_group * 8, tail, stamp);
    }
}

/// A word that was written at `stamp`, if at all.
fn blank(stamp: Stamp) -> Word {
    match stamp {
        Stamp::NONE => Word::EMPTY,
        stamp => Word::new(Half::new(stamp, 15), Half::NONE),
    }
}

/// Gives some of eight bytes a new past: written at `stamp`, or none. The rest of a word
/// that was written is behind the end of a block.
#[inline]
pub(crate) fn fill_group(thread: &mut Thread, address: usize, bytes: u8, stamp: Stamp) {
    let group = shadow::group(address);
    let old = shadow::load(group);
    if old[0].as_cell().is_some() {
        return fill_cell(thread, address, bytes, stamp);
    }
    if stamp.is_none() && old == [Word::EMPTY; 2] {
        return;
    }
    for (i, old) in old.into_iter().enumerate() {
        let part = bytes >> (4 * i) & 15;
        let new = match (part, stamp) {
            (0, _) => continue,
            (_, Stamp::NONE) if part == 15 => Word::EMPTY,
            (_, Stamp::NONE) if is_plain(old) => {
                Word::new(old.write().without(part), old.read().without(part))
            }
            (_, Stamp::NONE) => {
                Cell::of(group, &mut thread.spare).unlock();
                return fill_cell(thread, address, bytes, stamp);
            }
            // The rest of the word, if any, is behind the end of the block:
            // padding that nobody may use.
            _ => Word::new(Half::new(stamp, part), Half::NONE),
        };
        group[i].store(new.0, Ordering::Relaxed);
    }
}

/// Whether bytes can be taken from both halves of a word.
fn is_plain(word: Word) -> bool {
    let plain = |half: Half| half.as_set().is_none() && stamp::merged(half.stamp()).is_none();
    plain(word.write()) && plain(word.read())
}

#[cold]
fn fill_cell(thread: &mut Thread, address: usize, bytes: u8, stamp: Stamp) {
    let group = shadow::group(address);
    if shadow::load(group)[0] == Word::DONE {
        if bytes == 0xff {
            let word = blank(stamp);
            group[1].store(word.0, Ordering::Relaxed);
            group[0].store(word.0, Ordering::Release);
            return;
        }
        Cell::of(group, &mut thread.spare).unlock();
    }
    let Some(mut cell) = Cell::existing(group) else {
        return fill_group(thread, address, bytes, stamp);
    };
    if bytes == 0xff {
        if let Some(abandoned) = objects::forget_all(&cell, &mut thread.messages) {
            thread.abandoned.push(abandoned);
        }
        return cell.dissolve([blank(stamp); 2], group, &mut thread.spare);
    }
    cell.forget(bytes, |_| false);
    cell.forget_slots(bytes);
    cell.header().done &= !bytes;
    if !stamp.is_none() {
        cell.reserve(1, group, &mut thread.spare);
        cell.add(stamp, bytes, racehound_detect::AccessKind::Write);
    }
    cell.finish(group, &mut thread.spare);
}

fn fill_large(thread: &mut Thread, address: usize, size: usize) {
    // Half a page of program memory has a page of shadow.
    let unit = memory::PAGE / 2;
    let start = address.next_multiple_of(unit);
    let end = (address + size) / unit * unit;
    fill(thread, address, start - address, Stamp::NONE);
    fill(thread, end, address + size - end, Stamp::NONE);
    let mut at = start;
    while at < end {
        // Not across the border of two chunks of shadow.
        let chunk_end = (at >> 32 << 32) + (1 << 32);
        let until = end.min(chunk_end);
        if shadow::is_backed(at) {
            let from = std::ptr::from_ref(shadow::group(at)).cast_mut().cast();
            // SAFETY: shadow of memory that has no past any more.
            unsafe { memory::forget(from, (until - at) * 2) };
        }
        at = until;
    }
}

/// The stack of a new thread, and what the C library keeps there, have no past:
/// another thread may have had them before.
pub(crate) fn forget_stack(visit: &Visit) {
    let thread = visit.thread();
    let extent = thread.extent.clone();
    record::forget(thread, extent.start, extent.len());
    forget(thread, extent.start, extent.len());
}

/// Nothing is said of these bytes while they live.
pub(crate) fn excuse(thread: &mut Thread, address: usize, size: usize) {
    let Some(last) = size.checked_sub(1).and_then(|n| address.checked_add(n)) else {
        return;
    };
    for number in address / 8..=last / 8 {
        let mut bytes = 0xffu8;
        if number == address / 8 {
            bytes &= 0xff << (address % 8);
        }
        if number == last / 8 {
            bytes &= 0xff >> (7 - last % 8);
        }
        let group = shadow::group(number * 8);
        let cell = Cell::of(group, &mut thread.spare);
        cell.header().done |= bytes;
        cell.unlock();
    }
}
