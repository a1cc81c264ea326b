//! A program of the gallery, built and run: under a hunt, and under ThreadSanitizer.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use racehound_report::finding::Report;

use super::Reports;
use super::program::Program;
use crate::live::{Compiler, Error, Language};

/// Who builds and hunts.
pub(crate) struct Tools {
    racehound: PathBuf,
    tsan: Option<Compiler>,
}

impl Tools {
    /// The command, by default the one beside this program, and a compiler that has
    /// ThreadSanitizer.
    pub(crate) fn find(racehound: Option<&Path>) -> Result<Self, Error> {
        let beside = || env::current_exe().map(|own| own.with_file_name("racehound"));
        let racehound = match racehound {
            Some(file) => file.to_owned(),
            None => beside().map_err(Error::file(Path::new("racehound")))?,
        };
        let racehound = fs::canonicalize(&racehound).map_err(Error::file(&racehound))?;
        let tsan = Compiler::clang().or_else(Compiler::gcc);
        Ok(Self { racehound, tsan })
    }

    pub(super) fn tsan_name(&self) -> &str {
        let name = |compiler: &'_ Compiler| compiler.name(Language::C).to_owned();
        match self.tsan.as_ref().map(name) {
            Some(name) if name.starts_with("clang") => "clang -fsanitize=thread",
            Some(_) => "gcc -fsanitize=thread",
            None => "not installed here",
        }
    }
}

/// A program, built for both.
pub(crate) struct Subject<'a> {
    tools: &'a Tools,
    pub(crate) program: Program,
    directory: PathBuf,
}

/// How long a program may take under ThreadSanitizer, and all its runs.
const LONGEST_RUN: u64 = 10;
const ALL_RUNS: Duration = Duration::from_secs(10);

impl<'a> Subject<'a> {
    /// Builds it in a directory that is emptied first.
    pub(crate) fn build(
        tools: &'a Tools,
        program: Program,
        directory: &Path,
    ) -> Result<Self, Error> {
        // There may be none.
        let _ = fs::remove_dir_all(directory);
        fs::create_dir_all(directory).map_err(Error::file(directory))?;
        let directory = fs::canonicalize(directory).map_err(Error::file(directory))?;
        let subject = Self {
            tools,
            program,
            directory,
        };
        let driver = if subject.program.is_cpp() {
            "c++"
        } else {
            "cc"
        };
        let ours = |driver: &str| {
            let mut command = Command::new(&tools.racehound);
            command.arg(driver);
            command
        };
        subject.compile("hunted", &|| ours(driver), &|| ours("cc"))?;
        Ok(subject)
    }

    /// Compiles into a directory of its own, plugins first.
    fn compile(
        &self,
        name: &str,
        compiler: &dyn Fn() -> Command,
        c: &dyn Fn() -> Command,
    ) -> Result<(), Error> {
        let directory = self.directory.join(name);
        fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
        let sources = self.program.path.parent().unwrap_or(Path::new("."));
        for plugin in &self.program.plugins {
            let output = directory.join(plugin).with_extension("so");
            let mut command = c();
            command
                .args(["-g", "-O1", "-shared", "-fPIC", "-o"])
                .arg(output);
            done(command.arg(sources.join(plugin)))?;
        }
        let mut command = compiler();
        let standard = if self.program.is_cpp() {
            "-std=c++17"
        } else {
            "-std=gnu11"
        };
        command
            .args(["-g", "-O1", standard, "-o"])
            .arg(directory.join("program"));
        command.arg(&self.program.path);
        command.args(self.program.with.iter().map(|part| sources.join(part)));
        command.args(&self.program.flags).args(["-pthread", "-ldl"]);
        done(&mut command)
    }

    /// Where it was built with our runtime in it.
    pub(crate) fn executable(&self) -> PathBuf {
        self.directory.join("hunted/program")
    }

    /// Hunts in it.
    pub(super) fn hunt(&self, budget: u64, seed: u64) -> Result<Report, Error> {
        let directory = self.directory.join("hunted");
        let mut command = Command::new(&self.tools.racehound);
        command.current_dir(&directory);
        command.args(["hunt", "--json", "report.json", "--budget"]);
        command.args([format!("{budget}s"), "--seed".to_owned(), seed.to_string()]);
        command.args(["--", "./program"]).args(&self.program.args);
        command.stdin(Stdio::null());
        let file = directory.join("report.json");
        let ended = command
            .output()
            .map_err(Error::file(&self.tools.racehound))?;
        let text = fs::read_to_string(&file).map_err(|source| {
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            Error::file(&file)(std::io::Error::new(source.kind(), said))
        })?;
        serde_json::from_str(&text).map_err(|error| Error::file(&file)(error.into()))
    }

    /// How many of ten runs, and of more, ThreadSanitizer reports something in. None if
    /// there is no ThreadSanitizer, or it cannot build the program.
    pub(super) fn tsan(&self, runs: u32) -> Result<Option<[Reports; 2]>, Error> {
        let Some(tsan) = self.tools.tsan.as_ref().filter(|_| runs > 0) else {
            return Ok(None);
        };
        let of = |language: Language| {
            let mut command = Command::new(tsan.name(language));
            command.arg("-fsanitize=thread");
            command
        };
        let language = if self.program.is_cpp() {
            Language::Cxx
        } else {
            Language::C
        };
        if self
            .compile("tsan", &|| of(language), &|| of(Language::C))
            .is_err()
        {
            return Ok(None);
        }
        let begun = Instant::now();
        let (mut with, mut few) = (0, (0, 0));
        for run in 1..=runs {
            with += u32::from(self.is_reported()?);
            if run <= 10 {
                few = (with, run);
            }
            if begun.elapsed() > ALL_RUNS {
                return Ok(Some([few, (with, run)]));
            }
        }
        Ok(Some([few, (with, runs)]))
    }

    fn is_reported(&self) -> Result<bool, Error> {
        let directory = self.directory.join("tsan");
        let mut command = Command::new("timeout");
        command.args(["-k", "1", &LONGEST_RUN.to_string(), "./program"]);
        command.args(&self.program.args).current_dir(directory);
        command.stdin(Stdio::null());
        let output = command
            .output()
            .map_err(Error::file(Path::new("timeout")))?;
        let said = String::from_utf8_lossy(&output.stderr);
        Ok(said.contains("WARNING: ThreadSanitizer"))
    }
}

fn done(command: &mut Command) -> Result<(), Error> {
    let tool = PathBuf::from(command.get_program());
    let output: Output = command.output().map_err(Error::file(&tool))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(Error::file(&tool)(std::io::Error::other(said)))
        }
    }
}
