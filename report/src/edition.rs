//! A report about to be put into a form: with what a form must know beside it.

use std::path::{Component, Path, PathBuf};

use crate::finding::{Access, Finding, Novelty, Report, Status};

/// A report, what counts in it, and from where its files are seen.
#[derive(Clone, Copy, Debug)]
pub struct Edition<'a> {
    /// The report.
    pub report: &'a Report,
    /// How certain a finding must be to count; nothing counts if this is absent.
    pub fail_on: Option<Status>,
    /// The directory from which files are named: where the project is.
    pub root: &'a Path,
}

/// A file of the project, or one elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Seen from the project's directory.
    Inside(String),
    /// With its whole path.
    Outside(String),
}

impl Edition<'_> {
    /// Whether a finding is one that the command fails for.
    pub fn fails(&self, finding: &Finding) -> bool {
        fails(finding, self.fail_on)
    }

    /// How to name a file that the report names so.
    pub fn place(&self, file: &str) -> Place {
        let directory = self.report.directory.as_deref().unwrap_or_default();
        let path = plain(&Path::new(directory).join(file));
        let name = |path: &Path| path.to_string_lossy().into_owned();
        match path.strip_prefix(self.root) {
            Ok(inside) if path.is_absolute() => Place::Inside(name(inside)),
            _ if path.is_absolute() => Place::Outside(name(&path)),
            _ => Place::Inside(name(&path)),
        }
    }

    /// The name of a file, wherever it is.
    pub fn name(&self, file: &str) -> String {
        match self.place(file) {
            Place::Inside(name) | Place::Outside(name) => name,
        }
    }

    /// A text with names of files as seen from the project.
    pub fn seen(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.root.display()), "")
    }

    /// Where an access is, in short: `bank.c:12`.
    pub fn position(&self, access: &Access) -> String {
        let spot = access.spot();
        match (spot.file, spot.line) {
            (Some(file), Some(line)) => format!("{}:{line}", self.name(file)),
            _ => access.site.clone(),
        }
    }
}

/// Whether a finding is one to fail for: certain enough, and not known before.
pub fn fails(finding: &Finding, level: Option<Status>) -> bool {
    level.is_some_and(|level| finding.status >= level)
        && finding.baseline != Some(Novelty::Unchanged)
}

/// A position in what a program said, as in `bank: bank.c:36: main: Assertion …`.
pub fn said(text: &str) -> Option<(&str, u32)> {
    text.split_whitespace().find_map(|word| {
        let mut parts = word.split(':');
        let (file, line) = (parts.next()?, parts.next()?.parse().ok()?);
        (file.contains('.') && line > 0).then_some((file, line))
    })
}

/// A path without `.` and `..`, as far as its text goes.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(out.components().next_back(), Some(Component::Normal(_))) =>
            {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_says_has_a_position() {
        let assertion = "bank: src/bank.c:36: main: Assertion `x' failed.";
        assert_eq!(said(assertion), Some(("src/bank.c", 36)));
        assert_eq!(said("SIGSEGV at 12:30"), None);
    }

    #[test]
    fn files_are_seen_from_the_project() {
        let report = Report {
            directory: Some("/home/you/bank/tests".into()),
            ..Report::default()
        };
        let edition = Edition {
            report: &report,
            fail_on: None,
            root: Path::new("/home/you/bank"),
        };
        let inside = |name: &str| Place::Inside(name.into());
        assert_eq!(edition.place("a.c"), inside("tests/a.c"));
        assert_eq!(edition.place("../src/./b.c"), inside("src/b.c"));
        assert_eq!(edition.place("/home/you/bank/c.h"), inside("c.h"));
        let outside = "/usr/include/stdio.h";
        assert_eq!(edition.place(outside), Place::Outside(outside.into()));
    }
}
