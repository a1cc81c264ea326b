//! Formatted output and input: what the arguments point to is read or written
//! as the format says.
//!
//! The functions that take a `va_list` are ordinary ones. Those with any number
//! of arguments are a few instructions that do what a compiler does at the
//! beginning of such a function, make a `va_list` of the registers and the stack,
//! and call the former.

use std::ffi::{c_char, c_int};

use super::streams::{self, uses};
use super::{Call, interpose};

type Stream = libc::FILE;

/// The arguments that a function with any number of them was given, as the ABI
/// lays them out.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Arguments {
    /// How much of the saved registers is used up: of those for integers, and of
    /// those for floating-point numbers, which come after them.
    integers: u32,
    floats: u32,
    stack: *const u8,
    saved: *const u8,
}

/// Where the saved registers of the two kinds end.
const INTEGERS_END: u32 = 6 * 8;
const FLOATS_END: u32 = INTEGERS_END + 8 * 16;

impl Arguments {
    /// The next integer or pointer.
    unsafe fn integer(&mut self) -> usize {
        // SAFETY: the format says that there is one.
        unsafe {
            if self.integers < INTEGERS_END {
                let at = self.saved.add(self.integers as usize);
                self.integers += 8;
                return at.cast::<usize>().read();
            }
            let value = self.stack.cast::<usize>().read();
            self.stack = self.stack.add(8);
            value
        }
    }

    /// Passes over a floating-point number.
    fn skip_float(&mut self, is_long: bool) {
        if is_long {
            let aligned = (self.stack as usize).next_multiple_of(16);
            self.stack = (aligned + 16) as *const u8;
        } else if self.floats < FLOATS_END {
            self.floats += 16;
        } else {
            self.stack = self.stack.wrapping_add(8);
        }
    }
}

/// A conversion in a format.
#[derive(Default, Debug, PartialEq, Eq)]
struct Conversion {
    letter: u8,
    /// `l` counts as 1, `ll` as 2, `h` as -1, `hh` as -2.
    length: i32,
    is_long_double: bool,
    width: Number,
    precision: Number,
    /// Nothing is stored.
    suppressed: bool,
    /// Memory is allocated for it.
    allocates: bool,
}

#[derive(Default, Debug, PartialEq, Eq, Clone, Copy)]
enum Number {
    #[default]
    None,
    Given(usize),
    Argument,
}

/// The conversions of a format, as far as it is understood: arguments by number
/// end it.
struct Format {
    at: *const u8,
    is_input: bool,
}

impl Format {
    fn peek(&self) -> u8 {
        // SAFETY: a string, of which the end has not been passed.
        unsafe { self.at.read() }
    }

    fn take(&mut self) -> u8 {
        let byte = self.peek();
        if byte != 0 {
            // SAFETY: not the end yet.
            self.at = unsafe { self.at.add(1) };
        }
        byte
    }

    fn number(&mut self) -> Number {
        if self.peek() == b'*' {
            self.take();
            return Number::Argument;
        }
        let mut number = Number::None;
        while self.peek().is_ascii_digit() {
            let digit = usize::from(self.take() - b'0');
            let before = match number {
                Number::Given(before) => before,
                _ => 0,
            };
            number = Number::Given(before.saturating_mul(10).saturating_add(digit));
        }
        number
    }

    /// The characters between brackets, which may begin with a closing one.
    fn set(&mut self) {
        if self.peek() == b'^' {
            self.take();
        }
        if self.peek() == b']' {
            self.take();
        }
        while !matches!(self.take(), 0 | b']') {}
    }
}

impl Iterator for Format {
    type Item = Conversion;

    fn next(&mut self) -> Option<Conversion> {
        loop {
            match self.take() {
                0 => return None,
                b'%' => {}
                _ => continue,
            }
            let mut found = Conversion::default();
            if self.is_input && self.peek() == b'*' {
                self.take();
                found.suppressed = true;
            }
            while !self.is_input && b"-+ #0'I".contains(&self.peek()) && self.peek() != 0 {
                self.take();
            }
            found.width = self.number();
            if self.peek() == b'.' {
                self.take();
                found.precision = match self.number() {
                    Number::None => Number::Given(0),
                    number => number,
                };
            }
            loop {
                match self.peek() {
                    b'l' => found.length += 1,
                    b'h' => found.length -= 1,
                    b'j' | b'z' | b't' | b'Z' | b'q' => found.length = 2,
                    b'L' => (found.length, found.is_long_double) = (2, true),
                    b'm' if self.is_input => found.allocates = true,
                    b'\'' | b'I' if self.is_input => {}
                    _ => break,
                }
                self.take();
            }
            found.letter = self.take();
            match found.letter {
                b'%' => continue,
                0 | b'$' => return None,
                b'[' => self.set(),
                _ => {}
            }
            return Some(found);
        }
    }
}

