//! What can go wrong in a command, with the file it is about.

use std::io;
use std::path::{Path, PathBuf};

use racehound_hunt::execution;
use racehound_hunt::options::Unspeakable;

/// Why a command gave up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A trace cannot be read or written.
    #[error("{}: {source}", path.display())]
    Trace {
        path: PathBuf,
        source: racehound_trace::Error,
    },
    /// A file cannot be opened, read or written.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// Nothing can be kept where a command is run.
    #[error(
        "{}: {source}; what a hunt finds is kept in {} of the directory it is started in: \
         start it where you may write",
        path.display(),
        racehound_store::DIRECTORY
    )]
    NoPlace { path: PathBuf, source: io::Error },
    /// A file is nothing we know.
    #[error(
        "{}: neither a Racehound trace nor STD text (lines like T0|r(x)|12)",
        path.display()
    )]
    UnknownFormat { path: PathBuf },
    /// An output name that does not say its format.
    #[error(
        "{}: the name does not say which format to write; use --to binary or --to std, \
         or a name that ends in .rht or .std",
        path.display()
    )]
    UnknownTarget { path: PathBuf },
    /// A program cannot be run.
    #[error("{0}")]
    NotStarted(String),
    /// A program has nothing in it that would tell us what it does.
    #[error("{0}")]
    NotInstrumented(String),
    /// A wish that makes no sense.
    #[error("{0}")]
    Wish(String),
    /// What the project remembers is of no use.
    #[error(transparent)]
    Store(#[from] racehound_store::Error),
    /// A name that cannot be passed on to the runtime.
    #[error(transparent)]
    Unspeakable(#[from] Unspeakable),
    /// The reader of our output went away.
    #[error("the output was closed")]
    OutputClosed,
}

impl Error {
    /// An error of the trace crate about this file.
    pub(crate) fn trace(path: &Path) -> impl Fn(racehound_trace::Error) -> Self + '_ {
        move |source| match source {
            racehound_trace::Error::Io(source) => Self::file(path)(source),
            source => Self::Trace {
                path: path.to_owned(),
                source,
            },
        }
    }

    /// An error of the operating system about this file.
    pub(crate) fn file(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        move |source| match source.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::File {
                path: path.to_owned(),
                source,
            },
        }
    }
}

impl From<execution::Error> for Error {
    fn from(error: execution::Error) -> Self {
        match error {
            execution::Error::Unspeakable(error) => error.into(),
            execution::Error::Input { path, source } => Self::File { path, source },
            execution::Error::System { .. }
            | execution::Error::Surroundings(_)
            | execution::Error::Refused { .. }
            | execution::Error::Stopped => Self::NotStarted(error.to_string()),
        }
    }
}
