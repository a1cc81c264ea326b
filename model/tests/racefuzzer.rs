//! RaceFuzzer on programs whose truth is known.
//!
//! *No false alarms*: whatever it confirms is a race.
//!
//! *What it promises to find.* Its random choices on a small program can be
//! enumerated, which gives the exact chance with which one run confirms a pair.
//! They are enumerated with a transcription of Algorithms 1 and 2 that shares
//! nothing with the strategy. From the chance follows the number of runs within
//! which the pair must have been confirmed; and the chance is never 0 where the
//! algorithm can get both threads to the pair at all, which is decided by a
//! third, even simpler enumeration.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{assert_within, programs};
use racehound_detect::Which;
use racehound_detect::offline::{Options, Warning, analyze};
use racehound_model::{Limits, Outcome, Program, Truth, explore_patterns, figures, random, run};
use racehound_schedule::{
    Meeting, Pair, Parallel, Pending, RaceFuzzer, Random, Resolution, Strategy,
};
use racehound_trace::{SiteId, ThreadId};

type Sites = (SiteId, SiteId);

fn suspects((a, b): Sites) -> Vec<Pair> {
    vec![Pair {
        first: vec![a],
        second: vec![b],
    }]
}

fn labelled(program: &Program, a: &str, b: &str) -> Vec<Pair> {
    vec![Pair {
        first: program.sites(a).to_vec(),
        second: program.sites(b).to_vec(),
    }]
}

fn sites(meeting: &Meeting) -> Sites {
    let (a, b) = (meeting.postponed.site, meeting.arrived.site);
    (a.min(b), a.max(b))
}

/// Runs the program, and says whether the pair was confirmed.
fn confirms(program: &Program, pairs: &[Pair], seed: u64) -> (bool, Outcome) {
    let mut fuzzer = RaceFuzzer::new(seed, pairs.to_vec());
    let outcome = run(program, &mut fuzzer).outcome;
    let confirmed = fuzzer.meetings().iter().any(|m| m.pair == Some(0));
    (confirmed, outcome)
}

fn fails_with(outcome: &Outcome, error: &str) -> bool {
    matches!(outcome, Outcome::Failed { name, .. } if name == error)
}

#[test]
fn figure_1_the_race_on_z_is_confirmed_and_the_one_on_x_never() {
    let program = Program::parse(figures::RACEFUZZER_1).unwrap();
    let (on_z, on_x) = (labelled(&program, "5", "7"), labelled(&program, "1", "10"));
    let mut errors = 0;
    for seed in 0..1_000 {
        let (confirmed, outcome) = confirms(&program, &on_z, seed);
        assert!(confirmed, "seed {seed}");
        errors += u32::from(fails_with(&outcome, "ERROR1"));
        let (confirmed, outcome) = confirms(&program, &on_x, seed);
        assert!(!confirmed, "seed {seed}");
        assert!(!fails_with(&outcome, "ERROR2"), "seed {seed}");
    }
    assert!((400..600).contains(&errors), "{errors}");
}

/// racefuzzer.txt Figure 2, with so many statements in place of each of f1 to
/// f5.
fn figure_2(padding: u32) -> Program {
    let text = figures::RACEFUZZER_2.replace("skip 10", &format!("skip {padding}"));
    Program::parse(&text).unwrap()
}

#[test]
fn figure_2_does_not_depend_on_the_padding() {
    for padding in [2, 20, 200, 2_000] {
        let program = figure_2(padding);
        let pair = labelled(&program, "8", "10");
        let runs: Vec<_> = (0..100)
            .map(|seed| confirms(&program, &pair, seed))
            .collect();
        let confirmed = runs.iter().filter(|(confirmed, _)| *confirmed).count();
        let errors = runs.iter().filter(|(_, o)| fails_with(o, "ERROR")).count();
        assert_eq!(confirmed, 100, "padding {padding}");
        assert!((35..=65).contains(&errors), "padding {padding}: {errors}");
    }
}

/// The race happens by itself where both threads stand at the pair at once.
struct Standing<S>(S, Sites, bool);

