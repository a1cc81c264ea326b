//! `racehound run --record`: everything the program does is in the trace, and
//! whatever becomes of the program, what is in the file can be read.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use std::{env, thread};

use racehound_trace::check::Checker;
use racehound_trace::event::Kind;
use racehound_trace::{Op, Source, Tables, binary};

use super::{FINDINGS, USAGE, control};
use crate::workshop::{RACEHOUND, Workshop, stderr, stdout};

/// A trace that was read to its end.
struct Recorded {
    /// How often which thread did what, at which line of `program.c`.
    counts: BTreeMap<(String, u32, Kind, u32), u64>,
    events: u64,
    cut_short: bool,
}

impl Recorded {
    /// Reads a trace, which an execution must be able to look like.
    fn read(path: &Path) -> Self {
        let mut reader = binary::Reader::new(File::open(path).unwrap()).unwrap();
        let mut checker = Checker::default();
        let (mut counts, mut events) = (BTreeMap::new(), 0);
        let mut batch = Vec::new();
        loop {
            reader.next_batch(&mut batch).unwrap();
            if batch.is_empty() {
                break;
            }
            checker.check(&batch);
            events += batch.len() as u64;
            let tables = reader.tables();
            for event in &batch {
                if let Some(line) = line_of_program(tables, event.site.index()) {
                    let thread = tables.thread_name(event.thread);
                    let key = (thread, line, event.op.kind(), size(&event.op));
                    *counts.entry(key).or_default() += 1;
                }
            }
        }
        assert_eq!(checker.problem(), None, "{}", path.display());
        Self {
            counts,
            events,
            cut_short: reader.truncation().is_some(),
        }
    }

    /// What threads with such names did, by kind.
    fn total(&self, thread: impl Fn(&str) -> bool, kind: Kind) -> u64 {
        let counts = self.counts.iter();
        let matching = counts.filter(|((by, _, what, _), _)| thread(by) && *what == kind);
        matching.map(|(_, count)| count).sum()
    }
}

fn line_of_program(tables: &Tables, site: usize) -> Option<u32> {
    let site = tables.sites.get(site)?;
    let file = tables.names.get(site.file?)?;
    file.ends_with("program.c").then_some(site.line)
}

fn size(op: &Op) -> u32 {
    match *op {
        Op::Alloc { size, .. } | Op::Free { size, .. } => size,
        _ => op.access().map_or(0, |access| access.size),
    }
}

/// Files beside `trace.rht`, of other processes of the program.
fn others(shop: &Workshop) -> Vec<PathBuf> {
    let files = fs::read_dir(shop.path(".")).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let of_others = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == "trace.rht");
    paths.filter(of_others).collect()
}

/// The compilers there are.
fn compilers() -> Vec<&'static str> {
    let path = env::var_os("PATH").unwrap();
    let installed = |name: &&str| env::split_paths(&path).any(|dir| dir.join(name).is_file());
    let known = ["gcc", "clang", "clang-19", "clang-18"];
    known.into_iter().filter(installed).collect()
}

/// A program that counts what it does: `KIND SIZE FACTOR OFFSET` at the end of a
/// line says that thread `n` does that `FACTOR * n + OFFSET` times there.
const COUNTING: &str = r#"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 6

struct __attribute__((packed, aligned(8))) own {
    volatile uint64_t eight;
    volatile uint32_t four;
    volatile uint16_t two;
    volatile uint8_t one;
    volatile uint32_t askew;
    char from[100], to[100];
} owns[THREADS + 1] __attribute__((aligned(64)));

volatile __int128 sixteen[THREADS + 1];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long counter, missed;
volatile long shared;
void *(*volatile make)(size_t) = malloc;
void *(*volatile copy)(void *, const void *, size_t) = memcpy;

