//! Whether a program in Rust has its standard library as it is shipped.
//!
//! That is not instrumented: its locks, channels and `Once` do part of their work unseen. What
//! two threads do one after the other may look as if nothing ordered it then, so what only a
//! detector says is not to be confirmed. Two threads that stand at their accesses together
//! are, whatever was not seen.

use std::fs;
use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol};

/// Every program in Rust with a standard library has it, and calls it first.
const FIRST: &str = "3std2rt19lang_start_internal";
/// What instrumented functions call first.
const ENTRY: &str = "__tsan_func_entry";
/// Where it is called at the latest, in bytes from the beginning of the function.
const PROLOGUE: usize = 256;

/// Whether it has; false if nobody can tell.
pub(crate) fn is_unseen(program: &Path) -> bool {
    let content = fs::read(program).unwrap_or_default();
    calls_entry(&content) == Some(false)
}

/// Whether the library's first function is instrumented, if there is one.
fn calls_entry(content: &[u8]) -> Option<bool> {
    let file = object::File::parse(content).ok()?;
    // Our runtime is in Rust, too, and keeps its names to itself.
    let find = |wanted: &dyn Fn(&str) -> bool| {
        let mut symbols = file.symbols().filter(|symbol| symbol.is_global());
        symbols.find(|symbol| symbol.is_definition() && symbol.name().is_ok_and(wanted))
    };
    let first = find(&|name| name.contains(FIRST))?;
    let entry = find(&|name| name == ENTRY)?.address();
    let section = file.section_by_index(first.section_index()?).ok()?;
    let code = section.data().ok()?;
    let start = usize::try_from(first.address().checked_sub(section.address())?).ok()?;
    let code = code.get(start..)?;
    let size = match first.size() {
        0 => PROLOGUE,
        size => usize::try_from(size).ok()?.min(PROLOGUE),
    };
    let code = &code[..code.len().min(size)];
    let is_call = |(at, bytes): (usize, &[u8])| {
        let distance = i32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
        let behind = first.address() + at as u64 + bytes.len() as u64;
        bytes[0] == CALL && behind.wrapping_add_signed(distance.into()) == entry
    };
    Some(code.windows(5).enumerate().any(is_call))
}

/// A call of x86-64, which is followed by a distance of four bytes.
const CALL: u8 = 0xe8;
