//! The findings contract: what `--json` writes. Fields are only ever added.

use serde::Serialize;

/// The contract's version.
pub const VERSION: u32 = 1;

/// Everything one command found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`VERSION`].
    pub version: u32,
    /// The program and its arguments, or the trace.
    pub program: Vec<String>,
    /// The seed of the hunt or run; none where nothing is random.
    pub seed: Option<u64>,
    /// How many executions were looked at.
    pub runs: u64,
    /// What was found, most important first.
    pub findings: Vec<Finding>,
}

impl Default for Report {
    fn default() -> Self {
        Self {
            version: VERSION,
            program: Vec::new(),
            seed: None,
            runs: 0,
            findings: Vec::new(),
        }
    }
}

/// One bug, or suspicion of one: one for each distinct set of sites.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What to call it: R1, R2, …
    pub id: String,
    /// What sort of bug.
    pub kind: Kind,
    /// How certain it is.
    pub status: Status,
    /// What it led to; absent where no harm was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harm: Option<Harm>,
    /// The memory it is about.
    pub location: Location,
    /// How many locations show it; `location` is the first.
    pub locations: usize,
    /// The accesses, in the order of the execution.
    pub accesses: Vec<Access>,
    /// Which techniques found it.
    pub found_by: Vec<String>,
    /// How they came to it.
    pub reasons: Vec<Explanation>,
    /// The first run that showed it, from 1.
    pub first_run: u64,
    /// The command that makes it happen again; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
}

/// What sort of bug a finding is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Two accesses, at least one a write, with nothing to order them.
    Race,
    /// A region that should be atomic on one location is not.
    Atomicity,
    /// A region that should be atomic on several locations is not.
    AtomicSet,
    /// Threads wait for each other.
    Deadlock,
    /// A pattern of the user's own.
    #[serde(untagged, serialize_with = "pattern")]
    Pattern(String),
}

fn pattern<S: serde::Serializer>(name: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("pattern:{name}"))
}

/// How certain a finding is, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Tried, did not happen.
    Unreproduced,
    /// Suspected, not yet tried.
    Predicted,
    /// A precise detector saw both accesses unordered in a real execution.
    Observed,
    /// Made to happen under control, and replayed.
    Confirmed,
}

impl Status {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unreproduced => "unreproduced",
            Self::Predicted => "predicted",
            Self::Observed => "observed",
            Self::Confirmed => "confirmed",
        }
    }
}

/// What a confirmed finding led to.
#[derive(Clone, Debug, Serialize)]
pub struct Harm {
    /// Crash, assertion, hang, deadlock, exit code, output.
    pub kind: String,
    /// Which signal, which code.
    pub detail: String,
    /// The run that shows it.
    pub run: u64,
}

/// The memory a finding is about.
#[derive(Clone, Debug, Serialize)]
pub struct Location {
    /// `variable`, `global`, `heap`, `stack` or `address`.
    pub what: String,
    /// Its name, as far as known.
    pub name: String,
    /// Its size in bytes.
    pub size: u32,
}

/// One access of a finding.
#[derive(Clone, Debug, Serialize)]
pub struct Access {
    /// `read` or `write`.
    pub op: String,
    /// Bytes accessed.
    pub size: u32,
    /// The thread's path in the creation tree, or its name in the trace.
    pub thread: String,
    /// Source file; absent where the trace has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in the line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The function, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The place as the trace names it: a position, statement or label.
    pub site: String,
    /// Locks held that protected it.
    pub locks: Vec<String>,
    /// Whether it was an atomic operation.
    pub atomic: bool,
    /// How the thread got there, innermost first.
    pub stack: Vec<Frame>,
}

/// One frame of a stack.
#[derive(Clone, Debug, Serialize)]
pub struct Frame {
    /// The function.
    pub function: String,
    /// Its file, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// Why a technique holds a finding to be one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The technique.
    pub by: String,
    /// Its reason, in a sentence.
    pub because: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_contract() {
        let word = |kind: Kind| serde_json::to_value(kind).unwrap();
        assert_eq!(word(Kind::Race), "race");
        assert_eq!(word(Kind::AtomicSet), "atomic-set");
        assert_eq!(word(Kind::Pattern("lost-pair".into())), "pattern:lost-pair");
        for status in [Status::Unreproduced, Status::Observed] {
            assert_eq!(serde_json::to_value(status).unwrap(), status.name());
        }
    }
}
