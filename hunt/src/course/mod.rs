//! The course of a hunt: which executions come next, given what is known.
//!
//! A hunt goes in rounds. All tasks of a round are decided from what earlier rounds
//! brought, and what they bring is looked at in their order, however many of them
//! ran side by side. So a seed repeats a hunt, as far as its budget lets it.
//!
//! 1. *Observe and suspect*: an execution of the program as it is, then more, under
//!    FastTrack for what happens and under AccuLock and Hybrid for what could. What earlier hunts have found is
//!    tried again. What runs for long is looked at as a whole once: AtexRace decides from
//!    then on what of it is worth looking at, one execution in each round of exploring.
//! 2. *Confirm*: each suspect by RaceFuzzer (see [`confirm`](crate::confirm)), what
//!    happened first, for it is the likeliest; of what only might happen a few at a time,
//!    with exploring in between; a deadlock or failure by its own schedule. What RaceFuzzer
//!    cannot bring together, for one of the accesses lets the other begin, and misuse of locks and the like, is confirmed if a precise detector
//!    sees it again, twice, in an execution that its plan repeats.
//!    A guess of what was meant to be atomic is followed like a prediction. It is
//!    confirmed if the program fails of it; if the program only prints something else,
//!    it stays a prediction, for nobody but its author knows whether that is wrong.
//! 3. *Explore*: DrFinder, PCT, Overtake and random schedules with FastTrack watching,
//!    and Hybrid in between; Embrace, where a deadlock is possible that has not happened.
//!    What is new goes to 2; the hunt ends when nothing is.
//!
//! `rounds` has what comes next, `learning` what executions have shown, `settling`
//! what becomes of a finding that was put to the test.

mod company;
mod deadlocks;
mod learning;
mod perform;
mod rounds;
mod settling;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use racehound_report::finding::{Cost, Finding, Kind, Status, Test};
use racehound_schedule::Plan;

use crate::confirm::{Outcome, Suspect};
use crate::execution::{Assignment, Execution};
use crate::findings;
use crate::harm::Usual;
use crate::places::{News, Suspicions};

use company::Company;

pub use perform::perform;

/// What a hunt may cost, and what it depends on.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What everything random depends on.
    pub seed: u64,
    /// Most time for one execution.
    pub limit: Duration,
    /// Attempts to make a suspected pair meet.
    pub attempts: u64,
    /// How many executions go on side by side.
    pub jobs: usize,
    /// How many exploring executions a round has.
    pub explorers: u64,
    /// Rounds of exploring that bring nothing new before the hunt ends.
    pub patience: u32,
    /// Where the may-trigger relations are kept.
    pub relations: PathBuf,
    /// Where schedules are kept that no seed repeats.
    pub schedules: PathBuf,
    /// Where a free execution is recorded, to predict from.
    pub trace: PathBuf,
    /// What the project remembers, what sampled executions have seen included.
    pub store: PathBuf,
    /// The program has a library that orders threads and is not seen: what a detector takes
    /// for a race may be none.
    pub is_library_unseen: bool,
    /// The test that the program runs, if it is one of several.
    pub test: Option<Test>,
}

/// What an earlier hunt has found.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// It.
    pub finding: Finding,
    /// Whether the program is still the same.
    pub is_of_this_build: bool,
}

/// Something to execute.
#[derive(Clone, Debug)]
pub enum Task {
    /// The program by itself.
    Usual(Assignment),
    /// To see what happens.
    Explore(Assignment),
    /// To see whether a pair can meet.
    Confirm(Box<Suspect>),
    /// To see whether it happens again: a finding, by its schedule.
    Repeat(Box<Finding>, Assignment),
    /// To see whether something that was seen is seen each time by one of some plans.
    Witness(Box<Finding>, Vec<Assignment>),
    /// To make a prediction happen, by any of its schedules.
    Follow(Box<Finding>, Vec<Assignment>),
    /// The same for a guess, which counts if it does harm.
    Guess(Box<Finding>, Vec<Assignment>),
}

