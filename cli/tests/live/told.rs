//! What a hunt says of its findings is what happened, in words that lead to the source.

use std::process::Command;

use serde_json::Value;

use crate::workshop::{RACEHOUND, Workshop, stdout};

/// What a hunt says of a program, with a compiler.
fn told_of(shop: &Workshop, compiler: &str, source: &str, program: &str) -> String {
    shop.write(source, program);
    let output = shop
        .command(RACEHOUND)
        .args([
            "hunt", "--fresh", "--json", "f.json", "--budget", "60s", source,
        ])
        .env("RACEHOUND_CC", compiler)
        .env("RACEHOUND_CXX", compiler.replace("gcc", "g++"))
        .output()
        .unwrap();
    let text = stdout(&output);
    let is_wide = |line: &&str| line.chars().count() > 80;
    assert_eq!(text.lines().find(is_wide), None, "{text}");
    text
}

fn first(shop: &Workshop) -> Value {
    shop.findings("f.json")["findings"][0].clone()
}

/// The line of a text that begins so.
fn line_of(text: &str, beginning: &str) -> usize {
    let mut lines = text.lines().map(str::trim);
    let found = lines.position(|line| line.starts_with(beginning));
    found.unwrap_or_else(|| panic!("{beginning}: {text}"))
}

/// Nobody waits yet when the notice is given, and the thread does not look again.
const LOST_WAKEUP: &str = r"
#include <pthread.h>
#include <stdatomic.h>
static atomic_int ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;
static void *waiter(void *unused) {
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&came, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, waiter, 0);
    ready = 1;
    pthread_cond_signal(&came);
    pthread_join(thread, 0);
    return 0;
}
";

#[test]
fn a_notice_that_is_lost_is_told_before_the_wait() {
    let shop = Workshop::new();
    let text = told_of(&shop, "gcc", "program.c", LOST_WAKEUP);
    assert!(text.contains("R1 deadlock of came  confirmed"), "{text}");
    let waits = "(1) thread 0.1 waits for came, which nobody signals, holding no lock";
    line_of(&text, waits);
    line_of(&text, "(2) thread 0 waits for the end of thread 0.1");
    assert!(
        line_of(&text, "notifies one at came") < line_of(&text, "waits for came"),
        "{text}"
    );
}

/// Two locks that have no name of their own, and two orders.
const TWO_ORDERS: &str = r"
#include <mutex>
#include <thread>
struct Account { std::mutex lock; int balance = 100; };
static void transfer(Account &from, Account &to) {
    std::lock_guard<std::mutex> first(from.lock);
    std::lock_guard<std::mutex> second(to.lock);
    from.balance--, to.balance++;
}
int main() {
    Account here, there;
    std::thread a([&] { transfer(here, there); });
    std::thread b([&] { transfer(there, here); });
    a.join(), b.join();
}
";

#[test]
fn locks_without_a_name_are_called_by_lines_of_the_program() {
    let shop = Workshop::new();
    let text = told_of(&shop, "gcc", "program.cpp", TWO_ORDERS);
    assert!(!text.contains("gthr"), "{text}");
    line_of(&text, "R1 deadlock of lock made at program.cpp:");
    // Who only waits for the others comes last.
    let threads: Vec<Value> = first(&shop)["accesses"].as_array().unwrap().clone();
    let threads: Vec<&str> = threads.iter().flat_map(|a| a["thread"].as_str()).collect();
    assert_eq!(threads, ["0.1", "0.2", "0"], "{text}");
    let waits = first(&shop)["accesses"][0]["awaits"].to_string();
    assert!(waits.contains("which thread 0.2 holds"), "{text}");
    // Of the same line there are two.
    let held = |at: usize| first(&shop)["accesses"][at]["locks"][0].to_string();
    assert_ne!(held(0), held(1), "{text}");
}

