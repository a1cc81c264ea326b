//! Sockets: connections, and what is sent over them.

use std::ffi::{c_int, c_uint, c_void};

use super::descriptors::{self, Impatient, Outcome, gets, opened, puts, puts_when_ready, uses};
use super::files::{makes, makes_pair, with};
use super::transfers::{drains, parts};
use super::{Call, interpose};

type Address = libc::sockaddr;
type Length = libc::socklen_t;

mod real {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        pub(super) fn __recv_chk(
            fd: c_int,
            to: *mut c_void,
            size: usize,
            room: usize,
            flags: c_int,
        ) -> isize;
        pub(super) fn __recvfrom_chk(
            fd: c_int,
            to: *mut c_void,
            size: usize,
            room: usize,
            flags: c_int,
            address: *mut super::Address,
            length: *mut super::Length,
        ) -> isize;
        pub(super) fn sockatmark(fd: c_int) -> c_int;
        pub(super) fn recvmmsg(
            fd: c_int,
            messages: *mut libc::mmsghdr,
            count: u32,
            flags: c_int,
            timeout: *mut libc::timespec,
        ) -> c_int;
        pub(super) fn sendmmsg(
            fd: c_int,
            messages: *mut libc::mmsghdr,
            count: u32,
            flags: c_int,
        ) -> c_int;
    }
}

/// How much room there is for an address: the kernel overwrites it.
unsafe fn room(address: *const Address, length: *const Length) -> usize {
    match address.is_null() || length.is_null() {
        true => 0,
        // SAFETY: not null.
        false => unsafe { length.read() as usize },
    }
}

/// An address was written where the program wants it.
unsafe fn told(call: &Call, address: *const Address, length: *const Length, room: usize) {
    if room != 0 {
        call.writes(length, size_of::<Length>());
        // SAFETY: written by the kernel.
        call.writes(address, room.min(unsafe { length.read() } as usize));
    }
}

unsafe fn accepts(
    fd: c_int,
    address: *mut Address,
    length: *mut Length,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    // SAFETY: what the program gave.
    let room = unsafe { room(address, length) };
    let new = uses(&call, fd, || call.waits(fd, libc::POLLIN, real));
    if new >= 0 {
        opened(&call, new);
        descriptors::connected(&call);
        // SAFETY: as above.
        unsafe { told(&call, address, length, room) };
    }
    new
}

/// Connects. Under control it is only begun, and others go on until it is done.
unsafe fn connects(call: &Call, fd: c_int, address: *const Address, length: Length) -> c_int {
    // SAFETY: what the program gave.
    let real = || unsafe { libc::connect(fd, address, length) };
    if call.turn().is_none() || descriptors::fails_instead_of_waiting(fd, libc::POLLOUT) {
        return real();
    }
    let attempt = || {
        // SAFETY: flags of the program's descriptor, for as long as nobody else runs.
        unsafe {
            let flags = libc::fcntl(fd, libc::F_GETFL);
            libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK);
            let result = real();
            let _errno = super::Errno::keep();
            libc::fcntl(fd, libc::F_SETFL, flags);
            result
        }
    };
    // The other end may have to accept others first.
    let begun = call.persists(attempt, |error| error == libc::EAGAIN, real);
    if begun == 0 || super::Errno::now() != libc::EINPROGRESS {
        return begun;
    }
    call.waits(fd, libc::POLLOUT, || {
        let mut error: c_int = 0;
        let mut size = size_of::<c_int>() as Length;
        let to = (&raw mut error).cast();
        // SAFETY: room for one number.
        unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_ERROR, to, &raw mut size) };
        match error {
            0 => 0,
            error => Outcome::fails(error),
        }
    })
}

/// Asks for the name of one end.
unsafe fn names(
    fd: c_int,
    address: *mut Address,
    length: *mut Length,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    // SAFETY: what the program gave.
    let room = unsafe { room(address, length) };
    let result = uses(&call, fd, real);
    if result == 0 {
        // SAFETY: as above.
        unsafe { told(&call, address, length, room) };
    }
    result
}

/// Looks at a message that is sent.
unsafe fn sends(call: &Call, message: *const libc::msghdr) {
    if message.is_null() {
        return;
    }
    call.reads(message, size_of::<libc::msghdr>());
    // SAFETY: not null, so a message.
    let libc::msghdr {
        msg_name,
        msg_namelen,
        msg_iov,
        msg_iovlen,
        msg_control,
        msg_controllen,
        ..
    } = unsafe { message.read() };
    call.reads(msg_name, msg_namelen as usize);
    call.reads(msg_control, msg_controllen);
    let count = msg_iovlen.min(1024);
    call.reads(msg_iov, count * size_of::<libc::iovec>());
    // SAFETY: the message's parts.
    for (part, size) in unsafe { parts(msg_iov, count, usize::MAX) } {
        call.reads(part, size);
    }
}

