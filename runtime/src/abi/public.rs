//! What programs may say to the detector by name: synchronisation it cannot
//! see, locks of their own, fibers, objects of other languages.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use racehound_trace::{Mode, Op};

use super::{caller, is_off, shown, with_caller};
use crate::control::Turn;
use crate::sweep::{self, Pause};
use crate::sync::{self, Traits};
use crate::thread::Visit;
use crate::{benign, objects, record, shadow_range};

with_caller! {
    fn __tsan_acquire => acquire;
    fn __tsan_release => release;
    fn __tsan_mutex_create => mutex_create;
    fn __tsan_mutex_destroy => mutex_destroy;
    fn __tsan_mutex_pre_lock => mutex_pre_lock;
    fn __tsan_mutex_post_lock => mutex_post_lock;
    fn __tsan_mutex_pre_unlock => mutex_pre_unlock;
    fn AnnotateHappensBefore => happens_before;
    fn AnnotateHappensAfter => happens_after;
    fn AnnotateRWLockCreate => lock_create;
    fn AnnotateRWLockCreateStatic => lock_create_static;
    fn AnnotateRWLockDestroy => lock_destroy;
    fn AnnotateRWLockAcquired => lock_acquired;
    fn AnnotateRWLockReleased => lock_released;
    fn AnnotateIgnoreReadsBegin => ignore_begin;
    fn AnnotateIgnoreReadsEnd => ignore_end;
    fn AnnotateIgnoreWritesBegin => ignore_begin;
    fn AnnotateIgnoreWritesEnd => ignore_end;
    fn AnnotateIgnoreSyncBegin => ignore_sync_begin;
    fn AnnotateIgnoreSyncEnd => ignore_sync_end;
    fn AnnotateBenignRace => benign_race;
    fn AnnotateBenignRaceSized => benign_race_sized;
    fn WTFAnnotateBenignRaceSized => benign_race_sized;
    fn __tsan_check_no_mutexes_held => check_no_mutexes_held;
    fn __racehound_region_begin => region_begin;
    fn __racehound_region_end => region_end;
}

/// What the program does from here on is meant to be atomic; see
/// `examples/racehound.h`.
unsafe extern "C" fn region_begin() {
    if !is_off() {
        record::region(&Visit::begin(), caller(), Op::RegionBegin);
    }
}

unsafe extern "C" fn region_end() {
    if !is_off() {
        record::region(&Visit::begin(), caller(), Op::RegionEnd);
    }
}

/// What was handed on there, by [`release`] or by atomic operations.
unsafe extern "C" fn acquire(address: usize) {
    if !is_off() {
        let visit = Visit::begin();
        sync::take(&visit, address, caller());
        sync::take_atomic(&visit, address);
    }
}

unsafe extern "C" fn release(address: usize) {
    if !is_off() {
        sync::post(&Visit::begin(), address, caller());
    }
}

/// What the flags of `__tsan_mutex_*` mean.
mod flags {
    use std::ffi::c_uint;

    pub(super) const LINKER_INIT: c_uint = 1;
    pub(super) const NOT_STATIC: c_uint = 1 << 8;
    pub(super) const WRITE_REENTRANT: c_uint = 1 << 1;
    pub(super) const READ_REENTRANT: c_uint = 1 << 2;
    pub(super) const READ_LOCK: c_uint = 1 << 3;
    pub(super) const TRY_LOCK: c_uint = 1 << 4;
    pub(super) const TRY_LOCK_FAILED: c_uint = 1 << 5;
    pub(super) const RECURSIVE_LOCK: c_uint = 1 << 6;
    pub(super) const RECURSIVE_UNLOCK: c_uint = 1 << 7;
}

fn mode(flags: c_uint) -> Mode {
    match flags & flags::READ_LOCK {
        0 => Mode::Exclusive,
        _ => Mode::Shared,
    }
}

