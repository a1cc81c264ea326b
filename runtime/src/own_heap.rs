//! The runtime's own heap, on memory that it maps itself: the program's is not
//! for us.
//!
//! That memory is far from where the system puts what the program asks for: the addresses
//! of its stacks and large blocks do not depend on what we do, and are the same in an
//! execution and in its replay.
//!
//! It is held while the process is copied, so that the copy has one that is whole
//! and free. Not everybody who allocates is in the runtime then: threads begin
//! and end outside.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use dlmalloc::{Allocator, Dlmalloc};

use crate::spin::Spin;

/// Where the heap has its memory from.
struct FarAway;

/// Where the next part of it goes: below the tables of [`memory`](crate::memory), a
/// terabyte before they begin.
static NEXT: AtomicUsize = AtomicUsize::new(0x1f00_0000_0000);

// SAFETY: mappings of our own, which are there until they are given back.
unsafe impl Allocator for FarAway {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let wish = NEXT.fetch_add(size, Ordering::Relaxed);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let wish = ptr::without_provenance_mut(wish);
        // SAFETY: a new mapping, at an address that is free: that one if it is.
        let at = unsafe { libc::mmap(wish, size, protection, flags, -1, 0) };
        match at == libc::MAP_FAILED {
            true => (ptr::null_mut(), 0, 0),
            false => (at.cast(), size, 0),
        }
    }

    /// What has to become larger is copied: the system would move it to where the program
    /// has its own.
    fn remap(&self, at: *mut u8, old: usize, new: usize, _can_move: bool) -> *mut u8 {
        match new <= old && self.free_part(at, old, new) {
            true => at,
            false => ptr::null_mut(),
        }
    }

    fn free_part(&self, at: *mut u8, old: usize, new: usize) -> bool {
        // SAFETY: the end of such a mapping.
        old == new || unsafe { libc::munmap(at.add(new).cast(), old - new) == 0 }
    }

    fn free(&self, at: *mut u8, size: usize) -> bool {
        // SAFETY: such a mapping.
        unsafe { libc::munmap(at.cast(), size) == 0 }
    }

    fn can_release_part(&self, _flags: u32) -> bool {
        true
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        crate::memory::PAGE
    }
}

/// The heap and its lock.
pub(crate) struct Heap {
    lock: Spin,
    heap: UnsafeCell<Dlmalloc<FarAway>>,
}

// SAFETY: the lock lets one thread at a time to the heap.
unsafe impl Sync for Heap {}

impl Heap {
    pub(crate) const fn new() -> Self {
        Self {
            lock: Spin::new(),
            heap: UnsafeCell::new(Dlmalloc::new_with_allocator(FarAway)),
        }
    }

    /// Nobody allocates from now on, not even the current thread.
    pub(crate) fn close(&self) {
        self.lock.lock();
    }

    /// Ends what [`close`](Self::close) began.
    pub(crate) fn open(&self) {
        self.lock.unlock();
    }

    fn with<R>(&self, f: impl FnOnce(&mut Dlmalloc<FarAway>) -> R) -> R {
        self.lock.lock();
        // SAFETY: the lock is held.
        let result = f(unsafe { &mut *self.heap.get() });
        self.lock.unlock();
        result
    }
}

// SAFETY: blocks are those of an allocator that keeps these promises.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        self.with(|heap| unsafe { heap.malloc(layout.size(), layout.align()) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        self.with(|heap| unsafe { heap.calloc(layout.size(), layout.align()) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        self.with(|heap| unsafe { heap.free(block, layout.size(), layout.align()) });
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        self.with(|heap| unsafe { heap.realloc(block, layout.size(), layout.align(), size) })
    }
}
