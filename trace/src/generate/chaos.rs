//! Anything that could happen.
//!
//! A little simulator of threads, locks (re-entrant, released in any order),
//! rwlocks, condition variables, semaphores and barriers picks a random thread
//! and lets it do a random thing that is possible now. The result passes
//! [`check`](crate::check) by construction; whether it races is left to chance,
//! which is why detectors are compared with an oracle on it.

use crate::event::{Event, MemoryOrder, Mode, Op};
use crate::id::{Loc, SiteId, SyncId, ThreadId};
use crate::memory::Trace;
use crate::rng::Rng;
use crate::table::{Site, Space, Tables, Thread};

/// How large a chaos to make.
#[derive(Clone, Debug)]
pub struct Chaos {
    /// Determines everything else.
    pub seed: u64,
    /// Events, at most.
    pub events: usize,
    /// Threads, main included.
    pub threads: u32,
    /// Variables, or eight-byte granules of memory.
    pub variables: u32,
    /// Mutexes, and as many rwlocks.
    pub locks: u32,
    /// Distinct places in the program.
    pub sites: u32,
    /// Named variables, or addresses with accesses of 1 to 16 bytes that
    /// overlap each other.
    pub space: Space,
    /// Whether atomics, fences, condition variables, semaphores, barriers,
    /// allocation and annotations occur, or only accesses, locks, fork and
    /// join.
    pub everything: bool,
}

impl Default for Chaos {
    fn default() -> Self {
        Self {
            seed: 1,
            events: 60,
            threads: 3,
            variables: 3,
            locks: 2,
            sites: 12,
            space: Space::Names,
            everything: true,
        }
    }
}

#[derive(Clone, PartialEq, Eq)]
enum Doing {
    Unborn,
    Running,
    Waiting(SyncId, SyncId),
    /// Woken, by a notification or not; still needs its lock.
    Waking(SyncId, SyncId, bool),
    AtBarrier,
    /// The barrier opened.
    Leaving,
    Over,
}

struct Worker {
    doing: Doing,
    /// Locks held, in the order taken; re-entrant ones several times.
    held: Vec<(SyncId, Mode)>,
    /// How often the lock given up by a wait was held.
    depth: usize,
    calls: u32,
    regions: u32,
}

struct Simulator<'a> {
    chaos: &'a Chaos,
    rng: Rng,
    workers: Vec<Worker>,
    semaphore: u32,
    events: Vec<Event>,
}

const BARRIER_SIZE: usize = 2;

/// Generates a trace.
pub fn chaos(chaos: &Chaos) -> Trace {
    let mut simulator = Simulator {
        chaos,
        rng: Rng::new(chaos.seed),
        workers: (0..chaos.threads.max(1))
            .map(|i| Worker {
                doing: match i {
                    0 => Doing::Running,
                    _ => Doing::Unborn,
                },
                held: Vec::new(),
                depth: 0,
                calls: 0,
                regions: 0,
            })
            .collect(),
        semaphore: 0,
        events: Vec::new(),
    };
    // Attempts that turn out impossible cost nothing but the attempt.
    for _ in 0..chaos.events * 20 {
        if simulator.events.len() >= chaos.events {
            break;
        }
        simulator.attempt();
    }
    Trace {
        space: chaos.space,
        tables: tables(chaos),
        events: simulator.events,
    }
}

/// Mutexes first, then rwlocks, one condition variable, one semaphore, one
/// barrier.
fn tables(chaos: &Chaos) -> Tables {
    let mut tables = Tables::default();
    for ordinal in 0..chaos.threads.max(1) {
        tables.add_thread(Thread {
            parent: (ordinal > 0).then_some(ThreadId(0)),
            ordinal,
            name: None,
        });
    }
    for i in 0..chaos.locks {
        tables.add_sync(&format!("m{i}"));
    }
    for i in 0..chaos.locks {
        tables.add_sync(&format!("rw{i}"));
    }
    for name in ["cond", "sem", "barrier"] {
        tables.add_sync(name);
    }
    for i in 0..chaos.variables {
        tables.add_variable(&format!("x{i}"));
    }
    for i in 0..chaos.sites {
        let text = Some(tables.names.add(&i.to_string()));
        tables.add_site(Site {
            text,
            ..Site::default()
        });
    }
    tables.add_function("f");
    tables
}

