//! Functions that a program may define to have a say.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::report::Report;
use crate::thread;
use crate::tls::hot;

std::arch::global_asm!(
    ".weak __tsan_default_options",
    ".weak __tsan_default_suppressions",
    ".weak __tsan_on_report",
    ".weak __tsan_on_finalize",
    ".weak __sanitizer_report_error_summary",
    ".weak __tsan_symbolize_external",
    ".weak __tsan_symbolize_external_ex",
    ".weak __sanitizer_malloc_hook",
    ".weak __sanitizer_free_hook",
    ".weak _ZN6__tsan12OnInitializeEv",
    ".weak _ZN6__tsan10OnFinalizeEb",
    ".weak _ZN6__tsan32OnPotentiallyBlockingRegionBeginEv",
    ".weak _ZN6__tsan30OnPotentiallyBlockingRegionEndEv",
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
    ".quad __tsan_symbolize_external",
    ".quad __tsan_symbolize_external_ex",
    ".quad __sanitizer_malloc_hook",
    ".quad __sanitizer_free_hook",
    ".quad _ZN6__tsan12OnInitializeEv",
    ".quad _ZN6__tsan10OnFinalizeEb",
    ".quad _ZN6__tsan32OnPotentiallyBlockingRegionBeginEv",
    ".quad _ZN6__tsan30OnPotentiallyBlockingRegionEndEv",
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
    symbolize: Option<SymbolizeOne>,
    symbolize_all: Option<extern "C" fn(usize, AddFrame, *mut c_void)>,
    allocated: Option<extern "C" fn(*const c_void, usize)>,
    freeing: Option<extern "C" fn(*const c_void)>,
    initialized: Option<extern "C" fn()>,
    finalized: Option<extern "C" fn(bool) -> bool>,
    blocking: Option<extern "C" fn()>,
    blocked: Option<extern "C" fn()>,
}

/// Puts function, file, line and column of a place where they are wanted; false
/// if it knows none.
type SymbolizeOne =
    extern "C" fn(usize, *mut c_char, usize, *mut c_char, usize, *mut c_int, *mut c_int) -> bool;

/// What the other one calls for every function at a place, innermost first.
type AddFrame = extern "C" fn(*mut c_void, *const c_char, *const c_char, c_int, c_int);

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

/// Runs code of the program that is called from within the runtime: what it
/// does is not looked at.
fn quietly<R>(code: impl FnOnce() -> R) -> R {
    let ignore = |change: fn(&mut u32)| {
        if let Some(thread) = thread::current() {
            change(&mut thread.ignore);
            thread.publish_ignore();
        }
    };
    ignore(|depth| *depth += 1);
    let result = code();
    ignore(|depth| *depth = depth.saturating_sub(1));
    result
}

/// The report that is being made, and whose it is: written by whoever has the
/// reporter.
static CURRENT: AtomicPtr<Report> = AtomicPtr::new(std::ptr::null_mut());
static WHOSE: AtomicUsize = AtomicUsize::new(0);

/// The report that the current thread is making, or null.
pub(crate) fn current_report() -> *const Report {
    match WHOSE.load(Ordering::Relaxed) == hot() as usize {
        true => CURRENT.load(Ordering::Relaxed),
        false => std::ptr::null(),
    }
}

/// Tells the program of a report.
pub(crate) fn on_report(report: &Report) {
    let pointer = std::ptr::from_ref(report);
    CURRENT.store(pointer.cast_mut(), Ordering::Relaxed);
    WHOSE.store(hot() as usize, Ordering::Relaxed);
    if let Some(hook) = hooks().on_report {
        quietly(|| hook(pointer.cast()));
    }
    WHOSE.store(0, Ordering::Relaxed);
    CURRENT.store(std::ptr::null_mut(), Ordering::Relaxed);
}

/// A function at a place that only the program knows.
#[derive(Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

fn owned(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the program gives C strings.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    (!text.is_empty()).then(|| text.into_owned())
}

extern "C" fn add_frame(
    functions: *mut c_void,
    name: *const c_char,
    file: *const c_char,
    line: c_int,
    column: c_int,
) {
    // SAFETY: what `symbolize` gave along, while that lasts.
    let functions = unsafe { &mut *functions.cast::<Vec<Function>>() };
    functions.push(Function {
        name: owned(name),
        file: owned(file),
        line: line.try_into().unwrap_or(0),
        column: column.try_into().unwrap_or(0),
    });
}

/// Asks the program which functions are at a place that it made up itself,
/// innermost first.
pub(crate) fn symbolize(place: usize) -> Vec<Function> {
    let mut functions = Vec::new();
    let into = (&raw mut functions).cast();
    if let Some(hook) = hooks().symbolize_all {
        quietly(|| hook(place, add_frame, into));
    } else if let Some(hook) = hooks().symbolize {
        let (mut name, mut file) = ([0; 1024], [0; 1024]);
        let (mut line, mut column) = (0, 0);
        let known = quietly(|| {
            hook(
                place,
                name.as_mut_ptr(),
                name.len(),
                file.as_mut_ptr(),
                file.len(),
                &raw mut line,
                &raw mut column,
            )
        });
        name[1023] = 0;
        file[1023] = 0;
        if known {
            add_frame(into, name.as_ptr(), file.as_ptr(), line, column);
        }
    }
    functions
}

/// Tells the program of a new block.
#[inline]
pub(crate) fn on_alloc(block: *const c_void, size: usize) {
    if let Some(hook) = hooks().allocated {
        hook(block, size);
    }
}

/// Tells the program of a block that is about to be freed.
#[inline]
pub(crate) fn on_free(block: *const c_void) {
    if let Some(hook) = hooks().freeing {
        hook(block);
    }
}

/// Whether the program, or another sanitizer's runtime in it, has a place for summaries.
pub(crate) fn wants_summaries() -> bool {
    hooks().error_summary.is_some()
}

/// Gives it a report's summary, in place of printing that.
pub(crate) fn on_summary(summary: &str) {
    if let Some(hook) = hooks().error_summary
        && let Ok(text) = std::ffi::CString::new(summary)
    {
        quietly(|| hook(text.as_ptr()));
    }
}

/// A function of that name in a library that the program has loaded.
fn in_library(name: &CStr) -> *mut c_void {
    // SAFETY: a C string.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Tells the program that the runtime is up.
pub(crate) fn on_initialize() {
    if let Some(hook) = hooks().initialized {
        hook();
    }
    let hook = in_library(c"__tsan_on_initialize");
    if !hook.is_null() {
        // SAFETY: a function of that name is of that type.
        unsafe { std::mem::transmute::<*mut c_void, extern "C" fn()>(hook)() };
    }
}

/// Asks the program whether it has failed.
pub(crate) fn on_finalize(failed: bool) -> bool {
    let failed = hooks().finalized.map_or(failed, |hook| hook(failed));
    if let Some(hook) = hooks().on_finalize {
        return hook(c_int::from(failed)) != 0;
    }
    let hook = in_library(c"__tsan_on_finalize");
    if hook.is_null() {
        return failed;
    }
    // SAFETY: a function of that name is of that type.
    let hook = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(c_int) -> c_int>(hook) };
    hook(c_int::from(failed)) != 0
}

/// A stretch of code in which the thread may have to wait for others: the
/// program is told of its begin and, when this goes, of its end.
pub(crate) struct Blocking;

impl Blocking {
    pub(crate) fn begin() -> Self {
        if let Some(hook) = hooks().blocking {
            hook();
        }
        Self
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        if let Some(hook) = hooks().blocked {
            hook();
        }
    }
}