/// What came of it.
#[derive(Clone, Debug)]
pub enum Result {
    /// An execution.
    Executed(Box<Execution>),
    /// An attempt to confirm.
    Tried(Outcome),
    /// Executions that it took, and those of them by whose plan it happens each time.
    Followed(u64, Vec<(Plan, Execution)>),
    /// There was no time left for it.
    Dropped,
}

/// What a hunt does at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Free executions.
    Observing,
    /// Suspects put to the test.
    Confirming,
    /// New schedules.
    Exploring,
}

/// Executions whose course the system decides, in the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Observing {
    /// One, to see whether the program ends by itself.
    Alone,
    /// What else it does by itself, and what happens then.
    First,
    /// What could happen, and a recording to predict from.
    Rest,
    /// The recording alone.
    Recording,
}

/// A hunt, as far as it has come.
#[derive(Debug)]
pub struct Course {
    settings: Settings,
    usual: Usual,
    findings: Vec<Finding>,
    /// What is to be tried: an index into the findings, most promising first.
    open: Vec<Finding>,
    /// Some are left for later: new schedules come first.
    explores_between: bool,
    /// Pairs that were tried, or will be.
    tried: Suspicions,
    /// What executions do that are alone.
    company: Company,
    /// The execution of this round is alone.
    is_alone: bool,
    /// The recording is of an execution that ended as the program does alone.
    is_recorded: bool,
    /// Failures and deadlocks that may happen again.
    repeats: Vec<(Finding, Assignment)>,
    /// Free executions that did not end.
    stuck: u32,
    /// Executions that were ended although they may only have been slow.
    unfinished: u32,
    /// Executions under control of which that is true, while none has come to its end.
    crawling: Option<u32>,
    /// A free execution that the detector looks at event by event did not end.
    hybrid_is_too_slow: bool,
    /// How long a free execution takes under a detector that looks at all of it.
    watched: Duration,
    /// What was seen, and should be seen again by one of these.
    seen: Vec<(Finding, Vec<Assignment>)>,
    /// Which execution under control showed a race first.
    shown_by: BTreeMap<(String, Option<String>, Vec<String>), Assignment>,
    /// Predictions, with the schedules that should make each happen.
    predicted: Vec<(Finding, Vec<Assignment>)>,
    /// Predictions of races that RaceFuzzer tries first.
    in_reserve: Vec<(Finding, Vec<Assignment>)>,
    /// The same of guesses.
    guessed: Vec<(Finding, Vec<Assignment>)>,
    /// How often failures had a chance to happen again.
    failures: BTreeMap<(String, Option<String>, Vec<String>), u32>,
    /// How often they did, each time by the same schedule.
    failed_again: BTreeMap<(String, Option<String>, Vec<String>), u32>,
    earlier: Vec<Earlier>,
    /// What is to be observed before anything else.
    unobserved: Vec<Observing>,
    explored: u64,
    has_explored: bool,
    /// The most steps that an execution under control has taken.
    steps: u64,
    idle: u32,
    runs: u64,
    costs: Vec<Cost>,
}

impl Course {
    /// Begins, knowing what `earlier` hunts have found in as many executions.
    pub fn new(settings: Settings, earlier: Vec<Earlier>, explored: u64) -> Self {
        Self {
            settings,
            usual: Usual::default(),
            findings: Vec::new(),
            open: Vec::new(),
            explores_between: false,
            tried: Suspicions::default(),
            company: Company::default(),
            is_alone: false,
            is_recorded: false,
            repeats: Vec::new(),
            stuck: 0,
            unfinished: 0,
            crawling: Some(0),
            hybrid_is_too_slow: false,
            watched: Duration::ZERO,
            seen: Vec::new(),
            shown_by: BTreeMap::new(),
            predicted: Vec::new(),
            in_reserve: Vec::new(),
            guessed: Vec::new(),
            failures: BTreeMap::new(),
            failed_again: BTreeMap::new(),
            earlier,
            unobserved: vec![Observing::Rest, Observing::First, Observing::Alone],
            explored,
            has_explored: false,
            steps: 0,
            idle: 0,
            runs: 0,
            costs: Vec::new(),
        }
    }

