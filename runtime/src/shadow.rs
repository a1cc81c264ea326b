//! Shadow memory: what is remembered of each byte of the program.
//!
//! Four bytes of the program have one word of shadow. Its low half is their last
//! write, its high half their last read, each a [`Stamp`] and the bytes it was
//! about. That is all there is to know as long as accesses are ordered and
//! go about the same bytes; where they do not, or an atomic or a lock lives
//! there, two words together (a *group*, eight bytes of the program) refer to a
//! [`cell`](crate::cell) with room for more.
//!
//! The shadow of four gigabytes is contiguous, and a table says where it is: no
//! part of the address space is spoken for, whatever the system's randomisation
//! does. Where the program has no memory, the table leads to a mapping
//! of zeroes, so fast paths need not ask. What the table has of a chunk is where the
//! shadow of address 0 would be if it were contiguous all the way: twice the address
//! is all there is to add.
//!
//! # Layout of half a word
//! `stamp << 4 | absent`: bit *i* of `absent` is clear if byte *i* was accessed.
//! Clear bits for bytes that count make the most frequent test, "all four bytes,
//! in this epoch", one comparison (see [`entry`](crate::entry)). `absent` = 15
//! would be about no byte: in both halves it marks a reference to a cell, in the
//! upper one alone a set of [`readers`](crate::readers) of all four bytes.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::memory;
use crate::spin::Spin;
use crate::stamp::Stamp;

const CHUNK_BITS: u32 = 32;
/// User space has 47 bits.
const CHUNKS: usize = 1 << (47 - CHUNK_BITS);
/// Shadow of a chunk.
const CHUNK_SHADOW: usize = 2 << CHUNK_BITS;

std::arch::global_asm!(
    ".bss",
    ".hidden __racehound_chunks",
    ".globl __racehound_chunks",
    ".type __racehound_chunks, @object",
    ".size __racehound_chunks, {size}",
    ".p2align 12",
    "__racehound_chunks:",
    ".zero {size}",
    ".text",
    size = const CHUNKS * 8,
);

unsafe extern "C" {
    #[link_name = "__racehound_chunks"]
    static TABLE: [AtomicPtr<u8>; CHUNKS];
}

static NOTHING: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static GROWING: Spin = Spin::new();

fn table() -> &'static [AtomicPtr<u8>; CHUNKS] {
    // SAFETY: defined above, of that size, and only accessed atomically.
    unsafe { &TABLE }
}

/// Makes shadow memory readable everywhere.
pub(crate) fn init() {
    let nothing = memory::reserve_zeroes(CHUNK_SHADOW);
    NOTHING.store(nothing, Ordering::Relaxed);
    for chunk in 0..CHUNKS {
        lead(chunk, nothing);
    }
}

/// Lets the table lead to the shadow of a chunk.
fn lead(chunk: usize, base: *mut u8) {
    let of_zero = base.wrapping_sub(chunk * CHUNK_SHADOW);
    table()[chunk].store(of_zero, Ordering::Release);
}

/// Where the shadow of a chunk begins.
#[inline(always)]
fn base(chunk: usize) -> *mut u8 {
    let of_zero = table()[chunk].load(Ordering::Acquire);
    of_zero.wrapping_add(chunk * CHUNK_SHADOW)
}

/// Whether an address can belong to the program.
#[inline(always)]
pub(crate) fn is_user(address: usize) -> bool {
    address >> 47 == 0
}

/// The shadow of eight aligned bytes.
pub(crate) type Group = [AtomicU64; 2];

/// The shadow of the eight bytes around an address of user space.
#[inline(always)]
pub(crate) fn group(address: usize) -> &'static Group {
    existing(address).unwrap_or_else(|| grown(address))
}

/// The same to look at only, unless there is more than [nothing](Word::EMPTY): where
/// nothing was ever, it is not to be changed.
#[inline(always)]
pub(crate) fn readable(address: usize) -> &'static Group {
    let of_zero = table()[address >> CHUNK_BITS].load(Ordering::Relaxed);
    // SAFETY: the table leads to shadow or zeroes of that size, aligned, everywhere.
    unsafe { &*of_zero.wrapping_add((address & !7) * 2).cast() }
}

