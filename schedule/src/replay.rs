//! A schedule, followed again.
//!
//! A program is replayed correctly as long as its only nondeterminism is the
//! schedule. Where something else has changed, sooner or later the recorded
//! thread is not enabled, or stands elsewhere: a [`Divergence`]. From there on
//! the record means nothing, so the rest runs as [`Sequential`], as it does
//! after the record's end (pecan.txt §6.3 stops at a divergence; whether to
//! stop is the host's decision here).

use racehound_trace::ThreadId;

use crate::{Choice, Pending, Sequential, Strategy};

/// The first point at which an execution differed from the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Index of the choice that could not be made.
    pub choice: usize,
    /// What the record says.
    pub expected: Choice,
    /// What could be chosen instead. For a choice among waiters recorded
    /// where a thread is to be picked, and the other way round, this is what
    /// the host asked for.
    pub found: Vec<Choice>,
}

/// Follows recorded choices.
#[derive(Clone, Debug)]
pub struct Replay {
    choices: Vec<Choice>,
    next: usize,
    divergence: Option<Divergence>,
    /// Takes over after the end or a divergence.
    rest: Sequential,
}

impl Replay {
    /// Follows `choices` from the start of an execution.
    pub fn new(choices: Vec<Choice>) -> Self {
        Self {
            choices,
            next: 0,
            divergence: None,
            rest: Sequential::new(),
        }
    }

    /// Where the execution left the record, if it did.
    pub fn divergence(&self) -> Option<&Divergence> {
        self.divergence.as_ref()
    }

    /// Whether every recorded choice was made.
    pub fn is_complete(&self) -> bool {
        self.divergence.is_none() && self.next == self.choices.len()
    }

    /// The index of the next recorded choice among those possible, or `None`
    /// where the record no longer helps.
    fn follow(&mut self, possible: impl Iterator<Item = Choice> + Clone) -> Option<usize> {
        if self.divergence.is_some() {
            return None;
        }
        let expected = *self.choices.get(self.next)?;
        let index = possible.clone().position(|choice| choice == expected);
        match index {
            Some(_) => self.next += 1,
            None => {
                self.divergence = Some(Divergence {
                    choice: self.next,
                    expected,
                    found: possible.collect(),
                });
            }
        }
        index
    }
}

impl Strategy for Replay {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        let possible = enabled.iter().map(|p| Choice::Thread {
            thread: p.thread,
            site: p.site,
        });
        match self.follow(possible) {
            Some(index) => {
                self.rest = Sequential::after(Some(enabled[index].thread));
                index
            }
            None => self.rest.pick(enabled),
        }
    }

    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        let possible = waiters.iter().map(|&thread| Choice::Waiter(thread));
        match self.follow(possible) {
            Some(index) => index,
            None => self.rest.pick_waiter(waiters),
        }
    }
}

#[cfg(test)]
mod tests {
    use racehound_trace::SiteId;

    use super::*;
    use crate::testing::enabled;

    fn at(thread: u32, site: u32) -> Choice {
        Choice::Thread {
            thread: ThreadId(thread),
            site: SiteId(site),
        }
    }

    #[test]
    fn choices_are_followed_by_meaning() {
        let mut replay = Replay::new(vec![at(1, 5), Choice::Waiter(ThreadId(7)), at(0, 6)]);
        assert_eq!(replay.pick(&enabled(&[(0, 1), (1, 5)])), 1);
        assert_eq!(replay.pick_waiter(&[ThreadId(3), ThreadId(7)]), 1);
        assert!(!replay.is_complete());
        assert_eq!(replay.pick(&enabled(&[(0, 6), (1, 9)])), 0);
        assert!(replay.is_complete());
    }

    #[test]
    fn after_the_end_the_last_thread_goes_on() {
        let mut replay = Replay::new(vec![at(1, 5)]);
        replay.pick(&enabled(&[(0, 1), (1, 5)]));
        assert_eq!(replay.pick(&enabled(&[(0, 1), (1, 6)])), 1);
        assert_eq!(replay.divergence(), None);
    }

    #[test]
    fn another_site_is_a_divergence() {
        let mut replay = Replay::new(vec![at(1, 5), at(0, 1)]);
        assert_eq!(replay.pick(&enabled(&[(0, 1), (1, 6)])), 0);
        assert_eq!(replay.pick(&enabled(&[(1, 5)])), 0);
        let divergence = Divergence {
            choice: 0,
            expected: at(1, 5),
            found: vec![at(0, 1), at(1, 6)],
        };
        assert_eq!(replay.divergence(), Some(&divergence));
        assert!(!replay.is_complete());
    }

    #[test]
    fn a_question_of_the_other_kind_is_a_divergence() {
        let mut replay = Replay::new(vec![at(1, 5)]);
        assert_eq!(replay.pick_waiter(&[ThreadId(1), ThreadId(2)]), 0);
        assert!(replay.divergence().is_some());
    }
}
