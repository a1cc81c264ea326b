//! An access that the fast path could not settle.
//!
//! First the shadow words are tried: if everything they remember happened
//! before, or was this thread's own, and goes about the same bytes, the access
//! takes its place with one compare-and-swap. Everything else happens in a
//! [`Cell`].

use std::sync::atomic::AtomicU64;

use racehound_detect::AccessKind;

use crate::bulk;
use crate::cell::{self, Cell, Entry};
use crate::constants;
use crate::locks::LocksId;
use crate::merge;
use crate::range;
use crate::readers;
use crate::report;
use crate::rule::Rule;
use crate::shadow::{self, Group, Half, Word};
use crate::stamp::Stamp;
use crate::sweep;
use crate::thread::{Thread, Visit};

/// An access being looked at.
pub(crate) struct Access {
    pub(crate) address: usize,
    pub(crate) size: usize,
    pub(crate) kind: AccessKind,
    /// Where in the program: the address behind the instruction.
    pub(crate) place: usize,
}

/// A plain access of a few bytes.
///
/// Those that are left when the fast path is done are mostly the first of their epoch to
/// bytes that at most one other thread has been at, and not lately: they are settled here,
/// in a function that hardly ever calls another and so needs little stack.
#[inline(never)]
pub(crate) extern "C" fn small<R: Rule, const SIZE: usize, const WRITE: bool>(
    address: usize,
    place: usize,
) {
    let Some(visit) = Visit::of_known() else {
        return thoroughly::<R, SIZE, WRITE>(address, place);
    };
    if !at_once::<R, SIZE, WRITE>(&visit, address, place) {
        visit.give_up();
        return thoroughly::<R, SIZE, WRITE>(address, place);
    }
    if bulk::is_active() {
        visit.give_up();
        return beside_a_range::<R, SIZE, WRITE>(address, place);
    }
    visit.end();
}

#[inline(always)]
fn at_once<R: Rule, const SIZE: usize, const WRITE: bool>(
    visit: &Visit,
    address: usize,
    place: usize,
) -> bool {
    if !address.is_multiple_of(SIZE.min(4)) || !shadow::is_user(address) {
        return false;
    }
    let thread = visit.thread();
    if thread.ignore != 0 || (SIZE == 1 && !WRITE && constants::is_single_threaded(address)) {
        return true;
    }
    let group = shadow::readable(address);
    let word = shadow::word(&group[address / 4 % 2]);
    if word == Word::EMPTY && shadow::existing(address).is_none() {
        return false;
    }
    if !WRITE && let Some(number) = word.as_cell() {
        let bytes = ((1 << SIZE) - 1) << (address % 8);
        return bytes <= 0xff && rereads::<R>(visit, group, number, bytes as u8, place);
    }
    if SIZE > 4 && !shadow::is_in_one_piece(address, SIZE) {
        return false;
    }
    if R::FIRST_COUNTS
        && SIZE >= 4
        && let Some(locks) = thread.held.known_set()
    {
        let words = shadow::words(group, address, SIZE);
        let adds_nothing = |i: usize| {
            i >= words.len() || repeats_alone::<WRITE>(thread, shadow::word(&words[i]), locks)
        };
        if adds_nothing(0) && adds_nothing(1) && adds_nothing(2) && adds_nothing(3) {
            return true;
        }
    }
    let Some(stamp) = thread.stamp_at_once::<R>(visit.hot(), place) else {
        return false;
    };
    match (SIZE, address % 8) {
        (1 | 2, at) => {
            let (at, bytes) = (&group[at / 4], ((1 << SIZE) - 1) << (at % 4));
            let before = shadow::word(at);
            alone::<R, WRITE>(thread, before, bytes, stamp)
                .is_some_and(|after| becomes(at, before, after))
        }
        (4, at) => {
            let at = &group[at / 4];
            let before = shadow::word(at);
            whole::<R, WRITE>(thread, before, stamp).is_some_and(|after| becomes(at, before, after))
        }
        (8, 0) => group_at_once::<R, WRITE>(thread, group, stamp),
        (8, _) => {
            word_at_once::<R, WRITE>(thread, &group[1], stamp)
                && word_at_once::<R, WRITE>(thread, &shadow::next(group)[0], stamp)
        }
        (_, 0) => {
            group_at_once::<R, WRITE>(thread, group, stamp)
                && group_at_once::<R, WRITE>(thread, shadow::next(group), stamp)
        }
        (_, _) => {
            let middle = shadow::next(group);
            word_at_once::<R, WRITE>(thread, &group[1], stamp)
                && group_at_once::<R, WRITE>(thread, middle, stamp)
                && word_at_once::<R, WRITE>(thread, &shadow::next(middle)[0], stamp)
        }
    }
}