/// The same, if there is any yet.
#[inline(always)]
pub(crate) fn existing(address: usize) -> Option<&'static Group> {
    let of_zero = table()[address >> CHUNK_BITS].load(Ordering::Relaxed);
    let group = of_zero.wrapping_add((address & !7) * 2);
    let nothing = NOTHING.load(Ordering::Relaxed);
    // SAFETY: a chunk's shadow is that large, aligned, and never goes away.
    (group.addr().wrapping_sub(nothing.addr()) >= CHUNK_SHADOW).then(|| unsafe { &*group.cast() })
}

/// Whether the shadow of some bytes, if there is any, is contiguous.
#[inline(always)]
pub(crate) fn is_in_one_piece(address: usize, size: usize) -> bool {
    address as u32 <= u32::MAX - (size as u32 - 1)
}

/// The group behind one, which has bytes in front of the end of its chunk.
#[inline(always)]
pub(crate) fn next(group: &'static Group) -> &'static Group {
    // SAFETY: the shadow of a chunk is contiguous and never goes away.
    unsafe { &*std::ptr::from_ref(group).add(1) }
}

/// The words from that of an address on, of as many bytes as are in one piece; the group
/// around it is given.
#[inline(always)]
pub(crate) fn words(group: &'static Group, address: usize, size: usize) -> &'static [AtomicU64] {
    let first = group.as_ptr().wrapping_add(address / 4 % 2);
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts(first, size.div_ceil(4)) }
}

#[cold]
fn grown(address: usize) -> &'static Group {
    GROWING.lock();
    if !is_backed(address) {
        lead(address >> CHUNK_BITS, memory::reserve(CHUNK_SHADOW));
    }
    GROWING.unlock();
    let offset = (address as u32 & !7) as usize * 2;
    // SAFETY: as above.
    unsafe { &*base(address >> CHUNK_BITS).add(offset).cast() }
}

/// Whether the memory around an address has shadow of its own: if not, it has no
/// past.
pub(crate) fn is_backed(address: usize) -> bool {
    base(address >> CHUNK_BITS) != NOTHING.load(Ordering::Relaxed)
}

/// Gives the memory around an address shadow of its own, if there is room for
/// it: a program may have taken all that there is.
pub(crate) fn prepare(address: usize) -> bool {
    if is_backed(address) {
        return true;
    }
    let Some(base) = memory::try_reserve(CHUNK_SHADOW) else {
        return false;
    };
    GROWING.lock();
    let first = !is_backed(address);
    if first {
        lead(address >> CHUNK_BITS, base);
    }
    GROWING.unlock();
    if !first {
        // SAFETY: nobody has seen it.
        unsafe { memory::release(base, CHUNK_SHADOW) };
    }
    true
}

/// The chunks with memory of their own, for [`sweep`](crate::sweep): where their
/// shadow is, and how long.
pub(crate) fn chunks() -> impl Iterator<Item = (usize, *mut u8)> {
    let nothing = NOTHING.load(Ordering::Relaxed);
    let own = move |(_, base): &(usize, *mut u8)| *base != nothing && !nothing.is_null();
    (0..CHUNKS)
        .map(|chunk| (chunk << CHUNK_BITS, base(chunk)))
        .filter(own)
}

/// Length of a chunk's shadow.
pub(crate) const CHUNK_LENGTH: usize = CHUNK_SHADOW;

/// Half a word: a write or a read of some of four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Half(pub(crate) u32);

const ABSENT: u32 = 15;

impl Half {
    pub(crate) const NONE: Self = Self(0);

    #[inline(always)]
    pub(crate) fn new(stamp: Stamp, bytes: u8) -> Self {
        Self(stamp.0 << 4 | (!u32::from(bytes) & ABSENT))
    }

