//! The memory of the process may be limited: then accesses are forgotten, and
//! races are found all the same when they come later. Without a limit nothing is.

use std::process::Output;

use super::FINDINGS;
use crate::workshop::{Workshop, stderr};

const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void __tsan_flush_memory(void);

enum { LARGE = 64 << 20 };
static char *volatile block;
int early, late;

static void *touch(void *what) {
    *(int *)what = 1;
    return NULL;
}

static void race(int *what, int flush) {
    pthread_t thread;
    pthread_create(&thread, NULL, touch, what);
    usleep(200 * 1000);
    if (flush)
        __tsan_flush_memory();
    *what = 2;
    pthread_join(thread, NULL);
}

static void *touch_all(void *unused) {
    for (int i = 0; i < LARGE; i += 8)
        block[i] = 1;
    usleep(500 * 1000);
    return unused;
}

static void *end_late(void *unused) {
    usleep(300 * 1000);
    return unused;
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    pthread_t thread;
    if (!strcmp(what, "large")) {
        block = malloc(LARGE);
        pthread_create(&thread, NULL, touch_all, NULL);
        pthread_join(thread, NULL);
        race(&late, 0);
    }
    if (!strcmp(what, "flush")) {
        race(&early, 1);
        race(&late, 0);
    }
    if (!strcmp(what, "leave")) {
        pthread_create(&thread, NULL, end_late, NULL);
        pthread_detach(thread);
        pthread_exit(NULL);
    }
}
"#;

/// Runs the program, which is to take a minute at most.
fn run(what: &str, options: &str) -> Output {
    let shop = Workshop::new();
    shop.write("program.c", PROGRAM);
    shop.cc(&["-g", "-O1", "program.c", "-o", "program"]);
    let mut command = shop.command("timeout");
    command.args(["60", "./program", what]);
    command.env("TSAN_OPTIONS", format!("atexit_sleep_ms=0:{options}"));
    command.output().unwrap()
}

#[test]
fn beyond_the_limit_accesses_are_forgotten_and_races_are_found_still() {
    let output = run("large", "memory_limit_mb=200:verbosity=1");
    let text = stderr(&output);
    let flushed = text.split_once("memory flushed RSS=");
    let (before, after) = flushed.unwrap_or_else(|| panic!("{text}"));
    let (_, before) = before.rsplit_once("check RSS=").unwrap();
    let megabytes = |text: &str| {
        let number = text.split_whitespace().next();
        number.unwrap().parse::<u32>().unwrap()
    };
    // Of what the process has, two thirds are known of the other third.
    assert!(megabytes(after) < megabytes(before) / 2, "{text}");
    assert!(text.contains("global 'late'"), "{text}");
    assert_eq!(output.status.code(), Some(FINDINGS));
}

#[test]
fn within_the_limit_nothing_is_forgotten() {
    let output = run("large", "memory_limit_mb=100000:verbosity=1");
    let text = stderr(&output);
    assert!(text.contains("memory flush check RSS="), "{text}");
    assert!(!text.contains("memory flushed"), "{text}");
}

#[test]
fn nobody_looks_without_a_limit_or_need() {
    for options in ["verbosity=1", "verbosity=1:memory_limit_mb=100"] {
        let text = stderr(&run("", options));
        assert!(text.contains("Running under ThreadSanitizer"), "{text}");
        assert!(!text.contains("memory flush check"), "{text}");
    }
    assert_eq!(stderr(&run("", "memory_limit_mb=100")), "");
}

#[test]
fn the_program_may_have_accesses_forgotten() {
    let output = run("flush", "");
    let text = stderr(&output);
    assert!(!text.contains("global 'early'"), "{text}");
    assert!(text.contains("global 'late'"), "{text}");
}

#[test]
fn a_process_whose_threads_have_all_ended_ends() {
    let output = run("leave", "memory_limit_mb=1000");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}
