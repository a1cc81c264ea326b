//! Benchmarks, printed as ratios: machines differ and are noisy, a ratio of
//! two things measured in one run says something.

#![allow(clippy::print_stdout)]

mod control;
mod gallery;
mod hidden;
mod live;
mod offline;
mod predict;
mod races;
mod sampling;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measure Racehound against its peers and against doing nothing.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Offline(offline::Offline),
    Predict(predict::Predict),
    Live(live::Live),
    Hidden(hidden::Hidden),
    Control(control::Control),
    Gallery(gallery::Gallery),
    Sampling(sampling::Sampling),
    #[command(hide = true)]
    PeakMemory(offline::PeakMemory),
    #[command(hide = true)]
    PeakOfPrediction(predict::PeakOfPrediction),
    #[command(hide = true)]
    Spend(live::Spend),
    #[command(hide = true)]
    Link(live::Link),
}

fn main() -> ExitCode {
    let failed = |error: &dyn std::error::Error| {
        eprintln!("racehound-bench: {error}");
        ExitCode::FAILURE
    };
    let done = |()| ExitCode::SUCCESS;
    match Args::parse().command {
        Command::Offline(args) => offline::run(&args).map_or_else(|e| failed(&e), done),
        Command::Predict(args) => predict::run(&args).map_or_else(|e| failed(&e), done),
        Command::PeakOfPrediction(args) => predict::peak(&args).map_or_else(|e| failed(&e), done),
        Command::PeakMemory(args) => offline::peak_memory(&args).map_or_else(|e| failed(&e), done),
        Command::Control(args) => control::run(&args).unwrap_or_else(|e| failed(&e)),
        Command::Live(args) => live::run(&args).unwrap_or_else(|e| failed(&e)),
        Command::Gallery(args) => gallery::run(&args).unwrap_or_else(|e| failed(&e)),
        Command::Hidden(args) => hidden::run(&args).unwrap_or_else(|e| failed(&e)),
        Command::Sampling(args) => sampling::run(&args).unwrap_or_else(|e| failed(&e)),
        Command::Spend(args) => live::spend(&args).map_or_else(|e| failed(&e), done),
        Command::Link(args) => live::link(args),
    }
}
