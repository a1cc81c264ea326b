//! Reading and writing that goes on while the program does something else (`aio`).
//!
//! The C library does it in threads of its own, which nobody sees. It counts as done where
//! it is asked for: a buffer must be left alone from then on. Who asks whether it is done,
//! waits for that or is called back knows what the thread knew that has asked for it.

use std::ffi::c_int;

use super::{Call, callbacks, descriptors, interpose};

type Request = libc::aiocb;

/// What a request is for.
#[derive(Clone, Copy)]
enum Purpose {
    Reads,
    Writes,
    Saves,
}

/// A request is about to be made.
unsafe fn prepare(call: &Call, request: *mut Request, purpose: Purpose) {
    // SAFETY: the program's request, or null.
    let Some(request) = (unsafe { request.as_mut() }) else {
        return;
    };
    let (buffer, size) = (request.aio_buf.cast_const(), request.aio_nbytes);
    match purpose {
        Purpose::Reads => call.writes(buffer, size),
        Purpose::Writes => {
            call.reads(buffer, size);
            descriptors::hands_on(call, request.aio_fildes);
        }
        Purpose::Saves => {}
    }
    call.hands_on(std::ptr::from_ref(request) as usize);
    // The C library looks at the request itself when it is done.
    // SAFETY: the program's event.
    if let Some((event, at)) = unsafe { callbacks::around(&raw const request.aio_sigevent, None) } {
        request.aio_sigevent = event;
        call.hands_on(at);
    }
}

unsafe fn asks(
    request: *mut Request,
    purpose: Purpose,
    real: unsafe extern "C" fn(*mut Request) -> c_int,
) -> c_int {
    if let Some(call) = Call::begin() {
        // SAFETY: what the program gave.
        unsafe { prepare(&call, request, purpose) };
    }
    // SAFETY: as above.
    unsafe { real(request) }
}

/// A request is known to be done.
unsafe fn done(call: &Call, request: *const Request) {
    // SAFETY: the program's request, or null.
    if let Some(about) = unsafe { request.as_ref() } {
        call.learns(request as usize);
        descriptors::learns(call, about.aio_fildes);
    }
}

/// Waits until one of the requests is done.
unsafe fn awaits(requests: *const *const Request, count: c_int, real: impl Fn() -> c_int) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    let result = match call.turn() {
        Some(turn) => turn.outside(real),
        None => real(),
    };
    for i in 0..count.max(0) as usize {
        // SAFETY: the program has that many.
        unsafe {
            let request = requests.add(i).read();
            if result == 0 && !request.is_null() && libc::aio_error(request) != libc::EINPROGRESS {
                done(&call, request);
            }
        }
    }
    result
}

/// Asks for several things at once, and waits for all of them if it is told to.
unsafe fn asks_all(
    mode: c_int,
    requests: *const *mut Request,
    count: c_int,
    event: *mut libc::sigevent,
) -> c_int {
    let real = |event| {
        // SAFETY: what the program gave.
        unsafe { libc::lio_listio(mode, requests, count, event) }
    };
    let Some(call) = Call::begin() else {
        return real(event);
    };
    // SAFETY: the program has that many.
    let all = (0..count.max(0) as usize).map(|i| unsafe { requests.add(i).read() });
    let all = all.filter(|request| !request.is_null());
    for request in all.clone() {
        // SAFETY: the program's request.
        unsafe {
            match (*request).aio_lio_opcode {
                libc::LIO_READ => prepare(&call, request, Purpose::Reads),
                libc::LIO_WRITE => prepare(&call, request, Purpose::Writes),
                _ => {}
            }
        }
    }
    if mode == libc::LIO_NOWAIT {
        // SAFETY: the program's event, or null.
        return match unsafe { callbacks::around(event, None) } {
            Some((mut event, at)) => {
                call.hands_on(at);
                real(&raw mut event)
            }
            None => real(event),
        };
    }
    let result = match call.turn() {
        Some(turn) => turn.outside(|| real(event)),
        None => real(event),
    };
    for request in all {
        // SAFETY: the program's request.
        unsafe { done(&call, request) };
    }
    result
}

interpose! {
    fn aio_read(request: *mut Request) -> c_int {
        asks(request, Purpose::Reads, libc::aio_read)
    }

    fn aio_read64(request: *mut Request) -> c_int {
        asks(request, Purpose::Reads, libc::aio_read)
    }

    fn aio_write(request: *mut Request) -> c_int {
        asks(request, Purpose::Writes, libc::aio_write)
    }

    fn aio_write64(request: *mut Request) -> c_int {
        asks(request, Purpose::Writes, libc::aio_write)
    }

    fn aio_fsync(operation: c_int, request: *mut Request) -> c_int {
        if let Some(call) = Call::begin() {
            prepare(&call, request, Purpose::Saves);
        }
        libc::aio_fsync(operation, request)
    }

    fn aio_fsync64(operation: c_int, request: *mut Request) -> c_int {
        aio_fsync(operation, request)
    }

    fn aio_error(request: *const Request) -> c_int {
        let result = libc::aio_error(request);
        if result != libc::EINPROGRESS && let Some(call) = Call::begin() {
            done(&call, request);
        }
        result
    }

    fn aio_error64(request: *const Request) -> c_int {
        aio_error(request)
    }

    fn aio_return(request: *mut Request) -> isize {
        if let Some(call) = Call::begin() {
            done(&call, request);
        }
        libc::aio_return(request)
    }

    fn aio_return64(request: *mut Request) -> isize {
        aio_return(request)
    }

    fn aio_suspend(requests: *const *const Request, count: c_int, timeout: *const libc::timespec) -> c_int {
        awaits(requests, count, || libc::aio_suspend(requests, count, timeout))
    }

    fn aio_suspend64(requests: *const *const Request, count: c_int, timeout: *const libc::timespec) -> c_int {
        aio_suspend(requests, count, timeout)
    }

    fn lio_listio(mode: c_int, requests: *const *mut Request, count: c_int, event: *mut libc::sigevent) -> c_int {
        asks_all(mode, requests, count, event)
    }

    fn lio_listio64(mode: c_int, requests: *const *mut Request, count: c_int, event: *mut libc::sigevent) -> c_int {
        asks_all(mode, requests, count, event)
    }
}
