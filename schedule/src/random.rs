//! The simple random scheduler racefuzzer.txt §3.2 compares itself with: at
//! every step each enabled thread is equally likely.
//!
//! Uniform over steps is not uniform over interleavings: orders that need one
//! thread to stand still for long are exponentially rare.

use racehound_trace::{Rng, ThreadId};

use crate::{Pending, Strategy};

/// Picks uniformly among the enabled threads, and among the waiters.
#[derive(Clone, Debug)]
pub struct Random {
    rng: Rng,
}

impl Random {
    /// The strategy of this seed: the same seed on the same program is the
    /// same execution.
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
        }
    }
}

impl Strategy for Random {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        self.rng.index(enabled.len())
    }

    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        self.rng.index(waiters.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::enabled;

    #[test]
    fn every_thread_gets_its_share() {
        let enabled = enabled(&[(0, 0), (3, 1), (5, 2)]);
        let mut random = Random::new(1);
        let mut counts = [0; 3];
        for _ in 0..3_000 {
            counts[random.pick(&enabled)] += 1;
        }
        assert!(
            counts.iter().all(|c| (900..1_100).contains(c)),
            "{counts:?}"
        );
    }

    #[test]
    fn every_waiter_gets_its_share() {
        let waiters = [4, 1, 9].map(ThreadId);
        let mut random = Random::new(2);
        let mut counts = [0; 3];
        for _ in 0..3_000 {
            counts[random.pick_waiter(&waiters)] += 1;
        }
        assert!(
            counts.iter().all(|c| (900..1_100).contains(c)),
            "{counts:?}"
        );
    }

    #[test]
    fn a_seed_is_a_schedule() {
        let enabled = enabled(&[(0, 0), (1, 1)]);
        let picks = |seed| {
            let mut random = Random::new(seed);
            (0..64).map(|_| random.pick(&enabled)).collect::<Vec<_>>()
        };
        assert_eq!(picks(7), picks(7));
        assert_ne!(picks(7), picks(8));
    }
}
