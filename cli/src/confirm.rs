//! Predictions put to the test: the program is executed by each schedule, and once more
//! if the anomaly happened (pecan.txt §6.3, §8.1).

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use racehound_hunt::harm::{self, Usual};
use racehound_hunt::{Assignment, Ending, Execution, Executor, Program};
use racehound_predict::{Forecast, Prediction};
use racehound_report::finding::{Explanation, Harm, Status};
use racehound_report::journal::CONFIRMED;
use racehound_schedule::{Plan, Schedule};
use racehound_trace::Trace;
use tempfile::TempDir;

use crate::args::Predict;
use crate::commands::predict::{either_way, explained, places};
use crate::error::Error;
use crate::predictions::Predicted;
use crate::progress::Progress;
use crate::stdin::Spool;
use crate::{shell, subject};

/// How much was tried.
pub(crate) struct Tally {
    /// Executions of the program.
    pub(crate) runs: u64,
}

/// Tries all predictions, and notes in the findings what became of each.
pub(crate) fn all(
    args: &Predict,
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
    let places = places(trace);
    let mut progress = Progress::steps(predicted.len() as u64, "predictions".to_owned());
    let mut trial = Trial {
        program,
        usual,
        directory,
        limit,
        runs: u64::from(FREE_RUNS),
    };
    for (number, one) in predicted.iter_mut().enumerate() {
        let outcome = trial.put_to_the_test(forecast, one)?;
        match outcome.happened {
            Some(happened) => {
                one.finding.status = Status::Confirmed;
                one.finding.harm = happened.harm;
                if happened.prediction.events != one.prediction.events {
                    one.tell_as(trace, forecast, &happened.prediction);
                }
                if let Some(directory) = &args.schedules {
                    let file = directory.join(format!("{}.schedule", one.finding.id));
                    let text = explained(one, &happened.schedule, &places);
                    fs::write(&file, text).map_err(Error::file(&file))?;
                    one.finding.replay = Some(replay(args, &file));
                }
            }
            None => {
                one.finding.status = Status::Unreproduced;
                one.finding.reasons.push(Explanation {
                    by: "re-execution".to_owned(),
                    because: in_the_source(&outcome.why(), &places),
                });
            }
        }
        progress.at(number as u64 + 1);
    }
    Ok(Tally { runs: trial.runs })
}

/// The command by which a schedule is followed again.
fn replay(args: &Predict, file: &Path) -> String {
    let plan = format!("follow:file={}", file.display());
    let start = ["racehound", "run", "--schedule", &plan, "--"];
    let words = subject::in_words(&args.program);
    shell::line(start.into_iter().chain(words.iter().map(String::as_str)))
}

/// What an anomaly happened by.
struct Happened {
    prediction: Prediction,
    schedule: Schedule,
    harm: Option<Harm>,
}

/// What became of a prediction.
#[derive(Default)]
struct Outcome {
    happened: Option<Happened>,
    /// Schedules that were tried.
    tried: u32,
    /// Why the first one did not make it happen.
    reason: Option<String>,
}

impl Outcome {
    fn is_settled(&self) -> bool {
        let happened = self.happened.as_ref();
        happened.is_some_and(|happened| happened.harm.is_some())
    }

    fn why(self) -> String {
        match (self.reason, self.tried) {
            (None, _) => "there is no schedule to follow".to_owned(),
            (Some(reason), 1) => reason,
            (Some(reason), tried) => format!("{reason}; none of {tried} schedules leads there"),
        }
    }
}

/// Executions of a program by schedules.
struct Trial {
    program: Program,
    usual: Usual,
    directory: TempDir,
    limit: Duration,
    runs: u64,
}

impl Trial {
    /// Follows the schedules of a prediction: until it does harm, as far as they are for the
    /// events that were predicted; until it happens, for other events at the same places.
    fn put_to_the_test(
        &mut self,
        forecast: &Forecast<'_>,
        one: &Predicted,
    ) -> Result<Outcome, Error> {
        let mut outcome = Outcome::default();
        for instance in one.instances(forecast) {
            for (_, prediction) in either_way(forecast, &instance) {
                for schedule in forecast.schedules(&prediction) {
                    if outcome.is_settled() {
                        return Ok(outcome);
                    }
                    outcome.tried += 1;
                    match self.follow(&schedule)? {
                        Ok(execution) => {
                            let harm = self.usual.judge(&execution).map(|harm| Harm {
                                run: self.runs,
                                ..harm
                            });
                            if outcome.happened.is_none() || harm.is_some() {
                                outcome.happened = Some(Happened {
                                    prediction: prediction.clone(),
                                    schedule,
                                    harm,
                                });
                            }
                        }
                        Err(why) => outcome.reason = outcome.reason.or(Some(why)),
                    }
                }
            }
            if outcome.happened.is_some() {
                break;
            }
        }
        Ok(outcome)
    }

    /// Executes the program by a schedule, twice: only what happens again is confirmed.
    fn follow(&mut self, schedule: &Schedule) -> Result<Result<Execution, String>, Error> {
        let file = self.directory.path().join("followed.schedule");
        let verdict = self.directory.path().join("verdict");
        fs::write(&file, schedule.to_string()).map_err(Error::file(&file))?;
        let assignment = Assignment {
            detector: "none".to_owned(),
            schedule: Plan::Follow {
                file: file.display().to_string(),
                verdict: Some(verdict.display().to_string()),
            },
            record: None,
            schedule_out: None,
            sample: None,
            limit: self.limit,
        };
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
            Ok(_) => happens()?.map_err(|why| format!("the second time {why}")),
            Err(why) => Err(why),
        })
    }
}

/// Executions by which it is known how the program ends by itself.
const FREE_RUNS: u32 = 2;

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
