//! Waits for the kernel under control: signals, timers, descriptors, files that are
//! locked. What comes from the program itself comes in the same order in every run.

use crate::control::{hash, scheduled, written};
use crate::workshop::{stderr, stdout};

const BEGINNING: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static pthread_t waiting;
static int ends[2];
static volatile sig_atomic_t rang;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counted;
static void ring(int number) { rang = number; counted++; }
static void work(void) {
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
}
"#;

const END: &str = r#"
int main(void) {
    pthread_t other;
    sigset_t set;
    struct sigaction action = {.sa_handler = ring};
    if (pipe(ends) != 0) return 1;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&waiting, NULL, waits, NULL);
    pthread_create(&other, NULL, helps, NULL);
    /* What is sent to the process would come to us first. */
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_join(waiting, NULL);
    pthread_join(other, NULL);
}
"#;

/// One thread waits, another helps: what is printed, and nobody gives up control.
fn prints(waits: &str, helps: &str, expected: &str) {
    let thread = |name: &str, body: &str| {
        format!("static void *{name}(void *unused) {{ {body}; return unused; }}\n")
    };
    let text = [
        BEGINNING,
        &thread("waits", waits),
        &thread("helps", helps),
        END,
    ];
    let shop = written(&text.concat());
    for seed in ["1", "2", "3"] {
        let options = ["--detector", "none", "--schedule", "random", "--seed", seed];
        let output = scheduled(&shop, &options);
        assert_eq!(stdout(&output), expected, "{waits}: {}", stderr(&output));
        assert!(
            !stderr(&output).contains("the seed alone"),
            "{waits}: {}",
            stderr(&output)
        );
        let again = scheduled(&shop, &options);
        assert_eq!(hash(&again), hash(&output), "{waits}: {}", stderr(&again));
    }
}

#[test]
fn signals_between_threads() {
    let kills = "work(); sleep(10); pthread_kill(waiting, SIGUSR1)";
    prints("pause(); printf(\"%d\\n\", rang == SIGUSR1)", kills, "1\n");
    let reads = "char byte; printf(\"%d\\n\", read(ends[0], &byte, 1) < 0 && errno == EINTR)";
    prints(reads, kills, "1\n");
    let takes = "sigset_t set; int number; sigemptyset(&set); sigaddset(&set, SIGUSR2); \
                 sigwait(&set, &number); printf(\"%d\\n\", number == SIGUSR2)";
    prints(takes, "work(); kill(getpid(), SIGUSR2)", "1\n");
    let in_vain = "sigset_t set; struct timespec time = {1000, 0}; sigemptyset(&set); \
                   sigaddset(&set, SIGUSR2); printf(\"%d\\n\", sigtimedwait(&set, NULL, &time))";
    prints(in_vain, "work()", "-1\n");
}

/// A signal that comes again before its handler has run counts each time.
#[test]
fn every_signal_to_who_sleeps_arrives() {
    let sleeps = "sigset_t set; sigemptyset(&set); sigaddset(&set, SIGUSR1); \
                  pthread_sigmask(SIG_UNBLOCK, &set, NULL); sleep(1); \
                  while (!rang) sleep(100); while (sleep(100)); printf(\"%d\\n\", counted)";
    let kills = "sleep(10); for (int i = 0; i < 5; i++) pthread_kill(waiting, SIGUSR1)";
    prints(sleeps, kills, "5\n");
}

/// Somebody cancels a thread that is on its way to wait for a condition.
#[test]
fn who_is_cancelled_on_the_way_to_a_condition_does_not_wait_for_it() {
    let shop = written(
        r#"
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static void leave(void *unused) { pthread_mutex_unlock(&lock); }
static void *waits(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(leave, NULL);
    for (;;) pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(1);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waits, NULL);
    pthread_cancel(thread);
    return pthread_join(thread, NULL);
}
"#,
    );
    for seed in 0..20 {
        let seed = seed.to_string();
        let options = [
            "--detector",
            "none",
            "--schedule",
            "random",
            "--seed",
            &seed,
        ];
        let output = scheduled(&shop, &options);
        assert!(output.status.success(), "{seed}: {}", stderr(&output));
    }
}

