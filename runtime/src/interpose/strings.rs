//! Memory and string functions: they access what the program could have
//! accessed itself, and no more than the result depends on.
//!
//! Functions that only read are looked at after the real one: where it stopped
//! says what it read, and a bad pointer has failed in it by then.

use std::ffi::{c_char, c_int, c_long, c_longlong, c_ulong, c_ulonglong, c_void};

use super::{Call, interpose};

mod real {
    use std::ffi::{c_char, c_int, c_long, c_longlong, c_ulong, c_ulonglong, c_void};

    unsafe extern "C" {
        pub(super) fn bcmp(a: *const c_void, b: *const c_void, size: usize) -> c_int;
        pub(super) fn bcopy(from: *const c_void, to: *mut c_void, size: usize);
        pub(super) fn bzero(to: *mut c_void, size: usize);
        pub(super) fn explicit_bzero(to: *mut c_void, size: usize);
        pub(super) fn mempcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void;
        pub(super) fn memccpy(
            to: *mut c_void,
            from: *const c_void,
            byte: c_int,
            size: usize,
        ) -> *mut c_void;
        pub(super) fn memrchr(in_: *const c_void, byte: c_int, size: usize) -> *mut c_void;
        pub(super) fn rawmemchr(in_: *const c_void, byte: c_int) -> *mut c_void;
        pub(super) fn memmem(
            in_: *const c_void,
            size: usize,
            what: *const c_void,
            length: usize,
        ) -> *mut c_void;
        pub(super) fn strcasestr(in_: *const c_char, what: *const c_char) -> *mut c_char;
        pub(super) fn strchrnul(text: *const c_char, byte: c_int) -> *mut c_char;
        pub(super) fn index(text: *const c_char, byte: c_int) -> *mut c_char;
        pub(super) fn rindex(text: *const c_char, byte: c_int) -> *mut c_char;
        pub(super) fn strsep(text: *mut *mut c_char, delimiters: *const c_char) -> *mut c_char;
        pub(super) fn strxfrm(to: *mut c_char, from: *const c_char, size: usize) -> usize;
        pub(super) fn __strdup(text: *const c_char) -> *mut c_char;
        pub(super) fn __strndup(text: *const c_char, size: usize) -> *mut c_char;
        pub(super) fn strtoll(
            text: *const c_char,
            end: *mut *mut c_char,
            base: c_int,
        ) -> c_longlong;
        pub(super) fn strtoull(
            text: *const c_char,
            end: *mut *mut c_char,
            base: c_int,
        ) -> c_ulonglong;
        pub(super) fn strtol(text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_long;
        pub(super) fn strtoul(text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_ulong;
        pub(super) fn strtod(text: *const c_char, end: *mut *mut c_char) -> f64;
        pub(super) fn strtof(text: *const c_char, end: *mut *mut c_char) -> f32;
        pub(super) fn __memcpy_chk(
            to: *mut c_void,
            from: *const c_void,
            size: usize,
            room: usize,
        ) -> *mut c_void;
        pub(super) fn __memmove_chk(
            to: *mut c_void,
            from: *const c_void,
            size: usize,
            room: usize,
        ) -> *mut c_void;
        pub(super) fn __mempcpy_chk(
            to: *mut c_void,
            from: *const c_void,
            size: usize,
            room: usize,
        ) -> *mut c_void;
        pub(super) fn __memset_chk(
            to: *mut c_void,
            byte: c_int,
            size: usize,
            room: usize,
        ) -> *mut c_void;
        pub(super) fn __explicit_bzero_chk(to: *mut c_void, size: usize, room: usize);
        pub(super) fn __strcpy_chk(
            to: *mut c_char,
            from: *const c_char,
            room: usize,
        ) -> *mut c_char;
        pub(super) fn __stpcpy_chk(
            to: *mut c_char,
            from: *const c_char,
            room: usize,
        ) -> *mut c_char;
        pub(super) fn __strcat_chk(
            to: *mut c_char,
            from: *const c_char,
            room: usize,
        ) -> *mut c_char;
        pub(super) fn __strncpy_chk(
            to: *mut c_char,
            from: *const c_char,
            size: usize,
            room: usize,
        ) -> *mut c_char;
        pub(super) fn __stpncpy_chk(
            to: *mut c_char,
            from: *const c_char,
            size: usize,
            room: usize,
        ) -> *mut c_char;
        pub(super) fn __strncat_chk(
            to: *mut c_char,
            from: *const c_char,
            size: usize,
            room: usize,
        ) -> *mut c_char;
    }
}

/// A comparison of `size` bytes: both are read up to the first difference.
unsafe fn compared(a: *const c_void, b: *const c_void, size: usize, result: c_int) {
    let Some(call) = Call::begin() else { return };
    let read = match result {
        0 => size,
        // SAFETY: the comparison has read as much.
        _ => unsafe { up_to_a_difference(a.cast(), b.cast(), size) },
    };
    call.reads(a, read);
    call.reads(b, read);
}

/// The bytes up to the first difference, and that. Others may change them meanwhile.
unsafe fn up_to_a_difference(a: *const u8, b: *const u8, size: usize) -> usize {
    const STEP: usize = size_of::<u64>();
    let mut same = 0;
    while same + STEP <= size {
        // SAFETY: that much can be read of both.
        let differ = unsafe {
            let word = |text: *const u8| text.add(same).cast::<u64>().read_unaligned();
            word(a) ^ word(b)
        };
        if differ != 0 {
            return same + differ.trailing_zeros() as usize / 8 + 1;
        }
        same += STEP;
    }
    // SAFETY: as above.
    let differ = |i: &usize| unsafe { a.add(*i).read_volatile() != b.add(*i).read_volatile() };
    (same..size).find(differ).map_or(size, |i| i + 1)
}

/// A comparison of strings of at most `size` bytes: both are read up to the first
/// difference or their end.
unsafe fn texts_compared(
    a: *const c_char,
    b: *const c_char,
    size: usize,
    result: c_int,
    fold: impl Fn(u8) -> c_int,
) {
    let Some(call) = Call::begin() else { return };
    let read = if result == 0 {
        // SAFETY: the comparison has read as much.
        let length = unsafe { libc::strnlen(a, size) };
        size.min(length + 1)
    } else {
        let ends = |i: &usize| {
            // SAFETY: as above.
            let (x, y) = unsafe {
                (
                    a.add(*i).cast::<u8>().read_volatile(),
                    b.add(*i).cast::<u8>().read_volatile(),
                )
            };
            x == 0 || y == 0 || (x != y && fold(x) != fold(y))
        };
        (0..size).find(ends).map_or(size, |i| i + 1)
    };
    call.reads(a, read);
    call.reads(b, read);
}

fn as_it_is(byte: u8) -> c_int {
    byte.into()
}

fn without_case(byte: u8) -> c_int {
    // SAFETY: any byte will do.
    unsafe { libc::tolower(byte.into()) }
}

/// A search in a string that ended at `found`, or at its end.
unsafe fn searched(call: &Call, text: *const c_char, found: *const c_char) {
    match found.is_null() {
        // SAFETY: the search has gone to its end.
        true => unsafe { call.reads_text(text) },
        false => call.reads(text, found as usize - text as usize + 1),
    }
}

/// A search for a string.
unsafe fn searched_for(in_: *const c_char, what: *const c_char, found: *const c_char) {
    let Some(call) = Call::begin() else { return };
    // SAFETY: both are strings.
    unsafe {
        let length = libc::strlen(what);
        call.reads(what, length + 1);
        match found.is_null() {
            true => call.reads_text(in_),
            false => call.reads(in_, found as usize - in_ as usize + length),
        }
    }
}

/// A copy of a string with its end; its length.
unsafe fn copying(call: &Call, to: *mut c_char, from: *const c_char) -> usize {
    // SAFETY: a string.
    let length = unsafe { libc::strlen(from) };
    call.reads(from, length + 1);
    call.writes(to, length + 1);
    length
}

/// A copy of at most `size` bytes of a string; the rest is filled.
unsafe fn copying_some(call: &Call, to: *mut c_char, from: *const c_char, size: usize) {
    // SAFETY: a string, or that many bytes.
    let length = unsafe { libc::strnlen(from, size) };
    call.reads(from, size.min(length + 1));
    call.writes(to, size);
}

/// At most `size` bytes of a string are put behind another.
unsafe fn appending(call: &Call, to: *mut c_char, from: *const c_char, size: usize) {
    // SAFETY: a string, and a string or that many bytes.
    unsafe {
        let (before, added) = (libc::strlen(to), libc::strnlen(from, size));
        call.reads(from, size.min(added + 1));
        call.reads(to, before);
        call.writes(to.add(before), added + 1);
    }
}

/// A number was read from a string. `end` is where the program wants to be told
/// the end of it, and `stop` where that is.
unsafe fn parsed(text: *const c_char, end: *mut *mut c_char, stop: *const c_char) {
    let Some(call) = Call::begin() else { return };
    // Where there is no number, the first byte or two tell.
    call.reads(text, stop as usize - text as usize + 1);
    call.writes(end, size_of::<*mut c_char>());
}

macro_rules! parsers {
    ($($name:ident => $real:ident -> $result:ty;)*) => {
        interpose! {
            $(fn $name(text: *const c_char, end: *mut *mut c_char, base: c_int) -> $result {
                let mut stop = std::ptr::null_mut();
                let told = if end.is_null() { &raw mut stop } else { end };
                let result = real::$real(text, told, base);
                // For other bases the real function does nothing at all.
                if base == 0 || (2..=36).contains(&base) {
                    parsed(text, end, told.read());
                }
                result
            })*
        }
    };
}

parsers! {
    strtol => strtol -> c_long;
    strtoll => strtoll -> c_longlong;
    strtoul => strtoul -> c_ulong;
    strtoull => strtoull -> c_ulonglong;
    strtoimax => strtoll -> c_longlong;
    strtoumax => strtoull -> c_ulonglong;
    strtoq => strtoll -> c_longlong;
    strtouq => strtoull -> c_ulonglong;
}

interpose! {
    fn strtod(text: *const c_char, end: *mut *mut c_char) -> f64 {
        let mut stop = std::ptr::null_mut();
        let result = real::strtod(text, &raw mut stop);
        if !end.is_null() {
            end.write(stop);
        }
        parsed(text, end, stop);
        result
    }

    fn strtof(text: *const c_char, end: *mut *mut c_char) -> f32 {
        let mut stop = std::ptr::null_mut();
        let result = real::strtof(text, &raw mut stop);
        if !end.is_null() {
            end.write(stop);
        }
        parsed(text, end, stop);
        result
    }

    fn atof(text: *const c_char) -> f64 {
        let mut stop = std::ptr::null_mut();
        let result = real::strtod(text, &raw mut stop);
        parsed(text, std::ptr::null_mut(), stop);
        result
    }

    fn atoi(text: *const c_char) -> c_int {
        let mut stop = std::ptr::null_mut();
        let result = real::strtol(text, &raw mut stop, 10);
        parsed(text, std::ptr::null_mut(), stop);
        result as c_int
    }

    fn atol(text: *const c_char) -> c_long {
        let mut stop = std::ptr::null_mut();
        let result = real::strtol(text, &raw mut stop, 10);
        parsed(text, std::ptr::null_mut(), stop);
        result
    }

    fn atoll(text: *const c_char) -> c_longlong {
        let mut stop = std::ptr::null_mut();
        let result = real::strtoll(text, &raw mut stop, 10);
        parsed(text, std::ptr::null_mut(), stop);
        result
    }

    fn memcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        if let Some(call) = Call::begin() {
            call.reads(from, size);
            call.writes(to, size);
        }
        libc::memcpy(to, from, size)
    }

    fn __memcpy_chk(to: *mut c_void, from: *const c_void, size: usize, room: usize) -> *mut c_void {
        if let Some(call) = Call::begin() {
            call.reads(from, size);
            call.writes(to, size);
        }
        real::__memcpy_chk(to, from, size, room)
    }

    fn mempcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        if let Some(call) = Call::begin() {
            call.reads(from, size);
            call.writes(to, size);
        }
        real::mempcpy(to, from, size)
    }

