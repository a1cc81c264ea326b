//! Why a compiler could not be started.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use crate::runtime;

/// Why a compiler could not be started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none.
    #[error(
        "no compiler found: none of {} is on the PATH; install one (on Debian and Ubuntu: \
         apt-get install {package}), or name one in {variable}",
        tried.join(", ")
    )]
    NoCompiler {
        /// The names looked for.
        tried: &'static [&'static str],
        /// A package that has one of them.
        package: &'static str,
        /// The environment variable that could name another.
        variable: &'static str,
    },
    /// The one that the user wants is not there.
    #[error("{variable} names {}, which is not on the PATH", compiler.display())]
    NotFound {
        /// The environment variable that names it.
        variable: &'static str,
        /// The name.
        compiler: OsString,
    },
    /// The user's choice cannot be read.
    #[error("{variable} has a quote that is not closed: {}", value.display())]
    Unbalanced {
        /// The environment variable.
        variable: &'static str,
        /// What it says.
        value: OsString,
    },
    /// The compiler is this driver.
    #[error(
        "{} runs racehound again instead of a compiler; name one in {variable}",
        compiler.display()
    )]
    Recursion {
        /// What should have been a compiler.
        compiler: OsString,
        /// The environment variable that could name one.
        variable: &'static str,
    },
    /// The operating system refuses to run it.
    #[error("{} cannot be run: {source}", compiler.display())]
    NotStarted {
        /// The compiler.
        compiler: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// There is nothing to link with.
    #[error(transparent)]
    Runtime(#[from] runtime::Error),
    /// A file that belongs to the runtime cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}
