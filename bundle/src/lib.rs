//! The runtime in the forms in which programs need it.
//!
//! `build.rs` compiles the crate `racehound-runtime` and puts it together; this
//! crate holds the result, so that the command `racehound` has it with it
//! wherever it is installed.

/// The runtime as one relocatable object, to be linked into executables.
pub static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/racehound_rt.o"));

/// The runtime as a shared library that takes libtsan's place.
pub static SHARED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libracehound_rt.so"));

/// The names that an executable offers to the libraries it loads, as the
/// linker's `--dynamic-list` wants them.
pub static SYMBOLS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/racehound_rt.syms"));

/// Changes whenever one of the above does.
pub const FINGERPRINT: &str = env!("RACEHOUND_FINGERPRINT");
