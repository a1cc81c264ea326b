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
        if self.way.is_recorded() {
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
        let Some(options) = self.way.options() else {
            return Vec::new();
        };
        let mut options = OsString::from(options);
        if self.way.is_recorded() {
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
}

/// What the reader must know: which trials failed, and why. What no program could
/// be tried with is said once.
pub(super) fn notes(ways: &[Way], trials: &[Trial]) -> Vec<String> {
    let mut notes = Vec::new();
    for &way in ways {
        let trials = || trials.iter().filter(|trial| trial.way == way);
        let reason = |trial: &Trial| Some(trial.failure()?.lines().next()?.to_owned());
        let reasons: Vec<_> = trials()
            .filter_map(|trial| Some((&trial.program, reason(trial)?)))
            .collect();
        if let [(_, first), _, ..] = &reasons[..]
            && reasons.len() == trials().count()
        {
            notes.push(format!("no program with {}: {first}", way.name()));
            continue;
        }
        let each = reasons.iter();
        notes.extend(each.map(|(program, why)| format!("{program} with {}: {why}", way.name())));
    }
    notes
}

/// Fails what does not print what the native program does, which comes first
/// among the trials of a program.
pub(super) fn compare(trials: &mut [Trial]) {
    for trials in trials.chunk_by_mut(|a, b| a.program == b.program) {
        let (native, others) = trials.split_first_mut().expect("chunks are not empty");
        let expected = native.output.trim();
        for trial in others.iter_mut().filter(|trial| trial.failure.is_none()) {
            let printed = trial.output.trim();
            if printed != expected {
                let wrong = format!("prints {printed:?}, the native program {expected:?}");
                trial.failure = Some(wrong);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::program::Language;

    fn trial(program: &str, way: Way, runs: &[(f64, u64, &str)]) -> Trial {
        let program = Program {
            name: program.to_owned(),
            source: PathBuf::new(),
            language: Language::C,
        };
        let mut trial = Trial::new(&program, way, Ok(PathBuf::new()), Path::new(""));
        for &(cpu, peak, output) in runs {
            trial.take(Run {
                cpu,
                peak,
                failure: None,
                output: output.to_owned(),
                complaints: String::new(),
            });
        }
        trial
    }

    #[test]
    fn the_best_of_all_runs_counts() {
        let trial = trial(
            "a",
            Way::Empty,
            &[(2.0, 30, ""), (1.0, 40, ""), (3.0, 20, "")],
        );
        assert_eq!(trial.cost(), Some(Cost { cpu: 1.0, peak: 20 }));
    }

    #[test]
    fn a_failure_is_told_with_the_reason_and_costs_nothing() {
        let mut trial = trial("a", Way::Empty, &[(1.0, 1, "")]);
        trial.take(Run {
            cpu: 1.0,
            peak: 1,
            failure: Some("exit status: 66".to_owned()),
            output: String::new(),
            complaints: "====\nWARNING: a race\n".to_owned(),
        });
        assert_eq!(trial.cost(), None);
        let note = "a with empty: exit status: 66: WARNING: a race";
        assert_eq!(notes(&[Way::Empty], &[trial]), [note]);
    }

    #[test]
    fn a_way_that_is_not_to_be_had_is_noted_once() {
        let missing = |program| {
            let mut trial = trial(program, Way::GccTsan, &[]);
            trial.failure = Some("cannot find -ltsan\ncollect2: error".to_owned());
            trial
        };
        let notes = notes(&[Way::GccTsan], &[missing("a"), missing("b")]);
        assert_eq!(notes, ["no program with gcc-tsan: cannot find -ltsan"]);
    }

    #[test]
    fn what_prints_something_else_than_the_native_program_fails() {
        let mut trials = [
            trial("a", Way::Native, &[(1.0, 1, "7\n")]),
            trial("a", Way::Empty, &[(1.0, 1, "7\n")]),
            trial("a", Way::FASTTRACK, &[(1.0, 1, "8\n")]),
            trial("b", Way::Native, &[(1.0, 1, "9\n")]),
            trial("b", Way::Empty, &[(1.0, 1, "9\n")]),
        ];
        compare(&mut trials);
        let failed = trials.each_ref().map(|trial| trial.failure().is_some());
        assert_eq!(failed, [false, false, true, false, false]);
    }
}
