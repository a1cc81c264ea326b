//! ThreadSanitizer's layout, for whatever reads that. What a finding does not have is as
//! ThreadSanitizer writes what it does not know: addresses and process ids are 0. Where a
//! lock was made is not known either; its name stands there.

use std::fmt::{self, Write};

use crate::edition::Edition;
use crate::finding::{Access, Finding, Frame, Kind};

const RULE: &str = "==================";

/// The findings as warnings of ThreadSanitizer.
pub fn render(edition: &Edition<'_>) -> String {
    let mut out = String::new();
    let findings = &edition.report.findings;
    for finding in findings {
        let _ = warning(&mut out, edition, finding);
    }
    if !findings.is_empty() {
        let _ = writeln!(out, "ThreadSanitizer: reported {} warnings", findings.len());
    }
    out
}

/// What ThreadSanitizer calls it, as far as it knows such a thing.
fn title(finding: &Finding) -> &str {
    match (&finding.kind, finding.detail.as_deref()) {
        (Kind::Race, Some("use-after-free")) => "heap-use-after-free",
        (Kind::Race, Some("vptr")) => "data race on vptr (ctor/dtor vs virtual call)",
        (Kind::Race, Some("vptr-use-after-free")) => "heap-use-after-free (virtual call vs free)",
        (Kind::Race, Some("external")) => "race on external object",
        (Kind::Race, _) => "data race",
        (Kind::Deadlock, Some(_)) => "lock-order-inversion (potential deadlock)",
        (Kind::Deadlock, None) => "deadlock",
        (Kind::MutexMisuse, Some("destroy-locked")) => "destroy of a locked mutex",
        (Kind::MutexMisuse, Some("double-lock")) => "double lock of a mutex",
        (Kind::MutexMisuse, Some("unlock-unlocked")) => {
            "unlock of an unlocked mutex (or by a wrong thread)"
        }
        (Kind::MutexMisuse, Some("read-lock-of-write-locked")) => {
            "read lock of a write locked mutex"
        }
        (Kind::MutexMisuse, Some("read-unlock-of-write-locked")) => {
            "read unlock of a write locked mutex"
        }
        (Kind::MutexMisuse, Some("held")) => "mutex held in the wrong context",
        (Kind::MutexMisuse, _) => "use of an invalid mutex (e.g. uninitialized or destroyed)",
        (Kind::ThreadLeak, _) => "thread leak",
        (Kind::SignalUnsafe, Some("errno")) => "signal handler spoils errno",
        (Kind::SignalUnsafe, _) => "signal-unsafe call inside of a signal",
        (Kind::Atomicity, _) => "atomicity violation",
        (Kind::AtomicSet, _) => "atomic-set violation",
        (Kind::Failure, _) => "failure under a schedule",
        (Kind::Pattern(name), _) => name,
    }
}

/// Numbers for what a finding calls by name.
struct Numbers<'a> {
    threads: Vec<&'a str>,
    locks: Vec<&'a str>,
}

impl<'a> Numbers<'a> {
    fn of(finding: &'a Finding) -> Self {
        let accessing = finding.accesses.iter().map(|access| access.thread.as_str());
        let created = finding.threads.iter().map(|thread| thread.thread.as_str());
        let mut threads: Vec<&str> = accessing.chain(created).filter(|t| *t != "0").collect();
        threads.sort_unstable();
        threads.dedup();
        let mut locks: Vec<&str> = Vec::new();
        for lock in finding.accesses.iter().flat_map(|access| &access.locks) {
            if !locks.contains(&lock.as_str()) {
                locks.push(lock);
            }
        }
        Self { threads, locks }
    }

    fn thread(&self, path: &str) -> String {
        match self.threads.iter().position(|thread| *thread == path) {
            Some(at) => format!("thread T{}", at + 1),
            None => "main thread".to_owned(),
        }
    }

    fn lock(&self, name: &str) -> String {
        let at = self.locks.iter().position(|lock| *lock == name);
        format!("M{}", at.unwrap_or(self.locks.len()))
    }
}

fn warning(out: &mut String, edition: &Edition<'_>, finding: &Finding) -> fmt::Result {
    let numbers = Numbers::of(finding);
    writeln!(out, "{RULE}")?;
    writeln!(out, "WARNING: ThreadSanitizer: {} (pid=0)", title(finding))?;
    // The later access comes first.
    for (i, access) in finding.accesses.iter().rev().enumerate() {
        heading(out, &numbers, access, i == 0)?;
        stack(out, edition, access)?;
    }
    location(out, edition, finding, &numbers)?;
    for lock in &numbers.locks {
        let number = numbers.lock(lock);
        writeln!(out, "  Mutex {number} ({:#014x}) created at:", 0)?;
        writeln!(out, "    #0 {lock} <null>\n")?;
    }
    for thread in &finding.threads {
        let number = numbers.thread(&thread.thread);
        let number = number.trim_start_matches("thread ");
        let name = thread.name.as_ref().map(|name| format!(" '{name}'"));
        let parent = thread
            .thread
            .rsplit_once('.')
            .map_or("0", |(parent, _)| parent);
        writeln!(
            out,
            "  Thread {number}{} (tid=0, running) created by {} at:",
            name.unwrap_or_default(),
            numbers.thread(parent)
        )?;
        frames(out, edition, &thread.stack)?;
    }
    writeln!(
        out,
        "SUMMARY: ThreadSanitizer: {}{}",
        title(finding),
        summary(edition, finding)
    )?;
    writeln!(out, "{RULE}")
}

