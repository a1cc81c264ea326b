//! Mutexes of all types, and spin locks.

use std::ffi::c_int;

use racehound_trace::Mode;

use super::{Call, interpose};
use crate::control::{Lock, clock::Until};
use crate::sync::{self, Traits};
use crate::thread::Visit;
use crate::triggers;

type Mutex = libc::pthread_mutex_t;

/// What kind of mutex it is, as the GNU C library lays it out.
unsafe fn kind(mutex: *const Mutex) -> c_int {
    const KIND: usize = 16;
    // SAFETY: the caller has a mutex.
    unsafe { mutex.cast::<u8>().add(KIND).cast::<c_int>().read() }
}

/// Its type.
unsafe fn type_of(mutex: *const Mutex) -> c_int {
    const TYPE: c_int = 3;
    // SAFETY: the caller has a mutex.
    unsafe { kind(mutex) & TYPE }
}

/// Whether it was made for several processes.
unsafe fn is_for_processes(mutex: *const Mutex) -> bool {
    const SHARED: c_int = 0x80;
    // SAFETY: the caller has a mutex.
    unsafe { kind(mutex) & SHARED != 0 }
}

unsafe fn is_recursive(mutex: *const Mutex) -> bool {
    // SAFETY: the caller has a mutex.
    unsafe { type_of(mutex) == libc::PTHREAD_MUTEX_RECURSIVE }
}

unsafe fn is_checked(mutex: *const Mutex) -> bool {
    // SAFETY: the caller has a mutex.
    unsafe { type_of(mutex) == libc::PTHREAD_MUTEX_ERRORCHECK }
}

/// Whether the C library has it that the thread holds the mutex.
unsafe fn is_mine(mutex: *const Mutex) -> bool {
    const OWNER: usize = 8;
    // SAFETY: the caller has a mutex.
    unsafe { mutex.cast::<u8>().add(OWNER).cast::<c_int>().read() == libc::gettid() }
}

/// Whether the C library would tell the thread that it has the mutex already.
unsafe fn says_deadlock(mutex: *const Mutex) -> bool {
    // SAFETY: the caller has a mutex.
    unsafe { is_checked(mutex) && is_mine(mutex) }
}

/// Whether the C library would tell the thread that it does not have the mutex.
unsafe fn says_foreign(mutex: *const Mutex) -> bool {
    // SAFETY: the caller has a mutex.
    unsafe { is_checked(mutex) && !is_mine(mutex) }
}

/// How long a lock is waited for.
#[derive(Clone, Copy)]
pub(super) enum Patience {
    /// Not at all.
    Tries,
    Until(Until),
    ForEver,
}

impl Patience {
    /// Until a clock shows that time.
    ///
    /// # Safety
    /// It is a time, or null.
    pub(super) unsafe fn until(clock: libc::clockid_t, time: *const libc::timespec) -> Self {
        // SAFETY: the caller's promise.
        match unsafe { time.as_ref() } {
            Some(&time) => Self::Until(Until::Shows(clock, time)),
            None => Self::ForEver,
        }
    }

    pub(super) fn moment(self) -> Option<Until> {
        match self {
            Self::Until(until) => Some(until),
            Self::Tries | Self::ForEver => None,
        }
    }
}

/// Takes a mutex with `lock`, which may fail or wait for ever.
pub(super) unsafe fn take(
    mutex: *mut Mutex,
    patience: Patience,
    lock: impl FnOnce() -> c_int,
) -> c_int {
    if triggers::is_known(mutex as usize) {
        return lock();
    }
    let Some(call) = Call::begin() else {
        return lock();
    };
    let mut traits = Traits {
        // SAFETY: the caller's mutex.
        recursive: unsafe { is_recursive(mutex) },
        ..Traits::default()
    };
    let turn = call.turn();
    if turn.is_none() && matches!(patience, Patience::ForEver) {
        // Mostly it is free, and looked at once.
        // SAFETY: the caller's mutex.
        let result = unsafe { libc::pthread_mutex_trylock(mutex) };
        if is_taken(result) {
            traits.at_once = true;
            took(&call, mutex, traits, result);
            return result;
        }
    }
    let waits = !matches!(patience, Patience::Tries);
    traits.tried = !matches!(patience, Patience::ForEver);
    // SAFETY: the caller's mutex.
    if waits && !unsafe { says_deadlock(mutex) } {
        let visit = Visit::begin();
        sync::about_to_lock(&visit, mutex as usize, Mode::Exclusive, traits, call.place);
    }
    // SAFETY: the caller's mutex.
    if turn.is_some() && unsafe { is_for_processes(mutex) } {
        call.is_shared(mutex as usize);
    }
    let at = (mutex as usize, Mode::Exclusive);
    let result = match (turn, patience) {
        (None, _) => lock(),
        (Some(turn), Patience::Tries) => turn.try_lock(at, lock),
        // SAFETY: the caller's mutex.
        (Some(turn), _) => unsafe {
            let attempt = || match says_deadlock(mutex) {
                true => libc::EDEADLK,
                false => libc::pthread_mutex_trylock(mutex),
            };
            let reentrant = traits.recursive || says_deadlock(mutex);
            let mutex = Lock::mutex(mutex as usize, reentrant);
            turn.lock(mutex, patience.moment(), attempt, lock)
        },
    };
    if result == libc::EINVAL && !matches!(patience, Patience::Until(_)) {
        sync::invalid(&Visit::begin(), mutex as usize, call.place);
    }
    if is_taken(result) {
        took(&call, mutex, traits, result);
    }
    result
}

