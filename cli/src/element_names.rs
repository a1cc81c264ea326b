//! Elements of variables in findings, as the program's source calls them.
//!
//! Whoever finds something knows where it is by the symbol there and the bytes behind it,
//! `forks+40`. What people write is `forks[1]`, and the program's debug information tells.
//! This comes last, when a report is about to be read: names play no part in what a finding
//! is known by, but patterns of suppressions are about the symbols.

use std::path::{Path, PathBuf};

use racehound::search_path;
use racehound_report::finding::{Finding, Report};
use racehound_symbols::{Element, Symbolizer};

use crate::build;

/// Names the elements in a report on a program that is still the same file.
pub(crate) fn tell(report: &mut Report) {
    let Some(program) = program(report) else {
        return;
    };
    let mut names = Names {
        symbolizer: Symbolizer::new(),
        program,
    };
    for finding in report.findings.iter_mut().chain(&mut report.suppressed) {
        names.tell_in(finding);
    }
}

/// The file of the program that the report is on.
fn program(report: &Report) -> Option<PathBuf> {
    let (name, build) = (report.program.first()?, report.build.as_ref()?);
    let directory = report.directory.as_deref().unwrap_or_default();
    let path = match name.contains('/') {
        true => Path::new(directory).join(name),
        false => search_path::find(name.as_ref())?,
    };
    (build::of(&path).as_ref() == Some(build)).then_some(path)
}

struct Names {
    symbolizer: Symbolizer,
    program: PathBuf,
}

impl Names {
    fn tell_in(&mut self, finding: &mut Finding) {
        let location = &mut finding.location;
        match location.what.as_str() {
            "global" => {
                let offset = location.offset.unwrap_or(0);
                if let Some(element) = self.element(&location.name, offset) {
                    location.name.push_str(&element.path);
                    location.offset = None;
                    if let Ok(size @ 1..) = u32::try_from(element.size) {
                        location.size = size;
                    }
                } else {
                    self.rename_each(&mut location.name);
                }
            }
            "variable" | "lock" | "object" => self.rename_each(&mut location.name),
            _ => {}
        }
        for access in &mut finding.accesses {
            let locks = access.locks.iter_mut().chain(&mut access.shared_locks);
            for name in locks.chain(&mut access.awaits) {
                self.rename_each(name);
            }
        }
        for step in finding.interleaving.iter_mut().flat_map(|i| &mut i.steps) {
            self.rename_each(&mut step.object);
            for lock in &mut step.locks {
                self.rename_each(lock);
            }
        }
        for reason in &mut finding.reasons {
            self.rename_words(&mut reason.because);
        }
    }

    fn element(&mut self, variable: &str, offset: u64) -> Option<Element> {
        self.symbolizer.element(&self.program, variable, offset)
    }

    /// What the source calls `forks+40`; and `forks`, which is what is at its beginning.
    fn renamed(&mut self, name: &str) -> Option<String> {
        let (variable, offset) = match split(name) {
            Some(split) => split,
            None => (name, 0),
        };
        let element = self.element(variable, offset)?;
        Some(format!("{variable}{}", element.path))
    }

    /// Renames the names in a list, which may end in other words.
    fn rename_each(&mut self, list: &mut String) {
        const BETWEEN: &str = ", ";
        let names: Vec<String> = list
            .split(BETWEEN)
            .map(|name| self.renamed(name).unwrap_or_else(|| name.to_owned()))
            .collect();
        *list = names.join(BETWEEN);
    }

    /// Renames what has an offset in a text.
    fn rename_words(&mut self, text: &mut String) {
        let words: Vec<String> = text
            .split(' ')
            .map(|word| {
                let name = word.trim_matches(|c: char| c.is_ascii_punctuation() && c != '_');
                match split(name).and_then(|_| self.renamed(name)) {
                    Some(renamed) => word.replacen(name, &renamed, 1),
                    None => word.to_owned(),
                }
            })
            .collect();
        *text = words.join(" ");
    }
}

/// A variable and the bytes behind its beginning.
fn split(name: &str) -> Option<(&str, u64)> {
    let (variable, offset) = name.rsplit_once('+')?;
    Some((variable, offset.parse().ok()?))
}
