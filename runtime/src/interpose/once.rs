//! What is done once: who comes later learns what was known when it was done.
//!
//! No call is noted around the program's own functions here: they may end by an
//! exception, which passes through without the end of the call being noted.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Call, Errno, exceptions, interpose};
use crate::control::ANY_BITS;
use crate::hooks;
use crate::thread::{self, Visit};

type Routine = unsafe extern "C" fn();
type Control = libc::pthread_once_t;

mod real {
    use super::{Control, Routine};
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        pub(super) fn pthread_once(control: *mut Control, routine: Routine) -> c_int;
        pub(super) fn call_once(control: *mut Control, routine: Routine);
        pub(super) fn __cxa_throw(
            exception: *mut c_void,
            kind: *mut c_void,
            destroy: *mut c_void,
        ) -> !;
    }
}

/// What is to be done by the real function that is called next: it takes a
/// function without arguments.
#[derive(Clone, Copy)]
struct Pending {
    control: *mut Control,
    routine: Routine,
}

thread_local! {
    static PENDING: Cell<Option<Pending>> = const { Cell::new(None) };
}

extern "C" fn perform() {
    let Some(Pending { control, routine }) = PENDING.get() else {
        return;
    };
    // Perhaps somebody else has tried before.
    if let Some(call) = Call::begin() {
        call.learns(control as usize);
        if let Some(turn) = call.turn() {
            turn.begin_once(control as usize);
        }
    }
    if let Some(thread) = thread::current() {
        let _visit = Visit::begin();
        thread.once.push(control as usize);
    }
    // SAFETY: what the program asked for.
    unsafe { routine() };
    if let Some(call) = Call::begin() {
        call.hands_on(control as usize);
        if let Some(turn) = call.turn() {
            turn.end_once(control as usize);
        }
        if let Some(thread) = thread::current() {
            thread.once.retain(|&other| other != control as usize);
        }
    }
}

/// An exception is thrown: it may end what was to be done once, and who tries
/// next must know what the one who failed has done.
fn may_give_up() {
    let Some(thread) = thread::current() else {
        return;
    };
    if thread.once.is_empty() {
        return;
    }
    if let Some(call) = Call::begin() {
        for control in std::mem::take(&mut thread.once) {
            call.hands_on(control);
        }
    }
}

fn once(control: *mut Control, routine: Routine, real: impl FnOnce(Routine) -> c_int) -> c_int {
    let Some(call) = Call::begin() else {
        return real(routine);
    };
    if let Some(turn) = call.turn() {
        turn.before_once(control as usize);
    }
    drop(call);
    // A signal handler may come here as well, between this and the real one.
    let before = PENDING.replace(Some(Pending { control, routine }));
    let result = real(perform);
    PENDING.set(before);
    if result == 0
        && let Some(call) = Call::begin()
    {
        call.learns(control as usize);
    }
    result
}

unsafe extern "C" {
    fn __tsan_atomic8_load(guard: *const u8, order: c_int) -> u8;
    fn __tsan_atomic8_store(guard: *mut u8, value: u8, order: c_int);
}

/// Memory orders as the compiler numbers them.
const ACQUIRE: c_int = 2;
const RELEASE: c_int = 3;

/// The guard of a static variable of C++. The compiler's code looks at the first
/// byte, the rest is for whoever provides these functions: the second byte is set
/// while the variable is being initialised, the third if somebody waits for that,
/// and the upper half tells who initialises it.
#[repr(C)]
struct Guard {
    state: AtomicU32,
    owner: AtomicU32,
}

const DONE: u32 = 1;
const PENDING_BIT: u32 = 1 << 8;
const WAITED_FOR: u32 = 1 << 16;

/// Learns what the last one to leave the guard knew, as the compiler's own load
/// of the first byte does.
unsafe fn learn(guard: *const Guard) {
    if let Some(_call) = Call::begin() {
        // SAFETY: the first byte of the guard.
        unsafe { __tsan_atomic8_load(guard.cast(), ACQUIRE) };
    }
}

/// Leaves the guard in a state, and wakes who waits for it.
unsafe fn leave(guard: *mut Guard, state: u32) {
    let _errno = Errno::keep();
    // SAFETY: the program's guard. The first byte is written together with what
    // is handed on; for who sees it the rest does not matter.
    unsafe {
        if let Some(_call) = Call::begin() {
            __tsan_atomic8_store(guard.cast(), state as u8, RELEASE);
        }
        (*guard).owner.store(0, Ordering::Relaxed);
        let before = (*guard).state.swap(state, Ordering::AcqRel);
        if before & WAITED_FOR != 0 {
            if let Some(turn) = Call::begin().and_then(|call| call.turn()) {
                turn.wake_futex(guard as usize, ANY_BITS, usize::MAX);
            }
            libc::syscall(libc::SYS_futex, guard, libc::FUTEX_WAKE, c_int::MAX);
        }
    }
}

fn current() -> u32 {
    // SAFETY: asks who we are.
    unsafe { libc::gettid() as u32 }
}

interpose! {
    fn __cxa_throw(exception: *mut c_void, kind: *mut c_void, destroy: *mut c_void) -> ! {
        may_give_up();
        exceptions::thrown(exception);
        real::__cxa_throw(exception, kind, destroy)
    }

    fn pthread_once(control: *mut Control, routine: Routine) -> c_int {
        once(control, routine, |routine| real::pthread_once(control, routine))
    }

    fn call_once(control: *mut Control, routine: Routine) {
        once(control, routine, |routine| {
            real::call_once(control, routine);
            0
        });
    }

    // These are of the C++ library, which a program need not have.
    fn __cxa_guard_acquire(guard: *mut Guard) -> c_int {
        let _blocking = hooks::Blocking::begin();
        let state = &(*guard).state;
        loop {
            let now = state.load(Ordering::Acquire);
            if now as u8 != 0 {
                learn(guard);
                return 0;
            }
            if now & PENDING_BIT == 0 {
                let claim = now | PENDING_BIT;
                if state.compare_exchange(now, claim, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    (*guard).owner.store(current(), Ordering::Relaxed);
                    // Somebody may have tried before, and failed.
                    learn(guard);
                    return 1;
                }
                continue;
            }
            if (*guard).owner.load(Ordering::Relaxed) == current() {
                crate::fatal("a static variable is needed for its own initialisation");
            }
            let waited_for = now | WAITED_FOR;
            if now != waited_for
                && state.compare_exchange(now, waited_for, Ordering::AcqRel, Ordering::Relaxed).is_err()
            {
                continue;
            }
            let _errno = Errno::keep();
            if let Some(turn) = Call::begin().and_then(|call| call.turn()) {
                turn.wait_for_futex(guard as usize, ANY_BITS, None);
                continue;
            }
            let forever = std::ptr::null::<libc::timespec>();
            libc::syscall(libc::SYS_futex, guard, libc::FUTEX_WAIT, waited_for, forever);
        }
    }

    fn __cxa_guard_release(guard: *mut Guard) {
        leave(guard, DONE);
    }

    fn __cxa_guard_abort(guard: *mut Guard) {
        leave(guard, 0);
    }
}
