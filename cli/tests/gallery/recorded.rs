//! A run that is recorded under a detector, and its trace analysed by it: both show
//! races at the same places.
//!
//! Nothing orders accesses that race, so they may be in the trace in another order
//! than the detector saw them in, and the first of several that race with one is
//! then another. So not the pairs are compared: for each race of the one there is
//! a race of the other with a position in common. Even so a race may be lost: the
//! trace may have an access of a block before its allocation, if nothing orders
//! the two. So a program with a bug has three attempts. Detectors that only ask for
//! locks depend on the order even more: of these, only the trace is looked at.
//!
//! Each program is tried under FastTrack and one other detector, which depends on
//! its name; with `RACEHOUND_GALLERY=all` under every one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

use super::{EXIT_CODE, Program, build, check_each, finish, ways_for};

const RACEHOUND: &str = env!("CARGO_BIN_EXE_racehound");

/// Detectors beside FastTrack.
const OTHERS: [&str; 8] = [
    "none",
    "acculock",
    "djit",
    "hybrid",
    "multirace",
    "eraser",
    "lockset",
    "racetrack",
];
/// Those for which a trace may show what the run did not.
const LOCKS_ONLY: [&str; 3] = ["eraser", "lockset", "racetrack"];

/// Programs in which a run and its trace differ, and why.
const BEYOND: [(&str, &str); 6] = [
    ("clean/annotated_benign.c", "traces have no excuses"),
    ("bugs/destroy_race.c", "the use of a lock is no access"),
    ("bugs/mutex_init_late.c", "the use of a lock is no access"),
    ("bugs/iterator_erased.cpp", "what is ordered does not race"),
    ("bugs/use_after_free_alone.c", "one thread does not race"),
    (
        "bugs/use_after_free_ordered.c",
        "what is ordered does not race",
    ),
];

/// Programs that use locks in a way that no good execution does.
const MISUSES: [&str; 3] = [
    "bugs/unlock_foreign.c",
    "bugs/unlock_rwlock_unlocked.c",
    "bugs/unlock_unlocked.c",
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

fn detectors_for(program: &Program) -> Vec<&'static str> {
    let mut detectors = vec!["fasttrack"];
    match env::var("RACEHOUND_GALLERY").is_ok_and(|value| value == "all") {
        true => detectors.extend(OTHERS),
        false => {
            let number: usize = program.name().bytes().map(usize::from).sum();
            detectors.push(OTHERS[number / 7 % OTHERS.len()]);
        }
    }
    detectors
}

fn check(program: &Program) -> Result<(), String> {
    let directory = tempfile::tempdir().unwrap();
    let executable = build(program, &ways_for(program)[0], directory.path());
    let attempts = match program.expected.is_empty() {
        true => 1,
        false => 3,
    };
    let checks = detectors_for(program).into_iter().map(|detector| {
        let attempt = || check_under(detector, program, &executable);
        let succeeded = (1..attempts).any(|_| attempt().is_ok());
        match succeeded {
            true => Ok(()),
            false => attempt().map_err(|why| format!("{} under {detector}: {why}", program.name())),
        }
    });
    checks.collect()
}

fn check_under(detector: &str, program: &Program, executable: &Path) -> Result<(), String> {
    let directory = executable.parent().unwrap();
    let trace = format!("{detector}.rht");
    for left_over in traces(directory, &trace) {
        fs::remove_file(left_over).unwrap();
    }
    let racehound = |arguments: &[&str]| {
        let mut command = Command::new(RACEHOUND);
        command.args(arguments);
        command
    };
    let mut run = racehound(&["run", "--record", &trace, "--json", "live.json"]);
    run.args(["--detector", detector, "--"]);
    run.arg(executable).args(&program.args);
    let Some(run) = finish(&mut run, directory) else {
        return Err("does not end".to_owned());
    };
    let live = races(&directory.join("live.json"));
    let mut offline = BTreeSet::new();
    for trace in traces(directory, &trace) {
        let path = trace.to_str().unwrap();
        let stat = racehound(&["trace", "stat", path]).output().unwrap();
        let text = String::from_utf8_lossy(&stat.stdout);
        let sound = text.contains("  well-formed") || MISUSES.contains(&&*program.name());
        if !stat.status.success() || !sound {
            return Err(format!("after {}: {stat:?}", run.status));
        }
        let judge = if detector == "none" {
            "fasttrack"
        } else {
            detector
        };
        let mut analysis = racehound(&["analyze", path, "--json", "offline.json"]);
        let Some(analysis) = finish(analysis.args(["--detector", judge]), directory) else {
            return Err("its analysis does not end".to_owned());
        };
        if ![Some(0), Some(EXIT_CODE)].contains(&analysis.status.code()) {
            let errors = String::from_utf8_lossy(&analysis.stderr);
            return Err(format!("after {}: {errors}", run.status));
        }
        offline.extend(races(&directory.join("offline.json")));
    }
    let same = match detector {
        _ if BEYOND.iter().any(|(beyond, _)| *beyond == program.name()) => true,
        _ if LOCKS_ONLY.contains(&detector) => true,
        // Nothing is told, and all is in the trace.
        "none" => live.is_empty() && (offline.is_empty() || !program.expected.is_empty()),
        _ => {
            let known = |races: &BTreeSet<Pair>, race: &Pair| {
                let shared = |other: &Pair| other.iter().any(|position| race.contains(position));
                races.iter().any(shared)
            };
            live.iter().all(|race| known(&offline, race))
                && offline.iter().all(|race| known(&live, race))
        }
    };
    match same {
        true => Ok(()),
        false => Err(format!("{live:?} live, {offline:?} in the trace")),
    }
}

/// The traces of all processes that a run has left: of the first, and those beside.
fn traces(directory: &Path, first: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(directory).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let is_trace = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(first)
    };
    paths.filter(is_trace).collect()
}

#[test]
fn a_recorded_bug_races_at_the_same_places() {
    check_each(&super::programs("bugs"), check);
}

#[test]
fn a_recorded_clean_program_shows_none() {
    check_each(&super::programs("clean"), check);
}
