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
}