impl<S: Strategy> Strategy for Standing<S> {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        self.2 |= stand_at(enabled, self.1);
        self.0.pick(enabled)
    }
}

fn stand_at(enabled: &[Pending], (a, b): Sites) -> bool {
    let mut at_a = enabled.iter().filter(|p| p.site == a);
    at_a.any(|p| enabled.iter().any(|q| q.site == b && p.races_with(q)))
}

#[test]
fn figure_2_is_out_of_reach_of_random_and_free_runs() {
    let by_itself = |padding, strategy: &dyn Fn(u64) -> Box<dyn Strategy>| {
        let program = figure_2(padding);
        let pair = (program.site("8"), program.site("10"));
        let (mut met, mut errors) = (0, 0);
        for seed in 0..100 {
            let mut standing = Standing(strategy(seed), pair, false);
            let outcome = run(&program, &mut standing).outcome;
            met += u32::from(standing.2);
            errors += u32::from(fails_with(&outcome, "ERROR"));
        }
        (met, errors)
    };
    for padding in [20, 200, 2_000] {
        let (met, errors) = by_itself(padding, &|seed| Box::new(Random::new(seed)));
        assert!(met <= 1 && errors <= 1, "random, {padding}: {met} {errors}");
        let free = by_itself(padding, &|seed| Box::new(Parallel::new(seed)));
        assert_eq!(free, (0, 0), "free, padding {padding}");
    }
}

#[test]
fn either_order_can_be_had() {
    let program = figure_2(10);
    let pair = labelled(&program, "8", "10");
    for (resolution, fails) in [(Resolution::First, true), (Resolution::Second, false)] {
        for seed in 0..50 {
            let fuzzer = RaceFuzzer::new(seed, pair.clone());
            let outcome = run(&program, &mut fuzzer.with_resolution(resolution)).outcome;
            assert_eq!(
                fails_with(&outcome, "ERROR"),
                fails,
                "{resolution:?} {seed}"
            );
        }
    }
}

#[test]
fn a_thread_that_waits_without_synchronising_is_not_waited_for() {
    // §4: everybody is postponed but one, who spins until somebody goes on.
    let program = Program::parse(
        "var x, go
         thread T1 { A: x = 1; go = 1 }
         thread T2 { while go == 0 max 100000 { }; B: x = 2 }",
    )
    .unwrap();
    let pair = labelled(&program, "A", "B");
    for seed in 0..20 {
        let mut fuzzer = RaceFuzzer::new(seed, pair.clone()).with_patience(500);
        let outcome = run(&program, &mut fuzzer).outcome;
        assert_eq!(outcome, Outcome::Finished, "seed {seed}");
        assert_eq!(fuzzer.meetings(), []);
    }
}

/// The pairs a detector warns of in a few executions.
fn warnings(program: &Program, which: &[Which]) -> BTreeSet<Sites> {
    let options = Options {
        all_pairs: true,
        ..Options::default()
    };
    let mut pairs = BTreeSet::new();
    for seed in 0..4 {
        let trace = run(program, &mut Random::new(seed)).trace;
        let outcomes = analyze(&mut trace.source(), which, &options, &mut |_| {}).unwrap();
        let warnings = outcomes.iter().flat_map(|o| &o.warnings);
        pairs.extend(warnings.map(Warning::pair));
    }
    pairs
}

fn truth(program: &Program, max_states: u64) -> Option<Truth> {
    let limits = Limits {
        max_states,
        ..Limits::default()
    };
    explore_patterns(program, &[], &limits).ok()
}

