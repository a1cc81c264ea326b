//! What control costs: a run by `random` over a free one, both without a detector, and
//! a context switch.

use std::time::Duration;

use racehound_report::table::Table;

use super::bench::{Bench, Built, Run};
use crate::live::Error;

/// Programs that compute or do input and output, each with how it takes its work.
const PROGRAMS: [&str; 8] = [
    "bench/programs/matrix.c",
    "bench/programs/heat.c",
    "bench/programs/compress.c",
    "bench/programs/sort.cpp",
    "bench/programs/options.c",
    "bench/programs/swaptions.cpp",
    "bench/programs/pipeline.cpp",
    "bench/programs/control/files.c",
];

const MOST: f64 = 3.0;
const ROUNDS: usize = 3;

/// The best of some runs.
fn best(bench: &Bench, program: &Built, argument: &str, plan: &str) -> Result<Run, Error> {
    let mut best: Option<Run> = None;
    for _ in 0..ROUNDS {
        let run = bench.run(program, &[argument], ("none", plan))?;
        if best.as_ref().is_none_or(|best| run.wall < best.wall) {
            best = Some(run);
        }
    }
    Ok(best.expect("there is at least one"))
}

pub(super) fn print(bench: &Bench, quick: bool) -> Result<(), Error> {
    let percent = if quick { "2" } else { "20" };
    let mut table = Table::new(["program", "free", "random", "wall", "CPU", "limit"]);
    for source in PROGRAMS {
        let program = bench.build(source, "-O2")?;
        let free = best(bench, &program, percent, "free")?;
        let random = best(bench, &program, percent, "random:seed=1")?;
        let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64().max(1e-6);
        let milliseconds = |time: Duration| format!("{:.0} ms", time.as_secs_f64() * 1e3);
        table.row([
            program.name(),
            milliseconds(free.wall),
            milliseconds(random.wall),
            format!("{:.2}", ratio(random.wall, free.wall)),
            format!("{:.2}", ratio(random.cpu, free.cpu)),
            format!("≤ {MOST:.0}"),
        ]);
    }
    println!("A run by random over a free one, without a detector, the best of {ROUNDS}:");
    print!("{}", table.render());

    let program = bench.build("bench/programs/control/switches.c", "-O2")?;
    let rounds: u32 = if quick { 5_000 } else { 50_000 };
    let none = best(bench, &program, "0", "random:seed=1")?;
    let many = best(bench, &program, &rounds.to_string(), "random:seed=1")?;
    // There and back in each round.
    let each = many.wall.saturating_sub(none.wall) / (2 * rounds);
    let mut table = Table::new(["", "microseconds", "limit"]);
    let measured = format!("{:.2}", each.as_secs_f64() * 1e6);
    table.row(["a context switch, forced", &measured, "a few"]);
    print!("{}", table.render());
    Ok(())
}
