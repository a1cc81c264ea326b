//! TSan's own layout, which log parsers, IDEs and test suites read.

use std::fmt::Write;

use racehound_detect::AccessKind;
use racehound_trace::Mode;

use super::{Access, Kind, Line, Location, Report, ThreadInfo};

const RULE: &str = "==================";

/// The report as text.
pub(crate) fn render(report: &Report) -> String {
    let mut out = String::new();
    _ = write_report(&mut out, report);
    out
}

fn write_report(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(out, "{RULE}")?;
    writeln!(
        out,
        "WARNING: ThreadSanitizer: {} (pid={})",
        report.kind.title(),
        std::process::id()
    )?;
    if report.kind == Kind::Deadlock {
        circle(out, report)?;
    }
    for (i, stack) in report.stacks.iter().enumerate() {
        if i > 0 {
            writeln!(out, "  and:")?;
        }
        write_stack(out, stack)?;
    }
    for (i, access) in report.accesses.iter().enumerate() {
        write_access(out, access, i == 0)?;
    }
    if let Some(slept) = &report.slept {
        writeln!(out, "  As if synchronized via sleep:")?;
        write_stack(out, slept)?;
    }
    if let Some(location) = &report.location {
        write_location(out, location)?;
    }
    if report.kind != Kind::Deadlock {
        for mutex in &report.mutexes {
            writeln!(
                out,
                "  Mutex M{} ({:#x}) created at:",
                mutex.id, mutex.address
            )?;
            write_stack(out, &mutex.stack)?;
        }
    }
    for thread in &report.threads {
        write_thread(out, thread)?;
    }
    if report.kind == Kind::ThreadLeak && report.count > 1 {
        writeln!(
            out,
            "  And {} more similar thread leaks.\n",
            report.count - 1
        )?;
    }
    if let Some(line) = summary_line(report) {
        writeln!(
            out,
            "SUMMARY: ThreadSanitizer: {} {line}",
            report.kind.title()
        )?;
    }
    writeln!(out, "{RULE}")
}

fn thread_name(number: u32) -> String {
    match number {
        0 => "main thread".to_owned(),
        number => format!("thread T{number}"),
    }
}

fn write_access(out: &mut String, access: &Access, first: bool) -> std::fmt::Result {
    let verb = match (access.kind, first) {
        (AccessKind::Read, true) => "Read",
        (AccessKind::Read, false) => "Previous read",
        (AccessKind::Write, true) => "Write",
        (AccessKind::Write, false) => "Previous write",
        (AccessKind::AtomicRead, true) => "Atomic read",
        (AccessKind::AtomicRead, false) => "Previous atomic read",
        (AccessKind::AtomicWrite, true) => "Atomic write",
        (AccessKind::AtomicWrite, false) => "Previous atomic write",
    };
    write!(
        out,
        "  {verb} of size {} at {:#014x} by {}",
        access.size,
        access.address,
        thread_name(access.thread)
    )?;
    for (i, (id, mode)) in access.locks.iter().enumerate() {
        let lead = if i == 0 { " (mutexes:" } else { "," };
        let mode = match mode {
            Mode::Exclusive => "write",
            Mode::Shared => "read",
        };
        write!(out, "{lead} {mode} M{id}")?;
    }
    if !access.locks.is_empty() {
        write!(out, ")")?;
    }
    writeln!(out, ":")?;
    write_stack(out, &access.stack)
}

fn write_stack(out: &mut String, stack: &[Line]) -> std::fmt::Result {
    if stack.is_empty() {
        return writeln!(out, "    [failed to restore the stack]\n");
    }
    for (number, line) in stack.iter().enumerate() {
        write!(out, "    #{number} ")?;
        write_line(out, line)?;
        writeln!(out)?;
    }
    writeln!(out)
}

fn write_place(out: &mut String, line: &Line) -> std::fmt::Result {
    match &line.file {
        Some(file) => {
            write!(out, "{file}")?;
            if line.line != 0 {
                write!(out, ":{}", line.line)?;
                if line.column != 0 {
                    write!(out, ":{}", line.column)?;
                }
            }
            Ok(())
        }
        None => write!(out, "<null>"),
    }
}

