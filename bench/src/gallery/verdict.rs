//! What a hunt is worth: whether it found the bug that is there, and nothing else.

use racehound_report::finding::{Finding, Moment, Report, Status};

use super::program::Program;

/// What came of a hunt in a program.
#[derive(Debug)]
pub(super) struct Verdict {
    /// In a word.
    pub(super) word: &'static str,
    /// Who had a part in it.
    pub(super) by: Vec<String>,
    /// When something was confirmed first.
    pub(super) first: Option<Moment>,
}

impl Verdict {
    /// Whether it is as it should be.
    pub(super) fn is_right(&self) -> bool {
        ["confirmed", "silent"].contains(&self.word)
    }

    pub(super) fn of(report: &Report, program: &Program) -> Self {
        let kinds: Vec<&String> = program.expected.iter().flat_map(|e| &e.kinds).collect();
        let is_bug = !kinds.is_empty();
        let fits = |finding: &&Finding| !is_bug || kinds.iter().any(|kind| is(kind, finding));
        let mut findings: Vec<&Finding> = report.findings.iter().filter(fits).collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.status));
        let best = findings.first();
        let word = match (is_bug, best.map(|finding| finding.status)) {
            (true, Some(Status::Confirmed)) => "confirmed",
            (true, Some(Status::Observed)) => "observed",
            (true, Some(Status::Predicted)) => "predicted",
            (true, _) => "missed",
            (false, Some(Status::Confirmed | Status::Observed)) => "false alarm",
            (false, _) => "silent",
        };
        let first = report.history.iter().find(|moment| moment.confirmed > 0);
        let happened = best.filter(|finding| finding.status >= Status::Observed);
        Self {
            word,
            by: happened.map_or(Vec::new(), |finding| finding.found_by.clone()),
            first: first.filter(|_| word == "confirmed").cloned(),
        }
    }
}

/// Whether a finding is of the kind that a program says it has. What a bug leads to is
/// as good as the bug.
fn is(kind: &str, finding: &Finding) -> bool {
    let word = String::from(finding.kind.clone());
    let words: &[&str] = match kind {
        "race" | "vptr" | "heap-use-after-free" => &["race"],
        "lock-order-inversion" | "deadlock" => &["deadlock"],
        "atomicity" | "atomic-set" => &["atomicity", "atomic-set"],
        "thread-leak" => &["thread-leak"],
        "signal-unsafe" | "errno-in-handler" => &["signal-unsafe"],
        _ => &["mutex-misuse"],
    };
    word == "failure" || words.contains(&word.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::program::Expected;
    use super::*;
    use racehound_report::finding::Kind;

    fn word(kinds: &[&str], found: &[(Kind, Status)]) -> &'static str {
        let expected = kinds.iter().map(|kind| Expected {
            kinds: vec![(*kind).to_owned()],
            tag: None,
        });
        let mut program = Program::default();
        program.expected.extend(expected);
        let finding = |(kind, status): &(Kind, Status)| Finding {
            kind: kind.clone(),
            status: *status,
            ..Finding::default()
        };
        let report = Report {
            findings: found.iter().map(finding).collect(),
            ..Report::default()
        };
        Verdict::of(&report, &program).word
    }

    #[test]
    fn only_the_bug_that_is_there_counts() {
        use Status::{Confirmed, Observed, Predicted};
        assert_eq!(word(&["race"], &[(Kind::Race, Confirmed)]), "confirmed");
        assert_eq!(word(&["race"], &[(Kind::Deadlock, Confirmed)]), "missed");
        assert_eq!(word(&["race"], &[(Kind::Race, Observed)]), "observed");
        assert_eq!(
            word(&["deadlock"], &[(Kind::Failure, Confirmed)]),
            "confirmed"
        );
        assert_eq!(
            word(&["double-lock"], &[(Kind::MutexMisuse, Confirmed)]),
            "confirmed"
        );
        assert_eq!(word(&[], &[(Kind::Race, Observed)]), "false alarm");
        assert_eq!(word(&[], &[(Kind::Race, Predicted)]), "silent");
        assert_eq!(word(&[], &[]), "silent");
    }
}
