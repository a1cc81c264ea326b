//! Timers: they tell by signals or by descriptors that time has passed. Under
//! control it is virtual time, see [`timers`](crate::control::timers).
//!
//! Timers that call a function in a thread of their own are left as they are: the C
//! library makes that thread where nobody sees it. A run with one says so.

use std::ffi::{c_int, c_uint};

use rustc_hash::FxHashMap;

use super::files::{makes, with};
use super::{Call, callbacks, descriptors, interpose};
use crate::control::clock::Until;
use crate::control::signalling::{Addressee, Letter};
use crate::control::timers::{Key, Notice, Times};
use crate::control::{Turn, doubt};
use crate::spin::Locked;
use crate::thread::Visit;

const SECOND: u64 = 1_000_000_000;

mod real {
    use std::ffi::{c_int, c_uint};

    unsafe extern "C" {
        pub(super) fn ualarm(first: c_uint, every: c_uint) -> c_uint;
        pub(super) fn timer_getoverrun(timer: libc::timer_t) -> c_int;
    }
}

fn timeval(nanoseconds: u64) -> libc::timeval {
    libc::timeval {
        tv_sec: (nanoseconds / SECOND) as i64,
        tv_usec: (nanoseconds % SECOND / 1000) as i64,
    }
}

fn timespec(nanoseconds: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanoseconds / SECOND) as i64,
        tv_nsec: (nanoseconds % SECOND) as i64,
    }
}

fn of_timeval(time: &libc::timeval) -> u64 {
    time.tv_sec as u64 * SECOND + time.tv_usec as u64 * 1000
}

