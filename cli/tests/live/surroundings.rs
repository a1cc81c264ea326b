//! Hunts in programs as they are: with something to be done before and after, servers
//! with their clients, and test programs test by test.

use std::process::Output;

use serde_json::Value;

use crate::rust;
use crate::workshop::{Workshop, stderr, stdout};
use crate::{FINDINGS, NOT_STARTED, USAGE};

fn hunted(shop: &Workshop, more: &[&str]) -> Output {
    let hunt = ["hunt", "--json", "f.json", "--budget", "60s"];
    shop.racehound(&[&hunt[..], more].concat())
}

fn findings(shop: &Workshop) -> Vec<Value> {
    let report = shop.findings("f.json");
    report["findings"].as_array().unwrap().clone()
}

/// Counts for its clients, under a lock, and yet wrong: what it has read may be old when
/// it is written. Listens at a socket of its own for each job.
const SERVER: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
static int counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int get(void) {
    pthread_mutex_lock(&lock);
    int now = counter;
    pthread_mutex_unlock(&lock);
    return now;
}
static void set(int value) {
    pthread_mutex_lock(&lock);
    counter = value;
    pthread_mutex_unlock(&lock);
}
static void *serve(void *connection) {
    int socket = (int)(long)connection;
    char wish;
    while (read(socket, &wish, 1) == 1) {
        if (wish == '+')
            set(get() + 1);
        char answer = (char)get();
        if (write(socket, &answer, 1) != 1)
            break;
    }
    close(socket);
    return 0;
}
int main(void) {
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof name.sun_path, "data-%s/socket", getenv("RACEHOUND_JOB"));
    if (bind(listener, (struct sockaddr *)&name, sizeof name) || listen(listener, 8)) {
        perror(name.sun_path);
        return 1;
    }
    for (;;) {
        pthread_t thread;
        long connection = accept(listener, 0, 0);
        pthread_create(&thread, 0, serve, (void *)connection);
        pthread_detach(thread);
    }
}
"#;

/// Two connections add one each; then the sum is asked for.
const CLIENT: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
static char answer(int connection) {
    char said = -1;
    if (read(connection, &said, 1) != 1)
        exit(2);
    return said;
}
int main(void) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof name.sun_path, "data-%s/socket", getenv("RACEHOUND_JOB"));
    int connections[2];
    for (int i = 0; i < 2; i++) {
        connections[i] = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(connections[i], (struct sockaddr *)&name, sizeof name))
            return 3;
    }
    for (int i = 0; i < 2; i++)
        if (write(connections[i], "+", 1) != 1)
            return 4;
    for (int i = 0; i < 2; i++)
        answer(connections[i]);
    if (write(connections[0], "?", 1) != 1)
        return 4;
    int sum = answer(connections[0]);
    if (sum != 2)
        fprintf(stderr, "expected 2, got %d\n", sum);
    return sum != 2;
}
"#;

const AROUND: [&str; 6] = [
    "--setup",
    "mkdir data-$RACEHOUND_JOB",
    "--teardown",
    "rm -r data-$RACEHOUND_JOB",
    "--client",
    "./client",
];

#[test]
fn a_server_is_driven_by_its_client_who_notices_harm() {
    let shop = Workshop::new();
    shop.write("server.c", SERVER);
    shop.write("client.c", CLIENT);
    shop.cc(&["-g", "server.c", "-o", "server"]);
    let compiled = shop
        .command("cc")
        .args(["client.c", "-o", "client"])
        .status();
    assert!(compiled.unwrap().success());
    for jobs in [&[][..], &["--jobs", "2"]] {
        let arguments = [&AROUND[..], jobs, &["--fresh", "--", "./server"]].concat();
        let output = hunted(&shop, &arguments);
        assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
        let all = findings(&shop);
        let harm = |f: &&Value| {
            f["harm"]["detail"]
                .to_string()
                .contains("expected 2, got 1")
        };
        let found = all.iter().find(harm).unwrap_or_else(|| panic!("{all:?}"));
        assert_eq!(found["status"], "confirmed");
        assert!(!shop.path("data-0").exists(), "it is not tidied up");
        let id = found["id"].as_str().unwrap();
        // When the client's bytes arrive is not for the server's schedule to decide.
        let again = shop.racehound(&["replay", id, "--times", "3"]);
        let told = stdout(&again);
        assert!(told.starts_with(&format!("{id} happened in ")), "{told}");
        assert!(!told.contains(" in 0 of 3"), "{told}");
        let shows = |once: &Output| stderr(once).contains("expected 2, got 1");
        let replays = || shop.racehound(&["replay", id]);
        let once = std::iter::repeat_with(replays).take(5).find(shows);
        assert_eq!(once.unwrap().status.code(), Some(FINDINGS));
    }
}

