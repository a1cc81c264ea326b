//! What the runtime is told, in the environment of the program.

use std::ffi::{OsStr, OsString};

/// Where the runtime looks for it.
pub const VARIABLE: &str = "RACEHOUND_OPTIONS";

/// A value that the runtime could not read.
#[derive(Debug, thiserror::Error)]
#[error("{0}: the runtime wants a name in UTF-8, with at most one sort of quotes in it")]
pub struct Unspeakable(String);

/// Environments are of lengths that are multiples of this, as far as it is up to us: the
/// system puts a program's first stack below its environment, and where that is should not
/// depend on how the schedule is called that is followed.
const GRAIN: usize = 1024;

/// Options, as they are put together. What they do not need of their room is blank.
#[derive(Clone, Debug, Default)]
pub struct Options {
    said: OsString,
    padded: OsString,
}

impl Options {
    /// Those that are in our own environment already.
    pub fn inherited() -> Self {
        let said = std::env::var_os(VARIABLE).unwrap_or_default();
        let padded = padded(&said);
        Self { said, padded }
    }

    /// Adds one, which counts more than what was said before.
    pub fn add(&mut self, name: &str, value: impl AsRef<OsStr>) -> Result<(), Unspeakable> {
        let value = value.as_ref();
        let mut quotes = ["'", "\""].into_iter();
        let quote = value
            .to_str()
            .and_then(|text| quotes.find(|quote| !text.contains(quote)));
        let Some(quote) = quote else {
            return Err(Unspeakable(value.display().to_string()));
        };
        if !self.said.is_empty() {
            self.said.push(":");
        }
        self.said.push(format!("{name}={quote}"));
        self.said.push(value);
        self.said.push(quote);
        self.padded = padded(&self.said);
        Ok(())
    }
}

fn padded(said: &OsStr) -> OsString {
    let blanks = said.len().next_multiple_of(GRAIN) - said.len();
    let mut padded = said.to_owned();
    padded.push(" ".repeat(blanks));
    padded
}

impl AsRef<OsStr> for Options {
    fn as_ref(&self) -> &OsStr {
        &self.padded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_by_what_they_do_not_contain() {
        let mut options = Options::default();
        options.add("record", "it's.rht").unwrap();
        options.add("findings", "a \"b\"").unwrap();
        assert_eq!(options.said, r#"record="it's.rht":findings='a "b"'"#);
        assert!(options.add("record", r#"'""#).is_err());
    }

    #[test]
    fn whatever_is_said_takes_the_same_room() {
        let length = |plan: &str| {
            let mut options = Options::default();
            options.add("schedule", plan).unwrap();
            let text = options.as_ref().to_str().unwrap().to_owned();
            assert_eq!(text.trim_end(), format!("schedule='{plan}'"));
            text.len()
        };
        assert_eq!(length("random:seed=7"), length("replay:file=run.schedule"));
    }
}
