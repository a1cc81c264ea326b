//! AtexRace: functions that have rarely run beside each other (atexrace.txt §4,
//! Algorithm 2).
//!
//! A race takes two threads, so looking at one function is worth nothing unless the
//! one that it races with is looked at, too. Whenever a thread enters a function,
//! each of the functions that other threads are in makes a pair with it. A pair that
//! has not met before is looked at on both sides. One that has is looked at in
//! bursts, since what two functions do beside each other is not the same every time
//! (§4.3). What has met in earlier executions counts, if it did so in each of the
//! last ones: the [`Past`] knows (§4.4).
//!
//! # As we read Algorithm 2
//! - Line 23 takes the decision back that another pair asked for; meant is that no
//!   pair asked: a call is sampled if any of its pairs wants it.
//! - Lines 29 to 31 add a pair when its function ends; here it counts from the
//!   moment it meets. The first calls of a pair are a burst, so nothing is lost.
//! - Several threads in the same function are one pair, and count once for each
//!   call: the rate is one of calls.
//! - A pair has no order. Who entered first does not matter for a race.
//!
//! # Looking away
//! To know its company a thread has to read what others have written, which costs
//! more than everything else here. While nothing is in a burst and the company stays
//! as it is, the next calls need not be asked about: [`Decision::rest`], at most
//! [`STRIDE`] at a time. A front end has to come back earlier when a thread enters a
//! function that it was never in before.

use rustc_hash::FxHashMap;

use crate::{Decision, Function, Pair, Past, Rate, Sampler};

/// Calls that are not asked about, at most: two functions that were both busy
/// elsewhere and meet now are noticed after that many calls at the latest.
pub const STRIDE: u32 = 15;

/// The first calls of a pair in a thread are noted one by one: a program may make no
/// more.
const NOTED_ONE_BY_ONE: u32 = 10;

/// AtexRace for one thread.
#[derive(Debug)]
pub struct AtexRace<P> {
    rate: Rate,
    past: P,
    pairs: FxHashMap<Pair, Meetings>,
    /// The pairs of the current call, and whether they want it sampled.
    present: Vec<(Pair, bool)>,
    /// The pairs that a function rests beside.
    resting: FxHashMap<Function, Vec<Pair>>,
}

/// How often a pair has met.
#[derive(Clone, Copy, Debug, Default)]
struct Meetings {
    /// Calls of this round, which may have begun in an earlier execution.
    calls: u32,
    /// Calls that the past has not been told of.
    unnoted: u32,
    /// How often it has been told.
    notes: u32,
}

impl<P: Past> AtexRace<P> {
    /// With bursts of known pairs at that rate.
    pub fn new(rate: Rate, past: P) -> Self {
        Self {
            rate,
            past,
            pairs: FxHashMap::default(),
            present: Vec::new(),
            resting: FxHashMap::default(),
        }
    }

    /// A pair meets: whether that is to be looked at.
    fn meets(&mut self, pair: Pair) -> bool {
        let known = self.pairs.get(&pair).map(|meetings| meetings.calls);
        let before = match known {
            None => self.past.recall(pair),
            known => known,
        };
        self.count(pair, before.unwrap_or(0), 1);
        before.is_none_or(|calls| self.rate.takes(calls))
    }

    /// It has met some more times after those `before`.
    fn count(&mut self, pair: Pair, before: u32, more: u32) {
        let meetings = self.pairs.entry(pair).or_default();
        meetings.calls = (before + more) % self.rate.round();
        meetings.unnoted += more;
        if meetings.notes < NOTED_ONE_BY_ONE || meetings.unnoted >= self.rate.round() {
            self.past.note(pair, meetings.unnoted);
            meetings.unnoted = 0;
            meetings.notes += 1;
        }
    }

    /// How many further calls of a function none of those present wants to be asked
    /// about.
    fn rest(&mut self, function: Function) -> u32 {
        let left = |pair: &Pair| self.rate.leaves(self.pairs[pair].calls);
        let rest = self.present.iter().map(|(pair, _)| left(pair)).min();
        let beside = self.resting.entry(function).or_default();
        beside.clear();
        beside.extend(self.present.iter().map(|&(pair, _)| pair));
        rest.unwrap_or(STRIDE).min(STRIDE)
    }

    /// A function was called so many times without asking.
    fn rested(&mut self, function: Function, calls: u32) {
        if let Some(beside) = self.resting.get_mut(&function) {
            let beside = std::mem::take(beside);
            for &pair in &beside {
                self.count(pair, self.pairs[&pair].calls, calls);
            }
            self.resting.insert(function, beside);
        }
    }
}

impl<P: Past> Sampler for AtexRace<P> {
    fn enter(
        &mut self,
        function: Function,
        rested: u32,
        company: &[Function],
        raised: &mut Vec<usize>,
    ) -> Decision {
        if rested > 0 {
            self.rested(function, rested);
        }
        self.present.clear();
        for (position, &other) in company.iter().enumerate() {
            let pair = Pair::new(function, other);
            let seen = self.present.iter().find(|(present, _)| *present == pair);
            let wanted = match seen {
                Some(&(_, wanted)) => wanted,
                None => {
                    let wanted = self.meets(pair);
                    self.present.push((pair, wanted));
                    wanted
                }
            };
            if wanted {
                raised.push(position);
            }
        }
        let sampled = !raised.is_empty();
        let rest = match sampled {
            true => 0,
            false => self.rest(function),
        };
        Decision { sampled, rest }
    }
}
