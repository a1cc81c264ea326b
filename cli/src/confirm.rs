//! Predictions put to the test: the program is executed by each schedule, and once more
//! if the anomaly happened (pecan.txt §6.3, §8.1).
//!
//! A schedule is sure to be followed if everybody reads on the way what was read when it was
//! recorded. Often there is none like that: the list was empty at the time. So where the
//! schedules of the given trace lead nowhere, the program is recorded anew, with chance
//! deciding who goes, and the same places are looked for in what it did then. What is
//! confirmed is the same: the accesses happened, in the pattern's order, and did so again.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use racehound_hunt::harm::{self, Usual};
use racehound_hunt::{Assignment, Ending, Execution, Executor, Program};
use racehound_predict::{Forecast, Options, Prediction, predict_until};
use racehound_report::finding::{Explanation, Harm, Status};
use racehound_report::journal::CONFIRMED;
use racehound_schedule::{Plan, Schedule};
use racehound_trace::Trace;
use tempfile::TempDir;

use crate::args::Predict;
use crate::commands::predict::{either_way, explained, places, read_quietly};
use crate::error::Error;
use crate::predictions::{self, Instance, Predicted};
use crate::progress::Progress;
use crate::stdin::Spool;
use crate::{atomic_functions, shell, subject};

/// So many schedules of the given trace are followed for a prediction, one for each of the
/// events at its places that are the least strange, and other ways to the first of them.
const FIRST: usize = 6;

/// So many of each recording that is made besides.
const FURTHER: usize = 2;

/// So many detours are made, if all else was in vain, and so many of them to the same events.
const DETOURS: usize = 16;
const OF_ONE: usize = 4;

/// So many schedules are followed for the harm that is done by what has happened.
const FOR_HARM: usize = 4;

/// How often the program is recorded anew, and how often in a row in vain.
const RECORDINGS: u64 = 16;
const IN_VAIN: u32 = 4;

/// Executions by which it is known how the program ends by itself.
const FREE_RUNS: u32 = 2;

/// How much was tried.
pub(crate) struct Tally {
    /// Executions of the program.
    pub(crate) runs: u64,
}

/// Tries all predictions, and notes in the findings what became of each.
pub(crate) fn all(
    args: &Predict,
    options: &Options,
    trace: &Trace,
    forecast: &Forecast<'_>,
    predicted: &mut [Predicted],
) -> Result<Tally, Error> {
    let directory = tempfile::tempdir().map_err(Error::file(Path::new("temporary files")))?;
    let limit = Duration::from_secs(args.timeout.max(1));
    let mut program = subject::of(&args.program)?;
    let input = Spool::take()?;
    program.input = input.path();
    let usual = Usual::learn(&mut program, FREE_RUNS, limit)?;
    let mut progress = Progress::steps(predicted.len() as u64, "predictions".to_owned());
    let mut trial = Trial {
        args,
        program,
        usual,
        directory,
        limit,
        runs: u64::from(FREE_RUNS),
    };
    let mut cases: Vec<Case<'_>> = predicted.iter_mut().map(Case::new).collect();
    let given = Occasion::new(trace, forecast);
    let mut settled = 0;
    for case in &mut cases {
        let instances = case.one.instances(trace, forecast);
        trial.follow_straight(&given, case, &instances, FIRST)?;
        settled += u64::from(case.has_happened());
        progress.at(settled);
    }
    let mut in_vain = 0;
    for seed in 1..=RECORDINGS {
        if in_vain >= IN_VAIN || cases.iter().all(Case::has_happened) {
            break;
        }
        let Some(fresh) = trial.record(seed)? else {
            in_vain += 1;
            continue;
        };
        let happened = trial.look_again(options, &fresh, &mut cases)?;
        in_vain = if happened > 0 { 0 } else { in_vain + 1 };
        settled += happened;
        progress.at(settled);
    }
    for case in cases.iter_mut().filter(|case| !case.has_happened()) {
        let instances = case.one.instances(trace, forecast);
        trial.follow_detours(&given, case, &instances)?;
        settled += 1;
        progress.at(settled);
    }
    for case in cases.iter_mut().filter(|case| !case.has_happened()) {
        case.give_up(&given.places);
    }
    Ok(Tally { runs: trial.runs })
}

