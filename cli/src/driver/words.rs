//! Splitting text into words, as shells and as compilers do.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Whose rules to follow. Both know `'…'`, `"…"` and the backslash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quoting {
    /// A shell's: in single quotes a backslash is just that, in double quotes
    /// unless it is in front of a character that means something there.
    Shell,
    /// That of gcc's and clang's response files: a backslash always quotes.
    ResponseFile,
}

/// The words of a text; nothing if a quote is not closed.
pub(super) fn split(text: &[u8], quoting: Quoting) -> Option<Vec<OsString>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote: Option<u8> = None;
    let mut rest = text.iter().copied();
    while let Some(byte) = rest.next() {
        match (byte, quote) {
            (b'\\', Some(b'\'')) if quoting == Quoting::Shell => {
                word.get_or_insert_default().push(byte);
            }
            (b'\\', _) => {
                let quoted = rest.next();
                let word = word.get_or_insert_default();
                if quoting == Quoting::Shell {
                    let special = quoted.is_some_and(|byte| b"$`\"\\\n".contains(&byte));
                    if quote.is_some() && !special {
                        word.push(b'\\');
                    }
                    // A line that goes on in the next one.
                    if quoted == Some(b'\n') {
                        continue;
                    }
                }
                word.extend(quoted);
            }
            (b'\'' | b'"', None) => {
                word.get_or_insert_default();
                quote = Some(byte);
            }
            (_, Some(open)) if byte == open => quote = None,
            (_, None) if byte.is_ascii_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    quote
        .is_none()
        .then(|| words.into_iter().map(OsString::from_vec).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str) -> Option<Vec<OsString>> {
        split(text.as_bytes(), Quoting::Shell)
    }

    fn response(text: &str) -> Option<Vec<OsString>> {
        split(text.as_bytes(), Quoting::ResponseFile)
    }

    fn words(words: &[&str]) -> Option<Vec<OsString>> {
        Some(words.iter().map(OsString::from).collect())
    }

    #[test]
    fn words_are_split_at_white_space() {
        assert_eq!(
            shell(" ccache  gcc\t-m64\n"),
            words(&["ccache", "gcc", "-m64"])
        );
        assert_eq!(shell(" "), words(&[]));
        assert_eq!(response("a.o\r\nb.o\r\n"), words(&["a.o", "b.o"]));
    }

    #[test]
    fn quotes_keep_white_space_and_make_empty_words() {
        for split in [shell, response] {
            assert_eq!(split(r#"'a b' "c d" e" "f"#), words(&["a b", "c d", "e f"]));
            assert_eq!(split(r#"-DX='"x"' '' "#), words(&[r#"-DX="x""#, ""]));
            assert_eq!(split(r"a\ b"), words(&["a b"]));
            assert_eq!(split("'a"), None);
        }
    }

    #[test]
    fn a_backslash_in_quotes_is_where_the_two_differ() {
        assert_eq!(shell(r#"'a\b' "a\b" "\"""#), words(&[r"a\b", r"a\b", "\""]));
        assert_eq!(response(r#"'a\b' "a\b" "\"""#), words(&["ab", "ab", "\""]));
        assert_eq!(shell("a\\\nb"), words(&["ab"]));
    }
}