/// What child processes do by themselves is waited for, whoever else could go on.
#[test]
fn child_processes_are_waited_for() {
    let reads = "char line[80]; FILE *from = popen(\"echo one; echo two\", \"r\"); \
                 while (fgets(line, 80, from)) { work(); fputs(line, stdout); } pclose(from)";
    prints(reads, "work(); work()", "one\ntwo\n");
    let copies = "char byte; if (fork() == 0) { usleep(10); _exit(write(ends[1], \"x\", 1) != 1); } \
                  work(); if (read(ends[0], &byte, 1) == 1) puts(\"read\"); wait(NULL)";
    prints(copies, "work(); work()", "read\n");
    let runs = "printf(\"%d\\n\", WEXITSTATUS(system(\"sleep 0.05; exit 3\")))";
    prints(runs, "work(); work()", "3\n");
}

/// Who is overtaken while another process lets it wait says so.
#[test]
fn what_other_processes_decide_is_told() {
    let text = [
        BEGINNING,
        "static void *waits(void *unused) { char line[80]; \
         FILE *from = popen(\"sleep 0.3; echo one\", \"r\"); \
         if (fgets(line, 80, from)) fputs(line, stdout); pclose(from); return unused; }\n",
        "static void *helps(void *unused) { \
         for (int i = 0; i < 50; i++) { work(); usleep(20000); } return unused; }\n",
        END,
    ];
    let shop = written(&text.concat());
    let output = scheduled(&shop, &["--detector", "none", "--schedule", "random"]);
    assert_eq!(stdout(&output), "one\n");
    let said = stderr(&output);
    let expected = "waits for another process; others go on meanwhile";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn timers_in_virtual_time() {
    prints(
        "alarm(50); while (!rang); puts(\"rang\")",
        "work()",
        "rang\n",
    );
    prints("alarm(50); pause(); puts(\"rang\")", "work()", "rang\n");
    let timer = "timer_t timer; struct sigevent event = {0}; \
                 event.sigev_notify = SIGEV_SIGNAL; event.sigev_signo = SIGUSR1; \
                 timer_create(CLOCK_MONOTONIC, &event, &timer); \
                 struct itimerspec time = {{0, 0}, {10, 0}}; \
                 timer_settime(timer, 0, &time, NULL); \
                 printf(\"%d\\n\", (int)sleep(100) / 10); timer_delete(timer)";
    prints(timer, "work()", "9\n");
    let descriptor = "int fd = timerfd_create(CLOCK_MONOTONIC, 0); \
                      struct itimerspec time = {{10, 0}, {10, 0}}; unsigned long times; \
                      timerfd_settime(fd, 0, &time, NULL); \
                      for (int i = 0; i < 3; i++) if (read(fd, &times, 8) == 8) printf(\"%lu\\n\", times)";
    prints(descriptor, "work()", "1\n1\n1\n");
}

#[test]
fn descriptors_and_streams() {
    let selects = "fd_set set; FD_ZERO(&set); FD_SET(ends[0], &set); \
                   printf(\"%d\\n\", select(ends[0] + 1, &set, NULL, NULL, NULL))";
    let writes = "work(); if (write(ends[1], \"one \", 4) != 4) abort(); \
                  work(); if (write(ends[1], \"two\\n3\\n\", 6) != 6) abort(); close(ends[1])";
    prints(selects, writes, "1\n");
    let late = "fd_set set; struct timeval time = {100, 0}; FD_ZERO(&set); FD_SET(ends[0], &set); \
                printf(\"%d\\n\", select(ends[0] + 1, &set, NULL, NULL, &time))";
    prints(late, "work()", "0\n");
    let lines = "char line[80]; FILE *from = fdopen(ends[0], \"r\"); \
                 while (fgets(line, 80, from)) fputs(line, stdout)";
    prints(lines, writes, "one two\n3\n");
    let bytes = "char text[11] = {0}; FILE *from = fdopen(ends[0], \"r\"); \
                 printf(\"%zu \", fread(text, 1, 10, from)); fputs(text, stdout)";
    prints(bytes, writes, "10 one two\n3\n");
}

#[test]
fn files_that_are_locked() {
    let locks = |name: &str| {
        format!(
            "int file = open(\"lockfile\", O_RDWR | O_CREAT, 0600); flock(file, LOCK_EX); \
             work(); sleep(5); puts(\"{name}\"); fflush(stdout); flock(file, LOCK_UN)"
        )
    };
    // Either may come first, but both do, one after the other.
    let text = [
        BEGINNING,
        "static void *waits(void *unused) { ",
        &locks("a"),
        "; return unused; }\n",
        "static void *helps(void *unused) { ",
        &locks("a"),
        "; return unused; }\n",
        END,
    ];
    let shop = written(&text.concat());
    for seed in ["1", "2", "3"] {
        let options = ["--detector", "none", "--schedule", "random", "--seed", seed];
        let output = scheduled(&shop, &options);
        assert_eq!(stdout(&output), "a\na\n", "{}", stderr(&output));
        assert_eq!(hash(&scheduled(&shop, &options)), hash(&output));
    }
}

/// Parent and child wait for each other by what is in memory that both have.
const FAMILY: &str = r#"
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
struct shared {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_barrier_t barrier;
    sem_t there, back;
    _Atomic int flag;
    int value, count;
    char order[200];
};
static struct shared *shared;
static void note(char who) {
    pthread_mutex_lock(&shared->lock);
    shared->order[shared->count++] = who;
    pthread_mutex_unlock(&shared->lock);
}
static void *notes(void *who) {
    for (int i = 0; i < 10; i++) note(*(char *)who);
    return NULL;
}
static void to(int value) {
    pthread_mutex_lock(&shared->lock);
    while (shared->value != value - 1) pthread_cond_wait(&shared->changed, &shared->lock);
    shared->value = value;
    pthread_cond_broadcast(&shared->changed);
    pthread_mutex_unlock(&shared->lock);
}
static void futex(int operation, int value) {
    syscall(SYS_futex, &shared->flag, operation, value, NULL, NULL, 0);
}
static void child(const char *what) {
    if (!strcmp(what, "lock")) notes("c");
    if (!strcmp(what, "condition")) to(1), to(3);
    for (int i = 0; i < 3; i++) {
        if (!strcmp(what, "semaphore")) sem_wait(&shared->there), note('c'), sem_post(&shared->back);
        if (!strcmp(what, "barrier")) pthread_barrier_wait(&shared->barrier);
    }
    if (!strcmp(what, "atomic")) while (!shared->flag) {}
    if (!strcmp(what, "futex")) while (!shared->flag) futex(FUTEX_WAIT, 0);
    shared->flag = 2;
    if (!strcmp(what, "futex")) futex(FUTEX_WAKE, 1);
}
int main(int count, char **arguments) {
    const char *what = arguments[1];
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t lock;
    pthread_mutexattr_init(&lock);
    pthread_mutexattr_setpshared(&lock, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &lock);
    pthread_condattr_t changed;
    pthread_condattr_init(&changed);
    pthread_condattr_setpshared(&changed, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&shared->changed, &changed);
    pthread_barrierattr_t barrier;
    pthread_barrierattr_init(&barrier);
    pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &barrier, 2);
    sem_init(&shared->there, 1, 0);
    sem_init(&shared->back, 1, 0);
    for (int i = 1; i < count; i++)
        if (fork() == 0) child(what), _exit(0);
    if (!strcmp(what, "lock")) {
        pthread_t other;
        pthread_create(&other, NULL, notes, "a");
        notes("b");
        pthread_join(other, NULL);
    }
    if (!strcmp(what, "condition")) to(2), to(4);
    for (int i = 0; i < 3; i++) {
        if (!strcmp(what, "semaphore")) sem_post(&shared->there), note('b'), sem_wait(&shared->back);
        if (!strcmp(what, "barrier")) pthread_barrier_wait(&shared->barrier);
    }
    if (!strcmp(what, "atomic")) {
        shared->flag = 1;
        while (shared->flag != 2) {}
    }
    if (!strcmp(what, "futex")) {
        shared->flag = 1;
        futex(FUTEX_WAKE, 1);
        while (shared->flag != 2) futex(FUTEX_WAIT, 1);
    }
    while (wait(NULL) > 0) {}
    puts(shared->order);
}
"#;

