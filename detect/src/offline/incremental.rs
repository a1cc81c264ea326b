//! A detector that is fed as events come, for a host that has no trace yet.

use racehound_trace::{Event, Space};

use super::analysis::{Analyze, Share};
use super::jobs::start;
use super::{Options, Warning};
use crate::Which;

/// A detector over the events so far.
pub struct Incremental {
    analysis: Box<dyn Analyze>,
    space: Space,
    told: usize,
}

impl Incremental {
    /// A detector before the first event.
    pub fn new(which: Which, space: Space, options: &Options) -> Self {
        let all = Share { index: 0, of: 1 };
        Self {
            analysis: start(which, options, all),
            space,
            told: 0,
        }
    }

    /// Takes the next events; returns what they led to.
    pub fn feed(&mut self, events: &[Event]) -> &[Warning] {
        self.analysis.events(self.space, events);
        let warnings = self.analysis.warnings();
        let new = &warnings[self.told..];
        self.told = warnings.len();
        new
    }
}
