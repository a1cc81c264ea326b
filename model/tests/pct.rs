//! PCT's guarantee on programs whose bugs have a known depth: a run finds a bug
//! of depth d with a probability of at least 1 / (n · k^(d-1)).

use racehound_model::{Outcome, Program, run};
use racehound_schedule::{Pct, Random, Strategy};

/// Depth 1: something is used before it is made.
fn used_before_made(padding: u32) -> String {
    format!(
        "var made
         thread maker {{ skip {padding}; made = 1 }}
         thread user {{ skip {padding}; assert made == 1 }}
         thread bystander {{ skip {padding} }}"
    )
}

/// Depth 2: an update is lost.
const LOST_UPDATE: &str = "
    var x
    thread T1 { skip 2; x = x + 1 }
    thread T2 { skip 2; x = x + 1 }
    thread main { fork T1; fork T2; join T1; join T2; assert x == 2 }";

/// Depth 2: two locks in opposite orders.
const AB_BA: &str = "
    lock a, b
    thread T1 { lock a; lock b; unlock b; unlock a }
    thread T2 { lock b; lock a; unlock a; unlock b }";

/// Depth 3: one thread has to see both values of the other, one after the
/// other.
const BOTH_VALUES: &str = "
    var x
    thread T1 { x = 1; skip; x = 2 }
    thread T2 { r = x; skip; s = x; if r == 1 && s == 2 { error SEEN_BOTH } }";

fn is_bug(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed { .. } | Outcome::Deadlock { .. })
}

/// How many of so many runs show the bug.
fn found<S: Strategy>(program: &Program, runs: u64, strategy: impl Fn(u64) -> S) -> u64 {
    let shows = |seed: &u64| is_bug(&run(program, &mut strategy(*seed)).outcome);
    (0..runs).filter(shows).count() as u64
}

/// The steps of the longest execution: none of these programs has a loop.
fn length(program: &Program) -> u64 {
    let steps = |seed| {
        let mut pct = Pct::new(seed, 3, 20);
        run(program, &mut pct);
        pct.steps()
    };
    (0..50).map(steps).max().unwrap()
}

/// The guarantee holds at this depth, and no shallower schedule has the bug.
fn assert_guaranteed(text: &str, threads: u64, depth: u32, runs: u64) {
    let program = Program::parse(text).unwrap();
    let length = length(&program);
    let bound = 1.0 / (threads * length.pow(depth - 1)) as f64;
    let expected = runs as f64 * bound;
    let hits = found(&program, runs, |seed| Pct::new(seed, depth, length)) as f64;
    let allowance = 3.0 * expected.sqrt();
    assert!(hits >= expected - allowance, "{hits} < {expected}\n{text}");
    for shallower in 1..depth {
        let hits = found(&program, runs, |seed| Pct::new(seed, shallower, length));
        assert_eq!(hits, 0, "found at depth {shallower}\n{text}");
    }
}

#[test]
fn bugs_of_depth_one_do_not_care_for_length() {
    for padding in [1, 10, 100, 1_000] {
        assert_guaranteed(&used_before_made(padding), 4, 1, 300);
    }
}

#[test]
fn bugs_of_depth_two() {
    assert_guaranteed(LOST_UPDATE, 3, 2, 3_000);
    assert_guaranteed(AB_BA, 3, 2, 3_000);
}

#[test]
fn bugs_of_depth_three() {
    assert_guaranteed(BOTH_VALUES, 3, 3, 20_000);
}

#[test]
fn a_late_rival_is_found_by_priorities_and_not_at_random() {
    // At random the two run side by side, and the maker is long done.
    let program = Program::parse(
        "var made
         thread maker { skip 50; made = 1 }
         thread user { skip 150; assert made == 1 }",
    )
    .unwrap();
    assert_eq!(found(&program, 300, Random::new), 0);
    let hits = found(&program, 300, |seed| Pct::new(seed, 1, 200));
    assert!(hits >= 70, "{hits}");
}

#[test]
fn more_change_points_than_needed_do_no_harm() {
    let program = Program::parse(LOST_UPDATE).unwrap();
    let length = length(&program);
    for depth in 2..6 {
        let hits = found(&program, 1_000, |seed| Pct::new(seed, depth, length));
        assert!(
            hits as f64 >= 1_000.0 / (3 * length) as f64,
            "depth {depth}"
        );
    }
}
