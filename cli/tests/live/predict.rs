//! Anomalies predicted from a recorded run, and made to happen in another one.

use serde_json::Value;

use crate::workshop::{Workshop, stderr, stdout};

/// Builds a program, records a run of it, and puts all predictions to the test.
fn confirmed(text: &str) -> (Workshop, Value) {
    let shop = Workshop::new();
    shop.write("program.c", text);
    shop.cc(&["-g", "-O1", "program.c", "-o", "program"]);
    let run = [
        "run",
        "--detector",
        "none",
        "--record",
        "run.rht",
        "--",
        "./program",
    ];
    // It may happen by itself; what is wanted is a run in which it has not.
    let is_fine = (0..8).any(|_| shop.racehound(&run).status.success());
    assert!(is_fine, "the program always fails");
    let predict = [
        "predict",
        "run.rht",
        "--json",
        "findings.json",
        "--confirm",
        "--",
        "./program",
    ];
    let output = shop.racehound(&predict);
    assert_eq!(stderr(&output), "");
    assert!(stdout(&output).contains("REAL"), "{}", stdout(&output));
    let findings = shop.findings("findings.json")["findings"].clone();
    (shop, findings)
}

fn lines(finding: &Value) -> Vec<u64> {
    let accesses = finding["accesses"].as_array().unwrap();
    accesses
        .iter()
        .map(|a| a["line"].as_u64().unwrap())
        .collect()
}

fn find<'f>(findings: &'f Value, kind: &str, wanted: &[u64]) -> &'f Value {
    let is_it = |f: &&Value| f["kind"] == kind && lines(f) == wanted;
    let found = findings.as_array().unwrap().iter().find(is_it);
    found.unwrap_or_else(|| panic!("{kind} {wanted:?}: {findings:#}"))
}

