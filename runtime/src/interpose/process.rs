//! Processes: copied, and ended at once. See [`fork`](crate::fork); `fork` itself
//! tells of itself, and so does `exit`.

use std::ffi::{c_int, c_void};

use super::{Call, interpose};
use crate::{fork, record};

type Start = unsafe extern "C" fn(*mut c_void) -> c_int;

mod real {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        pub(super) fn clone(
            start: super::Start,
            stack: *mut c_void,
            flags: c_int,
            argument: *mut c_void,
            parent_id: *mut libc::pid_t,
            storage: *mut c_void,
            child_id: *mut libc::pid_t,
        ) -> c_int;
        pub(super) fn _Fork() -> libc::pid_t;
    }
}

/// What the child of `clone` is told.
struct Beginning {
    start: Start,
    argument: *mut c_void,
}

unsafe extern "C" fn begin(beginning: *mut c_void) -> c_int {
    fork::in_child();
    // SAFETY: on the stack of `clone` below, of which the child has a copy.
    let Beginning { start, argument } = unsafe { &*beginning.cast::<Beginning>() };
    // SAFETY: what the program asked for.
    unsafe { start(*argument) }
}

/// Nothing is reported here, but what was recorded is complete.
unsafe fn end_at_once(code: c_int) -> ! {
    if Call::begin().is_some() {
        record::finish();
    }
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

interpose! {
    fn _exit(code: c_int) -> ! {
        end_at_once(code)
    }

    fn _Exit(code: c_int) -> ! {
        end_at_once(code)
    }

    /// The child of `vfork` runs on the parent's stack and memory, which our
    /// bookkeeping cannot follow. A true fork does all that the standard promises.
    fn vfork() -> libc::pid_t {
        libc::fork()
    }

    fn _Fork() -> libc::pid_t {
        match Call::begin() {
            Some(_call) => fork::around(|| real::_Fork()),
            None => real::_Fork(),
        }
    }

    fn clone(
        start: Start,
        stack: *mut c_void,
        flags: c_int,
        argument: *mut c_void,
        parent_id: *mut libc::pid_t,
        storage: *mut c_void,
        child_id: *mut libc::pid_t,
    ) -> c_int {
        // Whoever shares our memory is a thread that nobody has told us of.
        let copies = flags & libc::CLONE_VM == 0;
        let Some(_call) = Call::begin().filter(|_| copies) else {
            return real::clone(start, stack, flags, argument, parent_id, storage, child_id);
        };
        let mut beginning = Beginning { start, argument };
        let argument = (&raw mut beginning).cast();
        fork::before();
        let result = real::clone(begin, stack, flags, argument, parent_id, storage, child_id);
        fork::in_parent();
        result
    }
}
