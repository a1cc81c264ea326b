//! Functions of libraries that are in order although it does not look so.

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

/// Whether the function is one of them, or part of one. What such functions do among
/// themselves is nobody's fault.
pub fn is_in_order(function: &str) -> bool {
    IN_ORDER.iter().any(|known| function.contains(known))
}
