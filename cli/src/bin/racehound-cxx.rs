//! `racehound c++` as one word, for build systems that want one.
//!
//! Cargo accepts no `+` in a program's name: an installation links the name
//! `racehound-c++` to it.

use std::process::ExitCode;

use racehound::driver::{self, Language};

fn main() -> ExitCode {
    driver::main(Language::Cxx, std::env::args_os().skip(1))
}
