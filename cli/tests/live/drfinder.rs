//! DrFinder on live programs: what it shows, and what it remembers.

use std::fs;
use std::process::Output;

use crate::FINDINGS;
use crate::workshop::{Workshop, stderr, stdout};

fn built(source: &str) -> Workshop {
    let shop = Workshop::new();
    let path = format!("{}/../programs/{source}", env!("CARGO_MANIFEST_DIR"));
    shop.cc(&["-g", "-O1", &path, "-o", "program"]);
    shop
}

fn written(text: &str) -> Workshop {
    let shop = Workshop::new();
    shop.write("program.c", text);
    shop.cc(&["-g", "program.c", "-o", "program"]);
    shop
}

fn scheduled(shop: &Workshop, options: &[&str]) -> Output {
    shop.racehound(&[&["run", "--schedule"], options, &["--", "./program"]].concat())
}

/// The relations that the project remembers of the program.
fn relations(shop: &Workshop) -> String {
    let files = fs::read_dir(shop.path(".racehound/relations")).unwrap();
    let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    let [file] = &files[..] else {
        panic!("{files:?}");
    };
    fs::read_to_string(file).unwrap()
}

/// The classes of locks in the text.
fn classes(relations: &str) -> Vec<&str> {
    let mut classes: Vec<_> = relations
        .lines()
        .filter_map(|line| line.strip_prefix("lock "))
        .collect();
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// Whether a function may take a lock of a class.
fn may_trigger(relations: &str, function: &str, class: &str) -> bool {
    let blocks = relations.split("\nlock ").skip(1);
    let of_class = blocks.filter(|block| block.lines().next() == Some(class));
    let mut functions = of_class.flat_map(str::lines);
    functions.any(|line| line.strip_prefix("  ") == Some(function))
}

/// Two threads take two locks as `std::lock` does: the other is tried for, and who does not
/// get it gives back what it has.
const BACKING_OFF: &str = r"
#include <pthread.h>
static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static void *take(void *first) {
    pthread_mutex_t *own = first, *other = &locks[own == &locks[0]];
    for (int i = 0; i < 3; i++) {
        for (;;) {
            pthread_mutex_lock(own);
            if (pthread_mutex_trylock(other) == 0) break;
            pthread_mutex_unlock(own);
        }
        pthread_mutex_unlock(other);
        pthread_mutex_unlock(own);
    }
    return 0;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, take, &locks[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
}
";

#[test]
fn who_gives_back_what_it_has_is_not_held_up_for_ever() {
    let shop = written(BACKING_OFF);
    for seed in 0..12 {
        let output = scheduled(&shop, &["drfinder", "--seed", &seed.to_string()]);
        assert!(output.status.success(), "{seed}: {}", stderr(&output));
        let text = stderr(&output);
        let steps = text.split(" steps").next().unwrap().rsplit(' ').next();
        let steps: u64 = steps.unwrap().parse().unwrap();
        assert!(steps < 100_000, "{seed}: {text}");
    }
}

#[test]
fn figure_2_is_hidden_and_drfinder_shows_both_races_for_the_reasons_of_section_3() {
    let shop = built("figures/drfinder_2.c");
    let plain = shop.racehound(&["run", "--", "./program"]);
    assert!(plain.status.success(), "{}", stderr(&plain));
    let (mut on_x, mut on_y, mut log) = (false, false, String::new());
    for seed in 0..10 {
        let seed = seed.to_string();
        let output = scheduled(&shop, &["drfinder", "--explain", "--seed", &seed]);
        let text = stderr(&output);
        on_x |= text.contains("SUMMARY") && text.contains("global 'x'");
        on_y |= text.contains("SUMMARY") && text.contains("global 'y'");
        log += &text;
    }
    assert!(on_x && on_y, "{log}");
    let reason = |line: &str| {
        line.contains("0.1 requests k ")
            && line.contains("is suspended: 0.3 is in f")
            && line.ends_with("which may trigger that, and is escorted")
    };
    assert!(log.lines().any(reason), "{log}");
    let reversed = "0.3 acquires the very lock: the edge is reversed, 0.1 resumes";
    assert!(log.contains(reversed), "{log}");
    assert!(log.contains(" 0 relations known, "), "{log}");
    assert!(log.contains("thrashing rate"), "{log}");
}

#[test]
fn what_it_shows_was_observed() {
    let shop = built("figures/drfinder_2.c");
    let json = ["drfinder", "--json", "findings.json", "--format", "text"];
    for seed in 0..10 {
        let seed = seed.to_string();
        let output = scheduled(&shop, &[&json[..], &["--seed", &seed]].concat());
        let findings = shop.findings("findings.json");
        let findings = findings["findings"].as_array().unwrap();
        if let Some(finding) = findings.first() {
            assert_eq!(output.status.code(), Some(FINDINGS));
            assert_eq!(finding["status"], "observed");
            return;
        }
    }
    panic!("no seed shows a race");
}

#[test]
fn collecting_tells_what_scheduling_asks_for() {
    let shop = built("figures/drfinder_2.c");
    let output = scheduled(&shop, &["collect"]);
    assert!(output.status.success());
    assert!(
        stderr(&output).contains(": 0 relations known, "),
        "{}",
        stderr(&output)
    );
    let collected = relations(&shop);
    assert!(may_trigger(&collected, "f6", "k"), "{collected}");
    let output = scheduled(&shop, &["drfinder"]);
    let (known, new) = (stderr(&output), " 0 new; ");
    assert!(
        !known.contains(" 0 relations known") && known.contains(new),
        "{known}"
    );
}

/// A lock in a block, and then one in another that the C library makes of the same memory.
const IN_ONE_PLACE: &str = r#"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
struct first { long number; pthread_mutex_t lock; };
struct second { pthread_mutex_t lock; long number; };
__attribute__((noinline)) static uintptr_t one(void) {
    struct first *block = malloc(sizeof *block);
    block->lock = fresh;
    pthread_mutex_lock(&block->lock);
    pthread_mutex_unlock(&block->lock);
    uintptr_t where = (uintptr_t)block;
    free(block);
    return where;
}
__attribute__((noinline)) static uintptr_t other(void) {
    struct second *block = malloc(sizeof *block);
    block->lock = fresh;
    pthread_mutex_lock(&block->lock);
    pthread_mutex_unlock(&block->lock);
    uintptr_t where = (uintptr_t)block;
    free(block);
    return where;
}
int main(void) {
    puts(one() == other() ? "same" : "different");
}
"#;

#[test]
fn who_only_collects_gives_blocks_back_and_forgets_their_locks() {
    let shop = written(IN_ONE_PLACE);
    let output = scheduled(&shop, &["collect"]);
    assert_eq!(stdout(&output), "same\n", "{}", stderr(&output));
    let collected = relations(&shop);
    let classes = classes(&collected);
    let of = |function: &str| classes.iter().any(|class| class.contains(function));
    assert!(
        of("block from one") && of("block from other"),
        "{collected}"
    );
}

#[test]
fn depth_limits_what_is_related() {
    let shop = built("figures/drfinder_2.c");
    scheduled(&shop, &["collect", "--depth", "2"]);
    let collected = relations(&shop);
    assert!(!may_trigger(&collected, "f6", "k"), "{collected}");
}

const KINDS: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>
void __tsan_mutex_pre_lock(void *, unsigned);
void __tsan_mutex_post_lock(void *, unsigned, int);
int __tsan_mutex_pre_unlock(void *, unsigned);
void __tsan_mutex_post_unlock(void *, unsigned);
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, of_condition = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t spin;
mtx_t c11;
int annotated, ready;
struct node { long content; pthread_mutex_t lock; } *nodes[100];
struct node *make_node(void) {
    struct node *node = calloc(1, sizeof *node);
    pthread_mutex_init(&node->lock, NULL);
    return node;
}
void with_mutex(void) { pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); }
void with_rwlock(void) { pthread_rwlock_rdlock(&readers); pthread_rwlock_unlock(&readers); }
void with_spin(void) { pthread_spin_lock(&spin); pthread_spin_unlock(&spin); }
void with_c11(void) { mtx_lock(&c11); mtx_unlock(&c11); }
void with_annotated(void) {
    __tsan_mutex_pre_lock(&annotated, 0);
    __tsan_mutex_post_lock(&annotated, 0, 0);
    __tsan_mutex_pre_unlock(&annotated, 0);
    __tsan_mutex_post_unlock(&annotated, 0);
}
void with_node(struct node *node) {
    pthread_mutex_lock(&node->lock);
    pthread_mutex_unlock(&node->lock);
}
void waits(void) {
    pthread_mutex_lock(&of_condition);
    while (!ready) pthread_cond_wait(&condition, &of_condition);
    pthread_mutex_unlock(&of_condition);
}
void *other(void *none) {
    with_mutex(); with_rwlock(); with_spin(); with_c11(); with_annotated();
    for (int i = 0; i < 100; i++) with_node(nodes[i]);
    pthread_mutex_lock(&of_condition);
    ready = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&of_condition);
    return none;
}
int main(void) {
    pthread_t thread;
    pthread_spin_init(&spin, 0);
    mtx_init(&c11, mtx_plain);
    for (int i = 0; i < 100; i++) nodes[i] = make_node();
    pthread_create(&thread, NULL, other, NULL);
    with_mutex(); with_rwlock(); with_spin(); with_c11(); with_annotated();
    waits();
    pthread_join(thread, NULL);
}
"#;

