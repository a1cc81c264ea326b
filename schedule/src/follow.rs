//! A predicted schedule, followed until the anomaly happens (pecan.txt §6.3, §7).
//!
//! # The idea
//! A schedule that was made for an anomaly names *landmarks*: synchronisation, and
//! the accesses that it watches. The thread whose landmark is next goes until it
//! stands at one. If that is the right one, it passes it; if it is another one, the
//! program has taken another branch; if the thread cannot go, it waits for
//! somebody who would have to go first. In both cases the schedule cannot be
//! followed, and that is said at once: where, what was expected, what was there.
//! Whatever is no landmark happens right after the landmark before it; but a thread that has
//! passed its last one stops before what is no operation, if who comes next can go: it may be
//! about to fail.
//!
//! # What is confirmed
//! Only what happened. For a race, both threads stood at their accesses at the
//! same time, able to go, about to access the same memory: a [`Meeting`], even if the
//! first access ends the program. For any
//! other anomaly its events happened in the pattern's order, and they accessed the
//! same variable where the pattern says so, and different ones where it says that.
//!
//! # Deviations
//! * The paper stops a re-execution that fails. Whether to stop is the host's
//!   decision here; if it does not, the rest runs as [`Sequential`], as it does after
//!   the anomaly, whose consequences are of interest.
//! * Fences and the leaving of barriers are no landmarks: they never decide
//!   anything, and not every host announces them.
//! * Semaphore operations that a thread does not come to are passed over: traces have
//!   them for whatever orders threads, announced or not. If it has taken another branch,
//!   its next landmark tells.
//! * An atomic operation is one landmark, whatever becomes of it: a compare-and-swap
//!   that failed is recorded as a load, but is announced as an exchange.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use racehound_trace::event::Kind;
use racehound_trace::{SiteId, ThreadId};

use crate::cursor::Cursor;
use crate::naming::Known;
use crate::{
    Divergence, Mark, Meeting, Move, Naming, Pending, Point, Schedule, Sequential, Strategy, Turn,
};

/// Steps that are no landmarks, of one thread in a row: so many mean that it
/// spins, and waits for something that the schedule does not have.
const PATIENCE: u32 = 100_000;

/// Whether an operation of this kind is a landmark wherever it is.
pub fn is_landmark(kind: Kind) -> bool {
    kind.synchronises() && !matches!(kind, Kind::Fence | Kind::BarrierLeave)
}

/// Whether not every host announces what it records here. Traces have semaphores
/// for whatever orders threads and is none of the other primitives.
fn may_be_unannounced(point: &Point) -> bool {
    matches!(point.kind, Some(Kind::SemPost | Kind::SemWait))
}

/// What became of a predicted anomaly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It happened.
    Confirmed,
    /// The schedule could not be followed.
    Diverged(Divergence),
    /// It was followed to its end, but the accesses were not to the variables of
    /// the pattern.
    Elsewhere,
    /// The execution has not come to the schedule's end.
    Unfinished,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Confirmed => f.write_str("confirmed"),
            Self::Diverged(divergence) => write!(f, "left the schedule at {divergence}"),
            Self::Elsewhere => f.write_str(
                "came to the end of the schedule, but the accesses were to other variables",
            ),
            Self::Unfinished => f.write_str("ended before the schedule did"),
        }
    }
}

/// Follows a schedule to an anomaly.
#[derive(Clone, Debug)]
pub struct Follow<N> {
    cursor: Cursor,
    names: Known<N>,
    /// Names of places whose accesses are landmarks.
    watched: BTreeSet<String>,
    /// For a race: where the other thread has to stand.
    partner: Option<(String, Point)>,
    /// By thread: how many landmarks are left for it.
    left: HashMap<String, u64>,
    /// Who goes on to its next landmark.
    current: Option<ThreadId>,
    idle: u32,
    happened: Vec<(Mark, Pending)>,
    meetings: Vec<Meeting>,
    fate: Fate,
    /// There is more to follow: also behind a meeting, which is a race whatever comes of it.
    is_open: bool,
    steps: u64,
    rest: Sequential,
}

