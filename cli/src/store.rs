//! What a project remembers from run to run: files below `.racehound` in the
//! directory in which the command is run.

use std::fs;
use std::path::{Path, PathBuf};

use racehound_symbols::build_id;

use crate::error::Error;

use racehound_store::DIRECTORY as STORE;

/// Where everything is kept.
pub(crate) fn directory() -> Result<PathBuf, Error> {
    let path = Path::new(STORE);
    std::path::absolute(path).map_err(Error::file(path))
}

/// Sees to it that something can be kept. It is better told so now than by whoever tries
/// first, of a file that nobody has asked for.
pub(crate) fn prepare() -> Result<(), Error> {
    let path = directory()?;
    let made = fs::create_dir_all(&path).and_then(|()| tempfile::tempfile_in(&path));
    match made {
        Ok(_) => Ok(()),
        Err(source) => Err(Error::NoPlace { path, source }),
    }
}

/// Where the may-trigger relations of a program are kept. Another build has other
/// functions and locks, and so a file of its own.
pub(crate) fn relations(program: &Path) -> Result<PathBuf, Error> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let id: String = build_id(program)
        .unwrap_or_default()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let file = match id.is_empty() {
        true => format!("{name}.txt"),
        false => format!("{name}-{id}.txt"),
    };
    let path = Path::new(STORE).join("relations").join(file);
    std::path::absolute(&path).map_err(Error::file(&path))
}
