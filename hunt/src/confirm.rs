//! A suspected pair, put to the test.
//!
//! RaceFuzzer runs the program with one seed after the other until the two accesses
//! meet. Then the same seed has to bring them together again: only what replays is
//! *confirmed*; what does not, is *observed*. After that both orders of the two are
//! tried over several seeds, and each execution in which they met is held against
//! what the program does by itself (racefuzzer.txt §3.3: is the race harmful?).
//! Harm, too, counts only if it shows again.

use std::time::Duration;

use racehound_report::finding::{Access, Explanation, Finding, Harm, Location, Status};
use racehound_schedule::{Place, Places, Plan, RaceFuzzer, Resolution};

use crate::execution::{Assignment, Ending, Error, Execution, Executor};
use crate::findings;
use crate::harm::{self, Usual};

/// What is suspected, and how much it may cost to find out.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// The two accesses.
    pub pair: Places,
    /// What suspects them, if they are not just anybody's guess.
    pub finding: Option<Finding>,
    /// What the program does by itself, where that is known.
    pub usual: Option<Usual>,
    /// The first seed.
    pub seed: u64,
    /// How many seeds are tried to make them meet.
    pub attempts: u64,
    /// How many seeds are tried for harm, each with both orders.
    pub harm_seeds: u64,
    /// Most time for an execution.
    pub limit: Duration,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The race: one for each pair of sites that met; if none did, one finding
    /// that says so.
    pub findings: Vec<Finding>,
    /// The seed that made them meet.
    pub seed: Option<u64>,
    /// How many executions there were.
    pub runs: u64,
    /// Places where no execution made any access.
    pub unvisited: Vec<String>,
    /// Whether the executions that should have been the same had different events.
    pub varies: bool,
}

/// How far a confirmation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Learning what the program does by itself.
    Usual,
    /// Making them meet, with this seed.
    Attempt(u64),
    /// Doing so again.
    Replay(u64),
    /// Looking for harm, with this seed.
    Harm(u64),
}

/// Executions by which the usual is known.
const FREE_RUNS: u32 = 3;

/// Puts a suspect to the test.
pub fn confirm(
    executor: &mut dyn Executor,
    suspect: &Suspect,
    tell: &mut dyn FnMut(Phase),
) -> Result<Outcome, Error> {
    let (usual, runs) = match &suspect.usual {
        Some(usual) => (usual.clone(), 0),
        None => {
            tell(Phase::Usual);
            let usual = Usual::learn(executor, FREE_RUNS, suspect.limit)?;
            (usual, u64::from(FREE_RUNS))
        }
    };
    let mut trial = Trial {
        executor,
        suspect,
        usual,
        slowest: None,
        runs,
        unvisited: None,
    };
    let mut outcome = trial.bring_together(tell)?;
    if outcome.seed.is_some() && outcome.findings[0].status == Status::Confirmed {
        let mut harms = Vec::new();
        let seed = outcome.seed.unwrap_or(suspect.seed);
        match trial.provoke(seed, &mut harms, tell) {
            // What is confirmed stays so, with the harm seen by then.
            Ok(()) | Err(Error::Stopped) => {
                for finding in &mut outcome.findings {
                    let its = harms.iter().filter(|provoked| provoked.is_of(finding));
                    let its = its.map(|provoked| provoked.harm.clone()).collect();
                    blame(std::slice::from_mut(finding), its);
                }
            }
            Err(error) => return Err(error),
        }
    }
    if let (Some(suspected), Some(_)) = (&suspect.finding, outcome.seed) {
        for finding in &mut outcome.findings {
            let met = std::mem::take(&mut finding.found_by);
            finding.found_by.clone_from(&suspected.found_by);
            finding.found_by.extend(met);
            finding.reasons.extend(suspected.reasons.iter().cloned());
            finding.trace.clone_from(&suspected.trace);
        }
    }
    outcome.runs = trial.runs;
    outcome.unvisited = trial.unvisited.unwrap_or_default();
    Ok(outcome)
}

/// Says what the findings lead to.
pub fn blame(findings: &mut [Finding], mut harms: Vec<Harm>) {
    harms.sort_by_key(harm::rank);
    let Some(worst) = harms.first() else {
        return;
    };
    for finding in findings {
        finding.harm = Some(worst.clone());
        finding.schedule.clone_from(&worst.schedule);
        if harms.len() > 1 {
            finding.harms.clone_from(&harms);
        }
    }
}

/// What RaceFuzzer made happen in an execution.
pub fn met(execution: &Execution) -> Vec<Finding> {
    let by = execution.findings.iter().filter(|f| is_by_racefuzzer(f));
    by.cloned().collect()
}

