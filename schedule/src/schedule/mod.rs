//! A recorded schedule: who went, when, and where everybody stood.
//!
//! # The idea
//! What a strategy chose, freed from the ids of the run it was recorded in:
//! threads by their path in the creation tree, places by name. So it can be
//! followed in another process, read, and edited. Choices of one thread in a
//! row are one *move*.
//!
//! # The text
//! ```text
//! racehound schedule 2
//! # Lines like this one, and blank ones, say nothing.
//! plan racefuzzer:seed=7,pair=bank.c:12,bank.c:30
//! fingerprint 9c52ab31f00d7e44
//! anomaly atomicity atomicity-r-w-r
//! watch bank+0x11d0
//!
//! 0 x3
//!   fork bank.c:40
//!   fork bank.c:41
//!   notify-one bank.c:42
//! notifies 0.2
//! 0.2 x12
//!   acquire bank.c:29
//!   x10 write bank+0x11d0
//!   e2(s1) write bank+0x11d0
//! 0.1
//! end
//! ```
//!
//! | line | says |
//! |---|---|
//! | `racehound schedule 2` | what this is, and its version: always first |
//! | `plan PLAN` | how the choices were made; see [`Plan`] |
//! | `fingerprint HEX` | what became of them; see [`Fingerprint`] |
//! | `anomaly KIND NAME` | what happens in it, if it was made for that: the pattern's kind and name |
//! | `watch SITE` | plain accesses here are choices, too |
//! | `THREAD xN` | this thread goes N times; `x1` may be left out |
//! | `xN KIND SITE` | at N of these it is about to do this, here; `x1` may be left out |
//! | `e2(s1) KIND SITE` | the same of one choice: the anomaly's second event, on its first variable |
//! | `notifies THREAD` | the notify before this wakes this one |
//! | `time passes` | until the next one who sleeps wakes, although others can go |
//! | `end` | that nothing is missing: always last; version 1 has no such line |
//!
//! A kind is one of the trace's with hyphens, or `step` for one that touches
//! nothing shared. What a move does not say about its choices is not compared,
//! so a schedule of nothing but `THREAD xN` lines is complete; and who adds a
//! move by hand need not know where the thread will stand. In names a backslash
//! is `\\`, and whatever would be lost in a line is `\u{…}`.
//!
//! # Invariants
//! * A move has at least one choice, and says something of at most as many as
//!   it has.
//! * Memory is used by lines, not by choices: `x1000000000000` is as good a
//!   number as any.

#[cfg(test)]
mod tests;
mod text;

use std::fmt;

use racehound_trace::event::Kind;

use crate::{Choice, Fingerprint, Naming, Plan};

pub use text::ScheduleError;

/// Choices, in order, with what is known of the run they were made in.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// How the choices were made.
    pub plan: Option<Plan>,
    /// The fingerprint of the run.
    pub fingerprint: Option<Fingerprint>,
    /// The sites whose plain accesses were announced; see
    /// [`Strategy::watched`](crate::Strategy::watched).
    pub watched: Vec<String>,
    /// The anomaly that happens in it, if it was made for one.
    pub anomaly: Option<Anomaly>,
    moves: Vec<Move>,
    /// Where the moves stand, if they come from a text.
    lines: Vec<Lines>,
}

/// An anomaly that a schedule was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// `race`, `atomicity`, `atomic-set`, or `pattern` for a user's own.
    pub kind: String,
    /// The pattern's name.
    pub name: String,
}

/// The lines of a move and of its points, counted from 1.
#[derive(Clone, Debug)]
struct Lines {
    r#move: usize,
    points: Vec<usize>,
}

/// Choices that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// A thread goes, several times in a row.
    Run {
        /// Its path in the creation tree.
        thread: String,
        /// How many times, at least once.
        times: u64,
        /// What it is about to do, the first time, the second, and so on.
        points: Vec<Points>,
    },
    /// A notify wakes this thread.
    Notify {
        /// Its path in the creation tree.
        thread: String,
    },
    /// Time passes until who sleeps, or waits for so long at most, goes on.
    Time,
}

/// The same point, several times in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Points {
    /// How many times, at least once.
    pub times: u64,
    /// The point.
    pub point: Point,
    /// Whether it is an event of the anomaly; then it is there once.
    pub mark: Option<Mark>,
}

/// Which event of an anomaly something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its number in the pattern, from 0.
    pub event: usize,
    /// The number of the variable that it accesses, from 0.
    pub variable: usize,
}

/// Where a thread stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// What it is about to do; `None` if it touches nothing shared.
    pub kind: Option<Kind>,
    /// The name of the place. An empty one is not compared.
    pub site: String,
}

impl Schedule {
    /// A schedule of these moves.
    pub fn new(moves: Vec<Move>) -> Self {
        Self {
            moves,
            ..Self::default()
        }
    }

    /// What was chosen, by name.
    pub fn of(choices: &[Choice], names: &impl Naming) -> Self {
        let mut schedule = Self::default();
        for choice in choices {
            match *choice {
                Choice::Waiter(thread) => schedule.notify(names.thread(thread)),
                Choice::Time => schedule.moves.push(Move::Time),
                Choice::Thread { thread, site, kind } => {
                    let site = names.site(site);
                    schedule.go_on(names.thread(thread), Point { kind, site }, None);
                }
            }
        }
        schedule
    }

    /// Adds that the notify before this wakes this thread.
    pub fn notify(&mut self, thread: String) {
        self.moves.push(Move::Notify { thread });
    }

    /// Adds one choice of a thread.
    pub fn go_on(&mut self, thread: String, point: Point, mark: Option<Mark>) {
        let new = Points {
            times: 1,
            point,
            mark,
        };
        if let Some(Move::Run {
            thread: last,
            times,
            points,
        }) = self.moves.last_mut()
            && *last == thread
        {
            *times += 1;
            match points.last_mut() {
                Some(last) if last.point == new.point && last.mark.or(mark).is_none() => {
                    last.times += 1;
                }
                _ => points.push(new),
            }
            return;
        }
        self.moves.push(Move::Run {
            thread,
            times: 1,
            points: vec![new],
        });
    }

    /// The moves, in order.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// The same choices without what is known of each: short enough to paste.
    pub fn in_brief(&self) -> Self {
        let mut brief = self.clone();
        for r#move in &mut brief.moves {
            if let Move::Run { points, .. } = r#move {
                points.clear();
            }
        }
        brief
    }

    /// The line in which a move's points of this index stand, or else the move
    /// itself, counted from 1, if the schedule comes from a text.
    pub(crate) fn line(&self, r#move: usize, points: usize) -> Option<usize> {
        let lines = self.lines.get(r#move)?;
        Some(*lines.points.get(points).unwrap_or(&lines.r#move))
    }
}

/// Schedules are the same if they say the same, wherever they come from.
impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        (&self.plan, self.fingerprint) == (&other.plan, other.fingerprint)
            && (&self.watched, &self.moves) == (&other.watched, &other.moves)
            && self.anomaly == other.anomaly
    }
}

impl Eq for Schedule {}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}(s{})", self.event + 1, self.variable + 1)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::kind_word(self.kind))?;
        match &self.site[..] {
            "" => Ok(()),
            site => write!(f, " {}", text::escape(site)),
        }
    }
}