/// Settles a read of bytes that the thread has read before, as others have: what all know
/// and nobody changes is read in every epoch.
#[inline(never)]
fn rereads<R: Rule>(visit: &Visit, group: &Group, number: u32, bytes: u8, place: usize) -> bool {
    let thread = visit.thread();
    if !cell::is_shared(number) {
        return false;
    }
    if R::FIRST_COUNTS {
        let Some(locks) = thread.held.known_set() else {
            return false;
        };
        let repeats = |read| thread.repeats(read, locks);
        if cell::has_read(number, bytes, group, thread.chain(), repeats) {
            return true;
        }
    }
    let Some(stamp) = thread.stamp_at_once::<R>(visit.hot(), place) else {
        return false;
    };
    reread::<R>(thread, group, number, bytes, stamp)
}

/// Takes a read of several into account, if the thread is among the readers.
#[inline(always)]
pub(crate) fn reread<R: Rule>(
    thread: &Thread,
    group: &Group,
    number: u32,
    bytes: u8,
    stamp: Stamp,
) -> bool {
    let ordered = |write| R::read_after_write(thread, write, stamp);
    let mine = |read| thread.made(read) && !(R::FIRST_COUNTS && thread.is_now(read));
    cell::reread(number, group, (thread.chain(), stamp, bytes), mine, ordered)
}

#[inline(always)]
fn word_at_once<R: Rule, const WRITE: bool>(thread: &Thread, at: &AtomicU64, stamp: Stamp) -> bool {
    let before = shadow::word(at);
    is_word_now::<WRITE>(thread, before)
        || whole::<R, WRITE>(thread, before, stamp).is_some_and(|after| becomes(at, before, after))
}

#[inline(always)]
fn group_at_once<R: Rule, const WRITE: bool>(thread: &Thread, group: &Group, stamp: Stamp) -> bool {
    let before = shadow::load(group);
    whole_group::<R, WRITE>(thread, before, stamp)
        .is_some_and(|after| group_becomes(group, before, after))
}

/// Makes a group what it is to become, unless it has changed meanwhile.
#[inline(always)]
fn group_becomes(group: &Group, before: [Word; 2], after: [Word; 2]) -> bool {
    shadow::are_same(before, after) || shadow::exchange(group, before, after)
}

/// Makes a group what it is to become, where a range may be worked through around it.
#[inline(always)]
pub(crate) fn settles(group: &Group, before: [Word; 2], after: [Word; 2]) -> bool {
    shadow::are_same(before, after)
        || shadow::exchange(group, before, after)
            && (!bulk::is_active() || bulk::outlasts(group, after))
}

/// Makes a word what it is to become, unless it has changed meanwhile.
#[inline(always)]
pub(crate) fn becomes(at: &AtomicU64, before: Word, after: Word) -> bool {
    before == after || shadow::exchange_one(at, before, after)
}

/// A range is being worked through, perhaps around an access that was settled: what it
/// left may be overwritten. So it is looked at once more when the range is done.
#[cold]
#[inline(never)]
pub(crate) fn beside_a_range<R: Rule, const SIZE: usize, const WRITE: bool>(
    address: usize,
    place: usize,
) {
    let visit = Visit::begin();
    range::outlast(address, SIZE);
    drop(visit);
    thoroughly::<R, SIZE, WRITE>(address, place);
}

/// Whether the thread has accessed a whole word in this epoch.
#[inline(always)]
pub(crate) fn is_word_now<const WRITE: bool>(thread: &Thread, word: Word) -> bool {
    thread.is_whole_now(word.write()) || (!WRITE && thread.is_whole_now(word.read()))
}

