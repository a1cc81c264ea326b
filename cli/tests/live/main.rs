//! `racehound run` with findings for programs: whatever becomes of the program,
//! they are complete, and racehound ends as it did.

mod calls;
mod confirm;
mod control;
mod deadlocks;
mod drfinder;
mod endings;
mod formats;
mod hunt;
mod killed;
mod memory;
mod others;
mod outside;
mod predict;
mod recording;
mod rust;
mod sampling;
mod surroundings;
mod survival;
mod told;
mod workshop;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Output;
use std::{fs, thread, time};

use serde_json::Value;

use workshop::{Workshop, stderr, stdout};

const FINDINGS: i32 = 66;
/// The program could not be started, or is not instrumented.
const NOT_STARTED: i32 = 3;
const USAGE: i32 = 2;

/// A race, and then whatever the first argument says.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int shared;
pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static void *touch(void *unused) {
    shared = 1; // touch
    return unused;
}

static void race(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, touch, NULL);
    pthread_mutex_lock(&guard);
    shared = 2; // race
    pthread_mutex_unlock(&guard);
    pthread_join(thread, NULL);
}

static void say(int signal) {
    char text[] = "signal 00\n";
    text[7] += signal / 10;
    text[8] += signal % 10;
    _exit(write(1, text, 10) == 10 ? 9 : 1);
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "0";
    if (!strcmp(what, "fork")) {
        pid_t child = fork();
        if (child == 0) {
            race();
            _exit(0);
        }
        waitpid(child, NULL, 0);
        race();
        return 0;
    }
    if (!strcmp(what, "close"))
        for (int descriptor = 3; descriptor < 1000; descriptor++)
            close(descriptor);
    if (!strcmp(what, "clean"))
        return 7;
    race();
    if (!strcmp(what, "segv"))
        raise(SIGSEGV);
    if (!strcmp(what, "abort"))
        abort();
    if (!strcmp(what, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(what, "handle"))
        signal(SIGTERM, say), signal(SIGUSR1, say), signal(SIGHUP, say);
    if (!strcmp(what, "wait") || !strcmp(what, "handle")) {
        if (write(1, "ready\n", 6) == 6)
            for (;;)
                pause();
    }
    return atoi(what);
}
"#;

fn built() -> Workshop {
    let shop = Workshop::new();
    shop.write("program.c", PROGRAM);
    shop.cc(&["-g", "program.c", "-o", "program"]);
    shop
}

/// The line of the program that ends in this comment.
fn line_of(mark: &str) -> usize {
    let mark = format!("// {mark}");
    let at = PROGRAM.lines().position(|line| line.ends_with(&mark));
    at.unwrap() + 1
}

/// `racehound run --json findings.json OPTIONS -- ./program WHAT`.
fn run(shop: &Workshop, options: &[&str], what: &str) -> Output {
    let json = ["run", "--json", "findings.json"];
    let program = ["--", "./program", what];
    shop.racehound(&[&json[..], options, &program].concat())
}

/// The one race of the program, as the file has it.
fn the_race(shop: &Workshop) -> Value {
    let report = shop.findings("findings.json");
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{report:#}");
    assert_eq!(findings[0]["kind"], "race");
    findings[0].clone()
}

#[test]
fn a_finding_has_everything_of_the_contract() {
    let shop = built();
    let output = run(&shop, &[], "0");
    assert_eq!(output.status.code(), Some(FINDINGS));
    assert!(stderr(&output).contains("WARNING: ThreadSanitizer: data race"));
    let report = shop.findings("findings.json");
    assert_eq!(report["version"], 1);
    assert_eq!(report["program"], serde_json::json!(["./program", "0"]));
    assert_eq!(report["runs"], 1);
    let race = the_race(&shop);
    assert_eq!(race["id"], "R1");
    assert_eq!(race["status"], "observed");
    assert_eq!(race["location"]["what"], "global");
    assert_eq!(race["location"]["name"], "shared");
    assert_eq!(race["location"]["size"], 4);
    assert_eq!(race["found_by"], serde_json::json!(["fasttrack"]));
    let accesses = race["accesses"].as_array().unwrap();
    let by = |thread: &str| accesses.iter().find(|a| a["thread"] == thread).unwrap();
    let (main, touch) = (by("0"), by("0.1"));
    for (access, function, line) in [
        (main, "race", line_of("race")),
        (touch, "touch", line_of("touch")),
    ] {
        assert_eq!(access["op"], "write");
        assert_eq!(access["size"], 4);
        assert_eq!(access["atomic"], false);
        assert_eq!(access["function"], function);
        assert_eq!(access["line"], line);
        assert!(access["file"].as_str().unwrap().ends_with("program.c"));
        assert_eq!(access["stack"][0]["function"], function);
    }
    assert_eq!(main["locks"], serde_json::json!(["guard"]));
    assert_eq!(main["stack"][1]["function"], "main");
    assert_eq!(touch["locks"], serde_json::json!([]));
    assert_eq!(race["threads"][0]["thread"], "0.1");
    shop.assert_nothing_left_over();
}

#[test]
fn what_a_detector_suspects_is_predicted() {
    let shop = built();
    let acculock = ["--detector", "acculock", "--fail-on", "observed"];
    let output = run(&shop, &acculock, "5");
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    let race = the_race(&shop);
    assert_eq!(race["status"], "predicted");
    assert_eq!(race["found_by"], serde_json::json!(["acculock"]));
}

#[test]
fn nothing_is_lost_when_the_program_dies() {
    let shop = built();
    for (what, signal) in [
        ("segv", libc::SIGSEGV),
        ("abort", libc::SIGABRT),
        ("kill", libc::SIGKILL),
    ] {
        let output = run(&shop, &[], what);
        assert_eq!(output.status.signal(), Some(signal), "{what}");
        the_race(&shop);
        fs::remove_file(shop.path("findings.json")).unwrap();
        shop.assert_nothing_left_over();
    }
}

#[test]
fn exit_codes_are_the_programs_unless_something_fails() {
    let shop = built();
    assert_eq!(run(&shop, &[], "clean").status.code(), Some(7));
    let report = shop.findings("findings.json");
    assert_eq!(report["findings"], serde_json::json!([]));
    assert_eq!(run(&shop, &[], "5").status.code(), Some(FINDINGS));
    let never = run(&shop, &["--fail-on", "never"], "5");
    assert_eq!(never.status.code(), Some(5));
    the_race(&shop);
    // The same without anybody behind the program.
    let alone = |level: &str| {
        let output = shop.racehound(&["run", "--fail-on", level, "--", "./program", "5"]);
        output.status.code()
    };
    assert_eq!(alone("never"), Some(5));
    assert_eq!(alone("confirmed"), Some(5));
    assert_eq!(alone("observed"), Some(FINDINGS));
}

#[test]
fn signals_reach_the_program() {
    let shop = built();
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
        let status = shop.interrupted("wait", signal);
        assert_eq!(status.status.signal(), Some(signal), "{status:?}");
        the_race(&shop);
        fs::remove_file(shop.path("findings.json")).unwrap();
    }
    for signal in [libc::SIGTERM, libc::SIGUSR1, libc::SIGHUP] {
        let output = shop.interrupted("handle", signal);
        assert_eq!(stdout(&output), format!("ready\nsignal {signal:02}\n"));
        assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
        the_race(&shop);
    }
    shop.assert_nothing_left_over();
}

/// Whoever starts racehound may ignore signals, also those that tell of the end
/// of children.
#[test]
fn ignored_signals_stay_ignored() {
    let shop = built();
    let racehound = env!("CARGO_BIN_EXE_racehound");
    shop.write("script", "#!/bin/sh\nkill -HUP $$\n./program 5\n");
    fs::set_permissions(shop.path("script"), fs::Permissions::from_mode(0o755)).unwrap();
    let run = format!("exec {racehound} run --json findings.json -- ./script");
    let script = format!("trap '' CHLD HUP; {run}");
    let mut command = shop.command("timeout");
    let output = command.args(["60", "sh", "-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    the_race(&shop);
}

#[test]
fn the_program_does_not_outlive_racehound() {
    let shop = built();
    let mut racehound = shop.started("wait");
    let program = shop.only_child_of(racehound.id());
    racehound.kill().unwrap();
    racehound.wait().unwrap();
    let patience = time::Instant::now() + time::Duration::from_secs(10);
    while shop.is_running(program) {
        assert!(time::Instant::now() < patience, "it still runs");
        thread::sleep(time::Duration::from_millis(10));
    }
}

#[test]
fn children_and_closed_descriptors_do_not_matter() {
    let shop = built();
    let output = run(&shop, &[], "fork");
    assert_eq!(output.status.code(), Some(FINDINGS));
    // Parent and child have the same two places.
    the_race(&shop);
    assert_eq!(run(&shop, &[], "close").status.code(), Some(FINDINGS));
    the_race(&shop);
}

#[test]
fn our_own_format_is_short() {
    let shop = built();
    let output = run(&shop, &["--format", "text"], "0");
    assert_eq!(output.status.code(), Some(FINDINGS));
    let text = stderr(&output);
    assert!(!text.contains("ThreadSanitizer"), "{text}");
    let first = text.lines().next().unwrap();
    assert_eq!(first, "R1 race on shared  observed");
    let line = line_of("race");
    assert!(text.contains(&format!("program.c:{line}:")), "{text}");
    assert!(text.contains("protected by guard"), "{text}");
    let last = text.lines().last().unwrap();
    assert_eq!(
        last,
        "1 observed, 0 predicted; exit code 66: 1 at the --fail-on level"
    );
    let clean = shop.racehound(&["run", "--format", "text", "--", "./program", "clean"]);
    assert_eq!(stderr(&clean), "");
    assert_eq!(clean.status.code(), Some(7));
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_the_program_runs() {
    let shop = built();
    fs::create_dir(shop.path("directory")).unwrap();
    fs::create_dir(shop.path("locked")).unwrap();
    fs::set_permissions(shop.path("locked"), fs::Permissions::from_mode(0o555)).unwrap();
    let mut files = vec![
        ("nowhere/findings.json", "/nowhere: No such file"),
        ("directory", "directory: Is a directory"),
        ("-", "-"),
    ];
    if fs::write(shop.path("locked/probe"), "").is_err() {
        files.push(("locked/findings.json", "locked/findings.json"));
    }
    for (file, told) in files {
        let output = shop.racehound(&["run", "--json", file, "--", "./program", "wait"]);
        assert_eq!(output.status.code(), Some(USAGE), "{file}");
        assert_eq!(stdout(&output), "", "{file}");
        assert!(stderr(&output).contains(told), "{}", stderr(&output));
    }
}

#[test]
fn a_full_disk_is_told() {
    let shop = built();
    let output = shop.racehound(&["run", "--json", "/dev/full", "--", "./program", "0"]);
    assert_eq!(output.status.code(), Some(USAGE));
    let text = stderr(&output);
    assert!(text.contains("WARNING: ThreadSanitizer"), "{text}");
    assert!(text.contains("/dev/full: No space left"), "{text}");
}

#[test]
fn without_debug_information_there_are_symbols_and_offsets() {
    let shop = built();
    shop.cc(&["program.c", "-o", "program"]);
    run(&shop, &[], "0");
    let race = the_race(&shop);
    for access in race["accesses"].as_array().unwrap() {
        assert!(["race", "touch"].contains(&access["function"].as_str().unwrap()));
        assert!(access["file"].is_null() && access["line"].is_null());
        let site = access["site"].as_str().unwrap();
        assert!(site.starts_with("program+0x"), "{site}");
    }
    shop.cc(&["-s", "program.c", "-o", "program"]);
    run(&shop, &[], "0");
    let race = the_race(&shop);
    for access in race["accesses"].as_array().unwrap() {
        let frame = access["stack"][0]["function"].as_str().unwrap();
        assert!(frame.starts_with("program+0x"), "{race:#}");
        assert_eq!(access["site"], frame);
        assert!(access["function"].is_null());
    }
}

/// One finding of each sort that is not a race.
#[test]
fn every_sort_of_report_is_a_finding() {
    let shop = Workshop::new();
    for (source, kind, detail, status, op) in [
        (
            "pthread_mutex_lock(&a); pthread_mutex_lock(&b); pthread_mutex_unlock(&b); \
             pthread_mutex_unlock(&a); in_thread(inverse);",
            "deadlock",
            "lock-order-inversion",
            "predicted",
            "lock",
        ),
        (
            "pthread_mutex_unlock(&a);",
            "mutex-misuse",
            "unlock-unlocked",
            "observed",
            "unlock",
        ),
        (
            "pthread_mutex_lock(&a); pthread_mutex_destroy(&a);",
            "mutex-misuse",
            "destroy-locked",
            "observed",
            "destroy",
        ),
        (
            "pthread_t t; pthread_create(&t, NULL, nothing, NULL); usleep(100000);",
            "thread-leak",
            "",
            "observed",
            "create",
        ),
        (
            "signal(SIGUSR1, handler); raise(SIGUSR1);",
            "signal-unsafe",
            "",
            "observed",
            "call",
        ),
        (
            "int *p = malloc(400); pthread_t t; pthread_create(&t, NULL, release, p); \
             usleep(100000); p[50] = 1; pthread_join(t, NULL);",
            "race",
            "use-after-free",
            "observed",
            "write",
        ),
    ] {
        let program = format!(
            "#include <pthread.h>\n#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
             pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;\n\
             void *kept;\n\
             void *nothing(void *x) {{ return x; }}\n\
             void *release(void *x) {{ free(x); return NULL; }}\n\
             void handler(int s) {{ kept = malloc(s); }}\n\
             void *inverse(void *x) {{ pthread_mutex_lock(&b); pthread_mutex_lock(&a); \
             pthread_mutex_unlock(&a); pthread_mutex_unlock(&b); return x; }}\n\
             void in_thread(void *(*f)(void *)) {{ pthread_t t; \
             pthread_create(&t, NULL, f, NULL); pthread_join(t, NULL); }}\n\
             int main(void) {{ {source} }}\n"
        );
        shop.write("sort.c", &program);
        shop.cc(&["-g", "-w", "sort.c", "-o", "sort"]);
        let output = shop.racehound(&["run", "--json", "findings.json", "--", "./sort"]);
        assert_eq!(output.status.code(), Some(FINDINGS), "{source}: {output:?}");
        let report = shop.findings("findings.json");
        let findings = report["findings"].as_array().unwrap();
        let found = findings.iter().find(|f| f["kind"] == kind);
        let found = found.unwrap_or_else(|| panic!("{source}: {report:#}"));
        assert_eq!(found["detail"].as_str().unwrap_or(""), detail, "{source}");
        assert_eq!(found["status"], status, "{source}");
        let accesses = found["accesses"].as_array().unwrap();
        assert!(accesses.iter().any(|a| a["op"] == op), "{found:#}");
        assert!(accesses.iter().all(|a| a["line"].is_u64()), "{found:#}");
    }
}
