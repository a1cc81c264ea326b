//! A schedule, followed again.
//!
//! A program is replayed correctly as long as its only nondeterminism is the
//! schedule. Where something else has changed, sooner or later the recorded
//! thread is not enabled, or stands elsewhere: a [`Divergence`]. From there on
//! the record means nothing, so the rest runs as [`Sequential`], as it does
//! after the record's end (pecan.txt §6.3 stops at a divergence; whether to
//! stop is the host's decision here).

use std::fmt;

use racehound_trace::ThreadId;

use crate::cursor::Cursor;
use crate::naming::Known;
use crate::{Naming, Pending, Point, Schedule, Sequential, Strategy};

/// The first point at which an execution differed from the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// How many choices had been made.
    pub choice: u64,
    /// The line of the schedule's text that could not be followed, from 1.
    pub line: Option<usize>,
    /// What the record says.
    pub expected: Turn,
    /// What could be chosen instead. For a choice among waiters recorded
    /// where a thread is to be picked, and the other way round, this is what
    /// the host asked for.
    pub found: Vec<Turn>,
}

/// A choice, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A thread goes.
    Goes {
        /// Its path in the creation tree.
        thread: String,
        /// Where it stands, as far as the record says so.
        at: Option<Point>,
    },
    /// A notify wakes this thread.
    IsNotified {
        /// Its path in the creation tree.
        thread: String,
    },
    /// Time passes until somebody wakes.
    TimePasses,
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Goes { thread, at: None } => write!(f, "thread {thread}"),
            Self::Goes {
                thread,
                at: Some(point),
            } => write!(f, "thread {thread} at `{point}`"),
            Self::IsNotified { thread } => write!(f, "thread {thread} to be notified"),
            Self::TimePasses => write!(f, "somebody to wake"),
        }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "choice {}", self.choice + 1)?;
        if let Some(line) = self.line {
            write!(f, ", line {line} of the schedule")?;
        }
        let found: Vec<_> = self.found.iter().map(Turn::to_string).collect();
        write!(
            f,
            ": expected {}, found {}",
            self.expected,
            found.join(", ")
        )
    }
}

/// Follows a recorded schedule.
#[derive(Clone, Debug)]
pub struct Replay<N> {
    cursor: Cursor,
    names: Known<N>,
    divergence: Option<Divergence>,
    /// Takes over after the end or a divergence.
    rest: Sequential,
}

impl<N: Naming> Replay<N> {
    /// Follows `schedule` from the start of an execution with these `names`.
    pub fn new(schedule: Schedule, names: N) -> Self {
        Self {
            cursor: Cursor::new(schedule),
            names: Known::new(names),
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
        self.divergence.is_none() && self.cursor.expected().is_none()
    }

    /// What comes next, unless the record no longer helps.
    fn expected(&self) -> Option<Turn> {
        match self.divergence {
            Some(_) => None,
            None => self.cursor.expected(),
        }
    }

    fn diverge(&mut self, expected: Turn, found: Vec<Turn>) {
        self.divergence = Some(self.cursor.divergence(expected, found));
    }

    /// The index of the thread to go, if the record says so and it can.
    fn follow(&mut self, enabled: &[Pending]) -> Option<usize> {
        let expected = self.expected()?;
        if let Turn::Goes { thread, at } = &expected {
            let named = |p: &Pending| self.names.thread(p.thread) == thread;
            let index = enabled.iter().position(named);
            let there = |found: Point| match at {
                Some(at) => at.kind == found.kind && (at.site.is_empty() || at.site == found.site),
                None => true,
            };
            if let Some(index) = index
                && there(self.names.point(&enabled[index]))
            {
                self.cursor.advance();
                return Some(index);
            }
        }
        let goes = |p: &Pending| Turn::Goes {
            thread: self.names.thread(p.thread).to_owned(),
            at: Some(self.names.point(p)),
        };
        let found = enabled.iter().map(goes).collect();
        self.diverge(expected, found);
        None
    }

    fn follow_notify(&mut self, waiters: &[ThreadId]) -> Option<usize> {
        let expected = self.expected()?;
        let is_notified = |id: &ThreadId| Turn::IsNotified {
            thread: self.names.thread(*id).to_owned(),
        };
        let found: Vec<_> = waiters.iter().map(is_notified).collect();
        let index = found.iter().position(|turn| *turn == expected);
        match index {
            Some(_) => self.cursor.advance(),
            None => self.diverge(expected, found),
        }
        index
    }
}

impl<N: Naming> Strategy for Replay<N> {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        match self.follow(enabled) {
            Some(index) => {
                self.rest = Sequential::after(Some(enabled[index].thread));
                index
            }
            None => self.rest.pick(enabled),
        }
    }

    fn yields(&mut self, thread: ThreadId) {
        self.rest.yields(thread);
    }