/// Whether an access to a whole word with these locks adds nothing to one that the thread
/// has made before, see [`Thread::repeats`], and nobody has written it since.
#[inline(always)]
fn repeats_alone<const WRITE: bool>(thread: &Thread, word: Word, locks: LocksId) -> bool {
    let (write, read) = (word.write(), word.read());
    let is_so = |half: Half| half.bytes() == 15 && thread.repeats(half.stamp(), locks);
    match WRITE {
        true => read.is_none() && is_so(write),
        false => {
            word.as_cell().is_none() && (is_so(write) || read.as_set().is_none() && is_so(read))
        }
    }
}

/// What becomes of a group that is accessed as a whole, if that can be told of each of
/// its words.
#[inline(always)]
pub(crate) fn whole_group<R: Rule, const WRITE: bool>(
    thread: &Thread,
    [first, second]: [Word; 2],
    stamp: Stamp,
) -> Option<[Word; 2]> {
    if first == second {
        return Some([whole::<R, WRITE>(thread, first, stamp)?; 2]);
    }
    let after = |word| match is_word_now::<WRITE>(thread, word) {
        true => Some(word),
        false => whole::<R, WRITE>(thread, word, stamp),
    };
    Some([after(first)?, after(second)?])
}

/// What becomes of a word that is accessed as a whole, if at most one thread has
/// written it and at most one has read it since.
#[inline(always)]
pub(crate) fn whole<R: Rule, const WRITE: bool>(
    thread: &Thread,
    old: Word,
    stamp: Stamp,
) -> Option<Word> {
    let (write, read) = (old.write(), old.read());
    if R::FIRST_COUNTS && (thread.is_now(write.stamp()) || (!WRITE && thread.is_now(read.stamp())))
    {
        return None;
    }
    if !WRITE && old.as_cell().is_none() && is_among_readers(thread, read, stamp) {
        return Some(old);
    }
    is_calm::<R, WRITE>(thread, old, stamp).then(|| match WRITE {
        true => Word::new(Half::new(stamp, 15), Half::NONE),
        false => Word::new(write, Half::new(stamp, 15)),
    })
}

/// Whether an access to a whole word may take the place of what the word remembers.
#[inline(always)]
pub(crate) fn is_calm<R: Rule, const WRITE: bool>(
    thread: &Thread,
    old: Word,
    stamp: Stamp,
) -> bool {
    let (write, read) = (old.write(), old.read());
    if old.as_cell().is_some() || read.as_set().is_some() {
        return false;
    }
    match WRITE {
        true => {
            (write.is_none() || R::write_after_write(thread, write.stamp(), stamp))
                && (read.is_none() || R::write_after_read(thread, read.stamp(), stamp))
        }
        false => {
            (write.is_none() || R::read_after_write(thread, write.stamp(), stamp))
                && (read.is_none() || R::read_replaces(thread, read.stamp(), stamp))
        }
    }
}

#[inline(never)]
fn thoroughly<R: Rule, const SIZE: usize, const WRITE: bool>(address: usize, place: usize) {
    let visit = Visit::begin();
    let last = address + (SIZE - 1);
    if visit.thread().ignore != 0 || !shadow::is_user(last) {
        return;
    }
    let access = Access {
        address,
        size: SIZE,
        kind: match WRITE {
            true => AccessKind::Write,
            false => AccessKind::Read,
        },
        place,
    };
    for number in address / 8..=last / 8 {
        part::<R, WRITE>(&visit, &access, number);
    }
}

