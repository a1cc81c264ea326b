//! Predictions against the truth: what can happen is predicted, its schedule makes
//! it happen, and nothing else is confirmed (pecan.txt §6.2, §6.3).

mod common;

use std::collections::BTreeSet;

use common::{Subject, programs, set, subject};
use racehound_model::figures::{
    PECAN_1, PECAN_3, PECAN_4, PECAN_5, PECAN_5_UNORDERED, PECAN_JIGSAW, PECAN_OPENJMS,
    PECAN_STRINGBUFFER,
};
use racehound_model::{Execution, Limits, Outcome, Program, Truth, explore, explore_patterns, run};
use racehound_predict::pattern::{Kind, Pattern};
use racehound_predict::{Atomics, Forecast, Options, Prediction, predict};
use racehound_schedule::{Fate, Follow, Random, Schedule, Sequential, Strategy};
use racehound_trace::{Event, SiteId, Trace};

fn sites(trace: &Trace, prediction: &Prediction) -> Vec<SiteId> {
    let site = |e: &u32| trace.events[*e as usize].site;
    prediction.events.iter().map(site).collect()
}

/// Follows the schedule of a prediction, by way of its text.
fn follow(
    program: &Program,
    forecast: &Forecast<'_>,
    prediction: &Prediction,
) -> (Fate, Execution) {
    let (fate, _, execution) = follow_closely(program, forecast, prediction);
    (fate, execution)
}

/// The same, and where the anomaly's events were.
fn follow_closely(
    program: &Program,
    forecast: &Forecast<'_>,
    prediction: &Prediction,
) -> (Fate, Vec<SiteId>, Execution) {
    follow_schedule(program, &forecast.schedule(prediction).expect("it has one"))
}

fn follow_schedule(program: &Program, schedule: &Schedule) -> (Fate, Vec<SiteId>, Execution) {
    let text = schedule.to_string();
    let mut follow = Follow::new(text.parse().unwrap(), program.tables());
    let execution = run(program, &mut follow);
    let sites = follow.happened().map(|pending| pending.site).collect();
    (follow.fate().clone(), sites, execution)
}

/// Whether the truth has an anomaly of these sites.
fn is_true(truth: &Truth, kind: Kind, name: &str, sites: &[SiteId]) -> bool {
    match kind {
        Kind::Race => truth.has_race(sites[0], sites[1]),
        _ => truth.has_violation(name, sites),
    }
}

/// What is predicted and not pruned: `race: A B` and `PATTERN: A B C`.
fn names(subject: &Subject, trace: &Trace, forecast: &Forecast<'_>) -> BTreeSet<String> {
    let name = |p: &Prediction| {
        let pattern = forecast.pattern(p);
        let mut sites = sites(trace, p);
        if pattern.kind() == Kind::Race {
            sites.sort_unstable();
            return format!("race: {}", subject.names(&sites));
        }
        format!("{}: {}", pattern.name(), subject.names(&sites))
    };
    forecast.predictions.iter().map(name).collect()
}

/// Everything true of a straight program is predicted from any complete trace of
/// it, whose schedules make it happen.
fn check_straight(program: &Program, truth: &Truth, trace: &Trace, options: &Options) -> usize {
    let about = || format!("{}\n{}", program.source(), listing(program, trace));
    let forecast = predict(trace, options);
    let mut found: BTreeSet<(String, Vec<SiteId>)> = BTreeSet::new();
    for prediction in &forecast.predictions {
        let pattern = forecast.pattern(prediction);
        let mut places = sites(trace, prediction);
        let real = is_true(truth, pattern.kind(), pattern.name(), &places);
        assert!(prediction.has_schedule, "{}", about());
        let (fate, _) = follow(program, &forecast, prediction);
        assert_eq!(
            fate == Fate::Confirmed,
            real,
            "{} {places:?} {fate}\n{}\n{}",
            pattern.name(),
            forecast.schedule(prediction).unwrap(),
            about()
        );
        if pattern.kind() == Kind::Race {
            places.sort_unstable();
            found.insert(("race".to_owned(), places));
        } else {
            found.insert((pattern.name().to_owned(), places));
        }
    }
    let races = truth
        .races
        .iter()
        .map(|(a, b)| ("race".to_owned(), vec![*a, *b]));
    let violations = truth.violations.iter().flat_map(|(name, all)| {
        let named = |sites: &Vec<SiteId>| (name.clone(), sites.clone());
        all.iter().map(named).collect::<Vec<_>>()
    });
    let real: Vec<_> = races.chain(violations).collect();
    for anomaly in &real {
        let pruned: Vec<_> = forecast
            .pruned
            .iter()
            .map(|p| (forecast.pattern(p).name(), sites(trace, p), &p.events))
            .collect();
        assert!(
            found.contains(anomaly),
            "{anomaly:?}\n{}\n{pruned:?}",
            about()
        );
    }
    real.len()
}

