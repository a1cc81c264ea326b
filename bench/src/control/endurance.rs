//! Endurance: the programs of the gallery under control, some thousand times. No run may
//! hang, and none may end otherwise than its program says because of us.

use std::path::Path;

use racehound_report::table::{Table, thousands};

use super::bench::{Bench, Built, Run};
use super::gallery;
use super::table::pair;
use crate::gallery::Program;
use crate::live::Error;

/// The strategies that take turns. RaceFuzzer gets a pair that the hybrid detector
/// warns of, and has no turn where there is none.
const STRATEGIES: [&str; 5] = ["random", "pct", "racefuzzer", "restless", "drfinder"];

/// A program under control, and what RaceFuzzer is told of it.
struct Candidate {
    program: Program,
    built: Built,
    pairs: Vec<[String; 2]>,
}

impl Candidate {
    fn new(bench: &Bench, program: Program, built: Built) -> Result<Self, Error> {
        let plan = ("hybrid", "random:seed=0");
        let run = bench.run(&built, &program.args, plan)?;
        let pairs = run.findings.iter().filter_map(pair).collect();
        Ok(Self {
            program,
            built,
            pairs,
        })
    }

    /// The plan of a turn.
    fn plan(&self, strategy: &str, seed: u64) -> Option<String> {
        let plan = format!("{strategy}:seed={seed}");
        match strategy {
            "racefuzzer" => {
                let index = seed as usize % self.pairs.len().max(1);
                let [first, second] = self.pairs.get(index)?;
                Some(format!("{plan},pair={first},{second}"))
            }
            _ => Some(plan),
        }
    }

    /// What is wrong with a run, if something is.
    fn fault(&self, run: &Run) -> Option<String> {
        let Some(status) = run.status else {
            return Some("no end".to_owned());
        };
        if run.stderr.contains("panicked at") || run.stderr.contains("racehound: fatal") {
            return Some("a failure of ours".to_owned());
        }
        let is_clean = self.program.expected.is_empty() && !self.program.may_fail;
        if !is_clean {
            return None;
        }
        if run.stderr.contains("ThreadSanitizer: deadlock") {
            return Some("a deadlock in a program without".to_owned());
        }
        (status.code() != Some(self.program.exit)).then(|| status.to_string())
    }
}

/// Runs the gallery so often, and tells every run that is not as it should be. Whether
/// all were.
pub(super) fn print(bench: &Bench, runs: u64, directory: &Path) -> Result<bool, Error> {
    let mut candidates = Vec::new();
    for (program, built) in gallery::build(directory)? {
        candidates.push(Candidate::new(bench, program, built)?);
    }
    let mut done = [0u64; STRATEGIES.len()];
    let mut faults = Vec::new();
    let mut seed = 0;
    while done.iter().sum::<u64>() < runs && !candidates.is_empty() {
        for candidate in &candidates {
            for (strategy, done) in STRATEGIES.iter().zip(&mut done) {
                let Some(plan) = candidate.plan(strategy, seed) else {
                    continue;
                };
                let arguments = &candidate.program.args;
                let run = bench.run(&candidate.built, arguments, ("none", &plan))?;
                *done += 1;
                if let Some(fault) = candidate.fault(&run) {
                    println!("{} by {plan}: {fault}", candidate.program.name());
                    faults.push(fault);
                }
            }
        }
        seed += 1;
    }
    let mut table = Table::new(["strategy", "runs"]);
    for (strategy, done) in STRATEGIES.iter().zip(done) {
        table.row([(*strategy).to_owned(), thousands(done)]);
    }
    println!(
        "Endurance, {} programs, {} runs not as they should be:",
        candidates.len(),
        faults.len()
    );
    print!("{}", table.render());
    Ok(faults.is_empty())
}
