//! One execution of a program, out of the way: what it prints is kept instead of
//! shown, and it ends when its time is up.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use racehound_report::finding::Finding;
use racehound_report::journal::{Note, Scheduled};
use racehound_schedule::Plan;
use tempfile::NamedTempFile;

use crate::options::{self, Options, Unspeakable};
use crate::process::{LONGEST_NAP, Patience, Process, Remains, watch};
use crate::program::{Program, fix_addresses};
use crate::{findings, serve};

pub use crate::text::Text;

/// How a program is to be executed once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// What looks on.
    pub detector: String,
    /// Who decides which thread runs.
    pub schedule: Plan,
    /// Where to write a trace.
    pub record: Option<PathBuf>,
    /// Where to write the schedule.
    pub schedule_out: Option<PathBuf>,
    /// Where it is kept what executions have seen, if that decides which calls are looked at
    /// (AtexRace).
    pub sample: Option<PathBuf>,
    /// How long it may take.
    pub limit: Duration,
}

/// What became of it.
#[derive(Clone, Debug)]
pub struct Execution {
    /// How it ended.
    pub ending: Ending,
    /// What was found.
    pub findings: Vec<Finding>,
    /// How its scheduling went, if that was under control and it lived to tell.
    pub scheduled: Option<Scheduled>,
    /// What it printed.
    pub output: Text,
    /// What it complained about.
    pub complaints: Text,
    /// How long it took.
    pub elapsed: Duration,
}

impl Execution {
    /// Whether its plan alone may not repeat it.
    pub fn is_doubtful(&self) -> bool {
        let scheduled = self.scheduled.as_ref();
        scheduled.is_some_and(|scheduled| !scheduled.doubts.is_empty())
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// It exited with this code.
    Code(u8),
    /// This signal killed it.
    Signal(i32),
    /// It did not, and was killed.
    Limit,
    /// Its client waited in vain for it to be ready.
    Unready,
    /// It served its client, who exited with this code.
    Client(u8),
    /// It served its client well, but did not end when it was told to.
    Stubborn,
}

impl Ending {
    pub(crate) fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code as u8),
            (None, signal) => Self::Signal(signal.unwrap_or_default()),
        }
    }
}

/// Why a program could not be executed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system says no.
    #[error("{}: {source}", program.display())]
    System {
        /// The program.
        program: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// There is nothing to read for the program.
    #[error("{}: {source}; the program was to read it", path.display())]
    Input {
        /// What it was to read.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// What must be done before cannot be done.
    #[error("{0}")]
    Surroundings(String),
    /// The runtime in the program does not do what it is asked to.
    #[error(
        "{}: {why}; if another version of Racehound has built it, build it again",
        program.display()
    )]
    Refused {
        /// The program.
        program: PathBuf,
        /// What the runtime says.
        why: String,
    },
    /// There is no more time, or there were enough executions, or somebody has stopped us.
    #[error("stopped")]
    Stopped,
    /// A name that cannot be passed on.
    #[error(transparent)]
    Unspeakable(#[from] Unspeakable),
}

/// Who can carry out assignments.
pub trait Executor {
    /// Carries one out.
    fn execute(&mut self, assignment: &Assignment) -> Result<Execution, Error>;
}

impl Executor for Program {
    fn execute(&mut self, assignment: &Assignment) -> Result<Execution, Error> {
        if self.is_stopped() || !self.allowance.take() {
            return Err(Error::Stopped);
        }
        let around = &self.surroundings;
        let set_up = around.set_up(self.job, assignment.limit, &|| self.is_stopped());
        let execution = match set_up {
            Ok(()) => self.execute_alone(assignment),
            Err(_) if self.is_stopped() => Err(Error::Stopped),
            Err(why) => Err(Error::Surroundings(why)),
        };
        around.tear_down(self.job);
        self.executions.fetch_add(1, Ordering::Relaxed);
        execution
    }
}

impl Program {
    /// Executes it in surroundings that were set up.
    fn execute_alone(&self, assignment: &Assignment) -> Result<Execution, Error> {
        let failed = |source| Error::System {
            program: self.path.clone(),
            source,
        };
        let scratch = self.scratch.clone().unwrap_or_else(std::env::temp_dir);
        let journal = NamedTempFile::with_prefix_in("racehound-run-", scratch).map_err(failed)?;
        let mut command = self.background()?;
        command.env(
            options::VARIABLE,
            spoken(self.options.clone(), assignment, &journal)?,
        );
        if assignment.schedule != Plan::Free {
            fix_addresses(&mut command);
        }
        // What is in it would be taken for another process's.
        if let Some(file) = assignment.record.as_ref().filter(|file| file.is_file()) {
            std::fs::File::create(file).map_err(failed)?;
        }
        let begun = Instant::now();
        let process = Process::start(&mut command).map_err(failed)?;
        let id = process.id();
        let patience = Patience {
            until: begun + assignment.limit,
            is_stopped: &|| self.is_stopped(),
            nap: LONGEST_NAP,
        };
        let (ending, remains) = match &self.surroundings.client {
            Some(client) => serve::serve(process, client, self.job, &patience),
            None => run_alone(process, &patience),
        }
        .map_err(failed)?;
        let elapsed = begun.elapsed();
        let notes = std::fs::read(journal.path()).map_err(failed)?;
        if ending == Ending::Limit && self.is_stopped() {
            return Err(Error::Stopped);
        }
        let (notes, _) = Note::read_all(&notes);
        let scheduled = notes.iter().rev().find_map(|note| match note {
            Note::Scheduled { scheduled } if scheduled.process == id => Some(scheduled),
            _ => None,
        });
        if scheduled.is_none()
            && let Some(why) = refusal(ending, &remains.complaints.excerpt())
        {
            let program = self.path.clone();
            return Err(Error::Refused { program, why });
        }
        Ok(Execution {
            ending,
            scheduled: scheduled.cloned(),
            findings: findings::folded(notes),
            output: remains.output,
            complaints: remains.complaints,
            elapsed,
        })
    }
}

