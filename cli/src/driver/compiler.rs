//! Which compiler to run, and what kind of compiler it is.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::words::{self, Quoting};
use super::{ACTIVE, Error, Language};
use crate::search_path;

/// The two kinds of compilers that insert calls of `__tsan_…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Gcc,
    Clang,
}

/// The linkers, as far as their options differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Linker {
    Gnu,
    Gold,
    /// lld and mold.
    Other,
}

/// A compiler, perhaps behind a launcher such as ccache.
#[derive(Debug)]
pub(super) struct Compiler {
    program: PathBuf,
    /// What it is called, which compilers show and launchers act upon.
    name: OsString,
    /// What comes before all options: for a launcher, the compiler.
    words: Vec<OsString>,
}

impl Compiler {
    /// The user's choice, or the best that is there; and the options that the
    /// user wants with it.
    pub(super) fn choose(language: Language) -> Result<(Self, Vec<OsString>), Error> {
        let variable = language.variable();
        let value = env::var_os(variable).unwrap_or_default();
        let Some(mut words) = words::split(value.as_bytes(), Quoting::Shell) else {
            return Err(Error::Unbalanced { variable, value });
        };
        if words.is_empty() {
            words.push(installed(language)?);
        }
        let name = words.remove(0);
        let Some(program) = search_path::find(&name) else {
            let compiler = name;
            return Err(Error::NotFound { variable, compiler });
        };
        let first_option = words
            .iter()
            .position(|word| word.as_bytes().starts_with(b"-"));
        let options = words.split_off(first_option.unwrap_or(words.len()));
        let compiler = Self {
            program,
            name,
            words,
        };
        Ok((compiler, options))
    }

    /// The command that runs it, without options yet.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg0(&self.name).args(&self.words);
        command.env(ACTIVE, &self.program);
        command
    }

    /// The error that the operating system refused to run it.
    pub(super) fn not_started(&self, source: io::Error) -> Error {
        let compiler = self.program.clone();
        Error::NotStarted { compiler, source }
    }

    /// What its file is called: gcc may be a link to clang, or to ccache.
    fn real_name(&self) -> String {
        let name = self.words.last().unwrap_or(&self.name);
        let real = search_path::find(name).and_then(|path| path.canonicalize().ok());
        let name = real
            .as_deref()
            .and_then(Path::file_name)
            .unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Which kind it is: by its name if that tells, else by asking.
    pub(super) fn family(&self) -> Result<Family, Error> {
        let name = self.real_name();
        // In this order, for clang++ ends in g++.
        if name.contains("clang") {
            return Ok(Family::Clang);
        }
        if name.contains("gcc") || name.contains("g++") {
            return Ok(Family::Gcc);
        }
        let macros = self.ask(&["-dM", "-E", "-x", "c", "-"].map(OsString::from))?;
        Ok(match macros.contains("#define __clang__ ") {
            true => Family::Clang,
            false => Family::Gcc,
        })
    }

    /// Whether it has an opinion about fences in what is instrumented, as gcc has since
    /// version 11: by its name if that tells, else by asking.
    pub(super) fn warns_of_fences(&self) -> Result<bool, Error> {
        let major = |version: &str| version.trim().split('.').next()?.parse::<u32>().ok();
        let name = self.real_name();
        let version = match name.rsplit_once('-').and_then(|(_, end)| major(end)) {
            Some(version) => Some(version),
            None => major(&self.ask(&["-dumpversion".into()])?),
        };
        Ok(version.is_some_and(|version| version >= 11))
    }

    /// The linker that it runs, given the options that choose one.
    pub(super) fn linker(&self, options: &[OsString]) -> Result<Linker, Error> {
        let version = ["-Xlinker", "--version"].map(OsString::from);
        let answer = self.ask(&[options, &version].concat())?;
        let is = |name| answer.lines().any(|line| line.starts_with(name));
        Ok(match () {
            () if is("GNU ld ") => Linker::Gnu,
            () if is("GNU gold ") => Linker::Gold,
            () => Linker::Other,
        })
    }

    /// What it prints; what it complains about is nobody's concern.
    fn ask(&self, arguments: &[OsString]) -> Result<String, Error> {
        let mut command = self.command();
        command.args(arguments).stdin(Stdio::null());
        let output = command.output().map_err(|error| self.not_started(error))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The name of the best compiler on the PATH.
fn installed(language: Language) -> Result<OsString, Error> {
    let tried = language.compilers();
    let plain = tried
        .iter()
        .map(OsString::from)
        .find(|name| search_path::find(name).is_some());
    let versioned = || tried.iter().find_map(|name| newest(name));
    plain.or_else(versioned).ok_or(Error::NoCompiler {
        tried,
        package: match language {
            Language::C => "gcc",
            Language::Cxx => "g++",
        },
        variable: language.variable(),
    })
}

/// The name of the program with the highest version in it, such as `clang-19`.
fn newest(name: &str) -> Option<OsString> {
    let version = |path: &PathBuf| -> Option<u32> {
        let found = path.file_name()?.to_str()?;
        found.strip_prefix(name)?.strip_prefix('-')?.parse().ok()
    };
    let entries = search_path::directories()
        .into_iter()
        .filter_map(|directory| directory.read_dir().ok());
    let paths = entries.flatten().flatten().map(|entry| entry.path());
    let programs = paths.filter(|path| version(path).is_some() && search_path::is_program(path));
    Some(programs.max_by_key(version)?.file_name()?.to_owned())
}