    #[inline(always)]
    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }

    #[inline(always)]
    pub(crate) fn stamp(self) -> Stamp {
        Stamp(self.0 >> 4)
    }

    /// The bytes it is about, if it is about any.
    #[inline(always)]
    pub(crate) fn bytes(self) -> u8 {
        match self.0 {
            0 => 0,
            half if half & ABSENT == ABSENT => 15,
            half => (!half & ABSENT) as u8,
        }
    }

    /// The same without some bytes; it is no set.
    #[inline(always)]
    pub(crate) fn without(self, bytes: u8) -> Self {
        match self.bytes() & !bytes {
            0 => Self::NONE,
            rest => Self::new(self.stamp(), rest),
        }
    }

    /// A set of reads.
    #[inline(always)]
    pub(crate) fn set(number: u32) -> Self {
        Self(number << 4 | ABSENT)
    }

    /// Read by everybody at all times: the set of memory that cannot be written.
    pub(crate) const CONSTANT: Self = Self(ABSENT);

    /// The set, if it is one.
    #[inline(always)]
    pub(crate) fn as_set(self) -> Option<u32> {
        (self.0 & ABSENT == ABSENT).then_some(self.0 >> 4)
    }
}

/// A word of shadow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) u64);

impl Word {
    pub(crate) const EMPTY: Self = Self(0);
    /// The past of [`constants`](crate::constants).
    pub(crate) const CONSTANT: Self = Self((ABSENT as u64) << 32);

    /// The past of bytes of which nothing is said any more: a reference to the
    /// [cell](crate::cell) that they have in common.
    pub(crate) const DONE: Self = Self::cell(0);

    #[inline(always)]
    pub(crate) fn new(write: Half, read: Half) -> Self {
        Self(u64::from(write.0) | u64::from(read.0) << 32)
    }

    /// A reference to a cell.
    #[inline(always)]
    pub(crate) const fn cell(number: u32) -> Self {
        let half = (number << 4 | ABSENT) as u64;
        Self(half | half << 32)
    }

    #[inline(always)]
    pub(crate) fn write(self) -> Half {
        Half(self.0 as u32)
    }

    #[inline(always)]
    pub(crate) fn read(self) -> Half {
        Half((self.0 >> 32) as u32)
    }

    /// The cell, if it refers to one.
    #[inline(always)]
    pub(crate) fn as_cell(self) -> Option<u32> {
        let half = self.0 as u32;
        (half & ABSENT == ABSENT).then_some(half >> 4)
    }
}

/// Replaces both words of a group if they are what is expected.
#[inline(always)]
pub(crate) fn exchange(group: &Group, old: [Word; 2], new: [Word; 2]) -> bool {
    let join = |words: [Word; 2]| u128::from(words[0].0) | u128::from(words[1].0) << 64;
    // SAFETY: a group is sixteen bytes, aligned so.
    unsafe {
        let at = std::ptr::from_ref(group).cast_mut().cast();
        memory::exchange_16(at, join(old), join(new))
    }
}

/// Replaces one word of a group if it is what is expected.
#[inline(always)]
pub(crate) fn exchange_one(at: &AtomicU64, old: Word, new: Word) -> bool {
    at.compare_exchange(old.0, new.0, Ordering::AcqRel, Ordering::Relaxed)
        .is_ok()
}

/// Replaces a word that is the first of a group, and the second, if both are what is
/// expected.
#[inline(always)]
pub(crate) fn exchange_two(first: &AtomicU64, old: Word, new: Word) -> bool {
    let group = std::ptr::from_ref(first).cast::<Group>();
    // SAFETY: a group begins with its first word.
    exchange(unsafe { &*group }, [old; 2], [new; 2])
}

/// A word as it is now.
#[inline(always)]
pub(crate) fn word(at: &AtomicU64) -> Word {
    Word(at.load(Ordering::Relaxed))
}

/// The words of a group as they are now, not necessarily at one moment.
#[inline(always)]
pub(crate) fn load(group: &Group) -> [Word; 2] {
    [word(&group[0]), word(&group[1])]
}

/// Whether two groups look the same. Compilers make a call of the comparison of arrays
/// where much is inlined already.
#[inline(always)]
pub(crate) fn are_same(a: [Word; 2], b: [Word; 2]) -> bool {
    a[0] == b[0] && a[1] == b[1]
}

/// The shadow of whole groups from one address to another, as far as it is
/// contiguous.
#[inline(always)]
pub(crate) fn run(from: usize, to: usize) -> &'static [Group] {
    let chunk_end = (from >> CHUNK_BITS << CHUNK_BITS) + (1 << CHUNK_BITS);
    let groups = (to.min(chunk_end) - from) / 8;
    // SAFETY: the shadow of a chunk is contiguous and never goes away.
    unsafe { std::slice::from_raw_parts(group(from), groups) }
}
