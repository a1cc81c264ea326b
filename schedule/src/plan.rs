//! A strategy, described: as a command line or an environment variable carries
//! it from who decides to who executes.
//!
//! ```
//! use racehound_schedule::Plan;
//!
//! let plan: Plan = "racefuzzer:seed=7,pair=bank.c:12,bank.c:30".parse()?;
//! assert_eq!(plan.to_string(), "racefuzzer:seed=7,pair=bank.c:12,bank.c:30");
//!
//! let error = "pct:seed=7,dept=3".parse::<Plan>().unwrap_err();
//! assert_eq!(error.to_string(), "pct has no setting `dept`; it has seed, depth, length");
//! # Ok::<(), racehound_schedule::PlanError>(())
//! ```
//!
//! # The text
//! A name, and after a colon settings, separated by commas:
//!
//! | plan | settings, and what they are if not given |
//! |---|---|
//! | `free` | none: the operating system decides |
//! | `sequential` | none |
//! | `random` | `seed=0` |
//! | `restless` | `seed=0` |
//! | `overtake` | `seed=0` |
//! | `embrace` | `seed=0` |
//! | `pct` | `seed=0`, `depth=3`, `length=STEPS`: any, if not given |
//! | `contest` | `seed=0`, `percent=10`, `longest=1000` microseconds |
//! | `racefuzzer` | `seed=0`, `pair=PLACE,PLACE` once or more, `first=random`, `1` or `2`, `patience=100000` |
//! | `drfinder` | `seed=0`, `depth=12`, `relations=PATH`: none are known, and none are kept |
//! | `collect` | `depth=12`, `relations=PATH`: nobody interferes, and relations are collected |
//! | `replay` | `file=PATH` |
//! | `follow` | `file=PATH`, and `verdict=PATH` to write down what became of it |
//!
//! A place of a pair is whatever the host can find sites by, such as
//! `bank.c:12` or `bank+0x11d0`, or only what reads or writes there
//! (`bank.c:12:write`, see [`Place`](crate::Place)); several that are one statement
//! are joined by `|`. Within places and paths `\` stands before a comma, an equals sign, a
//! bar or a backslash that is meant.

use std::fmt::{self, Write};
use std::str::FromStr;

use racehound_trace::SiteId;

use crate::{
    Collector, ConTest, Embrace, Overtake, Pair, Pct, RaceFuzzer, Random, Resolution, Restless,
    Sequential, Strategy,
};

/// How an execution is to be scheduled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Nobody interferes.
    Free,
    /// [`Sequential`].
    Sequential,
    /// [`Random`].
    Random {
        /// Its seed.
        seed: u64,
    },
    /// [`Restless`].
    Restless {
        /// Its seed.
        seed: u64,
    },
    /// [`Overtake`].
    Overtake {
        /// Its seed.
        seed: u64,
    },
    /// [`Embrace`].
    Embrace {
        /// Its seed.
        seed: u64,
    },
    /// [`Pct`].
    Pct {
        /// Its seed.
        seed: u64,
        /// Depth of the bugs looked for.
        depth: u32,
        /// About how many steps the execution has, if that was observed.
        length: Option<u64>,
    },
    /// Nobody interferes but for [`ConTest`]'s delays.
    ConTest(ConTest),
    /// [`RaceFuzzer`].
    RaceFuzzer {
        /// Its seed.
        seed: u64,
        /// The suspects, at least one pair.
        pairs: Vec<Places>,
        /// Who goes first when they meet.
        resolution: Resolution,
        /// For how many steps somebody is kept waiting at most.
        patience: u64,
    },
    /// [`DrFinder`](crate::DrFinder).
    DrFinder {
        /// Its seed.
        seed: u64,
        /// How the may-trigger relations are kept.
        collecting: Collecting,
    },
    /// Nobody interferes, and may-trigger relations are collected.
    Collect(Collecting),
    /// [`Replay`](crate::Replay) of a schedule in a file.
    Replay {
        /// Its path.
        file: String,
    },
    /// [`Follow`](crate::Follow) a schedule in a file to its anomaly.
    Follow {
        /// Its path.
        file: String,
        /// Where to write what became of the anomaly.
        verdict: Option<String>,
    },
}

