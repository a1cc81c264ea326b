//! Threads: made, waited for, let go, and their ends.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use super::mutex::Patience;
use super::{Call, interpose};
use crate::signals::{self, Blocked};
use crate::thread::{Thread, Visit};
use crate::tls::{Hot, hot};
use crate::{control, memory_limit, registry, shadow_range};

type Start = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// What a new thread is told.
struct Beginning {
    thread: Box<Thread>,
    start: Start,
    argument: *mut c_void,
    /// Signals that it does not want.
    blocked: libc::sigset_t,
}

extern "C" fn begin(beginning: *mut c_void) -> *mut c_void {
    // SAFETY: made by `pthread_create` below, for us alone.
    let beginning = unsafe { *Box::from_raw(beginning.cast::<Beginning>()) };
    let Beginning {
        thread,
        start,
        argument,
        blocked,
    } = beginning;
    let number = thread.number;
    registry::begin(thread);
    control::begin(number);
    {
        let visit = Visit::begin();
        registry::find_stack(&visit);
        // A stack that another thread had before has no past.
        shadow_range::forget_stack(&visit);
        farewell::prepare();
    }
    signals::unblock(&blocked);
    // SAFETY: what the program asked for.
    unsafe { start(argument) }
}

/// Whether a place is in [`begin`], below everything of the program's.
pub(crate) fn is_beginning(place: usize) -> bool {
    /// More than the function has.
    const LENGTH: usize = 1024;
    let start = begin as *const () as usize;
    (start..start + LENGTH).contains(&place)
}

interpose! {
    fn pthread_create(
        handle: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        start: Start,
        argument: *mut c_void,
    ) -> c_int {
        let Some(call) = Call::begin() else {
            let start = std::mem::transmute::<Start, extern "C" fn(*mut c_void) -> *mut c_void>(start);
            return libc::pthread_create(handle, attributes, start, argument);
        };
        let mut size = 8 << 20;
        let mut detached = 0;
        if !attributes.is_null() {
            libc::pthread_attr_getstacksize(attributes, &raw mut size);
            pthread_attr_getdetachstate(attributes, &raw mut detached);
        }
        // A handler in the new thread must find it introduced.
        let blocked = Blocked::begin();
        let beginning = {
            let visit = Visit::begin();
            let me = visit.thread();
            let made = me.context(call.place);
            let thread = registry::fork(me, made, size);
            let blocked = own_mask(attributes).unwrap_or_else(|| blocked.before());
            Box::new(Beginning { thread, start, argument, blocked })
        };
        let number = beginning.thread.number;
        if detached == libc::PTHREAD_CREATE_DETACHED {
            registry::all().threads[number as usize].detached = true;
        }
        let turn = call.turn();
        if let Some(turn) = &turn {
            match turn.is_in_library() {
                true => turn.fork_in_library(number),
                false => turn.fork(number),
            }
        }
        let raw = Box::into_raw(beginning);
        // The program may look at the handle only after the call, but the new
        // thread may end before it.
        let mut new = ptr::null_mut::<c_void>() as libc::pthread_t;
        memory_limit::watch();
        let result = {
            let _aside = Aside::begin();
            libc::pthread_create(&raw mut new, attributes, begin, raw.cast())
        };
        if result == 0 {
            registry::made(number, new as usize);
            handle.write(new);
        } else {
            registry::never_began(Box::from_raw(raw).thread);
            if let Some(turn) = &turn {
                turn.never_began(number);
            }
        }
        drop(blocked);
        // The new thread may go before whatever comes next.
        if let Some(turn) = turn.filter(|turn| result == 0 && !turn.is_in_library()) {
            turn.touch();
        }
        result
    }

    fn pthread_join(handle: libc::pthread_t, result: *mut *mut c_void) -> c_int {
        joining(handle, Patience::ForEver, || libc::pthread_join(handle, result))
    }

    fn pthread_tryjoin_np(handle: libc::pthread_t, result: *mut *mut c_void) -> c_int {
        joining(handle, Patience::Tries, || pthread_tryjoin_np_real(handle, result))
    }

    fn pthread_timedjoin_np(
        handle: libc::pthread_t,
        result: *mut *mut c_void,
        until: *const libc::timespec,
    ) -> c_int {
        let patience = Patience::until(libc::CLOCK_REALTIME, until);
        joining(handle, patience, || pthread_timedjoin_np_real(handle, result, until))
    }

    fn pthread_clockjoin_np(
        handle: libc::pthread_t,
        result: *mut *mut c_void,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int {
        let patience = Patience::until(clock, until);
        joining(handle, patience, || pthread_clockjoin_np_real(handle, result, clock, until))
    }

    fn pthread_cancel(handle: libc::pthread_t) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::pthread_cancel(handle);
        };
        let turn = call.turn();
        if let Some(turn) = &turn {
            turn.give_way();
        }
        {
            let _visit = Visit::begin();
            crate::thread::expect_cancellation();
        }
        let result = libc::pthread_cancel(handle);
        if result == 0 && turn.is_some() {
            let _visit = Visit::begin();
            if let Some(number) = registry::joining(handle as usize) {
                control::interrupt_thread(number);
            }
        }
        result
    }

    fn pthread_detach(handle: libc::pthread_t) -> c_int {
        if Call::begin().is_some() {
            let _visit = Visit::begin();
            registry::detach(handle as usize);
        }
        libc::pthread_detach(handle)
    }

    fn pthread_setname_np(handle: libc::pthread_t, name: *const c_char) -> c_int {
        if Call::begin().is_some() {
            let _visit = Visit::begin();
            let number = registry::joining(handle as usize);
            if let Some(number) = number {
                registry::name(number, &CStr::from_ptr(name).to_string_lossy());
            }
        }
        libc::pthread_setname_np(handle, name)
    }
}

