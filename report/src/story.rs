//! A finding as one reads it: what happened, where, with the lines of source around, how
//! threads came to it and in which order, what came of it, and how to see it again. At
//! most a screen, 80 columns wide.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::finding::{Access, Finding, Frame, Kind, Novelty, Report, Spot, Status, is_librarys};
use crate::text::{self, FAINT, HARM, HEADING};
use crate::timeline;

/// What has a line only takes no more lines than these.
const MOST_LINES: usize = 8;

/// Of what was not tried, so much is told as if it had happened.
const MOST_PREDICTED: usize = 3;

/// All findings, told one after the other. What was tried and did not happen has a line,
/// and so has what a baseline knows, and what is predicted where that is a lot.
pub fn all(report: &Report) -> String {
    let mut out = String::new();
    let known = |f: &&Finding| f.baseline == Some(Novelty::Unchanged);
    let is_open = |f: &&Finding| f.status == Status::Unreproduced && !known(f);
    let findings = || report.findings.iter();
    let mut predicted: Vec<&Finding> = Vec::new();
    let mut otherwise: Vec<&Finding> = Vec::new();
    let mut used: Vec<&Finding> = Vec::new();
    let mut freed: BTreeSet<Gone<'_>> = BTreeSet::new();
    let mut told: BTreeSet<Functions<'_>> = BTreeSet::new();
    let mut seen: BTreeSet<Place<'_>> = BTreeSet::new();
    for one in findings().filter(|f| !is_open(f) && !known(f)) {
        // Who uses a block that is gone uses many parts of it.
        if let Some(block) = gone(one)
            && !freed.insert(block)
        {
            used.push(one);
            continue;
        }
        if is_in_a_block_that_is_gone(one, &freed) {
            used.push(one);
            continue;
        }
        // What a container does in there is one bug, in however many of its lines.
        if is_in_a_library(one) && !seen.insert(lines(one)) {
            otherwise.push(one);
            continue;
        }
        let is_predicted = one.status == Status::Predicted;
        if is_predicted && (told.len() == MOST_PREDICTED || !told.insert(functions(one))) {
            predicted.push(one);
            continue;
        }
        out += &finding(one);
        out.push('\n');
    }
    let known: Vec<&Finding> = findings().filter(known).collect();
    let open: Vec<&Finding> = findings().filter(is_open).collect();
    for (heading, listed) in [
        ("The same block, used after it was freed:", used),
        ("The same, elsewhere in the library:", otherwise),
        ("Predicted as well:", predicted),
        ("Suspected, tried, and did not happen:", open),
        ("Known in the baseline:", known),
    ] {
        if !listed.is_empty() {
            let _ = writeln!(out, "{heading}");
            let folded = folded(&listed);
            let shown = folded.iter().take(MOST_LINES);
            let more = listed.len() - shown.clone().map(Vec::len).sum::<usize>();
            for same in shown {
                out += &line(same[0]);
                if let others @ 1.. = same.len() - 1 {
                    let _ = writeln!(out, "       and {others} more between these functions");
                }
            }
            if more > 0 {
                let _ = writeln!(out, "    and {more} more, which JSON and the page have");
            }
            out.push('\n');
        }
    }
    out
}

/// A block that is freed and used: its name, where it is freed, which function uses it, and
/// whether that hurts.
type Gone<'a> = (&'a str, Spot<'a>, Option<&'a str>, bool);

/// The block that a finding is about, if that is used after it was freed.
fn gone(finding: &Finding) -> Option<Gone<'_>> {
    let [first, second] = &finding.accesses[..] else {
        return None;
    };
    let (free, user) = match (first.is_free(), second.is_free()) {
        (true, false) => (first, second),
        (false, true) => (second, first),
        _ => return None,
    };
    let name = finding.location.name.as_str();
    let is_harmful = finding.harm.is_some();
    Some((name, free.spot(), user.spot().function, is_harmful))
}

/// Whether a lock is used wrongly that is in a block which was told to be freed too early.
fn is_in_a_block_that_is_gone(finding: &Finding, freed: &BTreeSet<Gone<'_>>) -> bool {
    let is_inside = |(name, ..): &Gone<'_>| {
        let lock = finding.location.name.strip_prefix(name);
        lock.is_some_and(|rest| rest.is_empty() || rest.starts_with('+'))
    };
    finding.kind == Kind::MutexMisuse && freed.iter().any(is_inside)
}

