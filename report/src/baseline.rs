//! A baseline: an earlier report, of which everything is known and forgiven.
//!
//! Findings are held against it by their places, and by their
//! [fingerprints](crate::fingerprint) where the code has moved. Each finding of the
//! baseline forgives one: a second race between the same two lines of source is new.

use crate::finding::{Finding, Novelty, Report};
use crate::fingerprint;

/// Marks the findings of a report as new or known, and counts those of the baseline that
/// it does not have any more.
pub fn compare(report: &mut Report, baseline: &Report) -> usize {
    let mut known: Vec<&Finding> = baseline
        .findings
        .iter()
        .chain(&baseline.suppressed)
        .collect();
    let identical: [fn(&Finding, &Finding) -> bool; 2] = [
        |a, b| a.identity() == b.identity(),
        |a, b| fingerprint::of(a) == fingerprint::of(b),
    ];
    let findings = || report.findings.iter().chain(&report.suppressed);
    let mut forgiven = vec![false; findings().count()];
    // What has not moved comes first, lest it stand for what has.
    for is_same in identical {
        for (finding, forgiven) in findings().zip(&mut forgiven) {
            let at = || known.iter().position(|other| is_same(finding, other));
            if let Some(at) = (!*forgiven).then(at).flatten() {
                known.remove(at);
                *forgiven = true;
            }
        }
    }
    let all = report.findings.iter_mut().chain(&mut report.suppressed);
    for (finding, forgiven) in all.zip(forgiven) {
        finding.baseline = Some(match forgiven {
            true => Novelty::Unchanged,
            false => Novelty::New,
        });
    }
    known.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Access;

    fn race(function: &str, lines: [u32; 2]) -> Finding {
        let access = |line: u32| Access {
            file: Some("bank.c".into()),
            line: Some(line),
            site: format!("bank.c:{line}"),
            function: Some(function.into()),
            ..Access::default()
        };
        Finding {
            accesses: lines.map(access).to_vec(),
            ..Finding::default()
        }
    }

    fn report(findings: &[Finding]) -> Report {
        Report {
            findings: findings.to_vec(),
            ..Report::default()
        }
    }

    fn novelties(report: &Report) -> Vec<bool> {
        let is_new = |f: &Finding| f.baseline == Some(Novelty::New);
        report.findings.iter().map(is_new).collect()
    }

    #[test]
    fn what_has_moved_is_known() {
        let baseline = report(&[race("deposit", [1, 2]), race("audit", [7, 8])]);
        let mut now = report(&[race("deposit", [4, 5]), race("close", [9, 9])]);
        assert_eq!(compare(&mut now, &baseline), 1, "the one in audit is gone");
        assert_eq!(novelties(&now), [false, true]);
    }

    #[test]
    fn each_is_forgiven_once() {
        let baseline = report(&[race("deposit", [1, 2])]);
        let mut now = report(&[race("deposit", [1, 3]), race("deposit", [1, 2])]);
        assert_eq!(compare(&mut now, &baseline), 0);
        assert_eq!(novelties(&now), [true, false]);
    }
}
