//! Exceptions of C++ that several threads have: `std::exception_ptr` counts who does, out
//! of our sight, and the last one destroys the exception.
//!
//! Whoever gives its share up hands on what it knows, and learns what the others knew:
//! the destructor and the end of the memory come after all that anybody has done with the
//! exception. A share is an `exception_ptr`, a *dependent* exception, by which
//! `std::rethrow_exception` throws it once more, or the handler that has caught it
//! where it was thrown. Of the latter the library does not say which exception it
//! is about; a thread remembers the last ones that it has thrown.
//!
//! Who gives its share up first may do so between the moment another one learns and the
//! moment it finds itself to be the last. Then only the end of the memory comes after
//! both, for that is looked at once more.

use std::cell::Cell;
use std::ffi::c_void;
use std::num::NonZero;

use super::{Call, interpose};

/// As many as there are handlers within each other, usually.
const REMEMBERED: usize = 4;

thread_local! {
    /// What the thread has thrown and still has, the latest first; then nothing.
    static THROWN: Cell<[Option<NonZero<usize>>; REMEMBERED]> =
        const { Cell::new([None; REMEMBERED]) };
}

mod real {
    use std::ffi::c_void;

    unsafe extern "C" {
        pub(super) fn __cxa_end_catch();
        pub(super) fn __cxa_free_exception(exception: *mut c_void);
        pub(super) fn __cxa_free_dependent_exception(dependent: *mut *mut c_void);
        pub(super) fn _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(
            pointer: *mut *mut c_void,
        );
    }
}

/// The current thread throws it.
pub(super) fn thrown(exception: *mut c_void) {
    let mut thrown = THROWN.get();
    thrown.rotate_right(1);
    thrown[0] = NonZero::new(exception as usize);
    THROWN.set(thrown);
}

/// It is no more.
fn forget(exception: *mut c_void) {
    let mut thrown = THROWN.get();
    if let Some(at) = thrown
        .iter()
        .position(|&e| e == NonZero::new(exception as usize))
    {
        thrown[at] = None;
        thrown[at..].rotate_left(1);
        THROWN.set(thrown);
    }
}

/// Shares in exceptions are given up.
fn give_up(exceptions: impl Iterator<Item = NonZero<usize>>) {
    let mut exceptions = exceptions.peekable();
    if exceptions.peek().is_some()
        && let Some(call) = Call::begin()
    {
        for exception in exceptions {
            // The other way round it could be from itself that it has learned.
            call.learns(exception.get());
            call.hands_on(exception.get());
        }
    }
}

fn at(exception: *mut c_void) -> impl Iterator<Item = NonZero<usize>> {
    NonZero::new(exception as usize).into_iter()
}

interpose! {
    fn __cxa_end_catch() {
        give_up(THROWN.get().into_iter().flatten());
        real::__cxa_end_catch();
    }

    fn __cxa_free_exception(exception: *mut c_void) {
        forget(exception);
        if let Some(call) = Call::begin() {
            call.learns(exception as usize);
        }
        real::__cxa_free_exception(exception);
    }

    // It begins with the exception that it depends on.
    fn __cxa_free_dependent_exception(dependent: *mut *mut c_void) {
        give_up(at(*dependent));
        real::__cxa_free_dependent_exception(dependent);
    }

    fn _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(pointer: *mut *mut c_void) {
        give_up(at(*pointer));
        real::_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(pointer);
    }
}
