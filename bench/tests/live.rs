//! `racehound-bench live` as a process, on one small program.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

fn live(directory: &TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_racehound-bench"))
        .args(["live", "--quick", "--dir"])
        .arg(directory.path())
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn a_program_is_measured_in_every_way() {
    let directory = TempDir::new().unwrap();
    let json = directory.path().join("figures.json");
    let arguments = ["--programs", "counter?", "--threads", "2", "--json"];
    let output = live(
        &directory,
        &[&arguments[..], &[json.to_str().unwrap()]].concat(),
    );
    let printed = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{complaints}");
    assert_eq!(complaints, "", "quiet where nobody watches");
    assert!(printed.contains("\n  counters "), "{printed}");
    assert!(printed.contains("none ÷ empty, CPU time"), "{printed}");

    let figures: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let programs = figures["programs"].as_array().unwrap();
    assert_eq!(programs.len(), 1);
    let ways = programs[0]["ways"].as_array().unwrap();
    for name in ["native", "empty", "none", "fasttrack", "acculock", "record"] {
        let way = ways.iter().find(|way| way["way"] == name).expect(name);
        assert!(way["cpu_seconds"].as_f64().unwrap() > 0.0, "{name}");
        assert!(way["peak_kib"].as_u64().unwrap() > 0, "{name}");
    }
    let measured = |limit: &Value| limit["measured"].as_f64();
    let limits = figures["limits"].as_array().unwrap();
    let off = limits
        .iter()
        .find(|limit| limit["at_most"] == 1.05)
        .unwrap();
    assert!(measured(off).unwrap() > 0.0);
}

#[test]
fn only_the_ways_asked_for_are_measured() {
    let directory = TempDir::new().unwrap();
    let output = live(&directory, &["--programs", "options", "--ways", "empty"]);
    let printed = String::from_utf8_lossy(&output.stdout);
    let head = printed.lines().nth(1).unwrap();
    let words: Vec<_> = head.split_whitespace().take(5).collect();
    assert_eq!(words, ["program", "native", "empty", "fasttrack", "÷"]);
}

#[test]
fn an_unknown_program_is_refused_with_those_there_are() {
    let directory = TempDir::new().unwrap();
    let output = live(&directory, &["--programs", "none such"]);
    assert!(!output.status.success());
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(complaints.contains("counters"), "{complaints}");
}
