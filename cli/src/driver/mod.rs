//! The drop-in compiler drivers `racehound cc` and `racehound c++`.
//!
//! They run the compiler with the command line they got, plus what makes the
//! result a program that Racehound can watch:
//!
//! * what is compiled is instrumented: `-fsanitize=thread`;
//! * what is linked gets our runtime in place of the compiler's. Executables
//!   hold it and export its symbols; shared libraries and plugins leave them
//!   undefined, so that a process has one runtime whatever it loads.
//!
//! The compiler then takes over the process, so that output, exit code and
//! signals are its own, and so is the time it takes.
//!
//! `arguments` knows what a command line asks for, `compiler` which compiler to
//! run, `link` what a link needs.

mod arguments;
mod compiler;
mod error;
mod link;
mod stand_in;
mod words;

use std::convert::Infallible;
use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use crate::aside::say;
use arguments::{CommandLine, Goal};
use compiler::{Compiler, Family};
pub use error::Error;

/// The compiler could not be started.
const NOT_STARTED: u8 = 3;

/// Asks the compiler to instrument what it compiles.
const INSTRUMENT: &str = "-fsanitize=thread";

/// What gcc otherwise does itself where the size is known, after it has instrumented all the
/// rest: nobody would see it. Calls are seen.
const CALLED: [&str; 10] = [
    "memcpy", "memmove", "mempcpy", "memset", "bzero", "bcopy", "strcpy", "stpcpy", "strncpy",
    "strcat",
];

/// gcc warns of fences, which ThreadSanitizer does not understand. We do.
const NO_WARNING: &str = "-Wno-tsan";

/// The options that have everything instrumented.
fn instrumenting(compiler: &Compiler) -> Result<Vec<OsString>, Error> {
    let mut options = vec![INSTRUMENT.into()];
    if compiler.family()? == Family::Gcc {
        let called = CALLED.iter();
        options.extend(called.map(|name| format!("-fno-builtin-{name}").into()));
        if compiler.warns_of_fences()? {
            options.push(NO_WARNING.into());
        }
    }
    Ok(options)
}

/// Set for the compiler, to its name: should it be this driver again, then that
/// one knows.
const ACTIVE: &str = "RACEHOUND_DRIVER";

/// The language whose compiler is to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// C++: the compiler also links its library.
    Cxx,
}

/// Becomes the compiler. Returns only if it cannot be started, having said why.
pub fn main(language: Language, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let Err(error) = run(language, arguments);
    say(error);
    NOT_STARTED.into()
}

/// Becomes the compiler.
///
/// # Errors
///
/// If it cannot be started, or the runtime to link with is not there.
pub fn run(
    language: Language,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Infallible, Error> {
    if let Some(compiler) = env::var_os(ACTIVE) {
        let variable = language.variable();
        return Err(Error::Recursion { compiler, variable });
    }
    let (compiler, options) = Compiler::choose(language)?;
    let line = CommandLine::new(options.into_iter().chain(arguments).collect());
    let mut command = compiler.command();
    command.args(instrumented(&line, &compiler)?);
    Err(compiler.not_started(command.exec()))
}

/// The command line that the compiler gets.
fn instrumented(line: &CommandLine, compiler: &Compiler) -> Result<Vec<OsString>, Error> {
    match line.goal() {
        Goal::Unknown => Ok(line.given().to_vec()),
        // In front, so that the user's -fno-sanitize=thread has the last word.
        Goal::Compile if line.instruments() && line.has_sources() => {
            Ok([&instrumenting(compiler)?, line.given()].concat())
        }
        Goal::Compile => Ok(line.given().to_vec()),
        Goal::Link(output) => link::arguments(line, output, compiler),
    }
}

impl Language {
    /// The environment variable that chooses the compiler.
    fn variable(self) -> &'static str {
        match self {
            Self::C => "RACEHOUND_CC",
            Self::Cxx => "RACEHOUND_CXX",
        }
    }

    /// What the compiler may be called, the first choice first.
    fn compilers(self) -> &'static [&'static str] {
        match self {
            Self::C => &["clang", "gcc", "cc"],
            Self::Cxx => &["clang++", "g++", "c++"],
        }
    }
}
