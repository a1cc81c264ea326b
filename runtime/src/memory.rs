//! Address space for the runtime's own tables: reserved at once, backed by
//! memory only where it is touched.

use std::ptr;

/// Reserves zeroed address space that costs nothing until it is used.
///
/// Ends the process if there is none: nothing works without, and the message
/// says what to look at.
pub(crate) fn reserve(bytes: usize) -> *mut u8 {
    match try_map(bytes, libc::PROT_READ | libc::PROT_WRITE) {
        Some(at) => at,
        None => crate::fatal(&format!(
            "cannot reserve {bytes} bytes of address space; is it limited (ulimit -v)?"
        )),
    }
}

/// The same, for reading only.
pub(crate) fn reserve_zeroes(bytes: usize) -> *mut u8 {
    match try_map(bytes, libc::PROT_READ) {
        Some(at) => at,
        None => crate::fatal(&format!(
            "cannot reserve {bytes} bytes of address space; is it limited (ulimit -v)?"
        )),
    }
}

fn try_map(bytes: usize, protection: i32) -> Option<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, at an address that is free.
    let at = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if at == libc::MAP_FAILED {
        return None;
    }
    // Core dumps of the program should be of the program.
    // SAFETY: advice about the mapping just made.
    unsafe { libc::madvise(at, bytes, libc::MADV_DONTDUMP) };
    Some(at.cast())
}

/// Gives the memory behind whole pages back; they read as zeroes again.
///
/// # Safety
/// The range is part of a mapping made by [`reserve`], and nobody relies on what
/// is in it.
pub(crate) unsafe fn forget(from: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::madvise(from.cast(), bytes, libc::MADV_DONTNEED) };
}

/// Gives address space back.
///
/// # Safety
/// The range was made by [`reserve`], and nobody uses it any more.
pub(crate) unsafe fn release(from: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(from.cast(), bytes) };
}

/// The size of a page.
pub(crate) const PAGE: usize = 4096;
