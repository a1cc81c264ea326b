//! Signals: their handlers, see [`signals`](crate::signals), sending them and waiting
//! for them.

use std::ffi::c_int;

use super::{Call, Errno, interpose};
use crate::control::clock::Until;
use crate::control::signalling::{self, Addressee, Letter};
use crate::control::{Came, Turn};
use crate::thread::Visit;
use crate::{control, registry, signals, sync};

type Handler = usize;

unsafe fn set(signal: c_int, handler: Handler, flags: c_int) -> Handler {
    // SAFETY: zeroes are an action.
    unsafe {
        let mut new = std::mem::zeroed::<libc::sigaction>();
        let mut old = std::mem::zeroed::<libc::sigaction>();
        new.sa_sigaction = handler;
        new.sa_flags = flags;
        libc::sigemptyset(&raw mut new.sa_mask);
        match sigaction(signal, &raw const new, &raw mut old) {
            0 => old.sa_sigaction,
            _ => libc::SIG_ERR,
        }
    }
}

mod real {
    use std::ffi::c_int;

    unsafe extern "C" {
        pub(super) fn tgkill(process: libc::pid_t, thread: libc::pid_t, signal: c_int) -> c_int;
        pub(super) fn pthread_sigqueue(
            handle: libc::pthread_t,
            signal: c_int,
            value: libc::sigval,
        ) -> c_int;
    }
}

/// The thread with that handle.
fn thread(handle: libc::pthread_t) -> Option<Addressee> {
    let _visit = Visit::begin();
    registry::all()
        .by_handle(handle as usize)
        .map(Addressee::Thread)
}

/// Whether it is a signal that anybody can get.
fn is_signal(signal: c_int) -> bool {
    signalling::only(signal) != 0
}

/// The turn to send a signal to the process itself, if it is under control.
fn to_myself(process: libc::pid_t, signal: c_int) -> Option<Turn> {
    let turn = Call::begin()?.turn()?;
    // SAFETY: asks who we are.
    let mine = process == unsafe { libc::getpid() } && is_signal(signal);
    mine.then_some(turn)
}

fn plain(signal: c_int) -> Letter {
    Letter {
        signal,
        code: libc::SI_USER,
        value: 0,
    }
}

