//! Theorems 1–3 and Lemmas 1–2 of acculock.txt as properties of traces.

mod oracle;

use std::collections::BTreeSet;

use oracle::{Access, Oracle};
use racehound_detect::Which;
use racehound_detect::offline::{Options, Warning, analyze};
use racehound_detect::order::Volatiles;
use racehound_trace::generate::{Chaos, chaos};
use racehound_trace::{Builder, Mode, Op, Rng, Space, Trace};

fn run(trace: &Trace, detectors: &[Which], options: &Options) -> Vec<Vec<Warning>> {
    let mut source = trace.source();
    let outcomes = analyze(&mut source, detectors, options, &mut |_| {}).unwrap();
    outcomes
        .into_iter()
        .map(|outcome| outcome.warnings)
        .collect()
}

fn locations(warnings: &[Warning]) -> BTreeSet<u64> {
    warnings.iter().map(|w| w.loc.0).collect()
}

fn traces(count: u64) -> impl Iterator<Item = (u64, Trace)> {
    (0..count).map(|seed| {
        let trace = chaos(&Chaos {
            seed: seed + 1_000_000,
            space: Space::Names,
            events: 20 + (seed % 5) as usize * 30,
            threads: 2 + (seed % 4) as u32,
            variables: 1 + (seed % 4) as u32,
            locks: 1 + (seed % 3) as u32,
            everything: seed % 3 != 0,
            ..Chaos::default()
        });
        (seed, trace)
    })
}

#[test]
fn theorem_1_acculock_reports_no_more_locations_than_lockset() {
    let mut fewer = 0;
    for (seed, trace) in traces(10_000) {
        let found = run(
            &trace,
            &[Which::AccuLock, Which::LockSet],
            &Options::default(),
        );
        let (accu, lockset) = (locations(&found[0]), locations(&found[1]));
        assert!(
            accu.is_subset(&lockset),
            "seed {seed}: {accu:?} {lockset:?}"
        );
        fewer += usize::from(accu != lockset);
    }
    assert!(fewer > 0, "LockSet must report more somewhere");
}

#[test]
fn theorem_2_acculock_misses_no_location_that_fasttrack_reports() {
    let mut more = 0;
    for volatiles in [Volatiles::AsEdges, Volatiles::AsLocks] {
        let options = Options {
            volatiles,
            ..Options::default()
        };
        for (seed, trace) in traces(10_000) {
            let found = run(&trace, &[Which::FastTrack, Which::AccuLock], &options);
            let (fast, accu) = (locations(&found[0]), locations(&found[1]));
            assert!(fast.is_subset(&accu), "seed {seed}: {fast:?} {accu:?}");
            more += usize::from(fast != accu);
        }
    }
    assert!(more > 0, "AccuLock must report more somewhere");
}

/// Every location has a lock of its own, which an access holds or does not.
fn fixed_locks(seed: u64) -> Trace {
    let mut rng = Rng::new(seed);
    let mut b = Builder::new();
    let threads = [b.thread("T0"), b.thread("T1"), b.thread("T2")];
    let locations: Vec<_> = (0..3)
        .map(|i| (b.variable(&format!("x{i}")), b.sync(&format!("m{i}"))))
        .collect();
    for _ in 0..60 {
        let thread = threads[rng.index(threads.len())];
        let (loc, lock) = locations[rng.index(locations.len())];
        let mode = Mode::Exclusive;
        let locked = rng.chance(0.7);
        let site = rng.below(9).to_string();
        if locked {
            b.push(thread, &site, Op::Acquire { lock, mode });
        }
        for _ in 0..1 + rng.below(2) {
            let op = match rng.chance(0.5) {
                true => Op::Read { loc, size: 1 },
                false => Op::Write { loc, size: 1 },
            };
            b.push(thread, &site, op);
        }
        if locked {
            b.push(thread, &site, Op::Release { lock, mode });
        }
    }
    b.finish()
}

#[test]
fn theorem_3_with_a_fixed_lock_for_each_location_only_empty_set_races_are_reported() {
    let mut reported = 0;
    for seed in 0..3_000 {
        let trace = fixed_locks(seed);
        for all_pairs in [false, true] {
            let options = Options {
                all_pairs,
                ..Options::default()
            };
            for warning in &run(&trace, &[Which::AccuLock], &options)[0] {
                let common = warning.first.locks.iter();
                let mut common = common.filter(|lock| warning.second.locks.contains(lock));
                assert_eq!(common.next(), None, "seed {seed}: {warning:?}");
                reported += 1;
            }
        }
    }
    assert!(reported > 1_000);
}

/// Pairs of accesses of one thread to one location in one epoch.
fn same_epoch_pairs(oracle: &Oracle<'_>) -> Vec<(Vec<Access>, usize, usize)> {
    let mut pairs = Vec::new();
    for (_, list) in oracle.accesses() {
        for j in 0..list.len() {
            for i in 0..j {
                let (a, b) = (&list[i], &list[j]);
                let same_epoch = oracle.ticks[a.event] == oracle.ticks[b.event];
                if a.thread == b.thread && same_epoch && !a.is_atomic && !b.is_atomic {
                    pairs.push((list.clone(), i, j));
                }
            }
        }
    }
    pairs
}

/// Definition 2: the later access is redundant, and whatever races with it
/// later on races with the earlier one.
fn assert_redundant(oracle: &Oracle<'_>, list: &[Access], i: usize, j: usize, seed: u64) {
    let (a, b) = (&list[i], &list[j]);
    assert!(
        oracle.protection(a).is_subset(oracle.protection(b)),
        "seed {seed}: {a:?} {b:?}"
    );
    let races = |x: &Access, y: &Access| {
        oracle::conflict(x, y) && !oracle.ordered(x.event, y.event) && oracle.no_common_lock(x, y)
    };
    for future in &list[j + 1..] {
        if races(b, future) {
            assert!(races(a, future), "seed {seed}: {a:?} {b:?} {future:?}");
        }
    }
}

#[test]
fn lemma_1_a_read_is_redundant_after_any_access_in_the_same_epoch() {
    let mut checked = 0;
    for (seed, trace) in traces(3_000) {
        let oracle = Oracle::new(&trace, false);
        for (list, i, j) in same_epoch_pairs(&oracle) {
            if !list[j].is_write {
                assert_redundant(&oracle, &list, i, j, seed);
                checked += 1;
            }
        }
    }
    assert!(checked > 1_000, "{checked}");
}

#[test]
fn lemma_2_a_write_is_redundant_after_a_write_in_the_same_epoch() {
    let mut checked = 0;
    for (seed, trace) in traces(3_000) {
        let oracle = Oracle::new(&trace, false);
        for (list, i, j) in same_epoch_pairs(&oracle) {
            if list[i].is_write && list[j].is_write {
                assert_redundant(&oracle, &list, i, j, seed);
                checked += 1;
            }
        }
    }
    assert!(checked > 1_000, "{checked}");
}
