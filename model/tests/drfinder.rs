//! DrFinder on programs whose truth is known.
//!
//! *No false alarms*: what happens-before sees in a run that DrFinder schedules
//! can happen.
//!
//! *What it is for*: races that other ways of running hide behind locks, one or
//! several in a row.

mod common;

use std::collections::BTreeSet;
use std::fmt::Write;

use common::{assert_within, programs, set};
use racehound_detect::Which;
use racehound_detect::offline::{Options, Warning, analyze};
use racehound_model::{Execution, Limits, Outcome, Program, explore_patterns, figures, run};
use racehound_schedule::{
    Collector, Decision, DrFinder, Parallel, Random, Relations, Sequential, Strategy,
};
use racehound_trace::{Op, Rng, Trace};

fn observed(trace: &Trace) -> Vec<Warning> {
    let options = Options::default();
    let outcomes = analyze(
        &mut trace.source(),
        &[Which::FastTrack],
        &options,
        &mut |_| {},
    );
    outcomes.unwrap().remove(0).warnings
}

/// The races that happens-before sees, by the labels of their accesses.
fn races(program: &Program, trace: &Trace) -> BTreeSet<String> {
    let label = |site| program.label(site).unwrap_or("?").to_owned();
    let pair = |warning: &Warning| {
        let (a, b) = warning.pair();
        format!("{} {}", label(a), label(b))
    };
    observed(trace).iter().map(pair).collect()
}

/// A run that follows others, of which `relations` are known and to which its
/// own are added.
fn scheduled(program: &Program, seed: u64, relations: &mut Relations) -> (Execution, DrFinder) {
    let mut finder = DrFinder::new(seed, relations);
    let execution = run(program, &mut finder);
    relations.merge(&finder.relations());
    (execution, finder)
}

/// What so many runs, each with what the earlier ones have told, see.
fn campaign(program: &Program, first_seed: u64, runs: u64) -> BTreeSet<String> {
    let mut relations = Relations::default();
    let seeds = first_seed..first_seed + runs;
    seeds
        .flat_map(|seed| races(program, &scheduled(program, seed, &mut relations).0.trace))
        .collect()
}

fn figure() -> Program {
    Program::parse(figures::DRFINDER_2).unwrap()
}

#[test]
fn the_relations_of_figure_2_are_table_1() {
    let table = [
        ("f1", "c1 ck cn"),
        ("f2", "c1 cn"),
        ("f3", "c2 c3 cn"),
        ("f4", "c2 c3 cn"),
        ("f5", "cn"),
        ("f6", "c4 c5 ck"),
        ("f7", "c4 c5 ck"),
        ("f8", "ck"),
    ];
    let mut expected = Relations::default();
    for (function, classes) in table {
        for class in classes.split(' ') {
            expected.add(function, class);
        }
    }
    // The paper leaves out where threads begin.
    for seed in 0..10 {
        let mut all = Relations::default();
        scheduled(&figure(), seed, &mut all);
        let mut collected = Relations::default();
        for (function, class) in all.iter().filter(|(f, _)| f.starts_with('f')) {
            collected.add(function, class);
        }
        assert_eq!(collected, expected, "seed {seed}");
    }
}

#[test]
fn the_depth_limits_what_is_related() {
    let collector = Collector::new(&Relations::default(), 1);
    let mut finder = DrFinder::with_collector(0, collector);
    run(&figure(), &mut finder);
    let relations = finder.relations();
    assert!(relations.may_trigger("f8", "ck") && !relations.may_trigger("f7", "ck"));
}

#[test]
fn figure_2_hides_both_races_and_drfinder_shows_them_within_a_few_runs() {
    let figure = figure();
    let trace = run(&figure, &mut Sequential::new()).trace;
    assert_eq!(races(&figure, &trace), set([]));
    let both = set(["m1 m4", "m2 m3"]);
    let campaigns = |runs: u64| {
        let campaigns = (0..50).map(|n| campaign(&figure, 100 * n, runs));
        campaigns.filter(|races| *races == both).count()
    };
    let counts = [5, 10, 20].map(campaigns);
    assert!(
        counts[0] >= 30 && counts[1] >= 45 && counts[2] == 50,
        "{counts:?}"
    );
}

