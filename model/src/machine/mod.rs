//! The single-step interpreter: sequentially consistent interleavings.
//!
//! A step is one visible operation of one thread. Local computation takes no
//! time: after each step the thread's local code is run at once, up to its next
//! visible operation, so that [`pending`](Machine::pending) always knows what a
//! thread is about to do (`NextStmt` of racefuzzer.txt §2.1). An assertion is
//! local, too: it is checked together with the step before it.
//!
//! There are no spurious wake-ups and no time-outs. Any waiter may be the one a
//! notify-one wakes, and any enabled thread may take a lock that comes free. A
//! barrier is left in a step of its own, and as with POSIX a thread may come
//! back to it before the others have left.

mod local;
mod step;

use racehound_schedule::Pending;
use racehound_trace::{Loc, MemoryOrder, Mode, Op, SiteId, SyncId, ThreadId};

use crate::program::{Instruction, Program, Step};
use crate::sync::Sync;

/// How a `skip 100` is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skips {
    /// As a hundred steps.
    Each,
    /// As one step: nobody can tell.
    AtOnce,
}

/// Why an execution stopped before its threads had ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Abort {
    Failed {
        site: SiteId,
        name: String,
    },
    Misuse {
        site: SiteId,
        message: String,
    },
    LoopBound {
        site: SiteId,
    },
    /// A thread computes and computes without a visible step.
    Endless,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    NotStarted,
    Running,
    /// Within a wait: `depth` is how often the lock was held.
    Waiting {
        notified: bool,
        depth: u32,
    },
    /// At a barrier that opens when it leaves this generation.
    AtBarrier {
        generation: u32,
    },
    Ended,
    Joined,
}

#[derive(Clone, Debug)]
struct Thread {
    status: Status,
    /// The visible step it is at, or just past the last instruction.
    counter: usize,
    slots: Vec<i64>,
    /// How many steps of a skip are done.
    skipped: u32,
    /// Where its last step was.
    last: Option<SiteId>,
}

/// A program in the middle of an execution.
#[derive(Clone, Debug)]
pub(crate) struct Machine<'p> {
    program: &'p Program,
    skips: Skips,
    variables: Vec<i64>,
    syncs: Vec<Sync>,
    threads: Vec<Thread>,
    abort: Option<Abort>,
}

impl<'p> Machine<'p> {
    pub(crate) fn start(program: &'p Program, skips: Skips) -> Self {
        let thread = |code: &crate::program::Code| Thread {
            status: Status::NotStarted,
            counter: 0,
            slots: vec![0; code.slots],
            skipped: 0,
            last: None,
        };
        let mut machine = Self {
            program,
            skips,
            variables: program.variables.clone(),
            syncs: program.syncs.iter().map(|s| Sync::new(*s)).collect(),
            threads: program.threads.iter().map(thread).collect(),
            abort: None,
        };
        machine.launch(ThreadId(0));
        machine
    }

    /// Why the execution is over, if it was cut short.
    pub(crate) fn abort(&self) -> Option<&Abort> {
        self.abort.as_ref()
    }

    /// The threads that can go, sorted, with what each is about to do.
    pub(crate) fn enabled(&self) -> Vec<Pending> {
        if self.abort.is_some() {
            return Vec::new();
        }
        self.ids()
            .filter(|&id| self.is_enabled(id))
            .filter_map(|id| self.pending(id))
            .collect()
    }

    /// Where the threads stand that have started and not ended.
    pub(crate) fn alive(&self) -> Vec<(ThreadId, SiteId)> {
        let pending = self.ids().filter_map(|id| self.pending(id));
        pending.map(|p| (p.thread, p.site)).collect()
    }

    /// Whom the notify-one that `id` is about to do could wake; empty for any
    /// other step.
    pub(crate) fn waiters(&self, id: ThreadId) -> &[ThreadId] {
        match self.step_at(id) {
            Some((_, Step::NotifyOne { condition })) => self.syncs[condition.index()].waiters(),
            _ => &[],
        }
    }

