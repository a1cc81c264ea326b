//! Findings for people at a terminal, readable at 80 columns. Escape codes are
//! always written; the stream they go to removes them where they do not belong.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use crate::finding::{self, Access, Finding, Frame, Kind, Location, Spot, Status, Step};

/// What stands out.
pub(crate) const HEADING: Style = Style::new().bold();
/// What hurts.
pub(crate) const HARM: Style = AnsiColor::Red.on_default();
/// What stays in the background.
pub(crate) const FAINT: Style = Style::new().dimmed();

fn status_style(status: Status) -> Style {
    let colour = match status {
        Status::Confirmed | Status::Observed => AnsiColor::Red,
        Status::Predicted => AnsiColor::Yellow,
        Status::Unreproduced => AnsiColor::BrightBlack,
    };
    colour.on_default().bold()
}

/// One finding, as a block of lines.
pub fn finding(finding: &Finding) -> String {
    let mut out = heading(finding);
    // Reasons tell three and more apart by their numbers.
    let is_numbered = finding.accesses.len() > 2;
    for (i, access) in finding.accesses.iter().enumerate() {
        let number = match is_numbered {
            true => format!("({}) ", i + 1),
            false => String::new(),
        };
        access_line(&mut out, &number, access);
    }
    for (by, because) in folded(finding) {
        let _ = writeln!(out, "    {FAINT}{because} ({by}){FAINT:#}");
    }
    harms(&mut out, finding);
    if let Some(replay) = &finding.replay {
        let _ = writeln!(out, "    replay with: {replay}");
    }
    out
}

/// Its number, what it is, and how certain.
pub(crate) fn heading(finding: &Finding) -> String {
    let status = status_style(finding.status);
    let room = WIDTH - LONGEST_STATUS;
    let title = match title(finding) {
        title if title.chars().count() <= room => title,
        title => without_directories(&title),
    };
    let mut lines = wrapped(&title, room).into_iter();
    let mut out = format!("{HEADING}{}", lines.next().unwrap_or_default());
    for line in lines {
        let _ = write!(out, "\n   {line}");
    }
    let _ = writeln!(
        out,
        "{HEADING:#}  {status}{}{status:#}",
        finding.status.name()
    );
    out
}

/// Characters in a line.
pub const WIDTH: usize = 80;
/// Of which the status takes so many, with the space before it and the indentation.
const LONGEST_STATUS: usize = 17;

/// Its number and what it is.
pub fn title(finding: &Finding) -> String {
    format!("{} {}", finding.id, what(finding))
}

