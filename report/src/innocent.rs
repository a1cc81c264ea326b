//! Functions of libraries that are in order although it does not look so.

use crate::finding::Finding;

/// Rust's standard library as it is shipped is not instrumented: when it moves its own list
/// of stacks about the moves are seen, but not the lock. libstdc++ lets go of the lock in an
/// atomic pointer by a relaxed operation where it has only read, and remembers what a
/// character is in a table that all threads fill in with the same.
const IN_ORDER: [&str; 4] = [
    "std::sys::pal::unix::stack_overflow::",
    "std::_Sp_atomic<",
    "std::ctype<char>::narrow(",
    "std::ctype<char>::widen(",
];

/// Whether the function is one of them, or part of one.
pub fn is_in_order(function: &str) -> bool {
    IN_ORDER.iter().any(|known| function.contains(known))
}

/// Whether a finding is about what such functions do among themselves: it is nobody's fault.
pub fn is_nobodys_fault(finding: &Finding) -> bool {
    let accesses = &finding.accesses;
    let is_in_order = |function: &String| is_in_order(function);
    !accesses.is_empty()
        && accesses
            .iter()
            .all(|access| access.function.as_ref().is_some_and(is_in_order))
}
