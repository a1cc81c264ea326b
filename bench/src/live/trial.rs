//! One program in one way: the runs of it, and what came out.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::program::Program;
use super::spend::{self, Run};
use super::toolchain::is_installed;
use super::way::{Runtime, Way};

/// What a run cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Cost {
    /// In seconds.
    pub(super) cpu: f64,
    /// In KiB.
    pub(super) peak: u64,
}

/// One program in one way.
pub(super) struct Trial {
    pub(super) program: String,
    pub(super) way: Way,
    executable: PathBuf,
    trace: PathBuf,
    best: Option<Cost>,
    output: String,
    failure: Option<String>,
}

impl Trial {
    /// A trial of an executable, or of the reason why there is none.
    pub(super) fn new(
        program: &Program,
        way: Way,
        executable: Result<PathBuf, String>,
        trace: &Path,
    ) -> Self {
        let failure = executable.as_ref().err().cloned();
        Self {
            program: program.name.clone(),
            way,
            executable: executable.unwrap_or_default(),
            trace: trace.to_owned(),
            best: None,
            output: String::new(),
            failure,
        }
    }

    /// Runs it once more, unless that is known to fail.
    pub(super) fn run(&mut self, arguments: &[String]) {
        if self.failure.is_some() {
            return;
        }
        let run = spend::run(&self.command(arguments), &self.variables());
        if self.way == Way::Record {
            // Not there if the run failed, which it will tell by itself.
            _ = fs::remove_file(&self.trace);
        }
        match run {
            Err(error) => self.failure = Some(error.to_string()),
            Ok(run) => self.take(run),
        }
    }

    fn command(&self, arguments: &[String]) -> Vec<OsString> {
        let mut command = Vec::new();
        // Many releases of it do not start where addresses are very random.
        if self.way.runtime() == Runtime::GccTsan && is_installed("setarch") {
            command.extend(["setarch", "-R"].map(OsString::from));
        }
        command.push(self.executable.clone().into_os_string());
        command.extend(arguments.iter().map(OsString::from));
        command
    }

    fn variables(&self) -> Vec<(&'static str, OsString)> {
        let Some(detector) = self.way.detector() else {
            return Vec::new();
        };
        let mut options = OsString::from(format!("detector={detector}"));
        if self.way == Way::Record {
            options.push(":record='");
            options.push(&self.trace);
            options.push("'");
        }
        vec![("RACEHOUND_OPTIONS", options)]
    }

    fn take(&mut self, run: Run) {
        if let Some(failure) = run.failure {
            let complaint = run.complaints.lines().find(|line| line.contains(": "));
            self.failure = Some(match complaint {
                Some(complaint) => format!("{failure}: {complaint}"),
                None => failure,
            });
            return;
        }
        let Run { cpu, peak, .. } = run;
        self.best = Some(match self.best {
            None => Cost { cpu, peak },
            Some(best) => Cost {
                cpu: best.cpu.min(cpu),
                peak: best.peak.min(peak),
            },
        });
        self.output = run.output;
    }

    /// The best of all runs, if none failed.
    pub(super) fn cost(&self) -> Option<Cost> {
        self.best.filter(|_| self.failure.is_none())
    }

    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// What the reader must know about it.
    pub(super) fn note(&self) -> Option<String> {
        let failure = self.failure()?;
        Some(format!("{} {}: {failure}", self.program, self.way.name()))
    }
}

/// Fails what does not print what the native program does.
pub(super) fn compare(trials: &mut [Trial]) {
    let native = trials.iter().filter(|trial| trial.way == Way::Native);
    let expected: Vec<_> = native
        .map(|trial| (trial.program.clone(), trial.output.clone()))
        .collect();
    for trial in trials.iter_mut().filter(|trial| trial.failure.is_none()) {
        let mut all = expected.iter();
        let expected = all.find(|(program, _)| *program == trial.program);
        let Some((_, expected)) = expected.filter(|(_, output)| *output != trial.output) else {
            continue;
        };
        let printed = trial.output.trim();
        let wrong = format!(
            "prints {printed:?}, the native program {:?}",
            expected.trim()
        );
        trial.failure = Some(wrong);
    }
}
