//! TSan's own layout, which log parsers, IDEs and test suites read.

use std::fmt::Write;

use racehound_detect::AccessKind;
use racehound_trace::Mode;

use super::{Access, Kind, Line, Location, Report, ThreadInfo};
use crate::abi::external;
use crate::{hooks, options, output};

const RULE: &str = "==================";

/// Prints the report. A program that has a place for its summary gets that when all the
/// rest is to be read.
pub(crate) fn print(report: &Report) {
    let mut out = String::new();
    _ = write_report(&mut out, report);
    if let Some(summary) = summary(report) {
        match hooks::wants_summaries() {
            true => {
                output::write(&std::mem::take(&mut out));
                hooks::on_summary(&summary);
            }
            false => _ = writeln!(out, "{summary}"),
        }
    }
    _ = writeln!(out, "{RULE}");
    output::write(&out);
}

/// A stack as text.
pub(crate) fn render_stack(stack: &[Line]) -> String {
    let mut out = String::new();
    _ = write_stack(&mut out, stack);
    out
}

fn write_report(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(out, "{RULE}")?;
    writeln!(
        out,
        "WARNING: ThreadSanitizer: {} (pid={})",
        report.title(),
        std::process::id()
    )?;
    if report.kind == Kind::Deadlock {
        circle(out, report)?;
    }
    for stuck in &report.stuck {
        let held = stuck.locks.iter().map(|&(id, _)| report.mutex_number(id));
        let held: Vec<String> = held.map(|number| format!("M{number}")).collect();
        let holding = match held.is_empty() {
            true => String::new(),
            false => format!(", holding {}", held.join(", ")),
        };
        let lock = stuck
            .lock
            .map(|id| format!(" M{}", report.mutex_number(id)));
        let (who, what) = (thread_name(stuck.thread), &stuck.for_what);
        writeln!(
            out,
            "  {who} waits for {what}{}{holding}:",
            lock.unwrap_or_default()
        )?;
        write_stack(out, &stuck.stack)?;
    }
    for cause in &report.causes {
        let who = thread_name(cause.thread);
        match cause.kept {
            Some((lock, why)) => {
                let (lock, fate) = (report.mutex_number(lock), why.in_words());
                writeln!(out, "  {who}, {fate}, took M{lock} here:")?;
            }
            None => writeln!(out, "  {who} had copied the process before:")?,
        }
        write_stack(out, &cause.stack)?;
    }
    if report.met {
        writeln!(
            out,
            "  Made to happen: both threads stood at these accesses together."
        )?;
    }
    for (i, stack) in report.stacks.iter().enumerate() {
        if let Some(signal) = report.signal {
            writeln!(out, "  Signal {signal} handler invoked at:")?;
        } else if i > 0 {
            writeln!(out, "  and:")?;
        }
        write_stack(out, stack)?;
    }
    for (i, access) in report.accesses.iter().enumerate() {
        write_access(out, report, access, i == 0)?;
    }
    if let Some(slept) = &report.slept {
        writeln!(out, "  As if synchronized via sleep:")?;
        write_stack(out, slept)?;
    }
    if let Some(location) = &report.location {
        write_location(out, location)?;
    }
    if report.kind != Kind::Deadlock {
        for (number, mutex) in report.mutexes.iter().enumerate() {
            writeln!(
                out,
                "  Mutex M{number} ({:#014x}) created at:",
                mutex.address
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
    Ok(())
}

/// The line that sums it up.
fn summary(report: &Report) -> Option<String> {
    let place = summary_line(report).filter(|_| options::get().print_summary)?;
    Some(format!(
        "SUMMARY: ThreadSanitizer: {} {place}",
        report.title()
    ))
}

fn thread_name(number: u32) -> String {
    match number {
        0 => "main thread".to_owned(),
        number => format!("thread T{number}"),
    }
}

fn write_access(
    out: &mut String,
    report: &Report,
    access: &Access,
    first: bool,
) -> std::fmt::Result {
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
    let what = match external::tag(&access.places) {
        0 => format!("{verb} of size {}", access.size),
        tag => {
            let verb = match (access.kind.is_write(), first) {
                (true, true) => "Modifying",
                (true, false) => "Previous modifying",
                (false, true) => "Read-only",
                (false, false) => "Previous read-only",
            };
            let object = external::object(tag);
            format!(
                "{verb} access of {}",
                object.as_deref().unwrap_or("external object")
            )
        }
    };
    write!(
        out,
        "  {what} at {:#014x} by {}",
        access.address,
        thread_name(access.thread)
    )?;
    for (i, (id, mode)) in access.locks.iter().enumerate() {
        let lead = if i == 0 { " (mutexes:" } else { "," };
        let mode = match mode {
            Mode::Exclusive => "write",
            Mode::Shared => "read",
        };
        write!(out, "{lead} {mode} M{}", report.mutex_number(*id))?;
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
    match line.shown_file() {
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
            let object = external::object(external::block_tag(block.start));
            writeln!(
                out,
                "  Location is {} of size {} at {:#014x} allocated by {}:",
                object.as_deref().unwrap_or("heap block"),
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
    if let Some(parent) = info.parent {
        write!(out, " created by {}", thread_name(parent))?;
    }
    match thread.stack.is_empty() {
        true => writeln!(out)?,
        false => writeln!(out, " at:")?,
    }
    write_stack(out, &thread.stack)
}

fn circle(out: &mut String, report: &Report) -> std::fmt::Result {
    let number = |id: u32| report.mutex_number(id);
    write!(out, "  Cycle in lock order graph: ")?;
    for edge in &report.circle {
        let known = report.mutexes.iter().find(|m| m.id == edge.from);
        let address = known.map_or(0, |m| m.address);
        write!(out, "M{} ({address:#014x}) => ", number(edge.from))?;
    }
    if let Some(first) = report.circle.first() {
        writeln!(out, "M{}\n", number(first.from))?;
    }
    for (i, edge) in report.circle.iter().enumerate() {
        writeln!(
            out,
            "  Mutex M{} acquired here while holding mutex M{} in {}:",
            number(edge.to),
            number(edge.from),
            thread_name(edge.thread)
        )?;
        write_stack(out, &edge.stack)?;
        match &edge.holder {
            Some(holder) => {
                writeln!(
                    out,
                    "  Mutex M{} previously acquired by the same thread here:",
                    number(edge.from)
                )?;
                write_stack(out, holder)?;
            }
            None if i == 0 => writeln!(
                out,
                "    Hint: use TSAN_OPTIONS=second_deadlock_stack=1 to get more informative warning message\n"
            )?,
            None => {}
        }
    }
    Ok(())
}

/// Where a thread waits in vain, rather than where one waits for another's end.
fn waits(report: &Report) -> Option<&Vec<Line>> {
    let mut stuck = report.stuck.iter();
    let stuck = stuck.find(|s| !s.for_end).or(report.stuck.first());
    stuck.map(|stuck| &stuck.stack)
}

/// Where it is, in short.
fn summary_line(report: &Report) -> Option<String> {
    let stack = report
        .accesses
        .first()
        .map(|a| &a.stack)
        .or_else(|| report.stacks.first())
        .or_else(|| report.circle.first().map(|e| &e.stack))
        .or_else(|| waits(report))
        .or_else(|| report.threads.first().map(|t| &t.stack))?;
    let own = |line: &&Line| {
        let file = line.file.as_deref();
        file.is_some_and(|file| !file.contains("/include/c++/"))
    };
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