    /// Who went then, if it still sleeps.
    fn awaits(&self) -> Option<ThreadId> {
        match self.expected()? {
            Turn::Goes { thread, .. } => self.names.thread_called(&thread),
            Turn::IsNotified { .. } | Turn::TimePasses => None,
        }
    }

    fn awaits_sleepers(&self, _: &[Pending]) -> bool {
        self.expected() == Some(Turn::TimePasses)
    }

    fn time_passed(&mut self) {
        if self.expected() == Some(Turn::TimePasses) {
            self.cursor.advance();
        }
    }

    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        match self.follow_notify(waiters) {
            Some(index) => index,
            None => self.rest.pick_waiter(waiters),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Numbers, enabled};

    fn replay(moves: &str) -> Replay<Numbers> {
        let text = format!("racehound schedule 1\n{moves}");
        Replay::new(text.parse().unwrap(), Numbers)
    }

    #[test]
    fn choices_are_followed_by_meaning() {
        let mut replay = replay("1 x2\nstep s5\nstep s6\nnotifies 7\n0\nstep s6");
        assert_eq!(replay.pick(&enabled(&[(0, 1), (1, 5)])), 1);
        assert_eq!(replay.pick(&enabled(&[(1, 6)])), 0);
        assert_eq!(replay.pick_waiter(&[ThreadId(3), ThreadId(7)]), 1);
        assert!(!replay.is_complete());
        assert_eq!(replay.pick(&enabled(&[(0, 6), (1, 9)])), 0);
        assert!(replay.is_complete());
    }

    #[test]
    fn after_the_end_the_last_thread_goes_on() {
        let mut replay = replay("1\nstep s5");
        replay.pick(&enabled(&[(0, 1), (1, 5)]));
        assert_eq!(replay.pick(&enabled(&[(0, 1), (1, 6)])), 1);
        assert_eq!(replay.divergence(), None);
    }

    #[test]
    fn what_is_not_said_is_not_compared() {
        let mut replay = replay("1 x4\nx2 step s5\nstep");
        for site in [5, 5, 8, 9] {
            assert_eq!(replay.pick(&enabled(&[(0, 1), (1, site)])), 1);
        }
        assert!(replay.is_complete());
    }

    #[test]
    fn another_site_is_a_divergence() {
        let mut replay = replay("1 x3\nx2 step s5\n\n0\nstep s1");
        assert_eq!(replay.pick(&enabled(&[(0, 1), (1, 5)])), 1);
        assert_eq!(replay.pick(&enabled(&[(0, 1), (1, 6)])), 1);
        // From now on the last thread goes on as long as it can.
        assert_eq!(replay.pick(&enabled(&[(0, 1)])), 0);
        assert_eq!(
            replay.divergence().unwrap().to_string(),
            "choice 2, line 3 of the schedule: expected thread 1 at `step s5`, \
             found thread 0 at `step s1`, thread 1 at `step s6`"
        );
        assert!(!replay.is_complete());
    }

    #[test]
    fn another_operation_is_a_divergence() {
        let mut replay = replay("1\nread s5");
        replay.pick(&enabled(&[(1, 5)]));
        let divergence = replay.divergence().unwrap().to_string();
        assert!(
            divergence.ends_with("expected thread 1 at `read s5`, found thread 1 at `step s5`"),
            "{divergence}"
        );
    }

    #[test]
    fn a_thread_that_cannot_go_is_a_divergence() {
        let mut replay = replay("2");
        replay.pick(&enabled(&[(0, 1)]));
        assert_eq!(
            replay.divergence().unwrap().to_string(),
            "choice 1, line 2 of the schedule: expected thread 2, \
             found thread 0 at `step s1`"
        );
    }

    #[test]
    fn time_passes_when_it_did_and_not_before() {
        let mut replay = replay("1\ntime passes\n0");
        let both = enabled(&[(0, 1), (1, 5)]);
        assert!(!replay.awaits_sleepers(&both));
        assert_eq!(replay.pick(&both), 1);
        assert!(replay.awaits_sleepers(&both));
        replay.time_passed();
        assert!(!replay.awaits_sleepers(&both));
        assert_eq!(replay.pick(&both), 0);
        assert!(replay.is_complete());
    }

    #[test]
    fn time_that_cannot_pass_is_a_divergence() {
        let mut replay = replay("time passes");
        replay.pick(&enabled(&[(0, 1)]));
        let divergence = replay.divergence().unwrap().to_string();
        assert!(
            divergence.contains("expected somebody to wake"),
            "{divergence}"
        );
    }

    #[test]
    fn a_question_of_the_other_kind_is_a_divergence() {
        let mut replay = replay("1\nstep s5");
        assert_eq!(replay.pick_waiter(&[ThreadId(1), ThreadId(2)]), 0);
        assert!(replay.divergence().is_some());
    }
}
