//! Semaphores.

use std::ffi::c_int;

use super::mutex::Patience;
use super::{Call, interpose};
use crate::sync;
use crate::thread::Visit;

type Semaphore = libc::sem_t;

fn wait(semaphore: *mut Semaphore, patience: Patience, real: impl FnOnce() -> c_int) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    let result = match (call.turn(), patience) {
        (None, _) => real(),
        (Some(turn), Patience::Tries) => {
            call.is_shared(semaphore as usize);
            turn.give_way();
            real()
        }
        (Some(turn), _) if call.is_shared(semaphore as usize) => {
            turn.touch();
            turn.among_kin(real)
        }
        (Some(turn), _) => {
            // SAFETY: the caller's semaphore.
            let attempt = || unsafe { libc::sem_trywait(semaphore) == 0 };
            match turn.take(semaphore as usize, patience.moment(), attempt) {
                0 => 0,
                error => {
                    // SAFETY: our own.
                    unsafe { *libc::__errno_location() = error };
                    -1
                }
            }
        }
    };
    if result == 0 {
        sync::take(&Visit::begin(), semaphore as usize, call.place);
    }
    result
}

unsafe extern "C" {
    #[link_name = "sem_clockwait"]
    fn real_clockwait(
        semaphore: *mut Semaphore,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int;
}

interpose! {
    fn sem_post(semaphore: *mut Semaphore) -> c_int {
        if let Some(call) = Call::begin() {
            // Until it is the thread's turn, others take what was there before.
            if let Some(turn) = call.turn() {
                call.is_shared(semaphore as usize);
                turn.post(semaphore as usize);
                call.is_shared(semaphore as usize);
            }
            sync::post(&Visit::begin(), semaphore as usize, call.place);
        }
        libc::sem_post(semaphore)
    }

    fn sem_wait(semaphore: *mut Semaphore) -> c_int {
        wait(semaphore, Patience::ForEver, || libc::sem_wait(semaphore))
    }

    fn sem_trywait(semaphore: *mut Semaphore) -> c_int {
        wait(semaphore, Patience::Tries, || libc::sem_trywait(semaphore))
    }

    fn sem_timedwait(semaphore: *mut Semaphore, until: *const libc::timespec) -> c_int {
        let patience = Patience::until(libc::CLOCK_REALTIME, until);
        wait(semaphore, patience, || libc::sem_timedwait(semaphore, until))
    }

    fn sem_clockwait(
        semaphore: *mut Semaphore,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int {
        let patience = Patience::until(clock, until);
        wait(semaphore, patience, || real_clockwait(semaphore, clock, until))
    }

    fn sem_getvalue(semaphore: *mut Semaphore, value: *mut c_int) -> c_int {
        let result = libc::sem_getvalue(semaphore, value);
        if result == 0 && let Some(call) = Call::begin() {
            sync::take(&Visit::begin(), semaphore as usize, call.place);
        }
        result
    }
}
