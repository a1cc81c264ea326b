//! `racehound model`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::values::count;

/// Run tiny concurrent programs, or learn all that can happen in them
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    Explore(Explore),
    Run(ModelRun),
}

/// Visit all interleavings of a model program and tell what can happen
///
/// Reports every pair of places that can race, every deadlock, every assertion
/// that can fail and every access anomaly. A program with more states than
/// --max-states is refused: there is no partial truth.
#[derive(Debug, ClapArgs)]
#[command(after_help = "A program:
  var balance = 10
  lock m
  thread T1 { lock m; A: balance = balance + 1; unlock m }
  thread T2 { B: if balance > 5 { lock m; balance = balance - 5; unlock m } }

Example:
  racehound model explore examples/bank.model")]
pub(crate) struct Explore {
    /// The program; - reads from standard input
    pub(crate) program: PathBuf,

    /// Most states to visit
    #[arg(long, value_name = "N", value_parser = count, default_value = "1M")]
    pub(crate) max_states: u64,
}

/// Run a model program once, under a strategy, and record a trace
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:
  racehound model run examples/bank.model --seed 3 --record bank.rht
  racehound analyze bank.rht --detector all")]
pub(crate) struct ModelRun {
    /// The program; - reads from standard input
    pub(crate) program: PathBuf,

    /// Who runs next
    #[arg(long, value_enum, default_value_t = StrategyName::Random)]
    pub(crate) schedule: StrategyName,

    /// Determines the random choices
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Where to write the trace
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StrategyName {
    /// Any thread that can go, at every step
    Random,
    /// The same thread until it blocks or ends
    Sequential,
}
