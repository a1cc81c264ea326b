//! Files, pipes and event counters: what makes descriptors, copies them and closes them,
//! names of files, and locks on them.
//!
//! Paths are looked at after the real function, when they have proved to be strings.

use std::ffi::{c_char, c_int, c_uint};

use super::descriptors::{self, Outcome, opened, puts, uses};
use super::{Call, Errno, interpose, randomness};
use crate::control::signalling;

mod real {
    use std::ffi::{c_char, c_int, c_uint};

    unsafe extern "C" {
        pub(super) fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int;
        pub(super) fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int;
        pub(super) fn openat(at: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int;
        pub(super) fn openat64(at: c_int, path: *const c_char, flags: c_int, mode: c_uint)
        -> c_int;
        pub(super) fn __open_2(path: *const c_char, flags: c_int) -> c_int;
        pub(super) fn __open64_2(path: *const c_char, flags: c_int) -> c_int;
        pub(super) fn __openat_2(at: c_int, path: *const c_char, flags: c_int) -> c_int;
        pub(super) fn __openat64_2(at: c_int, path: *const c_char, flags: c_int) -> c_int;
        pub(super) fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int;
        pub(super) fn closefrom(first: c_int);
        pub(super) fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int;
        pub(super) fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int;
        pub(super) fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
        pub(super) fn mkostemp(template: *mut c_char, flags: c_int) -> c_int;
        pub(super) fn mkstemps(template: *mut c_char, suffix: c_int) -> c_int;
        pub(super) fn mkostemps(template: *mut c_char, suffix: c_int, flags: c_int) -> c_int;
        pub(super) fn creat64(path: *const c_char, mode: c_uint) -> c_int;
        pub(super) fn renameat2(
            old_at: c_int,
            old: *const c_char,
            new_at: c_int,
            new: *const c_char,
            flags: c_uint,
        ) -> c_int;
    }
}

/// Looks at a path that the real function has used.
unsafe fn path_used(call: &Call, path: *const c_char, result: c_int) {
    if result >= 0 || Errno::now() != libc::EFAULT {
        // SAFETY: the kernel could read it.
        unsafe { call.reads_text(path) };
    }
}

/// Whether to open a file by a name makes the name: there is none yet.
pub(super) unsafe fn makes_name(at: c_int, path: *const c_char, flags: c_int) -> bool {
    let _errno = Errno::keep();
    // SAFETY: asks about the program's string, which the kernel is to read anyway.
    flags & libc::O_CREAT != 0
        && unsafe { libc::faccessat(at, path, libc::F_OK, 0) } != 0
        && Errno::now() == libc::ENOENT
}

/// Makes a descriptor from a path.
unsafe fn opens(
    path: *const c_char,
    is_new: impl FnOnce() -> bool,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    call.uses_names();
    descriptors::name_opened(&call, is_new);
    let fd = real();
    // SAFETY: what the real function was given.
    unsafe { path_used(&call, path, fd) };
    if fd >= 0 {
        opened(&call, fd);
        // SAFETY: as above.
        unsafe { randomness::opened(&call, path, fd) };
    }
    // Not to find a file is to learn something too.
    descriptors::name_sought(&call);
    fd
}

/// Makes a descriptor from nothing.
pub(super) fn makes(real: impl FnOnce() -> c_int) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    let fd = real();
    if fd >= 0 {
        opened(&call, fd);
    }
    fd
}

/// Makes a descriptor with a file whose name was made up.
unsafe fn makes_file(template: *mut c_char, real: impl FnOnce() -> c_int) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    let fd = real();
    if fd >= 0 {
        // SAFETY: a string, in which the name is now.
        unsafe { call.writes_text(template) };
        opened(&call, fd);
    }
    fd
}

/// Makes two descriptors with one channel.
pub(super) unsafe fn makes_pair(fds: *mut c_int, real: impl FnOnce() -> c_int) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    let result = real();
    if result == 0 {
        // SAFETY: the real function has written two.
        descriptors::opened_pair(&call, unsafe { [fds.read(), fds.add(1).read()] });
        call.writes(fds, 2 * size_of::<c_int>());
    }
    result
}

