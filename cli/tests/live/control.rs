//! Programs under control: the seed decides what happens, and a schedule that was
//! written down makes it happen again.

use std::process::Output;

use crate::workshop::{RACEHOUND, Workshop, stderr, stdout};
use crate::{FINDINGS, USAGE};

/// Programs of the gallery with everything by which threads wait for each other.
const GALLERY: [&str; 24] = [
    "clean/barrier.c",
    "clean/c11_cnd.c",
    "clean/cancellation.c",
    "clean/cancelled_wait.c",
    "clean/cond_broadcast.c",
    "clean/cond_timed.c",
    "clean/cpp_static_local.cpp",
    "clean/detached.c",
    "clean/futex_lock.c",
    "clean/join_try_timed.c",
    "clean/mpmc_queue.c",
    "clean/mutex_recursive.c",
    "clean/mutex_robust.c",
    "clean/once.c",
    "clean/pthread_exit_main.c",
    "clean/rwlock_try_timed.c",
    "clean/semaphore_try_timed.c",
    "clean/thread_pool.cpp",
    "clean/ticket_lock.c",
    "clean/work_stealing.c",
    "bugs/cleanup_handler.c",
    "bugs/double_lock_reset.c",
    "bugs/lost_update_locked.c",
    "figures/racefuzzer_2.c",
];

pub(crate) fn built(source: &str) -> Workshop {
    let shop = Workshop::new();
    let path = format!("{}/../programs/{source}", env!("CARGO_MANIFEST_DIR"));
    let driver = match source.ends_with(".cpp") {
        true => "c++",
        false => "cc",
    };
    let output = shop.racehound(&[driver, "-g", "-O1", &path, "-o", "program"]);
    assert!(output.status.success(), "{}", stderr(&output));
    shop
}

pub(crate) fn written(text: &str) -> Workshop {
    let shop = Workshop::new();
    shop.write("program.c", text);
    shop.cc(&["-g", "program.c", "-o", "program"]);
    shop
}

pub(crate) fn scheduled(shop: &Workshop, options: &[&str]) -> Output {
    shop.racehound(&[&["run"], options, &["--", "./program"]].concat())
}

/// What became of an execution: the hash that it ends with.
pub(crate) fn hash(output: &Output) -> String {
    let text = stderr(output);
    let line = text.lines().find(|line| line.contains(" steps, hash "));
    let line = line.unwrap_or_else(|| panic!("no hash in {text}"));
    line.rsplit(' ').next().unwrap().to_owned()
}

