//! The beginning of a program that has the runtime linked in: before the
//! constructors of all its libraries, so that what these do is seen.
//!
//! Shared libraries cannot begin so early: the build takes the section out there,
//! and the first instrumented module sets the runtime up.

use std::ffi::{c_char, c_int};

use crate::interpose::threads::farewell;
use crate::thread::Visit;

type Begin = unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char);

#[used]
#[unsafe(link_section = ".preinit_array")]
#[allow(non_upper_case_globals)]
static __racehound_preinit: Begin = begin;

unsafe extern "C" {
    static mut environ: *const *const c_char;
}

unsafe extern "C" fn begin(
    _count: c_int,
    _arguments: *const *const c_char,
    environment: *const *const c_char,
) {
    // The C library's own constructor has not run either.
    // SAFETY: it sets the same later; nobody else runs yet.
    unsafe {
        if environ.is_null() {
            environ = environment;
        }
    }
    drop(Visit::begin());
    farewell::prepare();
}
