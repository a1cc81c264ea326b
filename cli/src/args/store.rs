//! `racehound store`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

/// What the project remembers
///
/// Hunts, findings, schedules and relations between functions and locks are kept in .racehound of
/// the directory in which racehound is run. What sampled runs have seen is kept in the nearest
/// .racehound around the program or the current directory; if there is none, in that of the
/// project's root as version control knows it, or of the current directory.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    Stat(StoreStat),
    Reset(StoreReset),
    Merge(StoreMerge),
}

/// Tell what the store holds
#[derive(Debug, ClapArgs)]
pub(crate) struct StoreStat {
    /// The project, or its .racehound; the nearest one unless given
    #[arg(value_name = "DIRECTORY")]
    pub(crate) project: Option<PathBuf>,

    /// In how many of the last runs two functions have met if they count as known
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) sample_frequency: u32,

    /// List the functions that were seen beside each other, by program
    #[arg(long)]
    pub(crate) pairs: bool,

    /// Write it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Forget what sampled runs have seen, of one program or of all
#[derive(Debug, ClapArgs)]
pub(crate) struct StoreReset {
    /// The programs, as 'racehound store stat' lists them; all unless given
    #[arg(value_name = "PROGRAM")]
    pub(crate) programs: Vec<String>,

    /// Forget hunts, findings, schedules and relations as well
    #[arg(long, conflicts_with = "programs")]
    pub(crate) everything: bool,
}

/// Add what sampled runs and DrFinder have learnt on other machines
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound store merge ../other-checkout /mnt/builder/.racehound

Findings stay where they were found: their schedules belong to the program there.")]
pub(crate) struct StoreMerge {
    /// Other projects, or their .racehound
    #[arg(required = true, value_name = "DIRECTORY")]
    pub(crate) others: Vec<PathBuf>,
}
