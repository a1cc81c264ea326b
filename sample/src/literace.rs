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

use crate::{Decision, Function, Sampler};

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
    /// Bursts that are over, as far as it matters.
    bursts: usize,
    /// Calls of the current burst that are over.
    calls: u32,
    /// Calls until the next one.
    rest: u32,
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
        rested: u32,
        _company: &[Function],
        _raised: &mut Vec<usize>,
    ) -> Decision {
        let progress = self.functions.entry(function).or_default();
        progress.rest = progress.rest.saturating_sub(rested);
        let sampled = progress.rest == 0;
        match sampled {
            true => progress.calls += 1,
            false => progress.rest -= 1,
        }
        if progress.calls == BURST {
            progress.rest = self.rounds[progress.bursts] - BURST;
            progress.calls = 0;
            progress.bursts = (progress.bursts + 1).min(self.rounds.len() - 1);
        }
        let rest = progress.rest;
        Decision { sampled, rest }
    }

    fn minds_company(&self) -> bool {
        false
    }
}