/// Does something with a descriptor, in a call of its own.
pub(super) fn with<R: Outcome>(fd: c_int, real: impl FnOnce() -> R) -> R {
    match Call::begin() {
        Some(call) => uses(&call, fd, real),
        None => real(),
    }
}

/// Changes names of files.
unsafe fn renames(paths: [*const c_char; 2], real: impl FnOnce() -> c_int) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    call.uses_names();
    descriptors::names_change(&call);
    let result = real();
    for path in paths {
        // SAFETY: what the real function was given.
        unsafe { path_used(&call, path, result) };
    }
    // Where a name is there already, or still, others have been at work.
    descriptors::name_sought(&call);
    result
}

/// Asks for something by name.
pub(super) unsafe fn seeks(path: *const c_char, real: impl FnOnce() -> c_int) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    call.uses_names();
    let result = real();
    // SAFETY: what the real function was given.
    unsafe { path_used(&call, path, result) };
    descriptors::name_sought(&call);
    result
}

/// Whether a file could not be locked because somebody has locked it.
fn is_locked(error: c_int) -> bool {
    [libc::EWOULDBLOCK, libc::EAGAIN, libc::EACCES].contains(&error)
}

/// Does something that others may wait for.
fn changes<R>(call: &Call, real: impl FnOnce() -> R) -> R {
    if let Some(turn) = call.turn() {
        turn.touch();
    }
    real()
}

/// Commands to a descriptor: some copy it, some lock.
fn controls(fd: c_int, command: c_int, real: impl Fn(c_int) -> c_int) -> c_int {
    let Some(call) = Call::begin() else {
        return real(command);
    };
    let locks = |attempt: Option<c_int>| {
        let result = puts(&call, fd, || match attempt {
            Some(attempt) => call.persists(|| real(attempt), is_locked, || real(command)),
            None => changes(&call, || real(command)),
        });
        // A lock and its end look alike from here: each learns and hands on.
        if result >= 0 {
            descriptors::learns(&call, fd);
        }
        result
    };
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {
            let new = uses(&call, fd, || real(command));
            if new >= 0 {
                descriptors::copied(&call, fd, new);
            }
            new
        }
        libc::F_SETLK | libc::F_OFD_SETLK => locks(None),
        libc::F_SETLKW => locks(Some(libc::F_SETLK)),
        libc::F_OFD_SETLKW => locks(Some(libc::F_OFD_SETLK)),
        _ => uses(&call, fd, || real(command)),
    }
}