static void *work(void *number) {
    long n = (long)number;
    struct own *own = &owns[n];
    for (long i = 0; i < 1000 * n + 1; i++)
        own->one = i; // write 1 1000 1
    for (long i = 0; i < 500 * n + 3; i++)
        (void)own->one; // read 1 500 3
    for (long i = 0; i < 70 * n + 2; i++)
        own->two = i; // write 2 70 2
    for (long i = 0; i < 255 * n; i++)
        (void)own->two; // read 2 255 0
    for (long i = 0; i < 256 * n; i++)
        own->four = i; // write 4 256 0
    for (long i = 0; i < 100 * n + 100; i++)
        (void)own->four; // read 4 100 100
    for (long i = 0; i < 20000 * n + 5; i++)
        own->eight = i; // write 8 20000 5
    for (long i = 0; i < 30 * n + 9; i++)
        (void)own->eight; // read 8 30 9
    for (long i = 0; i < 40 * n + 4; i++)
        sixteen[n] = i; // write 16 40 4
    for (long i = 0; i < 60 * n + 1; i++)
        (void)sixteen[n]; // read 16 60 1
    for (long i = 0; i < 80 * n; i++)
        own->askew = i; // write 4 80 0
    for (long i = 0; i < 10 * n + 2; i++)
        copy(own->to, own->from, 90 + n % 2); // copy
    for (long i = 0; i < 33 * n + 1; i++) {
        pthread_mutex_lock(&lock); // acquire 0 33 1
        shared = n; // write 8 33 1
        pthread_mutex_unlock(&lock); // release 0 33 1
    }
    for (long i = 0; i < 90 * n; i++)
        __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED); // atomic_rmw 8 90 0
    for (long i = 0; i < 11 * n + 1; i++)
        __atomic_load_n(&counter, __ATOMIC_ACQUIRE); // atomic_load 8 11 1
    for (long i = 0; i < 12 * n + 1; i++)
        __atomic_store_n(&missed, 0, __ATOMIC_RELEASE); // atomic_store 8 12 1
    for (long i = 0; i < 13 * n; i++)
        __sync_val_compare_and_swap(&missed, -1, 1); // atomic_load 8 13 0
    for (long i = 0; i < 5 * n; i++)
        free(make(24)); // block
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (long n = 0; n < THREADS; n++)
        pthread_create(&threads[n], NULL, work, (void *)(n + 1));
    for (long n = 0; n < THREADS; n++)
        pthread_join(threads[n], NULL);
    return 7;
}
"#;

/// What the marks of a line say that thread `n` does there, how often.
fn meant(mark: &str, n: u64) -> Vec<(Kind, u32, u64)> {
    let words: Vec<&str> = mark.split(' ').collect();
    let copied = 90 + n as u32 % 2;
    // Functions that the compiler shall not know are called through pointers.
    match words[..] {
        ["copy"] => vec![
            (Kind::Read, 8, 10 * n + 2),
            (Kind::Read, copied, 10 * n + 2),
            (Kind::Write, copied, 10 * n + 2),
        ],
        // A block is made, looks written, is freed and looks written before.
        ["block"] => vec![
            (Kind::Read, 8, 5 * n),
            (Kind::Alloc, 24, 5 * n),
            (Kind::Write, 24, 10 * n),
            (Kind::Free, 24, 5 * n),
        ],
        [kind, size, factor, offset] => {
            let kind = match kind {
                "read" => Kind::Read,
                "write" => Kind::Write,
                "acquire" => Kind::Acquire,
                "release" => Kind::Release,
                "atomic_load" => Kind::AtomicLoad,
                "atomic_store" => Kind::AtomicStore,
                "atomic_rmw" => Kind::AtomicRmw,
                other => panic!("{other}"),
            };
            let count = factor.parse::<u64>().unwrap() * n + offset.parse::<u64>().unwrap();
            vec![(kind, size.parse().unwrap(), count)]
        }
        _ => panic!("{mark}"),
    }
}

