//! However a program under control ends, its hash is told and its schedule written, and
//! the schedule leads there again; and what a program asks the system for is the same in
//! every run.

use crate::control::{hash, scheduled, written};
use crate::workshop::{Workshop, stderr, stdout};

/// A thread of two ends the process somehow, after some steps.
fn ending(how: &str) -> Workshop {
    written(&format!(
        r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int count, zero;
static int deep(volatile char *from) {{
    volatile char here[4096];
    here[0] = from[0];
    return deep(here) + here[1];
}}
static void *work(void *unused) {{
    for (int i = 0; i < 5; i++) {{
        pthread_mutex_lock(&lock);
        count++;
        pthread_mutex_unlock(&lock);
    }}
    {how};
    return unused;
}}
int main(int argc, char **argv) {{
    pthread_t threads[2];
    if (argc > 5) return deep(argv[0]);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}}
"#
    ))
}

#[test]
fn every_end_has_its_hash_and_its_schedule() {
    for (how, code) in [
        ("*(volatile int *)8 = 1", 128 + libc::SIGSEGV),
        ("count = 7 / zero", 128 + libc::SIGFPE),
        ("count = deep((char *)&count)", 128 + libc::SIGSEGV),
        ("raise(SIGUSR1)", 128 + libc::SIGUSR1),
        ("kill(getpid(), SIGTERM)", 128 + libc::SIGTERM),
        ("abort()", 128 + libc::SIGABRT),
        ("_exit(7)", 7),
        ("quick_exit(8)", 8),
        ("exit(9)", 9),
        ("execl(\"/bin/true\", \"true\", (char *)0)", 0),
        ("if (fork() == 0) exit(3)", 0),
    ] {
        let shop = ending(how);
        let quiet = ["--detector", "none"];
        let random = ["--schedule", "random", "--seed", "3", "--schedule-out", "s"];
        let output = scheduled(&shop, &[&quiet[..], &random].concat());
        let hashes = stderr(&output).matches(" steps, hash ").count();
        assert_eq!(hashes, 1, "{how}: {}", stderr(&output));
        let ended = std::os::unix::process::ExitStatusExt::signal(&output.status);
        let shown = output.status.code().or(ended.map(|signal| 128 + signal));
        assert_eq!(shown, Some(code), "{how}: {}", stderr(&output));
        let replay = ["--schedule", "replay:file=s"];
        let again = scheduled(&shop, &[&quiet[..], &replay].concat());
        assert_eq!(hash(&again), hash(&output), "{how}");
        assert_eq!(again.status, output.status, "{how}");
        assert!(!stderr(&again).contains("left the schedule"), "{how}");
    }
}

/// The C library looks after its heap when a thread has ended for everybody else, and
/// nobody can have memory from there any more.
#[test]
fn a_thread_that_dies_after_its_end_has_its_hash() {
    let shop = written(
        r#"
#include <pthread.h>
#include <stdlib.h>
enum { BLOCKS = 24, LAST = 640 };
static volatile size_t *blocks[BLOCKS], *last;
static void *spoil(void *unused) {
    for (int i = 0; i < BLOCKS; i++) blocks[i] = malloc(100);
    last = malloc(LAST * sizeof *last);
    for (int i = 0; i < BLOCKS; i++) free((void *)blocks[i]);
    for (int i = 0; i < BLOCKS; i++) blocks[i][0] = 1;
    for (int i = 0; i < 8; i++) last[LAST + i] = -1;
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, spoil, NULL);
    pthread_join(thread, NULL);
}
"#,
    );
    let quiet = ["--detector", "none", "--schedule", "random", "--seed", "3"];
    let output = scheduled(&shop, &quiet);
    let ended = std::os::unix::process::ExitStatusExt::signal(&output.status);
    assert_eq!(ended, Some(libc::SIGABRT), "{}", stderr(&output));
    let hashes = stderr(&output).matches(" steps, hash ").count();
    assert_eq!(hashes, 1, "{}", stderr(&output));
}

#[test]
fn randomness_and_time_are_the_same_in_every_run() {
    let shop = written(
        r#"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>
int main(void) {
    unsigned from[5] = {0};
    if (getrandom(&from[0], 4, 0) != 4 || getentropy(&from[1], 4) != 0) return 1;
    int device = open("/dev/urandom", O_RDONLY);
    if (read(device, &from[2], 4) != 4) return 1;
    FILE *stream = fopen("/dev/random", "r");
    if (fread(&from[3], 4, 1, stream) != 1) return 1;
    srand(time(NULL));
    from[4] = rand();
    for (int i = 0; i < 5; i++) printf("%u\n", from[i]);
    struct timeval now;
    struct timespec precise;
    gettimeofday(&now, NULL);
    timespec_get(&precise, TIME_UTC);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%ld %ld\n", (long)used.ru_utime.tv_usec, used.ru_maxrss);
    printf("%ld %ld %ld %ld\n", (long)now.tv_usec, precise.tv_nsec, (long)clock(), (long)times(NULL));
}
"#,
    );
    let quiet = ["--schedule", "random", "--detector", "none"];
    let first = scheduled(&shop, &quiet);
    assert!(first.status.success(), "{}", stderr(&first));
    let mut lines: Vec<String> = stdout(&first).lines().map(str::to_owned).collect();
    assert_eq!(stdout(&scheduled(&shop, &quiet)), stdout(&first));
    lines.sort();
    lines.dedup();
    assert_eq!(lines.len(), 7, "{lines:?}");
}

#[test]
fn who_waits_for_a_plain_variable_is_noticed() {
    let shop = written(
        r#"
#include <pthread.h>
static volatile int go, seen;
static void *spin(void *unused) { while (!go) seen++; return unused; }
static void *wait(void *unused) { while (!go); return unused; }
int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, spin, NULL);
    pthread_create(&threads[1], NULL, wait, NULL);
    go = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}
"#,
    );
    for seed in 0..6 {
        let seed = seed.to_string();
        let options = ["--detector", "none", "--schedule", "pct", "--seed", &seed];
        let output = scheduled(&shop, &options);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(
            !stderr(&output).contains("the seed alone"),
            "{}",
            stderr(&output)
        );
        assert_eq!(hash(&scheduled(&shop, &options)), hash(&output));
    }
}
