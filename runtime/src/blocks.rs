//! Heap blocks: where each was allocated, for reports.
//!
//! Every sixteen bytes of memory have eight bytes here, of which only the one
//! for the beginning of a block is ever written: its size and the context in
//! which it was allocated. The block around an address is found by looking
//! backwards, with the help of a bit for every page in which a block begins.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::context::Context;
use crate::memory;
use crate::spin::Spin;

const CHUNK_BITS: u32 = 32;
const CHUNKS: usize = 1 << (47 - CHUNK_BITS);
const GRAIN: usize = 16;
const CHUNK_BYTES: usize = (1 << CHUNK_BITS) / GRAIN * 8;
const PAGE_BITS: u32 = 12;
/// Bits for the pages of a chunk, behind its entries.
const CHUNK_PAGES: usize = 1 << (CHUNK_BITS - PAGE_BITS);

static TABLE: [AtomicPtr<AtomicU64>; CHUNKS] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS];
static GROWING: Spin = Spin::new();

/// A block of the heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) start: usize,
    pub(crate) size: usize,
    pub(crate) thread: u32,
    pub(crate) context: Context,
}

#[inline]
fn entry(address: usize) -> Option<&'static AtomicU64> {
    let base = TABLE[address >> CHUNK_BITS].load(Ordering::Acquire);
    if base.is_null() {
        return None;
    }
    let at = (address as u32) as usize / GRAIN;
    // SAFETY: a chunk has that many entries and never goes away.
    Some(unsafe { &*base.add(at) })
}

/// Bits for 64 pages of the chunk that begins with `first`.
#[inline]
fn pages(first: &AtomicU64, pages: usize) -> &AtomicU64 {
    // SAFETY: they are behind the entries, of which this is the first.
    unsafe { &*std::ptr::from_ref(first).add(CHUNK_BYTES / 8 + pages) }
}

/// The last page before `page`, of those not before `from`, in which a block
/// begins.
fn page_before(first: &AtomicU64, page: usize, from: usize) -> Option<usize> {
    let mut word = page / 64;
    let mut bits = pages(first, word).load(Ordering::Relaxed) & ((1 << (page % 64)) - 1);
    while bits == 0 {
        if word * 64 <= from {
            return None;
        }
        word -= 1;
        bits = pages(first, word).load(Ordering::Relaxed);
    }
    Some(word * 64 + 63 - bits.leading_zeros() as usize)
}

#[cold]
fn grow(address: usize) {
    GROWING.lock();
    let slot = &TABLE[address >> CHUNK_BITS];
    if slot.load(Ordering::Relaxed).is_null() {
        let bytes = CHUNK_BYTES + CHUNK_PAGES / 8;
        slot.store(memory::reserve(bytes).cast(), Ordering::Release);
    }
    GROWING.unlock();
}

/// The thread is a place of its own at the end of the context: so both fit one
/// number.
const THREAD: usize = 1 << 62;

/// Set in the entry of a block that was freed: contexts do not need all bits.
const FREED: u64 = 1 << 63;

/// What stands for a thread at the end of the context in which it allocates.
#[inline]
pub(crate) fn place_of(thread: u32) -> usize {
    THREAD | thread as usize
}

/// The size that stands for larger ones, too.
pub(crate) const LARGEST: usize = u32::MAX as usize - 1;

/// Notes a block; `whose` ends with the [place of a thread](place_of).
#[inline]
pub(crate) fn insert(start: usize, size: usize, whose: Context) {
    let entry = match entry(start) {
        Some(entry) => entry,
        None => {
            grow(start);
            match entry(start) {
                Some(entry) => entry,
                None => return,
            }
        }
    };
    let size = size.min(LARGEST) as u64 + 1;
    entry.store(u64::from(whose.0) << 32 | size, Ordering::Relaxed);
    let page = (start as u32 >> PAGE_BITS) as usize;
    if let Some(first) = self::entry(start >> CHUNK_BITS << CHUNK_BITS) {
        let (pages, bit) = (pages(first, page / 64), 1 << (page % 64));
        if pages.load(Ordering::Relaxed) & bit == 0 {
            pages.fetch_or(bit, Ordering::Relaxed);
        }
    }
}

fn decode(start: usize, bits: u64) -> Option<Block> {
    let (whose, size) = (((bits & !FREED) >> 32) as u32, bits as u32);
    let (thread, context) = Context(whose).split()?;
    Some(Block {
        start,
        size: size as usize - 1,
        thread: (thread & !THREAD) as u32,
        context,
    })
}

/// The size of the block that begins there, if it was not freed.
#[inline]
pub(crate) fn size(start: usize) -> Option<usize> {
    match entry(start)?.load(Ordering::Relaxed) {
        0 => None,
        bits if bits & FREED != 0 => None,
        bits => Some(bits as u32 as usize - 1),
    }
}

/// How far back a block may begin.
const FARTHEST: usize = 1 << 30;

/// The block around an address.
pub(crate) fn around(address: usize) -> Option<Block> {
    // A virtual machine may have its heap in a block of ours.
    if let Some(block) = crate::abi::java::around(address) {
        return Some(block);
    }
    let chunk = address >> CHUNK_BITS << CHUNK_BITS;
    let first = entry(chunk)?;
    let from = address.saturating_sub(FARTHEST).max(chunk) as u32 >> PAGE_BITS;
    let mut page = (address as u32 >> PAGE_BITS) as usize;
    let mut at = address & !(GRAIN - 1);
    loop {
        let start = chunk + (page << PAGE_BITS);
        while at >= start {
            let bits = entry(at)?.load(Ordering::Relaxed);
            if bits != 0 {
                let block = decode(at, bits)?;
                return (address < block.start + block.size.max(1)).then_some(block);
            }
            match at.checked_sub(GRAIN) {
                Some(before) => at = before,
                None => return None,
            }
        }
        page = page_before(first, page, from as usize)?;
        at = chunk + ((page + 1) << PAGE_BITS) - GRAIN;
    }
}

/// What there was to be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freed {
    /// A block of that size.
    Now(usize),
    /// One that was freed before, and was not allocated again.
    Before(usize),
    /// Nothing that we know of.
    Unknown,
}

/// Frees the block that begins there. It is still told of until there is another.
/// Of several threads that free it at once one does so now, the others later.
#[inline]
pub(crate) fn free(start: usize) -> Freed {
    let Some(entry) = entry(start) else {
        return Freed::Unknown;
    };
    if entry.load(Ordering::Relaxed) == 0 {
        return Freed::Unknown;
    }
    let before = entry.fetch_or(FREED, Ordering::Relaxed);
    let size = before as u32 as usize - 1;
    match before & FREED {
        0 => Freed::Now(size),
        _ => Freed::Before(size),
    }
}

/// What begins there is a block that we do not watch.
#[inline]
pub(crate) fn forget(start: usize) {
    if let Some(entry) = entry(start)
        && entry.load(Ordering::Relaxed) != 0
    {
        entry.store(0, Ordering::Relaxed);
    }
}
