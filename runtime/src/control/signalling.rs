//! Signals that the program sends to itself, and waiting for signals.
//!
//! The kernel interrupts a thread when it comes to it. Under control a signal is
//! there when the call that sends it returns: who it is for is chosen here, as the
//! kernel would (the main thread, or else the first that does not block it), and
//! the sender waits until it has got there. The handler runs when it is the turn of
//! its thread. So it does in every execution alike, but for signals from outside.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use super::clock::Until;
use super::roster::{Member, Roster, Standing, Want};
use super::turn::{Came, Turn, cancellation_point, park};
use crate::signals;

/// A set of signals, as the kernel has it: signal 1 is bit 0.
pub(crate) type Set = u64;

/// The set of one signal.
pub(crate) fn only(signal: c_int) -> Set {
    match signal {
        1..=64 => 1 << (signal - 1),
        _ => 0,
    }
}

/// The signals of a set.
pub(crate) fn each(set: Set) -> impl Iterator<Item = c_int> {
    (1..=64).filter(move |signal| set & only(*signal) != 0)
}

/// A set as programs have it.
pub(crate) fn set(of: &libc::sigset_t) -> Set {
    // SAFETY: it begins with the kernel's.
    unsafe { (&raw const *of).cast::<Set>().read() }
}

/// Signals that a thread blocks, and those that wait for it or for any thread.
struct Mail {
    blocked: Set,
    waiting: Set,
}

impl Mail {
    fn of(os_id: i32) -> Option<Self> {
        let text = std::fs::read_to_string(format!("/proc/self/task/{os_id}/status")).ok()?;
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            Set::from_str_radix(line.trim(), 16).ok()
        };
        Some(Self {
            blocked: field("SigBlk:")?,
            waiting: field("SigPnd:")? | field("ShdPnd:")?,
        })
    }
}

/// Whether one of these signals waits to be taken by a thread.
pub(super) fn waits(os_id: i32, signals: Set) -> bool {
    Mail::of(os_id).is_none_or(|mail| mail.waiting & signals != 0)
}

/// Whom a signal is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addressee {
    Thread(u32),
    /// Any thread that does not block it.
    Anybody,
}

/// The thread to which a signal is on its way whose sender waits for it to arrive, with
/// the roster in its hands.
static ADDRESSEE: AtomicI32 = AtomicI32::new(NOBODY);
const NOBODY: i32 = 0;

/// Whether somebody waits for a signal to arrive at the current thread, and does what is
/// to be done then.
pub(crate) fn is_expected() -> bool {
    // SAFETY: asks who we are.
    let me = unsafe { libc::gettid() };
    ADDRESSEE.load(Ordering::Relaxed) == me
}

impl Roster {
    /// Sends a signal to a thread of the process, and waits until it has come. The
    /// error, if any.
    pub(super) fn send(&mut self, to: Addressee, letter: Letter) -> c_int {
        let signal = letter.signal;
        let to = match to {
            Addressee::Thread(number) => Some(number),
            Addressee::Anybody => self.who_takes(signal),
        };
        // SAFETY: asks who we are.
        let process = unsafe { libc::getpid() };
        let Some(member) = to.and_then(|number| self.member(number)) else {
            // It waits until somebody takes it.
            return letter.post(process, None);
        };
        let os_id = member.os_id;
        let expected = signals::is_ours(signal)
            && Mail::of(os_id).is_some_and(|mail| mail.blocked & only(signal) == 0);
        let may_wait = matches!(member.standing, Standing::Waiting | Standing::Running);
        if !expected || !may_wait {
            return letter.post(process, Some(os_id));
        }
        let before = member.arrivals();
        ADDRESSEE.store(os_id, Ordering::Relaxed);
        let sent = letter.post(process, Some(os_id));
        const LONGEST: Duration = Duration::from_millis(200);
        let began = Instant::now();
        let is_late = || began.elapsed() > LONGEST;
        while sent == 0 && member.arrivals() == before && !is_late() {
            std::thread::yield_now();
        }
        ADDRESSEE.store(NOBODY, Ordering::Relaxed);
        // Until it is through with this one, others like it would become one.
        let is_blocked = || Mail::of(os_id).is_some_and(|mail| mail.blocked & only(signal) != 0);
        while sent == 0 && is_blocked() && !is_late() {
            std::thread::yield_now();
        }
        if sent == 0 && member.standing == Standing::Waiting {
            member.interrupted = true;
        }
        sent
    }

    /// The thread to which the kernel would give such a signal; none if all block
    /// it.
    fn who_takes(&self, signal: c_int) -> Option<u32> {
        let takes = |os_id| Mail::of(os_id).is_some_and(|mail| mail.blocked & only(signal) == 0);
        let mut members = self.members.iter().enumerate();
        let taker = members.find(|(_, member)| {
            let member = member.as_ref();
            member.is_some_and(|m| m.standing != Standing::Ended && m.os_id != 0 && takes(m.os_id))
        });
        taker.map(|(number, _)| number as u32)
    }
}

/// A signal, and what comes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Letter {
    pub(crate) signal: c_int,
    /// Why it is sent.
    pub(crate) code: c_int,
    pub(crate) value: usize,
}

