//! Programs under control: what RaceFuzzer achieves, beside what its paper reports,
//! and what control costs (racefuzzer.txt §3 and §5).
//!
//! `bench` builds and runs; `figures` has the paper's two figures, `table` its Table 1
//! over the programs of `programs/racefuzzer`, `cost` the time that control takes,
//! `endurance` the gallery over and over, `repeat` the same with one seed, which gives one
//! hash.

mod bench;
mod cost;
mod endurance;
mod figures;
mod gallery;
mod repeat;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use bench::Bench;
use clap::Args;

use crate::live::Error;

/// Programs under control: RaceFuzzer's figures and Table 1, and the cost of control
#[derive(Args)]
pub(crate) struct Control {
    /// Runs of each program and pair, each with another seed; in `repeat`, with the same
    #[arg(long, value_name = "N", default_value_t = 100)]
    seeds: u64,

    /// A tenth of the runs and of the work, to see whether all is well
    #[arg(long)]
    quick: bool,

    /// Only these parts: figures, table, cost, endurance, repeat
    #[arg(long, value_name = "PART,…", value_delimiter = ',', value_parser = ["figures", "table", "cost", "endurance", "repeat"])]
    only: Vec<String>,

    /// Runs of the gallery's programs in the test of endurance
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    runs: u64,

    /// Of Table 1, only the programs with such names
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    programs: Vec<String>,

    /// Of Table 1, tell what became of each pair, too
    #[arg(long)]
    pairs: bool,

    /// Where to build the programs, which stay there
    #[arg(long, default_value_os_t = std::env::temp_dir().join("racehound-bench-control"))]
    dir: PathBuf,
}

impl Control {
    fn seeds(&self) -> u64 {
        match self.quick {
            true => self.seeds.div_ceil(10),
            false => self.seeds,
        }
    }

    fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }
}

/// Measures and prints.
pub(crate) fn run(args: &Control) -> Result<ExitCode, Error> {
    let bench = Bench::open(&args.dir)?;
    if args.wants("figures") {
        figures::print_first(&bench, 10 * args.seeds())?;
        figures::print_second(&bench, args.seeds())?;
    }
    if args.wants("table") {
        let wants = |name: &str| {
            args.programs.is_empty() || args.programs.iter().any(|wanted| wanted == name)
        };
        table::print(&bench, args.seeds(), args.pairs, wants)?;
    }
    if args.wants("cost") {
        cost::print(&bench, args.quick)?;
    }
    let mut all_well = true;
    let gallery = args.dir.join("gallery");
    if args.wants("repeat") {
        all_well &= repeat::print(&bench, args.seeds(), &gallery)?;
    }
    if args.wants("endurance") {
        let runs = if args.quick {
            args.runs.div_ceil(10)
        } else {
            args.runs
        };
        all_well &= endurance::print(&bench, runs, &gallery)?;
    }
    Ok(match all_well {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
