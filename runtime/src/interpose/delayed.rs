//! Futures that are ready when a thread has ended: `std::promise::set_value_at_thread_exit`
//! and its kin.
//!
//! libstdc++ keeps such a state until the thread's last destructors have run, and then
//! stores that it is ready, out of our sight. So we put ourselves in the place of what it
//! calls then: the thread hands on what it knows where others look whether the state is
//! ready, and only then the library goes on. Meanwhile we have a share in the state. Else
//! the library could be the last to give its own up, and who destroys the state there
//! would not know what others have done with it.
//!
//! The layouts are those of libstdc++'s binary interface since version 3.4.21.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::{Call, interpose};

type Callback = unsafe extern "C" fn(*mut Delayed);

/// What is to be done when the thread ends: `_State_baseV2::_Make_ready`.
#[repr(C)]
pub struct Delayed {
    next: *mut c_void,
    callback: Callback,
    state: *mut State,
    owners: *mut Owners,
}

/// What promise and future share: `_State_baseV2`.
#[repr(C)]
struct State {
    table: *const c_void,
    result: *mut c_void,
    status: u32,
}

/// Who has a share in it: `_Sp_counted_base`.
#[repr(C)]
struct Owners {
    table: *const Table,
    shares: u32,
    watchers: u32,
}

#[repr(C)]
struct Table {
    destructors: [*const c_void; 2],
    dispose: unsafe extern "C" fn(*mut Owners),
    destroy: unsafe extern "C" fn(*mut Owners),
}

mod real {
    use super::Delayed;

    unsafe extern "C" {
        pub(super) fn _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv(
            delayed: *mut Delayed,
        );
    }
}

unsafe extern "C" {
    /// An atomic operation as the compiler writes it down.
    fn __tsan_atomic32_fetch_add(address: *mut u32, value: u32, order: c_int) -> u32;
}

const RELEASE: c_int = 3;
const ACQUIRE_AND_RELEASE: c_int = 4;

/// What the library would have called.
static CALLBACK: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn make_ready(delayed: *mut Delayed) {
    // SAFETY: what was put there below.
    let go_on: Callback = unsafe { std::mem::transmute(CALLBACK.load(Ordering::Relaxed)) };
    let is_looked_at = Call::begin().is_some();
    // SAFETY: the library has kept it for this; the state is there while somebody has a
    // share in it.
    unsafe {
        let (state, owners) = ((*delayed).state, (*delayed).owners);
        let has_share = is_looked_at && share(owners);
        if has_share {
            __tsan_atomic32_fetch_add(&raw mut (*state).status, 0, RELEASE);
        }
        go_on(delayed);
        if has_share {
            give_up(owners);
        }
    }
}

/// Takes a share, if anybody still has one.
unsafe fn share(owners: *mut Owners) -> bool {
    if owners.is_null() {
        return false;
    }
    // SAFETY: it is there for those who watch it.
    let shares = unsafe { AtomicU32::from_ptr(&raw mut (*owners).shares) };
    let one_more = |shares: u32| shares.checked_add(1).filter(|_| shares > 0);
    let taken = shares.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more);
    taken.is_ok()
}

/// Gives a share up, as the program itself would.
unsafe fn give_up(owners: *mut Owners) {
    let is_last = |count: *mut u32| {
        // SAFETY: it has a count for us.
        unsafe { __tsan_atomic32_fetch_add(count, u32::MAX, ACQUIRE_AND_RELEASE) == 1 }
    };
    // SAFETY: the share is ours; who gives the last one up does this.
    unsafe {
        if is_last(&raw mut (*owners).shares) {
            ((*(*owners).table).dispose)(owners);
            if is_last(&raw mut (*owners).watchers) {
                ((*(*owners).table).destroy)(owners);
            }
        }
    }
}

interpose! {
    fn _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv(delayed: *mut Delayed) {
        real::_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv(delayed);
        CALLBACK.store((*delayed).callback as usize, Ordering::Relaxed);
        (*delayed).callback = make_ready;
    }
}
