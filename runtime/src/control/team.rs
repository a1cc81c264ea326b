//! Teams of OpenMP. The library that runs them synchronises by means of its own,
//! where nobody sees it; but it calls us where a team begins and ends and at its
//! barriers, and that is enough.
//!
//! While a thread is in the library it is not under control. The members of a team
//! *gather* before they do anything, and again behind each barrier: nobody goes on
//! before all are there, so what follows does not depend on how fast the library
//! was. When a member is done it goes back into the library and waits there, idle,
//! for another team; the master waits for the others. Only when all are done the
//! library goes on by itself.
//!
//! Tasks run in whichever thread the library likes, so a program with tasks runs
//! under control but is not repeated by its seed.

use super::doubt;
use super::roster::{Next, Roster, Standing, Want};
use super::turn::Turn;

/// A team while it is at work.
pub(super) struct Team {
    size: u32,
    master: u32,
    inside: u32,
    round: u64,
    /// Members that are not done yet.
    left: u32,
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

    /// A member is where all have to come. The round that it waits to be over.
    fn gather(&mut self, team: usize, size: u32, master: u32) -> u64 {
        let team = self.teams.entry(team).or_insert(Team {
            size,
            master,
            inside: 0,
            round: 0,
            left: size,
        });
        let round = team.round;
        team.inside += 1;
        if team.inside == team.size {
            team.inside = 0;
            team.round += 1;
            self.changes += 1;
        }
        round
    }

    /// Whether all have come.
    pub(super) fn has_gathered(&self, team: usize, round: u64) -> bool {
        self.teams.get(&team).is_none_or(|team| team.round != round)
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
                master.standing = Standing::Library;
            }
        }
        match left == 0 && number == master {
            true => Standing::Library,
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
    pub(crate) fn in_library<R>(&self, real: impl FnOnce() -> R) -> R {
        self.touch();
        self.enter_library();
        let result = real();
        self.come_back();
        result
    }

    /// The thread goes into the library, and will gather with others behind it.
    pub(crate) fn enter_library(&self) {
        self.goes_away(|roster| roster.go_away(self.number, Standing::Library));
    }

    /// The thread runs code of the program again.
    fn come_back(&self) {
        self.wait(Want::Nothing, None, |_| None);
    }

    /// The thread is a member of a team and waits for the others.
    pub(crate) fn gather(&self, team: usize, size: u32, master: u32) {
        let round = self.note(|roster| roster.gather(team, size, master));
        self.wait(Want::Gathering { team, round }, None, |_| None);
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
            doubt::tell("OpenMP", "runs tasks in whichever thread it likes");
            self.note(|roster| roster.has_tasks = true);
        }
        self.come_back();
        let result = body();
        if from_library {
            self.enter_library();
        }
        result
    }

    /// Whether the thread is in the library that runs teams.
    pub(crate) fn is_in_library(&self) -> bool {
        self.note(|roster| {
            let member = roster.member(self.number);
            member.is_some_and(|m| matches!(m.standing, Standing::Library | Standing::Idle))
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