impl Conversion {
    /// Bytes of the integer it stands for.
    fn integer_size(&self) -> usize {
        match self.length {
            1.. => 8,
            0 => 4,
            -1 => 2,
            _ => 1,
        }
    }

    fn is_wide(&self) -> bool {
        self.length > 0 || self.letter.is_ascii_uppercase()
    }
}

/// A string of wide characters, in bytes, of at most that many.
unsafe fn wide_size(text: *const libc::wchar_t, most: usize) -> usize {
    unsafe extern "C" {
        fn wcsnlen(text: *const libc::wchar_t, size: usize) -> usize;
    }
    // SAFETY: the caller has such a string.
    let length = unsafe { wcsnlen(text, most) };
    most.min(length + 1)
        .saturating_mul(size_of::<libc::wchar_t>())
}

/// Looks at what formatted output reads and, rarely, writes.
unsafe fn prints(call: &Call, format: *const c_char, mut arguments: Arguments) {
    // SAFETY: the program promises that the arguments are as the format says.
    unsafe {
        call.reads_text(format);
        if format.is_null() {
            return;
        }
        for found in (Format {
            at: format.cast(),
            is_input: false,
        }) {
            if found.width == Number::Argument {
                arguments.integer();
            }
            let most = match found.precision {
                Number::None => usize::MAX,
                Number::Given(most) => most,
                // A negative one counts as none.
                Number::Argument => {
                    usize::try_from(arguments.integer() as c_int).unwrap_or(usize::MAX)
                }
            };
            match found.letter {
                b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'b' | b'B' | b'c' | b'C' | b'p' => {
                    arguments.integer();
                }
                b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                    arguments.skip_float(found.is_long_double);
                }
                b's' | b'S' => {
                    let text = arguments.integer() as *const c_char;
                    match text.is_null() {
                        true => {}
                        // As many bytes as wanted may come of fewer characters.
                        false if found.is_wide() => call.reads(text, wide_size(text.cast(), most)),
                        false => call.reads(text, most.min(libc::strnlen(text, most) + 1)),
                    }
                }
                b'n' => call.writes(arguments.integer() as *const u8, found.integer_size()),
                b'm' => {}
                _ => return,
            }
        }
    }
}

/// Looks at what formatted input has written: `count` things.
unsafe fn scanned(call: &Call, format: *const c_char, mut arguments: Arguments, count: c_int) {
    // SAFETY: the program promises that the arguments are as the format says.
    unsafe {
        call.reads_text(format);
        let mut left = count;
        for found in (Format {
            at: format.cast(),
            is_input: true,
        }) {
            if found.suppressed {
                continue;
            }
            if left <= 0 {
                // A count of what was read would come next, or nothing.
                if count > 0 && found.letter == b'n' {
                    call.writes(arguments.integer() as *const u8, found.integer_size());
                    continue;
                }
                return;
            }
            let to = arguments.integer() as *const c_char;
            if found.letter != b'n' {
                left -= 1;
            }
            if found.allocates {
                call.writes(to, size_of::<*const c_char>());
                continue;
            }
            match found.letter {
                b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'n' => {
                    call.writes(to, found.integer_size());
                }
                b'p' => call.writes(to, size_of::<*const u8>()),
                b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                    call.writes(
                        to,
                        match found.length {
                            _ if found.is_long_double => 16,
                            1.. => 8,
                            _ => 4,
                        },
                    );
                }
                b's' | b'[' | b'S' if found.is_wide() => {
                    call.writes(to, wide_size(to.cast(), usize::MAX));
                }
                b's' | b'[' => call.writes_text(to),
                b'c' | b'C' => {
                    let count = match found.width {
                        Number::Given(count) => count,
                        _ => 1,
                    };
                    let size = if found.is_wide() {
                        size_of::<libc::wchar_t>()
                    } else {
                        1
                    };
                    call.writes(to, count.saturating_mul(size));
                }
                _ => return,
            }
        }
    }
}

mod real {
    use super::{Arguments, Stream};
    use std::ffi::{c_char, c_int};

    type Text = *const c_char;
    type List = *mut Arguments;

