//! FastTrack and Djit+ against brute-force happens-before, Hybrid against its
//! formula, on traces that do anything a program may do.

mod oracle;

use std::collections::{BTreeMap, BTreeSet};

use oracle::{Access, Oracle};
use racehound_detect::Which;
use racehound_detect::offline::{Options, Side, Warning, analyze};
use racehound_trace::generate::{Chaos, chaos};
use racehound_trace::{SiteId, Space, Trace};

fn run(trace: &Trace, which: Which, options: &Options) -> Vec<Warning> {
    let mut source = trace.source();
    let mut outcomes = analyze(&mut source, &[which], options, &mut |_| {}).unwrap();
    outcomes.remove(0).warnings
}

/// Chaos of many shapes.
fn traces(count: u64, space: Space) -> impl Iterator<Item = (u64, Trace)> {
    (0..count).map(move |seed| {
        let trace = chaos(&Chaos {
            seed,
            space,
            events: 20 + (seed % 5) as usize * 25,
            threads: 2 + (seed % 4) as u32,
            variables: 1 + (seed % 3) as u32,
            locks: 1 + (seed % 2) as u32,
            everything: seed % 4 != 0,
            ..Chaos::default()
        });
        (seed, trace)
    })
}

fn is(side: &Side, access: &Access) -> bool {
    side.thread == access.thread
        && side.site == access.site
        && side.kind.is_write() == access.is_write
        && side.kind.is_atomic() == access.is_atomic
}

/// The first race of every life of every location: with whom, and when.
fn first_races(oracle: &Oracle<'_>) -> Vec<(u64, usize, Vec<Access>)> {
    let mut found = Vec::new();
    for (loc, list) in oracle.accesses() {
        let first = list.iter().enumerate().find_map(|(i, b)| {
            let races = |a: &&Access| oracle::conflict(a, b) && !oracle.ordered(a.event, b.event);
            let partners: Vec<Access> = list[..i].iter().filter(races).copied().collect();
            (!partners.is_empty()).then_some((loc, b.event, partners))
        });
        found.extend(first);
    }
    found
}

#[test]
fn the_first_race_of_every_variable_is_found_where_it_happens() {
    let mut races = 0;
    for (seed, trace) in traces(20_000, Space::Names) {
        let oracle = Oracle::new(&trace, true);
        let mut expected = first_races(&oracle);
        expected.sort_by_key(|(loc, event, _)| (*event, *loc));
        races += expected.len();
        for which in [Which::FastTrack, Which::Djit] {
            let warnings = run(&trace, which, &Options::default());
            let found: Vec<_> = warnings
                .iter()
                .map(|w| (w.loc.0, w.event as usize))
                .collect();
            let wanted: Vec<_> = expected
                .iter()
                .map(|(loc, event, _)| (*loc, *event))
                .collect();
            assert_eq!(found, wanted, "{which}, seed {seed}");
            for (warning, (_, _, partners)) in warnings.iter().zip(&expected) {
                assert!(
                    partners.iter().any(|p| is(&warning.first, p)),
                    "{which}, seed {seed}: {:?} is not among {partners:?}",
                    warning.first
                );
            }
        }
    }
    assert!(
        races > 5_000,
        "the traces must race to test anything: {races}"
    );
}

#[test]
fn every_byte_has_its_own_first_race() {
    for (seed, trace) in traces(6_000, Space::Addresses) {
        let oracle = Oracle::new(&trace, true);
        let expected: BTreeSet<usize> = first_races(&oracle).iter().map(|r| r.1).collect();
        for which in [Which::FastTrack, Which::Djit] {
            let warnings = run(&trace, which, &Options::default());
            let found: BTreeSet<usize> = warnings.iter().map(|w| w.event as usize).collect();
            assert_eq!(found, expected, "{which}, seed {seed}");
        }
    }
}

#[test]
fn with_all_pairs_every_reported_pair_is_a_race() {
    for (seed, trace) in traces(4_000, Space::Names) {
        let oracle = Oracle::new(&trace, true);
        let mut partners: BTreeMap<usize, Vec<Access>> = BTreeMap::new();
        for (_, a, b) in oracle.happens_before_races() {
            partners.entry(b.event).or_default().push(a);
        }
        let options = Options {
            all_pairs: true,
            ..Options::default()
        };
        for which in [Which::FastTrack, Which::Djit, Which::MultiRace] {
            for warning in run(&trace, which, &options) {
                let known = partners.get(&(warning.event as usize));
                assert!(
                    known.is_some_and(|all| all.iter().any(|p| is(&warning.first, p))),
                    "{which}, seed {seed}: {warning:?}"
                );
            }
        }
    }
}

fn site_pairs(races: &[(u64, Access, Access)]) -> BTreeSet<(SiteId, SiteId)> {
    let pair = |a: SiteId, b: SiteId| (a.min(b), a.max(b));
    races.iter().map(|(_, a, b)| pair(a.site, b.site)).collect()
}

#[test]
fn hybrid_is_its_formula() {
    for (seed, trace) in traces(10_000, Space::Names) {
        let oracle = Oracle::new(&trace, false);
        let expected = oracle.hybrid_races();
        let options = Options {
            all_pairs: true,
            ..Options::default()
        };
        let found: BTreeSet<_> = run(&trace, Which::Hybrid, &options)
            .iter()
            .map(Warning::pair)
            .collect();
        assert_eq!(found, site_pairs(&expected), "seed {seed}");

        let located: BTreeSet<u64> = run(&trace, Which::Hybrid, &Options::default())
            .iter()
            .map(|w| w.loc.0)
            .collect();
        let expected: BTreeSet<u64> = expected.iter().map(|(loc, _, _)| *loc).collect();
        assert_eq!(located, expected, "seed {seed}");
    }
}
