//! Where an access of a pair is, as plans name it, and what it does there if that matters.
//!
//! A line such as `running--` reads and writes. Whoever knows which of the two a suspicion
//! is about says so, `spider.c:58:write`, and nobody is postponed at the other one.

use std::fmt;

/// A place by its name, and whether only reads or only writes are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place<'a> {
    /// What the host finds it by, such as `bank.c:12`.
    pub at: &'a str,
    /// `None` stands for every access.
    pub writes: Option<bool>,
}

impl<'a> From<&'a str> for Place<'a> {
    fn from(name: &'a str) -> Self {
        let (at, writes) = match name.rsplit_once(':') {
            Some((at, "read")) => (at, Some(false)),
            Some((at, "write")) => (at, Some(true)),
            _ => (name, None),
        };
        Self { at, writes }
    }
}

/// Where in a file a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position<'a> {
    /// As much of its path as is needed.
    pub file: &'a str,
    /// The line.
    pub line: u32,
    /// The column, where one of several accesses in the line is meant.
    pub column: Option<u32>,
}

impl<'a> Place<'a> {
    /// Its position in the source, if it is named by that: `bank.c:12`, or `bank.c:12:9` as
    /// reports have it.
    pub fn position(&self) -> Option<Position<'a>> {
        let number = |text: &'a str| -> Option<(&'a str, u32)> {
            let (before, number) = text.rsplit_once(':')?;
            Some((before, number.parse().ok().filter(|&number| number > 0)?))
        };
        let (before, last) = number(self.at)?;
        let (file, line, column) = match number(before) {
            Some((file, line)) => (file, line, Some(last)),
            None => (before, last, None),
        };
        (!file.is_empty()).then_some(Position { file, line, column })
    }

    /// Its module and the offset there, if it is named by these: `bank+0x11d0`.
    pub fn offset(&self) -> Option<(&'a str, usize)> {
        let (module, offset) = self.at.rsplit_once("+0x")?;
        Some((module, usize::from_str_radix(offset, 16).ok()?))
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.at)?;
        f.write_str(match self.writes {
            Some(false) => ":read",
            Some(true) => ":write",
            None => "",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_say_what_is_done_there() {
        for (name, at, writes) in [
            ("bank.c:12", "bank.c:12", None),
            ("bank.c:12:write", "bank.c:12", Some(true)),
            ("bank.c:12:read", "bank.c:12", Some(false)),
            ("bank+0x11d0", "bank+0x11d0", None),
            ("read", "read", None),
        ] {
            assert_eq!(Place::from(name), Place { at, writes }, "{name}");
            assert_eq!(Place::from(name).to_string(), name);
        }
    }

    #[test]
    fn a_name_is_a_position_or_an_offset_or_neither() {
        let position = |name| {
            let position = Place::from(name).position()?;
            Some((position.file, position.line, position.column))
        };
        assert_eq!(position("src/bank.c:12"), Some(("src/bank.c", 12, None)));
        assert_eq!(position("bank.c:12:9"), Some(("bank.c", 12, Some(9))));
        assert_eq!(position("bank.c:12:9:read"), Some(("bank.c", 12, Some(9))));
        for name in [
            "bank.c",
            "bank.c:0",
            "bank.c:-3",
            "bank.c:12:wrote",
            ":12",
            "bank+0x11d0",
        ] {
            assert_eq!(position(name), None, "{name}");
        }
        assert_eq!(Place::from("bank+0x11d0").offset(), Some(("bank", 0x11d0)));
        assert_eq!(Place::from("bank+0xword").offset(), None);
    }
}
