//! Runs a program and tells what it spent: CPU time and peak memory.
//!
//! A process starts with its parent's peak memory as its own. So a process of its
//! own, which has just begun and is small, does the running: this same executable.

use std::env;
use std::ffi::OsString;
use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use serde::{Deserialize, Serialize};

/// A program that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Run a program and print as JSON what it spent and said.
#[derive(Args)]
pub(crate) struct Spend {
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// A program's run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    /// In seconds, in and outside of the kernel.
    pub(crate) cpu: f64,
    /// In KiB.
    pub(crate) peak: u64,
    /// How it ended, unless well.
    pub(crate) failure: Option<String>,
    pub(crate) output: String,
    pub(crate) complaints: String,
}

/// Runs a command from a small process.
pub(crate) fn run(command: &[OsString], variables: &[(&str, OsString)]) -> io::Result<Run> {
    let mut small = Command::new(env::current_exe()?);
    small.arg("spend").arg("--").args(command);
    // The user's own settings are not what is measured.
    small
        .env_remove("TSAN_OPTIONS")
        .env_remove("RACEHOUND_OPTIONS");
    small.envs(variables.iter().map(|(name, value)| (name, value)));
    let answer = small.output()?;
    serde_json::from_slice(&answer.stdout).map_err(|_| {
        let complaints = String::from_utf8_lossy(&answer.stderr);
        io::Error::other(complaints.trim().to_owned())
    })
}

/// The small process.
pub(crate) fn spend(args: &Spend) -> io::Result<()> {
    adopt();
    let mut child = Command::new(&args.command[0])
        .args(&args.command[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let output = read(child.stdout.take());
    let complaints = read(child.stderr.take());
    // Standard output is closed when the program ends.
    let output = output.recv_timeout(PATIENCE);
    let failure = match output {
        Ok(_) => ending(&mut child)?,
        Err(_) => {
            child.kill()?;
            child.wait()?;
            Some(format!("did not end within {} s", PATIENCE.as_secs()))
        }
    };
    wait_for_all();
    let (cpu, peak) = children();
    let run = Run {
        cpu,
        peak,
        failure,
        output: output.unwrap_or_default(),
        complaints: complaints.recv_timeout(PATIENCE).unwrap_or_default(),
    };
    println!("{}", serde_json::to_string(&run)?);
    Ok(())
}

/// Reads to the end, aside.
fn read(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        let read = pipe.map(|mut pipe| pipe.read_to_end(&mut text));
        if let Some(Ok(_)) = read {
            // Nobody listens any more if it took too long.
            _ = sender.send(String::from_utf8_lossy(&text).into_owned());
        }
    });
    receiver
}

/// How a program ended, unless well.
fn ending(child: &mut Child) -> io::Result<Option<String>> {
    let status = child.wait()?;
    Ok((!status.success()).then(|| status.to_string()))
}

/// Takes on the children of children that are over: a server's starter may be gone
/// before it.
#[allow(unsafe_code)]
fn adopt() {
    // SAFETY: sets a flag of this process.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Waits until all that was started is over, or has had its time.
#[allow(unsafe_code)]
fn wait_for_all() {
    let deadline = Instant::now() + PATIENCE / 10;
    while Instant::now() < deadline {
        // SAFETY: asks for any child; the status is not wanted.
        match unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } {
            // There are none.
            -1 => return,
            0 => thread::sleep(Duration::from_millis(5)),
            _ => {}
        }
    }
}

/// CPU time in seconds and peak memory in KiB of the children that have ended.
#[allow(unsafe_code)]
fn children() -> (f64, u64) {
    // SAFETY: the structure consists of numbers, and the call only fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    (cpu, usage.ru_maxrss.unsigned_abs())
}
