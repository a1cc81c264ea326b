//! DrFinder against FastTrack alone, ConTest and PCT: the experiment of drfinder.txt
//! §6, on programs made for it and on programs from outside.
//!
//! `generator` makes programs with races that lock orders hide, `technique` runs a
//! program in one of the ways, `campaign` does so time and again, `tables` has what
//! the paper prints.

mod campaign;
mod generator;
mod tables;
mod technique;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs, io};

use campaign::Campaign;
use clap::Args;
use generator::{Family, Shape};
use racehound_report::table::counted;
use tables::Row;
use technique::{Subject, Technique};

use crate::races::Race;

/// Hidden races: DrFinder against FastTrack alone, ConTest and PCT
#[derive(Args)]
pub(crate) struct Hidden {
    /// Runs of each technique on each program
    #[arg(long, value_name = "N", default_value_t = 10)]
    runs: usize,

    /// Runs in which the others may come upon what only DrFinder has shown; 0 does
    /// not try
    #[arg(long, value_name = "N", default_value_t = 100)]
    many: usize,

    /// How many functions of a stack count
    #[arg(long, value_name = "N", default_value_t = 12)]
    depth: u32,

    /// Also try depths from 2 to 20 (Table 4)
    #[arg(long)]
    depths: bool,

    /// Only generated programs whose names contain this
    #[arg(long, value_name = "TEXT", default_value = "")]
    programs: String,

    /// A program from outside, in place of the generated ones: the executable built without
    /// instrumentation, that built by 'racehound cc', and the arguments, all in one word
    #[arg(long, value_name = "NATIVE WATCHED [ARGUMENT…]")]
    outside: Vec<String>,

    /// Where to build the programs, which stay there
    #[arg(long, default_value_os_t = env::temp_dir().join("racehound-bench-hidden"))]
    dir: PathBuf,
}

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{program} cannot be built: {why}")]
    NotBuilt { program: String, why: String },
    #[error("--outside {0:?}: two executables are needed, native and watched")]
    Outside(String),
    #[error("{program} cannot be run: {source}")]
    NotRun { program: String, source: io::Error },
    #[error("{program}: a race was reported where none can be, {race:?}")]
    Wrong { program: String, race: Race },
}

/// A program, and what can be found in it if that is known.
struct Case {
    subject: Subject,
    races: Option<BTreeSet<Race>>,
}

/// Runs everything and prints; fails if something was reported that cannot be.
pub(crate) fn run(args: &Hidden) -> Result<ExitCode, Error> {
    let cases = match args.outside.is_empty() {
        true => generated(args)?,
        false => outside(args)?,
    };
    let mut rows = Vec::new();
    for case in &cases {
        eprintln!("{}", case.subject.name);
        let not_run = |source| Error::NotRun {
            program: case.subject.name.clone(),
            source,
        };
        let row = measure(args, &case.subject).map_err(not_run)?;
        check(case, &row)?;
        rows.push(row);
    }
    println!(
        "Table 3: distinct races in {} runs, depth {}",
        args.runs, args.depth
    );
    print!("{}", tables::table_3(&rows).render());
    for (row, hung) in rows.iter().map(|row| (row, row.hung())) {
        if hung > 0 {
            println!(
                "Note: {} of {} did not end by themselves",
                counted(hung, "run"),
                row.name
            );
        }
    }
    if args.depths {
        let depths: Vec<u32> = (2..=20).step_by(2).collect();
        let mut deep = Vec::new();
        for (case, row) in cases.iter().zip(&rows) {
            let campaigns = depths
                .iter()
                .map(|depth| Campaign::run_drfinder(&case.subject, *depth, args.runs))
                .map(|campaign| campaign.map(|(campaign, _)| campaign))
                .collect::<io::Result<Vec<_>>>();
            let campaigns = campaigns.map_err(|source| Error::NotRun {
                program: case.subject.name.clone(),
                source,
            })?;
            deep.push((row, campaigns));
        }
        println!("Table 4: races, and new ones, by depth");
        print!("{}", tables::table_4(&depths, &deep).render());
    }
    println!("Figure 6: distinct races of all programs after each run");
    print!("{}", tables::figure_6(&rows, args.runs).render());
    println!("Figure 7: share of DrFinder's new races after each run");
    print!("{}", tables::figure_7(&rows, args.runs).render());
    print!(
        "{}",
        tables::conditions(&rows, args.runs, args.many).render()
    );
    Ok(ExitCode::SUCCESS)
}

