//! What executions have shown.

use racehound_report::finding::{Access, Cost, Explanation, Finding, Harm, Kind, Location, Status};
use racehound_schedule::Plan;

use super::settling::{may_be_chance, status_of_what_happens};
use super::{Course, Observing, Result, Task};
use crate::execution::{Assignment, Ending, Execution};
use crate::{harm, witness};

impl Course {
    /// Looks at what came of a task.
    pub fn learn(&mut self, task: &Task, result: Result) {
        match (task, result) {
            (Task::Usual(assignment), Result::Executed(execution)) => {
                self.runs += 1;
                self.weigh(assignment, &execution);
                self.usual.add(&execution);
                self.company.ended(execution.ending, self.is_alone);
            }
            (Task::Explore(assignment), Result::Executed(execution)) => {
                self.runs += 1;
                self.weigh(assignment, &execution);
                if assignment.record.is_some() {
                    self.is_recorded = self.is_alone || self.company.is_as_alone(execution.ending);
                    if !self.is_recorded {
                        self.unobserved.push(Observing::Recording);
                    }
                }
                self.look_at(assignment, *execution);
            }
            (Task::Repeat(finding, assignment), Result::Executed(execution)) => {
                self.runs += 1;
                if self.happened_again(finding, &assignment.schedule, &execution) {
                    if may_be_chance(finding) && !self.is_certain(finding, &execution) {
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
                } else if self.failures.contains_key(&finding.identity())
                    && !execution.is_doubtful()
                {
                    self.company.refute();
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
        // What was ended by force has not told how it went, and has left no schedule.
        let is_untold = ending == Ending::Limit && execution.scheduled.is_none();
        let is_lost = is_untold && assignment.schedule_out.is_some();
        let again = (!is_lost).then(|| again(assignment));
        for mut finding in execution.findings {
            if is_about_birth(&finding) {
                continue;
            }
            finding.first_run = self.runs;
            match finding.kind {
                Kind::Race => {
                    if assignment.schedule != Plan::Free
                        && finding.status == Status::Observed
                        && let Some(again) = &again
                    {
                        let shown = Assignment {
                            detector: assignment.detector.clone(),
                            ..again.clone()
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
                        let again = again.clone().map(|again| (finding, again));
                        self.repeats.extend(again);
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
        if let Some(harm) = harm.filter(|harm| harm.kind != "deadlock" && harm::is_failure(harm))
            && !self.is_explained(&harm)
            && let Some(again) = again
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
                self.repeats.push((failure, again));
            }
        }
    }

    /// Whether an execution was ended that may only have been slow.
    fn is_only_slow(&self, execution: &Execution) -> bool {
        let usual = &self.usual;
        let is_over = execution.ending == Ending::Limit && !usual.knows(Ending::Limit);
        is_over && usual.is_known() && !usual.hangs_in(execution)
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
}

/// Whether somebody only suspects that a block is used while it is being allocated, because
/// no lock was held then: nobody else has it by that time.
fn is_about_birth(finding: &Finding) -> bool {
    const ALLOCATE: [&str; 6] = [
        "malloc",
        "calloc",
        "realloc",
        "aligned_alloc",
        "posix_memalign",
        "memalign",
    ];
    let allocates = |access: &Access| {
        let function = access.stack.first().map_or("", |frame| &frame.function);
        ALLOCATE.contains(&function) || function.starts_with("operator new")
    };
    finding.kind == Kind::Race
        && finding.status == Status::Predicted
        && finding.accesses.iter().any(allocates)
}

/// What fails in some executions of a schedule only is not worth more.
const FAILURE_CHANCES: u32 = 3;

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