/// A trace, what it foretells, and where its places are in the source.
struct Occasion<'o, 't> {
    trace: &'o Trace,
    forecast: &'o Forecast<'t>,
    places: HashMap<String, String>,
}

impl<'o, 't> Occasion<'o, 't> {
    fn new(trace: &'o Trace, forecast: &'o Forecast<'t>) -> Self {
        Self {
            trace,
            forecast,
            places: places(trace),
        }
    }
}

/// A prediction that is put to the test.
struct Case<'p> {
    one: &'p mut Predicted,
    /// Schedules that were followed.
    tried: u32,
    /// Of all that were, how many reads saw something else in the least strange one.
    least: usize,
    /// Why the first one did not make it happen.
    reason: Option<String>,
}

impl<'p> Case<'p> {
    fn new(one: &'p mut Predicted) -> Self {
        Self {
            one,
            tried: 0,
            least: usize::MAX,
            reason: None,
        }
    }

    fn has_happened(&self) -> bool {
        self.one.finding.status == Status::Confirmed
    }

    /// It did not happen, and it is said why.
    fn give_up(&mut self, places: &HashMap<String, String>) {
        self.one.finding.status = Status::Unreproduced;
        let because = match (self.reason.take(), self.tried) {
            (None, _) => "there is no schedule to follow".to_owned(),
            (Some(reason), 1) => reason,
            (Some(reason), tried) => format!("{reason}; none of {tried} schedules leads there"),
        };
        self.one.finding.reasons.push(Explanation {
            by: "re-execution".to_owned(),
            because: in_the_source(&because, places),
        });
    }
}

/// The command by which a schedule is followed again.
fn replay(args: &Predict, file: &Path) -> String {
    let plan = format!("follow:file={}", file.display());
    let start = ["racehound", "run", "--schedule", &plan, "--"];
    let words = subject::in_words(&args.program);
    shell::line(start.into_iter().chain(words.iter().map(String::as_str)))
}

/// The schedules of a prediction.
fn straight(
    forecast: &Forecast<'_>,
    way: Prediction,
) -> impl Iterator<Item = (Prediction, Schedule)> {
    let schedules = forecast.schedules(&way);
    schedules.map(move |schedule| (way.clone(), schedule))
}

/// The schedules of a prediction on other ways.
fn around(
    forecast: &Forecast<'_>,
    way: Prediction,
) -> impl Iterator<Item = (Prediction, Schedule)> {
    let schedules = forecast.other_ways(&way);
    schedules.map(move |schedule| (way.clone(), schedule))
}

/// Executions of a program by schedules.
struct Trial<'a> {
    args: &'a Predict,
    program: Program,
    usual: Usual,
    directory: TempDir,
    limit: Duration,
    runs: u64,
}

