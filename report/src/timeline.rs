//! An interleaving as text: a column for each thread, time goes down.
//!
//! Shown is what leads to the finding's accesses: a few steps before each, what comes in
//! between is left out. Where no access is marked, nobody knows which steps are to blame;
//! but that threads took turns is, so of each turn up to the end its beginning and its end
//! are shown.

use std::fmt::Write;

use crate::finding::{AWAITS, Interleaving, Step, THE_BLOCK, is_librarys};
use crate::text::{self, FAINT, HARM, HEADING};

/// Characters in a line, without the margin.
const WIDTH: usize = 76;
/// Steps that are shown before a marked one.
const LEAD: usize = 3;
/// Steps of a turn that are shown at least.
const OF_A_TURN: usize = 4;
/// More threads than that do not fit next to each other: their steps are a list.
const COLUMNS: usize = 4;
/// Of what a step is about, fewer characters tell nobody anything.
const LEGIBLE: usize = 12;

/// The interleaving, indented, with so many steps at most; nothing if there is nothing to
/// see.
pub fn render(interleaving: &Interleaving, rows: usize) -> String {
    let steps = &interleaving.steps;
    let shown = chosen(steps, rows);
    let threads = threads(&shown, steps);
    if threads.is_empty() {
        return String::new();
    }
    let is_list = threads.len() > COLUMNS;
    let width = if is_list {
        WIDTH
    } else {
        WIDTH / threads.len()
    };
    let mut out = String::new();
    if !is_list {
        let names = threads.iter().map(|thread| padded(&name(thread), width));
        let names: String = names.collect();
        let _ = writeln!(out, "    {HEADING}{}{HEADING:#}", names.trim_end());
    }
    let mut before = None;
    for at in shown {
        let skipped = before.map_or(at as u64 + interleaving.skipped, |before| {
            (at - before - 1) as u64
        });
        if skipped > 0 {
            let _ = writeln!(out, "    {FAINT}⋮{FAINT:#}");
        }
        before = Some(at);
        let step = &steps[at];
        let column = threads.iter().position(|thread| *thread == step.thread);
        let column = column.filter(|_| !is_list).unwrap_or(0);
        out.push_str("    ");
        out.push_str(&" ".repeat(column * width));
        cell(&mut out, step, width, is_list);
        out.push('\n');
    }
    out
}

fn name(thread: &str) -> String {
    match thread {
        "0" => "main thread 0".to_owned(),
        other => text::printable(&format!("thread {other}")),
    }
}

/// A step, with the line on the right.
fn cell(out: &mut String, step: &Step, width: usize, is_listed: bool) {
    // Lines are the program's, unless it is said of which file they are.
    let file = step.file.as_deref().filter(|file| is_librarys(file));
    let file = file.map_or("", |file| file.rsplit('/').next().unwrap_or(file));
    let line = step.line.map(|line| format!("{file}:{line}"));
    // A library's line is not worth more than what happens there.
    let fits = |line: &String| file.is_empty() || width >= line.len() + LEGIBLE + 3;
    let line = line.filter(fits).unwrap_or_default();
    let room = width.saturating_sub(line.len() + 3);
    let mark = step.access.map(|number| format!("({number}) "));
    let who = is_listed.then(|| format!("{} ", name(&step.thread)));
    // Memory that has no name is known by its line.
    let is_access = ["read", "write"].contains(&step.op.as_str());
    let is_nameless = match step.object.as_str() {
        "" => true,
        object => object == THE_BLOCK && file.is_empty(),
    };
    let deed = match &step.text {
        Some(text) if is_access && is_nameless && room >= step.op.len() + 3 + LEGIBLE => {
            format!("{}s: {}", step.op, text::printable(text))
        }
        _ => text::step(step),
    };
    let what = who.unwrap_or_default() + &mark.unwrap_or_default() + &deed;
    let what = padded(&text::without_directories(&what), room);
    let what = match line.is_empty() {
        true => what.trim_end(),
        false => &what,
    };
    let _ = match step.access {
        Some(_) => write!(out, "{HARM}{what}{HARM:#}"),
        None => write!(out, "{what}"),
    };
    if !line.is_empty() {
        let _ = write!(out, " {FAINT}{line}{FAINT:#}");
    }
}

