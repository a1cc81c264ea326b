//! The command, run as users run it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use racehound_trace::generate::{Chaos, chaos};
use racehound_trace::{Space, Trace, binary};
use tempfile::TempDir;

const FINDINGS: i32 = 66;
const USAGE: i32 = 2;

fn racehound(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_racehound"));
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Runs a command that must succeed without complaint.
fn quietly(args: &[&str]) -> String {
    let output = racehound(args);
    assert_eq!(stderr(&output), "", "{args:?}");
    assert_eq!(output.status.code(), Some(0), "{args:?}");
    stdout(&output)
}

/// Runs a command that must fail with exit code 2, and returns what it says.
fn refused(args: &[&str]) -> String {
    let output = racehound(args);
    assert_eq!(
        output.status.code(),
        Some(USAGE),
        "{args:?}: {}",
        stderr(&output)
    );
    assert_eq!(stdout(&output), "", "{args:?}");
    stderr(&output)
}

fn shipped(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.join("examples").join(name).display().to_string()
}

fn example() -> String {
    shipped("bank.std")
}

struct Dir(TempDir);

impl Dir {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// A small binary trace with every kind of operation.
    fn chaos(&self, name: &str) -> (String, Vec<u8>, Trace) {
        // Some seeds lead to a deadlock before long.
        let long = (1..).map(|seed| {
            chaos(&Chaos {
                seed,
                events: 300,
                space: Space::Names,
                ..Chaos::default()
            })
        });
        let trace = long.into_iter().find(|t| t.events.len() == 300).unwrap();
        let mut writer = binary::Writer::new(Vec::new(), trace.space).unwrap();
        for events in trace.events.chunks(50) {
            writer.write(&trace.tables, events).unwrap();
            writer.flush().unwrap();
        }
        let bytes = writer.finish().unwrap();
        fs::write(self.path(name), &bytes).unwrap();
        (self.name(name), bytes, trace)
    }
}

#[test]
fn the_example_shows_what_fasttrack_misses() {
    let output = racehound(&["analyze", &example()]);
    assert_eq!(output.status.code(), Some(FINDINGS));
    insta::assert_snapshot!(stdout(&output), @r"
    R1 race on served  observed
        read  at bank.c:28, thread T2, protected by no lock
        write at bank.c:19, thread T1, protected by no lock
        nothing orders the two accesses in this execution (fasttrack)
        at most locks order them, and they have none in common (acculock)

    R2 race on balance  predicted
        read  at bank.c:41, thread T3, protected by no lock
        write at bank.c:16, thread T1, protected by accounts
        at most locks order them, and they have none in common (acculock)

    Found by the row and missed by the column (locations):
                 found  FastTrack  AccuLock
      FastTrack      1          ·         0
      AccuLock       2          1         ·

    1 observed, 1 predicted; exit code 66: 1 at the --fail-on level
    ");
    assert_eq!(stderr(&output), "");
}

#[test]
fn counts_are_those_of_the_paper_s_tables() {
    let output = racehound(&[
        "analyze",
        &example(),
        "--stats",
        "-d",
        "fasttrack,acculock,eraser",
    ]);
    let text = stdout(&output);
    let table = text.split("Reads and writes").nth(1).unwrap();
    insta::assert_snapshot!(table, @r"
     by what they met, operations on clocks and locksets:
                 r same  r excl  r shared  w same  w |R|≤1  w |R|>1  VC ops  lookups  intersects  inserts
      FastTrack       1       4         1       0        4        1      11       11           0        1
      AccuLock        1       2         2       0        2        2       6       10           2        1
      Eraser          -       -         -       -        -        -       0       20           5        1

    1 observed, 3 predicted; exit code 66: 1 at the --fail-on level
    ");
}

#[test]
fn exit_codes_follow_the_level_that_fails() {
    let code = |extra: &[&str]| {
        let example = example();
        let args: Vec<&str> = ["analyze", example.as_str()]
            .iter()
            .chain(extra)
            .copied()
            .collect();
        racehound(&args).status.code().unwrap()
    };
    assert_eq!(code(&[]), FINDINGS);
    assert_eq!(code(&["--fail-on", "confirmed"]), 0);
    assert_eq!(code(&["--fail-on", "never"]), 0);
    assert_eq!(code(&["--detector", "acculock"]), 0);
    assert_eq!(
        code(&["--detector", "acculock", "--fail-on", "predicted"]),
        FINDINGS
    );
}

#[test]
fn json_keeps_the_contract() {
    let output = racehound(&["analyze", &example(), "--json", "-"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["version"], 1);
    assert_eq!(report["program"][0], example());
    assert_eq!(report["runs"], 1);
    let finding = &report["findings"][1];
    assert_eq!(finding["id"], "R2");
    assert_eq!(finding["kind"], "race");
    assert_eq!(finding["status"], "predicted");
    assert_eq!(finding["location"]["name"], "balance");
    assert_eq!(finding["found_by"], serde_json::json!(["acculock"]));
    assert_eq!(finding["first_run"], 1);
    let access = &finding["accesses"][1];
    assert_eq!(access["op"], "write");
    assert_eq!(access["thread"], "T1");
    assert_eq!(access["file"], "bank.c");
    assert_eq!(access["line"], 16);
    assert_eq!(access["locks"], serde_json::json!(["accounts"]));
    assert_eq!(access["atomic"], false);
    assert!(access["stack"].is_array());
}

#[test]
fn json_goes_to_a_file_beside_the_text() {
    let dir = Dir::new();
    let output = racehound(&["analyze", &example(), "--json", &dir.name("out.json")]);
    assert!(stdout(&output).contains("R1 race on served"));
    let json = fs::read_to_string(dir.path("out.json")).unwrap();
    assert!(json.contains("\"observed\""));
}

#[test]
fn one_seed_one_file_and_the_statistics_say_what_is_in_it() {
    let dir = Dir::new();
    let (a, b) = (dir.name("a.rht"), dir.name("b.rht"));
    for file in [&a, &b] {
        let args = [
            "--events",
            "20k",
            "--seed",
            "7",
            "--races",
            "2",
            "--threads",
            "3",
        ];
        let args = [&["trace", "gen", "-o", file][..], &args].concat();
        assert_eq!(quietly(&args), "");
    }
    assert_eq!(fs::read(&a).unwrap(), fs::read(&b).unwrap());
    let stats = quietly(&["trace", "stat", &a]);
    let number = |name: &str| {
        let line = stats
            .lines()
            .find(|line| line.trim_start().starts_with(name))
            .unwrap();
        line.split_whitespace()
            .last()
            .unwrap()
            .replace(',', "")
            .parse::<u64>()
            .unwrap()
    };
    assert!((20_000..21_000).contains(&number("events")), "{stats}");
    assert_eq!(number("threads"), 4);
    assert_eq!(number("fork"), 3);
    assert!(
        stats.contains("well-formed: an execution can look like this"),
        "{stats}"
    );
}

#[test]
fn a_broken_trace_is_counted_and_called_so() {
    let dir = Dir::new();
    fs::write(dir.path("odd.std"), "T0|acq(m)|1\nT1|acq(m)|2\n").unwrap();
    let stats = quietly(&["trace", "stat", &dir.name("odd.std")]);
    let expected =
        "not well-formed: event 1: a lock is taken that another thread holds (thread T1)";
    assert!(stats.contains(expected), "{stats}");
}

#[test]
fn text_survives_the_way_there_and_back() {
    let dir = Dir::new();
    quietly(&["trace", "convert", &example(), &dir.name("bank.rht")]);
    quietly(&[
        "trace",
        "convert",
        &dir.name("bank.rht"),
        &dir.name("back.std"),
    ]);
    let original = fs::read_to_string(example()).unwrap();
    let events: String = original
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(fs::read_to_string(dir.path("back.std")).unwrap(), events);
    let of = |file: &str| stdout(&racehound(&["analyze", file, "-d", "all"]));
    assert_eq!(of(&dir.name("bank.rht")), of(&example()));
}

#[test]
fn what_std_cannot_express_is_said() {
    let dir = Dir::new();
    let (file, _, _) = dir.chaos("all.rht");
    let output = racehound(&["trace", "convert", &file, &dir.name("all.std")]);
    assert_eq!(output.status.code(), Some(0));
    let message = stderr(&output);
    assert!(
        message.starts_with("racehound: STD text cannot express all of the trace:"),
        "{message}"
    );
    assert!(message.contains("× fence: left out"), "{message}");
    assert!(
        message.contains("× semaphore post: written as acquire and release of a lock"),
        "{message}"
    );
    assert!(
        message.contains("× acquire: read mode written as a plain lock"),
        "{message}"
    );
}

#[test]
fn a_target_without_a_format_is_refused_before_anything_is_written() {
    let dir = Dir::new();
    let message = refused(&["trace", "convert", &example(), &dir.name("bank.txt")]);
    assert!(message.contains("use --to binary or --to std"), "{message}");
    assert!(!dir.path("bank.txt").exists());
}

#[test]
fn a_trace_cut_short_is_read_with_a_warning() {
    let dir = Dir::new();
    let (file, bytes, _) = dir.chaos("cut.rht");
    fs::write(&file, &bytes[..bytes.len() - 60]).unwrap();
    let output = racehound(&["trace", "stat", &file]);
    assert_eq!(output.status.code(), Some(0));
    let message = stderr(&output);
    assert!(message.contains("warning"), "{message}");
    assert!(message.contains("250 events are whole"), "{message}");
    assert!(message.contains("announces 50 more"), "{message}");
    assert!(stdout(&output).contains("250"));
}

#[test]
fn a_damaged_trace_is_refused_with_the_offset() {
    let dir = Dir::new();
    let (file, mut bytes, _) = dir.chaos("bad.rht");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&file, &bytes).unwrap();
    for args in [&["analyze", &file][..], &["trace", "stat", &file]] {
        let message = refused(args);
        assert!(
            message.contains("bad.rht: the trace is damaged at byte"),
            "{message}"
        );
    }
}

#[test]
fn foreign_and_missing_files_are_told_apart() {
    let dir = Dir::new();
    let me = env!("CARGO_BIN_EXE_racehound");
    assert!(refused(&["analyze", me]).contains("neither a Racehound trace nor STD text"));
    assert!(refused(&["analyze", &dir.name("none")]).contains("No such file"));
    let here = dir.0.path().display().to_string();
    assert!(refused(&["analyze", &here]).contains("a directory is no trace"));
    fs::write(dir.path("c.std"), "int main(void) { return 0; }\n").unwrap();
    assert!(
        refused(&["analyze", &dir.name("c.std")]).contains("line 1: expected thread|operation")
    );
    fs::write(dir.path("empty"), "").unwrap();
    let output = racehound(&["analyze", &dir.name("empty")]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("empty: the trace is empty"));
}

#[test]
fn wrong_usage_says_what_would_be_right() {
    let message = refused(&["analyze", &example(), "-d", "tsan"]);
    assert!(
        message.contains("no detector is called \"tsan\"; there are lockset, eraser"),
        "{message}"
    );
    let message = refused(&["trace", "gen", "-o", "-", "--preset", "huge"]);
    assert!(
        message.contains("no preset is called \"huge\"; there are default"),
        "{message}"
    );
    let message = refused(&["trace", "gen", "-o", "-", "--read-ratio", "2"]);
    assert!(
        message.contains("the read ratio must be between 0 and 1"),
        "{message}"
    );
}

#[test]
fn help_teaches_with_examples() {
    for args in [
        &["--help"][..],
        &["analyze", "--help"],
        &["trace", "gen", "--help"],
    ] {
        let help = quietly(args);
        assert!(help.contains("Usage: racehound"), "{help}");
    }
    assert!(quietly(&["analyze", "--help"]).contains("racehound analyze run.rht"));
    assert!(quietly(&["trace", "gen", "--help"]).contains("lock-heavy"));
}

#[test]
fn commands_can_be_piped() {
    let mut generate = Command::new(env!("CARGO_BIN_EXE_racehound"))
        .args([
            "trace", "gen", "-o", "-", "--preset", "racy", "--events", "50k",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let analyze = Command::new(env!("CARGO_BIN_EXE_racehound"))
        .args(["analyze", "-", "--limit", "1"])
        .stdin(generate.stdout.take().unwrap())
        .output()
        .unwrap();
    assert!(generate.wait().unwrap().success());
    assert_eq!(analyze.status.code(), Some(FINDINGS));
    let text = stdout(&analyze);
    assert!(text.contains("20 observed, 20 predicted"), "{text}");
    assert!(
        text.contains("… and 39 more; --limit 0 shows all"),
        "{text}"
    );
    assert_eq!(stderr(&analyze), "", "no progress where nobody watches");
    assert!(!text.contains('\x1b'), "no colours in a pipe");
}

#[test]
fn workers_change_nothing() {
    let dir = Dir::new();
    let file = dir.name("racy.rht");
    quietly(&[
        "trace", "gen", "-o", &file, "--preset", "racy", "--events", "50k",
    ]);
    let of = |jobs: &str| stdout(&racehound(&["analyze", &file, "-d", "all", "-j", jobs]));
    assert_eq!(of("3"), of("1"));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let dir = Dir::new();
    let file = dir.name("racy.rht");
    quietly(&[
        "trace", "gen", "-o", &file, "--preset", "racy", "--events", "50k",
    ]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_racehound"))
        .args(["trace", "convert", "--to", "std", &file, "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stderr(&output), "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let message = refused(&[
        "trace",
        "gen",
        "-o",
        "/dev/full",
        "--to",
        "binary",
        "--events",
        "50k",
    ]);
    assert!(
        message.contains("/dev/full: No space left on device"),
        "{message}"
    );
}

#[test]
fn standard_input_is_read_as_text_too() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_racehound"))
        .args(["analyze", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let text = fs::read(example()).unwrap();
    child.stdin.take().unwrap().write_all(&text).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(FINDINGS));
}

#[test]
fn a_model_program_is_explored() {
    let output = racehound(&["model", "explore", &shipped("bank.model")]);
    assert_eq!(output.status.code(), Some(FINDINGS));
    let text = stdout(&output);
    assert!(text.contains("bank.model:15:6: if balance >= 10"), "{text}");
    assert!(text.contains("failure of assert served == 2"), "{text}");
    let numbers = "4 races, 0 deadlocks, 1 failure, 0 access anomalies in all 12 executions";
    assert!(text.contains(numbers), "{text}");
}

#[test]
fn a_model_program_leaves_a_trace() {
    let dir = Dir::new();
    let (program, trace) = (shipped("bank.model"), dir.name("bank.rht"));
    let of = |seed: &str| {
        let args = ["model", "run", &program, "--seed", seed, "--record", &trace];
        let output = racehound(&args);
        (stdout(&output), fs::read(&trace).unwrap())
    };
    assert_eq!(of("3"), of("3"));
    assert!(of("3").0.ends_with("events; finished\n"), "{}", of("3").0);
    let analysed = racehound(&["analyze", &trace]);
    assert!(stdout(&analysed).contains("race on balance"));
}

#[test]
fn a_model_program_that_makes_no_sense_or_is_too_large_is_refused() {
    let dir = Dir::new();
    fs::write(dir.path("bad.model"), "var x\nthread T { lock m }\n").unwrap();
    let message = refused(&["model", "explore", &dir.name("bad.model")]);
    assert!(message.contains("bad.model:2:"), "{message}");
    let message = refused(&[
        "model",
        "explore",
        &shipped("bank.model"),
        "--max-states",
        "50",
    ]);
    assert!(
        message.contains("the program has more than 50 states"),
        "{message}"
    );
}

#[test]
fn a_trace_can_be_converted_onto_itself() {
    let dir = Dir::new();
    let file = dir.name("same.rht");
    quietly(&["trace", "gen", "-o", &file, "--events", "50k"]);
    let before = fs::read(&file).unwrap();
    quietly(&["trace", "convert", &file, &file]);
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn an_output_that_fails_leaves_what_was_there() {
    let dir = Dir::new();
    fs::write(dir.path("bad.std"), "T0|w(x)|1\nT0|oops(x)|2\n").unwrap();
    fs::write(dir.path("old.rht"), "precious").unwrap();
    refused(&[
        "trace",
        "convert",
        &dir.name("bad.std"),
        &dir.name("old.rht"),
    ]);
    assert_eq!(fs::read(dir.path("old.rht")).unwrap(), b"precious");
    assert_eq!(
        fs::read_dir(dir.0.path()).unwrap().count(),
        2,
        "nothing else is left"
    );
}

#[test]
fn findings_are_findings_also_if_nobody_reads_them() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_racehound"))
        .args(["analyze", &example()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(FINDINGS));
}

#[test]
fn a_finding_shows_the_accesses_that_its_reasons_are_about() {
    // The same two places touch x, ordered by m, and then y, which is not.
    let dir = Dir::new();
    let text = "T0|w(x)|A\nT0|acq(m)|1\nT0|rel(m)|2\nT1|acq(m)|3\nT1|rel(m)|4\nT1|r(x)|B\n\
                T2|w(y)|A\nT3|r(y)|B\n";
    fs::write(dir.path("two.std"), text).unwrap();
    let output = racehound(&["analyze", &dir.name("two.std")]);
    let text = stdout(&output);
    assert!(text.contains("R1 race on y and 1 more  observed"), "{text}");
    assert!(text.contains("write at A, thread T2"), "{text}");
}

#[test]
fn a_pipe_that_starts_slowly_is_recognised() {
    let dir = Dir::new();
    let (_, bytes, _) = dir.chaos("slow.rht");
    let mut child = Command::new(env!("CARGO_BIN_EXE_racehound"))
        .args(["trace", "stat", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&bytes[..5]).unwrap();
    stdin.flush().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(50));
    stdin.write_all(&bytes[5..]).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("300"));
}

#[test]
fn who_cannot_be_told_of_an_error_has_its_exit_code() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_racehound"));
    let status = command
        .args(["analyze", "/nowhere/to/be/found.rht"])
        .stderr(full)
        .status();
    assert_eq!(status.unwrap().code(), Some(USAGE));
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let said = refused(&["run", "--json", "/nosuch/x", "--", "true"]);
    assert!(said.contains("/nosuch: No such file"), "{said}");
}

#[test]
fn nobody_has_a_seed_for_the_system() {
    let said = refused(&["run", "--schedule", "free", "--seed", "4", "--", "true"]);
    assert!(said.contains("the system decides"), "{said}");
}