/// How may-trigger relations are collected, and where they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collecting {
    /// How many functions of a stack are looked at.
    pub depth: u32,
    /// The file in which they are kept, if in any.
    pub relations: Option<String>,
}

impl Default for Collecting {
    fn default() -> Self {
        Self {
            depth: Collector::DEPTH as u32,
            relations: None,
        }
    }
}

/// Two statements, each by the names of all its places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// One of them.
    pub first: Vec<String>,
    /// The other one.
    pub second: Vec<String>,
}

/// Why a text is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The messages say it.
pub enum PlanError {
    #[error("no strategy is called {0:?}; there are {names}", names = NAMES.join(", "))]
    UnknownName(String),
    #[error("{plan} has no setting `{key}`{}", known(keys))]
    UnknownKey {
        plan: &'static str,
        key: String,
        keys: Vec<&'static str>,
    },
    #[error("`{0}` is no setting: expected something such as `seed=7`")]
    NoSetting(String),
    #[error("`{0}` is given twice")]
    Twice(String),
    #[error("`{key}={value}`: expected {expected}")]
    Value {
        key: &'static str,
        value: String,
        expected: &'static str,
    },
    #[error("racefuzzer needs two places that may race, such as pair=bank.c:12,bank.c:30")]
    NoPair,
    #[error("`pair={0}`: expected two places, such as pair=bank.c:12,bank.c:30")]
    HalfAPair(String),
    #[error("{0} needs a schedule, such as file=run.schedule")]
    NoFile(&'static str),
}

const NAMES: [&str; 13] = [
    "free",
    "sequential",
    "random",
    "restless",
    "overtake",
    "embrace",
    "pct",
    "contest",
    "racefuzzer",
    "drfinder",
    "collect",
    "replay",
    "follow",
];

fn known(keys: &[&str]) -> String {
    match keys {
        [] => "; it has none".to_owned(),
        keys => format!("; it has {}", keys.join(", ")),
    }
}

impl Plan {
    /// What the plan is called.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Sequential => "sequential",
            Self::Random { .. } => "random",
            Self::Restless { .. } => "restless",
            Self::Overtake { .. } => "overtake",
            Self::Embrace { .. } => "embrace",
            Self::Pct { .. } => "pct",
            Self::ConTest(_) => "contest",
            Self::RaceFuzzer { .. } => "racefuzzer",
            Self::DrFinder { .. } => "drfinder",
            Self::Collect(_) => "collect",
            Self::Replay { .. } => "replay",
            Self::Follow { .. } => "follow",
        }
    }

    /// The strategy, given which sites a place has. `None` where nobody
    /// decides, and where there is a file, which is for the host to read.
    pub fn strategy(
        &self,
        mut sites: impl FnMut(&str) -> Vec<SiteId>,
    ) -> Option<Box<dyn Strategy + Send>> {
        Some(match self {
            Self::Free
            | Self::ConTest(_)
            | Self::Collect(_)
            | Self::DrFinder { .. }
            | Self::Replay { .. }
            | Self::Follow { .. } => return None,
            Self::Sequential => Box::new(Sequential::new()),
            Self::Random { seed } => Box::new(Random::new(*seed)),
            Self::Restless { seed } => Box::new(Restless::new(*seed)),
            Self::Overtake { seed } => Box::new(Overtake::new(*seed)),
            Self::Embrace { seed } => Box::new(Embrace::new(*seed)),
            Self::Pct {
                seed,
                depth,
                length,
            } => Box::new(match length {
                Some(length) => Pct::new(*seed, *depth, *length),
                None => Pct::of_unknown_length(*seed, *depth),
            }),
            Self::RaceFuzzer {
                seed,
                pairs,
                resolution,
                patience,
            } => {
                let mut side = |places: &[String]| places.iter().flat_map(|p| sites(p)).collect();
                let pair = |places: &Places| Pair {
                    first: side(&places.first),
                    second: side(&places.second),
                };
                let fuzzer = RaceFuzzer::new(*seed, pairs.iter().map(pair).collect());
                let fuzzer = fuzzer.with_resolution(*resolution);
                Box::new(fuzzer.with_patience(*patience))
            }
        })
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Free | Self::Sequential => Ok(()),
            Self::Random { seed }
            | Self::Restless { seed }
            | Self::Overtake { seed }
            | Self::Embrace { seed } => {
                write!(f, ":seed={seed}")
            }
            Self::Pct {
                seed,
                depth,
                length,
            } => {
                write!(f, ":seed={seed},depth={depth}")?;
                length.map_or(Ok(()), |length| write!(f, ",length={length}"))
            }
            Self::ConTest(ConTest {
                seed,
                percent,
                longest,
            }) => write!(f, ":seed={seed},percent={percent},longest={longest}"),
            Self::RaceFuzzer {
                seed,
                pairs,
                resolution,
                patience,
            } => {
                write!(f, ":seed={seed}")?;
                for pair in pairs {
                    write!(f, ",pair={pair}")?;
                }
                match resolution {
                    Resolution::Random => {}
                    Resolution::First => f.write_str(",first=1")?,
                    Resolution::Second => f.write_str(",first=2")?,
                }
                match *patience {
                    RaceFuzzer::PATIENCE => Ok(()),
                    patience => write!(f, ",patience={patience}"),
                }
            }
            Self::DrFinder { seed, collecting } => write!(f, ":seed={seed},{collecting}"),
            Self::Collect(collecting) => write!(f, ":{collecting}"),
            Self::Replay { file } => write!(f, ":file={}", escaped(file)),
            Self::Follow { file, verdict } => {
                write!(f, ":file={}", escaped(file))?;
                match verdict {
                    Some(verdict) => write!(f, ",verdict={}", escaped(verdict)),
                    None => Ok(()),
                }
            }
        }
    }
}