#[test]
fn what_a_header_does_is_told_where_it_is_used() {
    let shop = Workshop::new();
    shop.write("program.cpp", TWO_ORDERS);
    let flags = ["-g", "-O0", "-pthread", "program.cpp", "-o", "program"];
    let built = shop.racehound(&[&["c++"][..], &flags].concat());
    assert!(built.status.success(), "{built:?}");
    let hunt = ["hunt", "--budget", "60s", "--", "./program"];
    let text = stdout(&shop.racehound(&hunt));
    let is_first = |line: &&str| line.contains(" locks ") && line.ends_with(" :6");
    assert_eq!(text.lines().filter(is_first).count(), 2, "{text}");
}

/// A container that two threads use without a lock.
const CONTAINER: &str = r"
#include <map>
#include <thread>
static std::map<int, int> table;
static void fill(int from) {
    for (int i = from; i < from + 5; i++)
        table[i] = i;
}
int main() {
    std::thread a(fill, 0), b(fill, 5);
    a.join(), b.join();
}
";

#[test]
fn what_a_container_does_is_told_where_it_is_used() {
    let shop = Workshop::new();
    let text = told_of(&shop, "gcc", "program.cpp", CONTAINER);
    let places = text.lines().filter(|line| line.starts_with("    at "));
    let places: Vec<&str> = places.collect();
    assert!(!places.is_empty(), "{text}");
    for place in places {
        assert!(place.starts_with("    at program.cpp:7:"), "{text}");
    }
    assert!(text.contains("which leads to "), "{text}");
    // However many lines of the container are concerned, it is one story, or two if some
    // do harm; and the same of its elements, to which the program writes itself.
    for what in [" on table", " on block "] {
        let stories = text.lines().filter(|line| line.ends_with("  confirmed"));
        let stories = stories.filter(|line| line.contains(what));
        assert!(stories.count() <= 2, "{text}");
    }
    // Who has joined both threads races with nobody.
    assert!(!text.contains("thread 0 reads"), "{text}");
    let source = first(&shop)["accesses"][0]["source"]["lines"].to_string();
    assert!(source.contains("table[i] = i"), "{source}");
}

/// A container under a lock, whose size is limited in one section and which grows in the
/// next.
const LIMITED: &str = r#"
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
static std::mutex lock;
static std::map<int, int> table;
static void make_room() {
    std::lock_guard<std::mutex> guard(lock);
    if (table.size() == 2)
        table.erase(table.begin());
}
static void put(int key) {
    make_room();
    std::lock_guard<std::mutex> guard(lock);
    table[key] = key;
    if (table.size() > 2)
        std::abort();
}
int main() {
    put(1);
    std::thread a(put, 2), b(put, 3);
    a.join(), b.join();
}
"#;

/// What the trace has of the accesses is in a header, and who calls is not in their sites.
#[test]
fn what_a_container_does_to_be_atomic_is_told_where_it_is_used() {
    let shop = Workshop::new();
    let text = told_of(&shop, "gcc", "program.cpp", LIMITED);
    line_of(&text, "R1 atomicity violation on ");
    let places: Vec<&str> = text.lines().filter(|l| l.starts_with("    at ")).collect();
    assert!(places.len() >= 3, "{text}");
    for place in places {
        assert!(place.starts_with("    at program.cpp:"), "{text}");
    }
    line_of(&text, "called from program.cpp:14 in put(int)");
    let steps = text.lines().filter(|line| line.contains("stl_tree.h:"));
    let headers = steps.filter(|line| !line.contains("which leads to"));
    assert_eq!(headers.count(), 0, "{text}");
}

/// A reader that counts under the lock for readers.
const READERS: &str = r"
#include <pthread.h>
static int hits;
static pthread_rwlock_t guard = PTHREAD_RWLOCK_INITIALIZER;
static void *read_it(void *unused) {
    pthread_rwlock_rdlock(&guard);
    hits++;
    pthread_rwlock_unlock(&guard);
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, read_it, 0);
    pthread_create(&b, 0, read_it, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return hits == 0;
}
";