#[test]
fn figure_2_is_reversed_for_the_reasons_of_section_3() {
    let figure = figure();
    let mut relations = Relations::default();
    scheduled(&figure, 0, &mut relations);
    let mut log = BTreeSet::new();
    for seed in 0..50 {
        let (_, finder) = scheduled(&figure, seed, &mut relations);
        let decisions = finder.decisions().iter();
        log.extend(decisions.map(|(_, d)| finder.explain(d, figure.tables())));
    }
    // By their paths in the creation tree t1 is 0.1, t3 is 0.3.
    let foreseen = |inside: &str| {
        format!(
            "0.1 requests ck in f1 and is suspended: 0.3 is in {inside}, which may trigger that, \
             and is escorted"
        )
    };
    assert!(
        ["f6", "f7"].iter().any(|f| log.contains(&foreseen(f))),
        "{log:#?}"
    );
    let reversed = "0.3 acquires the very lock: the edge is reversed, 0.1 resumes";
    assert!(log.contains(reversed), "{log:#?}");
}

#[test]
fn the_first_race_of_a_scheduled_run_can_happen() {
    let limits = Limits {
        max_states: 20_000,
        ..Limits::default()
    };
    let (mut checked, mut suspensions) = (0, 0);
    for program in programs(400) {
        let Ok(truth) = explore_patterns(&program, &[], &limits) else {
            continue;
        };
        let mut relations = Relations::default();
        for seed in 0..6 {
            let (execution, finder) = scheduled(&program, seed, &mut relations);
            assert_within(&execution.outcome, &truth, program.source());
            let statistics = finder.statistics();
            assert!(statistics.reversed <= statistics.met);
            assert!(statistics.met.max(statistics.thrashings) <= statistics.suspensions);
            suspensions += statistics.suspensions;
            let weak = |op: &Op| match *op {
                Op::AtomicLoad { order, .. } => !order.acquires(),
                Op::AtomicStore { order, .. } => !order.releases(),
                Op::AtomicRmw { order, .. } => !order.acquires() || !order.releases(),
                Op::Fence { .. } => true,
                _ => false,
            };
            if execution.trace.events.iter().any(|e| weak(&e.op)) {
                continue;
            }
            if let Some(first) = observed(&execution.trace).first() {
                let (a, b) = first.pair();
                assert!(truth.has_race(a, b), "seed {seed}\n{}", program.source());
                checked += 1;
            }
        }
    }
    assert!(
        checked > 500 && suspensions > 500,
        "{checked}, {suspensions}"
    );
}

