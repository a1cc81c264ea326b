//! Memory and string functions of wide characters.

use std::ffi::c_int;

use super::{Call, interpose};

type Wide = libc::wchar_t;

const SIZE: usize = size_of::<Wide>();

mod real {
    use super::Wide;
    use std::ffi::c_int;

    unsafe extern "C" {
        pub(super) fn wcslen(text: *const Wide) -> usize;
        pub(super) fn wcsnlen(text: *const Wide, size: usize) -> usize;
        pub(super) fn wcscpy(to: *mut Wide, from: *const Wide) -> *mut Wide;
        pub(super) fn wcpcpy(to: *mut Wide, from: *const Wide) -> *mut Wide;
        pub(super) fn wcsncpy(to: *mut Wide, from: *const Wide, size: usize) -> *mut Wide;
        pub(super) fn wcscat(to: *mut Wide, from: *const Wide) -> *mut Wide;
        pub(super) fn wcsncat(to: *mut Wide, from: *const Wide, size: usize) -> *mut Wide;
        pub(super) fn wcscmp(a: *const Wide, b: *const Wide) -> c_int;
        pub(super) fn wcsncmp(a: *const Wide, b: *const Wide, size: usize) -> c_int;
        pub(super) fn wcschr(text: *const Wide, what: Wide) -> *mut Wide;
        pub(super) fn wcsrchr(text: *const Wide, what: Wide) -> *mut Wide;
        pub(super) fn wcsstr(in_: *const Wide, what: *const Wide) -> *mut Wide;
        pub(super) fn wcsdup(text: *const Wide) -> *mut Wide;
        pub(super) fn wmemcpy(to: *mut Wide, from: *const Wide, size: usize) -> *mut Wide;
        pub(super) fn wmempcpy(to: *mut Wide, from: *const Wide, size: usize) -> *mut Wide;
        pub(super) fn wmemmove(to: *mut Wide, from: *const Wide, size: usize) -> *mut Wide;
        pub(super) fn wmemset(to: *mut Wide, what: Wide, size: usize) -> *mut Wide;
        pub(super) fn wmemcmp(a: *const Wide, b: *const Wide, size: usize) -> c_int;
        pub(super) fn wmemchr(in_: *const Wide, what: Wide, size: usize) -> *mut Wide;
    }
}

/// A string is read with its end.
unsafe fn reads(call: &Call, text: *const Wide) {
    // SAFETY: a string.
    call.reads(text, (unsafe { real::wcslen(text) } + 1) * SIZE);
}

/// A comparison: how many characters of both were read.
unsafe fn compared(a: *const Wide, b: *const Wide, size: usize, result: c_int, texts: bool) {
    let Some(call) = Call::begin() else { return };
    // SAFETY: the comparison has read as much.
    let at = |p: *const Wide, i: usize| unsafe { p.add(i).read_volatile() };
    let ends = |i: &usize| at(a, *i) != at(b, *i) || (texts && at(a, *i) == 0);
    let read = match result {
        0 if !texts => size,
        _ => (0..size).find(ends).map_or(size, |i| i + 1),
    };
    call.reads(a, read * SIZE);
    call.reads(b, read * SIZE);
}

/// Looks at a copy of that many characters.
fn copies(to: *mut Wide, from: *const Wide, size: usize) {
    if let Some(call) = Call::begin() {
        call.reads(from, size.saturating_mul(SIZE));
        call.writes(to, size.saturating_mul(SIZE));
    }
}