#[test]
fn locks_of_all_kinds_take_part_and_instances_are_one_class() {
    for plan in ["collect", "drfinder"] {
        let shop = written(KINDS);
        for seed in 0..5 {
            let plan = match plan {
                "drfinder" => format!("drfinder:seed={seed}"),
                plan => plan.to_owned(),
            };
            let output = scheduled(&shop, &[&plan]);
            assert!(output.status.success(), "{plan}: {}", stderr(&output));
        }
        let all = relations(&shop);
        for (function, class) in [
            ("with_mutex", "mutex"),
            ("with_rwlock", "readers"),
            ("with_spin", "spin"),
            ("with_c11", "c11"),
            ("with_annotated", "annotated"),
            ("waits", "of_condition"),
            ("main", "of_condition"),
            ("other", "of_condition"),
        ] {
            assert!(
                may_trigger(&all, function, class),
                "{plan}: {function} {class}\n{all}"
            );
        }
        assert_eq!(
            classes(&all).len(),
            7,
            "a hundred nodes are one class: {all}"
        );
    }
}

const ANNOTATED: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
void __tsan_mutex_create(void *, unsigned);
void __tsan_mutex_pre_lock(void *, unsigned);
void __tsan_mutex_post_lock(void *, unsigned, int);
int __tsan_mutex_pre_unlock(void *, unsigned);
void __tsan_mutex_post_unlock(void *, unsigned);
static atomic_int taken;
static int hidden, guarded;
static void lock(void) {
    __tsan_mutex_pre_lock(&taken, 0);
    do
        while (atomic_load_explicit(&taken, memory_order_relaxed)) ;
    while (atomic_exchange_explicit(&taken, 1, memory_order_relaxed));
    __tsan_mutex_post_lock(&taken, 0, 0);
}
static void unlock(void) {
    __tsan_mutex_pre_unlock(&taken, 0);
    atomic_store_explicit(&taken, 0, memory_order_relaxed);
    __tsan_mutex_post_unlock(&taken, 0);
}
static void *publishes(void *argument) {
    hidden = 1;
    lock();
    guarded++;
    unlock();
    return argument;
}
static void *looks(void *argument) {
    usleep(20000);
    lock();
    guarded++;
    unlock();
    return hidden == 2 ? &guarded : argument;
}
int main(void) {
    pthread_t one, other;
    __tsan_mutex_create(&taken, 0);
    pthread_create(&one, 0, publishes, 0);
    pthread_create(&other, 0, looks, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
"#;

#[test]
fn who_is_escorted_to_an_annotated_lock_has_it_before_the_other_resumes() {
    let shop = written(ANNOTATED);
    let plain = scheduled(&shop, &["drfinder:seed=1"]);
    assert!(plain.status.success(), "{}", stderr(&plain));
    for seed in 2..6 {
        let output = scheduled(&shop, &[&format!("drfinder:seed={seed}"), "--explain"]);
        assert_eq!(output.status.code(), Some(FINDINGS), "{}", stderr(&output));
        assert!(stderr(&output).contains("the edge is reversed"));
    }
}

const CRASH: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void last(void) { pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); }
int main(int count, char **arguments) {
    (void)arguments;
    last();
    raise(SIGKILL);
    return count;
}
"#;

#[test]
fn a_program_that_is_killed_has_told_what_it_did() {
    let shop = written(CRASH);
    let output = scheduled(&shop, &["drfinder"]);
    assert!(!output.status.success());
    assert!(
        may_trigger(&relations(&shop), "last", "lock"),
        "{}",
        relations(&shop)
    );
}

const FAMILY: &str = r#"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void take(void) { pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); }
__attribute__((noinline)) void in_0(void) { take(); }
__attribute__((noinline)) void in_1(void) { take(); }
__attribute__((noinline)) void in_2(void) { take(); }
__attribute__((noinline)) void in_3(void) { take(); }
int main(void) {
    void (*in[])(void) = {in_0, in_1, in_2, in_3};
    for (int i = 0; i < 4; i++)
        if (fork() == 0) { in[i](); _exit(0); }
    while (wait(NULL) > 0) {}
}
"#;

#[test]
fn processes_side_by_side_all_add_theirs() {
    let shop = written(FAMILY);
    let output = scheduled(&shop, &["collect"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let all = relations(&shop);
    for function in ["in_0", "in_1", "in_2", "in_3"] {
        assert!(may_trigger(&all, function, "lock"), "{function}\n{all}");
    }
}

const CROSSED: &str = r#"
#include <pthread.h>
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
void take_a(void) { pthread_mutex_lock(&a); }
void take_b(void) { pthread_mutex_lock(&b); }
void *left(void *none) {
    take_a(); take_b();
    pthread_mutex_unlock(&b); pthread_mutex_unlock(&a);
    return none;
}
void *right(void *none) {
    take_b(); take_a();
    pthread_mutex_unlock(&a); pthread_mutex_unlock(&b);
    return none;
}
int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, left, 0);
    pthread_create(&threads[1], 0, right, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
}
"#;

#[test]
fn a_deadlock_ends_the_run_with_a_report_and_the_next_seed_goes_on() {
    let shop = written(CROSSED);
    let (mut deadlocks, mut ends) = (0, 0);
    for seed in 0..12 {
        let output = scheduled(&shop, &["drfinder", "--seed", &seed.to_string()]);
        match stderr(&output).contains("deadlock") && output.status.code() == Some(FINDINGS) {
            true => deadlocks += 1,
            false => ends += 1,
        }
        assert!(
            stderr(&output).contains("relations known"),
            "{}",
            stderr(&output)
        );
    }
    assert!(deadlocks > 0, "{deadlocks}, {ends}");
}

#[test]
fn its_schedules_can_be_replayed() {
    let shop = built("figures/drfinder_2.c");
    scheduled(&shop, &["collect"]);
    for seed in 0..3 {
        let seed = seed.to_string();
        let first = scheduled(&shop, &["drfinder", "--seed", &seed, "--schedule-out", "s"]);
        let again = scheduled(&shop, &["replay:file=s"]);
        assert!(
            !stderr(&again).contains("left the schedule"),
            "{}",
            stderr(&again)
        );
        let races = |output: &Output| stderr(output).matches("SUMMARY").count();
        assert_eq!(races(&first), races(&again));
    }
}

#[test]
fn a_seed_repeats_an_execution_when_nothing_new_is_told() {
    let shop = written(KINDS);
    for seed in 0..3 {
        scheduled(&shop, &[&format!("drfinder:seed={seed}")]);
    }
    let hash = || {
        let text = stderr(&scheduled(&shop, &["drfinder:seed=1"]));
        let line = text.lines().find(|line| line.contains(" steps, hash "));
        line.unwrap().rsplit(' ').next().unwrap().to_owned()
    };
    let first = hash();
    assert!((0..3).all(|_| hash() == first));
}
