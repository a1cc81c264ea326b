//! The detectors over generated traces, against only reading them.
//!
//! Every figure is the best of several rounds, and every round measures all
//! candidates one after the other, so that a slow minute of the machine hits
//! them alike.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use racehound_detect::Which;
use racehound_detect::offline::{Options, analyze};
use racehound_report::table::{Table, thousands};
use racehound_trace::generate::{Generator, PRESETS};
use racehound_trace::{Result, Source, binary, rapid};

/// Offline detectors: time over reading, AccuLock over FastTrack, STD text
#[derive(Args)]
pub(crate) struct Offline {
    /// Events in each trace
    #[arg(long, default_value_t = 50_000_000)]
    events: u64,

    /// Events in the STD trace
    #[arg(long, default_value_t = 5_000_000)]
    std_events: u64,

    /// Rounds; the best of each candidate counts
    #[arg(long, default_value_t = 3)]
    rounds: usize,

    /// Also measure the six slower detectors
    #[arg(long)]
    all: bool,

    /// Only this preset
    #[arg(long)]
    preset: Option<String>,

    /// Where to keep the traces
    #[arg(long, default_value_os_t = std::env::temp_dir().join("racehound-bench"))]
    dir: PathBuf,
}

/// Analyse a trace and print the peak memory of this process, in KiB.
#[derive(Args)]
pub(crate) struct PeakMemory {
    trace: PathBuf,
    detector: Which,
}

pub(crate) fn peak_memory(args: &PeakMemory) -> Result<()> {
    detect(&args.trace, args.detector)?;
    print_peak()
}

/// Prints the most memory that this process has used, in KiB.
pub(crate) fn print_peak() -> Result<()> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.map(|line| line.trim().trim_end_matches(" kB"));
    println!("{}", peak.unwrap_or("0"));
    Ok(())
}

pub(crate) fn run(args: &Offline) -> Result<()> {
    std::fs::create_dir_all(&args.dir)?;
    let detectors: Vec<Which> = match args.all {
        true => Which::ALL.to_vec(),
        false => vec![Which::FastTrack, Which::AccuLock],
    };
    let mut heads = vec!["preset".to_owned(), "read ns/event".to_owned()];
    heads.extend(detectors.iter().map(|d| format!("{} ÷ read", d.title())));
    heads.push("AccuLock ÷ FastTrack".to_owned());
    let mut table = Table::new(heads);
    let mut ratios = Vec::new();
    let wanted = |name: &str| args.preset.as_deref().is_none_or(|p| p == name);
    for preset in PRESETS.iter().filter(|p| wanted(p.name)) {
        let mut workload = preset.workload();
        workload.events = args.events;
        let path = args.dir.join(format!("{}.rht", preset.name));
        write_binary(&path, Generator::new(workload)?)?;

        let mut read = Duration::MAX;
        let mut best = vec![Duration::MAX; detectors.len()];
        for _ in 0..args.rounds {
            read = read.min(time(|| only_read(&path))?);
            for (best, &detector) in best.iter_mut().zip(&detectors) {
                *best = (*best).min(time(|| detect(&path, detector))?);
            }
        }
        let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
        let of = |which| detectors.iter().position(|d| *d == which).map(|i| best[i]);
        let accu = of(Which::AccuLock).zip(of(Which::FastTrack));
        let accu = accu
            .map(|(accu, fast)| ratio(accu, fast))
            .unwrap_or(f64::NAN);
        ratios.push(accu);
        let mut row = vec![
            preset.name.to_owned(),
            format!("{:.1}", read.as_nanos() as f64 / args.events as f64),
        ];
        row.extend(best.iter().map(|b| format!("{:.2}", ratio(*b, read))));
        row.push(format!("{accu:.3}"));
        table.row(row);
        std::fs::remove_file(&path)?;
    }
    print!(
        "Over binary traces of {} events:\n{}",
        thousands(args.events),
        table.render()
    );
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    println!("  AccuLock ÷ FastTrack, mean over the presets: {mean:.3}");
    memory(args)?;
    from_text(args)
}

/// Peak memory over traces of growing length: it must not grow with them.
fn memory(args: &Offline) -> Result<()> {
    let lengths = [args.events / 25, args.events / 5, args.events];
    let heads = lengths.map(|n| format!("{} events", thousands(n)));
    let mut table = Table::new([String::new()].into_iter().chain(heads));
    let mut rows = [Which::FastTrack, Which::AccuLock].map(|which| (which, Vec::new()));
    for events in lengths {
        let mut workload = PRESETS[0].workload();
        workload.events = events;
        let path = args.dir.join("memory.rht");
        write_binary(&path, Generator::new(workload)?)?;
        for (which, row) in &mut rows {
            // A child of its own: memory this process once used does not count.
            let child = std::process::Command::new(std::env::current_exe()?)
                .arg("peak-memory")
                .args([path.as_os_str(), which.name().as_ref()])
                .output()?;
            let kib = String::from_utf8_lossy(&child.stdout).trim().to_owned();
            row.push(format!("{kib} KiB"));
        }
        std::fs::remove_file(&path)?;
    }
    for (which, row) in rows {
        table.row([which.title().to_owned()].into_iter().chain(row));
    }
    print!("Peak memory:\n{}", table.render());
    Ok(())
}

/// STD text: parsing and FastTrack together.
fn from_text(args: &Offline) -> Result<()> {
    let mut workload = PRESETS[0].workload();
    workload.events = args.std_events;
    let path = args.dir.join("default.std");
    let mut generator = Generator::new(workload)?;
    let mut writer = rapid::Writer::new(File::create(&path)?, generator.space());
    generator.for_each_batch(&mut |tables, batch| writer.write(tables, batch))?;
    writer.finish()?;
    let mut best = Duration::MAX;
    for _ in 0..args.rounds {
        best = best.min(time(|| {
            let mut source = rapid::Reader::new(File::open(&path)?);
            run_detector(&mut source, Which::FastTrack)
        })?);
    }
    println!(
        "STD text of {} events, parsed and FastTrack: {:.2} s, {:.0} ns an event",
        thousands(args.std_events),
        best.as_secs_f64(),
        best.as_nanos() as f64 / args.std_events as f64
    );
    std::fs::remove_file(&path)?;
    Ok(())
}

fn write_binary(path: &Path, mut generator: Generator) -> Result<()> {
    let mut writer = binary::Writer::new(File::create(path)?, generator.space())?;
    generator.for_each_batch(&mut |tables, batch| writer.write(tables, batch))?;
    writer.finish()?;
    Ok(())
}

fn time(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

fn open(path: &Path) -> Result<binary::Reader<BufReader<File>>> {
    binary::Reader::new(BufReader::with_capacity(1 << 16, File::open(path)?))
}

fn only_read(path: &Path) -> Result<()> {
    open(path)?.for_each_batch(&mut |_, batch| {
        std::hint::black_box(batch);
        Ok(())
    })
}

fn detect(path: &Path, which: Which) -> Result<()> {
    run_detector(&mut open(path)?, which)
}

fn run_detector(source: &mut dyn Source, which: Which) -> Result<()> {
    let outcomes = analyze(source, &[which], &Options::default(), &mut |_| {})?;
    std::hint::black_box(outcomes);
    Ok(())
}
