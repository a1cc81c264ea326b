//! The history against a plain list of executions.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use racehound_sample::{BYTES, Damaged, Function, History, Pair, WINDOW, WORDS, is_unfinished};

fn zeroes() -> Vec<AtomicU64> {
    (0..WORDS).map(|_| AtomicU64::new(0)).collect()
}

fn pair(n: u64) -> Pair {
    Pair::new(Function(n + 1), Function(1000))
}

/// Processes that begin, see some pairs, and end, or die.
#[derive(Clone, Debug)]
enum Event {
    Begin,
    See(prop::sample::Index, u64),
    End(prop::sample::Index),
    Die(prop::sample::Index),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        3 => Just(Event::Begin),
        8 => (any::<prop::sample::Index>(), 0..5u64).prop_map(|(who, n)| Event::See(who, n)),
        2 => any::<prop::sample::Index>().prop_map(Event::End),
        1 => any::<prop::sample::Index>().prop_map(Event::Die),
    ];
    prop::collection::vec(event, 0..150)
}

struct Running {
    process: u32,
    number: u32,
    saw: BTreeSet<u64>,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// A pair is n-frequent if it met in each of the last n executions that had ended,
    /// however they overlap and whether they ended or were killed.
    #[test]
    fn frequent_is_what_met_in_each_of_the_last(events in events(), frequency in 1..5u32) {
        let words = zeroes();
        let history = History::over(&words).unwrap();
        let mut running: Vec<Running> = Vec::new();
        let mut ended: Vec<(u32, BTreeSet<u64>)> = Vec::new();
        let mut dead: Vec<Running> = Vec::new();
        let mut processes = 0;
        for event in events {
            match event {
                Event::Begin if running.len() < 6 => {
                    processes += 1;
                    let alive: BTreeSet<u32> = running.iter().map(|r| r.process).collect();
                    let execution =
                        history.begin(processes, frequency, |process| alive.contains(&process));
                    // Who died is found now, in the order of the places they had.
                    dead.sort_by_key(|d| d.number);
                    let died: Vec<_> = dead.drain(..).map(|d| (d.number, d.saw)).collect();
                    // Several at once: which counts as the last is as good as any.
                    prop_assume!(died.len() <= 1);
                    ended.extend(died);
                    let enough = ended.len() >= frequency as usize;
                    prop_assert_eq!(execution.last.is_some(), enough);
                    let last = &ended[ended.len().saturating_sub(frequency as usize)..];
                    for n in 0..5 {
                        let recalled = execution
                            .last
                            .as_ref()
                            .and_then(|last| history.recall(pair(n), last));
                        // What is further away than anybody remembers is forgotten.
                        let near = last.iter().all(|(number, _)| {
                            history.pairs().all(|(p, record)| {
                                p != pair(n) || record.last < number + WINDOW
                            })
                        });
                        let met = enough && near && last.iter().all(|(_, saw)| saw.contains(&n));
                        prop_assert_eq!(recalled.is_some(), met, "pair {}", n);
                    }
                    running.push(Running {
                        process: processes,
                        number: execution.number,
                        saw: BTreeSet::new(),
                    });
                }
                Event::See(who, n) if !running.is_empty() => {
                    let who = who.index(running.len());
                    prop_assert!(history.note(pair(n), running[who].number, 1));
                    running[who].saw.insert(n);
                }
                Event::End(who) if !running.is_empty() => {
                    let over = running.remove(who.index(running.len()));
                    history.end(over.number);
                    ended.push((over.number, over.saw));
                }
                Event::Die(who) if !running.is_empty() => {
                    dead.push(running.remove(who.index(running.len())));
                }
                _ => {}
            }
        }
    }

    /// What was frequent on either machine is so after they were brought together.
    #[test]
    fn merging_loses_nothing_that_is_frequent(
        here in prop::collection::vec(prop::collection::btree_set(0..8u64, 0..6), 0..6),
        there in prop::collection::vec(prop::collection::btree_set(0..8u64, 0..6), 0..6),
        frequency in 1..4u32,
    ) {
        let (ours, theirs) = (zeroes(), zeroes());
        for (words, executions) in [(&ours, &here), (&theirs, &there)] {
            let history = History::over(words).unwrap();
            for (process, saw) in (1..).zip(executions) {
                let execution = history.begin(process, frequency, |_| true);
                for &n in saw {
                    history.note(pair(n), execution.number, 3);
                }
                history.end(execution.number);
            }
        }
        let history = History::over(&ours).unwrap();
        history.merge(History::over(&theirs).unwrap());
        let ended = history.summary(frequency).ended;
        history.merge(History::over(&theirs).unwrap());
        prop_assert_eq!(history.summary(frequency).ended, ended, "merged before");
        let execution = history.begin(99, frequency, |_| true);
        let is_frequent = |executions: &[BTreeSet<u64>], n| {
            executions.len() >= frequency as usize
                && executions.iter().rev().take(frequency as usize).all(|saw| saw.contains(&n))
        };
        for n in 0..8 {
            let was = is_frequent(&here, n) || is_frequent(&there, n);
            let last = execution.last.as_deref();
            let is = last.and_then(|last| history.recall(pair(n), last)).is_some();
            prop_assert!(is || !was, "pair {}", n);
        }
    }
}