#[test]
fn what_is_confirmed_is_in_the_truth() {
    let (mut explored, mut true_warnings, mut false_warnings, mut met) = (0, 0, 0, 0);
    for program in programs(4_000) {
        let Some(truth) = truth(&program, 2_000) else {
            continue;
        };
        explored += 1;
        let warned = warnings(&program, &[Which::Hybrid, Which::AccuLock]);
        for pair in warned {
            match truth.races.contains(&pair) {
                true => true_warnings += 1,
                false => false_warnings += 1,
            }
            for seed in 0..4 {
                let resolution = [Resolution::Random, Resolution::First, Resolution::Second];
                let mut fuzzer = RaceFuzzer::new(seed, suspects(pair))
                    .with_resolution(resolution[seed as usize % 3])
                    .with_patience(if seed == 3 { 2 } else { 1_000 });
                let outcome = run(&program, &mut fuzzer).outcome;
                for meeting in fuzzer.meetings() {
                    let source = program.source();
                    assert!(
                        truth.races.contains(&sites(meeting)),
                        "{meeting:?}\n{source}"
                    );
                    assert_eq!(meeting.pair.is_some(), sites(meeting) == pair);
                    met += 1;
                }
                assert_within(&outcome, &truth, program.source());
            }
        }
    }
    assert!(explored > 2_000, "{explored}");
    assert!(
        true_warnings > 5_000 && false_warnings > 300,
        "{true_warnings} {false_warnings}"
    );
    assert!(met > 5_000, "{met}");
}

/// Random choices, one sequence of them after the other, until all were made.
#[derive(Default)]
struct Enumeration {
    /// The choices of this run: which of how many.
    script: Vec<(usize, usize)>,
    next: usize,
    /// Once the answer is known the rest of the run is of no interest.
    settled: bool,
}

impl Enumeration {
    fn choose(&mut self, options: usize) -> usize {
        if self.settled || options == 1 {
            return 0;
        }
        if self.next == self.script.len() {
            self.script.push((0, options));
        }
        self.next += 1;
        self.script[self.next - 1].0
    }

    /// The chance of this run's choices.
    fn weight(&self) -> f64 {
        let chances = self.script.iter().map(|(_, options)| 1.0 / *options as f64);
        chances.product()
    }

    /// On to the next sequence; false if this was the last.
    fn advance(&mut self) -> bool {
        self.next = 0;
        self.settled = false;
        while let Some((choice, options)) = self.script.pop() {
            if choice + 1 < options {
                self.script.push((choice + 1, options));
                return true;
            }
        }
        false
    }
}

/// The chance with which a strategy settles its enumeration, or `None` if it
/// has too many choices.
fn chance<S: Strategy>(
    program: &Program,
    strategy: impl Fn(Enumeration) -> S,
    enumeration: impl Fn(S) -> Enumeration,
) -> Option<f64> {
    const MOST_RUNS: usize = 3_000;
    let mut chance = 0.0;
    let mut choices = Enumeration::default();
    for _ in 0..MOST_RUNS {
        let mut run_of = strategy(choices);
        run(program, &mut run_of);
        choices = enumeration(run_of);
        if choices.settled {
            chance += choices.weight();
        }
        if !choices.advance() {
            return Some(chance);
        }
    }
    None
}

/// The thread that went last, where there is no switch.
fn goes_on(enabled: &[Pending], current: Option<ThreadId>, pair: Sites) -> Option<usize> {
    let index = enabled.iter().position(|p| Some(p.thread) == current)?;
    let next = &enabled[index];
    (!next.is_synchronisation() && !is_at(next, pair)).then_some(index)
}

fn is_at(pending: &Pending, (a, b): Sites) -> bool {
    let accesses = pending.op.is_some_and(|op| op.access().is_some());
    accesses && (pending.site == a || pending.site == b)
}

/// Algorithms 1 and 2, line by line. What line 27 removes from `postponed` is
/// executed, as in §3.1.
struct Transcription {
    pair: Sites,
    choices: Enumeration,
    postponed: Vec<ThreadId>,
    /// Lines 15 and 16.
    execute: Vec<ThreadId>,
    current: Option<ThreadId>,
}