fn write_line(out: &mut String, line: &Line) -> std::fmt::Result {
    write!(out, "{} ", line.function.as_deref().unwrap_or("<null>"))?;
    write_place(out, line)?;
    if let Some(module) = &line.module {
        write!(out, " ({module}+{:#x})", line.offset)?;
        if !line.build_id.is_empty() {
            write!(out, " (BuildId: {})", line.build_id)?;
        }
    }
    Ok(())
}

fn write_location(out: &mut String, location: &Location) -> std::fmt::Result {
    match location {
        Location::Global {
            name,
            size,
            start,
            module,
            offset,
        } => {
            match name.is_empty() {
                true => write!(out, "  Location is global '<null>' at {start:#014x}")?,
                false => write!(
                    out,
                    "  Location is global '{name}' of size {size} at {start:#014x}"
                )?,
            }
            writeln!(out, " ({module}+{offset:#x})\n")
        }
        Location::Heap { block, stack } => {
            writeln!(
                out,
                "  Location is heap block of size {} at {:#014x} allocated by {}:",
                block.size,
                block.start,
                thread_name(block.thread)
            )?;
            write_stack(out, stack)
        }
        Location::Stack(thread) => {
            writeln!(out, "  Location is stack of {}.\n", thread_name(*thread))
        }
        Location::Tls(thread) => writeln!(out, "  Location is TLS of {}.\n", thread_name(*thread)),
        Location::Descriptor {
            number,
            thread,
            stack,
        } => {
            writeln!(
                out,
                "  Location is file descriptor {number} created by {} at:",
                thread_name(*thread)
            )?;
            write_stack(out, stack)
        }
        Location::Unknown => Ok(()),
    }
}

fn write_thread(out: &mut String, thread: &ThreadInfo) -> std::fmt::Result {
    let info = &thread.info;
    write!(out, "  Thread T{}", info.number)?;
    if !info.name.is_empty() {
        write!(out, " '{}'", info.name)?;
    }
    let state = match info.finished {
        true => "finished",
        false => "running",
    };
    write!(out, " (tid={}, {state})", info.os_id)?;
    match info.parent {
        Some(parent) => writeln!(out, " created by {} at:", thread_name(parent))?,
        None => writeln!(out, " created at:")?,
    }
    write_stack(out, &thread.stack)
}

fn circle(out: &mut String, report: &Report) -> std::fmt::Result {
    write!(out, "  Cycle in lock order graph: ")?;
    for edge in &report.circle {
        let address = |id: u32| {
            let known = report.mutexes.iter().find(|m| m.id == id);
            known.map_or(0, |m| m.address)
        };
        write!(out, "M{} ({:#x}) => ", edge.from, address(edge.from))?;
    }
    if let Some(first) = report.circle.first() {
        writeln!(out, "M{}\n", first.from)?;
    }
    for edge in &report.circle {
        writeln!(
            out,
            "  Mutex M{} acquired here while holding mutex M{} in {}:",
            edge.to,
            edge.from,
            thread_name(edge.thread)
        )?;
        write_stack(out, &edge.stack)?;
        if let Some(holder) = &edge.holder {
            writeln!(
                out,
                "  Mutex M{} previously acquired by the same thread here:",
                edge.from
            )?;
            write_stack(out, holder)?;
        }
    }
    if report.circle.iter().all(|edge| edge.holder.is_none()) {
        writeln!(
            out,
            "    Hint: use TSAN_OPTIONS=second_deadlock_stack=1 to get more informative warning message\n"
        )?;
    }
    Ok(())
}

/// Where it is, in short.
fn summary_line(report: &Report) -> Option<String> {
    let stack = report
        .accesses
        .first()
        .map(|a| &a.stack)
        .or_else(|| report.stacks.first())
        .or_else(|| report.circle.first().map(|e| &e.stack))
        .or_else(|| report.threads.first().map(|t| &t.stack))?;
    let own = |line: &&Line| line.file.is_some();
    let line = stack.iter().find(own).or_else(|| stack.first())?;
    let mut text = String::new();
    match &line.file {
        Some(_) => _ = write_place(&mut text, line),
        None => {
            let path = line.module_path.as_deref().unwrap_or("??");
            _ = write!(text, "({path}+{:#x})", line.offset);
            if !line.build_id.is_empty() {
                _ = write!(text, " (BuildId: {})", line.build_id);
            }
        }
    }
    if let Some(function) = &line.function {
        _ = write!(text, " in {function}");
    }
    Some(text)
}
