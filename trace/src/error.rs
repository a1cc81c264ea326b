//! What can be wrong with a trace, said for the person who has to act on it.

use std::io;

/// The result of anything that reads or writes traces.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a trace could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system said no.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is no binary trace at all.
    #[error("not a Racehound trace: the first bytes are {found}")]
    NotATrace {
        /// What the file starts with.
        found: String,
    },
    /// The file was written by another version.
    #[error(
        "the trace has format version {found}, this racehound reads up to {supported}: \
         record it again or update racehound"
    )]
    Version {
        /// The file's version.
        found: u16,
        /// The newest version this code knows.
        supported: u16,
    },
    /// Bytes are not what was written.
    #[error("the trace is damaged at byte {offset}: {what}")]
    Damaged {
        /// Offset in the file.
        offset: u64,
        /// What was expected there.
        what: String,
    },
    /// A line of a text trace cannot be understood.
    #[error("line {line}: {what}")]
    Syntax {
        /// Line number, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// A description of a trace to generate makes no sense.
    #[error("{0}")]
    Generate(String),
}

/// How a trace that was cut short ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// Where the last whole block ends.
    pub offset: u64,
    /// Bytes found after that.
    pub leftover: u64,
    /// Events that were read.
    pub events: u64,
    /// What the incomplete block announced, if its header survived: events
    /// and bytes.
    pub lost: Option<(u64, u64)>,
}

impl std::fmt::Display for Truncation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            offset,
            leftover,
            events,
            lost,
        } = self;
        write!(f, "the trace was cut short: {events} events are whole")?;
        match lost {
            Some((count, bytes)) => {
                let what = match count {
                    0 => "definitions".to_owned(),
                    n => format!("{n} more"),
                };
                let missing = bytes.saturating_sub(*leftover);
                write!(
                    f,
                    "; the block at byte {offset} announces {what} in {bytes} bytes, \
                     of which {missing} are missing"
                )
            }
            None if *leftover > 0 => {
                write!(
                    f,
                    "; {leftover} bytes of a block's header follow byte {offset}"
                )
            }
            None => write!(f, "; the closing block is missing after byte {offset}"),
        }
    }
}
