//! Cells: eight bytes about which there is more to remember than fits two
//! shadow words.
//!
//! Concurrent reads, bytes of one word with different pasts, atomics, and
//! whatever else lives at the address: the clock of an atomic, the lock itself.
//! A cell is a header, slots for readers if there are several, and a list of
//! other accesses, of as many cache lines as it takes. A reader's slot is found
//! by the number of its thread and holds its last reads of the two words, as
//! shadow words have them: so the fast path can look there too. Cells come from one
//! reserved stretch of memory and stay cells of their size for ever: who has an
//! outdated reference finds a cell there, takes its lock, looks at the shadow word
//! again and sees that it was outdated.

mod glance;

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use racehound_detect::AccessKind;
use racehound_trace::ThreadId;

use crate::bulk;
use crate::memory;
use crate::merge;
use crate::readers;
use crate::shadow::{self, Group, Half, Word};
use crate::spin::Spin;
use crate::stamp::Stamp;

pub(crate) use glance::{covers, has_read, is_done, is_shared, object_of, reread, version};

const LINE: usize = 64;
/// Lines there can be: a shadow word has 28 bits for the number of one.
const LINES: usize = 1 << 28;
/// Sizes of cells, in powers of two lines.
pub(crate) const CLASSES: usize = 12;

/// An access in a cell: its stamp, the bytes, what it did, and for the write of
/// AccuLock the candidate locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry(u64);

impl Entry {
    #[inline(always)]
    pub(crate) fn new(stamp: Stamp, bytes: u8, kind: AccessKind) -> Self {
        let kind = match kind {
            AccessKind::Read => 0,
            AccessKind::Write => 1,
            AccessKind::AtomicRead => 2,
            AccessKind::AtomicWrite => 3,
        };
        Self(u64::from(stamp.0) | u64::from(bytes) << 28 | kind << 36)
    }

    #[inline(always)]
    pub(crate) fn stamp(self) -> Stamp {
        Stamp(self.0 as u32 & ((1 << 28) - 1))
    }

    #[inline(always)]
    pub(crate) fn bytes(self) -> u8 {
        (self.0 >> 28) as u8
    }

    #[inline(always)]
    pub(crate) fn kind(self) -> AccessKind {
        match self.0 >> 36 & 3 {
            0 => AccessKind::Read,
            1 => AccessKind::Write,
            2 => AccessKind::AtomicRead,
            _ => AccessKind::AtomicWrite,
        }
    }

    #[inline(always)]
    pub(crate) fn without(self, bytes: u8) -> Self {
        Self(self.0 & !(u64::from(bytes) << 28))
    }

    #[inline(always)]
    pub(crate) fn with(self, bytes: u8) -> Self {
        Self(self.0 | u64::from(bytes) << 28)
    }

    /// The candidate locks plus one, or 0 if they are the access's own.
    #[inline(always)]
    pub(crate) fn candidates(self) -> Option<u32> {
        match (self.0 >> 38) as u32 {
            0 => None,
            set => Some(set - 1),
        }
    }

    #[inline(always)]
    pub(crate) fn with_candidates(self, set: u32) -> Self {
        Self(self.0 & ((1 << 38) - 1) | u64::from(set + 1) << 38)
    }
}

/// A cell's first words.
#[repr(C)]
pub(crate) struct Header {
    lock: Spin,
    /// The first of the synchronisation objects that live here, or 0.
    sync: AtomicU32,
    len: AtomicU16,
    shape: Shape,
    /// Bytes that were reported: nothing is said of them again.
    pub(crate) done: u8,
    /// Which bits of `8 * thread` lead to a reader's slot; 0 if there are none.
    readers: AtomicU32,
}

/// The class of a cell, and of how many readers the sets were that it was made of, if it
/// was.
#[derive(Clone, Copy)]
struct Shape(u8);

impl Shape {
    fn new(class: usize, readers: usize) -> Self {
        Self((class | readers << 4) as u8)
    }

    #[inline(always)]
    fn class(self) -> usize {
        usize::from(self.0 & 15)
    }

    fn readers(self) -> usize {
        usize::from(self.0 >> 4)
    }
}

const _: () = assert!(CLASSES <= 16 && readers::MOST <= 15);

const HEADER: usize = size_of::<Header>();
const _: () = assert!(HEADER == 16);
const _: () = assert!(std::mem::offset_of!(Header, readers) == 12);