impl<N: Naming> Follow<N> {
    /// Follows `schedule` from the start of an execution with these `names`.
    pub fn new(schedule: Schedule, names: N) -> Self {
        let is_race = schedule.anomaly.as_ref().is_some_and(|a| a.kind == "race");
        let last = match schedule.moves().last() {
            Some(Move::Run { thread, points, .. }) if is_race => {
                points.last().map(|p| (thread.clone(), p.point.clone()))
            }
            _ => None,
        };
        let mut left: HashMap<String, u64> = HashMap::new();
        for r#move in schedule.moves() {
            if let Move::Run { thread, times, .. } = r#move {
                *left.entry(thread.clone()).or_default() += times;
            }
        }
        Self {
            left,
            watched: schedule.watched.iter().cloned().collect(),
            partner: last,
            cursor: Cursor::new(schedule),
            names: Known::new(names),
            current: None,
            idle: 0,
            happened: Vec::new(),
            meetings: Vec::new(),
            fate: Fate::Unfinished,
            is_open: true,
            steps: 0,
            rest: Sequential::new(),
        }
    }

    /// What became of the anomaly so far.
    pub fn fate(&self) -> &Fate {
        &self.fate
    }

    /// The schedule.
    pub fn schedule(&self) -> &Schedule {
        self.cursor.schedule()
    }

    /// What the anomaly's events were, in pattern order, as far as they happened: of a race,
    /// the accesses at which both stood.
    pub fn happened(&self) -> impl Iterator<Item = &Pending> + '_ {
        let met = self.meetings.first();
        let met = met.into_iter().flat_map(|m| [&m.postponed, &m.arrived]);
        let passed = self.happened.iter().map(|(_, pending)| pending);
        met.chain(passed.filter(|_| self.meetings.is_empty()))
    }

    fn stands_at_landmark(&mut self, pending: &Pending) -> bool {
        let Some(op) = pending.op else { return false };
        is_landmark(op.kind())
            || (op.access().is_some() && self.watched.contains(self.names.site(pending.site)))
    }

    fn stands_at(&mut self, pending: &Pending, point: &Point) -> bool {
        let found = self.names.point(pending);
        let alike = match (point.kind, found.kind) {
            (Some(Kind::AtomicLoad | Kind::AtomicStore), Some(Kind::AtomicRmw)) => true,
            (expected, found) => expected == found,
        };
        alike && (point.site.is_empty() || point.site == found.site)
    }

    fn diverge(&mut self, expected: Turn, enabled: &[Pending]) {
        let goes = |p: &Pending| Turn::Goes {
            thread: self.names.thread(p.thread).to_owned(),
            at: Some(self.names.point(p)),
        };
        let found = enabled.iter().map(goes).collect();
        self.is_open = false;
        if self.fate == Fate::Unfinished {
            self.fate = Fate::Diverged(self.cursor.divergence(expected, found));
        }
    }

    /// The index of the thread to go; `None` if the schedule does not help.
    fn step(&mut self, enabled: &[Pending]) -> Option<usize> {
        if let Some(current) = self.current
            && let Some(index) = enabled.iter().position(|p| p.thread == current)
            && !self.stands_at_landmark(&enabled[index])
            && !(enabled[index].op.is_none()
                && self.has_done_its_part(current)
                && self.can_go_on_without(current, enabled))
        {
            return self.go_on(enabled, index);
        }
        self.current = None;
        loop {
            let expected = self.cursor.expected()?;
            let Turn::Goes { thread, at } = &expected else {
                // There was only one to be notified, so nobody asked.
                self.advance();
                continue;
            };
            let index = self.find(enabled, thread);
            let stands = |follow: &mut Self, at: &Point| {
                index.is_some_and(|index| follow.stands_at(&enabled[index], at))
            };
            if let Some(at) = at
                && may_be_unannounced(at)
                && !stands(self, at)
                && index.is_none_or(|index| self.stands_at_landmark(&enabled[index]))
            {
                self.advance();
                continue;
            }
            let Some(index) = index else {
                self.diverge(expected, enabled);
                return None;
            };
            if !self.stands_at_landmark(&enabled[index]) {
                return self.go_on(enabled, index);
            }
            if let Some(at) = at
                && !self.stands_at(&enabled[index], at)
            {
                self.diverge(expected, enabled);
                return None;
            }
            let mark = self.cursor.mark();
            if mark.is_some_and(|mark| mark.event == 0)
                && let Some((thread, point)) = self.partner.clone()
            {
                match self.meet(enabled, index, thread, point) {
                    Ok(()) => {}
                    Err(picked) => return picked,
                }
            }
            self.advance();
            self.happened
                .extend(mark.map(|mark| (mark, enabled[index])));
            self.current = Some(enabled[index].thread);
            self.idle = 0;
            if self.cursor.expected().is_none() {
                self.conclude();
            }
            return Some(index);
        }
    }

    /// That choice was made, or is passed over.
    fn advance(&mut self) {
        if let Some(Turn::Goes { thread, .. }) = self.cursor.expected()
            && let Some(left) = self.left.get_mut(&thread)
        {
            *left -= 1;
        }
        self.cursor.advance();
    }

    /// Whether the schedule has nothing left for a thread.
    fn has_done_its_part(&mut self, thread: ThreadId) -> bool {
        let left = self.left.get(self.names.thread(thread));
        left.is_none_or(|left| *left == 0)
    }

    /// Whether somebody else comes next, and can go.
    fn can_go_on_without(&mut self, current: ThreadId, enabled: &[Pending]) -> bool {
        let Some(Turn::Goes { thread, .. }) = self.cursor.expected() else {
            return false;
        };
        let next = self.find(enabled, &thread);
        next.is_some_and(|next| enabled[next].thread != current)
    }

    fn find(&mut self, enabled: &[Pending], thread: &str) -> Option<usize> {
        let named = |p: &Pending| self.names.thread(p.thread) == thread;
        enabled.iter().position(named)
    }

    fn go_on(&mut self, enabled: &[Pending], index: usize) -> Option<usize> {
        self.current = Some(enabled[index].thread);
        self.idle += 1;
        if self.idle > PATIENCE {
            let expected = self.cursor.expected()?;
            self.diverge(expected, enabled);
            return None;
        }
        Some(index)
    }

    /// One thread of a race stands at its access: the other one has to, too. If it
    /// does not yet, it goes on, or cannot.
    fn meet(
        &mut self,
        enabled: &[Pending],
        first: usize,
        thread: String,
        point: Point,
    ) -> Result<(), Option<usize>> {
        if let Some(second) = self.find(enabled, &thread) {
            if !self.stands_at_landmark(&enabled[second]) {
                return Err(self.go_on(enabled, second));
            }
            if self.stands_at(&enabled[second], &point) {
                if enabled[first].races_with(&enabled[second]) {
                    self.meetings.push(Meeting {
                        step: self.steps,
                        postponed: enabled[first],
                        arrived: enabled[second],
                        first: enabled[first].thread,
                        pair: Some(0),
                    });
                    self.fate = Fate::Confirmed;
                }
                return Ok(());
            }
        }
        let at = Some(point);
        self.diverge(Turn::Goes { thread, at }, enabled);
        Err(None)
    }

    /// All landmarks are passed: has it happened?
    fn conclude(&mut self) {
        self.is_open = false;
        let is_race = self.partner.is_some();
        self.happened.sort_by_key(|(mark, _)| mark.event);
        let access = |pending: &Pending| pending.op.and_then(|op| op.access());
        let alike = |(i, (mark, one)): (usize, &(Mark, Pending))| {
            self.happened[..i].iter().all(|(other, two)| {
                let (Some(one), Some(two)) = (access(one), access(two)) else {
                    return false;
                };
                one.overlaps(two) == (mark.variable == other.variable)
            })
        };
        let happened = match is_race {
            true => !self.meetings.is_empty(),
            false => !self.happened.is_empty() && self.happened.iter().enumerate().all(alike),
        };
        self.fate = match happened {
            true => Fate::Confirmed,
            false => Fate::Elsewhere,
        };
    }
}