fn traits(flags: c_uint, depth: u32) -> Traits {
    Traits {
        recursive: flags & (flags::WRITE_REENTRANT | flags::READ_REENTRANT | flags::RECURSIVE_LOCK)
            != 0,
        at_once: false,
        tried: flags & flags::TRY_LOCK != 0,
        depth,
    }
}

unsafe extern "C" fn mutex_create(address: usize, flags: c_uint) {
    if !is_off() {
        create(&Visit::begin(), address, traits(flags, 1), flags, caller());
    }
}

fn create(visit: &Visit, address: usize, traits: Traits, flags: c_uint, place: usize) {
    sync::create(visit, address, traits, place);
    if let Some(mut object) = objects::existing(address) {
        object.mutex.is_static = flags & flags::LINKER_INIT != 0;
        object.mutex.is_not_static = flags & flags::NOT_STATIC != 0;
    }
}

unsafe extern "C" fn mutex_destroy(address: usize, flags: c_uint) {
    if !is_off() {
        destroy(&Visit::begin(), address, flags, caller());
    }
}

/// A lock that is initialised by the linker may be used after its destructor has
/// run, at the end of the process: its destruction means nothing.
fn destroy(visit: &Visit, address: usize, flags: c_uint, place: usize) {
    let Some(object) = objects::existing(address) else {
        return;
    };
    let mutex = object.mutex;
    drop(object);
    let stays = flags & flags::LINKER_INIT != 0
        || mutex.is_static
        || flags & flags::NOT_STATIC != 0 && !mutex.is_not_static;
    if !stays {
        sync::destroy(visit, address, place);
    }
}

/// While the lock's own code runs its accesses are nobody's business.
unsafe extern "C" fn mutex_pre_lock(address: usize, flags: c_uint) {
    if is_off() {
        return;
    }
    if let Some(turn) = Turn::here(caller()) {
        turn.begins_to_lock(address, mode(flags));
    }
    let visit = Visit::begin();
    if flags & flags::TRY_LOCK == 0 {
        sync::about_to_lock(&visit, address, mode(flags), traits(flags, 1), caller());
    }
    inside_lock_begin(&visit);
}

unsafe extern "C" fn mutex_post_lock(address: usize, flags: c_uint, depth: c_int) {
    if is_off() {
        return;
    }
    if let Some(turn) = Turn::here(caller()) {
        turn.has_locked();
    }
    let visit = Visit::begin();
    inside_lock_end(&visit);
    if flags & flags::TRY_LOCK_FAILED == 0 {
        let depth = match flags & flags::RECURSIVE_LOCK {
            0 => 1,
            _ => depth.max(1) as u32,
        };
        sync::acquired(&visit, address, mode(flags), traits(flags, depth), caller());
    }
}

unsafe extern "C" fn mutex_pre_unlock(address: usize, flags: c_uint) -> c_int {
    if is_off() {
        return 0;
    }
    let visit = Visit::begin();
    let place = caller();
    let mut levels = 1;
    let mut left = sync::releasing(&visit, address, Some(mode(flags)), place);
    if flags & flags::RECURSIVE_UNLOCK != 0 {
        while left > 0 {
            left = sync::releasing(&visit, address, Some(mode(flags)), place);
            levels += 1;
        }
    }
    inside_lock_begin(&visit);
    levels
}

fn inside_lock_begin(visit: &Visit) {
    let thread = visit.thread();
    thread.ignore += 1;
    thread.ignore_sync += 1;
    thread.publish_ignore();
}

fn inside_lock_end(visit: &Visit) {
    let thread = visit.thread();
    thread.ignore = thread.ignore.saturating_sub(1);
    thread.ignore_sync = thread.ignore_sync.saturating_sub(1);
    thread.publish_ignore();
}

/// `__tsan_mutex_post_unlock` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_mutex_post_unlock(_address: usize, _flags: c_uint) {
    if !is_off() {
        inside_lock_end(&Visit::begin());
    }
}