    unsafe extern "C" {
        pub(super) fn vprintf(format: Text, list: List) -> c_int;
        pub(super) fn vfprintf(stream: *mut Stream, format: Text, list: List) -> c_int;
        pub(super) fn vdprintf(fd: c_int, format: Text, list: List) -> c_int;
        pub(super) fn vsprintf(to: *mut c_char, format: Text, list: List) -> c_int;
        pub(super) fn vsnprintf(to: *mut c_char, room: usize, format: Text, list: List) -> c_int;
        pub(super) fn vasprintf(to: *mut *mut c_char, format: Text, list: List) -> c_int;
        pub(super) fn __vprintf_chk(flag: c_int, format: Text, list: List) -> c_int;
        pub(super) fn __vfprintf_chk(
            stream: *mut Stream,
            flag: c_int,
            format: Text,
            list: List,
        ) -> c_int;
        pub(super) fn __vdprintf_chk(fd: c_int, flag: c_int, format: Text, list: List) -> c_int;
        pub(super) fn __vsprintf_chk(
            to: *mut c_char,
            flag: c_int,
            room: usize,
            format: Text,
            list: List,
        ) -> c_int;
        pub(super) fn __vsnprintf_chk(
            to: *mut c_char,
            size: usize,
            flag: c_int,
            room: usize,
            format: Text,
            list: List,
        ) -> c_int;
        pub(super) fn __vasprintf_chk(
            to: *mut *mut c_char,
            flag: c_int,
            format: Text,
            list: List,
        ) -> c_int;
        pub(super) fn vscanf(format: Text, list: List) -> c_int;
        pub(super) fn vsscanf(from: Text, format: Text, list: List) -> c_int;
        pub(super) fn vfscanf(stream: *mut Stream, format: Text, list: List) -> c_int;
        pub(super) fn __isoc99_vscanf(format: Text, list: List) -> c_int;
        pub(super) fn __isoc99_vsscanf(from: Text, format: Text, list: List) -> c_int;
        pub(super) fn __isoc99_vfscanf(stream: *mut Stream, format: Text, list: List) -> c_int;
        pub(super) fn __isoc23_vscanf(format: Text, list: List) -> c_int;
        pub(super) fn __isoc23_vsscanf(from: Text, format: Text, list: List) -> c_int;
        pub(super) fn __isoc23_vfscanf(stream: *mut Stream, format: Text, list: List) -> c_int;
    }
}

/// Formatted output to a stream or descriptor.
unsafe fn puts(
    stream: *mut Stream,
    format: *const c_char,
    list: *mut Arguments,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    uses(&call, stream);
    // SAFETY: what the program gave; the real function uses the list up.
    unsafe { prints(&call, format, list.read()) };
    real()
}

/// Formatted output to memory with that much room.
unsafe fn fills(
    to: *mut c_char,
    room: usize,
    format: *const c_char,
    list: *mut Arguments,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    // SAFETY: as above.
    unsafe { prints(&call, format, list.read()) };
    let length = real();
    if length >= 0 {
        call.writes(to, room.min(length as usize + 1));
    }
    length
}

/// Formatted output to memory that is allocated for it.
unsafe fn allocates(
    to: *mut *mut c_char,
    format: *const c_char,
    list: *mut Arguments,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    // SAFETY: as above.
    unsafe { prints(&call, format, list.read()) };
    let length = real();
    if length >= 0 {
        call.writes(to, size_of::<*mut c_char>());
        // SAFETY: the real function has written it.
        call.writes(unsafe { to.read() }, length as usize + 1);
    }
    length
}

/// Formatted input from a stream or a string.
unsafe fn gets(
    stream: *mut Stream,
    from: *const c_char,
    format: *const c_char,
    list: *mut Arguments,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    uses(&call, stream);
    // SAFETY: what the program gave; the real function uses the list up.
    unsafe {
        call.reads_text(from);
        if from.is_null() {
            streams::awaits_input(&call, stream);
        }
        let arguments = list.read();
        let count = real();
        scanned(&call, format, arguments, count);
        count
    }
}

const NO_STREAM: *mut Stream = std::ptr::null_mut();
const NO_TEXT: *const c_char = std::ptr::null();

