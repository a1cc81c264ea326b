//! Signal handlers; see [`signals`](crate::signals).

use std::ffi::c_int;

use super::{Call, interpose};
use crate::signals;
use crate::sync;
use crate::thread::Visit;

type Handler = usize;

unsafe fn set(signal: c_int, handler: Handler, flags: c_int) -> Handler {
    // SAFETY: zeroes are an action.
    unsafe {
        let mut new = std::mem::zeroed::<libc::sigaction>();
        let mut old = std::mem::zeroed::<libc::sigaction>();
        new.sa_sigaction = handler;
        new.sa_flags = flags;
        libc::sigemptyset(&raw mut new.sa_mask);
        match sigaction(signal, &raw const new, &raw mut old) {
            0 => old.sa_sigaction,
            _ => libc::SIG_ERR,
        }
    }
}

interpose! {
    fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::sigaction(signal, new, old);
        };
        if !new.is_null() {
            sync::post(&Visit::begin(), signals::edge(signal), call.place);
        }
        signals::install(signal, new, old, libc::sigaction)
    }

    fn signal(signal: c_int, handler: Handler) -> Handler {
        set(signal, handler, libc::SA_RESTART)
    }

    fn bsd_signal(signal: c_int, handler: Handler) -> Handler {
        set(signal, handler, libc::SA_RESTART)
    }

    fn sysv_signal(signal: c_int, handler: Handler) -> Handler {
        const SA_ONESHOT_NOMASK: c_int = libc::SA_RESETHAND | libc::SA_NODEFER;
        set(signal, handler, SA_ONESHOT_NOMASK)
    }

    fn __sysv_signal(signal: c_int, handler: Handler) -> Handler {
        sysv_signal(signal, handler)
    }
}
