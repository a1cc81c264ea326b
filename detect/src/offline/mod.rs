//! The host that reads traces: a loop over events.
//!
//! [`analysis`] is that loop for one detector; [`shadow`] stores the variable
//! cells; [`jobs`] runs several detectors, or several shares of the variables,
//! over one source.

mod analysis;
mod incremental;
mod jobs;
mod prefetch;
mod shadow;
mod world;

use racehound_trace::{Loc, SiteId, SyncId, ThreadId};

use crate::Which;
use crate::access::AccessKind;
use crate::order::Volatiles;
use crate::stats::Stats;

pub use incremental::Incremental;
pub use jobs::analyze;

/// How to analyse.
#[derive(Clone, Debug)]
pub struct Options {
    /// What volatiles and atomics are.
    pub volatiles: Volatiles,
    /// All distinct pairs of sites, instead of at most one warning for each
    /// location.
    pub all_pairs: bool,
    /// Over how many workers to split the variables.
    pub jobs: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            volatiles: Volatiles::default(),
            all_pairs: false,
            jobs: 1,
        }
    }
}

/// What one detector found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The detector.
    pub detector: Which,
    /// Its warnings, in the order of the trace.
    pub warnings: Vec<Warning>,
    /// What it did. With several workers only the warnings are exact.
    pub stats: Stats,
}

/// Two accesses that a detector holds against each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Number of the later access in the trace, from 0.
    pub event: u64,
    /// The location, or the first byte of it.
    pub loc: Loc,
    /// How many bytes from there on.
    pub size: u32,
    /// The earlier access.
    pub first: Side,
    /// The later access.
    pub second: Side,
    /// How the detector came to it.
    pub why: Why,
}

/// One of the two accesses of a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// Who.
    pub thread: ThreadId,
    /// Where in the program.
    pub site: SiteId,
    /// What.
    pub kind: AccessKind,
    /// The locks that protected it, sorted.
    pub locks: Vec<SyncId>,
}

impl Warning {
    /// The two sites, sorted: what makes a race the same race.
    pub fn pair(&self) -> (SiteId, SiteId) {
        let (a, b) = (self.first.site, self.second.site);
        (a.min(b), a.max(b))
    }
}

/// How a detector came to a warning, with locks spelt out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Nothing orders the two in this execution.
    Unordered,
    /// Only locks could order the two, and they have none in common.
    NoCommonLock,
    /// Only locks could order the two; the writes so far share only these.
    WritesShareOnly(Vec<SyncId>),
    /// No lock was held at every access so far.
    NoConsistentLock,
    /// The same, and threads were seen to access it concurrently.
    NoConsistentLockAndConcurrent,
}

impl Why {
    /// The reason as a sentence, given what locks are called.
    pub fn in_words(&self, name: impl Fn(SyncId) -> String) -> String {
        match self {
            Self::Unordered => "nothing orders the two accesses in this execution".to_owned(),
            Self::NoCommonLock => {
                "at most locks order them, and they have none in common".to_owned()
            }
            Self::WritesShareOnly(locks) => {
                let names: Vec<String> = locks.iter().map(|&lock| name(lock)).collect();
                let shared = match &names[..] {
                    [] => "no lock".to_owned(),
                    names => format!("only {}", names.join(", ")),
                };
                format!("at most locks order them, and the writes so far share {shared}")
            }
            Self::NoConsistentLock => "no lock was held at every access so far".to_owned(),
            Self::NoConsistentLockAndConcurrent => {
                "no lock was held at every access, and threads met there".to_owned()
            }
        }
    }
}
