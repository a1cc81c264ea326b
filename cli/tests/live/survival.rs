//! Programs that do to themselves, or suffer, what programs do in the wild: they
//! become daemons, close every descriptor, become other programs or start them,
//! die of signals, cancel threads, unload code. The race is reported all the
//! same, by whichever process it happens in, and the program gets where it wanted.

use std::os::unix::process::ExitStatusExt;
use std::process::Output;
use std::time::{Duration, Instant};
use std::{fs, thread};

use super::FINDINGS;
use crate::workshop::{Workshop, stderr, stdout};

/// What all these programs begin with: `race` is one race.
const PRELUDE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int shared;

static void *touch(void *unused) {
    shared = 1;
    return unused;
}

static void race(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, touch, NULL);
    shared = 2;
    pthread_join(thread, NULL);
}

static int code_of(pid_t child) {
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
"#;

/// Builds the program, with these flags too.
fn build(shop: &Workshop, flags: &[&str], body: &str) {
    shop.write("program.c", &format!("{PRELUDE}{body}"));
    let usual = ["-Wall", "program.c", "-o", "program"];
    shop.cc(&[flags, &usual].concat());
}

/// Runs it as users would who have never heard of the command.
fn alone(shop: &Workshop, arguments: &[&str]) -> Output {
    let mut command = shop.command("timeout");
    command.args(["60", "./program"]).args(arguments);
    command.output().unwrap()
}

fn races_in(text: &str) -> usize {
    text.matches("WARNING: ThreadSanitizer: data race").count()
}

/// The race is told on standard error, once, and the program ends with that code.
fn assert_one_race(output: &Output, code: i32) {
    let text = stderr(output);
    assert_eq!(races_in(&text), 1, "{output:?}");
    assert_eq!(output.status.code(), Some(code), "{text}");
}

/// A daemon has no terminal, no parent and no standard error: what it says goes to
/// a file.
#[test]
fn a_daemon_reports_to_its_log() {
    let shop = Workshop::new();
    let body = r#"
int main(void) {
    if (fork() != 0)
        return 0;
    setsid();
    if (fork() != 0)
        _exit(0);
    int nowhere = open("/dev/null", O_RDWR);
    for (int descriptor = 0; descriptor < 3; descriptor++)
        dup2(nowhere, descriptor);
    usleep(200000);
    race();
    rename("working", "finished");
    return 0;
}
"#;
    build(&shop, &["-g"], body);
    shop.write("working", "");
    let mut command = shop.command("./program");
    command.env("RACEHOUND_OPTIONS", "log_path=log");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let patience = Instant::now() + Duration::from_secs(30);
    while !shop.path("finished").exists() {
        assert!(Instant::now() < patience, "the daemon does not finish");
        thread::sleep(Duration::from_millis(10));
    }
    let files = fs::read_dir(shop.path(".")).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let logs = paths.filter(|path| path.file_stem().is_some_and(|stem| stem == "log"));
    let texts: Vec<String> = logs.map(|log| fs::read_to_string(log).unwrap()).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert_eq!(races_in(&texts[0]), 1, "{texts:?}");
    assert!(texts[0].contains("program.c:"), "{texts:?}");
}

#[test]
fn a_program_without_any_descriptor_has_findings() {
    let shop = Workshop::new();
    let body = r#"
int main(void) {
    close_range(0, ~0u, 0);
    race();
    return 5;
}
"#;
    build(&shop, &["-g"], body);
    let json = ["run", "--json", "findings.json", "--", "./program"];
    let output = shop.racehound(&json);
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    let report = shop.findings("findings.json");
    assert_eq!(report["findings"].as_array().unwrap().len(), 1);
    assert_eq!(alone(&shop, &[]).status.code(), Some(FINDINGS));
}

/// What kills the program comes after the race, and the report has been written.
#[test]
fn a_report_is_out_before_the_program_dies() {
    let shop = Workshop::new();
    let body = r#"
static void overflow(volatile char *outer) {
    volatile char frame[4096];
    frame[0] = outer[0];
    overflow(frame);
    outer[0] = frame[0];
}

int main(int count, char **arguments) {
    char *volatile null = NULL;
    const char *end = arguments[count - 1];
    race();
    if (!strcmp(end, "null"))
        *null = 1;
    if (!strcmp(end, "stack"))
        overflow(arguments[0]);
    if (!strcmp(end, "abort"))
        abort();
    if (!strcmp(end, "terminate"))
        kill(getpid(), SIGTERM);
    if (!strcmp(end, "kill"))
        kill(getpid(), SIGKILL);
    return 1;
}
"#;
    build(&shop, &["-g", "-Wno-infinite-recursion"], body);
    for (end, signal) in [
        ("null", libc::SIGSEGV),
        ("stack", libc::SIGSEGV),
        ("abort", libc::SIGABRT),
        ("terminate", libc::SIGTERM),
        ("kill", libc::SIGKILL),
    ] {
        let output = shop.command("./program").arg(end).output().unwrap();
        assert_eq!(output.status.signal(), Some(signal), "{end}: {output:?}");
        assert_eq!(races_in(&stderr(&output)), 1, "{end}: {output:?}");
    }
}

/// The program becomes another one, or starts it in one of the ways there are. It
/// is the one that has the race, and is watched as well.
#[test]
fn programs_are_executed() {
    let shop = Workshop::new();
    let body = r#"
extern char **environ;

static void *idle(void *unused) {
    for (;;)
        pause();
    return unused;
}

int main(int count, char **arguments) {
    const char *how = arguments[count - 1];
    char *next[] = {arguments[0], "race", NULL};
    if (!strcmp(how, "race")) {
        race();
        return 5;
    }
    pthread_t thread;
    pthread_create(&thread, NULL, idle, NULL);
    pthread_detach(thread);
    pid_t child = -1;
    if (!strcmp(how, "exec"))
        execv(next[0], next);
    if (!strcmp(how, "spawn") && posix_spawn(&child, next[0], NULL, NULL, next, environ))
        return 1;
    if (!strcmp(how, "vfork") && (child = vfork()) == 0) {
        execve(next[0], next, environ);
        _exit(1);
    }
    if (!strcmp(how, "system"))
        return WEXITSTATUS(system("./program race"));
    if (!strcmp(how, "popen"))
        return WEXITSTATUS(pclose(popen("./program race", "w")));
    return code_of(child);
}
"#;
    build(&shop, &["-g"], body);
    for how in ["exec", "spawn", "vfork", "system", "popen"] {
        assert_one_race(&alone(&shop, &[how]), FINDINGS);
    }
    // A program that is not instrumented is none of our business.
    shop.write("script", "#!/bin/sh\necho \"$1 through sh\"; exit 7\n");
    let body = r#"
int main(void) {
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "script", "vfork", (char *)NULL);
        _exit(1);
    }
    return code_of(child);
}
"#;
    build(&shop, &["-g"], body);
    let output = alone(&shop, &[]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert_eq!(stdout(&output), "vfork through sh\n");
    assert_eq!(stderr(&output), "");
}

