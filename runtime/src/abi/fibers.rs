//! Fibers: threads that the program switches to by itself.
//!
//! A fiber is a [`Thread`] like any other, with its own time, locks and frames;
//! only that no thread of the system belongs to it. Switching makes it the
//! current one of whatever thread of the system does so. What has its frames
//! there rests until somebody switches back, perhaps from elsewhere.

use std::ffi::{CStr, c_char, c_uint};

use super::{caller, is_off, with_caller};
use crate::thread::{Thread, Visit};
use crate::{objects, registry, sync};

/// Address space for the calls of a fiber: nobody tells us how large its stack
/// is, so as much as a thread's.
const STACK: usize = 8 << 20;

/// Flag of a switch that orders nothing.
const NO_SYNC: c_uint = 1;

with_caller! {
    fn __tsan_create_fiber => create;
    fn __tsan_switch_to_fiber => switch;
}

/// `__tsan_get_current_fiber` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_get_current_fiber() -> *mut Thread {
    match is_off() {
        true => std::ptr::null_mut(),
        false => std::ptr::from_mut(Visit::begin().thread()),
    }
}

unsafe extern "C" fn create(_flags: c_uint) -> *mut Thread {
    if is_off() {
        return std::ptr::null_mut();
    }
    let place = caller();
    let visit = Visit::begin();
    let thread = visit.thread();
    let made = thread.context(place);
    registry::fork_fiber(thread, made, STACK)
}

/// `__tsan_destroy_fiber` of the ABI.
///
/// # Safety
/// `fiber` is one that exists and is current nowhere, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_destroy_fiber(fiber: *mut Thread) {
    if is_off() || fiber.is_null() {
        return;
    }
    let visit = Visit::begin();
    // SAFETY: the caller's promise.
    let (number, resting) = unsafe { ((*fiber).number, (*fiber).resting) };
    let is_fiber = registry::info(number).is_some_and(|info| info.fiber);
    if resting.is_null() || !is_fiber {
        return;
    }
    objects::forget(visit.thread(), fiber as usize);
    // SAFETY: a fiber, current nowhere; it exists, so it has not ended before.
    unsafe { registry::end_fiber(fiber) };
}

unsafe extern "C" fn switch(fiber: *mut Thread, flags: c_uint) {
    if is_off() || fiber.is_null() {
        return;
    }
    let place = caller();
    let visit = Visit::begin();
    if flags & NO_SYNC == 0 {
        sync::post(&visit, fiber as usize, place);
    }
    // SAFETY: the fiber exists, as the program promises.
    let there = unsafe { visit.thread().switch(fiber) };
    if there && flags & NO_SYNC == 0 {
        sync::take(&visit, fiber as usize, place);
    }
}

/// `__tsan_set_fiber_name` of the ABI.
///
/// # Safety
/// `fiber` is one that exists, `name` a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_set_fiber_name(fiber: *const Thread, name: *const c_char) {
    if is_off() || fiber.is_null() || name.is_null() {
        return;
    }
    let _visit = Visit::begin();
    // SAFETY: the caller's promise.
    let (number, name) = unsafe { ((*fiber).number, CStr::from_ptr(name)) };
    registry::name(number, &name.to_string_lossy());
}
