//! Classic deadlocks: found under control, told with who waits for what, who has it and
//! where, and brought about again by the schedule.

use std::process::Command;

use crate::FINDINGS;
use crate::control::{built, hash, written};
use crate::workshop::{Workshop, stderr, stdout};

const SEEDS: u64 = 200;

fn run(shop: &Workshop, options: &[&str], arguments: &[&str]) -> std::process::Output {
    let quiet = ["run", "--detector", "none"];
    shop.racehound(&[&quiet, options, &["--", "./program"], arguments].concat())
}

/// The first seed of a strategy that leads to a deadlock, and what is said of it.
fn find(shop: &Workshop, strategy: &str, arguments: &[&str]) -> std::process::Output {
    let found = (0..SEEDS).find_map(|seed| {
        let seed = seed.to_string();
        let keep = ["--schedule-out", "stuck.schedule", "--json", "f.json"];
        let options = [&["--schedule", strategy, "--seed", &seed][..], &keep].concat();
        let output = run(shop, &options, arguments);
        stderr(&output).contains("deadlock").then_some(output)
    });
    found.unwrap_or_else(|| panic!("no deadlock in {SEEDS} seeds of {strategy}"))
}

/// It is reported as a deadlock, at the lines that are marked, and replayed.
fn is_told_and_replayed(
    source: &str,
    shop: &Workshop,
    output: &std::process::Output,
    arguments: &[&str],
) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(FINDINGS), "{source}: {text}");
    let path = format!("{}/../programs/{source}", env!("CARGO_MANIFEST_DIR"));
    let program = std::fs::read_to_string(path).unwrap();
    let file = source.rsplit('/').next().unwrap();
    let marked = program.lines().enumerate();
    let marked = marked.filter(|(_, line)| line.ends_with("// HERE"));
    let mut places = marked.map(|(at, _)| format!("{file}:{}", at + 1));
    assert!(
        places.any(|place| text.contains(&place)),
        "{source}: {text}"
    );
    let finding = &shop.findings("f.json")["findings"][0];
    assert_eq!(finding["kind"], "deadlock", "{source}");
    assert_eq!(finding["harm"]["kind"], "deadlock", "{source}");
    let again = run(
        shop,
        &["--schedule", "replay:file=stuck.schedule"],
        arguments,
    );
    assert!(
        stderr(&again).contains("deadlock"),
        "{source}: {}",
        stderr(&again)
    );
    assert_eq!(hash(&again), hash(output), "{source}");
}

#[test]
fn philosophers_starve_however_many_they_are() {
    let source = "deadlocks/dining_philosophers.c";
    let shop = built(source);
    for seats in 2..=7 {
        let arguments = [&*seats.to_string()];
        let output = find(&shop, "random", &arguments);
        is_told_and_replayed(source, &shop, &output, &arguments);
        let text = stderr(&output);
        // The cycle: each waits for a lock that its neighbour holds.
        let waits = text.matches("waits for a lock that T").count();
        assert_eq!(waits, seats, "{text}");
        for thread in 1..=seats {
            assert!(text.contains(&format!("that T{thread} holds")), "{text}");
        }
    }
}

#[test]
fn everybody_takes_one_lock_before_anybody_takes_another() {
    let source = "deadlocks/one_meal.c";
    let shop = built(source);
    let output = find(&shop, "embrace", &[]);
    is_told_and_replayed(source, &shop, &output, &[]);
    for seed in ["2", "4", "6"] {
        let output = run(&shop, &["--schedule", "embrace", "--seed", seed], &[]);
        assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    }
}

#[test]
fn who_is_about_to_wait_is_overtaken() {
    let source = "deadlocks/stop_unnoticed.c";
    let shop = built(source);
    let output = find(&shop, "overtake", &[]);
    is_told_and_replayed(source, &shop, &output, &[]);
    let text = stderr(&output);
    assert!(text.contains("waits for a condition"), "{text}");
}

#[test]
fn who_looks_a_few_times_before_it_sleeps_may_sleep_too_late() {
    let source = "deadlocks/spins_then_sleeps.c";
    let shop = built(source);
    let output = find(&shop, "pct", &[]);
    is_told_and_replayed(source, &shop, &output, &[]);
}

#[test]
fn who_waits_in_the_kernel_for_other_threads_waits_for_ever_like_any_other() {
    let source = "deadlocks/events_coalesce.c";
    let shop = built(source);
    let output = find(&shop, "restless", &[]);
    is_told_and_replayed(source, &shop, &output, &[]);
    let text = stderr(&output);
    assert!(
        text.contains("waits for something to read that nobody writes"),
        "{text}"
    );
}

