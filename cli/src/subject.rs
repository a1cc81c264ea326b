//! The program that a command line names, ready to be run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::{env, fs};

use racehound::runtime::{self, Runtime};
use racehound::search_path;
use racehound_hunt::Program;
use racehound_hunt::options::Options;

use crate::error::Error;
use crate::instrumentation::{self, Instrumentation};

/// The program, with our library where it looks for gcc's.
pub(crate) fn of(words: &[OsString]) -> Result<Program, Error> {
    let name = words.first().expect("clap requires one");
    let path = find(name)?;
    let mut environment = Vec::new();
    match instrumentation::of(&path)? {
        Instrumentation::Ours | Instrumentation::Unknown => {}
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
    if path.components().count() > 1 || path.is_absolute() {
        return match fs::metadata(path) {
            Ok(file) if file.is_file() => Ok(path.to_owned()),
            Ok(_) => missing("not a program"),
            Err(error) => missing(&error.to_string()),
        };
    }
    match search_path::find(name) {
        Some(found) => Ok(found),
        None if path.is_file() => missing(&format!(
            "not on the PATH; did you mean ./{}?",
            path.display()
        )),
        None => missing("no such program on the PATH"),
    }
}

/// What lets the program find our library where it looks for gcc's.
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
