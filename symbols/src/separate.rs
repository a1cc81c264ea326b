//! Debug information in files of its own: what `strip` took out of a module.
//!
//! Such a file is found by the module's build id, under the root for debug
//! files, or by the name that the module gives it. It is believed only if it
//! is the module's: the same build id, or the checksum that the module states.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::Object;

use crate::arena::{Arena, Bytes};
use crate::{build_id, elf, mapping};

/// The debug file of a module, and its path.
pub(crate) fn debug_file<'a>(
    path: &Path,
    module: &elf::File<'a>,
    root: &Path,
    arena: &'a Arena,
) -> Option<(PathBuf, elf::File<'a>)> {
    let id = build_id::of(module);
    let by_id = id.and_then(|id| by_build_id(root, id)).into_iter();
    let link = module.gnu_debuglink().ok().flatten();
    let by_name = link
        .into_iter()
        .flat_map(|(name, _)| by_name(path, name, root));
    let checksum = link.map(|(_, checksum)| checksum);
    by_id.chain(by_name).find_map(|path| {
        let file = open_if(&path, arena, |file, bytes| match (id, build_id::of(file)) {
            (Some(wanted), Some(id)) => id == wanted,
            _ => Some(crc32fast::hash(bytes)) == checksum,
        });
        Some((path, file?))
    })
}

/// The file that holds what several debug files have in common, if the debug
/// information in `file` refers to one.
pub(crate) fn shared<'a>(
    path: &Path,
    file: &elf::File<'a>,
    root: &Path,
    arena: &'a Arena,
) -> Option<elf::File<'a>> {
    let (name, id) = file.gnu_debugaltlink().ok()??;
    let by_name = resolved(path).with_file_name(OsStr::from_bytes(name));
    let candidates = [Some(by_name), by_build_id(root, id)];
    candidates
        .into_iter()
        .flatten()
        .find_map(|path| open_if(&path, arena, |file, _| build_id::of(file) == Some(id)))
}

/// Opens the file at `path` if it is the right one.
fn open_if<'a>(
    path: &Path,
    arena: &'a Arena,
    is_right: impl FnOnce(&elf::File<'_>, &[u8]) -> bool,
) -> Option<elf::File<'a>> {
    let map = mapping::map(path)?;
    let right = is_right(&elf::parse(&map)?, &map);
    elf::parse(right.then(|| arena.keep(Bytes::Mapped(map)))?)
}

fn by_build_id(root: &Path, id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = id.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(root.join(format!(".build-id/{first:02x}/{rest}.debug")))
}

/// Where a debugger looks for the file that a module names: beside the module,
/// in a directory of its own there, and in the same place under the root.
fn by_name(module: &Path, name: &[u8], root: &Path) -> Vec<PathBuf> {
    let module = resolved(module);
    let name = OsStr::from_bytes(name);
    let Some(directory) = module.parent() else {
        return Vec::new();
    };
    let under_root = root.join(directory.strip_prefix("/").unwrap_or(directory));
    let directories = [directory.to_owned(), directory.join(".debug"), under_root];
    let paths = directories.map(|directory| directory.join(name));
    paths.into_iter().filter(|path| *path != module).collect()
}

/// The path without links: debug files are kept beside what links point at.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_id_is_a_directory_and_a_name() {
        let path = by_build_id(Path::new("/debug"), &[0xab, 0x01, 0xff]);
        assert_eq!(path, Some("/debug/.build-id/ab/01ff.debug".into()));
        assert_eq!(by_build_id(Path::new("/debug"), &[0xab]), None);
        assert_eq!(by_build_id(Path::new("/debug"), &[]), None);
    }

    #[test]
    fn a_name_is_looked_for_beside_the_module_first() {
        let paths = by_name(Path::new("/none/such"), b"such.debug", Path::new("/debug"));
        let expected = [
            "/none/such.debug",
            "/none/.debug/such.debug",
            "/debug/none/such.debug",
        ];
        assert_eq!(paths, expected.map(PathBuf::from));
    }

    #[test]
    fn a_module_is_not_its_own_debug_file() {
        let paths = by_name(Path::new("/none/such"), b"such", Path::new("/debug"));
        assert_eq!(
            paths,
            ["/none/.debug/such", "/debug/none/such"].map(PathBuf::from)
        );
    }
}
