//! The command `racehound`. Wiring only: what it does lives in the other
//! crates, what it says in `racehound-report`.

mod args;
mod atomic_functions;
mod attend;
mod blocks;
mod build;
mod commands;
mod compile;
mod confirm;
mod element_names;
mod error;
mod findings;
mod formats;
mod gdb;
mod input;
mod instrumentation;
mod journal;
mod known;
mod output;
mod pairs;
mod plan;
mod predictions;
mod progress;
mod recordings;
mod retelling;
mod rust_library;
mod schedules;
mod shell;
mod stdin;
mod store;
mod subject;
mod surroundings;
mod verdict;
mod workplace;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command, ModelCommand, StoreCommand, TraceCommand};
use error::Error;
use racehound::aside::say;
use racehound::driver::{self, Language};
use racehound::plus_plus;

/// Nothing found at the level that fails.
const CLEAN: u8 = 0;
/// Findings at the level that fails.
const FINDINGS: u8 = 66;
/// The program could not be started, or is not instrumented.
const NOT_STARTED: u8 = 3;
/// Wrong usage, or input that cannot be read.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    plus_plus::link();
    let result = match Args::parse().command {
        Command::Analyze(args) => commands::analyze::run(&args),
        Command::Predict(args) => commands::predict::run(&args),
        Command::Trace(TraceCommand::Convert(args)) => commands::convert::run(&args),
        Command::Trace(TraceCommand::Stat(args)) => commands::stat::run(&args),
        Command::Trace(TraceCommand::Gen(args)) => commands::generate::run(&args),
        Command::Model(ModelCommand::Explore(args)) => commands::model::explore(&args),
        Command::Model(ModelCommand::Run(args)) => commands::model::run(&args),
        Command::Hunt(args) => commands::hunt::run(&args),
        Command::Store(StoreCommand::Stat(args)) => commands::store::stat(&args),
        Command::Store(StoreCommand::Reset(args)) => commands::store::reset(&args),
        Command::Store(StoreCommand::Merge(args)) => commands::store::merge(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Suppress(args) => commands::suppress::run(&args),
        Command::Run(args) => commands::run::run(&args),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Manual(args) => commands::manual::run(&args),
        Command::Cc(args) => return driver::main(Language::C, args.arguments),
        Command::Cxx(args) => return driver::main(Language::Cxx, args.arguments),
    };
    match result {
        Ok(code) => code.into(),
        // Whoever read our output has seen enough.
        Err(Error::OutputClosed) => CLEAN.into(),
        Err(error) => {
            say(&error);
            match error {
                Error::NotStarted(_) | Error::NotInstrumented(_) => NOT_STARTED.into(),
                _ => USAGE.into(),
            }
        }
    }
}