#[test]
fn a_child_that_shares_memory_does_what_it_can_before_each_step() {
    let shop = written(FAMILY);
    for what in [
        "lock",
        "condition",
        "semaphore",
        "barrier",
        "atomic",
        "futex",
    ] {
        let run = || {
            let seed = ["run", "--schedule", "random", "--seed", "7"];
            let output = shop.racehound(&[&seed[..], &["--", "./program", what]].concat());
            let text = stderr(&output);
            assert!(output.status.success(), "{what}: {text}");
            // A child that waits in a loop never sleeps.
            let spins = what == "atomic";
            assert_eq!(text.contains("runs for long"), spins, "{what}: {text}");
            assert!(!text.contains("another process"), "{what}: {text}");
            assert!(!text.contains("is shared"), "{what}: {text}");
            (hash(&output), stdout(&output))
        };
        let first = run();
        if what != "atomic" {
            for _ in 0..3 {
                assert_eq!(first, run(), "{what}");
            }
        }
    }
}

#[test]
fn a_child_that_computes_until_time_has_passed_is_not_waited_for_for_ever() {
    let shop = written(
        r#"
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static struct shared { sem_t done; volatile int flag; } *shared;
__attribute__((no_sanitize("thread"))) static void compute(void) { while (!shared->flag) {} }
static void *await(void *unused) { sem_wait(&shared->done); return unused; }
int main(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(&shared->done, 1, 0);
    if (fork() == 0) { compute(); sem_post(&shared->done); _exit(0); }
    pthread_t other;
    pthread_create(&other, NULL, await, NULL);
    usleep(300000);
    shared->flag = 1;
    pthread_join(other, NULL);
    return wait(NULL) < 0;
}
"#,
    );
    for seed in ["1", "2", "3"] {
        let output = shop.racehound(&[
            "run",
            "--schedule",
            "random",
            "--seed",
            seed,
            "--",
            "./program",
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
}

/// Threads that take turns share a processor, and nobody can tell: neither they nor the
/// processes they start have fewer, and who was given one by the program stays there.
#[test]
fn processors_are_the_programs_own() {
    let counts = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int all;
static int mine(void) {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    return CPU_COUNT(&set);
}
static void take_turns(void) {
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        sched_yield();
        pthread_mutex_unlock(&lock);
    }
}
static void *count(void *which) {
    long fewer = mine() != all || sysconf(_SC_NPROCESSORS_ONLN) < all;
    take_turns();
    fewer |= mine() != all;
    take_turns();
    if (which) {
        int child = fork(), status;
        if (child == 0) _exit(mine() != all);
        waitpid(child, &status, 0);
        fewer |= status != 0;
    } else {
        char command[64];
        snprintf(command, sizeof command, "test $(nproc) -eq %d", all);
        fewer |= system(command) != 0;
    }
    return (void *)fewer;
}
"#;
    let counts_all = r#"
int main(void) {
    all = mine();
    pthread_t threads[4];
    void *fewer;
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, count, (void *)(i % 2));
    take_turns();
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &fewer);
        if (fewer) return 1;
    }
}
"#;
    let pins_one = r#"
static void *stay(void *unused) {
    cpu_set_t before, after;
    take_turns();
    pthread_getaffinity_np(pthread_self(), sizeof before, &before);
    CPU_ZERO(&after);
    for (int i = 0; !CPU_COUNT(&after); i++) if (CPU_ISSET(i, &before)) CPU_SET(i, &after);
    pthread_setaffinity_np(pthread_self(), sizeof after, &after);
    take_turns();
    pthread_getaffinity_np(pthread_self(), sizeof before, &before);
    return (void *)(long)!CPU_EQUAL(&before, &after);
}
int main(void) {
    all = mine();
    pthread_t pinned, other;
    void *moved, *fewer;
    pthread_create(&pinned, NULL, stay, NULL);
    pthread_create(&other, NULL, count, NULL);
    pthread_join(pinned, &moved);
    pthread_join(other, &fewer);
    return moved || fewer || mine() != all;
}
"#;
    for main in [counts_all, pins_one] {
        let shop = written(&[counts, main].concat());
        for seed in ["1", "2", "3", "4"] {
            let options = ["--detector", "none", "--schedule", "random", "--seed", seed];
            let output = scheduled(&shop, &options);
            assert!(output.status.success(), "{}", stderr(&output));
        }
    }
}