/// What a finding is about, by functions: data that are handed over are suspected field by
/// field.
type Functions<'a> = (String, Vec<Option<&'a str>>);

fn functions(finding: &Finding) -> Functions<'_> {
    let of_accesses = finding.accesses.iter().map(|access| access.spot().function);
    let mut functions: Vec<Option<&str>> = of_accesses.collect();
    functions.sort_unstable();
    (String::from(finding.kind.clone()), functions)
}

/// The findings, those of the same functions together, in the order of the first of each.
fn folded<'a>(listed: &[&'a Finding]) -> Vec<Vec<&'a Finding>> {
    let mut folded: Vec<Vec<&Finding>> = Vec::new();
    for one in listed {
        let is_known = |same: &&mut Vec<&Finding>| functions(same[0]) == functions(one);
        match folded.iter_mut().find(is_known) {
            Some(same) if !one.accesses.is_empty() => same.push(one),
            _ => folded.push(vec![one]),
        }
    }
    folded
}

/// What a finding is about, by lines of the program's own.
type Place<'a> = (String, bool, Vec<(Option<&'a str>, Option<u32>)>);

/// The lines of the program's own that have a part in a finding, and whether it hurts.
fn lines(finding: &Finding) -> Place<'_> {
    let spots = finding.accesses.iter().map(Access::spot);
    let mut lines: Vec<_> = spots.map(|spot| (spot.file, spot.line)).collect();
    lines.sort_unstable();
    let kind = String::from(finding.kind.clone());
    (kind, finding.harm.is_some(), lines)
}

/// Whether what threads do wrong is in a header of a library that the program uses.
fn is_in_a_library(finding: &Finding) -> bool {
    let elsewhere = |access: &Access| access.spot().line != access.line;
    let is_of_accesses = matches!(finding.kind, Kind::Race | Kind::Atomicity | Kind::AtomicSet);
    is_of_accesses && finding.accesses.iter().any(elsewhere)
}

