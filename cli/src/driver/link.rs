//! What a link needs beyond what the user says.

use std::ffi::{OsStr, OsString};
use std::fs;

use super::arguments::{CommandLine, Output};
use super::compiler::{Compiler, Family, Linker};
use super::{Error, INSTRUMENT, instrumenting, stand_in};
use crate::runtime::{self, Runtime};

/// The libraries that the runtime needs. Newer versions of glibc have them all
/// in libc and keep empty ones under these names.
const LIBRARIES: [&str; 4] = ["-lpthread", "-ldl", "-lm", "-lrt"];

/// The command line of a link.
pub(super) fn arguments(
    line: &CommandLine,
    output: Output,
    compiler: &Compiler,
) -> Result<Vec<OsString>, Error> {
    let mut before = Vec::new();
    let mut after = Vec::new();
    let runtime = runtime::locate()?;
    match compiler.family()? {
        Family::Gcc => {
            // Also without sources: the link-time optimiser is who instruments.
            if line.instruments() {
                before.extend(instrumenting(compiler)?);
            }
            let empty = stand_in::directory(&runtime)?;
            before.push(join("-L", &empty));
            // For the start files. A prefix, so it ends in a slash.
            before.push(join("-B", empty.join("")));
        }
        Family::Clang => {
            let compiles = line.has_sources() && line.instruments();
            match compiles {
                true if !line.has_other_sanitizers() => {
                    before.extend(instrumenting(compiler)?);
                    before.push("-fno-sanitize-link-runtime".into());
                }
                // The driver would link ThreadSanitizer's runtime, which holds those of the
                // others. So it does not hear of it, only the compiler proper does.
                true => before.extend(["-Xclang", INSTRUMENT].map(OsString::from)),
                false => {}
            }
            // Leaves the runtimes of other sanitizers to the compiler.
            if !compiles || line.has_other_sanitizers() {
                after.push("-fno-sanitize=thread".into());
            }
        }
    }
    let holds_runtime = output == Output::Executable && line.instruments();
    if holds_runtime {
        before.extend(embedded(&runtime));
        after.extend(libraries());
    }
    if output == Output::Library && line.forbids_undefined() {
        after.extend(leave_undefined(&runtime, line, compiler)?);
    }
    // The runtime needs a dynamic libc.
    let given = match holds_runtime {
        true => line.dynamic(),
        false => line.given().to_vec(),
    };
    // Behind a `--` there are only files.
    let end = given.iter().position(|argument| argument == "--");
    let (options, files) = given.split_at(end.unwrap_or(given.len()));
    Ok([&before, options, &after, files].concat())
}

/// The runtime, and its symbols for the libraries that the program loads. Before
/// all else, so that an archive which also defines, say, malloc is not asked.
fn embedded(runtime: &Runtime) -> Vec<OsString> {
    let symbols = join("--dynamic-list=", &runtime.symbols);
    to_linker([runtime.object.clone().into_os_string(), symbols])
}

/// The libraries behind everything that needs them, whatever the user has told
/// the linker about libraries before.
fn libraries() -> Vec<OsString> {
    let state = ["--push-state", "--as-needed", "-Bdynamic"];
    let words = state.into_iter().chain(LIBRARIES).chain(["--pop-state"]);
    to_linker(words.map(OsString::from))
}

/// Exempts the runtime's symbols from the check that a library leaves nothing
/// undefined. Only GNU ld can do that symbol by symbol; elsewhere the check has
/// to go.
fn leave_undefined(
    runtime: &Runtime,
    line: &CommandLine,
    compiler: &Compiler,
) -> Result<Vec<OsString>, Error> {
    match compiler.linker(line.linker_choice())? {
        Linker::Gnu => {}
        Linker::Gold => return Ok(to_linker(["--unresolved-symbols=ignore-all".into()])),
        // With gold's option mold would bind the symbols to nothing.
        Linker::Other => return Ok(to_linker(["-z".into(), "undefs".into()])),
    }
    let path = &runtime.symbols;
    let list = fs::read_to_string(path).map_err(|source| Error::File {
        path: path.clone(),
        source,
    })?;
    let ignore = |symbol: &str| join("--ignore-unresolved-symbol=", symbol);
    Ok(to_linker(symbols(&list).map(ignore)))
}

/// The names in a dynamic list: `{ a; b; };`, perhaps quoted.
fn symbols(list: &str) -> impl Iterator<Item = &str> {
    let words = list.split(|c: char| c.is_whitespace() || "{};\"".contains(c));
    words.filter(|word| !word.is_empty())
}

/// Words for the linker, with commas and all.
fn to_linker(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let words = words.into_iter();
    words.flat_map(|word| ["-Xlinker".into(), word]).collect()
}

fn join(option: &str, value: impl AsRef<OsStr>) -> OsString {
    let mut joined = OsString::from(option);
    joined.push(value);
    joined
}