fn listing(program: &Program, trace: &Trace) -> String {
    let tables = program.tables();
    let line = |(i, e): (usize, &Event)| {
        let thread = tables.thread_name(e.thread);
        format!("{i} {thread} {} {:?}\n", tables.site_name(e.site), e.op)
    };
    trace.events.iter().enumerate().map(line).collect()
}

/// Straight-line programs of threads with nested locks and regions.
mod straight {
    use racehound_model::Builder;
    use racehound_model::builder::Body;
    use racehound_trace::Rng;

    pub(crate) fn program(seed: u64) -> racehound_model::Program {
        let mut rng = Rng::new(seed);
        let (threads, locks, variables) = (2 + rng.index(2), 1 + rng.index(3), 1 + rng.index(2));
        let mut builder = Builder::new();
        for i in 0..variables {
            builder.var(&format!("x{i}"), 0);
        }
        for i in 0..locks {
            builder.lock(&format!("m{i}"));
        }
        let size = if threads == 2 { 7 } else { 4 };
        for i in 0..threads {
            builder.thread(&format!("T{i}"), |body| {
                block(&mut rng, body, size, &mut Vec::new(), locks, variables);
            });
        }
        if rng.chance(0.3) {
            builder.thread("main", |body| {
                for i in 0..threads {
                    body.fork(&format!("T{i}"));
                    if rng.chance(0.4) {
                        block(&mut rng, body, 1, &mut Vec::new(), locks, variables);
                    }
                    if rng.chance(0.2) {
                        body.join(&format!("T{i}"));
                    }
                }
            });
        }
        racehound_model::Program::parse(builder.text()).unwrap()
    }

    fn block(
        rng: &mut Rng,
        body: &mut Body,
        size: usize,
        held: &mut Vec<usize>,
        locks: usize,
        variables: usize,
    ) {
        let mut left = size;
        while left > 0 {
            left -= 1;
            let free: Vec<usize> = (0..locks).filter(|l| !held.contains(l)).collect();
            let x = format!("x{}", rng.index(variables));
            match rng.below(8) {
                0..=2 if !free.is_empty() => {
                    let lock = *rng.pick(&free).unwrap();
                    body.lock(&format!("m{lock}"));
                    held.push(lock);
                    let inside = 1 + rng.index(left.clamp(1, 3));
                    block(rng, body, inside, held, locks, variables);
                    held.pop();
                    body.unlock(&format!("m{lock}"));
                    left -= inside.min(left);
                }
                3 if held.is_empty() => {
                    let inside = 1 + rng.index(left.clamp(1, 3));
                    body.statement("atomic {");
                    block(rng, body, inside, held, locks, variables);
                    body.statement("}");
                    left -= inside.min(left);
                }
                4 | 5 => {
                    body.read(&x);
                }
                _ => {
                    body.assign(&x, "1");
                }
            }
        }
    }
}

