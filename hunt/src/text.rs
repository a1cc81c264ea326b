//! What a program printed.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// What a program printed: all of it, to compare, and how it begins and ends, to
/// read.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// Its first bytes.
    pub head: Vec<u8>,
    /// Its last bytes, if those are not among the first.
    pub tail: Vec<u8>,
    whole: u64,
    lines: u64,
    line: DefaultHasher,
    in_line: bool,
}

impl Text {
    /// How much is kept of either end.
    pub(crate) const KEPT: usize = 64 * 1024;

    /// Adds what was printed.
    pub fn add(&mut self, bytes: &[u8]) {
        let fits = (Self::KEPT - self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..fits]);
        self.tail.extend_from_slice(&bytes[fits..]);
        let excess = self.tail.len().saturating_sub(Self::KEPT);
        self.tail.drain(..excess);
        for &byte in bytes {
            if byte == b'\n' {
                self.end_line();
            } else {
                byte.hash(&mut self.line);
                self.in_line = true;
            }
        }
    }

    /// As one text.
    pub fn of(bytes: &[u8]) -> Self {
        let mut text = Self::default();
        text.add(bytes);
        text.complete()
    }

    /// Adds another text, as far as it was kept.
    pub(crate) fn append(&mut self, other: &Self) {
        self.add(other.excerpt().as_bytes());
        *self = std::mem::take(self).complete();
    }

    pub(crate) fn complete(mut self) -> Self {
        if self.in_line {
            self.end_line();
        }
        self
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line).finish();
        self.lines = self.lines.wrapping_add(line);
        let mut whole = DefaultHasher::new();
        (self.whole, line).hash(&mut whole);
        self.whole = whole.finish();
        self.in_line = false;
    }

    /// Whether the same was printed, to the byte.
    pub fn is(&self, other: &Self) -> bool {
        self.whole == other.whole
    }

    /// Whether the same lines were printed, in whatever order.
    pub fn has_lines_of(&self, other: &Self) -> bool {
        self.lines == other.lines
    }

    /// What can be read of it.
    pub fn excerpt(&self) -> String {
        let head = String::from_utf8_lossy(&self.head);
        let tail = String::from_utf8_lossy(&self.tail);
        format!("{head}{tail}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_compared_in_order_or_not() {
        let (a, b) = (Text::of(b"one\ntwo\n"), Text::of(b"two\none"));
        assert!(!a.is(&b) && a.has_lines_of(&b));
        assert!(!a.has_lines_of(&Text::of(b"one\none\n")));
    }
}
