//! Schedules as text, there and back.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::str::FromStr;

use racehound_trace::event::Kind;

use super::{Anomaly, Lines, Mark, Move, Point, Points, Schedule};

/// What every schedule begins with, before its version.
const TITLE: &str = "racehound schedule";
const VERSION: &str = "2";
/// Its schedules do not say where they end.
const ENDLESS_VERSION: &str = "1";
/// What every other schedule ends with.
const END: &str = "end";
const TIME_PASSES: &str = "time passes";
/// A step that touches nothing shared.
const STEP: &str = "step";

/// Why a text is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct ScheduleError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it, and what would be right.
    pub what: String,
}

pub(super) fn kind_word(kind: Option<Kind>) -> String {
    kind.map_or(STEP.to_owned(), |kind| kind.name().replace(' ', "-"))
}

fn kind_of(word: &str) -> Option<Option<Kind>> {
    if word == STEP {
        return Some(None);
    }
    let spoken = |kind: &&Kind| kind_word(Some(**kind)) == word;
    Kind::ALL.iter().find(spoken).map(|kind| Some(*kind))
}

/// A name as it can stand at the end of a line.
pub(super) fn escape(name: &str) -> Cow<'_, str> {
    let inner = name.trim();
    let plain = |c: char| c != '\\' && !c.is_control() && (c == ' ' || !c.is_whitespace());
    if inner.len() == name.len() && name.chars().all(plain) {
        return Cow::Borrowed(name);
    }
    let start = name.len() - name.trim_start().len();
    let inside = start..start + inner.len();
    let mut escaped = String::new();
    for (at, c) in name.char_indices() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            c if plain(c) && inside.contains(&at) => escaped.push(c),
            c => {
                let _ = write!(escaped, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    Cow::Owned(escaped)
}

fn unescape(text: &str) -> Result<String, String> {
    let mut parts = text.split('\\');
    let mut name = parts.next().unwrap_or_default().to_owned();
    while let Some(part) = parts.next() {
        if part.is_empty() {
            // Two backslashes in a row: what follows is plain.
            let plain = parts.next().ok_or("a lone `\\` at the end: write `\\\\`")?;
            name.push('\\');
            name.push_str(plain);
            continue;
        }
        let coded = part.strip_prefix("u{").and_then(|p| p.split_once('}'));
        let decoded = coded.and_then(|(code, rest)| {
            let code = u32::from_str_radix(code, 16).ok()?;
            Some((char::from_u32(code)?, rest))
        });
        let (c, rest) = decoded.ok_or_else(|| {
            format!("`\\{part}`: a backslash is written `\\\\`, others `\\u{{41}}`")
        })?;
        name.push(c);
        name.push_str(rest);
    }
    Ok(name)
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{TITLE} {VERSION}")?;
        if let Some(plan) = &self.plan {
            writeln!(f, "plan {plan}")?;
        }
        if let Some(fingerprint) = self.fingerprint {
            writeln!(f, "fingerprint {fingerprint}")?;
        }
        if let Some(Anomaly { kind, name }) = &self.anomaly {
            writeln!(f, "anomaly {kind} {}", escape(name))?;
        }
        for site in &self.watched {
            writeln!(f, "watch {}", escape(site))?;
        }
        writeln!(f)?;
        for r#move in &self.moves {
            match r#move {
                Move::Notify { thread } => writeln!(f, "notifies {thread}")?,
                Move::Time => writeln!(f, "{TIME_PASSES}")?,
                Move::Run {
                    thread,
                    times,
                    points,
                } => {
                    writeln!(f, "{thread} x{times}")?;
                    for Points { times, point, mark } in points {
                        match (times, mark) {
                            (_, Some(mark)) => writeln!(f, "  {mark} {point}")?,
                            (1, None) => writeln!(f, "  {point}")?,
                            (_, None) => writeln!(f, "  x{times} {point}")?,
                        }
                    }
                }
            }
        }
        writeln!(f, "{END}")
    }
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let numbered = text.lines().map(str::trim).zip(1..);
        let lines = numbered.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
        let lines: Vec<_> = lines.collect();
        let at = |line| move |what| ScheduleError { line, what };
        let (title, line) = lines.first().copied().unwrap_or(("", 1));
        let must_end = must_end(title).map_err(at(line))?;
        let moves = match lines[1..].split_last() {
            Some(((END, _), moves)) if must_end => moves,
            last if must_end => {
                let line = last.map_or(line, |((_, line), _)| *line);
                let what = format!("the schedule is cut short: its last line must be `{END}`");
                return Err(at(line)(what));
            }
            _ => &lines[1..],
        };
        let mut schedule = Self::default();
        let mut untold = 0;
        for (text, line) in moves {
            schedule.read(text, *line, &mut untold).map_err(at(*line))?;
        }
        Ok(schedule)
    }
}

/// Whether a schedule with this title says where it ends.
fn must_end(title: &str) -> Result<bool, String> {
    match title.strip_prefix(TITLE).map(str::trim) {
        Some(VERSION) => Ok(true),
        Some(ENDLESS_VERSION) => Ok(false),
        Some(version) if !version.is_empty() => Err(format!(
            "a schedule of version {version:?}; this racehound knows versions {ENDLESS_VERSION} \
             and {VERSION}"
        )),
        _ => Err(format!(
            "no schedule: expected `{TITLE} {VERSION}`, found {title:?}"
        )),
    }
}

