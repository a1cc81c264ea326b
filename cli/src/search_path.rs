//! Where programs are looked for, as `execvp` does it: in the directories of `PATH`, and
//! in the system's own if there is no `PATH` at all, as in a build that was given an
//! empty environment.

use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What the C library takes for a `PATH` that is not set.
const THE_SYSTEMS: &str = "/bin:/usr/bin";

/// The directories, in order.
pub fn directories() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_else(|| THE_SYSTEMS.into());
    env::split_paths(&path).collect()
}

/// The program of this name; one with a slash is where it says.
pub fn find(name: &OsStr) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(|path| is_program(path));
    }
    let mut candidates = directories().into_iter().map(|place| place.join(name));
    candidates.find(|path| is_program(path))
}

/// Whether it is a file that can be run.
pub fn is_program(path: &Path) -> bool {
    let executable = |mode: u32| mode & 0o111 != 0;
    path.metadata()
        .is_ok_and(|data| data.is_file() && executable(data.permissions().mode()))
}
