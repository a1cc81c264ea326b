//! What the processes of one or more executions found, each set of sites once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use racehound_report::finding::{Finding, Kind, Location};
use racehound_report::journal::Note;

use crate::harm;

/// The findings among the notes, numbered, the most certain first.
pub fn folded(notes: Vec<Note>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut known = BTreeMap::new();
    let mut locations: Vec<BTreeSet<(String, Option<u64>)>> = Vec::new();
    let all = notes.into_iter().filter_map(|note| match note {
        Note::Finding(finding) => Some(*finding),
        Note::Scheduled { .. } => None,
    });
    for finding in all {
        let location = (finding.location.name.clone(), finding.location.offset);
        let at = *known.entry(finding.identity()).or_insert(findings.len());
        match findings.get_mut(at) {
            Some(first) => join(first, finding),
            None => {
                findings.push(finding);
                locations.push(BTreeSet::new());
            }
        }
        locations[at].insert(location);
    }
    for (finding, locations) in findings.iter_mut().zip(&locations) {
        finding.locations = locations.len();
    }
    findings.sort_by_key(|finding| Reverse(finding.status));
    number(&mut findings);
    findings
}

/// Calls them R1, R2, …
pub fn number(findings: &mut [Finding]) {
    for (i, finding) in findings.iter_mut().enumerate() {
        finding.id = format!("R{}", i + 1);
    }
}

/// Calls memory of which only the address is known what races at the same places call it:
/// who predicts from a trace does not see where blocks come from.
pub(crate) fn name_memory(findings: &mut [Finding]) {
    let mut known: BTreeMap<String, Location> = BTreeMap::new();
    for finding in findings.iter() {
        if finding.kind == Kind::Race && finding.location.what != ADDRESS {
            for access in &finding.accesses {
                let location = finding.location.clone();
                known.entry(access.site.clone()).or_insert(location);
            }
        }
    }
    for finding in findings {
        if finding.location.what != ADDRESS {
            continue;
        }
        let mut locations = finding.accesses.iter().map(|a| known.get(&a.site));
        if let Some(Some(first)) = locations.next()
            && locations.all(|other| other.is_some_and(|other| other.name == first.name))
        {
            finding.location = first.clone();
        }
    }
}

/// What a location is called of which nothing else is known.
const ADDRESS: &str = "address";

/// By harm, then certainty, then when it was found.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| {
        let harm = finding.harm.as_ref().map_or(usize::MAX, harm::rank);
        (harm, Reverse(finding.status), finding.first_run)
    });
}

/// Whether a finding is more certain or worse than what is known of it.
pub(crate) fn says_more(finding: &Finding, known: &Finding) -> bool {
    let certainty = finding.status.cmp(&known.status);
    let worse = finding.harm.is_some() && known.harm.is_none();
    certainty.is_gt() || certainty.is_eq() && worse
}

/// Adds what was found in another test. What several show is told once, by the test
/// that shows it best.
pub fn merge(findings: &mut Vec<Finding>, more: Vec<Finding>) {
    for mut finding in more {
        let is_it = |known: &&mut Finding| known.identity() == finding.identity();
        let Some(known) = findings.iter_mut().find(is_it) else {
            findings.push(finding);
            continue;
        };
        if says_more(&finding, known) {
            finding.also_in = std::mem::take(&mut known.also_in);
            std::mem::swap(known, &mut finding);
        }
        known
            .also_in
            .extend(finding.test.take().map(|test| test.name));
        join(known, finding);
    }
    sort(findings);
}

/// Adds to a finding what another of the same sites has to say.
pub fn join(first: &mut Finding, other: Finding) {
    first.status = first.status.max(other.status);
    first.schedule = first.schedule.take().or(other.schedule);
    first.trace = first.trace.take().or(other.trace);
    // A name says more than an address.
    if first.location.what == "address" && other.location.what != "address" {
        first.location = other.location;
    }
    for by in other.found_by {
        if !first.found_by.contains(&by) {
            first.found_by.push(by);
        }
    }
    for reason in other.reasons {
        if !first.reasons.iter().any(|known| known.by == reason.by) {
            first.reasons.push(reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use racehound_report::finding::{Access, Location, Status, Test};

    use super::*;

    fn race(sites: [&str; 2], location: &str, status: Status) -> Note {
        let access = |site: &str| Access {
            op: "write".into(),
            size: 4,
            thread: "0.1".into(),
            site: site.into(),
            ..Access::default()
        };
        Note::Finding(Box::new(Finding {
            status,
            location: Location {
                name: location.into(),
                ..Location::default()
            },
            accesses: sites.map(access).to_vec(),
            found_by: vec!["fasttrack".into()],
            ..Finding::default()
        }))
    }

    #[test]
    fn a_pair_of_sites_is_one_finding() {
        let findings = folded(vec![
            race(["a.c:1", "a.c:2"], "x", Status::Observed),
            race(["a.c:2", "a.c:1"], "y", Status::Observed),
            race(["a.c:2", "a.c:1"], "y", Status::Observed),
            race(["a.c:1", "a.c:3"], "x", Status::Observed),
        ]);
        let summary = |f: &Finding| (f.id.clone(), f.accesses[1].site.clone(), f.locations);
        let summary: Vec<_> = findings.iter().map(summary).collect();
        let expected = [("R1", "a.c:2", 2), ("R2", "a.c:3", 1)];
        let expected = expected.map(|(id, site, n)| (id.to_owned(), site.to_owned(), n));
        assert_eq!(summary, expected);
    }

    #[test]
    fn what_several_tests_show_is_told_once() {
        let shown_by = |name: &str, status: Status| {
            let Note::Finding(finding) = race(["a.c:1", "a.c:2"], "x", status) else {
                unreachable!();
            };
            let test = Test {
                name: name.into(),
                ..Test::default()
            };
            Finding {
                test: Some(test),
                ..*finding
            }
        };
        let mut findings = vec![shown_by("one", Status::Observed)];
        merge(&mut findings, vec![shown_by("two", Status::Confirmed)]);
        merge(&mut findings, vec![shown_by("three", Status::Predicted)]);
        let [finding] = &findings[..] else {
            panic!("{findings:?}");
        };
        assert_eq!(finding.status, Status::Confirmed);
        assert_eq!(finding.test.as_ref().unwrap().name, "two");
        assert_eq!(finding.also_in, ["one", "three"]);
    }

    #[test]
    fn what_happened_comes_before_what_might() {
        let findings = folded(vec![
            race(["a.c:1", "a.c:2"], "x", Status::Predicted),
            race(["a.c:3", "a.c:4"], "x", Status::Observed),
        ]);
        assert_eq!(findings[0].status, Status::Observed);
        assert_eq!(findings[0].id, "R1");
    }
}