#[test]
fn every_access_is_in_the_trace() {
    let lines = || (1..).zip(COUNTING.lines());
    let marked = || lines().filter_map(|(line, text)| Some((line, text.split_once("; // ")?.1)));
    let mut expected = BTreeMap::new();
    for n in 1..=6 {
        for (line, mark) in marked() {
            for (kind, size, count) in meant(mark, n) {
                expected.insert((format!("0.{n}"), line, kind, size), count);
            }
        }
    }
    expected.retain(|_, count| *count > 0);
    let shop = Workshop::new();
    shop.write("program.c", COUNTING);
    for compiler in compilers() {
        let mut cc = shop.command(crate::workshop::RACEHOUND_CC);
        cc.env("RACEHOUND_CC", compiler);
        let built = cc
            .args(["-g", "-O1", "program.c", "-o", "program"])
            .output();
        assert!(built.unwrap().status.success(), "{compiler}");
        for detector in ["fasttrack", "none", "acculock", "hybrid"] {
            let output = record(&shop, &["--detector", detector], &[]);
            assert_eq!(output.status.code(), Some(7), "{detector}: {output:?}");
            let recorded = Recorded::read(&shop.path("trace.rht"));
            assert!(!recorded.cut_short);
            let mut counts = recorded.counts;
            counts.retain(|(thread, ..), _| thread != "0");
            let keys = counts.keys().chain(expected.keys());
            let both = keys.map(|key| (key, counts.get(key), expected.get(key)));
            let wrong: Vec<_> = both.filter(|(_, is, should)| is != should).collect();
            assert!(wrong.is_empty(), "{compiler}, {detector}: {wrong:?}");
        }
    }
}

/// `racehound run --record trace.rht OPTIONS -- ./program ARGUMENTS`.
fn record(shop: &Workshop, options: &[&str], arguments: &[&str]) -> Output {
    let mut command = shop.command("timeout");
    command.args(["120", RACEHOUND, "run", "--record", "trace.rht"]);
    command.args(options).args(["--", "./program"]);
    command.args(arguments).output().unwrap()
}

/// A program that does something and then whatever its argument says.
const ENDING: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

volatile int touched, busy, ready;
long data[1 << 16];
pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static void touch(int times) {
    for (int i = 0; i < times; i++)
        touched = i;
}

// Enough for many blocks of a trace: nothing comes as expected.
static void a_lot(void) {
    unsigned long at = 1;
    for (int i = 0; i < 1 << 18; i++) {
        at = at * 6364136223846793005 + 1442695040888963407;
        data[at >> 48]++;
    }
}

static void *idle(void *unused) {
    for (int i = 0; i < 1000; i++)
        busy = i;
    ready = 1;
    for (;;)
        pause();
    return unused;
}

static void start_idle(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, idle, NULL);
    pthread_detach(thread);
    while (!ready)
        usleep(1000);
}

static void *lock_and_touch(void *times) {
    pthread_mutex_lock(&guard);
    touch((int)(long)times);
    pthread_mutex_unlock(&guard);
    return NULL;
}

