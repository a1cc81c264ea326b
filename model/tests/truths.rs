//! The explorer against truths worked out by hand.

mod common;

use common::{set, subject};
use racehound_model::{Limits, Program, TooLarge, explore, explore_patterns};

#[test]
fn an_unprotected_counter_races_and_loses_updates() {
    let counter = subject(
        "var x
         thread T1 { A: x = x + 1 }
         thread T2 { B: x = x + 1 }
         thread main { fork T1; fork T2; join T1; join T2; assert x == 2 }",
    );
    assert_eq!(counter.races(), set(["A.1 B.2", "A.2 B.1", "A.2 B.2"]));
    assert_eq!(counter.failures(), set(["assert x == 2"]));
    assert!(counter.truth.violations.is_empty(), "there are no regions");
}

#[test]
fn a_locked_counter_is_clean() {
    subject(
        "var x; lock m
         fn increment { lock m; x = x + 1; unlock m }
         thread T1 { call increment }
         thread T2 { call increment }
         thread main { fork T1; fork T2; join T1; join T2; assert x == 2 }",
    )
    .assert_clean();
}

#[test]
fn an_unprotected_counter_in_atomic_regions_violates_atomicity() {
    let counter = subject(
        "var x
         thread T1 { atomic { A: x = x + 1 } }
         thread T2 { B: x = 7 }",
    );
    assert_eq!(counter.violations(), set(["atomicity-r-w-w: A.1 B A.2"]));
}

#[test]
fn petersons_algorithm_excludes() {
    let peterson = |first: &str, second: &str| {
        subject(&format!(
            "volatile flag0, flag1, turn
             var x
             thread P0 {{ {first}; while flag1 == 1 && turn == 1 max 2 {{ }}; A: x = 1; flag0 = 0 }}
             thread P1 {{ {second}; while flag0 == 1 && turn == 0 max 2 {{ }}; B: x = 2; flag1 = 0 }}"
        ))
    };
    let right = peterson("flag0 = 1; turn = 1", "flag1 = 1; turn = 0");
    assert_eq!(right.races(), set([]));
    assert_eq!(right.truth.loop_bounds.len(), 2);
    let wrong = peterson("turn = 1; flag0 = 1", "turn = 0; flag1 = 1");
    assert_eq!(wrong.races(), set(["A B"]));
}

#[test]
fn store_buffering_is_not_sequentially_consistent() {
    let dekker = |kind: &str| {
        subject(&format!(
            "{kind} x, y
             var a, b
             thread T1 {{ A: x = 1; a = y }}
             thread T2 {{ B: y = 1; b = x }}
             thread main {{ fork T1; fork T2; join T1; join T2; assert a == 1 || b == 1 }}"
        ))
    };
    dekker("volatile").assert_clean();
    let plain = dekker("var");
    assert_eq!(plain.races(), set(["A b = x", "a = y B"]));
    assert_eq!(plain.failures(), set([]));
}

#[test]
fn opposite_lock_orders_deadlock() {
    let ab_ba = subject(
        "lock a, b
         thread T1 { lock a; lock b; unlock b; unlock a }
         thread T2 { lock b; lock a; unlock a; unlock b }",
    );
    assert_eq!(
        ab_ba.deadlocks(),
        set(["main: join T1, T1: lock b, T2: lock a"])
    );
    assert_eq!(ab_ba.races(), set([]));
}

#[test]
fn a_wake_up_is_lost_between_the_check_and_the_wait() {
    let lost = subject(
        "var ready; lock m; cond c
         thread waiter { A: if ready == 0 { lock m; wait c m; unlock m } }
         thread notifier { B: ready = 1; lock m; notify c; unlock m }",
    );
    assert_eq!(
        lost.deadlocks(),
        set(["main: join waiter, waiter: wait c m"])
    );
    assert_eq!(lost.races(), set(["A B"]));
}

#[test]
fn a_signal_nobody_waits_for_is_missed() {
    let missed = subject(
        "lock m; cond c
         thread waiter { lock m; wait c m; unlock m }
         thread notifier { lock m; notify c; unlock m }",
    );
    assert_eq!(
        missed.deadlocks(),
        set(["main: join waiter, waiter: wait c m"])
    );
}

