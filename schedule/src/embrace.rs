//! Embrace: who holds a lock and wants another is held while anybody else can go.
//!
//! # The idea
//! In a deadlock of locks each thread holds one and waits for that of the next. The more
//! threads it takes, the less likely it is by chance: five philosophers have to take their
//! first forks one after the other, and nobody the second in between. That may be brought
//! about as RaceFuzzer brings about a race: threads stop at the dangerous step, here a
//! request for a further lock, and go on when all have stopped (Joshi et al., *A Randomized
//! Dynamic Program Analysis Technique for Detecting Real Deadlocks*, PLDI 2009, who do it for
//! the locks of one cycle; here any locks will do, so no cycle has to be known).
//!
//! # Invariants
//! * Nobody is held while nobody else can go, nor for longer than `PATIENCE` steps of others.
//! * With every other seed one of some requests is not held: a deadlock may need a thread that
//!   is done with its locks once.

use std::collections::BTreeSet;

use racehound_trace::{Op, Rng, SyncId, ThreadId};

use crate::{Pending, Random, Strategy};

/// Steps of others for which threads are held at most.
const PATIENCE: u32 = 2_000;

/// Of so many requests one is not held, with every other seed.
const RARITY: usize = 4;

/// Holds who has a lock and requests another.
#[derive(Clone, Debug)]
pub struct Embrace {
    random: Random,
    rng: Rng,
    is_lax: bool,
    has: BTreeSet<(ThreadId, SyncId)>,
    /// Steps since somebody was let go, or nobody was held.
    steps: u32,
}

impl Embrace {
    /// The strategy of this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            rng: Rng::new(seed ^ 0x656d_6272_6163_6521),
            is_lax: seed % 2 == 1,
            has: BTreeSet::new(),
            steps: 0,
        }
    }

    /// Whether the thread has a lock and requests one that it does not have.
    fn wants_more(&self, pending: &Pending) -> bool {
        let thread = pending.thread;
        let Some(Op::Acquire { lock, .. }) = pending.op else {
            return false;
        };
        let mut its = self
            .has
            .range((thread, SyncId(0))..=(thread, SyncId(u32::MAX)));
        its.next().is_some() && !self.has.contains(&(thread, lock))
    }

    fn choose(&mut self, enabled: &[Pending]) -> usize {
        let (held, free): (Vec<usize>, Vec<usize>) =
            (0..enabled.len()).partition(|&i| self.wants_more(&enabled[i]));
        if held.is_empty() || free.is_empty() {
            self.steps = 0;
            return self.random.pick(enabled);
        }
        self.steps += 1;
        let lets_go = self.is_lax && self.rng.index(RARITY * free.len()) == 0;
        if lets_go || self.steps > PATIENCE {
            self.steps = 0;
            return held[self.rng.index(held.len())];
        }
        free[self.rng.index(free.len())]
    }
}

impl Strategy for Embrace {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        let index = self.choose(enabled);
        let Pending { thread, op, .. } = enabled[index];
        match op {
            Some(Op::Acquire { lock, .. }) => _ = self.has.insert((thread, lock)),
            Some(Op::Release { lock, .. }) => _ = self.has.remove(&(thread, lock)),
            _ => {}
        }
        index
    }

    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        self.random.pick_waiter(waiters)
    }

    /// Rather than let go of who is held.
    fn awaits_sleepers(&self, enabled: &[Pending]) -> bool {
        enabled.iter().all(|pending| self.wants_more(pending))
    }
}

#[cfg(test)]
mod tests {
    use racehound_trace::{Mode, SiteId};

    use super::*;

    /// How many threads have their first lock and not yet the second, at most, if each takes
    /// two, first its own, and gives both back.
    fn in_between(strategy: &mut dyn Strategy, threads: u32) -> usize {
        let mode = Mode::Exclusive;
        let ops = |thread: u32| {
            let (own, next) = (SyncId(thread), SyncId((thread + 1) % threads));
            [
                Op::Acquire { lock: own, mode },
                Op::Acquire { lock: next, mode },
                Op::Release { lock: next, mode },
                Op::Release { lock: own, mode },
            ]
        };
        let mut at = vec![0; threads as usize];
        let mut most = 0;
        loop {
            let enabled: Vec<Pending> = (0..threads)
                .filter(|&thread| at[thread as usize] < 4)
                .map(|thread| Pending {
                    thread: ThreadId(thread),
                    site: SiteId(0),
                    op: Some(ops(thread)[at[thread as usize]]),
                })
                .collect();
            if enabled.is_empty() {
                return most;
            }
            at[enabled[strategy.pick(&enabled)].thread.index()] += 1;
            most = most.max(at.iter().filter(|&&at| at == 1).count());
        }
    }

    #[test]
    fn everybody_takes_one_before_anybody_takes_another() {
        for seed in (0..100).step_by(2) {
            assert_eq!(in_between(&mut Embrace::new(seed), 7), 7);
        }
        let by_chance = |seed: &u64| in_between(&mut Random::new(*seed), 7) == 7;
        assert!((0..100).filter(by_chance).count() < 5);
        let lax = |seed: &u64| in_between(&mut Embrace::new(2 * seed + 1), 7) < 7;
        assert!((0..100).filter(lax).count() > 20);
    }

    #[test]
    fn who_takes_a_lock_again_is_not_held() {
        let lock = SyncId(3);
        let mode = Mode::Exclusive;
        let pending = |thread, op| Pending {
            thread: ThreadId(thread),
            site: SiteId(0),
            op,
        };
        let mut embrace = Embrace::new(0);
        let takes = pending(0, Some(Op::Acquire { lock, mode }));
        embrace.pick(&[takes]);
        assert!(!embrace.wants_more(&takes));
        let other = pending(
            0,
            Some(Op::Acquire {
                lock: SyncId(4),
                mode,
            }),
        );
        assert!(embrace.wants_more(&other));
        assert!(embrace.awaits_sleepers(&[other]));
        embrace.pick(&[pending(0, Some(Op::Release { lock, mode }))]);
        assert!(!embrace.wants_more(&other));
    }

    #[test]
    fn nobody_is_held_for_ever() {
        let mode = Mode::Exclusive;
        let mut embrace = Embrace::new(0);
        let pending = |thread, op| Pending {
            thread: ThreadId(thread),
            site: SiteId(0),
            op,
        };
        let takes = |lock| {
            Some(Op::Acquire {
                lock: SyncId(lock),
                mode,
            })
        };
        embrace.pick(&[pending(0, takes(1))]);
        let enabled = [pending(0, takes(2)), pending(1, None)];
        let goes = (0..=PATIENCE + 1).position(|_| embrace.pick(&enabled) == 0);
        assert_eq!(goes, Some(PATIENCE as usize));
    }
}