/// The JDK's StringBuffer.append: every access is locked. `append` holds the lock of
/// its own buffer throughout, so it is a region; the other buffer's length and
/// characters are asked for under that one's lock, one after the other.
const STRING_BUFFER: &str = r#"
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static int count = 5;
static int length(void) {
    pthread_mutex_lock(&other);
    int n = count;               /* 8 */
    pthread_mutex_unlock(&other);
    return n;
}
static void get_chars(int n) {
    pthread_mutex_lock(&other);
    assert(n <= count);          /* 14 */
    pthread_mutex_unlock(&other);
}
static void *append(void *unused) {
    pthread_mutex_lock(&own);
    get_chars(length());
    pthread_mutex_unlock(&own);
    return unused;
}
static void *erase(void *unused) {
    pthread_mutex_lock(&other);
    count = 0;                   /* 25 */
    pthread_mutex_unlock(&other);
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, append, 0);
    pthread_join(a, 0);
    pthread_create(&a, 0, append, 0);
    pthread_create(&b, 0, erase, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
"#;

#[test]
fn an_atomicity_violation_behind_locks_is_made_to_happen() {
    let (_shop, findings) = confirmed(STRING_BUFFER);
    let bug = find(&findings, "atomicity", &[8, 25, 14]);
    assert_eq!(bug["status"], "confirmed", "{bug:#}");
    assert_eq!(bug["detail"], "r-w-r");
    assert_eq!(bug["harm"]["kind"], "assertion", "{bug:#}");
}

/// Both threads go through the array at the same places. The first two that are predicted to
/// meet do so at its first element, where the second thread has no business unless the
/// first one was there: only at another element they can.
const ELEMENTS: &str = r#"
#include <pthread.h>
#include <unistd.h>
static int numbers[16];
static void *load(void *unused) {
    for (int i = 0; i < 16; i += 4) numbers[i] = i + 1; /* 6 */
    return unused;
}
static void *look(void *unused) {
    usleep(20000);
    for (int i = 0; i < 16; i += 4) {
        if (i == 0 && numbers[0] == 0) break;  /* 12 */
        numbers[i] += 1;                       /* 13 */
    }
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, load, 0);
    pthread_create(&b, 0, look, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
"#;

#[test]
fn other_memory_at_the_same_places_is_tried_too() {
    let (_shop, findings) = confirmed(ELEMENTS);
    let all = findings.as_array().unwrap();
    let write = |f: &&Value| lines(f) == [6, 13] && f["accesses"][1]["op"] == "write";
    let race = all
        .iter()
        .find(write)
        .unwrap_or_else(|| panic!("{findings:#}"));
    assert_eq!(race["status"], "confirmed", "{race:#}");
    // It is told as it happened.
    assert_ne!(race["location"]["name"], "numbers", "{race:#}");
}

/// pecan.txt Figure 3: looking and taking are each locked, and meant to be one.
const WITHDRAWALS: &str = r#"
#include "racehound.h"
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;
static void *withdraw(void *unused) {
    RACEHOUND_REGION_BEGIN();
    pthread_mutex_lock(&lock);
    int value = balance;         /* 10 */
    pthread_mutex_unlock(&lock);
    if (value >= 50) {
        pthread_mutex_lock(&lock);
        balance -= 50;           /* 14 */
        pthread_mutex_unlock(&lock);
    }
    RACEHOUND_REGION_END();
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, withdraw, 0);
    pthread_create(&b, 0, withdraw, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
"#;

#[test]
fn regions_that_the_program_names_are_regions() {
    let header = include_str!("../../../examples/racehound.h");
    let text = WITHDRAWALS.replace(
        "#include \"racehound.h\"\n",
        &format!("{header}\n#line 3\n"),
    );
    let (_shop, findings) = confirmed(&text);
    let all = findings.as_array().unwrap();
    let lost = |f: &&Value| f["kind"] == "atomicity" && lines(f) == [10, 14, 14];
    let mut lost = all.iter().filter(lost);
    let bug = lost.find(|f| f["detail"] == "r-w-w" || f["detail"] == "r-w-r");
    let bug = bug.unwrap_or_else(|| panic!("{findings:#}"));
    assert_eq!(bug["status"], "confirmed", "{bug:#}");
}

/// pecan.txt Figure 5 without the order: the schedule moves a critical section.
const FIGURE_5: &str = r#"
#include <pthread.h>
static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static int x;
static void *first(void *unused) {
    pthread_mutex_lock(&l);
    x = 1;                       /* 7 */
    pthread_mutex_unlock(&l);
    return unused;
}
static void *second(void *unused) {
    pthread_mutex_lock(&l);
    pthread_mutex_unlock(&l);
    x = 2;                       /* 14 */
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return x > 2;
}
"#;

#[test]
fn a_race_is_made_to_happen_either_way() {
    let (_shop, findings) = confirmed(FIGURE_5);
    let race = findings.as_array().unwrap();
    assert_eq!(race.len(), 1, "{findings:#}");
    let mut where_ = lines(&race[0]);
    where_.sort_unstable();
    assert_eq!(where_, [7, 14]);
    assert_eq!(race[0]["status"], "confirmed", "{findings:#}");
    assert_eq!(race[0]["location"]["what"], "global", "{findings:#}");
    assert_eq!(race[0]["location"]["name"], "x", "{findings:#}");
}

/// What looks like a race, but for a flag that nobody would have set.
const FLAG: &str = r#"
#include <pthread.h>
static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static int ready, data;
static void *giver(void *unused) {
    data = 1;                    /* 6 */
    pthread_mutex_lock(&l);
    ready = 1;
    pthread_mutex_unlock(&l);
    return unused;
}
static void *taker(void *unused) {
    for (;;) {
        pthread_mutex_lock(&l);
        int seen = ready;
        pthread_mutex_unlock(&l);
        if (seen) break;
    }
    data = 2;                    /* 19 */
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, giver, 0);
    pthread_create(&b, 0, taker, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return data > 2;
}
"#;

#[test]
fn what_cannot_happen_is_unreproduced_and_the_reason_is_kept() {
    let (_shop, findings) = confirmed(FLAG);
    let race = findings.as_array().unwrap();
    let race = race.iter().find(|f| f["kind"] == "race").unwrap();
    assert_eq!(race["status"], "unreproduced", "{race:#}");
    let reasons = race["reasons"].as_array().unwrap();
    let tried = reasons.iter().find(|r| r["by"] == "re-execution").unwrap();
    let why = tried["because"].as_str().unwrap();
    assert!(why.contains("left the schedule at"), "{why}");
    assert!(why.contains("program.c:"), "{why}");
}

#[test]
fn schedules_are_files_that_can_be_followed() {
    let (shop, _) = confirmed(FIGURE_5);
    let clips = ["predict", "run.rht", "--schedules", "clips"];
    assert!(shop.racehound(&clips).status.success());
    for clip in ["R1", "R1.reversed"] {
        let plan = format!("follow:file=clips/{clip}.schedule");
        let run = [
            "run",
            "--detector",
            "none",
            "--schedule",
            &plan,
            "--",
            "./program",
        ];
        let output = shop.racehound(&run);
        assert!(
            stderr(&output).contains(": confirmed\n"),
            "{}",
            stderr(&output)
        );
    }
}

/// A writer moves two bounds, one after the other, and a reader fails of it if it comes in
/// between: before the writer has come to the second one.
const BOUNDS: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t update = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static int low = 0, high = 10;
static void *move(void *unused) {
    pthread_mutex_lock(&update);
    pthread_mutex_lock(&lock);
    low = 20;                    /* 10 */
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    high = 30;                   /* 13 */
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&update);
    return unused;
}
static void *look(void *unused) {
    usleep(50000);
    pthread_mutex_lock(&lock);
    int l = low;                 /* 21 */
    int h = high;                /* 22 */
    pthread_mutex_unlock(&lock);
    assert(l < h);
    return unused;
}
int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, move, 0);
    pthread_create(&threads[1], 0, look, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
}
"#;

#[test]
fn who_fails_of_what_is_half_done_does_not_end_the_program_before_it_is_done() {
    let (_shop, findings) = confirmed(BOUNDS);
    let found = find(&findings, "atomic-set", &[10, 21, 22, 13]);
    assert_eq!(found["status"], "confirmed", "{found:#}");
    assert_eq!(found["harm"]["kind"], "assertion", "{found:#}");
}

/// A counter is read and written under a lock that its users may have already.
const REENTRANT: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER, lock;
static int count;
static int get(void) {
    pthread_mutex_lock(&lock);
    int n = count;               /* 9 */
    pthread_mutex_unlock(&lock);
    return n;
}
static void set(int n) {
    pthread_mutex_lock(&lock);
    count = n;                   /* 15 */
    pthread_mutex_unlock(&lock);
}
static void *add(void *unused) {
    pthread_mutex_lock(&turn);
    set(get() + 1);
    pthread_mutex_unlock(&turn);
    return unused;
}
static void *add_much(void *unused) {
    usleep(50000);
    pthread_mutex_lock(&lock);
    pthread_mutex_trylock(&lock);
    set(get() + 10);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_mutexattr_t again;
    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &again);
    pthread_t threads[2];
    pthread_create(&threads[0], 0, add, 0);
    pthread_create(&threads[1], 0, add_much, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    assert(count == 11);
}
"#;

#[test]
fn a_lock_that_is_taken_again_is_in_no_schedules_way() {
    let (_shop, findings) = confirmed(REENTRANT);
    let found = find(&findings, "atomicity", &[9, 15, 15]);
    assert_eq!(found["status"], "confirmed", "{found:#}");
    assert_eq!(found["harm"]["kind"], "assertion", "{found:#}");
}