#[test]
fn a_wait_in_a_loop_under_the_lock_is_clean() {
    subject(
        "var ready; lock m; cond c
         thread waiter { lock m; while ready == 0 max 1 { wait c m }; unlock m }
         thread notifier { lock m; ready = 1; notify c; unlock m }",
    )
    .assert_clean();
}

#[test]
fn ping_pong_takes_turns() {
    subject(
        "var turn; lock m; cond c
         thread ping { repeat 2 {
           lock m; while turn == 1 max 1 { wait c m }; turn = 1; notify c; unlock m
         } }
         thread pong { repeat 2 {
           lock m; while turn == 0 max 1 { wait c m }; turn = 0; notify c; unlock m
         } }",
    )
    .assert_clean();
}

#[test]
fn a_notify_can_wake_any_one_waiter() {
    // T1 is always the first to wait.
    let either = subject(
        "var n; lock m; cond c
         thread T1 { lock m; n = 1; wait c m; error ONE }
         thread T2 { lock m; if n == 1 { n = 2; wait c m; error TWO }; unlock m }
         thread T3 { lock m; if n == 2 { notify c }; unlock m }",
    );
    assert_eq!(either.failures(), set(["ONE", "TWO"]));
    let nobody_woken = "main: join T1, T1: wait c m, T2: wait c m";
    let nobody_to_wake = "main: join T1, T1: wait c m";
    assert_eq!(either.deadlocks(), set([nobody_woken, nobody_to_wake]));
}

#[test]
fn double_checked_locking_races_on_the_first_check_only() {
    let get = |initialise: &str| {
        subject(&format!(
            "var instance, field; lock m
             fn get {{
               A: if instance == 0 {{
                 lock m
                 B: if instance == 0 {{ {initialise} }}
                 unlock m
               }}
               E: r = field
               assert r == 42
             }}
             thread T1 {{ call get }}
             thread T2 {{ call get }}"
        ))
    };
    let sound = get("C: field = 42; D: instance = 1");
    assert_eq!(sound.races(), set(["A D"]));
    assert_eq!(sound.failures(), set([]));
    let hasty = get("D: instance = 1; C: field = 42");
    assert_eq!(hasty.races(), set(["A D", "C E"]));
    assert_eq!(hasty.failures(), set(["assert r == 42"]));
}

#[test]
fn a_published_value_is_read_after_it_was_written() {
    let publish = |store: &str, load: &str| {
        subject(&format!(
            "var data, flag
             thread T1 {{ A: data = 1; {store} }}
             thread T2 {{ {load}; if r == 1 {{ B: d = data; assert d == 1 }} }}"
        ))
    };
    publish("flag.store(1, release)", "r = flag.load(acquire)").assert_clean();
    // Memory orders add no behaviour: the truth is that of interleavings.
    publish("flag.store(1, relaxed)", "r = flag.load(relaxed)").assert_clean();
    publish(
        "fence(release); flag.store(1, relaxed)",
        "r = flag.load(relaxed); fence(acquire)",
    )
    .assert_clean();
    let plain = publish("C: flag = 1", "D: r = flag");
    assert_eq!(plain.races(), set(["C D"]));
    assert_eq!(plain.failures(), set([]));
}

#[test]
fn a_spin_lock_of_compare_and_swap_excludes() {
    let spin = subject(
        "var held, x
         fn enter { r = held.cas(0, 1, acquire); while r != 0 max 1 { r = held.cas(0, 1, acquire) } }
         thread T1 { call enter; A: x = 1; held.store(0, release) }
         thread T2 { call enter; B: x = 2; held.store(0, release) }",
    );
    assert_eq!(spin.races(), set([]));
    assert_eq!(spin.truth.loop_bounds.len(), 1);
}

#[test]
fn an_atomic_and_a_plain_access_race() {
    let mixed = subject(
        "var x
         thread T1 { A: x.add(1, relaxed) }
         thread T2 { B: r = x.add(1, relaxed); if r == 1 { C: read x } }
         thread T3 { D: read x }",
    );
    assert_eq!(mixed.races(), set(["A D", "B D"]));
}

