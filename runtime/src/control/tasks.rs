//! Tasks of OpenMP, in a queue of our own.
//!
//! The library runs tasks in whichever thread it likes, where nobody sees it. So under
//! control it gets none that could wait: they are kept here, and who waits for tasks, at a
//! barrier, at the end of a region or because it says so, takes them one by one when it is
//! its turn. What may run when is OpenMP's rule: who waits for its own children runs only
//! those, in the order in which they were made, and none before its siblings on which it
//! depends.

use super::roster::{Roster, Want};
use super::turn::Turn;

/// A task that waits to be run, or is run.
struct Task {
    id: u64,
    origin: Origin,
    needs: Needs,
    /// What to run, as its maker knows it. None once it is run.
    body: Option<usize>,
}

/// Where a task comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) team: usize,
    /// The task in which it was made.
    pub(crate) parent: u64,
    /// The group of tasks in which it was made.
    pub(crate) group: u64,
}

/// What a task depends on.
pub(crate) enum Needs {
    /// Addresses, and whether it is their next state or the one before.
    Some(Vec<(usize, bool)>),
    /// Too complicated: all siblings that were made before.
    All,
}

impl Needs {
    fn conflict(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Some(mine), Self::Some(theirs)) => mine.iter().any(|&(at, writes)| {
                let clashes = |&(other, others): &(usize, bool)| at == other && (writes || others);
                theirs.iter().any(clashes)
            }),
            (Self::All, Self::Some(needs)) | (Self::Some(needs), Self::All) => !needs.is_empty(),
            (Self::All, Self::All) => true,
        }
    }
}

/// Which tasks are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// All of a team, at a barrier.
    Team(usize),
    Children(u64),
    Group(u64),
}

impl Which {
    fn includes(self, origin: Origin) -> bool {
        match self {
            Self::Team(team) => origin.team == team,
            Self::Children(parent) => origin.parent == parent,
            Self::Group(group) => origin.group == group,
        }
    }
}

/// A task that somebody is to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    pub(crate) id: u64,
    pub(crate) group: u64,
    pub(crate) body: usize,
}

/// All that are not done.
#[derive(Default)]
pub(super) struct Tasks {
    last: u64,
    /// In the order in which they were made.
    all: Vec<Task>,
}

impl Tasks {
    fn name(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn add(&mut self, origin: Origin, needs: Needs, body: usize) {
        let id = self.name();
        self.all.push(Task {
            id,
            origin,
            needs,
            body: Some(body),
        });
    }

    fn next(&self, which: Which) -> Option<usize> {
        (0..self.all.len()).find(|&index| {
            let task = &self.all[index];
            let hinders = |earlier: &Task| {
                earlier.origin.parent == task.origin.parent && earlier.needs.conflict(&task.needs)
            };
            task.body.is_some()
                && which.includes(task.origin)
                && !self.all[..index].iter().any(hinders)
        })
    }

    fn take(&mut self, which: Which) -> Option<Ready> {
        let next = self.next(which)?;
        let task = &mut self.all[next];
        Some(Ready {
            id: task.id,
            group: task.origin.group,
            body: task.body.take()?,
        })
    }

    fn done(&mut self, id: u64) {
        self.all.retain(|task| task.id != id);
    }

    /// Whether one of them can be run.
    pub(super) fn are_ready(&self, which: Which) -> bool {
        self.next(which).is_some()
    }

    /// Whether none is left.
    pub(super) fn are_done(&self, which: Which) -> bool {
        !self.all.iter().any(|task| which.includes(task.origin))
    }

    fn of_team(&self, team: usize) -> usize {
        let of_team = |task: &&Task| task.origin.team == team;
        self.all.iter().filter(of_team).count()
    }
}

impl Turn {
    /// A new name for a task, or for a group of them.
    pub(crate) fn name_task(&self) -> u64 {
        self.note(|roster| roster.tasks.name())
    }

    /// Whether a team has as many tasks waiting as it should.
    pub(crate) fn has_enough_tasks(&self, team: usize, most: usize) -> bool {
        self.note(|roster| roster.tasks.of_team(team) >= most)
    }

    /// Somebody may run a task from now on.
    pub(crate) fn defer(&self, origin: Origin, needs: Needs, body: usize) {
        self.touch();
        self.note(|roster| {
            roster.tasks.add(origin, needs, body);
            roster.changes += 1;
        });
    }

    /// Waits until one of these tasks can be run, and takes it; none if all are done.
    pub(crate) fn next_task(&self, which: Which) -> Option<Ready> {
        self.wait(Want::Tasks(which), None, |_| None);
        self.note(|roster| roster.tasks.take(which))
    }

    /// One of the tasks that are waiting, if any.
    pub(super) fn take_task(&self, which: Which) -> Option<Ready> {
        self.note(|roster| roster.tasks.take(which))
    }

    /// A task was run.
    pub(crate) fn task_is_done(&self, id: u64) {
        self.touch();
        self.note(|roster: &mut Roster| {
            roster.tasks.done(id);
            roster.changes += 1;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEAM: usize = 1;

    fn made_by(parent: u64) -> Origin {
        Origin {
            team: TEAM,
            parent,
            group: 0,
        }
    }

    fn no_needs() -> Needs {
        Needs::Some(Vec::new())
    }

    #[test]
    fn who_waits_for_its_children_gets_those_only_and_waits_for_all_of_them() {
        let mut tasks = Tasks::default();
        let [mine, other] = [tasks.name(), tasks.name()];
        tasks.add(made_by(other), no_needs(), 10);
        tasks.add(made_by(mine), no_needs(), 20);
        let which = Which::Children(mine);
        let task = tasks.take(which).unwrap();
        assert_eq!(task.body, 20);
        assert!(!tasks.are_ready(which) && !tasks.are_done(which));
        tasks.done(task.id);
        assert!(tasks.are_done(which) && !tasks.are_done(Which::Team(TEAM)));
        assert_eq!(
            tasks.take(Which::Team(TEAM)).map(|task| task.body),
            Some(10)
        );
    }

    #[test]
    fn a_task_comes_after_the_siblings_it_depends_on() {
        let mut tasks = Tasks::default();
        let needs = |writes| Needs::Some(vec![(0x10, writes)]);
        tasks.add(made_by(0), needs(true), 1);
        tasks.add(made_by(0), needs(false), 2);
        tasks.add(made_by(0), needs(false), 3);
        tasks.add(made_by(0), needs(true), 4);
        tasks.add(made_by(0), Needs::All, 5);
        tasks.add(made_by(7), needs(true), 6);
        tasks.add(made_by(0), no_needs(), 7);
        let which = Which::Team(TEAM);
        let take = |tasks: &mut Tasks| tasks.take(which).map(|task| (task.body, task.id));
        let (first, id) = take(&mut tasks).unwrap();
        assert_eq!(first, 1);
        assert_eq!(take(&mut tasks).unwrap().0, 6);
        assert_eq!(take(&mut tasks).unwrap().0, 7);
        assert_eq!(take(&mut tasks), None);
        tasks.done(id);
        let readers = [(); 2].map(|()| take(&mut tasks).unwrap());
        assert_eq!(readers.map(|(body, _)| body), [2, 3]);
        assert_eq!(take(&mut tasks), None);
        for (_, id) in readers {
            tasks.done(id);
        }
        let (writer, id) = take(&mut tasks).unwrap();
        assert_eq!((writer, take(&mut tasks)), (4, None));
        tasks.done(id);
        assert_eq!(take(&mut tasks).unwrap().0, 5);
    }
}
