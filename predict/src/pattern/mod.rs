//! Patterns of access anomalies (pecan.txt §3).
//!
//! A pattern is a group of equally long sequences [E, T, SV, AR, AT]: event
//! E\[i\] is by thread T\[i\], accesses shared variable SV\[i\] within atomic
//! region AR\[i\], and is of access type AT\[i\]. Threads, variables and
//! regions are only told apart, so here they are numbers from 0 in the order
//! of their first appearance, and E is the sequence of [`Step`]s itself.
//!
//! # What matches
//! A tuple of events, in pattern order, such that
//! * different numbers are different threads, variables or regions, and equal
//!   numbers the same;
//! * a read-modify-write is both a read and a write;
//! * an event outside every region is a region of its own. So a region that
//!   stands once in the pattern matches any event, and one that stands twice
//!   needs a real one;
//! * for a [`Kind::Race`] the two events are also neighbours: both threads
//!   stood at their accesses together. For the others anything may lie
//!   between.
//!
//! # Invariants
//! At least two steps, at least two threads, and a region belongs to one
//! thread. [`Pattern::new`] is the only way to make one.

mod builtin;
mod notation;

use racehound_trace::Op;

pub use builtin::{atomic_set, atomicity, builtin, races};
pub use notation::{NotationError, parse_all};

/// What kind of anomaly a pattern describes; reports are grouped by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A data race.
    Race,
    /// An atomicity violation on a single variable.
    Atomicity,
    /// A violation of atomic-set serialisability.
    AtomicSet,
    /// A pattern of the user's own.
    User,
}

/// What an event of a pattern does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessType {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

impl AccessType {
    /// Whether an operation is an access of this type; a read-modify-write is
    /// of both.
    pub fn matches(self, op: &Op) -> bool {
        match op {
            Op::AtomicRmw { .. } => true,
            Op::Read { .. } | Op::AtomicLoad { .. } => self == Self::Read,
            Op::Write { .. } | Op::AtomicStore { .. } => self == Self::Write,
            _ => false,
        }
    }

    /// `r` or `w`.
    pub fn letter(self) -> char {
        match self {
            Self::Read => 'r',
            Self::Write => 'w',
        }
    }
}

/// One event of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Step {
    /// T\[i\].
    pub thread: usize,
    /// SV\[i\].
    pub variable: usize,
    /// AR\[i\].
    pub region: usize,
    /// AT\[i\].
    pub access: AccessType,
}

/// An access anomaly to look for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    name: String,
    kind: Kind,
    steps: Vec<Step>,
}

/// Why a sequence of steps is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// Nothing can interleave with nothing.
    #[error("a pattern needs at least two events, this one has {0}")]
    TooShort(usize),
    /// One thread alone cannot have an anomaly.
    #[error("a pattern needs at least two threads")]
    OneThread,
    /// A region is what one thread does.
    #[error("events {first} and {second} share a region but are by different threads")]
    SharedRegion {
        /// Number of an event, from 1.
        first: usize,
        /// Number of the other event, from 1.
        second: usize,
    },
    /// A name is one word.
    #[error("a pattern's name is one word without spaces, not {0:?}")]
    Name(String),
}

impl Pattern {
    /// A pattern of these steps; threads, variables and regions are numbered
    /// anew in the order of their first appearance.
    pub fn new(name: &str, kind: Kind, steps: &[Step]) -> Result<Self, Invalid> {
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(Invalid::Name(name.to_owned()));
        }
        if steps.len() < 2 {
            return Err(Invalid::TooShort(steps.len()));
        }
        if steps.iter().all(|step| step.thread == steps[0].thread) {
            return Err(Invalid::OneThread);
        }
        for (j, b) in steps.iter().enumerate() {
            let shared = |a: &Step| a.region == b.region && a.thread != b.thread;
            if let Some(i) = steps[..j].iter().position(shared) {
                return Err(Invalid::SharedRegion {
                    first: i + 1,
                    second: j + 1,
                });
            }
        }
        let threads = renumber(steps, |step| step.thread);
        let variables = renumber(steps, |step| step.variable);
        let regions = renumber(steps, |step| step.region);
        let renumbered = |(i, step): (usize, &Step)| Step {
            thread: threads[i],
            variable: variables[i],
            region: regions[i],
            access: step.access,
        };
        Ok(Self {
            name: name.to_owned(),
            kind,
            steps: steps.iter().enumerate().map(renumbered).collect(),
        })
    }

    /// What the pattern is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What kind of anomaly it describes.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The events, in the order in which they must happen.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

/// For each step, the rank of its value among the values in order of first
/// appearance.
fn renumber(steps: &[Step], value: impl Fn(&Step) -> usize) -> Vec<usize> {
    let mut seen = Vec::new();
    steps
        .iter()
        .map(|step| {
            let value = value(step);
            seen.iter().position(|&s| s == value).unwrap_or_else(|| {
                seen.push(value);
                seen.len() - 1
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(thread: usize, region: usize) -> Step {
        Step {
            thread,
            variable: 9,
            region,
            access: AccessType::Write,
        }
    }

    #[test]
    fn numbers_follow_first_appearance() {
        let steps = [step(5, 8), step(2, 3), step(5, 8)];
        let pattern = Pattern::new("p", Kind::User, &steps).unwrap();
        let numbers: Vec<_> = pattern
            .steps()
            .iter()
            .map(|s| (s.thread, s.region))
            .collect();
        assert_eq!(numbers, [(0, 0), (1, 1), (0, 0)]);
        assert!(pattern.steps().iter().all(|s| s.variable == 0));
    }

    #[test]
    fn impossible_patterns_are_refused() {
        let new = |name, steps: &[Step]| Pattern::new(name, Kind::User, steps).unwrap_err();
        assert_eq!(new("p", &[step(0, 0)]), Invalid::TooShort(1));
        assert_eq!(new("p", &[step(0, 0), step(0, 1)]), Invalid::OneThread);
        assert_eq!(
            new("p", &[step(0, 0), step(1, 0)]),
            Invalid::SharedRegion {
                first: 1,
                second: 2
            }
        );
        assert_eq!(
            new("a b", &[step(0, 0), step(1, 1)]),
            Invalid::Name("a b".to_owned())
        );
    }

    #[test]
    fn a_read_modify_write_is_read_and_write() {
        let order = racehound_trace::MemoryOrder::Relaxed;
        let loc = racehound_trace::Loc(0);
        let rmw = Op::AtomicRmw {
            loc,
            size: 1,
            order,
        };
        assert!(AccessType::Read.matches(&rmw) && AccessType::Write.matches(&rmw));
        let read = Op::Read { loc, size: 1 };
        assert!(AccessType::Read.matches(&read) && !AccessType::Write.matches(&read));
    }
}
