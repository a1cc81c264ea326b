//! A file of ours in the program's process.
//!
//! # Whose file
//! Every instrumented process that the program starts has the same options, and
//! would write to the same file. The first to come has it; whoever finds another
//! process's bytes there, or that process about to write some, takes a file of its
//! own beside it, with its number behind the name. The child of a fork begins such
//! a file as well, but not before it has something to say: most children become
//! another program at once.
//!
//! # Descriptors
//! Ours is out of the way of the program's. Programs close whatever they find
//! open, and may have been given the same number since: so before each piece we
//! look whether it still is our file, and open that again if not.
//!
//! # Signals
//! Where a file cannot grow or nobody reads it any more, the kernel not only says
//! so but kills. What is our fault must not kill the program, so these signals are
//! held back, and taken away if they came.

use std::ffi::{CString, OsStr, c_int};
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Descriptors of programs are lower, as a rule.
const OUT_OF_THE_WAY: c_int = 800;

/// The file, and what is to be written to it when it is opened.
pub(crate) struct Spool {
    path: PathBuf,
    file: Option<Descriptor>,
    held_back: Vec<u8>,
}

/// An open file, and which one that is: device and number.
struct Descriptor {
    number: RawFd,
    identity: (u64, u64),
}

impl Spool {
    /// Begins the file of that name, or one beside it if it is another process's.
    pub(crate) fn begin(path: &str) -> io::Result<Self> {
        let mut spool = Self {
            path: PathBuf::from(path),
            file: None,
            held_back: Vec::new(),
        };
        let file = Descriptor::open(&spool.path, libc::O_CREAT)?;
        if file.is_ours_to_write()? {
            spool.file = Some(file);
            return Ok(spool);
        }
        drop(file);
        spool.path = beside(path);
        spool.open()?;
        Ok(spool)
    }

