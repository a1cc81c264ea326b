//! Functions that fill in what the program gives them, and do nothing else that
//! matters here.

use std::ffi::{c_char, c_int};

use super::files::{seeks, with};
use super::{Call, interpose, times};
use crate::control::processor;

type Stat = libc::stat;

mod real {
    use super::Stat;
    use std::ffi::{c_char, c_int};

    unsafe extern "C" {
        pub(super) fn __xstat(version: c_int, path: *const c_char, to: *mut Stat) -> c_int;
        pub(super) fn __lxstat(version: c_int, path: *const c_char, to: *mut Stat) -> c_int;
        pub(super) fn __fxstat(version: c_int, fd: c_int, to: *mut Stat) -> c_int;
        pub(super) fn __fxstatat(
            version: c_int,
            at: c_int,
            path: *const c_char,
            to: *mut Stat,
            flags: c_int,
        ) -> c_int;
        pub(super) fn get_nprocs() -> c_int;
        pub(super) fn getrlimit(what: c_int, to: *mut libc::rlimit) -> c_int;
        pub(super) fn getrusage(who: c_int, to: *mut libc::rusage) -> c_int;
        pub(super) fn __realpath_chk(
            path: *const c_char,
            to: *mut c_char,
            room: usize,
        ) -> *mut c_char;
        pub(super) fn __getcwd_chk(to: *mut c_char, size: usize, room: usize) -> *mut c_char;
        pub(super) fn __readlink_chk(
            path: *const c_char,
            to: *mut c_char,
            size: usize,
            room: usize,
        ) -> isize;
        pub(super) fn strerror_r(error: c_int, to: *mut c_char, room: usize) -> *mut c_char;
        pub(super) fn __xpg_strerror_r(error: c_int, to: *mut c_char, room: usize) -> c_int;
    }
}

/// Writes a result, if the real function succeeds.
fn tells<T>(to: *mut T, result: c_int) -> c_int {
    if result == 0
        && let Some(call) = Call::begin()
    {
        call.writes(to, size_of::<T>());
    }
    result
}

/// Tells something by name.
unsafe fn about<T>(path: *const c_char, to: *mut T, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: what the real function was given.
    tells(to, unsafe { seeks(path, real) })
}