static void in_threads(long times) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, lock_and_touch, (void *)times);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static int wait_for(pid_t child) {
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

__attribute__((no_sanitize("thread"))) static int error_number(int next) {
    int last = errno;
    errno = next;
    return last;
}

int main(int count, char **arguments) {
    const char *end = count > 1 ? arguments[1] : "";
    error_number(EIDRM);
    touch(10000);
    if (error_number(0) != EIDRM)
        return 99;
    if (!strcmp(end, "a lot"))
        a_lot();
    if (!strcmp(end, "segv"))
        a_lot(), *(volatile long *)8 = 1;
    if (!strcmp(end, "abort"))
        start_idle(), a_lot(), abort();
    if (!strcmp(end, "kill")) {
        a_lot();
        if (write(1, "ready\n", 6) == 6)
            for (;;)
                a_lot();
    }
    if (!strcmp(end, "_exit"))
        start_idle(), _exit(7);
    if (!strcmp(end, "quick_exit"))
        start_idle(), quick_exit(7);
    if (!strcmp(end, "exit"))
        start_idle(), exit(7);
    if (!strcmp(end, "exec"))
        execl(arguments[0], arguments[0], "threads", NULL);
    if (!strcmp(end, "threads"))
        in_threads(300);
    if (!strcmp(end, "fork") || !strcmp(end, "_Fork")) {
        // The child has what the forking thread has.
        pthread_mutex_lock(&guard);
        pid_t child = end[0] == 'f' ? fork() : _Fork();
        touch(50);
        pthread_mutex_unlock(&guard);
        if (child == 0) {
            in_threads(300);
            return 5;
        }
        return wait_for(child) == 5 ? 7 : 1;
    }
    if (!strcmp(end, "spawn"))
        return system("exit 7") >> 8;
    if (!strcmp(end, "daemon")) {
        if (daemon(1, 0) != 0)
            return 1;
        in_threads(300);
        rename("working", "finished");
        return 0;
    }
    if (!strcmp(end, "close")) {
        a_lot();
        close_range(3, ~0u, 0);
        int mine = open("mine", O_RDWR | O_CREAT, 0600);
        for (int number = 4; number < 1024; number++)
            dup2(mine, number);
        a_lot();
    }
    return 7;
}
"#;

fn built() -> Workshop {
    let shop = Workshop::new();
    shop.write("program.c", ENDING);
    shop.cc(&["-g", "-O1", "program.c", "-o", "program"]);
    shop
}

const DETECTORS: [&str; 3] = ["fasttrack", "none", "eraser"];

fn is_main(thread: &str) -> bool {
    thread == "0"
}

#[test]
fn a_process_that_ends_by_itself_has_told_all() {
    let shop = built();
    for detector in DETECTORS {
        for end in ["", "_exit", "quick_exit", "exit"] {
            let output = record(
                &shop,
                &["--detector", detector, "--fail-on", "never"],
                &[end],
            );
            assert_eq!(output.status.code(), Some(7), "{end}: {output:?}");
            let recorded = Recorded::read(&shop.path("trace.rht"));
            assert!(!recorded.cut_short, "{detector}, {end}");
            assert_eq!(recorded.total(is_main, Kind::Write), 10_000, "{end}");
            // A thread that still runs then has told no one by itself.
            let idle = if end.is_empty() { 0 } else { 1001 };
            assert_eq!(recorded.total(|by| by == "0.1", Kind::Write), idle, "{end}");
        }
    }
}

#[test]
fn a_process_that_dies_has_told_all_the_same() {
    let shop = built();
    for detector in DETECTORS {
        for (end, signal) in [("segv", libc::SIGSEGV), ("abort", libc::SIGABRT)] {
            let output = record(&shop, &["--detector", detector], &[end]);
            let status = output.status;
            // The shell's way to say it is `timeout`'s, too.
            let died = status.signal() == Some(signal) || status.code() == Some(128 + signal);
            assert!(died, "{end}: {output:?}");
            let recorded = Recorded::read(&shop.path("trace.rht"));
            assert!(!recorded.cut_short, "{detector}, {end}");
            let by_main = 10_000 + (1 << 18) + u64::from(end == "segv");
            assert_eq!(recorded.total(is_main, Kind::Write), by_main, "{end}");
            let idle = if end == "abort" { 1001 } else { 0 };
            assert_eq!(recorded.total(|by| by == "0.1", Kind::Write), idle, "{end}");
        }
    }
}

#[test]
fn a_process_that_is_killed_leaves_what_it_has_written() {
    let shop = built();
    let mut command = shop.command(RACEHOUND);
    command.args(["run", "--record", "trace.rht", "--", "./program", "kill"]);
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    assert_cut_short(&shop);
}

/// The trace has a good part of what was done, and `stat` and `analyze` say that
/// it is not all.
fn assert_cut_short(shop: &Workshop) {
    let recorded = Recorded::read(&shop.path("trace.rht"));
    assert!(recorded.cut_short);
    assert!(recorded.events > 100_000, "{}", recorded.events);
    for command in [&["trace", "stat"][..], &["analyze"]] {
        let output = shop.racehound(&[command, &["trace.rht"]].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(
            stderr(&output).contains("the trace was cut short"),
            "{output:?}"
        );
    }
}

#[test]
fn a_disk_that_is_full_ends_the_trace_and_not_the_program() {
    let shop = built();
    let run = format!("ulimit -f 256; exec timeout 120 {RACEHOUND} run --record trace.rht");
    for detector in DETECTORS {
        let script = format!("{run} --detector {detector} -- ./program 'a lot'");
        let output = shop.command("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        let told = stderr(&output).matches("the trace ends here").count();
        assert_eq!(told, 1, "{output:?}");
        assert!(stderr(&output).contains("trace.rht: File too large"));
        let size = fs::metadata(shop.path("trace.rht")).unwrap().len();
        assert!(size <= 256 * 1024, "{size}");
        assert_cut_short_early(&shop);
    }
}

fn assert_cut_short_early(shop: &Workshop) {
    let recorded = Recorded::read(&shop.path("trace.rht"));
    assert!(recorded.cut_short && recorded.events > 1000);
}

#[test]
fn a_device_that_takes_nothing_is_told() {
    let shop = built();
    let run = ["run", "--record", "/dev/full", "--", "./program"];
    let output = shop.racehound(&run);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let text = stderr(&output);
    assert!(
        text.contains("/dev/full: No space left on device"),
        "{text}"
    );
    assert!(text.contains("not recorded"), "{text}");
}

/// Somebody else reads the trace as it is written, and goes away.
#[test]
fn a_pipe_that_breaks_ends_the_trace_and_not_the_program() {
    let shop = built();
    let script = format!(
        "mkfifo pipe; head -c 100000 < pipe > part.rht & \
         timeout 120 {RACEHOUND} run --record pipe -- ./program 'a lot'"
    );
    let output = shop.command("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert!(stderr(&output).contains("Broken pipe"), "{output:?}");
    assert!(Recorded::read(&shop.path("part.rht")).cut_short);
}

#[test]
fn a_file_that_cannot_be_made_is_told_before_the_program_runs() {
    let shop = built();
    fs::create_dir(shop.path("directory")).unwrap();
    for file in ["nowhere/trace.rht", "directory"] {
        let output = shop.racehound(&["run", "--record", file, "--", "./program"]);
        assert_eq!(output.status.code(), Some(USAGE), "{output:?}");
        assert!(stderr(&output).contains(file), "{output:?}");
    }
    // Without the command nobody has looked before.
    let mut command = shop.command("./program");
    command.env("RACEHOUND_OPTIONS", "record=nowhere/trace.rht");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert!(stderr(&output).contains("nowhere/trace.rht"), "{output:?}");
    assert!(stderr(&output).contains("not recorded"), "{output:?}");
}

/// What the threads of a trace did that was made by `in_threads(300)`.
fn assert_two_threads(recorded: &Recorded) {
    assert!(!recorded.cut_short);
    assert_eq!(recorded.total(|by| !is_main(by), Kind::Write), 600);
    assert_eq!(recorded.total(|by| !is_main(by), Kind::Acquire), 2);
}

#[test]
fn a_program_that_becomes_another_one_has_two_traces() {
    let shop = built();
    for detector in DETECTORS {
        let output = record(&shop, &["--detector", detector], &["exec"]);
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        assert!(Recorded::read(&shop.path("trace.rht")).cut_short);
        let others = others(&shop);
        assert_eq!(others.len(), 1, "{others:?}");
        assert_two_threads(&Recorded::read(&others[0]));
        fs::remove_file(&others[0]).unwrap();
    }
}

#[test]
fn parent_and_child_have_a_trace_each() {
    let shop = built();
    for (detector, end) in DETECTORS.into_iter().zip(["fork", "_Fork", "fork"]) {
        let output = record(
            &shop,
            &["--detector", detector, "--fail-on", "never"],
            &[end],
        );
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        let parent = Recorded::read(&shop.path("trace.rht"));
        assert!(!parent.cut_short);
        // One is that of the child's status.
        assert_eq!(parent.total(is_main, Kind::Write), 10_051);
        let others = others(&shop);
        assert_eq!(others.len(), 1, "{others:?}");
        let child = Recorded::read(&others[0]);
        assert_two_threads(&child);
        assert_eq!(child.total(is_main, Kind::Write), 50);
        fs::remove_file(&others[0]).unwrap();
    }
}

#[test]
fn a_child_that_becomes_something_else_leaves_nothing_behind() {
    let shop = built();
    let output = record(&shop, &[], &["spawn"]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert!(!Recorded::read(&shop.path("trace.rht")).cut_short);
    assert_eq!(others(&shop), Vec::<PathBuf>::new());
}

#[test]
fn a_daemon_has_a_trace() {
    let shop = built();
    shop.write("working", "");
    let output = record(&shop, &[], &["daemon"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let patience = Instant::now() + Duration::from_secs(30);
    // It has just been made, perhaps.
    let has_begun = |path: &&PathBuf| fs::metadata(path).is_ok_and(|file| file.len() > 0);
    let complete = || {
        let others = others(&shop);
        let trace = others.first().filter(has_begun);
        trace.is_some_and(|path| !Recorded::read(path).cut_short)
    };
    while !shop.path("finished").exists() || !complete() {
        assert!(Instant::now() < patience, "the daemon does not finish");
        thread::sleep(Duration::from_millis(10));
    }
    assert_two_threads(&Recorded::read(&others(&shop)[0]));
}

/// The program gets the numbers of all descriptors for a file of its own.
#[test]
fn descriptors_that_the_program_closes_do_not_matter() {
    let shop = built();
    for detector in DETECTORS {
        let output = record(&shop, &["--detector", detector], &["close"]);
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        let recorded = Recorded::read(&shop.path("trace.rht"));
        assert!(!recorded.cut_short, "{output:?}");
        assert!(recorded.total(is_main, Kind::Write) > 2 << 18);
        assert_eq!(fs::metadata(shop.path("mine")).unwrap().len(), 0);
    }
}

/// Who reports may call the program or end the process, with things noted that
/// were never seen before.
#[test]
fn a_report_in_the_middle_of_recording_ends() {
    let shop = Workshop::new();
    let program = r#"
#include <pthread.h>
#include <unistd.h>
int shared;
volatile int other;
#ifdef HOOK
void __tsan_on_report(void *report) { other = 1; (void)report; }
#endif
static void *touch(void *unused) { shared = 1; other = 2; return unused; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, touch, NULL);
    usleep(100000);
    other = 3;
    shared = 2;
    pthread_join(thread, NULL);
    return 0;
}
"#;
    shop.write("program.c", program);
    for flag in ["-DHOOK", "-DNONE"] {
        shop.cc(&["-g", flag, "program.c", "-o", "program"]);
        for option in ["halt_on_error=1", "halt_on_error=0"] {
            for detector in ["fasttrack", "djit"] {
                let mut command: Command = shop.command("timeout");
                command.args(["60", RACEHOUND, "run", "--record", "trace.rht"]);
                command.args(["--detector", detector, "--", "./program"]);
                let output = command.env("RACEHOUND_OPTIONS", option).output().unwrap();
                assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
                let recorded = Recorded::read(&shop.path("trace.rht"));
                assert!(!recorded.cut_short, "{detector}, {option}");
            }
        }
    }
}

/// Everything that orders threads, by many of them at once, and threads that come
/// and go: every event is there, in an order in which nothing races.
#[test]
fn many_threads_are_recorded_in_order() {
    let shop = Workshop::new();
    let program = r#"
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 32
#define ROUNDS 60
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
pthread_barrier_t barrier;
sem_t tokens;
int turn;
volatile long locked, in_turn, published, rounds[THREADS], handled, brief, token;
long *box;

static void handle(int signal) { (void)signal; __atomic_fetch_add(&handled, 1, 5); }

static void *work(void *number) {
    long n = (long)number;
    for (long round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&lock);
        locked = locked + 1;
        pthread_mutex_unlock(&lock);
        pthread_rwlock_rdlock(&rwlock);
        (void)published;
        pthread_rwlock_unlock(&rwlock);
        if (n == 0) {
            pthread_rwlock_wrlock(&rwlock);
            published = round;
            pthread_rwlock_unlock(&rwlock);
        }
        sem_wait(&tokens);
        token = token + 1;
        sem_post(&tokens);
        long *mine = malloc(sizeof *mine);
        *mine = n;
        long *theirs = __atomic_exchange_n(&box, mine, __ATOMIC_ACQ_REL);
        if (theirs != NULL) {
            *theirs += 1;
            free(theirs);
        }
        if (round % 20 == 0) {
            rounds[n] = round;
            pthread_kill(pthread_self(), SIGUSR1);
            pthread_barrier_wait(&barrier);
            if (rounds[(n + 1) % THREADS] != round)
                abort();
            pthread_barrier_wait(&barrier);
        }
    }
    pthread_mutex_lock(&lock);
    while (turn != n)
        pthread_cond_wait(&changed, &lock);
    in_turn = in_turn + 1;
    turn++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *come_and_go(void *unused) {
    brief = brief + 1;
    return unused;
}

int main(void) {
    signal(SIGUSR1, handle);
    pthread_barrier_init(&barrier, NULL, THREADS);
    sem_init(&tokens, 0, 1);
    pthread_t threads[THREADS], thread;
    for (long n = 0; n < THREADS; n++)
        pthread_create(&threads[n], NULL, work, (void *)n);
    for (long n = 0; n < THREADS; n++)
        pthread_join(threads[n], NULL);
    for (int i = 0; i < 2000; i++) {
        pthread_create(&thread, NULL, come_and_go, NULL);
        pthread_join(thread, NULL);
    }
    return locked == THREADS * ROUNDS && in_turn == THREADS && brief == 2000 ? 7 : 1;
}
"#;
    shop.write("program.c", program);
    shop.cc(&["-g", "-O1", "program.c", "-o", "program"]);
    for detector in ["fasttrack", "none", "acculock", "djit"] {
        let output = record(
            &shop,
            &["--detector", detector, "--fail-on", "observed"],
            &[],
        );
        assert_eq!(output.status.code(), Some(7), "{detector}: {output:?}");
        let recorded = Recorded::read(&shop.path("trace.rht"));
        assert!(!recorded.cut_short);
        let short_lived = |by: &str| {
            let ordinal = by.strip_prefix("0.").and_then(|n| n.parse::<u64>().ok());
            ordinal.is_some_and(|n| n > 32)
        };
        assert_eq!(recorded.total(short_lived, Kind::Write), 2000);
        let locks = recorded.total(|by| !is_main(by), Kind::Acquire);
        // Each round has two, and one thread another one; the last one a thread has
        // by itself and once more for every time that it was woken.
        assert!(locks >= 32 * 60 * 2 + 60 + 32, "{locks}");
        assert_eq!(recorded.total(|by| !is_main(by), Kind::SemWait), 32 * 60);
        assert_eq!(
            recorded.total(|by| !is_main(by), Kind::BarrierLeave),
            32 * 6
        );
        let analysis = shop.racehound(&["analyze", "trace.rht", "--detector", "fasttrack,djit"]);
        assert_eq!(analysis.status.code(), Some(0), "{}", stdout(&analysis));
    }
}

/// The C library gives stacks back while threads are made and the process is
/// copied, and signals come all the time: nobody waits for ever.
#[test]
fn threads_come_and_go_while_others_fork() {
    let shop = Workshop::new();
    let program = r#"
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 32
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
volatile long count, alarms, in_child;

static void handle(int signal) { (void)signal; __atomic_fetch_add(&alarms, 1, 5); }

static void *come_and_go(void *unused) {
    pthread_mutex_lock(&lock);
    count = count + 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *work(void *failed) {
    for (int round = 0; round < 60; round++) {
        pthread_t thread;
        pthread_create(&thread, NULL, come_and_go, NULL);
        if (round % 2)
            pthread_join(thread, NULL);
        else
            pthread_detach(thread);
        if (round % 30 == 0) {
            pid_t child = fork();
            if (child == 0) {
                in_child = 1;
                _exit(0);
            }
            int status = 1;
            while (waitpid(child, &status, 0) != child) {}
            if (status != 0)
                return failed;
        }
    }
    return NULL;
}

int main(void) {
    struct itimerval often = {{0, 10000}, {0, 10000}};
    signal(SIGALRM, handle);
    setitimer(ITIMER_REAL, &often, NULL);
    pthread_t threads[THREADS];
    int failed = 0;
    for (int n = 0; n < THREADS; n++)
        pthread_create(&threads[n], NULL, work, &failed);
    for (int n = 0; n < THREADS; n++) {
        void *result;
        pthread_join(threads[n], &result);
        failed |= result != NULL;
    }
    return failed ? 1 : 7;
}
"#;
    shop.write("program.c", program);
    shop.cc(&["-g", "-O1", "program.c", "-o", "program"]);
    for detector in ["fasttrack", "none", "djit"] {
        let options = ["--detector", detector, "--fail-on", "observed"];
        let output = record(&shop, &options, &[]);
        assert_eq!(output.status.code(), Some(7), "{detector}: {output:?}");
        assert!(!Recorded::read(&shop.path("trace.rht")).cut_short);
        let others = others(&shop);
        assert_eq!(others.len(), 64);
        for child in others {
            let recorded = Recorded::read(&child);
            assert!(!recorded.cut_short);
            assert_eq!(recorded.total(|_| true, Kind::Write), 1);
            fs::remove_file(child).unwrap();
        }
    }
}

/// A plugin is unloaded and another one comes to lie where it was: places are
/// called what they were then.
#[test]
fn places_in_plugins_keep_their_names() {
    let shop = Workshop::new();
    for (name, line) in [("first", 3), ("second", 5)] {
        let lines = "\n".repeat(line - 1);
        let plugin = format!("{lines}volatile int {name}; void enter(void) {{ {name} = 1; }}\n");
        let source = format!("{name}_program.c");
        shop.write(&source, &plugin);
        let library = format!("{name}.so");
        shop.cc(&["-g", "-shared", "-fPIC", &source, "-o", &library]);
    }
    let program = r#"
#include <dlfcn.h>
static int visit(const char *name) {
    void *library = dlopen(name, RTLD_NOW);
    if (library == 0)
        return 1;
    void (*enter)(void) = (void (*)(void))dlsym(library, "enter");
    enter();
    return dlclose(library);
}
int main(void) {
    for (int round = 0; round < 10; round++)
        if (visit("./first.so") || visit("./second.so"))
            return 1;
    return 7;
}
"#;
    shop.write("main.c", program);
    shop.cc(&["-g", "main.c", "-o", "program"]);
    let output = record(&shop, &[], &[]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let recorded = Recorded::read(&shop.path("trace.rht"));
    let at = |line: u32| recorded.counts.get(&("0".to_owned(), line, Kind::Write, 4));
    assert_eq!((at(3), at(5)), (Some(&10), Some(&10)));
}

/// Two threads that write to one variable, and fail if they come one after the other.
const MEETING: &str = r#"
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int shared, before;
static void *touch(void *unused) {
    for (int i = 0; i < 3; i++) before++;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    shared++;
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, touch, 0);
    pthread_create(&b, 0, touch, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(shared == 3);
}
"#;

/// A seed is the same execution, recorded or not; and the trace has it in order: what a
/// thread did before it was another's turn comes before what that did then.
#[test]
fn an_execution_under_control_is_recorded_as_it_was() {
    let shop = control::written(MEETING);
    for plan in ["racefuzzer:pair=program.c:10,program.c:10", "random", "pct"] {
        let hash = |more: &[&str]| {
            let options = ["--schedule", plan, "--seed", "5", "--timeout", "20"];
            control::hash(&control::scheduled(&shop, &[&options[..], more].concat()))
        };
        let usual = hash(&[]);
        assert_eq!(hash(&["--record", "trace.rht"]), usual, "{plan}");
        // Although it was killed, everything is there.
        let recorded = Recorded::read(&shop.path("trace.rht"));
        let both = |line: u32, kind: Kind| -> u64 {
            let of_children = |by: &str| by != "0";
            let at = |((by, at, what, _), _): &(&(String, u32, Kind, u32), &u64)| {
                of_children(by) && *at == line && *what == kind
            };
            recorded
                .counts
                .iter()
                .filter(at)
                .map(|(_, count)| count)
                .sum()
        };
        assert_eq!(both(7, Kind::Write), 6, "{plan}");
        assert_eq!(both(10, Kind::Write), 2, "{plan}");
        assert_eq!(recorded.total(|by| by == "0", Kind::Join), 2, "{plan}");
        let locks = names_of_locks(&shop.path("trace.rht"));
        assert!(locks.contains(&"gate".to_owned()), "{locks:?}");
    }
}

fn names_of_locks(path: &Path) -> Vec<String> {
    let trace = binary::Reader::new(File::open(path).unwrap()).unwrap();
    let trace = racehound_trace::Trace::collect(trace).unwrap();
    let taken = trace.events.iter().filter_map(|event| match event.op {
        Op::Acquire { lock, .. } => Some(trace.tables.sync_name(lock)),
        _ => None,
    });
    taken.collect()
}