#[test]
fn a_lock_that_is_held_for_reading_is_told_as_such() {
    let shop = Workshop::new();
    let text = told_of(&shop, "gcc", "program.c", READERS);
    assert!(text.contains("holding guard for reading"), "{text}");
    let accesses = first(&shop)["accesses"].clone();
    assert_eq!(accesses[0]["shared_locks"][0], "guard", "{accesses}");
    // The threads are those of the interleaving.
    let steps = first(&shop)["interleaving"]["steps"].clone();
    for step in steps.as_array().unwrap() {
        if let Some(number) = step["access"].as_u64() {
            let access = &accesses[number as usize - 1];
            assert_eq!(step["thread"], access["thread"], "{text}");
        }
    }
}

/// What clang makes a call of, and gcc does itself.
const FILLED: &str = r"
#include <pthread.h>
#include <string.h>
static char page[256];
static void *clear(void *unused) {
    memset(page, 0, sizeof page);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, clear, 0);
    page[17] = 1;
    pthread_join(thread, 0);
    return page[17] > 1;
}
";

#[test]
fn memory_that_is_filled_is_filled_at_a_line() {
    let is_there = |name: &&&str| Command::new(name).arg("--version").output().is_ok();
    let compilers = ["gcc", "clang", "clang-19", "clang-18"];
    for compiler in compilers.iter().filter(is_there) {
        let shop = Workshop::new();
        let text = told_of(&shop, compiler, "program.c", FILLED);
        assert!(text.contains("R1 race on page[17]  confirmed"), "{text}");
        assert!(
            text.contains("at program.c:6:5 in clear"),
            "{compiler}: {text}"
        );
    }
}

