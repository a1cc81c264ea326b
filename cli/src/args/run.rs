//! `racehound run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use racehound_detect::Which;
use racehound_sample::Rate;

use super::values::FailOn;
use crate::formats::Outputs;

/// Run a program once under a detector
///
/// The program must be instrumented: built by `racehound cc` or `racehound c++`, or by gcc with
/// -fsanitize=thread, whose runtime library is replaced. It behaves as it does by itself, its
/// exit code included, and races are reported on standard error as they are found; then the exit
/// code is 66.
///
/// With --json, or another --format than tsan, racehound stays behind the program until it ends,
/// passes signals on to it, and ends as it does, by the same signal if it was killed. The findings
/// are complete up to that point, whatever the program died of, and those of its child processes
/// are among them. Standard output is the program's: what has no file goes to standard error.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound cc -g bank.c -o bank && racehound run -- ./bank
  racehound run --detector acculock -- ./bank --accounts 10
  racehound run --json findings.json --format text -- ./bank
  racehound run --schedule random --seed 7 -- ./bank
  racehound run --schedule racefuzzer --pair bank.c:12,bank.c:20 --seed 8 -- ./bank
  racehound run --schedule racefuzzer --pair findings.json --times 10 -- ./bank
  racehound run --schedule drfinder --seed 3 -- ./bank
  racehound run --sample atex -- ./bank
  racehound run --record bank.rht -- ./bank; racehound analyze bank.rht --detector all

Options of the runtime, ThreadSanitizer's among them, are taken from the environment variables
TSAN_OPTIONS and RACEHOUND_OPTIONS, for example TSAN_OPTIONS=suppressions=known.txt.")]
pub(crate) struct Run {
    /// What looks for races; 'none' looks for nothing. Without it that is fasttrack, or
    /// none with --schedule racefuzzer and follow, which make bugs happen instead of looking for
    /// them, and with --schedule collect
    #[arg(long, value_name = "NAME", value_parser = live_detector)]
    pub(crate) detector: Option<String>,

    /// Who decides which thread runs: free (the system), contest (the system, with delays that a
    /// seed decides), random, restless, overtake, embrace, pct, sequential, racefuzzer, drfinder,
    /// replay:file=FILE, or follow:file=FILE for a schedule of
    /// 'racehound predict'; with settings after a colon, as in pct:depth=3. overtake holds a thread
    /// that comes back to a lock, an atomic or a condition until others have changed it. embrace
    /// holds a thread that has a lock and wants another until nobody else can go. drfinder
    /// reverses the orders in which threads come to locks, by what earlier runs have told of who
    /// takes which; that is kept in .racehound. collect lets the system decide, and only adds to it
    #[arg(long, value_name = "PLAN")]
    pub(crate) schedule: Option<String>,

    /// What random decisions depend on: the same seed gives the same execution, as far as the
    /// program depends on its threads, and unless the system decides which thread runs, as with
    /// contest
    #[arg(long, value_name = "NUMBER", requires = "schedule")]
    pub(crate) seed: Option<u64>,

    /// Two places that may race, for --schedule racefuzzer: a thread that is about to execute one
    /// waits there until another is about to execute the other. Of a line with several accesses
    /// FILE:LINE:COLUMN means those there, and of one that reads and writes FILE:LINE:read or
    /// FILE:LINE:write the one. Or the file of a report written by --json: the races in it, or
    /// with FILE#R2 that one
    #[arg(long, value_name = "FILE:LINE,FILE:LINE")]
    pub(crate) pair: Vec<String>,

    /// Put each pair to the test with up to this many seeds, out of sight: until the two accesses
    /// meet and do so again, then both orders of them for the harm they do
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) times: Option<u64>,

    /// Most seconds for one execution, with --times or where the program is run again
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,

    /// How many functions of a stack count, for --schedule drfinder and collect (12 unless given);
    /// for pct, the depth of the bugs looked for
    #[arg(long, value_name = "NUMBER", requires = "schedule")]
    pub(crate) depth: Option<u32>,

    /// Say in the end why --schedule drfinder has held threads back, and for whom
    #[arg(long, requires = "schedule")]
    pub(crate) explain: bool,

    /// Write the schedule of the execution, for --schedule replay:file=FILE
    #[arg(long, value_name = "FILE", requires = "schedule")]
    pub(crate) schedule_out: Option<PathBuf>,

    /// Look at some calls only, and leave it to later runs to look at others: literace looks at
    /// functions that a thread has rarely called; atex at functions that have rarely run at the
    /// same time, in this run and in those before it. All that is found was there; what is missed
    /// now may turn up in a later run
    #[arg(long, value_enum, default_value_t = Sample::None, conflicts_with_all = ["schedule", "record"])]
    pub(crate) sample: Sample,

    /// How much of what is known is looked at again: for atex the first calls out of so many of
    /// two functions beside each other (10/100 unless given); for literace the least, 1/1000
    #[arg(long, value_name = "TAKE/OF")]
    pub(crate) sample_rate: Option<Rate>,

    /// In how many of the last runs two functions have met if they count as known to --sample atex
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=16))]
    pub(crate) sample_frequency: u64,

    /// Write a trace of the execution, for 'racehound analyze'. Processes that the program
    /// starts write theirs to FILE.PID
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,

    /// Write the calls of functions to the trace, too, for 'racehound predict --atomic-functions'
    #[arg(long, requires = "record")]
    pub(crate) record_calls: bool,

    #[command(flatten)]
    pub(crate) output: Outputs,

    /// How certain a finding must be for exit code 66
    #[arg(long, value_enum, default_value_t = FailOn::Predicted)]
    pub(crate) fail_on: FailOn,

    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub(crate) program: Vec<OsString>,
}

/// Which calls are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sample {
    /// All
    None,
    /// Those of functions that the thread has rarely called
    Literace,
    /// Those of functions that have rarely run at the same time
    Atex,
}

fn live_detector(name: &str) -> Result<String, String> {
    if name == "none" || Which::ALL.iter().any(|which| which.name() == name) {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = Which::ALL.iter().map(|which| which.name()).collect();
    Err(format!("it is none of {}, none", names.join(", ")))
}