/// `__tsan_mutex_pre_signal` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_mutex_pre_signal(_address: usize, _flags: c_uint) {
    if !is_off() {
        inside_lock_begin(&Visit::begin());
    }
}

/// `__tsan_mutex_post_signal` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_mutex_post_signal(_address: usize, _flags: c_uint) {
    if !is_off() {
        inside_lock_end(&Visit::begin());
    }
}

/// `__tsan_mutex_pre_divert` of the ABI: the lock's code calls the program back.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_mutex_pre_divert(_address: usize, _flags: c_uint) {
    if !is_off() {
        inside_lock_end(&Visit::begin());
    }
}

/// `__tsan_mutex_post_divert` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_mutex_post_divert(_address: usize, _flags: c_uint) {
    if !is_off() {
        inside_lock_begin(&Visit::begin());
    }
}

unsafe extern "C" fn check_no_mutexes_held() {
    if !is_off() {
        shown(|visit, place| crate::report::held_locks(visit.thread(), place));
    }
}

unsafe extern "C" fn happens_before(_file: *const c_char, _line: c_int, address: usize) {
    if !is_off() {
        shown(|visit, place| sync::post(visit, address, place));
    }
}

unsafe extern "C" fn happens_after(_file: *const c_char, _line: c_int, address: usize) {
    if !is_off() {
        shown(|visit, place| sync::take(visit, address, place));
    }
}

const RW: Traits = Traits {
    recursive: false,
    at_once: false,
    tried: false,
    depth: 1,
};

unsafe extern "C" fn lock_create(_file: *const c_char, _line: c_int, address: usize) {
    if !is_off() {
        shown(|visit, place| create(visit, address, RW, 0, place));
    }
}

unsafe extern "C" fn lock_create_static(_file: *const c_char, _line: c_int, address: usize) {
    if !is_off() {
        shown(|visit, place| create(visit, address, RW, flags::LINKER_INIT, place));
    }
}

unsafe extern "C" fn lock_destroy(_file: *const c_char, _line: c_int, address: usize) {
    if !is_off() {
        shown(|visit, place| destroy(visit, address, 0, place));
    }
}

unsafe extern "C" fn lock_acquired(
    _file: *const c_char,
    _line: c_int,
    address: usize,
    writer: usize,
) {
    if !is_off() {
        let mode = match writer {
            0 => Mode::Shared,
            _ => Mode::Exclusive,
        };
        shown(|visit, place| sync::acquired(visit, address, mode, RW, place));
    }
}

unsafe extern "C" fn lock_released(
    _file: *const c_char,
    _line: c_int,
    address: usize,
    writer: usize,
) {
    if !is_off() {
        let mode = match writer {
            0 => Mode::Shared,
            _ => Mode::Exclusive,
        };
        shown(|visit, place| sync::releasing(visit, address, Some(mode), place));
    }
}

unsafe extern "C" fn ignore_begin(_file: *const c_char, _line: c_int) {
    if !is_off() {
        shown(begin_ignoring);
    }
}

/// Places that are remembered for who forgets to end it.
const IGNORES: usize = 16;

fn begin_ignoring(visit: &Visit, place: usize) {
    let thread = visit.thread();
    thread.ignore += 1;
    thread.publish_ignore();
    let context = thread.context(place);
    if thread.ignores.len() < IGNORES && !thread.ignores.contains(&context) {
        thread.ignores.push(context);
    }
}

unsafe extern "C" fn ignore_end(_file: *const c_char, _line: c_int) {
    if !is_off() {
        let visit = Visit::begin();
        let thread = visit.thread();
        thread.ignore = thread.ignore.saturating_sub(1);
        if thread.ignore == 0 {
            thread.ignores.clear();
        }
        thread.publish_ignore();
    }
}

