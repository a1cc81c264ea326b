//! PCT, probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi and
//! Nagarakatte, ASPLOS 2010), a rival in drfinder.txt §3 and §6.
//!
//! # The idea
//! Threads have priorities, and the enabled one with the highest always goes.
//! At the start priorities are random and above `d - 1`. At `d - 1` *change
//! points*, drawn from the `k` steps the execution is expected to have, the
//! thread that has just made the step drops to the priority of the change
//! point: 1 at the first, 2 at the second, and so on.
//!
//! # The guarantee
//! The *depth* of a bug is the number of orderings between steps that suffice
//! to bring it about. A bug of depth `d`, in a program of at most `n` threads
//! and `k` steps, is found by a run with probability at least
//!
//! > 1 / (n · k^(d-1))
//!
//! which is to say: of `d` steps that must come in this order, the first is
//! reached first if its thread has the highest priority (1/n), and each of the
//! others waits for its turn if its change point was drawn right (1/k each).
//! Most bugs are shallow: something used before it is made is of depth 1, an
//! update lost or a deadlock of two locks of depth 2.
//!
//! # Invariants
//! * A thread that appears later takes a random place among the initial
//!   priorities of those before it, dropped or not: after any number of
//!   threads every order of initial priorities is equally likely.
//! * Without a change point, yield or block nothing is ever preempted.
//!
//! # Deviations
//! * A thread that [yields](Strategy::yields) drops below everybody, and so does one that
//!   has gone on for `LONGEST_SPELL` steps while others could. Strict priorities would
//!   run a loop that waits for somebody for ever, which no real scheduler does; the
//!   guarantee does not cover programs that need this.
//! * Which waiter a notify wakes is not a matter of priorities: it is drawn,
//!   and a bug that needs a certain one has that much less of a chance.
//! * If the execution is longer than expected its end has no change points;
//!   [`steps`](Pct::steps) is what to expect next time.
//! * Where nobody has observed a length yet, a change point is drawn in two
//!   stages: one of the `OCTAVES` in which a length could be, then a step of
//!   it. So every step of an execution of `k` steps is drawn with a probability
//!   of at least `1 / (2 k · OCTAVES)`, whatever `k` is: a factor is lost, but no
//!   part of the execution goes without.

use std::collections::BTreeMap;

use racehound_trace::{Rng, ThreadId};

use crate::{Pending, Strategy};

/// Powers of two that the length of an execution may reach, if it is not known.
const OCTAVES: u64 = 24;

/// Steps that a thread may make in a row while others could go.
const LONGEST_SPELL: u64 = 5_000;

/// Strict random priorities, changed at a few random steps.
#[derive(Clone, Debug)]
pub struct Pct {
    rng: Rng,
    /// Threads by initial priority, lowest first.
    initial: Vec<ThreadId>,
    /// Threads whose priority was changed, below all initial ones.
    dropped: BTreeMap<ThreadId, i64>,
    /// After how many steps the priority of index + 1 is given.
    change_points: Vec<u64>,
    /// Steps so far.
    steps: u64,
    /// The priority the last thread to yield was given, from 0 downwards.
    lowest: i64,
    /// Who goes, and for how many steps while others could.
    spell: (ThreadId, u64),
}

impl Pct {
    /// The run of this seed, for bugs of up to this `depth`, in a program of
    /// about `length` steps. Both are at least 1.
    pub fn new(seed: u64, depth: u32, length: u64) -> Self {
        Self::with_points(seed, depth, |rng| 1 + rng.below(length.max(1)))
    }

    /// The same in a program of which nobody knows how long it runs.
    pub fn of_unknown_length(seed: u64, depth: u32) -> Self {
        Self::with_points(seed, depth, |rng| {
            let octave = 1 << rng.below(OCTAVES);
            octave + rng.below(octave)
        })
    }

    fn with_points(seed: u64, depth: u32, point: impl Fn(&mut Rng) -> u64) -> Self {
        let mut rng = Rng::new(seed);
        let change_points = (1..depth).map(|_| point(&mut rng)).collect();
        Self {
            rng,
            initial: Vec::new(),
            dropped: BTreeMap::new(),
            change_points,
            steps: 0,
            lowest: 0,
            spell: (ThreadId(0), 0),
        }
    }

    /// The steps so far; after a run, the length to expect of the next.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Whether a thread that makes a step has gone on for too long by now.
    fn is_too_long(&mut self, thread: ThreadId, enabled: usize) -> bool {
        if self.spell.0 != thread {
            self.spell = (thread, 0);
        }
        self.spell.1 += u64::from(enabled > 1);
        let is_too_long = self.spell.1 >= LONGEST_SPELL;
        if is_too_long {
            self.spell.1 = 0;
        }
        is_too_long
    }

    fn welcome(&mut self, thread: ThreadId) {
        if !self.initial.contains(&thread) {
            let place = self.rng.index(self.initial.len() + 1);
            self.initial.insert(place, thread);
        }
    }

