//! Where a hunt works: a directory `.racehound/hunts/NUMBER`, with its schedules and
//! traces, which is its own as long as it lives.
//!
//! When it is over, or somebody finds that it was killed, what no finding refers to
//! goes; and the oldest traces do, if those that are kept become too many.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use racehound_store::{DIRECTORY, Store};
use rustix::fs::{FlockOperation, flock};

use crate::error::Error;

/// All traces that are kept take at most so many bytes.
const TRACES_KEPT: u64 = 256 << 20;

/// What traces are called.
const TRACE: &str = "rht";

/// The directory of a hunt.
pub(crate) struct Workplace {
    path: PathBuf,
    /// Locked while the hunt lives.
    _lock: File,
}

impl Workplace {
    /// The place of the hunt with that number.
    pub(crate) fn of(project: &Path, hunt: i64) -> Result<Self, Error> {
        let path = all(project).join(hunt.to_string());
        let lock = occupy(&path).map_err(Error::file(&path))?;
        Ok(Self { path, _lock: lock })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A place for a trace.
    pub(crate) fn trace(&self, name: &str) -> PathBuf {
        self.path.join(name).with_extension(TRACE)
    }

    /// Removes what is of no use any more, here and where nobody works any more.
    pub(crate) fn leave(self, project: &Path, store: &Store) {
        drop(self);
        tidy(project, store);
    }
}

fn all(project: &Path) -> PathBuf {
    project.join(DIRECTORY).join("hunts")
}

fn lock_of(place: &Path) -> PathBuf {
    place.join("lock")
}

/// Makes the directory and locks it. Somebody who tidies up may have removed it between
/// the two.
fn occupy(place: &Path) -> io::Result<File> {
    loop {
        fs::create_dir_all(place)?;
        let name = lock_of(place);
        let opened = OpenOptions::new().create(true).append(true).open(&name);
        let lock = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        flock(&lock, FlockOperation::LockExclusive)?;
        let is_there = fs::metadata(&name).is_ok_and(|file| {
            let ours = lock.metadata().map(|ours| ours.ino());
            ours.is_ok_and(|ours| ours == file.ino())
        });
        if is_there {
            return Ok(lock);
        }
    }
}

/// Removes what no finding refers to wherever nobody works. What cannot be removed
/// stays until the next time.
pub(crate) fn tidy(project: &Path, store: &Store) {
    let mut traces = Vec::new();
    for place in fs::read_dir(all(project)).into_iter().flatten().flatten() {
        let place = place.path();
        let Ok(lock) = File::open(lock_of(&place)) else {
            // Not one of ours, or just being made.
            let _ = fs::remove_dir(&place);
            continue;
        };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let is_kept = |file: &Path| store.refers_to(file).unwrap_or(true);
        let mut kept = false;
        for file in files(&place) {
            match is_kept(&file) {
                true if file.extension().is_some_and(|end| end == TRACE) => traces.push(file),
                true => kept = true,
                false => _ = fs::remove_file(&file),
            }
        }
        let has_traces = traces.iter().any(|trace| trace.parent() == Some(&place));
        if !kept && !has_traces {
            let _ = fs::remove_file(lock_of(&place));
            let _ = fs::remove_dir(&place);
        }
    }
    bound(traces, TRACES_KEPT);
}

fn files(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path());
    files.filter(|file| *file != lock_of(place)).collect()
}

/// Removes the oldest files until the others take at most so many bytes.
fn bound(files: Vec<PathBuf>, most: u64) {
    let mut known: Vec<(SystemTime, u64, PathBuf)> = files
        .into_iter()
        .filter_map(|file| {
            let data = fs::metadata(&file).ok()?;
            Some((data.modified().ok()?, data.len(), file))
        })
        .collect();
    known.sort();
    let mut taken: u64 = known.iter().map(|(_, size, _)| size).sum();
    for (_, size, file) in known {
        if taken <= most {
            break;
        }
        let _ = fs::remove_file(file);
        taken -= size;
    }
}

#[cfg(test)]
mod tests {
    use racehound_report::finding::{Finding, Report};

    use super::*;

    #[test]
    fn what_is_referred_to_stays_and_who_works_is_left_alone() {
        let project = tempfile::tempdir().unwrap();
        let project = project.path();
        let mut store = Store::open(project).unwrap();
        let over = Workplace::of(project, 1).unwrap();
        let [wanted, unwanted] = ["1.schedule", "2.schedule"].map(|name| over.path().join(name));
        let trace = over.trace("trace");
        for file in [&wanted, &unwanted, &trace] {
            fs::write(file, "x").unwrap();
        }
        let killed = over.path().with_file_name("7");
        fs::create_dir(&killed).unwrap();
        fs::write(killed.join("lock"), "").unwrap();
        fs::write(killed.join("trace.rht"), "x").unwrap();
        let finding = Finding {
            schedule: Some(format!("replay:file={}", wanted.display())),
            trace: Some(trace.display().to_string()),
            ..Finding::default()
        };
        let mut report = Report {
            findings: vec![finding],
            ..Report::default()
        };
        let hunt = store.begin(&report).unwrap();
        store.note(&hunt, &mut report, true).unwrap();
        let working = Workplace::of(project, 2).unwrap();
        fs::write(working.path().join("3.schedule"), "x").unwrap();
        over.leave(project, &store);
        assert!(wanted.exists() && trace.exists() && !unwanted.exists());
        assert!(!killed.exists());
        assert!(working.path().join("3.schedule").exists());
        working.leave(project, &store);
        assert!(!all(project).join("2").exists());
    }

    #[test]
    fn the_oldest_go_first() {
        let directory = tempfile::tempdir().unwrap();
        let files: Vec<PathBuf> = (0..4)
            .map(|n| directory.path().join(n.to_string()))
            .collect();
        for (age, file) in (0..).zip(&files) {
            fs::write(file, [0; 10]).unwrap();
            let then = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(age);
            let opened = OpenOptions::new().write(true).open(file).unwrap();
            opened.set_modified(then).unwrap();
        }
        bound(files.clone(), 25);
        let left: Vec<bool> = files.iter().map(|file| file.exists()).collect();
        assert_eq!(left, [false, false, true, true]);
    }
}
