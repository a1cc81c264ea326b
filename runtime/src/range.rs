//! An access of any size: of what a function does to memory on the program's behalf, of
//! blocks that come and go.
//!
//! Mostly a few words that were settled in this epoch or are settled like their neighbours.
//! Large ones are worked through without an atomic operation for each word, see [`bulk`].

use std::sync::atomic::AtomicU64;

use racehound_detect::AccessKind;

use crate::access::{
    Access, alone, becomes, covers, in_cell, is_calm, is_word_now, seen_now, settles, whole,
    whole_group, word, words,
};
use crate::bulk;
use crate::cell;
use crate::constants;
use crate::rule::Rule;
use crate::shadow::{self, Group, Half, Word};
use crate::shadow_range;
use crate::stamp::Stamp;
use crate::thread::{Thread, Visit};
use crate::tls;

/// An access that is not atomic, by a function that the program has called, if it is of a
/// few words that are settled as fast as the program's own. Not in recorded runs.
#[inline]
pub(crate) fn at_once<R: Rule, const WRITE: bool>(
    address: usize,
    size: usize,
    place: usize,
) -> bool {
    if size.wrapping_sub(1) >= bulk::WORTHWHILE - 1
        || !shadow::is_user(address)
        || !shadow::is_in_one_piece(address, size)
    {
        return false;
    }
    let words = shadow::words(shadow::readable(address), address, address % 4 + size);
    let mut known = Word(!0);
    for (i, word) in words.iter().map(shadow::word).enumerate() {
        if word != known && !tls::is_now::<WRITE>(word) && (WRITE || word != Word::CONSTANT) {
            return anew::<R, WRITE>((words, i), (address, size), place);
        }
        known = word;
    }
    true
}

/// The same, where some words from one on are not of this epoch.
#[inline(never)]
fn anew<R: Rule, const WRITE: bool>(
    (words, first): (&[AtomicU64], usize),
    (address, size): (usize, usize),
    place: usize,
) -> bool {
    let Some(visit) = Visit::of_known() else {
        return false;
    };
    if !few::<R, WRITE>(&visit, words, first, (address, size), place) {
        visit.give_up();
        return false;
    }
    if bulk::is_active() {
        outlast(address, size);
        visit.give_up();
        return false;
    }
    visit.end();
    true
}

/// Waits until nobody works through a range around some bytes, where what was left may be
/// overwritten: it is to be looked at once more.
#[cold]
#[inline(never)]
pub(crate) fn outlast(address: usize, size: usize) {
    for number in address / 8..=(address + (size - 1)) / 8 {
        let group = shadow::group(number * 8);
        bulk::outlasts(group, shadow::load(group));
    }
}

#[inline(always)]
fn few<R: Rule, const WRITE: bool>(
    visit: &Visit,
    words: &[AtomicU64],
    first: usize,
    (address, size): (usize, usize),
    place: usize,
) -> bool {
    let thread = visit.thread();
    if thread.ignore != 0 {
        return true;
    }
    if shadow::existing(address).is_none() {
        return false;
    }
    let Some(stamp) = thread.stamp_at_once::<R>(visit.hot(), place) else {
        return false;
    };
    // Words of which all bytes are accessed.
    let whole_from = usize::from(!address.is_multiple_of(4));
    let whole_to = words.len() - usize::from(!(address + size).is_multiple_of(4));
    let behind = 15 >> ((address + size).wrapping_neg() % 4);
    let mut i = first;
    if i < whole_from {
        let bytes = 15 << (address % 4) & 15;
        let bytes = if i < whole_to { bytes } else { bytes & behind };
        if !part::<R, WRITE>(thread, &words[i], bytes, stamp) {
            return false;
        }
        i += 1;
    }
    // What a word was, and what it and those like it become. Nothing looks like this.
    let (mut known, mut then) = (Word(!0), Word(!0));
    while i < whole_to {
        let before = shadow::word(&words[i]);
        if before != known {
            let after = match is_word_known::<WRITE>(thread, before) {
                true => Some(before),
                false => whole::<R, WRITE>(thread, before, stamp),
            };
            match after {
                Some(after) => (known, then) = (before, after),
                None => return false,
            }
        }
        let is_pair = (address / 4 + i).is_multiple_of(2)
            && i + 1 < whole_to
            && shadow::word(&words[i + 1]) == before;
        let done = known == then
            || match is_pair {
                true => shadow::exchange_two(&words[i], known, then),
                false => shadow::exchange_one(&words[i], known, then),
            };
        if !done {
            return false;
        }
        i += 1 + usize::from(is_pair);
    }
    i >= words.len() || part::<R, WRITE>(thread, &words[i], behind, stamp)
}

