//! The end of the process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::detector::{self, Engine};
use crate::{hooks, options, output, record, registry, report};

static FINISHED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    fn __cxa_atexit(
        handler: extern "C" fn(*mut libc::c_void),
        argument: *mut libc::c_void,
        module: *mut libc::c_void,
    ) -> libc::c_int;
}

/// Asks to be told when the process ends; after everything of the program's,
/// because we ask first.
pub(crate) fn prepare() {
    // SAFETY: the handler stays.
    unsafe { __cxa_atexit(at_exit, std::ptr::null_mut(), std::ptr::null_mut()) };
}

extern "C" fn at_exit(_argument: *mut libc::c_void) {
    if detector::engine() == Engine::Off || FINISHED.swap(true, Ordering::Relaxed) {
        return;
    }
    let options = options::get();
    // Threads that still run may have something to show yet.
    if options.atexit_sleep_ms > 0 && registry::others_run() {
        std::thread::sleep(Duration::from_millis(options.atexit_sleep_ms as u64));
    }
    let visit = crate::thread::Visit::begin();
    if options.report_thread_leaks && !registry::is_forked() {
        for (number, count) in registry::leaks() {
            report::thread_leak(number, count);
        }
    }
    record::finish();
    let count = report::count();
    if count > 0 {
        output::write(&format!("ThreadSanitizer: reported {count} warnings\n"));
    }
    if options.print_suppressions
        && let Some(text) = report::matched_suppressions()
    {
        output::write(&text);
    }
    let failed = hooks::on_finalize(count > 0);
    drop(visit);
    if failed {
        // SAFETY: flushes what the program has written.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        die();
    }
}

/// Ends the process with the code that means reports.
pub(crate) fn die() -> ! {
    let options = options::get();
    record::finish();
    // SAFETY: ends the process.
    unsafe {
        if options.abort_on_error {
            libc::abort();
        }
        libc::_exit(options.exitcode)
    }
}