impl Schedule {
    /// Whether a text begins as a schedule does, whatever may be wrong with the rest.
    pub fn is_meant_by(text: &str) -> bool {
        let mut lines = text.lines().map(str::trim);
        let title = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
        title.is_some_and(|title| title.starts_with(TITLE))
    }

    /// Reads a line. `untold` is how often the thread of the last move goes at places of
    /// which nothing was said yet.
    fn read(&mut self, text: &str, line: usize, untold: &mut u64) -> Result<(), String> {
        let (word, rest) = split_word(text);
        match word {
            "plan" => self.plan = Some(rest.parse().map_err(|e| format!("{e}"))?),
            "fingerprint" => {
                let parsed = rest.parse().map_err(|_| {
                    format!("expected a fingerprint of up to 16 hexadecimal digits, found {rest:?}")
                })?;
                self.fingerprint = Some(parsed);
            }
            "anomaly" => {
                let (kind, name) = split_word(rest);
                if name.is_empty() {
                    return Err(format!(
                        "expected a kind and a name, such as `anomaly race race-w-r`, found {rest:?}"
                    ));
                }
                self.anomaly = Some(Anomaly {
                    kind: kind.to_owned(),
                    name: unescape(name)?,
                });
            }
            "watch" if rest.is_empty() => return Err("watch what? A site is missing".to_owned()),
            "watch" => self.watched.push(unescape(rest)?),
            _ if text == TIME_PASSES => self.add(Move::Time, line),
            "notifies" => {
                let thread = path(rest)?;
                self.add(Move::Notify { thread }, line);
            }
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => {
                let thread = path(word)?;
                let times = match rest {
                    "" => 1,
                    count => times(count)?.ok_or_else(|| {
                        format!(
                            "expected how often thread {thread} goes, such as `x3`, found {count:?}"
                        )
                    })?,
                };
                let run = Move::Run {
                    thread,
                    times,
                    points: Vec::new(),
                };
                *untold = times;
                self.add(run, line);
            }
            _ => self.read_points(text, line, untold)?,
        }
        Ok(())
    }

    fn add(&mut self, r#move: Move, line: usize) {
        self.moves.push(r#move);
        self.lines.push(Lines {
            r#move: line,
            points: Vec::new(),
        });
    }

    fn read_points(&mut self, text: &str, line: usize, untold: &mut u64) -> Result<(), String> {
        let (word, rest) = split_word(text);
        let mark = mark(word);
        let (times, (word, rest)) = match times(word)? {
            Some(times) => (times, split_word(rest)),
            None if mark.is_some() => (1, split_word(rest)),
            None => (1, (word, rest)),
        };
        let kind = kind_of(word).ok_or_else(|| unknown(word))?;
        let site = unescape(rest)?;
        let Some(Move::Run {
            thread,
            times: all,
            points,
        }) = self.moves.last_mut()
        else {
            return Err(format!(
                "`{word}` of whom? A line such as `0.1 x3` must come first"
            ));
        };
        *untold = untold.checked_sub(times).ok_or_else(|| {
            format!(
                "thread {thread} goes only {all} times here: raise its `x{all}` or remove a line"
            )
        })?;
        let point = Point { kind, site };
        points.push(Points { times, point, mark });
        if let Some(lines) = self.lines.last_mut() {
            lines.points.push(line);
        }
        Ok(())
    }
}

fn unknown(word: &str) -> String {
    let kinds: Vec<_> = Kind::ALL.iter().map(|k| kind_word(Some(*k))).collect();
    format!(
        "`{word}` means nothing here: expected a thread such as `0.1 x3`, `notifies 0.2`, \
         `{TIME_PASSES}`, `plan`, `fingerprint`, `anomaly`, `watch`, or one of: {STEP}, {}",
        kinds.join(", ")
    )
}

/// The first word and what follows it.
fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

/// The event of `e2(s1)`, or `None` if it is something else.
fn mark(word: &str) -> Option<Mark> {
    let (event, variable) = word
        .strip_prefix('e')?
        .strip_suffix(')')?
        .split_once("(s")?;
    let number = |digits: &str| digits.parse::<usize>().ok()?.checked_sub(1);
    Some(Mark {
        event: number(event)?,
        variable: number(variable)?,
    })
}

/// The number of `x12`, or `None` if it is something else altogether.
fn times(word: &str) -> Result<Option<u64>, String> {
    let digits = word.strip_prefix('x').unwrap_or_default();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(None);
    }
    match digits.parse() {
        Ok(0) => Err("`x0`: nothing is done no times; remove the line".to_owned()),
        Ok(times) => Ok(Some(times)),
        Err(_) => Err(format!("`{word}` is more often than anything can happen")),
    }
}

/// A thread's path.
fn path(word: &str) -> Result<String, String> {
    let ordinal = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    match word.split('.').all(ordinal) {
        true => Ok(word.to_owned()),
        false => Err(format!(
            "expected a thread by its place among its creator's children, such as `0` for main \
             or `0.2`, found {word:?}"
        )),
    }
}