/// What it is: `race on balance`.
pub fn what(finding: &Finding) -> String {
    let kind = match &finding.kind {
        Kind::Race => "race on",
        Kind::Atomicity => "atomicity violation on",
        Kind::AtomicSet => "atomic-set violation on",
        Kind::Deadlock if finding.harm.is_some() => "deadlock of",
        Kind::Deadlock => "possible deadlock of",
        Kind::MutexMisuse => "misuse of lock",
        Kind::ThreadLeak => "leak of thread",
        Kind::SignalUnsafe => "unsafe in a signal handler:",
        Kind::Failure => "failure:",
        Kind::Pattern(name) => &format!("{name} on"),
    };
    let detail = match &finding.detail {
        Some(detail) => format!(" ({})", printable(detail)),
        None => String::new(),
    };
    let more = match finding.locations {
        0 | 1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    let name = match (finding.location.what.as_str(), finding.accesses.first()) {
        // Addresses tell nobody anything.
        ("address", Some(access)) if finding.location.name.starts_with("0x") => {
            match access.spot() {
                Spot { file: None, .. } => format!("memory used at {}", access.site),
                spot => format!("memory used at {spot}"),
            }
        }
        ("global", _) if finding.locations <= 1 => with_offset(&finding.location),
        _ => finding.location.name.clone(),
    };
    format!("{} {}{more}{detail}", printable(kind), printable(&name))
}

/// Which part of a variable it is about: `table+8`.
fn with_offset(location: &Location) -> String {
    match location.offset {
        Some(offset @ 1..) => format!("{}+{offset}", location.name),
        _ => location.name.clone(),
    }
}

/// What a thread does there: `thread 0.1 writes, holding accounts`.
pub fn deed(access: &Access) -> String {
    if access.is_free() {
        return printable(&format!("thread {} frees the block", access.thread));
    }
    if access.is_cause() {
        return printable(&format!("thread {} {}", access.thread, cause(access)));
    }
    let locks = match &held(access)[..] {
        [] => "holding no lock".to_owned(),
        locks => format!("holding {}", locks.join(", ")),
    };
    let verb = match access.op.as_str() {
        "read" => "reads",
        "write" => "writes",
        "wait" => match &access.awaits {
            Some(what) => &format!("waits for {what}"),
            None => "waits",
        },
        "lock" => "waits for the lock",
        other => &format!("does: {other}"),
    };
    let atomic = if access.atomic { ", atomically" } else { "" };
    printable(&format!("thread {} {verb}{atomic}, {locks}", access.thread))
}

/// What a thread did that others wait for ever.
fn cause(access: &Access) -> String {
    let lock = access.locks.join(", ");
    match access.op.as_str() {
        finding::ENDED => format!("took {lock}, and has ended without giving it back"),
        finding::NOT_COPIED => {
            format!("held {lock} at the fork; in the child nobody is left to give it back")
        }
        finding::INTERRUPTED => {
            format!("took {lock}; a signal came before it had given it back, and its handler waits")
        }
        _ => "forks: the child has no other thread, but their locks as they are".to_owned(),
    }
}

/// The locks that a thread holds, and which of them for reading.
fn held(access: &Access) -> Vec<String> {
    let name = |lock: &String| match access.shared_locks.contains(lock) {
        true => format!("{lock} for reading"),
        false => lock.clone(),
    };
    access.locks.iter().map(name).collect()
}

/// What a thread does in a step: `locks accounts`.
pub fn step(step: &Step) -> String {
    let (is_handler, is_signal) = (
        step.object.starts_with(finding::HANDLER_OF),
        step.object.starts_with(finding::SIGNAL),
    );
    let verb = match step.op.as_str() {
        "semaphore-post" if is_handler => "installs",
        "semaphore-wait" if is_handler => "runs",
        "semaphore-post" if is_signal => "sends",
        "semaphore-wait" if is_signal => "receives",
        "read" => "reads",
        "write" => "writes",
        "atomic-load" => "loads",
        "atomic-store" => "stores",
        "atomic-read-modify-write" => "changes",
        "acquire" => "locks",
        "release" => "unlocks",
        "fork" => "creates",
        "join" => "joins",
        "wait" => "waits for",
        "wake" => "wakes from",
        "notify-one" => "notifies one at",
        "notify-all" => "notifies all at",
        "barrier-arrive" => "arrives at",
        "barrier-leave" => "leaves",
        "semaphore-post" => "posts",
        "semaphore-wait" => "takes from",
        other => other,
    };
    // That it is a lock, the verb says.
    let object = step.object.trim_start_matches(MADE_AT);
    match object.is_empty() {
        true => printable(verb),
        false => printable(&format!("{verb} {object}")),
    }
}

/// How locks are called that have no other name.
pub const MADE_AT: &str = "lock made at ";

/// What it leads to, the worst first.
pub(crate) fn harms(out: &mut String, finding: &Finding) {
    for harm in finding.harm.iter().chain(finding.harms.iter().skip(1)) {
        let seed = match harm.seed {
            Some(seed) => format!(" (seed {seed})"),
            None => String::new(),
        };
        let (kind, detail) = (printable(&harm.kind), printable(&harm.detail));
        let lines = wrapped(&format!("harm: {kind}, {detail}{seed}"), WIDTH - 6);
        for (i, line) in lines.iter().enumerate() {
            let _ = match (i, line.strip_prefix(&format!("harm: {kind}"))) {
                (0, Some(rest)) => writeln!(out, "    {HARM}harm: {kind}{HARM:#}{rest}"),
                _ => writeln!(out, "      {line}"),
            };
        }
    }
}

fn access_line(out: &mut String, number: &str, access: &Access) {
    let atomic = if access.atomic { "atomic " } else { "" };
    let place = match &access.function {
        Some(function) => format!("{} in {function}", access.site),
        None => access.site.clone(),
    };
    let is_access = ["read", "write"].contains(&access.op.as_str());
    let locks = match (is_access, &held(access)[..]) {
        (true, []) if access.is_free() => ", which frees it".to_owned(),
        (true, []) => ", protected by no lock".to_owned(),
        (true, locks) => format!(", protected by {}", locks.join(", ")),
        (false, []) => String::new(),
        (false, locks) => format!(", holding {}", locks.join(", ")),
    };
    let _ = writeln!(
        out,
        "    {number}{:<5} at {}, thread {}{}",
        format!("{atomic}{}", access.op),
        printable(&place),
        printable(&access.thread),
        printable(&locks)
    );
    for frame in callers(access) {
        let _ = writeln!(out, "          {FAINT}from {}{FAINT:#}", caller(frame));
    }
}

/// The frames around the one where to look.
pub(crate) fn callers(access: &Access) -> &[Frame] {
    let spot = access.spot();
    let is_place = |frame: &Frame| {
        (frame.file.as_deref(), frame.line) == (spot.file, spot.line)
            && spot.function == Some(&frame.function)
    };
    let place = access.stack.iter().position(is_place).unwrap_or(0);
    access.stack.get(place + 1..).unwrap_or_default()
}

pub(crate) fn caller(frame: &Frame) -> String {
    let place = match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("{file}:{line} in {}", frame.function),
        _ => frame.function.clone(),
    };
    printable(&place)
}

