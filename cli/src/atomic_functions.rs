//! Functions that a user says are atomic, found in a trace by name.
//!
//! A name is as the compiler has it, demangled. Nobody wants to write the parameters of
//! a C++ function, so a glob may leave them out; and what a compiler adds for a copy of
//! a function that it made is no part of the name.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use racehound::aside::say;
use racehound_trace::{FunctionId, Op, Trace};

/// The functions that are meant. Whoever reads standard error is told which wish cannot
/// be fulfilled, and what to do about it.
pub(crate) fn named(globs: &[String], trace: &Trace, path: &Path) -> Vec<FunctionId> {
    if globs.is_empty() {
        return Vec::new();
    }
    let path = path.display();
    let called: HashSet<FunctionId> = trace.events.iter().filter_map(called).collect();
    if called.is_empty() {
        say(format_args!(
            "warning: {path}: no calls are recorded in it, so --atomic-functions has no \
             effect; record them by 'racehound run --record {path} --record-calls -- PROGRAM'"
        ));
        return Vec::new();
    }
    let mut atomic = Vec::new();
    for glob in globs {
        let meant = meant(glob, trace);
        let names = |functions: &[FunctionId]| {
            let names: BTreeSet<String> = functions
                .iter()
                .map(|f| trace.tables.function_name(*f))
                .collect();
            Vec::from_iter(names).join(", ")
        };
        match meant.iter().any(|f| called.contains(f)) {
            true => atomic.extend(meant),
            false if meant.is_empty() => {
                say(format_args!(
                    "warning: no function of the trace is called {glob}"
                ));
            }
            false => say(format_args!(
                "warning: {}: the compiler has put it into its callers, so there are no \
                 calls; build the program with -fno-inline, or annotate the region",
                names(&meant)
            )),
        }
    }
    atomic
}

/// The same in another trace of the same program, of which nobody has to be told anything.
pub(crate) fn again(globs: &[String], trace: &Trace) -> Vec<FunctionId> {
    globs.iter().flat_map(|glob| meant(glob, trace)).collect()
}

fn meant(glob: &str, trace: &Trace) -> Vec<FunctionId> {
    let functions = (0..trace.tables.functions.len()).map(FunctionId::from_index);
    functions
        .filter(|f| is_called(glob, &trace.tables.function_name(*f)))
        .collect()
}

fn called(event: &racehound_trace::Event) -> Option<FunctionId> {
    match event.op {
        Op::Call { function } => Some(function),
        _ => None,
    }
}

/// Whether a glob means a function: with its parameters, or without.
fn is_called(glob: &str, name: &str) -> bool {
    let name = name.split(" [clone ").next().unwrap_or(name);
    matches(glob, name) || matches(glob, without_parameters(name))
}

/// `Account::withdraw` of `Account::withdraw(int) const`.
fn without_parameters(name: &str) -> &str {
    let qualifiers: &[char] = &['&', ' '];
    let mut rest = name.trim_end_matches(qualifiers);
    while let Some(shorter) = [" const", " volatile", " noexcept"]
        .iter()
        .find_map(|qualifier| rest.strip_suffix(qualifier))
    {
        rest = shorter.trim_end_matches(qualifiers);
    }
    let mut depth = 0;
    for (at, character) in rest.char_indices().rev() {
        match character {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let base = &rest[..at];
            let is_list = character == '(' && !base.is_empty() && !base.ends_with("operator");
            return if is_list { base } else { name };
        }
    }
    name
}

/// Whether a name is like a glob: `*` is anything, `?` any one character.
fn matches(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    // Which beginnings of the name fit the glob so far.
    let mut fits = vec![false; name.len() + 1];
    fits[0] = true;
    for wanted in glob {
        let before = fits.clone();
        for end in 0..=name.len() {
            fits[end] = match wanted {
                '*' => before[..=end].contains(&true),
                _ => end > 0 && before[end - 1] && (wanted == '?' || wanted == name[end - 1]),
            };
        }
    }
    fits[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_as_in_a_shell() {
        for (glob, name, fits) in [
            ("push", "push", true),
            ("push", "pushed", false),
            ("push*", "pushed", true),
            ("*_add", "list_add", true),
            ("l?st*a*", "list_add", true),
            ("l?st", "lst", false),
            ("*", "", true),
            ("?", "é", true),
        ] {
            assert_eq!(matches(glob, name), fits, "{glob} {name}");
        }
    }

    #[test]
    fn parameters_may_be_left_out() {
        for (glob, name) in [
            ("Account::withdraw", "Account::withdraw(int)"),
            ("Account::withdraw(int)", "Account::withdraw(int)"),
            ("*::size", "ns::List<int>::size() const"),
            ("*::size", "ns::List<void (*)(int)>::size() const &"),
            ("push", "push(void (*)(int)) [clone .constprop.0]"),
            ("drain", "drain [clone .part.0]"),
            ("Run::operator()", "Run::operator()(int) const"),
            (
                "main::*::operator()",
                "main::{lambda(int)#1}::operator()(int) const",
            ),
            (
                "(anonymous namespace)::push",
                "(anonymous namespace)::push(int)",
            ),
        ] {
            assert!(is_called(glob, name), "{glob} {name}");
        }
        assert!(!is_called("push", "push_all(int)"));
        assert!(!is_called("push", "ns::push(int)"));
        assert!(!is_called("Run::operator", "Run::operator()(int)"));
    }
}
