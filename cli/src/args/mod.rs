//! The command line, and the help that teaches it.
//!
//! A file for each command, as in `commands`; `values` has the words that several understand.

mod analyze;
mod compile;
mod hunt;
mod model;
mod predict;
mod replay;
mod report;
mod run;
mod store;
mod trace;
mod values;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

pub(crate) use self::analyze::{Analyze, Selection, Volatile};
pub(crate) use self::compile::Compile;
use self::compile::DROP_IN;
pub(crate) use self::hunt::{Around, Hunt};
pub(crate) use self::model::{Explore, ModelCommand, ModelRun, StrategyName};
pub(crate) use self::predict::{Predict, PredictAtomics};
pub(crate) use self::replay::Replay;
pub(crate) use self::report::{ShowReport, Suppress};
pub(crate) use self::run::{Run, Sample};
pub(crate) use self::store::{StoreCommand, StoreMerge, StoreReset, StoreStat};
pub(crate) use self::trace::{Convert, Format, Gen, Stat, TraceCommand};
pub(crate) use self::values::{FailOn, cores};

/// Finds the concurrency bugs that an ordinary test run does not hit.
#[derive(Debug, Parser)]
#[command(name = "racehound", version, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 nothing found at the --fail-on level, 66 findings, \
                        2 wrong usage or unreadable input, 3 the program or compiler could not be started."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Hunt(Hunt),
    Report(ShowReport),
    #[command(subcommand)]
    Store(StoreCommand),
    Suppress(Suppress),
    Analyze(Analyze),
    Predict(Predict),
    #[command(subcommand)]
    Trace(TraceCommand),
    #[command(subcommand)]
    Model(ModelCommand),
    Run(Run),
    Replay(Replay),
    Completions(Completions),
    #[command(name = "man")]
    Manual(Manual),
    /// Compile and link C as the C compiler does, ready for Racehound
    #[command(name = "cc", long_about = DROP_IN)]
    Cc(Compile),
    /// Compile and link C++ as the C++ compiler does, ready for Racehound
    #[command(name = "c++", alias = "cxx", long_about = DROP_IN)]
    Cxx(Compile),
}

/// Print what makes a shell complete command lines of racehound
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound completions bash > ~/.local/share/bash-completion/completions/racehound
  racehound completions zsh > ~/.zfunc/_racehound
  racehound completions fish > ~/.config/fish/completions/racehound.fish")]
pub(crate) struct Completions {
    /// Which shell
    pub(crate) shell: clap_complete::Shell,
}

/// Print the manual page
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound man | man -l -
  racehound man --dir ~/.local/share/man/man1")]
pub(crate) struct Manual {
    /// Write a page for racehound and one for each of its commands to a directory instead
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) dir: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
