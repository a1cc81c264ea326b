//! Findings that somebody has looked at and accepted: a file of the project, in TOML, made
//! to be reviewed and kept with the sources.
//!
//! ```toml
//! [[suppress]]
//! finding = "race on served"
//! places = ["deposit at bank.c:15", "audit at bank.c:21"]
//! fingerprint = "9c52ab31f00d7e44"
//! reason = "the count is an estimate"
//! date = "2026-01-31"
//! ```
//!
//! A finding is recognised by its [fingerprint](crate::fingerprint); what else an entry
//! says is for people. Whatever they add to the file, comments included, stays.

use std::fmt;

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use crate::finding::{Access, Finding, Report, Suppression};
use crate::{fingerprint, text};

/// What the file is called, in the directory in which the command is run.
pub const FILE: &str = "racehound.suppressions";

const TABLE: &str = "suppress";
const HEAD: &str =
    "# Findings that somebody has looked at and accepted: `racehound suppress --help`.\n";

/// Why a file is not understood.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is no TOML.
    #[error("{0}")]
    Syntax(#[from] toml_edit::TomlError),
    /// Something is missing or not what it should be.
    #[error("entry {entry} has no {field}; see racehound suppress --help")]
    Field {
        /// Which entry, from 1.
        entry: usize,
        /// What.
        field: &'static str,
    },
}

/// The file.
#[derive(Debug)]
pub struct Suppressions {
    /// What a new file begins with.
    head: &'static str,
    document: DocumentMut,
    entries: Vec<Entry>,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub finding: String,
    /// Where it is.
    pub places: Vec<String>,
    /// What it is known by.
    pub fingerprint: String,
    /// Why it is accepted, and since when.
    pub suppression: Suppression,
}

impl Default for Suppressions {
    fn default() -> Self {
        Self {
            head: HEAD,
            document: DocumentMut::new(),
            entries: Vec::new(),
        }
    }
}

impl Suppressions {
    /// Reads the text of a file.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let document: DocumentMut = text.parse()?;
        let tables = document.get(TABLE).and_then(Item::as_array_of_tables);
        let tables = tables.into_iter().flat_map(ArrayOfTables::iter);
        let entries = (1..)
            .zip(tables)
            .map(|(number, table)| entry(number, table));
        let entries = entries.collect::<Result<_, _>>()?;
        Ok(Self {
            head: "",
            document,
            entries,
        })
    }

    /// What is in it.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Adds a finding. What was said of it before is replaced.
    pub fn add(&mut self, finding: &Finding, suppression: Suppression) {
        let fingerprint = fingerprint::of(finding);
        self.remove(&fingerprint);
        let added = Entry {
            finding: text::what(finding),
            places: finding.accesses.iter().map(place).collect(),
            fingerprint,
            suppression,
        };
        let item = self.document.entry(TABLE);
        let item = item.or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        if let Some(tables) = item.as_array_of_tables_mut() {
            tables.push(table(&added));
        }
        self.entries.push(added);
    }

    /// Removes what has this fingerprint; false if there is no such entry.
    pub fn remove(&mut self, fingerprint: &str) -> bool {
        let before = self.entries.len();
        if let Some(tables) = self
            .document
            .get_mut(TABLE)
            .and_then(Item::as_array_of_tables_mut)
        {
            tables.retain(|table| word(table, "fingerprint") != Some(fingerprint));
        }
        self.entries
            .retain(|entry| entry.fingerprint != fingerprint);
        self.entries.len() < before
    }

    /// Moves what was accepted out of the way.
    pub fn apply(&self, report: &mut Report) {
        let findings = std::mem::take(&mut report.findings);
        for mut finding in findings {
            let fingerprint = fingerprint::of(&finding);
            let entry = self.entries.iter().find(|e| e.fingerprint == fingerprint);
            match entry {
                Some(entry) => {
                    finding.suppression = Some(entry.suppression.clone());
                    report.suppressed.push(finding);
                }
                None => report.findings.push(finding),
            }
        }
    }
}

impl fmt::Display for Suppressions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.head, self.document)
    }
}

fn word<'a>(table: &'a Table, field: &str) -> Option<&'a str> {
    table.get(field)?.as_str()
}

