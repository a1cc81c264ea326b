//! `racehound cc` as one word, for build systems that want one.

use std::process::ExitCode;

use racehound::driver::{self, Language};

fn main() -> ExitCode {
    driver::main(Language::C, std::env::args_os().skip(1))
}
