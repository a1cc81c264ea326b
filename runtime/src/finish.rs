//! The end of the process.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::detector::{self, Engine};
use crate::report::Reporting;
use crate::thread::{Thread, Visit};
use crate::{control, hooks, options, output, record, registry, report, sampling};

static FINISHED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    fn __cxa_atexit(
        handler: extern "C" fn(*mut libc::c_void),
        argument: *mut libc::c_void,
        module: *mut libc::c_void,
    ) -> libc::c_int;
    fn __cxa_at_quick_exit(
        handler: extern "C" fn(*mut libc::c_void),
        module: *mut libc::c_void,
    ) -> libc::c_int;
}

/// Asks to be told when the process ends; after everything of the program's,
/// because we ask first.
pub(crate) fn prepare() {
    // SAFETY: the handlers stay.
    unsafe {
        __cxa_atexit(at_exit, std::ptr::null_mut(), std::ptr::null_mut());
        __cxa_at_quick_exit(at_quick_exit, std::ptr::null_mut());
    }
}

/// The process ends without ceremony.
extern "C" fn at_quick_exit(_argument: *mut libc::c_void) {
    record::finish();
    sampling::finish();
    control::gives_up();
}

extern "C" fn at_exit(_argument: *mut libc::c_void) {
    let failed = detector::engine() != Engine::Off && conclude();
    if failed && options::get().exitcode != 0 {
        // SAFETY: flushes what the program has written.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        die();
    }
}

/// Says what there is to say in the end, once; whether the process has failed.
pub(crate) fn conclude() -> bool {
    if FINISHED.swap(true, Ordering::Relaxed) {
        return false;
    }
    let options = options::get();
    // Threads that still run may have something to show yet.
    let others_run = || {
        let _visit = Visit::begin();
        registry::others_run()
    };
    if options.atexit_sleep_ms > 0 && !control::is_on() && others_run() {
        std::thread::sleep(Duration::from_millis(options.atexit_sleep_ms as u64));
    }
    let visit = Visit::begin();
    if options.report_thread_leaks && !registry::is_forked() {
        for (number, count) in registry::leaks() {
            report::thread_leak(number, count);
        }
    }
    check_ignores(visit.thread());
    record::finish();
    sampling::finish();
    let count = report::count();
    if count > 0 && options.print_reports {
        output::write(&format!("ThreadSanitizer: reported {count} warnings\n"));
    }
    if let Some(text) = control::conclude() {
        output::write(&text);
    }
    if options.print_suppressions
        && let Some(text) = report::matched_suppressions()
    {
        output::write(&text);
    }
    hooks::on_finalize(report::has_failed())
}

/// A thread ends. Where accesses are ignored to the end, races go unseen that
/// the program meant to have found: that is an error of its own.
pub(crate) fn check_ignores(thread: &Thread) {
    if thread.ignore == 0 || thread.ignores.is_empty() || registry::is_forked() {
        return;
    }
    let mut reporter = Reporting::begin();
    let mut text = String::from("ThreadSanitizer: ");
    match registry::info(thread.number).filter(|info| info.number != 0) {
        Some(info) => {
            let (number, name) = (info.number, &info.name);
            text +=
                &format!("thread T{number} {name} finished with ignores enabled, created at:\n");
            text += &report::render_stack(&reporter.stack(info.made));
        }
        None => text += "main thread finished with ignores enabled\n",
    }
    text += "  One of the following ignores was not ended (in order of probability)\n";
    for &context in &thread.ignores {
        text += "  Ignore was enabled at:\n";
        text += &report::render_stack(&reporter.stack(context));
    }
    drop(reporter);
    output::write(&text);
    die();
}

/// What the program wants done before it dies of a report; 0 is nothing.
static LAST_WORDS: AtomicUsize = AtomicUsize::new(0);

/// Sets what the program wants done before it dies of a report.
pub(crate) fn set_last_words(words: Option<extern "C" fn()>) {
    LAST_WORDS.store(words.map_or(0, |words| words as usize), Ordering::Release);
}

/// Ends the process with the code that means reports.
pub(crate) fn die() -> ! {
    let options = options::get();
    record::finish();
    // Whoever dies while saying them has said enough.
    let words = LAST_WORDS.swap(0, Ordering::AcqRel);
    if words != 0 {
        // SAFETY: set as a function of that type.
        unsafe { std::mem::transmute::<usize, extern "C" fn()>(words)() };
    }
    // SAFETY: ends the process.
    unsafe {
        if options.abort_on_error {
            libc::abort();
        }
        libc::_exit(options.exitcode)
    }
}