    fn ids(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.threads.len()).map(ThreadId::from_index)
    }

    fn step_at(&self, id: ThreadId) -> Option<(SiteId, &'p Step)> {
        let thread = &self.threads[id.index()];
        if matches!(
            thread.status,
            Status::NotStarted | Status::Ended | Status::Joined
        ) {
            return None;
        }
        match self.program.threads[id.index()]
            .instructions
            .get(thread.counter)
        {
            Some(Instruction::Step { site, step }) => Some((*site, step)),
            _ => None,
        }
    }

    fn is_enabled(&self, id: ThreadId) -> bool {
        let Some((_, step)) = self.step_at(id) else {
            return false;
        };
        let sync = |sync: SyncId| &self.syncs[sync.index()];
        match (self.threads[id.index()].status, step) {
            (Status::Waiting { notified, .. }, Step::Wait { lock, .. }) => {
                notified && sync(*lock).can_acquire(id, Mode::Exclusive)
            }
            (Status::AtBarrier { generation }, Step::Barrier { barrier }) => {
                sync(*barrier).generation() != generation
            }
            (_, Step::Acquire { lock, mode }) => sync(*lock).can_acquire(id, *mode),
            (_, Step::Take { semaphore }) => sync(*semaphore).semaphore() > 0,
            // Joining a thread that was never forked, or twice, is a misuse
            // and does not wait.
            (_, Step::Join { child }) => !matches!(
                self.threads[child.index()].status,
                Status::Running | Status::Waiting { .. } | Status::AtBarrier { .. }
            ),
            _ => true,
        }
    }

    /// What a thread that has started and not ended is about to do.
    pub(crate) fn pending(&self, id: ThreadId) -> Option<Pending> {
        let (site, step) = self.step_at(id)?;
        let thread = &self.threads[id.index()];
        let loc = |variable: usize| Loc(variable as u64);
        let size = 1;
        let op = match *step {
            Step::Read { variable, .. } => Op::Read {
                loc: loc(variable),
                size,
            },
            Step::Write { variable, .. } => Op::Write {
                loc: loc(variable),
                size,
            },
            Step::Load {
                variable, order, ..
            } => Op::AtomicLoad {
                loc: loc(variable),
                size,
                order,
            },
            Step::Store {
                variable, order, ..
            } => Op::AtomicStore {
                loc: loc(variable),
                size,
                order,
            },
            Step::Add {
                variable, order, ..
            }
            | Step::Swap {
                variable, order, ..
            } => Op::AtomicRmw {
                loc: loc(variable),
                size,
                order,
            },
            Step::CompareAndSwap {
                variable,
                order,
                ref old,
                ..
            } => {
                if self.variables[variable] == old.of(&thread.slots) {
                    Op::AtomicRmw {
                        loc: loc(variable),
                        size,
                        order,
                    }
                } else {
                    let order = acquire_part(order);
                    Op::AtomicLoad {
                        loc: loc(variable),
                        size,
                        order,
                    }
                }
            }
            Step::Fence { order } => Op::Fence { order },
            Step::Acquire { lock, mode } => Op::Acquire { lock, mode },
            Step::Release { lock } => {
                // A misuse has to be called something.
                let mode = self.syncs[lock.index()]
                    .held_by(id)
                    .unwrap_or(Mode::Exclusive);
                Op::Release { lock, mode }
            }
            Step::Wait {
                condition: cond,
                lock,
            } => {
                let lock = Some(lock);
                match thread.status {
                    Status::Waiting { .. } => Op::Wake {
                        cond,
                        lock,
                        notified: true,
                    },
                    _ => Op::Wait { cond, lock },
                }
            }
            Step::NotifyOne { condition } => Op::NotifyOne {
                cond: condition,
                woken: None,
            },
            Step::NotifyAll { condition } => Op::NotifyAll { cond: condition },
            Step::Post { semaphore } => Op::SemPost { sem: semaphore },
            Step::Take { semaphore } => Op::SemWait { sem: semaphore },
            Step::Barrier { barrier } => match thread.status {
                Status::AtBarrier { .. } => Op::BarrierLeave { barrier },
                _ => Op::BarrierArrive { barrier },
            },
            Step::Fork { child } => Op::Fork { child },
            Step::Join { child } => Op::Join { child },
            Step::Call { function } => Op::Call { function },
            Step::Return => Op::Return,
            Step::RegionBegin => Op::RegionBegin,
            Step::RegionEnd => Op::RegionEnd,
            Step::Skip { .. } => {
                return Some(Pending {
                    thread: id,
                    site,
                    op: None,
                });
            }
        };
        Some(Pending {
            thread: id,
            site,
            op: Some(op),
        })
    }
}

/// The order of a compare-and-swap that failed, which is a load.
fn acquire_part(order: MemoryOrder) -> MemoryOrder {
    match order {
        MemoryOrder::AcqRel => MemoryOrder::Acquire,
        MemoryOrder::Release => MemoryOrder::Relaxed,
        other => other,
    }
}
