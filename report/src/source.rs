//! The source around the accesses of findings, put into the findings while it is there:
//! so they can be read tomorrow and elsewhere, and files need not be looked for again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::finding::{Excerpt, Finding, Report};
use crate::fingerprint;

/// Source files, as far as they can be read. A file is looked for where the debug
/// information says it is, and below the directory from which it is seen.
#[derive(Debug, Default)]
pub struct Sources {
    root: PathBuf,
    files: BTreeMap<String, Option<Vec<String>>>,
}

/// Larger files are not shown.
const LARGEST: u64 = 16 << 20;
/// Longer lines are cut off, in characters.
const LONGEST: usize = 240;
/// Lines before and after an access.
const AROUND: u32 = 3;

impl Sources {
    /// Files, seen from this directory.
    pub fn seen_from(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            files: BTreeMap::new(),
        }
    }

    /// The lines around one; nothing if there is no such line.
    pub fn around(&mut self, file: &str, line: u32, more: u32) -> Option<Excerpt> {
        let lines = self.lines(file)?;
        if line == 0 || line as usize > lines.len() {
            return None;
        }
        let first = line.saturating_sub(more).max(1);
        let last = (line.saturating_add(more) as usize).min(lines.len());
        Some(Excerpt {
            first,
            lines: lines[first as usize - 1..last].to_vec(),
        })
    }

    fn lines(&mut self, file: &str) -> Option<&[String]> {
        let root = &self.root;
        let read = self.files.entry(file.to_owned()).or_insert_with(|| {
            let path = root.join(file);
            let is_small_file = |data: std::fs::Metadata| data.is_file() && data.len() <= LARGEST;
            let text = match path.metadata().is_ok_and(is_small_file) {
                true => std::fs::read(path).ok()?,
                false => return None,
            };
            let text = String::from_utf8_lossy(&text);
            let line = |line: &str| line.chars().take(LONGEST).collect();
            Some(text.lines().map(line).collect())
        });
        read.as_deref()
    }

    /// Puts the source into a finding where it has none, and says what it is known by.
    pub fn embed(&mut self, finding: &mut Finding) {
        for access in &mut finding.accesses {
            let spot = access.spot();
            if let (None, Some(file), Some(line)) = (&access.source, spot.file, spot.line) {
                access.source = self.around(file, line, AROUND);
            }
        }
        let steps = finding.interleaving.iter_mut().flat_map(|i| &mut i.steps);
        for step in steps {
            if let (None, Some(file), Some(line)) = (&step.text, &step.file, step.line) {
                let excerpt = self.around(file, line, 0);
                let text = excerpt.and_then(|excerpt| excerpt.lines.into_iter().next());
                step.text = text.map(|text| text.trim().to_owned());
            }
        }
        finding.fingerprint = fingerprint::of(finding);
    }
}

/// Puts the source into all findings of a report.
pub fn embed(report: &mut Report) {
    let directory = report.directory.clone().unwrap_or_default();
    let mut sources = Sources::seen_from(Path::new(&directory));
    for finding in report.findings.iter_mut().chain(&mut report.suppressed) {
        sources.embed(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_there_or_not() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("bank.c"), "one\ntwo\nthree\nfour\n").unwrap();
        let mut sources = Sources::seen_from(directory.path());
        let excerpt = sources.around("bank.c", 1, 1).unwrap();
        assert_eq!((excerpt.first, excerpt.lines.len()), (1, 2));
        let excerpt = sources.around("bank.c", 4, 1).unwrap();
        assert_eq!(excerpt.lines, ["three", "four"]);
        assert_eq!(excerpt.line(4), Some("four"));
        for (file, line) in [("bank.c", 0), ("bank.c", 5), ("none.c", 1), (".", 1)] {
            assert_eq!(sources.around(file, line, 1), None, "{file}:{line}");
        }
    }
}
