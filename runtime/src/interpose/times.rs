//! Sleeping: it orders nothing, but programs rely on it; and times told.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::{Call, Errno, interpose};
use crate::control::{self, clock::Until};
use crate::thread::Visit;

type Time = libc::time_t;

mod real {
    use super::Time;
    use std::ffi::{c_char, c_int};

    unsafe extern "C" {
        pub(super) fn thrd_sleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int;
        pub(super) fn asctime_r(time: *const libc::tm, to: *mut c_char) -> *mut c_char;
        pub(super) fn ctime_r(time: *const Time, to: *mut c_char) -> *mut c_char;
        pub(super) fn ftime(to: *mut super::TimeOfDay) -> c_int;
        pub(super) fn clock() -> libc::clock_t;
        pub(super) fn timespec_get(to: *mut libc::timespec, base: c_int) -> c_int;
    }
}

/// Sleeps. What others have done by the end of it looks ordered before what
/// follows, and a report should say that it is not.
fn sleeps<R>(real: impl FnOnce(&Call) -> R, otherwise: impl FnOnce() -> R) -> R {
    let Some(call) = Call::begin() else {
        return otherwise();
    };
    {
        let _errno = Errno::keep();
        Visit::begin().thread().sleeps(call.place);
    }
    real(&call)
}

/// Sleeps for some time, or until a moment, if the thread is under control: how
/// many nanoseconds are left because a signal came.
fn controlled(call: &Call, until: Until) -> Option<u64> {
    call.turn().map(|turn| turn.sleep(until))
}

/// The same for a function that tells the rest. Null is no place for it.
unsafe fn telling(call: &Call, until: Until, rest: *mut libc::timespec) -> Option<bool> {
    let left = controlled(call, until)?;
    if left != 0 && !rest.is_null() {
        // SAFETY: the caller's place.
        unsafe {
            rest.write(libc::timespec {
                tv_sec: (left / SECOND) as i64,
                tv_nsec: (left % SECOND) as i64,
            });
        }
        call.writes(rest, size_of::<libc::timespec>());
    }
    Some(left == 0)
}

const SECOND: u64 = 1_000_000_000;

/// Ticks of `times` in a second.
const TICKS: i64 = 100;

/// What `ftime` tells.
#[repr(C)]
pub struct TimeOfDay {
    seconds: Time,
    milliseconds: u16,
    zone: i16,
    summer: i16,
}

/// A signal has ended the call.
fn interrupted() -> c_int {
    // SAFETY: our own.
    unsafe { *libc::__errno_location() = libc::EINTR };
    -1
}

/// What a clock shows, if the thread is under control.
pub(super) fn virtually(clock: libc::clockid_t) -> Option<libc::timespec> {
    if !control::is_on() {
        return None;
    }
    Call::begin()?.turn()?.look_at_clock(clock)
}

/// Writes a result of that size, if the real function succeeds.
fn tells<T>(to: *mut T, succeeded: bool) {
    if succeeded
        && !to.is_null()
        && let Some(call) = Call::begin()
    {
        call.writes(to, size_of::<T>());
    }
}

/// Converts one form of time to another. The C library may read about the time zone, and
/// calls functions of its own for that, as a program does: so the call begins before.
fn converts<A, B>(from: *const A, real: impl FnOnce() -> *mut B) -> *mut B {
    let call = Call::begin();
    let to = real();
    if let Some(call) = call
        && !to.is_null()
    {
        call.reads(from, size_of::<A>());
        call.writes(to, size_of::<B>());
    }
    to
}

