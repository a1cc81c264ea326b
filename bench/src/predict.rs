//! PECAN over generated traces (pecan.txt §8.2): how fast it predicts, how that
//! grows with the trace, what memory it takes, and how long a schedule takes.

mod table;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use racehound_predict::{Options, predict};
use racehound_report::table::{Table, thousands};
use racehound_trace::generate::{Generator, PRESETS, Preset};
use racehound_trace::{Event, Result, Trace};

use crate::offline::print_peak;

/// PECAN: events a second for all built-in patterns, growth, memory, schedules
#[derive(Args)]
pub(crate) struct Predict {
    /// Events in the longest traces
    #[arg(long, default_value_t = 10_000_000)]
    events: u64,

    /// Only this preset
    #[arg(long)]
    preset: Option<String>,

    /// Rounds; the best counts
    #[arg(long, default_value_t = 2)]
    rounds: usize,

    /// The paper's Table 1 and the success ratios of Table 2 instead, over programs like its
    /// subjects: each is recorded, predicted from, and executed by every schedule
    #[arg(long)]
    table: bool,

    /// The command 'racehound', if it is not beside this one
    #[arg(long, value_name = "PATH", requires = "table")]
    racehound: Option<PathBuf>,
}

/// Predict from a generated trace and print the peak memory of this process.
#[derive(Args)]
pub(crate) struct PeakOfPrediction {
    preset: String,
    events: u64,
}

pub(crate) fn peak(args: &PeakOfPrediction) -> Result<()> {
    let preset = Preset::find(&args.preset).unwrap_or(&PRESETS[0]);
    let trace = trace(preset, args.events)?;
    std::hint::black_box(predict(&trace, &Options::default()).predictions.len());
    print_peak()
}

pub(crate) fn run(args: &Predict) -> Result<()> {
    if args.table {
        return Ok(table::print(args.racehound.as_deref())?);
    }
    let lengths = [args.events / 100, args.events / 10, args.events];
    let mut heads = vec!["preset".to_owned()];
    heads.extend(lengths.map(|n| format!("{} events", thousands(n))));
    heads.extend(
        [
            "M events/s",
            "10 x",
            "found",
            "pruned",
            "memory",
            "schedule",
        ]
        .map(str::to_owned),
    );
    let mut table = Table::new(heads);
    let wanted = |preset: &&Preset| args.preset.as_deref().is_none_or(|p| p == preset.name);
    for preset in PRESETS.iter().filter(wanted) {
        let mut times = Vec::new();
        let (mut found, mut pruned, mut schedule) = (0, 0, None);
        for length in lengths {
            let trace = trace(preset, length)?;
            let mut best = Duration::MAX;
            for _ in 0..args.rounds {
                let start = Instant::now();
                let forecast = predict(&trace, &Options::default());
                best = best.min(start.elapsed());
                (found, pruned) = (forecast.predictions.len(), forecast.pruned.len());
                if length == lengths[1] {
                    let longest = forecast.predictions.iter().map(|p| {
                        let start = Instant::now();
                        std::hint::black_box(forecast.schedule(p));
                        start.elapsed()
                    });
                    schedule = longest.max().or(schedule);
                }
            }
            times.push(best);
        }
        let last = times[times.len() - 1];
        let rate = args.events as f64 / last.as_secs_f64() / 1e6;
        let growth = last.as_secs_f64() / times[times.len() - 2].as_secs_f64();
        let mut row = vec![preset.name.to_owned()];
        row.extend(times.iter().map(|t| format!("{:.3} s", t.as_secs_f64())));
        row.push(format!("{rate:.1}"));
        row.push(format!("{growth:.1} x"));
        row.push(found.to_string());
        row.push(pruned.to_string());
        row.push(format!("{:.2} x", memory(preset, args.events)?));
        row.push(schedule.map_or("-".to_owned(), |t| {
            format!("{:.1} ms", t.as_secs_f64() * 1e3)
        }));
        table.row(row);
    }
    print!("{}", table.render());
    println!(
        "  10 x: time of the longest over the one before. Memory: peak over the {} bytes of each event\n  \
         in memory. Schedule: the slowest one of {} events.",
        size_of::<Event>(),
        thousands(lengths[1])
    );
    Ok(())
}

/// Peak memory, as a multiple of the trace in memory.
fn memory(preset: &Preset, events: u64) -> Result<f64> {
    // A child of its own: memory this process once used does not count.
    let child = std::process::Command::new(std::env::current_exe()?)
        .args(["peak-of-prediction", preset.name, &events.to_string()])
        .output()?;
    let kib: f64 = String::from_utf8_lossy(&child.stdout)
        .trim()
        .parse()
        .unwrap_or(f64::NAN);
    Ok(kib * 1024.0 / (events as f64 * size_of::<Event>() as f64))
}

fn trace(preset: &Preset, events: u64) -> Result<Trace> {
    let mut workload = preset.workload();
    workload.events = events;
    Trace::collect(Generator::new(workload)?)
}