impl fmt::Display for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", joined(&self.first), joined(&self.second))
    }
}

impl fmt::Display for Collecting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "depth={}", self.depth)?;
        match &self.relations {
            Some(file) => write!(f, ",relations={}", escaped(file)),
            None => Ok(()),
        }
    }
}

impl FromStr for Plan {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let named = NAMES.iter().find(|known| **known == name);
        let name = *named.ok_or_else(|| PlanError::UnknownName(name.to_owned()))?;
        let mut settings = Settings::of(settings)?;
        let plan = match name {
            "free" => Self::Free,
            "sequential" => Self::Sequential,
            "random" => Self::Random {
                seed: settings.number("seed", 0..=u64::MAX, 0)?,
            },
            "restless" => Self::Restless {
                seed: settings.number("seed", 0..=u64::MAX, 0)?,
            },
            "overtake" => Self::Overtake {
                seed: settings.number("seed", 0..=u64::MAX, 0)?,
            },
            "embrace" => Self::Embrace {
                seed: settings.number("seed", 0..=u64::MAX, 0)?,
            },
            "pct" => Self::Pct {
                seed: settings.number("seed", 0..=u64::MAX, 0)?,
                depth: settings.number("depth", 1..=u64::from(u32::MAX), 3)? as u32,
                length: settings.number_if_given("length", 1..=u64::MAX)?,
            },
            "contest" => {
                let usual = ConTest::new(settings.number("seed", 0..=u64::MAX, 0)?);
                let percent = settings.number("percent", 0..=100, usual.percent.into())?;
                let most = u64::from(u32::MAX);
                let longest = settings.number("longest", 0..=most, usual.longest.into())?;
                Self::ConTest(ConTest {
                    percent: percent as u32,
                    longest: longest as u32,
                    ..usual
                })
            }
            "racefuzzer" => Self::RaceFuzzer {
                seed: settings.number("seed", 0..=u64::MAX, 0)?,
                pairs: settings.pairs()?,
                resolution: settings.resolution()?,
                patience: settings.number("patience", 1..=u64::MAX, RaceFuzzer::PATIENCE)?,
            },
            "drfinder" => Self::DrFinder {
                seed: settings.number("seed", 0..=u64::MAX, 0)?,
                collecting: settings.collecting()?,
            },
            "collect" => Self::Collect(settings.collecting()?),
            "replay" => Self::Replay {
                file: settings.file("replay")?,
            },
            _ => Self::Follow {
                file: settings.file("follow")?,
                verdict: settings.take("verdict").map(|file| unescaped(&file)),
            },
        };
        settings.nothing_left(name)?;
        Ok(plan)
    }
}

