//! Splitting the variables over workers changes nothing.

use racehound_detect::Which;
use racehound_detect::offline::{Options, Outcome, analyze};
use racehound_trace::generate::{Chaos, Generator, Preset, chaos};
use racehound_trace::{Space, Trace};

fn warnings(trace: &Trace, jobs: usize, all_pairs: bool) -> Vec<Outcome> {
    let options = Options {
        jobs,
        all_pairs,
        ..Options::default()
    };
    let mut outcomes = analyze(&mut trace.source(), Which::ALL, &options, &mut |_| {}).unwrap();
    for outcome in &mut outcomes {
        outcome.stats = Default::default();
    }
    outcomes
}

#[test]
fn any_number_of_workers_finds_what_one_finds() {
    for seed in 0..60 {
        for space in [Space::Names, Space::Addresses] {
            let trace = chaos(&Chaos {
                seed,
                space,
                events: 400,
                threads: 4,
                // Several pages, with accesses across their borders.
                variables: 200,
                sites: 40,
                ..Chaos::default()
            });
            for all_pairs in [false, true] {
                let one = warnings(&trace, 1, all_pairs);
                for jobs in [2, 3, 7] {
                    assert_eq!(
                        warnings(&trace, jobs, all_pairs),
                        one,
                        "seed {seed}, {jobs} jobs"
                    );
                }
            }
        }
    }
}

#[test]
fn planted_races_are_found_and_nothing_else() {
    let mut workload = Preset::find("racy").unwrap().workload();
    workload.events = 100_000;
    let trace = Trace::collect(Generator::new(workload).unwrap()).unwrap();
    let count = |which: Which| {
        let outcomes = warnings(&trace, 1, false);
        let outcome = outcomes.into_iter().find(|o| o.detector == which).unwrap();
        outcome.warnings.len()
    };
    assert_eq!(count(Which::FastTrack), 20);
    assert_eq!(count(Which::Djit), 20);
    assert_eq!(count(Which::AccuLock), 40);
    assert_eq!(count(Which::Hybrid), 40);
}
