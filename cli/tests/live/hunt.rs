//! The hunt: from a program to proven bugs, kept for the next time.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use serde_json::Value;

use crate::workshop::{RACEHOUND, Workshop, stderr, stdout};
use crate::{FINDINGS, NOT_STARTED, USAGE};

/// Every access is protected, and yet a deposit can be lost.
const BANK: &str = r"
#include <assert.h>
#include <pthread.h>
static int balance = 100;
static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static int get(void) {
    pthread_mutex_lock(&accounts);
    int now = balance;
    pthread_mutex_unlock(&accounts);
    return now;
}
static void set(int value) {
    pthread_mutex_lock(&accounts);
    balance = value;
    pthread_mutex_unlock(&accounts);
}
static void *deposit(void *amount) {
    set(get() + *(int *)amount);
    return 0;
}
int main(void) {
    int ten = 10, twenty = 20;
    pthread_t a, b;
    pthread_create(&a, 0, deposit, &ten);
    pthread_create(&b, 0, deposit, &twenty);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(balance == 130);
    return 0;
}
";

/// The same, done right.
fn mended() -> String {
    BANK.replace(
        "    set(get() + *(int *)amount);",
        "    pthread_mutex_lock(&accounts);
    balance += *(int *)amount;
    pthread_mutex_unlock(&accounts);",
    )
}

fn hunted(shop: &Workshop, more: &[&str]) -> Output {
    let hunt = ["hunt", "--json", "f.json", "--budget", "120s"];
    shop.racehound(&[&hunt[..], more].concat())
}

fn findings(shop: &Workshop) -> Vec<Value> {
    let report = shop.findings("f.json");
    report["findings"].as_array().unwrap().clone()
}

#[test]
fn a_bug_is_found_proven_kept_and_replayed() {
    let shop = Workshop::new();
    shop.write("bank.c", BANK);
    let output = hunted(&shop, &["bank.c"]);
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    let proven: Vec<Value> = findings(&shop)
        .into_iter()
        .filter(|finding| finding["status"] == "confirmed")
        .collect();
    let harmful = proven.iter().find(|f| f["harm"]["kind"] == "assertion");
    let harmful = harmful.unwrap_or_else(|| panic!("{proven:?}"));
    let told = stdout(&output);
    assert!(told.contains("balance == 130"), "{told}");
    assert!(told.contains("exit code 66"), "{told}");

    let id = harmful["id"].as_str().unwrap();
    let again = shop.racehound(&["replay", id, "--times", "5"]);
    assert_eq!(stdout(&again), format!("{id} happened in 5 of 5 replays\n"));
    let report = shop.racehound(&["report"]);
    assert!(stdout(&report).contains("balance == 130"), "{report:?}");
    assert_eq!(report.status.code(), Some(FINDINGS));

    // The next hunt begins with what this one knows, under the same name.
    let output = hunted(&shop, &["--runs", "8", "bank.c"]);
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    let same = |finding: &Value| finding["id"] == id && finding["status"] == "confirmed";
    assert!(findings(&shop).iter().any(same), "{output:?}");

    // What was mended is found no more.
    shop.write("bank.c", &mended());
    let output = hunted(&shop, &["bank.c"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(findings(&shop).is_empty());
}

#[test]
fn what_needs_many_steps_of_others_in_between_is_found() {
    let shop = Workshop::new();
    let source = format!(
        "{}/../programs/bugs/aba_stack.c",
        env!("CARGO_MANIFEST_DIR")
    );
    for seed in ["1", "2", "3"] {
        let output = hunted(&shop, &["--fresh", "--seed", seed, &source]);
        assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
        let worst = &findings(&shop)[0];
        assert_eq!(worst["harm"]["kind"], "assertion", "{worst}");
        // The first that a person reads is the first by name.
        assert_eq!(worst["id"], "R1", "{worst}");
        let again = shop.racehound(&["replay", "R1", "--times", "3"]);
        assert_eq!(stdout(&again), "R1 happened in 3 of 3 replays\n");
    }
}

#[test]
fn sources_may_be_of_the_newest_standard_and_flags_are_passed_on() {
    let shop = Workshop::new();
    let source = "
#include <barrier>
#include <thread>
int main() {
    std::barrier both(2);
    int sum = 0;
    std::jthread other([&] { sum += ADDED; both.arrive_and_wait(); });
    both.arrive_and_wait();
    return sum - 2;
}
";
    shop.write("program.cpp", source);
    let hunt = ["hunt", "--budget", "10s", "--runs", "10", "program.cpp"];
    let mut command = shop.command(RACEHOUND);
    let output = command.args(hunt).env("CXXFLAGS", "-DADDED=2").output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = shop.racehound(&hunt);
    assert_eq!(output.status.code(), Some(NOT_STARTED), "{output:?}");
    assert!(stderr(&output).contains("ADDED"), "{output:?}");
    // Told as what it is, not as of an older standard.
    assert!(!stderr(&output).contains("not a member"), "{output:?}");
}

#[test]
fn a_suspect_becomes_a_fact_with_its_harm() {
    let shop = Workshop::new();
    shop.write(
        "program.c",
        r"
#include <pthread.h>
#include <stdlib.h>
static int *shared;
static void *make(void *unused) { shared = malloc(sizeof *shared); return unused; }
static void *use(void *unused) { *shared = 1; return unused; }
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, make, 0);
    for (volatile int i = 0; i < 10000000; i++) {}
    pthread_create(&b, 0, use, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
",
    );
    shop.cc(&["-g", "program.c", "-o", "program"]);
    let output = hunted(&shop, &["--", "./program"]);
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    let all = findings(&shop);
    let is_fact = |finding: &Value| finding["kind"] == "race" && finding["status"] == "confirmed";
    assert!(all.iter().any(is_fact), "{all:?}");
    // Whose harm it is depends on who comes first: RaceFuzzer, or an explorer that
    // stumbles over it.
    let harms = |finding: &Value| finding["harm"]["detail"] == "SIGSEGV";
    assert!(all.iter().any(harms), "{all:?}");
    let told = stdout(&output);
    assert!(
        told.contains("> ") && told.contains("*shared = 1"),
        "{told}"
    );
}

#[test]
fn a_deadlock_is_proven() {
    let shop = Workshop::new();
    shop.write(
        "program.c",
        r"
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void *ab(void *unused) {
    pthread_mutex_lock(&a); pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b); pthread_mutex_unlock(&a);
    return unused;
}
static void *ba(void *unused) {
    pthread_mutex_lock(&b); pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a); pthread_mutex_unlock(&b);
    return unused;
}
int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, ab, 0);
    pthread_create(&two, 0, ba, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
}
",
    );
    hunted(&shop, &["program.c"]);
    let all = findings(&shop);
    let proven = |f: &&Value| f["kind"] == "deadlock" && f["status"] == "confirmed";
    let deadlock = all.iter().find(proven).unwrap_or_else(|| panic!("{all:?}"));
    assert_eq!(deadlock["harm"]["kind"], "deadlock");
    let id = deadlock["id"].as_str().unwrap();
    let again = shop.racehound(&["replay", id, "--times", "3"]);
    assert_eq!(stdout(&again), format!("{id} happened in 3 of 3 replays\n"));
}

