//! How much of what is known already is looked at again.

use std::fmt;
use std::str::FromStr;

/// Bursts: the first so many calls out of so many (atexrace.txt §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    take: u32,
    of: u32,
}

impl Rate {
    /// Longer rounds are not counted from one execution to the next.
    pub const LONGEST: u32 = 1 << 16;

    /// The first `take` calls out of `of`.
    pub fn new(take: u32, of: u32) -> Option<Self> {
        (take <= of && (1..=Self::LONGEST).contains(&of)).then_some(Self { take, of })
    }

    /// Whether a call is in a burst, after that many others.
    pub fn takes(self, calls_before: u32) -> bool {
        calls_before % self.of < self.take
    }

    /// How many calls after that one have the same fate, until a burst begins or ends.
    pub fn stays(self, calls_before: u32) -> u32 {
        let at = calls_before % self.of;
        match at < self.take {
            true => self.take - at - 1,
            false => self.of - at - 1,
        }
    }

    /// How many calls there are for each that is taken, if one is.
    pub fn one_in(self) -> Option<u32> {
        (self.take == 1).then_some(self.of)
    }

    /// Calls in a burst.
    pub fn burst(self) -> u32 {
        self.take
    }

    /// Calls from one burst to the next.
    pub fn between(self) -> u32 {
        self.of - self.take
    }

    /// Calls in a round.
    pub fn round(self) -> u32 {
        self.of
    }
}

impl Default for Rate {
    /// The paper's.
    fn default() -> Self {
        Self { take: 10, of: 100 }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}/{}", self.take, self.of)
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let parsed = parts.and_then(|(take, of)| Some((take.parse().ok()?, of.parse().ok()?)));
        parsed
            .and_then(|(take, of)| Self::new(take, of))
            .ok_or_else(|| {
                format!(
                    "'{text}' is no rate: TAKE/OF as in 10/100, TAKE at most OF, OF at most {}",
                    Self::LONGEST
                )
            })
    }
}
