//! A program of the gallery: what its header says, and which lines are marked.
//! The scheme is explained in `programs/README.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A program and what is expected of it.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) expected: Vec<Expected>,
    /// Every free run shows all that is expected.
    pub(crate) always: bool,
    /// No free run shows it.
    pub(crate) never: bool,
    pub(crate) may_fail: bool,
    pub(crate) exit: i32,
    pub(crate) args: Vec<String>,
    pub(crate) flags: Vec<String>,
    pub(crate) with: Vec<String>,
    pub(crate) plugins: Vec<String>,
    marks: Vec<Mark>,
}

/// A report that a program deserves.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) kinds: Vec<String>,
    pub(crate) tag: Option<char>,
}

#[derive(Debug)]
struct Mark {
    line: u32,
    word: String,
    tags: BTreeSet<char>,
}

impl Program {
    /// Reads a program; none if the file is only a part of one.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let text = fs::read_to_string(path).unwrap();
        let mut program = Self {
            path: path.to_owned(),
            ..Self::default()
        };
        for line in text.lines().map_while(|line| line.strip_prefix("//")) {
            let Some((key, value)) = line.trim().split_once(": ") else {
                continue;
            };
            let words = || value.split_whitespace().map(str::to_owned);
            match key {
                "part-of" => return None,
                "expect" => {
                    let mut words = words();
                    let kinds = words.next().unwrap_or_default();
                    program.expected.push(Expected {
                        kinds: kinds.split('|').map(str::to_owned).collect(),
                        tag: words.next().and_then(|tag| tag.chars().next()),
                    });
                }
                "shows" => {
                    program.always = value == "always";
                    program.never = value == "never";
                }
                "harm" => program.may_fail = true,
                "exit" => program.exit = value.parse().unwrap(),
                "args" => program.args = words().collect(),
                "flags" => program.flags = words().collect(),
                "with" => program.with = words().collect(),
                "plugin" => program.plugins = words().collect(),
                _ => {}
            }
        }
        for file in program.files() {
            let text = fs::read_to_string(path.with_file_name(file)).unwrap();
            let marks = text.lines().zip(1..);
            let marks = marks.filter_map(|(text, line)| mark(text, line));
            program.marks.extend(marks);
        }
        Some(program)
    }

    /// The names of its source files.
    pub(crate) fn files(&self) -> Vec<String> {
        let own = self
            .path
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let parts = self.with.iter().chain(&self.plugins).cloned();
        [own].into_iter().chain(parts).collect()
    }

    pub(crate) fn name(&self) -> String {
        let directory = self.path.parent().and_then(Path::file_name).unwrap();
        let file = self.path.file_name().unwrap();
        format!("{}/{}", directory.display(), file.display())
    }

    pub(crate) fn is_cpp(&self) -> bool {
        self.path
            .extension()
            .is_some_and(|extension| extension == "cpp")
    }

    /// Whether all these lines carry the mark, with one tag in common if the
    /// expectation has one.
    pub(crate) fn marked(&self, word: &str, tag: Option<char>, lines: &[u32]) -> bool {
        lines.iter().all(|line| {
            self.marks.iter().any(|mark| {
                mark.line == *line
                    && mark.word == word
                    && tag.is_none_or(|tag| mark.tags.contains(&tag))
            })
        })
    }
}

/// `// … RACE a b` at the end of a line.
fn mark(text: &str, line: u32) -> Option<Mark> {
    let comment = &text[text.find("//")?..];
    let words: Vec<&str> = comment.split_whitespace().collect();
    let tags: BTreeSet<char> = words
        .iter()
        .rev()
        .take_while(|word| word.len() == 1 && word.chars().all(|c| c.is_ascii_lowercase()))
        .flat_map(|word| word.chars())
        .collect();
    let word = words.get(words.len().checked_sub(tags.len() + 1)?)?;
    ["RACE", "HERE"].contains(word).then(|| Mark {
        line,
        word: (*word).to_owned(),
        tags,
    })
}
