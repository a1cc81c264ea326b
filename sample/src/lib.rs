//! Samplers: which calls of which functions are worth a detector's attention.
//!
//! A detector that looks at every access costs a multiple of the program's own
//! time. A sampler decides at the entry of each function whether what the
//! function does to memory is looked at. Synchronisation always is, so whatever
//! is found was there: sampling costs races, never precision.
//!
//! | sampler | looks at | paper |
//! |---|---|---|
//! | [`LiteRace`] | functions that the thread has rarely called | atexrace.txt §3.3 |
//! | [`AtexRace`] | functions that have rarely run beside each other, in this execution and in earlier ones | atexrace.txt §4 |
//!
//! Each thread has a sampler of its own and shares nothing with others but the
//! [`Past`], which [`History`] keeps from one execution to the next.
//!
//! Nothing here knows what a function is, how threads find out about each other or
//! where the history lies: a front end says so.

mod atexrace;
mod history;
mod literace;
mod location;
mod rate;

pub use atexrace::{AtexRace, STRIDE};
pub use history::{
    BYTES, Damaged, Execution, History, PairRecord, Summary, WINDOW, WORDS, is_unfinished,
};
pub use literace::LiteRace;
pub use location::{DIRECTORY, file};
pub use rate::Rate;

/// A function, the same in every execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Function(pub u64);

impl Function {
    /// The function of that name in a module of that name.
    pub fn named(module: &str, name: &str) -> Self {
        let bytes = module.bytes().chain([0]).chain(name.bytes());
        // FNV-1a: histories last longer than a build of ours.
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(hash.max(1))
    }
}

/// Two functions that ran at the same time, in whichever order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pair(u64);

impl Pair {
    /// Both may be the same function, run by two threads.
    pub fn new(one: Function, other: Function) -> Self {
        let (low, high) = (one.0.min(other.0), one.0.max(other.0));
        // 0 is no pair.
        Self(mix(low ^ mix(high).rotate_left(17)).max(1))
    }

    fn from_key(key: u64) -> Option<Self> {
        (key != 0).then_some(Self(key))
    }

    /// What stands for it in a history: never 0.
    pub fn key(self) -> u64 {
        self.0
    }
}

/// Spreads what is close together over all numbers, none twice.
fn mix(mut n: u64) -> u64 {
    n = (n ^ (n >> 32)).wrapping_mul(0xe984_6af9_b1a6_15dd);
    n = (n ^ (n >> 32)).wrapping_mul(0xe984_6af9_b1a6_15dd);
    n ^ (n >> 28)
}

/// How closely a call is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Look {
    /// Not at all.
    Away,
    /// Until it repeats itself: a place in it accesses memory for the second time.
    Briefly,
    /// At all that it does.
    Closely,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether its accesses are looked at.
    pub look: Look,
    /// So many further calls of the function need not be asked about while nobody
    /// enters a function for the first time: the same becomes of them.
    pub rest: u32,
    /// Nor so many behind those, which are not looked at.
    pub then: u32,
}

impl Decision {
    /// Whether its accesses are looked at, however closely.
    pub fn is_sampled(&self) -> bool {
        self.look > Look::Away
    }
}

/// Others whose accesses are to be looked at as well, as closely: until they enter or leave a
/// function, or in all of their current call if they are new; and in as many further calls as
/// are looked at here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Raised {
    /// Where they are in the company.
    pub positions: Vec<usize>,
    /// Whether their pairs have not met before.
    pub are_new: bool,
}

impl Raised {
    fn clear(&mut self) {
        self.positions.clear();
        self.are_new = false;
    }
}

/// What a thread has done since it asked last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Since {
    /// Calls of the function that is entered now, without asking.
    pub rested: u32,
    /// Calls of any function that were looked at because others wanted it.
    pub obliged: u32,
}

/// Decides for one thread.
pub trait Sampler {
    /// The thread enters `function` while the others are in `company`. Who of them is to
    /// look as well is in `raised` then.
    fn enter(
        &mut self,
        function: Function,
        since: Since,
        company: &[Function],
        raised: &mut Raised,
    ) -> Decision;

    /// Whether it wants to know the company.
    fn minds_company(&self) -> bool {
        true
    }
}

/// What was seen in earlier executions, and what will have been in later ones.
pub trait Past {
    /// How often the pair has met, if it is frequent: met in each of the last
    /// executions.
    fn recall(&self, pair: Pair) -> Option<u32>;

    /// The pair has met in this execution, that many times since it was noted last.
    fn note(&self, pair: Pair, calls: u32);
}
