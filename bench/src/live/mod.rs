//! The runtime in real programs, against nothing, an empty runtime and its peers.
//!
//! Every program is compiled once by the same compiler and linked with each
//! runtime, so that only these differ; gcc's ThreadSanitizer alone needs code of
//! its own. Every round runs all programs in all ways, one after the other, so
//! that a slow minute of the machine hits them alike; the best of each counts.
//! All ways must print the same checksum.
//!
//! `program` and `way` say what there is to measure, `workshop` builds it,
//! `spend` runs it, `trial` keeps what came out; `figures` and `limits` turn that
//! into tables.

mod error;
mod figures;
mod limits;
mod program;
mod spend;
mod toolchain;
mod trial;
mod way;
mod workshop;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
pub(crate) use error::Error;
use figures::{Figures, Quantity};
use indicatif::{ProgressBar, ProgressStyle};
use limits::Limit;
pub(crate) use program::Language;
use program::Program;
use racehound_report::table::counted;
use serde_json::json;
pub(crate) use spend::{Spend, run as spend_on, spend};
pub(crate) use toolchain::Compiler;
use trial::Trial;
use way::Way;
use workshop::Workshop;
pub(crate) use workshop::{Link, build_with_racehound, link};

/// Live programs: CPU time and memory over native, FastTrack over ThreadSanitizer
#[derive(Args)]
pub(crate) struct Live {
    /// Only programs whose names match; * and ? stand for what they do in a shell
    #[arg(long, value_name = "GLOB", default_value = "*")]
    programs: String,

    /// Rounds; the best of each way counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,

    /// One round with a twentieth of the work, to see whether all is well
    #[arg(long, conflicts_with = "rounds")]
    quick: bool,

    /// Threads in each program, in place of its own choice
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    threads: Option<u8>,

    /// Only these ways, beside native: empty, none, collect, a detector, record, record-only,
    /// clang-tsan, gcc-tsan
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        conflicts_with = "all"
    )]
    ways: Vec<Way>,

    /// Also measure the six slower detectors
    #[arg(long)]
    all: bool,

    /// Write all figures as JSON to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Where to build the programs, which stay there
    #[arg(long, default_value_os_t = std::env::temp_dir().join("racehound-bench-live"))]
    dir: PathBuf,
}

impl Live {
    fn rounds(&self) -> usize {
        if self.quick { 1 } else { self.rounds }
    }

    /// Native in any case: it is what all others are measured by.
    fn wants(&self, way: Way) -> bool {
        match self.ways.is_empty() {
            true => self.all || way.is_usual(),
            false => way == Way::Native || self.ways.contains(&way),
        }
    }

    /// The arguments that every program gets.
    fn arguments(&self) -> Vec<String> {
        let percent = if self.quick { 5 } else { 100 };
        let threads = self.threads.map(|threads| threads.to_string());
        [percent.to_string()].into_iter().chain(threads).collect()
    }
}

/// Measures and prints; fails if one of Racehound's own runs went wrong.
pub(crate) fn run(args: &Live) -> Result<ExitCode, Error> {
    fs::create_dir_all(&args.dir).map_err(Error::file(&args.dir))?;
    let programs = program::matching(&args.programs)?;
    let (workshop, mut notes) = Workshop::open(&args.dir)?;
    let mut ways = Way::all();
    ways.retain(|way| args.wants(*way) && workshop.offers(*way));

    let mut trials = Vec::new();
    let steps = programs.len() * (1 + args.rounds() * ways.len());
    let progress = Progress::new(steps);
    for program in &programs {
        progress.at(format_args!("building {}", program.name));
        trials.extend(prepare(&workshop, program, &ways)?);
        progress.step();
    }
    let arguments = args.arguments();
    for _ in 0..args.rounds() {
        for trial in &mut trials {
            progress.at(format_args!("{} {}", trial.program, trial.way.name()));
            trial.run(&arguments);
            progress.step();
        }
        trial::compare(&mut trials);
    }
    drop(progress);

    let figures = Figures::new(&ways, &trials);
    let limits = limits::all(&figures);
    notes.extend(trial::notes(&ways, &trials));
    print(args, &figures, &limits, &notes);
    if let Some(path) = &args.json {
        let all = json!({
            "version": 1,
            "rounds": args.rounds(),
            "arguments": args.arguments(),
            "programs": figures.rows(),
            "limits": limits,
            "notes": notes,
        });
        let text = format!("{all:#}\n");
        fs::write(path, text).map_err(Error::file(path))?;
    }
    let wrong = |trial: &Trial| !trial.way.is_peer() && trial.failure().is_some();
    Ok(match trials.iter().any(wrong) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

/// Builds a program for all ways.
fn prepare(workshop: &Workshop, program: &Program, ways: &[Way]) -> Result<Vec<Trial>, Error> {
    let built = workshop.build(program)?;
    let trace = workshop.trace();
    let trial = |way: &Way| Trial::new(program, *way, built.executable(*way), &trace);
    Ok(ways.iter().map(trial).collect())
}

fn print(args: &Live, figures: &Figures, limits: &[Limit], notes: &[String]) {
    let rounds = counted(args.rounds(), "round");
    println!("CPU time over native, the best of {rounds}:");
    print!("{}", figures.table(Quantity::Cpu).render());
    println!("Peak memory in MiB:");
    print!("{}", figures.table(Quantity::Peak).render());
    println!("Limits:");
    print!("{}", limits::table(limits, figures.programs()).render());
    for note in notes {
        println!("Note: {note}");
    }
}

/// What is being done, for somebody who watches.
struct Progress(ProgressBar);

impl Progress {
    fn new(steps: usize) -> Self {
        // Draws nothing where standard error is no terminal.
        let bar = ProgressBar::new(steps as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len}  {msg}  {eta} left") {
            bar.set_style(style);
        }
        Self(bar)
    }

    fn at(&self, what: std::fmt::Arguments<'_>) {
        self.0.set_message(what.to_string());
    }

    fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The crate's own files: programs, and the empty runtime.
fn sources() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
