//! Accesses as events, for detectors without shadow words and for the recorder.

use racehound_detect::AccessKind;
use racehound_detect::order::AtomicOp;
use racehound_trace::MemoryOrder;

use crate::access::Access;
use crate::record;
use crate::thread::Visit;

fn access(address: usize, size: usize, write: bool, place: usize) {
    let visit = Visit::begin();
    let thread = visit.thread();
    if thread.ignore == 0 && record::is_active() {
        let context = thread.context_of(visit.hot(), place);
        record::access(thread, context, address, size, write);
    }
}

extern "C" fn slow<const SIZE: usize, const WRITE: bool>(address: usize, place: usize) {
    access(address, SIZE, WRITE, place);
}

/// The slow paths: all accesses come here.
pub(crate) fn slow_paths() -> [extern "C" fn(usize, usize); 10] {
    [
        slow::<1, false>,
        slow::<2, false>,
        slow::<4, false>,
        slow::<8, false>,
        slow::<16, false>,
        slow::<1, true>,
        slow::<2, true>,
        slow::<4, true>,
        slow::<8, true>,
        slow::<16, true>,
    ]
}

/// An access of any size.
pub(crate) fn range(_visit: &Visit, range: &Access) {
    if range.size != 0 {
        let write = range.kind == AccessKind::Write;
        access(range.address, range.size, write, range.place);
    }
}

/// An atomic operation.
pub(crate) fn atomic<T>(
    address: usize,
    size: usize,
    operation: impl FnOnce() -> (T, AtomicOp, MemoryOrder),
) -> T {
    let place = crate::abi::caller();
    let visit = Visit::begin();
    let thread = visit.thread();
    if thread.ignore != 0 || thread.ignore_sync != 0 || !record::is_active() {
        return operation().0;
    }
    record::atomically(thread, place, (address, size), operation)
}