std::arch::global_asm!(
    ".bss",
    ".hidden __racehound_cells",
    ".globl __racehound_cells",
    ".type __racehound_cells, @object",
    ".size __racehound_cells, 8",
    ".p2align 3",
    "__racehound_cells:",
    ".zero 8",
    ".text",
);

unsafe extern "C" {
    #[link_name = "__racehound_cells"]
    static BASE: AtomicUsize;
}

fn base() -> &'static AtomicUsize {
    // SAFETY: defined above, and only accessed atomically.
    unsafe { &BASE }
}
/// Lines handed out. Line 0 is [`NOTHING_TO_SAY`].
static USED: AtomicUsize = AtomicUsize::new(1);

/// Reserves room for cells.
pub(crate) fn init() {
    base().store(memory::reserve(LINES * LINE) as usize, Ordering::Relaxed);
    // SAFETY: nobody else is there yet.
    unsafe { (*header(NOTHING_TO_SAY)).done = 0xff };
}

/// The cell of all groups of which nothing is said any more. Nobody holds it: who
/// wants to change it gets one of his own.
const NOTHING_TO_SAY: u32 = 0;

#[inline(always)]
fn header(number: u32) -> *mut Header {
    (base().load(Ordering::Relaxed) + number as usize * LINE) as *mut Header
}

/// Free cells of a thread, by class.
#[derive(Default)]
pub(crate) struct Spare {
    first: [u32; CLASSES],
}

/// Slots for readers that a cell may have.
const MOST_SLOTS: usize = 1 << 14;

/// Lines that a thread takes at once for its smallest cells.
const BATCH: usize = 32;

impl Spare {
    fn take(&mut self, class: usize) -> u32 {
        let first = self.first[class];
        if first != 0 {
            // SAFETY: a free cell of ours; the word behind its header links it.
            self.first[class] = unsafe { (*body(first)).load(Ordering::Relaxed) } as u32;
            return first;
        }
        self.refill(class)
    }

    #[cold]
    fn refill(&mut self, class: usize) -> u32 {
        {
            let mut left_over = LEFT_OVER.lock();
            if left_over.first[class] != 0 {
                return left_over.take(class);
            }
        }
        let lines = 1 << class;
        let count = (BATCH >> class).max(1);
        let start = USED.fetch_add(lines * count, Ordering::Relaxed);
        if start + lines * count > LINES {
            crate::fatal("out of memory for concurrent accesses");
        }
        for i in 0..count {
            let number = (start + i * lines) as u32;
            // SAFETY: lines that nobody had before, zeroed.
            unsafe { (*header(number)).shape = Shape::new(class, 0) };
            self.give(number);
        }
        self.take(class)
    }

    fn give(&mut self, number: u32) {
        // SAFETY: a cell that nobody refers to any more.
        unsafe {
            let class = (*header(number)).shape.class();
            (*body(number)).store(u64::from(self.first[class]), Ordering::Relaxed);
            self.first[class] = number;
        }
    }

    /// Takes over what another thread had.
    pub(crate) fn absorb(&mut self, other: &mut Self) {
        for class in 0..CLASSES {
            while other.first[class] != 0 {
                let number = other.take(class);
                self.give(number);
            }
        }
    }
}

/// What is behind the header: slots, then entries.
#[inline(always)]
fn body(number: u32) -> *const AtomicU64 {
    // SAFETY: within the cell.
    unsafe { header(number).cast::<u8>().add(HEADER).cast() }
}

/// Slots of a cell.
#[inline(always)]
fn slot_count(readers: u32) -> usize {
    match readers {
        0 => 0,
        mask => mask as usize / 8 + 1,
    }
}

#[inline(always)]
fn entries(number: u32) -> *const AtomicU64 {
    // SAFETY: within the cell.
    unsafe {
        let slots = slot_count((*header(number)).readers.load(Ordering::Relaxed));
        body(number).add(slots)
    }
}

/// Calls `each` with every access that the words of a group remember.
fn each_past(words: [Word; 2], mut each: impl FnMut(Entry)) {
    for (i, word) in words.into_iter().enumerate() {
        let mut note = |half: Half, kind: AccessKind| {
            for part in merge::parts(half).into_iter().filter(|p| !p.is_none()) {
                each(Entry::new(part.stamp(), part.bytes() << (4 * i), kind));
            }
        };
        note(word.write(), AccessKind::Write);
        match word.read().as_set() {
            None => note(word.read(), AccessKind::Read),
            Some(set) => {
                for &stamp in readers::stamps(set) {
                    note(Half::new(stamp, 15), AccessKind::Read);
                }
            }
        }
    }
}

