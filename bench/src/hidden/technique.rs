//! Ways to run a program that is watched by FastTrack, and what each run shows.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use racehound_schedule::{Collecting, ConTest, Plan};

use crate::races::{self, Race};

/// A program that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Technique {
    /// The system.
    FastTrack,
    ConTest,
    Pct,
    DrFinder {
        depth: u32,
    },
    /// The system, while may-trigger relations are collected for DrFinder; nobody
    /// looks for races.
    Collect {
        depth: u32,
    },
}

/// What a run showed, and what it took.
pub(super) struct Shown {
    pub(super) races: BTreeSet<Race>,
    pub(super) seconds: f64,
    /// What the strategy says of itself.
    pub(super) suspensions: u64,
    /// The share of suspensions that led to thrashing.
    pub(super) thrashing: f64,
    /// The program did not end by itself.
    pub(super) hung: bool,
}

/// A program to be run in all ways.
pub(super) struct Subject {
    pub(super) name: String,
    /// Without instrumentation.
    pub(super) native: PathBuf,
    /// With the runtime.
    pub(super) watched: PathBuf,
    pub(super) arguments: Vec<String>,
    /// It sleeps on purpose.
    pub(super) sleeps: bool,
    pub(super) directory: PathBuf,
}

impl Technique {
    fn options(self, seed: u64, relations: &Path) -> String {
        let collecting = |depth| Collecting {
            depth,
            relations: Some(relations.display().to_string()),
        };
        let plan = match self {
            Self::FastTrack => Plan::Free,
            Self::ConTest => Plan::ConTest(ConTest::new(seed)),
            Self::Pct => format!("pct:seed={seed}").parse().expect("it is a plan"),
            Self::DrFinder { depth } => Plan::DrFinder {
                seed,
                collecting: collecting(depth),
            },
            Self::Collect { depth } => Plan::Collect(collecting(depth)),
        };
        let detector = match self {
            Self::Collect { .. } => "none",
            _ => "fasttrack",
        };
        match plan {
            Plan::Free => format!("detector={detector}"),
            plan => format!("detector={detector}:schedule='{plan}'"),
        }
    }
}

impl Subject {
    /// Where the relations are kept that a technique collects.
    pub(super) fn relations(&self, technique: Technique) -> PathBuf {
        let depth = match technique {
            Technique::DrFinder { depth } | Technique::Collect { depth } => depth,
            _ => 0,
        };
        self.directory.join(format!("relations-{depth}"))
    }

    /// Runs it once.
    pub(super) fn run(&self, technique: Technique, seed: u64) -> io::Result<Shown> {
        let findings = self.directory.join("findings");
        fs::write(&findings, "")?;
        let complaints = self.directory.join("stderr");
        let options = format!(
            "{}:findings='{}':print_reports=0:exitcode=0:atexit_sleep_ms=0",
            technique.options(seed, &self.relations(technique)),
            findings.display()
        );
        let mut command = Command::new(&self.watched);
        command
            .env_remove("TSAN_OPTIONS")
            .env("RACEHOUND_OPTIONS", options)
            .stderr(fs::File::create(&complaints)?);
        let (seconds, hung) = self.timed(command)?;
        let said = fs::read_to_string(&complaints).unwrap_or_default();
        let number = |before: &str| {
            let words: Vec<&str> = said.split_whitespace().collect();
            let at = words.windows(2).find(|pair| pair[1].starts_with(before));
            at.and_then(|pair| pair[0].parse().ok())
        };
        let rate = said
            .split_once("thrashing rate ")
            .and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
        Ok(Shown {
            races: races::distinct(&fs::read_to_string(&findings)?),
            seconds,
            suspensions: number("suspensions").unwrap_or(0),
            thrashing: rate.unwrap_or(0.0) / 100.0,
            hung,
        })
    }

    /// Runs it without anybody who looks on: the time that takes.
    pub(super) fn run_native(&self) -> io::Result<f64> {
        let mut command = Command::new(&self.native);
        command.stderr(Stdio::null());
        self.timed(command).map(|(seconds, _)| seconds)
    }

    fn timed(&self, mut command: Command) -> io::Result<(f64, bool)> {
        let begin = Instant::now();
        let mut child = command
            .args(&self.arguments)
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        loop {
            if child.try_wait()?.is_some() {
                return Ok((begin.elapsed().as_secs_f64(), false));
            }
            if begin.elapsed() > PATIENCE {
                child.kill()?;
                child.wait()?;
                return Ok((begin.elapsed().as_secs_f64(), true));
            }
            thread::sleep(Duration::from_micros(200));
        }
    }
}