unsafe extern "C" fn ignore_sync_begin(_file: *const c_char, _line: c_int) {
    if !is_off() {
        Visit::begin().thread().ignore_sync += 1;
    }
}

unsafe extern "C" fn ignore_sync_end(_file: *const c_char, _line: c_int) {
    if !is_off() {
        let visit = Visit::begin();
        let thread = visit.thread();
        thread.ignore_sync = thread.ignore_sync.saturating_sub(1);
    }
}

unsafe extern "C" fn benign_race(
    _file: *const c_char,
    _line: c_int,
    address: usize,
    _why: *const c_char,
) {
    benign(address, 1);
}

unsafe extern "C" fn benign_race_sized(
    _file: *const c_char,
    _line: c_int,
    address: usize,
    size: usize,
    _why: *const c_char,
) {
    benign(address, size);
}

/// Nothing is ever said of these bytes.
fn benign(address: usize, size: usize) {
    if !is_off() {
        let visit = Visit::begin();
        benign::declare(address, size);
        shadow_range::excuse(visit.thread(), address, size);
    }
}

/// `__tsan_ignore_thread_begin` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_ignore_thread_begin() {
    if !is_off() {
        inside_lock_begin(&Visit::begin());
    }
}

/// `__tsan_ignore_thread_end` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_ignore_thread_end() {
    if !is_off() {
        inside_lock_end(&Visit::begin());
    }
}

/// `__tsan_flush_memory` of the ABI: all accesses so far are forgotten.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_flush_memory() {
    if !is_off() {
        let _visit = Visit::begin();
        sweep::forget_all(&Pause::begin());
    }
}

macro_rules! nothing {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the ABI: there is nothing to do.")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() {}
        )*
    };
}

nothing! {
    AnnotateCondVarSignal AnnotateCondVarSignalAll AnnotateCondVarWait AnnotateEnableRaceDetection
    AnnotateExpectRace AnnotateFlushExpectedRaces AnnotateFlushState AnnotateMemoryIsInitialized
    AnnotateMemoryIsUninitialized AnnotateMutexIsNotPHB AnnotateMutexIsUsedAsCondVar AnnotateNoOp
    AnnotatePCQCreate AnnotatePCQDestroy AnnotatePCQGet AnnotatePCQPut AnnotatePublishMemoryRange
    AnnotateTraceMemory AnnotateUnpublishMemoryRange __tsan_on_thread_idle
}

/// `AnnotateNewMemory`: memory without a past.
#[unsafe(no_mangle)]
pub extern "C" fn AnnotateNewMemory(
    _file: *const c_char,
    _line: c_int,
    address: usize,
    size: usize,
) {
    if !is_off() {
        shadow_range::forget(Visit::begin().thread(), address, size);
    }
}

/// `AnnotateThreadName`.
///
/// # Safety
/// `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AnnotateThreadName(
    _file: *const c_char,
    _line: c_int,
    name: *const c_char,
) {
    if !is_off() && !name.is_null() {
        let visit = Visit::begin();
        // SAFETY: the caller's promise.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        crate::registry::name(visit.thread().number, &name);
    }
}

/// `RunningOnValgrind`: no.
#[unsafe(no_mangle)]
pub extern "C" fn RunningOnValgrind() -> c_int {
    0
}

/// `ValgrindSlowdown`: some.
#[unsafe(no_mangle)]
pub extern "C" fn ValgrindSlowdown() -> f64 {
    10.0
}

/// `__sanitizer_set_report_path`.
///
/// # Safety
/// `path` is a C string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_set_report_path(path: *const c_char) {
    if !path.is_null() {
        // SAFETY: the caller's promise.
        crate::output::set_path(&unsafe { CStr::from_ptr(path) }.to_string_lossy());
    }
}

/// `__sanitizer_set_report_fd`.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_set_report_fd(descriptor: *mut c_void) {
    crate::output::set_descriptor(descriptor as isize as c_int);
}