impl Trial<'_> {
    /// Records the program with chance deciding who goes; nothing if there is no trace then.
    fn record(&mut self, seed: u64) -> Result<Option<Trace>, Error> {
        let file = self.directory.path().join("fresh.rht");
        let mut program = self.program.clone();
        if !self.args.atomic_functions.is_empty() {
            let said = program.options.add("record_calls", "1");
            said.map_err(racehound_hunt::execution::Error::from)?;
        }
        let _ = fs::remove_file(&file);
        program.execute(&Assignment {
            record: Some(file.clone()),
            ..self.assignment(Plan::Random { seed })
        })?;
        self.runs += 1;
        let begun = Instant::now();
        let is_over = || begun.elapsed() >= self.limit;
        // Who dies before it has written anything has no trace.
        let read = read_quietly(&file, &is_over).unwrap_or_default();
        Ok(read.map(|(trace, _)| trace))
    }

    /// Looks for the predictions that have not happened in another trace, and follows what it
    /// foretells; how many happened.
    fn look_again(
        &mut self,
        options: &Options,
        trace: &Trace,
        cases: &mut [Case<'_>],
    ) -> Result<u64, Error> {
        let options = Options {
            atomic_functions: atomic_functions::again(&self.args.atomic_functions, trace),
            ..options.clone()
        };
        let (begun, limit) = (Instant::now(), self.limit);
        let forecast = predict_until(trace, &options, &|| begun.elapsed() >= limit);
        let found = predictions::findings(trace, &forecast);
        let same = found.iter().map(|one| (one.finding.identity(), one));
        let same: HashMap<_, _> = same.collect();
        let occasion = Occasion::new(trace, &forecast);
        let mut happened = 0;
        for case in cases.iter_mut().filter(|case| !case.has_happened()) {
            let Some(one) = same.get(&case.one.finding.identity()) else {
                continue;
            };
            let mut instances = one.instances(trace, &forecast);
            // What is stranger than what was tried in vain will hardly do.
            instances.retain(|instance| instance.strangeness <= case.least);
            self.follow_straight(&occasion, case, &instances, FURTHER)?;
            happened += u64::from(case.has_happened());
        }
        Ok(happened)
    }

    /// Follows schedules to what was predicted until it happens, and a few more for the harm
    /// that it does.
    fn follow_straight(
        &mut self,
        occasion: &Occasion<'_, '_>,
        case: &mut Case<'_>,
        instances: &[Instance],
        most: usize,
    ) -> Result<(), Error> {
        let forecast = occasion.forecast;
        // One schedule of each, and then what else there is for the first.
        let first = instances.iter().flat_map(|instance| {
            let ways = either_way(forecast, &instance.prediction);
            let schedules = ways.filter_map(|(_, way)| straight(forecast, way).next());
            schedules.map(|(way, schedule)| (instance.strangeness, way, schedule))
        });
        let others = instances.iter().take(1).flat_map(|instance| {
            let ways = either_way(forecast, &instance.prediction);
            let schedules = ways.flat_map(|(_, way)| straight(forecast, way).skip(1));
            schedules.map(|(way, schedule)| (instance.strangeness, way, schedule))
        });
        let room = most.saturating_sub(1).max(1);
        for (strangeness, prediction, schedule) in first.take(room).chain(others).take(most) {
            case.least = case.least.min(strangeness);
            self.try_one(occasion, case, &prediction, schedule)?;
            if case.has_happened() {
                return self.look_for_harm(occasion, case, &prediction);
            }
        }
        Ok(())
    }

    /// Follows other ways to what was predicted.
    fn follow_detours(
        &mut self,
        occasion: &Occasion<'_, '_>,
        case: &mut Case<'_>,
        instances: &[Instance],
    ) -> Result<(), Error> {
        let forecast = occasion.forecast;
        let ways = instances
            .iter()
            .flat_map(|instance| either_way(forecast, &instance.prediction));
        let ways = ways.flat_map(|(_, way)| around(forecast, way).take(OF_ONE));
        for (prediction, schedule) in ways.take(DETOURS) {
            self.try_one(occasion, case, &prediction, schedule)?;
            if case.has_happened() {
                break;
            }
        }
        Ok(())
    }

    /// What has happened may do harm on another way, or in the other order.
    fn look_for_harm(
        &mut self,
        occasion: &Occasion<'_, '_>,
        case: &mut Case<'_>,
        happened: &Prediction,
    ) -> Result<(), Error> {
        let forecast = occasion.forecast;
        let ways = || either_way(forecast, happened).map(|(_, way)| way);
        let directly = ways().flat_map(|way| straight(forecast, way));
        let detours = ways().flat_map(|way| around(forecast, way));
        // The first one was followed already.
        for (prediction, schedule) in directly.chain(detours).skip(1).take(FOR_HARM) {
            if case.one.finding.harm.is_some() {
                break;
            }
            self.try_one(occasion, case, &prediction, schedule)?;
        }
        Ok(())
    }

    /// Follows a schedule, and notes what came of it.
    fn try_one(
        &mut self,
        occasion: &Occasion<'_, '_>,
        case: &mut Case<'_>,
        prediction: &Prediction,
        schedule: Schedule,
    ) -> Result<(), Error> {
        case.tried += 1;
        let execution = match self.follow(&schedule, case.has_happened())? {
            Ok(execution) => execution,
            Err(why) => {
                case.reason.get_or_insert(why);
                return Ok(());
            }
        };
        let harm = self.usual.judge(&execution);
        if case.has_happened() && harm.is_none() {
            return Ok(());
        }
        let one = &mut *case.one;
        one.finding.status = Status::Confirmed;
        one.finding.harm = harm.map(|harm| Harm {
            run: self.runs,
            ..harm
        });
        one.tell_as(occasion.trace, occasion.forecast, prediction);
        if let Some(directory) = &self.args.schedules {
            let file = directory.join(format!("{}.schedule", one.finding.id));
            let text = explained(one, &schedule, &occasion.places);
            fs::write(&file, text).map_err(Error::file(&file))?;
            one.finding.replay = Some(replay(self.args, &file));
        }
        Ok(())
    }

    /// Executes the program by a schedule, twice: only what happens again is confirmed. Where
    /// that is known, the second time is for the harm only.
    fn follow(
        &mut self,
        schedule: &Schedule,
        is_known: bool,
    ) -> Result<Result<Execution, String>, Error> {
        let file = self.directory.path().join("followed.schedule");
        let verdict = self.directory.path().join("verdict");
        fs::write(&file, schedule.to_string()).map_err(Error::file(&file))?;
        let assignment = self.assignment(Plan::Follow {
            file: file.display().to_string(),
            verdict: Some(verdict.display().to_string()),
        });
        let mut happens = || -> Result<Result<Execution, String>, Error> {
            fs::write(&verdict, "").map_err(Error::file(&verdict))?;
            let execution = self.program.execute(&assignment)?;
            self.runs += 1;
            let said = fs::read_to_string(&verdict).unwrap_or_default();
            Ok(match said.trim() == CONFIRMED {
                true => Ok(execution),
                false => Err(reason(&said, execution.ending)),
            })
        };
        Ok(match happens()? {
            Ok(execution) if is_known && self.usual.judge(&execution).is_none() => Ok(execution),
            Ok(_) => happens()?.map_err(|why| format!("the second time {why}")),
            Err(why) => Err(why),
        })
    }

    fn assignment(&self, schedule: Plan) -> Assignment {
        Assignment {
            detector: "none".to_owned(),
            schedule,
            record: None,
            schedule_out: None,
            sample: None,
            limit: self.limit,
        }
    }
}