#[test]
fn a_server_that_is_recorded_tells_all_before_it_ends() {
    let shop = Workshop::new();
    shop.write(
        "server.c",
        r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int served;
static void *serve(void *unused) { served++; return unused; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, serve, 0);
    pthread_join(thread, 0);
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
"#,
    );
    shop.cc(&["-g", "server.c", "-o", "server"]);
    let script = "exec 3>&1; $0 run --record t.rht -- ./server | { read line; \
                  kill $(cat /proc/$$/task/$$/children); } ; true";
    let mut command = shop.command("timeout");
    command.args(["60", "sh", "-c", script, crate::workshop::RACEHOUND]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let stat = shop.racehound(&["trace", "stat", "t.rht"]);
    assert_eq!(stat.status.code(), Some(0), "{stat:?}");
    assert!(!stderr(&stat).contains("cut short"), "{stat:?}");
}

/// What was told, as if lines could be of any length.
fn unwrapped(output: &std::process::Output) -> String {
    stdout(output).replace('\n', " ")
}

#[test]
fn what_goes_wrong_around_is_said() {
    let shop = Workshop::new();
    shop.write("program.c", "int main(void) { return 0; }");
    shop.cc(&["program.c", "-o", "program"]);
    let hunt = |more: &[&str]| hunted(&shop, &[more, &["--", "./program"]].concat());

    let output = hunt(&["--setup", "echo no disk >&2; exit 3"]);
    assert_eq!(output.status.code(), Some(NOT_STARTED), "{output:?}");
    assert!(stderr(&output).contains("no disk"), "{output:?}");

    let output = hunt(&["--teardown", "echo in use >&2; exit 3"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(unwrapped(&output).contains("saying: in use"), "{output:?}");

    let output = hunt(&["--client", "true", "--ready", "never", "--timeout", "1"]);
    assert!(stdout(&output).contains("0 predicted"), "{output:?}");

    let output = hunt(&["--each-test"]);
    assert_eq!(output.status.code(), Some(USAGE), "{output:?}");
    assert!(stderr(&output).contains("GoogleTest"), "{output:?}");

    let output = hunt(&["--client", "true", "--each-test"]);
    assert_eq!(output.status.code(), Some(USAGE), "{output:?}");
}

#[test]
fn what_fails_by_itself_is_no_finding() {
    let shop = Workshop::new();
    shop.write(
        "flaky.c",
        r#"
#include <stdio.h>
int main(void) {
    FILE *file = fopen("count", "r+");
    int count = 0;
    if (file && fscanf(file, "%d", &count) == 1) rewind(file);
    else file = fopen("count", "w");
    fprintf(file, "%d\n", count + 1);
    fclose(file);
    return count % 2;
}
"#,
    );
    let output = hunted(&shop, &["--jobs", "1", "flaky.c"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = stdout(&output);
    assert!(
        told.contains("ends with exit code 1 in 1 of 3 executions"),
        "{told}"
    );
    assert!(told.contains("one thread only"), "{told}");
}

/// Two threads that hurry to the same place: by itself it is anybody's guess who wins.
const FLAKY: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int waiting = 2, winner;
static void *hurry(void *me) {
    waiting--;
    while (waiting);
    int nobody = 0;
    atomic_compare_exchange_strong(&winner, &nobody, *(int *)me);
    return 0;
}
int main(void) {
    pthread_t threads[2];
    static int numbers[] = {1, 2};
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, hurry, &numbers[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    if (winner == 2) abort();
}
"#;

#[test]
fn what_makes_a_flaky_program_fail_is_found() {
    let shop = Workshop::new();
    shop.write("flaky.c", FLAKY);
    // By itself it may fail each time: then it is not known to be flaky.
    let hunts = || hunted(&shop, &["--fresh", "flaky.c"]);
    let is_flaky = |output: &Output| !stdout(output).contains("that is no finding");
    let output = std::iter::repeat_with(hunts)
        .take(8)
        .find(is_flaky)
        .unwrap();
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    let all = findings(&shop);
    assert_eq!(all[0]["status"], "confirmed", "{all:?}");
    assert_eq!(all[0]["harm"]["kind"], "crash", "{all:?}");
    let replay = shop.racehound(&["replay", "R1", "--times", "5"]);
    assert!(
        stdout(&replay).starts_with("R1 happened in 5 of 5"),
        "{replay:?}"
    );
}

#[test]
fn a_program_reads_the_same_each_time_and_in_its_replay() {
    let shop = Workshop::new();
    shop.write(
        "sum.c",
        r#"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
static int sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *add(void *number) {
    pthread_mutex_lock(&lock);
    int before = sum;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    sum = before + *(int *)number;
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(void) {
    int a, b;
    if (scanf("%d %d", &a, &b) != 2)
        return 0;
    pthread_t one, two;
    pthread_create(&one, 0, add, &a);
    pthread_create(&two, 0, add, &b);
    pthread_join(one, 0);
    pthread_join(two, 0);
    assert(sum == a + b);
}
"#,
    );
    shop.write("numbers", "3 4\n");
    for source in ["--stdin numbers", "< numbers", "| cat numbers |"] {
        let racehound = crate::workshop::RACEHOUND;
        let hunt = "hunt --fresh --json f.json --budget 60s";
        let line = match source {
            "| cat numbers |" => format!("cat numbers | {racehound} {hunt} sum.c"),
            _ => format!("{racehound} {hunt} sum.c {source}"),
        };
        let output = shop.command("sh").args(["-c", &line]).output().unwrap();
        assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
        let harmful = findings(&shop);
        let harmful = harmful
            .iter()
            .find(|f| f["harm"]["kind"] == "assertion")
            .unwrap();
        let id = harmful["id"].as_str().unwrap();
        let again = shop.racehound(&["replay", id, "--times", "2"]);
        assert_eq!(
            stdout(&again),
            format!("{id} happened in 2 of 2 replays\n"),
            "{line}"
        );
    }
}

/// Tests of a bank: one can lose a deposit, one cannot, one fails, one has a race.
const TESTS: &str = r#"
static int balance, racy;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *deposit(void *unused) {
    pthread_mutex_lock(&lock);
    int before = balance;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    balance = before + 1;
    pthread_mutex_unlock(&lock);
    return unused;
}
static void *race(void *unused) {
    racy++;
    return unused;
}
static void both(void *(*work)(void *)) {
    pthread_t one, two;
    pthread_create(&one, 0, work, 0);
    pthread_create(&two, 0, work, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
}
static int deposits(void) { both(deposit); return balance == 2; }
static int alone(void) { return ++balance == 1; }
static int fails(void) { return 0; }
static int races(void) { both(race); return 1; }
"#;

/// A program that speaks as GoogleTest does.
const LIKE_GOOGLE_TEST: &str = r#"
    const char *names[] = {"Bank.Deposits", "Bank.Alone", "Bank.Fails", "Races/Bank.Plain/0"};
    if (argc == 2 && !strcmp(argv[1], "--gtest_list_tests")) {
        puts("Bank.\n  Deposits\n  Alone\n  Fails\n  DISABLED_Never\n"
             "Races/Bank.\n  Plain/0  # GetParam() = 1");
        return 0;
    }
    const char *filter = "--gtest_filter=";
    const char *wanted = argc == 2 && !strncmp(argv[1], filter, 15) ? argv[1] + 15 : 0;
"#;

/// A program that speaks as Catch2 does, version 2.
const LIKE_CATCH2: &str = r#"
    const char *names[] = {"deposits\\, two", "alone", "fails", "races"};
    if (argc == 2 && !strcmp(argv[1], "--list-tests")) {
        puts("All available test cases:\n  deposits, two\n      [bank]\n  alone\n  fails\n  races\n"
             "4 test cases\n");
        return 4;
    }
    if (argc == 2 && !strcmp(argv[1], "--list-test-names-only")) {
        puts("deposits, two\nalone\nfails\nraces");
        return 4;
    }
    if (argc == 2 && argv[1][0] == '-') {
        fprintf(stderr, "Error(s) in input:\n  Unrecognised token: %s\n", argv[1]);
        return 255;
    }
    const char *wanted = argc == 2 ? argv[1] : 0;
"#;

fn test_program(way: &str) -> String {
    let includes = "#include <pthread.h>\n#include <stdio.h>\n#include <string.h>\n";
    let run = r#"
    int (*tests[])(void) = {deposits, alone, fails, races};
    int failed = 0;
    for (int i = 0; i < 4; i++)
        if (!wanted || !strcmp(wanted, names[i]))
            failed += !tests[i]();
    return failed != 0;
"#;
    format!("{includes}{TESTS}int main(int argc, char **argv) {{{way}{run}}}\n")
}

#[test]
fn each_test_is_hunted_in_alone() {
    for (way, [deposits, fails, races]) in [
        (
            LIKE_GOOGLE_TEST,
            ["Bank.Deposits", "Bank.Fails", "Races/Bank.Plain/0"],
        ),
        (LIKE_CATCH2, ["deposits, two", "fails", "races"]),
    ] {
        let shop = Workshop::new();
        shop.write("tests.c", &test_program(way));
        shop.cc(&["-g", "tests.c", "-o", "tests"]);
        let output = hunted(&shop, &["--each-test", "--", "./tests"]);
        assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
        let all = findings(&shop);
        let confirmed = |kind: &str, test: &str| {
            let found = all.iter().find(|f| {
                let is_it = f["kind"] == kind && f["test"]["name"] == test;
                is_it && f["status"] == "confirmed"
            });
            found.unwrap_or_else(|| panic!("{kind} in {test}: {all:?}"))
        };
        confirmed("race", races);
        let told = stdout(&output);
        assert!(told.contains(&format!("in test: {races}")), "{told}");
        let by_itself = format!("By itself test {fails} ends with exit code 1;");
        assert!(told.contains(&by_itself), "{told}");
        assert!(unwrapped(&output).contains("one thread only"), "{told}");
        assert!(told.contains("of 4 tests in "), "{told}");
        let lost = all
            .iter()
            .find(|f| f["test"]["name"] == deposits && f["harm"]["run"].is_u64());
        let id = lost.unwrap_or_else(|| panic!("{all:?}"))["id"]
            .as_str()
            .unwrap();
        let again = shop.racehound(&["replay", id, "--times", "3"]);
        assert_eq!(stdout(&again), format!("{id} happened in 3 of 3 replays\n"));
    }
}

#[test]
fn what_one_hunt_does_not_reach_is_first_in_the_next() {
    let shop = Workshop::new();
    shop.write("tests.c", &test_program(LIKE_GOOGLE_TEST));
    shop.cc(&["-g", "tests.c", "-o", "tests"]);
    let reached = || -> Vec<String> {
        let hunt = ["hunt", "--json", "f.json", "--budget", "60s", "--runs", "2"];
        let output = shop.racehound(&[&hunt[..], &["--each-test", "--", "./tests"]].concat());
        assert!(stdout(&output).contains("not reached"), "{output:?}");
        let report = shop.findings("f.json");
        let tests = report["tests"].as_array().unwrap();
        tests.iter().map(|test| test["name"].to_string()).collect()
    };
    let (first, second) = (reached(), reached());
    assert!(
        first.iter().all(|name| !second.contains(name)),
        "{first:?} {second:?}"
    );
}

#[test]
fn tests_in_rust_are_hunted_in_alone() {
    if !rust::can_instrument() {
        return;
    }
    let shop = Workshop::new();
    shop.write(
        "bank.rs",
        "use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
static BALANCE: AtomicU32 = AtomicU32::new(0);
fn deposit() { let before = BALANCE.load(SeqCst); BALANCE.store(before + 1, SeqCst); }
#[test]
fn deposits() {
    let one = std::thread::spawn(deposit);
    deposit();
    one.join().unwrap();
    assert_eq!(BALANCE.load(SeqCst), 2);
}
#[test]
fn alone() { assert_eq!(1 + 1, 2); }
",
    );
    rust::compile_as(&shop, &shop.path("bank.rs"), "0", &["--test"]);
    let output = hunted(&shop, &["--each-test", "--", "./program"]);
    let all = findings(&shop);
    let lost = all.iter().find(|f| f["harm"]["kind"] == "exception");
    let lost = lost.unwrap_or_else(|| panic!("{output:?}"));
    assert_eq!(lost["test"]["name"], "deposits", "{lost}");
}

/// Has a file to itself for a while, and fails where somebody else has it.
const ALONE: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;
static void *add(void *unused) {
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    int file = open("scratch", O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (file < 0)
        return 1;
    usleep(100000);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    unlink("scratch");
    return count != 2;
}
"#;

#[test]
fn executions_that_are_in_each_others_way_go_one_after_the_other() {
    let shop = Workshop::new();
    shop.write("alone.c", ALONE);
    shop.cc(&["-g", "alone.c", "-o", "alone"]);
    let hunt = |jobs: &[&str]| {
        let budget = ["--budget", "10s", "--runs", "60"];
        shop.racehound(&[&["hunt", "--fresh"], &budget[..], jobs, &["--", "./alone"]].concat())
    };
    let output = hunt(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let cores = std::thread::available_parallelism().unwrap().get();
    let said = stdout(&output).contains("one after the other from then on");
    assert_eq!(said, cores > 1, "{}", stdout(&output));
    let output = hunt(&["--jobs", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert!(!stdout(&output).contains("ends with exit code 1"));
    // Who insists has what is wrong with it told, and no finding.
    let output = hunt(&["--jobs", "3"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
}
