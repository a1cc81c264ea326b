//! One execution of a program, out of the way: what it prints is kept instead of
//! shown, and it ends when its time is up.

use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use racehound_report::finding::Finding;
use racehound_report::journal::{Note, Scheduled};
use racehound_schedule::Plan;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use tempfile::NamedTempFile;

use crate::findings;
use crate::options::{self, Options, Unspeakable};
use crate::program::{Program, fix_addresses};

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

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// It exited with this code.
    Code(u8),
    /// This signal killed it.
    Signal(i32),
    /// It did not, and was killed.
    Limit,
}

impl Ending {
    fn of(status: ExitStatus) -> Self {
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
    /// There is no more time, or somebody has stopped us.
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
        let failed = |source| Error::System {
            program: self.path.clone(),
            source,
        };
        if self.is_stopped() {
            return Err(Error::Stopped);
        }
        let journal = NamedTempFile::with_prefix("racehound-run-").map_err(failed)?;
        let mut command = self.background().map_err(failed)?;
        command.env(
            options::VARIABLE,
            spoken(self.options.clone(), assignment, &journal)?,
        );
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if assignment.schedule != Plan::Free {
            fix_addresses(&mut command);
        }
        let begun = Instant::now();
        let mut child = command.spawn().map_err(failed)?;
        let process = child.id();
        let is_stopped = || self.is_stopped();
        let watched = watch(&mut child, begun + assignment.limit, &is_stopped).map_err(failed);
        let elapsed = begun.elapsed();
        let notes = std::fs::read(journal.path()).map_err(failed)?;
        let (ending, output, complaints) = watched?;
        if ending == Ending::Limit && self.is_stopped() {
            return Err(Error::Stopped);
        }
        let (notes, _) = Note::read_all(&notes);
        let scheduled = notes.iter().rev().find_map(|note| match note {
            Note::Scheduled { scheduled } if scheduled.process == process => Some(scheduled),
            _ => None,
        });
        Ok(Execution {
            ending,
            scheduled: scheduled.cloned(),
            findings: findings::folded(notes),
            output,
            complaints,
            elapsed,
        })
    }
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
    options.add("findings", journal.path())?;
    options.add("print_reports", "0")?;
    options.add("fail_on", "never")?;
    Ok(options)
}

/// How long nobody looks whether we are to stop.
const LONGEST_NAP: Duration = Duration::from_millis(100);

/// Waits for the program's end and takes what it prints. What it has started, and
/// is still there, ends with it.
fn watch(
    child: &mut Child,
    deadline: Instant,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<(Ending, Text, Text)> {
    let pid = Pid::from_child(child);
    let end = pidfd_open(pid, PidfdFlags::empty())?;
    let mut pipes = [
        Pipe::new(child.stdout.take().map(OwnedFd::from))?,
        Pipe::new(child.stderr.take().map(OwnedFd::from))?,
    ];
    let mut in_time = true;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        in_time &= !left.is_zero() && !is_stopped();
        if !in_time {
            break;
        }
        let mut ready: Vec<PollFd<'_>> = vec![PollFd::from_borrowed_fd(end.as_fd(), PollFlags::IN)];
        ready.extend(pipes.iter().filter_map(Pipe::poll));
        let patience = Timespec::try_from(left.min(LONGEST_NAP)).ok();
        match poll(&mut ready, patience.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ended = !ready[0].revents().is_empty();
        pipes.iter_mut().try_for_each(Pipe::take)?;
        if ended {
            break;
        }
    }
    // Its whole group: also what it left behind.
    let _ = kill_process_group(pid, Signal::KILL);
    let status = child.wait()?;
    pipes.iter_mut().try_for_each(Pipe::take)?;
    let ending = match in_time {
        true => Ending::of(status),
        false => Ending::Limit,
    };
    let [output, complaints] = pipes.map(|pipe| pipe.text);
    Ok((ending, output.complete(), complaints.complete()))
}

/// One end of a pipe, as long as there may be something in it.
struct Pipe {
    file: Option<File>,
    text: Text,
}

impl Pipe {
    fn new(end: Option<OwnedFd>) -> io::Result<Self> {
        if let Some(end) = &end {
            rustix::io::ioctl_fionbio(end, true)?;
        }
        Ok(Self {
            file: end.map(File::from),
            text: Text::default(),
        })
    }

    fn poll(&self) -> Option<PollFd<'_>> {
        let file = self.file.as_ref()?;
        Some(PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN))
    }

    /// Takes what is in it, without waiting for more.
    fn take(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        while let Some(file) = &mut self.file {
            match file.read(&mut buffer) {
                Ok(0) => self.file = None,
                Ok(length) => self.text.add(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// What a program printed: all of it, to compare, and how it begins and ends, to
/// read.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// Its first bytes.
    pub head: Vec<u8>,
    /// Its last bytes, if those are not among the first.
    pub tail: Vec<u8>,
    whole: u64,
    lines: u64,
    line: DefaultHasher,
    in_line: bool,
}

impl Text {
    /// How much is kept of either end.
    const KEPT: usize = 64 * 1024;

    /// Adds what was printed.
    pub fn add(&mut self, bytes: &[u8]) {
        let fits = (Self::KEPT - self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..fits]);
        self.tail.extend_from_slice(&bytes[fits..]);
        let excess = self.tail.len().saturating_sub(Self::KEPT);
        self.tail.drain(..excess);
        for &byte in bytes {
            if byte == b'\n' {
                self.end_line();
            } else {
                byte.hash(&mut self.line);
                self.in_line = true;
            }
        }
    }

    /// As one text.
    pub fn of(bytes: &[u8]) -> Self {
        let mut text = Self::default();
        text.add(bytes);
        text.complete()
    }

    fn complete(mut self) -> Self {
        if self.in_line {
            self.end_line();
        }
        self
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line).finish();
        self.lines = self.lines.wrapping_add(line);
        let mut whole = DefaultHasher::new();
        (self.whole, line).hash(&mut whole);
        self.whole = whole.finish();
        self.in_line = false;
    }

    /// Whether the same was printed, to the byte.
    pub fn is(&self, other: &Self) -> bool {
        self.whole == other.whole
    }

    /// Whether the same lines were printed, in whatever order.
    pub fn has_lines_of(&self, other: &Self) -> bool {
        self.lines == other.lines
    }

    /// What can be read of it.
    pub fn excerpt(&self) -> String {
        let head = String::from_utf8_lossy(&self.head);
        let tail = String::from_utf8_lossy(&self.tail);
        format!("{head}{tail}")
    }
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

    #[test]
    fn lines_are_compared_in_order_or_not() {
        let (a, b) = (Text::of(b"one\ntwo\n"), Text::of(b"two\none"));
        assert!(!a.is(&b) && a.has_lines_of(&b));
        assert!(!a.has_lines_of(&Text::of(b"one\none\n")));
    }
}
