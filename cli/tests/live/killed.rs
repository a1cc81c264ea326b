//! SIGKILL at any moment, for the hunt, for the program, and for both: the next hunt
//! starts, the store is sound, nothing that was confirmed is lost, nothing is left over.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use racehound_report::finding::{Finding, Kind, Status};
use racehound_store::Store;

use crate::FINDINGS;
use crate::workshop::{RACEHOUND, Workshop};

/// Several bugs of different sorts, so that there is always something to do.
const BANK: &str = r"
#include <assert.h>
#include <pthread.h>
static int balance, audits, rounds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, log_lock = PTHREAD_MUTEX_INITIALIZER;
static int get(void) {
    pthread_mutex_lock(&lock);
    int now = balance;
    pthread_mutex_unlock(&lock);
    return now;
}
static void set(int value) {
    pthread_mutex_lock(&lock);
    balance = value;
    pthread_mutex_unlock(&lock);
}
static void *deposit(void *unused) {
    set(get() + 1);
    audits++;
    pthread_mutex_lock(&log_lock);
    pthread_mutex_lock(&lock);
    rounds++;
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&log_lock);
    return unused;
}
static void *audit(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&log_lock);
    rounds++;
    pthread_mutex_unlock(&log_lock);
    pthread_mutex_unlock(&lock);
    audits++;
    return unused;
}
int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], 0, deposit, 0);
    pthread_create(&threads[1], 0, deposit, 0);
    pthread_create(&threads[2], 0, audit, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    assert(balance == 2);
}
";

fn hunt(shop: &Workshop, seed: u64) -> Command {
    let mut command = shop.command(RACEHOUND);
    let seed = seed.to_string();
    command.args(["hunt", "--budget", "5s", "--seed", &seed, "--", "./bank"]);
    let said = File::create(shop.path(SAID)).unwrap();
    command.stdout(Stdio::null()).stderr(said);
    command
}

/// What a hunt says beside its report.
const SAID: &str = "said";

/// What was confirmed, as the store has it, and that there is nothing wrong with it.
fn confirmed(project: &Path) -> BTreeSet<String> {
    let store = Store::open(project).unwrap();
    assert_eq!(store.faults().unwrap(), [] as [String; 0]);
    let known = store.findings(&["./bank".to_owned()]).unwrap();
    let proven = known.iter().filter(|f| f.status == Status::Confirmed);
    proven.map(identity).collect()
}

/// There is one deadlock, and one with fewer threads takes the place of others.
fn identity(finding: &Finding) -> String {
    match finding.kind {
        Kind::Deadlock => "deadlock".to_owned(),
        _ => format!("{:?}", finding.identity()),
    }
}

fn send(signal: &str, process: u32) {
    let mut kill = Command::new("kill");
    kill.args([signal, &process.to_string()])
        .stderr(Stdio::null());
    // It may have ended meanwhile.
    let _ = kill.status();
}

/// The programs that the hunt executes at the moment.
fn programs(hunt: &Child) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{}/task", hunt.id()));
    let mut children = Vec::new();
    for thread in threads.into_iter().flatten().flatten() {
        let ids = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.extend(
            ids.split_whitespace()
                .filter_map(|id| id.parse::<u32>().ok()),
        );
    }
    children
}

/// All files that hunts have left in their places.
fn left_over(project: &Path) -> Vec<PathBuf> {
    let places = fs::read_dir(project.join(".racehound/hunts")).unwrap();
    let files = |place: PathBuf| {
        fs::read_dir(place)
            .unwrap()
            .map(|file| file.unwrap().path())
    };
    places
        .flat_map(|place| files(place.unwrap().path()))
        .collect()
}

#[test]
fn whoever_is_killed_nothing_is_lost() {
    let shop = Workshop::new();
    let project = shop.path("");
    shop.write("bank.c", BANK);
    shop.cc(&["-g", "bank.c", "-o", "bank"]);
    let mut known = BTreeSet::new();
    let mut moment: u64 = 1;
    for round in 0..50 {
        moment = moment
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mut child = hunt(&shop, round).spawn().unwrap();
        std::thread::sleep(Duration::from_millis((moment >> 33) % 900));
        let running = programs(&child);
        if round % 3 != 0 {
            running
                .into_iter()
                .for_each(|program| send("-KILL", program));
        }
        // A hunt whose program was killed goes on, and ends when it is asked to.
        let signal = if round % 3 == 1 { "-TERM" } else { "-KILL" };
        send(signal, child.id());
        let status = child.wait().unwrap();
        let code = status.code();
        assert!(
            code.is_none() || code == Some(0) || code == Some(FINDINGS),
            "{status:?}: {}",
            fs::read_to_string(shop.path(SAID)).unwrap_or_default()
        );
        let now = confirmed(&project);
        let lost: Vec<&String> = known.difference(&now).collect();
        assert!(lost.is_empty(), "round {round}: {lost:?}");
        known = now;
    }
    assert!(!known.is_empty(), "nothing was confirmed in all that time");

    let status = hunt(&shop, 1).status().unwrap();
    assert_eq!(status.code(), Some(FINDINGS));
    let store = Store::open(&project).unwrap();
    for file in left_over(&project) {
        let is_lock = file.file_name().is_some_and(|name| name == "lock");
        assert!(
            is_lock || store.refers_to(&file).unwrap(),
            "{}",
            file.display()
        );
    }
    // What is told can be made to happen.
    let known = store.findings(&["./bank".to_owned()]).unwrap();
    let proven = known
        .iter()
        .find(|f| f.status == Status::Confirmed)
        .unwrap();
    let replay = shop.racehound(&["replay", &proven.id, "--times", "2"]);
    assert_eq!(replay.status.code(), Some(FINDINGS), "{replay:?}");
}