    /// What comes next; nothing if the hunt is over.
    pub fn round(&mut self) -> Option<(Phase, Vec<Task>)> {
        if let Some(observing) = self.next_to_observe(false) {
            return Some((Phase::Observing, self.observe(observing)));
        }
        if let Some(task) = self.alone() {
            return Some((Phase::Confirming, vec![task]));
        }
        let repeats = std::mem::take(&mut self.repeats);
        let mut tasks: Vec<Task> = repeats
            .into_iter()
            .map(|(finding, assignment)| Task::Repeat(Box::new(finding), assignment))
            .collect();
        let seen = std::mem::take(&mut self.seen);
        tasks.extend(
            seen.into_iter()
                .map(|(finding, plans)| Task::Witness(Box::new(finding), plans)),
        );
        let predicted = std::mem::take(&mut self.predicted);
        tasks.extend(
            predicted
                .into_iter()
                .map(|(finding, schedules)| Task::Follow(Box::new(finding), schedules)),
        );
        let guessed = std::mem::take(&mut self.guessed);
        tasks.extend(
            guessed
                .into_iter()
                .map(|(finding, schedules)| Task::Guess(Box::new(finding), schedules)),
        );
        if tasks.is_empty() && std::mem::take(&mut self.explores_between) {
            return Some((Phase::Exploring, self.explore()));
        }
        let happened = self.open.iter().filter(|f| f.status == Status::Observed);
        let now = happened.count().max(SUSPECTS_AT_ONCE).min(self.open.len());
        let later = self.open.split_off(now);
        self.explores_between = !later.is_empty();
        let open = std::mem::replace(&mut self.open, later);
        tasks.extend(open.into_iter().filter_map(|finding| self.suspect(finding)));
        if !tasks.is_empty() {
            return Some((Phase::Confirming, tasks));
        }
        if let Some(observing) = self.next_to_observe(true) {
            return Some((Phase::Observing, self.observe(observing)));
        }
        if self.idle >= self.settings.patience {
            return None;
        }
        self.idle += 1;
        Some((Phase::Exploring, self.explore()))
    }

    /// Takes a prediction in, with the files of the schedules that should make it
    /// happen.
    pub fn predict(&mut self, mut finding: Finding, schedules: &[PathBuf]) {
        self.stamp(&mut finding);
        let prediction = (finding.clone(), self.followed(schedules));
        if finding.kind != Kind::Race || self.mark_tried(&finding) {
            self.predicted.push(prediction);
            self.add(finding);
            return;
        }
        match self.known(&finding).map(|known| known.status) {
            Some(Status::Confirmed) => {}
            Some(Status::Unreproduced) => self.predicted.push(prediction),
            _ => self.in_reserve.push(prediction),
        }
    }

    /// Takes a guess in, unless it is more than a guess already.
    pub fn guess(&mut self, mut finding: Finding, schedules: &[PathBuf]) {
        if self.known(&finding).is_some() {
            return;
        }
        self.stamp(&mut finding);
        let assignments = self.followed(schedules);
        self.guessed.push((finding, assignments));
    }

    fn stamp(&self, finding: &mut Finding) {
        finding.first_run = self.runs;
        finding.trace = Some(self.settings.trace.display().to_string());
    }

    fn followed(&self, schedules: &[PathBuf]) -> Vec<Assignment> {
        let follow = |file: &PathBuf| {
            let file = file.display().to_string();
            let plan = Plan::Follow {
                file,
                verdict: None,
            };
            self.assignment("none", plan)
        };
        schedules.iter().map(follow).collect()
    }

