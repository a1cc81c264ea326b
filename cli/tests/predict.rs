//! `racehound predict` over traces, run as users run it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const FINDINGS: i32 = 66;
const USAGE: i32 = 2;

/// All accesses of `count` are locked; T1's two are in one region.
const STRING_BUFFER: &str = "\
T1|acq(own)|1
T1|acq(other)|2
T1|r(count)|3
T1|rel(other)|4
T1|acq(other)|5
T1|r(count)|6
T1|rel(other)|7
T1|rel(own)|8
T2|acq(other)|9
T2|w(count)|10
T2|rel(other)|11
";

struct Dir(TempDir);

impl Dir {
    fn with(name: &str, text: &str) -> Self {
        let dir = Self(tempfile::tempdir().unwrap());
        fs::write(dir.path(name), text).unwrap();
        dir
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn racehound(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_racehound"));
        let command = command.args(args).current_dir(self.0.path());
        command.stdin(Stdio::null()).output().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_prediction_has_its_places_locks_and_region() {
    let dir = Dir::with("run.std", STRING_BUFFER);
    let output = dir.racehound(&["predict", "run.std"]);
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0), "predicted is not observed");
    let shown = text(&output.stdout);
    assert!(shown.lines().all(|line| line.len() <= 80), "{shown}");
    for part in [
        "R1 atomicity violation on count (r-w-r)  predicted",
        "(1) read  at 3, thread T1, protected by own, other",
        "(2) write at 10, thread T2, protected by other",
        "(3) read  at 6, thread T1, protected by own, other",
        "(1) and (3) are in a critical section of own; there is a schedule for it\n        (pecan)\n",
        "0 observed, 1 predicted; exit code 0",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let strict = dir.racehound(&["predict", "run.std", "--fail-on", "predicted"]);
    assert_eq!(strict.status.code(), Some(FINDINGS));
}

#[test]
fn json_keeps_the_contract() {
    let dir = Dir::with("run.std", STRING_BUFFER);
    let output = dir.racehound(&["predict", "run.std", "--json", "-"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let finding = &report["findings"][0];
    assert_eq!(finding["kind"], "atomicity");
    assert_eq!(finding["status"], "predicted");
    assert_eq!(finding["found_by"][0], "pecan");
    assert_eq!(finding["accesses"].as_array().unwrap().len(), 3);
    assert_eq!(finding["accesses"][1]["op"], "write");
}

#[test]
fn schedules_are_written_cut_after_the_violation() {
    let dir = Dir::with("run.std", STRING_BUFFER);
    let output = dir.racehound(&["predict", "run.std", "--schedules", "clips"]);
    assert_eq!(output.status.code(), Some(0));
    let clip = fs::read_to_string(dir.path("clips/R1.schedule")).unwrap();
    let schedule: racehound_schedule::Schedule = clip.parse().unwrap();
    assert_eq!(schedule.anomaly.unwrap().name, "atomicity-r-w-r");
    assert!(clip.ends_with("e3(s1) read 6\nend\n"), "{clip}");
}

#[test]
fn a_users_pattern_is_found_under_its_name() {
    let dir = Dir::with("run.std", STRING_BUFFER);
    let pattern = "pattern seen-before\nT = t1 t2\nSV = x x\nAR = u v\nAT = r w\n";
    fs::write(dir.path("mine.txt"), pattern).unwrap();
    let output = dir.racehound(&[
        "predict",
        "run.std",
        "--pattern",
        "mine.txt",
        "--only-patterns",
        "--json",
        "-",
    ]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 2, "{findings:#?}");
    assert!(findings.iter().all(|f| f["kind"] == "pattern:seen-before"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let dir = Dir::with("run.std", STRING_BUFFER);
    fs::write(dir.path("bad.txt"), "pattern p\nT = t1 t2\nSV = x\n").unwrap();
    fs::write(dir.path("none.txt"), "// nothing\n").unwrap();
    for (args, why) in [
        (&["--pattern", "bad.txt"][..], "bad.txt: line"),
        (&["--pattern", "none.txt"], "there is no pattern in it"),
        (&["--pattern", "gone.txt"], "gone.txt"),
        (&["--confirm"], "PROGRAM"),
    ] {
        let output = dir.racehound(&[&["predict", "run.std"], args].concat());
        assert_eq!(output.status.code(), Some(USAGE), "{args:?}");
        let said = text(&output.stderr);
        assert!(said.contains(why), "{args:?}: {said}");
    }
}

#[test]
fn a_window_and_unknown_functions_are_told() {
    let dir = Dir::with("run.std", STRING_BUFFER);
    let output = dir.racehound(&["predict", "run.std", "--window", "3"]);
    let shown = text(&output.stdout);
    assert!(
        shown.contains("only within 3 events of each other"),
        "{shown}"
    );
    assert!(shown.contains("0 predicted"), "{shown}");
    let output = dir.racehound(&["predict", "run.std", "--atomic-functions", "push*"]);
    let said = text(&output.stderr);
    assert!(said.contains("no calls are recorded in it"), "{said}");
}