/// Settings that have not been asked for yet.
struct Settings {
    left: Vec<(String, String)>,
    asked: Vec<&'static str>,
}

impl Settings {
    fn of(text: &str) -> Result<Self, PlanError> {
        let mut left: Vec<(String, String)> = Vec::new();
        let parts = match text {
            "" => Vec::new(),
            text => split(text, ','),
        };
        for part in parts {
            match (&split(part, '=')[..], left.last_mut()) {
                // The second place of a pair.
                ([place], Some((key, value))) if key == "pair" && split(value, ',').len() == 1 => {
                    value.push(',');
                    value.push_str(place);
                }
                ([key, value], _) => {
                    if *key != "pair" && left.iter().any(|(known, _)| known == key) {
                        return Err(PlanError::Twice((*key).to_owned()));
                    }
                    left.push(((*key).to_owned(), (*value).to_owned()));
                }
                _ => return Err(PlanError::NoSetting(part.to_owned())),
            }
        }
        let asked = Vec::new();
        Ok(Self { left, asked })
    }

    fn take(&mut self, key: &'static str) -> Option<String> {
        if !self.asked.contains(&key) {
            self.asked.push(key);
        }
        let index = self.left.iter().position(|(known, _)| known == key)?;
        Some(self.left.remove(index).1)
    }

    fn number(
        &mut self,
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
        usual: u64,
    ) -> Result<u64, PlanError> {
        Ok(self.number_if_given(key, range)?.unwrap_or(usual))
    }

    fn number_if_given(
        &mut self,
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, PlanError> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        let expected = match (*range.start(), *range.end()) {
            (0, 100) => "a whole number from 0 to 100",
            (0, _) => "a whole number",
            _ => "a whole number from 1 on",
        };
        let number = value.parse().ok().filter(|n| range.contains(n));
        number.map(Some).ok_or(PlanError::Value {
            key,
            value,
            expected,
        })
    }

    fn pairs(&mut self) -> Result<Vec<Places>, PlanError> {
        let mut pairs = Vec::new();
        while let Some(pair) = self.take("pair") {
            let sides = split(&pair, ',');
            let places = |side: &str| -> Vec<String> {
                split(side, '|').into_iter().map(unescaped).collect()
            };
            let sides: Vec<_> = sides.into_iter().map(places).collect();
            let empty = sides.iter().flatten().any(String::is_empty);
            let Ok([first, second]) = <[_; 2]>::try_from(sides) else {
                return Err(PlanError::HalfAPair(pair));
            };
            if empty {
                return Err(PlanError::HalfAPair(pair));
            }
            pairs.push(Places { first, second });
        }
        match pairs.is_empty() {
            true => Err(PlanError::NoPair),
            false => Ok(pairs),
        }
    }

    fn resolution(&mut self) -> Result<Resolution, PlanError> {
        let key = "first";
        match self.take(key).as_deref() {
            None | Some("random") => Ok(Resolution::Random),
            Some("1") => Ok(Resolution::First),
            Some("2") => Ok(Resolution::Second),
            Some(value) => Err(PlanError::Value {
                key,
                value: value.to_owned(),
                expected: "random, 1 or 2: which place of the pair goes first",
            }),
        }
    }

    fn collecting(&mut self) -> Result<Collecting, PlanError> {
        let usual = Collector::DEPTH as u64;
        let depth = self.number("depth", 1..=u64::from(u32::MAX), usual)? as u32;
        let relations = self.take("relations").map(|file| unescaped(&file));
        Ok(Collecting {
            depth,
            relations: relations.filter(|file| !file.is_empty()),
        })
    }