/// Reports can do without anything that names code.
#[test]
fn a_stripped_program_has_reports() {
    let shop = Workshop::new();
    let body = "int main(void) { race(); return 0; }";
    for flags in [&["-g0"][..], &["-g0", "-s"]] {
        build(&shop, flags, body);
        let output = alone(&shop, &[]);
        assert_one_race(&output, FINDINGS);
        assert!(stderr(&output).contains("(program+0x"), "{output:?}");
    }
}

/// A thread that is cancelled, or ends from deep inside, runs its cleanup handlers
/// and destructors, in its own name and with its locks.
#[test]
fn threads_end_in_the_middle_of_something() {
    let shop = Workshop::new();
    let body = r#"
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static int cleaned, guarded, destroyed;

static void unlock(void *unused) {
    (void)unused;
    guarded++;
    cleaned++;
    pthread_mutex_unlock(&guard);
}

static void destroy(void *value) {
    pthread_mutex_lock(&guard);
    destroyed += *(int *)value;
    pthread_mutex_unlock(&guard);
    free(value);
}

static void descend(int depth, void *how) {
    if (depth > 0) {
        descend(depth - 1, how);
        guarded += depth;
    } else if (how != NULL)
        pthread_exit(how);
    else
        for (;;)
            usleep(1000);
}

static void *work(void *how) {
    int *value = malloc(sizeof *value);
    *value = 1;
    pthread_setspecific(key, value);
    pthread_mutex_lock(&guard);
    pthread_cleanup_push(unlock, NULL);
    descend(50, how);
    pthread_cleanup_pop(0);
    return NULL;
}

int main(void) {
    pthread_key_create(&key, destroy);
    for (int round = 0; round < 200; round++) {
        void *how = round % 2 ? &cleaned : NULL, *result;
        pthread_t thread;
        pthread_create(&thread, NULL, work, how);
        if (how == NULL)
            pthread_cancel(thread);
        pthread_join(thread, &result);
        if (result != (how ? how : PTHREAD_CANCELED))
            return 1;
    }
    // Threads that are cancelled before they have begun have nothing to clean up.
    if (cleaned != guarded || cleaned < 100 || destroyed != cleaned)
        return 2;
    race();
    return 0;
}
"#;
    build(&shop, &["-g"], body);
    assert_one_race(&alone(&shop, &[]), FINDINGS);
}

