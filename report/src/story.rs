//! A finding as one reads it: what happened, where, with the lines of source around,
//! what came of it, and how to see it again. At most a screen, 80 columns wide.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::finding::{Access, Finding, Kind};
use crate::text::{self, FAINT, HARM, HEADING};

/// Source files, as far as they can be read. A file is looked for where the debug
/// information says it is, and below the directory from which it is seen.
#[derive(Debug, Default)]
pub struct Sources {
    root: PathBuf,
    files: BTreeMap<String, Option<Vec<String>>>,
}

/// Larger files are not shown.
const LARGEST: u64 = 16 << 20;

impl Sources {
    /// Files, seen from this directory.
    pub fn seen_from(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            files: BTreeMap::new(),
        }
    }

    /// The lines around one, with their numbers.
    pub fn around(&mut self, file: &str, line: u32, more: u32) -> Vec<(u32, &str)> {
        let root = &self.root;
        let lines = self.files.entry(file.to_owned()).or_insert_with(|| {
            let path = root.join(file);
            let small = path.metadata().is_ok_and(|data| data.len() <= LARGEST);
            let text = std::fs::read(path).ok().filter(|_| small)?;
            let text = String::from_utf8_lossy(&text);
            Some(text.lines().map(str::to_owned).collect())
        });
        let Some(lines) = lines.as_ref().filter(|lines| line as usize <= lines.len()) else {
            return Vec::new();
        };
        let numbered = (1..).zip(lines.iter().map(String::as_str));
        let near = line.saturating_sub(more)..=line.saturating_add(more);
        numbered
            .filter(|(number, _)| near.contains(number))
            .collect()
    }
}

/// The finding, told.
pub fn finding(finding: &Finding, sources: &mut Sources) -> String {
    let mut out = text::heading(finding);
    text::harms(&mut out, finding);
    if let Some(test) = &finding.test {
        let _ = writeln!(out, "    in test: {}", text::printable(&test.name));
        if !finding.also_in.is_empty() {
            let also = text::printable(&finding.also_in.join(", "));
            let _ = writeln!(out, "    and in: {also}");
        }
    }
    for access in &finding.accesses {
        out.push('\n');
        tell(&mut out, access, sources);
    }
    if !finding.accesses.is_empty() {
        out.push('\n');
    }
    for (by, because) in text::folded(finding) {
        let _ = writeln!(out, "    {FAINT}why: {because} ({by}){FAINT:#}");
    }
    let without_reason = finding.found_by.iter();
    let without_reason: Vec<&str> = without_reason
        .filter(|by| !finding.reasons.iter().any(|reason| reason.by == **by))
        .map(String::as_str)
        .collect();
    if !without_reason.is_empty() {
        let by = without_reason.join(", ");
        let _ = writeln!(out, "    {FAINT}found by: {by}{FAINT:#}");
    }
    if let Some(schedule) = &finding.schedule
        && finding.kind == Kind::Failure
    {
        let _ = writeln!(out, "    schedule: {}", text::printable(schedule));
    }
    if let Some(replay) = &finding.replay {
        let _ = writeln!(out, "    {HEADING}replay:{HEADING:#} {replay}");
    }
    out
}

/// The finding in a line: what, where, and who suspects it.
pub fn line(finding: &Finding) -> String {
    let places: Vec<&str> = finding.accesses.iter().map(|a| a.site.as_str()).collect();
    let what = text::title(finding);
    let (places, by) = (places.join(", "), finding.found_by.join(", "));
    format!("    {what} at {} ({by})\n", text::printable(&places))
}

/// Callers that are shown of each access.
const CALLERS: usize = 4;

fn tell(out: &mut String, access: &Access, sources: &mut Sources) {
    let locks = match &access.locks[..] {
        [] => "holding no lock".to_owned(),
        locks => format!("holding {}", locks.join(", ")),
    };
    let atomic = if access.atomic { ", atomically" } else { "" };
    let _ = writeln!(
        out,
        "    thread {} {}{atomic}, {}",
        text::printable(&access.thread),
        verb(&access.op),
        text::printable(&locks)
    );
    let place = match &access.function {
        Some(function) => format!("{} in {function}", access.site),
        None => access.site.clone(),
    };
    let _ = writeln!(out, "    at {}", text::printable(&place));
    if let (Some(file), Some(line)) = (&access.file, access.line) {
        for (number, text) in sources.around(file, line, 1) {
            let (mark, style) = match number == line {
                true => ('>', HARM),
                false => (' ', FAINT),
            };
            let text: String = text::printable(&text.replace('\t', "    "));
            let text: String = text.chars().take(66).collect();
            let _ = writeln!(out, "    {style}{mark}{number:>5} │ {text}{style:#}");
        }
    }
    let callers = text::callers(access);
    for frame in callers.iter().take(CALLERS) {
        let _ = writeln!(
            out,
            "      {FAINT}called from {}{FAINT:#}",
            text::caller(frame)
        );
    }
    if let Some(more @ 1..) = callers.len().checked_sub(CALLERS) {
        let _ = writeln!(out, "      {FAINT}and {more} more{FAINT:#}");
    }
}

fn verb(op: &str) -> String {
    match op {
        "read" => "reads".to_owned(),
        "write" => "writes".to_owned(),
        "wait" => "waits".to_owned(),
        "lock" => "waits for the lock".to_owned(),
        other => format!("does: {}", text::printable(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Harm, Location, Status};

    #[test]
    fn a_story_has_source_and_harm() {
        let directory =
            std::env::temp_dir().join(format!("racehound-story-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("bank.c"), "one\ntwo\n\tthree\nfour\n").unwrap();
        let access = |op: &str, line| Access {
            op: op.into(),
            thread: "0.1".into(),
            file: Some("bank.c".into()),
            line: Some(line),
            site: format!("bank.c:{line}"),
            function: Some("audit".into()),
            ..Access::default()
        };
        let told = finding(
            &Finding {
                id: "R1".into(),
                status: Status::Confirmed,
                location: Location {
                    name: "balance".into(),
                    ..Location::default()
                },
                accesses: vec![access("write", 3), access("read", 9)],
                found_by: vec!["racefuzzer".into()],
                harm: Some(Harm {
                    kind: "crash".into(),
                    detail: "SIGSEGV".into(),
                    seed: Some(3),
                    ..Harm::default()
                }),
                replay: Some("racehound replay R1".into()),
                ..Finding::default()
            },
            &mut Sources::seen_from(&directory),
        );
        std::fs::remove_dir_all(directory).unwrap();
        insta::assert_snapshot!(text::plain(&told), @r"
        R1 race on balance  confirmed
            harm: crash, SIGSEGV (seed 3)

            thread 0.1 writes, holding no lock
            at bank.c:3 in audit
                 2 │ two
            >    3 │     three
                 4 │ four

            thread 0.1 reads, holding no lock
            at bank.c:9 in audit

            found by: racefuzzer
            replay: racehound replay R1
        ");
    }
}
