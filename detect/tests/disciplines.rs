//! The lockset detectors and their state machines, by example.

mod script;

use racehound_detect::Which;
use script::pairs;

#[test]
fn eraser_spares_initialisation_and_read_only_data() {
    let initialised = "T0 write x; T0 write x; T1 read x; T2 read x; T1 read x";
    assert_eq!(pairs(initialised, Which::Eraser), []);
    assert_eq!(pairs(initialised, Which::LockSet), [(2, 3)]);
}

#[test]
fn eraser_reports_the_write_that_leaves_no_lock() {
    let text = "T0 write x; T1 lock m; T1 write x; T1 unlock m; T2 lock m; T2 write x; T2 unlock m;
                T1 write x";
    assert_eq!(pairs(text, Which::Eraser), [(6, 8)]);
}

#[test]
fn eraser_reports_an_unprotected_read_only_once_somebody_writes() {
    let read_shared = "T0 write x; T1 read x; T2 read x";
    assert_eq!(pairs(read_shared, Which::Eraser), []);
    let modified = format!("{read_shared}; T2 write x");
    assert_eq!(pairs(&modified, Which::Eraser), [(1, 4)]);
}

#[test]
fn eraser_never_holds_the_first_thread_to_account() {
    // A real race that Eraser misses: the first thread's write was exclusive.
    let text = "T0 write x; T1 lock m; T1 write x; T1 unlock m";
    assert_eq!(pairs(text, Which::Eraser), []);
    assert_eq!(pairs(text, Which::MultiRace), []);
    assert_eq!(pairs(text, Which::FastTrack), [(1, 3)]);
}

#[test]
fn lockset_lets_readers_read() {
    assert_eq!(pairs("T0 read x; T1 read x; T2 read x", Which::LockSet), []);
    assert_eq!(
        pairs("T0 read x; T1 read x; T0 write x", Which::LockSet),
        [(2, 3)]
    );
}

#[test]
fn lockset_wants_two_threads() {
    assert_eq!(pairs("T0 write x; T0 write x", Which::LockSet), []);
    assert_eq!(
        pairs("T0 write x; T0 write x; T1 read x", Which::LockSet),
        [(2, 3)]
    );
}

#[test]
fn lock_disciplines_let_atomics_meet() {
    let text = "T0 store f relaxed; T1 store f relaxed; T2 load f relaxed; T1 store f relaxed";
    for which in [
        Which::LockSet,
        Which::Eraser,
        Which::RaceTrack,
        Which::Hybrid,
        Which::AccuLock,
    ] {
        assert_eq!(pairs(text, which), [], "{which}");
    }
    assert_eq!(
        pairs(&format!("{text}; T0 write f"), Which::LockSet),
        [(4, 5)]
    );
}

#[test]
fn racetrack_waits_for_evidence_twice() {
    // Each line is what the state machine needs to move on.
    let steps = [
        "T0 write x", // Exclusive0
        "T1 write x", // Exclusive1: another thread
        "T2 write x", // SharedModify1: concurrent
        "T1 write x", // lockset empty: Exclusive2
        "T2 write x", // SharedModify2: concurrent again, no lock
    ];
    assert_eq!(pairs(&steps[..4].join(";"), Which::RaceTrack), []);
    assert_eq!(pairs(&steps.join(";"), Which::RaceTrack), [(4, 5)]);
}

#[test]
fn racetrack_forgets_threads_that_are_ordered() {
    // Handed from thread to thread by fork: never concurrent.
    let text = "T0 write x; T0 fork T1; T1 write x; T1 fork T2; T2 write x; T2 fork T3; T3 write x;
                T3 fork T4; T4 write x; T4 fork T5; T5 write x";
    assert_eq!(pairs(text, Which::RaceTrack), []);
}

#[test]
fn racetrack_is_quiet_under_a_lock() {
    let one = |t: &str| format!("{t} lock m; {t} write x; {t} unlock m");
    let text = ["T0", "T1", "T2", "T1", "T2", "T1", "T2"]
        .map(one)
        .join(";");
    assert_eq!(pairs(&text, Which::RaceTrack), []);
}

#[test]
fn multirace_compares_clocks_only_without_a_lock() {
    let locked = |t: &str| format!("{t} lock m; {t} write x; {t} unlock m");
    let text = format!("T9 write x; {}; {}; T3 write x", locked("T1"), locked("T2"));
    // Eraser and Djit+ agree on the last write; Djit+ alone sees the first.
    assert_eq!(pairs(&text, Which::Djit)[0], (1, 3));
    assert_eq!(pairs(&text, Which::MultiRace), [(6, 8)]);
}

#[test]
fn hybrid_and_acculock_do_not_depend_on_who_came_first() {
    let first = "T0 write x; T0 lock m; T0 unlock m; T1 lock m; T1 write x; T1 unlock m";
    let second = "T1 lock m; T1 write x; T1 unlock m; T0 write x; T0 lock m; T0 unlock m";
    for which in [Which::Hybrid, Which::AccuLock] {
        assert_eq!(pairs(first, which), [(1, 5)], "{which}");
        assert_eq!(pairs(second, which), [(2, 4)], "{which}");
    }
    assert_eq!(pairs(first, Which::FastTrack), []);
    assert_eq!(pairs(second, Which::FastTrack), [(2, 4)]);
}

#[test]
fn multirace_notices_who_came_between() {
    let text = "T0 write x; T1 lock m; T1 write x; T1 unlock m; T0 write x";
    assert_eq!(pairs(text, Which::MultiRace), [(3, 5)]);
}