fn of_timespec(time: &libc::timespec) -> u64 {
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

fn in_timevals(times: Times) -> libc::itimerval {
    libc::itimerval {
        it_value: timeval(times.left),
        it_interval: timeval(times.every),
    }
}

fn in_timespecs(times: Times) -> libc::itimerspec {
    libc::itimerspec {
        it_value: timespec(times.left),
        it_interval: timespec(times.every),
    }
}

/// What one of the three timers of a process does; none if there is no such.
fn interval(which: c_int) -> Option<(Key, Notice)> {
    let signal = match which {
        libc::ITIMER_REAL => libc::SIGALRM,
        libc::ITIMER_VIRTUAL => libc::SIGVTALRM,
        libc::ITIMER_PROF => libc::SIGPROF,
        _ => return None,
    };
    const SI_KERNEL: c_int = 0x80;
    let letter = Letter {
        signal,
        code: SI_KERNEL,
        value: 0,
    };
    let notice = Notice::Signal(Addressee::Anybody, letter);
    Some((Key::Interval(which), notice))
}

/// Sets the alarm; what was left of it.
fn alarm_after(turn: &Turn, first: u64, every: u64) -> u64 {
    let (key, notice) = interval(libc::ITIMER_REAL).expect("there is one");
    let until = (first != 0).then_some(Until::Passed(first));
    turn.set_timer(key, until, every, notice).left
}

fn turn() -> Option<Turn> {
    Call::begin()?.turn()
}

/// A timer that was made: the clock it goes by, and what it does.
#[derive(Clone, Copy)]
struct Made {
    clock: libc::clockid_t,
    notice: Notice,
}

/// Those that are ours, by their numbers.
static MADE: Locked<Option<FxHashMap<usize, Made>>> = Locked::new(None);

fn made(timer: libc::timer_t) -> Option<Made> {
    let _visit = Visit::begin();
    MADE.lock().as_ref()?.get(&(timer as usize)).copied()
}

/// What a timer is to do; none if it is not for us to do.
fn notice(turn: &Turn, event: Option<&libc::sigevent>, timer: libc::timer_t) -> Option<Notice> {
    let letter = |signal, value| Letter {
        signal,
        code: libc::SI_TIMER,
        value,
    };
    let Some(event) = event else {
        let letter = letter(libc::SIGALRM, timer as usize);
        return Some(Notice::Signal(Addressee::Anybody, letter));
    };
    let letter = letter(event.sigev_signo, event.sigev_value.sival_ptr as usize);
    match event.sigev_notify {
        libc::SIGEV_NONE => Some(Notice::Nothing),
        libc::SIGEV_SIGNAL => Some(Notice::Signal(Addressee::Anybody, letter)),
        libc::SIGEV_THREAD_ID => {
            let to = turn.by_os_id(event.sigev_notify_thread_id)?;
            Some(Notice::Signal(to, letter))
        }
        _ => {
            let what = "calls a function in a thread that is not under control";
            doubt::tell("a timer", what);
            None
        }
    }
}

/// When a timer is to go off first; none if never.
fn first(clock: c_int, absolute: bool, times: &libc::itimerspec) -> Option<Until> {
    match (of_timespec(&times.it_value), absolute) {
        (0, _) => None,
        (_, true) => Some(Until::Shows(clock, times.it_value)),
        (left, false) => Some(Until::Passed(left)),
    }
}

/// What timers call, by their numbers: who sets one hands on what it knows to the
/// function.
static CALLBACKS: Locked<Option<FxHashMap<usize, usize>>> = Locked::new(None);

/// The timer's function will know what the thread knows.
fn tell_callback(call: &Call, timer: libc::timer_t) {
    let callback = {
        let _visit = Visit::begin();
        CALLBACKS
            .lock()
            .as_ref()
            .and_then(|all| all.get(&(timer as usize)).copied())
    };
    if let Some(at) = callback {
        call.hands_on(at);
    }
}

/// Clocks of descriptors that are timers.
static CLOCKS: Locked<Option<FxHashMap<c_int, c_int>>> = Locked::new(None);

interpose! {
    fn alarm(seconds: c_uint) -> c_uint {
        match turn() {
            Some(turn) => alarm_after(&turn, u64::from(seconds) * SECOND, 0).div_ceil(SECOND) as c_uint,
            None => libc::alarm(seconds),
        }
    }

    fn ualarm(microseconds: c_uint, every: c_uint) -> c_uint {
        match turn() {
            Some(turn) => {
                let left = alarm_after(&turn, u64::from(microseconds) * 1000, u64::from(every) * 1000);
                left.div_ceil(1000) as c_uint
            }
            None => real::ualarm(microseconds, every),
        }
    }

    fn getitimer(which: c_int, to: *mut libc::itimerval) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::getitimer(which as _, to);
        };
        let result = match (call.turn(), interval(which)) {
            (Some(turn), Some((key, _))) if !to.is_null() => {
                to.write(in_timevals(turn.timer(key)));
                0
            }
            _ => libc::getitimer(which as _, to),
        };
        if result == 0 {
            call.writes(to, size_of::<libc::itimerval>());
        }
        result
    }

    fn setitimer(which: c_int, new: *const libc::itimerval, old: *mut libc::itimerval) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::setitimer(which as _, new, old);
        };
        call.reads(new, size_of::<libc::itimerval>());
        let result = match (call.turn(), interval(which), new.as_ref()) {
            (Some(turn), Some((key, notice)), Some(new)) => {
                let left = of_timeval(&new.it_value);
                let until = (left != 0).then_some(Until::Passed(left));
                let before = turn.set_timer(key, until, of_timeval(&new.it_interval), notice);
                if !old.is_null() {
                    old.write(in_timevals(before));
                }
                0
            }
            _ => libc::setitimer(which as _, new, old),
        };
        if result == 0 && !old.is_null() {
            call.writes(old, size_of::<libc::itimerval>());
        }
        result
    }

    // The number is the kernel's, whose timer is never set.
    fn timer_create(clock: libc::clockid_t, event: *mut libc::sigevent, timer: *mut libc::timer_t) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::timer_create(clock, event, timer);
        };
        let mut around = callbacks::around(event, None);
        let asked = around.as_mut().map_or(event, |(around, _)| &raw mut *around);
        let result = libc::timer_create(clock, asked, timer);
        if result != 0 {
            return result;
        }
        call.writes(timer, size_of::<libc::timer_t>());
        if let Some((_, at)) = around {
            {
                let _visit = Visit::begin();
                CALLBACKS.lock().get_or_insert_default().insert(*timer as usize, at);
            }
            tell_callback(&call, *timer);
        }
        if let Some(turn) = call.turn()
            && let Some(notice) = notice(&turn, event.as_ref(), *timer)
        {
            let _visit = Visit::begin();
            let made = Made { clock, notice };
            MADE.lock().get_or_insert_default().insert(*timer as usize, made);
        }
        result
    }

    fn timer_settime(
        timer: libc::timer_t,
        flags: c_int,
        new: *const libc::itimerspec,
        old: *mut libc::itimerspec,
    ) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::timer_settime(timer, flags, new, old);
        };
        call.reads(new, size_of::<libc::itimerspec>());
        tell_callback(&call, timer);
        let result = match (call.turn(), made(timer), new.as_ref()) {
            (Some(turn), Some(Made { clock, notice }), Some(new)) => {
                let until = first(clock, flags & libc::TIMER_ABSTIME != 0, new);
                let every = of_timespec(&new.it_interval);
                let before = turn.set_timer(Key::Made(timer as usize), until, every, notice);
                if !old.is_null() {
                    old.write(in_timespecs(before));
                }
                0
            }
            _ => libc::timer_settime(timer, flags, new, old),
        };
        if result == 0 && !old.is_null() {
            call.writes(old, size_of::<libc::itimerspec>());
        }
        result
    }

    fn timer_gettime(timer: libc::timer_t, to: *mut libc::itimerspec) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::timer_gettime(timer, to);
        };
        let result = match (call.turn(), made(timer)) {
            (Some(turn), Some(_)) if !to.is_null() => {
                to.write(in_timespecs(turn.timer(Key::Made(timer as usize))));
                0
            }
            _ => libc::timer_gettime(timer, to),
        };
        if result == 0 {
            call.writes(to, size_of::<libc::itimerspec>());
        }
        result
    }

    // A timer that is late goes off once.
    fn timer_getoverrun(timer: libc::timer_t) -> c_int {
        match made(timer) {
            Some(_) => 0,
            None => real::timer_getoverrun(timer),
        }
    }

    fn timer_delete(timer: libc::timer_t) -> c_int {
        if made(timer).is_some() && let Some(turn) = turn() {
            turn.set_timer(Key::Made(timer as usize), None, 0, Notice::Nothing);
            let _visit = Visit::begin();
            if let Some(made) = MADE.lock().as_mut() {
                made.remove(&(timer as usize));
            }
        }
        let result = libc::timer_delete(timer);
        if result == 0 && Call::begin().is_some() {
            let _visit = Visit::begin();
            if let Some(callbacks) = CALLBACKS.lock().as_mut() {
                callbacks.remove(&(timer as usize));
            }
        }
        result
    }

    fn timerfd_create(clock: c_int, flags: c_int) -> c_int {
        let fd = makes(|| libc::timerfd_create(clock, flags));
        if fd >= 0 && Call::begin().is_some() {
            let _visit = Visit::begin();
            CLOCKS.lock().get_or_insert_default().insert(fd, clock);
            // It goes off in virtual time, and nobody else has a say in that.
            descriptors::is_its_own_end(fd);
        }
        fd
    }

    fn timerfd_settime(
        fd: c_int,
        flags: c_int,
        new: *const libc::itimerspec,
        old: *mut libc::itimerspec,
    ) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::timerfd_settime(fd, flags, new, old);
        };
        call.reads(new, size_of::<libc::itimerspec>());
        let clock = {
            let _visit = Visit::begin();
            CLOCKS.lock().as_ref().and_then(|clocks| clocks.get(&fd).copied())
        };
        let result = match (call.turn(), new.as_ref(), clock) {
            (Some(turn), Some(new), Some(clock)) => {
                let until = first(clock, flags & libc::TFD_TIMER_ABSTIME != 0, new);
                let every = of_timespec(&new.it_interval);
                let before = turn.set_timer(Key::Descriptor(fd), until, every, Notice::Ready(fd));
                if !old.is_null() {
                    old.write(in_timespecs(before));
                }
                // Nothing is left to be read of the time before.
                let never = std::mem::zeroed();
                descriptors::puts(&call, fd, || {
                    libc::timerfd_settime(fd, 0, &raw const never, std::ptr::null_mut())
                })
            }
            _ => descriptors::puts(&call, fd, || libc::timerfd_settime(fd, flags, new, old)),
        };
        if result == 0 && !old.is_null() {
            call.writes(old, size_of::<libc::itimerspec>());
        }
        result
    }

    fn timerfd_gettime(fd: c_int, to: *mut libc::itimerspec) -> c_int {
        let Some(turn) = turn().filter(|_| !to.is_null()) else {
            return with(fd, || libc::timerfd_gettime(fd, to));
        };
        to.write(in_timespecs(turn.timer(Key::Descriptor(fd))));
        0
    }
}
