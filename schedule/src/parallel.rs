//! A machine with a core for every thread, simulated: what happens if nobody
//! interferes, or nobody but [`ConTest`].
//!
//! # The idea
//! Every thread has a clock. A step takes about a microsecond of it, a delay as
//! long as it is, and the enabled thread whose clock shows the least goes next.
//! So a free run and one with noise can be had of a model program, and their
//! chances compared with those of other strategies.
//!
//! # Invariants
//! * Time never runs backwards: a thread that was blocked goes on no earlier
//!   than what unblocked it.
//! * A thread is delayed at most once for each operation.
//!
//! # Deviations
//! On a real machine a delay passes before the attempt to take a lock, here
//! when it is free: who is not enabled is not known to a strategy.

use std::collections::BTreeMap;

use racehound_trace::{Rng, ThreadId};

use crate::contest::Noise;
use crate::{ConTest, Delay, Pending, Strategy};

/// A step takes between half and one and a half microseconds: caches, cores
/// and interrupts let no two runs be the same.
const STEP_NANOS: std::ops::Range<u64> = 500..1_500;

/// Threads side by side, as the operating system runs them.
#[derive(Clone, Debug)]
pub struct Parallel {
    rng: Rng,
    contest: Option<ConTest>,
    /// What the clock of the last thread to go showed, in nanoseconds.
    now: u64,
    threads: BTreeMap<ThreadId, Core>,
}

#[derive(Clone, Debug)]
struct Core {
    /// When the thread can make its next step.
    ready: u64,
    noise: Option<Noise>,
    /// Whether it could go at the last step.
    enabled: bool,
    /// Whether the delay before its next operation is part of `ready`.
    delayed: bool,
}

impl Parallel {
    /// A run on a machine whose speed wavers with this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            contest: None,
            now: 0,
            threads: BTreeMap::new(),
        }
    }

    /// The same, with noise.
    pub fn with_noise(self, contest: ConTest) -> Self {
        let contest = Some(contest);
        Self { contest, ..self }
    }

    fn announce(&mut self, pending: &Pending) {
        let (now, contest) = (self.now, self.contest);
        let core = self.threads.entry(pending.thread).or_insert_with(|| Core {
            ready: now,
            noise: contest.map(|c| c.of_thread(&pending.thread.0.to_string())),
            enabled: false,
            delayed: false,
        });
        if !core.enabled {
            core.enabled = true;
            core.ready = core.ready.max(now);
        }
        if !core.delayed {
            core.delayed = true;
            let delay = core.noise.as_mut().map(|noise| noise.before(pending));
            core.ready += match delay {
                None | Some(Delay::None) => 0,
                Some(Delay::Yield) => STEP_NANOS.end,
                Some(Delay::Sleep { micros }) => 1_000 * u64::from(micros),
            };
        }
    }
}

impl Strategy for Parallel {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        for (thread, core) in &mut self.threads {
            core.enabled &= enabled.iter().any(|p| p.thread == *thread);
        }
        for pending in enabled {
            self.announce(pending);
        }
        let ready = |index: &usize| self.threads[&enabled[*index].thread].ready;
        let index = (0..enabled.len()).min_by_key(ready);
        let index = index.expect("somebody is enabled");
        let step = STEP_NANOS.start + self.rng.below(STEP_NANOS.end - STEP_NANOS.start);
        if let Some(core) = self.threads.get_mut(&enabled[index].thread) {
            self.now = core.ready;
            core.ready += step;
            core.delayed = false;
        }
        index
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
    fn threads_advance_side_by_side() {
        let mut parallel = Parallel::new(1);
        let mut steps = [0i32; 3];
        for _ in 0..3_000 {
            steps[parallel.pick(&enabled(&[(0, 0), (1, 0), (2, 0)]))] += 1;
        }
        assert!(steps.iter().all(|n| (900..1_100).contains(n)), "{steps:?}");
    }

    #[test]
    fn who_was_blocked_does_not_catch_up() {
        let mut parallel = Parallel::new(1);
        parallel.pick(&enabled(&[(0, 0), (1, 0)]));
        for _ in 0..1_000 {
            parallel.pick(&enabled(&[(0, 0)]));
        }
        let mut in_a_row = 0;
        while parallel.pick(&enabled(&[(0, 0), (1, 0)])) == 1 {
            in_a_row += 1;
        }
        assert!(in_a_row <= 4, "{in_a_row}");
    }

    #[test]
    fn a_seed_is_an_execution() {
        let picks = |seed| {
            let mut parallel = Parallel::new(seed).with_noise(ConTest::new(seed));
            let at = enabled(&[(0, 0), (1, 0), (2, 0)]);
            (0..200).map(|_| parallel.pick(&at)).collect::<Vec<_>>()
        };
        assert_eq!(picks(3), picks(3));
        assert_ne!(picks(3), picks(4));
    }
}