/// Looks at a message of that size that was received.
unsafe fn receives(call: &Call, message: *mut libc::msghdr, size: usize) {
    call.writes(message, size_of::<libc::msghdr>());
    // SAFETY: the kernel has filled it in.
    let header = unsafe { message.read() };
    call.writes(header.msg_name, header.msg_namelen as usize);
    call.writes(header.msg_control, header.msg_controllen);
    let count = header.msg_iovlen;
    call.reads(header.msg_iov, count * size_of::<libc::iovec>());
    // SAFETY: as above.
    for (part, size) in unsafe { parts(header.msg_iov, count, size) } {
        call.writes(part, size);
    }
    // Descriptors may have come with it.
    // SAFETY: walks over what the kernel has written, within its bounds.
    unsafe {
        let mut item = libc::CMSG_FIRSTHDR(message);
        while !item.is_null() {
            let libc::cmsghdr {
                cmsg_len,
                cmsg_level,
                cmsg_type,
                ..
            } = item.read();
            if cmsg_level == libc::SOL_SOCKET && cmsg_type == libc::SCM_RIGHTS {
                let data = libc::CMSG_DATA(item).cast::<c_int>();
                let bytes = cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
                for i in 0..bytes / size_of::<c_int>() {
                    opened(call, data.add(i).read_unaligned());
                }
            }
            item = libc::CMSG_NXTHDR(message, item);
        }
    }
}

