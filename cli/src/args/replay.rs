//! `racehound replay`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as ClapArgs;

/// Make a finding happen again, here and now
///
/// Runs the program as it was run when the finding was made: with the schedule that brought it
/// about. Reports are those of --json; a file written by --schedule-out is replayed as well. Says
/// whether it happened again; if so, the exit code is 66, or what the program died of.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound run --schedule racefuzzer --pair bank.c:12,bank.c:30 --times 10 --json f.json -- ./bank
  racehound replay R1
  racehound replay f.json
  racehound replay f.json --id R2 --times 20
  racehound replay f.json --gdb
  racehound replay run.schedule -- ./bank")]
pub(crate) struct Replay {
    /// A finding of the last hunt, or a file: a report or a schedule
    #[arg(value_name = "ID|FILE")]
    pub(crate) finding: PathBuf,

    /// Which finding of a report; without it, the first that can be replayed
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,

    /// Stop in gdb when both threads stand at their accesses, or nobody can go on
    #[arg(long, conflicts_with = "times")]
    pub(crate) gdb: bool,

    /// Replay that often, out of sight, and count
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) times: Option<u64>,

    /// Most seconds for one execution, with --times
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,

    /// The program and its arguments, if it is another than in the report
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub(crate) program: Vec<OsString>,
}
