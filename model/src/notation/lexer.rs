//! Words, numbers and signs, each with its place.

use super::{NotationError, Position, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    Word(&'a str),
    Integer(i64),
    Sign(&'static str),
    /// `;` or the end of a line.
    Separator,
    End,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind<'a>,
    pub(crate) at: Position,
    /// Byte range in the text.
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Longer signs first: the first that fits is taken.
const SIGNS: [&str; 20] = [
    "==", "!=", "<=", ">=", "&&", "||", "=", "!", "<", ">", "+", "-", "*", "(", ")", "{", "}", ",",
    ".", ":",
];

/// The tokens of `text`, ending with [`Kind::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut at = Position { line: 1, column: 1 };
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        let rest = &text[start..];
        let run = |belongs: fn(char) -> bool| rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        let (kind, length) = if rest.starts_with("//") {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if first == '\n' || first == ';' {
            (Some(Kind::Separator), 1)
        } else if first.is_whitespace() {
            (None, first.len_utf8())
        } else if first.is_ascii_digit() {
            let length = run(|c| c.is_ascii_alphanumeric() || c == '_');
            let digits = &rest[..length];
            let number = digits.parse().map_err(|_| {
                NotationError::new(at, format!("`{digits}` is not a 64-bit integer"))
            })?;
            (Some(Kind::Integer(number)), length)
        } else if first.is_alphabetic() || first == '_' {
            let length = run(|c| c.is_alphanumeric() || c == '_');
            (Some(Kind::Word(&rest[..length])), length)
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let Some(sign) = sign else {
                let what = format!("`{first}` means nothing here");
                return Err(NotationError::new(at, what));
            };
            (Some(Kind::Sign(sign)), sign.len())
        };
        let end = start + length;
        if let Some(kind) = kind {
            tokens.push(Token {
                kind,
                at,
                start,
                end,
            });
        }
        if first == '\n' {
            at.line += 1;
            at.column = 1;
        } else {
            at.column += text[start..end].chars().count() as u32;
        }
        start = end;
    }
    tokens.push(Token {
        kind: Kind::End,
        at,
        start,
        end: start,
    });
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_know_their_place() {
        let tokens = tokens("x = 12 // no\n  l1:<=").unwrap();
        let found: Vec<_> = tokens
            .iter()
            .map(|t| (t.kind, t.at.line, t.at.column))
            .collect();
        assert_eq!(
            found,
            [
                (Kind::Word("x"), 1, 1),
                (Kind::Sign("="), 1, 3),
                (Kind::Integer(12), 1, 5),
                (Kind::Separator, 1, 13),
                (Kind::Word("l1"), 2, 3),
                (Kind::Sign(":"), 2, 5),
                (Kind::Sign("<="), 2, 6),
                (Kind::End, 2, 8),
            ]
        );
    }

    #[test]
    fn strange_characters_are_named() {
        let error = tokens("x = 1\n  @").unwrap_err();
        assert_eq!(error.to_string(), "2:3: `@` means nothing here");
        let error = tokens("12ab").unwrap_err();
        assert_eq!(error.to_string(), "1:1: `12ab` is not a 64-bit integer");
    }
}
