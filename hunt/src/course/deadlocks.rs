//! Deadlocks that are told once, in however many ways threads come to them.

use std::collections::BTreeSet;

use racehound_report::finding::{Finding, Kind, Status};

/// Whether a deadlock is told of already: one that could be, among those that were made
/// to happen; one that happened, where fewer threads come to the same, or the same locks
/// are waited for.
pub(super) fn is_another_way(finding: &Finding, findings: &[Finding]) -> bool {
    if finding.kind != Kind::Deadlock {
        return false;
    }
    let sites = |finding: &Finding| -> BTreeSet<String> {
        finding.accesses.iter().map(|a| a.site.clone()).collect()
    };
    let mine = sites(finding);
    let of_the_same = |other: &Finding| {
        let name = &finding.location.name;
        let is_of_objects = !name.is_empty() && !name.starts_with("thread ");
        is_of_objects && objects(other) == objects(finding)
    };
    let mut happened = findings
        .iter()
        .filter(|other| other.kind == Kind::Deadlock && other.status == Status::Confirmed);
    happened.any(|other| {
        let theirs = sites(other);
        match finding.harm {
            None => mine.is_subset(&theirs) || of_the_same(other),
            Some(_) => {
                let is_smaller = theirs.is_subset(&mine) && theirs != mine && !theirs.is_empty();
                is_smaller || of_the_same(other) && is_told_before(other, finding)
            }
        }
    })
}

/// What a deadlock is about: locks, conditions.
fn objects(deadlock: &Finding) -> BTreeSet<&str> {
    deadlock.location.name.split(", ").collect()
}

/// Of two deadlocks of the same objects the one with fewer threads is told, or the first.
fn is_told_before(one: &Finding, other: &Finding) -> bool {
    let rank = |finding: &Finding| {
        let sites: Vec<String> = finding.accesses.iter().map(|a| a.site.clone()).collect();
        let is_confirmed = finding.status == Status::Confirmed;
        (!is_confirmed, sites.len(), finding.first_run, sites)
    };
    rank(one) < rank(other)
}