/// Two threads with a race (A, B) between accesses that `edges` locks order if
/// `early` comes to them first, which is near, while `late` has to take locks of
/// its own before each. No branches, so every race that happens-before sees is
/// one that can happen.
fn hidden(seed: u64, edges: usize) -> Program {
    let mut rng = Rng::new(seed);
    let mut text = String::from("var x, z\n");
    let (mut early, mut late) = (String::from("A: x = 1\n"), String::new());
    for edge in 0..edges {
        let own = 3 + rng.index(4);
        let _ = writeln!(text, "lock m{edge}, spare{edge} of c{edge}");
        let mut calls = String::new();
        for lock in 0..own {
            let _ = writeln!(text, "lock o{edge}_{lock}");
            let _ = write!(calls, "lock o{edge}_{lock}; unlock o{edge}_{lock}; ");
        }
        let inside = ["", "z = 1; "][rng.index(2)];
        let _ = writeln!(
            text,
            "fn near{edge} {{ lock m{edge}; {inside}unlock m{edge} }}"
        );
        let _ = writeln!(
            text,
            "fn deep{edge} {{ lock m{edge}; {inside}unlock m{edge} }}"
        );
        let _ = writeln!(text, "fn far{edge} {{ {calls}call deep{edge} }}");
        let _ = writeln!(early, "call near{edge}");
        let _ = writeln!(late, "call far{edge}");
    }
    let _ = writeln!(late, "B: read x");
    let _ = write!(
        text,
        "thread early {{ {early} }}\nthread late {{ {late} }}\n"
    );
    Program::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// In how many of 40 programs ten runs show the hidden race.
fn found(edges: usize, ten_runs: impl Fn(&Program) -> BTreeSet<String>) -> usize {
    let programs = (0..40).map(|seed| hidden(seed, edges));
    programs.filter(|p| ten_runs(p).contains("A B")).count()
}

#[test]
fn races_behind_one_lock_and_behind_several_are_shown() {
    for edges in 1..=5 {
        let others = |strategy: &dyn Fn(u64) -> Box<dyn Strategy>| {
            found(edges, |program| {
                let runs = (0..10).map(|seed| run(program, &mut strategy(seed)).trace);
                runs.flat_map(|trace| races(program, &trace)).collect()
            })
        };
        let by_drfinder = found(edges, |program| campaign(program, 0, 10));
        let by_random = others(&|seed| Box::new(Random::new(seed)));
        let by_itself = others(&|seed| Box::new(Parallel::new(seed)));
        let counts = (by_drfinder, by_random, by_itself);
        assert!(by_drfinder >= 38, "{edges} edges: {counts:?}");
        assert!(
            by_itself == 0 && by_random < by_drfinder,
            "{edges} edges: {counts:?}"
        );
    }
}

#[test]
fn whatever_is_seen_without_branches_can_happen() {
    for seed in 0..40 {
        let program = hidden(seed, 1 + seed as usize % 2);
        let truth = explore_patterns(&program, &[], &Limits::default()).unwrap();
        let mut relations = Relations::default();
        for seed in 0..10 {
            let (execution, _) = scheduled(&program, seed, &mut relations);
            for warning in observed(&execution.trace) {
                let (a, b) = warning.pair();
                assert!(truth.has_race(a, b), "{}", program.source());
            }
        }
    }
}

/// From within `right` nothing tells that a will be wanted, too.
const CROSSED: &str = "
var x
lock a, b
fn left { lock a; lock b; unlock b; unlock a }
fn right { lock b; skip 3 }
thread T1 { A: x = 1; call left }
thread T2 { call right; lock a; unlock a; unlock b }
thread T3 { B: read x }
";

#[test]
fn a_deadlock_ends_the_run_and_the_next_seed_goes_on() {
    let program = Program::parse(CROSSED).unwrap();
    let truth = explore_patterns(&program, &[], &Limits::default()).unwrap();
    let mut relations = Relations::default();
    let (mut deadlocks, mut finished) = (0, 0);
    for seed in 0..20 {
        let (execution, finder) = scheduled(&program, seed, &mut relations);
        assert_within(&execution.outcome, &truth, CROSSED);
        match execution.outcome {
            Outcome::Deadlock { .. } => deadlocks += 1,
            _ => finished += 1,
        }
        assert!(
            !finder.relations().is_empty(),
            "also a run that deadlocks tells something"
        );
        assert_eq!(races(&program, &execution.trace), set(["A B"]));
    }
    assert!(deadlocks > 0 && finished > 0, "{deadlocks}, {finished}");
}

#[test]
fn a_thousand_instances_are_one_class() {
    let program = Program::parse(
        "lock a, b of bucket
         fn one { lock a; unlock a }
         fn two { skip 3; lock b; unlock b }
         thread T1 { call one }
         thread T2 { call two }",
    )
    .unwrap();
    let mut relations = Relations::default();
    scheduled(&program, 0, &mut relations);
    assert!(relations.may_trigger("one", "bucket") && relations.may_trigger("two", "bucket"));
    let other_lock = |seed| {
        let (_, finder) = scheduled(&program, seed, &mut relations.clone());
        let mut decisions = finder.decisions().iter();
        decisions.any(|(_, d)| {
            matches!(
                d,
                Decision::Met {
                    same_lock: false,
                    ..
                }
            )
        })
    };
    assert!((0..20).any(other_lock));
}
