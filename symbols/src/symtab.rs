//! The entries of an ELF symbol table, read as they lie in the file.
//!
//! A program has tens of thousands of symbols, of which a report needs a few: names are
//! not looked at before somebody wants them.

use object::read::elf::{ElfFile64, SectionHeader};
use object::{Object, ObjectSection, SectionIndex, SectionKind};

use crate::elf;

/// Which of a file's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Full,
    Dynamic,
}

/// What an entry names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Function,
    Variable,
    /// It may be a label in assembly, or anything else.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Visibility {
    Local,
    Weak,
    Global,
}

/// An entry that is defined in a section of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    /// The name, and whatever is behind it in the file: it ends with the first 0.
    pub(crate) name: &'a [u8],
    pub(crate) sort: Sort,
    pub(crate) visibility: Visibility,
    pub(crate) section: usize,
    pub(crate) start: u64,
    pub(crate) size: u64,
}

const ENTRY: usize = 24;

/// The entries of a table of these sorts that start at `last` or before; none if the file
/// does not have it.
pub(crate) fn entries<'a>(
    file: &elf::File<'a>,
    which: Which,
    sorts: &'static [Sort],
    last: u64,
) -> impl Iterator<Item = Entry<'a>> + use<'a> {
    let (entries, names) = table(file, which).unwrap_or_default();
    // Of most entries nothing else is looked at.
    let entries = entries.as_chunks::<ENTRY>().0.iter();
    let is_wanted = |bytes: &[u8; ENTRY]| sort(bytes).is_some_and(|sort| sorts.contains(&sort));
    let wanted = entries.filter(move |bytes| word(&bytes[8..]) <= last && is_wanted(bytes));
    wanted.filter_map(move |bytes| entry(bytes, names))
}

/// The entries of a table and their names, as they lie in the file. Files of other
/// processors have none: their programs cannot be watched.
fn table<'a>(file: &elf::File<'a>, which: Which) -> Option<(&'a [u8], &'a [u8])> {
    let elf::File::Elf64(file) = file else {
        return None;
    };
    let table = match which {
        Which::Full => file.elf_symbol_table(),
        Which::Dynamic => file.elf_dynamic_symbol_table(),
    };
    if table.is_empty() || !file.is_little_endian() {
        return None;
    }
    Some((
        data(file, table.section())?,
        data(file, table.string_section())?,
    ))
}

fn data<'a>(file: &ElfFile64<'a>, section: SectionIndex) -> Option<&'a [u8]> {
    let section = file.elf_section_table().section(section).ok()?;
    section.data(file.endian(), file.data()).ok()
}

#[inline(always)]
fn sort(bytes: &[u8; ENTRY]) -> Option<Sort> {
    match bytes[4] & 15 {
        0 => Some(Sort::Unknown),
        1 | 5 => Some(Sort::Variable),
        2 | 10 => Some(Sort::Function),
        _ => None,
    }
}

#[inline]
fn entry<'a>(bytes: &[u8; ENTRY], names: &'a [u8]) -> Option<Entry<'a>> {
    const RESERVED: u16 = 0xff00;
    let (name, info) = (word(bytes) as u32, bytes[4]);
    let section = u16::from_le_bytes([bytes[6], bytes[7]]);
    let sort = sort(bytes)?;
    if section == 0 || section >= RESERVED {
        return None;
    }
    // Without a name it is of no use. Names are far from here, so none is looked at.
    let name = names.get(name as usize..).filter(|_| name != 0)?;
    let visibility = match info >> 4 {
        0 => Visibility::Local,
        2 => Visibility::Weak,
        _ => Visibility::Global,
    };
    Some(Entry {
        name,
        sort,
        visibility,
        section: usize::from(section),
        start: word(&bytes[8..]),
        size: word(&bytes[16..]),
    })
}

#[inline(always)]
fn word(bytes: &[u8]) -> u64 {
    bytes
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Where a section of code ends.
pub(crate) fn end_of_code(file: &elf::File, section: usize) -> Option<u64> {
    let section = file.section_by_index(SectionIndex(section)).ok()?;
    let end = section.address().saturating_add(section.size());
    (section.kind() == SectionKind::Text).then_some(end)
}
