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
//! - Line 23 takes a decision back that another pair asked for: as printed, the last
//!   thread of the loop decides. Here a pair that has not met before always gets its
//!   way, and among known ones the one decides that has met least. So of the calls in
//!   known company the stated share is sampled, however many threads there are; if
//!   any known pair could ask for a call, each further thread would add its share.
//! - For the same reason a known pair that decides makes one partner look (line 21),
//!   not everybody, and what a thread looks at for the sake of others counts as a
//!   burst of its own.
//! - Lines 29 to 31 add a pair when its function ends; here it counts from the
//!   moment it meets. The first calls of a pair are a burst, so nothing is lost.
//! - Several threads in the same function are one pair, and count once for each
//!   call: the rate is one of calls.
//! - A pair has no order. Who entered first does not matter for a race.
//! - Who is made to look looks in its current call (line 21) and in as many further
//!   ones as the burst has: so both sides have their burst at the same time.
//!
//! # Looking away
//! To know its company a thread has to read what others write all the time, which
//! costs more than everything else here. So it does not before each call: when a burst
//! begins, it decides about all of it; and then about some calls at a time
//! ([`Decision::rest`]): at most [`STRIDE`], or [`LONG_STRIDE`] where even those present
//! that have met least have done so for some rounds, in this execution or in the last
//! ones. These calls count for the company in which the thread asks next. A front end
//! has to ask earlier when a thread enters a function that it was never in before.

use rustc_hash::FxHashMap;

use crate::{Decision, Function, Pair, Past, Rate, Sampler, Since};

/// Calls that are not asked about, at most, while there is company that is not settled: two
/// functions that were both busy elsewhere and meet now are noticed after that many calls
/// at the latest.
pub const STRIDE: u32 = 29;

/// The same where all company is settled: until the next burst, at the paper's rate.
const LONG_STRIDE: u32 = 99;

/// Rounds after which a pair is settled.
const SETTLED: u32 = 3;

/// The first calls of a pair in a thread are noted one by one: a program may make no
/// more.
const NOTED_ONE_BY_ONE: u32 = 10;

/// Rounds that are noted together later, or when the thread ends: all threads and
/// processes write to the same place. Who is killed takes some calls along, and the next
/// burst begins that much earlier; that the pair has met is known by then.
const NOTED_TOGETHER: u32 = 16;

/// Pairs that are found at once; a power of two.
const RECENT: usize = 256;

/// AtexRace for one thread.
#[derive(Debug)]
pub struct AtexRace<P: Past> {
    rate: Rate,
    past: P,
    /// Calls of a pair that are not noted yet, at most.
    noted_together: u32,
    meetings: Vec<Meetings>,
    by_pair: FxHashMap<Pair, usize>,
    /// Which meetings those of two functions are, as far as they were asked for lately.
    recent: Box<[(Function, Function, usize); RECENT]>,
    /// The meetings of the current call, by position in the company.
    present: Vec<usize>,
    /// Goes on with each way through those present.
    pass: u64,
    /// Calls that were looked at for the sake of others, instead of which this thread
    /// has not had bursts of its own yet.
    obliged: u32,
}

/// How often a pair has met.
#[derive(Clone, Copy, Debug)]
struct Meetings {
    pair: Pair,
    /// Calls, with those of earlier executions if they count.
    calls: u32,
    /// Calls that the past has not been told of.
    unnoted: u32,
    /// How often it has been told.
    notes: u32,
    /// It has met in this thread, or often enough in earlier executions.
    is_known: bool,
    /// The last pass that came upon it.
    pass: u64,
}

impl<P: Past> AtexRace<P> {
    /// With bursts of known pairs at that rate.
    pub fn new(rate: Rate, past: P) -> Self {
        Self {
            rate,
            past,
            noted_together: rate.round() * NOTED_TOGETHER,
            meetings: Vec::new(),
            by_pair: FxHashMap::default(),
            recent: vec![(Function(0), Function(0), usize::MAX); RECENT]
                .try_into()
                .expect("that many"),
            present: Vec::new(),
            pass: 0,
            obliged: 0,
        }
    }