    fn file(&mut self, plan: &'static str) -> Result<String, PlanError> {
        let file = self.take("file").map(|file| unescaped(&file));
        file.filter(|file| !file.is_empty())
            .ok_or(PlanError::NoFile(plan))
    }

    fn nothing_left(self, plan: &'static str) -> Result<(), PlanError> {
        match self.left.into_iter().next() {
            None => Ok(()),
            Some((key, _)) => Err(PlanError::UnknownKey {
                plan,
                key,
                keys: self.asked,
            }),
        }
    }
}

/// The parts between `separator`s that no backslash stands before.
fn split(text: &str, separator: char) -> Vec<&str> {
    let mut meant = false;
    text.split(|c| {
        let splits = c == separator && !meant;
        meant = c == '\\' && !meant;
        splits
    })
    .collect()
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | ',' | '=' | '|') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn unescaped(text: &str) -> String {
    let mut unescaped = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => unescaped.extend(chars.next()),
            c => unescaped.push(c),
        }
    }
    unescaped
}

fn joined(places: &[String]) -> String {
    let mut joined = String::new();
    for (index, place) in places.iter().enumerate() {
        let bar = if index > 0 { "|" } else { "" };
        let _ = write!(joined, "{bar}{}", escaped(place));
    }
    joined
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, any, prop_assert_eq, prop_oneof, proptest};
    use proptest::strategy::Strategy as Generator;
    use racehound_trace::{Loc, Op, ThreadId};

    use super::*;
    use crate::Pending;

    fn error(text: &str) -> String {
        text.parse::<Plan>().unwrap_err().to_string()
    }

    #[test]
    fn what_is_not_given_is_as_usual() {
        for (text, full) in [
            ("free", "free"),
            ("sequential:", "sequential"),
            ("random", "random:seed=0"),
            ("pct:depth=2", "pct:seed=0,depth=2"),
            ("contest:seed=3", "contest:seed=3,percent=10,longest=1000"),
            (
                "racefuzzer:pair=a.c:1,b.c:2,patience=9,first=2,pair=c|d,e",
                "racefuzzer:seed=0,pair=a.c:1,b.c:2,pair=c|d,e,first=2,patience=9",
            ),
            ("drfinder", "drfinder:seed=0,depth=12"),
            (
                "collect:relations=a\\,b",
                "collect:depth=12,relations=a\\,b",
            ),
            ("replay:file=C:\\\\a\\,b", "replay:file=C:\\\\a\\,b"),
            ("follow:verdict=v,file=f", "follow:file=f,verdict=v"),
        ] {
            assert_eq!(text.parse::<Plan>().unwrap().to_string(), full);
        }
    }

    #[test]
    fn errors_teach() {
        for (text, message) in [
            (
                "randm:seed=1",
                "no strategy is called \"randm\"; there are free, sequential, random, restless, \
                 overtake, embrace, pct, \
                 contest, racefuzzer, drfinder, collect, replay, follow",
            ),
            ("free:seed=1", "free has no setting `seed`; it has none"),
            ("random:sed=1", "random has no setting `sed`; it has seed"),
            (
                "random:7",
                "`7` is no setting: expected something such as `seed=7`",
            ),
            ("random:seed=1,seed=2", "`seed` is given twice"),
            ("random:seed=-1", "`seed=-1`: expected a whole number"),
            (
                "pct:depth=0",
                "`depth=0`: expected a whole number from 1 on",
            ),
            (
                "contest:percent=101",
                "`percent=101`: expected a whole number from 0 to 100",
            ),
            (
                "racefuzzer",
                "racefuzzer needs two places that may race, such as pair=bank.c:12,bank.c:30",
            ),
            (
                "racefuzzer:pair=a.c:1,seed=2",
                "`pair=a.c:1`: expected two places, such as pair=bank.c:12,bank.c:30",
            ),
            (
                "racefuzzer:pair=a,b,c",
                "`c` is no setting: expected something such as `seed=7`",
            ),
            (
                "racefuzzer:pair=a,b|",
                "`pair=a,b|`: expected two places, such as pair=bank.c:12,bank.c:30",
            ),
            (
                "racefuzzer:pair=a,b,first=b",
                "`first=b`: expected random, 1 or 2: which place of the pair goes first",
            ),
            (
                "replay",
                "replay needs a schedule, such as file=run.schedule",
            ),
        ] {
            assert_eq!(error(text), message, "{text}");
        }
    }

    #[test]
    fn a_plan_makes_the_strategy_it_describes() {
        let site = |place: &str| place.parse().map(SiteId).into_iter().collect();
        for name in [
            "free",
            "contest",
            "collect",
            "drfinder",
            "replay:file=f",
            "follow:file=f",
        ] {
            assert!(name.parse::<Plan>().unwrap().strategy(site).is_none());
        }
        let plan: Plan = "racefuzzer:seed=1,pair=1|5,2,first=2".parse().unwrap();
        let mut strategy = plan.strategy(site).unwrap();
        assert_eq!(strategy.watched(), [1, 2, 5].map(SiteId));
        let at = |thread, site| Pending {
            thread: ThreadId(thread),
            site: SiteId(site),
            op: Some(Op::Write {
                loc: Loc(0),
                size: 1,
            }),
        };
        assert_eq!(strategy.pick(&[at(0, 2), at(1, 5)]), 0);
        assert_eq!(strategy.meetings().len(), 1);
    }

    fn places() -> impl Generator<Value = Vec<String>> {
        proptest::collection::vec("[ -~é]{1,8}", 1..3)
    }

    fn collecting() -> impl Generator<Value = Collecting> {
        let file = proptest::option::of("[ -~é]{1,12}");
        (1..u32::MAX, file).prop_map(|(depth, relations)| Collecting { depth, relations })
    }

    fn plans() -> impl Generator<Value = Plan> {
        let pair = (places(), places()).prop_map(|(first, second)| Places { first, second });
        let resolution = prop_oneof![
            Just(Resolution::Random),
            Just(Resolution::First),
            Just(Resolution::Second)
        ];
        let pairs = proptest::collection::vec(pair, 1..3);
        prop_oneof![
            Just(Plan::Free),
            Just(Plan::Sequential),
            any::<u64>().prop_map(|seed| Plan::Random { seed }),
            any::<u64>().prop_map(|seed| Plan::Restless { seed }),
            any::<u64>().prop_map(|seed| Plan::Overtake { seed }),
            any::<u64>().prop_map(|seed| Plan::Embrace { seed }),
            (any::<u64>(), 1..u32::MAX, proptest::option::of(1..u64::MAX)).prop_map(
                |(seed, depth, length)| {
                    Plan::Pct {
                        seed,
                        depth,
                        length,
                    }
                }
            ),
            (any::<u64>(), 0..=100u32, any::<u32>()).prop_map(|(seed, percent, longest)| {
                Plan::ConTest(ConTest {
                    seed,
                    percent,
                    longest,
                })
            }),
            (any::<u64>(), pairs, resolution, 1..u64::MAX).prop_map(
                |(seed, pairs, resolution, patience)| Plan::RaceFuzzer {
                    seed,
                    pairs,
                    resolution,
                    patience,
                }
            ),
            (any::<u64>(), collecting())
                .prop_map(|(seed, collecting)| Plan::DrFinder { seed, collecting }),
            collecting().prop_map(Plan::Collect),
            "[ -~é]{1,12}".prop_map(|file| Plan::Replay { file }),
            ("[ -~é]{1,12}", proptest::option::of("[ -~é]{0,12}"))
                .prop_map(|(file, verdict)| Plan::Follow { file, verdict }),
        ]
    }

    proptest! {
        #[test]
        fn a_plan_survives_its_text(plan in plans()) {
            prop_assert_eq!(plan.to_string().parse::<Plan>(), Ok(plan));
        }

        #[test]
        fn no_text_is_too_much(text in "(random|pct|contest|racefuzzer|drfinder|collect|replay|follow)?:?[a-z=,|\\\\:0-9é]{0,30}") {
            if let Ok(plan) = text.parse::<Plan>() {
                prop_assert_eq!(plan.to_string().parse::<Plan>(), Ok(plan));
            }
        }
    }
}