/// What was said about places, with positions in the source where these are known. Places
/// are in backquotes, behind what is done there.
fn in_the_source(said: &str, places: &HashMap<String, String>) -> String {
    let mut parts = said.split('`');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (i, part) in parts.enumerate() {
        let place = part.split_once(' ').filter(|_| i % 2 == 0);
        let place = place.and_then(|(deed, name)| Some((deed, places.get(name)?)));
        text.push('`');
        match place {
            Some((deed, place)) => text.push_str(&format!("{deed} {place}")),
            None => text.push_str(part),
        }
    }
    text
}

fn reason(said: &str, ending: Ending) -> String {
    match (said.trim(), ending) {
        ("", Ending::Limit | Ending::Unready | Ending::Stubborn) => {
            "the execution took too long".to_owned()
        }
        ("", Ending::Code(code) | Ending::Client(code)) => {
            format!("the execution ended before, with exit code {code}")
        }
        ("", Ending::Signal(number)) => {
            format!("the execution died of {} before", harm::signal(number))
        }
        (said, _) => format!("the execution {said}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_positions_in_the_source() {
        let places = HashMap::from([("ab+0x1".to_owned(), "bank.c:7:3 in pay".to_owned())]);
        let said = "left at line 9: expected thread 0 at `read ab+0x1`, found thread 0 at \
                    `step ab+0x2`, thread 1 at `write ab+0x1`; none";
        let told = "left at line 9: expected thread 0 at `read bank.c:7:3 in pay`, found thread 0 \
                    at `step ab+0x2`, thread 1 at `write bank.c:7:3 in pay`; none";
        assert_eq!(in_the_source(said, &places), told);
        assert_eq!(in_the_source("no place", &places), "no place");
    }
}
