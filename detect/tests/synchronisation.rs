//! Every way to synchronise, by example: what it orders, and what it does not.

mod script;

use racehound_detect::Which;
use racehound_detect::offline::Options;
use racehound_detect::order::Volatiles;
use script::{pairs, script, warnings};

/// Asserts that FastTrack and Djit+ find exactly these pairs.
fn observed(text: &str, expected: &[(u32, u32)]) {
    for which in [Which::FastTrack, Which::Djit] {
        assert_eq!(pairs(text, which), expected, "{which}: {text}");
    }
}

#[test]
fn release_and_acquire_publish() {
    observed(
        "T0 write x; T0 store f release; T1 load f acquire; T1 read x",
        &[],
    );
    observed(
        "T0 write x; T0 store f seq_cst; T1 load f seq_cst; T1 read x",
        &[],
    );
}

#[test]
fn relaxed_atomics_publish_nothing() {
    observed(
        "T0 write x; T0 store f relaxed; T1 load f acquire; T1 read x",
        &[(1, 4)],
    );
    observed(
        "T0 write x; T0 store f release; T1 load f relaxed; T1 read x",
        &[(1, 4)],
    );
}

#[test]
fn fences_lend_their_strength_to_relaxed_atomics() {
    observed(
        "T0 write x; T0 fence release; T0 store f relaxed;
         T1 load f relaxed; T1 fence acquire; T1 read x",
        &[],
    );
    observed(
        "T0 write x; T0 fence release; T0 store f relaxed; T1 load f acquire; T1 read x",
        &[],
    );
    observed(
        "T0 write x; T0 store f release; T1 load f relaxed; T1 fence seq_cst; T1 read x",
        &[],
    );
    // What comes after the release fence is not lent, and an acquire fence
    // before the load collects nothing.
    observed(
        "T0 fence release; T0 write x; T0 store f relaxed; T1 load f acquire; T1 read x",
        &[(2, 5)],
    );
    observed(
        "T0 write x; T0 store f release; T1 fence acquire; T1 load f relaxed; T1 read x",
        &[(1, 5)],
    );
}

#[test]
fn fences_alone_order_nobody() {
    observed(
        "T0 write x; T0 fence seq_cst; T1 fence seq_cst; T1 read x",
        &[(1, 4)],
    );
}

#[test]
fn a_release_sequence_goes_on_through_read_modify_writes() {
    observed(
        "T0 write x; T0 store f release; T1 rmw f relaxed; T2 load f acquire; T2 read x",
        &[],
    );
}

#[test]
fn a_plain_atomic_store_ends_a_release_sequence() {
    observed(
        "T0 write x; T0 store f release; T1 store f relaxed; T2 load f acquire; T2 read x",
        &[(1, 5)],
    );
    observed(
        "T0 write x; T0 store f release; T0 store f relaxed; T2 load f acquire; T2 read x",
        &[(1, 5)],
    );
}

#[test]
fn atomics_race_with_plain_accesses_only() {
    observed(
        "T0 store f relaxed; T1 store f relaxed; T2 load f relaxed",
        &[],
    );
    observed("T0 store f relaxed; T1 read f", &[(1, 2)]);
    observed("T0 read f; T1 load f relaxed", &[]);
    observed("T0 write f; T1 load f seq_cst", &[(1, 2)]);
    // The first of two concurrent atomic writes is not forgotten.
    observed(
        "T0 store f relaxed; T1 store f relaxed; T1 fork T2; T2 read f",
        &[(1, 4)],
    );
}

#[test]
fn read_locks_do_not_order_each_other() {
    observed(
        "T0 rdlock m; T0 write x; T0 rdunlock m; T1 rdlock m; T1 read x; T1 rdunlock m",
        &[(2, 5)],
    );
    observed(
        "T0 rdlock m; T0 read x; T0 rdunlock m; T1 lock m; T1 write x; T1 unlock m",
        &[],
    );
    observed(
        "T0 lock m; T0 write x; T0 unlock m; T1 rdlock m; T1 read x; T1 rdunlock m",
        &[],
    );
}

#[test]
fn a_read_lock_protects_reads_only() {
    let readers = "T0 rdlock m; T0 read x; T0 rdunlock m; T1 lock m; T1 write x; T1 unlock m";
    let writer = "T0 rdlock m; T0 write x; T0 rdunlock m; T1 rdlock m; T1 read x; T1 rdunlock m";
    for which in [Which::AccuLock, Which::Hybrid, Which::LockSet] {
        assert_eq!(pairs(readers, which), [], "{which}");
        assert_eq!(pairs(writer, which), [(2, 5)], "{which}");
    }
}

