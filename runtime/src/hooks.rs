//! Functions that a program may define to have a say.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::report::Report;

std::arch::global_asm!(
    ".weak __tsan_default_options",
    ".weak __tsan_default_suppressions",
    ".weak __tsan_on_report",
    ".weak __tsan_on_finalize",
    ".weak __sanitizer_report_error_summary",
    ".section .data.rel.racehound_hooks, \"aw\"",
    ".p2align 3",
    ".hidden __racehound_hooks",
    ".globl __racehound_hooks",
    "__racehound_hooks:",
    ".quad __tsan_default_options",
    ".quad __tsan_default_suppressions",
    ".quad __tsan_on_report",
    ".quad __tsan_on_finalize",
    ".quad __sanitizer_report_error_summary",
    ".text",
);

/// Null where the program has none.
#[repr(C)]
struct Hooks {
    default_options: Option<extern "C" fn() -> *const c_char>,
    default_suppressions: Option<extern "C" fn() -> *const c_char>,
    on_report: Option<extern "C" fn(*const c_void)>,
    on_finalize: Option<extern "C" fn(c_int) -> c_int>,
    error_summary: Option<extern "C" fn(*const c_char)>,
}

unsafe extern "C" {
    #[link_name = "__racehound_hooks"]
    static HOOKS: Hooks;
}

fn hooks() -> &'static Hooks {
    // SAFETY: set by the linker, and never written.
    unsafe { &HOOKS }
}

fn text(hook: Option<extern "C" fn() -> *const c_char>) -> Option<String> {
    let text = hook?();
    if text.is_null() {
        return None;
    }
    // SAFETY: the program gives a C string.
    Some(
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned(),
    )
}

/// The program's own options.
pub(crate) fn default_options() -> Option<String> {
    text(hooks().default_options)
}

/// The program's own suppressions.
pub(crate) fn default_suppressions() -> Option<String> {
    text(hooks().default_suppressions)
}

/// Tells the program of a report.
pub(crate) fn on_report(report: &Report) {
    if let Some(hook) = hooks().on_report {
        hook(std::ptr::from_ref(report).cast());
    }
}

/// Gives the program a report's summary in place of printing it; false if it
/// does not want it.
pub(crate) fn on_summary(summary: &str) -> bool {
    let Some(hook) = hooks().error_summary else {
        return false;
    };
    if let Ok(text) = std::ffi::CString::new(summary) {
        hook(text.as_ptr());
    }
    true
}

/// Asks the program whether it has failed.
pub(crate) fn on_finalize(failed: bool) -> bool {
    match hooks().on_finalize {
        Some(hook) => hook(c_int::from(failed)) != 0,
        None => failed,
    }
}
