//! Read-write locks.

use std::ffi::c_int;

use racehound_trace::Mode;

use super::mutex::Patience;
use super::{Call, interpose};
use crate::sync::{self, Traits};
use crate::thread::Visit;
use crate::{control, triggers};

type Lock = libc::pthread_rwlock_t;

const TRAITS: Traits = Traits {
    recursive: false,
    at_once: false,
    tried: false,
    depth: 1,
};

/// Whether nobody gets a lock for reading while somebody waits to write: its kind, as
/// the C library lays it out on machines of 64 bits. The kind that is just called
/// "prefer writer" lets readers in all the same.
fn prefers_writers(lock: *const Lock) -> bool {
    const KIND: usize = 48;
    const PREFER_WRITER_NONRECURSIVE: u32 = 2;
    // SAFETY: the caller's lock, which is larger than that.
    let kind = unsafe { lock.byte_add(KIND).cast::<u32>().read() };
    kind == PREFER_WRITER_NONRECURSIVE
}

fn take(lock: *mut Lock, mode: Mode, patience: Patience, real: impl FnOnce() -> c_int) -> c_int {
    if triggers::is_known(lock as usize) {
        return real();
    }
    let Some(call) = Call::begin() else {
        return real();
    };
    let tried = !matches!(patience, Patience::ForEver);
    let traits = Traits { tried, ..TRAITS };
    if !tried {
        sync::about_to_lock(&Visit::begin(), lock as usize, mode, traits, call.place);
    }
    let at = (lock as usize, mode);
    let result = match (call.turn(), patience) {
        (None, _) => real(),
        (Some(turn), Patience::Tries) => turn.try_lock(at, real),
        // The C library says so to who would wait for itself, and nobody waits.
        (Some(turn), _) if turn.owns(lock as usize) => libc::EDEADLK,
        (Some(turn), _) => {
            // SAFETY: the caller's lock.
            let attempt = || unsafe {
                match mode {
                    Mode::Shared => libc::pthread_rwlock_tryrdlock(lock),
                    Mode::Exclusive => libc::pthread_rwlock_trywrlock(lock),
                }
            };
            let until = patience.moment();
            match mode {
                Mode::Exclusive if prefers_writers(lock) => {
                    turn.lock_preferred(lock as usize, until, attempt, real)
                }
                _ => {
                    let lock = control::Lock::other(lock as usize, mode);
                    turn.lock(lock, until, attempt, real)
                }
            }
        }
    };
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
        take(lock, Mode::Shared, Patience::ForEver, || libc::pthread_rwlock_rdlock(lock))
    }

    fn pthread_rwlock_tryrdlock(lock: *mut Lock) -> c_int {
        take(lock, Mode::Shared, Patience::Tries, || libc::pthread_rwlock_tryrdlock(lock))
    }

    fn pthread_rwlock_timedrdlock(lock: *mut Lock, until: *const libc::timespec) -> c_int {
        let patience = Patience::until(libc::CLOCK_REALTIME, until);
        take(lock, Mode::Shared, patience, || real_timedrdlock(lock, until))
    }

    fn pthread_rwlock_clockrdlock(
        lock: *mut Lock,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int {
        let patience = Patience::until(clock, until);
        take(lock, Mode::Shared, patience, || real_clockrdlock(lock, clock, until))
    }

    fn pthread_rwlock_wrlock(lock: *mut Lock) -> c_int {
        take(lock, Mode::Exclusive, Patience::ForEver, || libc::pthread_rwlock_wrlock(lock))
    }

    fn pthread_rwlock_trywrlock(lock: *mut Lock) -> c_int {
        take(lock, Mode::Exclusive, Patience::Tries, || libc::pthread_rwlock_trywrlock(lock))
    }

    fn pthread_rwlock_timedwrlock(lock: *mut Lock, until: *const libc::timespec) -> c_int {
        let patience = Patience::until(libc::CLOCK_REALTIME, until);
        take(lock, Mode::Exclusive, patience, || real_timedwrlock(lock, until))
    }

    fn pthread_rwlock_clockwrlock(
        lock: *mut Lock,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int {
        let patience = Patience::until(clock, until);
        take(lock, Mode::Exclusive, patience, || real_clockwrlock(lock, clock, until))
    }

    fn pthread_rwlock_unlock(lock: *mut Lock) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::pthread_rwlock_unlock(lock);
        };
        sync::releasing(&Visit::begin(), lock as usize, None, call.place);
        let unlock = || libc::pthread_rwlock_unlock(lock);
        match call.turn() {
            Some(turn) => turn.unlock(lock as usize, unlock),
            None => unlock(),
        }
    }
}
