//! Repetition: every program of the gallery over and over with the same seed. Its
//! executions have one hash; where they do not, they must have said that they may not.

use std::collections::BTreeMap;
use std::path::Path;

use super::bench::{Bench, Run};
use super::gallery;
use crate::live::Error;

/// What the seed decides.
const PLAN: &str = "random:seed=7";

/// What an execution printed of itself: the hashes of its processes.
fn hashes(run: &Run) -> String {
    let told = |line: &&str| line.contains(" steps, hash ");
    let mut lines: Vec<&str> = run.stderr.lines().filter(told).collect();
    lines.sort_unstable();
    lines.join("; ")
}

/// Whether an execution says that the seed alone does not repeat it.
fn is_doubted(run: &Run) -> bool {
    run.stderr.contains("so the seed alone does not repeat")
}

/// Runs each program so often. Whether all had one hash, or said why not.
pub(super) fn print(bench: &Bench, times: u64, directory: &Path) -> Result<bool, Error> {
    let programs = gallery::build(directory)?;
    let (mut same, mut doubted, mut silent) = (0, 0, 0);
    for (program, built) in &programs {
        let mut seen: BTreeMap<String, u64> = BTreeMap::new();
        let mut said = false;
        for _ in 0..times {
            let run = bench.run(built, &program.args, ("none", PLAN))?;
            said |= is_doubted(&run);
            *seen.entry(hashes(&run)).or_default() += 1;
        }
        match (seen.len(), said) {
            (1, _) if !seen.contains_key("") => same += 1,
            (_, true) => doubted += 1,
            (_, false) => silent += 1,
        }
        if seen.len() > 1 || seen.contains_key("") {
            println!("{}: {seen:?}, said so: {said}", program.name());
        }
    }
    println!(
        "{times} executions each of {} programs: {same} have one hash, {doubted} have several \
         or none and say so, {silent} do not say so",
        programs.len()
    );
    Ok(silent == 0)
}
