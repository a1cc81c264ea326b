//! Predictions put to the test: the program is executed by each schedule, and once more
//! if the anomaly happened (pecan.txt §6.3, §8.1).

use std::fs;
use std::path::Path;
use std::time::Duration;

use racehound_hunt::harm::{self, Usual};
use racehound_hunt::{Assignment, Ending, Execution, Executor};
use racehound_predict::Forecast;
use racehound_report::finding::{Explanation, Status};
use racehound_report::journal::CONFIRMED;
use racehound_schedule::Plan;

use crate::args::Predict;
use crate::commands::predict::schedules;
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

/// Tries all schedules, and notes in the findings what became of each.
pub(crate) fn all(
    args: &Predict,
    forecast: &Forecast<'_>,
    predicted: &mut [Predicted],
) -> Result<Tally, Error> {
    let directory = tempfile::tempdir().map_err(Error::file(Path::new("temporary files")))?;
    let limit = Duration::from_secs(args.timeout.max(1));
    let mut program = subject::of(&args.program)?;
    let input = Spool::take()?;
    program.input = input.path();
    let usual = Usual::learn(&mut program, FREE_RUNS, limit)?;
    let mut runs = u64::from(FREE_RUNS);
    let mut progress = Progress::steps(predicted.len() as u64, "predictions".to_owned());
    for (number, one) in predicted.iter_mut().enumerate() {
        let mut why = None;
        for (name, schedule) in schedules(forecast, one) {
            let file = directory.path().join(format!("{name}.schedule"));
            let verdict = directory.path().join(format!("{name}.verdict"));
            fs::write(&file, schedule.to_string()).map_err(Error::file(&file))?;
            let assignment = Assignment {
                detector: "none".to_owned(),
                schedule: Plan::Follow {
                    file: file.display().to_string(),
                    verdict: Some(verdict.display().to_string()),
                },
                record: None,
                schedule_out: None,
                limit,
            };
            let mut happens = || -> Result<Result<Execution, String>, Error> {
                fs::write(&verdict, "").map_err(Error::file(&verdict))?;
                let execution = program.execute(&assignment)?;
                runs += 1;
                let said = fs::read_to_string(&verdict).unwrap_or_default();
                Ok(match said.trim() == CONFIRMED {
                    true => Ok(execution),
                    false => Err(reason(&said, execution.ending)),
                })
            };
            // Only what happens again is confirmed.
            let again = match happens()? {
                Ok(_) => happens()?.map_err(|why| format!("the second time {why}")),
                Err(why) => Err(why),
            };
            let execution = match again {
                Ok(execution) => execution,
                Err(reason) => {
                    why = why.or(Some(reason));
                    continue;
                }
            };
            one.finding.status = Status::Confirmed;
            if one.finding.harm.is_none()
                && let Some(mut harm) = usual.judge(&execution)
            {
                harm.run = runs;
                one.finding.harm = Some(harm);
            }
        }
        if one.finding.status != Status::Confirmed {
            one.finding.status = Status::Unreproduced;
            one.finding.reasons.push(Explanation {
                by: "re-execution".to_owned(),
                because: why.unwrap_or_else(|| "there is no schedule to follow".to_owned()),
            });
        } else if let Some(directory) = &args.schedules {
            let file = directory.join(format!("{}.schedule", one.finding.id));
            let plan = format!("follow:file={}", file.display());
            let start = ["racehound", "run", "--schedule", &plan, "--"];
            let words = subject::in_words(&args.program);
            let line = start.into_iter().chain(words.iter().map(String::as_str));
            one.finding.replay = Some(shell::line(line));
        }
        progress.at(number as u64 + 1);
    }
    Ok(Tally { runs })
}

/// Executions by which it is known how the program ends by itself.
const FREE_RUNS: u32 = 2;

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