#[test]
fn other_deadlocks_are_found_and_replayed() {
    for (source, what) in [
        ("deadlocks/ab_ba.c", "waits for a lock that T"),
        (
            "deadlocks/recursive_read.c",
            "waits for a lock that T2, which goes first, waits to write",
        ),
        (
            "deadlocks/recursive_read.c",
            "waits for a lock that T1 holds for reading",
        ),
        (
            "deadlocks/lost_wakeup.c",
            "waits for a condition that nobody signals",
        ),
        (
            "deadlocks/missed_signal.c",
            "waits for a condition that nobody signals",
        ),
        (
            "deadlocks/self_deadlock.c",
            "waits for a lock that it holds itself",
        ),
    ] {
        let shop = built(source);
        for strategy in ["random", "pct"] {
            let output = find(&shop, strategy, &[]);
            assert!(
                stderr(&output).contains(what),
                "{source}: {}",
                stderr(&output)
            );
            is_told_and_replayed(source, &shop, &output, &[]);
        }
    }
}

#[test]
fn who_reads_twice_waits_for_no_writer_unless_the_lock_says_so() {
    let shop = built("clean/rwlock_recursive_read.c");
    for strategy in ["random", "pct", "restless", "overtake", "drfinder"] {
        for seed in 0..10 {
            let seed = seed.to_string();
            let output = run(&shop, &["--schedule", strategy, "--seed", &seed], &[]);
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(0), "{strategy}, {seed}: {text}");
        }
    }
}

#[test]
fn who_would_wait_for_its_own_read_write_lock_is_told_so_by_the_c_library() {
    let shop = written(
        "#include <errno.h>\n\
         #include <pthread.h>\n\
         static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;\n\
         int main(void) {\n\
             pthread_rwlock_wrlock(&lock);\n\
             if (pthread_rwlock_rdlock(&lock) != EDEADLK) return 1;\n\
             if (pthread_rwlock_wrlock(&lock) != EDEADLK) return 2;\n\
             return pthread_rwlock_unlock(&lock);\n\
         }\n",
    );
    let output = run(&shop, &["--schedule", "random"], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn who_does_something_once_does_not_wait_for_itself_in_silence() {
    let shop = written(
        "#include <pthread.h>\n\
         static pthread_once_t once = PTHREAD_ONCE_INIT;\n\
         static int depth;\n\
         static void begin(void) { if (depth++ == 0) pthread_once(&once, begin); }\n\
         int main(void) { return pthread_once(&once, begin); }\n",
    );
    let output = run(&shop, &["--schedule", "random"], &[]);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(FINDINGS), "{text}");
    assert!(
        text.contains("waits for what it is doing once itself"),
        "{text}"
    );
}

const CROSSED: &str = r"
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static void *first(void *unused) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b); // FIRST
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return unused;
}
static void *second(void *unused) {
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a); // SECOND
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return unused;
}
int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
";

/// Where the threads wait, as `program.c:LINE`.
fn crossed() -> [String; 2] {
    ["// FIRST", "// SECOND"].map(|mark| {
        let at = CROSSED.lines().position(|line| line.ends_with(mark));
        format!("program.c:{}", at.unwrap() + 1)
    })
}

#[test]
fn the_summary_names_where_a_thread_waits() {
    let shop = written(CROSSED);
    let text = stderr(&find(&shop, "random", &[]));
    let summary = text.lines().find(|line| line.starts_with("SUMMARY"));
    let is_there = |place: &String| summary.is_some_and(|line| line.contains(place));
    assert!(crossed().iter().any(is_there), "{text}");
}

#[test]
fn gdb_stops_with_all_threads_at_their_waits() {
    if Command::new("gdb").arg("--version").output().is_err() {
        eprintln!("there is no gdb here, so this cannot be tried");
        return;
    }
    let shop = written(CROSSED);
    let hunted = shop.racehound(&["hunt", "--budget", "60s", "--", "./program"]);
    assert_eq!(hunted.status.code(), Some(FINDINGS), "{hunted:?}");
    let output = shop.racehound(&["replay", "R1", "--gdb"]);
    let text = stdout(&output);
    for place in crossed() {
        let stands = |line: &str| line.contains("stands at") && line.contains(&place);
        assert!(text.lines().any(stands), "{place}: {text}");
    }
}