impl Simulator<'_> {
    fn cond(&self) -> SyncId {
        SyncId(2 * self.chaos.locks)
    }

    fn sem(&self) -> SyncId {
        SyncId(2 * self.chaos.locks + 1)
    }

    fn barrier(&self) -> SyncId {
        SyncId(2 * self.chaos.locks + 2)
    }

    fn push(&mut self, thread: usize, op: Op) {
        let site = SiteId(self.rng.below(u64::from(self.chaos.sites)) as u32);
        self.events.push(Event {
            thread: ThreadId::from_index(thread),
            site,
            op,
        });
    }

    fn place(&mut self) -> (Loc, u32) {
        let variables = u64::from(self.chaos.variables);
        match self.chaos.space {
            Space::Names => (Loc(self.rng.below(variables)), 1),
            Space::Addresses => {
                let size = [1, 2, 4, 8, 3, 16][self.rng.index(6)];
                // Aligned or not, possibly across granules.
                let at = 0x1000 + self.rng.below(variables * 8);
                (Loc(at), size)
            }
        }
    }

    fn holds(&self, thread: usize, lock: SyncId) -> bool {
        self.workers[thread].held.iter().any(|&(l, _)| l == lock)
    }

    fn can_take(&self, thread: usize, lock: SyncId, mode: Mode) -> bool {
        self.workers.iter().enumerate().all(|(i, w)| {
            w.held.iter().all(|&(l, m)| {
                let own = i == thread && (m, mode) == (Mode::Exclusive, Mode::Exclusive);
                l != lock || own || (m, mode) == (Mode::Shared, Mode::Shared)
            })
        })
    }

    fn attempt(&mut self) {
        let thread = self.rng.index(self.workers.len());
        match self.workers[thread].doing.clone() {
            Doing::Unborn | Doing::AtBarrier | Doing::Over => {}
            Doing::Running => self.act(thread),
            Doing::Waiting(cond, lock) => {
                if self.rng.chance(0.02) {
                    self.workers[thread].doing = Doing::Waking(cond, lock, false);
                }
            }
            Doing::Waking(cond, lock, notified) => {
                if self.can_take(thread, lock, Mode::Exclusive) {
                    let depth = self.workers[thread].depth;
                    let worker = &mut self.workers[thread];
                    worker
                        .held
                        .extend((0..depth).map(|_| (lock, Mode::Exclusive)));
                    worker.doing = Doing::Running;
                    let lock = Some(lock);
                    self.push(
                        thread,
                        Op::Wake {
                            cond,
                            lock,
                            notified,
                        },
                    );
                }
            }
            Doing::Leaving => {
                self.workers[thread].doing = Doing::Running;
                let barrier = self.barrier();
                self.push(thread, Op::BarrierLeave { barrier });
            }
        }
    }

    fn act(&mut self, thread: usize) {
        let most = match self.chaos.everything {
            true => 100,
            false => 74,
        };
        match self.rng.below(most) {
            0..24 => {
                let (loc, size) = self.place();
                self.push(thread, Op::Read { loc, size });
            }
            24..44 => {
                let (loc, size) = self.place();
                self.push(thread, Op::Write { loc, size });
            }
            44..56 => self.acquire(thread),
            56..68 => self.release(thread),
            68..72 => self.fork(thread),
            72..74 => self.join(thread),
            74..84 => self.atomic(thread),
            84..88 => {
                let order = MemoryOrder::ALL[self.rng.index(5)];
                self.push(thread, Op::Fence { order });
            }
            88..90 => self.wait(thread),
            90..92 => self.notify(thread),
            92..94 => self.semaphore(thread),
            94..96 => self.arrive(thread),
            96..98 => self.memory(thread),
            _ => self.annotate(thread),
        }
    }

    fn acquire(&mut self, thread: usize) {
        let lock = SyncId(self.rng.below(u64::from(2 * self.chaos.locks)) as u32);
        let rwlock = lock.0 >= self.chaos.locks;
        let mode = match rwlock && self.rng.chance(0.6) {
            true => Mode::Shared,
            false => Mode::Exclusive,
        };
        // A rwlock is not re-entrant; a mutex is.
        if rwlock && self.holds(thread, lock) {
            return;
        }
        if self.can_take(thread, lock, mode) {
            self.workers[thread].held.push((lock, mode));
            self.push(thread, Op::Acquire { lock, mode });
        }
    }

    fn release(&mut self, thread: usize) {
        let held = self.workers[thread].held.len();
        if held > 0 {
            // Mostly the innermost lock, sometimes another.
            let at = match self.rng.chance(0.7) {
                true => held - 1,
                false => self.rng.index(held),
            };
            let (lock, mode) = self.workers[thread].held.remove(at);
            self.push(thread, Op::Release { lock, mode });
        }
    }

    fn fork(&mut self, thread: usize) {
        let unborn = |w: &Worker| w.doing == Doing::Unborn;
        if let Some(child) = self.workers.iter().position(unborn) {
            self.workers[child].doing = Doing::Running;
            let child = ThreadId::from_index(child);
            self.push(thread, Op::Fork { child });
        }
    }

    fn join(&mut self, thread: usize) {
        let child = self.rng.index(self.workers.len());
        let worker = &mut self.workers[child];
        let can_end = worker.doing == Doing::Running && worker.held.is_empty();
        if child != thread && child != 0 && can_end && self.rng.chance(0.4) {
            worker.doing = Doing::Over;
            let child = ThreadId::from_index(child);
            self.push(thread, Op::Join { child });
        }
    }

    fn atomic(&mut self, thread: usize) {
        let (loc, size) = self.place();
        let order = MemoryOrder::ALL[self.rng.index(5)];
        let op = match self.rng.below(3) {
            0 => Op::AtomicLoad { loc, size, order },
            1 => Op::AtomicStore { loc, size, order },
            _ => Op::AtomicRmw { loc, size, order },
        };
        self.push(thread, op);
    }

    fn wait(&mut self, thread: usize) {
        let mutexes = self.chaos.locks;
        let worker = &mut self.workers[thread];
        let mutex = worker.held.iter().find(|(lock, _)| lock.0 < mutexes);
        let Some(&(lock, _)) = mutex else {
            return;
        };
        let before = worker.held.len();
        worker.held.retain(|&(l, _)| l != lock);
        worker.depth = before - worker.held.len();
        let cond = self.cond();
        self.workers[thread].doing = Doing::Waiting(cond, lock);
        let lock = Some(lock);
        self.push(thread, Op::Wait { cond, lock });
    }

    fn notify(&mut self, thread: usize) {
        let cond = self.cond();
        let waiting: Vec<usize> = (0..self.workers.len())
            .filter(|&i| matches!(self.workers[i].doing, Doing::Waiting(..)))
            .collect();
        let wake = |worker: &mut Worker| {
            if let Doing::Waiting(cond, lock) = worker.doing {
                worker.doing = Doing::Waking(cond, lock, true);
            }
        };
        if self.rng.chance(0.5) {
            for &i in &waiting {
                wake(&mut self.workers[i]);
            }
            self.push(thread, Op::NotifyAll { cond });
        } else {
            let chosen = self.rng.pick(&waiting).copied();
            if let Some(i) = chosen {
                wake(&mut self.workers[i]);
            }
            let known = self.rng.chance(0.5);
            let woken = chosen.filter(|_| known).map(ThreadId::from_index);
            self.push(thread, Op::NotifyOne { cond, woken });
        }
    }

    fn semaphore(&mut self, thread: usize) {
        let sem = self.sem();
        if self.semaphore > 0 && self.rng.chance(0.5) {
            self.semaphore -= 1;
            self.push(thread, Op::SemWait { sem });
        } else {
            self.semaphore += 1;
            self.push(thread, Op::SemPost { sem });
        }
    }

    fn arrive(&mut self, thread: usize) {
        self.workers[thread].doing = Doing::AtBarrier;
        let barrier = self.barrier();
        self.push(thread, Op::BarrierArrive { barrier });
        let there = |w: &&mut Worker| w.doing == Doing::AtBarrier;
        if self.workers.iter_mut().filter(there).count() >= BARRIER_SIZE {
            for worker in self.workers.iter_mut().filter(there) {
                worker.doing = Doing::Leaving;
            }
        }
    }

    fn memory(&mut self, thread: usize) {
        let (loc, size) = self.place();
        let op = match self.rng.chance(0.5) {
            true => Op::Alloc { loc, size },
            false => Op::Free { loc, size },
        };
        self.push(thread, op);
    }

    fn annotate(&mut self, thread: usize) {
        let worker = &mut self.workers[thread];
        let op = match self.rng.below(4) {
            0 => {
                worker.calls += 1;
                Op::Call {
                    function: crate::FunctionId(0),
                }
            }
            1 if worker.calls > 0 => {
                worker.calls -= 1;
                Op::Return
            }
            2 => {
                worker.regions += 1;
                Op::RegionBegin
            }
            3 if worker.regions > 0 => {
                worker.regions -= 1;
                Op::RegionEnd
            }
            _ => return,
        };
        self.push(thread, op);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Kind;
    use crate::stat::Stats;

    #[test]
    fn chaos_could_have_happened_and_leaves_nothing_out() {
        let mut seen = [0; 32];
        for seed in 0..400 {
            let trace = chaos(&Chaos {
                seed,
                events: 200,
                threads: 4,
                ..Chaos::default()
            });
            let stats = Stats::of(trace.source()).unwrap();
            assert_eq!(stats.problem(), None, "seed {seed}");
            for &kind in Kind::ALL {
                seen[kind as usize] += stats.kind(kind);
            }
        }
        for &kind in Kind::ALL {
            assert!(seen[kind as usize] > 0, "{}", kind.name());
        }
    }
}
