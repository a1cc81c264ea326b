//! Randomness that programs ask the system for. Under control they get the same in
//! every execution, like the time.
//!
//! That is so for all functions of the C library and for C++'s `random_device`. The
//! devices `/dev/random` and `/dev/urandom` are, once opened, a file with a megabyte
//! of it. Programs that ask the processor themselves get what it gives.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use super::{Call, Errno, interpose};

mod real {
    use std::ffi::{c_int, c_uint, c_void};

    unsafe extern "C" {
        pub(super) fn getrandom(to: *mut c_void, size: usize, flags: c_uint) -> isize;
        pub(super) fn getentropy(to: *mut c_void, size: usize) -> c_int;
        pub(super) fn arc4random() -> u32;
        pub(super) fn arc4random_buf(to: *mut c_void, size: usize);
        pub(super) fn arc4random_uniform(bound: u32) -> u32;
        pub(super) fn _ZNSt13random_device9_M_getvalEv(device: *mut c_void) -> c_uint;
    }
}

/// Fills a buffer, if the thread is under control.
unsafe fn fills(call: &Call, to: *mut c_void, size: usize) -> bool {
    let Some(turn) = call.turn().filter(|_| !to.is_null()) else {
        return false;
    };
    // SAFETY: the program's buffer of that size.
    turn.random(unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), size) });
    true
}

/// Some bits, if the thread is under control.
fn number() -> Option<u32> {
    let mut bits = [0; 4];
    Call::begin()?.turn()?.random(&mut bits);
    Some(u32::from_ne_bytes(bits))
}

/// A descriptor was opened by that name: if it is one of the devices, it becomes
/// another one.
pub(super) unsafe fn opened(call: &Call, path: *const c_char, fd: c_int) {
    const MUCH: usize = 1 << 20;
    if path.is_null() || fd < 0 {
        return;
    }
    // SAFETY: the real function could open it.
    let name = unsafe { CStr::from_ptr(path) };
    if name != c"/dev/random" && name != c"/dev/urandom" {
        return;
    }
    let Some(turn) = call.turn() else { return };
    let _errno = Errno::keep();
    let _visit = crate::thread::Visit::begin();
    let mut bytes = vec![0; MUCH];
    turn.random(&mut bytes);
    // SAFETY: a descriptor of our own takes the place of the program's, which
    // nobody knows yet.
    unsafe {
        let file = libc::memfd_create(c"random".as_ptr(), libc::MFD_CLOEXEC);
        if file < 0 {
            return;
        }
        let kept = libc::fcntl(fd, libc::F_GETFD) & libc::FD_CLOEXEC != 0;
        let flags = if kept { libc::O_CLOEXEC } else { 0 };
        if libc::write(file, bytes.as_ptr().cast(), MUCH) == MUCH as isize
            && libc::lseek(file, 0, libc::SEEK_SET) == 0
        {
            libc::dup3(file, fd, flags);
        }
        libc::close(file);
    }
}

interpose! {
    fn getrandom(to: *mut c_void, size: usize, flags: c_uint) -> isize {
        let Some(call) = Call::begin() else {
            return real::getrandom(to, size, flags);
        };
        let got = match fills(&call, to, size) {
            true => size as isize,
            false => real::getrandom(to, size, flags),
        };
        if got > 0 {
            call.writes(to, got as usize);
        }
        got
    }

    fn getentropy(to: *mut c_void, size: usize) -> c_int {
        const MOST: usize = 256;
        let Some(call) = Call::begin() else {
            return real::getentropy(to, size);
        };
        let result = match size <= MOST && fills(&call, to, size) {
            true => 0,
            false => real::getentropy(to, size),
        };
        if result == 0 {
            call.writes(to, size);
        }
        result
    }

    fn arc4random() -> u32 {
        number().unwrap_or_else(|| real::arc4random())
    }

    fn arc4random_buf(to: *mut c_void, size: usize) {
        let Some(call) = Call::begin() else {
            return real::arc4random_buf(to, size);
        };
        if !fills(&call, to, size) {
            real::arc4random_buf(to, size);
        }
        call.writes(to, size);
    }

    fn arc4random_uniform(bound: u32) -> u32 {
        match number() {
            Some(bits) => ((u64::from(bits) * u64::from(bound)) >> 32) as u32,
            None => real::arc4random_uniform(bound),
        }
    }

    fn _ZNSt13random_device9_M_getvalEv(device: *mut c_void) -> c_uint {
        number().unwrap_or_else(|| real::_ZNSt13random_device9_M_getvalEv(device))
    }
}
