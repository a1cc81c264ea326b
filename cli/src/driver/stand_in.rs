//! Nothing, in the shape of libtsan.
//!
//! gcc puts `libtsan_preinit.o` and `-ltsan` into every link with
//! `-fsanitize=thread`, and has no option against it; without the option its
//! link-time optimiser drops the instrumentation. So gcc finds these files in a
//! directory of ours before it looks anywhere else, and they are empty: the real
//! ones are never linked and need not be installed. An empty archive is a valid
//! input under every name to every linker, statically (`-static-libtsan`) and
//! not.

use std::path::{Path, PathBuf};
use std::{fs, io, process};

use super::Error;
use crate::runtime::Runtime;

/// The files that gcc looks for.
const FILES: [&str; 2] = ["libtsan.a", "libtsan_preinit.o"];

/// An archive without members.
const EMPTY: &[u8] = b"!<arch>\n";

/// The directory with the empty files, made beside the runtime if it is not
/// there yet.
pub(super) fn directory(runtime: &Runtime) -> Result<PathBuf, Error> {
    let directory = runtime.object.with_file_name("no-libtsan");
    for name in FILES {
        let path = directory.join(name);
        if !path.is_file() {
            create(&path).map_err(|source| Error::File { path, source })?;
        }
    }
    Ok(directory)
}

/// Many links may do this at the same time, so the file appears complete.
fn create(path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let partial = path.with_extension(process::id().to_string());
    fs::write(&partial, EMPTY)?;
    fs::rename(&partial, path)
}
