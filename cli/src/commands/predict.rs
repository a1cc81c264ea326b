//! `racehound predict`.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use racehound_predict::pattern::{Pattern, builtin, parse_all};
use racehound_predict::{Atomics, Forecast, Options, Prediction, predict};
use racehound_report::finding::{Report, Status};
use racehound_report::table::{Table, counted, thousands};
use racehound_report::text;
use racehound_schedule::{Move, Naming, Schedule};
use racehound_trace::{SiteId, Source, Trace};

use crate::args::{Predict, PredictAtomics};
use crate::confirm::{self, Tally};
use crate::error::Error;
use crate::input::{self, Input};
use crate::known::{self, Known};
use crate::predictions::{self, Predicted};
use crate::progress::Progress;
use crate::{CLEAN, FINDINGS, atomic_functions, formats, verdict};

pub(crate) fn run(args: &Predict) -> Result<u8, Error> {
    args.output.check()?;
    let patterns = patterns(args)?;
    let trace = read(&args.trace)?;
    let options = Options {
        patterns,
        atomic_functions: atomic_functions::named(&args.atomic_functions, &trace, &args.trace),
        atomics: match args.atomics {
            PredictAtomics::Order => Atomics::Order,
            PredictAtomics::Free => Atomics::Free,
        },
        window: args.window.map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
    };
    let options = &options;
    let forecast = predict(&trace, options);
    let mut predicted = predictions::findings(&trace, &forecast);
    if let Some(directory) = &args.schedules {
        fs::create_dir_all(directory).map_err(Error::file(directory))?;
        write_schedules(directory, &trace, &forecast, &predicted)?;
    }
    let tally = match args.confirm {
        true => Some(confirm::all(
            args,
            options,
            &trace,
            &forecast,
            &mut predicted,
        )?),
        false => None,
    };
    let here = known::here()?;
    let mut report = Report {
        directory: Some(here.display().to_string()),
        program: match args.program.is_empty() {
            true => vec![args.trace.display().to_string()],
            false => args
                .program
                .iter()
                .map(|w| w.to_string_lossy().into_owned())
                .collect(),
        },
        runs: 1 + tally.as_ref().map_or(0, |t| t.runs),
        findings: predicted.into_iter().map(|p| p.finding).collect(),
        ..Report::default()
    };
    Known::with(&here, None, None)?.settle(&mut report);
    let failing = verdict::failing(&report, args.fail_on);
    let code = match failing {
        0 => CLEAN,
        _ => FINDINGS,
    };
    let mut text = text::narrowed(&verdict::listing(&report, args.limit));
    text.push_str(&summary(args, &trace, &forecast, &report, tally.as_ref()));
    text.push_str(&verdict::closing("", &report, failing, code));
    let root = formats::root(&here);
    args.output
        .publish(&verdict::edition(&report, args.fail_on, &root), &text)?;
    Ok(code)
}

fn patterns(args: &Predict) -> Result<Vec<Pattern>, Error> {
    let mut patterns = match args.only_patterns {
        true => Vec::new(),
        false => builtin(),
    };
    for path in &args.pattern {
        let text = fs::read_to_string(path).map_err(Error::file(path))?;
        let own = parse_all(&text)
            .map_err(|error| Error::Wish(format!("{}: {error}", path.display())))?;
        if own.is_empty() {
            let path = path.display();
            return Err(Error::Wish(format!("{path}: there is no pattern in it")));
        }
        for pattern in own {
            if patterns.iter().any(|known| known.name() == pattern.name()) {
                return Err(Error::Wish(format!(
                    "{}: there is already a pattern called {}",
                    path.display(),
                    pattern.name()
                )));
            }
            patterns.push(pattern);
        }
    }
    Ok(patterns)
}

pub(super) fn read(path: &Path) -> Result<Trace, Error> {
    let read = read_from(path, &|| false)?;
    let (trace, source) = read.expect("nobody is in a hurry");
    input::warn_if_incomplete(path, &*source);
    Ok(trace)
}

