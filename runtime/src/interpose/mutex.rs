//! Mutexes of all types, and spin locks.

use std::ffi::c_int;

use racehound_trace::Mode;

use super::{Call, interpose};
use crate::sync::{self, Traits};
use crate::thread::Visit;

type Mutex = libc::pthread_mutex_t;

/// The type in a mutex of the GNU C library.
unsafe fn is_recursive(mutex: *const Mutex) -> bool {
    const KIND: usize = 16;
    const KIND_MASK: c_int = 3;
    // SAFETY: the caller has a mutex.
    let kind = unsafe { mutex.cast::<u8>().add(KIND).cast::<c_int>().read() };
    kind & KIND_MASK == libc::PTHREAD_MUTEX_RECURSIVE
}

/// Takes a mutex with `lock`, which may fail or wait for ever; `tried` if it may
/// give up, and then perhaps only after it `waits`.
pub(super) unsafe fn take(
    mutex: *mut Mutex,
    (tried, waits): (bool, bool),
    lock: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return lock();
    };
    let traits = Traits {
        // SAFETY: the caller's mutex.
        recursive: unsafe { is_recursive(mutex) },
        tried,
        ..Traits::default()
    };
    if !tried || waits {
        let visit = Visit::begin();
        sync::about_to_lock(&visit, mutex as usize, Mode::Exclusive, traits, call.place);
    }
    let result = lock();
    if result == libc::EINVAL && !waits {
        sync::invalid(&Visit::begin(), mutex as usize, call.place);
    }
    if result == 0 || result == libc::EOWNERDEAD {
        let visit = Visit::begin();
        if result == libc::EOWNERDEAD {
            sync::holder_died(&visit, mutex as usize, call.place);
        }
        sync::acquired(&visit, mutex as usize, Mode::Exclusive, traits, call.place);
    }
    result
}

unsafe extern "C" {
    #[link_name = "pthread_mutex_clocklock"]
    fn real_clocklock(
        mutex: *mut Mutex,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int;
}

interpose! {
    fn pthread_mutex_init(mutex: *mut Mutex, attributes: *const libc::pthread_mutexattr_t) -> c_int {
        let result = libc::pthread_mutex_init(mutex, attributes);
        if result == 0 && let Some(call) = Call::begin() {
            let traits = Traits { recursive: is_recursive(mutex), ..Traits::default() };
            sync::create(&Visit::begin(), mutex as usize, traits, call.place);
        }
        result
    }

    fn pthread_mutex_destroy(mutex: *mut Mutex) -> c_int {
        if let Some(call) = Call::begin() {
            sync::destroy(&Visit::begin(), mutex as usize, call.place);
        }
        libc::pthread_mutex_destroy(mutex)
    }

    fn pthread_mutex_lock(mutex: *mut Mutex) -> c_int {
        take(mutex, (false, false), || libc::pthread_mutex_lock(mutex))
    }

    fn pthread_mutex_trylock(mutex: *mut Mutex) -> c_int {
        take(mutex, (true, false), || libc::pthread_mutex_trylock(mutex))
    }

    fn pthread_mutex_timedlock(mutex: *mut Mutex, until: *const libc::timespec) -> c_int {
        take(mutex, (true, true), || libc::pthread_mutex_timedlock(mutex, until))
    }

    fn pthread_mutex_clocklock(
        mutex: *mut Mutex,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int {
        take(mutex, (true, true), || real_clocklock(mutex, clock, until))
    }

    fn pthread_mutex_unlock(mutex: *mut Mutex) -> c_int {
        if let Some(call) = Call::begin() {
            sync::releasing(&Visit::begin(), mutex as usize, Some(Mode::Exclusive), call.place);
            let result = libc::pthread_mutex_unlock(mutex);
            if result == libc::EINVAL {
                sync::invalid(&Visit::begin(), mutex as usize, call.place);
            }
            return result;
        }
        libc::pthread_mutex_unlock(mutex)
    }

    fn pthread_spin_init(lock: *mut libc::pthread_spinlock_t, shared: c_int) -> c_int {
        let result = libc::pthread_spin_init(lock, shared);
        if result == 0 && let Some(call) = Call::begin() {
            sync::create(&Visit::begin(), lock as usize, Traits::default(), call.place);
        }
        result
    }

    fn pthread_spin_destroy(lock: *mut libc::pthread_spinlock_t) -> c_int {
        if let Some(call) = Call::begin() {
            sync::destroy(&Visit::begin(), lock as usize, call.place);
        }
        libc::pthread_spin_destroy(lock)
    }

    fn pthread_spin_lock(lock: *mut libc::pthread_spinlock_t) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::pthread_spin_lock(lock);
        };
        sync::about_to_lock(&Visit::begin(), lock as usize, Mode::Exclusive, Traits::default(), call.place);
        let result = libc::pthread_spin_lock(lock);
        if result == 0 {
            let visit = Visit::begin();
            sync::acquired(&visit, lock as usize, Mode::Exclusive, Traits::default(), call.place);
        }
        result
    }

    fn pthread_spin_trylock(lock: *mut libc::pthread_spinlock_t) -> c_int {
        let result = libc::pthread_spin_trylock(lock);
        if result == 0 && let Some(call) = Call::begin() {
            let traits = Traits { tried: true, ..Traits::default() };
            let visit = Visit::begin();
            sync::acquired(&visit, lock as usize, Mode::Exclusive, traits, call.place);
        }
        result
    }

    fn pthread_spin_unlock(lock: *mut libc::pthread_spinlock_t) -> c_int {
        if let Some(call) = Call::begin() {
            sync::releasing(&Visit::begin(), lock as usize, Some(Mode::Exclusive), call.place);
        }
        libc::pthread_spin_unlock(lock)
    }
}