/// As functions fail that tell by the error number.
fn failing(error: c_int) -> c_int {
    if error == 0 {
        return 0;
    }
    // SAFETY: our own.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Waits until one of the signals can be taken without waiting, under control: the
/// error, if it cannot.
unsafe fn wait(set: *const libc::sigset_t, until: Option<Until>) -> c_int {
    let Some(turn) = Call::begin().and_then(|call| call.turn()) else {
        return 0;
    };
    // SAFETY: the program's set, or null.
    let Some(set) = (unsafe { set.as_ref() }) else {
        return 0;
    };
    let _errno = Errno::keep();
    turn.touch();
    match turn.await_signal(signalling::set(set), until) {
        Came::Fulfilled => 0,
        Came::TimedOut => libc::EAGAIN,
        Came::Interrupted => libc::EINTR,
    }
}

/// Whoever waits for the signal knows what its sender knew.
fn sends(signal: c_int) {
    if let Some(call) = Call::begin().filter(|_| is_signal(signal)) {
        call.hands_on(signals::letters(signal));
    }
}

/// The signal that a wait has brought, if it has.
fn got(signal: c_int) -> c_int {
    if let Some(call) = Call::begin().filter(|_| is_signal(signal)) {
        call.learns(signals::letters(signal));
    }
    signal
}

interpose! {
    fn kill(process: libc::pid_t, signal: c_int) -> c_int {
        sends(signal);
        match to_myself(process, signal) {
            Some(turn) => failing(turn.send(Addressee::Anybody, plain(signal))),
            None => {
                control::children::stir();
                libc::kill(process, signal)
            }
        }
    }

    fn raise(signal: c_int) -> c_int {
        sends(signal);
        match to_myself(libc::getpid(), signal) {
            Some(turn) => failing(turn.send(turn.myself(), plain(signal))),
            None => libc::raise(signal),
        }
    }

    fn pthread_kill(handle: libc::pthread_t, signal: c_int) -> c_int {
        sends(signal);
        match (to_myself(libc::getpid(), signal), thread(handle)) {
            (Some(turn), Some(to)) => turn.send(to, plain(signal)),
            _ => libc::pthread_kill(handle, signal),
        }
    }

    fn tgkill(process: libc::pid_t, thread: libc::pid_t, signal: c_int) -> c_int {
        sends(signal);
        match to_myself(process, signal) {
            Some(turn) => match turn.by_os_id(thread) {
                Some(to) => failing(turn.send(to, plain(signal))),
                None => real::tgkill(process, thread, signal),
            },
            None => real::tgkill(process, thread, signal),
        }
    }

    fn sigqueue(process: libc::pid_t, signal: c_int, value: libc::sigval) -> c_int {
        sends(signal);
        match to_myself(process, signal) {
            Some(turn) => {
                let letter = Letter { code: libc::SI_QUEUE, value: value.sival_ptr as usize, ..plain(signal) };
                failing(turn.send(Addressee::Anybody, letter))
            }
            None => libc::sigqueue(process, signal, value),
        }
    }

    fn pthread_sigqueue(handle: libc::pthread_t, signal: c_int, value: libc::sigval) -> c_int {
        sends(signal);
        match (to_myself(libc::getpid(), signal), thread(handle)) {
            (Some(turn), Some(to)) => {
                let letter = Letter { code: libc::SI_QUEUE, value: value.sival_ptr as usize, ..plain(signal) };
                turn.send(to, letter)
            }
            _ => real::pthread_sigqueue(handle, signal, value),
        }
    }

    fn pause() -> c_int {
        let Some(turn) = Call::begin().and_then(|call| call.turn()) else {
            return libc::pause();
        };
        turn.await_handler(None);
        failing(libc::EINTR)
    }

    fn sigsuspend(mask: *const libc::sigset_t) -> c_int {
        match (Call::begin().and_then(|call| call.turn()), mask.as_ref()) {
            (Some(turn), Some(mask)) => {
                turn.await_handler(Some(mask));
                failing(libc::EINTR)
            }
            _ => libc::sigsuspend(mask),
        }
    }

    // Waits again after signals that were handled.
    fn sigwait(set: *const libc::sigset_t, signal: *mut c_int) -> c_int {
        while wait(set, None) != 0 {}
        let result = libc::sigwait(set, signal);
        if result == 0 && let Some(call) = Call::begin() {
            call.learns(signals::letters(*signal));
            call.writes(signal, size_of::<c_int>());
        }
        result
    }

    fn sigwaitinfo(set: *const libc::sigset_t, info: *mut libc::siginfo_t) -> c_int {
        match wait(set, None) {
            0 => got(libc::sigwaitinfo(set, info)),
            error => failing(error),
        }
    }

    fn sigtimedwait(
        set: *const libc::sigset_t,
        info: *mut libc::siginfo_t,
        timeout: *const libc::timespec,
    ) -> c_int {
        match wait(set, timeout.as_ref().map(Until::passed)) {
            0 => got(libc::sigtimedwait(set, info, timeout)),
            error => failing(error),
        }
    }

    fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::sigaction(signal, new, old);
        };
        if !new.is_null() {
            sync::post(&Visit::begin(), signals::edge(signal), call.place);
        }
        signals::install(signal, new, old, libc::sigaction)
    }

    fn signal(signal: c_int, handler: Handler) -> Handler {
        set(signal, handler, libc::SA_RESTART)
    }

    fn bsd_signal(signal: c_int, handler: Handler) -> Handler {
        set(signal, handler, libc::SA_RESTART)
    }

    fn sysv_signal(signal: c_int, handler: Handler) -> Handler {
        const SA_ONESHOT_NOMASK: c_int = libc::SA_RESETHAND | libc::SA_NODEFER;
        set(signal, handler, SA_ONESHOT_NOMASK)
    }

    fn __sysv_signal(signal: c_int, handler: Handler) -> Handler {
        sysv_signal(signal, handler)
    }
}
