//! Condition variables.

use std::ffi::{c_int, c_void};

use super::{Call, interpose};
use crate::control::clock::Until;
use crate::sync;
use crate::thread::Visit;

type Condition = libc::pthread_cond_t;
type Mutex = libc::pthread_mutex_t;

/// Gives the lock up, waits, and has it back. A thread that is cancelled while
/// it waits has the lock back as well, before its cleanup handlers run.
pub(super) unsafe fn wait(
    condition: *mut Condition,
    mutex: *mut Mutex,
    until: Option<Until>,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    call.reads(condition, 1);
    let place = call.place;
    let turn = call.turn();
    // Others may still come first, with a notice that this thread then misses: that it waits
    // is noted when it does.
    if let Some(turn) = &turn
        && !call.is_shared(condition as usize)
    {
        turn.is_about_to_wait(condition as usize, mutex as usize);
    }
    let mut back = Back {
        condition: condition as usize,
        mutex: mutex as usize,
        depth: sync::waiting(&Visit::begin(), condition as usize, mutex as usize, place),
        place,
    };
    // SAFETY: the buffer stays until it is popped, or its handler has run.
    unsafe {
        let mut buffer = std::mem::zeroed::<Cleanup>();
        _pthread_cleanup_push(&raw mut buffer, have_back, (&raw mut back).cast());
        let result = match turn {
            None => real(),
            Some(turn) if call.is_shared(condition as usize) => {
                turn.wait_for_others(mutex as usize, real)
            }
            Some(turn) => turn.wait_for_condition(
                (condition as usize, mutex as usize),
                until,
                || libc::pthread_mutex_unlock(mutex),
                || libc::pthread_mutex_trylock(mutex),
                || libc::pthread_mutex_lock(mutex),
            ),
        };
        _pthread_cleanup_pop(&raw mut buffer, 0);
        have_back((&raw mut back).cast());
        result
    }
}

/// What happens when the wait ends, in whatever way.
struct Back {
    condition: usize,
    mutex: usize,
    depth: u32,
    place: usize,
}

unsafe extern "C" fn have_back(back: *mut c_void) {
    // SAFETY: `wait` keeps it.
    let back = unsafe { &*back.cast::<Back>() };
    // A time-out may have come together with a wake-up that was meant for us.
    sync::woken(
        &Visit::begin(),
        back.condition,
        back.mutex,
        back.depth,
        true,
        back.place,
    );
}

/// Room for what the C library notes of a cleanup handler.
#[repr(C)]
struct Cleanup {
    handler: usize,
    argument: *mut c_void,
    kind: c_int,
    outer: *mut Self,
}

unsafe extern "C" {
    fn _pthread_cleanup_push(
        buffer: *mut Cleanup,
        handler: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
    );
    fn _pthread_cleanup_pop(buffer: *mut Cleanup, execute: c_int);
}

/// Which clock a condition of the GNU C library goes by.
unsafe fn clock_of(condition: *const Condition) -> libc::clockid_t {
    const WAITERS: usize = 36;
    const MONOTONIC: u32 = 2;
    // SAFETY: the caller has a condition.
    let waiters = unsafe { condition.cast::<u8>().add(WAITERS).cast::<u32>().read() };
    match waiters & MONOTONIC {
        0 => libc::CLOCK_REALTIME,
        _ => libc::CLOCK_MONOTONIC,
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

/// Notes a notice when it is given: until it is the thread's turn, others may begin to wait.
/// From then on nobody goes on before it is noted.
pub(super) fn notify(call: &Call, condition: usize, everybody: bool) {
    call.reads(condition as *const Condition, 1);
    if let Some(turn) = call.turn() {
        call.is_shared(condition);
        turn.notify(condition, everybody);
        call.is_shared(condition);
    }
    sync::notify(&Visit::begin(), condition, everybody, call.place);
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
        wait(condition, mutex, None, || libc::pthread_cond_wait(condition, mutex))
    }

    fn pthread_cond_timedwait(
        condition: *mut Condition,
        mutex: *mut Mutex,
        until: *const libc::timespec,
    ) -> c_int {
        let moment = until.as_ref().map(|&time| Until::Shows(clock_of(condition), time));
        wait(condition, mutex, moment, || libc::pthread_cond_timedwait(condition, mutex, until))
    }

    fn pthread_cond_clockwait(
        condition: *mut Condition,
        mutex: *mut Mutex,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> c_int {
        let moment = until.as_ref().map(|&time| Until::Shows(clock, time));
        wait(condition, mutex, moment, || real_clockwait(condition, mutex, clock, until))
    }

    fn pthread_cond_signal(condition: *mut Condition) -> c_int {
        if let Some(call) = Call::begin() {
            notify(&call, condition as usize, false);
        }
        libc::pthread_cond_signal(condition)
    }

    fn pthread_cond_broadcast(condition: *mut Condition) -> c_int {
        if let Some(call) = Call::begin() {
            notify(&call, condition as usize, true);
        }
        libc::pthread_cond_broadcast(condition)
    }
}
