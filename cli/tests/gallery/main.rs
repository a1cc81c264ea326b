//! Every program of the gallery, built by a real compiler and run as a process:
//! bugs are reported where they are, and clean programs are silent.
//!
//! One run builds each program with one compiler at one level of optimisation;
//! which, depends on its name, so that all of them get their share. With
//! `RACEHOUND_GALLERY=all` each is built in every way.

mod program;
mod recorded;
mod reports;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use program::Program;
use reports::Report;

const RACEHOUND_CC: &str = env!("CARGO_BIN_EXE_racehound-cc");
const RACEHOUND_CXX: &str = env!("CARGO_BIN_EXE_racehound-cxx");

/// How long a program may take on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

const EXIT_CODE: i32 = 66;

/// A compiler at a level of optimisation.
#[derive(Clone, Debug)]
struct Way {
    c: String,
    cxx: String,
    level: &'static str,
}

fn ways() -> Vec<Way> {
    let path = env::var_os("PATH").unwrap();
    let installed = |name: &str| env::split_paths(&path).any(|dir| dir.join(name).is_file());
    let suffixes = [String::new()]
        .into_iter()
        .chain((14..30).rev().map(|version| format!("-{version}")));
    let clang = suffixes
        .map(|suffix| (format!("clang{suffix}"), format!("clang++{suffix}")))
        .find(|(c, cxx)| installed(c) && installed(cxx));
    let gcc = ("gcc".to_owned(), "g++".to_owned());
    let mut ways = Vec::new();
    for (c, cxx) in [Some(gcc), clang].into_iter().flatten() {
        for level in ["-O0", "-O1", "-O2"] {
            let (c, cxx) = (c.clone(), cxx.clone());
            ways.push(Way { c, cxx, level });
        }
    }
    ways
}

/// The ways in which a program is built in this run.
fn ways_for(program: &Program) -> Vec<Way> {
    let mut ways = ways();
    // libgomp is gcc's.
    if program.flags.iter().any(|flag| flag == "-fopenmp") {
        ways.retain(|way| way.c == "gcc");
    }
    if env::var("RACEHOUND_GALLERY").is_ok_and(|value| value == "all") {
        return ways;
    }
    let number: usize = program.name().bytes().map(usize::from).sum();
    vec![ways[number % ways.len()].clone()]
}

fn programs(directory: &str) -> Vec<Program> {
    let gallery = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs");
    let files = fs::read_dir(gallery.join(directory)).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "c" || e == "cpp"));
    paths.sort();
    paths
        .iter()
        .filter_map(|path| Program::read(path))
        .collect()
}

fn build(program: &Program, way: &Way, directory: &Path) -> PathBuf {
    let (driver, flags): (&str, &[&str]) = match program.is_cpp() {
        true => (RACEHOUND_CXX, &["-std=c++17"]),
        false => (RACEHOUND_CC, &["-std=gnu11"]),
    };
    let compile = |driver: &str| {
        let mut command = Command::new(driver);
        command
            .env("RACEHOUND_CC", &way.c)
            .env("RACEHOUND_CXX", &way.cxx);
        command.args(["-g", way.level]);
        command
    };
    let sources = program.path.parent().unwrap();
    for plugin in &program.plugins {
        let output = directory.join(plugin).with_extension("so");
        let mut command = compile(RACEHOUND_CC);
        command.args(["-shared", "-fPIC", "-o"]).arg(output);
        succeeds(command.arg(sources.join(plugin)), program);
    }
    let executable = directory.join("program");
    let mut command = compile(driver);
    command
        .args(flags)
        .arg("-o")
        .arg(&executable)
        .arg(&program.path);
    command.args(program.with.iter().map(|part| sources.join(part)));
    command.args(&program.flags).args(["-pthread", "-ldl"]);
    succeeds(&mut command, program);
    executable
}

fn succeeds(command: &mut Command, program: &Program) {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", program.name());
}

/// Runs a program with options of the runtime, and ends it if it takes too long.
fn run(executable: &Path, program: &Program, options: &str) -> Option<Output> {
    let directory = executable.parent().unwrap();
    let mut command = Command::new(executable);
    command
        .args(&program.args)
        .env("RACEHOUND_OPTIONS", options);
    finish(&mut command, directory)
}

