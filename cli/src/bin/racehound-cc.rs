//! `racehound cc` as one word, for build systems that want one.

use std::process::ExitCode;

use racehound::driver::{self, Language};
use racehound::plus_plus;

fn main() -> ExitCode {
    plus_plus::link();
    driver::main(Language::C, std::env::args_os().skip(1))
}
