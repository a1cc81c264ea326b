//! A program under test.

// What happens between fork and exec has no safe interface; each use says why it
// is sound.
#![allow(unsafe_code)]

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::allowance::Allowance;
use crate::execution::Error;
use crate::options::Options;
use crate::surroundings::{JOB, Surroundings};

/// What to run, and with what around it.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its file.
    pub path: PathBuf,
    /// Its name as it was called, and its arguments.
    pub words: Vec<OsString>,
    /// What its environment has beside ours.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it finds its standard input; nothing, if there is no such file.
    pub input: Option<PathBuf>,
    /// What the runtime is told in each execution.
    pub options: Options,
    /// What ends its executions, and keeps new ones from beginning.
    pub stop: Stop,
    /// How many executions may still begin.
    pub allowance: Allowance,
    /// What goes on around an execution.
    pub surroundings: Surroundings,
    /// Which of those this is that execute it side by side.
    pub job: usize,
    /// Where files are put that are of use during an execution only.
    pub scratch: Option<PathBuf>,
    /// How many executions there were, of all who execute it.
    pub executions: Arc<AtomicU64>,
}

/// When to stop: at a moment, or when somebody says so.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// Somebody has said so.
    pub now: Arc<AtomicBool>,
    /// The moment.
    pub at: Option<Instant>,
}

impl Stop {
    /// Whether it is time.
    pub fn is_due(&self) -> bool {
        let late = self.at.is_some_and(|at| Instant::now() >= at);
        late || self.now.load(Ordering::Relaxed)
    }
}

impl Program {
    /// The command that runs it, with our own standard input.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        if let Some((name, arguments)) = self.words.split_first() {
            command.arg0(name).args(arguments);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if !self.surroundings.is_empty() {
            command.env(JOB, self.job.to_string());
        }
        command
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_due()
    }

    /// The command that runs it out of the way: in a process group of its own,
    /// with its own input, and not longer than we live.
    pub fn background(&self) -> Result<Command, Error> {
        let mut command = self.command();
        out_of_the_way(&mut command);
        if let Some(file) = &self.input {
            let path = file.clone();
            let input = File::open(file).map_err(|source| Error::Input { path, source })?;
            command.stdin(input);
        }
        Ok(command)
    }
}

/// Has a command run in a process group of its own, with nothing to read, and not
/// longer than we live.
pub(crate) fn out_of_the_way(command: &mut Command) {
    command.process_group(0).stdin(Stdio::null());
    let ends_with_us = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: a system call, and it neither allocates nor locks.
    unsafe { command.pre_exec(ends_with_us) };
}

/// Lets a program have its memory at the same addresses in every run.
pub fn fix_addresses(command: &mut Command) {
    let fix = || {
        // SAFETY: a system call. Where it is not allowed, addresses differ.
        unsafe {
            let usual = libc::personality(0xffff_ffff);
            libc::personality(usual as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        }
        Ok(())
    };
    // SAFETY: it neither allocates nor locks, as befits a forked process.
    unsafe { command.pre_exec(fix) };
}
