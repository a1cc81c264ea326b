//! What a visible step does.

use racehound_trace::{Event, Mode, Op, SyncId, ThreadId};

use super::{Abort, Machine, Skips, Status, Thread};
use crate::program::Step;

impl Machine<'_> {
    /// Lets an enabled thread do its step. A notify-one wakes the waiter of
    /// this index. A skip and a misuse are no events.
    pub(crate) fn step(&mut self, id: ThreadId, waiter: usize) -> Option<Event> {
        let pending = self.pending(id)?;
        let (site, step) = self.step_at(id)?;
        self.threads[id.index()].last = Some(site);
        let Some(mut op) = pending.op else {
            self.skip(id, step);
            return None;
        };
        match self.perform(id, step, &mut op, waiter) {
            Ok(Next::Advance) => {
                self.threads[id.index()].counter += 1;
                self.run_local_code(id);
            }
            Ok(Next::Stay(status)) => self.threads[id.index()].status = status,
            Err(message) => {
                self.abort = Some(Abort::Misuse { site, message });
                return None;
            }
        }
        Some(Event {
            thread: id,
            site,
            op,
        })
    }

    fn skip(&mut self, id: ThreadId, step: &Step) {
        let Step::Skip { times } = step else { return };
        let thread = &mut self.threads[id.index()];
        thread.skipped += 1;
        if thread.skipped == *times || self.skips == Skips::AtOnce {
            thread.skipped = 0;
            thread.counter += 1;
            self.run_local_code(id);
        }
    }

    fn perform(
        &mut self,
        id: ThreadId,
        step: &Step,
        op: &mut Op,
        waiter: usize,
    ) -> Result<Next, String> {
        let Self {
            variables,
            syncs,
            threads,
            program,
            ..
        } = self;
        let thread = &mut threads[id.index()];
        let name = |sync: SyncId| program.tables.sync_name(sync);
        match step {
            Step::Read { variable, into } | Step::Load { variable, into, .. } => {
                thread.slots[*into] = variables[*variable];
            }
            Step::Write { variable, value }
            | Step::Store {
                variable, value, ..
            } => {
                variables[*variable] = value.of(&thread.slots);
            }
            Step::Add {
                variable,
                value,
                into,
                ..
            } => {
                let old = variables[*variable];
                variables[*variable] = old.wrapping_add(value.of(&thread.slots));
                thread.slots[*into] = old;
            }
            Step::Swap {
                variable,
                value,
                into,
                ..
            } => {
                let new = value.of(&thread.slots);
                thread.slots[*into] = std::mem::replace(&mut variables[*variable], new);
            }
            Step::CompareAndSwap {
                variable,
                old,
                new,
                into,
                ..
            } => {
                let found = variables[*variable];
                if found == old.of(&thread.slots) {
                    variables[*variable] = new.of(&thread.slots);
                }
                thread.slots[*into] = found;
            }
            Step::Acquire { lock, mode } => syncs[lock.index()].acquire(id, *mode, 1),
            Step::Release { lock } => {
                let sync = &mut syncs[lock.index()];
                if sync.held_by(id).is_none() {
                    return Err(format!("unlock of `{}`, which is not held", name(*lock)));
                }
                sync.release(id);
            }
            Step::Wait { condition, lock } => {
                let sync = &mut syncs[lock.index()];
                if let Status::Waiting { depth, .. } = thread.status {
                    sync.acquire(id, Mode::Exclusive, depth);
                    thread.status = Status::Running;
                } else {
                    if sync.held_by(id).is_none() {
                        return Err(format!("wait with `{}`, which is not held", name(*lock)));
                    }
                    let depth = sync.release_all();
                    syncs[condition.index()].waiters_mut().push(id);
                    let notified = false;
                    return Ok(Next::Stay(Status::Waiting { notified, depth }));
                }
            }
            Step::NotifyOne { condition } => {
                let waiters = syncs[condition.index()].waiters_mut();
                if waiter < waiters.len() {
                    let woken = waiters.remove(waiter);
                    notify(threads, woken);
                    *op = Op::NotifyOne {
                        cond: *condition,
                        woken: Some(woken),
                    };
                }
            }
            Step::NotifyAll { condition } => {
                for woken in std::mem::take(syncs[condition.index()].waiters_mut()) {
                    notify(threads, woken);
                }
            }
            Step::Post { semaphore } => syncs[semaphore.index()].add_to_semaphore(1),
            Step::Take { semaphore } => syncs[semaphore.index()].add_to_semaphore(-1),
            Step::Barrier { barrier } => {
                if let Status::AtBarrier { .. } = thread.status {
                    thread.status = Status::Running;
                } else {
                    let generation = syncs[barrier.index()].generation();
                    syncs[barrier.index()].arrive();
                    return Ok(Next::Stay(Status::AtBarrier { generation }));
                }
            }
            Step::Fork { child } => {
                if threads[child.index()].status != Status::NotStarted {
                    let child = program.tables.thread_name(*child);
                    return Err(format!("fork of `{child}`, which was forked before"));
                }
                self.launch(*child);
            }
            Step::Join { child } => {
                let name = program.tables.thread_name(*child);
                match threads[child.index()].status {
                    Status::Ended => threads[child.index()].status = Status::Joined,
                    Status::Joined => {
                        return Err(format!("join of `{name}`, which was joined before"));
                    }
                    _ => return Err(format!("join of `{name}`, which was not forked")),
                }
            }
            Step::Fence { .. }
            | Step::Call { .. }
            | Step::Return
            | Step::RegionBegin
            | Step::RegionEnd
            | Step::Skip { .. } => {}
        }
        Ok(Next::Advance)
    }
}

/// What becomes of a thread after its step.
enum Next {
    /// On to the next instruction.
    Advance,
    /// The statement has a second half.
    Stay(Status),
}

fn notify(threads: &mut [Thread], woken: ThreadId) {
    if let Status::Waiting { notified, .. } = &mut threads[woken.index()].status {
        *notified = true;
    }
}
