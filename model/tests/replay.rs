//! Executions are repeatable: by their seed, and by their schedule.

mod common;

use common::programs;
use racehound_model::{Execution, Program, run};
use racehound_schedule::{
    ConTest, Fingerprint, Pair, Parallel, Pct, RaceFuzzer, Random, Recording, Replay, Schedule,
    Sequential, Strategy,
};
use racehound_trace::{SiteId, Trace};

/// The sites at which an execution accessed memory.
fn accesses(trace: &Trace) -> Vec<SiteId> {
    let accesses = trace.events.iter().filter(|e| e.op.access().is_some());
    accesses.map(|e| e.site).collect()
}

/// Every strategy there is. RaceFuzzer suspects everything of everything,
/// which makes for the most meetings.
fn strategies(program: &Program, seed: u64) -> Vec<(&'static str, Box<dyn Strategy>)> {
    let sites = accesses(&run(program, &mut Random::new(seed)).trace);
    let pair = Pair {
        first: sites.clone(),
        second: sites,
    };
    let noise = ConTest {
        percent: 50,
        longest: 20,
        ..ConTest::new(seed)
    };
    vec![
        ("sequential", Box::new(Sequential::new())),
        ("random", Box::new(Random::new(seed))),
        ("pct", Box::new(Pct::new(seed, 4, 20))),
        (
            "racefuzzer",
            Box::new(RaceFuzzer::new(seed, vec![pair.clone()])),
        ),
        (
            "hasty racefuzzer",
            Box::new(RaceFuzzer::new(seed, vec![pair]).with_patience(3)),
        ),
        ("free", Box::new(Parallel::new(seed))),
        ("contest", Box::new(Parallel::new(seed).with_noise(noise))),
    ]
}

fn record(program: &Program, strategy: &mut dyn Strategy) -> (Execution, Schedule) {
    let mut recording = Recording::new(strategy);
    let execution = run(program, &mut recording);
    let schedule = recording.schedule(program.tables());
    let fingerprint = Fingerprint::of(&execution.trace.events);
    assert_eq!(schedule.fingerprint, Some(fingerprint));
    (execution, schedule)
}

#[test]
fn every_strategy_repeats_itself_and_is_replayed_from_its_file() {
    let mut fingerprints = std::collections::BTreeSet::new();
    let mut met = 0;
    for (program, seed) in programs(700).zip(0..) {
        let again = strategies(&program, seed);
        let twins = strategies(&program, seed).into_iter().zip(again);
        for ((name, mut strategy), (_, mut twin)) in twins {
            let (first, schedule) = record(&program, &mut strategy);
            let (same, same_schedule) = record(&program, &mut twin);
            let about = || format!("{name}, seed {seed}:\n{}\n{schedule}", program.source());
            assert!(first == same && schedule == same_schedule, "{}", about());

            for text in [schedule.to_string(), schedule.in_brief().to_string()] {
                let mut replay = Replay::new(text.parse().unwrap(), program.tables());
                let replayed = run(&program, &mut replay);
                assert_eq!(replay.divergence(), None, "{}", about());
                assert!(replay.is_complete(), "{}", about());
                assert_eq!(replayed, first, "{}", about());
            }
            fingerprints.insert(schedule.fingerprint.unwrap().value());
            met += strategy.meetings().len();
        }
    }
    // Strategies and programs differ, and so do fingerprints.
    assert!(fingerprints.len() > 1_500, "{}", fingerprints.len());
    assert!(met > 700, "{met}");
}

#[test]
fn a_replay_of_another_program_diverges() {
    let program = |line: &str| {
        let text = format!("var x\nthread T1 {{ x = 1 }}\nthread T2 {{ {line}; x = 2 }}");
        Program::parse(&text).unwrap()
    };
    let recorded = program("read x");
    let (_, schedule) = record(&recorded, &mut Sequential::new());
    let text = schedule.to_string();
    let changed = program("r = 1");
    let mut replay = Replay::new(text.parse().unwrap(), changed.tables());
    let other = run(&changed, &mut replay);
    assert_eq!(other.outcome, racehound_model::Outcome::Finished);
    let divergence = replay.divergence().unwrap().to_string();
    let expected = "expected thread 0.2 at `read read x`, found thread 0.2 at `write x = 2`";
    assert!(divergence.ends_with(expected), "{divergence}\n{text}");
}

/// A wrong turn of any kind, at any place, is noticed or makes no difference.
#[test]
fn an_execution_that_differs_has_diverged() {
    let mut diverged = 0;
    for (program, other) in programs(400).zip(programs(800).skip(400)) {
        let (first, schedule) = record(&program, &mut Random::new(1));
        let mut replay = Replay::new(schedule.clone(), other.tables());
        let second = run(&other, &mut replay);
        let same = Fingerprint::of(&second.trace.events) == Fingerprint::of(&first.trace.events);
        assert!(same || !replay.is_complete() || replay.divergence().is_some());
        diverged += u32::from(replay.divergence().is_some());
    }
    assert!(diverged > 300, "{diverged}");
}

#[test]
fn a_schedule_can_be_written_by_hand() {
    let program = Program::parse(
        "var x
         thread T1 { x = x + 1 }
         thread T2 { x = x + 1 }
         thread main { fork T1; fork T2; join T1; join T2; assert x == 2 }",
    )
    .unwrap();
    let lost_update: Schedule = "racehound schedule 1\n0 x2\n0.1\n0.2 x2\n0.1\n"
        .parse()
        .unwrap();
    let mut replay = Replay::new(lost_update, program.tables());
    let outcome = run(&program, &mut replay).outcome;
    assert!(replay.is_complete());
    assert!(matches!(outcome, racehound_model::Outcome::Failed { .. }));
}
