//! From text to a syntax tree: a lexer, a recursive-descent parser, and the
//! tree between them and the compiler.

mod expression;
mod lexer;
pub(crate) mod parser;
pub(crate) mod tree;

/// A place in a program's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
}

/// Why a text is no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}:{}: {what}", .file.as_deref().map(|f| format!("{f}:")).unwrap_or_default(), .at.line, .at.column)]
pub struct NotationError {
    /// The program's file, if it has one.
    pub file: Option<String>,
    /// Where.
    pub at: Position,
    /// What is wrong there.
    pub what: String,
}

impl NotationError {
    pub(crate) fn new(at: Position, what: impl Into<String>) -> Self {
        Self {
            file: None,
            at,
            what: what.into(),
        }
    }
}

pub(crate) type Result<T, E = NotationError> = std::result::Result<T, E>;