#[test]
fn with_nested_locks_all_that_can_happen_is_predicted_and_happens() {
    let limits = Limits {
        max_states: 60_000,
        ..Limits::default()
    };
    let (mut programs, mut anomalies, mut seed) = (0, 0, 0);
    while programs < 1_200 {
        seed += 1;
        let program = straight::program(seed);
        let Ok(truth) = explore(&program, &limits) else {
            continue;
        };
        // Two traces, one as the program stands there, one at random.
        let strategies: [Box<dyn Strategy>; 2] =
            [Box::new(Sequential::new()), Box::new(Random::new(seed))];
        for mut strategy in strategies {
            let execution = run(&program, &mut strategy);
            if execution.outcome == Outcome::Finished {
                let options = Options::default();
                anomalies += check_straight(&program, &truth, &execution.trace, &options);
                programs += 1;
            }
        }
    }
    assert!(anomalies > 10_000, "{anomalies}");
}

/// With branches and loops, and every kind of synchronisation, nothing is promised
/// but that nothing is confirmed that cannot happen.
#[test]
fn nothing_is_confirmed_that_cannot_happen() {
    let limits = Limits {
        max_states: 60_000,
        ..Limits::default()
    };
    let (mut at_once, mut later, mut elsewhere, mut missed) = (0, 0, 0, 0);
    for (program, seed) in programs(1_000).zip(0..) {
        let Ok(truth) = explore(&program, &limits) else {
            continue;
        };
        let trace = run(&program, &mut Random::new(seed)).trace;
        let atomics = [Atomics::Order, Atomics::Free][seed as usize % 2];
        let options = Options {
            atomics,
            ..Options::default()
        };
        let forecast = predict(&trace, &options);
        for prediction in forecast.predictions.iter().filter(|p| p.has_schedule) {
            let pattern = forecast.pattern(prediction);
            let instances: Vec<Prediction> = forecast.instances(prediction).take(8).collect();
            let straight = instances.iter().flat_map(|p| forecast.schedules(p));
            let others = { instances.iter().take(2) }.flat_map(|p| forecast.other_ways(p));
            let schedules = straight.chain(others);
            let mut happened = None;
            for (number, schedule) in schedules.enumerate() {
                // Statements may share a name: what counts is which ones it were.
                let (fate, places, _) = follow_schedule(&program, &schedule);
                if fate != Fate::Confirmed {
                    continue;
                }
                assert!(
                    is_true(&truth, pattern.kind(), pattern.name(), &places),
                    "{} {places:?}\n{schedule}\n{}",
                    pattern.name(),
                    program.source()
                );
                happened = happened.or(Some(number));
            }
            let places = sites(&trace, prediction);
            match happened {
                Some(0) => at_once += 1,
                Some(_) => later += 1,
                None if is_true(&truth, pattern.kind(), pattern.name(), &places) => missed += 1,
                None => elsewhere += 1,
            }
        }
    }
    let all = format!("{at_once} at once, {later} later, {elsewhere} cannot, {missed} missed");
    assert!(at_once > 7_000 && later > 0, "{all}");
    // What is true and does not happen nearly always is in another branch, to which no
    // schedule of this trace leads.
    assert!(missed * 25 < at_once, "{all}");
}

/// Patterns of users: of any length, threads and variables.
#[test]
fn users_patterns_are_found_and_happen() {
    let patterns: Vec<Pattern> = racehound_predict::pattern::parse_all(
        "
        pattern write-skew
        T  = t1 t2 t2 t1
        SV = x  y  x  y
        AR = u1 u2 u2 u1
        AT = r  r  w  w
        pattern relay
        T  = t1 t2 t3
        SV = x  x  x
        AR = u1 u2 u3
        AT = w  w  w
        pattern thrice
        T  = t1 t2 t1 t2 t1
        SV = x  x  x  x  x
        AR = u1 u2 u1 u3 u1
        AT = r  w  r  w  r
        pattern peek
        T  = t1 t2
        SV = x  x
        AR = u1 u2
        AT = w  r
        ",
    )
    .unwrap();
    let limits = Limits {
        max_states: 30_000,
        ..Limits::default()
    };
    let options = Options {
        patterns: patterns.clone(),
        ..Options::default()
    };
    let (mut anomalies, mut seed, mut programs) = (0, 10_000, 0);
    while programs < 300 {
        seed += 1;
        let program = straight::program(seed);
        let Ok(mut truth) = explore_patterns(&program, &patterns, &limits) else {
            continue;
        };
        // Nobody asked for races.
        truth.races.clear();
        let execution = run(&program, &mut Random::new(seed));
        if execution.outcome == Outcome::Finished {
            anomalies += check_straight(&program, &truth, &execution.trace, &options);
            programs += 1;
        }
    }
    assert!(anomalies > 2_000, "{anomalies}");
}