interpose! {
    fn vprintf(format: *const c_char, list: *mut Arguments) -> c_int {
        puts(NO_STREAM, format, list, || real::vprintf(format, list))
    }

    fn __vprintf_chk(flag: c_int, format: *const c_char, list: *mut Arguments) -> c_int {
        puts(NO_STREAM, format, list, || real::__vprintf_chk(flag, format, list))
    }

    fn vfprintf(stream: *mut Stream, format: *const c_char, list: *mut Arguments) -> c_int {
        puts(stream, format, list, || real::vfprintf(stream, format, list))
    }

    fn __vfprintf_chk(stream: *mut Stream, flag: c_int, format: *const c_char, list: *mut Arguments) -> c_int {
        puts(stream, format, list, || real::__vfprintf_chk(stream, flag, format, list))
    }

    fn vdprintf(fd: c_int, format: *const c_char, list: *mut Arguments) -> c_int {
        puts(NO_STREAM, format, list, || real::vdprintf(fd, format, list))
    }

    fn __vdprintf_chk(fd: c_int, flag: c_int, format: *const c_char, list: *mut Arguments) -> c_int {
        puts(NO_STREAM, format, list, || real::__vdprintf_chk(fd, flag, format, list))
    }

    fn vsprintf(to: *mut c_char, format: *const c_char, list: *mut Arguments) -> c_int {
        fills(to, usize::MAX, format, list, || real::vsprintf(to, format, list))
    }

    fn __vsprintf_chk(
        to: *mut c_char,
        flag: c_int,
        room: usize,
        format: *const c_char,
        list: *mut Arguments,
    ) -> c_int {
        fills(to, usize::MAX, format, list, || real::__vsprintf_chk(to, flag, room, format, list))
    }

    fn vsnprintf(to: *mut c_char, room: usize, format: *const c_char, list: *mut Arguments) -> c_int {
        fills(to, room, format, list, || real::vsnprintf(to, room, format, list))
    }

    fn __vsnprintf_chk(
        to: *mut c_char,
        size: usize,
        flag: c_int,
        room: usize,
        format: *const c_char,
        list: *mut Arguments,
    ) -> c_int {
        fills(to, size, format, list, || {
            real::__vsnprintf_chk(to, size, flag, room, format, list)
        })
    }

    fn vasprintf(to: *mut *mut c_char, format: *const c_char, list: *mut Arguments) -> c_int {
        allocates(to, format, list, || real::vasprintf(to, format, list))
    }

    fn __vasprintf_chk(to: *mut *mut c_char, flag: c_int, format: *const c_char, list: *mut Arguments) -> c_int {
        allocates(to, format, list, || real::__vasprintf_chk(to, flag, format, list))
    }

    fn vscanf(format: *const c_char, list: *mut Arguments) -> c_int {
        gets(streams::input(), NO_TEXT, format, list, || real::vscanf(format, list))
    }

    fn vsscanf(from: *const c_char, format: *const c_char, list: *mut Arguments) -> c_int {
        gets(NO_STREAM, from, format, list, || real::vsscanf(from, format, list))
    }

    fn vfscanf(stream: *mut Stream, format: *const c_char, list: *mut Arguments) -> c_int {
        gets(stream, NO_TEXT, format, list, || real::vfscanf(stream, format, list))
    }

    fn __isoc99_vscanf(format: *const c_char, list: *mut Arguments) -> c_int {
        gets(streams::input(), NO_TEXT, format, list, || real::__isoc99_vscanf(format, list))
    }

    fn __isoc99_vsscanf(from: *const c_char, format: *const c_char, list: *mut Arguments) -> c_int {
        gets(NO_STREAM, from, format, list, || real::__isoc99_vsscanf(from, format, list))
    }

    fn __isoc99_vfscanf(stream: *mut Stream, format: *const c_char, list: *mut Arguments) -> c_int {
        gets(stream, NO_TEXT, format, list, || real::__isoc99_vfscanf(stream, format, list))
    }

    fn __isoc23_vscanf(format: *const c_char, list: *mut Arguments) -> c_int {
        gets(streams::input(), NO_TEXT, format, list, || real::__isoc23_vscanf(format, list))
    }

    fn __isoc23_vsscanf(from: *const c_char, format: *const c_char, list: *mut Arguments) -> c_int {
        gets(NO_STREAM, from, format, list, || real::__isoc23_vsscanf(from, format, list))
    }

    fn __isoc23_vfscanf(stream: *mut Stream, format: *const c_char, list: *mut Arguments) -> c_int {
        gets(stream, NO_TEXT, format, list, || real::__isoc23_vfscanf(stream, format, list))
    }
}