/// A name without control characters: traces come from anywhere, and a terminal
/// obeys.
pub(crate) fn printable(name: &str) -> String {
    let shown = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    name.chars().map(shown).collect()
}

/// A line that fits: where it does not, files lose their directories, and then it is cut.
pub(crate) fn fitting(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    cut(&without_directories(line), width)
}

/// A line that is cut where it does not fit.
pub(crate) fn cut(line: &str, width: usize) -> String {
    match line.chars().count() <= width {
        true => line.to_owned(),
        false => line.chars().take(width - 1).chain(['…']).collect(),
    }
}

/// A text in which files have no directories.
pub(crate) fn without_directories(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.rsplit_once('/') {
        Some((_, base)) if !base.is_empty() => base,
        _ => word,
    });
    words.collect::<Vec<&str>>().join(" ")
}

/// A text in lines of at most that many characters, as far as its words allow.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A text in which no line is longer than a screen is wide, as far as its words allow: where
/// one is, files lose their directories, and then it goes on in the next line, further in.
pub fn narrowed(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = match width(line) > WIDTH {
            true => without_directories(line),
            false => line.to_owned(),
        };
        let content = line.trim_start_matches(' ');
        let indent = line.len() - content.len();
        let mut used = 0;
        for (i, word) in content.split(' ').enumerate() {
            let (gap, own) = (usize::from(i > 0), width(word));
            let is_first = i == 0;
            if is_first || used + gap + own > WIDTH {
                let further = if is_first { indent } else { indent + FURTHER };
                out.push_str(if is_first { "" } else { "\n" });
                out.push_str(&" ".repeat(further));
                used = further;
            } else {
                out.push(' ');
                used += gap;
            }
            out.push_str(word);
            used += own;
        }
        out.push('\n');
    }
    out
}

/// So far in is what goes on in the next line.
const FURTHER: usize = 4;

/// How many characters are seen of a text with styles.
fn width(text: &str) -> usize {
    plain(text).chars().count()
}

/// Reasons, each with all who gave it.
pub fn folded(finding: &Finding) -> Vec<(String, &str)> {
    let mut folded: Vec<(String, &str)> = Vec::new();
    for reason in &finding.reasons {
        match folded
            .iter_mut()
            .find(|(_, because)| *because == reason.because)
        {
            Some((by, _)) => {
                by.push_str(", ");
                by.push_str(&reason.by);
            }
            None => folded.push((reason.by.clone(), &reason.because)),
        }
    }
    folded
}

