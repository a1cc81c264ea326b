//! Teams of OpenMP. The library that runs them synchronises by means of its own,
//! where nobody sees it; but it calls us where a team begins and ends and at its
//! barriers, and that is enough.
//!
//! While a thread is in the library it is not under control. The members of a team
//! *gather* before they do anything, and again in front of and behind each barrier:
//! nobody goes on before all are there, so what follows does not depend on how fast
//! the library was. When a member is done it goes back into the library and waits
//! there, idle, for another team; the master waits for the others. Only when all are
//! done the library goes on by itself.
//!
//! Who comes back from there without anybody's help is *returning*: others outside of
//! the team, who could go on, wait for that, or what they do first would depend on
//! how fast the library is.
//!
//! Who waits for its team runs [`tasks`](super::tasks) meanwhile. Those that have to wait
//! for something else before they are done the library runs in whichever thread it likes, so
//! a program with such tasks is not repeated by its seed.

use super::roster::{Member, Next, Roster, Standing, Want};
use super::tasks::{Ready, Which};
use super::turn::Turn;

/// A team while it is at work.
pub(super) struct Team {
    size: usize,
    master: u32,
    /// How often all have come.
    round: u64,
    /// Who is in the library, at a barrier.
    at_barrier: Vec<u32>,
    /// Members that have come to its end.
    at_end: usize,
    /// Members that are not done yet.
    left: usize,
}

impl Roster {
    /// A thread stops being under control; the turn goes to somebody else.
    fn go_away(&mut self, number: u32, standing: Standing) -> Next {
        if let Some(member) = self.member(number) {
            member.standing = standing;
        }
        if self.running == Some(number) {
            self.running = None;
        }
        self.next(number)
    }

    /// A member is about to wait until all have come. The round that it waits for.
    fn gather(&mut self, team: usize, size: usize, master: u32) -> u64 {
        let team = self.teams.entry(team).or_insert(Team {
            size,
            master,
            round: 0,
            at_barrier: Vec::new(),
            at_end: 0,
            left: size,
        });
        team.round
    }

    /// Begins a new round for each team of which all have come.
    pub(super) fn complete_gatherings(&mut self) {
        for (&team, state) in &mut self.teams {
            let round = state.round;
            let here = |member: &&Member| {
                member.standing == Standing::Waiting
                    && member.want == Want::Gathering { team, round }
            };
            let come = self.members.iter().flatten().filter(here).count();
            if come == state.size && self.tasks.are_done(Which::Team(team)) {
                state.round += 1;
                self.changes += 1;
            }
        }
    }

    /// Whether all have come.
    pub(super) fn has_gathered(&self, team: usize, round: u64) -> bool {
        self.teams.get(&team).is_none_or(|team| team.round != round)
    }

    /// Whether all have come to the end, and all tasks are done.
    pub(super) fn has_finished(&self, team: usize) -> bool {
        let all_are_there = |team: &Team| team.at_end == team.size;
        self.teams.get(&team).is_none_or(all_are_there) && self.tasks.are_done(Which::Team(team))
    }

    /// Whether somebody comes back from the library without anybody's help, or comes
    /// to its team for the first time.
    pub(super) fn awaits_library(&self) -> bool {
        let is_returning = |member: &Member| member.standing == Standing::Returning;
        !self.has_tasks
            && (self.members.iter().flatten().any(is_returning)
                || self.teams.values().any(|team| team.round == 0))
    }

    /// The library takes longer than it should by itself, so others do not wait for it.
    /// Whether somebody did.
    pub(super) fn gives_library_up(&mut self) -> bool {
        let awaited = self.awaits_library();
        self.has_tasks |= awaited;
        awaited
    }

    /// A member goes into the library, to a barrier: how it stands there, until the last
    /// one comes.
    fn comes_to_barrier(&mut self, number: u32, at: usize) -> Standing {
        let Some(team) = self.teams.get_mut(&at) else {
            return Standing::Library;
        };
        team.at_barrier.push(number);
        if team.at_barrier.len() < team.size {
            return Standing::Library;
        }
        for other in std::mem::take(&mut team.at_barrier) {
            if let Some(member) = self.member(other)
                && member.standing == Standing::Library
            {
                member.standing = Standing::Returning;
            }
        }
        Standing::Returning
    }

