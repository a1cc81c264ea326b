//! What tells one build of a program from another.

use std::path::Path;

use object::read::elf::ElfFile64;
use object::{Endianness, Object};

/// The build id that the linker left in the file, else a checksum of it; none if
/// it cannot be read.
pub(crate) fn of(path: &Path) -> Option<String> {
    let content = std::fs::read(path).ok()?;
    let elf = ElfFile64::<Endianness>::parse(&*content).ok();
    match elf.as_ref().and_then(|elf| elf.build_id().ok().flatten()) {
        Some(id) => Some(id.iter().map(|byte| format!("{byte:02x}")).collect()),
        None => Some(format!("crc32-{:08x}", crc32fast::hash(&content))),
    }
}
