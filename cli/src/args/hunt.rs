//! `racehound hunt`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;

use super::values::{FailOn, duration, jobs};
use crate::formats::Outputs;

/// Hunt for concurrency bugs in a program, and prove them
///
/// Runs the program many times: by itself under detectors that see and suspect races, under
/// schedules of its own that reach what it seldom does, and with two threads brought together at
/// every suspected pair of accesses. What happened and happens again is confirmed; then both orders
/// of it are tried, for the harm they do. Ends when nothing new turns up or the budget is spent,
/// with a report and how to replay each finding.
///
/// Sources are compiled with 'racehound cc' or 'racehound c++' first. What is found is kept in
/// .racehound, where the next hunt goes on.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound hunt bank.c
  racehound hunt --budget 5m -- ./server-tests --quick
  racehound hunt --json findings.json --fail-on confirmed -- ./bank < input.txt
  racehound hunt --setup 'rm -rf data' --client './ask 8080' -- ./server --port 8080 --dir data
  racehound hunt --each-test --budget 10m -- ./unit-tests
  racehound replay R1

Exit codes: 0 nothing at the --fail-on level, 66 findings, 2 wrong usage, 3 the program could not be
started, is not instrumented or does not compile.")]
pub(crate) struct Hunt {
    /// Sources in C and C++ that make up the program; what follows -- are its arguments then
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<PathBuf>,

    /// How long to hunt: 60s, 5m, 1h
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) budget: Duration,

    /// How many executions to make at most, beside one to record each finding that was confirmed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) runs: Option<u64>,

    /// What random decisions depend on
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,

    /// How many executions go on side by side: without this, as many as there are cores, or one
    /// with --setup, --teardown or --client, or once they turn out to be in each other's way
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<usize>,

    #[command(flatten)]
    pub(crate) around: Around,

    /// Hunt in each test of a test program alone, the budget divided among them. GoogleTest, Catch2
    /// and Rust's libtest are recognised
    #[arg(long, conflicts_with = "client")]
    pub(crate) each_test: bool,

    /// Most seconds for one execution, which has a quarter of the budget at most
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,

    /// What the program reads; else our own standard input, if that is a file or a pipe
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin: Option<PathBuf>,

    /// Forget what earlier hunts in this program have found
    #[arg(long)]
    pub(crate) fresh: bool,

    #[command(flatten)]
    pub(crate) output: Outputs,

    /// Fail only for what this earlier report (--json) does not have; code that has only moved is
    /// recognised
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// A file of ThreadSanitizer's suppressions, with lines such as race:deposit; without it, the
    /// one that TSAN_OPTIONS names
    #[arg(long, value_name = "FILE")]
    pub(crate) suppressions: Option<PathBuf>,

    /// How certain a finding must be for exit code 66
    #[arg(long, value_enum, default_value_t = FailOn::Observed)]
    pub(crate) fail_on: FailOn,

    /// The program and its arguments
    #[arg(last = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
}

/// What goes on around each execution. Commands are run by sh; RACEHOUND_JOB in the
/// environment tells executions that go on side by side from each other.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct Around {
    /// Run this before each execution, by sh; if it fails the hunt ends. The environment variable
    /// RACEHOUND_JOB, which the program has as well, tells executions side by side apart: 0, 1, …
    #[arg(long, value_name = "COMMAND")]
    pub(crate) setup: Option<String>,

    /// Run this after each execution, however that ended, by sh
    #[arg(long, value_name = "COMMAND")]
    pub(crate) teardown: Option<String>,

    /// For a program that does not end by itself: run this by sh when the program is ready, then
    /// send the program SIGTERM, and SIGKILL if it has not ended after 5 seconds. If the client
    /// fails, and does not when the program runs by itself, that is harm
    #[arg(long, value_name = "COMMAND")]
    pub(crate) client: Option<String>,

    /// The program is ready when it has printed this; without it, when it listens at a socket
    #[arg(long, value_name = "TEXT", requires = "client")]
    pub(crate) ready: Option<String>,
}
