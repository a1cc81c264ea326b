//! How an execution is to be scheduled, put together from the command line.

use std::path::Path;

use racehound_schedule::{Collecting, Plan};

use crate::args::Run;
use crate::error::Error;
use crate::{pairs, schedules, store};

/// The plan; [`Plan::Free`] if nobody interferes.
pub(crate) fn of(args: &Run) -> Result<Plan, Error> {
    let Some(schedule) = &args.schedule else {
        let fuzzes = !args.pair.is_empty();
        return match (fuzzes, args.times) {
            (false, None) => Ok(Plan::Free),
            (true, _) => Err(only_for_racefuzzer("--pair")),
            (false, Some(_)) => Err(only_for_racefuzzer("--times")),
        };
    };
    let mut named = Vec::new();
    for word in &args.pair {
        named.extend(pairs::named(word)?);
    }
    let (name, settings) = schedule.split_once(':').unwrap_or((schedule, ""));
    let given = settings.split(',').filter(|setting| !setting.is_empty());
    if let ("free" | "collect", Some(seed)) = (name, args.seed) {
        return Err(Error::Wish(format!(
            "--seed {seed}: with --schedule {name} the system decides which thread runs, and no \
             seed repeats that"
        )));
    }
    let mut settings: Vec<String> = given.map(str::to_owned).collect();
    settings.extend(args.seed.map(|seed| format!("seed={seed}")));
    settings.extend(args.depth.map(|depth| format!("depth={depth}")));
    settings.extend(named.iter().map(|(pair, _)| format!("pair={pair}")));
    let text = match settings.is_empty() {
        true => name.to_owned(),
        false => format!("{name}:{}", settings.join(",")),
    };
    let wrong = |error| Error::Wish(format!("--schedule {text}: {error}"));
    let plan: Plan = text.parse().map_err(wrong)?;
    match &plan {
        Plan::RaceFuzzer { .. } => Ok(plan),
        _ if args.times.is_some() => Err(only_for_racefuzzer("--times")),
        Plan::Replay { file } | Plan::Follow { file, .. } => {
            schedules::read(file.as_ref())?;
            Ok(plan)
        }
        _ => Ok(plan),
    }
}

fn only_for_racefuzzer(option: &str) -> Error {
    Error::Wish(format!(
        "{option} is for --schedule racefuzzer, which was not given"
    ))
}

/// The plan for a program, with the project's may-trigger relations where none are
/// named.
pub(crate) fn of_program(mut plan: Plan, program: &Path) -> Result<Plan, Error> {
    if let Plan::DrFinder { collecting, .. } | Plan::Collect(collecting) = &mut plan {
        let Collecting { relations, .. } = collecting;
        let path = match relations {
            Some(file) => std::path::absolute(&*file).map_err(Error::file(Path::new(file)))?,
            None => store::relations(program)?,
        };
        let path = path.into_os_string().into_string();
        *relations = Some(path.map_err(|path| {
            Error::Wish(format!("{}: a name in UTF-8 is needed", path.display()))
        })?);
    }
    Ok(plan)
}

/// The detector that goes with it.
pub(crate) fn detector(args: &Run, plan: &Plan) -> Result<String, Error> {
    let watching = match plan {
        Plan::RaceFuzzer { .. } => Some("racefuzzer looks at the pair only"),
        Plan::Follow { .. } => Some("follow looks at the schedule's places only"),
        _ => None,
    };
    let collects = matches!(plan, Plan::Collect(_));
    match (args.detector.as_deref(), watching) {
        (Some(detector), Some(watching)) if detector != "none" => Err(Error::Wish(format!(
            "--detector {detector}: --schedule {watching}, so there is nothing for a detector \
             to see"
        ))),
        (Some(detector), _) => Ok(detector.to_owned()),
        (None, Some(_)) => Ok("none".to_owned()),
        (None, None) if collects => Ok("none".to_owned()),
        (None, None) => Ok("fasttrack".to_owned()),
    }
}
