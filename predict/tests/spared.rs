//! What is not searched, because nobody else can be there: nothing of it is suspected, and
//! nothing else is missed for it.

use racehound_predict::{Forecast, Options, predict};
use racehound_trace::{Builder, Loc, Mode, Op, Space, Trace};

/// A trace of lines such as `T fork U`, `T alloc 64`, `T acq l`, `U w 64`; memory is eight
/// bytes at an address.
fn trace(lines: &[&str]) -> Trace {
    let mut b = Builder::new();
    for (line, number) in lines.iter().zip(1..) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let loc = || Loc(words[2].parse().unwrap());
        let thread = b.thread(words[0]);
        let mode = Mode::Exclusive;
        let op = match words[1] {
            "fork" => Op::Fork {
                child: b.thread(words[2]),
            },
            "join" => Op::Join {
                child: b.thread(words[2]),
            },
            "acq" => Op::Acquire {
                lock: b.sync(words[2]),
                mode,
            },
            "rel" => Op::Release {
                lock: b.sync(words[2]),
                mode,
            },
            "alloc" => Op::Alloc {
                loc: loc(),
                size: 16,
            },
            "r" => Op::Read {
                loc: loc(),
                size: 8,
            },
            _ => Op::Write {
                loc: loc(),
                size: 8,
            },
        };
        b.push(thread, &number.to_string(), op);
    }
    let mut trace = b.finish();
    trace.space = Space::Addresses;
    trace
}

/// The predicted events, and how many suspicions were pruned.
fn found(lines: &[&str]) -> (Vec<Vec<u32>>, usize) {
    let trace = trace(lines);
    let forecast: Forecast<'_> = predict(&trace, &Options::default());
    let events = forecast.predictions.iter().map(|p| p.events.clone());
    (events.collect(), forecast.pruned.len())
}

const START: [&str; 2] = ["T fork U", "T fork V"];

#[test]
fn what_is_filled_in_before_it_is_linked_under_a_lock_is_protected_by_the_lock() {
    let lines = [
        &START[..],
        &["U alloc 64", "U w 72"],
        &["U acq l", "U w 8", "U rel l"],
        &["V acq l", "V r 8", "V w 72", "V rel l"],
        &["U acq l", "U r 72", "U w 72", "U rel l"],
    ];
    assert_eq!(found(&lines.concat()), (vec![], 0));
}

#[test]
fn what_is_filled_in_after_that_is_not() {
    let lines = [
        &START[..],
        &["U alloc 64", "U acq l", "U w 8", "U rel l", "U w 64"],
        &["V acq l", "V r 8", "V w 64", "V rel l"],
    ];
    let (predicted, _) = found(&lines.concat());
    assert_eq!(predicted, [[6, 9]]);
}

#[test]
fn what_is_filled_in_where_somebody_acts_before_the_region_ends_counts() {
    let lines = [
        &START[..],
        &[
            "U acq l",
            "U alloc 64",
            "U w 72",
            "U w 8",
            "U r 72",
            "U rel l",
        ],
        &["V r 8", "V w 72"],
    ];
    let (predicted, _) = found(&lines.concat());
    assert!(predicted.contains(&vec![4, 9, 6]), "{predicted:?}");
}

#[test]
fn what_is_done_before_there_are_others_and_after_them_is_not_suspected() {
    let lines = [
        &["T w 8"][..],
        &START,
        &["U acq l", "U r 8", "U w 8", "U rel l"],
        &["V acq l", "V r 8", "V w 8", "V rel l"],
        &["T join U", "T join V", "T r 8"],
    ];
    assert_eq!(found(&lines.concat()), (vec![], 0));
}
