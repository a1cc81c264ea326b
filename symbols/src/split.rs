//! Split debug information: what `-gsplit-dwarf` leaves out of a module.
//!
//! Each unit has a file of its own, `.dwo`, or all units are in one package,
//! `.dwp`, beside the module. A unit has an identity, so that the file of
//! another build is not mistaken for it.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::SplitDwarfLoad;
use gimli::Reader as _;
use gimli::{DebugInfo, DwarfPackage, DwoId, EndianSlice, Section, SectionId};

use crate::arena::Arena;
use crate::dwarf::{self, Reader};
use crate::elf;

/// Finds the units that are not in the module's own file.
pub(crate) struct Split<'a> {
    /// The file that refers to the units.
    path: PathBuf,
    package: OnceCell<Option<DwarfPackage<Reader<'a>>>>,
    arena: &'a Arena,
}

impl<'a> Split<'a> {
    pub(crate) fn new(path: &Path, arena: &'a Arena) -> Self {
        let path = path.to_owned();
        let package = OnceCell::new();
        Self {
            path,
            package,
            arena,
        }
    }

    /// The sections of a unit.
    pub(crate) fn load(
        &self,
        unit: &SplitDwarfLoad<Reader<'a>>,
    ) -> Option<Arc<gimli::Dwarf<Reader<'a>>>> {
        let sections = self.in_package(unit).or_else(|| self.in_file(unit))?;
        Some(Arc::new(sections))
    }

    fn in_package(&self, unit: &SplitDwarfLoad<Reader<'a>>) -> Option<gimli::Dwarf<Reader<'a>>> {
        let package = self.package.get_or_init(|| self.open_package()).as_ref()?;
        package.find_cu(unit.dwo_id, &unit.parent).ok()?
    }

    fn open_package(&self) -> Option<DwarfPackage<Reader<'a>>> {
        let mut path = self.path.clone().into_os_string();
        path.push(".dwp");
        let file = elf::parse(self.arena.map(path.as_ref())?)?;
        let section =
            |id| Ok::<_, gimli::Error>(dwarf::section(&file, id, SectionId::dwo_name, self.arena));
        let empty = EndianSlice::new(&[], dwarf::endian(&file));
        DwarfPackage::load(section, empty).ok()
    }

    /// Looks where the compiler put the file, and beside the module, for those
    /// that were moved together.
    fn in_file(&self, unit: &SplitDwarfLoad<Reader<'a>>) -> Option<gimli::Dwarf<Reader<'a>>> {
        let path = |bytes: Reader<'a>| Path::new(OsStr::from_bytes(bytes.slice()));
        let name = path(unit.path?);
        let built = unit.comp_dir.map(path).unwrap_or(Path::new("")).join(name);
        let moved = self.path.with_file_name(name.file_name()?);
        [built, moved].iter().find_map(|path| {
            let file = elf::parse(self.arena.map(path)?)?;
            let mut sections = dwarf::load(&file, SectionId::dwo_name, self.arena);
            sections.make_dwo(&unit.parent);
            sections.debug_info = from_unit(&sections, unit.dwo_id)?;
            Some(sections)
        })
    }
}

/// What follows the start of the unit with this identity: the file may have
/// units that describe types before it, and the first is what will be read.
fn from_unit<'a>(sections: &gimli::Dwarf<Reader<'a>>, id: DwoId) -> Option<DebugInfo<Reader<'a>>> {
    let info = sections.debug_info.reader();
    let mut units = sections.units();
    while let Some(header) = units.next().ok()? {
        let start = header.debug_info_offset()?.0;
        if sections
            .unit(header)
            .is_ok_and(|unit| unit.dwo_id == Some(id))
        {
            return Some(DebugInfo::new(info.slice().get(start..)?, info.endian()));
        }
    }
    None
}
