//! What debuggers and the program's own hooks may ask of a report, and of an
//! address.
//!
//! A report can be asked while `__tsan_on_report` runs. Strings given out stay
//! for ever.

use std::ffi::{CString, c_char, c_int};
use std::ptr;

use super::{external, is_off};
use crate::report::{Kind, Line, Location, Report, Reporting, symbols};
use crate::spin::Locked;
use crate::thread::Visit;
use crate::{blocks, hooks, registry};

/// Strings that were given out.
static STRINGS: Locked<Vec<CString>> = Locked::new(Vec::new());

/// A string that stays; null for an empty one.
pub(super) fn lasting(text: &str) -> *const c_char {
    let mut strings = STRINGS.lock();
    if let Some(known) = strings.iter().find(|s| s.as_bytes() == text.as_bytes()) {
        return known.as_ptr();
    }
    match CString::new(text) {
        Ok(new) if !text.is_empty() => {
            // What it points to does not move with it.
            let pointer = new.as_ptr();
            strings.push(new);
            pointer
        }
        _ => ptr::null(),
    }
}

fn description(kind: Kind) -> *const c_char {
    let text = match kind {
        Kind::Race => c"data-race",
        Kind::VptrRace => c"data-race-vptr",
        Kind::UseAfterFree => c"heap-use-after-free",
        Kind::VptrUseAfterFree => c"heap-use-after-free-vptr",
        Kind::ExternalRace => c"external-race",
        Kind::ThreadLeak => c"thread-leak",
        Kind::DestroyLocked => c"locked-mutex-destroy",
        Kind::DoubleLock => c"mutex-double-lock",
        Kind::InvalidMutex => c"mutex-invalid-access",
        Kind::BadUnlock => c"mutex-bad-unlock",
        Kind::BadReadLock => c"mutex-bad-read-lock",
        Kind::BadReadUnlock => c"mutex-bad-read-unlock",
        Kind::SignalUnsafe => c"signal-unsafe-call",
        Kind::ErrnoInHandler => c"errno-in-signal-handler",
        Kind::Deadlock => c"lock-order-inversion",
        Kind::Stuck => c"deadlock",
        Kind::HeldLocks => c"mutex-held-in-wrong-context",
    };
    text.as_ptr()
}

/// Writes a result that somebody wants.
///
/// # Safety
/// `to` may be written, or is null.
unsafe fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the caller's promise.
        unsafe { to.write(value) };
    }
}

/// Writes places, as many as there is room for; how many there were. The rest of
/// the room stays as it is.
///
/// # Safety
/// There is that much room, or none.
unsafe fn put_places(to: *mut usize, room: usize, places: impl Iterator<Item = usize>) -> usize {
    let mut count = 0;
    for place in places {
        if count < room && !to.is_null() {
            // SAFETY: the caller's promise.
            unsafe { to.add(count).write(place) };
        }
        count += 1;
    }
    count
}

/// The places of a stack in words.
fn places(stack: &[Line]) -> impl Iterator<Item = usize> {
    let places = stack.iter().map(|line| line.place);
    places.filter(|&place| place != 0)
}

/// The stacks without a heading, and those of a circle of locks.
fn stacks(report: &Report) -> impl Iterator<Item = &Vec<Line>> {
    let edges = report.circle.iter();
    let circle = edges.flat_map(|edge| std::iter::once(&edge.stack).chain(&edge.holder));
    report.stacks.iter().chain(circle)
}

/// The threads that play a part, the main thread among them.
fn threads(report: &Report) -> Vec<u32> {
    let mut numbers: Vec<u32> = Vec::new();
    let accesses = report.accesses.iter().map(|access| access.thread);
    let described = report.threads.iter().map(|thread| thread.info.number);
    for number in accesses.chain(described) {
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    numbers
}

/// `__tsan_get_current_report` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_get_current_report() -> *const Report {
    hooks::current_report()
}

/// `__tsan_get_report_data` of the ABI.
///
/// # Safety
/// `report` is current; there is room for the results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_get_report_data(
    report: *const Report,
    kind: *mut *const c_char,
    count: *mut c_int,
    stack_count: *mut c_int,
    access_count: *mut c_int,
    location_count: *mut c_int,
    mutex_count: *mut c_int,
    thread_count: *mut c_int,
    unique_count: *mut c_int,
    slept: *mut usize,
    room: usize,
) -> c_int {
    let number = |n: usize| n as c_int;
    // SAFETY: the caller's promise.
    unsafe {
        let report = &*report;
        put(kind, description(report.kind));
        put(count, number(report.count - 1));
        put(stack_count, number(stacks(report).count()));
        put(access_count, number(report.accesses.len()));
        put(location_count, c_int::from(location(report).is_some()));
        put(mutex_count, number(report.mutexes.len()));
        put(thread_count, number(threads(report).len()));
        put(unique_count, number(report.circle.len()));
        if let Some(stack) = &report.slept {
            put_places(slept, room, places(stack));
        }
    }
    1
}

