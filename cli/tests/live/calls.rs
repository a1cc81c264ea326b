//! `racehound run --record --record-calls`: the trace knows in which functions things
//! happen, however these are left; and functions can be said to be atomic.

use std::fs::File;

use racehound_trace::check::Checker;
use racehound_trace::{FunctionId, Op, Trace, binary};

use crate::workshop::{Workshop, stderr, stdout};

fn built(text: &str, options: &[&str]) -> Workshop {
    let shop = Workshop::new();
    shop.write("program.cpp", text);
    let built = shop.racehound(&[&["c++", "-g", "program.cpp", "-o", "program"], options].concat());
    assert!(built.status.success(), "{built:?}");
    shop
}

fn recorded(shop: &Workshop, options: &[&str]) -> Trace {
    let run = ["run", "--record", "run.rht"];
    let output = shop.racehound(&[&run, options, &["--", "./program"]].concat());
    assert!(output.status.success(), "{output:?}");
    let file = File::open(shop.path("run.rht")).unwrap();
    Trace::collect(binary::Reader::new(file).unwrap()).unwrap()
}

/// Functions that are left by returning, throwing, jumping, from a signal's handler and
/// from what the C library has called; and with the compiler's help looked away from.
const WAYS_OUT: &str = r#"
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>
extern "C" void AnnotateIgnoreReadsBegin(const char *, int);
extern "C" void AnnotateIgnoreReadsEnd(const char *, int);

volatile int returned, thrown, caught, jumped, landed, handled, compared, nested;

void returns(int n) { returned += 1; if (n) returns(n - 1); returned += 1; }
void empty() {}
void throws(int n) { thrown += 1; if (!n) throw std::runtime_error("out"); throws(n - 1); }
void catches() {
    try { throws(3); } catch (const std::exception &) { caught += 1; }
    caught += 1;
}
thread_local jmp_buf buffer;
void jumps(int n) { jumped += 1; if (!n) longjmp(buffer, 1); jumps(n - 1); }
void lands() {
    if (!setjmp(buffer)) jumps(4);
    landed += 1;
}
int compares(const void *, const void *) {
    compared += 1;
    if (compared == 3) jumps(1);
    return 1;
}
void sorts() {
    int numbers[] = {4, 3, 2, 1, 0};
    if (!setjmp(buffer)) qsort(numbers, 5, sizeof *numbers, compares);
    landed += 1;
}
sigjmp_buf handler_buffer;
void handles(int) { handled += 1; siglongjmp(handler_buffer, 1); }
void raises() {
    if (!sigsetjmp(handler_buffer, 1)) raise(SIGUSR1);
    landed += 1;
}
void looks_away() { AnnotateIgnoreReadsBegin("", 0); }
void looks_again() { AnnotateIgnoreReadsEnd("", 0); }
void all() {
    for (int i = 0; i < 200; i++) {
        returns(i % 7);
        empty();
        catches();
        lands();
        compared = 0;
        sorts();
        looks_away();
        nested += 1;
        looks_again();
        nested += 1;
    }
}
int main() {
    signal(SIGUSR1, handles);
    all();
    raises();
    raises();
    std::thread(all).join();
}
"#;

#[test]
fn every_access_is_in_the_function_that_makes_it() {
    let shop = built(WAYS_OUT, &["-O0"]);
    for options in [
        &["--detector", "none", "--record-calls"][..],
        &["--record-calls"],
        &[
            "--detector",
            "none",
            "--record-calls",
            "--schedule",
            "random",
            "--seed",
            "1",
        ],
    ] {
        let trace = recorded(&shop, options);
        let mut checker = Checker::default();
        checker.check(&trace.events);
        assert_eq!(checker.problem(), None, "{options:?}");
        let mut calls: Vec<Vec<FunctionId>> = vec![Vec::new(); trace.tables.threads.len()];
        let (mut accesses, mut made) = (0, 0);
        for event in &trace.events {
            let calls = &mut calls[event.thread.index()];
            let site = &trace.tables.sites[event.site.index()];
            match event.op {
                Op::Call { function } => {
                    made += 1;
                    calls.push(function);
                }
                Op::Return => _ = calls.pop(),
                Op::Read { .. } | Op::Write { .. } => {
                    let names = |f: FunctionId| trace.tables.function_name(f);
                    let (of_site, called) = (site.function, calls.last());
                    let is_own = site.file.and_then(|file| trace.tables.names.get(file));
                    if is_own.is_some_and(|file| file.ends_with("program.cpp")) {
                        accesses += 1;
                        assert_eq!(
                            of_site.map(names),
                            called.copied().map(names),
                            "{options:?}"
                        );
                    }
                }
                _ => {}
            }
        }
        let ends = calls.iter().all(Vec::is_empty);
        assert!(
            ends && accesses > 10_000 && made > 5_000,
            "{options:?} {accesses} {made}"
        );
        let tables = &trace.tables;
        let mut functions = (0..tables.functions.len()).map(FunctionId::from_index);
        let nothing = functions.find(|f| tables.function_name(*f) == "empty()");
        assert_eq!(nothing, None, "what does nothing is not told");
    }
}