/// The line of a program of the gallery with this comment.
fn line(source: &str, mark: &str) -> String {
    let path = format!("{}/../programs/{source}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let at = text.lines().position(|line| line.ends_with(mark)).unwrap();
    format!("{}:{}", source.rsplit('/').next().unwrap(), at + 1)
}

#[test]
fn the_same_seed_is_the_same_execution() {
    let mut wrong = Vec::new();
    let mut told_apart = 0;
    for source in GALLERY {
        let path = format!("{}/../programs/{source}", env!("CARGO_MANIFEST_DIR"));
        assert!(std::path::Path::new(&path).exists(), "{source}");
        let shop = built(source);
        let run = |seed: &str| {
            let output = scheduled(&shop, &["--schedule", "random", "--seed", seed]);
            // A clean program is clean in any order.
            let well = !source.starts_with("clean/") || output.status.success();
            assert!(well, "{source}, seed {seed}: {}", stderr(&output));
            hash(&output)
        };
        let first = run("7");
        if (0..4).any(|_| run("7") != first) {
            wrong.push(source);
        }
        told_apart += usize::from((8..12).any(|seed| run(&seed.to_string()) != first));
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(told_apart > GALLERY.len() / 2, "{told_apart}");
}

/// Whoever is about to write to a pipe has not written: who reads what was there before
/// learns of nothing else, so what is done with it is a race.
#[test]
fn nobody_learns_of_what_is_yet_to_be_written() {
    let shop = built("bugs/pipe_kept.c");
    let shows = |seed: u64| {
        let output = scheduled(
            &shop,
            &["--schedule", "random", "--seed", &seed.to_string()],
        );
        stderr(&output).contains("WARNING: ThreadSanitizer: ")
    };
    assert!((0..30).any(shows));
}

/// What is written down repeats the execution, also where time passed although others could
/// go, and whatever the schedule is called.
#[test]
fn a_schedule_repeats_what_any_strategy_did() {
    for source in [
        "clean/cond_timed.c",
        "clean/cpp_wait_for.cpp",
        "clean/mutex_timed.c",
        "clean/semaphore_try_timed.c",
        "clean/sigsuspend.c",
    ] {
        let shop = built(source);
        for strategy in ["random", "pct", "restless", "overtake", "embrace"] {
            for seed in ["1", "2", "3"] {
                let how = ["--detector", "none", "--schedule", strategy, "--seed", seed];
                let keep = ["--schedule-out", "of_any_length_at_all.schedule"];
                let first = scheduled(&shop, &[&how[..], &keep].concat());
                let text = stderr(&first);
                assert!(
                    first.status.success(),
                    "{source}, {strategy}, {seed}: {text}"
                );
                assert!(!text.contains("does not repeat"), "{source}: {text}");
                let again = "replay:file=of_any_length_at_all.schedule";
                let again = scheduled(&shop, &["--detector", "none", "--schedule", again]);
                let text = stderr(&again);
                assert!(
                    !text.contains("left the schedule"),
                    "{source}, {strategy}: {text}"
                );
                assert_eq!(hash(&first), hash(&again), "{source}, {strategy}, {seed}");
            }
        }
    }
}

/// Who was notified has all the time in the world to get the lock.
#[test]
fn who_was_notified_in_time_waits_for_the_lock() {
    let shop = written(
        "#define _GNU_SOURCE\n\
         #include <pthread.h>\n\
         #include <time.h>\n\
         static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
         static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;\n\
         static int items;\n\
         static void *produce(void *unused) {\n\
             for (int i = 0; i < 20; i++) {\n\
                 pthread_mutex_lock(&lock);\n\
                 items++;\n\
                 pthread_cond_signal(&changed);\n\
                 pthread_mutex_unlock(&lock);\n\
             }\n\
             return unused;\n\
         }\n\
         static void *consume(void *unused) {\n\
             for (int i = 0; i < 20; i++) {\n\
                 pthread_mutex_lock(&lock);\n\
                 while (items == 0) {\n\
                     struct timespec soon;\n\
                     clock_gettime(CLOCK_REALTIME, &soon);\n\
                     soon.tv_nsec = (soon.tv_nsec + 1000000) % 1000000000;\n\
                     pthread_cond_timedwait(&changed, &lock, &soon);\n\
                 }\n\
                 items--;\n\
                 pthread_mutex_unlock(&lock);\n\
             }\n\
             return unused;\n\
         }\n\
         int main(void) {\n\
             pthread_t a, b, c;\n\
             pthread_create(&a, 0, consume, 0);\n\
             pthread_create(&b, 0, produce, 0);\n\
             pthread_create(&c, 0, produce, 0);\n\
             pthread_join(a, 0);\n\
             pthread_join(b, 0);\n\
             return pthread_join(c, 0);\n\
         }\n",
    );
    for strategy in ["restless", "overtake"] {
        for seed in 0..10 {
            let seed = seed.to_string();
            let output = scheduled(&shop, &["--schedule", strategy, "--seed", &seed]);
            let text = stderr(&output);
            assert!(output.status.success(), "{strategy}, {seed}: {text}");
            assert!(
                !text.contains("does not repeat"),
                "{strategy}, {seed}: {text}"
            );
        }
    }
}

/// Teams of OpenMP come and go at the library's pace, which must not show.
#[test]
fn the_same_seed_is_the_same_execution_however_fast_a_library_is() {
    for source in ["barrier", "critical", "reduction", "shared", "tasks"] {
        let shop = Workshop::new();
        let programs = format!("{}/../programs/clean", env!("CARGO_MANIFEST_DIR"));
        let output = shop
            .command(RACEHOUND)
            .env("RACEHOUND_CC", "gcc")
            .args(["cc", "-g", "-O1", "-fopenmp", "-o", "program"])
            .arg(format!("{programs}/openmp_{source}.c"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{source}: {}", stderr(&output));
        let mut hashes: Vec<String> = (0..15)
            .map(|_| {
                let output = scheduled(&shop, &["--schedule", "random", "--seed", "7"]);
                let text = stderr(&output);
                assert!(output.status.success(), "{source}: {text}");
                assert!(!text.contains("does not repeat"), "{source}: {text}");
                hash(&output)
            })
            .collect();
        hashes.sort();
        hashes.dedup();
        assert_eq!(hashes.len(), 1, "{source}");
    }
}

/// Tasks with and without dependences, in groups, at once and later.
const TASKS: &str = r#"
#include <assert.h>
#include <omp.h>
#include <stdio.h>
static long sum;
static long fibonacci(int n) {
    if (n < 2) return n;
    long a, b;
#pragma omp task shared(a)
    a = fibonacci(n - 1);
#pragma omp task shared(b) if (n > 3)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}
int main(void) {
    int x = 0, done = 0, by_others = 0;
#pragma omp parallel num_threads(3)
    {
#pragma omp single nowait
        {
            int maker = omp_get_thread_num();
            for (int i = 0; i < 20; i++)
#pragma omp task firstprivate(i)
#pragma omp critical
            {
                done++;
                sum += i;
                by_others += omp_get_thread_num() != maker;
            }
#pragma omp taskgroup
            {
#pragma omp task depend(out: x)
                x = 1;
#pragma omp task depend(in: x)
                assert(x == 1);
#pragma omp task depend(inout: x)
                x++;
#pragma omp task depend(in: x) final(1)
                assert(x == 2);
            }
            assert(x == 2);
            assert(fibonacci(6) == 8);
#pragma omp taskloop num_tasks(4)
            for (int i = 0; i < 8; i++)
#pragma omp atomic
                sum += 100;
        }
#pragma omp barrier
        assert(done == 20);
#pragma omp single
#pragma omp taskgroup task_reduction(+: sum)
        for (int i = 0; i < 5; i++)
#pragma omp task in_reduction(+: sum)
            sum += 1000;
    }
    assert(sum == 190 + 800 + 5000);
    printf("%d\n", by_others);
}
"#;

#[test]
fn tasks_are_run_by_whoever_the_seed_says_when_they_can_be() {
    let shop = Workshop::new();
    shop.write("tasks.c", TASKS);
    let output = shop
        .command(RACEHOUND)
        .env("RACEHOUND_CC", "gcc")
        .args(["cc", "-g", "-O1", "-fopenmp", "tasks.c", "-o", "program"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let mut by_others = std::collections::BTreeSet::new();
    for plan in ["random", "pct", "overtake"] {
        for seed in ["1", "2", "3"] {
            let run = || {
                let output = scheduled(&shop, &["--schedule", plan, "--seed", seed]);
                let text = stderr(&output);
                assert!(output.status.success(), "{plan}, seed {seed}: {text}");
                assert!(!text.contains("does not repeat"), "{plan}: {text}");
                (hash(&output), stdout(&output))
            };
            let first = run();
            assert_eq!(first, run(), "{plan}, seed {seed}");
            by_others.insert(first.1);
        }
    }
    assert!(by_others.len() > 1, "{by_others:?}");
}

/// One thread waits in a loop that nobody sees, while another takes many steps.
const UNSEEN_LOOP: &str = r#"
#include <pthread.h>
static volatile int told;
static long x;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((no_sanitize("thread"), noinline)) static void tell(void) { told = 1; }
__attribute__((no_sanitize("thread"), noinline)) static void await(void) { while (!told) {} }
static void work(int times) {
    for (int i = 0; i < times; i++) {
        pthread_mutex_lock(&lock);
        x++;
        pthread_mutex_unlock(&lock);
    }
}
static void *waits(void *nothing) {
    await();
    work(50);
    return nothing;
}
int main(void) {
    pthread_t other;
    pthread_create(&other, NULL, waits, NULL);
    work(200);
    tell();
    work(200);
    pthread_join(other, NULL);
    return x != 450;
}
"#;

#[test]
fn who_waits_in_a_loop_that_nobody_sees_comes_back_at_the_same_point() {
    let shop = written(UNSEEN_LOOP);
    let run = || {
        let output = scheduled(&shop, &["--schedule", "random", "--seed", "7"]);
        let text = stderr(&output);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("computes for long"), "{text}");
        hash(&output)
    };
    assert_eq!([run(), run(), run()].concat(), run().repeat(3));
}

#[test]
fn what_was_to_be_done_once_and_failed_is_tried_again_by_others() {
    let shop = built("clean/cpp_call_once_throws.cpp");
    for seed in 0..20 {
        let output = scheduled(
            &shop,
            &["--schedule", "random", "--seed", &seed.to_string()],
        );
        assert!(output.status.success(), "{}", stderr(&output));
        // Nobody is in the C library while another one throws.
        let text = stderr(&output);
        assert!(!text.contains("does not repeat"), "{seed}: {text}");
    }
}

#[test]
fn racefuzzer_confirms_the_real_race_of_figure_1_and_never_the_other() {
    let source = "figures/racefuzzer_1.c";
    let shop = built(source);
    let real = [line(source, "// 5: RACE"), line(source, "// 7: RACE")].join(",");
    let unreal = [line(source, "// 1"), line(source, "// 10")].join(",");
    let mut errors = 0;
    for seed in 0..20 {
        let seed = seed.to_string();
        let options = ["--schedule", "racefuzzer", "--seed", &seed, "--pair"];
        let output = scheduled(&shop, &[&options[..], &[&real]].concat());
        assert!(stderr(&output).contains("Made to happen:"), "seed {seed}");
        errors += usize::from(output.status.code() != Some(FINDINGS));
        let output = scheduled(&shop, &[&options[..], &[&unreal]].concat());
        assert!(!stderr(&output).contains("Made to happen:"), "seed {seed}");
    }
    assert!((3..=17).contains(&errors), "{errors}");
}

#[test]
fn of_a_line_that_reads_and_writes_only_what_is_meant_meets() {
    let shop = written(
        "#include <pthread.h>\n\
         static int x;\n\
         static void *count(void *unused) {\n\
             x++;\n\
             return unused;\n\
         }\n\
         int main(void) {\n\
             pthread_t thread;\n\
             pthread_create(&thread, 0, count, 0);\n\
             count(0);\n\
             return pthread_join(thread, 0);\n\
         }\n",
    );
    let confirmed = |first: &str, second: &str| {
        let pair = format!("program.c:4:{first},program.c:4:{second}");
        let plan = [
            "--detector",
            "none",
            "--schedule",
            "racefuzzer",
            "--pair",
            &pair,
        ];
        let seeds = (0..10).map(|seed: u64| seed.to_string());
        let met = seeds.filter(|seed| {
            let output = scheduled(&shop, &[&plan[..], &["--seed", seed]].concat());
            let text = stderr(&output);
            assert!(!text.contains("no access was made"), "{text}");
            text.contains("data race")
        });
        met.count()
    };
    assert_eq!(confirmed("read", "read"), 0);
    assert_eq!(confirmed("write", "write"), 10);
    assert_eq!(confirmed("read", "write"), 10);
}

#[test]
fn a_confirmed_race_is_a_finding() {
    let source = "figures/racefuzzer_2.c";
    let shop = built(source);
    let pair = [line(source, "// 8: RACE"), line(source, "// 10: RACE")].join(",");
    let find = [
        "--schedule",
        "racefuzzer",
        "--seed",
        "1",
        "--json",
        "f.json",
    ];
    let output = scheduled(&shop, &[&find[..], &["--pair", &pair]].concat());
    assert!(stderr(&output).contains("Made to happen:"));
    let report = shop.findings("f.json");
    assert_eq!(report["seed"], 1);
    let finding = &report["findings"][0];
    assert_eq!(finding["status"], "confirmed");
    assert_eq!(finding["found_by"], serde_json::json!(["racefuzzer"]));
    assert_eq!(finding["location"]["name"], "x");
    let sites = finding["accesses"].as_array().unwrap().iter();
    let mut sites: Vec<&str> = sites.map(|a| a["site"].as_str().unwrap()).collect();
    sites.sort_unstable();
    let mut places: Vec<&str> = pair.split(',').collect();
    places.sort_unstable();
    for (site, place) in sites.into_iter().zip(places) {
        assert!(site.contains(place), "{site} {place}");
    }
}

const ORDERS: &str = r"
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void *ab(void *unused) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, ab, NULL);
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    pthread_join(thread, NULL);
}
";

#[test]
fn a_deadlock_is_found_told_and_replayed() {
    let shop = written(ORDERS);
    let found = (0..50).find_map(|seed| {
        let seed = seed.to_string();
        let options = [
            "--schedule",
            "random",
            "--detector",
            "none",
            "--seed",
            &seed,
        ];
        let keep = ["--schedule-out", "stuck.schedule", "--json", "f.json"];
        let output = scheduled(&shop, &[&options[..], &keep].concat());
        stderr(&output).contains("deadlock").then_some(output)
    });
    let output = found.expect("half of the seeds lead there");
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(FINDINGS));
    assert!(
        text.contains("WARNING: ThreadSanitizer: deadlock"),
        "{text}"
    );
    assert!(text.contains("waits for a lock that T1 holds: M"), "{text}");
    assert!(text.contains("program.c:6"), "{text}");
    let finding = &shop.findings("f.json")["findings"][0];
    assert_eq!(finding["kind"], "deadlock");
    assert_eq!(finding["harm"]["kind"], "deadlock");
    let replay = [
        "--schedule",
        "replay:file=stuck.schedule",
        "--detector",
        "none",
    ];
    let again = scheduled(&shop, &replay);
    assert!(stderr(&again).contains("deadlock"), "{}", stderr(&again));
    assert_eq!(hash(&again), hash(&output));
}

#[test]
fn a_schedule_that_does_not_fit_is_noticed() {
    let shop = written(ORDERS);
    let quiet = |options: &[&str]| scheduled(&shop, &[&["--detector", "none"], options].concat());
    let output = quiet(&["--schedule", "sequential", "--schedule-out", "s"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let schedule = std::fs::read_to_string(shop.path("s")).unwrap();
    shop.write("s", &schedule.replacen("fork", "acquire", 1));
    let output = quiet(&["--schedule", "replay:file=s"]);
    let text = stderr(&output);
    assert!(text.contains("left the schedule at choice 1"), "{text}");
    shop.write("s", "racehound schedule 1\n0 xmany\n");
    let output = quiet(&["--schedule", "replay:file=s"]);
    let text = stderr(&output);
    assert!(text.contains("s: ") && text.contains("line 2"), "{text}");
    assert_eq!(output.status.code(), Some(USAGE), "{text}");
    shop.write("s", &schedule[..schedule.len() / 2]);
    for output in [
        quiet(&["--schedule", "replay:file=s"]),
        shop.racehound(&["replay", "s", "--", "./program"]),
    ] {
        assert!(stderr(&output).contains("cut short"), "{output:?}");
        assert_eq!(output.status.code(), Some(USAGE), "{output:?}");
    }
    let output = quiet(&["--schedule", "replay:file=/nosuch"]);
    assert!(stderr(&output).contains("/nosuch: No such"), "{output:?}");
    assert_eq!(output.status.code(), Some(USAGE), "{output:?}");
}

#[test]
fn time_is_virtual() {
    let shop = written(
        r#"
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static void *nap(void *unused) {
    sleep(3600);
    puts("late");
    return unused;
}
int main(void) {
    pthread_t thread;
    time_t before = time(NULL);
    pthread_create(&thread, NULL, nap, NULL);
    usleep(1000);
    puts("early");
    pthread_join(thread, NULL);
    printf("%d\n", time(NULL) - before >= 3600);
}
"#,
    );
    let began = std::time::Instant::now();
    let output = scheduled(&shop, &["--schedule", "random", "--seed", "1"]);
    assert_eq!(stdout(&output), "early\nlate\n1\n");
    assert!(began.elapsed().as_secs() < 60);
}

/// Two accesses in a line, to different memory.
const ONE_LINE: &str = r"
#include <pthread.h>
static int guarded, open;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *unused) {
    pthread_mutex_lock(&guard);
    guarded = 1; pthread_mutex_unlock(&guard); open = 1;
    return unused;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, run, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
}
";

#[test]
fn a_place_is_named_as_reports_have_it() {
    let shop = written(ONE_LINE);
    let at = |place: &str| {
        let pair = format!("{place},{place}");
        scheduled(&shop, &["--schedule", "racefuzzer", "--pair", &pair])
    };
    let line = ONE_LINE.lines().position(|line| line.contains("open = 1"));
    let (line, text) = (
        line.unwrap() + 1,
        "    guarded = 1; pthread_mutex_unlock(&guard); open = 1;",
    );
    let column = |name: &str| text.find(name).unwrap() + name.len() - 1;
    let open = column("open = ");
    let output = at(&format!("program.c:{line}:{open}"));
    assert!(stderr(&output).contains("Made to happen"), "{output:?}");
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    let guarded = column("guarded = ");
    let output = at(&format!("program.c:{line}:{guarded}"));
    assert!(output.status.success(), "{output:?}");
    assert!(!stderr(&output).contains("no access"), "{output:?}");
    for unknown in ["program.c", "program.c:0", "program.c:7:wrote"] {
        let output = at(unknown);
        let told = format!("`{unknown}` is no place");
        assert!(stderr(&output).contains(&told), "{output:?}");
        assert_eq!(output.status.code(), Some(USAGE), "{output:?}");
    }
}

/// Threads that tell where their stacks are and what they are given by malloc.
const WHERE: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
enum { THREADS = 16 };
static void *told[THREADS][2];
static void *look(void *at) {
    void **mine = at;
    mine[0] = at = (void *)pthread_self();
    mine[1] = malloc(32);
    return at;
}
int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, look, told[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        printf("%p %p\n", told[i][0], told[i][1]);
}
"#;

/// What a new thread does of itself, before it is its turn, maps no memory.
#[test]
fn addresses_do_not_depend_on_who_begins_first() {
    let shop = written(WHERE);
    let run = || {
        let plan = ["--detector", "none", "--schedule", "random", "--seed", "1"];
        let output = scheduled(&shop, &plan);
        assert!(output.status.success(), "{output:?}");
        stdout(&output)
    };
    let first = run();
    for _ in 0..40 {
        assert_eq!(run(), first);
    }
}

/// Two loops of events: one waits for a timer and a pipe, the other for a timer and a counter.
const EVENT_LOOPS: &str = r#"
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
static int ends[2], counter;
static int timer(long nanoseconds) {
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec times = {{0, nanoseconds}, {0, nanoseconds}};
    timerfd_settime(fd, 0, &times, NULL);
    return fd;
}
static void *polls(void *unused) {
    struct pollfd entries[] = {{timer(1000000), POLLIN}, {ends[0], POLLIN}, {-1, POLLIN}};
    uint64_t rounds;
    char byte;
    for (;;) {
        poll(entries, 3, -1);
        if (entries[0].revents)
            read(entries[0].fd, &rounds, sizeof rounds);
        if (entries[1].revents && read(ends[0], &byte, 1) != 1)
            return unused;
    }
}
static void *waits(void *unused) {
    int fds[] = {timer(1500000), counter}, epoll = epoll_create1(0);
    for (int i = 0; i < 2; i++) {
        struct epoll_event event = {EPOLLIN, {.fd = fds[i]}};
        epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event);
    }
    for (int left = 4; left > 0;) {
        struct epoll_event event;
        uint64_t value;
        epoll_wait(epoll, &event, 1, 50);
        read(event.data.fd, &value, sizeof value);
        left -= event.data.fd == counter;
    }
    return unused;
}
int main(void) {
    pthread_t threads[2];
    uint64_t one = 1;
    pipe(ends);
    counter = eventfd(0, EFD_SEMAPHORE);
    pthread_create(&threads[0], NULL, polls, NULL);
    pthread_create(&threads[1], NULL, waits, NULL);
    for (int i = 0; i < 4; i++) {
        usleep(1300);
        write(ends[1], "x", 1);
        write(counter, &one, sizeof one);
    }
    close(ends[1]);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}
"#;

#[test]
fn a_timer_goes_off_in_virtual_time_whatever_else_is_waited_for() {
    let shop = written(EVENT_LOOPS);
    for seed in ["1", "2", "3", "4", "5", "6"] {
        let run = || {
            let plan = ["--detector", "none", "--schedule", "random", "--seed", seed];
            let output = scheduled(&shop, &plan);
            assert!(output.status.success(), "{output:?}");
            stderr(&output)
        };
        assert_eq!(run(), run());
    }
}

/// Who takes a lock, looks and gives it back, over and over, may wait for one that sleeps.
#[test]
fn a_busy_wait_with_a_lock_comes_to_an_end() {
    let shop = written(
        r#"
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static int look(void) {
    pthread_mutex_lock(&lock);
    int seen = ready;
    pthread_mutex_unlock(&lock);
    return seen;
}
static void *waits(void *unused) {
    while (!look()) sched_yield();
    return unused;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, waits, NULL);
    usleep(10000);
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}
"#,
    );
    for plan in ["random", "pct", "restless"] {
        for seed in ["1", "2", "3"] {
            let options = ["--schedule", plan, "--seed", seed];
            let first = scheduled(&shop, &options);
            assert!(first.status.success(), "{}", stderr(&first));
            assert_eq!(hash(&first), hash(&scheduled(&shop, &options)));
        }
    }
}

/// Those that sleep longer wait for their moment while others have come to theirs.
#[test]
fn sleepers_wake_at_any_time_and_all_of_them_do() {
    let shop = Workshop::new();
    shop.write(
        "naps.c",
        r#"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>
static atomic_int awake;
static void *nap(void *micros) {
    for (int i = 0; i < 3; i++) usleep(*(int *)micros);
    awake++;
    return 0;
}
int main(void) {
    static int micros[] = {10000, 20000, 20000, 50000};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, nap, &micros[i]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    printf("%d\n", awake);
}
"#,
    );
    shop.cc(&["-g", "naps.c", "-o", "naps"]);
    for seed in 0..20 {
        let plan = format!("restless:seed={seed}");
        let mut command = shop.command("timeout");
        let run = ["60", RACEHOUND, "run", "--schedule", &plan, "--", "./naps"];
        let output = command.args(run).output().unwrap();
        assert_eq!(stdout(&output), "4\n", "{plan}: {output:?}");
    }
}

#[test]
fn a_place_without_an_access_is_told() {
    let source = "figures/racefuzzer_2.c";
    let shop = built(source);
    let (there, lock) = (line(source, "// 8: RACE"), line(source, "// 11"));
    let pair = format!("{there},{lock}");
    let output = scheduled(&shop, &["--schedule", "racefuzzer", "--pair", &pair]);
    let text = stderr(&output);
    assert!(
        text.contains(&format!("no access was made at {lock}")),
        "{text}"
    );
    assert!(
        !text.contains(&format!("no access was made at {there}")),
        "{text}"
    );
}

#[test]
fn delays_change_nothing_but_time() {
    let shop = built("clean/cond_broadcast.c");
    let noise = "contest:percent=100,longest=100";
    let output = scheduled(&shop, &["--schedule", noise, "--seed", "1"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}

#[test]
fn plans_that_make_no_sense_are_refused() {
    let shop = Workshop::new();
    shop.write("program.c", "int main(void) { return 0; }");
    shop.cc(&["program.c", "-o", "program"]);
    for (options, because) in [
        (&["--schedule", "randon"][..], "no strategy is called"),
        (&["--schedule", "racefuzzer"], "two places that may race"),
        (&["--pair", "a.c:1,a.c:2"], "--schedule racefuzzer"),
        (&["--schedule", "pct:dept=3"], "no setting `dept`"),
        (&["--seed", "3"], "--schedule"),
    ] {
        let output = scheduled(&shop, options);
        assert_eq!(output.status.code(), Some(USAGE), "{options:?}");
        assert!(stderr(&output).contains(because), "{}", stderr(&output));
    }
}

/// Who takes a lock, sees that nothing has changed and gives it back, over and over, lets
/// others go at last, however steady the strategy is.
#[test]
fn who_polls_under_a_lock_is_left_for_others() {
    let shop = written(
        r#"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t begun;
static int done;
static void *poll(void *unused) {
    sem_post(&begun);
    for (int seen = 0; !seen; sched_yield()) {
        pthread_mutex_lock(&lock);
        seen = done;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}
int main(void) {
    pthread_t other;
    sem_init(&begun, 0, 0);
    pthread_create(&other, NULL, poll, NULL);
    sem_wait(&begun);
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_mutex_unlock(&lock);
    pthread_join(other, NULL);
}
"#,
    );
    for schedule in ["sequential", "random"] {
        let output = scheduled(&shop, &["--detector", "none", "--schedule", schedule]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
}