    /// Greater is more urgent: who still has its initial priority, and how
    /// high it is.
    fn priority(&self, thread: ThreadId) -> (bool, i64) {
        match self.dropped.get(&thread) {
            Some(&priority) => (false, priority),
            None => {
                let place = self.initial.iter().position(|t| *t == thread);
                (true, place.map_or(-1, |place| place as i64))
            }
        }
    }
}

impl Strategy for Pct {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        for pending in enabled {
            self.welcome(pending.thread);
        }
        let urgent = (0..enabled.len()).max_by_key(|&i| self.priority(enabled[i].thread));
        let index = urgent.expect("somebody is enabled");
        self.steps += 1;
        if self.is_too_long(enabled[index].thread, enabled.len()) {
            self.yields(enabled[index].thread);
        }
        for (point, priority) in self.change_points.iter().zip(1..) {
            if *point == self.steps {
                self.dropped.insert(enabled[index].thread, priority);
            }
        }
        index
    }

    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        self.rng.index(waiters.len())
    }

    fn yields(&mut self, thread: ThreadId) {
        self.welcome(thread);
        self.lowest -= 1;
        self.dropped.insert(thread, self.lowest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::enabled;

    const THREE: [(u32, u32); 3] = [(0, 0), (1, 0), (2, 0)];

    /// The order in which threads of one step each go.
    fn order(pct: &mut Pct, threads: &[(u32, u32)]) -> Vec<u32> {
        let mut left = threads.to_vec();
        let mut order = Vec::new();
        while !left.is_empty() {
            order.push(left.remove(pct.pick(&enabled(&left))).0);
        }
        order
    }

    #[test]
    fn nobody_goes_on_for_ever_while_others_could() {
        let both = enabled(&[(0, 0), (1, 1)]);
        for seed in 0..20 {
            let mut pct = Pct::new(seed, 1, 1);
            let picks: Vec<usize> = (0..3 * LONGEST_SPELL).map(|_| pct.pick(&both)).collect();
            let first = picks.iter().filter(|pick| **pick == 0).count() as u64;
            assert!(
                (LONGEST_SPELL..=2 * LONGEST_SPELL).contains(&first),
                "{first}"
            );
        }
        let mut pct = Pct::new(1, 1, 1);
        let alone = &both[..1];
        (0..2 * LONGEST_SPELL).for_each(|_| _ = pct.pick(alone));
        assert!(pct.dropped.is_empty(), "nobody else could go");
    }

    #[test]
    fn every_order_of_priorities_is_as_likely_however_threads_appear() {
        let mut counts = BTreeMap::new();
        for seed in 0..6_000 {
            let mut pct = Pct::new(seed, 1, 100);
            // The last thread appears late.
            pct.pick(&enabled(&THREE[..2]));
            *counts.entry(order(&mut pct, &THREE)).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(
            counts.values().all(|n| (880..1_120).contains(n)),
            "{counts:?}"
        );
    }

    #[test]
    fn without_change_points_nobody_is_preempted() {
        let mut pct = Pct::new(4, 1, 100);
        let first = pct.pick(&enabled(&THREE));
        assert!((0..100).all(|_| pct.pick(&enabled(&THREE)) == first));
        assert_eq!(pct.steps(), 101);
    }

    #[test]
    fn each_change_point_drops_who_runs() {
        for seed in 0..50 {
            let mut pct = Pct::new(seed, 3, 10);
            let points = pct.change_points.clone();
            let picks: Vec<_> = (0..20).map(|_| pct.pick(&enabled(&THREE))).collect();
            for step in 1..20 {
                let changed = points.contains(&(step as u64));
                let switched = picks[step] != picks[step - 1];
                // The second point may drop who stays first all the same.
                assert!(changed || !switched, "seed {seed}: {points:?} {picks:?}");
            }
            let first = *points.iter().min().unwrap() as usize;
            assert_ne!(picks[first], picks[first - 1], "seed {seed}");
            assert_eq!(pct.dropped.len().min(1), 1);
        }
    }

    #[test]
    fn without_a_length_every_step_may_be_a_change_point() {
        let drawn = |step: u64| {
            let pct = |seed| Pct::of_unknown_length(seed, 2);
            let hits = (0..40_000).filter(|seed| pct(*seed).change_points == [step]);
            hits.count() as f64 / 40_000.0
        };
        for step in [1, 2, 3, 5, 17, 40] {
            let least = 1.0 / (2 * step * OCTAVES) as f64;
            assert!(drawn(step) > 0.8 * least, "step {step}: {}", drawn(step));
        }
        let late = |seed: &u64| Pct::of_unknown_length(*seed, 2).change_points[0] > 1_000_000;
        assert!((0..1_000).filter(late).count() > 100);
    }

    #[test]
    fn who_yields_lets_everybody_else_go() {
        let mut pct = Pct::new(9, 1, 10);
        let first = pct.pick(&enabled(&THREE));
        pct.yields(ThreadId(first as u32));
        let second = pct.pick(&enabled(&THREE));
        assert_ne!(first, second);
        pct.yields(ThreadId(second as u32));
        let third = pct.pick(&enabled(&THREE));
        pct.yields(ThreadId(third as u32));
        assert_eq!(pct.pick(&enabled(&THREE)), first);
    }
}
