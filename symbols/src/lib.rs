//! From an address in a module to functions, source lines and variables.
//!
//! A module is an ELF file on disk: the program or one of its shared
//! libraries. An address is the file's own, that is the runtime address less
//! the module's load bias. [`Symbolizer::frames`] turns a code address into the
//! functions that are active there, [`Symbolizer::variable`] a data address
//! into the variable that holds it, and [`Symbolizer::element`] an offset in a
//! variable into what the source calls it.
//!
//! ```no_run
//! use std::path::Path;
//! use racehound_symbols::Symbolizer;
//!
//! let mut symbolizer = Symbolizer::new();
//! let server = Path::new("server");
//! for frame in symbolizer.frames(server, 0x1234) {
//!     let function = frame.function.unwrap_or_default();
//!     let file = frame.file.unwrap_or_default();
//!     println!("{function} {file}:{}", frame.line);
//! }
//! if let Some(variable) = symbolizer.variable(server, 0x4010) {
//!     println!("{} + {}", variable.name, 0x4010 - variable.start);
//! }
//! ```
//!
//! The crate lives inside the program under test, so:
//!
//! * it has no thread and no global, prints nothing and reads no environment;
//! * it reads files lazily: a module is mapped, and of its debug information
//!   only the units that hold an address asked for are parsed;
//! * a missing or damaged file is not an error. There is less to say about an
//!   address then, and less is said;
//! * what is said is about the file that was loaded: a file whose build id is
//!   not the expected one, and a debug file that is not its module's, count as
//!   missing.

mod arena;
mod build_id;
mod compression;
mod demangle;
mod dwarf;
mod elements;
mod elf;
mod mapping;
mod module;
mod separate;
mod split;
mod symbolizer;
mod symtab;
mod table;

pub use build_id::{build_id, build_id_in_notes};
pub use demangle::demangle;
pub use elements::Element;
pub use symbolizer::Symbolizer;

/// A function that is active at an address, and where in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Its name, demangled: with parameters for C++, without a return type.
    pub function: Option<String>,
    /// Source file, as the compiler recorded it.
    pub file: Option<String>,
    /// Line in the file, from 1; 0 if unknown.
    pub line: u32,
    /// Column in the line, from 1; 0 if unknown.
    pub column: u32,
    /// Whether the function was inlined into the one of the next frame.
    pub inlined: bool,
}

/// A global or static variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variable {
    /// Its name, demangled.
    pub name: String,
    /// Its first address.
    pub start: u64,
    /// How many bytes it takes.
    pub size: u64,
}
