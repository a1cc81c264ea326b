//! `racehound suppress`: findings that somebody has looked at and accepted.

use std::fmt::Write;
use std::path::Path;

use racehound_report::finding::{Finding, Suppression};
use racehound_report::suppressions::{Entry, FILE, Suppressions};
use racehound_report::{fingerprint, source, text};
use racehound_store::Store;

use crate::args::Suppress;
use crate::element_names;
use crate::error::Error;
use crate::{CLEAN, known, output, pairs};

/// Adds, lists or removes entries.
pub(crate) fn run(args: &Suppress) -> Result<u8, Error> {
    let here = known::here()?;
    let mut file = known::accepted(&here)?;
    if args.list {
        output::show(&listing(&file))?;
        return Ok(CLEAN);
    }
    let mut told = String::new();
    for id in &args.remove {
        let fingerprint = match entry(&file, id) {
            Some(entry) => entry.fingerprint.clone(),
            None => fingerprint::of(&finding(args, &here, id)?),
        };
        let what = entry(&file, &fingerprint).map(|entry| entry.finding.clone());
        let Some(what) = what else {
            return Err(Error::Wish(format!(
                "{id} is not suppressed; see racehound suppress --list"
            )));
        };
        file.remove(&fingerprint);
        let _ = writeln!(told, "{what} is no longer suppressed");
    }
    for id in &args.id {
        let finding = finding(args, &here, id)?;
        let suppression = Suppression {
            reason: args.reason.clone().unwrap_or_default(),
            date: Some(chrono::Local::now().date_naive().to_string()),
        };
        file.add(&finding, suppression);
        let _ = writeln!(told, "{} is suppressed in {FILE}", text::title(&finding));
    }
    output::write(&here.join(FILE), &file.to_string())?;
    output::show(&told)?;
    Ok(CLEAN)
}

/// The entry of that fingerprint, or that number in the list.
fn entry<'a>(file: &'a Suppressions, id: &str) -> Option<&'a Entry> {
    let number = id.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    let numbered = number.and_then(|at| file.entries().get(at));
    let mut entries = file.entries().iter();
    entries.find(|entry| entry.fingerprint == id).or(numbered)
}

/// The finding of that name, of a report or of the last hunt.
fn finding(args: &Suppress, here: &Path, id: &str) -> Result<Finding, Error> {
    let report = match &args.report {
        Some(file) => Some(pairs::report(file)?),
        None if Store::exists(here) => Store::open(here)?.finding(id)?,
        None => None,
    };
    let mut report = report.unwrap_or_default();
    source::embed(&mut report);
    element_names::tell(&mut report);
    let mut all = report.findings.into_iter().chain(report.suppressed);
    all.find(|finding| finding.id == id).ok_or_else(|| {
        let place = match &args.report {
            Some(file) => file.display().to_string(),
            None => "what was hunted here; see racehound report".to_owned(),
        };
        Error::Wish(format!("there is no finding {id} in {place}"))
    })
}

fn listing(file: &Suppressions) -> String {
    let mut out = String::new();
    for (number, entry) in (1..).zip(file.entries()) {
        let Suppression { reason, date } = &entry.suppression;
        let since = date.as_ref().map(|date| format!(" (since {date})"));
        let _ = writeln!(
            out,
            "{number}. {}{}",
            entry.finding,
            since.unwrap_or_default()
        );
        for place in &entry.places {
            let _ = writeln!(out, "   {place}");
        }
        let _ = writeln!(out, "   {reason}");
    }
    if out.is_empty() {
        out.push_str("nothing is suppressed here\n");
    }
    out
}
