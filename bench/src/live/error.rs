//! Why there is nothing to measure.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is nothing to measure.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("no compiler: clang or gcc is needed")]
    NoCompiler,
    #[error("no program matches {glob:?}; there are {}", names.join(", "))]
    NoPrograms { glob: String, names: Vec<String> },
    #[error("{program} cannot be built: {why}")]
    NotBuilt { program: String, why: String },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the program cannot be run: {0}")]
    NotRun(#[from] io::Error),
}

impl Error {
    /// The error about a file.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}