fn is_taken(result: c_int) -> bool {
    result == 0 || result == libc::EOWNERDEAD
}

/// The thread has got a mutex.
fn took(call: &Call, mutex: *mut Mutex, traits: Traits, result: c_int) {
    let visit = Visit::begin();
    if result == libc::EOWNERDEAD {
        sync::holder_died(&visit, mutex as usize, call.place);
    }
    sync::acquired(&visit, mutex as usize, Mode::Exclusive, traits, call.place);
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
        take(mutex, Patience::ForEver, || libc::pthread_mutex_lock(mutex))
    }

    fn pthread_mutex_trylock(mutex: *mut Mutex) -> c_int {
        take(mutex, Patience::Tries, || libc::pthread_mutex_trylock(mutex))
    }

    fn pthread_mutex_timedlock(mutex: *mut Mutex, until: *const libc::timespec) -> c_int {
        let patience = Patience::until(libc::CLOCK_REALTIME, until);
        take(mutex, patience, || libc::pthread_mutex_timedlock(mutex, until))
    }

    fn pthread_mutex_clocklock(
        mutex: *mut Mutex,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int {
        take(mutex, Patience::until(clock, until), || real_clocklock(mutex, clock, until))
    }

    fn pthread_mutex_unlock(mutex: *mut Mutex) -> c_int {
        if let Some(call) = Call::begin() && !says_foreign(mutex) {
            sync::releasing(&Visit::begin(), mutex as usize, Some(Mode::Exclusive), call.place);
            let unlock = || libc::pthread_mutex_unlock(mutex);
            let result = match call.turn() {
                Some(turn) if is_for_processes(mutex) => {
                    call.is_shared(mutex as usize);
                    let result = turn.unlock(mutex as usize, unlock);
                    call.is_shared(mutex as usize);
                    result
                }
                Some(turn) => turn.unlock(mutex as usize, unlock),
                None => unlock(),
            };
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
        if triggers::is_known(lock as usize) {
            return libc::pthread_spin_lock(lock);
        }
        let Some(call) = Call::begin() else {
            return libc::pthread_spin_lock(lock);
        };
        sync::about_to_lock(&Visit::begin(), lock as usize, Mode::Exclusive, Traits::default(), call.place);
        let wait = || libc::pthread_spin_lock(lock);
        let result = match call.turn() {
            Some(turn) => {
                let attempt = || libc::pthread_spin_trylock(lock);
                turn.lock(Lock::other(lock as usize, Mode::Exclusive), None, attempt, wait)
            }
            None => wait(),
        };
        if result == 0 {
            let visit = Visit::begin();
            sync::acquired(&visit, lock as usize, Mode::Exclusive, Traits::default(), call.place);
        }
        result
    }

    fn pthread_spin_trylock(lock: *mut libc::pthread_spinlock_t) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::pthread_spin_trylock(lock);
        };
        let attempt = || libc::pthread_spin_trylock(lock);
        let result = match call.turn() {
            Some(turn) => turn.try_lock((lock as usize, Mode::Exclusive), attempt),
            None => attempt(),
        };
        if result == 0 {
            let traits = Traits { tried: true, ..Traits::default() };
            let visit = Visit::begin();
            sync::acquired(&visit, lock as usize, Mode::Exclusive, traits, call.place);
        }
        result
    }

    fn pthread_spin_unlock(lock: *mut libc::pthread_spinlock_t) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::pthread_spin_unlock(lock);
        };
        sync::releasing(&Visit::begin(), lock as usize, Some(Mode::Exclusive), call.place);
        let unlock = || libc::pthread_spin_unlock(lock);
        match call.turn() {
            Some(turn) => turn.unlock(lock as usize, unlock),
            None => unlock(),
        }
    }
}