#[test]
fn a_failed_compare_and_swap_only_reads() {
    let failing = subject(
        "var x
         thread T1 { A: x.cas(5, 6, acq_rel) }
         thread T2 { B: read x }",
    );
    failing.assert_clean();
}

#[test]
fn a_semaphore_of_one_is_a_lock_and_one_of_two_is_not() {
    let guarded = |initial: u32| {
        subject(&format!(
            "var x; semaphore s = {initial}
             thread T1 {{ take s; A: x = 1; post s }}
             thread T2 {{ take s; B: x = 2; post s }}"
        ))
    };
    guarded(1).assert_clean();
    assert_eq!(guarded(2).races(), set(["A B"]));
    let nobody = guarded(0).deadlocks();
    assert_eq!(nobody, set(["main: join T1, T1: take s, T2: take s"]));
}

#[test]
fn a_barrier_separates_phases() {
    let phases = |size: u32| {
        subject(&format!(
            "var x, y; barrier b = {size}
             thread T1 {{ A: x = 1; barrier b; B: read y; barrier b; C: y = 3 }}
             thread T2 {{ D: y = 1; barrier b; E: read x; barrier b; F: x = 3 }}"
        ))
    };
    phases(2).assert_clean();
    let open = set(["A E", "A F", "B D", "C D"]);
    assert_eq!(phases(1).races(), open);
    let short = phases(3).deadlocks();
    assert_eq!(short, set(["main: join T1, T1: barrier b, T2: barrier b"]));
}

#[test]
fn a_rwlock_keeps_writers_from_readers_and_not_readers_from_each_other() {
    let library = |writing: &str| {
        subject(&format!(
            "var x; rwlock rw
             thread R1 {{ rdlock rw; A: read x; unlock rw }}
             thread R2 {{ rdlock rw; B: read x; unlock rw }}
             thread W {{ {writing} rw; C: x = 1; unlock rw }}"
        ))
    };
    library("wrlock").assert_clean();
    assert_eq!(library("rdlock").races(), set(["A C", "B C"]));
}

#[test]
fn a_recursive_lock_can_be_taken_again_and_a_plain_one_not() {
    let twice = |kind: &str| {
        subject(&format!(
            "var x; {kind} m
             thread T1 {{ lock m; lock m; x = 1; unlock m; x = 2; unlock m }}
             thread T2 {{ lock m; read x; unlock m }}"
        ))
    };
    twice("recursive lock").assert_clean();
    let stuck = twice("lock").deadlocks();
    let alone = "main: join T1, T1: lock m";
    let both = "main: join T1, T1: lock m, T2: lock m";
    assert_eq!(stuck, set([alone, both]));
}

#[test]
fn a_wait_gives_up_a_recursive_lock_completely() {
    subject(
        "var ready; recursive lock m; cond c
         thread T1 {
           lock m; lock m
           while ready == 0 max 1 { wait c m }
           unlock m; ready = 2; unlock m
         }
         thread T2 { lock m; ready = 1; notifyall c; unlock m }",
    )
    .assert_clean();
}

#[test]
fn philosophers_deadlock_unless_one_is_left_handed() {
    let two = subject(
        "lock f0, f1
         thread P0 { lock f0; lock f1; unlock f1; unlock f0 }
         thread P1 { lock f1; lock f0; unlock f0; unlock f1 }",
    );
    assert_eq!(two.truth.deadlocks.len(), 1);
    let three = |first: &str, second: &str| {
        subject(&format!(
            "lock f0, f1, f2
             thread P0 {{ lock f0; lock f1; unlock f1; unlock f0 }}
             thread P1 {{ lock f1; lock f2; unlock f2; unlock f1 }}
             thread P2 {{ lock {first}; lock {second}; unlock {second}; unlock {first} }}"
        ))
    };
    let stuck = "main: join P0, P0: lock f1, P1: lock f2, P2: lock f0";
    assert_eq!(three("f2", "f0").deadlocks(), set([stuck]));
    three("f0", "f2").assert_clean();
}

