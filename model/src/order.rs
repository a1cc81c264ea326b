//! The dependence order of an execution, as vector clocks.
//!
//! Two steps are dependent if they are by the same thread; access the same
//! variable and at least one writes it; use the same synchronisation object, in
//! whatever way (a wait uses its condition and its lock); fork or join the same
//! thread; or one forks or joins the thread of the other. This is conservative:
//! two read locks commute, and are dependent all the same. Independent
//! neighbours can change places without anybody noticing, so executions with
//! the same dependence order (one Mazurkiewicz trace) lead to the same state.
//!
//! The order of a set of events is determined by the vector clock of each. So
//! [`Order::identity`], a sum over hashes of the events with their clocks,
//! stands for the prefix up to dependence, whichever way it was executed. A
//! collision of the 128 bits would lose a part of the truth; for a million
//! prefixes, and hashes as good as random, its probability is below 2⁻⁸⁸.

use racehound_trace::{Op, SyncId, ThreadId};

use crate::program::Program;

/// The events so far, up to dependence.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    threads: usize,
    variables: usize,
    /// Rows of `threads` entries: the clock of each thread, of the last write
    /// and the reads of each variable, of each thread as something to fork and
    /// join, and of each synchronisation object.
    cells: Vec<u32>,
    identity: u128,
}

/// How many events of each thread lie at or before an event.
pub(crate) type Clock = Box<[u32]>;

impl Order {
    pub(crate) fn new(program: &Program) -> Self {
        let (threads, variables) = (program.threads.len(), program.variables.len());
        let rows = 2 * threads + 2 * variables + program.syncs.len();
        Self {
            threads,
            variables,
            cells: vec![0; rows * threads],
            identity: 0,
        }
    }

    /// The same for all executions of the same events in the same dependence
    /// order, and different for others.
    pub(crate) fn identity(&self) -> u128 {
        self.identity
    }

    /// The clock of an event that depends on everything.
    pub(crate) fn after_everything(&self) -> Clock {
        let ends = |t: usize| self.cells[t * self.threads + t];
        (0..self.threads).map(ends).collect()
    }

    /// Adds a step; `None` is a skip. Gives the step's clock.
    pub(crate) fn add(&mut self, thread: ThreadId, op: Option<&Op>) -> Clock {
        let t = thread.index();
        let mut after = [None; 2];
        let mut reads = None;
        let mut woken = 0;
        if let Some(access) = op.and_then(Op::access) {
            let write = self.threads + access.loc.0 as usize;
            self.join(t, write);
            if access.is_write {
                self.join(t, write + self.variables);
                after[0] = Some(write);
            } else {
                reads = Some(write + self.variables);
            }
        } else if let Some(op) = op {
            after = self.objects(op);
            for object in after.into_iter().flatten() {
                self.join(t, object);
            }
            match *op {
                Op::Join { child } => self.join(t, child.index()),
                Op::NotifyOne {
                    woken: Some(id), ..
                } => woken = u64::from(id.0) + 1,
                _ => {}
            }
        }
        self.cells[t * self.threads + t] += 1;
        for row in after.into_iter().flatten().chain(reads) {
            self.join(row, t);
        }
        if let Some(Op::Fork { child }) = op {
            self.join(child.index(), t);
        }
        let clock = &self.cells[t * self.threads..][..self.threads];
        let hash = |seed| {
            let words = clock.iter().map(|&c| u64::from(c));
            words.fold(mix(mix(seed, t as u64), woken), mix)
        };
        let identity = u128::from(hash(1)) << 64 | u128::from(hash(2));
        let clock = clock.into();
        self.identity = self.identity.wrapping_add(identity);
        clock
    }

    /// The rows of the objects an operation uses.
    fn objects(&self, op: &Op) -> [Option<usize>; 2] {
        let thread = |id: ThreadId| self.threads + 2 * self.variables + id.index();
        let sync = |id: SyncId| 2 * self.threads + 2 * self.variables + id.index();
        match *op {
            Op::Acquire { lock: object, .. }
            | Op::Release { lock: object, .. }
            | Op::NotifyOne { cond: object, .. }
            | Op::NotifyAll { cond: object }
            | Op::BarrierArrive { barrier: object }
            | Op::BarrierLeave { barrier: object }
            | Op::SemPost { sem: object }
            | Op::SemWait { sem: object } => [Some(sync(object)), None],
            Op::Wait { cond, lock } | Op::Wake { cond, lock, .. } => {
                [Some(sync(cond)), lock.map(sync)]
            }
            Op::Fork { child } | Op::Join { child } => [Some(thread(child)), None],
            _ => [None, None],
        }
    }

    /// Raises every entry of row `to` to at least that of row `from`.
    fn join(&mut self, to: usize, from: usize) {
        for i in 0..self.threads {
            let other = self.cells[from * self.threads + i];
            let cell = &mut self.cells[to * self.threads + i];
            *cell = (*cell).max(other);
        }
    }
}

/// One more word into a hash: the finaliser of SplitMix64.
fn mix(hash: u64, word: u64) -> u64 {
    let mut z = hash.rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ word;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use racehound_trace::Loc;

    use super::*;

    const READ: Op = Op::Read {
        loc: Loc(0),
        size: 1,
    };
    const WRITE: Op = Op::Write {
        loc: Loc(0),
        size: 1,
    };

    fn identity(steps: &[(u32, Option<Op>)]) -> u128 {
        let text = "var x\nlock l\nthread A { x = 1; lock l; unlock l }\nthread B { x = 1 }";
        let mut order = Order::new(&Program::parse(text).unwrap());
        for (thread, op) in steps {
            order.add(ThreadId(*thread), op.as_ref());
        }
        order.identity()
    }

    #[test]
    fn independent_steps_commute() {
        assert_eq!(
            identity(&[(1, Some(READ)), (2, Some(READ))]),
            identity(&[(2, Some(READ)), (1, Some(READ))])
        );
        assert_eq!(
            identity(&[(1, Some(WRITE)), (2, None)]),
            identity(&[(2, None), (1, Some(WRITE))])
        );
    }

    #[test]
    fn dependent_steps_do_not() {
        assert_ne!(
            identity(&[(1, Some(WRITE)), (2, Some(READ))]),
            identity(&[(2, Some(READ)), (1, Some(WRITE))])
        );
        let post = Some(Op::SemPost { sem: SyncId(0) });
        assert_ne!(
            identity(&[(1, post), (2, post)]),
            identity(&[(2, post), (1, post)])
        );
    }

    #[test]
    fn whom_a_notify_wakes_matters() {
        let notify = |woken| {
            let cond = SyncId(0);
            identity(&[(
                0,
                Some(Op::NotifyOne {
                    cond,
                    woken: Some(ThreadId(woken)),
                }),
            )])
        };
        assert_ne!(notify(1), notify(2));
    }
}
