//! The programs of the gallery, built to be run by plans.

use std::path::Path;

use super::bench::Built;
use crate::gallery::{Program, Subject, Tools, programs};
use crate::live::Error;

/// Builds all that can be built; the others are named.
pub(super) fn build(directory: &Path) -> Result<Vec<(Program, Built)>, Error> {
    let tools = Tools::find(None)?;
    let mut all = Vec::new();
    for program in programs()? {
        let directory = directory.join(program.name().replace('/', "-"));
        match Subject::build(&tools, program, &directory) {
            Ok(subject) => {
                let source = subject.program.path.clone();
                let built = Built::at(subject.executable(), source);
                all.push((subject.program, built));
            }
            Err(error) => println!("left out: {error}"),
        }
    }
    Ok(all)
}