impl Transcription {
    fn next(&mut self, enabled: &[Pending]) -> ThreadId {
        if let Some(t) = self.execute.pop() {
            return t;
        }
        if let Some(index) = goes_on(enabled, self.current, self.pair) {
            return enabled[index].thread;
        }
        let next_stmt = |t: ThreadId| *enabled.iter().find(|p| p.thread == t).unwrap();
        loop {
            let free: Vec<_> = enabled
                .iter()
                .map(|p| p.thread)
                .filter(|t| !self.postponed.contains(t))
                .collect();
            if free.is_empty() {
                let lucky = self.choices.choose(self.postponed.len());
                let t = self.postponed.remove(lucky);
                let racing = self.racing(next_stmt(t), enabled);
                assert!(racing.is_empty(), "left to the strategy's own tests");
                return t;
            }
            let t = free[self.choices.choose(free.len())];
            if !is_at(&next_stmt(t), self.pair) {
                return t;
            }
            let racing = self.racing(next_stmt(t), enabled);
            if racing.is_empty() {
                self.postponed.push(t);
                continue;
            }
            let confirms = |other: &ThreadId| {
                let (a, b) = (next_stmt(t).site, next_stmt(*other).site);
                (a.min(b), a.max(b)) == self.pair
            };
            if racing.iter().any(confirms) {
                self.choices.settled = true;
            }
            if self.choices.choose(2) == 0 {
                return t;
            }
            self.postponed.push(t);
            self.postponed.retain(|t| !racing.contains(t));
            self.execute = racing.into_iter().rev().collect();
            return self.execute.pop().unwrap();
        }
    }

    fn racing(&self, t: Pending, enabled: &[Pending]) -> Vec<ThreadId> {
        let races = |other: &&ThreadId| {
            let other = enabled.iter().find(|p| p.thread == **other);
            other.is_some_and(|other| other.races_with(&t))
        };
        self.postponed.iter().filter(races).copied().collect()
    }
}

impl Strategy for Transcription {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        let thread = self.next(enabled);
        self.current = Some(thread);
        enabled.iter().position(|p| p.thread == thread).unwrap()
    }

    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        self.choices.choose(waiters.len())
    }
}

/// Every way to go with switches at synchronisation and at the pair alone, and
/// without anybody executing a statement of the pair.
struct Approach {
    pair: Sites,
    choices: Enumeration,
    current: Option<ThreadId>,
    /// Nobody can go without a statement of the pair.
    over: bool,
}

impl Strategy for Approach {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        if self.choices.settled || self.over {
            return 0;
        }
        if stand_at(enabled, self.pair) {
            self.choices.settled = true;
            return 0;
        }
        let free: Vec<_> = (0..enabled.len())
            .filter(|&index| !is_at(&enabled[index], self.pair))
            .collect();
        if free.is_empty() {
            self.over = true;
            return 0;
        }
        let going_on = goes_on(enabled, self.current, self.pair);
        let index = going_on.unwrap_or_else(|| free[self.choices.choose(free.len())]);
        self.current = Some(enabled[index].thread);
        index
    }

    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        match self.over {
            true => 0,
            false => self.choices.choose(waiters.len()),
        }
    }
}

/// The chance of one run to confirm the pair.
fn chance_of_confirming(program: &Program, pair: Sites) -> Option<f64> {
    let strategy = |choices| Transcription {
        pair,
        choices,
        postponed: Vec::new(),
        execute: Vec::new(),
        current: None,
    };
    chance(program, strategy, |transcription| transcription.choices)
}

/// Zero where no [`Approach`] brings two threads to the pair.
fn chance_of_approaching(program: &Program, pair: Sites) -> Option<f64> {
    let strategy = |choices| Approach {
        pair,
        choices,
        current: None,
        over: false,
    };
    chance(program, strategy, |approach| approach.choices)
}

/// Runs after which a pair of this chance was missed by one in a billion.
fn promised_runs(chance: f64) -> u64 {
    match chance < 1.0 {
        true => (1e-9_f64.ln() / (1.0 - chance).ln()).ceil() as u64,
        false => 1,
    }
}

