//! Patterns as text: PECAN's five rows, one pattern after the other.
//!
//! ```text
//! // Anything after two slashes is a comment.
//! pattern lost-pair
//! T  = t1 t2 t2 t1
//! SV = x  x  y  y
//! AR = u1 u2 u2 u1
//! AT = w  r  r  w
//! ```
//!
//! Entries are separated by spaces, or by hyphens as in the paper. The names
//! of threads, variables and regions are only told apart; printing a pattern
//! calls them t1, s1 and u1. The row E adds nothing and may be left out.

use std::fmt;
use std::str::FromStr;

use super::{AccessType, Invalid, Kind, Pattern, Step};

/// What is wrong with a pattern's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct NotationError {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

/// All patterns of a text.
pub fn parse_all(text: &str) -> Result<Vec<Pattern>, NotationError> {
    let mut drafts: Vec<Draft<'_>> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let number = i + 1;
        let line = line.split("//").next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let fail = |what: String| NotationError { line: number, what };
        if let Some(name) = line.strip_prefix("pattern ") {
            let name = name.trim();
            if let Some(first) = drafts.iter().find(|d| d.name == name) {
                let what = format!("`{name}` is already defined in line {}", first.line);
                return Err(fail(what));
            }
            drafts.push(Draft {
                line: number,
                name,
                rows: Vec::new(),
            });
            continue;
        }
        let Some((row, entries)) = line.split_once('=') else {
            let what =
                format!("expected `pattern NAME` or a row such as `T = t1 t2`, not `{line}`");
            return Err(fail(what));
        };
        let row = row.trim();
        if !["E", "T", "SV", "AR", "AT"].contains(&row) {
            let what = format!("there is no row `{row}`; the rows are T, SV, AR and AT");
            return Err(fail(what));
        }
        let Some(draft) = drafts.last_mut() else {
            return Err(fail("a row before the first `pattern NAME`".to_owned()));
        };
        if draft.row(row).is_some() {
            return Err(fail(format!("a second row {row}")));
        }
        let separator = |c: char| c.is_whitespace() || c == '-';
        draft.rows.push(Row {
            line: number,
            name: row,
            entries: entries.split(separator).filter(|e| !e.is_empty()).collect(),
        });
    }
    drafts.iter().map(Draft::finish).collect()
}

struct Draft<'a> {
    line: usize,
    name: &'a str,
    rows: Vec<Row<'a>>,
}

struct Row<'a> {
    line: usize,
    name: &'a str,
    entries: Vec<&'a str>,
}

impl Draft<'_> {
    fn row(&self, name: &str) -> Option<&Row<'_>> {
        self.rows.iter().find(|row| row.name == name)
    }

    fn finish(&self) -> Result<Pattern, NotationError> {
        let missing = |row| NotationError {
            line: self.line,
            what: format!("`{}` has no row {row}", self.name),
        };
        let row = |name| self.row(name).ok_or_else(|| missing(name));
        let (threads, variables) = (row("T")?, row("SV")?);
        let (regions, accesses) = (row("AR")?, row("AT")?);
        let length = threads.entries.len();
        for row in &self.rows {
            if row.entries.len() != length {
                let what = format!(
                    "row {} has {} entries, row T in line {} has {length}",
                    row.name,
                    row.entries.len(),
                    threads.line
                );
                return Err(NotationError {
                    line: row.line,
                    what,
                });
            }
        }
        let number = |row: &Row<'_>, i: usize| {
            let same = |entry: &&str| *entry == row.entries[i];
            row.entries.iter().position(same).unwrap_or(i)
        };
        let mut steps = Vec::new();
        for i in 0..length {
            let access = match accesses.entries[i] {
                "r" => AccessType::Read,
                "w" => AccessType::Write,
                other => {
                    return Err(NotationError {
                        line: accesses.line,
                        what: format!("an access type is `r` or `w`, not `{other}`"),
                    });
                }
            };
            steps.push(Step {
                thread: number(threads, i),
                variable: number(variables, i),
                region: number(regions, i),
                access,
            });
        }
        Pattern::new(self.name, Kind::User, &steps).map_err(|invalid| NotationError {
            line: match invalid {
                Invalid::SharedRegion { .. } => regions.line,
                Invalid::OneThread | Invalid::TooShort(_) => threads.line,
                Invalid::Name(_) => self.line,
            },
            what: invalid.to_string(),
        })
    }
}

