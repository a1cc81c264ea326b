//! Heap blocks: where each was allocated, for reports.
//!
//! Every sixteen bytes of memory have eight bytes here, of which only the one
//! for the beginning of a block is ever written: its size and the context in
//! which it was allocated. The block around an address is found by looking
//! backwards.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::context::{self, Context};
use crate::memory;
use crate::spin::Spin;

const CHUNK_BITS: u32 = 32;
const CHUNKS: usize = 1 << (47 - CHUNK_BITS);
const GRAIN: usize = 16;
const CHUNK_BYTES: usize = (1 << CHUNK_BITS) / GRAIN * 8;

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

fn entry(address: usize) -> Option<&'static AtomicU64> {
    let base = TABLE[address >> CHUNK_BITS].load(Ordering::Acquire);
    if base.is_null() {
        return None;
    }
    let at = (address as u32) as usize / GRAIN;
    // SAFETY: a chunk has that many entries and never goes away.
    Some(unsafe { &*base.add(at) })
}

#[cold]
fn grow(address: usize) {
    GROWING.lock();
    let slot = &TABLE[address >> CHUNK_BITS];
    if slot.load(Ordering::Relaxed).is_null() {
        slot.store(memory::reserve(CHUNK_BYTES).cast(), Ordering::Release);
    }
    GROWING.unlock();
}

/// The thread is a place of its own at the end of the context: so both fit one
/// number.
const THREAD: usize = 1 << 62;

/// Set in the entry of a block that was freed: contexts do not need all bits.
const FREED: u64 = 1 << 63;

/// Notes a block.
pub(crate) fn insert(start: usize, size: usize, thread: u32, context: Context) {
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
    let whose = context::inside(context, THREAD | thread as usize);
    let size = size.min(u32::MAX as usize - 1) as u64 + 1;
    entry.store(u64::from(whose.0) << 32 | size, Ordering::Relaxed);
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
    let mut at = address & !(GRAIN - 1);
    let end =
        at.saturating_sub(FARTHEST) & !((1 << CHUNK_BITS) - 1) | (at & !((1 << CHUNK_BITS) - 1));
    loop {
        let bits = entry(at)?.load(Ordering::Relaxed);
        if bits != 0 {
            let block = decode(at, bits)?;
            return (address < block.start + block.size.max(1)).then_some(block);
        }
        if at <= end {
            return None;
        }
        at -= GRAIN;
    }
}

/// The block that begins there is freed. It is still told of until there is
/// another.
pub(crate) fn freed(start: usize) {
    if let Some(entry) = entry(start) {
        entry.fetch_or(FREED, Ordering::Relaxed);
    }
}
