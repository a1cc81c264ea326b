//! Overtake: who comes back to something finds that others were there meanwhile.
//!
//! # The idea
//! A thread looks at something and then acts on what it saw: it reads the top of a stack
//! and exchanges it, gives a lock back and takes it again to write, finds a flag unset and
//! begins to wait. If that is wrong, it is because others can come in between, not once by
//! chance but as often as it takes: ABA needs three operations of others between two of
//! one thread, which [`Random`] brings about with a chance of 2⁻⁸ or so, and
//! [`Pct`](crate::Pct) only if it draws both of two steps.
//!
//! So a thread that is about to come back to what it has touched before is *held* now and
//! then, until others have changed the same thing one to four times; then it goes at once.
//! What counts as the thing: memory that is accessed atomically, a lock, a condition. Who
//! is about to wait for a condition is held until others have notified it, and then waits:
//! if it has not looked again, the notices are lost.
//!
//! # Invariants
//! * One thread is held at a time, and never while nobody else can go.
//! * Nobody is held for longer than `PATIENCE` steps of others.
//! * How often somebody is held, and whether the others go by priorities, as in PCT
//!   without change points, or on and on with some persistence, is drawn once for an
//!   execution: programs differ in what they need. A thread that goes whenever it can
//!   comes as far as it can before others do what it should have waited for.

use std::collections::BTreeSet;

use racehound_trace::{Loc, Op, Rng, SyncId, ThreadId};

use crate::{Pct, Pending, Random, Strategy, restless};

/// Steps of others for which a thread is held at most.
const PATIENCE: u32 = 2_000;

/// Changes by others that a thread is held for, at most.
const MOST_CHANGES: usize = 4;

/// Notices that somebody is held for who is about to wait: the last one is seldom the
/// first, and often all that others have to give.
const NOTICES: [u32; 3] = [1, 2, PATIENCE];

/// What threads come back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    Memory(Loc),
    Object(SyncId),
}

/// What an operation is about, and whether it changes it for others.
fn thing(op: Op) -> Option<(Thing, bool)> {
    Some(match op {
        Op::AtomicLoad { loc, .. } => (Thing::Memory(loc), false),
        Op::AtomicStore { loc, .. } | Op::AtomicRmw { loc, .. } => (Thing::Memory(loc), true),
        Op::Acquire { lock, .. } => (Thing::Object(lock), true),
        Op::Wait { cond, .. } => (Thing::Object(cond), false),
        Op::NotifyOne { cond, .. } | Op::NotifyAll { cond } => (Thing::Object(cond), true),
        _ => return None,
    })
}

#[derive(Clone, Copy, Debug)]
struct Held {
    thread: ThreadId,
    thing: Thing,
    /// Changes by others that it is held for yet.
    changes: u32,
    steps: u32,
}

/// Holds a thread that comes back to something until others have changed it.
#[derive(Clone, Debug)]
pub struct Overtake {
    random: Random,
    rng: Rng,
    seed: u64,
    steps: u64,
    /// One of so many occasions is taken.
    rarity: usize,
    /// Who goes if nobody is held: by priorities, or else who goes is as likely as so many
    /// to one to go on.
    priorities: Option<Pct>,
    persistence: usize,
    touched: BTreeSet<(ThreadId, Thing)>,
    held: Option<Held>,
    /// Who goes as soon as it can, for it was held.
    due: Option<ThreadId>,
    current: Option<ThreadId>,
}