#[test]
fn without_the_option_there_are_no_calls() {
    let shop = built(WAYS_OUT, &["-O0"]);
    let trace = recorded(&shop, &[]);
    let is_call = |op: &Op| matches!(op, Op::Call { .. } | Op::Return);
    assert!(!trace.events.iter().any(|event| is_call(&event.op)));
    let output = shop.racehound(&["predict", "run.rht", "--atomic-functions", "all"]);
    assert!(stderr(&output).contains("--record-calls"), "{output:?}");
}

/// Looking and taking are each locked, and one in the mind of who wrote it.
const ACCOUNT: &str = r#"
#include <cassert>
#include <mutex>
#include <thread>
namespace bank {
class Account {
    std::mutex lock;
    int balance = 100;
public:
    int get() { std::lock_guard<std::mutex> guard(lock); return balance; } // 10
    void set(int to) { std::lock_guard<std::mutex> guard(lock); balance = to; } // 11
    bool withdraw(int amount);
};
__attribute__((noinline)) bool Account::withdraw(int amount) {
    int before = get();
    if (before < amount) return false;
    set(before - amount);
    return true;
}
}
int main() {
    bank::Account account;
    std::thread first([&] { account.withdraw(50); });
    std::thread second([&] { account.withdraw(30); });
    first.join();
    second.join();
    assert(account.get() == 20);
}
"#;

#[test]
fn functions_that_are_said_to_be_atomic_are_broken_into() {
    for level in ["-O0", "-O2"] {
        let shop = built(ACCOUNT, &[level]);
        let run = [
            "run",
            "--detector",
            "none",
            "--record",
            "run.rht",
            "--record-calls",
        ];
        let run = [&run[..], &["--", "./program"]].concat();
        let is_fine = (0..8).any(|_| shop.racehound(&run).status.success());
        assert!(is_fine, "the program always fails");
        let before = shop.racehound(&["predict", "run.rht"]);
        assert!(stdout(&before).contains("0 predicted"), "{before:?}");
        for glob in ["bank::Account::withdraw", "*::withdraw(int)"] {
            let output = shop.racehound(&[
                "predict",
                "run.rht",
                "--atomic-functions",
                glob,
                "--json",
                "found.json",
                "--confirm",
                "--",
                "./program",
            ]);
            assert_eq!(stderr(&output), "");
            let found = shop.findings("found.json")["findings"].clone();
            let bug = found
                .as_array()
                .unwrap()
                .iter()
                .find(|f| f["detail"] == "r-w-w");
            let bug = bug.unwrap_or_else(|| panic!("{level} {glob}: {found:#}"));
            assert_eq!(bug["kind"], "atomicity");
            let lines = |n: usize| bug["accesses"][n]["line"].as_u64();
            assert_eq!(
                [lines(0), lines(1), lines(2)],
                [Some(10), Some(11), Some(11)]
            );
            assert_eq!(bug["status"], "confirmed", "{bug:#}");
            assert_eq!(bug["harm"]["kind"], "assertion", "{bug:#}");
            let because = bug["reasons"][0]["because"].as_str().unwrap_or_default();
            assert!(
                because.contains("in one call of bank::Account::withdraw(int)"),
                "{because}"
            );
        }
    }
}