/// An execution in which statements happen in this order, given by their labels.
fn in_order(program: &Program, labels: &str) -> Execution {
    struct ByLabel<'p>(&'p Program, Vec<&'p str>);
    impl Strategy for ByLabel<'_> {
        fn pick(&mut self, enabled: &[racehound_schedule::Pending]) -> usize {
            let label = |i: &usize| self.0.label(enabled[*i].site);
            let wanted = self.1.first().copied();
            let next = (0..enabled.len()).find(|i| wanted.is_some() && label(i) == wanted);
            // What has no label comes first.
            match (0..enabled.len()).find(|i| label(i).is_none()).or(next) {
                Some(index) => {
                    if label(&index).is_some() {
                        self.1.remove(0);
                    }
                    index
                }
                None => 0,
            }
        }
    }
    let mut strategy = ByLabel(program, labels.split_whitespace().collect());
    run(program, &mut strategy)
}

/// The labels of a prediction's order.
fn labels(subject: &Subject, trace: &Trace, order: &[u32]) -> String {
    let sites: Vec<SiteId> = order
        .iter()
        .map(|e| trace.events[*e as usize].site)
        .filter(|site| subject.program.label(*site).is_some())
        .collect();
    subject.names(&sites)
}

fn race<'f>(forecast: &'f Forecast<'_>, trace: &Trace, sites: [SiteId; 2]) -> &'f Prediction {
    let is_it = |p: &&Prediction| {
        let found: Vec<SiteId> = self::sites(trace, p);
        found == sites
    };
    forecast.predictions.iter().find(is_it).unwrap()
}

#[test]
fn figure_1_has_three_races_and_one_of_them_hurts() {
    let figure = subject(PECAN_1);
    let trace = in_order(&figure.program, "1 5 2 3 6 7").trace;
    let forecast = predict(&trace, &Options::default());
    assert_eq!(
        names(&figure, &trace, &forecast),
        set(["race: 2 5", "race: 2 6", "race: 3 7"])
    );
    let site = |label| figure.program.site(label);
    let there = race(&forecast, &trace, [site("3"), site("7")]);
    let back = forecast.reversed(there).unwrap();
    // The paper's <1, 5, 2, 6, 7, 3>; 1 is no access.
    let order = forecast.order(&back).unwrap();
    assert_eq!(labels(&figure, &trace, &order), "5 2 6 7 3");
    for (prediction, hurts) in [(there, false), (&back, true)] {
        let (fate, execution) = follow(&figure.program, &forecast, prediction);
        assert_eq!(fate, Fate::Confirmed);
        assert_eq!(matches!(execution.outcome, Outcome::Failed { .. }), hurts);
    }
}

#[test]
fn figure_3_is_an_atomicity_violation_behind_locks() {
    let figure = subject(PECAN_3);
    let trace = in_order(&figure.program, "v1 v2 v3 v4 v5 v6 v7 v8 v9").trace;
    let forecast = predict(&trace, &Options::default());
    assert_eq!(
        names(&figure, &trace, &forecast),
        set(["atomicity-r-w-w: v2 v8 v5"])
    );
    let order = forecast.order(&forecast.predictions[0]).unwrap();
    assert_eq!(labels(&figure, &trace, &order), "v1 v2 v3 v7 v8 v9 v4 v5");
    let (fate, _) = follow(&figure.program, &forecast, &forecast.predictions[0]);
    assert_eq!(fate, Fate::Confirmed);
}

