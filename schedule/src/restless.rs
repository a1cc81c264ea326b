//! The simple random scheduler, for threads that sleep: they may wake at any time.
//!
//! How long a thread sleeps orders nothing: a machine that is busy elsewhere makes any
//! sleep too short. [`Random`] lets sleepers wake when nobody else can go; here the
//! first of them is as likely to wake before each step as not.

use racehound_trace::{Rng, ThreadId};

use crate::{Pending, Random, Strategy};

/// Picks uniformly, and lets sleepers wake when it likes.
#[derive(Clone, Debug)]
pub struct Restless {
    random: Random,
    seed: u64,
    steps: u64,
}

impl Restless {
    /// The strategy of this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            seed,
            steps: 0,
        }
    }
}

impl Strategy for Restless {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        self.steps += 1;
        self.random.pick(enabled)
    }

    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        self.random.pick_waiter(waiters)
    }

    /// Asked twice about the same, it says the same: who wakes makes it another
    /// question.
    fn awaits_sleepers(&self, enabled: &[Pending]) -> bool {
        wakes(self.seed, self.steps, enabled, 2)
    }
}

/// Whether the first of the sleepers wakes before this step, as in one case of so many.
pub(crate) fn wakes(seed: u64, step: u64, enabled: &[Pending], of: usize) -> bool {
    let question = step.wrapping_mul(64).wrapping_add(enabled.len() as u64);
    Rng::new(seed ^ question.wrapping_mul(0x9e37_79b9_7f4a_7c15)).index(of) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::enabled;

    #[test]
    fn sleepers_wake_in_half_of_the_steps() {
        let enabled = enabled(&[(0, 0), (1, 1)]);
        let mut restless = Restless::new(1);
        let mut woken = 0;
        for _ in 0..1_000 {
            let wakes = restless.awaits_sleepers(&enabled);
            assert_eq!(wakes, restless.awaits_sleepers(&enabled));
            woken += u32::from(wakes);
            restless.pick(&enabled);
        }
        assert!((400..600).contains(&woken), "{woken}");
    }
}