#[test]
fn fork_and_join_order_accesses() {
    let family = subject(
        "var x
         thread main { A: x = 1; fork T; B: x = 2; join T; C: x = 3 }
         thread T { D: read x }",
    );
    assert_eq!(family.races(), set(["B D"]));
}

#[test]
fn check_then_act_in_two_critical_sections_is_not_atomic() {
    let bank = |check: &str| {
        subject(&format!(
            "var balance = 10; lock m
             fn withdraw {{ {check} }}
             thread T1 {{ call withdraw }}
             thread T2 {{ call withdraw }}
             thread main {{ fork T1; fork T2; join T1; join T2; assert balance == 0 }}"
        ))
    };
    let torn = bank(
        "atomic {
           lock m; A: r = balance; unlock m
           if r >= 10 { lock m; B: balance = balance - 10; unlock m }
         }",
    );
    assert_eq!(torn.races(), set([]));
    assert_eq!(torn.failures(), set(["assert balance == 0"]));
    let violations = set(["atomicity-r-w-r: A B.2 B.1", "atomicity-r-w-w: A B.2 B.2"]);
    assert_eq!(torn.violations(), violations);
    bank("lock m; if balance >= 10 { balance = balance - 10 }; unlock m").assert_clean();
}

#[test]
fn a_pair_written_in_two_critical_sections_is_read_torn() {
    let pair = subject(
        "var x, y, torn; lock m
         thread writer { atomic { lock m; A: x = 1; unlock m; lock m; B: y = 1; unlock m } }
         thread reader { lock m; C: r = x; D: s = y; unlock m; torn = r != s }
         thread main { fork writer; fork reader; join writer; join reader; assert torn == 0 }",
    );
    assert_eq!(pair.races(), set([]));
    assert_eq!(pair.failures(), set(["assert torn == 0"]));
    assert_eq!(
        pair.violations(),
        set(["atomic-set-torn-read-nested: A C D B"])
    );
}

#[test]
fn a_users_pattern_is_matched_like_any_other() {
    let text = "
        var x, y; lock m
        thread T1 { atomic { lock m; A: r = x; unlock m; lock m; B: y = r; unlock m } }
        thread T2 { atomic { lock m; C: s = y; unlock m; lock m; D: x = s; unlock m } }";
    let write_skew = "
        pattern write-skew
        T  = t1 t2 t1 t2
        SV = x  y  y  x
        AR = u1 u2 u1 u2
        AT = r  r  w  w";
    let program = Program::parse(text).unwrap();
    let patterns = [write_skew.parse().unwrap()];
    let truth = explore_patterns(&program, &patterns, &Limits::default()).unwrap();
    let [a, b, c, d] = ["A", "B", "C", "D"].map(|label| program.site(label));
    assert!(truth.has_violation("write-skew", &[a, c, b, d]));
    assert!(truth.has_violation("write-skew", &[c, a, d, b]));
    assert_eq!(truth.violations["write-skew"].len(), 2);
    // Without the assumption on writers it is not among the built-in ones.
    assert!(subject(text).truth.violations.is_empty());
}

#[test]
fn a_failure_after_a_private_step_does_not_hide_the_others() {
    let both = subject(
        "var x, mine
         thread T1 { mine = 1; error EARLY }
         thread T2 { A: x = 1 }
         thread T3 { B: x = 2; error LATE }",
    );
    assert_eq!(both.races(), set(["A B"]));
    assert_eq!(both.failures(), set(["EARLY", "LATE"]));
}

#[test]
fn nothing_happens_after_a_failure() {
    let writers = |last: &str| {
        subject(&format!(
            "var x, y
             thread T1 {{ atomic {{ A: x = 1; B: y = 1; {last} }} }}
             thread T2 {{ atomic {{ C: y = 2; D: x = 2 }} }}"
        ))
    };
    let before_b = [
        "atomic-set-mixed-writes-crossed: C A D B",
        "atomic-set-mixed-writes-swapped: A C D B",
    ];
    assert_eq!(writers("error E").violations(), set(before_b));
    let after_b = [
        "atomic-set-mixed-writes-crossed: A C B D",
        "atomic-set-mixed-writes-swapped: C A B D",
    ];
    let all = &set(before_b) | &set(after_b);
    assert_eq!(writers("skip").violations(), all);
}