/// What the runtime says before it ends a program that cannot be executed so.
fn refusal(ending: Ending, complaints: &str) -> Option<String> {
    const REFUSED: Ending = Ending::Code(3);
    let last = complaints.lines().last()?;
    let why = last.strip_prefix("racehound: ")?;
    (ending == REFUSED).then(|| why.to_owned())
}

/// Waits for the program's end. What it has started, and is still there, ends with it.
fn run_alone(mut process: Process, patience: &Patience<'_>) -> io::Result<(Ending, Remains)> {
    let in_time = watch([&mut process], patience, |[process]| process.has_ended())?;
    let remains = process.end()?;
    let ending = match in_time {
        true => Ending::of(remains.status),
        false => Ending::Limit,
    };
    Ok((ending, remains))
}

/// What the runtime is told.
fn spoken(
    mut options: Options,
    assignment: &Assignment,
    journal: &NamedTempFile,
) -> Result<Options, Unspeakable> {
    options.add("detector", &assignment.detector)?;
    if assignment.schedule != Plan::Free {
        options.add("schedule", assignment.schedule.to_string())?;
    }
    if let Some(file) = &assignment.record {
        options.add("record", file)?;
    }
    if let Some(file) = &assignment.schedule_out {
        options.add("schedule_file", file)?;
    }
    if let Some(store) = &assignment.sample {
        options.add("sample", "atex")?;
        options.add("store", store)?;
    }
    options.add("findings", journal.path())?;
    options.add("print_reports", "0")?;
    options.add("fail_on", "never")?;
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Execution {
        let words = ["sh", "-c", script].map(Into::into).to_vec();
        let mut program = Program {
            path: "/bin/sh".into(),
            words,
            ..Program::default()
        };
        let assignment = Assignment {
            detector: "none".to_owned(),
            schedule: Plan::Free,
            record: None,
            schedule_out: None,
            sample: None,
            limit,
        };
        program.execute(&assignment).unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_a_program_prints_is_kept() {
        let execution = shell("echo out; echo err >&2; exit 3", LONG);
        assert_eq!(execution.ending, Ending::Code(3));
        assert_eq!(execution.output.excerpt(), "out\n");
        assert_eq!(execution.complaints.excerpt(), "err\n");
    }

    #[test]
    fn a_runtime_that_refuses_is_no_program_that_fails() {
        let program = |script: &str| Program {
            path: "/bin/sh".into(),
            words: ["sh", "-c", script].map(Into::into).to_vec(),
            ..Program::default()
        };
        let assignment = Assignment {
            detector: "none".to_owned(),
            schedule: Plan::Random { seed: 1 },
            record: None,
            schedule_out: None,
            sample: None,
            limit: LONG,
        };
        let mut refused = program("echo 'racehound: no strategy is called x' >&2; exit 3");
        let error = refused.execute(&assignment).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("/bin/sh: no strategy is called x; if"),
            "{text}"
        );
        let fails = program("echo 'it fails' >&2; exit 3").execute(&assignment);
        assert_eq!(fails.unwrap().ending, Ending::Code(3));
    }

    #[test]
    fn a_signal_is_named() {
        assert_eq!(shell("kill -SEGV $$", LONG).ending, Ending::Signal(11));
    }

    #[test]
    fn there_is_nothing_to_read() {
        assert_eq!(
            shell("read line || echo none", LONG).output.excerpt(),
            "none\n"
        );
    }

    #[test]
    fn time_runs_out_also_for_who_shares_the_pipe() {
        let begun = Instant::now();
        let execution = shell("sleep 100 & sleep 100", Duration::from_millis(300));
        assert_eq!(execution.ending, Ending::Limit);
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn who_is_left_behind_does_not_keep_us() {
        let begun = Instant::now();
        let execution = shell("sleep 100 & echo on", LONG);
        assert_eq!(execution.ending, Ending::Code(0));
        assert_eq!(execution.output.excerpt(), "on\n");
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn much_is_compared_but_not_kept() {
        let execution = shell("yes | head -c 1000000", LONG);
        assert_eq!(execution.output.excerpt().len(), 2 * Text::KEPT);
        let same = Text::of(&b"y\n".repeat(500_000));
        assert!(execution.output.is(&same));
    }
}
