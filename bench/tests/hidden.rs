//! `racehound-bench hidden` as a process, on two small programs.

use std::process::Command;

use tempfile::TempDir;

fn hidden(directory: &TempDir, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_racehound-bench"))
        .args(["hidden", "--runs", "4", "--many", "0", "--dir"])
        .arg(directory.path())
        .args(arguments)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{complaints}");
    printed
}

#[test]
fn drfinder_shows_what_is_hidden() {
    let directory = TempDir::new().unwrap();
    let printed = hidden(&directory, &["--programs", "ladder-d2"]);
    let row = printed.lines().find(|line| line.contains("ladder-d2-"));
    let cells: Vec<&str> = row.unwrap().split_whitespace().collect();
    let by_drfinder: usize = cells[4].parse().unwrap();
    assert!(by_drfinder > 0, "{printed}");
    for what in ["Table 3", "Figure 6", "Figure 7", "at least 23 % more"] {
        assert!(printed.contains(what), "{what}\n{printed}");
    }
}

#[test]
fn where_nothing_can_race_nothing_is_shown() {
    let directory = TempDir::new().unwrap();
    let printed = hidden(&directory, &["--programs", "safe"]);
    let sum = printed.lines().find(|line| line.contains("sum, mean"));
    let cells: Vec<&str> = sum.unwrap().split_whitespace().collect();
    assert_eq!(cells[2..6], ["0", "0", "0", "0"], "{printed}");
}
