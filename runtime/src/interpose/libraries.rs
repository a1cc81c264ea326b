//! Libraries, which come and go.
//!
//! What the loader maps has no past, whatever was there before. The user may
//! name libraries whose calls are not looked at, by `called_from_lib` in a file
//! of suppressions, or by an option all that are not instrumented.
//!
//! Loading is not interposed: the loader looks at who calls it, and would take
//! us for the caller. Libraries tell of themselves: an instrumented one calls
//! `__tsan_init` first of all; another one is found when it calls something.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::{Call, Errno, interpose};
use crate::report::modules::{self, Module};
use crate::report::{self, Reporting, symbols};
use crate::spin::Locked;
use crate::thread::Visit;
use crate::{constants, options, record, sampling, shadow_range};

/// The code of all libraries.
pub(crate) struct Libraries {
    known: Vec<Range<usize>>,
    /// Those whose calls are not looked at.
    ignored: Vec<Range<usize>>,
}

/// Null if all calls are looked at. Replaced as a whole, and never given back,
/// for somebody may be reading it.
static LIBRARIES: AtomicPtr<Libraries> = AtomicPtr::new(std::ptr::null_mut());

/// Whether a call from there is not to be looked at.
#[inline]
pub(super) fn is_ignored(caller: usize) -> bool {
    let libraries = LIBRARIES.load(Ordering::Acquire);
    !libraries.is_null() && find(libraries, caller)
}

#[cold]
fn find(libraries: *const Libraries, caller: usize) -> bool {
    let holds = |code: &Range<usize>| code.contains(&caller);
    // SAFETY: what was published stays.
    let known = unsafe { &*libraries };
    if known.known.iter().any(holds) {
        return known.ignored.iter().any(holds);
    }
    let _errno = Errno::keep();
    let _visit = Visit::begin();
    refresh().is_some_and(|now| now.ignored.iter().any(holds))
}

/// Finds out which libraries there are to be ignored, if any are. The thread is
/// in the runtime.
pub(crate) fn refresh() -> Option<&'static Libraries> {
    let instrumented_only = options::get().ignore_noninstrumented_modules;
    let patterns = Reporting::begin().suppressions().libraries();
    if patterns.is_empty() && !instrumented_only {
        return None;
    }
    let modules = modules::loaded();
    let code = |of: &[&Module]| of.iter().flat_map(|module| module.segments()).collect();
    let all: Vec<&Module> = modules.iter().collect();
    // The program itself, which comes first, has the runtime in it.
    let foreign = |module: &Module| {
        instrumented_only && module.bias != modules[0].bias && !module.is_instrumented()
    };
    let named = |module: &Module| {
        let path = module.path.to_string_lossy();
        patterns.iter().any(|pattern| report::glob(pattern, &path))
    };
    let ignored: Vec<&Module> = all
        .iter()
        .copied()
        .filter(|m| foreign(m) || named(m))
        .collect();
    let libraries = Box::leak(Box::new(Libraries {
        known: code(&all),
        ignored: code(&ignored),
    }));
    LIBRARIES.store(libraries, Ordering::Release);
    Some(libraries)
}

/// Where the libraries are that have begun.
static BEGUN: Locked<Vec<Range<usize>>> = Locked::new(Vec::new());

/// A library that calls from `caller` begins, perhaps not for the first time:
/// its memory has no past.
pub(crate) fn begins(visit: &Visit, caller: usize) {
    if BEGUN.lock().iter().any(|segment| segment.contains(&caller)) {
        return;
    }
    let modules = modules::loaded();
    let module = modules.iter().find(|module| module.holds(caller));
    constants::add(module.into_iter().flat_map(Module::constants));
    for segment in module.into_iter().flat_map(Module::segments) {
        record::forget(visit.thread(), segment.start, segment.len());
        shadow_range::forget(visit.thread(), segment.start, segment.len());
        BEGUN.lock().push(segment);
    }
}

/// Libraries may be gone.
fn end() {
    let modules = modules::loaded();
    let loaded: Vec<Range<usize>> = modules.iter().flat_map(Module::segments).collect();
    let mut gone = Vec::new();
    BEGUN.lock().retain(|segment| {
        let stays = loaded.contains(segment);
        if !stays {
            gone.push(segment.clone());
        }
        stays
    });
    for segment in &gone {
        constants::remove(segment);
    }
    symbols::forget_modules();
    sampling::forget_code(&gone);
    record::forget_places();
    refresh();
}

/// Where the C library's code is.
pub(super) fn c_library() -> &'static Range<usize> {
    static C_LIBRARY: OnceLock<Range<usize>> = OnceLock::new();
    C_LIBRARY.get_or_init(|| {
        let _errno = Errno::keep();
        let _visit = Visit::begin();
        let inside = libc::gnu_get_libc_version as *const () as usize;
        extent(|module| module.holds(inside))
    })
}

/// From where to where a module reaches.
fn extent(is_it: impl Fn(&Module) -> bool) -> Range<usize> {
    let modules = modules::loaded();
    let module = modules.iter().find(|module| is_it(module));
    let mut segments = module.into_iter().flat_map(Module::segments);
    let first = segments.next().unwrap_or_default();
    segments.fold(first, |all, part| {
        all.start.min(part.start)..all.end.max(part.end)
    })
}

/// Where the loader's own code is.
pub(super) fn loader() -> &'static Range<usize> {
    static LOADER: OnceLock<Range<usize>> = OnceLock::new();
    LOADER.get_or_init(|| {
        let _visit = Visit::begin();
        // SAFETY: asks the kernel's notes.
        let base = unsafe { libc::getauxval(libc::AT_BASE) } as usize;
        extent(|module| base != 0 && module.bias == base)
    })
}

interpose! {
    fn dlclose(handle: *mut c_void) -> c_int {
        record::settle();
        let result = libc::dlclose(handle);
        if let Some(_call) = Call::begin() {
            let _errno = Errno::keep();
            let _visit = Visit::begin();
            end();
        }
        result
    }
}