#[test]
fn a_re_entrant_lock_is_held_until_its_last_release() {
    let inner = "T0 lock m; T0 lock m; T0 unlock m; T0 write x; T0 unlock m;
                 T1 lock m; T1 write x; T1 unlock m";
    observed(inner, &[]);
    assert_eq!(pairs(inner, Which::AccuLock), []);
}

#[test]
fn locks_may_be_released_in_any_order() {
    let crossed = "T0 lock a; T0 lock b; T0 unlock a; T0 write x; T0 unlock b;
                   T1 lock b; T1 write x; T1 unlock b; T2 lock a; T2 write x; T2 unlock a";
    assert_eq!(pairs(crossed, Which::Hybrid), [(4, 10)]);
    assert_eq!(pairs(crossed, Which::AccuLock), [(7, 10)]);
}

#[test]
fn a_notified_waiter_is_ordered_and_a_timed_out_one_is_not() {
    let wait = "T0 lock m; T0 wait c m; T1 write x; T1 notify c; T0 {} c m; T0 read x";
    observed(&wait.replace("{}", "wake"), &[]);
    observed(&wait.replace("{}", "timeout"), &[(3, 6)]);
    assert_eq!(pairs(&wait.replace("{}", "wake"), Which::AccuLock), []);
    assert_eq!(
        pairs(&wait.replace("{}", "timeout"), Which::AccuLock),
        [(3, 6)]
    );
}

#[test]
fn waiting_gives_the_lock_up() {
    let text = "T0 lock m; T0 lock m; T0 wait c m; T1 lock m; T1 write x; T1 notifyall c;
                T1 unlock m; T0 wake c m; T0 unlock m; T0 write x; T0 unlock m";
    observed(text, &[]);
    assert_eq!(pairs(text, Which::Hybrid), []);
}

#[test]
fn semaphores_and_barriers_order() {
    observed("T0 write x; T0 post s; T1 take s; T1 read x", &[]);
    let barrier = "T0 write x; T0 arrive b; T1 write y; T1 arrive b; T1 leave b; T1 read x;
                   T0 leave b; T0 read y; T0 write z; T0 arrive b; T1 read z";
    // The next round has not opened: z is not published.
    observed(barrier, &[(9, 11)]);
}

#[test]
fn fork_and_join_order() {
    observed(
        "T0 write x; T0 fork T1; T1 write x; T0 join T1; T0 write x",
        &[],
    );
    observed("T0 fork T1; T0 write x; T1 write x", &[(2, 3)]);
}

#[test]
fn a_thread_may_be_joined_twice_and_its_number_used_again() {
    observed(
        "T0 fork T1; T0 fork T2; T1 lock m; T1 unlock m; T1 write x; T0 join T1; T2 join T1; T2 read x",
        &[],
    );
    observed(
        "T0 fork T1; T1 lock m; T1 unlock m; T1 write x; T0 join T1; T0 read x;
         T0 fork T1; T1 write x; T0 read x",
        &[(8, 9)],
    );
}

#[test]
fn threads_that_join_each_other_end_the_analysis_all_the_same() {
    observed(
        "T1 join T0; T0 join T1; T2 join T0; T2 join T1; T1 join T2; T0 join T2",
        &[],
    );
}

#[test]
fn new_memory_has_no_past_and_freed_memory_a_last_writer() {
    observed("T0 write x; T1 alloc x; T1 write x", &[]);
    observed("T0 read x; T1 free x", &[(1, 2)]);
    observed("T0 free x; T1 read x", &[(1, 2)]);
    observed("T0 free x; T1 free x", &[(1, 2)]);
}

#[test]
fn volatiles_as_locks_order_readers_too() {
    let text = script("T0 write x; T0 load v seq_cst; T1 load v seq_cst; T1 write x");
    let as_locks = Options {
        volatiles: Volatiles::AsLocks,
        ..Options::default()
    };
    let count = |which, options: &Options| warnings(&text, which, options).len();
    assert_eq!(count(Which::FastTrack, &Options::default()), 1);
    assert_eq!(count(Which::FastTrack, &as_locks), 0);
    // AccuLock does not let locks order, and these protect nothing.
    assert_eq!(count(Which::AccuLock, &as_locks), 1);
}
