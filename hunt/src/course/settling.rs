//! What becomes of a finding that was put to the test: what happens again is confirmed.

use racehound_report::finding::{Explanation, Finding, Harm, Kind, Status};
use racehound_schedule::Plan;

use super::{Course, Earlier};
use crate::confirm::{self, Outcome, Suspect};
use crate::execution::{Assignment, Execution};
use crate::{harm, witness};

impl Course {
    /// Whether a failure has happened again often enough, this time included.
    pub(super) fn is_certain(&mut self, finding: &Finding, execution: &Execution) -> bool {
        let needed = self.usual.times_to_be_sure(execution);
        let times = self.failed_again.entry(finding.identity()).or_default();
        *times += 1;
        *times >= needed
    }

    /// What was confirmed stays so if there was no time to try it again, or if somebody
    /// has killed the program meanwhile.
    pub(super) fn remember(&mut self, finding: &Finding) {
        let is_it = |earlier: &&Earlier| earlier.finding.identity() == finding.identity();
        let earlier = self.earlier.iter().find(is_it);
        if earlier.is_some_and(|e| e.is_of_this_build && e.finding.status == Status::Confirmed) {
            self.add(finding.clone());
        }
    }

    /// The hunt is over: what it was about to try once more is as it was before.
    pub fn close(&mut self) {
        for (finding, _) in std::mem::take(&mut self.repeats) {
            self.remember(&finding);
        }
    }