interpose! {
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
        makes(|| libc::socket(domain, kind, protocol))
    }

    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, fds: *mut c_int) -> c_int {
        makes_pair(fds, || libc::socketpair(domain, kind, protocol, fds))
    }

    fn bind(fd: c_int, address: *const Address, length: Length) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::bind(fd, address, length);
        };
        call.reads(address, length as usize);
        descriptors::offers_connection(&call);
        uses(&call, fd, || libc::bind(fd, address, length))
    }

    fn listen(fd: c_int, waiting: c_int) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::listen(fd, waiting);
        };
        descriptors::offers_connection(&call);
        uses(&call, fd, || libc::listen(fd, waiting))
    }

    fn connect(fd: c_int, address: *const Address, length: Length) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::connect(fd, address, length);
        };
        call.reads(address, length as usize);
        descriptors::offers_connection(&call);
        let result = uses(&call, fd, || connects(&call, fd, address, length));
        if result == 0 {
            descriptors::connected(&call);
        }
        result
    }

    fn accept(fd: c_int, address: *mut Address, length: *mut Length) -> c_int {
        accepts(fd, address, length, || libc::accept(fd, address, length))
    }

    fn accept4(fd: c_int, address: *mut Address, length: *mut Length, flags: c_int) -> c_int {
        accepts(fd, address, length, || libc::accept4(fd, address, length, flags))
    }

    // The other end is told that nothing more will come.
    fn shutdown(fd: c_int, how: c_int) -> c_int {
        match Call::begin() {
            Some(call) => puts(&call, fd, || libc::shutdown(fd, how)),
            None => libc::shutdown(fd, how),
        }
    }

    fn getsockname(fd: c_int, address: *mut Address, length: *mut Length) -> c_int {
        names(fd, address, length, || libc::getsockname(fd, address, length))
    }

    fn getpeername(fd: c_int, address: *mut Address, length: *mut Length) -> c_int {
        names(fd, address, length, || libc::getpeername(fd, address, length))
    }

    fn getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, size: *mut Length) -> c_int {
        names(fd, value.cast(), size, || libc::getsockopt(fd, level, name, value, size))
    }

    fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, size: Length) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::setsockopt(fd, level, name, value, size);
        };
        call.reads(value, size as usize);
        uses(&call, fd, || libc::setsockopt(fd, level, name, value, size))
    }

    fn sockatmark(fd: c_int) -> c_int {
        with(fd, || real::sockatmark(fd))
    }

    fn send(fd: c_int, from: *const c_void, size: usize, flags: c_int) -> isize {
        let _impatient = Impatient::begin(flags);
        drains(fd, from, size, || libc::send(fd, from, size, flags))
    }

    fn sendto(
        fd: c_int,
        from: *const c_void,
        size: usize,
        flags: c_int,
        address: *const Address,
        length: Length,
    ) -> isize {
        let _impatient = Impatient::begin(flags);
        drains(fd, from, size, || libc::sendto(fd, from, size, flags, address, length))
    }

    fn sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> isize {
        let _impatient = Impatient::begin(flags);
        let Some(call) = Call::begin() else {
            return libc::sendmsg(fd, message, flags);
        };
        sends(&call, message);
        puts_when_ready(&call, fd, || libc::sendmsg(fd, message, flags))
    }

    fn sendmmsg(fd: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int) -> c_int {
        let _impatient = Impatient::begin(flags);
        let Some(call) = Call::begin() else {
            return real::sendmmsg(fd, messages, count, flags);
        };
        if !messages.is_null() {
            for i in 0..count.min(1024) as usize {
                sends(&call, &raw const (*messages.add(i)).msg_hdr);
            }
        }
        let sent = puts_when_ready(&call, fd, || real::sendmmsg(fd, messages, count, flags));
        for i in 0..sent.max(0) as usize {
            call.writes(&raw const (*messages.add(i)).msg_len, size_of::<c_uint>());
        }
        sent
    }

    fn recv(fd: c_int, to: *mut c_void, size: usize, flags: c_int) -> isize {
        let _impatient = Impatient::begin(flags);
        let nobody = std::ptr::null_mut();
        from_somebody(fd, to, size, nobody, std::ptr::null_mut(), || libc::recv(fd, to, size, flags))
    }

    fn __recv_chk(fd: c_int, to: *mut c_void, size: usize, room: usize, flags: c_int) -> isize {
        let _impatient = Impatient::begin(flags);
        let nobody = std::ptr::null_mut();
        from_somebody(fd, to, size, nobody, std::ptr::null_mut(), || {
            real::__recv_chk(fd, to, size, room, flags)
        })
    }

    fn recvfrom(
        fd: c_int,
        to: *mut c_void,
        size: usize,
        flags: c_int,
        address: *mut Address,
        length: *mut Length,
    ) -> isize {
        let _impatient = Impatient::begin(flags);
        from_somebody(fd, to, size, address, length, || {
            libc::recvfrom(fd, to, size, flags, address, length)
        })
    }

    fn __recvfrom_chk(
        fd: c_int,
        to: *mut c_void,
        size: usize,
        room: usize,
        flags: c_int,
        address: *mut Address,
        length: *mut Length,
    ) -> isize {
        let _impatient = Impatient::begin(flags);
        from_somebody(fd, to, size, address, length, || {
            real::__recvfrom_chk(fd, to, size, room, flags, address, length)
        })
    }

    fn recvmsg(fd: c_int, message: *mut libc::msghdr, flags: c_int) -> isize {
        let _impatient = Impatient::begin(flags);
        let Some(call) = Call::begin() else {
            return libc::recvmsg(fd, message, flags);
        };
        let got = gets(&call, fd, || libc::recvmsg(fd, message, flags));
        if got >= 0 {
            receives(&call, message, got as usize);
        }
        got
    }

    fn recvmmsg(
        fd: c_int,
        messages: *mut libc::mmsghdr,
        count: c_uint,
        flags: c_int,
        timeout: *mut libc::timespec,
    ) -> c_int {
        let _impatient = Impatient::begin(flags);
        let Some(call) = Call::begin() else {
            return real::recvmmsg(fd, messages, count, flags, timeout);
        };
        let got = gets(&call, fd, || real::recvmmsg(fd, messages, count, flags, timeout));
        for i in 0..got.max(0) as usize {
            let message = messages.add(i);
            call.writes(&raw const (*message).msg_len, size_of::<c_uint>());
            receives(&call, &raw mut (*message).msg_hdr, (*message).msg_len as usize);
        }
        got
    }
}

/// Reads into a buffer, with the address of who sent it.
unsafe fn from_somebody(
    fd: c_int,
    to: *mut c_void,
    size: usize,
    address: *mut Address,
    length: *mut Length,
    real: impl FnOnce() -> isize,
) -> isize {
    let Some(call) = Call::begin() else {
        return real();
    };
    // SAFETY: what the program gave.
    let room = unsafe { room(address, length) };
    let got = gets(&call, fd, real);
    if got >= 0 {
        // With `MSG_TRUNC` it tells more than there was room for.
        call.writes(to, size.min(got as usize));
        // SAFETY: as above.
        unsafe { told(&call, address, length, room) };
    }
    got
}