const RACEFUZZER: &str = "racefuzzer";

/// Whether there is anything that RaceFuzzer made happen.
pub fn is_met(findings: &[Finding]) -> bool {
    findings.iter().any(is_by_racefuzzer)
}

fn is_by_racefuzzer(finding: &Finding) -> bool {
    finding.found_by.iter().any(|by| by == RACEFUZZER)
}

/// What became of findings when their execution was repeated.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The findings, confirmed or not.
    pub findings: Vec<Finding>,
    /// How many executions that took.
    pub runs: u64,
    /// Whether the execution went another way the second time.
    pub varies: bool,
}

/// Repeats an execution in which something met, and ended so, to see whether it does
/// each time, and whether it hurts.
pub fn settle(
    executor: &mut dyn Executor,
    findings: Vec<Finding>,
    ending: Ending,
    plan: &Plan,
    limit: Duration,
) -> Result<Settled, Error> {
    let again = executor.execute(&Assignment {
        detector: "none".to_owned(),
        schedule: plan.clone(),
        record: None,
        schedule_out: None,
        sample: None,
        limit,
    })?;
    let mut settled = Settled {
        findings: replayed(findings, &met(&again), plan),
        runs: 1,
        varies: again.ending != ending,
    };
    let is_confirmed = |finding: &Finding| finding.status == Status::Confirmed;
    let ended_well = again.ending == Ending::Code(0);
    if settled.varies || ended_well || !settled.findings.iter().any(is_confirmed) {
        return Ok(settled);
    }
    let usual = Usual::learn(executor, FREE_RUNS, limit)?;
    settled.runs += u64::from(FREE_RUNS);
    if let Some(harm) = usual.judge(&again) {
        let harm = shown(harm, plan, 1);
        let confirmed = settled.findings.iter_mut().filter(|f| is_confirmed(f));
        confirmed.for_each(|finding| blame(std::slice::from_mut(finding), vec![harm.clone()]));
    }
    Ok(settled)
}

/// The findings of an execution, given another one of the same plan: what happened
/// both times is confirmed.
pub fn replayed(first: Vec<Finding>, again: &[Finding], plan: &Plan) -> Vec<Finding> {
    let settled = |mut finding: Finding| {
        if again
            .iter()
            .any(|other| other.identity() == finding.identity())
        {
            finding.status = Status::Confirmed;
            finding.schedule = Some(plan.to_string());
        }
        finding
    };
    first.into_iter().map(settled).collect()
}

struct Trial<'a> {
    executor: &'a mut dyn Executor,
    suspect: &'a Suspect,
    usual: Usual,
    /// The slowest execution under control that came to its end.
    slowest: Option<Duration>,
    runs: u64,
    unvisited: Option<Vec<String>>,
}