#[test]
fn figure_4_moves_what_depends_along() {
    let figure = subject(PECAN_4);
    let trace = in_order(&figure.program, "v1 v2 v3 v4 v5 v6").trace;
    let forecast = predict(&trace, &Options::default());
    assert_eq!(names(&figure, &trace, &forecast), set(["race: v2 v5"]));
    let order = forecast.order(&forecast.predictions[0]).unwrap();
    assert_eq!(labels(&figure, &trace, &order), "v1 v4 v2 v5");
}

#[test]
fn figure_5_s_false_pair_is_found_and_pruned() {
    let figure = subject(PECAN_5);
    let trace = in_order(&figure.program, "v1 v2 v3 v4 v5 v6 v7 v8").trace;
    let forecast = predict(&trace, &Options::default());
    assert!(forecast.predictions.is_empty());
    let pruned: Vec<_> = forecast.pruned.iter().map(|p| sites(&trace, p)).collect();
    assert_eq!(pruned.len(), 1);
    assert_eq!(figure.names(&pruned[0]), "v3 v8");
    assert_eq!(forecast.schedule(&forecast.pruned[0]), None);
}

#[test]
fn figure_5_without_the_order_has_the_papers_schedule() {
    let figure = subject(PECAN_5_UNORDERED);
    let trace = in_order(&figure.program, "v1 v2 v3 v4 v5 v6 v7 v8").trace;
    let forecast = predict(&trace, &Options::default());
    assert_eq!(names(&figure, &trace, &forecast), set(["race: v3 v8"]));
    let order = forecast.order(&forecast.predictions[0]).unwrap();
    assert_eq!(labels(&figure, &trace, &order), "v5 v6 v7 v1 v2 v3 v8");
    let (fate, _) = follow(&figure.program, &forecast, &forecast.predictions[0]);
    assert_eq!(fate, Fate::Confirmed);
}

/// The bugs that the paper found or used: predicted from a run in which nothing goes
/// wrong, and then something does.
#[test]
fn openjms_jigsaw_and_stringbuffer_fail_as_predicted() {
    let all = [
        (PECAN_OPENJMS, vec!["race: 1 2"], "ResourceException"),
        (
            PECAN_JIGSAW,
            vec!["atomicity-r-w-r: 1 3.2 2.1"],
            "assert size > 0",
        ),
        (
            PECAN_STRINGBUFFER,
            vec!["atomicity-r-w-r: 1 3 2.1"],
            "assert len <= count",
        ),
    ];
    for (text, expected, failure) in all {
        let bug = subject(text);
        let execution = run(&bug.program, &mut Sequential::new());
        assert_eq!(execution.outcome, Outcome::Finished);
        let trace = execution.trace;
        let functions = 0..bug.program.tables().functions.len();
        let options = Options {
            atomic_functions: functions
                .map(racehound_trace::FunctionId::from_index)
                .collect(),
            ..Options::default()
        };
        let forecast = predict(&trace, &options);
        let found = names(&bug, &trace, &forecast);
        for anomaly in expected {
            assert!(found.contains(anomaly), "{anomaly}: {found:?}\n{text}");
        }
        let both = forecast.predictions.iter().flat_map(|p| {
            let reversed = forecast.reversed(p);
            [Some(p.clone()), reversed].into_iter().flatten()
        });
        let fails = both.filter(|p| {
            let (fate, execution) = follow(&bug.program, &forecast, p);
            assert_eq!(fate, Fate::Confirmed);
            matches!(execution.outcome, Outcome::Failed { name, .. } if name == failure)
        });
        assert!(fails.count() > 0, "{:?}\n{text}", bug.failures());
    }
}

#[test]
fn a_window_leaves_out_what_is_far_apart() {
    let figure = subject(PECAN_1);
    let trace = in_order(&figure.program, "1 5 2 3 6 7").trace;
    let options = Options {
        window: Some(1),
        ..Options::default()
    };
    let forecast = predict(&trace, &options);
    assert_eq!(names(&figure, &trace, &forecast), set(["race: 2 5"]));
}