    /// Begins a file beside the one of that name, once there is enough to write.
    pub(crate) fn later(path: &str) -> Self {
        Self {
            path: beside(path),
            file: None,
            held_back: Vec::new(),
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn open(&mut self) -> io::Result<()> {
        self.file = Some(Descriptor::open(&self.path, libc::O_CREAT | libc::O_TRUNC)?);
        Ok(())
    }

    /// Opens the file if it is not open, for the first time or again.
    fn make_sure(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return self.open();
        };
        if !file.is_still_the_same() {
            let again = Descriptor::open(&self.path, 0)?;
            if again.identity != file.identity {
                return Err(io::Error::other(
                    "the program has closed it, and another file has its name",
                ));
            }
            *file = again;
        }
        Ok(())
    }
}

/// The file of this process beside another's.
fn beside(path: &str) -> PathBuf {
    PathBuf::from(format!("{path}.{}", std::process::id()))
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The header of a trace alone is not worth a file.
        if self.file.is_none() && self.held_back.is_empty() {
            self.held_back.extend(bytes);
            return Ok(bytes.len());
        }
        self.make_sure()?;
        let file = self.file.as_ref().expect("made sure");
        let held_back = std::mem::take(&mut self.held_back);
        if !held_back.is_empty() && file.append(&held_back)? != held_back.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        file.append(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn check(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

impl Descriptor {
    fn open(path: &Path, how: c_int) -> io::Result<Self> {
        let name = CString::new(OsStr::as_bytes(path.as_os_str()))?;
        let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC | how;
        // SAFETY: a C string, and descriptors of our own.
        let number = unsafe {
            let low = check(libc::open(name.as_ptr(), flags, 0o666) as isize)? as c_int;
            let high = libc::fcntl(low, libc::F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
            match high {
                // So high there is none.
                -1 => low,
                _ => {
                    libc::close(low);
                    high
                }
            }
        };
        let mut file = Self {
            number,
            identity: (0, 0),
        };
        file.identity = identity(&file.status()?);
        Ok(file)
    }

    fn status(&self) -> io::Result<libc::stat> {
        let mut status = MaybeUninit::uninit();
        // SAFETY: filled in if the call succeeds.
        unsafe {
            check(libc::fstat(self.number, status.as_mut_ptr()) as isize)?;
            Ok(status.assume_init())
        }
    }

    /// Whether no other process has written there or is about to. As long as it
    /// has the descriptor, this process is.
    fn is_ours_to_write(&self) -> io::Result<bool> {
        // SAFETY: our own descriptor.
        let locked = unsafe { libc::flock(self.number, libc::LOCK_EX | libc::LOCK_NB) };
        let error = io::Error::last_os_error();
        let awaited = locked != 0 && error.kind() == io::ErrorKind::WouldBlock;
        Ok(!awaited && self.status()?.st_size == 0)
    }

    fn is_still_the_same(&self) -> bool {
        let status = self.status();
        status.is_ok_and(|status| identity(&status) == self.identity)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        let held = HeldBack::begin();
        loop {
            // SAFETY: a buffer of that length.
            let written =
                check(unsafe { libc::write(self.number, bytes.as_ptr().cast(), bytes.len()) });
            match written {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(all) if all == bytes.len() => return Ok(all),
                // A pipe that breaks in the middle says how far it got, and punishes.
                some => {
                    held.take_away();
                    return some;
                }
            }
        }
    }
}

fn identity(status: &libc::stat) -> (u64, u64) {
    (status.st_dev, status.st_ino)
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if self.is_still_the_same() {
            // SAFETY: our own descriptor.
            unsafe { libc::close(self.number) };
        }
    }
}

/// While it lasts, the signals by which the kernel punishes who writes in vain do
/// not come.
struct HeldBack {
    /// What was blocked before, and what had come already.
    mask: libc::sigset_t,
    pending: libc::sigset_t,
}

impl HeldBack {
    const SIGNALS: [c_int; 2] = [libc::SIGXFSZ, libc::SIGPIPE];

    fn begin() -> Self {
        // SAFETY: sets of signals, for which zeroes are none.
        unsafe {
            let mut held: Self = std::mem::zeroed();
            let punishing = set(&Self::SIGNALS);
            libc::sigpending(&raw mut held.pending);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const punishing, &raw mut held.mask);
            held
        }
    }

    /// Takes away what has come since. It came to this thread.
    fn take_away(&self) {
        let _errno = crate::interpose::Errno::keep();
        let at_once = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        for signal in Self::SIGNALS {
            // SAFETY: sets of signals, and a time.
            unsafe {
                if libc::sigismember(&raw const self.pending, signal) == 0 {
                    let only = set(&[signal]);
                    libc::sigtimedwait(&raw const only, std::ptr::null_mut(), &raw const at_once);
                }
            }
        }
    }
}

impl Drop for HeldBack {
    fn drop(&mut self) {
        let _errno = crate::interpose::Errno::keep();
        crate::signals::unblock(&self.mask);
    }
}

fn set(signals: &[c_int]) -> libc::sigset_t {
    // SAFETY: made empty, then added to.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for &signal in signals {
            libc::sigaddset(&raw mut set, signal);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_the_program_closes_is_opened_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let mut spool = Spool::begin(path.to_str().unwrap()).unwrap();
        spool.write_all(b"one ").unwrap();
        let number = spool.file.as_ref().unwrap().number;
        // Another file has the number meanwhile, and must not get what is ours.
        let other = directory.path().join("other");
        let other_file = std::fs::File::create(&other).unwrap();
        // SAFETY: a copy of a descriptor of ours over another one.
        unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&other_file), number) };
        spool.write_all(b"two").unwrap();
        drop(spool);
        assert_eq!(std::fs::read(&path).unwrap(), b"one two");
        assert_eq!(std::fs::read(&other).unwrap(), b"");
        // SAFETY: the copy.
        assert_eq!(unsafe { libc::close(number) }, 0);
    }

    #[test]
    fn a_file_with_something_in_it_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "another's").unwrap();
        let mut spool = Spool::begin(path.to_str().unwrap()).unwrap();
        spool.write_all(b"mine").unwrap();
        assert_eq!(spool.path(), beside(path.to_str().unwrap()));
        assert_eq!(std::fs::read(&path).unwrap(), b"another's");
        assert_eq!(std::fs::read(spool.path()).unwrap(), b"mine");
    }

    #[test]
    fn a_file_that_another_is_about_to_write_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let first = Spool::begin(path.to_str().unwrap()).unwrap();
        let second = Spool::begin(path.to_str().unwrap()).unwrap();
        assert_eq!(first.path(), path);
        assert_ne!(second.path(), path);
    }

    #[test]
    fn what_is_begun_later_is_there_when_it_is_worth_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let mut spool = Spool::later(path.to_str().unwrap());
        spool.write_all(b"header").unwrap();
        assert!(!spool.path().exists());
        spool.write_all(b" and more").unwrap();
        assert_eq!(std::fs::read(spool.path()).unwrap(), b"header and more");
    }
}
