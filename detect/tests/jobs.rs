//! Splitting the variables over workers changes nothing.

use racehound_detect::Which;
use racehound_detect::offline::{Options, Outcome, analyze};
use racehound_trace::generate::{Chaos, Generator, Preset, chaos};
use racehound_trace::{Builder, Event, Loc, Mode, Op, SiteId, Space, SyncId, ThreadId, Trace};

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

/// Addresses and sizes at their limits.
fn memory(events: &[(u32, Op)]) -> Trace {
    let mut b = Builder::over(Space::Addresses);
    for name in ["T0", "T1", "T2"] {
        b.thread(name);
    }
    b.sync("s");
    for (i, (thread, op)) in events.iter().enumerate() {
        b.push(ThreadId(*thread), &i.to_string(), *op);
    }
    b.finish()
}

#[test]
fn blocks_of_several_pages_are_freed_alike_by_any_number_of_workers() {
    let sem = SyncId(0);
    let block = |thread, op: fn(Loc, u32) -> Op| (thread, op(Loc(0), 2048));
    let free = |loc, size| Op::Free { loc, size };
    let write = |loc, size| Op::Write { loc, size };
    let trace = memory(&[
        block(0, free),
        (0, Op::SemPost { sem }),
        (1, Op::SemWait { sem }),
        block(1, write),
        block(2, free),
    ]);
    for all_pairs in [false, true] {
        let one = warnings(&trace, 1, all_pairs);
        for jobs in [2, 3] {
            assert_eq!(warnings(&trace, jobs, all_pairs), one, "{jobs} jobs");
        }
    }
}

#[test]
fn the_last_bytes_of_the_address_space_are_memory_too() {
    let (loc, size) = (Loc(u64::MAX - 8), 8);
    let trace = memory(&[
        (0, Op::Write { loc, size }),
        (1, Op::Free { loc, size }),
        (2, Op::Alloc { loc, size }),
        (2, Op::Read { loc, size }),
    ]);
    let outcomes = warnings(&trace, 1, false);
    let fasttrack = outcomes.iter().find(|o| o.detector == Which::FastTrack);
    assert_eq!(fasttrack.unwrap().warnings.len(), 1);
}

#[test]
fn many_threads_and_deep_locks_take_little() {
    // Quadratic memory would not survive this.
    let mut b = Builder::over(Space::Addresses);
    b.site("1");
    let mut trace = b.finish();
    let event = |thread, op| Event {
        thread: ThreadId(thread),
        site: SiteId(0),
        op,
    };
    let (loc, size, mode) = (Loc(64), 1, Mode::Exclusive);
    trace.events = (0..50_000)
        .map(|t| event(t, Op::Read { loc, size }))
        .collect();
    let lock = |i| Op::Acquire {
        lock: SyncId(i),
        mode,
    };
    trace.events.extend((0..5_000).map(|i| event(0, lock(i))));
    trace.events.push(event(0, Op::Write { loc, size }));
    let options = Options::default();
    for which in [Which::Eraser, Which::FastTrack, Which::AccuLock] {
        let outcomes = analyze(&mut trace.source(), &[which], &options, &mut |_| {}).unwrap();
        assert_eq!(outcomes[0].warnings.len(), 1, "{which}");
    }
}
