//! Sampled runs: what they find, and what they leave for the next.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::workshop::{Workshop, stderr, stdout};
use crate::{FINDINGS, USAGE};

const ATEX: &str = "sample=atex:atexit_sleep_ms=0";
const LITERACE: &str = "sample=literace:atexit_sleep_ms=0";

/// A project with a store, and the program in it.
fn project(source: &str) -> Workshop {
    let shop = Workshop::new();
    fs::create_dir(shop.path(".racehound")).unwrap();
    let path = format!("{}/../programs/{source}", env!("CARGO_MANIFEST_DIR"));
    shop.cc(&["-g", "-O1", &path, "-o", "program"]);
    shop
}

fn written(text: &str) -> Workshop {
    let shop = Workshop::new();
    fs::create_dir(shop.path(".racehound")).unwrap();
    shop.write("program.c", text);
    shop.cc(&["-g", "program.c", "-o", "program"]);
    shop
}

fn command(shop: &Workshop, options: &str, arguments: &[&str]) -> Command {
    let mut command = shop.command("./program");
    command.args(arguments).env("RACEHOUND_OPTIONS", options);
    command
}

fn run(shop: &Workshop, options: &str, arguments: &[&str]) -> Output {
    command(shop, options, arguments).output().unwrap()
}

fn found(output: &Output) -> bool {
    match output.status.code() {
        Some(FINDINGS) => true,
        Some(0) => false,
        _ => panic!("{output:?}"),
    }
}

/// What the store says of the only program.
fn stat(shop: &Workshop) -> Value {
    let output = shop.racehound(&["store", "stat", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let stat: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let sampled = stat["sampled"].as_array().unwrap();
    assert_eq!(sampled.len(), 1, "{stat}");
    sampled[0].clone()
}

#[test]
fn cases_c_and_d_of_figure_4_are_caught_by_atexrace_and_missed_by_literace() {
    for case in ["c", "d"] {
        let shop = project(&format!("figures/atexrace_4{case}_hot.c"));
        let times = |options| {
            let outcome = |_| found(&run(&shop, options, &[]));
            (0..5).map(outcome).filter(|&found| found).count()
        };
        assert!(times(ATEX) >= 4, "({case})");
        assert_eq!(times(LITERACE), 0, "({case})");
    }
}

/// Figure 6, with the arguments of f5 and f6 on the command line, and many calls.
const FIGURE_6: &str = r"
#include <pthread.h>
#include <stdlib.h>

long x, y;
int i, j;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) void f5(int i) {
    if (i < 100) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); }
    else { pthread_mutex_lock(&n); x += y; pthread_mutex_unlock(&n); } // line 11
}

__attribute__((noinline)) void f6(int j) {
    if (j < 100) { pthread_mutex_lock(&m); y++; pthread_mutex_unlock(&m); } // line 15
    else { pthread_mutex_lock(&n); y += x; pthread_mutex_unlock(&n); }
}

void *t1(void *unused) { for (int k = 0; k < 3000; k++) f5(i); return unused; }
void *t2(void *unused) { for (int k = 0; k < 3000; k++) f6(j); return unused; }

