//! The interface for virtual machines: a heap whose objects are allocated,
//! moved and collected by somebody else, and locks that have no memory of their
//! own.
//!
//! The collector tells of every move, with all of the machine's threads stopped.
//! Synchronisation objects move along. What is remembered of accesses does not:
//! with the threads stopped everything before is over, and the bytes at the new
//! address have no past.
//!
//! Calls into the machine stand on the stack by [`__tsan_func_entry`], so the
//! functions here add no place of their own.
//!
//! [`__tsan_func_entry`]: crate::entry

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::ops::Range;

use racehound_detect::order::{SyncCell, ThreadCell};
use racehound_trace::Mode;

use super::is_off;
use crate::blocks::Block;
use crate::spin::Locked;
use crate::sync::{self, Traits};
use crate::thread::Visit;
use crate::{finish, objects, options, record, registry, shadow, shadow_range};

/// The machine's heap.
struct Heap {
    range: Range<usize>,
    /// Its blocks, by where they begin.
    blocks: BTreeMap<usize, Block>,
}

static HEAP: Locked<Heap> = Locked::new(Heap {
    range: 0..0,
    blocks: BTreeMap::new(),
});

/// No place beside the calls on the stack.
const HERE: usize = 0;

/// The block around an address, if that is in the machine's heap.
pub(crate) fn around(address: usize) -> Option<Block> {
    let heap = HEAP.lock();
    if !heap.range.contains(&address) {
        return None;
    }
    let (_, block) = heap.blocks.range(..=address).next_back()?;
    (address - block.start < block.size).then_some(*block)
}

/// `__tsan_java_init` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_java_init(start: usize, size: usize) {
    if !is_off() {
        let _visit = Visit::begin();
        HEAP.lock().range = start..start + size;
    }
}

/// `__tsan_java_fini` of the ABI: the exit code that the machine should use, or
/// 0 if that is its own affair.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_java_fini() -> c_int {
    match !is_off() && finish::conclude() {
        true => options::get().exitcode,
        false => 0,
    }
}

/// `__tsan_java_alloc` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_java_alloc(start: usize, size: usize) {
    if is_off() {
        return;
    }
    let visit = Visit::begin();
    let thread = visit.thread();
    let block = Block {
        start,
        size,
        thread: thread.number,
        context: thread.context(HERE),
    };
    HEAP.lock().blocks.insert(start, block);
    shadow_range::forget(thread, start, size);
    record::alloc(thread, start, size, false, HERE);
}

/// `__tsan_java_free` of the ABI; of several blocks at once, perhaps.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_java_free(start: usize, size: usize) {
    if is_off() {
        return;
    }
    let visit = Visit::begin();
    let thread = visit.thread();
    drop(take_blocks(start..start + size));
    shadow_range::forget(thread, start, size);
    // A lock that nobody can reach need not be free.
    thread.abandoned.clear();
    record::free(thread, start, size, HERE);
}

/// Removes the blocks that begin in a range.
fn take_blocks(range: Range<usize>) -> BTreeMap<usize, Block> {
    let mut heap = HEAP.lock();
    let mut taken = heap.blocks.split_off(&range.start);
    let mut behind = taken.split_off(&range.end);
    heap.blocks.append(&mut behind);
    taken
}

/// `__tsan_java_move` of the ABI; of several blocks at once, perhaps. The ranges
/// may overlap.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_java_move(from: usize, to: usize, size: usize) {
    if is_off() || from == to || size == 0 {
        return;
    }
    let visit = Visit::begin();
    let thread = visit.thread();
    let moved = |address: usize| address - from + to;
    let blocks = take_blocks(from..from + size);
    let mut lifted = Vec::new();
    for group in from / 8..(from + size).div_ceil(8) {
        if shadow::load(shadow::group(group * 8))[0]
            .as_cell()
            .is_some()
        {
            lifted.extend(objects::lift(thread, group * 8, from..from + size));
        }
    }
    drop(take_blocks(to..to + size));
    shadow_range::forget(thread, from, size);
    shadow_range::forget(thread, to, size);
    thread.abandoned.clear();
    for object in lifted {
        objects::settle(thread, object, moved);
    }
    let mut heap = HEAP.lock();
    for (_, mut block) in blocks {
        block.start = moved(block.start);
        heap.blocks.insert(block.start, block);
    }
}