#[test]
fn joining_from_two_threads_is_a_misuse_of_the_second() {
    let joins = subject(
        "thread main { fork T; fork U; join T }
         thread T { skip }
         thread U { join T }",
    );
    assert_eq!(
        joins.misuses(),
        set(["join of `T`, which was joined before"])
    );
    assert_eq!(joins.truth.misuses.len(), 2);
}

#[test]
fn a_skip_before_a_failure_lets_others_go_on() {
    let program = |pause: &str| {
        subject(&format!(
            "var x
             thread T1 {{ x.add(1, relaxed); {pause}; error E }}
             thread T2 {{ r = x.load(relaxed); if r == 1 {{ error SEEN }} }}"
        ))
    };
    assert_eq!(program("r = 0").failures(), set(["E"]));
    assert_eq!(program("skip 100").failures(), set(["E", "SEEN"]));
}

#[test]
fn misuses_are_outcomes() {
    let misuse = |body: &str| {
        let text = format!("lock m; rwlock rw; cond c\nthread T {{ }}\nthread main {{ {body} }}");
        subject(&text).misuses()
    };
    assert_eq!(
        misuse("unlock m"),
        set(["unlock of `m`, which is not held"])
    );
    assert_eq!(
        misuse("unlock rw"),
        set(["unlock of `rw`, which is not held"])
    );
    assert_eq!(
        misuse("wait c m"),
        set(["wait with `m`, which is not held"])
    );
    assert_eq!(misuse("join T"), set(["join of `T`, which was not forked"]));
    assert_eq!(
        misuse("fork T; join T; join T"),
        set(["join of `T`, which was joined before"])
    );
    assert_eq!(
        misuse("repeat 2 { fork T }"),
        set(["fork of `T`, which was forked before"])
    );
    assert_eq!(misuse("lock m"), set(["`main` ends while it holds `m`"]));
}

#[test]
fn a_loop_that_would_go_on_is_cut_and_counted() {
    let spin = subject(
        "var flag
         thread T1 { A: while flag == 0 max 2 { }; B: read flag }
         thread T2 { C: flag = 1 }",
    );
    let bounds: Vec<_> = spin.truth.loop_bounds.iter().collect();
    let text = spin.program.tables().site_text(*bounds[0]);
    assert_eq!((bounds.len(), text), (1, Some("while flag == 0 max 2")));
    assert_eq!(spin.races(), set(["A C"]));
}

#[test]
fn beyond_the_limits_there_is_no_truth() {
    let program = Program::parse(
        "var x
         thread T1 { repeat 9 { x = x + 1 } }
         thread T2 { repeat 9 { x = x + 1 } }",
    )
    .unwrap();
    let limits = Limits {
        max_states: 100,
        ..Limits::default()
    };
    assert_eq!(explore(&program, &limits), Err(TooLarge::States(100)));
    let limits = Limits {
        max_steps: 20,
        ..Limits::default()
    };
    assert_eq!(explore(&program, &limits), Err(TooLarge::Steps(20)));
    let endless = "thread T { repeat 100000 { repeat 100000 { r = r + 1 } } }";
    let endless = Program::parse(endless).unwrap();
    assert_eq!(
        explore(&endless, &Limits::default()),
        Err(TooLarge::Endless)
    );
}

#[test]
fn independent_threads_cost_next_to_nothing() {
    let apart = subject(
        "var a, b, c, d
         fn work { r = 1 }
         thread T1 { repeat 20 { a = a + 1 } }
         thread T2 { repeat 20 { b = b + 1 } }
         thread T3 { repeat 20 { c = c + 1 } }
         thread T4 { repeat 20 { d = d + 1 } }",
    );
    apart.assert_clean();
    assert_eq!(apart.truth.executions, 1);
    assert!(apart.truth.states < 1_000, "{}", apart.truth.states);
}