impl Trial<'_> {
    fn plan(&self, seed: u64, resolution: Resolution) -> Plan {
        Plan::RaceFuzzer {
            seed,
            pairs: vec![self.suspect.pair.clone()],
            resolution,
            patience: RaceFuzzer::PATIENCE,
        }
    }

    fn execute(&mut self, plan: &Plan) -> Result<Execution, Error> {
        let limit = self.usual.limit(self.slowest, self.suspect.limit);
        self.execute_within(limit, plan)
    }

    fn execute_within(&mut self, limit: Duration, plan: &Plan) -> Result<Execution, Error> {
        let execution = self.executor.execute(&Assignment {
            detector: "none".to_owned(),
            schedule: plan.clone(),
            record: None,
            schedule_out: None,
            sample: None,
            limit,
        })?;
        self.runs += 1;
        if execution.ending != Ending::Limit {
            self.slowest = self.slowest.max(Some(execution.elapsed));
        }
        if let Some(scheduled) = &execution.scheduled {
            let seen = self.unvisited.take();
            let mut unvisited = scheduled.unvisited.clone();
            unvisited.retain(|place| seen.as_ref().is_none_or(|seen| seen.contains(place)));
            self.unvisited = Some(unvisited);
        }
        Ok(execution)
    }

    /// Seed after seed, until they meet and do so again.
    fn bring_together(&mut self, tell: &mut dyn FnMut(Phase)) -> Result<Outcome, Error> {
        let mut observed: Option<Outcome> = None;
        for seed in self.suspect.seed..self.suspect.seed.saturating_add(self.suspect.attempts) {
            let plan = self.plan(seed, Resolution::Random);
            tell(Phase::Attempt(seed));
            let first = self.execute(&plan)?;
            if met(&first).is_empty() {
                continue;
            }
            tell(Phase::Replay(seed));
            let run = self.runs;
            let again = self.execute(&plan)?;
            let mut findings = replayed(met(&first), &met(&again), &plan);
            for finding in &mut findings {
                finding.first_run = run;
            }
            findings.sort_by_key(|finding| std::cmp::Reverse(finding.status));
            findings::number(&mut findings);
            let hash = |e: &Execution| e.scheduled.as_ref().map(|s| s.hash.clone());
            let outcome = Outcome {
                seed: Some(seed),
                runs: 0,
                unvisited: Vec::new(),
                varies: hash(&first) != hash(&again),
                findings,
            };
            if outcome.findings[0].status == Status::Confirmed {
                return Ok(outcome);
            }
            observed.get_or_insert(outcome);
        }
        Ok(observed.unwrap_or_else(|| Outcome {
            findings: vec![unreproduced(self.suspect)],
            seed: None,
            runs: 0,
            unvisited: Vec::new(),
            varies: false,
        }))
    }

    /// What comes of either order.
    fn provoke(
        &mut self,
        seed: u64,
        harms: &mut Vec<Provoked>,
        tell: &mut dyn FnMut(Phase),
    ) -> Result<(), Error> {
        for seed in seed..seed.saturating_add(self.suspect.harm_seeds) {
            tell(Phase::Harm(seed));
            let orders = [Resolution::First, Resolution::Second];
            let mut well = Vec::new();
            for order in orders {
                let plan = self.plan(seed, order);
                let execution = self.execute(&plan)?;
                if met(&execution).is_empty() {
                    continue;
                }
                match self.usual.judge_even_if_flaky(&execution) {
                    Some(harm) => self.add(harms, harm, &plan, &execution)?,
                    None => well.push((plan, execution)),
                }
            }
            if let [(plan, one), (other_plan, other)] = &well[..]
                && let Some(harm) = difference(one, other)
                && self.prints(plan, one)?
                && self.prints(other_plan, other)?
            {
                note(harms, harm, other_plan, self.runs, &met(other));
            }
            if harms.iter().any(|one| harm::rank(&one.harm) <= EXCEPTION) {
                break;
            }
        }
        Ok(())
    }

    /// Adds harm of a new kind that shows again.
    fn add(
        &mut self,
        harms: &mut Vec<Provoked>,
        harm: Harm,
        plan: &Plan,
        execution: &Execution,
    ) -> Result<(), Error> {
        let new = met(execution);
        if is_known(harms, &harm, &new) {
            return Ok(());
        }
        let run = self.runs;
        let limit = self.usual.limit(self.slowest, self.suspect.limit);
        for _ in 0..self.usual.times_to_be_sure(execution) {
            let again = self.execute_within(limit * harm::DOUBT, plan)?;
            let same = self.usual.judge_even_if_flaky(&again);
            if same.is_none_or(|same| same.kind != harm.kind) || met(&again).is_empty() {
                return Ok(());
            }
        }
        note(harms, harm, plan, run, &new);
        Ok(())
    }

    /// Whether that is what the plan makes the program print, each time.
    fn prints(&mut self, plan: &Plan, execution: &Execution) -> Result<bool, Error> {
        let again = self.execute(plan)?;
        Ok(again.output.is(&execution.output) && again.ending == execution.ending)
    }
}

/// There is no need to look for worse: the rank of an exception.
const EXCEPTION: usize = 2;

/// Harm, and what met in the execution that showed it.
struct Provoked {
    harm: Harm,
    met: Vec<Finding>,
}

impl Provoked {
    fn is_of(&self, finding: &Finding) -> bool {
        let mut identities = self.met.iter().map(Finding::identity);
        identities.any(|identity| identity == finding.identity())
    }
}

/// Whether harm of that kind is known of all that met.
fn is_known(harms: &[Provoked], harm: &Harm, met: &[Finding]) -> bool {
    met.iter().all(|finding| {
        let mut its = harms.iter().filter(|one| one.is_of(finding));
        its.any(|one| one.harm.kind == harm.kind)
    })
}

fn note(harms: &mut Vec<Provoked>, harm: Harm, plan: &Plan, run: u64, met: &[Finding]) {
    if !is_known(harms, &harm, met) {
        harms.push(Provoked {
            harm: shown(harm, plan, run),
            met: met.to_vec(),
        });
    }
}

/// Harm, with the plan that shows it.
fn shown(harm: Harm, plan: &Plan, run: u64) -> Harm {
    let seed = match plan {
        Plan::RaceFuzzer { seed, .. } => Some(*seed),
        _ => None,
    };
    Harm {
        run,
        seed,
        schedule: Some(plan.to_string()),
        ..harm
    }
}