/// `__tsan_java_find` of the ABI: the first block that begins in a range.
///
/// # Safety
/// `from` is a pointer to the begin of the range; it becomes the block's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_java_find(from: *mut usize, to: usize) -> usize {
    if is_off() {
        return 0;
    }
    let _visit = Visit::begin();
    // SAFETY: the caller's promise.
    let start = unsafe { *from };
    if start >= to {
        return 0;
    }
    let heap = HEAP.lock();
    let Some((&found, block)) = heap.blocks.range(start..to).next() else {
        return 0;
    };
    // SAFETY: as above.
    unsafe { *from = found };
    block.size
}

/// `__tsan_java_finalize` of the ABI: finalizers may touch whatever any thread
/// has made so far.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_java_finalize() {
    if is_off() {
        return;
    }
    let visit = Visit::begin();
    let thread = visit.thread();
    for epoch in registry::everybody() {
        if epoch.thread() == thread.chain() {
            continue;
        }
        let mut other = ThreadCell::new(epoch.thread());
        other.clock.set_epoch(epoch);
        thread.synchronise(|sync, t| sync.join(t, &other));
    }
}

fn lock(address: usize, mode: Mode, depth: u32) {
    if is_off() {
        return;
    }
    let visit = Visit::begin();
    let traits = Traits {
        recursive: mode == Mode::Exclusive,
        depth,
        ..Traits::default()
    };
    sync::about_to_lock(&visit, address, mode, traits, HERE);
    sync::acquired(&visit, address, mode, traits, HERE);
}

fn unlock(address: usize, mode: Mode) -> u32 {
    match is_off() {
        true => 0,
        false => sync::releasing(&Visit::begin(), address, Some(mode), HERE),
    }
}

/// `__tsan_java_mutex_lock` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_java_mutex_lock(address: usize) {
    lock(address, Mode::Exclusive, 1);
}

/// `__tsan_java_mutex_unlock` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_java_mutex_unlock(address: usize) {
    unlock(address, Mode::Exclusive);
}

/// `__tsan_java_mutex_read_lock` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_java_mutex_read_lock(address: usize) {
    lock(address, Mode::Shared, 1);
}

/// `__tsan_java_mutex_read_unlock` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_java_mutex_read_unlock(address: usize) {
    unlock(address, Mode::Shared);
}

/// `__tsan_java_mutex_lock_rec` of the ABI: as deep as it was before.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_java_mutex_lock_rec(address: usize, depth: c_int) {
    lock(address, Mode::Exclusive, depth.max(1).unsigned_abs());
}

/// `__tsan_java_mutex_unlock_rec` of the ABI: given back altogether; how deep it
/// was held.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_java_mutex_unlock_rec(address: usize) -> c_int {
    if is_off() {
        return 0;
    }
    let mut depth = 1;
    while unlock(address, Mode::Exclusive) > 0 {
        depth += 1;
    }
    depth
}

/// `__tsan_java_acquire` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_java_acquire(address: usize) {
    if !is_off() {
        sync::take(&Visit::begin(), address, HERE);
    }
}

/// `__tsan_java_release` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_java_release(address: usize) {
    if !is_off() {
        sync::post(&Visit::begin(), address, HERE);
    }
}

/// `__tsan_java_release_store` of the ABI: what was released there before is
/// gone.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_java_release_store(address: usize) {
    if is_off() {
        return;
    }
    let visit = Visit::begin();
    let thread = visit.thread();
    if thread.ignore_sync != 0 {
        return;
    }
    let mut object = objects::at(thread, address, HERE);
    let id = object.id();
    record::post(thread, id, HERE);
    object.order = SyncCell::default();
    thread.synchronise(|sync, t| sync.post(t, &mut object.order));
}