/// Some bytes of a word.
#[inline(never)]
fn part<R: Rule, const WRITE: bool>(
    thread: &mut Thread,
    at: &AtomicU64,
    bytes: u8,
    stamp: Stamp,
) -> bool {
    let before = shadow::word(at);
    is_word_known::<WRITE>(thread, before)
        || alone::<R, WRITE>(thread, before, bytes, stamp)
            .is_some_and(|after| becomes(at, before, after))
}

/// An access of any size and kind.
#[inline(never)]
pub(crate) fn of<R: Rule>(visit: &Visit, access: &Access) {
    let thread = visit.thread();
    if thread.ignore != 0 || access.size == 0 {
        return;
    }
    let last = access.address.saturating_add(access.size - 1);
    if !shadow::is_user(last) {
        return;
    }
    match access.kind {
        AccessKind::Read => plain::<R, false>(visit, access, last),
        AccessKind::Write => plain::<R, true>(visit, access, last),
        AccessKind::AtomicRead | AccessKind::AtomicWrite => {
            let stamp = thread.stamp(visit.hot(), access.place);
            for number in access.address / 8..=last / 8 {
                let (bytes, group) = (access.bytes_in(number), shadow::group(number * 8));
                in_cell::<R>(thread, group, number * 8, bytes, stamp, access);
            }
        }
    }
}

/// An access of any size that is not atomic. Most of it is of this epoch or settled like
/// the group before; what is not is left to others, so that this needs few registers.
#[inline(always)]
fn plain<R: Rule, const WRITE: bool>(visit: &Visit, access: &Access, last: usize) {
    let thread = visit.thread();
    let (mut number, last_number) = (access.address / 8, last / 8);
    let mut stamp = Stamp::NONE;
    if access.size >= bulk::WORTHWHILE {
        stamp = thread.stamp(visit.hot(), access.place);
        number = in_bulk::<R>(thread, access, stamp);
    }
    // Nothing looks like this.
    let mut known = [Word(!0); 2];
    while number <= last_number {
        for group in shadow::run(number * 8, last_number * 8 + 8) {
            let words = shadow::load(group);
            if !shadow::are_same(words, known) {
                match is_now::<WRITE>(thread, words) {
                    true => known = words,
                    false => {
                        if stamp.is_none() {
                            stamp = thread.stamp(visit.hot(), access.place);
                        }
                        of_range::<R, WRITE>(thread, access, number, group, stamp);
                    }
                }
            }
            number += 1;
        }
    }
}

/// One group of a range, of which not everything is of this epoch.
#[inline(never)]
fn of_range<R: Rule, const WRITE: bool>(
    thread: &mut Thread,
    access: &Access,
    number: usize,
    group: &Group,
    stamp: Stamp,
) {
    let (bytes, before) = (access.bytes_in(number), shadow::load(group));
    if bytes == 0xff
        && let Some(after) = whole_group::<R, WRITE>(thread, before, stamp)
        && settles(group, before, after)
    {
        return;
    }
    if is_known::<WRITE>(thread, group, before, bytes) {
        return;
    }
    let settled = words::<R, WRITE>(thread, group, bytes, stamp)
        || (!WRITE && constants::mark(group, number * 8));
    if !settled {
        in_cell::<R>(thread, group, number * 8, bytes, stamp, access);
    }
}

/// Whether the thread has accessed all bytes of a group in this epoch, according to
/// halves that say so of whole words.
#[inline(always)]
fn is_now<const WRITE: bool>(thread: &Thread, words: [Word; 2]) -> bool {
    let now = |word| is_word_known::<WRITE>(thread, word);
    now(words[0]) && (words[0] == words[1] || now(words[1]))
}

#[inline(always)]
fn is_word_known<const WRITE: bool>(thread: &Thread, word: Word) -> bool {
    is_word_now::<WRITE>(thread, word) || (!WRITE && word == Word::CONSTANT)
}

/// Whether the thread has accessed these bytes in this epoch, so that there is
/// nothing to add.
#[inline(always)]
fn is_known<const WRITE: bool>(
    thread: &Thread,
    group: &Group,
    words: [Word; 2],
    bytes: u8,
) -> bool {
    let known = |word: Word, bytes: u8| {
        let (write, read) = (word.write(), word.read());
        let written = match write.as_set() {
            None => seen_now(thread, write),
            Some(_) => 0,
        };
        let seen = match WRITE || read.as_set().is_some() {
            true => written,
            false => written | seen_now(thread, read),
        };
        bytes & !seen == 0 || (!WRITE && word == Word::CONSTANT)
    };
    let [first, second] = words;
    match first.as_cell() {
        Some(number) => cell::is_done(number, bytes, group),
        None => known(first, bytes & 15) && known(second, bytes >> 4),
    }
}

/// Groups of a block that are looked at one by one: those of larger ones are mostly alike.
const FEW: usize = 64;

