//! Files as memory.

use std::fs::{self, File};
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{ptr, slice};

/// Where the next file goes: far from where the system puts what a program asks for. If a
/// program has its own symbols looked up, the addresses of its stacks and large blocks do
/// not depend on when that was.
static NEXT: AtomicUsize = AtomicUsize::new(0x3000_0000_0000);
const GAP: usize = 2 << 20;

/// A file in memory, as long as it lives.
pub(crate) struct Mapping {
    start: *const u8,
    size: usize,
}

// SAFETY: the bytes are only read.
#[allow(unsafe_code)]
unsafe impl Send for Mapping {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Mapping {}

impl Deref for Mapping {
    type Target = [u8];

    #[allow(unsafe_code)]
    fn deref(&self) -> &[u8] {
        // SAFETY: The bytes must not change while they are borrowed. The mapping
        // is private and read-only, so nothing in this process writes to it; and
        // linkers, strip and package managers replace a module by a new file,
        // which leaves the mapped one as it was. The loader relies on the same for
        // the code of the program itself. Should somebody write into the file all
        // the same, every reader of the bytes checks what it reads where it reads
        // it, as it must for a damaged file.
        unsafe { slice::from_raw_parts(self.start, self.size) }
    }
}

impl Drop for Mapping {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: made by `map`, and nobody borrows from it any more.
        unsafe { libc::munmap(self.start.cast_mut().cast(), self.size) };
    }
}

/// Maps a regular file, or nothing if that cannot be done.
///
/// Other kinds of files are left alone: opening a pipe would block.
#[allow(unsafe_code)]
pub(crate) fn map(path: &Path) -> Option<Mapping> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    let size = usize::try_from(file.metadata().ok()?.len()).ok()?;
    let wish = NEXT.fetch_add(size.next_multiple_of(GAP), Ordering::Relaxed);
    // SAFETY: a new mapping, at an address that is free: that one if it is.
    let start = unsafe {
        libc::mmap(
            ptr::without_provenance_mut(wish),
            size,
            libc::PROT_READ,
            libc::MAP_PRIVATE,
            file.as_raw_fd(),
            0,
        )
    };
    // There is nothing in an empty file, and nothing to map.
    (start != libc::MAP_FAILED).then(|| Mapping {
        start: start.cast(),
        size,
    })
}
