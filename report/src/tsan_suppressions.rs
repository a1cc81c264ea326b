//! ThreadSanitizer's suppression files, for findings that the runtime had no part in: those
//! that were predicted from a trace. The runtime goes by the same files and patterns.

use std::fmt;

use crate::finding::{Access, Finding, Kind, Report, Suppression};
use crate::glob::glob;

/// The lines of a file.
#[derive(Clone, Debug, Default)]
pub struct Suppressions {
    lines: Vec<Line>,
}

#[derive(Clone, Debug)]
struct Line {
    kind: String,
    pattern: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.pattern)
    }
}

impl Suppressions {
    /// Adds what a file says. The runtime complains about what makes no sense.
    pub fn add(&mut self, text: &str) {
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with('#'));
        let lines = lines.filter_map(|line| line.split_once(':'));
        self.lines.extend(lines.map(|(kind, pattern)| Line {
            kind: kind.to_owned(),
            pattern: pattern.to_owned(),
        }));
    }

    /// Moves what matches out of the way.
    pub fn apply(&self, report: &mut Report) {
        for mut finding in std::mem::take(&mut report.findings) {
            match self.lines.iter().find(|line| line.matches(&finding)) {
                Some(line) => {
                    finding.suppression = Some(Suppression {
                        reason: line.to_string(),
                        date: None,
                    });
                    report.suppressed.push(finding);
                }
                None => report.findings.push(finding),
            }
        }
    }
}

impl Line {
    fn matches(&self, finding: &Finding) -> bool {
        let kind = match finding.kind {
            Kind::Race => "race",
            Kind::Deadlock => "deadlock",
            Kind::MutexMisuse => "mutex",
            Kind::ThreadLeak => "thread",
            Kind::SignalUnsafe => "signal",
            _ => return false,
        };
        if self.kind == "race_top" && kind == "race" {
            return finding.accesses.iter().any(|access| self.is_at(access));
        }
        let global = finding.location.what == "global" && kind == "race";
        let threads = finding.threads.iter().map(|thread| &thread.stack);
        let stacks = finding.accesses.iter().map(|access| &access.stack);
        let frames = stacks.chain(threads).chain([&finding.location.stack]);
        let in_frame = |frame: &crate::finding::Frame| {
            let names = [
                Some(&frame.function),
                frame.file.as_ref(),
                frame.module.as_ref(),
            ];
            names
                .into_iter()
                .flatten()
                .any(|name| glob(&self.pattern, name))
        };
        self.kind == kind
            && (finding.accesses.iter().any(|access| self.is_at(access))
                || frames.flatten().any(in_frame)
                || global && glob(&self.pattern, &finding.location.name))
    }

    fn is_at(&self, access: &Access) -> bool {
        let names = [access.function.as_ref(), access.file.as_ref()];
        names
            .into_iter()
            .flatten()
            .any(|name| glob(&self.pattern, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Frame, Location};

    fn suppressed(text: &str) -> bool {
        let frame = |function: &str| Frame {
            function: function.into(),
            file: Some("/src/bank.c".into()),
            line: None,
            column: None,
            module: Some("bank".into()),
            offset: None,
        };
        let mut report = Report {
            findings: vec![Finding {
                location: Location {
                    what: "global".into(),
                    name: "balance".into(),
                    ..Location::default()
                },
                accesses: vec![Access {
                    function: Some("deposit".into()),
                    stack: vec![frame("deposit"), frame("teller")],
                    ..Access::default()
                }],
                ..Finding::default()
            }],
            ..Report::default()
        };
        let mut suppressions = Suppressions::default();
        suppressions.add(text);
        suppressions.apply(&mut report);
        report.findings.is_empty()
    }

    #[test]
    fn files_are_read_as_tsan_reads_them() {
        for text in [
            "race:deposit",
            "# why\nrace:^tel*r$",
            "race:bank.c",
            "race_top:deposit",
        ] {
            assert!(suppressed(text), "{text}");
        }
        assert!(suppressed("race:^balance$"));
        for text in [
            "race_top:teller",
            "deadlock:deposit",
            "# race:deposit",
            "race:audit",
            "",
        ] {
            assert!(!suppressed(text), "{text}");
        }
    }
}
