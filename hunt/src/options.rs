//! What the runtime is told, in the environment of the program.

use std::ffi::{OsStr, OsString};

/// Where the runtime looks for it.
pub const VARIABLE: &str = "RACEHOUND_OPTIONS";

/// A value that the runtime could not read.
#[derive(Debug, thiserror::Error)]
#[error("{0}: the runtime wants a name in UTF-8, with at most one sort of quotes in it")]
pub struct Unspeakable(String);

/// Options, as they are put together.
#[derive(Clone, Debug, Default)]
pub struct Options(OsString);

impl Options {
    /// Those that are in our own environment already.
    pub fn inherited() -> Self {
        Self(std::env::var_os(VARIABLE).unwrap_or_default())
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
        if !self.0.is_empty() {
            self.0.push(":");
        }
        self.0.push(format!("{name}={quote}"));
        self.0.push(value);
        self.0.push(quote);
        Ok(())
    }
}

impl AsRef<OsStr> for Options {
    fn as_ref(&self) -> &OsStr {
        &self.0
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
        assert_eq!(options.as_ref(), r#"record="it's.rht":findings='a "b"'"#);
        assert!(options.add("record", r#"'""#).is_err());
    }
}
