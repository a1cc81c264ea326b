//! Functions that the C library calls in threads of its own, when a timer has gone off, a
//! request is done or a message has come (`SIGEV_THREAD`).
//!
//! A function of ours is called instead, which knows what the thread knew that has asked
//! for it, and what was put into the queue that it is about.

use std::ffi::c_int;

use super::{Call, descriptors};
use crate::thread::Visit;

type Function = extern "C" fn(libc::sigval);

/// What is to be called, and the descriptor that it is about.
struct Callback {
    function: Function,
    value: libc::sigval,
    about: Option<c_int>,
}

extern "C" fn call_back(callback: libc::sigval) {
    let at = callback.sival_ptr;
    // SAFETY: made by `around`, and never freed: the C library does not say when it has
    // made its last call.
    let callback = unsafe { &*at.cast::<Callback>() };
    if let Some(call) = Call::around(callback.function as usize) {
        call.learns(at as usize);
        if let Some(fd) = callback.about {
            descriptors::learns(&call, fd);
        }
    }
    (callback.function)(callback.value);
}

/// Where an event has its function: behind value, signal and kind.
fn function(event: &mut libc::sigevent) -> &mut Option<Function> {
    const FUNCTION: usize = 16;
    // SAFETY: what the kernel's and the C library's events have there.
    unsafe { &mut *(&raw mut *event).cast::<u8>().add(FUNCTION).cast() }
}

/// The same event, with a function of ours around the one that is to be called, and by
/// which address that is told something; none if it is not about a function.
pub(super) unsafe fn around(
    event: *const libc::sigevent,
    about: Option<c_int>,
) -> Option<(libc::sigevent, usize)> {
    // SAFETY: the program's event, or null.
    let mut event = unsafe { event.as_ref() }
        .copied()
        .filter(|event| event.sigev_notify == libc::SIGEV_THREAD)?;
    let value = event.sigev_value;
    let called = (*function(&mut event))?;
    if called as usize == call_back as *const () as usize {
        return Some((event, value.sival_ptr as usize));
    }
    let _visit = Visit::begin();
    let callback = Box::leak(Box::new(Callback {
        function: called,
        value,
        about,
    }));
    *function(&mut event) = Some(call_back);
    let at = std::ptr::from_mut(callback);
    event.sigev_value.sival_ptr = at.cast();
    Some((event, at as usize))
}
