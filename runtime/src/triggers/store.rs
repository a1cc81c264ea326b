//! The file in which may-trigger relations are kept from run to run.
//!
//! What is new is added at its end as soon as it is known, in one piece, with the
//! file locked against other processes. So nothing is lost however this one ends,
//! and runs side by side all add theirs. A line that was cut off, by a crash of the system
//! or a full disk, is not there: who reads stops before it, who adds removes it.

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use racehound_schedule::Relations;

use crate::interpose::Errno;
use crate::output;

/// The relations in a file; none if there is no such file yet.
pub(crate) fn load(path: &str) -> Relations {
    let text = match read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Relations::default(),
        Err(error) => crate::fatal(&format!("{path}: {error}")),
    };
    if text.is_empty() {
        return Relations::default();
    }
    match text.parse() {
        Ok(relations) => relations,
        Err(error) => crate::fatal(&format!("{path}: {error}")),
    }
}

/// All whole lines, at a moment when nobody adds something.
fn read(path: &str) -> io::Result<String> {
    let mut file = File::open(path)?;
    lock(&file, libc::LOCK_SH)?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    text.truncate(whole_lines(&text));
    String::from_utf8(text).map_err(io::Error::other)
}

/// Bytes up to the end of the last whole line.
fn whole_lines(text: &[u8]) -> usize {
    let last = text.iter().rposition(|&byte| byte == b'\n');
    last.map_or(0, |last| last + 1)
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
    lock(&file, libc::LOCK_EX)?;
    let text = new.to_string();
    let piece = match remove_cut_line(&mut file)? == 0 {
        true => text.as_str(),
        // The header is there.
        false => text.split_once('\n').map_or("", |(_, rest)| rest),
    };
    file.write_all(piece.as_bytes())
}

/// Removes what is behind the last whole line; how long the file is then.
fn remove_cut_line(file: &mut File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(0);
    }
    let mut last = [0];
    file.seek(SeekFrom::Start(length - 1))?;
    file.read_exact(&mut last)?;
    if last == *b"\n" {
        return Ok(length);
    }
    let mut text = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut text)?;
    let length = whole_lines(&text) as u64;
    file.set_len(length)?;
    Ok(length)
}

/// Until it is closed.
fn lock(file: &File, how: c_int) -> io::Result<()> {
    loop {
        // SAFETY: an open file of ours.
        if unsafe { libc::flock(file.as_raw_fd(), how) } == 0 {
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

    #[test]
    fn a_file_that_is_cut_anywhere_is_read_and_added_to() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("relations");
        let mut known = Relations::default();
        known.add("deposit", "accounts");
        known.add("audit", "accounts");
        let mut new = Relations::default();
        new.add("main", "log");
        let whole = known.to_string();
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let path = path.to_str().unwrap();
            let left = load(path).len();
            save(path, &new);
            assert_eq!(load(path).len(), left + 1, "cut after {length} bytes");
        }
    }
}
