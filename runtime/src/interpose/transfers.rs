//! Reading and writing by descriptor.
//!
//! What a function reads is looked at before the real one and before anything is
//! handed on: as soon as the other side has it, the buffer may be used again.

use std::ffi::{c_int, c_uint, c_void};

use super::descriptors::{self, Impatient, gets, hands_on, puts, puts_when_ready, uses};
use super::{Call, Errno, interpose};

mod real {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
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
        pub(super) fn eventfd_read(fd: c_int, value: *mut u64) -> c_int;
        pub(super) fn eventfd_write(fd: c_int, value: u64) -> c_int;
    }
}

/// The most that the kernel reads or writes at once.
const MOST: usize = 0x7fff_f000;

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

interpose! {
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
}
