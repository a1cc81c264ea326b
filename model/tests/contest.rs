//! ConTest's delays on a simulated machine of many cores: they show what free
//! runs do not, and what needs more than a delay they do not show.

use racehound_model::{Outcome, Program, figures, run};
use racehound_schedule::{ConTest, Parallel};

fn failures(program: &Program, runs: u64, strategy: impl Fn(u64) -> Parallel) -> usize {
    let fails = |seed: &u64| {
        let outcome = run(program, &mut strategy(*seed)).outcome;
        matches!(outcome, Outcome::Failed { .. } | Outcome::Deadlock { .. })
    };
    (0..runs).filter(fails).count()
}

fn noisy(percent: u32, longest: u32) -> impl Fn(u64) -> Parallel {
    move |seed| {
        Parallel::new(seed).with_noise(ConTest {
            percent,
            longest,
            ..ConTest::new(seed)
        })
    }
}

/// The reader is late enough, unless the writer is held up at its lock.
const JUST_IN_TIME: &str = "
    var x; lock m
    thread writer { lock m; x = 1; unlock m }
    thread reader { skip 30; lock m; assert x == 1; unlock m }";

#[test]
fn delays_show_what_free_runs_do_not() {
    let program = Program::parse(JUST_IN_TIME).unwrap();
    assert_eq!(failures(&program, 500, Parallel::new), 0);
    let delayed = failures(&program, 500, noisy(20, 200));
    assert!(delayed >= 20, "{delayed}");
}

#[test]
fn delays_that_are_too_short_show_nothing() {
    let program = Program::parse(JUST_IN_TIME).unwrap();
    assert_eq!(failures(&program, 500, noisy(20, 5)), 0);
    assert_eq!(failures(&program, 500, noisy(0, 200)), 0);
}

#[test]
fn a_lock_inversion_needs_one_delay() {
    let program = Program::parse(
        "lock a, b
         thread T1 { lock a; lock b; unlock b; unlock a }
         thread T2 { skip 20; lock b; lock a; unlock a; unlock b }",
    )
    .unwrap();
    assert_eq!(failures(&program, 500, Parallel::new), 0);
    let delayed = failures(&program, 500, noisy(30, 100));
    assert!(delayed >= 20, "{delayed}");
}

#[test]
fn a_delay_must_be_as_long_as_the_way_of_the_others() {
    // racefuzzer.txt §3.2: thread1 needs its fifty steps to get to statement
    // 8, and thread2 can only be held up where it is created.
    let program = Program::parse(figures::RACEFUZZER_2).unwrap();
    assert_eq!(failures(&program, 300, noisy(100, 20)), 0);
    let delayed = failures(&program, 300, noisy(100, 1_000));
    assert!((20..150).contains(&delayed), "{delayed}");
}
