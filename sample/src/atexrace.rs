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
//! - Who is made to look does so until it enters or leaves a function, as `S(t')` holds
//!   in the algorithm, and in as many further calls as the burst has: so both sides have
//!   their burst at the same time. For the sake of a pair that has not met before it looks
//!   in all of its current call: a loop around calls may run until the program ends.
//!
//! # Loops
//! Algorithm 2 hands every access of a sampled call to the detector. That is so here while a
//! pair is new or has met for some rounds only, and then for one burst in [`CLOSE`]. In the
//! others a call is looked at [briefly](Look::Briefly), until it repeats itself. Bursts are
//! there because a call takes other branches and is given other objects than the last (§4.3),
//! which mostly shows in the first round of a loop; later rounds, and what comes behind the
//! loop, have their turn with the close bursts, on both sides at the same time.
//!
//! The reason is the cost. What is known of memory that is looked at now and then is not at
//! hand in the processor, and is of an earlier epoch: an access of a burst costs up to five
//! times as much as one among all of them, so a tenth of the calls would cost half of what
//! all do. Calls that loop for long would have no bound at all.
//!
//! # Looking away
//! To know its company a thread has to read what others write all the time, which
//! costs more than everything else here. So it does not before each call: when a burst
//! begins, it decides about all of it; and then about some calls at a time
//! ([`Decision::rest`]): at most [`STRIDE`], or [`LONG_STRIDE`] where even those present
//! that have met least have done so for some rounds, in this execution or in the last
//! ones: there a burst is decided about together with what follows it. These calls count for the company in which the thread asks next. A front end
//! has to ask earlier when a thread enters a function that it was never in before.

use rustc_hash::FxHashMap;

use crate::{Decision, Function, Look, Pair, Past, Raised, Rate, Sampler, Since};

/// Calls that are not asked about, at most, while there is company that is not settled: two
/// functions that were both busy elsewhere and meet now are noticed after that many calls
/// at the latest.
pub const STRIDE: u32 = 29;

/// The same where all company is settled: until the next burst, at the paper's rate.
const LONG_STRIDE: u32 = 99;

/// Rounds after which a pair is settled.
const SETTLED: u32 = 3;

/// One burst of a settled pair in so many is looked at closely.
const CLOSE: u32 = 8;

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
    /// The same, each once: several threads in one function are one pair.
    distinct: Vec<usize>,
    /// Goes on with each call.
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
            distinct: Vec::new(),
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

    /// A pair has met.
    fn count(&mut self, index: usize) {
        let meetings = &mut self.meetings[index];
        meetings.is_known = true;
        meetings.calls = meetings.calls.wrapping_add(1);
        meetings.unnoted += 1;
        if meetings.notes < NOTED_ONE_BY_ONE || meetings.unnoted >= self.noted_together {
            self.past.note(meetings.pair, meetings.unnoted);
            meetings.unnoted = 0;
            meetings.notes += 1;
        }
    }

    /// Finds the meetings of a call; those that are known have met so many times more. Which
    /// of them have met least, if there are any, and whether all are known.
    fn meet(
        &mut self,
        function: Function,
        company: &[Function],
        rested: u32,
    ) -> (Option<usize>, bool) {
        self.present.clear();
        self.distinct.clear();
        self.pass += 1;
        let (mut coldest, mut least, mut are_known) = (None, u32::MAX, true);
        for &other in company {
            let index = self.of(function, other);
            self.present.push(index);
            let meetings = &mut self.meetings[index];
            if std::mem::replace(&mut meetings.pass, self.pass) == self.pass {
                continue;
            }
            self.distinct.push(index);
            match meetings.is_known {
                true => {
                    meetings.calls = meetings.calls.wrapping_add(rested);
                    meetings.unnoted += rested;
                }
                false => are_known = false,
            }
            if coldest.is_none() || meetings.calls < least {
                (coldest, least) = (Some(index), meetings.calls);
            }
        }
        (coldest, are_known)
    }

    /// Whether the burst of a settled pair after so many calls is one in which everything is
    /// looked at. Without calls between bursts, everything is wanted.
    fn is_close(&self, calls: u32) -> bool {
        self.rate.between() == 0 || (calls / self.rate.round()).is_multiple_of(CLOSE)
    }

    /// Decides about a call in known company, by the pair that has met least.
    fn decide(&mut self, coldest: usize, raised: &mut Raised) -> Decision {
        let calls = self.meetings[coldest].calls;
        let is_settled = calls >= self.rate.round().saturating_mul(SETTLED);
        let stride = if is_settled { LONG_STRIDE } else { STRIDE };
        let mut sampled = self.rate.takes(calls);
        let stays = self.rate.stays(calls);
        let rest = stays.min(stride);
        let then = match sampled && is_settled && rest == stays {
            true => self.rate.between().min(stride - rest),
            false => 0,
        };
        if sampled && self.obliged > rest {
            self.obliged -= rest + 1;
            sampled = false;
        }
        if sampled {
            // Another one each time, if several are in that function.
            let many = self.present.iter().filter(|&&at| at == coldest).count();
            let turn = (calls / self.rate.round()) as usize % many;
            let its = (0..self.present.len()).filter(|&at| self.present[at] == coldest);
            raised.positions.extend(its.skip(turn).take(1));
        }
        Decision {
            look: match sampled {
                true if !is_settled || self.is_close(calls) => Look::Closely,
                true => Look::Briefly,
                false => Look::Away,
            },
            rest,
            then,
        }
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
        raised: &mut Raised,
    ) -> Decision {
        raised.clear();
        self.obliged = self.obliged.saturating_add(since.obliged);
        let (coldest, are_known) = self.meet(function, company, since.rested);
        let decision = match coldest {
            None => Decision {
                look: Look::Away,
                rest: STRIDE,
                then: 0,
            },
            Some(_) if !are_known => {
                let is_new = |&at: &usize| !self.meetings[self.present[at]].is_known;
                raised.positions.extend((0..company.len()).filter(is_new));
                raised.are_new = true;
                Decision {
                    look: Look::Closely,
                    rest: self.rate.burst().saturating_sub(1).min(STRIDE),
                    then: 0,
                }
            }
            Some(coldest) => self.decide(coldest, raised),
        };
        for position in 0..self.distinct.len() {
            self.count(self.distinct[position]);
        }
        decision
    }
}