/// A schedule is cut after the violation, and says what it is for.
#[test]
fn a_clip_reads_like_the_bug() {
    let figure = subject(PECAN_5_UNORDERED);
    let trace = in_order(&figure.program, "v1 v2 v3 v4 v5 v6 v7 v8").trace;
    let forecast = predict(&trace, &Options::default());
    let schedule: Schedule = forecast.schedule(&forecast.predictions[0]).unwrap();
    let expected = "\
racehound schedule 2
anomaly race race-w-w
watch x = 1
watch x = 2

0 x2
  fork fork T1
  fork fork T2
0.2 x2
  acquire lock l
  release unlock l
0.1 x2
  acquire lock l
  e1(s1) write x = 1
0.2 x1
  e2(s1) write x = 2
end
";
    assert_eq!(schedule.to_string(), expected);
}

/// What is predicted of a program from its run in the order of its threads, at these labels.
fn race_at(text: &str, labels: [&str; 2], check: impl Fn(&Program, &Forecast<'_>, &Prediction)) {
    let subject = subject(text);
    let execution = run(&subject.program, &mut Sequential::new());
    assert_eq!(execution.outcome, Outcome::Finished);
    let forecast = predict(&execution.trace, &Options::default());
    let sites = labels.map(|label| subject.program.site(label));
    check(
        &subject.program,
        &forecast,
        race(&forecast, &execution.trace, sites),
    );
}

/// Nobody waits for who brings the data, and yet nothing happens without it.
#[test]
fn what_brought_the_data_happens_again() {
    let text = "
var ready = 0
var x = 0
thread supplier { ready = 1 }
thread A {
  if ready == 1 {
    1: x = 1
  }
}
thread B { 2: x = 2 }
";
    race_at(text, ["1", "2"], |program, forecast, prediction| {
        let (fate, _) = follow(program, forecast, prediction);
        assert_eq!(fate, Fate::Confirmed);
    });
}

/// Who has read what cannot be there in time stays behind: the rest is as it was.
#[test]
fn who_would_see_something_else_is_left_out() {
    let text = "
var flag = 0
var x = 0
var y = 0
thread A {
  1: x = 1
  flag = 1
}
thread watcher {
  if flag == 1 {
    y = 1
  }
}
thread B { 2: x = 2 }
";
    race_at(text, ["1", "2"], |program, forecast, prediction| {
        let schedule = forecast.schedule(prediction).unwrap();
        assert!(!schedule.to_string().contains("y = 1\n0.2"), "{schedule}");
        let (fate, _) = follow(program, forecast, prediction);
        assert_eq!(fate, Fate::Confirmed);
    });
}

/// Two are inside at a time only if one of them has looked before the other came in:
/// neither the trace's order nor the shortest one leads there.
#[test]
fn a_detour_leads_where_the_straight_way_does_not() {
    let body = |label: &str| {
        format!(
            "inside = inside + 1\n assert inside == 1\n {label}: entries = 1\n inside = inside - 1"
        )
    };
    let (a, b) = (body("1"), body("2"));
    let text =
        format!("var inside = 0\nvar entries = 0\nthread A {{\n {a}\n}}\nthread B {{\n {b}\n}}\n");
    race_at(&text, ["1", "2"], |program, forecast, prediction| {
        let fates: Vec<Fate> = forecast
            .schedules(prediction)
            .chain(forecast.other_ways(prediction))
            .map(|schedule| follow_schedule(program, &schedule).0)
            .collect();
        assert_ne!(fates[0], Fate::Confirmed);
        assert!(fates.contains(&Fate::Confirmed), "{fates:?}");
    });
}

/// Who stops before an access stands at it: it must not go on as if it were of no concern.
#[test]
fn who_stops_before_an_access_does_not_make_it() {
    let text = "
var x = 0
var y = 0
thread A {
  1: x = 1
  3: y = 1
}
thread B {
  2: x = 2
  4: assert y == 1
}
";
    race_at(text, ["1", "2"], |program, forecast, prediction| {
        let schedule = forecast.schedule(prediction).unwrap();
        let watched = &schedule.watched;
        assert!(watched.iter().any(|name| name == "y = 1"), "{schedule}");
        let mut follow = Follow::new(schedule, program.tables());
        run(program, &mut follow);
        assert_eq!(follow.fate(), &Fate::Confirmed);
    });
}