/// What a small access does to one group.
#[inline(always)]
fn part<R: Rule, const WRITE: bool>(visit: &Visit, access: &Access, number: usize) {
    let thread = visit.thread();
    let (address, bytes) = (number * 8, access.bytes_in(number));
    let group = shadow::group(address);
    let cell = shadow::load(group)[0].as_cell();
    let settled = match cell {
        Some(number) => cell::is_done(number, bytes, group),
        None => !WRITE && constants::mark(group, address),
    };
    if settled {
        return;
    }
    if !WRITE && let Some(number) = cell {
        let covered = match R::FIRST_COUNTS {
            true => {
                let locks = thread.held.set();
                let repeats = |read| thread.repeats(read, locks);
                cell::has_read(number, bytes, group, thread.chain(), repeats)
            }
            false => !cell::is_shared(number) && covers(thread, number, bytes, group, access.kind),
        };
        if covered {
            return;
        }
    }
    let stamp = thread.stamp(visit.hot(), access.place);
    let settled = match cell {
        None => words::<R, WRITE>(thread, group, bytes, stamp),
        Some(number) if !WRITE => reread::<R>(thread, group, number, bytes, stamp),
        Some(_) => false,
    };
    if !settled {
        in_cell::<R>(thread, group, address, bytes, stamp, access);
    }
}

/// Settles the access in the shadow words alone, if possible. What was changed is
/// looked at again if a thread works through a range: that one writes without
/// looking back.
#[inline(always)]
pub(crate) fn words<R: Rule, const WRITE: bool>(
    thread: &mut Thread,
    group: &Group,
    bytes: u8,
    stamp: Stamp,
) -> bool {
    loop {
        let old = shadow::load(group);
        let mut new = old;
        for i in 0..2 {
            let bytes = bytes >> (4 * i) & 15;
            if bytes == 0 {
                continue;
            }
            match word::<R, WRITE>(thread, old[i], bytes, stamp) {
                Some(word) => new[i] = word,
                None => return false,
            }
        }
        if replace(group, old, new) {
            if bulk::is_active() && old != new && !bulk::outlasts(group, new) {
                continue;
            }
            return true;
        }
    }
}

#[inline(always)]
fn replace(group: &Group, old: [Word; 2], new: [Word; 2]) -> bool {
    let one = |i: usize| shadow::exchange_one(&group[i], old[i], new[i]);
    match (old[0] == new[0], old[1] == new[1]) {
        (true, true) => true,
        (true, false) => one(1),
        (false, true) => one(0),
        (false, false) => shadow::exchange(group, old, new),
    }
}

/// What becomes of a word; none if it takes a cell to tell.
#[inline(always)]
pub(crate) fn word<R: Rule, const WRITE: bool>(
    thread: &mut Thread,
    old: Word,
    bytes: u8,
    stamp: Stamp,
) -> Option<Word> {
    if let Some(new) = alone::<R, WRITE>(thread, old, bytes, stamp) {
        return Some(new);
    }
    if old.as_cell().is_some() {
        return None;
    }
    let (write, read) = (old.write(), old.read());
    if WRITE {
        let fine = bytes == 15
            && (write.is_none() || R::write_after_write(thread, write.stamp(), stamp))
            && readers::stamps(read.as_set()?)
                .iter()
                .all(|&read| R::write_after_read(thread, read, stamp));
        return fine.then(|| Word::new(Half::new(stamp, bytes), Half::NONE));
    }
    if !follows::<R>(thread, write, bytes, stamp) {
        return None;
    }
    if read.as_set().is_none() && read.bytes() & bytes != 15 {
        return None;
    }
    among_readers::<R>(thread, write, read, bytes, stamp)
}

/// The bytes that the thread has accessed in this epoch, according to a half.
#[inline(always)]
pub(crate) fn seen_now(thread: &Thread, half: Half) -> u8 {
    match thread.is_now(half.stamp()) {
        true => half.bytes(),
        false => 0,
    }
}

/// Whether a read of some bytes is in no conflict with what was written.
#[inline(always)]
fn follows<R: Rule>(thread: &Thread, write: Half, bytes: u8, stamp: Stamp) -> bool {
    write.is_none()
        || R::read_after_write(thread, write.stamp(), stamp)
        || merge::bytes(write) & bytes == 0
}

