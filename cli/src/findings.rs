//! Warnings of detectors to findings of the contract.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use racehound_detect::offline::{Outcome, Side, Warning};
use racehound_report::finding::{Access, Explanation, Finding, Kind, Location, Status};
use racehound_report::innocent::is_nobodys_fault;
use racehound_trace::{Loc, SiteId, Space, SyncId, Tables};

/// One finding for each pair of sites, in the order of the trace.
pub(crate) fn from_warnings(outcomes: &[Outcome], space: Space, tables: &Tables) -> Vec<Finding> {
    let mut pairs: BTreeMap<(SiteId, SiteId), Vec<(&Outcome, &Warning)>> = BTreeMap::new();
    for outcome in outcomes {
        for warning in &outcome.warnings {
            let group = pairs.entry(warning.pair()).or_default();
            group.push((outcome, warning));
        }
    }
    let mut groups: Vec<_> = pairs.into_values().collect();
    groups.sort_by_key(|group| group.iter().map(|(_, w)| (w.event, w.loc)).min());
    let findings = groups.iter().map(|group| finding(group, space, tables));
    // What happened comes before what might, and what many suspect before what
    // one does.
    let mut findings: Vec<Finding> = findings.filter(|f| !is_nobodys_fault(f)).collect();
    findings.sort_by_key(|finding| Reverse((finding.status, finding.found_by.len())));
    for (i, finding) in findings.iter_mut().enumerate() {
        finding.id = format!("R{}", i + 1);
    }
    findings
}

/// What several warnings of one pair of sites have in common is told by one of
/// them: the first that was observed, else the first. A reason is given only if
/// it is about the location that is shown.
fn finding(group: &[(&Outcome, &Warning)], space: Space, tables: &Tables) -> Finding {
    let rank =
        |(outcome, w): &&(&Outcome, &Warning)| (!outcome.detector.is_precise(), w.event, w.loc);
    let (_, warning) = group
        .iter()
        .min_by_key(rank)
        .expect("a group has a warning");
    let mut reasons: Vec<Explanation> = Vec::new();
    let mut found_by: Vec<String> = Vec::new();
    for (outcome, other) in group {
        let by = outcome.detector.name().to_owned();
        if other.loc == warning.loc && !reasons.iter().any(|reason| reason.by == by) {
            let because = other.why.in_words(|lock| tables.sync_name(lock));
            reasons.push(Explanation {
                by: by.clone(),
                because,
            });
        }
        if !found_by.contains(&by) {
            found_by.push(by);
        }
    }
    let mut locations: Vec<_> = group.iter().map(|(_, w)| w.loc).collect();
    locations.sort_unstable();
    locations.dedup();
    let precise = group.iter().any(|(o, _)| o.detector.is_precise());
    Finding {
        id: String::new(),
        kind: Kind::Race,
        detail: None,
        status: match precise {
            true => Status::Observed,
            false => Status::Predicted,
        },
        location: Location {
            what: what(tables, space, warning.loc).to_owned(),
            name: tables.shown_loc(space, warning.loc),
            size: warning.size,
            ..Location::default()
        },
        locations: locations.len(),
        accesses: vec![
            access(&warning.first, warning.size, tables),
            access(&warning.second, warning.size, tables),
        ],
        found_by,
        reasons,
        first_run: 1,
        ..Finding::default()
    }
}

fn access(side: &Side, size: u32, tables: &Tables) -> Access {
    at_site(
        Access {
            op: match side.kind.is_write() {
                true => "write",
                false => "read",
            }
            .to_owned(),
            size,
            thread: tables.thread_name(side.thread),
            locks: names(&side.locks, tables),
            atomic: side.kind.is_atomic(),
            ..Access::default()
        },
        side.site,
        tables,
    )
}

/// An access with all that is known of its place.
pub(crate) fn at_site(access: Access, id: SiteId, tables: &Tables) -> Access {
    let site = tables.sites.get(id.index());
    let known = |number: u32| (number > 0).then_some(number);
    Access {
        file: tables.site_file(id).map(str::to_owned),
        line: site.and_then(|s| known(s.line)),
        column: site.and_then(|s| known(s.column)),
        function: site
            .and_then(|s| s.function)
            .map(|f| tables.function_name(f)),
        site: tables.site_name(id),
        ..access
    }
}

/// Memory of which nothing is known.
pub(crate) const ADDRESS: &str = "address";

/// What a location of a trace is.
pub(crate) fn what(tables: &Tables, space: Space, loc: Loc) -> &'static str {
    match space {
        Space::Names => "variable",
        Space::Addresses if tables.variable_at(loc).is_some() => "global",
        Space::Addresses => ADDRESS,
    }
}

/// What locks are called.
pub(crate) fn names(locks: &[SyncId], tables: &Tables) -> Vec<String> {
    locks.iter().map(|lock| tables.sync_name(*lock)).collect()
}