fn heading(out: &mut String, numbers: &Numbers<'_>, access: &Access, is_last: bool) -> fmt::Result {
    let thread = numbers.thread(&access.thread);
    let locks: Vec<String> = access.locks.iter().map(|lock| numbers.lock(lock)).collect();
    if !["read", "write"].contains(&access.op.as_str()) {
        let holding = match locks.is_empty() {
            true => String::new(),
            false => format!(" while holding {}", locks.join(", ")),
        };
        return writeln!(out, "  {thread}: {}{holding} at:", access.op);
    }
    let verb = match (access.atomic, is_last) {
        (true, _) => format!("atomic {}", access.op),
        (false, _) => access.op.clone(),
    };
    let verb = match is_last {
        true => verb[..1].to_uppercase() + &verb[1..],
        false => format!("Previous {verb}"),
    };
    write!(
        out,
        "  {verb} of size {} at {:#014x} by {thread}",
        access.size, 0
    )?;
    if !locks.is_empty() {
        let locks: Vec<String> = locks.iter().map(|lock| format!("write {lock}")).collect();
        write!(out, " (mutexes: {})", locks.join(", "))?;
    }
    writeln!(out, ":")
}

/// How the thread got there; at least where it is.
fn stack(out: &mut String, edition: &Edition<'_>, access: &Access) -> fmt::Result {
    if !access.stack.is_empty() || access.site.is_empty() {
        return frames(out, edition, &access.stack);
    }
    let place = Frame {
        function: access
            .function
            .clone()
            .unwrap_or_else(|| "<null>".to_owned()),
        file: access.file.clone(),
        line: access.line,
        column: access.column,
        module: None,
        offset: None,
    };
    frames(out, edition, &[place])
}

fn frames(out: &mut String, edition: &Edition<'_>, frames: &[Frame]) -> fmt::Result {
    if frames.is_empty() {
        writeln!(out, "    [failed to restore the stack]")?;
    }
    for (number, frame) in frames.iter().enumerate() {
        write!(
            out,
            "    #{number} {} {}",
            frame.function,
            position(edition, frame)
        )?;
        if let Some(module) = &frame.module {
            write!(out, " ({module}+{:#x})", frame.offset.unwrap_or(0))?;
        }
        writeln!(out)?;
    }
    writeln!(out)
}

fn position(edition: &Edition<'_>, frame: &Frame) -> String {
    let Some(file) = &frame.file else {
        return "<null>".to_owned();
    };
    let numbers = [frame.line, frame.column].into_iter().flatten();
    let numbers: String = numbers.map(|number| format!(":{number}")).collect();
    format!("{}{numbers}", edition.name(file))
}

fn location(
    out: &mut String,
    edition: &Edition<'_>,
    finding: &Finding,
    numbers: &Numbers<'_>,
) -> fmt::Result {
    let location = &finding.location;
    let (name, size) = (&location.name, location.size);
    let thread = location.thread.as_deref().unwrap_or("0");
    let thread = numbers.thread(thread);
    match location.what.as_str() {
        "global" | "variable" => {
            writeln!(
                out,
                "  Location is global '{name}' of size {size} at {:#014x}\n",
                0
            )
        }
        "heap" => {
            writeln!(
                out,
                "  Location is heap block of size {size} at {:#014x} allocated by {thread}:",
                0
            )?;
            frames(out, edition, &location.stack)
        }
        "stack" => writeln!(out, "  Location is stack of {thread}.\n"),
        "tls" => writeln!(out, "  Location is TLS of {thread}.\n"),
        "descriptor" => {
            writeln!(out, "  Location is file {name} created by {thread} at:")?;
            frames(out, edition, &location.stack)
        }
        _ => Ok(()),
    }
}

/// Where it is, in a line.
fn summary(edition: &Edition<'_>, finding: &Finding) -> String {
    let Some(access) = finding.accesses.last() else {
        return format!(" {}", finding.location.name.replace('\n', " "));
    };
    let function = access.function.as_deref().unwrap_or("<null>");
    let column = access.column.map(|column| format!(":{column}"));
    let column = column.filter(|_| access.line.is_some()).unwrap_or_default();
    format!(" {}{column} in {function}", edition.position(access))
}