#[test]
fn many_at_once_lose_nothing() {
    let words = zeroes();
    let history = History::over(&words).unwrap();
    std::thread::scope(|scope| {
        for process in 1..=8u32 {
            scope.spawn(move || {
                let execution = history.begin(process, 2, |_| true);
                for round in 0..1000 {
                    for n in 0..16 {
                        assert!(history.note(pair(n), execution.number, 1));
                    }
                    history.set_function(round, Function(round + 1));
                }
                history.end(execution.number);
            });
        }
    });
    let summary = history.summary(8);
    assert_eq!((summary.begun, summary.ended), (8, 8));
    assert_eq!((summary.pairs, summary.frequent), (16, 16));
    let all: Vec<_> = history.pairs().collect();
    assert!(
        all.iter().all(|(_, record)| record.calls == 8000),
        "{all:?}"
    );
    // Place 0 is taken for 1.
    assert_eq!(summary.functions, 999);
}

#[test]
fn pairs_that_nobody_sees_any_more_give_way() {
    let words = zeroes();
    let history = History::over(&words).unwrap();
    let mut seen = 0;
    // Each execution sees a lot of pairs that no other does, and a few that all do.
    for process in 1..=200 {
        let execution = history.begin(process, 2, |_| true);
        for n in 0..2000 {
            assert!(history.note(pair(1_000_000 + seen + n), execution.number, 1));
        }
        seen += 2000;
        for n in 0..50 {
            assert!(history.note(pair(n), execution.number, 1));
        }
        history.end(execution.number);
    }
    let summary = history.summary(2);
    assert_eq!(summary.frequent, 50);
    assert!(summary.pairs <= 2000 * WINDOW as usize + 50, "{summary:?}");
    assert_eq!(summary.refused, 0);
}

#[test]
fn without_room_there_is_no_memory_and_no_harm() {
    let words = zeroes();
    let history = History::over(&words).unwrap();
    let execution = history.begin(1, 1, |_| true);
    let noted = (0..200_000).filter(|&n| history.note(pair(n), execution.number, 1));
    let noted = noted.count();
    assert!((40_000..200_000).contains(&noted), "{noted}");
    assert_eq!(history.summary(1).refused, 200_000 - noted as u64);
    history.end(execution.number);
    let execution = history.begin(2, 1, |_| true);
    let last = execution.last.unwrap();
    let known = (0..200_000).filter(|&n| history.recall(pair(n), &last).is_some());
    assert_eq!(known.count(), noted);
}

#[test]
fn what_is_no_history_is_refused() {
    let words = zeroes();
    words[0].store(42, Ordering::Relaxed);
    assert_eq!(History::over(&words).unwrap_err(), Damaged);
    assert_eq!(History::over(&words[..100]).unwrap_err(), Damaged);
}

#[test]
fn builds_that_are_gone_give_way() {
    let words = zeroes();
    let history = History::over(&words).unwrap();
    let place = |build: u64, at: u64| Function::named(&build.to_string(), &at.to_string()).0;
    for build in 0..100 {
        for at in 0..2000 {
            history.set_function(place(build, at), Function(at + 1));
        }
        let found = (0..2000).filter(|&at| history.function(place(build, at)).is_some());
        // The last one has pushed out a few of its own at most.
        assert!(found.count() > 1900, "build {build}");
        let is_right = |at: u64| {
            let function = history.function(place(build, at));
            function.is_none_or(|function| function == Function(at + 1))
        };
        assert!((0..2000).all(is_right), "build {build}");
    }
}

#[test]
fn a_file_that_nobody_came_to_finish_is_as_good_as_none() {
    assert!(is_unfinished(0, &[]));
    assert!(is_unfinished(3, &[0; 3]));
    assert!(is_unfinished(BYTES - 1, &[0; 8]));
    assert!(!is_unfinished(3, b"abc"));
    assert!(!is_unfinished(BYTES - 1, b"RHPAIRS\x01"));
    assert!(!is_unfinished(BYTES, &[0; 8]) && !is_unfinished(BYTES + 1, &[0; 8]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A disk that lies, or a crash of the system: whatever the words are, it goes on.
    #[test]
    fn whatever_the_words_are_nothing_is_worse_than_forgotten(
        seed in any::<u64>(),
        ones in prop::collection::vec((0..400usize, prop_oneof![Just(u64::MAX), Just(1 << 32), Just(1)]), 0..40),
    ) {
        let magic = zeroes();
        History::over(&magic).unwrap();
        let words = zeroes();
        let mut random = seed;
        for word in &words {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            word.store(random ^ random >> 29, Ordering::Relaxed);
        }
        for (at, value) in ones {
            words[at].store(value, Ordering::Relaxed);
        }
        words[0].store(magic[0].load(Ordering::Relaxed), Ordering::Relaxed);
        let history = History::over(&words).unwrap();
        let fresh = zeroes();
        for process in 1..4 {
            let execution = history.begin(process, 2, |process| process % 3 == 0);
            for n in 0..20 {
                history.note(pair(n), execution.number, 3);
                if let Some(last) = &execution.last {
                    history.recall(pair(n), last);
                }
                history.set_function(n, Function(n + 1));
            }
            history.end(execution.number);
        }
        history.summary(2);
        history.merge(History::over(&fresh).unwrap());
        History::over(&fresh).unwrap().merge(history);
    }
}
