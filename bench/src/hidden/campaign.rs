//! A technique on a program, run after run.

use std::collections::BTreeSet;
use std::{fs, io};

use super::technique::{Subject, Technique};
use crate::races::Race;

/// Runs that only collect: one would do, but for its time.
const COLLECTING: usize = 3;

/// What some runs have shown.
#[derive(Default)]
pub(super) struct Campaign {
    /// How many distinct races there were after each run.
    pub(super) cumulative: Vec<BTreeSet<Race>>,
    /// The time of the fastest run, in seconds: others were held up by the machine.
    pub(super) seconds: f64,
    /// The share of suspensions that led to thrashing.
    pub(super) thrashing: f64,
    pub(super) hung: usize,
}

impl Campaign {
    /// So many runs, with a seed each.
    pub(super) fn run(subject: &Subject, technique: Technique, runs: usize) -> io::Result<Self> {
        let mut campaign = Self {
            seconds: f64::INFINITY,
            ..Self::default()
        };
        let mut seen = BTreeSet::new();
        let (mut suspensions, mut thrashings) = (0, 0.0);
        for seed in 1..=runs {
            let shown = subject.run(technique, seed as u64)?;
            seen.extend(shown.races);
            campaign.cumulative.push(seen.clone());
            campaign.seconds = campaign.seconds.min(shown.seconds);
            campaign.hung += usize::from(shown.hung);
            suspensions += shown.suspensions;
            thrashings += shown.suspensions as f64 * shown.thrashing;
        }
        if suspensions > 0 {
            campaign.thrashing = thrashings / suspensions as f64;
        }
        Ok(campaign)
    }

    /// DrFinder: runs that collect, and then so many that are scheduled, with what
    /// those before have told. What the fastest of the first took comes along.
    pub(super) fn run_drfinder(
        subject: &Subject,
        depth: u32,
        runs: usize,
    ) -> io::Result<(Self, f64)> {
        let technique = Technique::DrFinder { depth };
        match fs::remove_file(subject.relations(technique)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let collecting = Self::run(subject, Technique::Collect { depth }, COLLECTING)?;
        let campaign = Self::run(subject, technique, runs)?;
        Ok((campaign, collecting.seconds))
    }

    /// All races.
    pub(super) fn races(&self) -> BTreeSet<Race> {
        self.cumulative.last().cloned().unwrap_or_default()
    }
}
