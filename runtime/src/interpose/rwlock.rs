//! Read-write locks.

use std::ffi::c_int;

use racehound_trace::Mode;

use super::{Call, interpose};
use crate::sync::{self, Traits};
use crate::thread::Visit;

type Lock = libc::pthread_rwlock_t;

const TRAITS: Traits = Traits {
    recursive: false,
    tried: false,
    depth: 1,
};

fn take(lock: *mut Lock, mode: Mode, tried: bool, real: impl FnOnce() -> c_int) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    let traits = Traits { tried, ..TRAITS };
    if !tried {
        sync::about_to_lock(&Visit::begin(), lock as usize, mode, traits, call.place);
    }
    let result = real();
    if result == 0 {
        sync::acquired(&Visit::begin(), lock as usize, mode, traits, call.place);
    }
    result
}

unsafe extern "C" {
    #[link_name = "pthread_rwlock_clockrdlock"]
    fn real_clockrdlock(
        lock: *mut Lock,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int;
    #[link_name = "pthread_rwlock_clockwrlock"]
    fn real_clockwrlock(
        lock: *mut Lock,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int;
    #[link_name = "pthread_rwlock_timedrdlock"]
    fn real_timedrdlock(lock: *mut Lock, until: *const libc::timespec) -> c_int;
    #[link_name = "pthread_rwlock_timedwrlock"]
    fn real_timedwrlock(lock: *mut Lock, until: *const libc::timespec) -> c_int;
}

interpose! {
    fn pthread_rwlock_init(lock: *mut Lock, attributes: *const libc::pthread_rwlockattr_t) -> c_int {
        let result = libc::pthread_rwlock_init(lock, attributes);
        if result == 0 && let Some(call) = Call::begin() {
            sync::create(&Visit::begin(), lock as usize, TRAITS, call.place);
        }
        result
    }

    fn pthread_rwlock_destroy(lock: *mut Lock) -> c_int {
        if let Some(call) = Call::begin() {
            sync::destroy(&Visit::begin(), lock as usize, call.place);
        }
        libc::pthread_rwlock_destroy(lock)
    }

    fn pthread_rwlock_rdlock(lock: *mut Lock) -> c_int {
        take(lock, Mode::Shared, false, || libc::pthread_rwlock_rdlock(lock))
    }

    fn pthread_rwlock_tryrdlock(lock: *mut Lock) -> c_int {
        take(lock, Mode::Shared, true, || libc::pthread_rwlock_tryrdlock(lock))
    }

    fn pthread_rwlock_timedrdlock(lock: *mut Lock, until: *const libc::timespec) -> c_int {
        take(lock, Mode::Shared, true, || real_timedrdlock(lock, until))
    }

    fn pthread_rwlock_clockrdlock(
        lock: *mut Lock,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int {
        take(lock, Mode::Shared, true, || real_clockrdlock(lock, clock, until))
    }

    fn pthread_rwlock_wrlock(lock: *mut Lock) -> c_int {
        take(lock, Mode::Exclusive, false, || libc::pthread_rwlock_wrlock(lock))
    }

    fn pthread_rwlock_trywrlock(lock: *mut Lock) -> c_int {
        take(lock, Mode::Exclusive, true, || libc::pthread_rwlock_trywrlock(lock))
    }

    fn pthread_rwlock_timedwrlock(lock: *mut Lock, until: *const libc::timespec) -> c_int {
        take(lock, Mode::Exclusive, true, || real_timedwrlock(lock, until))
    }

    fn pthread_rwlock_clockwrlock(
        lock: *mut Lock,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int {
        take(lock, Mode::Exclusive, true, || real_clockwrlock(lock, clock, until))
    }

    fn pthread_rwlock_unlock(lock: *mut Lock) -> c_int {
        if let Some(call) = Call::begin() {
            sync::releasing(&Visit::begin(), lock as usize, None, call.place);
        }
        libc::pthread_rwlock_unlock(lock)
    }
}