impl Overtake {
    /// The strategy of this seed.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x6f76_6572_7461_6b65);
        Self {
            random: Random::new(seed),
            rarity: 1 + rng.index(4),
            priorities: (rng.index(2) == 0).then(|| Pct::new(seed, 1, 1)),
            persistence: [0, 1, 4, 16][rng.index(4)],
            rng,
            seed,
            steps: 0,
            touched: BTreeSet::new(),
            held: None,
            due: None,
            current: None,
        }
    }

    fn is_held(&self, pending: &Pending) -> bool {
        self.held.is_some_and(|held| held.thread == pending.thread)
    }

    /// Whether the thread is about to come back to something; to what.
    fn comes_back(&self, pending: &Pending) -> Option<Thing> {
        let op = pending.op?;
        let (thing, changes) = thing(op)?;
        let waits = matches!(op, Op::Wait { .. });
        let knows = self.touched.contains(&(pending.thread, thing));
        (waits || changes && knows).then_some(thing)
    }

    fn let_go(&mut self) {
        if let Some(held) = self.held.take() {
            self.due = Some(held.thread);
        }
    }

    /// Somebody who is not held: who goes on, or anybody.
    fn anybody(&mut self, enabled: &[Pending]) -> usize {
        let free: Vec<usize> = (0..enabled.len())
            .filter(|&i| !self.is_held(&enabled[i]))
            .collect();
        if let Some(priorities) = &mut self.priorities {
            let pending: Vec<Pending> = free.iter().map(|&i| enabled[i]).collect();
            return free[priorities.pick(&pending)];
        }
        let current = self.current;
        let goes_on = enabled.iter().position(|p| Some(p.thread) == current);
        if let Some(index) = goes_on
            && self.rng.index(self.persistence + 1) > 0
            && !self.is_held(&enabled[index])
        {
            return index;
        }
        free[self.rng.index(free.len())]
    }

    fn choose(&mut self, enabled: &[Pending]) -> usize {
        let due = enabled.iter().position(|p| Some(p.thread) == self.due);
        if let Some(index) = due {
            self.due = None;
            return index;
        }
        if enabled.iter().all(|pending| self.is_held(pending)) {
            self.let_go();
            self.due = None;
        }
        let index = self.anybody(enabled);
        let pending = enabled[index];
        match self.comes_back(&pending) {
            Some(thing) if self.held.is_none() && enabled.len() > 1 => {
                if self.rng.index(self.rarity) > 0 {
                    return index;
                }
                self.held = Some(Held {
                    thread: pending.thread,
                    thing,
                    changes: match pending.op {
                        Some(Op::Wait { .. }) => NOTICES[self.rng.index(NOTICES.len())],
                        _ => 1 + self.rng.index(MOST_CHANGES) as u32,
                    },
                    steps: 0,
                });
                self.anybody(enabled)
            }
            _ => index,
        }
    }

    /// Another thread than the one that is held is about to do this.
    fn count(&mut self, pending: &Pending) {
        let done = pending.op.and_then(thing);
        let Some(held) = &mut self.held else {
            return;
        };
        held.steps += 1;
        if done == Some((held.thing, true)) {
            held.changes -= 1;
        }
        if held.changes == 0 || held.steps > PATIENCE {
            self.let_go();
        }
    }
}

impl Strategy for Overtake {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        self.steps += 1;
        let index = self.choose(enabled);
        let pending = &enabled[index];
        self.current = Some(pending.thread);
        self.count(pending);
        if let Some((thing, _)) = pending.op.and_then(thing) {
            self.touched.insert((pending.thread, thing));
        }
        index
    }

    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        self.random.pick_waiter(waiters)
    }

    /// Who waits for others does not go on.
    fn yields(&mut self, thread: ThreadId) {
        if let Some(priorities) = &mut self.priorities {
            priorities.yields(thread);
        }
        if self.current == Some(thread) {
            self.current = None;
        }
    }

    /// Rather than let go of who is held; with every other seed at any time.
    fn awaits_sleepers(&self, enabled: &[Pending]) -> bool {
        let is_restless = self.seed % 2 == 1 && restless::wakes(self.seed, self.steps, enabled, 2);
        is_restless || enabled.iter().all(|pending| self.is_held(pending))
    }

    fn held(&self) -> Vec<ThreadId> {
        self.held.iter().map(|held| held.thread).collect()
    }

    fn release(&mut self, thread: ThreadId) {
        if self.held.is_some_and(|held| held.thread == thread) {
            self.let_go();
        }
    }
}

#[cfg(test)]
mod tests {
    use racehound_trace::{MemoryOrder, SiteId};

