//! The process is copied, with one of its threads.
//!
//! Nobody is in the runtime meanwhile, so nobody holds anything of ours that
//! the child would wait for; what threads need while they begin and end, outside
//! of it, is held by us. Handlers that the program has registered for this
//! moment run outside of that time, like any other code of its own: the C
//! library calls ours last before the copy and first after it, because we were
//! the first to register.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::context::Context;
use crate::sweep::Pause;
use crate::thread::Visit;
use crate::tls::hot;
use crate::{control, detector, memory_limit, record, registry, report, resident, sampling, sync};

static COPIED: AtomicBool = AtomicBool::new(false);

/// Whether the process was ever copied.
pub(crate) fn has_copied() -> bool {
    COPIED.load(Ordering::Relaxed)
}

/// Where the program has asked for the copy, as far as that is known.
static CALLED: AtomicU32 = AtomicU32::new(0);
/// Who has.
static COPIER: AtomicU32 = AtomicU32::new(0);
static IS_COPY: AtomicBool = AtomicBool::new(false);

/// Whether the process is a copy of another one.
pub(crate) fn is_copy() -> bool {
    IS_COPY.load(Ordering::Relaxed)
}

/// Who has made this copy, and where.
pub(crate) fn origin() -> Option<(u32, Context)> {
    let at = Context(CALLED.load(Ordering::Relaxed));
    let is_known = is_copy() && at != Context::UNKNOWN;
    is_known.then(|| (COPIER.load(Ordering::Relaxed), at))
}

/// Copies the process by `copy`, at the program's request.
pub(crate) fn requested<R>(place: usize, copy: impl FnOnce() -> R) -> R {
    let (context, number) = {
        let visit = Visit::begin();
        let thread = visit.thread();
        (thread.context(place), thread.number)
    };
    CALLED.store(context.0, Ordering::Relaxed);
    COPIER.store(number, Ordering::Relaxed);
    let result = copy();
    if !is_copy() {
        CALLED.store(Context::UNKNOWN.0, Ordering::Relaxed);
    }
    result
}

/// What is kept while the process is copied.
struct Copying {
    threads: registry::All,
    control: Option<control::Held>,
    pause: Pause,
    visit: Visit,
}

struct Slot(UnsafeCell<Option<Copying>>);

// SAFETY: only the one thread that has the pause touches it.
unsafe impl Sync for Slot {}

static SLOT: Slot = Slot(UnsafeCell::new(None));

unsafe extern "C" {
    fn __register_atfork(
        before: extern "C" fn(),
        in_parent: extern "C" fn(),
        in_child: extern "C" fn(),
        module: *mut c_void,
    ) -> c_int;
}

/// Asks to be told of copies.
pub(crate) fn prepare() {
    // SAFETY: the handlers stay.
    unsafe { __register_atfork(before, in_parent, in_child, std::ptr::null_mut()) };
}

/// The current thread is about to copy the process.
pub(crate) extern "C" fn before() {
    // SAFETY: our own block.
    if detector::engine() == detector::Engine::Off || unsafe { (*hot()).gone() } {
        return;
    }
    COPIED.store(true, Ordering::Relaxed);
    control::children::before_copy();
    control::processor::loosen_me();
    let visit = Visit::begin();
    record::save(visit.thread());
    let pause = Pause::begin();
    // Whoever has the roster may want the threads.
    let control = control::hold();
    let copying = Copying {
        threads: registry::all(),
        control,
        pause,
        visit,
    };
    // SAFETY: we have the pause.
    unsafe { *SLOT.0.get() = Some(copying) };
    #[cfg(not(test))]
    crate::HEAP.close();
}

/// It has, or could not; and this is the process that there was before.
pub(crate) extern "C" fn in_parent() {
    control::children::begin_copy();
    if let Some((pause, visit)) = resume() {
        drop(pause);
        drop(visit);
    }
}

/// It has, and this is the copy.
pub(crate) extern "C" fn in_child() {
    if let Some((pause, visit)) = resume() {
        IS_COPY.store(true, Ordering::Relaxed);
        let gone = registry::only_me(visit.thread());
        report::reset_count();
        record::in_child(visit.thread(), &gone);
        resident::open_again();
        sync::left_to_parent(&visit);
        control::in_child();
        memory_limit::in_child();
        sampling::in_child();
        drop(pause);
        drop(visit);
    }
}

/// What is left to be done, unless `before` did nothing.
fn resume() -> Option<(Pause, Visit)> {
    // SAFETY: who comes here has the pause.
    let copying = unsafe { (*SLOT.0.get()).take() }?;
    let Copying {
        threads,
        control,
        pause,
        visit,
    } = copying;
    #[cfg(not(test))]
    crate::HEAP.open();
    drop(threads);
    drop(control);
    Some((pause, visit))
}

/// Copies the process by `real`, which the C library tells nobody of. What that
/// returns is 0 in the child.
pub(crate) fn around<R: PartialEq + From<u8>>(real: impl FnOnce() -> R) -> R {
    before();
    let result = real();
    match result == R::from(0) {
        true => in_child(),
        false => in_parent(),
    }
    result
}