/// The same, and whether it has all that the program did; nobody is warned. Nothing if there
/// is no time for all of it.
pub(crate) fn read_quietly(
    path: &Path,
    is_over: &dyn Fn() -> bool,
) -> Result<Option<(Trace, bool)>, Error> {
    let read = read_from(path, is_over)?;
    Ok(read.map(|(trace, source)| (trace, source.truncation().is_none())))
}

type Read = (Trace, Box<dyn Source>);

fn read_from(path: &Path, is_over: &dyn Fn() -> bool) -> Result<Option<Read>, Error> {
    let Input { mut source, size } = input::open(path)?;
    let mut progress = Progress::bytes(size);
    let mut events = Vec::new();
    let mut batch = Vec::new();
    loop {
        source.next_batch(&mut batch).map_err(Error::trace(path))?;
        if batch.is_empty() {
            break;
        }
        events.extend_from_slice(&batch);
        progress.at(source.position());
        if is_over() {
            return Ok(None);
        }
    }
    drop(progress);
    let trace = Trace {
        space: source.space(),
        tables: source.tables().clone(),
        events,
    };
    Ok(Some((trace, source)))
}

fn write_schedules(
    directory: &Path,
    trace: &Trace,
    forecast: &Forecast<'_>,
    predicted: &[Predicted],
) -> Result<(), Error> {
    let places = places(trace);
    for one in predicted {
        for (name, schedule) in schedules(forecast, one) {
            let path = directory.join(format!("{name}.schedule"));
            let text = explained(one, &schedule, &places);
            fs::write(&path, text).map_err(Error::file(&path))?;
        }
    }
    Ok(())
}

/// Where in the source the places of schedules are.
pub(crate) fn places(trace: &Trace) -> HashMap<String, String> {
    let tables = &trace.tables;
    let place = |id: SiteId| {
        let site = tables.sites.get(id.index())?;
        let function = site.function.map(|f| tables.function_name(f));
        let position = tables.site_name(id);
        let described = match function {
            Some(function) => format!("{position} in {function}"),
            None => position,
        };
        let name = tables.site(id);
        (name != described).then_some((name, described))
    };
    let ids = (0..tables.sites.len()).map(SiteId::from_index);
    ids.filter_map(place).collect()
}

/// A schedule with comments for whoever reads it: what happens in it, and where the
/// places are.
pub(crate) fn explained(
    one: &Predicted,
    schedule: &Schedule,
    places: &HashMap<String, String>,
) -> String {
    let mut comments = String::new();
    let finding = anstream::adapter::strip_str(&text::finding(&one.finding)).to_string();
    for line in finding.lines() {
        let _ = writeln!(comments, "# {line}");
    }
    let runs = schedule.moves().iter().filter_map(|r#move| match r#move {
        Move::Run { points, .. } => Some(points),
        Move::Notify { .. } | Move::Time => None,
    });
    let used: BTreeSet<&str> = runs.flatten().map(|p| p.point.site.as_str()).collect();
    for name in used {
        if let Some(place) = places.get(name) {
            let _ = writeln!(comments, "# {name} is {place}");
        }
    }
    let text = schedule.to_string();
    match text.split_once('\n') {
        Some((title, rest)) => format!("{title}\n{comments}{rest}"),
        None => text,
    }
}

/// The schedules of a finding, by name: for a race, in either order.
pub(crate) fn schedules(forecast: &Forecast<'_>, one: &Predicted) -> Vec<(String, Schedule)> {
    let first = |(suffix, prediction): (&str, Prediction)| {
        let schedule = forecast.schedule(&prediction)?;
        Some((format!("{}{suffix}", one.finding.id), schedule))
    };
    either_way(forecast, &one.prediction)
        .filter_map(first)
        .collect()
}

