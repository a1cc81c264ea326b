//! The host: executions are real, and within the truth.

mod common;

use std::collections::BTreeSet;

use common::{assert_within, programs};
use racehound_model::{
    Execution, Limits, Outcome, Program, explore_patterns, figures, run, run_at_most,
};
use racehound_schedule::{Pending, Random, Sequential, Strategy};
use racehound_trace::check::Checker;
use racehound_trace::{Event, Op, SiteId, ThreadId};

fn assert_possible(program: &Program, execution: &Execution) {
    let mut checker = Checker::default();
    checker.check(&execution.trace.events);
    assert_eq!(
        checker.problem(),
        None,
        "{}\n{execution:#?}",
        program.source()
    );
}

#[test]
fn every_trace_could_have_happened() {
    let mut outcomes = BTreeSet::new();
    for (program, seed) in programs(3_000).zip(0..) {
        let execution = run(&program, &mut Random::new(seed));
        assert_possible(&program, &execution);
        outcomes.insert(match execution.outcome {
            Outcome::Finished => "finished",
            Outcome::Deadlock { .. } => "deadlock",
            Outcome::Failed { .. } => "failed",
            Outcome::Misuse { .. } => "misuse",
            Outcome::LoopBound { .. } => "loop bound",
            Outcome::StepLimit => "step limit",
        });
    }
    let expected = ["deadlock", "failed", "finished", "loop bound", "misuse"];
    assert!(outcomes.into_iter().eq(expected));
}

/// Another strategy, and the races that stood open while it chose.
struct Watching<S> {
    strategy: S,
    races: BTreeSet<(SiteId, SiteId)>,
}

impl<S: Strategy> Strategy for Watching<S> {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        for a in enabled {
            for b in enabled.iter().filter(|b| b.races_with(a)) {
                self.races.insert((a.site.min(b.site), a.site.max(b.site)));
            }
        }
        self.strategy.pick(enabled)
    }

    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        self.strategy.pick_waiter(waiters)
    }

    fn observe(&mut self, event: &Event) {
        self.strategy.observe(event);
    }
}

#[test]
fn whatever_an_execution_shows_is_in_the_truth() {
    let limits = Limits {
        max_states: 5_000,
        ..Limits::default()
    };
    let mut compared = 0;
    let mut seen = BTreeSet::new();
    for program in programs(900) {
        let Ok(truth) = explore_patterns(&program, &[], &limits) else {
            continue;
        };
        compared += 1;
        for seed in 0..20 {
            let mut watching = Watching {
                strategy: Random::new(seed),
                races: BTreeSet::new(),
            };
            let outcome = run(&program, &mut watching).outcome;
            let source = program.source();
            assert!(watching.races.is_subset(&truth.races), "{source}");
            seen.extend(watching.races);
            assert_within(&outcome, &truth, source);
        }
    }
    assert!(compared >= 500, "{compared}");
    assert!(seen.len() >= 10);
}

#[test]
fn the_sequential_execution_reads_like_the_program() {
    let program = Program::parse(
        "var x; volatile v; lock m
         thread T1 { lock m; x = x + 1; unlock m; v = 1 }
         thread T2 { atomic { r = v } }",
    )
    .unwrap();
    let execution = run(&program, &mut Sequential::new());
    let tables = &execution.trace.tables;
    let lines: Vec<_> = execution
        .trace
        .events
        .iter()
        .map(|e| format!("{} {}", tables.thread_name(e.thread), e.op.kind().name()))
        .collect();
    let expected = [
        "main fork",
        "main fork",
        "T1 acquire",
        "T1 read",
        "T1 write",
        "T1 release",
        "T1 atomic store",
        "main join",
        "T2 atomic region begin",
        "T2 atomic load",
        "T2 atomic region end",
        "main join",
    ];
    // Main is stuck at the first join until T1 has ended, and then goes on.
    assert_eq!(lines, expected);
    assert_eq!(execution.outcome, Outcome::Finished);
}

#[test]
fn a_notify_says_whom_it_woke() {
    let program = Program::parse(
        "lock m; cond c
         thread T1 { lock m; wait c m; unlock m }
         thread T2 { lock m; wait c m; unlock m }
         thread T3 { notify c; notify c; notify c }",
    )
    .unwrap();
    /// Sequential, but wakes the last waiter.
    struct LastWaiter(Sequential);
    impl Strategy for LastWaiter {
        fn pick(&mut self, enabled: &[Pending]) -> usize {
            self.0.pick(enabled)
        }
        fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
            waiters.len() - 1
        }
    }
    let execution = run(&program, &mut LastWaiter(Sequential::new()));
    let woken: Vec<_> = execution
        .trace
        .events
        .iter()
        .filter_map(|e| match e.op {
            Op::NotifyOne { woken, .. } => Some(woken),
            _ => None,
        })
        .collect();
    let (t1, t2) = (program.thread("T1"), program.thread("T2"));
    assert_eq!(woken, [Some(t2), Some(t1), None]);
    assert_eq!(execution.outcome, Outcome::Finished);
    assert_possible(&program, &execution);
}

#[test]
fn skips_are_steps_and_no_events() {
    struct Counting(u32);
    impl Strategy for Counting {
        fn pick(&mut self, _: &[Pending]) -> usize {
            self.0 += 1;
            0
        }
    }
    let program = Program::parse("thread main { skip 100; fence(seq_cst) }").unwrap();
    let mut counting = Counting(0);
    let execution = run(&program, &mut counting);
    assert_eq!((counting.0, execution.trace.events.len()), (101, 1));
    let cut = run_at_most(&program, &mut counting, 50);
    assert_eq!(cut.outcome, Outcome::StepLimit);
}

#[test]
fn a_deadlock_names_the_blocked() {
    let program = Program::parse(
        "lock a
         thread T { L: lock a; M: lock a }",
    )
    .unwrap();
    let Outcome::Deadlock { blocked } = run(&program, &mut Sequential::new()).outcome else {
        panic!("a plain lock cannot be taken twice");
    };
    assert_eq!(blocked[1], (program.thread("T"), program.site("M")));
    assert_eq!(blocked.len(), 2);
}

#[test]
fn racefuzzers_error_is_rarely_reached_at_random() {
    let program = Program::parse(figures::RACEFUZZER_2).unwrap();
    let failed = |seed| {
        let outcome = run(&program, &mut Random::new(seed)).outcome;
        matches!(outcome, Outcome::Failed { .. })
    };
    let failures = (0..1_000).filter(|seed| failed(*seed)).count();
    assert!(failures < 10, "{failures}");
}
