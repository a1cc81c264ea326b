//! Whose instrumentation a program has.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use object::elf::FileHeader64;
use object::read::elf::{Dyn, FileHeader};
use object::{Endianness, FileKind, elf};
use racehound::runtime;

use crate::error::Error;

/// Whose runtime serves a program's instrumentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instrumentation {
    /// Ours, linked into it.
    Ours,
    /// The compiler's shared library, whose place we can take.
    Libtsan,
    /// The compiler's, linked into it.
    Archive,
    /// It has none.
    None,
    /// It is for processors that the runtime is not made for.
    Foreign,
    /// It is a script, or nothing we know; what it starts may be instrumented.
    Unknown,
}

/// Looks at a program's file.
pub(crate) fn of(path: &Path) -> Result<Instrumentation, Error> {
    let mut content = Vec::new();
    File::open(path)
        .and_then(|mut file| file.read_to_end(&mut content))
        .map_err(|error| Error::NotStarted(format!("{}: {error}", path.display())))?;
    if !content.starts_with(b"\x7fELF") {
        return Ok(Instrumentation::Unknown);
    }
    Ok(of_elf(&content).unwrap_or(Instrumentation::Unknown))
}

fn of_elf(content: &[u8]) -> Option<Instrumentation> {
    if matches!(FileKind::parse(content), Ok(FileKind::Elf32)) {
        return Some(Instrumentation::Foreign);
    }
    let header = FileHeader64::<Endianness>::parse(content).ok()?;
    let endian = header.endian().ok()?;
    if header.e_machine(endian) != elf::EM_X86_64 {
        return Some(Instrumentation::Foreign);
    }
    let sections = header.sections(endian, content).ok()?;
    let mut instrumented = false;
    let mut defines_init = false;
    // What is linked in as an archive is not always in the symbols that others see.
    for table in [elf::SHT_DYNSYM, elf::SHT_SYMTAB] {
        let symbols = sections.symbols(endian, content, table).ok()?;
        for symbol in symbols.iter() {
            let name = symbols
                .strings()
                .get(symbol.st_name.get(endian))
                .unwrap_or_default();
            if name == b"__racehound_runtime" {
                return Some(Instrumentation::Ours);
            }
            if name.starts_with(b"__tsan_") {
                instrumented = true;
                let undefined = symbol.st_shndx.get(endian) == elf::SHN_UNDEF;
                defines_init |= name == b"__tsan_init" && !undefined;
            }
        }
    }
    if defines_init {
        return Some(Instrumentation::Archive);
    }
    // A static program has all that it ever will have.
    let Some((dynamic, link)) = sections.dynamic(endian, content).ok()? else {
        return Some(Instrumentation::None);
    };
    let strings = sections.strings(endian, content, link).ok()?;
    let needs_libtsan = dynamic.iter().any(|entry| {
        entry.tag(endian) == elf::DT_NEEDED
            && strings
                .get(entry.val(endian) as u32)
                .is_ok_and(runtime::is_libtsan)
    });
    Some(match (needs_libtsan, instrumented) {
        (true, _) => Instrumentation::Libtsan,
        (false, true) => Instrumentation::Unknown,
        (false, false) => Instrumentation::None,
    })
}