#[test]
fn a_clean_program_has_no_findings_and_says_how_it_ends_by_itself() {
    let shop = Workshop::new();
    let bad_luck = mended().replace("    return 0;\n}\n", "    return 5;\n}\n");
    shop.write("bank.c", &bad_luck);
    let output = hunted(&shop, &["bank.c"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(findings(&shop).is_empty());
    let told = stdout(&output);
    assert!(told.contains("ends with exit code 5"), "{told}");
}

#[test]
fn ctrl_c_ends_with_what_is_known() {
    let shop = Workshop::new();
    let slow = BANK.replace("int main(void) {", "#include <unistd.h>\nint main(void) {");
    let slow = slow.replace(
        "    int ten",
        "    for (volatile long i = 0; i < 300000000; i++) {}\n    int ten",
    );
    shop.write("bank.c", &slow);
    shop.cc(&["-g", "bank.c", "-o", "bank"]);
    let mut command = shop.command(RACEHOUND);
    command.args(["hunt", "--json", "f.json", "--", "./bank"]);
    command.stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let sent = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = stdout(&output);
    assert!(told.contains("was interrupted"), "{told}");
    assert!(told.contains("exit code 0"), "{told}");
    assert!(shop.findings("f.json")["findings"].is_array());
}

#[test]
fn a_runtime_that_is_linked_in_is_no_lack_of_one() {
    let shop = Workshop::new();
    shop.write("bank.c", BANK);
    let mut gcc = shop.command("gcc");
    gcc.args([
        "-fsanitize=thread",
        "-static-libtsan",
        "bank.c",
        "-o",
        "bank",
    ]);
    if !gcc.output().is_ok_and(|output| output.status.success()) {
        eprintln!("gcc has no runtime here that can be linked in, so this cannot be tried");
        return;
    }
    let output = shop.racehound(&["hunt", "--", "./bank"]);
    assert_eq!(output.status.code(), Some(NOT_STARTED), "{output:?}");
    assert!(
        stderr(&output).contains("without -static-libtsan"),
        "{output:?}"
    );
}

#[test]
fn where_nothing_can_be_kept_is_said_at_once() {
    let shop = Workshop::new();
    shop.write("bank.c", BANK);
    shop.write(".racehound", "in the way");
    let output = shop.racehound(&["hunt", "bank.c"]);
    assert_eq!(output.status.code(), Some(USAGE), "{output:?}");
    let told = "start it where you may write";
    assert!(stderr(&output).contains(told), "{output:?}");
}

#[test]
fn what_cannot_be_hunted_in_is_said() {
    let shop = Workshop::new();
    shop.write("broken.c", "int main(void) { return x; }");
    shop.write("notes.txt", "nothing");
    for (name, text) in [
        ("orphan", "#!/no/such/shell -e\n"),
        ("small", "\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0"),
    ] {
        shop.write(name, text);
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(shop.path(name), mode).unwrap();
    }
    let mut gcc = shop.command("gcc");
    gcc.args(["-static", "-nostdlib", "-Wl,--entry=0"]);
    gcc.args(["-x", "c", "/dev/null", "-o", "static"]);
    assert!(gcc.status().unwrap().success());
    for (arguments, code, said) in [
        (&["hunt"][..], USAGE, "what is to be hunted in?"),
        (&["hunt", "broken.c"], NOT_STARTED, "does not compile"),
        (&["hunt", "missing.c"], NOT_STARTED, "no such source file"),
        (&["hunt", "notes.txt"], USAGE, "not a source"),
        (
            &["hunt", "--", "/bin/true"],
            NOT_STARTED,
            "not instrumented",
        ),
        (&["run", "./static"], NOT_STARTED, "not instrumented"),
        (&["run", "./small"], NOT_STARTED, "64-bit"),
        (&["run", "./orphan"], NOT_STARTED, "/no/such/shell, by"),
        (&["run", "./notes.txt"], NOT_STARTED, "chmod +x"),
        (&["run", "."], NOT_STARTED, "directory"),
        (
            &["hunt", "--budget", "soon", "broken.c"],
            USAGE,
            "not a time",
        ),
        (&["replay", "R1"], USAGE, "R1"),
        (&["report"], USAGE, "nothing was hunted here yet"),
    ] {
        let output = shop.racehound(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?} {output:?}");
        assert!(stderr(&output).contains(said), "{output:?}");
    }
}

/// The compilers here that have a ThreadSanitizer of their own.
fn with_thread_sanitizer(shop: &Workshop) -> Vec<&'static str> {
    shop.write("empty.c", "int main(void) { return 0; }");
    let compiles = |compiler: &&str| {
        let mut command = shop.command(compiler);
        command.args(["-fsanitize=thread", "empty.c", "-o", "empty"]);
        command.output().is_ok_and(|output| output.status.success())
    };
    ["clang", "gcc"].into_iter().filter(compiles).collect()
}

#[test]
fn readmes_example_is_missed_by_thread_sanitizer_and_proven_here() {
    let shop = Workshop::new();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/deposits.c");
    for compiler in with_thread_sanitizer(&shop) {
        let mut command = shop.command(compiler);
        command.args([
            "-g",
            "-fsanitize=thread",
            example,
            "-o",
            "plain",
            "-pthread",
        ]);
        assert!(command.status().unwrap().success());
        for run in 0..10 {
            let output = shop.command("./plain").output().unwrap();
            let said = stderr(&output);
            assert!(
                !said.contains("WARNING: ThreadSanitizer"),
                "{compiler}, run {run}: {said}"
            );
        }
    }
    let output = hunted(&shop, &[example]);
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    let worst = &findings(&shop)[0];
    // Now and then it is told by how the program ends instead of by its accesses.
    let kinds = ["atomicity", "failure"];
    assert!(kinds.iter().any(|kind| worst["kind"] == *kind), "{worst}");
    assert_eq!(worst["status"], "confirmed", "{worst}");
    assert_eq!(worst["harm"]["kind"], "assertion", "{worst}");
}

/// Two fields that belong together, updated one after the other.
const WINDOW: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int width = 10, height = 10;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void set(int *field, int value) {
    pthread_mutex_lock(&lock);
    *field = value;
    pthread_mutex_unlock(&lock);
}
static void *resize(void *unused) {
    set(&width, 20);
    set(&height, 20);
    return unused;
}
static void *look(void *area) {
    pthread_mutex_lock(&lock);
    *(int *)area = width * height;
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(void) {
    int area = 0;
    pthread_t a, b;
    pthread_create(&a, 0, resize, 0);
    usleep(200000);
    pthread_create(&b, 0, look, &area);
    pthread_join(a, 0);
    pthread_join(b, 0);
    SHOW;
}
"#;

/// Correct, and not easily seen to be.
const CORRECT: [&str; 6] = [
    "finishing_order",
    "lock_within_lock",
    "polling_loop",
    "process_shared_condition",
    "sigsuspend",
    "timer_thread",
];

#[test]
fn nothing_is_confirmed_of_a_correct_program() {
    for name in CORRECT {
        let shop = Workshop::new();
        let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../programs/clean");
        let file = format!("{programs}/{name}.c");
        let hunt = ["hunt", "--json", "f.json", "--budget", "10s", &file];
        let output = shop.racehound(&hunt);
        assert_eq!(output.status.code(), Some(0), "{name}: {output:?}");
        let all = findings(&shop);
        assert!(all.iter().all(|f| f["status"] == "predicted"), "{all:?}");
    }
}

#[test]
fn what_belongs_together_is_guessed_if_something_comes_of_it() {
    for (show, kinds) in [
        (r#"printf("%d\n", area)"#, &["atomic-set"][..]),
        ("return area == 0", &[]),
    ] {
        let shop = Workshop::new();
        shop.write("window.c", &WINDOW.replace("SHOW", show));
        let output = hunted(&shop, &["window.c"]);
        let all = findings(&shop);
        let found: Vec<&str> = all.iter().filter_map(|f| f["kind"].as_str()).collect();
        assert_eq!(found, kinds, "{output:?}");
        if let Some(torn) = all.first() {
            // Whether another output is a wrong one, only the author knows: this is no
            // proof, in the next hunt neither.
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            assert_eq!(torn["status"], "predicted", "{torn}");
            assert_eq!(hunted(&shop, &["window.c"]).status.code(), Some(0));
            assert_eq!(findings(&shop)[0]["status"], "predicted");
            assert_eq!(torn["harm"]["kind"], "output", "{torn}");
            assert_eq!(torn["harm"]["detail"], r#""200"; by itself "400""#);
            let again = shop.racehound(&["replay", "R1", "--times", "3"]);
            assert_eq!(stdout(&again), "R1 happened in 3 of 3 replays\n");
        }
    }
}

/// Two customers withdraw what only one of them may, under a lock at each step.
const WITHDRAWALS: &str = r"
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;
static int is_covered(int amount) {
    pthread_mutex_lock(&lock);
    int enough = balance >= amount;
    pthread_mutex_unlock(&lock);
    return enough;
}
static void withdraw(int amount) {
    pthread_mutex_lock(&lock);
    balance -= amount;
    if (balance < 0) abort();
    pthread_mutex_unlock(&lock);
}
static void *customer(void *unused) {
    if (is_covered(80)) withdraw(80);
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, customer, 0);
    pthread_create(&b, 0, customer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

/// A worker needs what is set up beside it; that it counts in two steps does no harm.
const UNPREPARED: &str = r"
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *configuration, seen, total;
static void count(void) {
    pthread_mutex_lock(&lock);
    int now = seen;
    pthread_mutex_unlock(&lock);
    if (now > 100) return;
    pthread_mutex_lock(&lock);
    seen++;
    total += seen;
    pthread_mutex_unlock(&lock);
}
static void *set_up(void *unused) {
    count();
    pthread_mutex_lock(&lock);
    configuration = calloc(1, sizeof *configuration);
    pthread_mutex_unlock(&lock);
    count();
    return unused;
}
static void *work(void *unused) {
    count();
    count();
    pthread_mutex_lock(&lock);
    total += *configuration;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, set_up, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

#[test]
fn what_a_failure_comes_of_is_looked_for_where_it_failed() {
    for (program, is_explained) in [(WITHDRAWALS, true), (UNPREPARED, false)] {
        let shop = Workshop::new();
        shop.write("program.c", program);
        let output = hunted(&shop, &["program.c"]);
        assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
        let all = findings(&shop);
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!(all[0]["status"], "confirmed", "{all:?}");
        assert_eq!(all[0]["harm"]["kind"], "crash", "{all:?}");
        // A schedule that was predicted from the execution that failed.
        let schedule = all[0]["schedule"].as_str().unwrap();
        assert_eq!(schedule.contains("/failed-"), is_explained, "{all:?}");
        if is_explained {
            assert_eq!(all[0]["kind"], "atomicity", "{all:?}");
            assert_eq!(all[0]["accesses"].as_array().unwrap().len(), 3, "{all:?}");
        }
        let again = shop.racehound(&["replay", "R1", "--times", "3"]);
        assert_eq!(stdout(&again), "R1 happened in 3 of 3 replays\n");
    }
}

#[test]
fn what_cannot_meet_is_confirmed_by_a_witness() {
    let shop = Workshop::new();
    shop.write(
        "flag.c",
        r"
#include <pthread.h>
#include <stdatomic.h>
static int data;
static atomic_int ready;
static void *write_it(void *unused) {
    data = 1;
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    return unused;
}
static void *read_it(void *unused) {
    while (!atomic_load_explicit(&ready, memory_order_relaxed)) {}
    return data == 1 ? unused : 0;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, write_it, 0);
    pthread_create(&b, 0, read_it, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
",
    );
    let output = hunted(&shop, &["flag.c"]);
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    let all = findings(&shop);
    assert_eq!(
        (all.len(), &all[0]["status"]),
        (1, &"confirmed".into()),
        "{all:?}"
    );
    let again = shop.racehound(&["replay", "R1", "--times", "3"]);
    assert_eq!(stdout(&again), "R1 happened in 3 of 3 replays\n");
}

#[test]
fn what_hangs_by_itself_is_explained() {
    let shop = Workshop::new();
    shop.write(
        "stuck.c",
        r"
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int main(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
}
",
    );
    let output = hunted(&shop, &["--timeout", "3", "stuck.c"]);
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    let all = findings(&shop);
    let stuck = all.iter().find(|f| f["kind"] == "deadlock");
    assert_eq!(stuck.unwrap()["status"], "confirmed", "{all:?}");
    assert!(
        stdout(&output).contains("does not end in time"),
        "{output:?}"
    );
}

#[test]
fn a_hunt_that_fails_claims_nothing() {
    let shop = Workshop::new();
    shop.write("bank.c", BANK);
    shop.cc(&["-g", "bank.c", "-o", "bank"]);
    for (wrong, code, named) in [
        (&["--setup", "false"][..], NOT_STARTED, "setup command"),
        (&["--stdin", "nosuch"], USAGE, "nosuch: No such file"),
        (&["--each-test"], USAGE, "--each-test"),
    ] {
        let output = hunted(&shop, &[wrong, &["--", "./bank"]].concat());
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert_eq!(stdout(&output), "", "{wrong:?}");
        assert!(stderr(&output).contains(named), "{output:?}");
    }
}

#[test]
fn no_more_executions_are_made_than_allowed() {
    let shop = Workshop::new();
    shop.write("bank.c", BANK);
    for runs in [1, 9, 25] {
        shop.write("executions", "");
        let wishes = [
            "--fresh",
            "--runs",
            &runs.to_string(),
            "--setup",
            "echo >> executions",
        ];
        let output = hunted(&shop, &[&wishes[..], &["--jobs", "2", "bank.c"]].concat());
        let told = shop.findings("f.json")["runs"].as_u64().unwrap();
        assert!((1..=runs).contains(&told), "{output:?}");
        let confirmed = findings(&shop);
        let confirmed = confirmed.iter().filter(|f| f["status"] == "confirmed");
        let made = std::fs::read_to_string(shop.path("executions")).unwrap();
        let made = made.lines().count() - confirmed.count();
        assert!(made as u64 <= runs, "{made} of {runs}");
    }
}

#[test]
fn what_cannot_be_replayed_is_told_from_what_is_not_there() {
    let shop = Workshop::new();
    shop.write("bank.c", BANK);
    shop.write("garbage", "nothing of the kind");
    let refused = |word: &str, said: &str| {
        let output = shop.racehound(&["replay", word]);
        assert_eq!(output.status.code(), Some(USAGE), "{output:?}");
        assert!(stderr(&output).contains(said), "{output:?}");
    };
    refused("R9", "R9: no hunt here has found anything yet");
    hunted(&shop, &["bank.c"]);
    refused(
        "R99",
        "R99: there is no such finding; the last hunt here has found R1",
    );
    refused("nosuch", "nosuch: No such file");
    refused(
        "garbage",
        "neither a report that --json writes nor a schedule",
    );
}
