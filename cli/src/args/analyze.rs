//! `racehound analyze`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use racehound_detect::Which;

use super::values::{FailOn, jobs};
use crate::formats::Outputs;

/// Run race detectors over a recorded trace, side by side
///
/// Reads a binary trace or RAPID's STD text, whichever the file is. With one
/// detector you get its warnings; with several also a table of who found what
/// the others missed.
///
/// fasttrack, djit and multirace report what nothing orders in this very
/// execution (observed). acculock, hybrid, racetrack, eraser and lockset also
/// report what another interleaving could bring together (predicted): more
/// bugs, and some false alarms.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound analyze run.rht
  racehound analyze run.std --detector all --stats
  racehound analyze run.rht --detector acculock --all-pairs --json warnings.json
  racehound trace gen --preset racy -o - | racehound analyze - --fail-on predicted")]
pub(crate) struct Analyze {
    /// The trace; - reads from standard input
    pub(crate) trace: PathBuf,

    /// Detectors, separated by commas, or all
    #[arg(
        short,
        long,
        value_name = "NAME,…",
        default_value = "fasttrack,acculock",
        value_delimiter = ',',
        value_parser = detectors
    )]
    pub(crate) detector: Vec<Selection>,

    /// Report all distinct pairs of places that a detector comes upon, not at
    /// most one for each location; hybrid comes upon every one there is
    #[arg(long)]
    pub(crate) all_pairs: bool,

    /// Treat volatiles and atomics as happens-before edges, or as locks
    #[arg(long, value_enum, default_value_t = Volatile::Hb)]
    pub(crate) volatile: Volatile,

    /// Also count what each detector did (AccuLock's Tables III and IV); with one
    /// worker, whatever --jobs says
    #[arg(long)]
    pub(crate) stats: bool,

    /// Split the variables over this many workers; the warnings are the same
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = jobs)]
    pub(crate) jobs: usize,

    #[command(flatten)]
    pub(crate) output: Outputs,

    /// Show at most this many findings; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,

    /// How certain a finding must be for exit code 66
    #[arg(long, value_enum, default_value_t = FailOn::Observed)]
    pub(crate) fail_on: FailOn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Volatile {
    /// They order threads as their memory order says
    Hb,
    /// Each access acquires and releases a lock
    Lock,
}

/// One detector or all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Selection {
    One(Which),
    All,
}

impl Selection {
    /// The detectors selected, each once, in the order asked for.
    pub(crate) fn resolve(selections: &[Self]) -> Vec<Which> {
        let mut chosen: Vec<Which> = Vec::new();
        for selection in selections {
            let named = match selection {
                Self::One(which) => std::slice::from_ref(which),
                Self::All => Which::ALL,
            };
            for which in named {
                if !chosen.contains(which) {
                    chosen.push(*which);
                }
            }
        }
        chosen
    }
}

fn detectors(text: &str) -> Result<Selection, String> {
    match text {
        "all" => Ok(Selection::All),
        name => name.parse().map(Selection::One),
    }
}