/// A write of memory whose past is forgotten with it. If `after` is given, the memory
/// looks as if it had been written then, and nothing before.
pub(crate) fn last_write<R: Rule>(visit: &Visit, access: &Access, after: Option<Stamp>) {
    let thread = visit.thread();
    let end = access.address.saturating_add(access.size);
    if access.size == 0 || !shadow::is_user(end) {
        return;
    }
    if thread.ignore != 0 || !access.address.is_multiple_of(8) {
        of::<R>(visit, access);
        if let Some(after) = after {
            shadow_range::written(thread, access.address, access.size, after);
        }
        return;
    }
    // Mostly nobody asks for it where locks order threads.
    let mut stamp = match R::FIRST_COUNTS {
        true => thread.stamp(visit.hot(), access.place),
        false => Stamp::NONE,
    };
    let asked = stamp;
    let buried = after.map(|after| Word::new(Half::new(after, 15), Half::NONE));
    let mut thoroughly = |thread: &mut Thread, number: usize, size: usize| {
        if stamp.is_none() {
            stamp = thread.stamp(visit.hot(), access.place);
        }
        one_group::<R>(thread, access, number, 0xff >> (8 - size), stamp);
        if let Some(after) = after {
            shadow_range::written(thread, number * 8, size, after);
        }
    };
    let (mut at, last) = (access.address / 8, end / 8);
    while at < last {
        let run = shadow::run(at * 8, last * 8);
        let is_calm = |word| is_calm::<R, true>(thread, word, asked);
        let calm = match buried {
            Some(buried) if run.len() <= FEW => bulk::overwrite(run, buried, is_calm),
            _ => bulk::alike(run, |old| {
                let calm = is_calm(old[0]) && (old[0] == old[1] || is_calm(old[1]));
                calm.then(|| buried.map_or(old, |word| [word; 2]))
            }),
        };
        at += calm;
        if calm < run.len() {
            thoroughly(thread, at, 8);
            at += 1;
        }
    }
    if !end.is_multiple_of(8) {
        let (group, bytes) = (shadow::group(last * 8), 0xff >> (8 - end % 8));
        let words = shadow::load(group);
        // Behind the end of a block is nothing that belongs to anybody.
        let calm = |word| is_calm::<R, true>(thread, word, asked);
        match after {
            Some(after) if calm(words[0]) && (words[0] == words[1] || calm(words[1])) => {
                shadow_range::fill_group(thread, last * 8, bytes, after);
            }
            _ => thoroughly(thread, last, end % 8),
        }
    }
}

/// The whole groups of a large range, as far as it goes without a cell. The
/// first group that is left.
fn in_bulk<R: Rule>(thread: &mut Thread, access: &Access, stamp: Stamp) -> usize {
    let first = access.address / 8;
    let mut at = access.address.div_ceil(8);
    let end = (access.address + access.size) / 8;
    if at != first {
        let bytes = 0xff << (access.address % 8);
        one_group::<R>(thread, access, first, bytes, stamp);
    }
    while at < end {
        let run = shadow::run(at * 8, end * 8);
        let range = bulk::Range::announce(run);
        let mut done = 0;
        while done < run.len() {
            done += bulk::alike(&run[done..], |old| match access.kind {
                AccessKind::Write => bulk_words::<R, true>(thread, old, stamp),
                _ => bulk_words::<R, false>(thread, old, stamp),
            });
            if done < run.len() {
                let cell = shadow::load(&run[done])[0].as_cell();
                let covered = cell
                    .is_some_and(|number| covers(thread, number, 0xff, &run[done], access.kind));
                if !covered {
                    // Others may hold the cell while they wait for the range.
                    range.suspend();
                    one_group::<R>(thread, access, at + done, 0xff, stamp);
                    range.resume();
                }
                done += 1;
            }
        }
        at += run.len();
    }
    at
}

#[inline(always)]
fn bulk_words<R: Rule, const WRITE: bool>(
    thread: &mut Thread,
    old: [Word; 2],
    stamp: Stamp,
) -> Option<[Word; 2]> {
    let first = word::<R, WRITE>(thread, old[0], 15, stamp)?;
    let second = match old[0] == old[1] {
        true => first,
        false => word::<R, WRITE>(thread, old[1], 15, stamp)?,
    };
    Some([first, second])
}

/// One group of a range.
fn one_group<R: Rule>(
    thread: &mut Thread,
    access: &Access,
    number: usize,
    bytes: u8,
    stamp: Stamp,
) {
    let group = shadow::group(number * 8);
    let settled = match access.kind {
        AccessKind::Write => words::<R, true>(thread, group, bytes, stamp),
        _ => words::<R, false>(thread, group, bytes, stamp),
    };
    if !settled {
        in_cell::<R>(thread, group, number * 8, bytes, stamp, access);
    }
}
