//! A run that is recorded under FastTrack, and its trace analysed by it: both show
//! races at the same places.
//!
//! Nothing orders accesses that race, so they may be in the trace in another order
//! than the detector saw them in, and the first of several that race with one is
//! then another. So not the pairs are compared: for each race of the one there is
//! a race of the other with a position in common.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{Program, build, check_each, finish, ways_for};

const RACEHOUND: &str = env!("CARGO_BIN_EXE_racehound");

/// Programs in which a run and its trace differ, and why.
const BEYOND: [(&str, &str); 6] = [
    ("clean/annotated_benign.c", "traces have no excuses"),
    ("bugs/destroy_race.c", "the use of a lock is no access"),
    ("bugs/mutex_init_late.c", "the use of a lock is no access"),
    ("bugs/fork_child_race.c", "children are not recorded"),
    ("bugs/use_after_free_alone.c", "one thread does not race"),
    (
        "bugs/use_after_free_ordered.c",
        "what is ordered does not race",
    ),
];

/// A race, as its two source positions in order.
type Pair = Vec<(String, u64)>;

fn races(findings: &Path) -> BTreeSet<Pair> {
    let text = fs::read_to_string(findings).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    let position = |access: &Value| {
        let file = Path::new(access["file"].as_str().unwrap_or("?"));
        let name = file.file_name().unwrap_or_default();
        let line = access["line"].as_u64().unwrap_or(0);
        (name.to_string_lossy().into_owned(), line)
    };
    findings
        .filter(|finding| finding["kind"] == "race")
        .map(|finding| {
            let accesses = finding["accesses"].as_array().unwrap();
            let mut pair: Pair = accesses.iter().map(position).collect();
            pair.sort();
            pair
        })
        .collect()
}

fn check(program: &Program, detector: &str) -> Result<(), String> {
    let name = program.name();
    if BEYOND.iter().any(|(beyond, _)| *beyond == name) {
        return Ok(());
    }
    let directory = tempfile::tempdir().unwrap();
    let executable = build(program, &ways_for(program)[0], directory.path());
    let file = |name: &str| directory.path().join(name);
    let racehound = |arguments: &[&str]| {
        let mut command = Command::new(RACEHOUND);
        command.args(arguments).args(["--detector", detector]);
        command
    };
    let mut run = racehound(&["run", "--record", "trace.rht", "--json", "live.json"]);
    run.arg("--").arg(&executable).args(&program.args);
    let Some(run) = finish(&mut run, directory.path()) else {
        return Err(format!("{name}: does not end"));
    };
    let mut analysis = racehound(&["analyze", "trace.rht", "--json", "offline.json"]);
    let Some(analysis) = finish(&mut analysis, directory.path()) else {
        return Err(format!("{name}: its analysis does not end"));
    };
    let errors = String::from_utf8_lossy(&analysis.stderr);
    if ![Some(0), Some(66)].contains(&analysis.status.code()) {
        return Err(format!("{name}: after {}: {errors}", run.status));
    }
    let (live, offline) = (races(&file("live.json")), races(&file("offline.json")));
    let known = |races: &BTreeSet<Pair>, race: &Pair| {
        let shared = |other: &Pair| other.iter().any(|position| race.contains(position));
        races.iter().any(shared)
    };
    let same = live.iter().all(|race| known(&offline, race))
        && offline.iter().all(|race| known(&live, race));
    match same {
        true => Ok(()),
        false => Err(format!("{name}: {live:?} live, {offline:?} in the trace")),
    }
}

#[test]
fn a_recorded_bug_races_at_the_same_places() {
    check_each(&super::programs("bugs"), |program| {
        check(program, "fasttrack")
    });
}

#[test]
fn a_recorded_clean_program_shows_none() {
    check_each(&super::programs("clean"), |program| {
        check(program, "fasttrack")
    });
}