/// The text without escape codes.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        out.push_str(&rest[..at]);
        let end = rest[at..].find('m').map_or(rest.len(), |m| at + m + 1);
        rest = &rest[end..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Explanation, Harm, Location};

    #[test]
    fn long_lines_go_on_in_the_next() {
        let long = format!(
            "  at /home/ann/bank/{}.cpp:7 in a, thread 0.1",
            "x".repeat(50)
        );
        assert_eq!(
            narrowed(&format!("{long}\n")),
            format!("{}\n", long.replace("/home/ann/bank/", ""))
        );
        let word = "Synchronised<ArrayList>::add(int)";
        let text = format!("    {FAINT}(1) {word} and {word} of /usr/{word}{FAINT:#}\n\nshort\n");
        insta::assert_snapshot!(plain(&narrowed(&text)), @r"
            (1) Synchronised<ArrayList>::add(int) and Synchronised<ArrayList>::add(int)
                of Synchronised<ArrayList>::add(int)

        short
        ");
    }

    #[test]
    fn a_finding_is_a_short_block() {
        let access = |op: &str, thread: &str, line: u32, locks: &[&str]| Access {
            op: op.into(),
            size: 4,
            thread: thread.into(),
            file: Some("bank.c".into()),
            line: Some(line),
            column: None,
            function: Some("audit".into()),
            site: format!("bank.c:{line}"),
            locks: locks.iter().map(|l| (*l).to_owned()).collect(),
            ..Access::default()
        };
        let reason = |by: &str| Explanation {
            by: by.into(),
            because: "nothing orders the two accesses in this execution".into(),
        };
        let shown = finding(&Finding {
            id: "R1".into(),
            kind: Kind::Race,
            detail: None,
            status: Status::Observed,
            location: Location {
                what: "global".into(),
                name: "balance".into(),
                size: 4,
                ..Location::default()
            },
            locations: 3,
            accesses: vec![
                access("write", "0.1", 12, &["accounts", "log"]),
                access("read", "0.2", 30, &[]),
            ],
            found_by: vec!["fasttrack".into(), "djit".into()],
            reasons: vec![reason("fasttrack"), reason("djit")],
            first_run: 1,
            harm: Some(Harm {
                kind: "crash".into(),
                detail: "SIGSEGV".into(),
                run: 3,
                seed: Some(7),
                schedule: None,
            }),
            replay: Some("racehound replay R1".into()),
            ..Finding::default()
        });
        insta::assert_snapshot!(plain(&shown), @r"
        R1 race on balance and 2 more  observed
            write at bank.c:12 in audit, thread 0.1, protected by accounts, log
            read  at bank.c:30 in audit, thread 0.2, protected by no lock
            nothing orders the two accesses in this execution (fasttrack, djit)
            harm: crash, SIGSEGV (seed 7)
            replay with: racehound replay R1
        ");
    }

    #[test]
    fn what_is_no_access_protects_nothing() {
        let frame = |function: &str, line: u32| Frame {
            function: function.into(),
            file: Some("bank.c".into()),
            line: Some(line),
            column: None,
            module: None,
            offset: None,
        };
        let lock = |thread: &str, line: u32, held: &str| Access {
            op: "lock".into(),
            size: 0,
            thread: thread.into(),
            file: Some("bank.c".into()),
            line: Some(line),
            column: None,
            function: Some("transfer".into()),
            site: format!("bank.c:{line}"),
            locks: vec![held.into()],
            stack: vec![frame("transfer", line), frame("main", 40)],
            ..Access::default()
        };
        let shown = finding(&Finding {
            id: "R2".into(),
            kind: Kind::Deadlock,
            detail: Some("lock-order-inversion".into()),
            status: Status::Predicted,
            location: Location {
                what: "lock".into(),
                name: "from, to".into(),
                ..Location::default()
            },
            locations: 1,
            accesses: vec![lock("0.1", 12, "from"), lock("0.2", 14, "to")],
            found_by: vec!["lock-order".into()],
            reasons: Vec::new(),
            first_run: 1,
            ..Finding::default()
        });
        insta::assert_snapshot!(plain(&shown), @r"
        R2 possible deadlock of from, to (lock-order-inversion)  predicted
            lock  at bank.c:12 in transfer, thread 0.1, holding from
                  from bank.c:40 in main
            lock  at bank.c:14 in transfer, thread 0.2, holding to
                  from bank.c:40 in main
        ");
    }
}
