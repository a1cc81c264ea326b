//! The races that the runtime has noted in a run.

use std::collections::BTreeSet;

use racehound_report::finding::{Finding, Kind};

/// A race, by what its two accesses are called: file and line.
pub(crate) type Race = (String, String);

/// All findings that are races, in order.
pub(crate) fn all(noted: &str) -> Vec<Race> {
    let findings = noted
        .lines()
        .filter_map(|line| serde_json::from_str::<Finding>(line).ok());
    findings
        .filter(|finding| finding.kind == Kind::Race)
        .filter_map(|finding| {
            let place = |index: usize| {
                let access = finding.accesses.get(index)?;
                let file = access.file.as_deref()?.rsplit('/').next()?;
                Some(format!("{file}:{}", access.line?))
            };
            let (a, b) = (place(0)?, place(1)?);
            Some((a.clone().min(b.clone()), a.max(b)))
        })
        .collect()
}

/// Each once.
pub(crate) fn distinct(noted: &str) -> BTreeSet<Race> {
    all(noted).into_iter().collect()
}
