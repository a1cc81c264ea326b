//! Detectors on executions of programs whose truth is known.
//!
//! The first race that happens-before finds in an execution can really happen:
//! what precedes either access is free of races, so it runs the same way when
//! nothing else runs, and then both threads stand at their accesses together.
//! (Relaxed atomics are left out: C11 calls a race what sequentially consistent
//! interleavings, which is all a model program has, may not bring together.)

use racehound_detect::Which;
use racehound_detect::offline::{Options, analyze};
use racehound_model::random::{self, Shape};
use racehound_model::{Limits, Truth, explore_patterns, run};
use racehound_schedule::Random;
use racehound_trace::{Op, Trace};

fn has_weak_atomics(trace: &Trace) -> bool {
    trace.events.iter().any(|event| match event.op {
        Op::AtomicLoad { order, .. } => !order.acquires(),
        Op::AtomicStore { order, .. } => !order.releases(),
        Op::AtomicRmw { order, .. } => !order.acquires() || !order.releases(),
        Op::Fence { .. } => true,
        _ => false,
    })
}

/// Random programs that are small enough, with executions of each.
fn subjects(shape: Shape, count: u64, mut each: impl FnMut(u64, &Truth, &Trace)) {
    let limits = Limits {
        max_states: 20_000,
        ..Limits::default()
    };
    for seed in 0..count {
        let program = random::program(seed, &shape);
        let Ok(truth) = explore_patterns(&program, &[], &limits) else {
            continue;
        };
        for schedule in 0..6 {
            let trace = run(&program, &mut Random::new(schedule)).trace;
            each(seed, &truth, &trace);
        }
    }
}

#[test]
fn the_first_race_of_an_execution_can_happen() {
    let shapes = [
        Shape::default(),
        Shape {
            threads: 3,
            statements: 3,
            every_kind: false,
            ..Shape::default()
        },
    ];
    let mut checked = 0;
    for shape in shapes {
        subjects(shape, 400, |seed, truth, trace| {
            if has_weak_atomics(trace) {
                return;
            }
            for which in [Which::FastTrack, Which::Djit] {
                let mut source = trace.source();
                let options = Options::default();
                let outcomes = analyze(&mut source, &[which], &options, &mut |_| {}).unwrap();
                if let Some(first) = outcomes[0].warnings.first() {
                    let (a, b) = first.pair();
                    assert!(truth.has_race(a, b), "{which}, seed {seed}: {first:?}");
                    checked += 1;
                }
            }
        });
    }
    assert!(checked > 1_000, "{checked}");
}

#[test]
fn where_nothing_can_race_nothing_is_observed() {
    let mut clean = 0;
    subjects(Shape::default(), 400, |seed, truth, trace| {
        if truth.races.is_empty() && !has_weak_atomics(trace) {
            for which in [Which::FastTrack, Which::Djit, Which::MultiRace] {
                let mut source = trace.source();
                let options = Options::default();
                let outcomes = analyze(&mut source, &[which], &options, &mut |_| {}).unwrap();
                assert_eq!(outcomes[0].warnings, [], "{which}, seed {seed}");
            }
            clean += 1;
        }
    });
    assert!(clean > 200, "{clean}");
}
