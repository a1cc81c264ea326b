//! Build ids: what tells one build of a module from the next.

use std::path::Path;

use object::elf::{ELF_NOTE_GNU, FileHeader64, NT_GNU_BUILD_ID};
use object::read::elf::NoteIterator;
use object::{NativeEndian, Object};

use crate::{elf, mapping};

/// The build id of the ELF file at `path`, if it has one.
pub fn build_id(path: &Path) -> Option<Vec<u8>> {
    let map = mapping::map(path)?;
    of(&elf::parse(&map)?).map(<[u8]>::to_vec)
}

/// The build id among the notes of a loaded module: `notes` is what a program
/// header of type `PT_NOTE` points at, `alignment` its `p_align`.
pub fn build_id_in_notes(notes: &[u8], alignment: u64) -> Option<&[u8]> {
    // Notes look the same in 32-bit and 64-bit files.
    type Notes<'a> = NoteIterator<'a, FileHeader64<NativeEndian>>;
    let mut notes = Notes::new(NativeEndian, alignment, notes).ok()?;
    while let Ok(Some(note)) = notes.next() {
        if note.name() == ELF_NOTE_GNU && note.n_type(NativeEndian) == NT_GNU_BUILD_ID {
            return Some(note.desc());
        }
    }
    None
}

/// The build id of an open file.
pub(crate) fn of<'a>(file: &elf::File<'a>) -> Option<&'a [u8]> {
    file.build_id().ok().flatten().filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(kind: u32, name: &[u8], content: &[u8]) -> Vec<u8> {
        let lengths = [name.len() as u32, content.len() as u32, kind];
        let mut note: Vec<u8> = lengths.into_iter().flat_map(u32::to_ne_bytes).collect();
        for part in [name, content] {
            note.extend(part);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    #[test]
    fn is_found_among_other_notes() {
        let mut notes = note(1, b"GNU\0", &[0; 16]);
        notes.extend(note(3, b"other\0", &[7]));
        assert_eq!(build_id_in_notes(&notes, 4), None);
        notes.extend(note(3, b"GNU\0", &[1, 2, 3, 4, 5]));
        assert_eq!(build_id_in_notes(&notes, 4), Some(&[1, 2, 3, 4, 5][..]));
    }

    #[test]
    fn damaged_notes_have_none() {
        let notes = note(3, b"GNU\0", &[1; 20]);
        for length in 0..notes.len() {
            assert_eq!(build_id_in_notes(&notes[..length], 4), None);
        }
        assert_eq!(build_id_in_notes(&[0xff; 64], 4), None);
    }
}