/// A block that one thread frees while another one may still look at it.
const FREED: &str = r"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static _Atomic(int *) current;
static void *reader(void *unused) {
    int *block = atomic_load(&current);
    if (block && *block > 100) abort();
    return unused;
}
static void *writer(void *unused) {
    free(atomic_exchange(&current, NULL));
    return unused;
}
int main(void) {
    pthread_t a, b;
    current = calloc(1, sizeof(int));
    pthread_create(&a, 0, reader, 0);
    pthread_create(&b, 0, writer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

#[test]
fn who_frees_a_block_does_not_write_to_it() {
    let shop = Workshop::new();
    let text = told_of(&shop, "gcc", "program.c", FREED);
    assert!(text.contains("thread 0.2 frees the block"), "{text}");
    assert!(!text.contains("thread 0.2 writes"), "{text}");
}

#[test]
fn what_gcc_alone_has_built_is_hunted_in() {
    let shop = Workshop::new();
    shop.write("program.c", READERS);
    let flags = [
        "-fsanitize=thread",
        "-g",
        "-pthread",
        "program.c",
        "-o",
        "program",
    ];
    let built = shop.command("gcc").args(flags).output().unwrap();
    if !built.status.success() {
        eprintln!("skipped: gcc has no libtsan here");
        return;
    }
    let hunt = [
        "hunt",
        "--json",
        "f.json",
        "--budget",
        "60s",
        "--",
        "./program",
    ];
    let text = stdout(&shop.racehound(&hunt));
    assert!(text.contains("R1 race on hits  confirmed"), "{text}");
    assert!(text.contains("at program.c:7"), "{text}");
    assert!(!text.contains("By itself the program ends with"), "{text}");
}

/// A thread that returns with the lock, if it comes second.
const ENDED: &str = r"
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int budget = 1;
static void *spend(void *unused) {
    pthread_mutex_lock(&lock);
    if (budget == 0)
        return unused;
    budget--;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, spend, 0);
    pthread_create(&b, 0, spend, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    pthread_mutex_lock(&lock);
    return budget;
}
";

#[test]
fn who_has_ended_with_a_lock_is_told() {
    let shop = Workshop::new();
    let text = told_of(&shop, "gcc", "program.c", ENDED);
    assert!(text.contains("held when it ended"), "{text}");
    let took = line_of(&text, "(2) thread 0.");
    assert!(text.contains("took lock, and has ended"), "{text}");
    assert!(took < line_of(&text, "at program.c:6:5 in spend"), "{text}");
    assert!(
        line_of(&text, "(2) locks lock") < line_of(&text, "(1) awaits lock"),
        "{text}"
    );
}

/// A child that needs a lock which another thread may hold when it is made.
const FORKED: &str = r"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int lines;
static void note(void) {
    pthread_mutex_lock(&log_lock);
    lines++;
    pthread_mutex_unlock(&log_lock);
}
static void *chatter(void *unused) {
    for (int i = 0; i < 5; i++) note();
    return unused;
}
int main(void) {
    pthread_t thread;
    int status;
    pthread_create(&thread, 0, chatter, 0);
    pid_t child = fork();
    if (child == 0) {
        note();
        _exit(0);
    }
    waitpid(child, &status, 0);
    pthread_join(thread, 0);
    return status != 0;
}
";

#[test]
fn a_lock_that_somebody_held_at_a_fork_is_told_with_the_fork() {
    let shop = Workshop::new();
    let text = told_of(&shop, "gcc", "program.c", FORKED);
    line_of(
        &text,
        "(1) thread 0 waits for log_lock, which thread 0.1 held at the fork",
    );
    line_of(&text, "(2) thread 0.1 held log_lock at the fork");
    line_of(&text, "(3) thread 0 forks");
    line_of(&text, "at program.c:20:");
    let steps = ["(2) locks log_lock", "(3) forks", "goes on in a child"];
    let steps = steps.map(|step| line_of(&text, step));
    assert!(steps.is_sorted(), "{text}");
    assert!(steps[2] < line_of(&text, "(1) awaits log_lock"), "{text}");
}

/// A handler that takes the lock of whom it interrupts.
const HANDLER: &str = r"
#include <pthread.h>
#include <signal.h>
static pthread_mutex_t stats = PTHREAD_MUTEX_INITIALIZER;
static int requests, dumps;
static void dump(int unused) {
    pthread_mutex_lock(&stats);
    dumps += unused > 0;
    pthread_mutex_unlock(&stats);
}
static void *serve(void *unused) {
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&stats);
        requests++;
        pthread_mutex_unlock(&stats);
    }
    return unused;
}
int main(void) {
    struct sigaction action = {.sa_handler = dump};
    pthread_t thread;
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&thread, 0, serve, 0);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, 0);
    return requests != 10;
}
";

#[test]
fn whom_a_handler_has_interrupted_holds_the_lock() {
    let shop = Workshop::new();
    let text = told_of(&shop, "gcc", "program.c", HANDLER);
    line_of(
        &text,
        "(1) thread 0.1 waits for stats, which it holds itself, holding stats",
    );
    line_of(&text, "(3) thread 0.1 took stats; a signal came");
    line_of(&text, "at program.c:13:9 in serve");
    assert!(!text.contains("racehound_runtime"), "{text}");
    for step in ["installs the handler of SIGUSR1", "sends signal SIGUSR1"] {
        line_of(&text, step);
    }
    let runs = text.find("runs the handler of SIGUSR1").unwrap();
    let locks = text.find("(3) locks stats").unwrap();
    assert!(!text[locks..runs].contains("unlocks stats"), "{text}");
}

/// A block that is used at several lines after it may have been freed, with a lock in it.
const REQUEST: &str = r"
#include <pthread.h>
#include <stdlib.h>
struct request { pthread_mutex_t lock; int done, result; };
static struct request *queued;
static void *worker(void *unused) {
    struct request *request = __atomic_exchange_n(&queued, 0, __ATOMIC_ACQ_REL);
    if (request) {
        pthread_mutex_lock(&request->lock);
        request->result = 42;
        request->done = 1;
        pthread_mutex_unlock(&request->lock);
    }
    return unused;
}
int main(void) {
    pthread_t thread;
    struct request *request = calloc(1, sizeof *request);
    pthread_mutex_init(&request->lock, 0);
    __atomic_store_n(&queued, request, __ATOMIC_RELEASE);
    pthread_create(&thread, 0, worker, 0);
    free(request);
    pthread_join(thread, 0);
    return 0;
}
";