/// A text of that many characters: cut off, or with blanks behind.
fn padded(text: &str, width: usize) -> String {
    match text.chars().count() {
        length if length > width => {
            let kept: String = text.chars().take(width.saturating_sub(1)).collect();
            format!("{kept}…")
        }
        length => format!("{text}{}", " ".repeat(width - length)),
    }
}

/// Which steps are shown, in order.
fn chosen(steps: &[Step], rows: usize) -> Vec<usize> {
    let marked: Vec<usize> = (0..steps.len())
        .filter(|&i| steps[i].access.is_some())
        .collect();
    if marked.is_empty() {
        return turns(steps, rows);
    }
    let involved = |i: &usize| {
        marked
            .iter()
            .any(|&mark| steps[mark].thread == steps[*i].thread)
    };
    let candidates: Vec<usize> = (0..steps.len()).filter(involved).collect();
    // Where threads come to a stand, all that matters was before.
    let are_last = marked[0] + marked.len() == steps.len();
    let are_stuck = steps.last().is_some_and(|step| step.op == AWAITS);
    let lead = if are_last || are_stuck { rows } else { LEAD };
    // The nearer to a marked one, the better.
    let distance = |place: usize| {
        let to = |mark: &usize| {
            let at = candidates.iter().position(|i| i == mark).unwrap_or(0);
            match at >= place {
                true => at - place,
                false => (place - at) * LEAD,
            }
        };
        marked.iter().map(to).min().unwrap_or(0)
    };
    let mut near: Vec<(usize, usize)> = candidates
        .iter()
        .enumerate()
        .map(|(place, &i)| (distance(place), i))
        .filter(|(distance, _)| *distance <= lead)
        .collect();
    near.sort_unstable();
    near.truncate(rows.max(marked.len()));
    let mut shown: Vec<usize> = near.into_iter().map(|(_, i)| i).collect();
    shown.sort_unstable();
    shown
}

/// The steps with which threads begin and end their turns, up to the last one.
fn turns(steps: &[Step], rows: usize) -> Vec<usize> {
    let turns = steps.chunk_by(|one, next| one.thread == next.thread);
    let lengths: Vec<usize> = turns.map(<[Step]>::len).collect();
    let needed = |most: usize| {
        lengths
            .iter()
            .map(|&length| length.min(most))
            .sum::<usize>()
    };
    let fits = |most: &usize| needed(*most) <= rows;
    let most = (OF_A_TURN..=rows).rev().find(fits).unwrap_or(OF_A_TURN);
    let (mut shown, mut end) = (Vec::new(), steps.len());
    for length in lengths.into_iter().rev() {
        let begin = end - length;
        let kept = length.min(most).min(rows - shown.len());
        let last = kept.div_ceil(2);
        shown.extend((end - last..end).rev());
        shown.extend((begin..begin + kept - last).rev());
        end = begin;
    }
    shown.reverse();
    shown
}

/// The threads of these steps, in the order of their creation.
fn threads<'a>(shown: &[usize], steps: &'a [Step]) -> Vec<&'a str> {
    let mut threads: Vec<&str> = shown.iter().map(|&i| steps[i].thread.as_str()).collect();
    threads.sort_unstable_by_key(|path| ordinals(path));
    threads.dedup();
    threads
}

