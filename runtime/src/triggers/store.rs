//! The file in which may-trigger relations are kept from run to run.
//!
//! What is new is added at its end as soon as it is known, in one piece, with the
//! file locked against other processes. So nothing is lost however this one ends,
//! and runs side by side all add theirs. A piece that a crash of the system has cut
//! off is a function that there is not, and does no harm.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use racehound_schedule::Relations;

use crate::interpose::Errno;
use crate::output;

/// The relations in a file; none if there is no such file yet.
pub(crate) fn load(path: &str) -> Relations {
    let text = match std::fs::read_to_string(path) {
        Ok(text) if text.is_empty() => return Relations::default(),
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Relations::default(),
        Err(error) => crate::fatal(&format!("{path}: {error}")),
    };
    match text.parse() {
        Ok(relations) => relations,
        Err(error) => crate::fatal(&format!("{path}: {error}")),
    }
}

/// Adds relations to a file.
pub(crate) fn save(path: &str, new: &Relations) {
    let _errno = Errno::keep();
    if let Err(error) = append(Path::new(path), new) {
        output::write(&format!(
            "racehound: {path}: {error}; may-trigger relations are lost\n"
        ));
    }
}

fn append(path: &Path, new: &Relations) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(path)?;
    lock(&file)?;
    let text = new.to_string();
    let is_new = file.read(&mut [0])? == 0;
    let piece = match is_new {
        true => text.as_str(),
        // The header is there.
        false => text.split_once('\n').map_or("", |(_, rest)| rest),
    };
    file.write_all(piece.as_bytes())
}

/// Until it is closed.
fn lock(file: &File) -> io::Result<()> {
    loop {
        // SAFETY: an open file of ours.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_side_by_side_is_all_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/down/relations");
        let path = path.to_str().unwrap();
        assert!(load(path).is_empty());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for n in 0..50 {
                        let mut new = Relations::default();
                        new.add(&format!("f{n}"), &format!("k{thread}"));
                        new.add("main", "k");
                        save(path, &new);
                    }
                });
            }
        });
        assert_eq!(load(path).len(), 4 * 50 + 1);
    }
}