impl Letter {
    /// Has the kernel deliver it, to a thread or whoever takes it. The error, if any.
    fn post(self, process: libc::pid_t, to: Option<i32>) -> c_int {
        let signal = self.signal;
        let info = self.info();
        let info: *const libc::siginfo_t = &raw const info;
        // What the kernel itself says of a signal cannot be said by others.
        let is_plain = self.code >= 0;
        // SAFETY: system calls with what they take.
        let result = unsafe {
            match to {
                Some(to) if is_plain => libc::syscall(libc::SYS_tgkill, process, to, signal),
                Some(to) => libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, to, signal, info),
                None if is_plain => libc::syscall(libc::SYS_kill, process, signal),
                None => libc::syscall(libc::SYS_rt_sigqueueinfo, process, signal, info),
            }
        };
        match result {
            0 => 0,
            _ => crate::interpose::Errno::now(),
        }
    }

    /// As the kernel takes it.
    fn info(self) -> libc::siginfo_t {
        /// Who sent it follows the numbers, and the value that.
        #[repr(C)]
        struct Sent {
            numbers: [c_int; 4],
            process: libc::pid_t,
            user: libc::uid_t,
            value: usize,
        }
        let Self {
            signal,
            code,
            value,
        } = self;
        // SAFETY: zeroes are a signal's information; asks who we are.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            (&raw mut info).cast::<Sent>().write(Sent {
                numbers: [signal, 0, code, 0],
                process: libc::getpid(),
                user: libc::getuid(),
                value,
            });
            info
        }
    }
}

impl Turn {
    /// Sends a signal to a thread of this process. The error, if any.
    pub(crate) fn send(&self, to: Addressee, letter: Letter) -> c_int {
        self.touch();
        let _errno = crate::interpose::Errno::keep();
        if let Addressee::Thread(number) = to {
            self.await_beginning_of(number);
        }
        self.note(|roster| roster.send(to, letter))
    }

    /// Waits until the kernel has brought a new thread to where it waits for its first
    /// turn: before that nobody knows its number.
    fn await_beginning_of(&self, number: u32) {
        const LONGEST: Duration = Duration::from_secs(1);
        let began = Instant::now();
        let has_begun = || self.note(|roster| roster.member(number).is_none_or(|m| m.os_id != 0));
        while !has_begun() && began.elapsed() < LONGEST {
            std::thread::yield_now();
        }
    }

    /// The thread that the kernel knows by that number.
    pub(crate) fn by_os_id(&self, os_id: i32) -> Option<Addressee> {
        self.note(|roster| {
            let mut members = roster.members.iter();
            let is_it = |m: &Option<_>| m.as_ref().is_some_and(|m: &Member| m.os_id == os_id);
            let number = members.position(is_it)?;
            Some(Addressee::Thread(number as u32))
        })
    }

    /// The current thread as one who gets a signal.
    pub(crate) fn myself(&self) -> Addressee {
        Addressee::Thread(self.number)
    }

    /// Waits until one of these signals waits to be taken; false if it was too late
    /// or another one was handled.
    pub(crate) fn await_signal(&self, signals: Set, until: Option<Until>) -> Came {
        cancellation_point();
        // SAFETY: asks who we are.
        let os_id = unsafe { libc::gettid() };
        let want = Want::Signal { os_id, signals };
        let came = self.wait_once(want, self.moment(until), |_| None);
        cancellation_point();
        came
    }

    /// Waits until a signal was handled, with these blocked meanwhile in place of
    /// those that are, if any are given.
    pub(crate) fn await_handler(&self, mask: Option<&libc::sigset_t>) {
        let wait = || {
            // SAFETY: asks who we are.
            let os_id = unsafe { libc::gettid() };
            let want = Want::Signal { os_id, signals: 0 };
            while self.wait_once(want, None, |_| None) != Came::Interrupted {}
        };
        cancellation_point();
        self.with_mask(mask, wait);
        cancellation_point();
    }

    /// Waits with other signals blocked. Those that come are handled when the wait
    /// is over, before others are blocked again.
    pub(crate) fn with_mask<R>(
        &self,
        mask: Option<&libc::sigset_t>,
        wait: impl FnOnce() -> R,
    ) -> R {
        let Some(mask) = mask else {
            return wait();
        };
        // Nothing is handled before the wait.
        park(true);
        // SAFETY: sets of signals.
        unsafe {
            let mut before = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_SETMASK, mask, &raw mut before);
            let result = wait();
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
            result
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_of_a_thread_is_understood() {
        // SAFETY: sets of signals, of this thread.
        unsafe {
            let mut wanted: libc::sigset_t = std::mem::zeroed();
            libc::sigaddset(&raw mut wanted, libc::SIGUSR2);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const wanted, std::ptr::null_mut());
            let me = libc::gettid();
            let mail = Mail::of(me).unwrap();
            assert_eq!(set(&wanted), only(libc::SIGUSR2));
            assert_eq!(mail.blocked & only(libc::SIGUSR2), only(libc::SIGUSR2));
            assert!(!waits(me, only(libc::SIGUSR2)));
            let letter = Letter {
                signal: libc::SIGUSR2,
                code: libc::SI_QUEUE,
                value: 7,
            };
            let info = letter.info();
            let info: *const libc::siginfo_t = &raw const info;
            let call = libc::SYS_rt_tgsigqueueinfo;
            libc::syscall(call, libc::getpid(), me, libc::SIGUSR2, info);
            assert!(waits(me, only(libc::SIGUSR2)));
            let mut got = std::mem::zeroed();
            assert_eq!(
                libc::sigwaitinfo(&raw const wanted, &raw mut got),
                libc::SIGUSR2
            );
            assert_eq!(got.si_value().sival_ptr as usize, 7);
            assert_eq!(got.si_pid(), libc::getpid());
        }
    }
}