    /// A member is done: how it stands from now on.
    fn is_done(&mut self, number: u32, at: usize) -> Standing {
        let Some(team) = self.teams.get_mut(&at) else {
            return Standing::Library;
        };
        team.left -= 1;
        let (left, master) = (team.left, team.master);
        if left == 0 {
            self.teams.remove(&at);
            if let Some(master) = self.member(master)
                && master.standing == Standing::Idle
            {
                master.standing = Standing::Returning;
            }
        }
        match left == 0 && number == master {
            true => Standing::Returning,
            false => Standing::Idle,
        }
    }
}

impl Turn {
    fn goes_away(&self, leave: impl FnOnce(&mut Roster) -> Next) {
        if let Next::Other(baton) = self.note(leave) {
            baton.give();
        }
    }

    /// Lets the library run a team.
    pub(crate) fn run_team<R>(&self, real: impl FnOnce() -> R) -> R {
        self.note(|roster| roster.uses_library = true);
        self.in_library_as(Standing::Returning, real)
    }

    /// Does something in the library that may have to wait for others there.
    pub(crate) fn in_library<R>(&self, real: impl FnOnce() -> R) -> R {
        self.in_library_as(Standing::Library, real)
    }

    fn in_library_as<R>(&self, standing: Standing, real: impl FnOnce() -> R) -> R {
        self.touch();
        self.goes_away(|roster| roster.go_away(self.number, standing));
        let result = real();
        self.come_back();
        result
    }

    /// The thread goes to a barrier of the library, and will gather with others behind
    /// it.
    pub(crate) fn enter_barrier(&self, team: usize) {
        self.goes_away(|roster| {
            let standing = roster.comes_to_barrier(self.number, team);
            roster.go_away(self.number, standing)
        });
    }

    /// The thread runs code of the program again.
    fn come_back(&self) {
        self.wait(Want::Nothing, None, |_| None);
    }

    /// The thread is a member of a team and waits for the others. A task, if it is to run
    /// that before it goes on to wait.
    pub(crate) fn gather(&self, team: usize, size: u32, master: u32) -> Option<Ready> {
        let round = self.note(|roster| roster.gather(team, size as usize, master));
        self.wait(Want::Gathering { team, round }, None, |_| None);
        match self.note(|roster| roster.has_gathered(team, round)) {
            true => None,
            false => self.take_task(Which::Team(team)),
        }
    }

    /// The thread has come to the end of what its team does.
    pub(crate) fn comes_to_end(&self, team: usize) {
        self.note(|roster| {
            if let Some(team) = roster.teams.get_mut(&team) {
                team.at_end += 1;
            }
        });
    }

    /// The thread waits for the others there, or runs a task meanwhile.
    pub(crate) fn finish(&self, team: usize) -> Option<Ready> {
        self.wait(Want::Finish(team), None, |_| None);
        self.take_task(Which::Team(team))
    }

    /// The thread has done its part.
    pub(crate) fn disperse(&self, team: usize) {
        self.goes_away(|roster| {
            let standing = roster.is_done(self.number, team);
            roster.go_away(self.number, standing)
        });
    }

    /// Runs a task of the program, in the library or not.
    pub(crate) fn task<R>(&self, body: impl FnOnce() -> R) -> R {
        let from_library = self.is_in_library();
        if from_library {
            self.note(|roster| roster.has_tasks = true);
        }
        self.come_back();
        let result = body();
        if from_library {
            self.goes_away(|roster| roster.go_away(self.number, Standing::Library));
        }
        result
    }

    /// Whether the thread is in the library that runs teams.
    pub(crate) fn is_in_library(&self) -> bool {
        self.note(|roster| {
            let member = roster.member(self.number);
            member.is_some_and(|member| {
                let standing = member.standing;
                matches!(
                    standing,
                    Standing::Library | Standing::Returning | Standing::Idle
                )
            })
        })
    }

    /// The library makes a thread to run teams with.
    pub(crate) fn fork_in_library(&self, child: u32) {
        self.note(|roster| {
            roster.join(child, self.site);
            if let Some(member) = roster.member(child) {
                member.standing = Standing::Idle;
            }
        });
    }
}
