//! Memory from the system: what is new or gone has no past.
//!
//! What goes is forgotten before it goes: right afterwards another thread may be
//! given the same addresses.

use std::ffi::{c_int, c_void};

use super::{Call, Errno, interpose};
use crate::memory::PAGE;
use crate::shared_memory::{self, Part, Whose};
use crate::spin::Locked;
use crate::thread::Visit;
use crate::{constants, record, shadow, shadow_range};

mod real {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        pub(super) fn mremap(
            old: *mut c_void,
            old_size: usize,
            new_size: usize,
            flags: c_int,
            new: *mut c_void,
        ) -> *mut c_void;
    }
}

/// Where segments of System V are.
const NO_DEVICE: u64 = u64::MAX;

/// How much of what goes is looked at.
const LOOKED_AT: usize = 1 << 20;

/// Forgets a stretch of memory.
fn forget(address: usize, size: usize) {
    let _errno = Errno::keep();
    let visit = Visit::begin();
    let thread = visit.thread();
    let end = address.saturating_add(size.saturating_add(PAGE - 1) & !(PAGE - 1));
    record::forget(thread, address, end - address);
    shared_memory::remove(&(address..end));
    if end - address < shadow::CHUNK_LENGTH {
        return shadow_range::forget(thread, address, end - address);
    }
    // Programs reserve address space by the terabyte. Where nothing was
    // accessed, there is nothing to forget.
    for (start, _) in shadow::chunks() {
        let (from, to) = (
            address.max(start),
            end.min(start + shadow::CHUNK_LENGTH / 2),
        );
        if from < to {
            shadow_range::forget(thread, from, to - from);
        }
    }
}

/// What a descriptor leads to, as memory; none if it leads nowhere.
fn part(fd: c_int, offset: i64) -> Option<Part> {
    let _errno = Errno::keep();
    // SAFETY: zeroes are a result like any other, and it is of that size.
    let (about, found) = unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        let found = libc::fstat(fd, &raw mut about) == 0;
        (about, found)
    };
    found.then_some(Part {
        of: (about.st_dev, about.st_ino),
        from: offset as usize,
    })
}

fn maps(
    size: usize,
    flags: c_int,
    (fd, offset): (c_int, i64),
    real: impl FnOnce() -> *mut c_void,
) -> *mut c_void {
    let Some(call) = Call::begin() else {
        return real();
    };
    let at = real();
    if at != libc::MAP_FAILED {
        forget(at as usize, size);
        mark(&call, at as usize, size);
        if matches!(
            flags & libc::MAP_TYPE,
            libc::MAP_SHARED | libc::MAP_SHARED_VALIDATE
        ) {
            let _visit = Visit::begin();
            let (whose, part) = match flags & libc::MAP_ANONYMOUS {
                0 => (Whose::Anybody, part(fd, offset)),
                _ => (Whose::Family, None),
            };
            shared_memory::add(at as usize..at as usize + size, whose, part);
        }
    }
    at
}

/// Marks the beginning of new memory as written by who made it, as that of a
/// block of the heap is: whoever gets hold of it without synchronisation is told.
fn mark(call: &Call, at: usize, size: usize) {
    let _errno = Errno::keep();
    let visit = Visit::begin();
    let thread = visit.thread();
    if thread.ignore == 0 && !call.ignored && shadow::prepare(at) {
        let stamp = thread.stamp(visit.hot(), call.place);
        shadow_range::written(thread, at, size.min(PAGE), stamp);
        record::written(thread, at, size.min(PAGE), call.place);
    }
}

/// Shared memory that is attached, and its size: who detaches it does not say.
static SEGMENTS: Locked<Vec<(usize, usize)>> = Locked::new(Vec::new());

