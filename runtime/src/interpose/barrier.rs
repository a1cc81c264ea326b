//! Barriers, and what is done once.

use std::ffi::c_int;

use super::{Call, interpose};
use crate::sync;
use crate::thread::Visit;

type Barrier = libc::pthread_barrier_t;

interpose! {
    fn pthread_barrier_init(
        barrier: *mut Barrier,
        attributes: *const libc::pthread_barrierattr_t,
        count: u32,
    ) -> c_int {
        if let Some(call) = Call::begin() {
            call.writes(barrier, size_of::<Barrier>());
            if let Some(turn) = call.turn() {
                turn.make_barrier(barrier as usize, count);
            }
        }
        libc::pthread_barrier_init(barrier, attributes, count)
    }

    fn pthread_barrier_destroy(barrier: *mut Barrier) -> c_int {
        if let Some(call) = Call::begin() {
            call.writes(barrier, size_of::<Barrier>());
        }
        libc::pthread_barrier_destroy(barrier)
    }

    fn pthread_barrier_wait(barrier: *mut Barrier) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::pthread_barrier_wait(barrier);
        };
        call.reads(barrier, 1);
        sync::arrive(&Visit::begin(), barrier as usize, call.place);
        let real = || libc::pthread_barrier_wait(barrier);
        let result = match call.turn() {
            Some(turn) if call.is_shared(barrier as usize) => {
                turn.touch();
                turn.among_kin(real)
            }
            turn => match turn.and_then(|turn| turn.meet(barrier as usize)) {
                None => real(),
                Some(true) => libc::PTHREAD_BARRIER_SERIAL_THREAD,
                Some(false) => 0,
            },
        };
        if result == 0 || result == libc::PTHREAD_BARRIER_SERIAL_THREAD {
            sync::depart(&Visit::begin(), barrier as usize, call.place);
        }
        result
    }
}
