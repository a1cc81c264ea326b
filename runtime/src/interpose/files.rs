//! Files, pipes, event counters and waiting for them: reading and writing by
//! descriptor.
//!
//! What a function reads is looked at before the real one and before anything is
//! handed on: as soon as the other side has it, the buffer may be used again.
//! Paths are looked at afterwards, when they have proved to be strings.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::descriptors::{
    self, Impatient, Outcome, gets, hands_on, opened, puts, puts_when_ready, uses,
};
use super::mutex::Patience;
use super::{Call, Errno, interpose, randomness};
use crate::control::{self, Came, Turn, clock::Until, signalling};
use crate::thread::Visit;

mod real {
    use std::ffi::{c_char, c_int, c_uint, c_void};

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
        pub(super) fn __read_chk(fd: c_int, to: *mut c_void, size: usize, room: usize) -> isize;
        pub(super) fn __pread_chk(
            fd: c_int,
            to: *mut c_void,
            size: usize,
            offset: i64,
            room: usize,
        ) -> isize;
        pub(super) fn __pread64_chk(
            fd: c_int,
            to: *mut c_void,
            size: usize,
            offset: i64,
            room: usize,
        ) -> isize;
        pub(super) fn preadv2(
            fd: c_int,
            parts: *const libc::iovec,
            count: c_int,
            offset: i64,
            flags: c_int,
        ) -> isize;
        pub(super) fn pwritev2(
            fd: c_int,
            parts: *const libc::iovec,
            count: c_int,
            offset: i64,
            flags: c_int,
        ) -> isize;
        pub(super) fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
        pub(super) fn eventfd_read(fd: c_int, value: *mut u64) -> c_int;
        pub(super) fn eventfd_write(fd: c_int, value: u64) -> c_int;
        pub(super) fn epoll_pwait2(
            epoll: c_int,
            events: *mut libc::epoll_event,
            room: c_int,
            timeout: *const libc::timespec,
            mask: *const libc::sigset_t,
        ) -> c_int;
        pub(super) fn __poll_chk(
            fds: *mut libc::pollfd,
            count: libc::nfds_t,
            timeout: c_int,
            room: usize,
        ) -> c_int;
        pub(super) fn __ppoll_chk(
            fds: *mut libc::pollfd,
            count: libc::nfds_t,
            timeout: *const libc::timespec,
            mask: *const libc::sigset_t,
            room: usize,
        ) -> c_int;
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

/// The most that the kernel reads or writes at once.
const MOST: usize = 0x7fff_f000;

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

/// Reads into a buffer.
pub(super) fn fills(fd: c_int, to: *mut c_void, real: impl FnOnce() -> isize) -> isize {
    let Some(call) = Call::begin() else {
        return real();
    };
    let got = gets(&call, fd, real);
    if got > 0 {
        call.writes(to, got as usize);
    }
    got
}

/// Writes from a buffer.
pub(super) fn drains(
    fd: c_int,
    from: *const c_void,
    size: usize,
    real: impl FnOnce() -> isize,
) -> isize {
    let Some(call) = Call::begin() else {
        return real();
    };
    call.reads(from, size.min(MOST));
    puts_when_ready(&call, fd, real)
}

/// The parts of a buffer, as far as `size` bytes go.
pub(super) unsafe fn parts(
    parts: *const libc::iovec,
    count: usize,
    size: usize,
) -> impl Iterator<Item = (*const c_void, usize)> {
    let mut left = size;
    let count = if parts.is_null() { 0 } else { count };
    (0..count).map_while(move |i| {
        // SAFETY: the caller has that many.
        let part = unsafe { parts.add(i).read() };
        let size = part.iov_len.min(left);
        left -= size;
        (left > 0 || size > 0).then_some((part.iov_base.cast_const(), size))
    })
}

/// Reads into a buffer of several parts.
unsafe fn scatters(
    fd: c_int,
    to: *const libc::iovec,
    count: c_int,
    real: impl FnOnce() -> isize,
) -> isize {
    let Some(call) = Call::begin() else {
        return real();
    };
    let got = gets(&call, fd, real);
    if got > 0 {
        let count = count as usize;
        call.reads(to, count * size_of::<libc::iovec>());
        // SAFETY: the kernel has used them.
        for (part, size) in unsafe { parts(to, count, got as usize) } {
            call.writes(part, size);
        }
    }
    got
}

/// Writes from a buffer of several parts.
unsafe fn gathers(
    fd: c_int,
    from: *const libc::iovec,
    count: c_int,
    real: impl FnOnce() -> isize,
) -> isize {
    let Some(call) = Call::begin() else {
        return real();
    };
    // The kernel takes no more than 1024.
    if let Ok(count @ 1..=1024) = usize::try_from(count) {
        call.reads(from, count * size_of::<libc::iovec>());
        // SAFETY: the program has that many.
        for (part, size) in unsafe { parts(from, count, MOST) } {
            call.reads(part, size);
        }
    }
    puts_when_ready(&call, fd, real)
}

/// Moves what is got out of one descriptor into another: whoever gets it there knows what
/// the one knew who has put it in. So it must be there before it is handed on.
fn moves(call: &Call, from: c_int, to: c_int, real: impl FnOnce() -> isize) -> isize {
    uses(call, to, || {
        gets(call, from, || {
            await_input(from);
            descriptors::learns(call, from);
            hands_on(call, to);
            real()
        })
    })
}

/// Waits until something can be got out of a descriptor, unless nobody would wait there.
fn await_input(fd: c_int) {
    let _errno = Errno::keep();
    if !descriptors::never_waits(fd) && !descriptors::fails_instead_of_waiting(fd, libc::POLLIN) {
        let mut awaited = libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one of our own.
        unsafe { libc::poll(&raw mut awaited, 1, -1) };
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

    fn eventfd_read(fd: c_int, value: *mut u64) -> c_int {
        let Some(call) = Call::begin() else {
            return real::eventfd_read(fd, value);
        };
        let result = gets(&call, fd, || real::eventfd_read(fd, value));
        if result == 0 {
            call.writes(value, size_of::<u64>());
        }
        result
    }

    fn eventfd_write(fd: c_int, value: u64) -> c_int {
        match Call::begin() {
            Some(call) => puts(&call, fd, || real::eventfd_write(fd, value)),
            None => real::eventfd_write(fd, value),
        }
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

    fn epoll_create(size: c_int) -> c_int {
        let epoll = makes(|| libc::epoll_create(size));
        descriptors::watch_nothing(epoll);
        descriptors::is_its_own_end(epoll);
        epoll
    }

    fn epoll_create1(flags: c_int) -> c_int {
        let epoll = makes(|| libc::epoll_create1(flags));
        descriptors::watch_nothing(epoll);
        descriptors::is_its_own_end(epoll);
        epoll
    }

    fn epoll_ctl(epoll: c_int, what: c_int, fd: c_int, event: *mut libc::epoll_event) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::epoll_ctl(epoll, what, fd, event);
        };
        let real = || uses(&call, fd, || libc::epoll_ctl(epoll, what, fd, event));
        if what == libc::EPOLL_CTL_DEL || event.is_null() {
            return uses(&call, epoll, real);
        }
        call.reads(event, size_of::<libc::epoll_event>());
        let result = puts(&call, epoll, real);
        // Only now it is known to be a good pointer. Who is told of an event
        // before this will have to read to learn anything.
        if result == 0 {
            descriptors::watch(epoll, fd, (&raw const (*event).u64).read_unaligned());
        }
        result
    }

    fn epoll_wait(
        epoll: c_int,
        events: *mut libc::epoll_event,
        room: c_int,
        timeout: c_int,
    ) -> c_int {
        happens(epoll, events, (milliseconds(timeout), NO_MASK), || {
            libc::epoll_wait(epoll, events, room, timeout)
        })
    }

    fn epoll_pwait(
        epoll: c_int,
        events: *mut libc::epoll_event,
        room: c_int,
        timeout: c_int,
        mask: *const libc::sigset_t,
    ) -> c_int {
        happens(epoll, events, (milliseconds(timeout), mask), || {
            libc::epoll_pwait(epoll, events, room, timeout, mask)
        })
    }

    fn epoll_pwait2(
        epoll: c_int,
        events: *mut libc::epoll_event,
        room: c_int,
        timeout: *const libc::timespec,
        mask: *const libc::sigset_t,
    ) -> c_int {
        happens(epoll, events, (at_most(timeout), mask), || {
            real::epoll_pwait2(epoll, events, room, timeout, mask)
        })
    }

    fn poll(fds: *mut libc::pollfd, count: libc::nfds_t, timeout: c_int) -> c_int {
        polls(fds, count, (milliseconds(timeout), NO_MASK), || libc::poll(fds, count, timeout))
    }

    fn __poll_chk(fds: *mut libc::pollfd, count: libc::nfds_t, timeout: c_int, room: usize) -> c_int {
        polls(fds, count, (milliseconds(timeout), NO_MASK), || {
            real::__poll_chk(fds, count, timeout, room)
        })
    }

    fn ppoll(
        fds: *mut libc::pollfd,
        count: libc::nfds_t,
        timeout: *const libc::timespec,
        mask: *const libc::sigset_t,
    ) -> c_int {
        polls(fds, count, (at_most(timeout), mask), || libc::ppoll(fds, count, timeout, mask))
    }

    fn __ppoll_chk(
        fds: *mut libc::pollfd,
        count: libc::nfds_t,
        timeout: *const libc::timespec,
        mask: *const libc::sigset_t,
        room: usize,
    ) -> c_int {
        polls(fds, count, (at_most(timeout), mask), || {
            real::__ppoll_chk(fds, count, timeout, mask, room)
        })
    }

    fn select(
        count: c_int,
        readable: *mut libc::fd_set,
        writable: *mut libc::fd_set,
        special: *mut libc::fd_set,
        timeout: *mut libc::timeval,
    ) -> c_int {
        let sets = [readable, writable, special];
        let patience = match timeout.as_ref() {
            Some(time) => Patience::Until(Until::Passed(
                time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000,
            )),
            None => Patience::ForEver,
        };
        selects(count, sets, (patience, NO_MASK), || {
            libc::select(count, readable, writable, special, timeout)
        })
    }

    fn pselect(
        count: c_int,
        readable: *mut libc::fd_set,
        writable: *mut libc::fd_set,
        special: *mut libc::fd_set,
        timeout: *const libc::timespec,
        mask: *const libc::sigset_t,
    ) -> c_int {
        let sets = [readable, writable, special];
        selects(count, sets, (at_most(timeout), mask), || {
            libc::pselect(count, readable, writable, special, timeout, mask)
        })
    }

    fn read(fd: c_int, to: *mut c_void, size: usize) -> isize {
        fills(fd, to, || libc::read(fd, to, size))
    }

    fn __read_chk(fd: c_int, to: *mut c_void, size: usize, room: usize) -> isize {
        fills(fd, to, || real::__read_chk(fd, to, size, room))
    }

    fn pread(fd: c_int, to: *mut c_void, size: usize, offset: i64) -> isize {
        fills(fd, to, || libc::pread(fd, to, size, offset))
    }

    fn pread64(fd: c_int, to: *mut c_void, size: usize, offset: i64) -> isize {
        fills(fd, to, || libc::pread64(fd, to, size, offset))
    }

    fn __pread_chk(fd: c_int, to: *mut c_void, size: usize, offset: i64, room: usize) -> isize {
        fills(fd, to, || real::__pread_chk(fd, to, size, offset, room))
    }

    fn __pread64_chk(fd: c_int, to: *mut c_void, size: usize, offset: i64, room: usize) -> isize {
        fills(fd, to, || real::__pread64_chk(fd, to, size, offset, room))
    }

    fn readv(fd: c_int, to: *const libc::iovec, count: c_int) -> isize {
        scatters(fd, to, count, || libc::readv(fd, to, count))
    }

    fn preadv(fd: c_int, to: *const libc::iovec, count: c_int, offset: i64) -> isize {
        scatters(fd, to, count, || libc::preadv(fd, to, count, offset))
    }

    fn preadv64(fd: c_int, to: *const libc::iovec, count: c_int, offset: i64) -> isize {
        scatters(fd, to, count, || libc::preadv64(fd, to, count, offset))
    }

    fn preadv2(fd: c_int, to: *const libc::iovec, count: c_int, offset: i64, flags: c_int) -> isize {
        scatters(fd, to, count, || real::preadv2(fd, to, count, offset, flags))
    }

    fn preadv64v2(fd: c_int, to: *const libc::iovec, count: c_int, offset: i64, flags: c_int) -> isize {
        scatters(fd, to, count, || real::preadv2(fd, to, count, offset, flags))
    }

    fn write(fd: c_int, from: *const c_void, size: usize) -> isize {
        drains(fd, from, size, || libc::write(fd, from, size))
    }

    fn pwrite(fd: c_int, from: *const c_void, size: usize, offset: i64) -> isize {
        drains(fd, from, size, || libc::pwrite(fd, from, size, offset))
    }

    fn pwrite64(fd: c_int, from: *const c_void, size: usize, offset: i64) -> isize {
        drains(fd, from, size, || libc::pwrite64(fd, from, size, offset))
    }

    fn writev(fd: c_int, from: *const libc::iovec, count: c_int) -> isize {
        gathers(fd, from, count, || libc::writev(fd, from, count))
    }

    fn pwritev(fd: c_int, from: *const libc::iovec, count: c_int, offset: i64) -> isize {
        gathers(fd, from, count, || libc::pwritev(fd, from, count, offset))
    }

    fn pwritev64(fd: c_int, from: *const libc::iovec, count: c_int, offset: i64) -> isize {
        gathers(fd, from, count, || libc::pwritev64(fd, from, count, offset))
    }

    fn pwritev2(fd: c_int, from: *const libc::iovec, count: c_int, offset: i64, flags: c_int) -> isize {
        gathers(fd, from, count, || real::pwritev2(fd, from, count, offset, flags))
    }

    fn pwritev64v2(fd: c_int, from: *const libc::iovec, count: c_int, offset: i64, flags: c_int) -> isize {
        gathers(fd, from, count, || real::pwritev2(fd, from, count, offset, flags))
    }

    fn sendfile(to: c_int, from: c_int, offset: *mut i64, size: usize) -> isize {
        let Some(call) = Call::begin() else {
            return libc::sendfile(to, from, offset, size);
        };
        call.writes(offset, size_of::<i64>());
        moves(&call, from, to, || libc::sendfile(to, from, offset, size))
    }

    fn sendfile64(to: c_int, from: c_int, offset: *mut i64, size: usize) -> isize {
        let Some(call) = Call::begin() else {
            return libc::sendfile64(to, from, offset, size);
        };
        call.writes(offset, size_of::<i64>());
        moves(&call, from, to, || libc::sendfile64(to, from, offset, size))
    }

    fn splice(
        from: c_int,
        from_offset: *mut i64,
        to: c_int,
        to_offset: *mut i64,
        size: usize,
        flags: c_uint,
    ) -> isize {
        let real = || libc::splice(from, from_offset, to, to_offset, size, flags);
        let Some(call) = Call::begin() else {
            return real();
        };
        let _impatient = Impatient::begin_if(flags & libc::SPLICE_F_NONBLOCK != 0);
        call.writes(from_offset, size_of::<i64>());
        call.writes(to_offset, size_of::<i64>());
        moves(&call, from, to, real)
    }

    fn tee(from: c_int, to: c_int, size: usize, flags: c_uint) -> isize {
        let Some(call) = Call::begin() else {
            return libc::tee(from, to, size, flags);
        };
        let _impatient = Impatient::begin_if(flags & libc::SPLICE_F_NONBLOCK != 0);
        moves(&call, from, to, || libc::tee(from, to, size, flags))
    }

    fn vmsplice(fd: c_int, parts: *const libc::iovec, count: usize, flags: c_uint) -> isize {
        let real = || libc::vmsplice(fd, parts, count, flags);
        let _impatient = Impatient::begin_if(flags & libc::SPLICE_F_NONBLOCK != 0);
        match descriptors::leads_wrong_way(fd, libc::POLLOUT) {
            true => scatters(fd, parts, count as c_int, real),
            false => gathers(fd, parts, count as c_int, real),
        }
    }

    fn copy_file_range(
        from: c_int,
        from_offset: *mut i64,
        to: c_int,
        to_offset: *mut i64,
        size: usize,
        flags: c_uint,
    ) -> isize {
        let real = || libc::copy_file_range(from, from_offset, to, to_offset, size, flags);
        let Some(call) = Call::begin() else {
            return real();
        };
        call.writes(from_offset, size_of::<i64>());
        call.writes(to_offset, size_of::<i64>());
        moves(&call, from, to, real)
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

/// Waits under control, if need be, with other signals blocked if some are given.
fn ready(
    call: &Call,
    patience: Patience,
    mask: Option<&libc::sigset_t>,
    wait: impl FnOnce(&Turn) -> Came,
) -> Came {
    let Some(turn) = call.turn() else {
        return Came::Fulfilled;
    };
    turn.touch();
    match patience {
        Patience::Tries => Came::Fulfilled,
        _ => turn.with_mask(mask, || wait(&turn)),
    }
}

/// The signals that are blocked stay so.
const NO_MASK: *const libc::sigset_t = std::ptr::null();

/// So many milliseconds, as these calls have it.
fn milliseconds(timeout: c_int) -> Patience {
    match timeout {
        0 => Patience::Tries,
        1.. => Patience::Until(Until::Passed(timeout as u64 * 1_000_000)),
        _ => Patience::ForEver,
    }
}

/// So much time, or for ever.
unsafe fn at_most(timeout: *const libc::timespec) -> Patience {
    // SAFETY: a time, or null.
    match unsafe { timeout.as_ref() } {
        Some(time) => Patience::Until(Until::passed(time)),
        None => Patience::ForEver,
    }
}

/// Waits for events.
unsafe fn happens(
    epoll: c_int,
    events: *const libc::epoll_event,
    (patience, mask): (Patience, *const libc::sigset_t),
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    let mut entry = libc::pollfd {
        fd: epoll,
        events: libc::POLLIN,
        revents: 0,
    };
    let wait = |turn: &Turn| turn.await_descriptors(&raw mut entry, 1, patience.moment());
    // SAFETY: signals, or null.
    let mask = unsafe { mask.as_ref() };
    let count = uses(&call, epoll, || match ready(&call, patience, mask, wait) {
        Came::Fulfilled => real(),
        Came::TimedOut => 0,
        Came::Interrupted => Outcome::fails(libc::EINTR),
    });
    if count > 0 {
        descriptors::learns(&call, epoll);
        call.writes(events, count as usize * size_of::<libc::epoll_event>());
        for i in 0..count as usize {
            // SAFETY: the kernel has written that many.
            let event = unsafe { events.add(i).read_unaligned() };
            let incoming = event.events & !(libc::EPOLLOUT as u32) != 0;
            if incoming && let Some(fd) = descriptors::watched(epoll, event.u64) {
                descriptors::learns(&call, fd);
            }
        }
    }
    count
}

/// Waits for some of many descriptors.
unsafe fn polls(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
    (patience, mask): (Patience, *const libc::sigset_t),
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    let wait = |turn: &Turn| turn.await_descriptors(fds, count as usize, patience.moment());
    // SAFETY: signals, or null.
    let result = match ready(&call, patience, unsafe { mask.as_ref() }, wait) {
        Came::Fulfilled => real(),
        // SAFETY: what the program gave.
        Came::TimedOut => unsafe { libc::poll(fds, count, 0) },
        Came::Interrupted => Outcome::fails(libc::EINTR),
    };
    if result < 0 || fds.is_null() {
        return result;
    }
    for i in 0..count as usize {
        // SAFETY: the kernel has used that many.
        let entry = unsafe { fds.add(i) };
        // SAFETY: as above.
        let libc::pollfd { fd, revents, .. } = unsafe { entry.read() };
        call.reads(entry, std::mem::offset_of!(libc::pollfd, revents));
        // SAFETY: a field of it.
        call.writes(unsafe { &raw const (*entry).revents }, size_of::<i16>());
        if fd < 0 || revents & libc::POLLNVAL != 0 {
            continue;
        }
        uses(&call, fd, || 0);
        if revents & !libc::POLLOUT != 0 {
            descriptors::learns(&call, fd);
        }
    }
    result
}

/// What such sets ask for, as `poll` has it. Only under control somebody looks.
unsafe fn entries(count: c_int, sets: [*mut libc::fd_set; 3]) -> Vec<libc::pollfd> {
    let mut entries = Vec::new();
    if !control::is_on() {
        return entries;
    }
    let _visit = Visit::begin();
    for fd in 0..count {
        let mut events = 0;
        for (set, event) in sets
            .iter()
            .zip([libc::POLLIN, libc::POLLOUT, libc::POLLPRI])
        {
            // SAFETY: the caller has that many bits, or none.
            if !set.is_null() && unsafe { includes(*set, fd) } {
                events |= event;
            }
        }
        if events != 0 {
            entries.push(libc::pollfd {
                fd,
                events,
                revents: 0,
            });
        }
    }
    entries
}

/// Whether a descriptor is in a set. Programs may have larger sets than the type has
/// room for.
unsafe fn includes(set: *const libc::fd_set, fd: c_int) -> bool {
    // SAFETY: the caller has that many bits.
    unsafe { set.cast::<u64>().add(fd as usize / 64).read() >> (fd % 64) & 1 != 0 }
}

/// The same with sets of them: those to be read come first.
unsafe fn selects(
    count: c_int,
    sets: [*mut libc::fd_set; 3],
    (patience, mask): (Patience, *const libc::sigset_t),
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    let bytes = usize::try_from(count).unwrap_or(0).div_ceil(64) * 8;
    for set in sets {
        call.reads(set, bytes);
    }
    // SAFETY: the program has sets of that many bits, and signals, or null.
    let (mut wanted, mask) = unsafe { (entries(count, sets), mask.as_ref()) };
    let wait =
        |turn: &Turn| turn.await_descriptors(wanted.as_mut_ptr(), wanted.len(), patience.moment());
    let result = match ready(&call, patience, mask, wait) {
        Came::Fulfilled => real(),
        Came::TimedOut => {
            for set in sets.into_iter().filter(|set| !set.is_null()) {
                // SAFETY: as above.
                unsafe { set.cast::<u8>().write_bytes(0, bytes) };
            }
            0
        }
        Came::Interrupted => Outcome::fails(libc::EINTR),
    };
    if result < 0 {
        return result;
    }
    for (i, set) in sets.into_iter().enumerate() {
        call.writes(set, bytes);
        if set.is_null() {
            continue;
        }
        for fd in 0..count {
            // SAFETY: the kernel has written that many bits.
            if unsafe { includes(set, fd) } {
                uses(&call, fd, || 0);
                if i != 1 {
                    descriptors::learns(&call, fd);
                }
            }
        }
    }
    result
}