interpose! {
    fn sleep(seconds: c_uint) -> c_uint {
        let real = |call: &Call| match controlled(call, Until::Passed(u64::from(seconds) * SECOND)) {
            Some(left) => left.div_ceil(SECOND) as c_uint,
            None => libc::sleep(seconds),
        };
        sleeps(real, || libc::sleep(seconds))
    }

    fn usleep(microseconds: c_uint) -> c_int {
        let real = |call: &Call| match controlled(call, Until::Passed(u64::from(microseconds) * 1000)) {
            Some(0) => 0,
            Some(_) => interrupted(),
            None => libc::usleep(microseconds),
        };
        sleeps(real, || libc::usleep(microseconds))
    }

    fn nanosleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int {
        let real = |call: &Call| {
            call.reads(time, size_of::<libc::timespec>());
            if let Some(time) = time.as_ref()
                && let Some(slept) = telling(call, Until::passed(time), left)
            {
                return match slept {
                    true => 0,
                    false => interrupted(),
                };
            }
            let result = libc::nanosleep(time, left);
            if result != 0 && Errno::now() == libc::EINTR {
                call.writes(left, size_of::<libc::timespec>());
            }
            result
        };
        sleeps(real, || libc::nanosleep(time, left))
    }

    fn clock_nanosleep(
        clock: libc::clockid_t,
        flags: c_int,
        time: *const libc::timespec,
        left: *mut libc::timespec,
    ) -> c_int {
        let real = |call: &Call| {
            call.reads(time, size_of::<libc::timespec>());
            if let Some(&time) = time.as_ref() {
                let slept = match flags & libc::TIMER_ABSTIME {
                    0 => telling(call, Until::passed(&time), left),
                    _ => telling(call, Until::Shows(clock, time), std::ptr::null_mut()),
                };
                if let Some(slept) = slept {
                    return match slept {
                        true => 0,
                        false => libc::EINTR,
                    };
                }
            }
            let result = libc::clock_nanosleep(clock, flags, time, left);
            if result == libc::EINTR && flags & libc::TIMER_ABSTIME == 0 {
                call.writes(left, size_of::<libc::timespec>());
            }
            result
        };
        sleeps(real, || libc::clock_nanosleep(clock, flags, time, left))
    }

    fn thrd_sleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int {
        let real = |call: &Call| {
            call.reads(time, size_of::<libc::timespec>());
            if let Some(time) = time.as_ref()
                && let Some(slept) = telling(call, Until::passed(time), left)
            {
                return match slept {
                    true => 0,
                    false => -1,
                };
            }
            let result = real::thrd_sleep(time, left);
            if result == -1 {
                call.writes(left, size_of::<libc::timespec>());
            }
            result
        };
        sleeps(real, || real::thrd_sleep(time, left))
    }

    fn time(to: *mut Time) -> Time {
        let now = match virtually(libc::CLOCK_REALTIME) {
            None => libc::time(to),
            Some(now) => {
                if !to.is_null() {
                    to.write(now.tv_sec);
                }
                now.tv_sec
            }
        };
        tells(to, true);
        now
    }

    fn gettimeofday(to: *mut libc::timeval, zone: *mut c_void) -> c_int {
        let result = match virtually(libc::CLOCK_REALTIME) {
            Some(now) if !to.is_null() => {
                to.write(libc::timeval { tv_sec: now.tv_sec, tv_usec: now.tv_nsec / 1000 });
                0
            }
            _ => libc::gettimeofday(to, zone.cast()),
        };
        tells(to, result == 0);
        result
    }

    fn clock_gettime(clock: libc::clockid_t, to: *mut libc::timespec) -> c_int {
        let result = match virtually(clock) {
            Some(now) if !to.is_null() => {
                to.write(now);
                0
            }
            _ => libc::clock_gettime(clock, to),
        };
        tells(to, result == 0);
        result
    }

    fn clock_getres(clock: libc::clockid_t, to: *mut libc::timespec) -> c_int {
        let result = libc::clock_getres(clock, to);
        tells(to, result == 0);
        result
    }

    fn timespec_get(to: *mut libc::timespec, base: c_int) -> c_int {
        const TIME_UTC: c_int = 1;
        let result = match virtually(libc::CLOCK_REALTIME) {
            Some(now) if base == TIME_UTC && !to.is_null() => {
                to.write(now);
                base
            }
            _ => real::timespec_get(to, base),
        };
        tells(to, result != 0);
        result
    }

    fn ftime(to: *mut TimeOfDay) -> c_int {
        let result = match virtually(libc::CLOCK_REALTIME) {
            Some(now) if !to.is_null() => {
                to.write(TimeOfDay {
                    seconds: now.tv_sec,
                    milliseconds: (now.tv_nsec / 1_000_000) as u16,
                    zone: 0,
                    summer: 0,
                });
                0
            }
            _ => real::ftime(to),
        };
        tells(to, result == 0);
        result
    }

    // What a program has computed is as long as it has run, and the system does
    // nothing for it.
    fn times(to: *mut libc::tms) -> libc::clock_t {
        let result = match virtually(libc::CLOCK_MONOTONIC) {
            Some(now) => {
                let ticks = now.tv_sec * TICKS + now.tv_nsec / (SECOND as i64 / TICKS);
                if !to.is_null() {
                    let none = std::mem::zeroed();
                    to.write(libc::tms { tms_utime: ticks, ..none });
                }
                ticks
            }
            None => libc::times(to),
        };
        tells(to, result != -1);
        result
    }

    fn clock() -> libc::clock_t {
        match virtually(libc::CLOCK_PROCESS_CPUTIME_ID) {
            Some(now) => now.tv_sec * 1_000_000 + now.tv_nsec / 1000,
            None => real::clock(),
        }
    }

    fn localtime_r(time: *const Time, to: *mut libc::tm) -> *mut libc::tm {
        converts(time, || libc::localtime_r(time, to))
    }

    fn gmtime_r(time: *const Time, to: *mut libc::tm) -> *mut libc::tm {
        converts(time, || libc::gmtime_r(time, to))
    }

    // The results of these are in memory of the C library that all threads share:
    // who is given it reads it, and every call writes it.
    fn localtime(time: *const Time) -> *mut libc::tm {
        converts(time, || libc::localtime(time))
    }

    fn gmtime(time: *const Time) -> *mut libc::tm {
        converts(time, || libc::gmtime(time))
    }

    fn mktime(time: *mut libc::tm) -> Time {
        let call = Call::begin();
        let result = libc::mktime(time);
        if result != -1 && let Some(call) = call {
            call.writes(time, size_of::<libc::tm>());
        }
        result
    }

    fn ctime_r(time: *const Time, to: *mut c_char) -> *mut c_char {
        let call = Call::begin();
        let result = real::ctime_r(time, to);
        if let Some(call) = call {
            call.reads(time, size_of::<Time>());
            call.writes_text(result);
        }
        result
    }

    fn asctime_r(time: *const libc::tm, to: *mut c_char) -> *mut c_char {
        let result = real::asctime_r(time, to);
        if let Some(call) = Call::begin() {
            call.reads(time, size_of::<libc::tm>());
            call.writes_text(result);
        }
        result
    }

    fn strftime(to: *mut c_char, room: usize, format: *const c_char, time: *const libc::tm) -> usize {
        let call = Call::begin();
        let length = libc::strftime(to, room, format, time);
        if let Some(call) = call {
            call.reads_text(format);
            call.reads(time, size_of::<libc::tm>());
            if length > 0 {
                call.writes(to, length + 1);
            }
        }
        length
    }
}