    use super::*;

    /// A thread that does one thing after the other.
    fn stack(steps: &[&str]) -> Vec<Op> {
        let (loc, size, order) = (Loc(8), 8, MemoryOrder::SeqCst);
        let op = |step: &&str| match *step {
            "load" => Op::AtomicLoad { loc, size, order },
            "exchange" => Op::AtomicRmw { loc, size, order },
            "wait" => Op::Wait {
                cond: SyncId(1),
                lock: None,
            },
            "notify" => Op::NotifyOne {
                cond: SyncId(1),
                woken: None,
            },
            other => panic!("{other}"),
        };
        steps.iter().map(op).collect()
    }

    /// The threads in the order in which they go.
    fn run(strategy: &mut dyn Strategy, threads: &[Vec<Op>]) -> Vec<u32> {
        let mut at = vec![0; threads.len()];
        let mut order = Vec::new();
        loop {
            let enabled: Vec<Pending> = (0..threads.len())
                .filter(|&thread| at[thread] < threads[thread].len())
                .map(|thread| Pending {
                    thread: ThreadId(thread as u32),
                    site: SiteId(0),
                    op: Some(threads[thread][at[thread]]),
                })
                .collect();
            if enabled.is_empty() {
                return order;
            }
            let thread = enabled[strategy.pick(&enabled)].thread;
            at[thread.index()] += 1;
            order.push(thread.0);
        }
    }

    /// How many of 1,000 seeds let thread 1 go so often between the steps of thread 0.
    fn hits(make: impl Fn(u64) -> Box<dyn Strategy>, threads: &[Vec<Op>], between: usize) -> usize {
        let is_hit = |seed: &u64| {
            let order = run(&mut *make(*seed), threads);
            let mine = order.iter().position(|thread| *thread == 0).unwrap();
            let others = order[mine + 1..].iter().take_while(|thread| **thread == 1);
            others.count() == between
        };
        (0..1_000).filter(is_hit).count()
    }

    #[test]
    fn three_operations_come_in_between_far_more_often_than_by_chance() {
        let threads = [
            stack(&["load", "exchange"]),
            stack(&[
                "load", "exchange", "load", "exchange", "load", "exchange", "load", "exchange",
                "load", "exchange",
            ]),
        ];
        let overtake = hits(|seed| Box::new(Overtake::new(seed)), &threads, 6);
        let random = hits(|seed| Box::new(Random::new(seed)), &threads, 6);
        assert!(overtake > 3 * random, "{overtake} and {random}");
        assert!(overtake > 30, "{overtake}");
    }

    #[test]
    fn who_is_about_to_wait_misses_the_notice() {
        let threads = [stack(&["wait"]), stack(&["notify"])];
        let order = |seed| run(&mut Overtake::new(seed), &threads);
        let missed = (0..200).filter(|seed| order(*seed) == [1, 0]).count();
        assert!(missed > 130, "{missed}");
    }

    #[test]
    fn nobody_is_held_for_ever() {
        let threads = [stack(&["load", "exchange"]), stack(&["load"; 3_000])];
        for seed in 0..50 {
            let order = run(&mut Overtake::new(seed), &threads);
            let mine: Vec<usize> = (0..order.len()).filter(|&i| order[i] == 0).collect();
            let longest = PATIENCE as usize + 200;
            assert!(mine[1] - mine[0] < longest, "seed {seed}: {mine:?}");
        }
    }

    #[test]
    fn who_is_alone_goes() {
        let alone = [stack(&["load", "exchange", "wait", "exchange"])];
        assert_eq!(run(&mut Overtake::new(1), &alone), [0; 4]);
    }

    #[test]
    fn a_seed_is_a_schedule() {
        let threads = vec![stack(&["load", "exchange", "load", "exchange", "notify"]); 3];
        let order = |seed| run(&mut Overtake::new(seed), &threads);
        assert_eq!(order(7), order(7));
        assert!((0..9).any(|seed| order(seed) != order(7)));
    }
}