#[test]
fn every_true_warning_within_reach_is_confirmed_in_the_runs_promised() {
    const RUNS: u64 = 40;
    let shapes = [
        random::Shape::default(),
        random::Shape {
            threads: 3,
            statements: 3,
            every_kind: false,
            ..random::Shape::default()
        },
    ];
    let mut pairs = BTreeMap::new();
    let mut tried = 0;
    let (mut hits, mut expected, mut variance) = (0.0, 0.0, 0.0);
    for (seed, shape) in (0..600).flat_map(|seed| shapes.map(|shape| (seed, shape))) {
        let program = random::program(seed, &shape);
        let source = program.source();
        let Some(truth) = truth(&program, 1_000) else {
            continue;
        };
        for pair in warnings(&program, &[Which::Hybrid, Which::AccuLock]) {
            if !truth.races.contains(&pair) {
                continue;
            }
            let chances =
                chance_of_confirming(&program, pair).zip(chance_of_approaching(&program, pair));
            let Some((chance, approach)) = chances else {
                *pairs.entry("too large").or_insert(0) += 1;
                continue;
            };
            let confirmed = |seed: &u64| confirms(&program, &suspects(pair), *seed).0;
            // Fresh seeds for every pair: with the same ones, luck would be
            // the same everywhere.
            let seeds = tried * RUNS..(tried + 1) * RUNS;
            tried += 1;
            let found = seeds.filter(confirmed).count() as f64;
            hits += found;
            expected += RUNS as f64 * chance;
            variance += RUNS as f64 * chance * (1.0 - chance);
            let kind = if chance == 0.0 {
                assert_eq!(approach, 0.0, "{pair:?} can be approached\n{source}");
                assert_eq!(found, 0.0, "{pair:?} was confirmed\n{source}");
                "out of reach"
            } else if chance < 0.02 {
                "rare"
            } else {
                let first = (0..promised_runs(chance)).find(confirmed);
                assert!(first.is_some(), "{pair:?}, chance {chance}\n{source}");
                if chance > 0.999_999 {
                    "always"
                } else {
                    "sometimes"
                }
            };
            *pairs.entry(kind).or_insert(0) += 1;
        }
    }
    let of = |kind| f64::from(pairs.get(kind).copied().unwrap_or(0));
    let all: f64 = pairs.keys().copied().map(of).sum();
    assert!(all > 2_000.0 && of("too large") < all / 10.0, "{pairs:?}");
    assert!(of("always") > 0.75 * all, "{pairs:?}");
    assert!(of("rare") + of("out of reach") < 0.01 * all, "{pairs:?}");
    // The strategy does what the transcription does, no more and no less.
    let deviation = (hits - expected).abs() / variance.sqrt();
    assert!(deviation < 4.0, "{hits} confirmed, {expected} expected");
}

fn assert_out_of_reach(text: &str, a: &str, b: &str) -> Program {
    let program = Program::parse(text).unwrap();
    let pair = (program.site(a), program.site(b));
    assert!(truth(&program, 2_000).unwrap().has_race(pair.0, pair.1));
    assert_eq!(chance_of_confirming(&program, pair), Some(0.0));
    assert!((0..200).all(|seed| !confirms(&program, &suspects(pair), seed).0));
    program
}

#[test]
fn a_race_behind_a_race_is_out_of_reach_until_that_one_is_known() {
    let behind = "
        var flag, x
        thread T1 { C: flag = 1; D: flag = 0; A: x = 1 }
        thread T2 { E: if flag == 1 { B: x = 2 } }";
    let program = assert_out_of_reach(behind, "A", "B");
    let mut pairs = labelled(&program, "A", "B");
    pairs.extend(labelled(&program, "D", "E"));
    let confirmed = |seed: &u64| confirms(&program, &pairs, *seed).0;
    let confirmed = (0..200).filter(confirmed).count();
    assert!(confirmed > 20, "{confirmed}");
}

#[test]
fn a_race_after_a_first_execution_of_its_statement_is_out_of_reach() {
    let second_time = "
        var go, x; lock m
        thread T1 { repeat 2 { A: x = 1; lock m; go = 1; unlock m } }
        thread T2 { lock m; r = go; unlock m; if r == 1 { B: x = 2 } }";
    assert_out_of_reach(second_time, "A", "B");
}