/// The same where no set of readers is involved.
#[inline(always)]
pub(crate) fn alone<R: Rule, const WRITE: bool>(
    thread: &mut Thread,
    old: Word,
    bytes: u8,
    stamp: Stamp,
) -> Option<Word> {
    if old.as_cell().is_some() {
        return None;
    }
    let (write, read) = (old.write(), old.read());
    let written = seen_now(thread, write);
    if bytes & !written == 0 {
        return Some(old);
    }
    if read.as_set().is_some() {
        return None;
    }
    let mut bytes = bytes;
    if R::FIRST_COUNTS {
        bytes &= !written;
        if !WRITE {
            bytes &= !seen_now(thread, read);
        }
        if bytes == 0 {
            return Some(old);
        }
    }
    if WRITE {
        let mut rest = Half::NONE;
        if !read.is_none() {
            if !R::write_after_read(thread, read.stamp(), stamp) {
                return None;
            }
            if merge::bytes(read) & !bytes != 0 {
                rest = merge::without(thread, read, bytes)?;
            }
        }
        let all = match write.is_none() || thread.knows(write.stamp()) {
            true => merge::with(thread, write, stamp, bytes)?,
            false => {
                let fine = merge::bytes(write) & !bytes == 0
                    && R::write_after_write(thread, write.stamp(), stamp);
                fine.then(|| Half::new(stamp, bytes))?
            }
        };
        return Some(Word::new(all, rest));
    }
    if !follows::<R>(thread, write, bytes, stamp) {
        return None;
    }
    if bytes & !seen_now(thread, read) == 0 {
        return Some(old);
    }
    let all = match read.is_none() || R::read_merges(thread, read.stamp()) {
        true => merge::with(thread, read, stamp, bytes)?,
        false => {
            let fine =
                merge::bytes(read) & !bytes == 0 && R::read_replaces(thread, read.stamp(), stamp);
            fine.then(|| Half::new(stamp, bytes))?
        }
    };
    Some(Word::new(write, all))
}

/// A read of a word that others have read, too.
#[inline(always)]
fn among_readers<R: Rule>(
    thread: &mut Thread,
    write: Half,
    read: Half,
    bytes: u8,
    stamp: Stamp,
) -> Option<Word> {
    if read == Half::CONSTANT {
        return Some(Word::new(write, read));
    }
    if is_among_readers(thread, read, stamp) {
        return Some(Word::new(write, read));
    }
    if bytes != 15 {
        return None;
    }
    let mut steps = thread.steps.take()?;
    let after = steps.step(read, stamp, |before| {
        R::read_replaces(thread, before, stamp)
    });
    thread.steps = Some(steps);
    let after = after?;
    if after.as_set().is_some() {
        thread.note_set(after);
    }
    Some(Word::new(write, after))
}

/// Whether a read with this stamp, or another one of this epoch, is in a set of readers:
/// then the fast path may know.
#[inline(always)]
fn is_among_readers(thread: &Thread, read: Half, stamp: Stamp) -> bool {
    let is_mine = |&s: &Stamp| s == stamp || thread.is_now(s);
    let is_one = read
        .as_set()
        .is_some_and(|set| readers::stamps(set).iter().any(is_mine));
    if is_one {
        thread.note_set(read);
    }
    is_one
}

impl Access {
    /// Its bytes within eight.
    #[inline(always)]
    pub(crate) fn bytes_in(&self, number: usize) -> u8 {
        let (last, mut bytes) = (self.address + (self.size - 1), 0xffu8);
        if number == self.address / 8 {
            bytes &= 0xff << (self.address % 8);
        }
        if number == last / 8 {
            bytes &= 0xff >> (7 - last % 8);
        }
        bytes
    }
}

/// Settles the access in a cell.
#[inline(never)]
pub(crate) fn in_cell<R: Rule>(
    thread: &mut Thread,
    group: &Group,
    address: usize,
    bytes: u8,
    stamp: Stamp,
    access: &Access,
) {
    if let Some(number) = shadow::load(group)[0].as_cell()
        && covers(thread, number, bytes, group, access.kind)
    {
        return;
    }
    if bytes == 0xff && is_old_news::<R>(thread, group, stamp, access.kind) {
        return;
    }
    if readers::are_lacking() && sweep::is_due() {
        sweep::now();
    }
    let cell = Cell::of(group, &mut thread.spare);
    let (cell, found) = hold::<R>(thread, cell, group, address, bytes, stamp, access);
    let is_read_through =
        bytes != 0xff && access.kind == AccessKind::Read && cell.is_read_by_more();
    match access.size >= bulk::WORTHWHILE || is_read_through {
        true => cell.finish_like_neighbours(group, &mut thread.spare),
        false => cell.finish(group, &mut thread.spare),
    }
    if let Some(found) = found {
        report::race(thread, found);
    }
}

