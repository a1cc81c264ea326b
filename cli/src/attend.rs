//! Runs a program and stays behind it, without getting in its way: what is sent
//! to us reaches the program, and what becomes of it becomes of us.
//!
//! Signals are blocked here and taken one by one, so none gets lost or comes at a
//! bad time, and how the program finds them (ignored, under nohup) is not
//! touched. What the terminal sends goes to the whole process group: then the
//! program has it already. When the program stops we stop, for whoever controls
//! our job, and when we are killed the program is.

// Signals have no safe interface; each use says why it is sound.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;

use libc::{c_int, pid_t, sigset_t};
use racehound_hunt::Ending;

/// What is passed on.
const PASSED_ON: [c_int; 9] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// Runs the program to its end.
pub(crate) fn run(command: &mut Command) -> io::Result<Ending> {
    let signals = set(PASSED_ON.into_iter().chain([libc::SIGCHLD]));
    let before = mask(libc::SIG_BLOCK, &signals);
    // Who ignores the end of children is not told of it.
    // SAFETY: no handler is set.
    let ends = unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    let prepare = move || {
        mask(libc::SIG_SETMASK, &before);
        // SAFETY: system calls, with the arguments that they take; what the end of
        // children led to was no handler of ours.
        let prepared = unsafe {
            libc::signal(libc::SIGCHLD, ends);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL)
        };
        match prepared {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: it neither allocates nor locks, as befits a forked process.
    let program = unsafe { command.pre_exec(prepare) }.spawn()?.id() as pid_t;
    loop {
        let (signal, from_terminal) = next(&signals);
        match signal {
            libc::SIGCHLD => {
                if let Some(ending) = reap(program) {
                    forget(&signals);
                    // What is run next, out of the way, must not begin with them blocked.
                    mask(libc::SIG_SETMASK, &before);
                    return Ok(ending);
                }
            }
            _ if from_terminal => {}
            // SAFETY: the program was not reaped, so the number is its own.
            _ => _ = unsafe { libc::kill(program, signal) },
        }
    }
}

/// Signals that have come for a program that is no more are for nobody.
fn forget(signals: &sigset_t) {
    let at_once = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: what the call takes; nobody asks what came.
    while unsafe { libc::sigtimedwait(signals, std::ptr::null_mut(), &raw const at_once) } > 0 {}
}

/// Waits for one of the signals; also tells whether the terminal has sent it.
fn next(signals: &sigset_t) -> (c_int, bool) {
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: both are what the call takes.
        let signal = unsafe { libc::sigwaitinfo(signals, info.as_mut_ptr()) };
        if signal > 0 {
            // SAFETY: filled in; zeroes are valid as well.
            let info = unsafe { info.assume_init() };
            return (signal, info.si_code == libc::SI_KERNEL);
        }
    }
}

/// How the program ended, if it did. If it was stopped, so are we.
fn reap(program: pid_t) -> Option<Ending> {
    loop {
        let mut status = 0;
        let flags = libc::WNOHANG | libc::WUNTRACED;
        // SAFETY: a status to be written.
        if unsafe { libc::waitpid(program, &raw mut status, flags) } != program {
            return None;
        }
        if libc::WIFEXITED(status) {
            return Some(Ending::Code(libc::WEXITSTATUS(status) as u8));
        }
        if libc::WIFSIGNALED(status) {
            return Some(Ending::Signal(libc::WTERMSIG(status)));
        }
        if libc::WIFSTOPPED(status) {
            // SAFETY: stops this process until somebody continues it.
            unsafe { libc::raise(libc::SIGSTOP) };
        }
    }
}

/// Dies of that signal, so that whoever waits for us sees what the program died
/// of.
pub(crate) fn die_of(signal: c_int) -> ! {
    let nothing = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: calls with the arguments that they take.
    unsafe {
        // The program's core is what matters, not ours.
        libc::setrlimit(libc::RLIMIT_CORE, &raw const nothing);
        libc::signal(signal, libc::SIG_DFL);
    }
    mask(libc::SIG_UNBLOCK, &set([signal]));
    // SAFETY: ends this process.
    unsafe { libc::raise(signal) };
    // It did not: then say it as shells do.
    std::process::exit(128 + signal)
}

fn set(signals: impl IntoIterator<Item = c_int>) -> sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: made empty, then valid, then added to.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

/// Changes which signals are blocked; those that were.
fn mask(how: c_int, signals: &sigset_t) -> sigset_t {
    let mut before = set([]);
    // SAFETY: valid sets; this is the only thread.
    unsafe { libc::pthread_sigmask(how, signals, &raw mut before) };
    before
}