#[test]
fn a_block_that_is_gone_is_told_once() {
    let shop = Workshop::new();
    let text = told_of(&shop, "gcc", "program.c", REQUEST);
    let frees = text.matches("thread 0 frees the block").count();
    assert_eq!(frees, 1, "{text}");
    line_of(&text, "The same block, used after it was freed:");
    assert!(!text.contains("writes block"), "{text}");
    line_of(&text, "(1) frees the block");
}

/// Two threads that mean the same element.
const ELEMENT: &str = r"
#include <pthread.h>
static struct { long weight, uses; } tool[4];
static void *use(void *unused) {
    tool[1].uses++;
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, use, 0);
    pthread_create(&b, 0, use, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

#[test]
fn which_part_of_a_variable_it_is_about_is_told() {
    let shop = Workshop::new();
    let text = told_of(&shop, "gcc", "program.c", ELEMENT);
    assert!(
        text.contains("R1 race on tool[1].uses  confirmed"),
        "{text}"
    );
}

const PHILOSOPHERS: &str = r"
#include <pthread.h>
static struct table { int guests; pthread_mutex_t forks[2]; } table;
static void *eat(void *seat) {
    long here = (long)seat;
    pthread_mutex_lock(&table.forks[here]);
    pthread_mutex_lock(&table.forks[1 - here]);
    table.guests++;
    pthread_mutex_unlock(&table.forks[1 - here]);
    pthread_mutex_unlock(&table.forks[here]);
    return 0;
}
int main(void) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, eat, (void *)i);
    for (long i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
";

#[test]
fn locks_in_variables_have_the_names_of_the_source() {
    let shop = Workshop::new();
    let text = told_of(&shop, "gcc", "program.c", PHILOSOPHERS);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [
        "R1 deadlock of table.forks[0], table.forks[1] confirmed",
        "waits for table.forks[1], which thread 0.2 holds, holding table.forks[0]",
        "locks table.forks[0]",
    ] {
        assert!(words.contains(told), "{told}: {text}");
    }
}

const BUFFER: &str = r"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
struct buffer { pthread_mutex_t lock; int used; };
static struct buffer *buffer;
static int used(void) {
    pthread_mutex_lock(&buffer->lock);
    int now = buffer->used;
    pthread_mutex_unlock(&buffer->lock);
    return now;
}
static void *take(void *unused) {
    pthread_mutex_lock(&buffer->lock);
    buffer->used = 0;
    pthread_mutex_unlock(&buffer->lock);
    return unused;
}
static pthread_mutex_t copying = PTHREAD_MUTEX_INITIALIZER;
int main(void) {
    buffer = malloc(sizeof *buffer);
    pthread_mutex_init(&buffer->lock, 0);
    buffer->used = 3;
    pthread_t thread;
    pthread_create(&thread, 0, take, 0);
    pthread_mutex_lock(&copying);
    int before = used();
    int after = used();
    assert(before == after);
    pthread_mutex_unlock(&copying);
    pthread_join(thread, 0);
    return 0;
}
";

#[test]
fn memory_of_the_heap_is_told_by_its_block_and_its_lines() {
    let shop = Workshop::new();
    let text = told_of(&shop, "gcc", "program.c", BUFFER);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [
        "R1 atomicity violation on block from program.c:21:14 (r-w-r) confirmed",
        "(1) reads: int now = buffer->use",
        "(2) writes: buffer->used = 0;",
    ] {
        assert!(words.contains(told), "{told}: {text}");
    }
}
