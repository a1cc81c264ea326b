//! Sources made into a program to hunt in.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use racehound_store::DIRECTORY;

use crate::error::Error;
use crate::store;

/// The program made of some sources, C and C++, in the project's store.
pub(crate) fn program(sources: &[PathBuf]) -> Result<PathBuf, Error> {
    store::prepare()?;
    let directory = Path::new(DIRECTORY).join("build");
    fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
    let stem = sources[0].file_stem().unwrap_or_default();
    let program = directory.join(stem);
    let objects: Result<Vec<PathBuf>, Error> = (0..)
        .zip(sources)
        .map(|(number, source)| object(number, source, &directory))
        .collect();
    let driver = match sources.iter().any(|source| is_cpp(source)) {
        true => "c++",
        false => "cc",
    };
    let mut link = racehound(driver)?;
    link.args(objects?).arg("-o").arg(&program);
    link.args(flags("LDFLAGS"));
    link.args(["-pthread", "-lm"]).args(flags("LDLIBS"));
    done(&mut link, &sources[0])?;
    Ok(Path::new(".").join(program))
}

fn object(number: usize, source: &Path, directory: &Path) -> Result<PathBuf, Error> {
    if !source.is_file() {
        return Err(Error::NotStarted(format!(
            "{}: no such source file; to hunt in a program, say racehound hunt -- PROGRAM",
            source.display()
        )));
    }
    let known = |extension: &str| C.contains(&extension) || CPP.contains(&extension);
    if !extension(source).is_some_and(known) {
        return Err(Error::Wish(format!(
            "{}: not a source of C or C++ by its name; to hunt in a program, say \
             racehound hunt -- {0}",
            source.display()
        )));
    }
    let driver = if is_cpp(source) { "c++" } else { "cc" };
    let object = directory.join(format!("{number}.o"));
    let compile = |standard: Option<&str>| -> Result<Command, Error> {
        let mut compile = racehound(driver)?;
        compile.args(["-g", "-O1", "-pthread"]).args(standard);
        compile.args(flags(if is_cpp(source) { "CXXFLAGS" } else { "CFLAGS" }));
        compile.arg("-c").arg(source).arg("-o").arg(&object);
        Ok(compile)
    };
    let standards: &[Option<&str>] = match is_cpp(source) {
        true => &[None, Some(NEWER)],
        false => &[],
    };
    let mut failures = Vec::new();
    for &standard in standards {
        match errors(&mut compile(standard)?) {
            0 => return Ok(object),
            errors => failures.push((errors, standard)),
        }
    }
    // What is wrong, it says by the standard that the source seems to be written for.
    let fewest = failures.into_iter().min_by_key(|(errors, _)| *errors);
    let standard = fewest.and_then(|(_, standard)| standard);
    done(&mut compile(standard)?, source)?;
    Ok(object)
}

/// The standard for sources that the compiler cannot make anything of otherwise, for it
/// takes them to be older than they are.
const NEWER: &str = "-std=gnu++20";

/// How many errors a compilation has. Only if it has none, what it says, such as warnings,
/// is passed on.
fn errors(compilation: &mut Command) -> usize {
    let Ok(output) = compilation.output() else {
        return usize::MAX;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        anstream::eprint!("{said}");
        return 0;
    }
    said.matches(" error: ").count().max(1)
}

/// The flags that a variable of the environment has for compilers.
fn flags(variable: &str) -> Vec<String> {
    let flags = env::var(variable).unwrap_or_default();
    flags.split_whitespace().map(str::to_owned).collect()
}

const C: [&str; 1] = ["c"];
const CPP: [&str; 6] = ["cc", "cpp", "cxx", "c++", "C", "CPP"];

fn extension(source: &Path) -> Option<&str> {
    source.extension()?.to_str()
}

fn is_cpp(source: &Path) -> bool {
    extension(source).is_some_and(|extension| CPP.contains(&extension))
}

fn racehound(driver: &str) -> Result<Command, Error> {
    let own = env::current_exe().map_err(Error::file(Path::new("racehound")))?;
    let mut command = Command::new(own);
    command.arg(driver);
    Ok(command)
}

fn done(command: &mut Command, source: &Path) -> Result<(), Error> {
    let failed = |why: String| Error::NotStarted(format!("{}: {why}", source.display()));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        // The compiler has said why.
        Ok(_) => Err(failed("it does not compile".to_owned())),
        Err(error) => Err(failed(error.to_string())),
    }
}
