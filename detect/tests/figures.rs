//! What the papers say of their figures: acculock.txt §III-C.3 on Figures 1–3,
//! racefuzzer.txt §3 on Figures 1 and 2.

use std::collections::BTreeSet;

use racehound_detect::Which;
use racehound_detect::offline::{Options, Outcome, Warning, Why, analyze};
use racehound_model::{Program, figures, run};
use racehound_schedule::{Pending, Random, Strategy};
use racehound_trace::{SiteId, ThreadId, Trace};

/// Runs the threads one after the other, as far as they can go.
struct InOrder(Vec<ThreadId>);

impl Strategy for InOrder {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        let rank = |thread: ThreadId| self.0.iter().position(|t| *t == thread);
        let first = (0..enabled.len()).min_by_key(|&i| rank(enabled[i].thread));
        first.expect("somebody is enabled")
    }
}

fn figure(text: &str) -> Program {
    Program::parse(text).unwrap()
}

/// The trace of the threads run in this order; main, which creates and joins
/// them, goes first.
fn in_order(program: &Program, names: &[&str]) -> Trace {
    let threads = ["main"].iter().chain(names).map(|n| program.thread(n));
    run(program, &mut InOrder(threads.collect())).trace
}

fn at_random(program: &Program, seed: u64) -> Trace {
    run(program, &mut Random::new(seed)).trace
}

fn outcome(trace: &Trace, which: Which, all_pairs: bool) -> Outcome {
    let options = Options {
        all_pairs,
        ..Options::default()
    };
    let mut outcomes = analyze(&mut trace.source(), &[which], &options, &mut |_| {}).unwrap();
    outcomes.remove(0)
}

fn warnings(trace: &Trace, which: Which) -> Vec<Warning> {
    outcome(trace, which, false).warnings
}

fn reports(trace: &Trace, which: Which) -> bool {
    !warnings(trace, which).is_empty()
}

fn pair(program: &Program, a: &str, b: &str) -> (SiteId, SiteId) {
    let (a, b) = (program.site(a), program.site(b));
    (a.min(b), a.max(b))
}

#[test]
fn figure_1a_acculock_always_fasttrack_by_luck() {
    let program = figure(figures::ACCULOCK_1A);
    let lucky = in_order(&program, &["T2", "T1"]);
    let unlucky = in_order(&program, &["T1", "T2"]);
    assert!(reports(&lucky, Which::FastTrack));
    assert!(!reports(&unlucky, Which::FastTrack));
    for seed in 0..300 {
        let trace = at_random(&program, seed);
        let found = warnings(&trace, Which::AccuLock);
        assert_eq!(found.len(), 1, "seed {seed}");
        assert_eq!(found[0].pair(), pair(&program, "A", "B"), "seed {seed}");
    }
}

#[test]
fn figure_1b_acculock_in_all_six_orders_fasttrack_in_four() {
    let program = figure(figures::ACCULOCK_1B);
    for (order, fasttrack) in [
        (["T1", "T2", "T3"], false),
        (["T1", "T3", "T2"], true),
        (["T2", "T1", "T3"], true),
        (["T2", "T3", "T1"], true),
        (["T3", "T1", "T2"], true),
        (["T3", "T2", "T1"], false),
    ] {
        let trace = in_order(&program, &order);
        assert_eq!(reports(&trace, Which::FastTrack), fasttrack, "{order:?}");
        let found = warnings(&trace, Which::AccuLock);
        assert_eq!(found.len(), 1, "{order:?}");
        assert_eq!(found[0].pair(), pair(&program, "A", "B"), "{order:?}");
        assert_eq!(found[0].why, Why::NoCommonLock, "{order:?}");
    }
}

#[test]
fn figure_1c_acculock_exactly_when_fasttrack() {
    let program = figure(figures::ACCULOCK_1C);
    let mut seen = BTreeSet::new();
    for seed in 0..300 {
        let trace = at_random(&program, seed);
        let fasttrack = reports(&trace, Which::FastTrack);
        assert_eq!(reports(&trace, Which::AccuLock), fasttrack, "seed {seed}");
        seen.insert(fasttrack);
    }
    assert_eq!(seen.len(), 2, "both cases must occur");
}

