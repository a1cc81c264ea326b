//! Processes out of the way: what they print is kept, and they end when they are to.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

use crate::text::Text;

/// A process in a group of its own, with what it has printed so far.
pub(crate) struct Process {
    child: Child,
    /// Ready when it has ended.
    end: OwnedFd,
    pipes: [Pipe; 2],
    has_ended: bool,
}

/// What is left of a process.
pub(crate) struct Remains {
    pub(crate) status: ExitStatus,
    pub(crate) output: Text,
    pub(crate) complaints: Text,
}

impl Process {
    /// Starts a command that makes a process group of its own.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let end = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        let pipes = [
            Pipe::new(child.stdout.take().map(OwnedFd::from))?,
            Pipe::new(child.stderr.take().map(OwnedFd::from))?,
        ];
        Ok(Self {
            child,
            end,
            pipes,
            has_ended: false,
        })
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended, as far as it was [watched](watch).
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether it has printed that.
    pub(crate) fn has_said(&self, words: &str) -> bool {
        let said = |pipe: &Pipe| pipe.text.excerpt().contains(words);
        self.pipes.iter().any(said)
    }

    /// Asks it to end.
    pub(crate) fn ask_to_end(&self) {
        // Who has ended meanwhile does not mind: it was not waited for, so the number
        // is still its own.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
    }

    /// Ends it and all that it has started and left behind.
    pub(crate) fn end(mut self) -> io::Result<Remains> {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let status = self.child.wait()?;
        self.pipes.iter_mut().try_for_each(Pipe::take)?;
        let [output, complaints] = self.pipes.map(|pipe| pipe.text.complete());
        Ok(Remains {
            status,
            output,
            complaints,
        })
    }

    fn look(&mut self) -> io::Result<()> {
        let mut ready = [PollFd::from_borrowed_fd(self.end.as_fd(), PollFlags::IN)];
        self.has_ended |= poll(&mut ready, Some(&Timespec::default()))? > 0;
        self.pipes.iter_mut().try_for_each(Pipe::take)
    }
}

/// Until when somebody waits, and who can make an end of it.
pub(crate) struct Patience<'a> {
    /// The moment.
    pub(crate) until: Instant,
    /// Whether we are to stop.
    pub(crate) is_stopped: &'a dyn Fn() -> bool,
    /// How long nobody looks at what makes no noise.
    pub(crate) nap: Duration,
}

/// How long nobody looks whether we are to stop.
pub(crate) const LONGEST_NAP: Duration = Duration::from_millis(100);

/// Takes what the processes print until something is the case; false if patience ends
/// before.
pub(crate) fn watch<const N: usize>(
    mut processes: [&mut Process; N],
    patience: &Patience<'_>,
    mut is_done: impl FnMut(&[&mut Process; N]) -> bool,
) -> io::Result<bool> {
    loop {
        processes
            .iter_mut()
            .try_for_each(|process| process.look())?;
        if is_done(&processes) {
            return Ok(true);
        }
        let left = patience.until.saturating_duration_since(Instant::now());
        if left.is_zero() || (patience.is_stopped)() {
            return Ok(false);
        }
        let mut ready: Vec<PollFd<'_>> = Vec::new();
        for process in &processes {
            if !process.has_ended {
                ready.push(PollFd::from_borrowed_fd(process.end.as_fd(), PollFlags::IN));
            }
            ready.extend(process.pipes.iter().filter_map(Pipe::poll));
        }
        let nap = Timespec::try_from(left.min(patience.nap)).ok();
        match poll(&mut ready, nap.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
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
