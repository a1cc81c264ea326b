//! `racehound c++` as one word, for build systems that want one.
//!
//! Rust accepts no `+` in the name of a program: `racehound-c++` is a link to
//! this one.

use std::process::ExitCode;

use racehound::driver::{self, Language};
use racehound::plus_plus;

fn main() -> ExitCode {
    plus_plus::link();
    driver::main(Language::Cxx, std::env::args_os().skip(1))
}
