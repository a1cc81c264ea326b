//! What tells executions that failed from those that went well.
//!
//! That something happened in an execution that failed does not mean that it failed of it.
//! It is blamed if it happened in each execution that failed in the same way, and in none
//! that went well; and nobody is blamed before there are some of both.

use std::time::{Duration, Instant};

use racehound_hunt::{Execution, harm, interleaving};
use racehound_report::finding::{Finding, Harm};
use racehound_schedule::Plan;
use racehound_trace::Trace;

use super::Hunting;
use crate::recordings;

/// What was recorded of executions that failed in the same way, and of others.
#[derive(Default)]
pub(super) struct Comparison {
    failed: Vec<Trace>,
    well: Vec<Trace>,
}

/// Executions of either sort that are enough, and fewer than which say nothing.
const ENOUGH: usize = 8;
const FEWEST: usize = 3;
/// Executions that are made for it at most.
const MOST_TRIED: u64 = 48;

impl Comparison {
    fn is_enough(&self) -> bool {
        self.failed.len().min(self.well.len()) >= ENOUGH
    }

    fn is_telling(&self) -> bool {
        self.failed.len().min(self.well.len()) >= FEWEST
    }

    /// Whether the accesses of a pattern, in its order, tell the two sorts from each other.
    pub(super) fn blames(&self, finding: &Finding) -> bool {
        let shows = |trace: &Trace| interleaving::shows(trace, finding);
        self.is_telling() && self.failed.iter().all(shows) && !self.well.iter().any(shows)
    }
}

impl Hunting<'_> {
    /// Compares an execution that has failed with others, as far as there is time.
    pub(super) fn compare(
        &self,
        failed: &Trace,
        harm: &Harm,
        judge: impl Fn(&Execution) -> Option<Harm>,
        share: Duration,
    ) -> Comparison {
        let begun = Instant::now();
        let mut compared = Comparison {
            failed: vec![failed.clone()],
            ..Comparison::default()
        };
        for number in 0..MOST_TRIED {
            let is_over = self.program.stop.is_due() || begun.elapsed() > share;
            if is_over || compared.is_enough() {
                break;
            }
            let Some((trace, execution)) = self.record(diverse(self.args.seed, number)) else {
                continue;
            };
            match judge(&execution) {
                None => compared.well.push(trace),
                Some(other) if harm::is_same(&other, harm) => compared.failed.push(trace),
                Some(_) => {}
            }
        }
        compared
    }

    /// What was recorded of an execution: of that process whose threads took turns.
    pub(super) fn record(&self, schedule: Plan) -> Option<(Trace, Execution)> {
        let recording = recordings::record(&self.program, schedule)?;
        let traces = recording.traces.into_iter().map(|(trace, _)| trace);
        let trace = traces.max_by_key(interleaving::turns)?;
        Some((trace, recording.execution))
    }
}

/// Plans that lead to executions of many sorts.
fn diverse(seed: u64, number: u64) -> Plan {
    let seed = seed.wrapping_add(number);
    match number % 3 {
        0 => Plan::Random { seed },
        1 => Plan::Restless { seed },
        _ => Plan::Overtake { seed },
    }
}
