//! One prediction for each set of places, and the events that are behind it.

use racehound_predict::{Options, Prediction, predict};
use racehound_trace::{Trace, rapid};

fn instances(text: &str) -> Vec<Vec<Vec<u32>>> {
    let trace = Trace::collect(rapid::Reader::new(text.as_bytes())).unwrap();
    let forecast = predict(&trace, &Options::default());
    let events = |p: &Prediction| forecast.instances(p).map(|i| i.events).collect();
    forecast.predictions.iter().map(events).collect()
}

#[test]
fn the_same_places_with_other_memory_are_one_prediction() {
    let all = instances("T1|w(x)|3\nT1|w(y)|3\nT2|w(x)|7\nT2|w(y)|7\n");
    assert_eq!(all, [[[0, 2], [1, 3]]]);
}

#[test]
fn who_came_first_does_not_matter() {
    let all = instances("T1|w(x)|3\nT2|r(x)|7\nT2|r(y)|7\nT1|w(y)|3\n");
    assert_eq!(all, [[[0, 1], [3, 2]]]);
}

#[test]
fn there_are_not_too_many() {
    let accesses = [("T1|w", 3), ("T2|r", 7)];
    let of_thread = |(deed, line): (&str, u32)| -> String {
        (0..100).map(|i| format!("{deed}(x{i})|{line}\n")).collect()
    };
    let text: String = accesses.into_iter().map(of_thread).collect();
    assert_eq!(instances(&text)[0].len(), 64);
}