/// `__tsan_get_report_tag` of the ABI.
///
/// # Safety
/// As [`__tsan_get_report_data`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_get_report_tag(report: *const Report, tag: *mut usize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { put(tag, (*report).tag()) };
    1
}

/// `__tsan_get_report_stack` of the ABI.
///
/// # Safety
/// As [`__tsan_get_report_data`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_get_report_stack(
    report: *const Report,
    index: usize,
    trace: *mut usize,
    room: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let Some(stack) = stacks(unsafe { &*report }).nth(index) else {
        return 0;
    };
    // SAFETY: as above.
    unsafe { put_places(trace, room, places(stack)) };
    1
}

/// `__tsan_get_report_mop` of the ABI.
///
/// # Safety
/// As [`__tsan_get_report_data`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_get_report_mop(
    report: *const Report,
    index: usize,
    thread: *mut c_int,
    address: *mut usize,
    size: *mut c_int,
    write: *mut c_int,
    atomic: *mut c_int,
    trace: *mut usize,
    room: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let report = &*report;
        let Some(access) = report.accesses.get(index) else {
            return 0;
        };
        put(thread, access.thread.cast_signed());
        put(address, access.address);
        put(size, access.size as c_int);
        put(write, c_int::from(access.kind.is_write()));
        put(atomic, c_int::from(access.kind.is_atomic()));
        put_places(trace, room, places(&access.stack));
    }
    1
}

/// The memory a report is about, if it knows.
fn location(report: &Report) -> Option<&Location> {
    let known = |location: &&Location| !matches!(location, Location::Unknown);
    report.location.as_ref().filter(known)
}

/// `__tsan_get_report_loc` of the ABI.
///
/// # Safety
/// As [`__tsan_get_report_data`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_get_report_loc(
    report: *const Report,
    index: usize,
    kind: *mut *const c_char,
    address: *mut usize,
    start: *mut usize,
    size: *mut usize,
    thread: *mut c_int,
    descriptor: *mut c_int,
    suppressable: *mut c_int,
    trace: *mut usize,
    room: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let Some(location) = location(unsafe { &*report }).filter(|_| index == 0) else {
        return 0;
    };
    // What is not about such a location is 0.
    let (mut global, mut block, mut owner, mut number) = (0, (0, 0), 0, 0);
    let mut stack: &[Line] = &[];
    let name = match location {
        Location::Global { start, size, .. } => {
            global = *start;
            block.1 = *size;
            c"global"
        }
        Location::Heap {
            block: heap,
            stack: made,
        } => {
            block = (heap.start, heap.size);
            owner = heap.thread;
            stack = made;
            c"heap"
        }
        Location::Stack(thread) => {
            owner = *thread;
            c"stack"
        }
        Location::Tls(thread) => {
            owner = *thread;
            c"tls"
        }
        Location::Descriptor {
            number: descriptor,
            thread,
            stack: made,
            ..
        } => {
            number = *descriptor;
            owner = *thread;
            stack = made;
            c"fd"
        }
        Location::Unknown => return 0,
    };
    // SAFETY: as above.
    unsafe {
        put(kind, name.as_ptr());
        put(address, global);
        put(start, block.0);
        put(size, block.1);
        put(thread, owner.cast_signed());
        put(descriptor, number);
        put(suppressable, 0);
        put_places(trace, room, places(stack));
    }
    1
}

/// `__tsan_get_report_loc_object_type` of the ABI.
///
/// # Safety
/// As [`__tsan_get_report_data`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_get_report_loc_object_type(
    report: *const Report,
    index: usize,
    object: *mut *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    let Some(location) = location(unsafe { &*report }).filter(|_| index == 0) else {
        return 0;
    };
    let name = match location {
        Location::Heap { block, .. } => external::object(external::block_tag(block.start)),
        _ => None,
    };
    // SAFETY: as above.
    unsafe { put(object, lasting(name.as_deref().unwrap_or(""))) };
    1
}

