//! The parts of an ELF file that matter here.

use object::{CompressionFormat, Object, ObjectSection, Section};

use crate::arena::{Arena, Bytes};
use crate::compression;

/// An ELF file, its headers checked.
pub(crate) type File<'a> = object::File<'a>;

/// The file in these bytes, if they are an ELF file.
pub(crate) fn parse(bytes: &[u8]) -> Option<File<'_>> {
    File::parse(bytes).ok()
}

/// A section's data, decompressed. A section that is absent, damaged or empty
/// has none.
pub(crate) fn section<'a>(file: &File<'a>, name: &str, arena: &'a Arena) -> &'a [u8] {
    let data = find(file, name).and_then(|section| section.compressed_data().ok());
    match data {
        None => &[],
        Some(plain) if plain.format == CompressionFormat::None => plain.data,
        Some(packed) => match compression::decompress(&packed) {
            None => &[],
            Some(data) => arena.keep(Bytes::Owned(data)),
        },
    }
}

/// Whether the file has DWARF of its own.
pub(crate) fn has_dwarf(file: &File<'_>) -> bool {
    let size = |section: Section<'_, '_>| Some(section.file_range()?.1);
    find(file, ".debug_info")
        .and_then(size)
        .is_some_and(|size| size > 0)
}

/// A section by its name, or by the one that it had when compression was new.
fn find<'a, 'f>(file: &'f File<'a>, name: &str) -> Option<Section<'a, 'f>> {
    let packed = || file.section_by_name(&name.replacen(".debug_", ".zdebug_", 1));
    file.section_by_name(name).or_else(packed)
}
