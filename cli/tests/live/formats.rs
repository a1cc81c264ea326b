//! Findings for others: every form of a report, baselines, and what was accepted.

use std::fs;
use std::process::Output;

use serde_json::Value;

use crate::workshop::{Workshop, stderr, stdout};
use crate::{FINDINGS, USAGE};

/// Two counters that nobody protects, each with a function of its own.
const COUNTERS: &str = r"
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int served, asked;
static void serve(void) {
    served++;
}
static void ask(void) {
    asked++;
}
static void *teller(void *unused) {
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    serve();
    /* more */
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, teller, 0);
    pthread_create(&b, 0, teller, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    if (served < 0) ask();
    return 0;
}
";

fn hunted(shop: &Workshop, more: &[&str]) -> Output {
    let hunt = ["hunt", "--budget", "120s", "--runs", "40", "--fresh"];
    shop.racehound(&[&hunt[..], more, &["counters.c"]].concat())
}

fn shop() -> Workshop {
    let shop = Workshop::new();
    shop.write("counters.c", COUNTERS);
    shop
}

#[test]
fn a_hunt_is_told_in_every_form() {
    let shop = shop();
    let forms = ["json", "sarif", "html", "junit", "github", "tsan", "text"];
    let wishes: Vec<String> = forms
        .iter()
        .map(|f| format!("--format={f}=out.{f}"))
        .collect();
    let wishes: Vec<&str> = wishes.iter().map(String::as_str).collect();
    let output = hunted(&shop, &wishes);
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    let read = |form: &str| fs::read_to_string(shop.path(&format!("out.{form}"))).unwrap();

    let report = shop.findings("out.json");
    let finding = &report["findings"][0];
    assert_eq!(finding["status"], "confirmed");
    assert_eq!(finding["fingerprint"].as_str().unwrap().len(), 16);
    let line = |access: &Value| access["source"]["lines"].as_array().unwrap().len();
    assert!(
        finding["accesses"]
            .as_array()
            .unwrap()
            .iter()
            .all(|a| line(a) == 7)
    );
    // The two accesses are side by side, in two threads.
    let steps = finding["interleaving"]["steps"].as_array().unwrap();
    let marked: Vec<&Value> = steps.iter().filter(|s| !s["access"].is_null()).collect();
    assert_eq!(marked.len(), 2, "{steps:#?}");
    assert_ne!(marked[0]["thread"], marked[1]["thread"]);
    assert_eq!(marked[0]["object"], "served");
    let locked = |step: &&Value| step["op"] == "acquire" && step["object"] == "gate";
    assert_eq!(steps.iter().filter(locked).count(), 2, "{steps:#?}");
    assert!(!report["history"].as_array().unwrap().is_empty());
    assert!(!report["costs"].as_array().unwrap().is_empty());

    let log: Value = serde_json::from_str(&read("sarif")).unwrap();
    let result = &log["runs"][0]["results"][0];
    let place = &result["locations"][0]["physicalLocation"]["artifactLocation"];
    assert_eq!(place["uri"], "counters.c");
    let flows = result["codeFlows"][0]["threadFlows"].as_array().unwrap();
    assert!(flows.len() >= 2, "{flows:?}");
    assert!(read("html").starts_with("<!doctype html>"));
    assert!(read("junit").contains("<failure message=\"confirmed race on served\""));
    assert!(read("github").starts_with("::error file=counters.c,line="));
    assert!(read("tsan").contains("WARNING: ThreadSanitizer: data race (pid="));
    // What is told is what the file has.
    assert_eq!(read("text"), stdout(&output));
    assert!(read("text").contains("how it happens:"), "{}", read("text"));
    assert!(read("text").lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn standard_output_has_one_form() {
    let shop = shop();
    hunted(&shop, &[]);
    let output = shop.racehound(&["report", "--format", "sarif"]);
    let log: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    // So it is with a report in a file.
    shop.racehound(&["report", "--json", "f.json"]);
    let of_file = shop.racehound(&["report", "f.json", "--format", "sarif"]);
    assert_eq!(stdout(&of_file), stdout(&output));
    let output = shop.racehound(&["report", "--format", "github", "--json", "-"]);
    assert_eq!(output.status.code(), Some(USAGE));
    // What cannot be written is said before the hunt, not after.
    let output = hunted(&shop, &["--format", "html=nowhere/out.html"]);
    assert_eq!(output.status.code(), Some(USAGE));
    assert!(stdout(&output).is_empty(), "{output:?}");
    let output = shop.racehound(&["report", "--format", "pdf"]);
    assert_eq!(output.status.code(), Some(USAGE));
    assert!(stderr(&output).contains("sarif"), "{output:?}");
}

#[test]
fn colour_is_for_terminals_that_want_it() {
    let shop = shop();
    hunted(&shop, &[]);
    let coloured = |variables: &[(&str, &str)]| {
        let mut command = shop.command(crate::workshop::RACEHOUND);
        command.arg("report").env_remove("NO_COLOR");
        let output = command.envs(variables.iter().copied()).output().unwrap();
        stdout(&output).contains('\x1b')
    };
    assert!(!coloured(&[]));
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("NO_COLOR", "1")]));
}