/// Whether the access, to all of a group, is in conflict with what was written there, as
/// was told before of two accesses at these places: then nothing is said of the group any
/// more, as if it had been told again.
fn is_old_news<R: Rule>(thread: &Thread, group: &Group, stamp: Stamp, kind: AccessKind) -> bool {
    let words = shadow::load(group);
    let told = |word: Word| {
        let write = word.write();
        !write.is_none()
            && write.bytes() == 15
            && word.as_cell().is_none()
            && thread.old_news.has(stamp, write.stamp())
            && R::is_conflict(thread, (write.stamp(), AccessKind::Write), (stamp, kind))
    };
    told(words[0])
        && (words[0] == words[1] || told(words[1]))
        && settles(group, words, [Word::DONE; 2])
}

/// Looks at the access with its cell held, and gives the cell back with what
/// there is to report.
pub(crate) fn hold<R: Rule>(
    thread: &mut Thread,
    mut cell: Cell,
    group: &Group,
    address: usize,
    bytes: u8,
    stamp: Stamp,
    access: &Access,
) -> (Cell, Option<report::Race>) {
    if access.kind.is_atomic() && touches::<R>(thread, &mut cell, (stamp, bytes, access.kind)) {
        return (cell, None);
    }
    let mut bytes = bytes & !cell.header().done;
    cell.each(bytes, |entry| {
        if repeats(thread, entry.stamp(), entry.kind(), access.kind) {
            bytes &= !entry.bytes();
        }
    });
    if bytes == 0 {
        return (cell, None);
    }
    cell.reserve(1, group, &mut thread.spare);
    let conflict = R::access(thread, &mut cell, group, stamp, bytes, access.kind);
    let Some(Conflict {
        entry,
        reason,
        bytes: racing,
    }) = conflict
    else {
        return (cell, None);
    };
    let common = entry.bytes() & bytes;
    if !crate::options::get().all_pairs {
        cell.header().done |= racing;
    }
    let first = common.trailing_zeros() as usize;
    let race = report::Race {
        address: address + first,
        access_address: access.address,
        access_size: access.size,
        now: (stamp, access.kind),
        before: (entry.stamp(), entry.kind()),
        before_bytes: (address, entry.bytes()),
        racing,
        reason,
    };
    (cell, Some(race))
}

/// Remembers an atomic access in a cell that is held, if that is [simple](Cell::touch).
#[inline(always)]
pub(crate) fn touches<R: Rule>(
    thread: &Thread,
    cell: &mut Cell,
    access: (Stamp, u8, AccessKind),
) -> bool {
    let ordered = |before| thread.knows(before);
    let implied = |before| match R::FIRST_COUNTS {
        true => thread.made(before),
        false => ordered(before),
    };
    let repeats = |before| R::FIRST_COUNTS && thread.is_now(before);
    cell.touch(access, implied, repeats, ordered)
}

/// An earlier access that the current one is in conflict with.
pub(crate) struct Conflict {
    pub(crate) entry: Entry,
    pub(crate) reason: racehound_detect::Reason,
    /// All accessed bytes that are in conflict with something.
    pub(crate) bytes: u8,
}

/// Whether an access adds nothing to an earlier one in this epoch. A read adds
/// nothing to a write either: whatever is in conflict with the read is so with
/// the write.
#[inline(always)]
fn repeats(thread: &Thread, before: Stamp, kind: AccessKind, now: AccessKind) -> bool {
    let implied = kind == now || (kind == AccessKind::Write && now == AccessKind::Read);
    implied && thread.is_now(before)
}

#[inline(always)]
pub(crate) fn covers(
    thread: &Thread,
    number: u32,
    bytes: u8,
    group: &Group,
    now: AccessKind,
) -> bool {
    cell::covers(number, bytes, group, thread.chain(), |stamp, kind| {
        repeats(thread, stamp, kind, now)
    })
}