    fn known(&mut self, finding: &Finding) -> Option<&mut Finding> {
        let identity = finding.identity();
        let mut findings = self.findings.iter_mut();
        findings.find(|known| known.identity() == identity)
    }

    /// Notes that the pair of a race is being looked after; false if it was. What else is
    /// done at two places is looked after if what was suspected of them did not happen.
    fn mark_tried(&mut self, finding: &Finding) -> bool {
        match self.tried.note(finding) {
            None | Some(News::Pair) => true,
            Some(News::Nothing) => false,
            Some(News::Access) => {
                let known = self.known(finding);
                known.is_some_and(|known| known.status == Status::Unreproduced)
            }
        }
    }

    /// Adds a finding; false if it was known, and has perhaps become more certain.
    fn add(&mut self, mut finding: Finding) -> bool {
        finding.test.clone_from(&self.settings.test);
        let known = |other: &&mut Finding| other.identity() == finding.identity();
        match self.findings.iter_mut().find(known) {
            Some(known) if findings::says_more(&finding, known) => {
                let first_run = known.first_run;
                let old = std::mem::replace(known, finding);
                findings::join(known, old);
                known.first_run = first_run;
                false
            }
            Some(known) => {
                findings::join(known, finding);
                false
            }
            None => {
                self.findings.push(finding);
                true
            }
        }
    }

    /// What is known by now: by harm, then certainty.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = self.findings.clone();
        findings.retain(|finding| !deadlocks::is_another_way(finding, &self.findings));
        if self.settings.is_library_unseen {
            let is_seen = |f: &&mut Finding| f.kind == Kind::Race && f.status == Status::Observed;
            for race in findings.iter_mut().filter(is_seen) {
                race.status = Status::Predicted;
            }
        }
        findings::name_memory(&mut findings);
        findings::sort(&mut findings);
        findings::number(&mut findings);
        findings
    }

    /// For how many rounds exploring has brought nothing new.
    pub fn idle(&self) -> u32 {
        self.idle
    }

    /// Whether executions are in each other's way and should go one after the other.
    pub fn is_crowded(&self) -> bool {
        self.settings.jobs > 1 && self.company.is_crowd()
    }

    /// Whether there is a recording to predict from.
    pub fn is_recorded(&self) -> bool {
        self.is_recorded
    }

    /// How many executions did not end although nobody decided about their threads, and
    /// the program ends otherwise.
    pub fn stuck(&self) -> u32 {
        self.stuck
    }

    /// How many executions were ended that may only have been slow.
    pub fn unfinished(&self) -> u32 {
        self.unfinished
    }

    /// Whether anything is confirmed.
    pub fn has_confirmed(&self) -> bool {
        let mut statuses = self.findings.iter().map(|finding| finding.status);
        statuses.any(|status| status == Status::Confirmed)
    }

    /// How many executions there were.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// How many suspects are not settled.
    pub fn open(&self) -> usize {
        self.open.len()
            + self.repeats.len()
            + self.seen.len()
            + self.predicted.len()
            + self.guessed.len()
    }

    /// How many exploring executions there were, in earlier hunts as well.
    pub fn explored(&self) -> u64 {
        self.explored
    }

    /// Where the recording is that is predicted from.
    pub fn trace(&self) -> &Path {
        &self.settings.trace
    }

    /// The test that the program runs, if it is one of several.
    pub fn test(&self) -> Option<&Test> {
        self.settings.test.as_ref()
    }

    /// What executions took whose course the system decides.
    pub fn costs(&self) -> &[Cost] {
        &self.costs
    }

    /// What the program does by itself.
    pub fn usual(&self) -> &Usual {
        &self.usual
    }
}

/// So many pairs that only might meet are tried before what new schedules show has its
/// turn: data that are handed over through a queue look suspicious by the dozen.
const SUSPECTS_AT_ONCE: usize = 4;

#[cfg(test)]
mod tests;