interpose! {
    fn sched_yield() -> c_int {
        match Call::begin().and_then(|call| call.turn()) {
            Some(turn) => {
                turn.give_way();
                0
            }
            None => libc::sched_yield(),
        }
    }

    fn pthread_yield() -> c_int {
        sched_yield()
    }

    fn get_nprocs() -> c_int {
        processor::loosen_me();
        real::get_nprocs()
    }

    fn sched_getaffinity(thread: libc::pid_t, size: usize, to: *mut libc::cpu_set_t) -> c_int {
        match thread {
            0 => processor::loosen_me(),
            _ => processor::leave_to_program(),
        }
        libc::sched_getaffinity(thread, size, to)
    }

    fn pthread_getaffinity_np(thread: libc::pthread_t, size: usize, to: *mut libc::cpu_set_t) -> c_int {
        match thread == libc::pthread_self() {
            true => processor::loosen_me(),
            false => processor::leave_to_program(),
        }
        libc::pthread_getaffinity_np(thread, size, to)
    }

    fn sched_setaffinity(thread: libc::pid_t, size: usize, to: *const libc::cpu_set_t) -> c_int {
        processor::leave_to_program();
        libc::sched_setaffinity(thread, size, to)
    }

    fn pthread_setaffinity_np(thread: libc::pthread_t, size: usize, to: *const libc::cpu_set_t) -> c_int {
        processor::leave_to_program();
        libc::pthread_setaffinity_np(thread, size, to)
    }

    fn pthread_attr_setaffinity_np(attributes: *mut libc::pthread_attr_t, size: usize, to: *const libc::cpu_set_t) -> c_int {
        processor::leave_to_program();
        libc::pthread_attr_setaffinity_np(attributes, size, to)
    }

    fn thrd_yield() {
        sched_yield();
    }

    fn stat(path: *const c_char, to: *mut Stat) -> c_int {
        about(path, to, || libc::stat(path, to))
    }

    fn stat64(path: *const c_char, to: *mut libc::stat64) -> c_int {
        about(path, to, || libc::stat64(path, to))
    }

    fn lstat(path: *const c_char, to: *mut Stat) -> c_int {
        about(path, to, || libc::lstat(path, to))
    }

    fn lstat64(path: *const c_char, to: *mut libc::stat64) -> c_int {
        about(path, to, || libc::lstat64(path, to))
    }

    fn fstat(fd: c_int, to: *mut Stat) -> c_int {
        tells(to, with(fd, || libc::fstat(fd, to)))
    }

    fn fstat64(fd: c_int, to: *mut libc::stat64) -> c_int {
        tells(to, with(fd, || libc::fstat64(fd, to)))
    }

    fn fstatat(at: c_int, path: *const c_char, to: *mut Stat, flags: c_int) -> c_int {
        about(path, to, || libc::fstatat(at, path, to, flags))
    }

    fn fstatat64(at: c_int, path: *const c_char, to: *mut libc::stat64, flags: c_int) -> c_int {
        about(path, to, || libc::fstatat64(at, path, to, flags))
    }

    // Programs from before version 2.33 of the C library have these instead. The
    // two sizes of files are one.
    fn __xstat(version: c_int, path: *const c_char, to: *mut Stat) -> c_int {
        about(path, to, || real::__xstat(version, path, to))
    }

    fn __xstat64(version: c_int, path: *const c_char, to: *mut Stat) -> c_int {
        about(path, to, || real::__xstat(version, path, to))
    }

    fn __lxstat(version: c_int, path: *const c_char, to: *mut Stat) -> c_int {
        about(path, to, || real::__lxstat(version, path, to))
    }

    fn __lxstat64(version: c_int, path: *const c_char, to: *mut Stat) -> c_int {
        about(path, to, || real::__lxstat(version, path, to))
    }

    fn __fxstat(version: c_int, fd: c_int, to: *mut Stat) -> c_int {
        tells(to, with(fd, || real::__fxstat(version, fd, to)))
    }

    fn __fxstat64(version: c_int, fd: c_int, to: *mut Stat) -> c_int {
        tells(to, with(fd, || real::__fxstat(version, fd, to)))
    }

    fn __fxstatat(version: c_int, at: c_int, path: *const c_char, to: *mut Stat, flags: c_int) -> c_int {
        about(path, to, || real::__fxstatat(version, at, path, to, flags))
    }

    fn __fxstatat64(version: c_int, at: c_int, path: *const c_char, to: *mut Stat, flags: c_int) -> c_int {
        about(path, to, || real::__fxstatat(version, at, path, to, flags))
    }

    fn statfs(path: *const c_char, to: *mut libc::statfs) -> c_int {
        about(path, to, || libc::statfs(path, to))
    }

    fn fstatfs(fd: c_int, to: *mut libc::statfs) -> c_int {
        tells(to, with(fd, || libc::fstatfs(fd, to)))
    }

    fn statvfs(path: *const c_char, to: *mut libc::statvfs) -> c_int {
        about(path, to, || libc::statvfs(path, to))
    }

    fn fstatvfs(fd: c_int, to: *mut libc::statvfs) -> c_int {
        tells(to, with(fd, || libc::fstatvfs(fd, to)))
    }

    fn realpath(path: *const c_char, to: *mut c_char) -> *mut c_char {
        resolves(path, || libc::realpath(path, to))
    }

    fn __realpath_chk(path: *const c_char, to: *mut c_char, room: usize) -> *mut c_char {
        resolves(path, || real::__realpath_chk(path, to, room))
    }

    fn getcwd(to: *mut c_char, room: usize) -> *mut c_char {
        resolves(std::ptr::null(), || libc::getcwd(to, room))
    }

    fn __getcwd_chk(to: *mut c_char, size: usize, room: usize) -> *mut c_char {
        resolves(std::ptr::null(), || real::__getcwd_chk(to, size, room))
    }

    fn readlink(path: *const c_char, to: *mut c_char, size: usize) -> isize {
        follows(path, to, || libc::readlink(path, to, size))
    }

    fn __readlink_chk(path: *const c_char, to: *mut c_char, size: usize, room: usize) -> isize {
        follows(path, to, || real::__readlink_chk(path, to, size, room))
    }

    fn readlinkat(at: c_int, path: *const c_char, to: *mut c_char, size: usize) -> isize {
        follows(path, to, || libc::readlinkat(at, path, to, size))
    }

    fn uname(to: *mut libc::utsname) -> c_int {
        tells(to, libc::uname(to))
    }

    fn sysinfo(to: *mut libc::sysinfo) -> c_int {
        tells(to, libc::sysinfo(to))
    }

    fn getrlimit(what: c_int, to: *mut libc::rlimit) -> c_int {
        tells(to, real::getrlimit(what, to))
    }

    fn getrlimit64(what: c_int, to: *mut libc::rlimit) -> c_int {
        tells(to, real::getrlimit(what, to))
    }

    /// What was computed is as long as the program has run, and nothing else was used.
    fn getrusage(who: c_int, to: *mut libc::rusage) -> c_int {
        let result = real::getrusage(who, to);
        if result == 0 && let Some(now) = times::virtually(libc::CLOCK_PROCESS_CPUTIME_ID) {
            let none = std::mem::zeroed::<libc::rusage>();
            let ru_utime = libc::timeval { tv_sec: now.tv_sec, tv_usec: now.tv_nsec / 1000 };
            to.write(match who {
                libc::RUSAGE_CHILDREN => none,
                _ => libc::rusage { ru_utime, ..none },
            });
        }
        tells(to, result)
    }

    fn gethostname(to: *mut c_char, room: usize) -> c_int {
        let result = libc::gethostname(to, room);
        if result == 0 && let Some(call) = Call::begin() {
            call.writes(to, room.min(libc::strnlen(to, room) + 1));
        }
        result
    }

    /// Most texts are not copied: then the room is left alone.
    fn strerror_r(error: c_int, to: *mut c_char, room: usize) -> *mut c_char {
        let Some(call) = Call::begin() else {
            return real::strerror_r(error, to, room);
        };
        let text = real::strerror_r(error, to, room);
        if text == to {
            call.writes_text(to);
        }
        text
    }

    fn __xpg_strerror_r(error: c_int, to: *mut c_char, room: usize) -> c_int {
        let Some(call) = Call::begin() else {
            return real::__xpg_strerror_r(error, to, room);
        };
        let result = real::__xpg_strerror_r(error, to, room);
        if room != 0 {
            call.writes_text(to);
        }
        result
    }

    fn getaddrinfo(
        node: *const c_char,
        service: *const c_char,
        hints: *const libc::addrinfo,
        to: *mut *mut libc::addrinfo,
    ) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::getaddrinfo(node, service, hints, to);
        };
        // Threads share what it finds out, by atomics that nobody sees.
        let result = call.unwatched(|| libc::getaddrinfo(node, service, hints, to));
        call.reads_text(node);
        call.reads_text(service);
        call.reads(hints, size_of::<libc::addrinfo>());
        if result == 0 {
            call.writes(to, size_of::<*mut libc::addrinfo>());
            let mut at = to.read();
            while !at.is_null() {
                call.writes(at, size_of::<libc::addrinfo>());
                call.writes((*at).ai_addr, (*at).ai_addrlen as usize);
                call.writes_text((*at).ai_canonname);
                at = (*at).ai_next;
            }
        }
        result
    }
}

/// Finds a path; the result may be in memory that was allocated for it.
unsafe fn resolves(path: *const c_char, real: impl FnOnce() -> *mut c_char) -> *mut c_char {
    let Some(call) = Call::begin() else {
        return real();
    };
    let result = real();
    if !result.is_null() {
        // SAFETY: both are strings, or null.
        unsafe {
            call.reads_text(path);
            call.writes_text(result);
        }
    }
    result
}

/// Reads what a link says.
unsafe fn follows(path: *const c_char, to: *mut c_char, real: impl FnOnce() -> isize) -> isize {
    let Some(call) = Call::begin() else {
        return real();
    };
    let got = real();
    if got >= 0 {
        // SAFETY: the kernel could read it.
        unsafe { call.reads_text(path) };
        call.writes(to, got as usize);
    }
    got
}
