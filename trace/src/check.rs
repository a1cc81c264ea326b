//! Could this trace have happened?
//!
//! Detectors take any sequence of events without complaint. Generators, hosts
//! and recorders must produce sequences that some execution could show; this
//! is the judge of that, kept apart from all of them.

use std::fmt;

use rustc_hash::FxHashMap;

use crate::event::{Event, Mode, Op};
use crate::id::{SyncId, ThreadId};

/// The first thing in a trace that cannot happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Number of the event, from 0.
    pub event: u64,
    /// Who did it.
    pub thread: ThreadId,
    /// Why it cannot be.
    pub what: &'static str,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {}: {}", self.event, self.what)
    }
}

#[derive(Default)]
struct Thread {
    started: bool,
    acted: bool,
    joined: bool,
    held: Vec<(SyncId, Mode)>,
    /// Waits that have not ended. The thread may act meanwhile, and even wait: a
    /// handler of a signal runs in it.
    waiting: Vec<Waiting>,
    barriers: Vec<SyncId>,
    calls: u64,
    regions: u64,
}

struct Waiting {
    cond: SyncId,
    lock: Option<SyncId>,
    depth: usize,
}

#[derive(Default)]
struct Lock {
    owner: Option<ThreadId>,
    readers: u64,
}

impl Lock {
    fn give_back(&mut self, mode: Mode) {
        match mode {
            Mode::Shared => self.readers -= 1,
            Mode::Exclusive => self.owner = None,
        }
    }
}

/// Follows a trace and stops at the first impossibility.
#[derive(Default)]
pub struct Checker {
    threads: FxHashMap<ThreadId, Thread>,
    locks: FxHashMap<SyncId, Lock>,
    events: u64,
    problem: Option<Problem>,
}

impl Checker {
    /// Looks at the next events.
    pub fn check(&mut self, events: &[Event]) {
        for event in events {
            if self.problem.is_none()
                && let Err(what) = self.step(event)
            {
                self.problem = Some(Problem {
                    event: self.events,
                    thread: event.thread,
                    what,
                });
            }
            self.events += 1;
        }
    }

    /// What was found, if anything.
    pub fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }

    fn step(&mut self, event: &Event) -> Result<(), &'static str> {
        let id = event.thread;
        let thread = self.threads.entry(id).or_default();
        if thread.joined {
            return Err("a thread acts after it was joined");
        }
        thread.acted = true;
        match event.op {
            Op::Wake { cond, lock, .. } => match thread.waiting.pop() {
                Some(w) if w.cond == cond && w.lock == lock => {
                    if let Some(lock) = lock {
                        for _ in 0..w.depth {
                            self.acquire(id, lock, Mode::Exclusive)?;
                        }
                    }
                    return Ok(());
                }
                _ => return Err("a thread wakes from a wait it is not in"),
            },
            Op::BarrierLeave { barrier } => match thread.barriers.pop() {
                Some(b) if b == barrier => return Ok(()),
                _ => return Err("a thread leaves a barrier it did not reach"),
            },
            _ => {}
        }
        match event.op {
            Op::Acquire { lock, mode } => self.acquire(id, lock, mode)?,
            Op::Release { lock, mode } => self.release(id, lock, mode)?,
            Op::Wait { cond, lock } => {
                let mut depth = 0;
                if let Some(lock) = lock {
                    while self.release(id, lock, Mode::Exclusive).is_ok() {
                        depth += 1;
                    }
                    if depth == 0 {
                        return Err("a thread waits without holding the lock");
                    }
                }
                let thread = self.threads.entry(id).or_default();
                thread.waiting.push(Waiting { cond, lock, depth });
            }
            Op::Fork { child } => {
                let child = self.threads.entry(child).or_default();
                if child.started {
                    return Err("a thread is created twice");
                }
                if child.acted {
                    return Err("a thread acts before it is created");
                }
                child.started = true;
            }
            Op::Join { child } if child == id => return Err("a thread joins itself"),
            Op::Join { child } => {
                let child = self.threads.entry(child).or_default();
                if !child.waiting.is_empty() || !child.barriers.is_empty() {
                    return Err("a thread is joined that cannot have ended");
                }
                child.joined = true;
                // What it still holds is nobody's: a robust lock can be taken.
                let held = std::mem::take(&mut child.held);
                for (lock, mode) in held {
                    self.locks.entry(lock).or_default().give_back(mode);
                }
            }
            Op::BarrierArrive { barrier } => {
                self.threads.entry(id).or_default().barriers.push(barrier);
            }
            Op::Call { .. } => self.threads.entry(id).or_default().calls += 1,
            Op::Return => {
                let thread = self.threads.entry(id).or_default();
                thread.calls = thread
                    .calls
                    .checked_sub(1)
                    .ok_or("a return without a call")?;
            }
            Op::RegionBegin => self.threads.entry(id).or_default().regions += 1,
            Op::RegionEnd => {
                let thread = self.threads.entry(id).or_default();
                let left = thread.regions.checked_sub(1);
                thread.regions = left.ok_or("an atomic region ends that did not begin")?;
            }
            _ => {}
        }
        Ok(())
    }

    fn acquire(&mut self, id: ThreadId, lock: SyncId, mode: Mode) -> Result<(), &'static str> {
        let state = self.locks.entry(lock).or_default();
        match mode {
            Mode::Exclusive => {
                if state.owner.is_some_and(|owner| owner != id) {
                    return Err("a lock is taken that another thread holds");
                }
                if state.readers > 0 {
                    return Err("a write lock is taken while read locks are held");
                }
                state.owner = Some(id);
            }
            Mode::Shared => {
                if state.owner.is_some_and(|owner| owner != id) {
                    return Err("a read lock is taken while another thread holds the write lock");
                }
                state.readers += 1;
            }
        }
        let thread = self.threads.entry(id).or_default();
        thread.held.push((lock, mode));
        Ok(())
    }

    fn release(&mut self, id: ThreadId, lock: SyncId, mode: Mode) -> Result<(), &'static str> {
        let thread = self.threads.entry(id).or_default();
        let held = thread.held.iter().rposition(|h| *h == (lock, mode));
        let Some(at) = held else {
            return Err("a lock is released that the thread does not hold");
        };
        thread.held.remove(at);
        let still_held = thread.held.contains(&(lock, mode));
        if mode == Mode::Shared || !still_held {
            self.locks.entry(lock).or_default().give_back(mode);
        }
        Ok(())
    }
}