/// A cell that is held by the current thread.
pub(crate) struct Cell {
    number: u32,
}

impl Cell {
    /// The cell of a group, made if need be; held.
    #[inline]
    pub(crate) fn of(group: &Group, spare: &mut Spare) -> Self {
        if let Some(number) = shadow::load(group)[0].as_cell()
            && number != NOTHING_TO_SAY
        {
            let cell = Self { number };
            cell.header().lock.lock();
            if shadow::load(group)[0].as_cell() == Some(number) {
                return cell;
            }
            cell.header().lock.unlock();
        }
        Self::sought(group, spare)
    }

    #[inline(never)]
    fn sought(group: &Group, spare: &mut Spare) -> Self {
        loop {
            let words = shadow::load(group);
            match words[0].as_cell() {
                Some(NOTHING_TO_SAY) => {
                    let cell = Self::fresh(0, spare);
                    cell.header().done = 0xff;
                    if let Some(cell) = cell.publish(group, words, spare) {
                        return cell;
                    }
                }
                Some(number) => {
                    let cell = Self { number };
                    cell.header().lock.lock();
                    if shadow::load(group)[0].as_cell() == Some(number) {
                        return cell;
                    }
                    cell.header().lock.unlock();
                }
                None => {
                    if let Some(cell) = Self::make(group, words, spare) {
                        return cell;
                    }
                }
            }
        }
    }

    /// The cell of a group, if it has one already; held.
    pub(crate) fn existing(group: &Group) -> Option<Self> {
        loop {
            let number = shadow::load(group)[0].as_cell()?;
            if number == NOTHING_TO_SAY {
                return None;
            }
            let cell = Self { number };
            cell.header().lock.lock();
            if shadow::load(group)[0].as_cell() == Some(number) {
                return Some(cell);
            }
            cell.header().lock.unlock();
        }
    }

    fn make(group: &Group, words: [Word; 2], spare: &mut Spare) -> Option<Self> {
        // The other word changes together with the first.
        if words[1].as_cell().is_some() {
            return None;
        }
        let mut count = 0;
        each_past(words, |_| count += 1);
        let lines = (HEADER + 8 * (count + 1)).div_ceil(LINE);
        let class = lines.next_power_of_two().trailing_zeros() as usize;
        let mut cell = Self::fresh(class, spare);
        each_past(words, |entry| {
            cell.add(entry.stamp(), entry.bytes(), entry.kind());
        });
        let readers = |word: Word| {
            word.read()
                .as_set()
                .map_or(0, |set| readers::stamps(set).len())
        };
        cell.is_made_of_sets_of(readers(words[0]).max(readers(words[1])));
        cell.publish(group, words, spare)
    }

    /// An empty cell, held.
    fn fresh(class: usize, spare: &mut Spare) -> Self {
        let mut cell = Self {
            number: spare.take(class),
        };
        cell.header().lock.lock();
        cell.clear();
        cell.is_made_of_sets_of(0);
        cell
    }

    fn is_made_of_sets_of(&self, readers: usize) {
        let header = self.header();
        header.shape = Shape::new(header.shape.class(), readers);
    }

    /// Makes it the cell of a group, if that is as expected.
    fn publish(self, group: &Group, words: [Word; 2], spare: &mut Spare) -> Option<Self> {
        let reference = Word::cell(self.number);
        if shadow::exchange(group, words, [reference; 2])
            && (!bulk::is_active() || bulk::outlasts(group, [reference; 2]))
        {
            return Some(self);
        }
        self.header().lock.unlock();
        spare.give(self.number);
        None
    }

    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub(crate) fn header(&self) -> &mut Header {
        // SAFETY: the cell is held, and what others may read meanwhile is
        // atomic.
        unsafe { &mut *header(self.number) }
    }