/// What one order made the program print and the other one did not. Lines in
/// another order do not count: threads print when they like.
fn difference(one: &Execution, other: &Execution) -> Option<Harm> {
    if one.output.is(&other.output) || one.output.has_lines_of(&other.output) {
        return None;
    }
    let (one, other) = (one.output.excerpt(), other.output.excerpt());
    let (mut lines, mut others) = (one.lines(), other.lines());
    let (line, instead) = loop {
        match (lines.next(), others.next()) {
            (None, None) => break ("…", "…"),
            (line, instead) if line == instead => {}
            (line, instead) => break (line.unwrap_or(""), instead.unwrap_or("")),
        }
    };
    Some(Harm {
        kind: harm::OUTPUT.to_owned(),
        detail: format!("{} or {}", quoted(line), quoted(instead)),
        ..Harm::default()
    })
}

fn quoted(line: &str) -> String {
    let line: String = line.chars().filter(|c| !c.is_control()).take(60).collect();
    format!("“{}”", line.trim())
}

/// A pair that did not meet.
fn unreproduced(suspect: &Suspect) -> Finding {
    let times = match suspect.attempts {
        1 => "once".to_owned(),
        n => format!("{n} times"),
    };
    let mut finding = match &suspect.finding {
        Some(finding) => finding.clone(),
        None => guessed(&suspect.pair),
    };
    finding.status = Status::Unreproduced;
    finding.found_by.push(RACEFUZZER.to_owned());
    finding.reasons.push(Explanation {
        by: RACEFUZZER.to_owned(),
        because: format!("tried {times}; the two accesses did not meet"),
    });
    finding
}

/// All that is known of a pair that a user names.
fn guessed(pair: &Places) -> Finding {
    let access = |places: &[String]| {
        let site = places.join("|");
        let Place { at, writes } = Place::from(site.as_str());
        let position = at.rsplit_once(':');
        let position = position.and_then(|(file, line)| Some((file, line.parse().ok()?)));
        Access {
            op: match writes {
                Some(true) => "write",
                Some(false) => "read",
                None => "access",
            }
            .to_owned(),
            thread: "?".to_owned(),
            file: position.map(|(file, _)| file.to_owned()),
            line: position.map(|(_, line)| line),
            site,
            ..Access::default()
        }
    };
    Finding {
        location: Location {
            what: "address".to_owned(),
            name: "?".to_owned(),
            ..Location::default()
        },
        locations: 1,
        accesses: vec![access(&pair.first), access(&pair.second)],
        ..Finding::default()
    }
}

#[cfg(test)]
mod tests {
    use racehound_report::journal::Scheduled;

    use super::*;
    use crate::execution::Text;

    /// A program that does as it is told, and notes what it was told.
    struct Puppet<F> {
        acts: F,
        played: Vec<String>,
    }

    #[derive(Default)]
    struct Act {
        meets: bool,
        code: u8,
        signal: Option<i32>,
        prints: String,
    }

    impl<F: FnMut(u64, Resolution, usize) -> Act> Executor for Puppet<F> {
        fn execute(&mut self, assignment: &Assignment) -> Result<Execution, Error> {
            let text = assignment.schedule.to_string();
            let times = self.played.iter().filter(|played| **played == text).count();
            self.played.push(text);
            let (seed, resolution) = match &assignment.schedule {
                Plan::RaceFuzzer {
                    seed, resolution, ..
                } => (*seed, *resolution),
                _ => (0, Resolution::Random),
            };
            let act = match assignment.schedule {
                Plan::Free => Act::default(),
                _ => (self.acts)(seed, resolution, times),
            };
            let finding = Finding {
                status: Status::Observed,
                found_by: vec![RACEFUZZER.to_owned()],
                ..Finding::default()
            };
            Ok(Execution {
                ending: match act.signal {
                    Some(signal) => Ending::Signal(signal),
                    None => Ending::Code(act.code),
                },
                findings: act.meets.then_some(finding).into_iter().collect(),
                scheduled: Some(Scheduled::default()),
                output: Text::of(act.prints.as_bytes()),
                complaints: Text::default(),
                elapsed: Duration::from_millis(1),
            })
        }
    }