/// Those, and as many others that may lead to the same where those do not.
pub(super) fn more_schedules(
    forecast: &Forecast<'_>,
    one: &Predicted,
    others: usize,
) -> Vec<(String, Schedule)> {
    let mut all = schedules(forecast, one);
    let ways = either_way(forecast, &one.prediction);
    let other = ways.flat_map(|(_, prediction)| {
        let straight = forecast.schedules(&prediction).skip(1);
        let all: Vec<Schedule> = straight.chain(forecast.other_ways(&prediction)).collect();
        all
    });
    for (number, schedule) in other.take(others).enumerate() {
        all.push((format!("{}.{}", one.finding.id, number + 2), schedule));
    }
    all
}

/// A prediction, and for a race the other order, with what is added to the names of
/// their schedules.
pub(crate) fn either_way(
    forecast: &Forecast<'_>,
    prediction: &Prediction,
) -> impl Iterator<Item = (&'static str, Prediction)> {
    let reversed = forecast.reversed(prediction);
    let straight = ("", prediction.clone());
    std::iter::once(straight).chain(reversed.map(|prediction| (".reversed", prediction)))
}

/// So many combinations of places for which not all was tried are told one by one.
const MOST_ABANDONED: usize = 5;

/// What was not looked for to the end, and where.
fn abandoned(trace: &Trace, forecast: &Forecast<'_>) -> String {
    let mut out = String::new();
    let all = &forecast.given_up;
    if all.is_empty() {
        return out;
    }
    let _ = writeln!(
        out,
        "  gave up on {} of places: many tuples there cannot happen, some were not tried",
        counted(all.len(), "combination")
    );
    for one in all.iter().take(MOST_ABANDONED) {
        let sites = one.sites.iter().map(|site| trace.tables.site_name(*site));
        let sites: Vec<String> = sites.collect();
        let _ = writeln!(
            out,
            "    {} at {}",
            forecast.abandoned_pattern(one),
            sites.join(", ")
        );
    }
    if all.len() > MOST_ABANDONED {
        let _ = writeln!(
            out,
            "    and {} more",
            thousands((all.len() - MOST_ABANDONED) as u64)
        );
    }
    out
}

/// The paper's Table 1, for this trace.
fn summary(
    args: &Predict,
    trace: &Trace,
    forecast: &Forecast<'_>,
    report: &Report,
    tally: Option<&Tally>,
) -> String {
    let mut out = String::new();
    let count = |kind: &str| {
        let findings = report.findings.iter();
        let is = |f: &&racehound_report::finding::Finding| String::from(f.kind.clone()) == kind;
        findings.filter(is).count().to_string()
    };
    let own = report
        .findings
        .iter()
        .filter(|f| String::from(f.kind.clone()).starts_with("pattern:"));
    let own = own.count();
    let mut heads = vec!["", "Thread", "Event", "Race", "AV", "ASV"];
    let name = args.trace.file_name().unwrap_or_default();
    let mut row = vec![
        name.to_string_lossy().into_owned(),
        forecast.threads().to_string(),
        thousands(trace.events.len() as u64),
        count("race"),
        count("atomicity"),
        count("atomic-set"),
    ];
    if !args.pattern.is_empty() {
        heads.push("own");
        row.push(own.to_string());
    }
    if tally.is_some() {
        heads.extend(["REAL", "EXP", "F"]);
        let of = |status: Status| report.findings.iter().filter(move |f| f.status == status);
        row.push(of(Status::Confirmed).count().to_string());
        row.push(
            report
                .findings
                .iter()
                .filter(|f| f.harm.is_some())
                .count()
                .to_string(),
        );
        row.push(of(Status::Unreproduced).count().to_string());
    }
    let mut table = Table::new(heads);
    table.row(row);
    out.push_str(&table.render());
    if !forecast.pruned.is_empty() {
        let _ = writeln!(
            out,
            "  {} pruned: no order of these events respects locks, threads and pointers",
            counted(forecast.pruned.len(), "suspicion")
        );
    }
    out.push_str(&abandoned(trace, forecast));
    if let Some(window) = args.window {
        let _ = writeln!(
            out,
            "  only within {} events of each other: --window",
            thousands(window)
        );
    }
    out
}