int main(int count, char **arguments) {
    pthread_t one, two;
    (void)count;
    i = atoi(arguments[1]);
    j = atoi(arguments[2]);
    pthread_create(&one, NULL, t1, NULL);
    pthread_create(&two, NULL, t2, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
}
";

#[test]
fn what_a_known_pair_does_later_is_caught_by_bursts_as_in_figure_6() {
    let shop = written(FIGURE_6);
    let first = run(&shop, ATEX, &["10", "100"]);
    assert!(found(&first));
    assert!(
        !stderr(&first).contains("program.c:11"),
        "{}",
        stderr(&first)
    );
    for _ in 0..3 {
        run(&shop, ATEX, &["10", "100"]);
    }
    assert!(stat(&shop)["frequent"].as_u64().unwrap() >= 1);
    let outcomes: Vec<Output> = (0..5).map(|_| run(&shop, ATEX, &["100", "10"])).collect();
    let on_y = |output: &&Output| {
        let text = stderr(output);
        text.contains("program.c:11") && text.contains("program.c:15")
    };
    assert!(outcomes.iter().filter(on_y).count() >= 3, "{outcomes:?}");
}

/// Two functions whose race, if the argument says that there is one, comes behind a loop.
const BEHIND_A_LOOP: &str = r"
#include <pthread.h>
#include <stdlib.h>

long data[2][16], shared;
int races;
pthread_barrier_t start;

__attribute__((noinline)) void f(void) {
    for (int k = 0; k < 16; k++) data[0][k]++;
    if (races) shared++; // line 11
}

__attribute__((noinline)) void g(void) {
    for (int k = 0; k < 16; k++) data[1][k]++;
    if (races) shared++; // line 16
}

void *t1(void *u) { pthread_barrier_wait(&start); for (int k = 0; k < 60000; k++) f(); return u; }
void *t2(void *u) { pthread_barrier_wait(&start); for (int k = 0; k < 60000; k++) g(); return u; }

int main(int count, char **arguments) {
    pthread_t one, two;
    (void)count;
    races = atoi(arguments[1]);
    pthread_barrier_init(&start, NULL, 2);
    pthread_create(&one, NULL, t1, NULL);
    pthread_create(&two, NULL, t2, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
}
";

#[test]
fn what_a_settled_pair_does_behind_a_loop_is_caught_by_the_bursts_that_go_on() {
    let shop = written(BEHIND_A_LOOP);
    for _ in 0..3 {
        assert!(!found(&run(&shop, ATEX, &["0"])));
    }
    assert!(stat(&shop)["frequent"].as_u64().unwrap() >= 1);
    let outcomes: Vec<Output> = (0..5).map(|_| run(&shop, ATEX, &["1"])).collect();
    let is_caught = |output: &&Output| {
        let text = stderr(output);
        text.contains("program.c:11") && text.contains("program.c:16")
    };
    assert!(
        outcomes.iter().filter(is_caught).count() >= 3,
        "{outcomes:?}"
    );
}

/// Two threads in two functions, and then whatever the argument says.
const ENDINGS: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile int go = 1;
int data[64];

__attribute__((noinline)) void one_side(int k) { data[k % 32]++; }
__attribute__((noinline)) void other_side(int k) { data[32 + k % 32]++; }

void *first(void *unused) { for (int k = 0; k < 20000; k++) one_side(k); return unused; }
void *second(void *unused) { for (int k = 0; k < 20000; k++) other_side(k); return unused; }

int main(int count, char **arguments) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    const char *what = count > 1 ? arguments[1] : "";
    if (strcmp(what, "crash") == 0) raise(SIGSEGV);
    if (strcmp(what, "_exit") == 0) _exit(0);
    if (strcmp(what, "wait") == 0) for (;;) pause();
    if (strcmp(what, "fork") == 0) return fork() == 0 ? (first(NULL), 0) : 0;
    return 0;
}
"#;

#[test]
fn a_process_contributes_what_it_saw_however_it_ends() {
    for ending in ["crash", "_exit", "fork"] {
        let shop = written(ENDINGS);
        for _ in 0..3 {
            run(&shop, ATEX, &[ending]);
        }
        // The last one may not have told of its end; one more does it instead.
        let last = run(&shop, ATEX, &[]);
        assert!(last.status.success(), "{}", stderr(&last));
        let stat = stat(&shop);
        assert_eq!(stat["executions"], 4, "{ending}: {stat}");
        assert_eq!(stat["ended"], 4, "{ending}: {stat}");
        assert!(stat["frequent"].as_u64().unwrap() >= 1, "{ending}: {stat}");
    }
}

#[test]
fn a_suite_of_many_processes_loses_nothing_whichever_of_them_are_killed() {
    let shop = written(ENDINGS);
    let (mut killed, mut all) = (0, 0);
    for round in 0..6 {
        let mut children: Vec<_> = (0..8)
            .map(|i| {
                let what = if i % 2 == 0 { "wait" } else { "" };
                let mut command = command(&shop, ATEX, &[what]);
                command.stderr(Stdio::null()).spawn().unwrap()
            })
            .collect();
        for (i, child) in children.iter_mut().enumerate() {
            all += 1;
            if i % 2 == 0 {
                std::thread::sleep(Duration::from_millis(3 * (round * i as u64 % 7)));
                child.kill().unwrap();
                assert_eq!(child.wait().unwrap().signal(), Some(9));
                killed += 1;
            } else {
                assert!(child.wait().unwrap().success());
            }
        }
    }
    assert!(killed > 0);
    for _ in 0..3 {
        assert!(run(&shop, ATEX, &[]).status.success());
        all += 1;
    }
    let stat = stat(&shop);
    // Who was killed before it began has no number.
    let begun = stat["executions"].as_u64().unwrap();
    assert!((all - killed..=all).contains(&begun), "{stat}");
    assert_eq!(stat["ended"], begun, "{stat}");
    assert!(stat["frequent"].as_u64().unwrap() >= 1, "{stat}");
    assert_eq!(stat["refused"], 0);
}

#[test]
fn functions_are_known_again_after_a_rebuild() {
    let shop = written(ENDINGS);
    for _ in 0..2 {
        run(&shop, ATEX, &[]);
    }
    let before = stat(&shop);
    // A function more, in front, and without position-independent code.
    let longer = ENDINGS.replace(
        "int data[64];",
        "int data[64];\n__attribute__((noinline, used)) int extra(int *p) { return p[0] + p[1]; }\n",
    );
    shop.write("program.c", &longer);
    shop.cc(&["-g", "-O2", "program.c", "-o", "program"]);
    run(&shop, ATEX, &[]);
    let after = stat(&shop);
    assert_eq!(after["executions"], 3);
    // The places are new ones, the functions are not.
    assert!(
        after["functions"].as_u64() > before["functions"].as_u64(),
        "{after}"
    );
    assert!(after["frequent"].as_u64().unwrap() >= 1, "{after}");
    let listed = stdout(&shop.racehound(&["store", "stat", "--pairs"]));
    let line = listed
        .lines()
        .find(|line| line.contains("main") && line.contains("one_side"));
    assert!(line.is_some_and(|line| line.contains('3')), "{listed}");
}

#[test]
fn the_store_is_managed() {
    let shop = written(ENDINGS);
    let other = written(ENDINGS);
    for _ in 0..2 {
        run(&other, ATEX, &[]);
    }
    let there = other.path("");
    let merged = shop.racehound(&["store", "merge", there.to_str().unwrap()]);
    assert!(merged.status.success(), "{}", stderr(&merged));
    assert!(stat(&shop)["frequent"].as_u64().unwrap() >= 1);
    // A store may be called anything.
    fs::rename(other.path(".racehound"), other.path("ci")).unwrap();
    let named = other.path("ci");
    let named = named.to_str().unwrap();
    assert!(
        shop.racehound(&["store", "merge", named]).status.success()
            && shop.racehound(&["store", "stat", named]).status.success()
    );
    // Which of the two is damaged is said.
    fs::write(other.path("ci/pairs/program.pairs"), "not a history").unwrap();
    let damaged = shop.racehound(&["store", "merge", named]);
    assert_eq!(damaged.status.code(), Some(USAGE));
    assert!(
        stderr(&damaged).contains("ci/pairs"),
        "{}",
        stderr(&damaged)
    );
    let itself = shop.racehound(&["store", "merge", "."]);
    assert_eq!(itself.status.code(), Some(USAGE));
    let unknown = shop.racehound(&["store", "reset", "nobody"]);
    assert_eq!(unknown.status.code(), Some(USAGE));
    assert!(stderr(&unknown).contains("nobody"));
    assert!(
        shop.racehound(&["store", "reset", "program"])
            .status
            .success()
    );
    let after = stdout(&shop.racehound(&["store", "stat"]));
    assert!(after.contains("No program"), "{after}");
}

#[test]
fn what_is_no_history_is_told_and_left_alone() {
    let shop = written(ENDINGS);
    fs::create_dir_all(shop.path(".racehound/pairs")).unwrap();
    shop.write(".racehound/pairs/program.pairs", "not a history");
    let output = run(&shop, ATEX, &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("not remembered"),
        "{}",
        stderr(&output)
    );
    let text = fs::read_to_string(shop.path(".racehound/pairs/program.pairs")).unwrap();
    assert_eq!(text, "not a history");
    // What else there is is shown all the same.
    fs::copy(shop.path("program"), shop.path("other")).unwrap();
    let mut other = shop.command("./other");
    assert!(
        other
            .env("RACEHOUND_OPTIONS", ATEX)
            .status()
            .unwrap()
            .success()
    );
    for form in [&["store", "stat"][..], &["store", "stat", "--json"]] {
        let stat = shop.racehound(form);
        assert_eq!(stat.status.code(), Some(USAGE));
        assert!(stderr(&stat).contains("program.pairs"));
        assert!(stderr(&stat).contains("remove it"), "{}", stderr(&stat));
        assert!(stdout(&stat).contains("other"), "{}", stdout(&stat));
    }
}

#[test]
fn what_a_full_disk_has_left_is_no_obstacle() {
    let shop = written(ENDINGS);
    fs::create_dir_all(shop.path(".racehound/pairs")).unwrap();
    fs::write(shop.path(".racehound/pairs/program.pairs"), [0; 100_000]).unwrap();
    let output = run(&shop, ATEX, &[]);
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    assert_eq!(stat(&shop)["executions"], 1);
}

#[test]
fn a_store_that_may_only_be_read_is_read() {
    let shop = written(ENDINGS);
    for _ in 0..2 {
        run(&shop, ATEX, &[]);
    }
    let before = fs::read(shop.path(".racehound/pairs/program.pairs")).unwrap();
    for (path, mode) in [
        ("", 0o755),
        (".racehound", 0o555),
        (".racehound/pairs", 0o555),
        (".racehound/pairs/program.pairs", 0o444),
    ] {
        fs::set_permissions(shop.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut command = command(&shop, ATEX, &[]);
    if fs::OpenOptions::new()
        .write(true)
        .open(shop.path(".racehound/pairs/program.pairs"))
        .is_ok()
    {
        // Who may do anything becomes somebody who may not.
        command.uid(65_534);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let told = stderr(&output);
    assert!(
        told.contains("what was sampled before counts, but"),
        "{told}"
    );
    assert_eq!(
        fs::read(shop.path(".racehound/pairs/program.pairs")).unwrap(),
        before
    );
    fs::set_permissions(shop.path(".racehound"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(
        shop.path(".racehound/pairs"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
}

#[test]
fn who_cuts_a_history_short_that_is_in_use_harms_nobody() {
    let shop = written(CUT);
    let output = run(&shop, ATEX, &[]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(stdout(&output), "its own fault\n");
    assert!(
        stderr(&output).contains("cut the history of pairs short"),
        "{}",
        stderr(&output)
    );
    // What the program does not handle kills it as ever.
    let dies = run(&shop, ATEX, &["dies"]);
    assert_eq!(dies.status.signal(), Some(7), "{dies:?}");
}

/// Meets in other functions when the history was cut short, and has faults of its own.
const CUT: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int data[64];
sigjmp_buf back;

__attribute__((noinline)) void one_side(int k) { data[k % 32]++; }
__attribute__((noinline)) void other_side(int k) { data[32 + k % 32]++; }
__attribute__((noinline)) void third_side(int k) { data[k % 32]--; }

void *first(void *unused) { for (int k = 0; k < 20000; k++) one_side(k); return unused; }
void *second(void *unused) { for (int k = 0; k < 20000; k++) other_side(k); return unused; }
void *third(void *unused) { for (int k = 0; k < 20000; k++) third_side(k); return unused; }

void meet(void *(*work)(void *)) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, work, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

void handler(int signal) { (void)signal; siglongjmp(back, 1); }

int main(int count, char **arguments) {
    meet(first);
    truncate(".racehound/pairs/program.pairs", 0);
    meet(third);
    FILE *file = fopen("short", "w+");
    ftruncate(fileno(file), 4096);
    volatile char *mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);
    ftruncate(fileno(file), 0);
    if (count > 1) return *mapped;
    signal(SIGBUS, handler);
    if (sigsetjmp(back, 1) == 0) return *mapped;
    puts("its own fault");
    if (signal(SIGBUS, SIG_DFL) != handler || signal(SIGBUS, SIG_DFL) != SIG_DFL) return 3;
    return 0;
}
"#;

/// A thread is in a function all the time; another one calls a plugin's, and then that of a
/// plugin that comes to lie in the same place.
const PLUGINS: &str = r#"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int begun, stop;
static int own;

__attribute__((noinline)) static void base(int k) { own += k; }

static void *bases(void *unused) {
    for (int k = 0; !atomic_load(&stop); k++) {
        base(k);
        atomic_store(&begun, 1);
    }
    return unused;
}

static void use(const char *name) {
    void *plugin = dlopen(name, RTLD_NOW);
    void (*entry)(int) = (void (*)(int))dlsym(plugin, "entry");
    printf("%p\n", (void *)entry);
    for (int k = 0; k < 3000; k++) entry(k);
    dlclose(plugin);
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, bases, NULL);
    while (!atomic_load(&begun)) {}
    use("./one.so");
    use("./two.so");
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    return 0;
}
"#;

#[test]
fn a_plugin_is_not_taken_for_one_that_lay_in_its_place() {
    let shop = written(PLUGINS);
    for name in ["one", "two"] {
        let source = format!("{name}.c");
        shop.write(
            &source,
            &format!("static int {name}; void entry(int k) {{ {name} += k; }}\n"),
        );
        shop.cc(&[
            "-g",
            "-shared",
            "-fPIC",
            &source,
            "-o",
            &format!("{name}.so"),
        ]);
    }
    let output = run(&shop, ATEX, &[]);
    assert!(output.status.success(), "{output:?}");
    let places = stdout(&output);
    let mut places = places.lines();
    if places.next() != places.next() {
        eprintln!("skipped: plugins lie in different places here");
        return;
    }
    let listed = stdout(&shop.racehound(&["store", "stat", "--pairs"]));
    for plugin in ["one.so entry", "two.so entry"] {
        assert!(listed.contains(plugin), "{listed}");
    }
}

#[test]
fn names_are_written_once_however_often_a_program_is_built() {
    let shop = written(ENDINGS);
    let mut lines = None;
    for padding in 0..4 {
        let longer = format!(
            "__attribute__((noinline, used)) int extra(int *p) {{ return p[0] + p[{padding}]; }}\n{ENDINGS}"
        );
        shop.write("program.c", &longer);
        shop.cc(&[
            "-g",
            &format!("-O{}", padding % 3),
            "program.c",
            "-o",
            "program",
        ]);
        for _ in 0..2 {
            run(&shop, ATEX, &[]);
        }
        let names = fs::read_to_string(shop.path(".racehound/pairs/program.names")).unwrap();
        let mut distinct: Vec<_> = names.lines().collect();
        let all = distinct.len();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), all, "{names}");
        lines.get_or_insert(all);
    }
    assert!(lines.is_some_and(|lines| lines > 3));
}

#[test]
fn the_command_line_asks_for_what_it_can_get() {
    let shop = project("figures/atexrace_4c_hot.c");
    let run =
        |options: &[&str]| shop.racehound(&[&["run"], options, &["--", "./program"]].concat());
    // Which it finds in all but a few executions of a hundred.
    let finds = |_| run(&["--sample", "atex"]).status.code() == Some(FINDINGS);
    assert!((0..3).any(finds));
    assert_eq!(run(&["--sample", "literace"]).status.code(), Some(0));
    // All calls are a burst.
    let everything = run(&["--sample", "literace", "--sample-rate", "1/1"]);
    assert_eq!(everything.status.code(), Some(FINDINGS));
    for wrong in [
        &["--sample", "atex", "--schedule", "random"][..],
        &["--sample", "atex", "--record", "x.rht"],
        &["--sample", "atex", "--sample-rate", "20/10"],
        &["--sample", "literace", "--sample-rate", "10/100"],
        &["--sample-rate", "10/100"],
        &["--sample", "atex", "--sample-frequency", "0"],
    ] {
        let output = run(wrong);
        assert_eq!(output.status.code(), Some(USAGE), "{wrong:?}");
    }
}

#[test]
fn a_run_that_is_recorded_is_looked_at_as_a_whole() {
    let shop = written(ENDINGS);
    let output = run(&shop, "sample=atex:record=x.rht", &[]);
    assert!(
        stderr(&output).contains("as a whole"),
        "{}",
        stderr(&output)
    );
    assert!(shop.path("x.rht").exists());
    assert!(!shop.path(".racehound/pairs").exists());
}