/// While it lasts, what the C library allocates and frees in this thread is its
/// own. It may wait for another thread that frees a stack there, and comes to us to
/// say so: so this one does not count as inside of the runtime. Signals are blocked.
struct Aside;

impl Aside {
    fn begin() -> Self {
        // SAFETY: our own block; the thread is out of the runtime.
        unsafe { (*hot()).busy |= Hot::ASIDE };
        Self
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { (*hot()).busy &= !Hot::ASIDE };
    }
}

/// The signals that a new thread is to block, if its attributes say.
unsafe fn own_mask(attributes: *const libc::pthread_attr_t) -> Option<libc::sigset_t> {
    type Ask = unsafe extern "C" fn(*const libc::pthread_attr_t, *mut libc::sigset_t) -> c_int;
    if attributes.is_null() {
        return None;
    }
    // SAFETY: a C string; a function of that name is of that type; the caller's
    // attributes.
    unsafe {
        // The C library has it from version 2.32 on.
        let ask = libc::dlsym(libc::RTLD_DEFAULT, c"pthread_attr_getsigmask_np".as_ptr());
        if ask.is_null() {
            return None;
        }
        let mut mask = std::mem::zeroed();
        let ask = std::mem::transmute::<*mut c_void, Ask>(ask);
        (ask(attributes, &raw mut mask) == 0).then_some(mask)
    }
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(
        attributes: *const libc::pthread_attr_t,
        state: *mut c_int,
    ) -> c_int;
    #[link_name = "pthread_tryjoin_np"]
    fn pthread_tryjoin_np_real(handle: libc::pthread_t, result: *mut *mut c_void) -> c_int;
    #[link_name = "pthread_timedjoin_np"]
    fn pthread_timedjoin_np_real(
        handle: libc::pthread_t,
        result: *mut *mut c_void,
        until: *const libc::timespec,
    ) -> c_int;
    #[link_name = "pthread_clockjoin_np"]
    fn pthread_clockjoin_np_real(
        handle: libc::pthread_t,
        result: *mut *mut c_void,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int;
}

pub(super) unsafe fn joining(
    handle: libc::pthread_t,
    patience: Patience,
    join: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return join();
    };
    let number = {
        let _visit = Visit::begin();
        registry::joining(handle as usize)
    };
    let result = match (call.turn(), number, patience) {
        (Some(turn), Some(number), Patience::ForEver | Patience::Until(_)) => {
            match turn.await_thread(number, patience.moment()) {
                true => turn.soon(join),
                false => libc::ETIMEDOUT,
            }
        }
        (Some(turn), ..) => {
            turn.give_way();
            join()
        }
        (None, ..) => join(),
    };
    if result == 0
        && let Some(number) = number
    {
        registry::joined(&Visit::begin(), number);
    }
    result
}

/// The end of a thread, after everything of the program's has run in it.
pub(crate) mod farewell {
    use std::ffi::c_void;
    use std::sync::OnceLock;

    use crate::signals::Blocked;
    use crate::tls::hot;
    use crate::{control, memory_limit, registry};

    static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();

    /// Rounds of destructors that the C library promises.
    const ROUNDS: usize = 4;

    /// Asks to be told when the current thread ends.
    pub(crate) fn prepare() {
        let key = KEY.get_or_init(|| {
            let mut key = 0;
            // SAFETY: a new key.
            unsafe { libc::pthread_key_create(&raw mut key, Some(ended)) };
            key
        });
        // SAFETY: the key was made.
        unsafe { libc::pthread_setspecific(*key, ROUNDS as *const c_void) };
    }

    /// The program's own destructors run in the same rounds, so wait for the
    /// last one.
    unsafe extern "C" fn ended(round: *mut c_void) {
        let left = round as usize;
        if left > 1 {
            let key = KEY.get().copied().unwrap_or_default();
            // SAFETY: the key was made.
            unsafe { libc::pthread_setspecific(key, (left - 1) as *const c_void) };
            return;
        }
        // A handler would find nobody here any more.
        std::mem::forget(Blocked::begin());
        // SAFETY: our own block.
        let number = unsafe { (*hot()).home.as_ref().map(|home| home.number) };
        registry::finish();
        if let Some(number) = number {
            control::end(number);
        }
        memory_limit::thread_ended();
    }
}
