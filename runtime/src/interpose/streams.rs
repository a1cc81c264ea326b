//! Streams and directories of the C library.
//!
//! A stream is locked by every function that uses it, so uses do not race with
//! each other; but to close it is to free it. Each use therefore reads the
//! stream, and closing writes it.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::ptr;

use racehound_trace::Mode;

use super::descriptors::{self, closing, opened};
use super::files::makes_name;
use super::{Call, Errno, interpose, randomness};
use crate::control;
use crate::sync::{self, Traits};
use crate::thread::Visit;

type Stream = libc::FILE;

mod real {
    use super::Stream;
    use std::ffi::{c_char, c_int, c_void};

    unsafe extern "C" {
        pub(super) fn fopen64(path: *const c_char, mode: *const c_char) -> *mut Stream;
        pub(super) fn freopen64(
            path: *const c_char,
            mode: *const c_char,
            stream: *mut Stream,
        ) -> *mut Stream;
        pub(super) fn tmpfile64() -> *mut Stream;
        pub(super) fn fread_unlocked(
            to: *mut c_void,
            size: usize,
            count: usize,
            stream: *mut Stream,
        ) -> usize;
        pub(super) fn fwrite_unlocked(
            from: *const c_void,
            size: usize,
            count: usize,
            stream: *mut Stream,
        ) -> usize;
        pub(super) fn fputs_unlocked(text: *const c_char, stream: *mut Stream) -> c_int;
        pub(super) fn fgets_unlocked(
            to: *mut c_char,
            size: c_int,
            stream: *mut Stream,
        ) -> *mut c_char;
        pub(super) fn __fread_chk(
            to: *mut c_void,
            room: usize,
            size: usize,
            count: usize,
            stream: *mut Stream,
        ) -> usize;
        pub(super) fn __fgets_chk(
            to: *mut c_char,
            room: usize,
            size: c_int,
            stream: *mut Stream,
        ) -> *mut c_char;
        pub(super) static stdin: *mut Stream;
        pub(super) fn getchar() -> c_int;
        pub(super) fn getc(stream: *mut Stream) -> c_int;
        pub(super) fn _IO_getc(stream: *mut Stream) -> c_int;
        pub(super) fn putc(byte: c_int, stream: *mut Stream) -> c_int;
        pub(super) fn _IO_putc(byte: c_int, stream: *mut Stream) -> c_int;
        pub(super) fn fileno_unlocked(stream: *mut Stream) -> c_int;
        pub(super) fn flockfile(stream: *mut Stream);
        pub(super) fn ftrylockfile(stream: *mut Stream) -> c_int;
        pub(super) fn funlockfile(stream: *mut Stream);
        pub(super) fn getdelim(
            line: *mut *mut c_char,
            size: *mut usize,
            delimiter: c_int,
            stream: *mut Stream,
        ) -> isize;
        pub(super) fn __getdelim(
            line: *mut *mut c_char,
            size: *mut usize,
            delimiter: c_int,
            stream: *mut Stream,
        ) -> isize;
        pub(super) fn getline(
            line: *mut *mut c_char,
            size: *mut usize,
            stream: *mut Stream,
        ) -> isize;
        pub(super) fn fmemopen(to: *mut c_void, size: usize, mode: *const c_char) -> *mut Stream;
        pub(super) fn open_memstream(to: *mut *mut c_char, size: *mut usize) -> *mut Stream;
        pub(super) fn readdir64(directory: *mut libc::DIR) -> *mut libc::dirent64;
        pub(super) fn fseeko64(stream: *mut Stream, offset: i64, from: c_int) -> c_int;
        pub(super) fn ftello64(stream: *mut Stream) -> i64;
    }
}

/// What stands for the whole of a stream.
const SIGN: usize = 8;

/// Looks at a use of a stream.
pub(super) fn uses(call: &Call, stream: *const Stream) {
    call.reads(stream, SIGN);
}

/// Uses a stream in a call of its own.
fn with<R>(stream: *const Stream, real: impl FnOnce() -> R) -> R {
    match Call::begin() {
        Some(call) => {
            uses(&call, stream);
            real()
        }
        None => real(),
    }
}

/// The standard input.
pub(super) fn input() -> *mut Stream {
    // SAFETY: the C library's, which a program may change but does not while it reads.
    unsafe { real::stdin }
}

