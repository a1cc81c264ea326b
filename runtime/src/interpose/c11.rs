//! Threads, mutexes and conditions by the names that C has for them. The C
//! library has the POSIX ones inside.

use std::ffi::{c_int, c_void};

use racehound_trace::Mode;

use super::condition::{notify, wait};
use super::mutex::{Patience, take};
use super::threads::{self, joining};
use super::{Call, interpose};
use crate::control::clock::Until;
use crate::registry;
use crate::sync::{self, Traits};
use crate::thread::Visit;

type Mutex = libc::pthread_mutex_t;
type Condition = libc::pthread_cond_t;
type Start = unsafe extern "C" fn(*mut c_void) -> c_int;

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const NO_MEMORY: c_int = 3;
const TIMED_OUT: c_int = 4;

/// What C calls a result of the POSIX functions, which may be C's already.
fn outcome(result: c_int) -> c_int {
    match result {
        SUCCESS..=TIMED_OUT => result,
        libc::EBUSY => BUSY,
        libc::ENOMEM => NO_MEMORY,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

const RECURSIVE: c_int = 1;

mod real {
    use super::{Condition, Mutex, Start};
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        pub(super) fn thrd_create(
            handle: *mut libc::pthread_t,
            start: Start,
            argument: *mut c_void,
        ) -> c_int;
        pub(super) fn thrd_join(handle: libc::pthread_t, result: *mut c_int) -> c_int;
        pub(super) fn thrd_detach(handle: libc::pthread_t) -> c_int;
        pub(super) fn mtx_init(mutex: *mut Mutex, kind: c_int) -> c_int;
        pub(super) fn mtx_destroy(mutex: *mut Mutex);
        pub(super) fn mtx_lock(mutex: *mut Mutex) -> c_int;
        pub(super) fn mtx_trylock(mutex: *mut Mutex) -> c_int;
        pub(super) fn mtx_timedlock(mutex: *mut Mutex, until: *const libc::timespec) -> c_int;
        pub(super) fn mtx_unlock(mutex: *mut Mutex) -> c_int;
        pub(super) fn cnd_init(condition: *mut Condition) -> c_int;
        pub(super) fn cnd_destroy(condition: *mut Condition);
        pub(super) fn cnd_wait(condition: *mut Condition, mutex: *mut Mutex) -> c_int;
        pub(super) fn cnd_timedwait(
            condition: *mut Condition,
            mutex: *mut Mutex,
            until: *const libc::timespec,
        ) -> c_int;
        pub(super) fn cnd_signal(condition: *mut Condition) -> c_int;
        pub(super) fn cnd_broadcast(condition: *mut Condition) -> c_int;
    }
}

interpose! {
    fn thrd_create(handle: *mut libc::pthread_t, start: Start, argument: *mut c_void) -> c_int {
        if Call::begin().is_none() {
            return real::thrd_create(handle, start, argument);
        }
        // The result is in the lower half of the register, where `thrd_join`
        // looks for it.
        type Posix = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
        let start = std::mem::transmute::<Start, Posix>(start);
        match threads::pthread_create(handle, std::ptr::null(), start, argument) {
            0 => SUCCESS,
            libc::ENOMEM => NO_MEMORY,
            libc::EBUSY => BUSY,
            _ => ERROR,
        }
    }

    fn thrd_join(handle: libc::pthread_t, result: *mut c_int) -> c_int {
        let outcome = joining(handle, Patience::ForEver, || real::thrd_join(handle, result));
        if outcome == SUCCESS && let Some(call) = Call::begin() {
            call.writes(result, size_of::<c_int>());
        }
        outcome
    }

    fn thrd_detach(handle: libc::pthread_t) -> c_int {
        if Call::begin().is_some() {
            let _visit = Visit::begin();
            registry::detach(handle as usize);
        }
        real::thrd_detach(handle)
    }

    fn mtx_init(mutex: *mut Mutex, kind: c_int) -> c_int {
        let result = real::mtx_init(mutex, kind);
        if result == SUCCESS && let Some(call) = Call::begin() {
            let traits = Traits { recursive: kind & RECURSIVE != 0, ..Traits::default() };
            sync::create(&Visit::begin(), mutex as usize, traits, call.place);
        }
        result
    }

    fn mtx_destroy(mutex: *mut Mutex) {
        if let Some(call) = Call::begin() {
            sync::destroy(&Visit::begin(), mutex as usize, call.place);
        }
        real::mtx_destroy(mutex);
    }

    fn mtx_lock(mutex: *mut Mutex) -> c_int {
        outcome(take(mutex, Patience::ForEver, || real::mtx_lock(mutex)))
    }

    fn mtx_trylock(mutex: *mut Mutex) -> c_int {
        outcome(take(mutex, Patience::Tries, || real::mtx_trylock(mutex)))
    }

    fn mtx_timedlock(mutex: *mut Mutex, until: *const libc::timespec) -> c_int {
        let patience = Patience::until(libc::CLOCK_REALTIME, until);
        outcome(take(mutex, patience, || real::mtx_timedlock(mutex, until)))
    }

    fn mtx_unlock(mutex: *mut Mutex) -> c_int {
        if let Some(call) = Call::begin() {
            sync::releasing(&Visit::begin(), mutex as usize, Some(Mode::Exclusive), call.place);
            if let Some(turn) = call.turn() {
                return turn.unlock(mutex as usize, || real::mtx_unlock(mutex));
            }
        }
        real::mtx_unlock(mutex)
    }

    fn cnd_init(condition: *mut Condition) -> c_int {
        if let Some(call) = Call::begin() {
            call.writes(condition, size_of::<Condition>());
        }
        real::cnd_init(condition)
    }

    fn cnd_destroy(condition: *mut Condition) {
        if let Some(call) = Call::begin() {
            call.writes(condition, size_of::<Condition>());
        }
        real::cnd_destroy(condition);
    }

    fn cnd_wait(condition: *mut Condition, mutex: *mut Mutex) -> c_int {
        outcome(wait(condition, mutex, None, || real::cnd_wait(condition, mutex)))
    }

    fn cnd_timedwait(
        condition: *mut Condition,
        mutex: *mut Mutex,
        until: *const libc::timespec,
    ) -> c_int {
        let moment = until.as_ref().map(|&time| Until::Shows(libc::CLOCK_REALTIME, time));
        outcome(wait(condition, mutex, moment, || real::cnd_timedwait(condition, mutex, until)))
    }

    fn cnd_signal(condition: *mut Condition) -> c_int {
        if let Some(call) = Call::begin() {
            notify(&call, condition as usize, false);
        }
        real::cnd_signal(condition)
    }

    fn cnd_broadcast(condition: *mut Condition) -> c_int {
        if let Some(call) = Call::begin() {
            notify(&call, condition as usize, true);
        }
        real::cnd_broadcast(condition)
    }
}
