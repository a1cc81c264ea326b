//! Suppressions, as TSan's files have them: `kind:pattern`, one a line.

use std::cell::Cell;
use std::fmt::Write;

use racehound_report::glob::glob;
use racehound_report::innocent;

use super::{Line, Report};
use crate::{hooks, options, output};

/// One line of such a file.
struct Suppression {
    kind: String,
    pattern: String,
    hits: Cell<u32>,
}

/// All suppressions.
#[derive(Default)]
pub(crate) struct Suppressions {
    all: Vec<Suppression>,
}

const KINDS: [&str; 8] = [
    "race",
    "race_top",
    "thread",
    "mutex",
    "signal",
    "deadlock",
    "called_from_lib",
    "none",
];

/// Whether it is about what innocent functions do among themselves.
fn is_in_order(report: &Report) -> bool {
    let innocent = |line: &Line| line.function.as_deref().is_some_and(innocent::is_in_order);
    let accesses = &report.accesses;
    !accesses.is_empty() && accesses.iter().all(|a| a.stack.iter().any(innocent))
}

impl Suppressions {
    /// Those of the program, and those of the file that the options name.
    pub(crate) fn load() -> Self {
        let mut suppressions = Self::default();
        if let Some(text) = hooks::default_suppressions() {
            suppressions.parse(&text, "__tsan_default_suppressions");
        }
        let path = &options::get().suppressions;
        if !path.is_empty() {
            match std::fs::read_to_string(options::relative_to_program(path)) {
                Ok(text) => suppressions.parse(&text, path),
                Err(error) => crate::fatal(&format!(
                    "failed to read suppressions file '{path}': {error}"
                )),
            }
        }
        suppressions
    }

    fn parse(&mut self, text: &str, from: &str) {
        for line in text.lines() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match line.split_once(':') {
                Some((kind, pattern)) if KINDS.contains(&kind) => self.all.push(Suppression {
                    kind: kind.to_owned(),
                    pattern: pattern.to_owned(),
                    hits: Cell::new(0),
                }),
                _ => output::write(&format!(
                    "racehound: {from}: failed to parse suppressions: '{line}' is not KIND:PATTERN, with one of {}\n",
                    KINDS.join(", ")
                )),
            }
        }
    }

    /// Whether the report is to be kept quiet.
    pub(crate) fn apply(&self, report: &Report) -> bool {
        if is_in_order(report) {
            return true;
        }
        let kind = report.kind.suppression();
        for suppression in &self.all {
            let matches = match suppression.kind.as_str() {
                "race_top" if kind == "race" => report
                    .all_stacks()
                    .any(|stack| stack.first().is_some_and(|line| suppression.matches(line))),
                "called_from_lib" => false,
                of if of == kind => {
                    report
                        .all_stacks()
                        .any(|stack| stack.iter().any(|line| suppression.matches(line)))
                        || match &report.location {
                            Some(super::Location::Global { name, .. }) if kind == "race" => {
                                glob(&suppression.pattern, name)
                            }
                            _ => false,
                        }
                }
                _ => false,
            };
            if matches {
                suppression.hits.set(suppression.hits.get() + 1);
                return true;
            }
        }
        false
    }

    /// The libraries whose calls are not looked at.
    pub(crate) fn libraries(&self) -> Vec<String> {
        let libraries = self.all.iter().filter(|s| s.kind == "called_from_lib");
        libraries.map(|s| s.pattern.clone()).collect()
    }

    /// What they have kept quiet.
    pub(crate) fn summary(&self) -> Option<String> {
        let used: Vec<_> = self.all.iter().filter(|s| s.hits.get() > 0).collect();
        let total: u32 = used.iter().map(|s| s.hits.get()).sum();
        if total == 0 {
            return None;
        }
        let mut text = format!(
            "ThreadSanitizer: Matched {total} suppressions (pid={}):\n",
            std::process::id()
        );
        for s in used {
            _ = writeln!(text, "{} {}:{}", s.hits.get(), s.kind, s.pattern);
        }
        Some(text)
    }
}

impl Suppression {
    fn matches(&self, line: &Line) -> bool {
        [&line.function, &line.file, &line.module_path]
            .into_iter()
            .flatten()
            .any(|text| glob(&self.pattern, text))
    }
}
