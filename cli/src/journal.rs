//! The findings of a live run: a file to which the program's processes append
//! them, and what it amounts to in the end.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use racehound_report::finding::Finding;
use tempfile::NamedTempFile;

use crate::error::Error;
use crate::output;

/// The file; it goes away with this.
pub(crate) struct Journal {
    file: NamedTempFile,
}

impl Journal {
    /// Makes the file: beside the one where the report will be, which shows
    /// whether that can be written at all and keeps the findings should we be
    /// killed; else among the temporary files.
    pub(crate) fn create(report: Option<&Path>) -> Result<Self, Error> {
        let temporary = std::env::temp_dir();
        let (directory, name, about) = match report {
            Some(path) if path.is_dir() => {
                return Err(Error::file(path)(io::ErrorKind::IsADirectory.into()));
            }
            Some(path) if output::is_replaceable(path) => {
                let absolute = std::path::absolute(path).map_err(Error::file(path))?;
                let directory = absolute.parent().map(PathBuf::from).unwrap_or_default();
                let name = absolute.file_name().unwrap_or_default().to_owned();
                (directory, name, path)
            }
            _ => (temporary.clone(), "racehound".into(), &*temporary),
        };
        let mut prefix = name;
        prefix.push(".findings-");
        let file = tempfile::Builder::new()
            .prefix(&prefix)
            .tempfile_in(directory)
            .map_err(Error::file(about))?;
        Ok(Self { file })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// What was found, each once, numbered, the most certain first; and how many
    /// lines make no sense.
    pub(crate) fn findings(&self) -> Result<(Vec<Finding>, usize), Error> {
        let text = fs::read(self.path()).map_err(Error::file(self.path()))?;
        Ok(read(&text))
    }
}

fn read(text: &[u8]) -> (Vec<Finding>, usize) {
    let lines = text.split(|&byte| byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    let (mut findings, mut damaged) = (Vec::new(), 0);
    for line in lines {
        match serde_json::from_slice(line) {
            Ok(finding) => findings.push(finding),
            Err(_) => damaged += 1,
        }
    }
    (folded(findings), damaged)
}

/// One finding for each set of sites.
fn folded(all: Vec<Finding>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut known = BTreeMap::new();
    let mut locations: Vec<BTreeSet<(String, Option<u64>)>> = Vec::new();
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
    for (i, finding) in findings.iter_mut().enumerate() {
        finding.id = format!("R{}", i + 1);
    }
    findings
}

/// Adds to a finding what another of the same sites has to say.
fn join(first: &mut Finding, other: Finding) {
    first.status = first.status.max(other.status);
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
    use racehound_report::finding::{Access, Kind, Location, Status};

    use super::*;

    fn race(sites: [&str; 2], location: &str, status: Status) -> Finding {
        let access = |site: &str| Access {
            op: "write".into(),
            size: 4,
            thread: "0.1".into(),
            file: None,
            line: None,
            column: None,
            function: None,
            site: site.into(),
            locks: Vec::new(),
            atomic: false,
            stack: Vec::new(),
        };
        Finding {
            id: String::new(),
            kind: Kind::Race,
            detail: None,
            status,
            harm: None,
            location: Location {
                name: location.into(),
                ..Location::default()
            },
            locations: 1,
            accesses: sites.map(access).to_vec(),
            threads: Vec::new(),
            found_by: vec!["fasttrack".into()],
            reasons: Vec::new(),
            first_run: 1,
            replay: None,
        }
    }

    fn lines(findings: &[Finding]) -> Vec<u8> {
        let line = |finding| format!("\n{}\n", serde_json::to_string(finding).unwrap());
        findings.iter().map(line).collect::<String>().into_bytes()
    }

    #[test]
    fn a_pair_of_sites_is_one_finding() {
        let all = [
            race(["a.c:1", "a.c:2"], "x", Status::Observed),
            race(["a.c:2", "a.c:1"], "y", Status::Observed),
            race(["a.c:2", "a.c:1"], "y", Status::Observed),
            race(["a.c:1", "a.c:3"], "x", Status::Observed),
        ];
        let (findings, damaged) = read(&lines(&all));
        let summary = |f: &Finding| (f.id.clone(), f.accesses[1].site.clone(), f.locations);
        let summary: Vec<_> = findings.iter().map(summary).collect();
        let expected = [("R1", "a.c:2", 2), ("R2", "a.c:3", 1)];
        let expected = expected.map(|(id, site, n)| (id.to_owned(), site.to_owned(), n));
        assert_eq!(summary, expected);
        assert_eq!(damaged, 0);
    }

    #[test]
    fn what_happened_comes_before_what_might() {
        let all = [
            race(["a.c:1", "a.c:2"], "x", Status::Predicted),
            race(["a.c:3", "a.c:4"], "x", Status::Observed),
        ];
        let (findings, _) = read(&lines(&all));
        assert_eq!(findings[0].status, Status::Observed);
        assert_eq!(findings[0].id, "R1");
    }

    #[test]
    fn a_line_that_was_cut_off_costs_only_itself() {
        let all = [
            race(["a.c:1", "a.c:2"], "x", Status::Observed),
            race(["a.c:3", "a.c:4"], "x", Status::Observed),
        ];
        let mut text = lines(&all[..1]);
        text.extend_from_slice(b"{\"id\":\"\",\"kind\":\"ra");
        text.extend(lines(&all[1..]));
        let (findings, damaged) = read(&text);
        assert_eq!((findings.len(), damaged), (2, 1));
    }
}
