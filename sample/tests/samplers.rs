//! The samplers against what the paper says of them, over random calls.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use racehound_sample::{
    AtexRace, Decision, Function, LiteRace, Look, Pair, Past, Raised, Rate, Sampler, Since,
};

/// What earlier executions know, and what this one notes.
#[derive(Default)]
struct Notes {
    frequent: BTreeMap<Pair, u32>,
    noted: RefCell<BTreeMap<Pair, u32>>,
}

impl Past for &Notes {
    fn recall(&self, pair: Pair) -> Option<u32> {
        self.frequent.get(&pair).copied()
    }

    fn note(&self, pair: Pair, calls: u32) {
        *self.noted.borrow_mut().entry(pair).or_default() += calls;
    }
}

fn ask(
    sampler: &mut impl Sampler,
    function: u64,
    since: (u32, u32),
    company: &[u64],
) -> (Decision, Raised) {
    let company: Vec<Function> = company.iter().map(|&other| Function(other)).collect();
    let mut raised = Raised::default();
    let (rested, obliged) = since;
    let since = Since { rested, obliged };
    let decision = sampler.enter(Function(function), since, &company, &mut raised);
    (decision, raised)
}

/// How closely so many calls in the same company are looked at, resting as one may.
fn looks(sampler: &mut impl Sampler, function: u64, company: &[u64], calls: u32) -> Vec<Look> {
    let mut looks = Vec::new();
    let mut rested = 0;
    while looks.len() < calls as usize {
        let (decision, _) = ask(sampler, function, (rested, 0), company);
        looks.push(decision.look);
        let before = looks.len();
        for (fate, many) in [(decision.look, decision.rest), (Look::Away, decision.then)] {
            let left = calls as usize - looks.len();
            looks.extend(std::iter::repeat_n(fate, left.min(many as usize)));
        }
        rested = (looks.len() - before) as u32;
    }
    looks
}

/// Which of them are sampled.
fn sampled(sampler: &mut impl Sampler, function: u64, company: &[u64], calls: u32) -> Vec<bool> {
    let looks = looks(sampler, function, company, calls).into_iter();
    looks.map(|look| look > Look::Away).collect()
}

/// Algorithm 2 has all of a sampled call looked at; here that is so in these bursts, the
/// others end where a call repeats itself.
fn is_close(rate: Rate, calls: u32) -> bool {
    let bursts = calls / rate.round();
    bursts < 3 || bursts.is_multiple_of(8) || rate.between() == 0
}

#[test]
fn literace_backs_off_from_all_calls_to_one_in_a_thousand() {
    let looks = looks(&mut LiteRace::default(), 1, &[], 31_110);
    let bursts = [0, 10, 110, 1110, 11_110, 21_110];
    for (call, &look) in looks.iter().enumerate() {
        let in_burst = bursts
            .iter()
            .any(|start| (*start..start + 10).contains(&call));
        let expected = match in_burst {
            true => Look::Closely,
            false => Look::Away,
        };
        assert_eq!(look, expected, "call {call}");
    }
}

#[test]
fn literace_cares_for_nobody_else() {
    let mut sampler = LiteRace::default();
    let alone = sampled(&mut LiteRace::default(), 1, &[], 2000);
    let mut accompanied = Vec::new();
    for company in 10..2010 {
        // Somebody new each time, other functions in between, and asking although one
        // need not.
        let (decision, raised) = ask(&mut sampler, 1, (0, 0), &[company]);
        assert_eq!(raised, Raised::default());
        accompanied.push(decision.is_sampled());
        ask(&mut sampler, company, (0, 0), &[1]);
    }
    assert_eq!(accompanied, alone);
}

#[test]
fn a_known_pair_is_sampled_in_bursts_at_the_stated_rate() {
    for rate in ["10/100", "1/7", "3/3", "0/50", "500/1000"] {
        let rate: Rate = rate.parse().unwrap();
        let past = Notes::default();
        let sampled = sampled(&mut AtexRace::new(rate, &past), 1, &[2], 5000);
        for (call, &sampled) in (0..).zip(&sampled) {
            // The first meeting is, whatever the rate.
            assert_eq!(sampled, call == 0 || rate.takes(call), "{rate}: {call}");
        }
    }
}

#[test]
fn settled_pairs_are_looked_at_briefly_in_seven_bursts_of_eight() {
    for rate in ["10/100", "1/7", "3/3"] {
        let rate: Rate = rate.parse().unwrap();
        let past = Notes::default();
        let looks = looks(&mut AtexRace::new(rate, &past), 1, &[2], 5000);
        for (call, &look) in (0..).zip(&looks) {
            let expected = match (rate.takes(call), is_close(rate, call)) {
                (false, _) => Look::Away,
                (true, true) => Look::Closely,
                (true, false) => Look::Briefly,
            };
            assert_eq!(look, expected, "{rate}: {call}");
        }
    }
}

#[test]
fn bursts_go_on_where_the_last_execution_stopped() {
    let rate = Rate::default();
    let mut past = Notes::default();
    let mut total = 0;
    let pair = Pair::new(Function(2), Function(1));
    for calls in [1, 3, 5, 4, 7, 1, 8].into_iter().cycle().take(100) {
        let sampled = sampled(&mut AtexRace::new(rate, &past), 1, &[2], calls);
        let expected: Vec<bool> = (total..)
            .map(|call| rate.takes(call))
            .take(sampled.len())
            .collect();
        assert_eq!(sampled, expected, "{calls} calls after {total}");
        // What it was not asked about in the end is not counted.
        let noted = past.noted.borrow()[&pair];
        assert!(noted > total && noted <= total + calls);
        total = noted;
        past.frequent = past.noted.borrow().clone();
    }
}

