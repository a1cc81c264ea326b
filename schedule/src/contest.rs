//! ConTest's noise: random delays at synchronisation (Edelstein et al., IBM
//! Systems Journal 41(1), 2002; a rival in racefuzzer.txt §6 and drfinder.txt
//! §3 and §6).
//!
//! # The idea
//! The operating system schedules, and now and then a thread yields or sleeps a
//! little before it synchronises, so that orders come about that would not by
//! themselves. Nothing is forced, so nothing can deadlock because of it, and
//! nothing is promised either: the execution is not reproducible.
//!
//! This is no [`Strategy`](crate::Strategy): nobody is picked. The host asks,
//! before each operation, how long to hold the thread up, and holds it up.
//! [`Parallel`](crate::Parallel) does so for model programs.
//!
//! # Invariants
//! * Each thread has a stream of delays of its own, which depends on the seed
//!   and on the thread's name alone: threads share no state, and a thread that
//!   does the same operations is delayed in the same way.
//! * Only synchronisation is delayed.

use racehound_trace::Rng;

use crate::{Fingerprint, Pending};

/// How much noise to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConTest {
    /// Where the randomness comes from.
    pub seed: u64,
    /// How many of a hundred operations are delayed.
    pub percent: u32,
    /// The longest sleep, in microseconds.
    pub longest: u32,
}

impl ConTest {
    /// Delays one operation in ten, by at most a millisecond: some context
    /// switches long, and short enough for programs that synchronise often.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            percent: 10,
            longest: 1_000,
        }
    }

    /// The delays of the thread with this name, which should be its path in
    /// the creation tree.
    pub fn of_thread(&self, name: &str) -> Noise {
        let mut mixed = Fingerprint::new();
        mixed.add(self.seed);
        mixed.add_text(name);
        Noise {
            rng: Rng::new(mixed.value()),
            percent: self.percent,
            longest: self.longest,
        }
    }
}

/// What to do before an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Nothing.
    None,
    /// Let others go, if there are any.
    Yield,
    /// Sleep.
    Sleep {
        /// For so many microseconds, at least one.
        micros: u32,
    },
}

/// The delays of one thread.
#[derive(Clone, Debug)]
pub struct Noise {
    rng: Rng,
    percent: u32,
    longest: u32,
}

impl Noise {
    /// The delay before this operation.
    pub fn before(&mut self, pending: &Pending) -> Delay {
        if !pending.is_synchronisation() || self.rng.below(100) >= u64::from(self.percent) {
            return Delay::None;
        }
        if self.longest == 0 || self.rng.chance(0.5) {
            return Delay::Yield;
        }
        let micros = 1 + self.rng.below(u64::from(self.longest)) as u32;
        Delay::Sleep { micros }
    }
}

#[cfg(test)]
mod tests {
    use racehound_trace::{Loc, MemoryOrder, Op, SiteId, ThreadId};

    use super::*;

    fn about_to(op: Op) -> Pending {
        Pending {
            thread: ThreadId(0),
            site: SiteId(0),
            op: Some(op),
        }
    }

    fn fence() -> Pending {
        let order = MemoryOrder::SeqCst;
        about_to(Op::Fence { order })
    }

    fn delays(settings: ConTest, name: &str) -> Vec<Delay> {
        let mut noise = settings.of_thread(name);
        (0..1_000).map(|_| noise.before(&fence())).collect()
    }

    #[test]
    fn as_many_are_delayed_as_asked_for_and_none_for_too_long() {
        for percent in [0, 30, 100] {
            let settings = ConTest {
                percent,
                longest: 50,
                ..ConTest::new(1)
            };
            let delays = delays(settings, "0.1");
            let delayed = delays.iter().filter(|d| **d != Delay::None).count();
            assert!(delayed.abs_diff(10 * percent as usize) < 50, "{delayed}");
            let within = |d: &Delay| match d {
                Delay::Sleep { micros } => (1..=50).contains(micros),
                _ => true,
            };
            assert!(delays.iter().all(within));
            let sleeps = delays.iter().any(|d| matches!(d, Delay::Sleep { .. }));
            assert_eq!(sleeps && delays.contains(&Delay::Yield), percent > 0);
        }
    }

    #[test]
    fn threads_and_seeds_have_streams_of_their_own() {
        let seven = ConTest::new(7);
        assert_eq!(delays(seven, "0.1"), delays(seven, "0.1"));
        assert_ne!(delays(seven, "0.1"), delays(seven, "0.2"));
        assert_ne!(delays(seven, "0.1"), delays(ConTest::new(8), "0.1"));
    }

    #[test]
    fn plain_accesses_are_not_delayed() {
        let settings = ConTest {
            percent: 100,
            ..ConTest::new(1)
        };
        let read = Op::Read {
            loc: Loc(0),
            size: 1,
        };
        let mut noise = settings.of_thread("0");
        assert!((0..100).all(|_| noise.before(&about_to(read)) == Delay::None));
    }
}
