//! Predictions put to the test: the program is executed once for each schedule
//! (pecan.txt §6.3, §8.1).

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use racehound_predict::Forecast;
use racehound_report::finding::{Explanation, Harm, Status};
use racehound_schedule::Plan;

use crate::args::Predict;
use crate::attend;
use crate::commands::predict::schedules;
use crate::commands::run::{OPTIONS, command};
use crate::error::Error;
use crate::predictions::Predicted;
use crate::progress::Progress;

/// What the word for an anomaly that happened is, in a verdict.
const CONFIRMED: &str = "confirmed";

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
    let mut runs = 1;
    // How it ends by itself is no harm.
    let usual = execute(args, None, limit)?;
    let mut progress = Progress::events(predicted.len() as u64);
    for (number, one) in predicted.iter_mut().enumerate() {
        let mut why = None;
        for (name, schedule) in schedules(forecast, one) {
            let file = directory.path().join(format!("{name}.schedule"));
            let verdict = directory.path().join(format!("{name}.verdict"));
            fs::write(&file, schedule.to_string()).map_err(Error::file(&file))?;
            let plan = Plan::Follow {
                file: file.display().to_string(),
                verdict: Some(verdict.display().to_string()),
            };
            runs += 1;
            let ending = execute(args, Some(&plan), limit)?;
            let said = fs::read_to_string(&verdict).unwrap_or_default();
            if said.trim() != CONFIRMED {
                why = why.or(Some(reason(&said, ending)));
                continue;
            }
            one.finding.status = Status::Confirmed;
            if one.finding.harm.is_none() {
                one.finding.harm = harm(ending, usual, runs);
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
            let program: Vec<_> = args.program.iter().map(|w| w.to_string_lossy()).collect();
            one.finding.replay = Some(format!(
                "racehound run --schedule follow:file={} -- {}",
                file.display(),
                program.join(" ")
            ));
        }
        progress.at(number as u64 + 1);
    }
    Ok(Tally { runs })
}

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Status(ExitStatus),
    /// It took too long.
    Hang,
}

fn reason(said: &str, ending: Ending) -> String {
    match (said.trim(), ending) {
        ("", Ending::Hang) => "the execution took too long".to_owned(),
        ("", Ending::Status(status)) => format!("the execution ended before: {status}"),
        (said, _) => format!("the execution {said}"),
    }
}

fn harm(ending: Ending, usual: Ending, run: u64) -> Option<Harm> {
    let harm = |kind: &str, detail: String| {
        Some(Harm {
            kind: kind.to_owned(),
            detail,
            run,
        })
    };
    match ending {
        same if same == usual => None,
        Ending::Hang => harm("hang", "it took too long".to_owned()),
        Ending::Status(status) => match (status.signal(), status.code()) {
            (Some(signal), _) => harm("crash", format!("signal {signal}")),
            (None, code) => harm("exit code", code.unwrap_or(0).to_string()),
        },
    }
}

fn execute(args: &Predict, plan: Option<&Plan>, limit: Duration) -> Result<Ending, Error> {
    let (path, mut command) = command(&args.program)?;
    let mut options = std::env::var_os(OPTIONS).unwrap_or_default();
    if !options.is_empty() {
        options.push(":");
    }
    options.push("detector=none:exitcode=0:print_reports=0");
    if let Some(plan) = plan {
        options.push(format!(":schedule='{plan}'"));
        attend::fix_addresses(&mut command);
    }
    command.env(OPTIONS, options);
    let quiet = || Stdio::null();
    command.stdin(quiet()).stdout(quiet()).stderr(quiet());
    let not_started = |error: io::Error| Error::NotStarted(format!("{}: {error}", path.display()));
    wait(&mut command, limit).map_err(not_started)
}

fn wait(command: &mut Command, limit: Duration) -> io::Result<Ending> {
    let mut child = command.spawn()?;
    let started = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ending::Status(status));
        }
        if started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(Ending::Hang);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}
