//! Sources made into a program to hunt in.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use racehound_store::DIRECTORY;

use crate::error::Error;

/// The program made of some sources, C and C++, in the project's store.
pub(crate) fn program(sources: &[PathBuf]) -> Result<PathBuf, Error> {
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
    link.args(["-pthread", "-lm"]);
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
    let mut compile = racehound(driver)?;
    compile.args(["-g", "-O1", "-pthread", "-c"]).arg(source);
    compile.arg("-o").arg(&object);
    done(&mut compile, source)?;
    Ok(object)
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