/// Functions with so many arguments and then any number, each by way of one with
/// a list: the size of the arguments that are always there, in bytes, and the
/// register that the list is given in.
macro_rules! variadic {
    ($($name:literal => $with_list:literal, $fixed:literal, $register:literal;)*) => {
        $(std::arch::global_asm!(
            concat!(".globl __interceptor_", $name),
            concat!(".type __interceptor_", $name, ", @function"),
            concat!("__interceptor_", $name, ":"),
            ".cfi_startproc",
            // 24 bytes for the list, from rsp + 8 on, and 176 for registers, from
            // rsp + 32 on; the stack is aligned again.
            "sub rsp, 216",
            ".cfi_adjust_cfa_offset 216",
            "mov [rsp + 32], rdi",
            "mov [rsp + 40], rsi",
            "mov [rsp + 48], rdx",
            "mov [rsp + 56], rcx",
            "mov [rsp + 64], r8",
            "mov [rsp + 72], r9",
            // The caller says whether it uses any of these.
            "test al, al",
            "je 2f",
            "movaps [rsp + 80], xmm0",
            "movaps [rsp + 96], xmm1",
            "movaps [rsp + 112], xmm2",
            "movaps [rsp + 128], xmm3",
            "movaps [rsp + 144], xmm4",
            "movaps [rsp + 160], xmm5",
            "movaps [rsp + 176], xmm6",
            "movaps [rsp + 192], xmm7",
            "2:",
            concat!("mov dword ptr [rsp + 8], ", $fixed),
            "mov dword ptr [rsp + 12], 48",
            // Behind the return address.
            "lea rax, [rsp + 224]",
            "mov [rsp + 16], rax",
            "lea rax, [rsp + 32]",
            "mov [rsp + 24], rax",
            concat!("lea ", $register, ", [rsp + 8]"),
            concat!("call __interceptor_", $with_list, "@PLT"),
            "add rsp, 216",
            ".cfi_adjust_cfa_offset -216",
            "ret",
            ".cfi_endproc",
            concat!(".size __interceptor_", $name, ", . - __interceptor_", $name),
        );)*
    };
}

variadic! {
    "printf" => "vprintf", 8, "rsi";
    "__printf_chk" => "__vprintf_chk", 16, "rdx";
    "fprintf" => "vfprintf", 16, "rdx";
    "__fprintf_chk" => "__vfprintf_chk", 24, "rcx";
    "dprintf" => "vdprintf", 16, "rdx";
    "__dprintf_chk" => "__vdprintf_chk", 24, "rcx";
    "sprintf" => "vsprintf", 16, "rdx";
    "__sprintf_chk" => "__vsprintf_chk", 32, "r8";
    "snprintf" => "vsnprintf", 24, "rcx";
    "__snprintf_chk" => "__vsnprintf_chk", 40, "r9";
    "asprintf" => "vasprintf", 16, "rdx";
    "__asprintf_chk" => "__vasprintf_chk", 24, "rcx";
    "scanf" => "vscanf", 8, "rsi";
    "sscanf" => "vsscanf", 16, "rdx";
    "fscanf" => "vfscanf", 16, "rdx";
    "__isoc99_scanf" => "__isoc99_vscanf", 8, "rsi";
    "__isoc99_sscanf" => "__isoc99_vsscanf", 16, "rdx";
    "__isoc99_fscanf" => "__isoc99_vfscanf", 16, "rdx";
    "__isoc23_scanf" => "__isoc23_vscanf", 8, "rsi";
    "__isoc23_sscanf" => "__isoc23_vsscanf", 16, "rdx";
    "__isoc23_fscanf" => "__isoc23_vfscanf", 16, "rdx";
}

#[cfg(test)]
mod tests {
    use super::{Conversion, Format, Number};

    fn conversions(format: &std::ffi::CStr, is_input: bool) -> Vec<Conversion> {
        let at = format.as_ptr().cast();
        Format { at, is_input }.collect()
    }

    #[test]
    fn output() {
        let found = conversions(c"a %5.3s%% %-*.*ld %hhn %Lf %", false);
        assert_eq!(found.len(), 4);
        assert_eq!(found[0].precision, Number::Given(3));
        assert_eq!((found[1].letter, found[1].integer_size()), (b'd', 8));
        assert_eq!(
            (found[1].width, found[1].precision),
            (Number::Argument, Number::Argument)
        );
        assert_eq!(found[2].integer_size(), 1);
        assert!(found[3].is_long_double);
    }

    #[test]
    fn input() {
        let found = conversions(c"%*d %12s%[]a%d]%ms %c", true);
        let letters: Vec<_> = found.iter().map(|c| c.letter).collect();
        assert_eq!(letters, *b"ds[sc");
        assert!(found[0].suppressed);
        assert_eq!(found[1].width, Number::Given(12));
        assert!(found[3].allocates);
    }

    #[test]
    fn arguments_by_number_end_it() {
        assert!(conversions(c"%2$s %1$d", false).is_empty());
    }
}