#[test]
fn figure_1d_acculock_warns_of_the_channel_and_fasttrack_never() {
    let program = figure(figures::ACCULOCK_1D);
    for seed in 0..300 {
        let trace = at_random(&program, seed);
        let handed_over = trace.events.iter().any(|e| e.site == program.site("B"));
        assert_eq!(reports(&trace, Which::AccuLock), handed_over, "seed {seed}");
        assert!(!reports(&trace, Which::FastTrack), "seed {seed}");
    }
}

#[test]
fn figure_2_the_second_access_shares_the_epoch_of_the_first_and_the_third_does_not() {
    let trace = in_order(&figure(figures::ACCULOCK_2A), &["T"]);
    let stats = outcome(&trace, Which::AccuLock, false).stats;
    assert_eq!((stats.read_same_epoch, stats.read_exclusive), (1, 2));
    let trace = in_order(&figure(figures::ACCULOCK_2B), &["T"]);
    let stats = outcome(&trace, Which::AccuLock, false).stats;
    assert_eq!((stats.write_same_epoch, stats.write_exclusive), (1, 2));
}

#[test]
fn figure_3_acculock_warns_of_accesses_that_share_a_lock() {
    let program = figure(figures::ACCULOCK_3);
    let l2 = |trace: &Trace| {
        let syncs = 0..trace.tables.syncs.len() as u32;
        let mut syncs = syncs.map(racehound_trace::SyncId);
        syncs.find(|s| trace.tables.sync_name(*s) == "l2").unwrap()
    };
    let mut warned = 0;
    for seed in 0..300 {
        let trace = at_random(&program, seed);
        assert!(!reports(&trace, Which::FastTrack), "seed {seed}");
        // The write of T2 between the two accesses of T1 makes the warning.
        let at = |label: &str| {
            let site = program.site(label);
            trace.events.iter().position(|e| e.site == site)
        };
        let t1 = program.thread("T1");
        let first = trace
            .events
            .iter()
            .position(|e| e.thread == t1 && e.op.access().is_some());
        let between = first < at("B") && at("B") < at("A");
        let found = warnings(&trace, Which::AccuLock);
        assert_eq!(!found.is_empty(), between, "seed {seed}");
        if let Some(warning) = found.first() {
            assert_eq!(warning.pair(), pair(&program, "A", "B"), "seed {seed}");
            assert_eq!(
                warning.why,
                Why::WritesShareOnly(vec![l2(&trace)]),
                "seed {seed}"
            );
            let shared = warning
                .second
                .locks
                .iter()
                .any(|l| warning.first.locks.contains(l));
            assert!(shared, "seed {seed}: not an ∅-race");
            warned += 1;
        }
    }
    assert!(warned > 0);
}

fn hybrid_pairs(trace: &Trace) -> BTreeSet<(SiteId, SiteId)> {
    let found = outcome(trace, Which::Hybrid, true).warnings;
    found.iter().map(Warning::pair).collect()
}

#[test]
fn racefuzzer_figure_1_hybrid_suspects_both_pairs() {
    let program = figure(figures::RACEFUZZER_1);
    let trace = in_order(&program, &["thread1", "thread2"]);
    let expected = [pair(&program, "5", "7"), pair(&program, "1", "10")];
    assert_eq!(hybrid_pairs(&trace), BTreeSet::from(expected));
}

#[test]
fn racefuzzer_figure_2_hybrid_always_suspects_the_pair_fasttrack_by_luck() {
    let program = figure(figures::RACEFUZZER_2);
    let mut observed = 0;
    for seed in 0..300 {
        let trace = at_random(&program, seed);
        assert_eq!(
            hybrid_pairs(&trace),
            BTreeSet::from([pair(&program, "8", "10")]),
            "seed {seed}"
        );
        observed += usize::from(reports(&trace, Which::FastTrack));
    }
    assert!((1..300).contains(&observed), "{observed}");
}
