//! `racehound run`: one execution of a program under a detector.
//!
//! The program takes this process's place, so that it behaves as it does by
//! itself; what it needs to know goes along in its environment.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use racehound::runtime::{self, Runtime};

use crate::args::Run;
use crate::error::Error;
use crate::instrumentation::{self, Instrumentation};

/// Runs the program; returns only if that fails.
pub(crate) fn run(args: &Run) -> Result<u8, Error> {
    let (name, arguments) = args.program.split_first().expect("clap requires one");
    let path = find(name)?;
    let mut command = Command::new(&path);
    command.arg0(name).args(arguments);
    command.env("RACEHOUND_OPTIONS", options(args)?);
    match instrumentation::of(&path)? {
        Instrumentation::Ours | Instrumentation::Unknown => {}
        Instrumentation::Libtsan => replace_libtsan(&mut command)?,
        Instrumentation::Clang => {
            return Err(Error::NotInstrumented(format!(
                "{}: ThreadSanitizer is linked into it, so Racehound cannot take its place; \
                 build it with 'racehound cc' or 'racehound c++' in place of clang \
                 (make CC='racehound cc' CXX='racehound c++')",
                path.display()
            )));
        }
        Instrumentation::None => {
            return Err(Error::NotInstrumented(format!(
                "{}: it is not instrumented, so nothing can be seen of what it does; build it \
                 with 'racehound cc' or 'racehound c++' (make CC='racehound cc' \
                 CXX='racehound c++'), or with gcc -fsanitize=thread",
                path.display()
            )));
        }
    }
    Err(Error::NotStarted(format!(
        "{}: {}",
        path.display(),
        command.exec()
    )))
}

/// The program's file, looked for as a shell does.
fn find(name: &OsStr) -> Result<PathBuf, Error> {
    let path = Path::new(name);
    let missing = |why: &str| Err(Error::NotStarted(format!("{}: {why}", path.display())));
    if path.components().count() > 1 || path.is_absolute() {
        return match fs::metadata(path) {
            Ok(file) if file.is_file() => Ok(path.to_owned()),
            Ok(_) => missing("not a program"),
            Err(error) => missing(&error.to_string()),
        };
    }
    let directories = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&directories)
        .map(|directory| directory.join(path))
        .find(|candidate| candidate.is_file());
    match found {
        Some(found) => Ok(found),
        None if path.is_file() => missing(&format!(
            "not on the PATH; did you mean ./{}?",
            path.display()
        )),
        None => missing("no such program on the PATH"),
    }
}

/// The runtime's options: the user's own, then what this command line says.
fn options(args: &Run) -> Result<OsString, Error> {
    let mut options = env::var_os("RACEHOUND_OPTIONS").unwrap_or_default();
    let mut add = |name: &str, value: &OsStr| {
        if !options.is_empty() {
            options.push(":");
        }
        options.push(format!("{name}='"));
        options.push(value);
        options.push("'");
    };
    add("detector", OsStr::new(&args.detector));
    if let Some(record) = &args.record {
        let path = std::path::absolute(record).map_err(Error::file(record))?;
        add("record", path.as_os_str());
    }
    Ok(options)
}

/// Lets the program find our library where it looks for gcc's.
fn replace_libtsan(command: &mut Command) -> Result<(), Error> {
    let started = |error: runtime::Error| Error::NotStarted(error.to_string());
    let runtime: Runtime = runtime::locate().map_err(started)?;
    let mut path = runtime
        .in_place_of_libtsan()
        .map_err(started)?
        .into_os_string();
    if let Some(more) = env::var_os("LD_LIBRARY_PATH").filter(|more| !more.is_empty()) {
        path.push(":");
        path.push(more);
    }
    command.env("LD_LIBRARY_PATH", path);
    Ok(())
}