    /// The meetings of two functions.
    fn of(&mut self, function: Function, other: Function) -> usize {
        let slot = (function.0 ^ other.0.rotate_left(7)) as usize % RECENT;
        let (one, two, known) = self.recent[slot];
        if (one, two) == (function, other) && known != usize::MAX {
            return known;
        }
        let pair = Pair::new(function, other);
        let index = *self.by_pair.entry(pair).or_insert_with(|| {
            let recalled = self.past.recall(pair);
            self.meetings.push(Meetings {
                pair,
                calls: recalled.unwrap_or(0),
                unnoted: 0,
                notes: 0,
                is_known: recalled.is_some(),
                pass: 0,
            });
            self.meetings.len() - 1
        });
        self.recent[slot] = (function, other, index);
        index
    }

    /// A pair has met some more times.
    fn count(&mut self, index: usize, calls: u32) {
        let meetings = &mut self.meetings[index];
        meetings.is_known = true;
        meetings.calls = meetings.calls.wrapping_add(calls);
        meetings.unnoted += calls;
        if meetings.notes < NOTED_ONE_BY_ONE || meetings.unnoted >= self.noted_together {
            self.past.note(meetings.pair, meetings.unnoted);
            meetings.unnoted = 0;
            meetings.notes += 1;
        }
    }

    /// Whether these meetings are come upon for the first time in this pass: several
    /// threads in one function are one pair.
    fn is_first(&mut self, index: usize) -> bool {
        let last = &mut self.meetings[index].pass;
        std::mem::replace(last, self.pass) != self.pass
    }

    /// Those present that are not known, by position; the first of those that have met
    /// least otherwise.
    fn new_or_coldest(&self, new: &mut Vec<usize>) -> Option<usize> {
        let mut coldest: Option<usize> = None;
        for (position, &index) in self.present.iter().enumerate() {
            let meetings = &self.meetings[index];
            if !meetings.is_known {
                new.push(position);
            }
            if coldest.is_none_or(|coldest| meetings.calls < self.meetings[coldest].calls) {
                coldest = Some(index);
            }
        }
        coldest
    }

    /// Decides about a call in known company, by the pair that has met least.
    fn decide(&mut self, coldest: usize, raised: &mut Vec<usize>) -> Decision {
        let calls = self.meetings[coldest].calls;
        let stride = match calls < self.rate.round().saturating_mul(SETTLED) {
            true => STRIDE,
            false => LONG_STRIDE,
        };
        let rest = self.rate.stays(calls).min(stride);
        let mut sampled = self.rate.takes(calls);
        if sampled && self.obliged > rest {
            self.obliged -= rest + 1;
            sampled = false;
        }
        if sampled {
            // Another one each time, if several are in that function.
            let its = |&position: &usize| self.present[position] == coldest;
            let its = || (0..self.present.len()).filter(its);
            let turn = (calls / self.rate.round()) as usize % its().count();
            raised.extend(its().nth(turn));
        }
        Decision { sampled, rest }
    }
}

impl<P: Past> Drop for AtexRace<P> {
    fn drop(&mut self) {
        for meetings in self.meetings.iter().filter(|meetings| meetings.unnoted > 0) {
            self.past.note(meetings.pair, meetings.unnoted);
        }
    }
}

impl<P: Past> Sampler for AtexRace<P> {
    fn enter(
        &mut self,
        function: Function,
        since: Since,
        company: &[Function],
        raised: &mut Vec<usize>,
    ) -> Decision {
        self.obliged = self.obliged.saturating_add(since.obliged);
        self.pass += 1;
        self.present.clear();
        for &other in company {
            let index = self.of(function, other);
            self.present.push(index);
            let is_known = self.meetings[index].is_known;
            if since.rested > 0 && is_known && self.is_first(index) {
                self.count(index, since.rested);
            }
        }
        let decision = match self.new_or_coldest(raised) {
            None => Decision {
                sampled: false,
                rest: STRIDE,
            },
            Some(_) if !raised.is_empty() => Decision {
                sampled: true,
                rest: self.rate.burst().saturating_sub(1).min(STRIDE),
            },
            Some(coldest) => self.decide(coldest, raised),
        };
        self.pass += 1;
        for position in 0..self.present.len() {
            let index = self.present[position];
            if self.is_first(index) {
                self.count(index, 1);
            }
        }
        decision
    }
}
