//! LiteRace: functions that a thread has rarely called (atexrace.txt §3.3, and the
//! configuration of its reference 34).
//!
//! A race that nobody has found yet is likely to be in code that is rarely
//! executed. So a thread looks at everything a function does when it calls it
//! first, and at less and less of it later: bursts of ten calls in a row, at rates
//! of 100 %, 10 %, 1 % and from then on 0.1 % of the calls. Other threads and other
//! executions do not count: those are the two limits that [`AtexRace`] removes.
//!
//! [`AtexRace`]: crate::AtexRace

use rustc_hash::FxHashMap;

use crate::{Decision, Function, Look, Raised, Sampler, Since};

/// Calls in a burst.
const BURST: u32 = 10;

/// LiteRace for one thread.
#[derive(Debug)]
pub struct LiteRace {
    /// Calls from one burst to the next, burst after burst; the last stays.
    rounds: Vec<u32>,
    functions: FxHashMap<Function, Progress>,
}

/// How far a function has come.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Which round it is in.
    round: usize,
    /// Calls of that round that are over.
    calls: u32,
}

impl LiteRace {
    /// At rates down to one call in `least`.
    pub fn new(least: u32) -> Self {
        let tens = std::iter::successors(Some(1u32), |rate| rate.checked_mul(10));
        let rates = tens.take_while(|&rate| rate < least).chain([least.max(1)]);
        Self {
            rounds: rates.map(|rate| rate.saturating_mul(BURST)).collect(),
            functions: FxHashMap::default(),
        }
    }
}

impl Default for LiteRace {
    /// The paper's: down to 0.1 %.
    fn default() -> Self {
        Self::new(1000)
    }
}

impl Sampler for LiteRace {
    fn enter(
        &mut self,
        function: Function,
        since: Since,
        _company: &[Function],
        raised: &mut Raised,
    ) -> Decision {
        raised.clear();
        let progress = self.functions.entry(function).or_default();
        progress.calls += since.rested;
        while progress.calls >= self.rounds[progress.round] {
            progress.calls -= self.rounds[progress.round];
            progress.round = (progress.round + 1).min(self.rounds.len() - 1);
        }
        progress.calls += 1;
        let sampled = progress.calls <= BURST;
        let rest = match sampled {
            true => BURST - progress.calls,
            false => self.rounds[progress.round] - progress.calls,
        };
        let look = match sampled {
            true => Look::Closely,
            false => Look::Away,
        };
        Decision {
            look,
            rest,
            then: 0,
        }
    }

    fn minds_company(&self) -> bool {
        false
    }
}