    /// Nobody knows whether a region was meant to be atomic, unless the program fails
    /// because it is not. Other output is worth telling, and proves nothing: workers may
    /// well finish in another order.
    pub(super) fn settle_guess(&mut self, mut finding: Finding, happened: &[(Plan, Execution)]) {
        let usual = &self.usual;
        let closely = happened.iter().find_map(|(plan, execution)| {
            let harm = usual.judge_closely(execution)?;
            Some((plan, harm))
        });
        // The program may fail of it by itself at times: then more is needed to be sure.
        let flaky = || {
            happened.iter().find_map(|(plan, execution)| {
                let harm = usual.judge_even_if_flaky(execution)?;
                Some((plan, harm))
            })
        };
        let is_flaky = closely.is_none();
        let Some((plan, harm)) = closely.or_else(flaky) else {
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
        if is_flaky {
            let follow = self.assignment("none", plan.clone());
            self.repeats.push((finding, follow));
            return;
        }
        if let Some(status) = status_of_what_happens(&finding) {
            finding.status = status;
        }
        self.add(finding);
        self.forget_explained();
    }

    /// How something that was seen may be seen again: as it was, or by chance. Of races, only
    /// if whoever sees them sees all that may order their threads.
    pub(super) fn see_again(&mut self, finding: Finding) {
        if finding.kind == Kind::Race && self.settings.is_library_unseen {
            return;
        }
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
    pub(super) fn settle_seen(&mut self, mut finding: Finding, happened: &[(Plan, Execution)]) {
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
    pub(super) fn settle_unfulfilled(&mut self, finding: Finding, runs: u64) {
        let can_meet = finding.kind == Kind::Race && self.tried.places(&finding).is_some();
        match self.known(&finding) {
            Some(known) if known.status != Status::Predicted => {}
            _ if can_meet => self.open.push(finding),
            Some(known) if runs > 0 => known.status = Status::Unreproduced,
            _ => {}
        }
    }

    pub(super) fn settle_prediction(
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
        let seen = happened
            .iter()
            .flat_map(|(_, execution)| &execution.findings);
        tell_how_they_got_there(&mut finding, seen);
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

    /// Whether something that was confirmed does that.
    pub(super) fn is_explained(&self, harm: &Harm) -> bool {
        let same = |other: &Harm| harm::is_same(other, harm);
        let harms = |finding: &Finding| {
            finding.kind != Kind::Failure && finding.harm.iter().chain(&finding.harms).any(same)
        };
        self.findings.iter().any(harms)
    }

    /// What an earlier hunt saw come of a finding counts if it comes of it today. Output
    /// cannot be told from one execution.
    pub(super) fn forget_harm_unless_shown(&self, finding: &mut Finding, execution: &Execution) {
        let now = self.usual.judge_even_if_flaky(execution);
        let now = now.map(|harm| harm.kind);
        let is_gone = |harm: &Harm| harm::is_failure(harm) && Some(&harm.kind) != now.as_ref();
        if finding.harm.as_ref().is_some_and(is_gone) {
            finding.harm = None;
            finding.harms.clear();
        }
    }

    pub(super) fn happened_again(
        &self,
        finding: &Finding,
        plan: &Plan,
        execution: &Execution,
    ) -> bool {
        let harm = self.usual.judge_even_if_flaky(execution);
        let hurts_again = match (&finding.harm, harm) {
            (Some(wanted), Some(harm)) => wanted.kind == harm.kind,
            _ => false,
        };
        let is_seen_from_outside = match finding.kind {
            Kind::Failure | Kind::Deadlock => finding.harm.is_some(),
            _ => false,
        };
        if is_seen_from_outside {
            return hurts_again;
        }
        let scheduled = execution.scheduled.as_ref();
        witness::saw(finding, plan, &execution.findings, scheduled)
            && (hurts_again || !may_be_chance(finding))
    }

    pub(super) fn settle(&mut self, suspect: &Suspect, outcome: Outcome) {
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
    pub(super) fn forget_explained(&mut self) {
        let explained: Vec<Harm> = self
            .findings
            .iter()
            .filter_map(|f| f.harm.clone())
            .collect();
        let harmless = |finding: &Finding| {
            finding.kind != Kind::Failure
                || !finding.harm.as_ref().is_some_and(|harm| {
                    let same = |other: &&Harm| harm::is_same(other, harm);
                    explained.iter().filter(same).count() > 1
                })
        };
        self.findings.retain(harmless);
    }
}

/// A trace knows where accesses were, but not by which calls the threads came there. Who
/// has stood at them knows.
fn tell_how_they_got_there<'a>(finding: &mut Finding, seen: impl Iterator<Item = &'a Finding>) {
    let accesses: Vec<_> = seen.flat_map(|seen| &seen.accesses).collect();
    for access in &mut finding.accesses {
        let seen = accesses.iter().filter(|seen| seen.site == access.site);
        if let Some(seen) = seen.max_by_key(|seen| seen.stack.len())
            && seen.stack.len() > access.stack.len()
        {
            access.stack.clone_from(&seen.stack);
        }
    }
}

/// Who says that a region was meant to be atomic, if nobody does.
const GUESS: &str = "guess";

/// Whether a finding is one because the program fails of it, and for no other reason.
pub(super) fn may_be_chance(finding: &Finding) -> bool {
    let fails = finding.harm.as_ref().is_some_and(harm::is_failure);
    finding.kind == Kind::Failure || is_guess(finding) && fails
}

fn is_guess(finding: &Finding) -> bool {
    finding.reasons.iter().any(|reason| reason.by == GUESS)
}

/// What a finding is that happened each time it was tried: confirmed, unless it was only
/// guessed that it is wrong. Then the program has to fail of it; if all that it does is
/// print something else, that is a prediction, and without any harm it is nothing.
pub(super) fn status_of_what_happens(finding: &Finding) -> Option<Status> {
    match &finding.harm {
        _ if !is_guess(finding) => Some(Status::Confirmed),
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

#[cfg(test)]
mod tests {
    use racehound_report::finding::{Access, Frame};

    use super::*;

    #[test]
    fn who_has_stood_at_an_access_knows_how_the_thread_got_there() {
        let finding = |stacks: [(&str, usize); 2]| Finding {
            accesses: stacks
                .map(|(site, depth)| Access {
                    site: site.to_owned(),
                    stack: vec![Frame::default(); depth],
                    ..Access::default()
                })
                .to_vec(),
            ..Finding::default()
        };
        let depths = |finding: &Finding| finding.accesses.iter().map(|a| a.stack.len()).collect();
        let mut predicted = finding([("a", 1), ("b", 1)]);
        let seen = [finding([("b", 3), ("c", 5)]), finding([("b", 2), ("c", 1)])];
        tell_how_they_got_there(&mut predicted, seen.iter());
        let depths: Vec<usize> = depths(&predicted);
        assert_eq!(depths, [1, 3]);
    }
}