impl FromStr for Pattern {
    type Err = NotationError;

    /// The only pattern of a text.
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let mut patterns = parse_all(text)?;
        match (patterns.pop(), patterns.len()) {
            (Some(pattern), 0) => Ok(pattern),
            (None, _) => Err(NotationError {
                line: 1,
                what: "there is no pattern".to_owned(),
            }),
            (Some(_), more) => Err(NotationError {
                line: 1,
                what: format!("one pattern is wanted, there are {}", more + 1),
            }),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |entry: &dyn Fn(&Step) -> String| {
            let entries: Vec<_> = self.steps().iter().map(entry).collect();
            entries.join(" ")
        };
        writeln!(f, "pattern {}", self.name())?;
        writeln!(f, "T  = {}", row(&|s| format!("t{}", s.thread + 1)))?;
        writeln!(f, "SV = {}", row(&|s| format!("s{}", s.variable + 1)))?;
        writeln!(f, "AR = {}", row(&|s| format!("u{}", s.region + 1)))?;
        writeln!(
            f,
            "AT = {}",
            row(&|s| format!("{} ", s.access.letter())).trim_end()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::builtin;

    const LOST_PAIR: &str = "\
pattern lost-pair
T  = t1 t2 t2 t1
SV = x  x  y  y
AR = u1 u2 u2 u1
AT = w  r  r  w
";

    #[test]
    fn printed_patterns_read_back() {
        let mut printed = String::new();
        for pattern in builtin() {
            let text = pattern.to_string();
            let back: Pattern = text.parse().unwrap();
            assert_eq!(back.steps(), pattern.steps());
            assert_eq!(back.to_string(), text);
            printed.push_str(&text);
        }
        assert_eq!(parse_all(&printed).unwrap().len(), builtin().len());
    }

    #[test]
    fn the_papers_hyphens_and_a_row_e_are_understood() {
        let paper = "
            pattern lost-pair // figure 2, right
            E  = e1 - e2 - e3 - e4
            T  = t1-t2-t2-t1
            SV = s1 - s1 - s2 - s2
            AR = u1 - u2 - u2 - u1
            AT = w - r - r - w";
        let pattern: Pattern = paper.parse().unwrap();
        assert_eq!(pattern, LOST_PAIR.parse().unwrap());
        let printed = "pattern lost-pair\nT  = t1 t2 t2 t1\nSV = s1 s1 s2 s2\nAR = u1 u2 u2 u1\nAT = w  r  r  w\n";
        assert_eq!(pattern.to_string(), printed);
    }

    #[test]
    fn errors_say_where_and_what() {
        let error = |from: &str, to: &str| {
            assert!(LOST_PAIR.contains(from));
            let text = LOST_PAIR.replacen(from, to, 1);
            text.parse::<Pattern>().unwrap_err().to_string()
        };
        assert_eq!(
            error("SV = x ", "SV = "),
            "line 3: row SV has 3 entries, row T in line 2 has 4"
        );
        assert_eq!(
            error("r  r", "r  q"),
            "line 5: an access type is `r` or `w`, not `q`"
        );
        assert_eq!(
            error("u1 u2", "u2 u2"),
            "line 4: events 1 and 2 share a region but are by different threads"
        );
        assert_eq!(
            error("t2 t2", "t1 t1"),
            "line 2: a pattern needs at least two threads"
        );
        assert_eq!(
            error("AT =", "AX ="),
            "line 5: there is no row `AX`; the rows are T, SV, AR and AT"
        );
        assert_eq!(
            error("AT = w  r  r  w\n", ""),
            "line 1: `lost-pair` has no row AT"
        );
        assert_eq!(error("AR", "T "), "line 4: a second row T");
        assert_eq!(
            error("lost-pair", "lost pair"),
            "line 1: a pattern's name is one word without spaces, not \"lost pair\""
        );
        assert_eq!(
            error("pattern lost-pair", ""),
            "line 2: a row before the first `pattern NAME`"
        );
        assert_eq!(
            error("AT = w", "w"),
            "line 5: expected `pattern NAME` or a row such as `T = t1 t2`, not `w  r  r  w`"
        );
        assert_eq!(
            error("AT = w  r  r  w\n", "AT = w r r w\npattern lost-pair"),
            "line 6: `lost-pair` is already defined in line 1"
        );
        assert_eq!(
            "".parse::<Pattern>().unwrap_err().to_string(),
            "line 1: there is no pattern"
        );
    }
}
