//! Suspected pairs put to the test: confirmed with the harm they do, or not.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::control::written;
use crate::workshop::{RACEHOUND, Workshop, stderr, stdout};
use crate::{FINDINGS, USAGE};

/// Two threads of which one sets a flag too early or too late: `HURT` is what then
/// happens, and `LUCK` is done else.
const HARMFUL: &str = r"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int ready;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *first(void *unused) {
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    ready = 1; // SET
    return unused;
}
static void *second(void *unused) {
    usleep(100000);
    if (!ready) { // TEST
        HURT;
    }
    return unused;
}
int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    LUCK;
    return 0;
}
";

const PAIR: &str = "program.c:14,program.c:19";

fn line(mark: &str) -> usize {
    let at = HARMFUL.lines().position(|line| line.ends_with(mark));
    at.unwrap() + 1
}

fn harmful(hurt: &str, luck: &str) -> Workshop {
    let expected = format!("program.c:{},program.c:{}", line("// SET"), line("// TEST"));
    assert_eq!(PAIR, expected);
    let shop = Workshop::new();
    shop.write("program.c", HARMFUL);
    let hurt = format!("-DHURT={hurt}");
    let luck = format!("-DLUCK={luck}");
    shop.cc(&["-g", &hurt, &luck, "program.c", "-o", "program"]);
    shop
}

fn attempted(shop: &Workshop, pair: &str, more: &[&str]) -> Output {
    let options = ["run", "--schedule", "racefuzzer", "--seed", "3", "--json"];
    let pair = ["f.json", "--pair", pair];
    shop.racehound(&[&options[..], &pair, more, &["--", "./program"]].concat())
}

fn confirmed(hurt: &str, luck: &str) -> (Workshop, Value) {
    let shop = harmful(hurt, luck);
    let output = attempted(&shop, PAIR, &["--times", "5"]);
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    let finding = shop.findings("f.json")["findings"][0].clone();
    assert_eq!(finding["status"], "confirmed", "{output:?}");
    (shop, finding)
}

#[test]
fn each_harm_is_told_with_the_seed_that_shows_it() {
    let cases = [
        ("*(volatile int *)0 = 1", "", "crash", "SIGSEGV"),
        ("abort()", "", "crash", "SIGABRT"),
        ("assert(ready)", "", "assertion", "Assertion `ready' failed"),
        ("exit(3)", "", "exit-code", "3; by itself 0"),
        (
            "pthread_mutex_lock(&mutex);pthread_mutex_lock(&mutex)",
            "",
            "deadlock",
            "for ever",
        ),
        ("for(;;)", "", "hang", "still running after"),
        (
            "puts(\"not ready\")",
            "puts(\"done\")",
            "output",
            "not ready",
        ),
    ];
    for (hurt, luck, kind, detail) in cases {
        let (shop, finding) = confirmed(hurt, luck);
        let harm = &finding["harm"];
        assert_eq!(harm["kind"], kind, "{hurt}: {finding}");
        let told = harm["detail"].as_str().unwrap();
        assert!(told.contains(detail), "{hurt}: {told}");
        let seed = harm["seed"].as_u64().unwrap();
        assert!((3..8).contains(&seed), "{hurt}: {seed}");
        let plan = harm["schedule"].as_str().unwrap();
        assert!(
            plan.starts_with(&format!("racefuzzer:seed={seed},")),
            "{plan}"
        );
        if kind != "hang" {
            let again = shop.racehound(&["replay", "f.json", "--times", "3"]);
            assert_eq!(stdout(&again), "R1 happened in 3 of 3 replays\n", "{hurt}");
        }
    }
}

#[test]
fn an_uncaught_exception_is_harm() {
    let shop = Workshop::new();
    shop.write("program.c", HARMFUL);
    let hurt = "-DHURT=throw 7";
    let output = shop.racehound(&[
        "c++",
        "-g",
        hurt,
        "-DLUCK=",
        "-xc++",
        "program.c",
        "-oprogram",
    ]);
    assert!(output.status.success(), "{output:?}");
    attempted(&shop, PAIR, &["--times", "5"]);
    let harm = &shop.findings("f.json")["findings"][0]["harm"];
    assert_eq!(harm["kind"], "exception", "{harm}");
    assert!(harm["detail"].as_str().unwrap().contains("'int'"), "{harm}");
}