impl<N: Naming> Strategy for Follow<N> {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        self.steps += 1;
        let index = match self.is_open {
            true => self.step(enabled),
            false => None,
        };
        match index {
            Some(index) => {
                self.rest = Sequential::after(Some(enabled[index].thread));
                index
            }
            None => self.rest.pick(enabled),
        }
    }

    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        if self.is_open
            && let Some(Turn::IsNotified { thread }) = self.cursor.expected()
        {
            self.advance();
            let named = |id: &ThreadId| self.names.thread(*id) == thread;
            if let Some(index) = waiters.iter().position(named) {
                return index;
            }
        }
        0
    }

    fn yields(&mut self, thread: ThreadId) {
        if self.current == Some(thread) {
            self.current = None;
        }
        self.rest.yields(thread);
    }

    fn awaits(&self) -> Option<ThreadId> {
        match self.cursor.expected()? {
            Turn::Goes { thread, .. } if self.is_open => self.names.thread_called(&thread),
            _ => None,
        }
    }

    fn watched(&self) -> &[SiteId] {
        &[]
    }

    fn meetings(&self) -> &[Meeting] {
        &self.meetings
    }
}

#[cfg(test)]
mod tests {
    use racehound_trace::{Loc, MemoryOrder, Op, SyncId};

    use super::*;
    use crate::testing::Numbers;

