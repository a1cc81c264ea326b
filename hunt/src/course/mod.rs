//! The course of a hunt: which executions come next, given what is known.
//!
//! A hunt goes in rounds. All tasks of a round are decided from what earlier rounds
//! brought, and what they bring is looked at in their order, however many of them
//! ran side by side. So a seed repeats a hunt, as far as its budget lets it.
//!
//! 1. *Observe and suspect*: an execution of the program as it is, then more, under FastTrack for what happens and
//!    under AccuLock and Hybrid for what could. What earlier hunts have found is
//!    tried again. What runs for long is looked at as a whole once: AtexRace decides from
//!    then on what of it is worth looking at, one execution in each round of exploring.
//! 2. *Confirm*: each suspect by RaceFuzzer (see [`confirm`](crate::confirm)), what
//!    happened first, for it is the likeliest; of what only might happen a few at a time,
//!    with exploring in between; a deadlock or failure by its own schedule. What RaceFuzzer cannot bring together, for one of the accesses lets the
//!    other begin, and misuse of locks and the like, is confirmed if a precise detector
//!    sees it again, twice, in an execution that its plan repeats.
//!    A guess of what was meant to be atomic is followed like a prediction. It is
//!    confirmed if the program fails of it; if the program only prints something else,
//!    it stays a prediction, for nobody but its author knows whether that is wrong.
//! 3. *Explore*: DrFinder, PCT, Overtake and random schedules with FastTrack watching,
//!    and Hybrid in between. What is new goes to 2; the hunt ends when nothing is.

mod perform;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use racehound_report::finding::{Cost, Explanation, Finding, Harm, Kind, Location, Status, Test};
use racehound_schedule::{Collecting, Plan};

