//! The program that a command line names, ready to be run.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

use racehound::runtime::{self, Runtime};
use racehound::search_path;
use racehound_hunt::Program;
use racehound_hunt::options::Options;

use crate::error::Error;
use crate::instrumentation::{self, Instrumentation};

/// The program, with our library where it looks for its compiler's.
pub(crate) fn of(words: &[OsString]) -> Result<Program, Error> {
    let name = words.first().expect("clap requires one");
    let path = find(name)?;
    let mut environment = Vec::new();
    match instrumentation::of(&path)? {
        Instrumentation::Ours => {}
        Instrumentation::Unknown => check_interpreter(&path)?,
        Instrumentation::Libtsan => environment.push(in_place_of_libtsan()?),
        Instrumentation::Archive => {
            return Err(Error::NotInstrumented(format!(
                "{}: ThreadSanitizer is linked into it, so Racehound cannot take its place; \
                 build it with 'racehound cc' or 'racehound c++' in place of the compiler \
                 (make CC='racehound cc' CXX='racehound c++'), or with gcc -fsanitize=thread \
                 without -static-libtsan",
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
        Instrumentation::Foreign => {
            return Err(Error::NotInstrumented(format!(
                "{}: it is not a program for 64-bit x86, the only processors that Racehound's \
                 runtime is made for; build it without -m32 or another target",
                path.display()
            )));
        }
    }
    Ok(Program {
        path,
        words: words.to_vec(),
        environment,
        options: Options::inherited(),
        ..Program::default()
    })
}

/// Its words as text.
pub(crate) fn in_words(words: &[OsString]) -> Vec<String> {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    words.iter().map(text).collect()
}

/// The program's file, looked for as a shell does.
fn find(name: &OsStr) -> Result<PathBuf, Error> {
    let path = Path::new(name);
    let missing = |why: &str| Err(Error::NotStarted(format!("{}: {why}", path.display())));
    if name.as_bytes().contains(&b'/') {
        return match fs::metadata(path) {
            Ok(file) if file.is_dir() => missing("it is a directory; name the program in it"),
            Ok(file) if !file.is_file() => missing("not a program"),
            Ok(_) if search_path::is_program(path) => Ok(path.to_owned()),
            Ok(_) => missing(
                "it is not executable; chmod +x makes it so if it is a program, \
                 'racehound cc' makes a program of sources",
            ),
            Err(error) => missing(&error.to_string()),
        };
    }
    match search_path::find(name) {
        Some(found) => Ok(found),
        None if path.is_file() => missing(&format!(
            "not on the PATH; did you mean ./{}?",
            path.display()
        )),
        None if path.is_dir() => missing("it is a directory; name the program in it"),
        None => missing("no such program on the PATH"),
    }
}

/// Whether there is what a script is to be run by: without it the system says that the
/// script itself is missing.
fn check_interpreter(script: &Path) -> Result<(), Error> {
    match interpreter(script) {
        Some(interpreter) if !interpreter.exists() => Err(Error::NotStarted(format!(
            "{}: {}, by which its first line wants it to be run, is not there",
            script.display(),
            interpreter.display()
        ))),
        _ => Ok(()),
    }
}

/// What the first line of a script names, as in `#!/bin/sh -e`.
fn interpreter(script: &Path) -> Option<PathBuf> {
    /// The system looks no further.
    const LONGEST_LINE: u64 = 255;
    let mut line = Vec::new();
    let mut start = BufReader::new(fs::File::open(script).ok()?).take(LONGEST_LINE);
    start.read_until(b'\n', &mut line).ok()?;
    let words = line.strip_prefix(b"#!")?.trim_ascii();
    let name = words.split(|byte| byte.is_ascii_whitespace()).next()?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

/// What lets the program find our library where it looks for its compiler's.
fn in_place_of_libtsan() -> Result<(OsString, OsString), Error> {
    const SEARCHED: &str = "LD_LIBRARY_PATH";
    let started = |error: runtime::Error| Error::NotStarted(error.to_string());
    let runtime: Runtime = runtime::locate().map_err(started)?;
    let mut path = runtime
        .in_place_of_libtsan()
        .map_err(started)?
        .into_os_string();
    if let Some(more) = env::var_os(SEARCHED).filter(|more| !more.is_empty()) {
        path.push(":");
        path.push(more);
    }
    Ok((SEARCHED.into(), path))
}
