//! What is to be done at the end: it knows what was known when it was asked for,
//! and in stacks it is called from where that was.

use std::ffi::{c_int, c_void};

use super::{Call, interpose};
use crate::context::Context;
use crate::objects;
use crate::thread::{Inside, Visit};

mod real {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        pub(super) fn __cxa_atexit(
            handler: extern "C" fn(*mut c_void),
            argument: *mut c_void,
            module: *mut c_void,
        ) -> c_int;
        pub(super) fn on_exit(handler: super::OnExit, argument: *mut c_void) -> c_int;
    }
}

type Plain = unsafe extern "C" fn();
/// The C library gives the exit status as well, to who wants it.
type Handler = unsafe extern "C" fn(*mut c_void, c_int);
type OnExit = unsafe extern "C" fn(c_int, *mut c_void);

/// The real function, for handlers that want the status.
unsafe fn real_cxa_atexit(handler: Handler, argument: *mut c_void, module: *mut c_void) -> c_int {
    type Declared = extern "C" fn(*mut c_void);
    // SAFETY: the C library calls either with both arguments.
    unsafe {
        let handler = std::mem::transmute::<Handler, Declared>(handler);
        real::__cxa_atexit(handler, argument, module)
    }
}

enum Function {
    Plain(Plain),
    Handler(Handler, *mut c_void),
    OnExit(OnExit, *mut c_void),
}

struct Registered {
    function: Function,
    asked_for: Context,
}

/// Registers a function; its address in memory stands for what it is to know.
unsafe fn registers(
    call: &Call,
    function: Function,
    real: impl FnOnce(*mut c_void) -> c_int,
) -> c_int {
    let boxed = {
        let visit = Visit::begin();
        let asked_for = visit.thread().context(0);
        Box::into_raw(Box::new(Registered {
            function,
            asked_for,
        }))
    };
    call.hands_on(boxed as usize);
    let result = real(boxed.cast());
    if result != 0 {
        // SAFETY: the C library did not take it.
        _ = unsafe { unbox(boxed) };
    }
    result
}

unsafe fn unbox(boxed: *mut Registered) -> Registered {
    let visit = Visit::begin();
    objects::forget(visit.thread(), boxed as usize);
    // SAFETY: made above, and the caller's alone.
    *unsafe { Box::from_raw(boxed) }
}

unsafe extern "C" fn handle(boxed: *mut c_void, status: c_int) {
    if let Some(call) = Call::begin() {
        call.learns(boxed as usize);
    }
    // SAFETY: what the program asked for, once.
    unsafe {
        let Registered {
            function,
            asked_for,
        } = unbox(boxed.cast());
        let inside = Inside::begin(asked_for);
        match function {
            Function::Plain(function) => at_exit_callback_installed_at(function),
            Function::Handler(function, argument) => {
                cxa_at_exit_callback_installed_at(function, argument, status);
            }
            Function::OnExit(function, argument) => {
                on_exit_callback_installed_at(function, argument, status);
            }
        }
        drop(inside);
    }
}

// These show in stacks, under the names that TSan's have. What comes after the
// call keeps it from being the last, which would leave no trace.

#[unsafe(no_mangle)]
#[inline(never)]
unsafe extern "C" fn at_exit_callback_installed_at(function: Plain) {
    // SAFETY: what the program asked for.
    unsafe { function() };
    std::hint::black_box(());
}

#[unsafe(no_mangle)]
#[inline(never)]
unsafe extern "C" fn cxa_at_exit_callback_installed_at(
    function: Handler,
    argument: *mut c_void,
    status: c_int,
) {
    // SAFETY: what the program asked for.
    unsafe { function(argument, status) };
    std::hint::black_box(());
}

#[unsafe(no_mangle)]
#[inline(never)]
unsafe extern "C" fn on_exit_callback_installed_at(
    function: OnExit,
    argument: *mut c_void,
    status: c_int,
) {
    // SAFETY: what the program asked for.
    unsafe { function(status, argument) };
    std::hint::black_box(());
}

unsafe extern "C" fn handle_on_exit(status: c_int, boxed: *mut c_void) {
    // SAFETY: as above.
    unsafe { handle(boxed, status) }
}

interpose! {
    // The real one is a part of every module, there to tell the C library which
    // one it is. This one stands in for the program's own.
    fn atexit(function: Plain) -> c_int {
        let module = std::ptr::null_mut();
        match Call::begin() {
            Some(call) => registers(&call, Function::Plain(function), |boxed| {
                real_cxa_atexit(handle, boxed, module)
            }),
            None => {
                let handler = std::mem::transmute::<Plain, Handler>(function);
                real_cxa_atexit(handler, std::ptr::null_mut(), module)
            }
        }
    }

    fn __cxa_atexit(function: Handler, argument: *mut c_void, module: *mut c_void) -> c_int {
        let Some(call) = Call::begin() else {
            return real_cxa_atexit(function, argument, module);
        };
        registers(&call, Function::Handler(function, argument), |boxed| {
            real_cxa_atexit(handle, boxed, module)
        })
    }

    fn on_exit(function: OnExit, argument: *mut c_void) -> c_int {
        let Some(call) = Call::begin() else {
            return real::on_exit(function, argument);
        };
        registers(&call, Function::OnExit(function, argument), |boxed| {
            real::on_exit(handle_on_exit, boxed)
        })
    }
}