    /// The list of objects that live here, see [`messages`](crate::messages) and
    /// [`objects`](crate::objects).
    #[inline(always)]
    pub(crate) fn first_object(&self) -> u32 {
        self.header().sync.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn set_first_object(&self, first: u32) {
        self.header().sync.store(first, Ordering::Release);
    }

    fn clear(&mut self) {
        let header = self.header();
        header.len.store(0, Ordering::Relaxed);
        header.sync.store(0, Ordering::Relaxed);
        header.readers.store(0, Ordering::Relaxed);
        header.done = 0;
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.header().len.load(Ordering::Relaxed) as usize
    }

    /// Entries there is room for.
    #[inline]
    fn capacity(&self) -> usize {
        let slots = slot_count(self.header().readers.load(Ordering::Relaxed));
        ((LINE << self.header().shape.class()) - HEADER) / 8 - slots
    }

    /// The readers, if there are several: their last reads of both words.
    #[inline(always)]
    pub(crate) fn slots(&self) -> &[AtomicU64] {
        let slots = slot_count(self.header().readers.load(Ordering::Relaxed));
        // SAFETY: the cell is held, and has that many.
        unsafe { std::slice::from_raw_parts(body(self.number), slots) }
    }

    /// Whether reads are kept in slots.
    #[inline(always)]
    pub(crate) fn is_shared(&self) -> bool {
        self.header().readers.load(Ordering::Relaxed) != 0
    }

    /// A thread's slot.
    #[inline(always)]
    pub(crate) fn slot(&self, chain: ThreadId) -> &AtomicU64 {
        let mask = self.header().readers.load(Ordering::Relaxed) as usize / 8;
        &self.slots()[chain.index() & mask]
    }

    /// Whether some of several readers have read some of the bytes.
    #[inline]
    fn have_read(&self, bytes: u8) -> bool {
        self.slots().iter().any(|slot| {
            let word = Word(slot.load(Ordering::Relaxed));
            word.write().bytes() & bytes != 0 || word.read().bytes() << 4 & bytes != 0
        })
    }

    /// Calls `each` with every remembered access to some of the bytes.
    #[inline(always)]
    pub(crate) fn each(&self, bytes: u8, mut each: impl FnMut(Entry)) {
        for &entry in self.entries() {
            if entry.bytes() & bytes != 0 {
                each(entry);
            }
        }
        for slot in self.slots() {
            let word = Word(slot.load(Ordering::Relaxed));
            if word == Word::EMPTY {
                continue;
            }
            for (half, shift) in [(word.write(), 0), (word.read(), 4)] {
                let about = half.bytes() << shift;
                if about & bytes != 0 {
                    each(Entry::new(half.stamp(), about, AccessKind::Read));
                }
            }
        }
    }

    /// Forgets the accesses to some of the bytes that are not `kept`.
    #[inline(always)]
    pub(crate) fn forget(&mut self, bytes: u8, kept: impl Fn(Entry) -> bool) {
        let mut some = false;
        for entry in self.entries_mut() {
            if entry.bytes() & bytes != 0 && !kept(*entry) {
                *entry = entry.without(bytes);
                some |= entry.bytes() == 0;
            }
        }
        if some {
            self.compact();
        }
    }

    /// Forgets the slots' reads of some of the bytes.
    pub(crate) fn forget_slots(&mut self, bytes: u8) {
        for slot in self.slots() {
            let word = Word(slot.load(Ordering::Relaxed));
            if word == Word::EMPTY {
                continue;
            }
            let rest = Word::new(
                word.write().without(bytes & 15),
                word.read().without(bytes >> 4),
            );
            slot.store(rest.0, Ordering::Relaxed);
        }
    }

    /// Makes slots for readers, so many that these two have different ones, and
    /// moves reads from the list there.
    pub(crate) fn share(&mut self, a: ThreadId, b: ThreadId, group: &Group, spare: &mut Spare) {
        let mut slots = (slot_count(self.header().readers.load(Ordering::Relaxed)) * 2).max(4);
        while a.index() % slots == b.index() % slots && slots < MOST_SLOTS {
            slots *= 2;
        }
        let list = self.len() + 2;
        let class = (HEADER + 8 * (slots + list))
            .div_ceil(LINE)
            .next_power_of_two();
        let class = class.trailing_zeros() as usize;
        if class >= CLASSES {
            return;
        }
        let mut larger = Self::fresh(class, spare);
        larger
            .header()
            .readers
            .store(slots as u32 * 8 - 8, Ordering::Relaxed);
        for slot in larger.slots() {
            slot.store(0, Ordering::Relaxed);
        }
        let sync = self.header().sync.load(Ordering::Relaxed);
        larger.header().sync.store(sync, Ordering::Relaxed);
        larger.header().done = self.header().done;
        larger.is_made_of_sets_of(self.header().shape.readers());
        let mut left = Vec::new();
        self.each(0xff, |entry| {
            if entry.kind() != AccessKind::Read || !larger.seat(entry) {
                left.push(entry);
            }
        });
        for entry in left {
            larger.push(entry);
        }
        larger.refer(group);
        std::mem::swap(self, &mut larger);
        larger.retire(spare);
    }

    /// Puts a read into its thread's slot, if that is free.
    fn seat(&self, entry: Entry) -> bool {
        let slot = self.slot(entry.stamp().epoch().thread());
        let word = Word(slot.load(Ordering::Relaxed));
        let (mut first, mut second) = (word.write(), word.read());
        for (half, part) in [
            (&mut first, entry.bytes() & 15),
            (&mut second, entry.bytes() >> 4),
        ] {
            if part == 0 {
                continue;
            }
            if !half.is_none() && half.stamp() != entry.stamp() {
                return false;
            }
            *half = Half::new(entry.stamp(), half.bytes() | part);
        }
        slot.store(Word::new(first, second).0, Ordering::Relaxed);
        true
    }

    /// Remembers a read by a thread among other readers.
    pub(crate) fn read(
        &mut self,
        chain: ThreadId,
        stamp: Stamp,
        bytes: u8,
        group: &Group,
        spare: &mut Spare,
    ) {
        loop {
            let word = Word(self.slot(chain).load(Ordering::Relaxed));
            let mut halves = [word.write(), word.read()];
            let taken = halves
                .iter()
                .find(|h| !h.is_none())
                .map(|h| h.stamp().epoch().thread());
            if let Some(other) = taken.filter(|&other| other != chain) {
                let before = self.slots().len();
                self.share(chain, other, group, spare);
                if self.slots().len() > before {
                    continue;
                }
                // There are as many slots as there can be.
                self.reserve(1, group, spare);
                return self.add(stamp, bytes, AccessKind::Read);
            }
            let mut aside = [Half::NONE; 2];
            for (i, half) in halves.iter_mut().enumerate() {
                let part = bytes >> (4 * i) & 15;
                if part == 0 {
                    continue;
                }
                let rest = half.bytes() & !part;
                *half = match half.stamp() == stamp {
                    true => Half::new(stamp, half.bytes() | part),
                    false => {
                        if rest != 0 {
                            aside[i] = Half::new(half.stamp(), rest);
                        }
                        Half::new(stamp, part)
                    }
                };
            }
            let slot = self.slot(chain);
            slot.store(Word::new(halves[0], halves[1]).0, Ordering::Relaxed);
            for (i, half) in aside.into_iter().enumerate() {
                if !half.is_none() {
                    self.reserve(1, group, spare);
                    self.add(half.stamp(), half.bytes() << (4 * i), AccessKind::Read);
                }
            }
            return;
        }
    }

    /// The remembered accesses.
    #[inline(always)]
    pub(crate) fn entries(&self) -> &[Entry] {
        // SAFETY: the cell is held; the entries are initialised up to its
        // length.
        unsafe { std::slice::from_raw_parts(entries(self.number).cast(), self.len()) }
    }

    #[inline(always)]
    pub(crate) fn entries_mut(&mut self) -> &mut [Entry] {
        // SAFETY: as above.
        unsafe {
            std::slice::from_raw_parts_mut(entries(self.number).cast_mut().cast(), self.len())
        }
    }

    /// Keeps the entries that are still about some byte.
    pub(crate) fn compact(&mut self) {
        let mut kept = 0;
        let all = self.entries_mut();
        for i in 0..all.len() {
            if all[i].bytes() != 0 {
                all[kept] = all[i];
                kept += 1;
            }
        }
        self.header().len.store(kept as u16, Ordering::Relaxed);
    }

    /// Adds an access; to the entry of the same, if there is one. There is room.
    pub(crate) fn add(&mut self, stamp: Stamp, bytes: u8, kind: AccessKind) {
        let same =
            |e: &&mut Entry| e.stamp() == stamp && e.kind() == kind && e.candidates().is_none();
        if let Some(entry) = self.entries_mut().iter_mut().find(same) {
            *entry = entry.with(bytes);
            return;
        }
        self.push(Entry::new(stamp, bytes, kind));
    }

    /// Adds an entry. There is room.
    #[inline]
    pub(crate) fn push(&mut self, entry: Entry) {
        let len = self.len();
        debug_assert!(len < self.capacity());
        // SAFETY: below the capacity.
        unsafe { (*entries(self.number).add(len)).store(entry.0, Ordering::Relaxed) };
        self.header().len.store(len as u16 + 1, Ordering::Relaxed);
    }

    /// Remembers an atomic access, in place of earlier ones that are `implied` by it, if all others are atomic, too, or `ordered` before: so it is in
    /// conflict with none. It `repeats` an earlier one if that says all there is to say.
    /// False if it is not as simple as that.
    #[inline]
    pub(crate) fn touch(
        &mut self,
        (stamp, bytes, kind): (Stamp, u8, AccessKind),
        implied: impl Fn(Stamp) -> bool,
        repeats: impl Fn(Stamp) -> bool,
        ordered: impl Fn(Stamp) -> bool,
    ) -> bool {
        if self.header().done & bytes != 0 || self.have_read(bytes) {
            return false;
        }
        let (mut place, mut superfluous) = (None, false);
        for (i, entry) in self.entries_mut().iter_mut().enumerate() {
            if entry.bytes() & bytes == 0 {
                continue;
            }
            if !entry.kind().is_atomic() && !ordered(entry.stamp()) {
                return false;
            }
            if entry.kind() != kind {
                continue;
            }
            if entry.bytes() != bytes {
                return false;
            }
            if repeats(entry.stamp()) {
                return true;
            }
            if !implied(entry.stamp()) {
                continue;
            }
            match place {
                None => place = Some(i),
                Some(_) => {
                    *entry = entry.without(bytes);
                    superfluous = true;
                }
            }
        }
        let new = Entry::new(stamp, bytes, kind);
        match place {
            Some(place) => self.entries_mut()[place] = new,
            None if self.len() < self.capacity() => self.push(new),
            None => return false,
        }
        if superfluous {
            self.compact();
        }
        true
    }

    /// Makes room for `more` entries: moves to a larger cell if need be.
    pub(crate) fn reserve(&mut self, more: usize, group: &Group, spare: &mut Spare) {
        if self.len() + more <= self.capacity() {
            return;
        }
        let class = self.header().shape.class() + 1;
        if class == CLASSES {
            // Thousands of threads read here at once. The oldest accesses go.
            let half = self.len() / 2;
            self.entries_mut().rotate_left(half);
            self.header().len.store(half as u16, Ordering::Relaxed);
            return;
        }
        let mut larger = Self::fresh(class, spare);
        let sync = self.header().sync.load(Ordering::Relaxed);
        larger.header().sync.store(sync, Ordering::Relaxed);
        larger.header().done = self.header().done;
        larger.is_made_of_sets_of(self.header().shape.readers());
        let readers = self.header().readers.load(Ordering::Relaxed);
        larger.header().readers.store(readers, Ordering::Relaxed);
        for (to, from) in larger.slots().iter().zip(self.slots()) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        for &entry in self.entries() {
            larger.push(entry);
        }
        larger.refer(group);
        std::mem::swap(self, &mut larger);
        larger.retire(spare);
    }

    /// Lets a group refer to this cell. Only the holder of the cell it referred
    /// to before may do that.
    fn refer(&self, group: &Group) {
        let reference = Word::cell(self.number);
        group[1].store(reference.0, Ordering::Relaxed);
        group[0].store(reference.0, Ordering::Release);
    }

    /// Gives up a cell that no group refers to.
    fn retire(self, spare: &mut Spare) {
        self.header().len.store(0, Ordering::Relaxed);
        self.header().sync.store(0, Ordering::Relaxed);
        self.header().readers.store(0, Ordering::Relaxed);
        self.header().lock.unlock();
        spare.give(self.number);
    }

    /// Lets the cell go; back into shadow words if these can hold it without a set
    /// of readers.
    #[inline]
    pub(crate) fn finish(self, group: &Group, spare: &mut Spare) {
        if self.first_object() != 0 {
            return self.unlock();
        }
        let shared = self.slots().iter().any(|s| s.load(Ordering::Relaxed) != 0);
        match (!shared).then(|| self.as_words()).flatten() {
            Some(words) => self.dissolve(words, group, spare),
            None => self.header().lock.unlock(),
        }
    }

    /// The same, with sets: worthwhile where the neighbours have such, too.
    pub(crate) fn finish_like_neighbours(self, group: &Group, spare: &mut Spare) {
        match self.as_words() {
            Some(words) => self.dissolve(words, group, spare),
            None => self.header().lock.unlock(),
        }
    }

    /// Whether the readers have all read all of it, and are more than those of the sets that
    /// the cell was made of: then [sets](readers) can hold them. Where the same threads read
    /// piece by piece again and again, it is not made of sets again and again.
    pub(crate) fn is_read_by_more(&self) -> bool {
        let readers = self
            .slots()
            .iter()
            .map(|slot| Word(slot.load(Ordering::Relaxed)));
        let mut readers = readers.filter(|word| *word != Word::EMPTY);
        let mut count = 0;
        let all = readers.all(|word| {
            count += 1;
            word.write().bytes() == 15 && word.read().bytes() == 15
        });
        all && count > self.header().shape.readers() && count <= readers::MOST
    }

    /// Its number, and the [version] when it will have been let go.
    pub(crate) fn version_after(&self) -> (u32, u32) {
        (self.number, self.header().lock.version_after())
    }

    /// Lets the cell go.
    #[inline]
    pub(crate) fn unlock(self) {
        self.header().lock.unlock();
    }

    /// Replaces the cell by plain words.
    pub(crate) fn dissolve(self, words: [Word; 2], group: &Group, spare: &mut Spare) {
        group[1].store(words[1].0, Ordering::Relaxed);
        group[0].store(words[0].0, Ordering::Release);
        self.retire(spare);
    }

    /// The same as shadow words: a write and a read of each, or a write and a set
    /// of reads.
    fn as_words(&self) -> Option<[Word; 2]> {
        let header = self.header();
        let inhabited = header.sync.load(Ordering::Relaxed) != 0;
        if header.done == 0xff && !inhabited {
            return Some([Word::DONE; 2]);
        }
        if header.done != 0 || inhabited {
            return None;
        }
        let mut words = [(Half::NONE, Reads::default()); 2];
        let mut fits = true;
        self.each(0xff, |entry| {
            for (i, (write, reads)) in words.iter_mut().enumerate() {
                let bytes = entry.bytes() >> (4 * i) & 15;
                if bytes == 0 {
                    continue;
                }
                match entry.kind() {
                    AccessKind::Read => fits &= reads.add(Half::new(entry.stamp(), bytes)),
                    AccessKind::Write if entry.candidates().is_none() && write.is_none() => {
                        *write = Half::new(entry.stamp(), bytes);
                    }
                    _ => fits = false,
                }
            }
        });
        if !fits {
            return None;
        }
        let [(a, x), (b, y)] = words;
        Some([Word::new(a, x.half()?), Word::new(b, y.half()?)])
    }
}

/// Reads of a word that a shadow word may be able to hold.
#[derive(Clone, Copy, Default)]
struct Reads {
    len: usize,
    all: [Stamp; readers::MOST],
    /// The bytes of all of them.
    bytes: u8,
}

impl Reads {
    /// Adds a read; false if it does not go together with the others.
    fn add(&mut self, read: Half) -> bool {
        let fits =
            self.len == 0 || (self.len < readers::MOST && self.bytes == 15 && read.bytes() == 15);
        if fits {
            self.all[self.len] = read.stamp();
            self.len += 1;
            self.bytes = read.bytes();
        }
        fits
    }

    /// The read half of a word with these reads; none if there is no room for
    /// one more set.
    fn half(mut self) -> Option<Half> {
        match self.len {
            0 => Some(Half::NONE),
            1 => Some(Half::new(self.all[0], self.bytes)),
            len => {
                self.all[..len].sort_unstable();
                readers::intern(&self.all[..len]).map(Half::set)
            }
        }
    }
}

/// Calls `each` with every stamp of a cell, for [`sweep`](crate::sweep); nobody
/// changes cells meanwhile.
pub(crate) fn stamps(number: u32, mut each: impl FnMut(Stamp)) {
    let cell = Cell { number };
    cell.each(0xff, |entry| each(entry.stamp()));
}

/// Free cells of threads that ended.
static LEFT_OVER: crate::spin::Locked<Spare> = crate::spin::Locked::new(Spare {
    first: [0; CLASSES],
});

/// A thread ends: others may have its free cells.
pub(crate) fn give_back(spare: &mut Spare) {
    LEFT_OVER.lock().absorb(spare);
}

/// Forgets the accesses of a cell; nobody changes cells meanwhile.
pub(crate) fn empty(number: u32) {
    let mut cell = Cell { number };
    cell.forget(0xff, |_| false);
    cell.forget_slots(0xff);
}