    fn __mempcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        if let Some(call) = Call::begin() {
            call.reads(from, size);
            call.writes(to, size);
        }
        real::mempcpy(to, from, size)
    }

    fn __mempcpy_chk(to: *mut c_void, from: *const c_void, size: usize, room: usize) -> *mut c_void {
        if let Some(call) = Call::begin() {
            call.reads(from, size);
            call.writes(to, size);
        }
        real::__mempcpy_chk(to, from, size, room)
    }

    fn memmove(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        if let Some(call) = Call::begin() {
            call.reads(from, size);
            call.writes(to, size);
        }
        libc::memmove(to, from, size)
    }

    fn __memmove_chk(to: *mut c_void, from: *const c_void, size: usize, room: usize) -> *mut c_void {
        if let Some(call) = Call::begin() {
            call.reads(from, size);
            call.writes(to, size);
        }
        real::__memmove_chk(to, from, size, room)
    }

    fn bcopy(from: *const c_void, to: *mut c_void, size: usize) {
        if let Some(call) = Call::begin() {
            call.reads(from, size);
            call.writes(to, size);
        }
        real::bcopy(from, to, size);
    }

    fn memccpy(to: *mut c_void, from: *const c_void, byte: c_int, size: usize) -> *mut c_void {
        if let Some(call) = Call::begin() {
            let found = libc::memchr(from, byte, size);
            let copied = match found.is_null() {
                true => size,
                false => found as usize - from as usize + 1,
            };
            call.reads(from, copied);
            call.writes(to, copied);
        }
        real::memccpy(to, from, byte, size)
    }

    fn memset(to: *mut c_void, byte: c_int, size: usize) -> *mut c_void {
        if let Some(call) = Call::begin() {
            call.writes(to, size);
        }
        libc::memset(to, byte, size)
    }

    fn __memset_chk(to: *mut c_void, byte: c_int, size: usize, room: usize) -> *mut c_void {
        if let Some(call) = Call::begin() {
            call.writes(to, size);
        }
        real::__memset_chk(to, byte, size, room)
    }

    fn bzero(to: *mut c_void, size: usize) {
        if let Some(call) = Call::begin() {
            call.writes(to, size);
        }
        real::bzero(to, size);
    }

    fn explicit_bzero(to: *mut c_void, size: usize) {
        if let Some(call) = Call::begin() {
            call.writes(to, size);
        }
        real::explicit_bzero(to, size);
    }

    fn __explicit_bzero_chk(to: *mut c_void, size: usize, room: usize) {
        if let Some(call) = Call::begin() {
            call.writes(to, size);
        }
        real::__explicit_bzero_chk(to, size, room);
    }

    fn memcmp(a: *const c_void, b: *const c_void, size: usize) -> c_int {
        let result = libc::memcmp(a, b, size);
        compared(a, b, size, result);
        result
    }

    fn bcmp(a: *const c_void, b: *const c_void, size: usize) -> c_int {
        let result = real::bcmp(a, b, size);
        compared(a, b, size, result);
        result
    }

    fn memchr(in_: *const c_void, byte: c_int, size: usize) -> *mut c_void {
        let found = libc::memchr(in_, byte, size);
        if let Some(call) = Call::begin() {
            match found.is_null() {
                true => call.reads(in_, size),
                false => call.reads(in_, found as usize - in_ as usize + 1),
            }
        }
        found
    }

    fn rawmemchr(in_: *const c_void, byte: c_int) -> *mut c_void {
        let found = real::rawmemchr(in_, byte);
        if let Some(call) = Call::begin() {
            call.reads(in_, found as usize - in_ as usize + 1);
        }
        found
    }

    fn memrchr(in_: *const c_void, byte: c_int, size: usize) -> *mut c_void {
        let found = real::memrchr(in_, byte, size);
        if let Some(call) = Call::begin() {
            match found.is_null() {
                true => call.reads(in_, size),
                false => call.reads(found, in_ as usize + size - found as usize),
            }
        }
        found
    }

    fn memmem(in_: *const c_void, size: usize, what: *const c_void, length: usize) -> *mut c_void {
        let found = real::memmem(in_, size, what, length);
        if let Some(call) = Call::begin() {
            call.reads(what, length);
            match found.is_null() {
                true => call.reads(in_, size),
                false => call.reads(in_, found as usize - in_ as usize + length),
            }
        }
        found
    }

    fn strlen(text: *const c_char) -> usize {
        let length = libc::strlen(text);
        if let Some(call) = Call::begin() {
            call.reads(text, length + 1);
        }
        length
    }

    fn strnlen(text: *const c_char, size: usize) -> usize {
        let length = libc::strnlen(text, size);
        if let Some(call) = Call::begin() {
            call.reads(text, size.min(length + 1));
        }
        length
    }

    fn strcpy(to: *mut c_char, from: *const c_char) -> *mut c_char {
        if let Some(call) = Call::begin() {
            copying(&call, to, from);
        }
        libc::strcpy(to, from)
    }

    fn __strcpy_chk(to: *mut c_char, from: *const c_char, room: usize) -> *mut c_char {
        if let Some(call) = Call::begin() {
            copying(&call, to, from);
        }
        real::__strcpy_chk(to, from, room)
    }

    fn stpcpy(to: *mut c_char, from: *const c_char) -> *mut c_char {
        if let Some(call) = Call::begin() {
            copying(&call, to, from);
        }
        libc::stpcpy(to, from)
    }

    fn __stpcpy(to: *mut c_char, from: *const c_char) -> *mut c_char {
        if let Some(call) = Call::begin() {
            copying(&call, to, from);
        }
        libc::stpcpy(to, from)
    }

    fn __stpcpy_chk(to: *mut c_char, from: *const c_char, room: usize) -> *mut c_char {
        if let Some(call) = Call::begin() {
            copying(&call, to, from);
        }
        real::__stpcpy_chk(to, from, room)
    }

    fn strncpy(to: *mut c_char, from: *const c_char, size: usize) -> *mut c_char {
        if let Some(call) = Call::begin() {
            copying_some(&call, to, from, size);
        }
        libc::strncpy(to, from, size)
    }

    fn __strncpy_chk(to: *mut c_char, from: *const c_char, size: usize, room: usize) -> *mut c_char {
        if let Some(call) = Call::begin() {
            copying_some(&call, to, from, size);
        }
        real::__strncpy_chk(to, from, size, room)
    }

    fn stpncpy(to: *mut c_char, from: *const c_char, size: usize) -> *mut c_char {
        if let Some(call) = Call::begin() {
            copying_some(&call, to, from, size);
        }
        libc::stpncpy(to, from, size)
    }

    fn __stpncpy_chk(to: *mut c_char, from: *const c_char, size: usize, room: usize) -> *mut c_char {
        if let Some(call) = Call::begin() {
            copying_some(&call, to, from, size);
        }
        real::__stpncpy_chk(to, from, size, room)
    }

    fn strcat(to: *mut c_char, from: *const c_char) -> *mut c_char {
        if let Some(call) = Call::begin() {
            appending(&call, to, from, usize::MAX);
        }
        libc::strcat(to, from)
    }

    fn __strcat_chk(to: *mut c_char, from: *const c_char, room: usize) -> *mut c_char {
        if let Some(call) = Call::begin() {
            appending(&call, to, from, usize::MAX);
        }
        real::__strcat_chk(to, from, room)
    }

    fn strncat(to: *mut c_char, from: *const c_char, size: usize) -> *mut c_char {
        if let Some(call) = Call::begin() {
            appending(&call, to, from, size);
        }
        libc::strncat(to, from, size)
    }

    fn __strncat_chk(to: *mut c_char, from: *const c_char, size: usize, room: usize) -> *mut c_char {
        if let Some(call) = Call::begin() {
            appending(&call, to, from, size);
        }
        real::__strncat_chk(to, from, size, room)
    }

    fn strcmp(a: *const c_char, b: *const c_char) -> c_int {
        let result = libc::strcmp(a, b);
        texts_compared(a, b, usize::MAX, result, as_it_is);
        result
    }

    fn strncmp(a: *const c_char, b: *const c_char, size: usize) -> c_int {
        let result = libc::strncmp(a, b, size);
        texts_compared(a, b, size, result, as_it_is);
        result
    }

    fn strcasecmp(a: *const c_char, b: *const c_char) -> c_int {
        let result = libc::strcasecmp(a, b);
        texts_compared(a, b, usize::MAX, result, without_case);
        result
    }

    fn strncasecmp(a: *const c_char, b: *const c_char, size: usize) -> c_int {
        let result = libc::strncasecmp(a, b, size);
        texts_compared(a, b, size, result, without_case);
        result
    }

    fn strcoll(a: *const c_char, b: *const c_char) -> c_int {
        let result = libc::strcoll(a, b);
        if let Some(call) = Call::begin() {
            call.reads_text(a);
            call.reads_text(b);
        }
        result
    }

    fn strxfrm(to: *mut c_char, from: *const c_char, size: usize) -> usize {
        let length = real::strxfrm(to, from, size);
        if let Some(call) = Call::begin() {
            call.reads_text(from);
            if length < size {
                call.writes(to, length + 1);
            }
        }
        length
    }

    fn strchr(text: *const c_char, byte: c_int) -> *mut c_char {
        let found = libc::strchr(text, byte);
        if let Some(call) = Call::begin() {
            searched(&call, text, found);
        }
        found
    }

    fn index(text: *const c_char, byte: c_int) -> *mut c_char {
        let found = real::index(text, byte);
        if let Some(call) = Call::begin() {
            searched(&call, text, found);
        }
        found
    }

    fn strchrnul(text: *const c_char, byte: c_int) -> *mut c_char {
        let found = real::strchrnul(text, byte);
        if let Some(call) = Call::begin() {
            searched(&call, text, found);
        }
        found
    }

    fn strrchr(text: *const c_char, byte: c_int) -> *mut c_char {
        let found = libc::strrchr(text, byte);
        if let Some(call) = Call::begin() {
            call.reads_text(text);
        }
        found
    }

    fn rindex(text: *const c_char, byte: c_int) -> *mut c_char {
        let found = real::rindex(text, byte);
        if let Some(call) = Call::begin() {
            call.reads_text(text);
        }
        found
    }

    fn strstr(in_: *const c_char, what: *const c_char) -> *mut c_char {
        let found = libc::strstr(in_, what);
        searched_for(in_, what, found);
        found
    }

    fn strcasestr(in_: *const c_char, what: *const c_char) -> *mut c_char {
        let found = real::strcasestr(in_, what);
        searched_for(in_, what, found);
        found
    }

    fn strspn(text: *const c_char, set: *const c_char) -> usize {
        let length = libc::strspn(text, set);
        if let Some(call) = Call::begin() {
            call.reads_text(set);
            call.reads(text, length + 1);
        }
        length
    }

    fn strcspn(text: *const c_char, set: *const c_char) -> usize {
        let length = libc::strcspn(text, set);
        if let Some(call) = Call::begin() {
            call.reads_text(set);
            call.reads(text, length + 1);
        }
        length
    }

    fn strpbrk(text: *const c_char, set: *const c_char) -> *mut c_char {
        let found = libc::strpbrk(text, set);
        if let Some(call) = Call::begin() {
            call.reads_text(set);
            searched(&call, text, found);
        }
        found
    }

    fn strtok_r(text: *mut c_char, set: *const c_char, rest: *mut *mut c_char) -> *mut c_char {
        let from = match text.is_null() {
            true => rest.read(),
            false => text,
        };
        let token = libc::strtok_r(text, set, rest);
        tokenised(from, set, rest, token);
        token
    }

    fn __strtok_r(text: *mut c_char, set: *const c_char, rest: *mut *mut c_char) -> *mut c_char {
        let from = match text.is_null() {
            true => rest.read(),
            false => text,
        };
        let token = libc::strtok_r(text, set, rest);
        tokenised(from, set, rest, token);
        token
    }

    fn strsep(text: *mut *mut c_char, set: *const c_char) -> *mut c_char {
        let token = real::strsep(text, set);
        if let Some(call) = Call::begin() {
            call.writes(text, size_of::<*mut c_char>());
            call.reads_text(set);
            if !token.is_null() {
                let length = libc::strlen(token);
                call.reads(token, length + 1);
                if !text.read().is_null() {
                    call.writes(token.add(length), 1);
                }
            }
        }
        token
    }

    // The block comes from `malloc`, which the C library asks as anybody else.
    fn strdup(text: *const c_char) -> *mut c_char {
        let Some(call) = Call::begin() else {
            return libc::strdup(text);
        };
        call.reads_text(text);
        libc::strdup(text)
    }

    fn __strdup(text: *const c_char) -> *mut c_char {
        let Some(call) = Call::begin() else {
            return real::__strdup(text);
        };
        call.reads_text(text);
        real::__strdup(text)
    }

    fn strndup(text: *const c_char, size: usize) -> *mut c_char {
        let Some(call) = Call::begin() else {
            return libc::strndup(text, size);
        };
        call.reads(text, size.min(libc::strnlen(text, size) + 1));
        libc::strndup(text, size)
    }

    fn __strndup(text: *const c_char, size: usize) -> *mut c_char {
        let Some(call) = Call::begin() else {
            return real::__strndup(text, size);
        };
        call.reads(text, size.min(libc::strnlen(text, size) + 1));
        real::__strndup(text, size)
    }
}

/// A token was found in what began at `from`; what separates it from the rest was
/// overwritten with its end.
unsafe fn tokenised(
    from: *const c_char,
    set: *const c_char,
    rest: *mut *mut c_char,
    token: *const c_char,
) {
    let Some(call) = Call::begin() else { return };
    // SAFETY: what the real function has left.
    unsafe {
        call.reads_text(set);
        call.writes(rest, size_of::<*mut c_char>());
        let rest = rest.read();
        if from.is_null() || rest.is_null() {
            return;
        }
        call.reads(from, (rest as usize).saturating_sub(from as usize).max(1));
        if !token.is_null() && token.add(libc::strlen(token)) != rest {
            call.writes(rest.sub(1), 1);
        }
    }
}