interpose! {
    // The mode is there only if a file may be made; otherwise it is whatever was
    // in the register, as for the real function.
    fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
        opens(path, || makes_name(libc::AT_FDCWD, path, flags), || real::open(path, flags, mode))
    }

    fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
        opens(path, || makes_name(libc::AT_FDCWD, path, flags), || real::open64(path, flags, mode))
    }

    fn __open_2(path: *const c_char, flags: c_int) -> c_int {
        opens(path, || makes_name(libc::AT_FDCWD, path, flags), || real::__open_2(path, flags))
    }

    fn __open64_2(path: *const c_char, flags: c_int) -> c_int {
        opens(path, || makes_name(libc::AT_FDCWD, path, flags), || real::__open64_2(path, flags))
    }

    fn openat(at: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
        opens(path, || makes_name(at, path, flags), || real::openat(at, path, flags, mode))
    }

    fn openat64(at: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
        opens(path, || makes_name(at, path, flags), || real::openat64(at, path, flags, mode))
    }

    fn __openat_2(at: c_int, path: *const c_char, flags: c_int) -> c_int {
        opens(path, || makes_name(at, path, flags), || real::__openat_2(at, path, flags))
    }

    fn __openat64_2(at: c_int, path: *const c_char, flags: c_int) -> c_int {
        opens(path, || makes_name(at, path, flags), || real::__openat64_2(at, path, flags))
    }

    fn creat(path: *const c_char, mode: c_uint) -> c_int {
        opens(path, || makes_name(libc::AT_FDCWD, path, libc::O_CREAT), || libc::creat(path, mode))
    }

    fn creat64(path: *const c_char, mode: c_uint) -> c_int {
        opens(path, || makes_name(libc::AT_FDCWD, path, libc::O_CREAT), || real::creat64(path, mode))
    }

    fn shm_open(name: *const c_char, flags: c_int, mode: c_uint) -> c_int {
        opens(name, || flags & libc::O_CREAT != 0, || libc::shm_open(name, flags, mode))
    }

    fn mkstemp(template: *mut c_char) -> c_int {
        makes_file(template, || libc::mkstemp(template))
    }

    fn mkstemp64(template: *mut c_char) -> c_int {
        makes_file(template, || libc::mkstemp(template))
    }

    fn mkostemp(template: *mut c_char, flags: c_int) -> c_int {
        makes_file(template, || real::mkostemp(template, flags))
    }

    fn mkostemp64(template: *mut c_char, flags: c_int) -> c_int {
        makes_file(template, || real::mkostemp(template, flags))
    }

    fn mkstemps(template: *mut c_char, suffix: c_int) -> c_int {
        makes_file(template, || real::mkstemps(template, suffix))
    }

    fn mkstemps64(template: *mut c_char, suffix: c_int) -> c_int {
        makes_file(template, || real::mkstemps(template, suffix))
    }

    fn mkostemps(template: *mut c_char, suffix: c_int, flags: c_int) -> c_int {
        makes_file(template, || real::mkostemps(template, suffix, flags))
    }

    fn mkostemps64(template: *mut c_char, suffix: c_int, flags: c_int) -> c_int {
        makes_file(template, || real::mkostemps(template, suffix, flags))
    }

    fn memfd_create(name: *const c_char, flags: c_uint) -> c_int {
        opens(name, || false, || real::memfd_create(name, flags))
    }

    fn close(fd: c_int) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::close(fd);
        };
        descriptors::closes(&call, fd, || libc::close(fd))
    }

    fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
        const CLOEXEC: c_int = 4;
        if flags & CLOEXEC == 0 && first <= last && let Some(call) = Call::begin() {
            descriptors::closing_range(&call, first, last);
        }
        real::close_range(first, last, flags)
    }

    fn closefrom(first: c_int) {
        if let Some(call) = Call::begin() {
            descriptors::closing_range(&call, first.max(0) as u32, u32::MAX);
        }
        real::closefrom(first);
    }

    fn dup(from: c_int) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::dup(from);
        };
        let to = uses(&call, from, || libc::dup(from));
        if to >= 0 {
            descriptors::copied(&call, from, to);
        }
        to
    }

    fn dup2(from: c_int, to: c_int) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::dup2(from, to);
        };
        let result = uses(&call, from, || libc::dup2(from, to));
        if result >= 0 {
            descriptors::replaced(&call, from, to);
        }
        result
    }

    fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::dup3(from, to, flags);
        };
        let result = uses(&call, from, || libc::dup3(from, to, flags));
        if result >= 0 {
            descriptors::replaced(&call, from, to);
        }
        result
    }

    fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int {
        controls(fd, command, |command| real::fcntl(fd, command, argument))
    }

    fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int {
        controls(fd, command, |command| real::fcntl64(fd, command, argument))
    }

    fn pipe(fds: *mut c_int) -> c_int {
        makes_pair(fds, || libc::pipe(fds))
    }

    fn pipe2(fds: *mut c_int, flags: c_int) -> c_int {
        makes_pair(fds, || libc::pipe2(fds, flags))
    }

    fn eventfd(count: c_uint, flags: c_int) -> c_int {
        let fd = makes(|| libc::eventfd(count, flags));
        descriptors::is_its_own_end(fd);
        fd
    }

    fn signalfd(fd: c_int, mask: *const libc::sigset_t, flags: c_int) -> c_int {
        let result = match fd {
            -1 => makes(|| libc::signalfd(fd, mask, flags)),
            fd => with(fd, || libc::signalfd(fd, mask, flags)),
        };
        if result >= 0 {
            descriptors::tells_of_signals(result, signalling::set(&*mask));
        }
        result
    }

    fn inotify_init() -> c_int {
        descriptors::tells_of_names(makes(|| libc::inotify_init()))
    }

    fn inotify_init1(flags: c_int) -> c_int {
        descriptors::tells_of_names(makes(|| libc::inotify_init1(flags)))
    }

    fn inotify_add_watch(fd: c_int, path: *const c_char, mask: u32) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::inotify_add_watch(fd, path, mask);
        };
        let result = puts(&call, fd, || libc::inotify_add_watch(fd, path, mask));
        path_used(&call, path, result);
        result
    }

    fn lseek(fd: c_int, offset: i64, from: c_int) -> i64 {
        with(fd, || libc::lseek(fd, offset, from) as isize) as i64
    }

    fn lseek64(fd: c_int, offset: i64, from: c_int) -> i64 {
        with(fd, || libc::lseek64(fd, offset, from) as isize) as i64
    }

    fn ftruncate(fd: c_int, size: i64) -> c_int {
        with(fd, || libc::ftruncate(fd, size))
    }

    fn ftruncate64(fd: c_int, size: i64) -> c_int {
        with(fd, || libc::ftruncate64(fd, size))
    }

    fn fsync(fd: c_int) -> c_int {
        with(fd, || libc::fsync(fd))
    }

    fn fdatasync(fd: c_int) -> c_int {
        with(fd, || libc::fdatasync(fd))
    }

    // To unlock is to hand on, to lock is to learn; what locks for reading hands
    // on as well, to a writer.
    fn flock(fd: c_int, what: c_int) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::flock(fd, what);
        };
        let result = puts(&call, fd, || match what & (libc::LOCK_UN | libc::LOCK_NB) {
            0 => call.persists(|| libc::flock(fd, what | libc::LOCK_NB), is_locked, || libc::flock(fd, what)),
            _ => changes(&call, || libc::flock(fd, what)),
        });
        if result == 0 && what & libc::LOCK_UN == 0 {
            descriptors::learns(&call, fd);
        }
        result
    }

    fn lockf(fd: c_int, what: c_int, size: i64) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::lockf(fd, what, size);
        };
        let result = puts(&call, fd, || match what {
            libc::F_LOCK => {
                let attempt = || libc::lockf(fd, libc::F_TLOCK, size);
                call.persists(attempt, is_locked, || libc::lockf(fd, what, size))
            }
            _ => changes(&call, || libc::lockf(fd, what, size)),
        });
        if result == 0 && what != libc::F_ULOCK {
            descriptors::learns(&call, fd);
        }
        result
    }

    fn unlink(path: *const c_char) -> c_int {
        renames([path, std::ptr::null()], || libc::unlink(path))
    }

    fn unlinkat(at: c_int, path: *const c_char, flags: c_int) -> c_int {
        renames([path, std::ptr::null()], || libc::unlinkat(at, path, flags))
    }

    fn remove(path: *const c_char) -> c_int {
        renames([path, std::ptr::null()], || libc::remove(path))
    }

    fn mkdir(path: *const c_char, mode: c_uint) -> c_int {
        renames([path, std::ptr::null()], || libc::mkdir(path, mode))
    }

    fn rmdir(path: *const c_char) -> c_int {
        renames([path, std::ptr::null()], || libc::rmdir(path))
    }

    fn link(old: *const c_char, new: *const c_char) -> c_int {
        renames([old, new], || libc::link(old, new))
    }

    fn symlink(old: *const c_char, new: *const c_char) -> c_int {
        renames([old, new], || libc::symlink(old, new))
    }

    fn rename(old: *const c_char, new: *const c_char) -> c_int {
        renames([old, new], || libc::rename(old, new))
    }

    fn renameat(old_at: c_int, old: *const c_char, new_at: c_int, new: *const c_char) -> c_int {
        renames([old, new], || libc::renameat(old_at, old, new_at, new))
    }

    fn renameat2(
        old_at: c_int,
        old: *const c_char,
        new_at: c_int,
        new: *const c_char,
        flags: c_uint,
    ) -> c_int {
        renames([old, new], || real::renameat2(old_at, old, new_at, new, flags))
    }

    fn access(path: *const c_char, mode: c_int) -> c_int {
        seeks(path, || libc::access(path, mode))
    }

    fn chdir(path: *const c_char) -> c_int {
        seeks(path, || libc::chdir(path))
    }

    fn truncate(path: *const c_char, size: i64) -> c_int {
        seeks(path, || libc::truncate(path, size))
    }

    fn truncate64(path: *const c_char, size: i64) -> c_int {
        seeks(path, || libc::truncate64(path, size))
    }
}
