//! What every command says of its findings in the end, and what that means for
//! its exit code.

use std::fmt::Write;

use racehound_report::finding::{Report, Status};
use racehound_report::text;

use crate::args::FailOn;

/// How many findings are at the level that fails.
pub(crate) fn failing(report: &Report, fail_on: FailOn) -> usize {
    let level = match fail_on {
        FailOn::Predicted => Status::Predicted,
        FailOn::Observed => Status::Observed,
        FailOn::Confirmed => Status::Confirmed,
        FailOn::Never => return 0,
    };
    let findings = report.findings.iter();
    findings.filter(|finding| finding.status >= level).count()
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

/// The line that sums them up.
pub(crate) fn closing(report: &Report, failing: usize, code: u8) -> String {
    let count = |status: Status| {
        let findings = report.findings.iter();
        findings.filter(|f| f.status == status).count()
    };
    let (observed, predicted) = (count(Status::Observed), count(Status::Predicted));
    let rare = [Status::Confirmed, Status::Unreproduced];
    let rare: String = rare
        .into_iter()
        .filter(|status| count(*status) > 0)
        .map(|status| format!(", {} {}", count(status), status.name()))
        .collect();
    let meaning = match failing {
        0 => "nothing at the --fail-on level".to_owned(),
        n => format!("{n} at the --fail-on level"),
    };
    format!("{observed} observed, {predicted} predicted{rare}; exit code {code}: {meaning}\n")
}
