//! The functions that compilers and programs call by name, beside the hot ones
//! in [`entry`](crate::entry).

pub(crate) mod atomic;
pub(crate) mod debug;
pub(crate) mod external;
pub(crate) mod fibers;
pub(crate) mod java;
pub(crate) mod loads;
pub(crate) mod memory;
pub(crate) mod public;
pub(crate) mod sanitizer;
pub(crate) mod testing;

use std::ffi::{CStr, c_char};

use crate::detector::{self, Engine};
use crate::thread::{self, Visit};
use crate::tls::hot;

/// Whether there is nothing to be done about anything.
#[inline]
pub(crate) fn is_off() -> bool {
    detector::engine() == Engine::Off
}

/// The address behind the call into the function this is inlined into, if that
/// keeps a frame pointer; only a hint otherwise.
macro_rules! with_caller {
    ($($(#[$note:meta])* fn $name:ident => $body:path;)*) => {
        $(
            $(#[$note])*
            #[doc = concat!("`", stringify!($name), "` of the ABI.")]
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub extern "C" fn $name() {
                // The caller's address goes along out of band: all argument
                // registers stay as they are.
                std::arch::naked_asm!(
                    "mov r11, qword ptr [rip + __racehound_hot@GOTTPOFF]",
                    "mov r10, qword ptr [rsp]",
                    "mov qword ptr fs:[r11 + 32], r10",
                    "2: lea r10, [rip + 2b]",
                    "mov qword ptr fs:[r11 + 40], r10",
                    "jmp {body}",
                    body = sym $body,
                )
            }
        )*
    };
}
pub(crate) use with_caller;

/// Where the function that was just entered by way of [`with_caller`] was
/// called.
#[inline(always)]
pub(crate) fn caller() -> usize {
    // SAFETY: our own block.
    unsafe { (*hot()).caller }
}

/// Shows the function that was just entered by way of [`with_caller`] in stacks,
/// as a call from where it was called: `body` gets its place.
#[inline]
pub(crate) fn shown<R>(body: impl FnOnce(&Visit, usize) -> R) -> R {
    // SAFETY: our own block.
    let (caller, function) = unsafe { ((*hot()).caller, (*hot()).function) };
    let visit = Visit::begin();
    thread::push_call(caller);
    let result = body(&visit, function);
    thread::pop_call();
    result
}

/// A text that the program gives, which may be null.
pub(crate) fn text(text: *const c_char) -> String {
    match text.is_null() {
        true => String::new(),
        // SAFETY: the program gives a C string.
        false => unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned(),
    }
}