/// Bytes that a stream has read and not given away.
unsafe fn buffered(stream: *mut Stream) -> usize {
    /// How the C library's begin, since programs look at them themselves.
    #[repr(C)]
    struct Beginning {
        flags: c_int,
        next: *const u8,
        end: *const u8,
    }
    // SAFETY: the caller has a stream.
    let Beginning { next, end, .. } = unsafe { stream.cast::<Beginning>().read() };
    (end as usize).saturating_sub(next as usize)
}

/// Waits under control until a stream has something to give. For all that a call
/// wants more of the others wait as well.
pub(super) unsafe fn awaits_input(call: &Call, stream: *mut Stream) {
    // SAFETY: the caller has a stream.
    unsafe {
        if control::is_on() && !stream.is_null() && buffered(stream) == 0 {
            let fd = descriptor(stream);
            if fd >= 0 {
                call.awaits(fd, libc::POLLIN, None);
            }
        }
    }
}

/// Reads bytes as they come under control, so that others go on meanwhile. None
/// without control.
unsafe fn reads_in_parts(
    call: &Call,
    to: *mut c_void,
    size: usize,
    stream: *mut Stream,
) -> Option<usize> {
    call.turn()?;
    let mut got = 0;
    while got < size {
        // SAFETY: the program has a stream, and a buffer of that size.
        let more = unsafe {
            awaits_input(call, stream);
            let part = buffered(stream).clamp(1, size - got);
            real::fread_unlocked(to.cast::<u8>().add(got).cast(), 1, part, stream)
        };
        if more == 0 {
            break;
        }
        got += more;
    }
    Some(got)
}

unsafe fn descriptor(stream: *mut Stream) -> c_int {
    let _errno = Errno::keep();
    // SAFETY: the caller has a stream.
    unsafe { real::fileno_unlocked(stream) }
}

/// Whether a stream that is opened by a name, and in a mode, makes the name.
unsafe fn is_new([path, mode]: [*const c_char; 2]) -> bool {
    // SAFETY: strings, if there are any.
    unsafe {
        !mode.is_null()
            && matches!(*mode as u8, b'w' | b'a')
            && makes_name(libc::AT_FDCWD, path, libc::O_CREAT)
    }
}

/// Makes a stream with a descriptor.
unsafe fn opens(texts: [*const c_char; 2], real: impl FnOnce() -> *mut Stream) -> *mut Stream {
    let Some(call) = Call::begin() else {
        return real();
    };
    call.uses_names();
    // SAFETY: what the real function is given.
    descriptors::name_opened(&call, || unsafe { is_new(texts) });
    let stream = real();
    for text in texts {
        if !stream.is_null() || Errno::now() != libc::EFAULT {
            // SAFETY: the real function could use them.
            unsafe { call.reads_text(text) };
        }
    }
    if !stream.is_null() {
        // SAFETY: a new stream, and what it was opened by.
        unsafe {
            let fd = descriptor(stream);
            opened(&call, fd);
            randomness::opened(&call, texts[0], fd);
        }
    }
    if !texts[0].is_null() {
        descriptors::name_sought(&call);
    }
    stream
}

/// Gives a stream up: the descriptor's end comes with it.
unsafe fn closes(call: &Call, stream: *mut Stream) {
    call.writes(stream, SIGN);
    // SAFETY: the caller has a stream.
    closing(call, unsafe { descriptor(stream) });
}

/// Gives a stream another file.
unsafe fn reopens(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut Stream,
    real: impl FnOnce() -> *mut Stream,
) -> *mut Stream {
    let Some(call) = Call::begin() else {
        return real();
    };
    call.writes(stream, SIGN);
    // SAFETY: the program has a stream. Afterwards it is gone or a new one.
    unsafe {
        let before = descriptor(stream);
        call.reads_text(path);
        call.reads_text(mode);
        let new = real();
        // The same number may be used again, and then was never free.
        if !new.is_null() && descriptor(new) != before {
            opened(&call, descriptor(new));
        }
        new
    }
}

