//! Annotations for GitHub: a workflow command for each finding, which shows up at its line
//! in the changes.

use std::fmt::Write;

use crate::edition::{Edition, said};
use crate::finding::{Finding, Status};
use crate::text;

/// The findings as workflow commands, a line each.
pub fn render(edition: &Edition<'_>) -> String {
    let mut out = String::new();
    for finding in &edition.report.findings {
        let level = match (edition.fails(finding), finding.status) {
            (true, _) => "error",
            (false, Status::Unreproduced) => "notice",
            (false, _) => "warning",
        };
        let title = edition.seen(&text::title(finding));
        let title = format!("{title} ({})", finding.status.name());
        let properties = place(edition, finding)
            .into_iter()
            .chain([("title", title)])
            .map(|(name, value)| format!("{name}={}", property(&value)));
        let properties: Vec<String> = properties.collect();
        let _ = writeln!(
            out,
            "::{level} {}::{}",
            properties.join(","),
            data(&message(edition, finding))
        );
    }
    out
}

/// The first place that is known.
fn place(edition: &Edition<'_>, finding: &Finding) -> Vec<(&'static str, String)> {
    let known = finding.accesses.iter().find_map(|access| {
        let spot = access.spot();
        let (file, line) = (spot.file?, spot.line?);
        let column = spot.column.map(|column| ("col", column.to_string()));
        let place = [("file", edition.name(file)), ("line", line.to_string())];
        Some(place.into_iter().chain(column).collect())
    });
    let of_words = || {
        let (file, line) = said(&finding.location.name)?;
        Some(vec![
            ("file", edition.name(file)),
            ("line", line.to_string()),
        ])
    };
    known.or_else(of_words).unwrap_or_default()
}

fn message(edition: &Edition<'_>, finding: &Finding) -> String {
    let accesses = finding.accesses.iter();
    let mut lines: Vec<String> = accesses
        .map(|access| format!("{} at {}", text::deed(access), edition.position(access)))
        .collect();
    if let Some(harm) = &finding.harm {
        lines.push(format!("harm: {}, {}", harm.kind, harm.detail));
    }
    let reasons = text::folded(finding);
    lines.extend(
        reasons
            .into_iter()
            .map(|(by, because)| format!("why: {because} ({by})")),
    );
    if let Some(replay) = &finding.replay {
        lines.push(format!("replay: {replay}"));
    }
    edition.seen(&lines.join("\n"))
}

/// What follows the second `::`.
fn data(text: &str) -> String {
    let escaped = text.replace('%', "%25").replace('\r', "%0D");
    escaped.replace('\n', "%0A")
}

/// The value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::finding::{Access, Location, Report};

    #[test]
    fn what_means_something_to_github_is_escaped() {
        let finding = Finding {
            id: "R1".into(),
            status: Status::Observed,
            location: Location {
                name: "a::b, 100%".into(),
                ..Location::default()
            },
            accesses: vec![Access {
                op: "write".into(),
                thread: "0.1".into(),
                file: Some("/p/odd, name.c".into()),
                line: Some(3),
                column: Some(7),
                ..Access::default()
            }],
            ..Finding::default()
        };
        let report = Report {
            findings: vec![finding],
            ..Report::default()
        };
        let rendered = render(&Edition {
            report: &report,
            fail_on: Some(Status::Observed),
            root: Path::new("/p"),
        });
        assert_eq!(
            rendered,
            "::error file=odd%2C name.c,line=3,col=7,title=R1 race on a%3A%3Ab%2C 100%25 (observed)\
             ::thread 0.1 writes, holding no lock at odd, name.c:3\n"
        );
    }
}