interpose! {
    fn mmap(
        at: *mut c_void,
        size: usize,
        protection: c_int,
        flags: c_int,
        fd: c_int,
        offset: i64,
    ) -> *mut c_void {
        maps(size, flags, (fd, offset), || libc::mmap(at, size, protection, flags, fd, offset))
    }

    fn mmap64(
        at: *mut c_void,
        size: usize,
        protection: c_int,
        flags: c_int,
        fd: c_int,
        offset: i64,
    ) -> *mut c_void {
        maps(size, flags, (fd, offset), || libc::mmap64(at, size, protection, flags, fd, offset))
    }

    fn mprotect(at: *mut c_void, size: usize, protection: c_int) -> c_int {
        let result = libc::mprotect(at, size, protection);
        let writable = protection & libc::PROT_WRITE != 0;
        if result == 0 && writable && let Some(_call) = Call::begin() {
            let _errno = Errno::keep();
            let visit = Visit::begin();
            let at = at as usize;
            if constants::remove(&(at..at + size)) {
                shadow_range::forget(visit.thread(), at, size);
            }
        }
        result
    }

    fn munmap(at: *mut c_void, size: usize) -> c_int {
        // What is not aligned is refused.
        if (at as usize).is_multiple_of(PAGE) && let Some(call) = Call::begin() {
            // A last look, as at a block of the heap: others may still use it.
            call.writes(at, size.min(LOOKED_AT));
            forget(at as usize, size);
        }
        libc::munmap(at, size)
    }

    fn mremap(
        old: *mut c_void,
        old_size: usize,
        new_size: usize,
        flags: c_int,
        new: *mut c_void,
    ) -> *mut c_void {
        let Some(_call) = Call::begin() else {
            return real::mremap(old, old_size, new_size, flags, new);
        };
        let may_move = flags & libc::MREMAP_MAYMOVE != 0 && new_size > old_size;
        if may_move || flags & libc::MREMAP_FIXED != 0 {
            forget(old as usize, old_size);
        } else if new_size < old_size {
            forget(old as usize + new_size, old_size - new_size);
        }
        let at = real::mremap(old, old_size, new_size, flags, new);
        if at == old && new_size > old_size {
            forget(at as usize + old_size, new_size - old_size);
        } else if at != old && at != libc::MAP_FAILED {
            forget(at as usize, new_size);
        }
        at
    }

    fn sbrk(change: isize) -> *mut c_void {
        let Some(_call) = Call::begin() else {
            return libc::sbrk(change);
        };
        if change < 0 {
            let end = libc::sbrk(0) as usize;
            forget(end.saturating_add_signed(change), change.unsigned_abs());
        }
        let before = libc::sbrk(change);
        if change > 0 && before as isize != -1 {
            forget(before as usize, change as usize);
        }
        before
    }

    fn brk(end: *mut c_void) -> c_int {
        let Some(_call) = Call::begin() else {
            return libc::brk(end);
        };
        let (before, after) = (libc::sbrk(0) as usize, end as usize);
        if after < before {
            // Too low an end is refused, and would be most of the address space.
            let gone = before - after;
            if gone < 1 << 40 {
                forget(after, gone);
            }
        }
        let result = libc::brk(end);
        if result == 0 && after > before {
            forget(before, after - before);
        }
        result
    }

    fn shmat(segment: c_int, at: *const c_void, flags: c_int) -> *mut c_void {
        let Some(_call) = Call::begin() else {
            return libc::shmat(segment, at, flags);
        };
        let at = libc::shmat(segment, at, flags);
        if at as isize != -1 {
            let _errno = Errno::keep();
            let mut about: libc::shmid_ds = std::mem::zeroed();
            if libc::shmctl(segment, libc::IPC_STAT, &raw mut about) == 0 {
                forget(at as usize, about.shm_segsz);
                let _visit = Visit::begin();
                SEGMENTS.lock().push((at as usize, about.shm_segsz));
                let range = at as usize..at as usize + about.shm_segsz;
                let part = Part { of: (NO_DEVICE, segment as u64), from: 0 };
                shared_memory::add(range, Whose::Anybody, Some(part));
            }
        }
        at
    }

    fn shmdt(at: *const c_void) -> c_int {
        if let Some(_call) = Call::begin() {
            let segment = {
                let _visit = Visit::begin();
                let mut segments = SEGMENTS.lock();
                let position = segments.iter().position(|s| s.0 == at as usize);
                position.map(|i| segments.swap_remove(i))
            };
            if let Some((at, size)) = segment {
                forget(at, size);
            }
        }
        libc::shmdt(at)
    }
}
