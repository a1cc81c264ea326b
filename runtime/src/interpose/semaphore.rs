//! Semaphores.

use std::ffi::c_int;

use super::{Call, interpose};
use crate::sync;
use crate::thread::Visit;

type Semaphore = libc::sem_t;

fn wait(semaphore: *mut Semaphore, real: impl FnOnce() -> c_int) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    let result = real();
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
            sync::post(&Visit::begin(), semaphore as usize, call.place);
        }
        libc::sem_post(semaphore)
    }

    fn sem_wait(semaphore: *mut Semaphore) -> c_int {
        wait(semaphore, || libc::sem_wait(semaphore))
    }

    fn sem_trywait(semaphore: *mut Semaphore) -> c_int {
        wait(semaphore, || libc::sem_trywait(semaphore))
    }

    fn sem_timedwait(semaphore: *mut Semaphore, until: *const libc::timespec) -> c_int {
        wait(semaphore, || libc::sem_timedwait(semaphore, until))
    }

    fn sem_clockwait(
        semaphore: *mut Semaphore,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int {
        wait(semaphore, || real_clockwait(semaphore, clock, until))
    }

    fn sem_getvalue(semaphore: *mut Semaphore, value: *mut c_int) -> c_int {
        let result = libc::sem_getvalue(semaphore, value);
        if result == 0 && let Some(call) = Call::begin() {
            sync::take(&Visit::begin(), semaphore as usize, call.place);
        }
        result
    }
}
