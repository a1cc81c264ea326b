//! `racehound completions`: what makes a shell complete our command lines.

use clap::CommandFactory;

use crate::args::{Args, Completions};
use crate::error::Error;
use crate::{CLEAN, output};

/// Prints it.
pub(crate) fn run(args: &Completions) -> Result<u8, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "racehound", &mut script);
    output::show(&String::from_utf8_lossy(&script))?;
    Ok(CLEAN)
}
