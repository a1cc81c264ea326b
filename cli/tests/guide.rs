//! Every command of the guide, run: what it prints is what the guide says.
//!
//! A page is gone through from its beginning in a directory of its own. A fenced block
//! whose first line names a file, as in ` ```c bank.c `, is written to that file; in a
//! `console` block what follows `$ ` is run by `sh`, and what it prints must be what
//! follows, where `...` stands for anything: in a line for part of it, alone for lines. A
//! block that `needs=` a program is left out where that is not installed.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const BINARIES: [(&str, &str); 3] = [
    ("racehound", env!("CARGO_BIN_EXE_racehound")),
    ("racehound-cc", env!("CARGO_BIN_EXE_racehound-cc")),
    ("racehound-c++", env!("CARGO_BIN_EXE_racehound-cxx")),
];

/// What a page has to run, or to write.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    File { name: String, text: String },
    Command { line: String, expected: Vec<String> },
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let words: Vec<&str> = info.split_whitespace().collect();
        match words[..] {
            ["console"] => steps.extend(commands(&block)),
            ["console", needs] => {
                let tool = needs.strip_prefix("needs=").unwrap();
                match is_installed(tool) {
                    true => steps.extend(commands(&block)),
                    false => eprintln!("left out: {tool} is not installed"),
                }
            }
            [_, name] => steps.push(Step::File {
                name: name.to_owned(),
                text: block.join("\n") + "\n",
            }),
            _ => {}
        }
    }
    steps
}

fn commands(block: &[&str]) -> Vec<Step> {
    let mut steps = Vec::new();
    for line in block {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(line), _) => steps.push(Step::Command {
                line: line.to_owned(),
                expected: Vec::new(),
            }),
            (None, Some(Step::Command { expected, .. })) => expected.push((*line).to_owned()),
            (None, _) => panic!("a console block begins with a command, not {line:?}"),
        }
    }
    steps
}

fn is_installed(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap();
    env::split_paths(&path).any(|directory| directory.join(name).is_file())
}

/// Whether lines are as expected.
fn fits(printed: &[&str], expected: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((&"...", rest)) => (0..=printed.len()).any(|from| fits(&printed[from..], rest)),
        Some((first, rest)) => match printed.split_first() {
            Some((line, others)) => line_fits(line, first) && fits(others, rest),
            None => false,
        },
    }
}

fn line_fits(line: &str, expected: &str) -> bool {
    let mut parts = expected.split("...");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in between {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Progress and warnings of compilers are not the guide's business.
fn is_noise(line: &str) -> bool {
    let phases = ["observing", "confirming", "exploring"];
    let said = line.strip_prefix("racehound: ");
    said.is_some_and(|said| phases.iter().any(|phase| said.starts_with(phase)))
}

fn run(directory: &Path, path: &str, line: &str) -> String {
    let output = Command::new("timeout")
        .args(["300", "sh", "-c", &format!("{{ {line}\n}} 2>&1")])
        .current_dir(directory)
        .env("PATH", path)
        .env("NO_COLOR", "1")
        .env_remove("TSAN_OPTIONS")
        .env_remove("RACEHOUND_OPTIONS")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn go_through(page: &Path) {
    let directory = tempfile::tempdir().unwrap();
    let binaries = tempfile::tempdir().unwrap();
    for (name, file) in BINARIES {
        symlink(file, binaries.path().join(name)).unwrap();
    }
    let path = format!(
        "{}:{}",
        binaries.path().display(),
        env::var("PATH").unwrap()
    );
    for step in steps(&fs::read_to_string(page).unwrap()) {
        match step {
            Step::File { name, text } => fs::write(directory.path().join(name), text).unwrap(),
            Step::Command { line, expected } => {
                let printed = run(directory.path(), &path, &line);
                let seen: Vec<&str> = printed.lines().filter(|line| !is_noise(line)).collect();
                let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
                assert!(
                    fits(&seen, &expected),
                    "{}: $ {line}\nprinted:\n{printed}\nexpected:\n{}",
                    page.display(),
                    expected.join("\n")
                );
            }
        }
    }
}

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../docs/guide")
        .join(name)
}

macro_rules! pages {
    ($($test:ident: $name:literal,)*) => {
        const PAGES: &[&str] = &[$($name),*];
        $(
            #[test]
            fn $test() {
                go_through(&page($name));
            }
        )*
    };
}

pages! {
    install: "1-install.md",
    first_hunt: "2-first-hunt.md",
    reading_a_report: "3-reading-a-report.md",
    build_systems: "4-build-systems.md",
    ci: "5-ci.md",
    suppressions: "6-suppressions.md",
    replay_and_gdb: "7-replay-and-gdb.md",
    techniques: "8-techniques.md",
    limits: "9-limits.md",
    how_it_works: "10-how-it-works.md",
}

#[test]
fn every_page_is_gone_through_and_listed() {
    let index = fs::read_to_string(page("README.md")).unwrap();
    for entry in fs::read_dir(page("")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name != "README.md" {
            assert!(PAGES.contains(&&*name), "{name} is not run");
            assert!(index.contains(&format!("({name})")), "{name} is not listed");
        }
    }
}

#[test]
fn dots_stand_for_anything() {
    assert!(fits(&["a", "b", "c"], &["...", "c"]));
    assert!(fits(&["c"], &["...", "c", "..."]));
    assert!(!fits(&["a", "b"], &["a"]));
    assert!(!fits(&[], &["a"]));
    assert!(line_fits(
        "R1 race on x  confirmed",
        "R1 race on ... confirmed"
    ));
    assert!(!line_fits(
        "R1 race on x  observed",
        "R1 race on ... confirmed"
    ));
}