/// `__tsan_get_report_mutex` of the ABI.
///
/// # Safety
/// As [`__tsan_get_report_data`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_get_report_mutex(
    report: *const Report,
    index: usize,
    id: *mut u64,
    address: *mut usize,
    destroyed: *mut c_int,
    trace: *mut usize,
    room: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let report = &*report;
        let Some(mutex) = report.mutexes.get(index) else {
            return 0;
        };
        put(id, u64::from(mutex.id));
        put(address, mutex.address);
        put(destroyed, 0);
        put_places(trace, room, places(&mutex.stack));
    }
    1
}

/// `__tsan_get_report_thread` of the ABI.
///
/// # Safety
/// As [`__tsan_get_report_data`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_get_report_thread(
    report: *const Report,
    index: usize,
    thread: *mut c_int,
    os_id: *mut u64,
    running: *mut c_int,
    name: *mut *const c_char,
    parent: *mut c_int,
    trace: *mut usize,
    room: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let report = unsafe { &*report };
    let Some(&number) = threads(report).get(index) else {
        return 0;
    };
    let described = report.threads.iter().find(|t| t.info.number == number);
    let info = described.map(|described| described.info.clone());
    let Some(info) = info.or_else(|| registry::info(number)) else {
        return 0;
    };
    let maker = info.parent.map_or(-1, u32::cast_signed);
    // SAFETY: as above.
    unsafe {
        put(thread, number.cast_signed());
        put(os_id, info.os_id as u64);
        put(running, c_int::from(!info.finished));
        put(name, lasting(&info.name));
        put(parent, maker);
        if let Some(described) = described {
            put_places(trace, room, places(&described.stack));
        }
    }
    1
}

/// `__tsan_get_report_unique_tid` of the ABI.
///
/// # Safety
/// As [`__tsan_get_report_data`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_get_report_unique_tid(
    report: *const Report,
    index: usize,
    thread: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let report = &*report;
        let Some(edge) = report.circle.get(index) else {
            return 0;
        };
        put(thread, edge.thread.cast_signed());
    }
    1
}

/// `__tsan_locate_address` of the ABI.
///
/// # Safety
/// There is room for the results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_locate_address(
    address: usize,
    name: *mut c_char,
    room: usize,
    start: *mut usize,
    size: *mut usize,
) -> *const c_char {
    let _visit = (!is_off()).then(Visit::begin);
    let mut region = (0, 0);
    let mut found = String::new();
    let kind = if let Some(block) = blocks::around(address) {
        region = (block.start, block.size);
        c"heap"
    } else {
        match registry::whose_stack(address) {
            Some((_, false)) => c"stack",
            Some((_, true)) => c"tls",
            None => {
                if let Some((variable, module)) = symbols::variable(address) {
                    let start = variable.start as usize + module.bias;
                    region = (start, variable.size as usize);
                    found = variable.name;
                }
                c"global"
            }
        }
    };
    // SAFETY: the caller's promise.
    unsafe {
        put_text(name, room, &found);
        put(start, region.0);
        put(size, region.1);
    }
    kind.as_ptr()
}

/// Writes a text, as much of it as there is room for.
///
/// # Safety
/// There is that much room, or none.
pub(super) unsafe fn put_text(to: *mut c_char, room: usize, text: &str) {
    if to.is_null() || room == 0 {
        return;
    }
    let length = text.len().min(room - 1);
    // SAFETY: the caller's promise.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), length);
        to.add(length).write(0);
    }
}

/// What is needed to put places into words; not while the current thread makes
/// a report, which has it already.
pub(super) fn reporter() -> Option<Reporting> {
    hooks::current_report().is_null().then(Reporting::begin)
}

/// `__tsan_get_alloc_stack` of the ABI: how many places the stack has that fit.
///
/// # Safety
/// There is room for the results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_get_alloc_stack(
    address: usize,
    trace: *mut usize,
    room: usize,
    thread: *mut c_int,
    os_id: *mut u64,
) -> c_int {
    let _visit = (!is_off()).then(Visit::begin);
    let Some(block) = blocks::around(address) else {
        return 0;
    };
    let maker = registry::info(block.thread).map_or(0, |info| info.os_id);
    // SAFETY: the caller's promise.
    unsafe {
        put(thread, block.thread.cast_signed());
        put(os_id, maker as u64);
        put_places(trace, room, block.context.places()).min(room) as c_int
    }
}