use crate::confirm::{self, Outcome, Suspect};
use crate::execution::{Assignment, Ending, Execution};
use crate::findings;
use crate::harm::{self, Usual};
use crate::places::{News, Suspicions};
use crate::witness;

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

    fn assignment(&self, detector: &str, schedule: Plan) -> Assignment {
        let limit = match schedule {
            Plan::Free if !self.usual.knows(Ending::Code(0)) => self.settings.limit,
            _ if !self.usual.is_known() => self.settings.limit,
            _ => self.usual.limit(None, self.settings.limit),
        };
        Assignment {
            detector: detector.to_owned(),
            schedule,
            record: None,
            schedule_out: None,
            sample: None,
            limit,
        }
    }

    /// What is to be observed now. Where free executions hang at times, each takes as long as
    /// one may: then the rest of them waits until executions under control, which tell at
    /// once that nobody can go on, have had their chance and what they showed is settled.
    fn next_to_observe(&mut self, is_all_settled: bool) -> Option<Observing> {
        let hangs = self.stuck > 0 || self.usual.knows(Ending::Limit);
        let waits = hangs && !(is_all_settled && self.has_explored);
        self.unobserved
            .pop_if(|next| *next != Observing::Rest || !waits)
    }

    fn observe(&mut self, observing: Observing) -> Vec<Task> {
        let free = |detector: &str| self.assignment(detector, Plan::Free);
        match observing {
            Observing::Alone => vec![Task::Usual(free("none"))],
            Observing::First => {
                let mut tasks = match self.usual.knows(Ending::Limit) {
                    // Under control it may be seen why.
                    true => {
                        self.unobserved.clear();
                        self.explore()
                    }
                    false => vec![
                        Task::Usual(free("none")),
                        Task::Usual(free("none")),
                        Task::Explore(free("fasttrack")),
                    ],
                };
                tasks.extend(self.tries_again());
                tasks
            }
            Observing::Rest => {
                let hybrid = free("hybrid");
                let limit = hybrid.limit.min(LONGEST_EVENT_BY_EVENT);
                let record = Some(self.settings.trace.clone());
                let again = match self.is_long() {
                    true => self.sampled(),
                    false => free("fasttrack"),
                };
                vec![
                    Task::Explore(again),
                    Task::Explore(free("acculock")),
                    Task::Explore(Assignment { limit, ..hybrid }),
                    Task::Explore(Assignment {
                        record,
                        ..free("none")
                    }),
                ]
            }
        }
    }

    /// Whether the program runs for so long that looking at all of it again and again is
    /// not worth the time.
    fn is_long(&self) -> bool {
        self.watched > LONG && self.stuck == 0
    }

    /// A free execution of which that is looked at which earlier ones have not seen together
    /// (AtexRace), and a little of the rest.
    fn sampled(&self) -> Assignment {
        Assignment {
            sample: Some(self.settings.store.clone()),
            ..self.assignment("fasttrack", Plan::Free)
        }
    }

    /// What earlier hunts have found.
    fn tries_again(&self) -> Vec<Task> {
        let again = |earlier: &Earlier| {
            let finding = &earlier.finding;
            let plan: Plan = finding.schedule.as_ref()?.parse().ok()?;
            let again = self.assignment(witness::of(finding, &plan), plan);
            Some(Task::Repeat(Box::new(finding.clone()), again))
        };
        self.earlier.iter().filter_map(again).collect()
    }

    fn suspect(&self, finding: Finding) -> Option<Task> {
        Some(Task::Confirm(Box::new(Suspect {
            pair: self.tried.places(&finding)?,
            finding: Some(finding),
            usual: Some(self.usual.clone()).filter(Usual::is_known),
            seed: self.settings.seed,
            attempts: self.settings.attempts,
            harm_seeds: self.settings.attempts.min(8),
            limit: self.settings.limit,
        })))
    }

    fn explore(&mut self) -> Vec<Task> {
        self.has_explored = true;
        if self.crawls() {
            return vec![Task::Explore(self.sampled())];
        }
        let first = self.explored;
        self.explored += self.settings.explorers;
        let settings = &self.settings;
        // Both suspect more than happens.
        let hybrid = match self.hybrid_is_too_slow {
            true => "acculock",
            false => "hybrid",
        };
        let task = |number: u64| {
            let seed = settings.seed.wrapping_add(number);
            let drfinder = Plan::DrFinder {
                seed,
                collecting: Collecting {
                    relations: Some(settings.relations.display().to_string()),
                    ..Collecting::default()
                },
            };
            let pct = Plan::Pct {
                seed,
                depth: 2 + (number / EXPLORING_WAYS % 3) as u32,
                length: Some(self.steps).filter(|steps| *steps > 0),
            };
            let (detector, plan) = match number % EXPLORING_WAYS {
                0 => ("fasttrack", drfinder),
                1 => ("fasttrack", Plan::Random { seed }),
                2 => ("fasttrack", pct),
                3 => ("fasttrack", Plan::Restless { seed }),
                4 => (hybrid, Plan::Random { seed }),
                5 => (hybrid, Plan::Restless { seed }),
                _ => ("fasttrack", Plan::Overtake { seed }),
            };
            // What DrFinder does depends on what it has learned by then.
            let schedule_out = match plan {
                Plan::DrFinder { .. } => Some(settings.schedules.join(format!("{seed}.schedule"))),
                _ => None,
            };
            Task::Explore(Assignment {
                schedule_out,
                ..self.assignment(detector, plan)
            })
        };
        let mut tasks: Vec<Task> = (first..self.explored).map(task).collect();
        // Where one execution under control takes long, threads that run as they like for a
        // while show what else they do, and cost little.
        if self.is_long() {
            tasks.push(Task::Explore(self.sampled()));
        }
        tasks
    }

    /// Looks at what came of a task.
    pub fn learn(&mut self, task: &Task, result: Result) {
        match (task, result) {
            (Task::Usual(assignment), Result::Executed(execution)) => {
                self.runs += 1;
                self.weigh(assignment, &execution);
                self.usual.add(&execution);
            }
            (Task::Explore(assignment), Result::Executed(execution)) => {
                self.runs += 1;
                self.weigh(assignment, &execution);
                self.look_at(assignment, *execution);
            }
            (Task::Repeat(finding, assignment), Result::Executed(execution)) => {
                self.runs += 1;
                if self.happened_again(finding, &assignment.schedule, &execution) {
                    if finding.kind == Kind::Failure && !self.is_certain(finding, &execution) {
                        let again = ((**finding).clone(), assignment.clone());
                        self.repeats.push(again);
                        return;
                    }
                    let mut finding = (**finding).clone();
                    finding.schedule = Some(assignment.schedule.to_string());
                    self.forget_harm_unless_shown(&mut finding, &execution);
                    if let Some(status) = status_of_what_happens(&finding) {
                        finding.status = status;
                        if finding.kind == Kind::Race {
                            self.mark_tried(&finding);
                        }
                        self.add(finding);
                        self.forget_explained();
                    }
                } else if execution.ending == Ending::Signal(libc::SIGKILL) {
                    self.remember(finding);
                }
            }
            (Task::Confirm(suspect), Result::Tried(outcome)) => self.settle(suspect, outcome),
            (Task::Follow(finding, _), Result::Followed(runs, happened)) => {
                self.runs += runs;
                match happened.first() {
                    None => self.settle_unfulfilled((**finding).clone(), runs),
                    Some((plan, _)) => {
                        let plan = plan.to_string();
                        self.settle_prediction((**finding).clone(), plan, &happened);
                    }
                }
            }
            (Task::Guess(finding, _), Result::Followed(runs, happened)) => {
                self.runs += runs;
                self.settle_guess((**finding).clone(), &happened);
            }
            (Task::Witness(finding, _), Result::Followed(runs, happened)) => {
                self.runs += runs;
                self.settle_seen((**finding).clone(), &happened);
            }
            (Task::Repeat(finding, _), Result::Dropped) => self.remember(finding),
            _ => {}
        }
    }

    /// Whether a failure has happened again often enough, this time included.
    fn is_certain(&mut self, finding: &Finding, execution: &Execution) -> bool {
        let needed = self.usual.times_to_be_sure(execution);
        let times = self.failed_again.entry(finding.identity()).or_default();
        *times += 1;
        *times >= needed
    }

    /// What was confirmed stays so if there was no time to try it again, or if somebody
    /// has killed the program meanwhile.
    fn remember(&mut self, finding: &Finding) {
        let is_it = |earlier: &&Earlier| earlier.finding.identity() == finding.identity();
        let earlier = self.earlier.iter().find(is_it);
        if earlier.is_some_and(|e| e.is_of_this_build && e.finding.status == Status::Confirmed) {
            self.add(finding.clone());
        }
    }

    /// The program has one thread only, so no order of threads is left to explore.
    pub fn has_one_thread(&mut self) {
        self.idle = self.settings.patience;
    }

    /// Notes what an execution took whose course the system decides.
    fn weigh(&mut self, assignment: &Assignment, execution: &Execution) {
        if assignment.schedule != Plan::Free {
            return;
        }
        let technique = match (&assignment.record, &assignment.sample) {
            (Some(_), _) => "recording".to_owned(),
            (None, Some(_)) => format!("{}, sampled", assignment.detector),
            (None, None) => assignment.detector.clone(),
        };
        self.costs.push(Cost {
            run: self.runs,
            technique,
            microseconds: execution.elapsed.as_micros() as u64,
        });
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

    /// Nobody knows whether a region was meant to be atomic, unless the program fails
    /// because it is not. Other output is worth telling, and proves nothing: workers may
    /// well finish in another order.
    fn settle_guess(&mut self, mut finding: Finding, happened: &[(Plan, Execution)]) {
        let harm = happened.iter().find_map(|(plan, execution)| {
            let harm = self.usual.judge_closely(execution)?;
            Some((plan, harm))
        });
        let Some((plan, harm)) = harm else {
            return;
        };
        if self.is_explained(&harm) {
            return;
        }
        finding.schedule = Some(plan.to_string());
        let harm = Harm {
            run: self.runs,
            schedule: finding.schedule.clone(),
            ..harm
        };
        let because = match harm::is_failure(&harm) {
            true => "nobody says that the region is atomic; that the program fails of it does",
            false => "nobody says that the region is atomic; if it is, what is printed is wrong",
        };
        confirm::blame(std::slice::from_mut(&mut finding), vec![harm]);
        finding.reasons.push(Explanation {
            by: GUESS.to_owned(),
            because: because.to_owned(),
        });
        if let Some(status) = status_of_what_happens(&finding) {
            finding.status = status;
        }
        self.add(finding);
        self.forget_explained();
    }

    /// How something that was seen may be seen again: as it was, or by chance.
    fn see_again(&mut self, finding: Finding) {
        let by_chance = (0..self.settings.attempts).flat_map(|n| {
            let seed = self.settings.seed.wrapping_add(n);
            [Plan::Random { seed }, Plan::Restless { seed }]
        });
        let by_chance = by_chance.map(|plan| self.assignment(witness::PRECISE, plan));
        let mut plans: Vec<Assignment> = by_chance.collect();
        if let Some(shown) = self.shown_by.get(&finding.identity()) {
            plans.insert(0, shown.clone());
        }
        self.seen.push((finding, plans));
    }

    /// What is seen each time, is confirmed; what is not, was seen.
    fn settle_seen(&mut self, mut finding: Finding, happened: &[(Plan, Execution)]) {
        let Some((plan, execution)) = happened.first() else {
            return;
        };
        finding.status = Status::Confirmed;
        finding.schedule = Some(plan.to_string());
        forget_attempts(&mut finding);
        finding.reasons.push(Explanation {
            by: plan.name().to_owned(),
            because: "an execution that can be repeated shows it each time".to_owned(),
        });
        finding.found_by.push(plan.name().to_owned());
        let harm = self.usual.judge(execution).map(|harm| Harm {
            run: self.runs,
            schedule: Some(plan.to_string()),
            ..harm
        });
        confirm::blame(
            std::slice::from_mut(&mut finding),
            harm.into_iter().collect(),
        );
        if let Some(known) = self.known(&finding) {
            *known = finding;
        }
        self.forget_explained();
    }

    /// What could not be made to happen by its schedule goes to RaceFuzzer, if that can
    /// help and has not been tried.
    /// A prediction did not happen by its schedules, in so many executions. Two accesses may
    /// still be brought together by RaceFuzzer, if it is known where they are.
    fn settle_unfulfilled(&mut self, finding: Finding, runs: u64) {
        let can_meet = finding.kind == Kind::Race && self.tried.places(&finding).is_some();
        match self.known(&finding) {
            Some(known) if known.status != Status::Predicted => {}
            _ if can_meet => self.open.push(finding),
            Some(known) if runs > 0 => known.status = Status::Unreproduced,
            _ => {}
        }
    }

    fn settle_prediction(
        &mut self,
        mut finding: Finding,
        schedule: String,
        happened: &[(Plan, Execution)],
    ) {
        if let Some(known) = self.known(&finding) {
            forget_attempts(known);
        }
        finding.status = Status::Confirmed;
        finding.schedule = Some(schedule);
        let run = self.runs;
        let harms = happened.iter().filter_map(|(plan, execution)| {
            let harm = self.usual.judge(execution)?;
            Some(Harm {
                run,
                schedule: Some(plan.to_string()),
                ..harm
            })
        });
        let harms: Vec<Harm> = harms.collect();
        confirm::blame(std::slice::from_mut(&mut finding), harms);
        self.add(finding);
        self.forget_explained();
    }

    fn known(&mut self, finding: &Finding) -> Option<&mut Finding> {
        let identity = finding.identity();
        let mut findings = self.findings.iter_mut();
        findings.find(|known| known.identity() == identity)
    }

    fn look_at(&mut self, assignment: &Assignment, execution: Execution) {
        let harm = match assignment.schedule {
            Plan::Free => {
                let unended = execution.ending == Ending::Limit;
                if unended && assignment.detector == "hybrid" {
                    self.hybrid_is_too_slow = true;
                } else if self.is_only_slow(&execution) {
                    self.unfinished += 1;
                } else if unended && !self.usual.knows(Ending::Limit) {
                    self.stuck += 1;
                    self.idle = 0;
                }
                let is_whole =
                    assignment.detector == witness::PRECISE && assignment.sample.is_none();
                if is_whole {
                    self.watched = self.watched.max(execution.elapsed);
                }
                None
            }
            _ => {
                match self.is_only_slow(&execution) {
                    true => {
                        self.unfinished += 1;
                        self.crawling = self.crawling.map(|times| times + 1);
                    }
                    false => self.crawling = None,
                }
                self.usual.add_controlled(&execution);
                let steps = execution.scheduled.as_ref().map_or(0, |s| s.steps);
                self.steps = self.steps.max(steps);
                self.usual.judge_even_if_flaky(&execution)
            }
        };
        let ending = execution.ending;
        for mut finding in execution.findings {
            finding.first_run = self.runs;
            match finding.kind {
                Kind::Race => {
                    if assignment.schedule != Plan::Free && finding.status == Status::Observed {
                        let shown = Assignment {
                            detector: assignment.detector.clone(),
                            ..again(assignment)
                        };
                        self.shown_by.entry(finding.identity()).or_insert(shown);
                    }
                    if self.mark_tried(&finding) {
                        self.idle = 0;
                        self.open.push(finding.clone());
                        self.add(finding);
                    } else if self.is_better(&finding) {
                        self.idle = 0;
                        self.add(finding.clone());
                        self.see_again(finding);
                    }
                }
                Kind::Deadlock if finding.harm.is_some() => {
                    if let Some(harm) = &mut finding.harm {
                        harm.run = self.runs;
                    }
                    let is_new = self.add(finding.clone());
                    if is_new && assignment.schedule != Plan::Free {
                        self.idle = 0;
                        self.repeats.push((finding, again(assignment)));
                    }
                }
                Kind::MutexMisuse | Kind::ThreadLeak | Kind::SignalUnsafe => {
                    if self.add(finding.clone()) {
                        self.idle = 0;
                        self.see_again(finding);
                    }
                }
                _ => _ = self.add(finding),
            }
        }
        // What happened comes before what might.
        self.open
            .sort_by_key(|finding| std::cmp::Reverse(finding.status));
        if let Some(harm) = harm.filter(|harm| harm.kind != "deadlock")
            && !self.is_explained(&harm)
        {
            let failure = Finding {
                test: self.settings.test.clone(),
                ..failure(harm, assignment, self.runs, self.why_blamed(ending))
            };
            let known = |other: &Finding| other.identity() == failure.identity();
            let chances = self.failures.entry(failure.identity()).or_default();
            if !self.findings.iter().any(known) && *chances < FAILURE_CHANCES {
                *chances += 1;
                self.idle = 0;
                self.failed_again.remove(&failure.identity());
                self.repeats.push((failure, again(assignment)));
            }
        }
    }

    /// Whether an execution was ended that may only have been slow.
    fn is_only_slow(&self, execution: &Execution) -> bool {
        let usual = &self.usual;
        let is_over = execution.ending == Ending::Limit && !usual.knows(Ending::Limit);
        is_over && usual.is_known() && !usual.hangs_in(execution)
    }

    /// Whether no execution under control comes to its end in time.
    fn crawls(&self) -> bool {
        self.crawling.is_some_and(|times| times >= CRAWLING)
    }

    /// Whether something was seen that was tried before in vain.
    fn is_better(&mut self, finding: &Finding) -> bool {
        finding.status == Status::Observed
            && self
                .known(finding)
                .is_some_and(|known| known.status == Status::Unreproduced)
    }

    /// Why an order of threads is to blame for how the program has ended.
    fn why_blamed(&self, ending: Ending) -> &'static str {
        match (self.usual.knows(ending), self.usual.knows(Ending::Code(0))) {
            (false, _) => "no execution by itself has ended so; this order of its threads does it",
            (true, true) => {
                "by itself it ends so at times; this order of its threads does it each time"
            }
            (true, false) => {
                "by itself it has ended so, too; with this order of its threads it does so each \
                 time, with others it ends well"
            }
        }
    }

    /// Whether something that was confirmed does that.
    fn is_explained(&self, harm: &Harm) -> bool {
        let same = |other: &Harm| is_same(other, harm);
        let harms = |finding: &Finding| {
            finding.kind != Kind::Failure && finding.harm.iter().chain(&finding.harms).any(same)
        };
        self.findings.iter().any(harms)
    }

    /// What an earlier hunt saw come of a finding counts if it comes of it today. Output
    /// cannot be told from one execution.
    fn forget_harm_unless_shown(&self, finding: &mut Finding, execution: &Execution) {
        let now = self.usual.judge_even_if_flaky(execution);
        let now = now.map(|harm| harm.kind);
        let is_gone = |harm: &Harm| harm::is_failure(harm) && Some(&harm.kind) != now.as_ref();
        if finding.harm.as_ref().is_some_and(is_gone) {
            finding.harm = None;
            finding.harms.clear();
        }
    }

    fn happened_again(&self, finding: &Finding, plan: &Plan, execution: &Execution) -> bool {
        let harm = self.usual.judge_even_if_flaky(execution);
        match (&finding.kind, &finding.harm) {
            (Kind::Failure | Kind::Deadlock, Some(wanted)) => {
                harm.is_some_and(|harm| harm.kind == wanted.kind)
            }
            _ => {
                let scheduled = execution.scheduled.as_ref();
                witness::saw(finding, plan, &execution.findings, scheduled)
            }
        }
    }

    fn settle(&mut self, suspect: &Suspect, outcome: Outcome) {
        self.runs += outcome.runs;
        let suspected = suspect.finding.as_ref();
        let identity = suspected.map(Finding::identity);
        let at = self
            .findings
            .iter()
            .position(|f| Some(f.identity()) == identity);
        let known = at.map(|at| self.findings.remove(at));
        if outcome.seed.is_none() {
            // What was seen was seen.
            let mut finding = outcome.findings.into_iter().next().unwrap_or_default();
            if let Some(known) = known {
                finding.status = match known.status {
                    Status::Observed => Status::Observed,
                    _ => Status::Unreproduced,
                };
                finding.first_run = known.first_run;
            }
            if finding.status == Status::Observed {
                self.see_again(finding.clone());
            }
            let is_it = |(other, _): &mut (Finding, _)| other.identity() == finding.identity();
            self.predicted.extend(self.in_reserve.extract_if(.., is_it));
            _ = self.add(finding);
            return;
        }
        for mut finding in outcome.findings {
            if let Some(known) = &known {
                finding.first_run = known.first_run;
            }
            self.mark_tried(&finding);
            _ = self.add(finding);
        }
        self.forget_explained();
    }

    /// Failures that something else explains are not told again.
    fn forget_explained(&mut self) {
        let explained: Vec<Harm> = self
            .findings
            .iter()
            .filter_map(|f| f.harm.clone())
            .collect();
        let harmless = |finding: &Finding| {
            finding.kind != Kind::Failure
                || !finding.harm.as_ref().is_some_and(|harm| {
                    let same = |other: &&Harm| is_same(other, harm);
                    explained.iter().filter(same).count() > 1
                })
        };
        self.findings.retain(harmless);
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
        findings.retain(|finding| !is_another_way(finding, &self.findings));
        findings::name_memory(&mut findings);
        findings::sort(&mut findings);
        findings::number(&mut findings);
        findings
    }

    /// For how many rounds exploring has brought nothing new.
    pub fn idle(&self) -> u32 {
        self.idle
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

/// Whether the same has come of two executions.
fn is_same(one: &Harm, other: &Harm) -> bool {
    let what = |harm: &Harm| (harm.kind.clone(), harm::lasting(&harm.detail).to_owned());
    what(one) == what(other)
}

/// Who says that a region was meant to be atomic, if nobody does.
const GUESS: &str = "guess";

/// What a finding is that happened each time it was tried: confirmed, unless it was only
/// guessed that it is wrong. Then the program has to fail of it; if all that it does is
/// print something else, that is a prediction, and without any harm it is nothing.
fn status_of_what_happens(finding: &Finding) -> Option<Status> {
    let is_guess = finding.reasons.iter().any(|reason| reason.by == GUESS);
    match &finding.harm {
        _ if !is_guess => Some(Status::Confirmed),
        Some(harm) if harm::is_failure(harm) => Some(Status::Confirmed),
        Some(_) => Some(Status::Predicted),
        None => None,
    }
}

/// That RaceFuzzer tried in vain is of no interest once something else has succeeded.
fn forget_attempts(finding: &mut Finding) {
    finding.reasons.retain(|reason| reason.by != "racefuzzer");
    finding.found_by.retain(|by| by != "racefuzzer");
}

/// How long the detector that looks at a free execution event by event may take: a hundred
/// times what the others do, where most of it is computing.
const LONGEST_EVENT_BY_EVENT: Duration = Duration::from_secs(5);

/// So many pairs that only might meet are tried before what new schedules show has its
/// turn: data that are handed over through a queue look suspicious by the dozen.
const SUSPECTS_AT_ONCE: usize = 4;

/// An execution under a detector that takes longer is looked at as a whole once; from then on
/// executions are sampled.
const LONG: Duration = Duration::from_secs(1);

/// After so many executions under control of which none has come to its end in time, threads
/// go as they like.
const CRAWLING: u32 = 8;

/// In how many ways executions explore, one after the other.
const EXPLORING_WAYS: u64 = 8;

/// What fails in some executions of a schedule only is not worth more.
const FAILURE_CHANCES: u32 = 3;

/// Whether a deadlock is told of already: one that could be, among those that were made
/// to happen; one that happened, where fewer threads come to the same, or the same locks
/// are waited for.
fn is_another_way(finding: &Finding, findings: &[Finding]) -> bool {
    if finding.kind != Kind::Deadlock {
        return false;
    }
    let sites = |finding: &Finding| -> BTreeSet<String> {
        finding.accesses.iter().map(|a| a.site.clone()).collect()
    };
    let mine = sites(finding);
    let of_the_same = |other: &Finding| {
        let name = &finding.location.name;
        let is_of_objects = !name.is_empty() && !name.starts_with("thread ");
        is_of_objects && objects(other) == objects(finding)
    };
    let mut happened = findings
        .iter()
        .filter(|other| other.kind == Kind::Deadlock && other.status == Status::Confirmed);
    happened.any(|other| {
        let theirs = sites(other);
        match finding.harm {
            None => mine.is_subset(&theirs) || of_the_same(other),
            Some(_) if theirs == mine => false,
            Some(_) => {
                let is_smaller = theirs.is_subset(&mine) && !theirs.is_empty();
                is_smaller || of_the_same(other) && is_told_before(other, finding)
            }
        }
    })
}

/// What a deadlock is about: locks, conditions.
fn objects(deadlock: &Finding) -> BTreeSet<&str> {
    deadlock.location.name.split(", ").collect()
}

/// Of two deadlocks of the same objects the one with fewer threads is told, or the first.
fn is_told_before(one: &Finding, other: &Finding) -> bool {
    let rank = |finding: &Finding| {
        let sites: Vec<String> = finding.accesses.iter().map(|a| a.site.clone()).collect();
        let is_confirmed = finding.status == Status::Confirmed;
        (!is_confirmed, sites.len(), finding.first_run, sites)
    };
    rank(one) < rank(other)
}

/// What does the same again: a seed, or else the schedule itself.
fn again(assignment: &Assignment) -> Assignment {
    let schedule = match &assignment.schedule_out {
        Some(file) => Plan::Replay {
            file: file.display().to_string(),
        },
        None => assignment.schedule.clone(),
    };
    Assignment {
        detector: "none".to_owned(),
        schedule,
        schedule_out: None,
        // What hangs, hangs longer than a busy machine makes it.
        limit: assignment.limit * harm::DOUBT,
        ..assignment.clone()
    }
}

/// The program came to grief under a schedule, and nobody knows why.
fn failure(harm: Harm, assignment: &Assignment, run: u64, because: &str) -> Finding {
    let technique = assignment.schedule.name().to_owned();
    Finding {
        kind: Kind::Failure,
        detail: Some(harm.kind.clone()),
        status: Status::Observed,
        location: Location {
            what: "program".to_owned(),
            name: match (&*harm.kind, harm::lasting(&harm.detail)) {
                ("exit-code", code) => format!("exit code {code}"),
                (_, what) => what.to_owned(),
            },
            ..Location::default()
        },
        locations: 1,
        found_by: vec![technique.clone()],
        reasons: vec![Explanation {
            by: technique,
            because: because.to_owned(),
        }],
        harm: Some(Harm {
            run,
            schedule: Some(again(assignment).schedule.to_string()),
            ..harm
        }),
        first_run: run,
        ..Finding::default()
    }
}

#[cfg(test)]
mod tests;
