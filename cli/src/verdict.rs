//! What every command says of its findings in the end, and what that means for
//! its exit code.

use std::fmt::Write;

use std::path::Path;

use racehound_report::edition::{self, Edition};
use racehound_report::finding::{Novelty, Report, Status};
use racehound_report::table::counted;
use racehound_report::text;

use crate::args::FailOn;

/// How certain a finding must be to fail for.
pub(crate) fn level(fail_on: FailOn) -> Option<Status> {
    match fail_on {
        FailOn::Predicted => Some(Status::Predicted),
        FailOn::Observed => Some(Status::Observed),
        FailOn::Confirmed => Some(Status::Confirmed),
        FailOn::Never => None,
    }
}

/// How many findings are at the level that fails.
pub(crate) fn failing(report: &Report, fail_on: FailOn) -> usize {
    let level = level(fail_on);
    let findings = report.findings.iter();
    findings
        .filter(|finding| edition::fails(finding, level))
        .count()
}

/// The report with what its forms must know beside it.
pub(crate) fn edition<'a>(report: &'a Report, fail_on: FailOn, root: &'a Path) -> Edition<'a> {
    Edition {
        report,
        fail_on: level(fail_on),
        root,
    }
}

/// The findings, at most `limit` of them; 0 is no limit.
pub(crate) fn listing(report: &Report, limit: usize) -> String {
    let limit = if limit == 0 { usize::MAX } else { limit };
    let mut out = String::new();
    for finding in report.findings.iter().take(limit) {
        out.push_str(&text::finding(finding));
        out.push('\n');
    }
    if let Some(more @ 1..) = report.findings.len().checked_sub(limit) {
        let _ = writeln!(
            out,
            "… and {more} more; --limit 0 shows all, --json writes all\n"
        );
    }
    out
}

/// What is said of findings of a baseline that are gone.
pub(crate) fn absent(gone: Option<usize>) -> String {
    match gone {
        None | Some(0) => String::new(),
        Some(gone) => format!(
            "{} of the baseline no longer found.\n",
            counted(gone, "finding")
        ),
    }
}

/// The lines that sum them up, with what comes `before`.
pub(crate) fn closing(before: &str, report: &Report, failing: usize, code: u8) -> String {
    let meaning = match failing {
        0 => "nothing at the --fail-on level".to_owned(),
        n => format!("{n} at the --fail-on level"),
    };
    summed_up(before, report, &format!("exit code {code}: {meaning}"))
}

/// The same of something that did not come to its end, for a reason that is told later.
pub(crate) fn cut_short(before: &str, report: &Report) -> String {
    summed_up(before, report, "cut short, so there may be more")
}

/// Two lines if something comes before, or if one would be too long.
fn summed_up(before: &str, report: &Report, end: &str) -> String {
    let count = |status: Status| {
        let findings = report.findings.iter();
        findings.filter(|f| f.status == status).count()
    };
    let always = [Status::Observed, Status::Predicted];
    let numbers: Vec<String> = [
        Status::Confirmed,
        Status::Observed,
        Status::Predicted,
        Status::Unreproduced,
    ]
    .into_iter()
    .filter(|status| always.contains(status) || count(*status) > 0)
    .map(|status| format!("{} {}", count(status), status.name()))
    .collect();
    let mut numbers = numbers.join(", ");
    if !report.suppressed.is_empty() {
        let _ = write!(numbers, ", {} suppressed", report.suppressed.len());
    }
    let known = |novelty: Option<Novelty>| novelty == Some(Novelty::Unchanged);
    let known = report.findings.iter().filter(|f| known(f.baseline)).count();
    if known > 0 {
        let _ = write!(numbers, ", {known} known in the baseline");
    }
    let is_short = numbers.chars().count() + "; ".len() + end.len() <= text::WIDTH;
    let joint = match before.is_empty() && is_short {
        true => ' ',
        false => '\n',
    };
    format!("{before}{numbers};{joint}{end}\n")
}
