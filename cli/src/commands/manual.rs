//! `racehound man`: the manual page, made from the same words as `--help`.

use std::fs;
use std::path::Path;

use clap::CommandFactory;

use crate::args::{Args, Manual};
use crate::error::Error;
use crate::{CLEAN, output};

/// Prints the page of the command, or writes one for each of its commands, too.
pub(crate) fn run(args: &Manual) -> Result<u8, Error> {
    let command = Args::command();
    let Some(directory) = &args.dir else {
        output::show(&page(command)?)?;
        return Ok(CLEAN);
    };
    fs::create_dir_all(directory).map_err(Error::file(directory))?;
    write(directory, "racehound", command.clone())?;
    for each in command.get_subcommands().filter(|each| !each.is_hide_set()) {
        let name = format!("racehound-{}", each.get_name());
        // Clap keeps names of commands for good.
        let kept: &'static str = Box::leak(name.clone().into_boxed_str());
        write(directory, &name, each.clone().name(kept))?;
    }
    Ok(CLEAN)
}

fn write(directory: &Path, name: &str, command: clap::Command) -> Result<(), Error> {
    let file = directory.join(format!("{name}.1"));
    fs::write(&file, page(command)?).map_err(Error::file(&file))
}

fn page(command: clap::Command) -> Result<String, Error> {
    let mut page = Vec::new();
    let made = clap_mangen::Man::new(command).render(&mut page);
    made.map_err(Error::file(Path::new("manual page")))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