fn ordinals(path: &str) -> Vec<u32> {
    path.split('.')
        .map(|part| part.parse().unwrap_or(u32::MAX))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(thread: &str, op: &str, object: &str, line: u32, access: Option<usize>) -> Step {
        Step {
            thread: thread.into(),
            op: op.into(),
            object: object.into(),
            line: Some(line),
            access,
            ..Step::default()
        }
    }

    #[test]
    fn time_goes_down_and_threads_stand_side_by_side() {
        let mut steps = vec![step("0", "fork", "0.1", 40, None)];
        for _ in 0..30 {
            steps.push(step("0.2", "acquire", "log", 8, None));
            steps.push(step("0.2", "release", "log", 9, None));
        }
        steps.extend([
            step("0.1", "acquire", "accounts", 11, None),
            step("0.2", "read", "balance", 20, Some(1)),
            step("0.1", "write", "balance", 12, Some(2)),
            step("0.1", "release", "accounts", 13, None),
        ]);
        let shown = render(&Interleaving { skipped: 2, steps }, 12);
        insta::assert_snapshot!(text::plain(&shown), @r"
            thread 0.1                            thread 0.2
            ⋮
                                                  locks log                         :8
                                                  unlocks log                       :9
            locks accounts                   :11
                                                  (1) reads balance                :20
            (2) writes balance               :12
            unlocks accounts                 :13
        ");
        assert!(
            text::plain(&shown)
                .lines()
                .all(|line| line.chars().count() <= 80)
        );
    }

    #[test]
    fn what_does_not_fit_beside_others_is_left_out() {
        let source = |thread: &str, file: Option<&str>| Step {
            text: Some("auto found = index.find(key);".into()),
            file: file.map(str::to_owned),
            ..step(thread, "read", "", 16, None)
        };
        let mut steps = vec![source("0.1", None)];
        steps.push(source("0.2", Some("/usr/include/c++/12/bits/std_thread.h")));
        let two = render(
            &Interleaving {
                skipped: 0,
                steps: steps.clone(),
            },
            12,
        );
        insta::assert_snapshot!(text::plain(&two), @r"
        thread 0.1                            thread 0.2
        reads: auto found = index.find(… :16
                                              reads: auto found =… std_thread.h:16
        ");
        steps.extend([source("0.3", None), source("0.4", None)]);
        let four = render(&Interleaving { skipped: 0, steps }, 12);
        insta::assert_snapshot!(text::plain(&four), @r"
        thread 0.1         thread 0.2         thread 0.3         thread 0.4
        reads         :16
                           reads
                                              reads         :16
                                                                 reads         :16
        ");
    }

    #[test]
    fn without_marks_the_end_is_shown() {
        let steps = (1..=40).map(|line| step("0.1", "write", "x", line, None));
        let steps: Vec<Step> = steps.collect();
        let shown = text::plain(&render(&Interleaving { skipped: 0, steps }, 12));
        assert_eq!(shown.lines().count(), 12 + 2);
        assert!(shown.contains(":40") && shown.contains('⋮') && !shown.contains(":20"));
        assert!(shown.contains(":35") && !shown.contains(":34"), "{shown}");
    }

    #[test]
    fn without_marks_each_turn_has_its_part() {
        let mut steps = Vec::new();
        for (turn, thread) in (1..).zip(["0", "0.1", "0.2", "0.1", "0"]) {
            steps.extend((0..10).map(|i| step(thread, "write", "x", turn * 10 + i, None)));
        }
        let shown = text::plain(&render(&Interleaving { skipped: 0, steps }, 20));
        for line in [10, 11, 18, 19, 20, 29, 30, 39, 40, 49, 50, 59] {
            assert!(shown.contains(&format!(":{line}")), "{line} in {shown}");
        }
        assert!(!shown.contains(":35"), "{shown}");
        // Five turns, with a gap in each.
        assert_eq!(shown.lines().count(), 1 + 20 + 5, "{shown}");
    }

    #[test]
    fn many_threads_are_a_list() {
        let threads = ["0.1", "0.2", "0.3", "0.4", "0.10"];
        let steps = threads.map(|thread| step(thread, "write", "/src/x.c:3", 1, Some(1)));
        let shown = text::plain(&render(
            &Interleaving {
                skipped: 0,
                steps: steps.to_vec(),
            },
            12,
        ));
        assert!(shown.contains("thread 0.10 (1) writes x.c:3"), "{shown}");
        assert_eq!(shown.lines().count(), 5);
    }

    #[test]
    fn long_names_are_cut_off() {
        let long = "a_name_that_nobody_wants_to_read_to_its_end_".repeat(3);
        let steps = vec![
            step("0.1", "write", &long, 1, Some(1)),
            step("0.2", "write", &long, 2, Some(2)),
        ];
        let shown = text::plain(&render(&Interleaving { skipped: 0, steps }, 12));
        assert!(
            shown.lines().all(|line| line.chars().count() <= 80),
            "{shown}"
        );
    }
}
