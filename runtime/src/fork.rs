//! The process is copied, with one of its threads.
//!
//! Nobody is in the runtime meanwhile, so nobody holds anything of ours that
//! the child would wait for. Handlers that the program has registered for this
//! moment run outside of that time, like any other code of its own: the C
//! library calls ours last before the copy and first after it, because we were
//! the first to register.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};

use crate::sweep::Pause;
use crate::thread::Visit;
use crate::tls::hot;
use crate::{detector, record, registry, report};

/// What is kept while the process is copied.
struct Copying {
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
    let visit = Visit::begin();
    record::before_fork(visit.thread());
    let pause = Pause::begin();
    // SAFETY: we have the pause.
    unsafe { *SLOT.0.get() = Some(Copying { pause, visit }) };
}

/// It has, or could not; and this is the process that there was before.
pub(crate) extern "C" fn in_parent() {
    // SAFETY: who comes here has the pause, unless `before` did nothing.
    if let Some(Copying { pause, visit }) = unsafe { (*SLOT.0.get()).take() } {
        drop(pause);
        drop(visit);
    }
}

/// It has, and this is the copy.
pub(crate) extern "C" fn in_child() {
    // SAFETY: as above.
    if let Some(Copying { pause, visit }) = unsafe { (*SLOT.0.get()).take() } {
        registry::only_me(visit.thread());
        report::reset_count();
        record::in_child();
        drop(pause);
        drop(visit);
    }
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
