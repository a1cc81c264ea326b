//! Benchmarks, printed as ratios: machines differ and are noisy, a ratio of
//! two things measured in one run says something.

#![allow(clippy::print_stdout)]

mod offline;

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
    #[command(hide = true)]
    PeakMemory(offline::PeakMemory),
}

fn main() -> racehound_trace::Result<()> {
    match Args::parse().command {
        Command::Offline(args) => offline::run(&args),
        Command::PeakMemory(args) => offline::peak_memory(&args),
    }
}