/// A plugin is loaded and unloaded again and again, and another one comes to lie
/// where it was. Names are those of the code that ran.
#[test]
fn plugins_come_and_go() {
    let shop = Workshop::new();
    for name in ["first", "second"] {
        let plugin = format!(
            "#include <pthread.h>\n\
             static int {name}_data;\n\
             static void *{name}_touch(void *x) {{ {name}_data++; return x; }}\n\
             void enter(int races) {{\n\
                 pthread_t thread;\n\
                 pthread_create(&thread, NULL, {name}_touch, NULL);\n\
                 if (races) {name}_data++;\n\
                 pthread_join(thread, NULL);\n\
                 {name}_data++;\n\
             }}\n"
        );
        let source = format!("{name}.c");
        shop.write(&source, &plugin);
        let library = format!("{name}.so");
        shop.cc(&["-g", "-shared", "-fPIC", &source, "-o", &library]);
    }
    let body = r#"
static int visit(const char *name, int races) {
    void *library = dlopen(name, RTLD_NOW);
    if (library == NULL)
        return fprintf(stderr, "%s\n", dlerror());
    void (*enter)(int) = (void (*)(int))dlsym(library, "enter");
    enter(races);
    return dlclose(library);
}

int main(void) {
    for (int round = 0; round < 100; round++)
        if (visit("./first.so", 0) || visit("./second.so", 0))
            return 1;
    return visit("./first.so", 1) || visit("./second.so", 1) || visit("./first.so", 0);
}
"#;
    build(&shop, &["-g"], body);
    let output = alone(&shop, &[]);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(FINDINGS), "{text}");
    let reports: Vec<&str> = text.split("WARNING: ").skip(1).collect();
    assert_eq!(reports.len(), 2, "{text}");
    for (report, name) in reports.iter().zip(["first", "second"]) {
        assert!(report.contains(&format!("{name}_touch")), "{text}");
        assert!(report.contains(&format!("{name}.c:")), "{text}");
        assert!(report.contains(&format!("'{name}_data'")), "{text}");
    }
}

/// Functions that a program gets from the static part of the C library have no other than
/// ours behind them, also where we do nothing.
#[test]
fn who_does_nothing_takes_no_function_away() {
    let shop = Workshop::new();
    let body = r#"
static void *worker(void *unused) { return unused; }
static void says(void) { puts("at the end"); }
int main(void) {
    char text[16];
    atexit(says);
    at_quick_exit(says);
    pthread_atfork(says, NULL, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, worker, memset(text, 0, sizeof text));
    pthread_join(thread, NULL);
}
"#;
    build(&shop, &[], body);
    for options in [
        &["--detector", "none"][..],
        &["--schedule", "collect"],
        &["--sample", "literace"],
    ] {
        let output = shop.racehound(&[&["run"], options, &["--", "./program"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(stdout(&output), "at the end\n", "{options:?}");
    }
}
