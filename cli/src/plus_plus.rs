//! The name `racehound-c++`, which neither rustc nor cargo can give a program.
//!
//! Whichever of our programs is run first makes the link, beside itself. Where it
//! may not write there, whoever installed the programs has to.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::{env, io};

/// The name, and what it stands for.
const NAME: &str = "racehound-c++";
const PROGRAM: &str = "racehound-cxx";

/// Makes the link, unless there is something of that name.
pub fn link() {
    let own = env::current_exe();
    if let Some(directory) = own.as_deref().ok().and_then(Path::parent) {
        // Nobody asked for it, so nobody wants to hear that it cannot be done.
        let _ = link_in(directory);
    }
}

fn link_in(directory: &Path) -> io::Result<()> {
    let (name, program) = (directory.join(NAME), directory.join(PROGRAM));
    if name.symlink_metadata().is_ok() || !program.is_file() {
        return Ok(());
    }
    // Relative, so that the directory can be moved.
    symlink(PROGRAM, name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_link_is_made_once_and_nothing_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let name = directory.path().join(NAME);
        link_in(directory.path()).unwrap();
        assert!(name.symlink_metadata().is_err(), "a link to nothing");
        fs::write(directory.path().join(PROGRAM), "the driver").unwrap();
        link_in(directory.path()).unwrap();
        assert_eq!(fs::read_to_string(&name).unwrap(), "the driver");
        link_in(directory.path()).unwrap();

        fs::remove_file(&name).unwrap();
        fs::write(&name, "somebody else's").unwrap();
        link_in(directory.path()).unwrap();
        assert_eq!(fs::read_to_string(&name).unwrap(), "somebody else's");
    }
}