#[test]
fn alone_there_is_nothing_to_look_at() {
    let past = Notes::default();
    let mut sampler = AtexRace::new(Rate::default(), &past);
    assert!(sampled(&mut sampler, 1, &[], 100).iter().all(|&s| !s));
    assert!(past.noted.borrow().is_empty());
}

#[derive(Clone, Debug)]
struct Call {
    function: u64,
    company: Vec<u64>,
    /// Whether it rests as long as it may, at most.
    rests: u32,
    /// Calls before it that others wanted looked at.
    obliged: u32,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let company = prop::collection::vec(0..6u64, 0..5);
    let obliged = prop_oneof![3 => Just(0), 1 => 0..30u32];
    let call =
        (0..6u64, company, 0..120u32, obliged).prop_map(|(function, company, rests, obliged)| {
            Call {
                function,
                company,
                rests,
                obliged,
            }
        });
    prop::collection::vec(call, 0..600)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Algorithm 2 once more, without any rest and as plainly as can be.
    #[test]
    fn decisions_are_those_of_the_algorithm(
        calls in calls(),
        known in prop::collection::btree_map((0..6u64, 0..6u64), 0..3000u32, 0..8),
    ) {
        let rate = Rate::default();
        let mut past = Notes::default();
        for (&(one, other), &met) in &known {
            past.frequent.insert(Pair::new(Function(one), Function(other)), met);
        }
        let mut counters: BTreeMap<Pair, u32> = past.frequent.clone();
        let mut met_here = BTreeSet::new();
        let mut sampler = AtexRace::new(rate, &past);
        let mut resting: BTreeMap<u64, u32> = BTreeMap::new();
        let mut obliged = 0;
        for call in calls {
            let rested = resting.remove(&call.function).unwrap_or(0);
            let (decision, raised) = ask(&mut sampler, call.function, (rested, call.obliged), &call.company);
            let pair = |other| Pair::new(Function(call.function), Function(other));
            let present: BTreeSet<Pair> = call.company.iter().map(|&other| pair(other)).collect();
            // What was not asked about counts when somebody asks, for what is known.
            for pair in &present {
                if let Some(counter) = counters.get_mut(pair) {
                    *counter += rested;
                }
            }
            let is_new = |pair: &&Pair| !counters.contains_key(pair);
            let new: BTreeSet<Pair> = present.iter().filter(is_new).copied().collect();
            let met_least = call.company.iter().map(|&other| pair(other));
            let met_least = met_least.min_by_key(|pair| counters.get(pair).copied().unwrap_or(0));
            obliged += call.obliged;
            let burst = met_least.filter(|pair| new.is_empty() && rate.takes(counters[pair]));
            // What was done for others is not done again.
            let left = burst.map_or(0, |pair| (0..).take_while(|i| rate.takes(counters[&pair] + i)).count());
            let spent = burst.is_some() && obliged >= left as u32;
            if spent {
                obliged -= left as u32;
            }
            let wanted: Vec<usize> = (0..call.company.len())
                .filter(|&i| {
                    let pair = pair(call.company[i]);
                    new.contains(&pair) || burst == Some(pair) && !spent
                })
                .collect();
            prop_assert_eq!(decision.is_sampled(), !wanted.is_empty());
            let closely = !new.is_empty() || burst.is_some_and(|pair| is_close(rate, counters[&pair]));
            prop_assert!(!decision.is_sampled() || (decision.look == Look::Closely) == closely);
            match burst {
                // One of them.
                Some(_) if !spent => {
                    prop_assert!(raised.positions.len() == 1 && wanted.contains(&raised.positions[0]));
                }
                _ => prop_assert_eq!(raised.positions, wanted),
            }
            prop_assert_eq!(raised.are_new, !new.is_empty());
            for pair in &present {
                let counter = counters.entry(*pair).or_insert(0);
                *counter += 1;
            }
            // The same becomes of those that are not asked about.
            let least = present.iter().map(|pair| counters[pair]).min();
            if let Some(least) = least {
                let fate = decision.is_sampled() || spent;
                prop_assert!((0..decision.rest).all(|i| rate.takes(least + i) == fate));
                let behind = least + decision.rest;
                prop_assert!((0..decision.then).all(|i| !rate.takes(behind + i)));
            }
            resting.insert(call.function, call.rests.min(decision.rest + decision.then));
            met_here.extend(present);
        }
        let noted: BTreeSet<Pair> = past.noted.borrow().keys().copied().collect();
        prop_assert_eq!(noted, met_here);
    }

    /// The promise, by itself: no first meeting goes unseen.
    #[test]
    fn the_first_meeting_of_a_pair_is_sampled_on_both_sides(calls in calls()) {
        let past = Notes::default();
        let mut sampler = AtexRace::new(Rate::new(0, 100).unwrap(), &past);
        let mut met = BTreeSet::new();
        for call in calls {
            let (decision, raised) = ask(&mut sampler, call.function, (0, call.obliged), &call.company);
            for (i, &other) in call.company.iter().enumerate() {
                let pair = Pair::new(Function(other), Function(call.function));
                let first = !met.contains(&pair);
                prop_assert_eq!(raised.positions.contains(&i), first);
                prop_assert!(raised.are_new || !first);
                prop_assert!(decision.look == Look::Closely || !first);
            }
            let pair = |&other: &u64| Pair::new(Function(call.function), Function(other));
            met.extend(call.company.iter().map(pair));
        }
    }
}