fn entry(number: usize, table: &Table) -> Result<Entry, Error> {
    let wanted = |field: &'static str| {
        let missing = Error::Field {
            entry: number,
            field,
        };
        word(table, field).map(str::to_owned).ok_or(missing)
    };
    let places = table.get("places").and_then(Item::as_array);
    let places = places.into_iter().flat_map(|places| places.iter());
    Ok(Entry {
        finding: word(table, "finding").unwrap_or_default().to_owned(),
        places: places
            .filter_map(|place| place.as_str())
            .map(str::to_owned)
            .collect(),
        fingerprint: wanted("fingerprint")?,
        suppression: Suppression {
            reason: wanted("reason")?,
            date: word(table, "date").map(str::to_owned),
        },
    })
}

fn table(entry: &Entry) -> Table {
    let mut table = Table::new();
    table.insert("finding", value(&entry.finding));
    table.insert(
        "places",
        value(entry.places.iter().collect::<toml_edit::Array>()),
    );
    table.insert("fingerprint", value(&entry.fingerprint));
    table.insert("reason", value(&entry.suppression.reason));
    if let Some(date) = &entry.suppression.date {
        table.insert("date", value(date));
    }
    table.decor_mut().set_prefix("\n");
    table
}

/// Where an access is, for people: without directories, which differ between them.
fn place(access: &Access) -> String {
    let file = access
        .file
        .as_deref()
        .and_then(|file| file.rsplit('/').next());
    let position = match (file, access.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        _ => access.site.clone(),
    };
    match &access.function {
        Some(function) => format!("{function} at {position}"),
        None => position,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Location;

    fn race(name: &str, function: &str) -> Finding {
        Finding {
            location: Location {
                name: name.into(),
                ..Location::default()
            },
            accesses: vec![Access {
                file: Some("/home/you/bank.c".into()),
                line: Some(15),
                function: Some(function.into()),
                ..Access::default()
            }],
            ..Finding::default()
        }
    }

    fn because(reason: &str) -> Suppression {
        Suppression {
            reason: reason.into(),
            date: Some("2026-01-31".into()),
        }
    }

    #[test]
    fn the_file_reads_well_and_keeps_what_people_add() {
        let mut file = Suppressions::default();
        file.add(&race("served", "deposit"), because("an \"estimate\""));
        insta::assert_snapshot!(file.to_string(), @r##"
        # Findings that somebody has looked at and accepted: `racehound suppress --help`.

        [[suppress]]
        finding = "race on served"
        places = ["deposit at bank.c:15"]
        fingerprint = "a7b7caa76d0a1a85"
        reason = 'an "estimate"'
        date = "2026-01-31"
        "##);
        let edited = file.to_string() + "# asked Ann about it\n";
        let mut file = Suppressions::parse(&edited).unwrap();
        file.add(&race("total", "close"), because("gone soon"));
        let text = file.to_string();
        assert!(text.contains("# asked Ann about it"), "{text}");
        let read = Suppressions::parse(&text).unwrap();
        assert_eq!(read.entries(), file.entries());
        assert_eq!(read.entries().len(), 2);
    }

    #[test]
    fn what_is_accepted_is_counted_and_not_shown() {
        let mut file = Suppressions::default();
        file.add(&race("served", "deposit"), because("fine"));
        let mut report = Report {
            findings: vec![race("served", "deposit"), race("served", "audit")],
            ..Report::default()
        };
        file.apply(&mut report);
        assert_eq!((report.findings.len(), report.suppressed.len()), (1, 1));
        assert_eq!(report.suppressed[0].suppression, Some(because("fine")));
        assert!(file.remove(&fingerprint::of(&race("served", "deposit"))));
        assert!(!file.remove("none"));
        assert!(file.entries().is_empty() && !file.to_string().contains("served"));
    }

    #[test]
    fn a_second_word_on_a_finding_replaces_the_first() {
        let mut file = Suppressions::default();
        file.add(&race("served", "deposit"), because("one"));
        file.add(&race("served", "deposit"), because("two"));
        assert_eq!(file.entries().len(), 1);
        assert_eq!(
            Suppressions::parse(&file.to_string()).unwrap().entries()[0]
                .suppression
                .reason,
            "two"
        );
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        let error = |text: &str| Suppressions::parse(text).unwrap_err().to_string();
        assert!(error("[[suppress]\n").contains("line 1"));
        assert!(error("[[suppress]]\nfingerprint = \"a\"\n").contains("entry 1 has no reason"));
    }
}
