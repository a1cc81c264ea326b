//! Memory that cannot be written, as constants and literal texts are: nothing
//! there can race, so what was read there need not be remembered.
//!
//! Threads that read the same constants in ever new epochs would fill sets and
//! [cells](crate::cell) with their reads. The first of them that finds a read of
//! another thread there marks the group as [constant](Word::CONSTANT), and no
//! thread's fast path looks at it again. Constants that one thread alone reads
//! cost as much as other memory.
//!
//! The C library's note that the process has one thread is no constant, but its own
//! business; C++'s library reads it whenever a reference is counted.

use std::ops::Range;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::shadow::{self, Group, Word};
use crate::spin::Locked;

/// Where there are constants, in order. Replaced as a whole, and never given
/// back, for somebody may be reading it.
static RANGES: AtomicPtr<Vec<Range<usize>>> = AtomicPtr::new(std::ptr::null_mut());
static CHANGE: Locked<()> = Locked::new(());

fn change(change: impl FnOnce(&mut Vec<Range<usize>>)) {
    let _alone = CHANGE.lock();
    let known = RANGES.load(Ordering::Acquire);
    // SAFETY: what was published stays.
    let mut ranges = unsafe { known.as_ref() }.cloned().unwrap_or_default();
    change(&mut ranges);
    ranges.sort_unstable_by_key(|range| range.start);
    RANGES.store(Box::leak(Box::new(ranges)), Ordering::Release);
}

/// What is there cannot be written from now on.
pub(crate) fn add(more: impl Iterator<Item = Range<usize>>) {
    change(|ranges| ranges.extend(more.filter(|range| !range.is_empty())));
}

/// What is there may be written, or is gone; whether any of it was constant.
pub(crate) fn remove(some: &Range<usize>) -> bool {
    let touched = |range: &Range<usize>| range.start < some.end && some.start < range.end;
    // SAFETY: what was published stays.
    let known = unsafe { RANGES.load(Ordering::Acquire).as_ref() };
    let some = known.is_some_and(|ranges| ranges.iter().any(touched));
    if some {
        change(|ranges| ranges.retain(|range| !touched(range)));
    }
    some
}

/// Marks a group that several threads have read if it is constant; whether it
/// is.
#[inline(always)]
pub(crate) fn mark(group: &Group, address: usize) -> bool {
    let old = shadow::load(group);
    let unwritten = old.iter().all(|word| word.write().is_none());
    unwritten && holds(address) && shadow::exchange(group, old, [Word::CONSTANT; 2])
}

std::arch::global_asm!(".weak __libc_single_threaded");

/// Whether this is the C library's note that the process has one thread.
#[inline(always)]
pub(crate) fn is_single_threaded(address: usize) -> bool {
    let note: usize;
    // SAFETY: reads where the dynamic linker has put it, or 0 where there is none.
    unsafe {
        std::arch::asm!(
            "mov {note}, qword ptr [rip + __libc_single_threaded@GOTPCREL]",
            note = out(reg) note,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    address == note
}

#[inline(never)]
fn holds(address: usize) -> bool {
    // SAFETY: what was published stays.
    let Some(ranges) = (unsafe { RANGES.load(Ordering::Acquire).as_ref() }) else {
        return false;
    };
    // The whole group must be.
    let (first, last) = (address & !7, address | 7);
    let after = ranges.partition_point(|range| range.start <= first);
    after > 0 && ranges[after - 1].contains(&last)
}
