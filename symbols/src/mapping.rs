//! Files as memory.

use std::fs::{self, File};
use std::path::Path;

use memmap2::{Mmap, MmapOptions};

/// Maps a regular file, or nothing if that cannot be done.
///
/// Other kinds of files are left alone: opening a pipe would block.
#[allow(unsafe_code)]
pub(crate) fn map(path: &Path) -> Option<Mmap> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    // SAFETY: The bytes must not change while they are borrowed. The mapping
    // is private and read-only, so nothing in this process writes to it; and
    // linkers, strip and package managers replace a module by a new file,
    // which leaves the mapped one as it was. The loader relies on the same for
    // the code of the program itself. Should somebody write into the file all
    // the same, every reader of the bytes checks what it reads where it reads
    // it, as it must for a damaged file.
    unsafe { MmapOptions::new().map_copy_read_only(&file) }.ok()
}
