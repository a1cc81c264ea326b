//! `racehound trace`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::values::count;

/// Look at traces, convert them, make them
#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    Convert(Convert),
    Stat(Stat),
    Gen(Gen),
}

/// Convert between binary traces and RAPID's STD text
///
/// The format to write follows from the name (.rht or .std) unless --to says
/// it. What the target cannot express is listed, with what became of it.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound trace convert run.rht run.std
  racehound trace convert --to std run.rht - | less")]
pub(crate) struct Convert {
    /// The trace to read; - reads from standard input
    pub(crate) input: PathBuf,

    /// Where to write; - writes to standard output
    pub(crate) output: PathBuf,

    /// The format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Racehound's own format
    Binary,
    /// RAPID's STD text
    Std,
}

/// Count what is in a trace: events, threads, locks, variables, sharing
#[derive(Debug, ClapArgs)]
pub(crate) struct Stat {
    /// The trace; - reads from standard input
    pub(crate) trace: PathBuf,
}

/// Generate a well-formed trace from a seed
///
/// Imitates a program: threads that work on data of their own, on data guarded
/// by locks, and on read-only data. There are no races but the planted ones.
/// The preset gives the shape; any option changes it.
#[derive(Debug, ClapArgs)]
#[command(after_help = presets())]
pub(crate) struct Gen {
    /// Where to write; - writes to standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// The format to write; follows from the name if not given
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Option<Format>,

    /// The shape to start from, see below
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub(crate) preset: String,

    /// Determines everything that is random
    #[arg(short, long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// About how many events; 50M and 200k are understood
    #[arg(short, long, value_name = "N", value_parser = count)]
    pub(crate) events: Option<u64>,

    /// Worker threads
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<u32>,

    /// Locks
    #[arg(long, value_name = "N")]
    pub(crate) locks: Option<u32>,

    /// Variables
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) variables: Option<u64>,

    /// Share of reads among the accesses, 0 to 1
    #[arg(long, value_name = "RATIO")]
    pub(crate) read_ratio: Option<f64>,

    /// Share of accesses that go to data of several threads, 0 to 1
    #[arg(long, value_name = "RATIO")]
    pub(crate) sharing: Option<f64>,

    /// Share of those that go to read-only data, 0 to 1
    #[arg(long, value_name = "RATIO")]
    pub(crate) read_only: Option<f64>,

    /// Accesses in a critical section, on average
    #[arg(long, value_name = "N")]
    pub(crate) section: Option<u32>,

    /// Deepest nesting of locks
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u32>,

    /// Events a thread runs before another one does, on average
    #[arg(long, value_name = "N")]
    pub(crate) burst: Option<u32>,

    /// Races to plant that every happens-before detector sees
    #[arg(long, value_name = "N")]
    pub(crate) races: Option<u32>,

    /// Races to plant that this interleaving hides from them
    #[arg(long, value_name = "N")]
    pub(crate) hidden_races: Option<u32>,
}

fn presets() -> String {
    let mut out = "Presets:\n".to_owned();
    for preset in racehound_trace::generate::PRESETS {
        out.push_str(&format!("  {:<13} {}\n", preset.name, preset.about));
    }
    out.push_str(
        "\nExamples:
  racehound trace gen -o small.std --events 1k --races 1
  racehound trace gen -o big.rht --preset lock-heavy --events 50M --seed 7",
    );
    out
}