/// Reads a line as it comes under control, up to as many bytes as there is room for
/// with a zero behind them. None without control.
unsafe fn reads_line_in_parts(
    call: &Call,
    to: *mut c_char,
    room: c_int,
    stream: *mut Stream,
) -> Option<*mut c_char> {
    call.turn()?;
    let most = usize::try_from(room).ok()?.checked_sub(1)?;
    let mut got = 0;
    // SAFETY: the program has a stream, and that much room.
    unsafe {
        while got < most {
            awaits_input(call, stream);
            match real::getc(stream) {
                libc::EOF => break,
                byte => to.add(got).write(byte as c_char),
            }
            got += 1;
            if to.add(got - 1).read() == b'\n' as c_char {
                break;
            }
        }
        if got == 0 && most > 0 {
            return Some(ptr::null_mut());
        }
        to.add(got).write(0);
    }
    Some(to)
}

/// Reads a line into a buffer.
unsafe fn lines(
    (to, room): (*mut c_char, c_int),
    stream: *mut Stream,
    real: impl FnOnce() -> *mut c_char,
) -> *mut c_char {
    let Some(call) = Call::begin() else {
        return real();
    };
    uses(&call, stream);
    // SAFETY: what the program gave.
    let line = unsafe { reads_line_in_parts(&call, to, room, stream) }.unwrap_or_else(real);
    // SAFETY: written by the real function. Bytes may be zeroes before its end;
    // what is behind them goes unseen.
    unsafe { call.writes_text(line) };
    line
}

/// Reads a line into a buffer that grows with it.
unsafe fn grows(
    line: *mut *mut c_char,
    size: *mut usize,
    stream: *mut Stream,
    real: impl FnOnce() -> isize,
) -> isize {
    let Some(call) = Call::begin() else {
        return real();
    };
    uses(&call, stream);
    // SAFETY: the program has a stream.
    unsafe { awaits_input(&call, stream) };
    let got = real();
    if got >= 0 {
        call.writes(line, size_of::<*mut c_char>());
        call.writes(size, size_of::<usize>());
        // SAFETY: the real function has written it.
        call.writes(unsafe { line.read() }, got as usize + 1);
    }
    got
}

/// Reads that many things.
unsafe fn fills(
    to: *mut c_void,
    (size, count): (usize, usize),
    stream: *mut Stream,
    real: impl FnOnce() -> usize,
) -> usize {
    let Some(call) = Call::begin() else {
        return real();
    };
    uses(&call, stream);
    let all = size.saturating_mul(count);
    // SAFETY: what the program gave.
    let got = match unsafe { reads_in_parts(&call, to, all, stream) } {
        Some(got) => got.checked_div(size).unwrap_or(0),
        None => real(),
    };
    call.writes(to, got.saturating_mul(size));
    got
}

/// Reads a byte.
unsafe fn byte(stream: *mut Stream, real: impl FnOnce() -> c_int) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    uses(&call, stream);
    // SAFETY: the program has a stream.
    unsafe { awaits_input(&call, stream) };
    real()
}

/// Locks a stream as a program may do itself.
fn locked(call: &Call, stream: *mut Stream, tried: bool) {
    let traits = Traits {
        recursive: true,
        tried,
        ..Traits::default()
    };
    let visit = Visit::begin();
    sync::acquired(&visit, stream as usize, Mode::Exclusive, traits, call.place);
}

