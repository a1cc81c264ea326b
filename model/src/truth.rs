//! What is true of a program.

use std::collections::{BTreeMap, BTreeSet};

use racehound_trace::{SiteId, ThreadId};

/// Everything that can happen in some interleaving of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Pairs of sites, the smaller first, such that two threads can stand
    /// there at once, both enabled, about to make conflicting accesses.
    pub races: BTreeSet<(SiteId, SiteId)>,
    /// States in which nobody can go on: the threads that have not ended, and
    /// where each stands.
    pub deadlocks: BTreeSet<Vec<(ThreadId, SiteId)>>,
    /// Failed assertions and errors that can be reached: site and name.
    pub failures: BTreeSet<(SiteId, String)>,
    /// Misuses of a primitive that can be reached: site and message.
    pub misuses: BTreeSet<(SiteId, String)>,
    /// By pattern name, the sites of the accesses that match it, in pattern
    /// order. Patterns without a match are absent, as are those of data
    /// races: see [`races`](Self::races).
    pub violations: BTreeMap<String, BTreeSet<Vec<SiteId>>>,
    /// Loops that can reach their bound. If there are any, the rest is the
    /// truth of the program with these bounds, and of nothing else.
    pub loop_bounds: BTreeSet<SiteId>,
    /// States visited: how much work it was.
    pub states: u64,
    /// Complete executions visited, different up to dependence.
    pub executions: u64,
}

impl Truth {
    /// Whether accesses at these sites, in either order, can race.
    pub fn has_race(&self, a: SiteId, b: SiteId) -> bool {
        self.races.contains(&(a.min(b), a.max(b)))
    }

    /// Whether an error of this name, or an assertion of this text, can fail.
    pub fn has_failure(&self, name: &str) -> bool {
        self.failures.iter().any(|(_, failed)| failed == name)
    }

    /// Whether the accesses at these sites can match a pattern of this name.
    pub fn has_violation(&self, pattern: &str, sites: &[SiteId]) -> bool {
        let found = self.violations.get(pattern);
        found.is_some_and(|found| found.contains(sites))
    }

    /// Whether the other truth says the same, however much work it was.
    pub fn agrees_with(&self, other: &Self) -> bool {
        let (states, executions) = (self.states, self.executions);
        let other = Self {
            states,
            executions,
            ..other.clone()
        };
        *self == other
    }
}