    fn outcome(acts: impl FnMut(u64, Resolution, usize) -> Act) -> (Outcome, Vec<String>) {
        let mut puppet = Puppet {
            acts,
            played: Vec::new(),
        };
        let place = |text: &str| vec![text.to_owned()];
        let suspect = Suspect {
            usual: None,
            pair: Places {
                first: place("a.c:1"),
                second: place("a.c:2"),
            },
            finding: None,
            seed: 1,
            attempts: 5,
            harm_seeds: 3,
            limit: Duration::from_secs(60),
        };
        let outcome = confirm(&mut puppet, &suspect, &mut |_| {}).unwrap();
        (outcome, puppet.played)
    }

    fn meeting() -> Act {
        Act {
            meets: true,
            ..Act::default()
        }
    }

    #[test]
    fn what_meets_again_is_confirmed_and_harmless_if_nothing_comes_of_it() {
        let (outcome, played) = outcome(|seed, _, _| Act {
            meets: seed >= 3,
            ..Act::default()
        });
        let finding = &outcome.findings[0];
        assert_eq!(finding.status, Status::Confirmed);
        assert_eq!((outcome.seed, finding.harm.clone()), (Some(3), None));
        let schedule = finding.schedule.as_deref();
        assert_eq!(schedule, Some("racefuzzer:seed=3,pair=a.c:1,a.c:2"));
        assert_eq!(outcome.runs as usize, played.len());
    }

    #[test]
    fn what_never_meets_again_is_but_observed() {
        let (outcome, _) = outcome(|_, _, times| Act {
            meets: times == 0,
            ..Act::default()
        });
        assert_eq!(outcome.findings[0].status, Status::Observed);
        assert_eq!(outcome.findings[0].schedule, None);
    }

    #[test]
    fn what_does_not_meet_is_unreproduced() {
        let (outcome, played) = outcome(|_, _, _| Act::default());
        let finding = &outcome.findings[0];
        assert_eq!(finding.status, Status::Unreproduced);
        assert_eq!((finding.accesses[1].line, outcome.seed), (Some(2), None));
        assert_eq!(played.len(), 3 + 5);
    }

    #[test]
    fn the_order_that_crashes_is_told() {
        let (outcome, _) = outcome(|seed, order, _| Act {
            signal: (seed == 2 && order == Resolution::Second).then_some(libc::SIGSEGV),
            ..meeting()
        });
        let harm = outcome.findings[0].harm.clone().unwrap();
        assert_eq!((&*harm.kind, &*harm.detail), ("crash", "SIGSEGV"));
        assert_eq!(harm.seed, Some(2));
        let plan = "racefuzzer:seed=2,pair=a.c:1,a.c:2,first=2";
        assert_eq!(harm.schedule.as_deref(), Some(plan));
        assert_eq!(outcome.findings[0].schedule.as_deref(), Some(plan));
    }

    #[test]
    fn harm_that_does_not_show_again_is_none() {
        let (outcome, _) = outcome(|_, order, times| Act {
            signal: (times == 0 && order != Resolution::Random).then_some(libc::SIGSEGV),
            ..meeting()
        });
        assert_eq!(outcome.findings[0].harm, None);
    }

    #[test]
    fn harm_without_a_meeting_is_somebody_elses() {
        let (outcome, _) = outcome(|_, order, _| Act {
            meets: order == Resolution::Random,
            code: u8::from(order != Resolution::Random),
            ..Act::default()
        });
        assert_eq!(outcome.findings[0].harm, None);
    }

    #[test]
    fn the_worst_harm_comes_first_and_none_is_lost() {
        let (outcome, _) = outcome(|seed, order, _| Act {
            code: u8::from(seed == 2 && order == Resolution::First) * 3,
            prints: match order {
                Resolution::First => "balance 10\n".into(),
                _ => "balance 20\n".into(),
            },
            ..meeting()
        });
        let finding = &outcome.findings[0];
        let kinds: Vec<&str> = finding.harms.iter().map(|h| &*h.kind).collect();
        assert_eq!(kinds, ["exit-code", "output"]);
        assert_eq!(finding.harm.as_ref(), finding.harms.first());
        assert_eq!(finding.harms[1].detail, "“balance 10” or “balance 20”");
        assert_eq!(finding.harms[1].seed, Some(1));
    }

    #[test]
    fn lines_in_another_order_and_output_that_varies_by_itself_are_no_harm() {
        let (shuffled, _) = outcome(|_, order, _| Act {
            prints: match order {
                Resolution::First => "a\nb\n".into(),
                _ => "b\na\n".into(),
            },
            ..meeting()
        });
        assert_eq!(shuffled.findings[0].harm, None);
        let (varying, _) = outcome(|seed, order, times| Act {
            prints: format!("{seed} {order:?} {times}\n"),
            ..meeting()
        });
        assert_eq!(varying.findings[0].harm, None);
    }
}