    fn follow(moves: &str) -> Follow<Numbers> {
        let text = format!("racehound schedule 1\n{moves}");
        Follow::new(text.parse().unwrap(), Numbers)
    }

    fn at(thread: u32, site: u32, op: Option<Op>) -> Pending {
        Pending {
            thread: ThreadId(thread),
            site: SiteId(site),
            op,
        }
    }

    fn write(thread: u32, site: u32, variable: u64) -> Pending {
        let loc = Loc(variable);
        at(thread, site, Some(Op::Write { loc, size: 1 }))
    }

    fn post(thread: u32, site: u32) -> Pending {
        at(thread, site, Some(Op::SemPost { sem: SyncId(0) }))
    }

    const TRIPLE: &str = "anomaly atomicity atomicity-w-w-w\nwatch s1\nwatch s2\nwatch s3
        0\nsemaphore-post s9\n0\ne1(s1) write s1\n1\ne2(s1) write s2\n0\ne3(s1) write s3";

    #[test]
    fn a_thread_goes_on_to_its_next_landmark() {
        let mut follow = follow(TRIPLE);
        assert_eq!(follow.pick(&[post(0, 9), write(1, 7, 0)]), 0);
        assert_eq!(follow.pick(&[write(0, 7, 0), write(1, 7, 0)]), 0);
        assert_eq!(follow.pick(&[at(0, 8, None), write(1, 7, 0)]), 0);
        assert_eq!(follow.pick(&[write(0, 1, 5), write(1, 7, 0)]), 0);
        // The other one first has to come to where it should be.
        assert_eq!(follow.pick(&[write(0, 3, 5), write(1, 7, 0)]), 1);
        assert_eq!(follow.pick(&[write(0, 3, 5), write(1, 2, 5)]), 1);
        assert_eq!(follow.fate(), &Fate::Unfinished);
        assert_eq!(follow.pick(&[write(0, 3, 5), write(1, 4, 5)]), 1);
        assert_eq!(follow.pick(&[write(0, 3, 5), post(1, 4)]), 0);
        assert_eq!(follow.fate(), &Fate::Confirmed);
        assert_eq!(follow.happened().count(), 3);
    }

    #[test]
    fn who_has_done_its_part_stops_if_others_can_go() {
        let schedule = "0\nsemaphore-post s9\n1\nsemaphore-post s8";
        let mut follow = follow(schedule);
        follow.pick(&[post(0, 9), post(1, 8)]);
        // It could fail here.
        assert_eq!(follow.pick(&[at(0, 3, None), post(1, 8)]), 1);
        assert_eq!(
            follow.pick(&[at(0, 3, None), at(1, 4, None)]),
            1,
            "the rest"
        );

        let mut follow = self::follow(schedule);
        follow.pick(&[post(0, 9)]);
        assert_eq!(follow.pick(&[at(0, 3, None)]), 0, "nobody else can");
        assert_eq!(follow.pick(&[post(0, 4), post(1, 8)]), 1);
        assert_ne!(follow.fate(), &Fate::Unfinished);
    }

    #[test]
    fn other_variables_are_another_matter() {
        let mut follow = follow(TRIPLE);
        follow.pick(&[post(0, 9)]);
        follow.pick(&[write(0, 1, 5), write(1, 2, 6)]);
        follow.pick(&[write(0, 3, 5), write(1, 2, 6)]);
        follow.pick(&[write(0, 3, 5)]);
        assert_eq!(follow.fate(), &Fate::Elsewhere);
    }

