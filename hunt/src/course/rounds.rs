//! Which executions come next, and how each is to be run.

use std::time::Duration;

use racehound_report::finding::{Finding, Kind, Status};
use racehound_schedule::{Collecting, Plan};

use super::settling::may_be_chance;
use super::{Course, Earlier, Observing, Task};
use crate::confirm::Suspect;
use crate::execution::{Assignment, Ending};
use crate::harm::Usual;
use crate::witness;

impl Course {
    pub(super) fn assignment(&self, detector: &str, schedule: Plan) -> Assignment {
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
    pub(super) fn next_to_observe(&mut self, is_all_settled: bool) -> Option<Observing> {
        let has_company = self.settings.jobs > 1;
        if has_company && self.unobserved == [Observing::Rest] && self.company.is_in_doubt() {
            self.unobserved.push(Observing::Alone);
        }
        let hangs = self.stuck > 0 || self.usual.knows(Ending::Limit);
        let waits = hangs && !(is_all_settled && self.has_explored);
        self.unobserved
            .pop_if(|next| *next != Observing::Rest || !waits)
    }

    pub(super) fn observe(&mut self, observing: Observing) -> Vec<Task> {
        self.is_alone = matches!(observing, Observing::Alone | Observing::Recording);
        let record = Some(self.settings.trace.clone());
        let free = |detector: &str| self.assignment(detector, Plan::Free);
        match observing {
            Observing::Alone => vec![Task::Usual(free("none"))],
            Observing::Recording => vec![Task::Explore(Assignment {
                record,
                ..free("none")
            })],
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
    pub(super) fn is_long(&self) -> bool {
        self.watched > LONG && self.stuck == 0
    }

    /// A free execution of which that is looked at which earlier ones have not seen together
    /// (AtexRace), and a little of the rest.
    pub(super) fn sampled(&self) -> Assignment {
        Assignment {
            sample: Some(self.settings.store.clone()),
            ..self.assignment("fasttrack", Plan::Free)
        }
    }

    /// What earlier hunts have found. Failures wait until they can be tried alone.
    fn tries_again(&mut self) -> Vec<Task> {
        let again = |earlier: &Earlier| {
            let finding = &earlier.finding;
            let plan: Plan = finding.schedule.as_ref()?.parse().ok()?;
            let again = self.assignment(witness::of(finding, &plan), plan);
            Some((finding.clone(), again))
        };
        let all = self.earlier.iter().filter_map(again);
        let (alone, rest): (Vec<_>, Vec<_>) = all.partition(|(finding, _)| may_be_chance(finding));
        self.repeats.extend(alone);
        rest.into_iter()
            .map(|(finding, again)| Task::Repeat(Box::new(finding), again))
            .collect()
    }

    /// A failure to be tried alone: in company it may come of that.
    pub(super) fn alone(&mut self) -> Option<Task> {
        let fails = |(finding, _): &(Finding, Assignment)| may_be_chance(finding);
        let at = self.repeats.iter().position(fails)?;
        let (finding, assignment) = self.repeats.remove(at);
        Some(Task::Repeat(Box::new(finding), assignment))
    }

    pub(super) fn suspect(&self, finding: Finding) -> Option<Task> {
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

    pub(super) fn explore(&mut self) -> Vec<Task> {
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
        if self.deadlock_is_possible() {
            let embrace = |number: u64| {
                let seed = settings.seed.wrapping_add(number);
                Task::Explore(self.assignment("fasttrack", Plan::Embrace { seed }))
            };
            tasks.extend((first..).take(EMBRACES).map(embrace));
        }
        // Where one execution under control takes long, threads that run as they like for a
        // while show what else they do, and cost little.
        if self.is_long() {
            tasks.push(Task::Explore(self.sampled()));
        }
        tasks
    }

    /// Whether locks are taken in orders that may lead to a deadlock, which has not happened.
    fn deadlock_is_possible(&self) -> bool {
        let is_possible = |f: &Finding| f.kind == Kind::Deadlock && f.status == Status::Predicted;
        self.findings.iter().any(is_possible)
    }

    /// Whether no execution under control comes to its end in time.
    pub(super) fn crawls(&self) -> bool {
        self.crawling.is_some_and(|times| times >= CRAWLING)
    }
}

/// Executions in a round of exploring that try to bring about a deadlock.
const EMBRACES: usize = 2;

/// How long the detector that looks at a free execution event by event may take: a hundred
/// times what the others do, where most of it is computing.
const LONGEST_EVENT_BY_EVENT: Duration = Duration::from_secs(5);

/// An execution under a detector that takes longer is looked at as a whole once; from then on
/// executions are sampled.
const LONG: Duration = Duration::from_secs(1);

/// After so many executions under control of which none has come to its end in time, threads
/// go as they like.
pub(super) const CRAWLING: u32 = 8;

/// In how many ways executions explore, one after the other.
const EXPLORING_WAYS: u64 = 8;
