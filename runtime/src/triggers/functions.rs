//! The functions that threads are in.
//!
//! A function is known by its name, and by an address if it has none. It is found
//! by a place inside it, once for every place.

use racehound_schedule::ClassId;
use racehound_trace::FunctionId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::report::symbols;
use crate::spin::Locked;
use crate::tls::Hot;

static FUNCTIONS: Locked<Option<Functions>> = Locked::new(None);

#[derive(Default)]
struct Functions {
    /// By a place inside; none for those that do not count.
    known: FxHashMap<usize, Option<FunctionId>>,
    by_name: FxHashMap<String, FunctionId>,
    new: Vec<(FunctionId, String)>,
    /// The class of the locks used at a place; none if there are several.
    uses: FxHashMap<usize, Option<ClassId>>,
    /// Those that use the locks they are given.
    wrappers: FxHashSet<FunctionId>,
}

fn with<R>(use_them: impl FnOnce(&mut Functions) -> R) -> R {
    use_them(FUNCTIONS.lock().get_or_insert_default())
}

/// The function around a place, if it counts.
fn around(place: usize) -> Option<FunctionId> {
    if let Some(known) = with(|functions| functions.known.get(&place).copied()) {
        return known;
    }
    // Not with the lock held: it takes a look at the program's files.
    let name = name(place);
    with(|functions| {
        let function = name.map(|name| {
            let next = FunctionId::from_index(functions.by_name.len());
            match functions.by_name.get(&name) {
                Some(&known) => known,
                None => {
                    functions.by_name.insert(name.clone(), next);
                    functions.new.push((next, name));
                    next
                }
            }
        });
        functions.known.insert(place, function);
        function
    })
}

/// What the function around a place is called: the one that was really called, and
/// not one that the compiler has put into it.
fn name(place: usize) -> Option<String> {
    if !super::is_of_program(place) {
        return None;
    }
    let (module, _) = symbols::module_name(place)?;
    // They may have names or not, which may take long to find.
    if is_standard_library(&module) {
        return None;
    }
    let (function, module, offset) = symbols::function(place)?;
    match function {
        Some(name) => {
            // What is rarely executed the compiler puts elsewhere.
            let name = name.trim_end_matches(".cold");
            (!is_of_library(name)).then(|| name.to_owned())
        }
        None => Some(format!("{module}+{offset:#x}")),
    }
}

/// Whether a module is a standard library, of C, where programs begin, or of C++, where the
/// threads of `std::thread` do.
fn is_standard_library(module: &str) -> bool {
    ["libc.so", "libstdc++.so", "libc++.so", "libc++abi.so"]
        .iter()
        .any(|library| module.starts_with(library))
}

/// Whether it is one of the C++ library's, which programs have copies of, or one in
/// which threads begin: the C library's or ours. What a thread of `std::thread` does may
/// have been put into the library's function that calls it, which then counts: it is of
/// that thread alone.
fn is_of_library(name: &str) -> bool {
    const BODIES: [&str; 2] = ["std::thread::_State_impl<", "std::__1::__thread_proxy"];
    if BODIES.iter().any(|body| name.contains(body)) {
        return false;
    }
    const PARTS: [&str; 5] = [
        "std::",
        "__gnu_cxx::",
        "__gthread",
        "__libc_start",
        "racehound_runtime::",
    ];
    PARTS.iter().any(|part| name.starts_with(part))
}

/// A lock is taken or given back at a place.
pub(super) fn uses(place: usize, class: ClassId) {
    let becomes_wrapper = with(|functions| {
        let known = functions.uses.entry(place).or_insert(Some(class));
        let several = known.is_some_and(|known| known != class);
        if several {
            *known = None;
        }
        several
    });
    if becomes_wrapper && let Some(function) = around(place) {
        with(|functions| functions.wrappers.insert(function));
    }
}

/// The innermost functions of the current thread, at most `depth`, that count,
/// innermost first.
pub(super) fn stack(hot: *mut Hot, place: usize, depth: usize) -> Vec<FunctionId> {
    let mut stack = Vec::with_capacity(depth);
    // SAFETY: our own block.
    let mut frame = unsafe { (*hot).top };
    let mut at = place;
    let mut last = 0;
    while stack.len() < depth {
        // The call of a function that we stand in for has a frame of its own.
        if at != last
            && let Some(function) = around(at)
            && !(stack.is_empty() && with(|functions| functions.wrappers.contains(&function)))
        {
            stack.push(function);
        }
        last = match stack.len() {
            0 | 1 => at,
            _ => 0,
        };
        // SAFETY: there are sentinels below the outermost frame, without a caller.
        unsafe {
            frame = frame.sub(1);
            at = (*frame).caller;
        }
        if at == 0 {
            break;
        }
    }
    stack
}

pub(super) fn new_names() -> Vec<(FunctionId, String)> {
    with(|functions| std::mem::take(&mut functions.new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_threads_do_counts_and_what_begins_them_does_not() {
        let body = "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#1}> > >::_M_run()";
        assert!(!is_of_library(body));
        assert!(!is_of_library("transfer(Bank&, int, int)"));
        assert!(is_of_library("std::mutex::lock()"));
        assert!(is_standard_library("libstdc++.so.6") && !is_standard_library("libstats.so"));
        assert!(is_standard_library("libc.so.6") && !is_standard_library("libcurl.so.4"));
    }
}
