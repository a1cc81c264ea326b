//! The programs to measure: the sources in `bench/programs`.

use std::fs;
use std::path::PathBuf;

use super::error::Error;
use super::sources;

/// A program in one file.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(super) name: String,
    pub(super) source: PathBuf,
    pub(super) language: Language,
}

/// What a program is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cxx,
}

/// The programs whose names match, in order.
pub(super) fn matching(glob: &str) -> Result<Vec<Program>, Error> {
    let all = all()?;
    let names = all.iter().map(|program| program.name.clone()).collect();
    let matching = all.into_iter().filter(|one| matches(glob, &one.name));
    let programs: Vec<_> = matching.collect();
    match programs.is_empty() {
        true => Err(Error::NoPrograms {
            glob: glob.to_owned(),
            names,
        }),
        false => Ok(programs),
    }
}

fn all() -> Result<Vec<Program>, Error> {
    let directory = sources().join("programs");
    let entries = fs::read_dir(&directory).and_then(|entries| entries.collect());
    let entries: Vec<fs::DirEntry> = entries.map_err(Error::file(&directory))?;
    let mut programs: Vec<_> = entries
        .iter()
        .filter_map(|entry| program(entry.path()))
        .collect();
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

pub(super) fn program(source: PathBuf) -> Option<Program> {
    let language = match source.extension()?.to_str()? {
        "c" => Language::C,
        "cpp" => Language::Cxx,
        _ => return None,
    };
    let name = source.file_stem()?.to_str()?.to_owned();
    Some(Program {
        name,
        source,
        language,
    })
}

/// Whether a name is as a pattern says: `*` stands for anything, `?` for one
/// character.
fn matches(glob: &str, name: &str) -> bool {
    let mut pattern = glob.chars();
    match pattern.next() {
        None => name.is_empty(),
        Some('*') => {
            let rests = name.char_indices().map(|(i, _)| &name[i..]).chain([""]);
            rests
                .into_iter()
                .any(|rest| matches(pattern.as_str(), rest))
        }
        Some(expected) => {
            let mut letters = name.chars();
            let first = letters.next();
            let fits = first.is_some_and(|letter| expected == '?' || expected == letter);
            fits && matches(pattern.as_str(), letters.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        assert!(matches("*", "sort"));
        assert!(matches("so?t", "sort"));
        assert!(matches("*o*", "sort"));
        assert!(matches("sort*", "sort"));
        assert!(!matches("sor", "sort"));
        assert!(!matches("?", ""));
        assert!(!matches("*x", "sort"));
    }

    #[test]
    fn programs_are_there_in_both_languages() {
        let programs = matching("*").unwrap();
        assert!(programs.iter().any(|p| p.language == Language::C));
        assert!(programs.iter().any(|p| p.language == Language::Cxx));
    }

    #[test]
    fn a_pattern_that_nothing_matches_is_told_what_there_is() {
        let error = matching("no such program").unwrap_err().to_string();
        assert!(error.contains("counters"), "{error}");
    }
}
