//! The runtime's own heap, on memory that it maps itself: the program's is not
//! for us.
//!
//! It is held while the process is copied, so that the copy has one that is whole
//! and free. Not everybody who allocates is in the runtime then: threads begin
//! and end outside.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;

use dlmalloc::Dlmalloc;

use crate::spin::Spin;

/// The heap and its lock.
pub(crate) struct Heap {
    lock: Spin,
    heap: UnsafeCell<Dlmalloc>,
}

// SAFETY: the lock lets one thread at a time to the heap.
unsafe impl Sync for Heap {}

impl Heap {
    pub(crate) const fn new() -> Self {
        Self {
            lock: Spin::new(),
            heap: UnsafeCell::new(Dlmalloc::new()),
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

    fn with<R>(&self, f: impl FnOnce(&mut Dlmalloc) -> R) -> R {
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
