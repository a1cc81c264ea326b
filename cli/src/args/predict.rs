//! `racehound predict`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::values::{FailOn, count};
use crate::formats::Outputs;

/// Predict access anomalies from a recorded trace, and make each one happen
///
/// Looks for accesses that fit a pattern of an anomaly in some other order of the same events:
/// data races, atomicity violations (somebody else acts on a variable in the middle of an atomic
/// region), atomic-set violations (the same on two variables), and your own patterns. Each
/// prediction comes with a schedule in which it happens. So it finds bugs that no race detector
/// sees, in programs in which every access is locked and the combination is wrong.
///
/// Atomic regions are the outermost critical sections, cut where threads are created, joined,
/// notified or waited for; regions annotated in the program; and with --atomic-functions whatever
/// these functions do.
///
/// With --confirm the program is executed once for each schedule (twice for a race, once with
/// either access first), and every thread waits until it is its turn. What happened is confirmed;
/// where the program takes another branch, or cannot go on, the prediction is unreproduced, and
/// the reason is told. The columns are those of the PECAN paper: REAL happened, EXP led to a
/// crash, an assertion or another exit code, F did not happen.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound run --record bank.rht -- ./bank; racehound predict bank.rht
  racehound predict bank.rht --schedules clips
  racehound predict bank.rht --confirm -- ./bank
  racehound run --schedule follow:file=clips/R1.schedule -- ./bank
  racehound run --record bank.rht --record-calls -- ./bank
  racehound predict bank.rht --atomic-functions 'account_*' --pattern mine.txt

A pattern, in a file: who accesses what, in which region, and how
  pattern lost-pair
  T  = t1 t2 t2 t1
  SV = x  x  y  y
  AR = u1 u2 u2 u1
  AT = w  r  r  w")]
pub(crate) struct Predict {
    /// The trace; - reads from standard input
    pub(crate) trace: PathBuf,

    /// Look for the patterns in this file, too
    #[arg(long, value_name = "FILE")]
    pub(crate) pattern: Vec<PathBuf>,

    /// Look only for the patterns of --pattern
    #[arg(long, requires = "pattern")]
    pub(crate) only_patterns: bool,

    /// Functions that are meant to be atomic, such as 'push', 'account_*' or 'Stack<*>::push';
    /// parameters may be left out. The trace must have been recorded with --record-calls
    #[arg(long, value_name = "GLOB")]
    pub(crate) atomic_functions: Vec<String>,

    /// Whether atomics order threads
    #[arg(long, value_enum, default_value_t = PredictAtomics::Order)]
    pub(crate) atomics: PredictAtomics,

    /// Only anomalies whose accesses are at most this many events apart in the trace
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) window: Option<u64>,

    /// Write the schedule of each prediction into this directory: R1.schedule, and
    /// R1.reversed.schedule for a race with the other access first
    #[arg(long, value_name = "DIR")]
    pub(crate) schedules: Option<PathBuf>,

    /// Execute the program once for each schedule, and see what happens
    #[arg(long, requires = "program")]
    pub(crate) confirm: bool,

    /// How long an execution may take, in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        requires = "confirm"
    )]
    pub(crate) timeout: u64,

    #[command(flatten)]
    pub(crate) output: Outputs,

    /// Show at most this many findings; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,

    /// How certain a finding must be for exit code 66
    #[arg(long, value_enum, default_value_t = FailOn::Observed)]
    pub(crate) fail_on: FailOn,

    /// The program and its arguments, for --confirm
    #[arg(last = true, value_name = "PROGRAM", requires = "confirm")]
    pub(crate) program: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PredictAtomics {
    /// They do, as their memory order says
    Order,
    /// They do not: predicts everything that may happen, and more that may not
    Free,
}