/// The finding, told.
pub fn finding(finding: &Finding) -> String {
    let mut out = text::heading(finding);
    text::harms(&mut out, finding);
    if let Some(test) = &finding.test {
        let _ = writeln!(out, "    in test: {}", text::printable(&test.name));
        if !finding.also_in.is_empty() {
            let also = text::printable(&finding.also_in.join(", "));
            let _ = writeln!(out, "    and in: {also}");
        }
    }
    let many = finding.accesses.len() > 2;
    for (number, access) in (1..).zip(&finding.accesses) {
        out.push('\n');
        tell(&mut out, number, access, many);
    }
    if let Some(interleaving) = &finding.interleaving {
        let rows = if finding.accesses.is_empty() { 20 } else { 12 };
        let timeline = timeline::render(interleaving, rows);
        if !timeline.is_empty() {
            let _ = write!(out, "\n    {FAINT}how it happens:{FAINT:#}\n{timeline}");
        }
    }
    out.push('\n');
    for (by, because) in text::folded(finding) {
        let because = text::printable(&format!("why: {because} ({by})"));
        for (i, line) in text::wrapped(&because, WIDTH - 5).iter().enumerate() {
            let indent = if i == 0 { "" } else { "     " };
            let _ = writeln!(out, "    {FAINT}{indent}{line}{FAINT:#}");
        }
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
    let line = format!("{what} at {} ({by})", text::printable(&places));
    let indented = |(i, line)| match i {
        0 => format!("    {line}\n"),
        _ => format!("       {line}\n"),
    };
    let lines = text::wrapped(&text::without_directories(&line), WIDTH - 3);
    lines.into_iter().enumerate().map(indented).collect()
}

/// Characters in a line, without the margin.
const WIDTH: usize = 76;
/// Callers that are shown of each access.
const CALLERS: usize = 3;

/// An access. Where there are many of them, the line itself must do.
fn tell(out: &mut String, number: usize, access: &Access, is_one_of_many: bool) {
    let deed = format!("({number}) {}", text::deed(access));
    let deed = match deed.chars().count() <= WIDTH {
        true => deed,
        false => text::without_directories(&deed),
    };
    for (i, line) in text::wrapped(&deed, WIDTH - 4).iter().enumerate() {
        let indent = if i == 0 { "" } else { "    " };
        let _ = writeln!(out, "    {indent}{line}");
    }
    let spot = access.spot();
    let itself = match &access.function {
        Some(function) => format!("{} in {function}", access.site),
        None => access.site.clone(),
    };
    let is_elsewhere = (spot.file, spot.line) != (access.file.as_deref(), access.line);
    let place = match (is_elsewhere, spot.file, spot.function) {
        (true, Some(_), Some(function)) => format!("{spot} in {function}"),
        _ => itself.clone(),
    };
    let place = text::printable(&format!("at {place}"));
    let _ = writeln!(out, "    {}", text::fitting(&place, WIDTH));
    let more = u32::from(!is_one_of_many);
    if let (Some(source), Some(line)) = (&access.source, spot.line) {
        for number in line.saturating_sub(more)..=line.saturating_add(more) {
            let Some(text) = source.line(number) else {
                continue;
            };
            let (mark, style) = match number == line {
                true => ('>', HARM),
                false => (' ', FAINT),
            };
            let text = match number == line {
                true => seen_from(text, spot.column),
                false => plain(text),
            };
            let line = text::cut(&format!("{mark}{number:>5} │ {text}"), WIDTH);
            let _ = writeln!(out, "    {style}{line}{style:#}");
        }
    }
    if is_elsewhere {
        let library = text::printable(&format!("  which leads to {itself}"));
        let _ = writeln!(
            out,
            "    {FAINT}{}{FAINT:#}",
            text::fitting(&library, WIDTH)
        );
    }
    let callers = text::callers(access);
    let shown = if is_one_of_many { 1 } else { CALLERS };
    // How a library got there, from one's own code or to it, is its own business.
    let is_own = spot.file.is_some_and(|file| !is_librarys(file));
    let has_own = is_own || callers.iter().any(Frame::is_users);
    let of_interest = callers.iter().filter(|frame| !has_own || frame.is_users());
    let of_interest: Vec<&Frame> = of_interest.collect();
    for frame in of_interest.iter().take(shown) {
        let caller = format!("  called from {}", text::caller(frame));
        let caller = text::fitting(&caller, WIDTH);
        let _ = writeln!(out, "    {FAINT}{caller}{FAINT:#}");
    }
    if let Some(more @ 1..) = of_interest.len().checked_sub(shown)
        && !is_one_of_many
    {
        let _ = writeln!(out, "      {FAINT}and {more} more{FAINT:#}");
    }
}

/// Characters of a line of source for which there is room.
const ROOM: usize = WIDTH - 13;
/// Of a longer one, those that are to be seen before the place in question.
const BEFORE: usize = 40;

/// A line of source, of which the beginning is left out where else its column could not be
/// seen.
fn seen_from(text: &str, column: Option<u32>) -> String {
    let before = column.and_then(|column| text.get(..(column as usize).checked_sub(1)?));
    let before = before.map_or(0, |before| plain(before).chars().count());
    let whole = plain(text);
    match before.checked_sub(BEFORE) {
        Some(hidden) if whole.chars().count() > ROOM => std::iter::once('…')
            .chain(whole.chars().skip(hidden + 1))
            .collect(),
        _ => whole,
    }
}

/// A line of source as it can be printed.
fn plain(text: &str) -> String {
    text::printable(&text.replace('\t', "    "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Excerpt, Explanation, Harm, Interleaving, Location, Step};

    fn access(op: &str, thread: &str, line: u32) -> Access {
        Access {
            op: op.into(),
            thread: thread.into(),
            file: Some("bank.c".into()),
            line: Some(line),
            site: format!("bank.c:{line}"),
            function: Some("audit".into()),
            ..Access::default()
        }
    }

    #[test]
    fn a_story_has_source_order_and_harm() {
        let source = Excerpt {
            first: 2,
            lines: ["two", "\tthree", "four", "five"]
                .map(str::to_owned)
                .to_vec(),
        };
        let step = |thread: &str, op: &str, access| Step {
            thread: thread.into(),
            op: op.into(),
            object: "balance".into(),
            line: Some(3),
            access,
            ..Step::default()
        };
        let told = finding(&Finding {
            id: "R1".into(),
            status: Status::Confirmed,
            location: Location {
                name: "balance".into(),
                ..Location::default()
            },
            accesses: vec![
                Access {
                    source: Some(source),
                    ..access("write", "0.1", 3)
                },
                access("read", "0.2", 9),
            ],
            found_by: vec!["racefuzzer".into()],
            harm: Some(Harm {
                kind: "crash".into(),
                detail: "SIGSEGV".into(),
                seed: Some(3),
                ..Harm::default()
            }),
            interleaving: Some(Interleaving {
                skipped: 7,
                steps: vec![step("0.2", "read", Some(2)), step("0.1", "write", Some(1))],
            }),
            replay: Some("racehound replay R1".into()),
            ..Finding::default()
        });
        insta::assert_snapshot!(text::plain(&told), @r"
        R1 race on balance  confirmed
            harm: crash, SIGSEGV (seed 3)

            (1) thread 0.1 writes, holding no lock
            at bank.c:3 in audit
                 2 │ two
            >    3 │     three
                 4 │ four

            (2) thread 0.2 reads, holding no lock
            at bank.c:9 in audit

            how it happens:
            thread 0.1                            thread 0.2
            ⋮
                                                  (2) reads balance                 :3
            (1) writes balance                :3

            found by: racefuzzer
            replay: racehound replay R1
        ");
    }

    /// A suspicion between two lines, of a function of its own each or always the same.
    fn suspicion(line: u32, status: Status, is_same: bool) -> Finding {
        let mut first = access("write", "0.1", line);
        if !is_same {
            first.function = Some(format!("audit_{line}"));
        }
        Finding {
            id: format!("R{line}"),
            status,
            accesses: vec![first, access("read", "0.2", 9)],
            ..Finding::default()
        }
    }

    fn told(suspicions: u32, status: Status, is_same: bool) -> String {
        let suspicion = |line| suspicion(line, status, is_same);
        text::plain(&all(&Report {
            findings: (1..=suspicions).map(suspicion).collect(),
            ..Report::default()
        }))
    }

    #[test]
    fn what_did_not_happen_does_not_fill_the_screen() {
        let status = Status::Unreproduced;
        assert_eq!(told(8, status, false).lines().count(), 10);
        let many = told(48, status, false);
        assert_eq!(many.lines().count(), 11);
        assert!(many.contains("and 40 more, which"), "{many}");
        let same = told(48, status, true);
        assert_eq!(same.lines().count(), 4, "{same}");
        assert!(same.contains("and 47 more between these functions"));
    }

    #[test]
    fn what_is_predicted_is_told_as_far_as_anybody_reads() {
        let headings = |told: &str| told.lines().filter(|line| line.starts_with('R')).count();
        let many = told(20, Status::Predicted, false);
        assert_eq!(headings(&many), 3, "{many}");
        assert!(many.contains("Predicted as well:\n    R4 "), "{many}");
        assert!(many.contains("and 9 more, which"), "{many}");
        let same = told(20, Status::Predicted, true);
        assert_eq!(headings(&same), 1, "{same}");
        assert!(
            same.contains("and 18 more between these functions"),
            "{same}"
        );
    }

    /// However much there is to tell, it is a screen.
    #[test]
    fn a_story_fits_a_screen() {
        let frame = Frame {
            function: "caller".into(),
            file: Some("bank.c".into()),
            line: Some(1),
            column: None,
            module: None,
            offset: None,
        };
        let with_everything = |count: u32| Finding {
            accesses: (1..=count)
                .map(|line| Access {
                    stack: vec![frame.clone(); 30],
                    source: Some(Excerpt {
                        first: 1,
                        lines: vec!["x".repeat(300); 20],
                    }),
                    ..access("write", "0.1", line)
                })
                .collect(),
            interleaving: Some(Interleaving {
                skipped: 0,
                steps: vec![
                    Step {
                        thread: "0.1".into(),
                        op: "acquire".into(),
                        ..Step::default()
                    };
                    500
                ],
            }),
            reasons: vec![Explanation {
                by: "hybrid".into(),
                because: "so".into(),
            }],
            ..Finding::default()
        };
        for count in [2, 4] {
            let told = text::plain(&finding(&with_everything(count)));
            assert!(told.lines().count() <= 42, "{told}");
            assert!(
                told.lines().all(|line| line.chars().count() <= 80),
                "{told}"
            );
        }
    }

    #[test]
    fn the_column_of_a_long_line_is_seen() {
        let text = format!("\t{}here();", "step(); ".repeat(20));
        let column = text.find("here").map(|at| at as u32 + 1);
        let seen = seen_from(&text, column);
        assert!(
            seen.starts_with('…') && seen.ends_with("step(); here();"),
            "{seen}"
        );
        assert_eq!(seen.chars().count(), BEFORE + "here();".len());
        assert_eq!(seen_from(&text, None), plain(&text));
        assert_eq!(seen_from("\tx = 1;", Some(2)), "    x = 1;");
        assert_eq!(seen_from("short", Some(99)), "short");
    }
}
