//! A place in a schedule.

use crate::schedule::Mark;
use crate::{Divergence, Move, Schedule, Turn};

/// A schedule, and how much of it is done.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    schedule: Schedule,
    next: Place,
    /// Choices made so far.
    made: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    r#move: usize,
    /// How often the move's thread went already.
    done: u64,
    /// The points of the move it has come to, and how often these were done.
    points: usize,
    points_done: u64,
}

impl Cursor {
    /// At the start.
    pub(crate) fn new(schedule: Schedule) -> Self {
        Self {
            schedule,
            next: Place::default(),
            made: 0,
        }
    }

    /// The whole schedule.
    pub(crate) fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The choice that comes next; `None` at the end.
    pub(crate) fn expected(&self) -> Option<Turn> {
        Some(match self.schedule.moves().get(self.next.r#move)? {
            Move::Notify { thread } => Turn::IsNotified {
                thread: thread.clone(),
            },
            Move::Time => Turn::TimePasses,
            Move::Run { thread, points, .. } => Turn::Goes {
                thread: thread.clone(),
                at: points.get(self.next.points).map(|p| p.point.clone()),
            },
        })
    }

    /// Which event of an anomaly that is, if it is one.
    pub(crate) fn mark(&self) -> Option<Mark> {
        match self.schedule.moves().get(self.next.r#move)? {
            Move::Notify { .. } | Move::Time => None,
            Move::Run { points, .. } => points.get(self.next.points)?.mark,
        }
    }

    /// That choice was made.
    pub(crate) fn advance(&mut self) {
        self.made += 1;
        let next = &mut self.next;
        if let Some(Move::Run { times, points, .. }) = self.schedule.moves().get(next.r#move) {
            next.done += 1;
            next.points_done += 1;
            if points
                .get(next.points)
                .is_some_and(|p| p.times == next.points_done)
            {
                (next.points, next.points_done) = (next.points + 1, 0);
            }
            if next.done < *times {
                return;
            }
        }
        *next = Place {
            r#move: next.r#move + 1,
            ..Place::default()
        };
    }

    /// What is told if something else than the expected was found here.
    pub(crate) fn divergence(&self, expected: Turn, found: Vec<Turn>) -> Divergence {
        Divergence {
            choice: self.made,
            line: self.schedule.line(self.next.r#move, self.next.points),
            expected,
            found,
        }
    }
}