/// Runs a command in a directory, and ends it if it takes too long.
fn finish(command: &mut Command, directory: &Path) -> Option<Output> {
    if !command
        .get_envs()
        .any(|(name, _)| name == "RACEHOUND_OPTIONS")
    {
        command.env_remove("RACEHOUND_OPTIONS");
    }
    let mut child = command
        .current_dir(directory)
        .env_remove("TSAN_OPTIONS")
        .stdin(fs::File::open("/dev/null").unwrap())
        .stdout(fs::File::create(directory.join("out")).unwrap())
        .stderr(fs::File::create(directory.join("err")).unwrap())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        thread::sleep(Duration::from_millis(10));
    };
    Some(Output {
        status,
        stdout: fs::read(directory.join("out")).unwrap(),
        stderr: fs::read(directory.join("err")).unwrap(),
    })
}

/// Whether a report is none that the program deserves.
fn unexpected(program: &Program, report: &Report) -> bool {
    !program.expected.iter().any(|expected| {
        expected.kinds.contains(&report.kind)
            && match report.kind.as_str() {
                "race" | "vptr" | "heap-use-after-free" => {
                    let accesses = &report.lines[..report.accesses.min(report.lines.len())];
                    !accesses.is_empty() && program.marked("RACE", expected.tag, accesses)
                }
                _ => report
                    .lines
                    .iter()
                    .any(|line| program.marked("HERE", expected.tag, &[*line])),
            }
    })
}

fn check(program: &Program, way: &Way) -> Result<(), String> {
    let directory = tempfile::tempdir().unwrap();
    let executable = build(program, way, directory.path());
    let about = format!("{} ({} {})", program.name(), way.c, way.level);
    check_run(program, &executable, "", program.always, &about)?;
    // Who does not look at everything may miss a bug, or see another pair of accesses
    // that race; nothing is invented.
    if !program.expected.is_empty() {
        return Ok(());
    }
    let store = directory.path().join(".racehound");
    let options = format!("sample=atex:atexit_sleep_ms=0:store='{}'", store.display());
    check_run(
        program,
        &executable,
        &options,
        false,
        &format!("{about}, sampled"),
    )
}

fn check_run(
    program: &Program,
    executable: &Path,
    options: &str,
    complete: bool,
    about: &str,
) -> Result<(), String> {
    let Some(output) = run(executable, program, options) else {
        return match program.may_fail {
            true => Ok(()),
            false => Err(format!("{about}: does not end")),
        };
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    let reports = reports::parse(&errors, &program.files());
    if let Some(report) = reports.iter().find(|report| unexpected(program, report)) {
        return Err(format!("{about}: unexpected {report:?}\n{errors}"));
    }
    for expected in program.expected.iter().filter(|_| complete) {
        if !reports.iter().any(|r| expected.kinds.contains(&r.kind)) {
            return Err(format!("{about}: no {expected:?}\n{errors}"));
        }
    }
    // What a child process reports is the child's exit code.
    let code = output.status.code();
    let fine = code == Some(program.exit) || code == Some(EXIT_CODE) && !reports.is_empty();
    match fine || program.may_fail {
        true => Ok(()),
        false => Err(format!("{about}: {}\n{errors}", output.status)),
    }
}

fn check_all(directory: &str) {
    let work: Vec<(Program, Way)> = programs(directory)
        .into_iter()
        .flat_map(|program| {
            let ways = ways_for(&program);
            let path = program.path;
            ways.into_iter()
                .map(move |way| (Program::read(&path).unwrap(), way))
        })
        .collect();
    check_each(&work, |(program, way)| check(program, way));
}

/// Checks things side by side, and tells all that is wrong.
fn check_each<T: Sync>(work: &[T], check: impl Fn(&T) -> Result<(), String> + Sync) {
    assert!(!work.is_empty(), "the gallery is empty");
    let queue = Mutex::new(work.iter());
    let failures = Mutex::new(Vec::new());
    let workers = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let Some(one) = queue.lock().unwrap().next() else {
                        return;
                    };
                    if let Err(failure) = check(one) {
                        failures.lock().unwrap().push(failure);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        work.len(),
        failures.join("\n")
    );
}

#[test]
fn clean_programs_are_silent() {
    check_all("clean");
}

#[test]
fn bugs_are_reported_where_they_are() {
    check_all("bugs");
}

#[test]
fn the_papers_figures_show_what_the_papers_say() {
    check_all("figures");
}