interpose! {
    fn fopen(path: *const c_char, mode: *const c_char) -> *mut Stream {
        opens([path, mode], || libc::fopen(path, mode))
    }

    fn fopen64(path: *const c_char, mode: *const c_char) -> *mut Stream {
        opens([path, mode], || real::fopen64(path, mode))
    }

    fn tmpfile() -> *mut Stream {
        opens([std::ptr::null(); 2], || libc::tmpfile())
    }

    fn tmpfile64() -> *mut Stream {
        opens([std::ptr::null(); 2], || real::tmpfile64())
    }

    fn popen(command: *const c_char, mode: *const c_char) -> *mut Stream {
        opens([command, mode], || {
            control::processor::loosen_me();
            let stream = libc::popen(command, mode);
            control::children::begin();
            stream
        })
    }

    fn fdopen(fd: c_int, mode: *const c_char) -> *mut Stream {
        let Some(call) = Call::begin() else {
            return libc::fdopen(fd, mode);
        };
        call.reads_text(mode);
        descriptors::uses(&call, fd, || 0);
        libc::fdopen(fd, mode)
    }

    fn fmemopen(to: *mut c_void, size: usize, mode: *const c_char) -> *mut Stream {
        let Some(call) = Call::begin() else {
            return real::fmemopen(to, size, mode);
        };
        call.reads_text(mode);
        real::fmemopen(to, size, mode)
    }

    fn open_memstream(to: *mut *mut c_char, size: *mut usize) -> *mut Stream {
        let Some(call) = Call::begin() else {
            return real::open_memstream(to, size);
        };
        call.writes(to, size_of::<*mut c_char>());
        call.writes(size, size_of::<usize>());
        real::open_memstream(to, size)
    }

    fn freopen(path: *const c_char, mode: *const c_char, stream: *mut Stream) -> *mut Stream {
        reopens(path, mode, stream, || libc::freopen(path, mode, stream))
    }

    fn freopen64(path: *const c_char, mode: *const c_char, stream: *mut Stream) -> *mut Stream {
        reopens(path, mode, stream, || real::freopen64(path, mode, stream))
    }

    fn fclose(stream: *mut Stream) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::fclose(stream);
        };
        closes(&call, stream);
        libc::fclose(stream)
    }

    fn pclose(stream: *mut Stream) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::pclose(stream);
        };
        closes(&call, stream);
        match call.turn() {
            Some(turn) => turn.patiently(|| libc::pclose(stream)),
            None => libc::pclose(stream),
        }
    }

    fn fflush(stream: *mut Stream) -> c_int {
        with(stream, || libc::fflush(stream))
    }

    fn fread(to: *mut c_void, size: usize, count: usize, stream: *mut Stream) -> usize {
        fills(to, (size, count), stream, || libc::fread(to, size, count, stream))
    }

    fn fread_unlocked(to: *mut c_void, size: usize, count: usize, stream: *mut Stream) -> usize {
        fills(to, (size, count), stream, || real::fread_unlocked(to, size, count, stream))
    }

    fn __fread_chk(to: *mut c_void, room: usize, size: usize, count: usize, stream: *mut Stream) -> usize {
        fills(to, (size, count), stream, || real::__fread_chk(to, room, size, count, stream))
    }

    fn fwrite(from: *const c_void, size: usize, count: usize, stream: *mut Stream) -> usize {
        let Some(call) = Call::begin() else {
            return libc::fwrite(from, size, count, stream);
        };
        uses(&call, stream);
        call.reads(from, size.saturating_mul(count));
        libc::fwrite(from, size, count, stream)
    }

    fn fwrite_unlocked(from: *const c_void, size: usize, count: usize, stream: *mut Stream) -> usize {
        let Some(call) = Call::begin() else {
            return real::fwrite_unlocked(from, size, count, stream);
        };
        uses(&call, stream);
        call.reads(from, size.saturating_mul(count));
        real::fwrite_unlocked(from, size, count, stream)
    }

    fn fputs(text: *const c_char, stream: *mut Stream) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::fputs(text, stream);
        };
        uses(&call, stream);
        call.reads_text(text);
        libc::fputs(text, stream)
    }

    fn fputs_unlocked(text: *const c_char, stream: *mut Stream) -> c_int {
        let Some(call) = Call::begin() else {
            return real::fputs_unlocked(text, stream);
        };
        uses(&call, stream);
        call.reads_text(text);
        real::fputs_unlocked(text, stream)
    }

    fn puts(text: *const c_char) -> c_int {
        if let Some(call) = Call::begin() {
            call.reads_text(text);
        }
        libc::puts(text)
    }

    fn perror(text: *const c_char) {
        if let Some(call) = Call::begin() {
            call.reads_text(text);
        }
        libc::perror(text);
    }

    fn fputc(byte: c_int, stream: *mut Stream) -> c_int {
        with(stream, || libc::fputc(byte, stream))
    }

    fn putc(byte: c_int, stream: *mut Stream) -> c_int {
        with(stream, || real::putc(byte, stream))
    }

    fn _IO_putc(byte: c_int, stream: *mut Stream) -> c_int {
        with(stream, || real::_IO_putc(byte, stream))
    }

    fn fgetc(stream: *mut Stream) -> c_int {
        byte(stream, || libc::fgetc(stream))
    }

    fn getc(stream: *mut Stream) -> c_int {
        byte(stream, || real::getc(stream))
    }

    fn _IO_getc(stream: *mut Stream) -> c_int {
        byte(stream, || real::_IO_getc(stream))
    }

    fn getchar() -> c_int {
        byte(input(), || real::getchar())
    }

    fn ungetc(byte: c_int, stream: *mut Stream) -> c_int {
        with(stream, || libc::ungetc(byte, stream))
    }

    fn fgets(to: *mut c_char, size: c_int, stream: *mut Stream) -> *mut c_char {
        lines((to, size), stream, || libc::fgets(to, size, stream))
    }

    fn fgets_unlocked(to: *mut c_char, size: c_int, stream: *mut Stream) -> *mut c_char {
        lines((to, size), stream, || real::fgets_unlocked(to, size, stream))
    }

    fn __fgets_chk(to: *mut c_char, room: usize, size: c_int, stream: *mut Stream) -> *mut c_char {
        lines((to, size), stream, || real::__fgets_chk(to, room, size, stream))
    }

    fn getline(line: *mut *mut c_char, size: *mut usize, stream: *mut Stream) -> isize {
        grows(line, size, stream, || real::getline(line, size, stream))
    }

    fn getdelim(line: *mut *mut c_char, size: *mut usize, delimiter: c_int, stream: *mut Stream) -> isize {
        grows(line, size, stream, || real::getdelim(line, size, delimiter, stream))
    }

    fn __getdelim(line: *mut *mut c_char, size: *mut usize, delimiter: c_int, stream: *mut Stream) -> isize {
        grows(line, size, stream, || real::__getdelim(line, size, delimiter, stream))
    }

    fn fseek(stream: *mut Stream, offset: c_long, from: c_int) -> c_int {
        with(stream, || libc::fseek(stream, offset, from))
    }

    fn fseeko(stream: *mut Stream, offset: i64, from: c_int) -> c_int {
        with(stream, || libc::fseeko(stream, offset, from))
    }

    fn fseeko64(stream: *mut Stream, offset: i64, from: c_int) -> c_int {
        with(stream, || real::fseeko64(stream, offset, from))
    }

    fn ftell(stream: *mut Stream) -> c_long {
        with(stream, || libc::ftell(stream))
    }

    fn ftello(stream: *mut Stream) -> i64 {
        with(stream, || libc::ftello(stream))
    }

    fn ftello64(stream: *mut Stream) -> i64 {
        with(stream, || real::ftello64(stream))
    }

    fn rewind(stream: *mut Stream) {
        with(stream, || libc::rewind(stream));
    }

    fn flockfile(stream: *mut Stream) {
        let Some(call) = Call::begin() else {
            return real::flockfile(stream);
        };
        uses(&call, stream);
        real::flockfile(stream);
        locked(&call, stream, false);
    }

    fn ftrylockfile(stream: *mut Stream) -> c_int {
        let Some(call) = Call::begin() else {
            return real::ftrylockfile(stream);
        };
        uses(&call, stream);
        let result = real::ftrylockfile(stream);
        if result == 0 {
            locked(&call, stream, true);
        }
        result
    }

    fn funlockfile(stream: *mut Stream) {
        if let Some(call) = Call::begin() {
            let visit = Visit::begin();
            sync::releasing(&visit, stream as usize, Some(Mode::Exclusive), call.place);
        }
        real::funlockfile(stream);
    }

    fn opendir(path: *const c_char) -> *mut libc::DIR {
        let Some(call) = Call::begin() else {
            return libc::opendir(path);
        };
        let directory = libc::opendir(path);
        if !directory.is_null() || Errno::now() != libc::EFAULT {
            call.reads_text(path);
        }
        if !directory.is_null() {
            opened(&call, libc::dirfd(directory));
        }
        descriptors::name_sought(&call);
        directory
    }

    fn closedir(directory: *mut libc::DIR) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::closedir(directory);
        };
        if !directory.is_null() {
            closing(&call, libc::dirfd(directory));
        }
        libc::closedir(directory)
    }

    // An entry is in the directory's own buffer, which each reading overwrites.
    fn readdir(directory: *mut libc::DIR) -> *mut libc::dirent {
        let Some(call) = Call::begin() else {
            return libc::readdir(directory);
        };
        let entry = libc::readdir(directory);
        if !entry.is_null() {
            call.writes(entry, (*entry).d_reclen as usize);
        }
        entry
    }

    fn readdir64(directory: *mut libc::DIR) -> *mut libc::dirent64 {
        let Some(call) = Call::begin() else {
            return real::readdir64(directory);
        };
        let entry = real::readdir64(directory);
        if !entry.is_null() {
            call.writes(entry, (*entry).d_reclen as usize);
        }
        entry
    }
}
