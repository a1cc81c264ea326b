//! Builds the programs.
//!
//! One object of instrumented code serves the empty runtime, Racehound and
//! clang's ThreadSanitizer.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Args;
use racehound::driver;

use super::error::Error;
use super::program::{Language, Program, program};
use super::sources;
use super::toolchain::Compiler;
use super::way::{Runtime, Way};

const OPTIMISE: [&str; 2] = ["-O2", "-g"];
const INSTRUMENT: &str = "-fsanitize=thread";
const LIBRARIES: [&str; 2] = ["-pthread", "-lm"];

/// Where programs are built, and with what.
pub(super) struct Workshop {
    directory: PathBuf,
    /// Compiles for all but gcc's ThreadSanitizer.
    compiler: Compiler,
    has_clang: bool,
    gcc: Option<Compiler>,
    empty: PathBuf,
}

/// A program's executables, as far as they could be built.
pub(super) struct Built(Vec<(Runtime, Result<PathBuf, String>)>);

impl Built {
    pub(super) fn executable(&self, way: Way) -> Result<PathBuf, String> {
        let mut all = self.0.iter();
        let found = all.find(|(runtime, _)| *runtime == way.runtime());
        found.expect("built for all ways").1.clone()
    }
}

impl Workshop {
    /// A workshop, and what is not to be had in it.
    pub(super) fn open(directory: &Path) -> Result<(Self, Vec<String>), Error> {
        let (clang, gcc) = (Compiler::clang(), Compiler::gcc());
        let has_clang = clang.is_some();
        let mut notes = Vec::new();
        if !has_clang {
            notes.push("no clang: programs are compiled by gcc, clang-tsan is left out".to_owned());
        }
        if gcc.is_none() {
            notes.push("no gcc: gcc-tsan is left out".to_owned());
        }
        let compiler = clang.or_else(|| gcc.clone()).ok_or(Error::NoCompiler)?;
        let workshop = Self {
            directory: directory.to_owned(),
            empty: directory.join("empty.o"),
            compiler,
            has_clang,
            gcc,
        };
        let mut command = Command::new(workshop.compiler.name(Language::C));
        command
            .args(["-O2", "-c"])
            .arg(sources().join("runtime/empty.c"));
        succeed(command, &workshop.empty).map_err(|why| Error::NotBuilt {
            program: "the empty runtime".to_owned(),
            why,
        })?;
        Ok((workshop, notes))
    }

    /// Whether a way can be measured here.
    pub(super) fn offers(&self, way: Way) -> bool {
        match way.runtime() {
            Runtime::ClangTsan => self.has_clang,
            Runtime::GccTsan => self.gcc.is_some(),
            _ => true,
        }
    }

    /// Where a trace is written, time and again.
    pub(super) fn trace(&self) -> PathBuf {
        self.directory.join("trace.rht")
    }

    /// Builds a program for all runtimes. Only peers may fail.
    pub(super) fn build(&self, program: &Program) -> Result<Built, Error> {
        let needed = |why| Error::NotBuilt {
            program: program.name.clone(),
            why,
        };
        let directory = self.directory.join(&program.name);
        fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
        let object = directory.join("instrumented.o");
        let compile = self.compile(program);
        succeed(with(compile, [INSTRUMENT, "-c"]), &object).map_err(needed)?;
        let mut all = Vec::new();
        for (runtime, name, command) in [
            (Runtime::Absent, "native", self.compile(program)),
            (
                Runtime::Empty,
                "empty",
                with(self.link(program, &object), [&self.empty]),
            ),
            (
                Runtime::Racehound,
                "racehound",
                self.link_racehound(program, &object)?,
            ),
        ] {
            let executable = directory.join(name);
            succeed(command, &executable).map_err(needed)?;
            all.push((runtime, Ok(executable)));
        }
        if self.has_clang {
            let command = with(self.link(program, &object), [INSTRUMENT]);
            let executable = directory.join("clang-tsan");
            all.push((Runtime::ClangTsan, succeed(command, &executable)));
        }
        if let Some(gcc) = &self.gcc {
            let command = with(compile_with(gcc, program), [INSTRUMENT]);
            let executable = directory.join("gcc-tsan");
            all.push((Runtime::GccTsan, succeed(command, &executable)));
        }
        Ok(Built(all))
    }

    fn compile(&self, program: &Program) -> Command {
        compile_with(&self.compiler, program)
    }

    fn link(&self, program: &Program, object: &Path) -> Command {
        let mut command = Command::new(self.compiler.name(program.language));
        command.arg(object).args(LIBRARIES);
        command
    }

    /// As `racehound cc` links.
    fn link_racehound(&self, program: &Program, object: &Path) -> Result<Command, Error> {
        link_with(&self.compiler, program, object)
    }
}

/// As `racehound cc` links, with a compiler.
fn link_with(compiler: &Compiler, program: &Program, object: &Path) -> Result<Command, Error> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("link");
    if program.language == Language::Cxx {
        command.arg("--cxx");
    }
    command.arg("--").arg(object).args(LIBRARIES);
    for (variable, language) in [
        ("RACEHOUND_CC", Language::C),
        ("RACEHOUND_CXX", Language::Cxx),
    ] {
        command.env(variable, compiler.name(language));
    }
    Ok(command)
}

/// Builds a program as `racehound cc` does, at a level of optimisation.
pub(crate) fn build_with_racehound(
    source: &Path,
    level: &str,
    executable: &Path,
) -> Result<(), Error> {
    let failed = |why| Error::NotBuilt {
        program: source.display().to_string(),
        why,
    };
    let compiler = Compiler::gcc().or_else(Compiler::clang);
    let compiler = compiler.ok_or(Error::NoCompiler)?;
    let program = program(source.to_owned()).ok_or_else(|| failed("no C or C++".to_owned()))?;
    let object = executable.with_extension("o");
    let mut command = Command::new(compiler.name(program.language));
    command
        .args([level, "-g", INSTRUMENT, "-c"])
        .arg(&program.source);
    succeed(command, &object).map_err(failed)?;
    let linked = succeed(link_with(&compiler, &program, &object)?, executable);
    linked.map(|_| ()).map_err(failed)
}

fn compile_with(compiler: &Compiler, program: &Program) -> Command {
    let mut command = Command::new(compiler.name(program.language));
    command.args(OPTIMISE).arg(&program.source).args(LIBRARIES);
    command
}

fn with<A: AsRef<std::ffi::OsStr>>(
    mut command: Command,
    more: impl IntoIterator<Item = A>,
) -> Command {
    command.args(more);
    command
}

/// Runs a compiler; its output, or what it complains about.
fn succeed(mut command: Command, output: &Path) -> Result<PathBuf, String> {
    let result = command.arg("-o").arg(output).output();
    let result = result.map_err(|error| error.to_string())?;
    match result.status.success() {
        true => Ok(output.to_owned()),
        false => Err(String::from_utf8_lossy(&result.stderr).trim().to_owned()),
    }
}

/// Be the drop-in compiler that `racehound cc` is.
#[derive(Args)]
pub(crate) struct Link {
    #[arg(long)]
    cxx: bool,
    #[arg(last = true)]
    arguments: Vec<OsString>,
}

pub(crate) fn link(args: Link) -> ExitCode {
    let language = match args.cxx {
        true => driver::Language::Cxx,
        false => driver::Language::C,
    };
    driver::main(language, args.arguments)
}