interpose! {
    fn wcslen(text: *const Wide) -> usize {
        let length = real::wcslen(text);
        if let Some(call) = Call::begin() {
            call.reads(text, (length + 1) * SIZE);
        }
        length
    }

    fn wcsnlen(text: *const Wide, size: usize) -> usize {
        let length = real::wcsnlen(text, size);
        if let Some(call) = Call::begin() {
            call.reads(text, size.min(length + 1) * SIZE);
        }
        length
    }

    fn wcscpy(to: *mut Wide, from: *const Wide) -> *mut Wide {
        copies(to, from, real::wcslen(from) + 1);
        real::wcscpy(to, from)
    }

    fn wcpcpy(to: *mut Wide, from: *const Wide) -> *mut Wide {
        copies(to, from, real::wcslen(from) + 1);
        real::wcpcpy(to, from)
    }

    fn wcsncpy(to: *mut Wide, from: *const Wide, size: usize) -> *mut Wide {
        if let Some(call) = Call::begin() {
            call.reads(from, size.min(real::wcsnlen(from, size) + 1) * SIZE);
            call.writes(to, size * SIZE);
        }
        real::wcsncpy(to, from, size)
    }

    fn wcscat(to: *mut Wide, from: *const Wide) -> *mut Wide {
        if let Some(call) = Call::begin() {
            let (before, added) = (real::wcslen(to), real::wcslen(from));
            call.reads(from, (added + 1) * SIZE);
            call.reads(to, before * SIZE);
            call.writes(to.add(before), (added + 1) * SIZE);
        }
        real::wcscat(to, from)
    }

    fn wcsncat(to: *mut Wide, from: *const Wide, size: usize) -> *mut Wide {
        if let Some(call) = Call::begin() {
            let (before, added) = (real::wcslen(to), real::wcsnlen(from, size));
            call.reads(from, size.min(added + 1) * SIZE);
            call.reads(to, before * SIZE);
            call.writes(to.add(before), (added + 1) * SIZE);
        }
        real::wcsncat(to, from, size)
    }

    fn wcscmp(a: *const Wide, b: *const Wide) -> c_int {
        let result = real::wcscmp(a, b);
        compared(a, b, usize::MAX, result, true);
        result
    }

    fn wcsncmp(a: *const Wide, b: *const Wide, size: usize) -> c_int {
        let result = real::wcsncmp(a, b, size);
        compared(a, b, size, result, true);
        result
    }

    fn wcschr(text: *const Wide, what: Wide) -> *mut Wide {
        let found = real::wcschr(text, what);
        if let Some(call) = Call::begin() {
            match found.is_null() {
                true => reads(&call, text),
                false => call.reads(text, found as usize - text as usize + SIZE),
            }
        }
        found
    }

    fn wcsrchr(text: *const Wide, what: Wide) -> *mut Wide {
        let found = real::wcsrchr(text, what);
        if let Some(call) = Call::begin() {
            reads(&call, text);
        }
        found
    }

    fn wcsstr(in_: *const Wide, what: *const Wide) -> *mut Wide {
        let found = real::wcsstr(in_, what);
        if let Some(call) = Call::begin() {
            reads(&call, what);
            match found.is_null() {
                true => reads(&call, in_),
                false => {
                    let length = real::wcslen(what) * SIZE;
                    call.reads(in_, found as usize - in_ as usize + length);
                }
            }
        }
        found
    }

    fn wcsdup(text: *const Wide) -> *mut Wide {
        let Some(call) = Call::begin() else {
            return real::wcsdup(text);
        };
        reads(&call, text);
        real::wcsdup(text)
    }

    fn wmemcpy(to: *mut Wide, from: *const Wide, size: usize) -> *mut Wide {
        copies(to, from, size);
        real::wmemcpy(to, from, size)
    }

    fn wmempcpy(to: *mut Wide, from: *const Wide, size: usize) -> *mut Wide {
        copies(to, from, size);
        real::wmempcpy(to, from, size)
    }

    fn wmemmove(to: *mut Wide, from: *const Wide, size: usize) -> *mut Wide {
        copies(to, from, size);
        real::wmemmove(to, from, size)
    }

    fn wmemset(to: *mut Wide, what: Wide, size: usize) -> *mut Wide {
        if let Some(call) = Call::begin() {
            call.writes(to, size.saturating_mul(SIZE));
        }
        real::wmemset(to, what, size)
    }

    fn wmemcmp(a: *const Wide, b: *const Wide, size: usize) -> c_int {
        let result = real::wmemcmp(a, b, size);
        compared(a, b, size, result, false);
        result
    }

    fn wmemchr(in_: *const Wide, what: Wide, size: usize) -> *mut Wide {
        let found = real::wmemchr(in_, what, size);
        if let Some(call) = Call::begin() {
            match found.is_null() {
                true => call.reads(in_, size.saturating_mul(SIZE)),
                false => call.reads(in_, found as usize - in_ as usize + SIZE),
            }
        }
        found
    }
}