    #[test]
    fn another_landmark_is_another_branch() {
        let mut follow = follow(TRIPLE);
        follow.pick(&[post(0, 9), write(1, 7, 0)]);
        follow.pick(&[post(0, 4), write(1, 7, 0)]);
        let fate = follow.fate().to_string();
        let expected = "left the schedule at choice 2, line 9 of the schedule: \
             expected thread 0 at `write s1`, found thread 0 at `semaphore-post s4`, \
             thread 1 at `write s7`";
        assert_eq!(fate, expected);
        assert_eq!(follow.awaits(), None);
    }

    #[test]
    fn who_cannot_go_cannot_be_followed() {
        let mut follow = follow(TRIPLE);
        follow.pick(&[post(1, 9)]);
        assert!(matches!(follow.fate(), Fate::Diverged(_)));
    }

    #[test]
    fn the_threads_of_a_race_stand_together() {
        let race =
            "anomaly race race-w-w\nwatch s1\nwatch s2\n0\ne1(s1) write s1\n1\ne2(s1) write s2";
        let mut met = follow(race);
        // The second one is brought to its access first.
        assert_eq!(met.pick(&[write(0, 1, 5), write(1, 7, 0)]), 1);
        assert_eq!(met.pick(&[write(0, 1, 5), write(1, 2, 5)]), 0);
        assert_eq!(met.meetings().len(), 1);
        assert_eq!(met.fate(), &Fate::Confirmed, "whatever comes of it");
        // The second access comes next, whoever else could go.
        assert_eq!(met.pick(&[write(0, 1, 5), write(1, 2, 5)]), 1);
        assert_eq!(met.fate(), &Fate::Confirmed);

        let mut missed = follow(race);
        missed.pick(&[write(0, 1, 5), write(1, 2, 6)]);
        missed.pick(&[write(1, 2, 6)]);
        assert_eq!(missed.fate(), &Fate::Elsewhere);
        assert!(missed.meetings().is_empty());

        let mut blocked = follow(race);
        blocked.pick(&[write(0, 1, 5)]);
        assert!(matches!(blocked.fate(), Fate::Diverged(_)));
    }

    #[test]
    fn an_atomic_operation_is_what_it_is_announced_as() {
        let mut follow = follow("anomaly pattern p\n0\ne1(s1) atomic-load s1");
        let (loc, order) = (Loc(1), MemoryOrder::Relaxed);
        let exchange = Op::AtomicRmw {
            loc,
            size: 1,
            order,
        };
        follow.pick(&[at(0, 1, Some(exchange))]);
        assert_eq!(follow.fate(), &Fate::Confirmed);
    }

    #[test]
    fn who_spins_lets_the_next_one_go() {
        let mut follow = follow("0\nsemaphore-post s9\n1\nsemaphore-post s8\n0\nfork s2");
        follow.pick(&[post(0, 9), post(1, 8)]);
        assert_eq!(follow.pick(&[at(0, 3, None), post(1, 8)]), 0);
        follow.yields(ThreadId(0));
        assert_eq!(follow.pick(&[at(0, 3, None), post(1, 8)]), 1);
    }

    #[test]
    fn semaphores_that_nobody_announces_are_passed_over() {
        let mut follow =
            follow("0\nsemaphore-post s9\n0\nfork s3\n1\nsemaphore-wait s8\n1\nfork s4");
        let fork = |thread, site| {
            let child = ThreadId(9);
            at(thread, site, Some(Op::Fork { child }))
        };
        assert_eq!(follow.pick(&[fork(0, 3), fork(1, 4)]), 0);
        assert_eq!(follow.pick(&[fork(1, 4)]), 0);
        assert!(!matches!(follow.fate(), Fate::Diverged(_)));
    }

    #[test]
    fn it_says_for_whom_it_waits() {
        let mut follow = follow("0\nsemaphore-post s9\n1\nsemaphore-post s8");
        assert_eq!(follow.awaits(), None, "nobody was seen yet");
        follow.pick(&[post(0, 9), post(1, 8)]);
        follow.names.thread(ThreadId(1));
        assert_eq!(follow.awaits(), Some(ThreadId(1)));
    }
}
