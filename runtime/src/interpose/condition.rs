//! Condition variables.

use std::ffi::c_int;

use super::{Call, interpose};
use crate::sync;
use crate::thread::Visit;

type Condition = libc::pthread_cond_t;
type Mutex = libc::pthread_mutex_t;

/// Gives the lock up, waits, and has it back. A thread that is cancelled while
/// it waits has the lock back as well, for its cleanup handlers.
pub(super) unsafe fn wait(
    condition: *mut Condition,
    mutex: *mut Mutex,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    let place = call.place;
    let depth = sync::waiting(&Visit::begin(), condition as usize, mutex as usize, place);
    let back = Back {
        condition: condition as usize,
        mutex: mutex as usize,
        depth,
        place,
        notified: true,
    };
    let result = real();
    // A time-out may have come together with a wake-up that was meant for us.
    drop(back);
    result
}

/// What happens when the wait ends, in whatever way.
struct Back {
    condition: usize,
    mutex: usize,
    depth: u32,
    place: usize,
    notified: bool,
}

impl Drop for Back {
    fn drop(&mut self) {
        sync::woken(
            &Visit::begin(),
            self.condition,
            self.mutex,
            self.depth,
            self.notified,
            self.place,
        );
    }
}

unsafe extern "C" {
    #[link_name = "pthread_cond_clockwait"]
    fn real_clockwait(
        condition: *mut Condition,
        mutex: *mut Mutex,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int;
}

interpose! {
    fn pthread_cond_init(condition: *mut Condition, attributes: *const libc::pthread_condattr_t) -> c_int {
        if let Some(call) = Call::begin() {
            call.writes(condition, size_of::<Condition>());
        }
        libc::pthread_cond_init(condition, attributes)
    }

    fn pthread_cond_destroy(condition: *mut Condition) -> c_int {
        if let Some(call) = Call::begin() {
            call.writes(condition, size_of::<Condition>());
        }
        libc::pthread_cond_destroy(condition)
    }

    fn pthread_cond_wait(condition: *mut Condition, mutex: *mut Mutex) -> c_int {
        wait(condition, mutex, || libc::pthread_cond_wait(condition, mutex))
    }

    fn pthread_cond_timedwait(
        condition: *mut Condition,
        mutex: *mut Mutex,
        until: *const libc::timespec,
    ) -> c_int {
        wait(condition, mutex, || libc::pthread_cond_timedwait(condition, mutex, until))
    }

    fn pthread_cond_clockwait(
        condition: *mut Condition,
        mutex: *mut Mutex,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int {
        wait(condition, mutex, || real_clockwait(condition, mutex, clock, until))
    }

    fn pthread_cond_signal(condition: *mut Condition) -> c_int {
        if let Some(call) = Call::begin() {
            sync::notify(&Visit::begin(), condition as usize, false, call.place);
        }
        libc::pthread_cond_signal(condition)
    }

    fn pthread_cond_broadcast(condition: *mut Condition) -> c_int {
        if let Some(call) = Call::begin() {
            sync::notify(&Visit::begin(), condition as usize, true, call.place);
        }
        libc::pthread_cond_broadcast(condition)
    }
}