fn measure(args: &Hidden, subject: &Subject) -> io::Result<Row> {
    const NATIVE: usize = 5;
    let mut native = f64::INFINITY;
    for _ in 0..NATIVE {
        native = native.min(subject.run_native()?);
    }
    let others = [Technique::FastTrack, Technique::ConTest, Technique::Pct];
    let [ft, ct, pct] = others.map(|other| Campaign::run(subject, other, args.runs));
    let (drfinder, collecting) = Campaign::run_drfinder(subject, args.depth, args.runs)?;
    let mut row = Row {
        name: subject.name.clone(),
        sleeps: subject.sleeps,
        native,
        others: [ft?, ct?, pct?],
        drfinder,
        collecting,
        later: None,
    };
    let new = row.new_races();
    if args.many > 0 && !new.is_empty() {
        let [ft, ct, pct] = others.map(|other| later(subject, other, &new, args));
        row.later = Some([ft?, ct?, pct?]);
    }
    Ok(row)
}

/// Which of these races a technique shows in many runs.
fn later(
    subject: &Subject,
    technique: Technique,
    new: &BTreeSet<Race>,
    args: &Hidden,
) -> io::Result<BTreeSet<Race>> {
    let mut seen = BTreeSet::new();
    for seed in args.runs + 1..=args.many {
        if seen.is_superset(new) {
            break;
        }
        seen.extend(subject.run(technique, seed as u64)?.races);
    }
    Ok(seen)
}

/// Only what is possible was reported.
fn check(case: &Case, row: &Row) -> Result<(), Error> {
    let Some(possible) = &case.races else {
        return Ok(());
    };
    let others = row.others.iter().map(Campaign::races);
    for races in others.chain([row.drfinder.races()]) {
        if let Some(race) = races.difference(possible).next() {
            let program = case.subject.name.clone();
            let race = race.clone();
            return Err(Error::Wrong { program, race });
        }
    }
    Ok(())
}

fn generated(args: &Hidden) -> Result<Vec<Case>, Error> {
    let shapes = generator::suite();
    let wanted = shapes.iter().filter(|s| s.name().contains(&args.programs));
    wanted.map(|shape| build(shape, &args.dir)).collect()
}

fn build(shape: &Shape, directory: &Path) -> Result<Case, Error> {
    let name = shape.name();
    let directory = directory.join(&name);
    let file = |source| Error::File {
        path: directory.clone(),
        source,
    };
    let (text, lines) = shape.program();
    let place = |line: u32| format!("hidden.c:{line}");
    let possible = match shape.reachable {
        true => lines,
        false => Vec::new(),
    };
    let races = possible.into_iter().map(|(a, b)| {
        let (a, b) = (place(a), place(b));
        (a.clone().min(b.clone()), a.max(b))
    });
    let races = Some(races.collect());
    fs::create_dir_all(&directory).map_err(file)?;
    let source = directory.join("hidden.c");
    fs::write(&source, text).map_err(file)?;
    let (native, watched) = (directory.join("native"), directory.join("watched"));
    let mut racehound = Command::new(env::current_exe().map_err(file)?);
    racehound.args(["link", "--"]);
    for (mut compiler, output) in [(Command::new("cc"), &native), (racehound, &watched)] {
        let flags = ["-g", "-O1", "-pthread"];
        let built = compiler
            .args(flags)
            .arg(&source)
            .arg("-o")
            .arg(output)
            .output();
        let built = built.map_err(file)?;
        if !built.status.success() {
            let why = String::from_utf8_lossy(&built.stderr).trim().to_owned();
            return Err(Error::NotBuilt { program: name, why });
        }
    }
    let subject = Subject {
        name,
        native,
        watched,
        arguments: Vec::new(),
        sleeps: shape.family == Family::Ladder,
        directory,
    };
    Ok(Case { subject, races })
}

fn outside(args: &Hidden) -> Result<Vec<Case>, Error> {
    let subject = |(index, text): (usize, &String)| {
        let mut words = text.split_whitespace().map(str::to_owned);
        let (Some(native), Some(watched)) = (words.next(), words.next()) else {
            return Err(Error::Outside(text.clone()));
        };
        let name = Path::new(&watched).file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let directory = args.dir.join(format!("{index}-{name}"));
        fs::create_dir_all(&directory).map_err(|source| Error::File {
            path: directory.clone(),
            source,
        })?;
        let subject = Subject {
            name,
            native: PathBuf::from(native),
            watched: PathBuf::from(watched),
            arguments: words.collect(),
            sleeps: false,
            directory,
        };
        let races = None;
        Ok(Case { subject, races })
    };
    args.outside.iter().enumerate().map(subject).collect()
}