#[test]
fn a_race_without_consequences_has_no_harm() {
    let (_shop, finding) = confirmed("ready = 0", "puts(\"done\")");
    assert_eq!(finding["harm"], Value::Null, "{finding}");
}

#[test]
fn what_the_program_always_does_is_not_the_races_doing() {
    let (_shop, finding) = confirmed("(void)0", "exit(4)");
    assert_eq!(finding["harm"], Value::Null, "{finding}");
}

#[test]
fn a_pair_that_does_not_meet_is_unreproduced() {
    let shop = harmful("abort()", "");
    let output = attempted(&shop, "program.c:11,program.c:19", &["--times", "4"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report = shop.findings("f.json");
    assert_eq!(report["findings"][0]["status"], "unreproduced");
    assert_eq!(report["findings"][0]["accesses"][1]["line"], 19);
    assert_eq!(report["runs"], 3 + 4);
    let told = stderr(&output);
    assert!(
        told.contains("no access was made at program.c:11"),
        "{told}"
    );
    let output = shop.racehound(&["replay", "f.json"]);
    assert_eq!(output.status.code(), Some(USAGE), "{output:?}");
}

#[test]
fn one_run_is_the_programs_own_and_is_confirmed_by_another() {
    let shop = harmful("exit(3)", "puts(\"done\")");
    let mut codes = [0; 2];
    for seed in 0..12 {
        let seed = seed.to_string();
        let options = ["run", "--schedule", "racefuzzer", "--seed", &seed, "--pair"];
        let rest = [PAIR, "--json", "f.json", "--", "./program"];
        let output = shop.racehound(&[&options[..], &rest].concat());
        assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
        assert!(stderr(&output).contains("confirmed: it has happened again"));
        let finding = &shop.findings("f.json")["findings"][0];
        assert_eq!(finding["status"], "confirmed");
        match stdout(&output).as_str() {
            "done\n" => assert_eq!(finding["harm"], Value::Null),
            nothing => {
                assert_eq!(nothing, "");
                assert_eq!(finding["harm"]["kind"], "exit-code", "{finding}");
            }
        }
        codes[usize::from(stdout(&output).is_empty())] += 1;
    }
    assert!(codes[0] > 0 && codes[1] > 0, "{codes:?}");
}

#[test]
fn a_detectors_warning_is_put_to_the_test() {
    let shop = harmful("abort()", "");
    let warn = [
        "run",
        "--detector",
        "hybrid",
        "--json",
        "w.json",
        "--",
        "./program",
    ];
    shop.racehound(&warn);
    let output = attempted(&shop, "w.json", &["--times", "5"]);
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    let finding = &shop.findings("f.json")["findings"][0];
    assert_eq!(finding["status"], "confirmed");
    let by = serde_json::json!(["hybrid", "racefuzzer"]);
    assert_eq!(finding["found_by"], by);
    let output = attempted(&shop, "w.json#R9", &["--times", "5"]);
    assert_eq!(output.status.code(), Some(USAGE));
    assert!(stderr(&output).contains("no race R9"), "{output:?}");
}

#[test]
fn what_the_program_reads_it_reads_each_time() {
    let shop = harmful("if (getchar() == 'x') abort()", "");
    shop.write("input", "x");
    let mut command = shop.command(RACEHOUND);
    command.args([
        "run",
        "--schedule",
        "racefuzzer",
        "--times",
        "5",
        "--pair",
        PAIR,
    ]);
    command.args(["--json", "f.json", "--", "./program"]);
    let harm = || shop.findings("f.json")["findings"][0]["harm"]["kind"].clone();
    let input = std::fs::File::open(shop.path("input")).unwrap();
    command.stdin(input).output().unwrap();
    assert_eq!(harm(), "crash");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    child.wait().unwrap();
    assert_eq!(harm(), "crash");
    command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(harm(), Value::Null);
}

#[test]
fn a_replay_says_when_the_program_is_another_one() {
    let (shop, _) = confirmed("abort()", "");
    let output = shop.racehound(&["replay", "f.json"]);
    assert!(stderr(&output).contains("R1 happened again"), "{output:?}");
    assert!(!stderr(&output).contains("built anew"), "{output:?}");
    shop.cc(&[
        "-g",
        "-DHURT=abort()",
        "-DLUCK=exit(9)",
        "program.c",
        "-o",
        "program",
    ]);
    let output = shop.racehound(&["replay", "f.json"]);
    assert!(stderr(&output).contains("built anew"), "{output:?}");
    shop.cc(&["-g", "-DHURT=", "-DLUCK=", "program.c", "-o", "program"]);
    let output = shop.racehound(&["replay", "f.json"]);
    assert!(
        stderr(&output).contains("R1 did not happen again"),
        "{output:?}"
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_schedule_is_replayed_with_its_program() {
    let shop = harmful("puts(\"early\")", "");
    let mut early = 0;
    for seed in 0..8 {
        let plan = format!("racefuzzer:seed={seed},pair={PAIR}");
        let run = [
            "run",
            "--schedule",
            &plan,
            "--schedule-out",
            "s",
            "--",
            "./program",
        ];
        let first = stdout(&shop.racehound(&run));
        let again = stdout(&shop.racehound(&["replay", "s", "--", "./program"]));
        assert_eq!(first, again, "seed {seed}");
        early += usize::from(first == "early\n");
    }
    assert!((1..8).contains(&early), "{early}");
    let output = shop.racehound(&["replay", "s"]);
    assert_eq!(output.status.code(), Some(USAGE));
    assert!(stderr(&output).contains("add -- PROGRAM"), "{output:?}");
}

#[test]
fn gdb_stops_with_both_threads_at_their_accesses() {
    if Command::new("gdb").arg("--version").output().is_err() {
        eprintln!("there is no gdb here, so this cannot be tried");
        return;
    }
    let (shop, _) = confirmed("abort()", "");
    let mut command = shop.command(RACEHOUND);
    command
        .args(["replay", "f.json", "--gdb"])
        .stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"kill\nquit\n")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let text = stdout(&output);
    for (mark, function) in [("// SET", "first"), ("// TEST", "second")] {
        let place = format!("program.c:{} in {function}", line(mark));
        let stands = |text: &str| text.contains("stands at") && text.contains(&place);
        assert!(text.lines().any(stands), "{place}: {text}");
    }
}

#[test]
fn what_makes_no_sense_is_said() {
    let shop = harmful("abort()", "");
    shop.write("broken.json", "{\"version\": 1");
    for (arguments, said) in [
        (
            &["run", "--times", "3", "--", "./program"][..],
            "--times is for --schedule racefuzzer",
        ),
        (
            &["run", "--pair", "a.c:1,a.c:2", "--", "./program"],
            "--pair is for",
        ),
        (&["replay", "broken.json"], "no report that --json writes"),
        (&["replay", "missing.json"], "missing.json"),
    ] {
        let output = shop.racehound(arguments);
        assert_eq!(output.status.code(), Some(USAGE), "{arguments:?}");
        assert!(stderr(&output).contains(said), "{output:?}");
    }
    let output = attempted(&shop, "program.c", &["--times", "3"]);
    assert_eq!(output.status.code(), Some(USAGE), "{output:?}");
}

/// What is passed on to the first execution must not be kept from the next.
#[test]
fn signals_reach_every_execution() {
    let shop = written(
        "#include <pthread.h>\n\
         #include <signal.h>\n\
         static volatile int hits;\n\
         static void note(int signal) { hits = signal; }\n\
         static void *look(void *unused) { return hits ? &hits : unused; }\n\
         int main(void) {\n\
             pthread_t thread;\n\
             signal(SIGUSR1, note);\n\
             pthread_create(&thread, 0, look, 0);\n\
             raise(SIGUSR1);\n\
             pthread_join(thread, 0);\n\
             return hits ? 0 : 9;\n\
         }\n",
    );
    let pair = ["--pair", "program.c:4,program.c:5"];
    let plan = ["run", "--detector", "none", "--schedule", "racefuzzer"];
    let confirmed = (0..10).any(|seed| {
        let seed = seed.to_string();
        let rest = ["--seed", &seed, "--", "./program"];
        let output = shop.racehound(&[&plan[..], &pair, &rest].concat());
        let text = stderr(&output);
        assert!(!text.contains("the two executions differ"), "{text}");
        text.contains("data race")
    });
    assert!(confirmed);
}