#[test]
fn a_baseline_forgives_what_was_there() {
    let shop = shop();
    let output = hunted(&shop, &["--json", "base.json"]);
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    // Code that has only moved is known.
    let moved = format!("/* one */\n/* two */\n{COUNTERS}");
    shop.write("counters.c", &moved);
    let output = hunted(&shop, &["--baseline", "base.json", "--json", "now.json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(
        shop.findings("now.json")["findings"][0]["baseline"],
        "unchanged"
    );
    assert!(
        stdout(&output).contains("known in the baseline"),
        "{output:?}"
    );
    // What was added is new.
    shop.write("counters.c", &moved.replace("/* more */", "ask();"));
    let output = hunted(&shop, &["--baseline", "base.json", "--json", "now.json"]);
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    let report = shop.findings("now.json");
    let new = report["findings"].as_array().unwrap().iter();
    let new: Vec<&Value> = new.filter(|f| f["baseline"] == "new").collect();
    assert!(
        !new.is_empty() && new.iter().all(|f| f["location"]["name"] == "asked"),
        "{new:#?}"
    );
    let report = shop.racehound(&["report", "--baseline", "base.json"]);
    assert_eq!(report.status.code(), Some(FINDINGS));
    let nothing = shop.racehound(&["report", "--baseline", "none.json"]);
    assert_eq!(nothing.status.code(), Some(USAGE));
}

#[test]
fn what_is_accepted_is_counted_and_not_shown() {
    let shop = shop();
    hunted(&shop, &[]);
    let output = shop.racehound(&["suppress", "R1"]);
    assert_eq!(
        output.status.code(),
        Some(USAGE),
        "a reason is wanted: {output:?}"
    );
    let output = shop.racehound(&["suppress", "R7", "--reason", "none"]);
    assert_eq!(output.status.code(), Some(USAGE), "{output:?}");
    let all = stdout(&shop.racehound(&["report"]));
    let ids = all.lines().filter(|line| line.starts_with('R'));
    let ids: Vec<&str> = ids.filter_map(|line| line.split(' ').next()).collect();
    let suppress = [&["suppress", "--reason", "an \"estimate\""], &ids[..]].concat();
    assert!(shop.racehound(&suppress).status.success());
    let file = fs::read_to_string(shop.path("racehound.suppressions")).unwrap();
    assert!(
        file.contains("race on served") && file.contains("an \"estimate\""),
        "{file}"
    );
    assert!(stdout(&shop.racehound(&["suppress", "--list"])).contains("an \"estimate\""));

    for command in [&["report"][..], &["hunt", "--runs", "20", "counters.c"]] {
        let output = shop.racehound(command);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let told = stdout(&output);
        assert!(
            told.contains("suppressed") && !told.contains("thread 0."),
            "{told}"
        );
    }
    // Also by whoever runs the program once, and after the code has moved.
    shop.write("counters.c", &format!("/* moved */\n{COUNTERS}"));
    shop.cc(&["-g", "counters.c", "-o", "counters"]);
    let output = shop.racehound(&["run", "--detector", "hybrid", "--", "./counters"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!stderr(&output).contains("WARNING"), "{output:?}");

    let output = shop.racehound(&["suppress", "--remove", "1"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(shop.racehound(&["report"]).status.code(), Some(FINDINGS));
    let output = shop.racehound(&["run", "--detector", "hybrid", "--", "./counters"]);
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
}

#[test]
fn tsan_s_suppressions_are_honoured() {
    let shop = shop();
    shop.write("known.txt", "# by design\nrace:^serve$\n");
    let output = hunted(&shop, &["--suppressions", "known.txt", "--json", "f.json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        shop.findings("f.json")["findings"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    shop.write("known.txt", "race:^elsewhere$\n");
    let output = hunted(&shop, &["--suppressions", "known.txt"]);
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    let output = hunted(&shop, &["--suppressions", "none.txt"]);
    assert_eq!(output.status.code(), Some(USAGE), "{output:?}");
}

#[test]
fn one_run_is_told_in_any_form() {
    let shop = shop();
    shop.cc(&["-g", "counters.c", "-o", "counters"]);
    let run = |form: &str| {
        let arguments = [
            "run",
            "--detector",
            "hybrid",
            "--format",
            form,
            "--",
            "./counters",
        ];
        let output = shop.racehound(&arguments);
        assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
        stderr(&output)
    };
    assert!(run("github").starts_with("::error file=counters.c"));
    let log: Value = serde_json::from_str(&run("sarif")).unwrap();
    assert_eq!(log["runs"][0]["results"][0]["ruleId"], "race");
    // With a file for others, the runtime goes on telling as it finds.
    assert!(run("junit=out.xml").contains("WARNING: ThreadSanitizer: data race"));
    assert!(
        fs::read_to_string(shop.path("out.xml"))
            .unwrap()
            .contains("<failure")
    );
}

/// A pointer that is shared and atomic: threads look at what another one replaces. With
/// CHANGE they change it, which nobody may, once both have looked: what they do to the
/// pointer orders nothing from there on.
const ATOMIC_POINTER: &str = r"
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>
int main() {
    std::atomic<std::shared_ptr<std::vector<int>>> shared(std::make_shared<std::vector<int>>(3, 1));
    std::atomic<int> looking = 2;
    auto look = [&] {
        for (int i = 0; i < 50; i++) {
            auto now = shared.load();
            if (now->size() < 3)
                abort();
#ifdef CHANGE
            if (i == 0) {
                looking.fetch_sub(1, std::memory_order_relaxed);
                while (looking.load(std::memory_order_relaxed))
                    std::this_thread::yield();
            }
            now->at(0) = i;
#endif
        }
    };
    std::thread first(look), second(look);
#ifndef CHANGE
    for (int i = 0; i < 50; i++)
        shared.store(std::make_shared<std::vector<int>>(4, 2));
#endif
    first.join();
    second.join();
}
";

#[test]
fn what_libraries_do_in_order_is_not_told_and_misuse_of_them_is() {
    let shop = Workshop::new();
    shop.write("pointer.cpp", ATOMIC_POINTER);
    for (more, is_wrong) in [("-DLOOK", false), ("-DCHANGE", true)] {
        let arguments = [
            "c++",
            "-std=c++20",
            "-g",
            more,
            "pointer.cpp",
            "-o",
            "pointer",
        ];
        let built = shop.racehound(&arguments);
        assert!(built.status.success(), "{built:?}");
        let run = || shop.racehound(&["run", "--", "./pointer"]);
        let outputs: Vec<Output> = (0..12).map(|_| run()).collect();
        for output in &outputs {
            let told = output.status.code() == Some(FINDINGS);
            assert_eq!(told, is_wrong, "{}", stderr(output));
        }
    }
}
