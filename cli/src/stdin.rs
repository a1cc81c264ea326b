//! What a program reads that is run more than once.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tempfile::NamedTempFile;

use crate::error::Error;

/// Our standard input, if it is a file: that can be read again from its beginning.
pub(crate) fn file() -> Option<PathBuf> {
    let path = PathBuf::from("/proc/self/fd/0");
    let is_file = path.metadata().is_ok_and(|file| file.is_file());
    is_file.then_some(path)
}

/// All that is in our standard input, as a file.
pub(crate) enum Spool {
    /// The file that it is.
    File(PathBuf),
    Copy(NamedTempFile),
    Nothing,
}

/// Who has nothing to say at first is taken to have nothing to say at all: scripts
/// leave pipes open that nobody writes to.
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

impl Spool {
    /// Takes it; a pipe is read to its end.
    pub(crate) fn take() -> Result<Self, Error> {
        let about = |error| Error::file("standard input".as_ref())(error);
        if let Some(path) = file() {
            return Ok(Self::File(path));
        }
        let mut stdin = io::stdin().lock();
        let is_pipe = File::open("/proc/self/fd/0")
            .and_then(|file| file.metadata())
            .is_ok_and(|file| file.file_type().is_fifo() || file.file_type().is_socket());
        if !is_pipe || stdin.is_terminal() {
            return Ok(Self::Nothing);
        }
        let ready = {
            let mut polled = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
            poll(&mut polled, Some(&PATIENCE)).is_ok_and(|count| count > 0)
        };
        if !ready {
            return Ok(Self::Nothing);
        }
        let mut copy = NamedTempFile::with_prefix("racehound-stdin-").map_err(about)?;
        let mut text = Vec::new();
        stdin.read_to_end(&mut text).map_err(about)?;
        io::Write::write_all(&mut copy, &text).map_err(about)?;
        Ok(Self::Copy(copy))
    }

    /// Where it is for as long as a directory is there: a file by its name, a copy in
    /// the directory.
    pub(crate) fn kept_in(self, directory: &Path) -> Result<Option<PathBuf>, Error> {
        Ok(match self {
            Self::Nothing => None,
            Self::File(path) => Some(fs::read_link(&path).unwrap_or(path)),
            Self::Copy(copy) => {
                let path = directory.join("stdin");
                fs::copy(copy.path(), &path).map_err(Error::file(&path))?;
                Some(path)
            }
        })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        match self {
            Self::File(path) => Some(path.clone()),
            Self::Copy(file) => Some(file.path().to_owned()),
            Self::Nothing => None,
        }
    }
}
