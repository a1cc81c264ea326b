//! What happens between two visible steps of a thread.

use racehound_trace::{SyncId, ThreadId};

use super::{Abort, Machine, Status};
use crate::program::Instruction;

/// Local instructions in a row before a thread counts as endless: loops are
/// bounded, so this takes nested ones with large bounds.
const MOST_LOCAL_INSTRUCTIONS: u32 = 1_000_000;

impl Machine<'_> {
    pub(super) fn launch(&mut self, id: ThreadId) {
        self.threads[id.index()].status = Status::Running;
        self.run_local_code(id);
    }

    /// Runs a thread up to its next visible step, or its end.
    pub(super) fn run_local_code(&mut self, id: ThreadId) {
        let instructions = &self.program.threads[id.index()].instructions;
        let thread = &mut self.threads[id.index()];
        for _ in 0..MOST_LOCAL_INSTRUCTIONS {
            let Some(instruction) = instructions.get(thread.counter) else {
                thread.status = Status::Ended;
                self.check_end(id);
                return;
            };
            let slots = &mut thread.slots;
            let mut next = thread.counter + 1;
            let abort = match instruction {
                Instruction::Step { .. } => return,
                Instruction::Set { slot, value } => {
                    slots[*slot] = value.of(slots);
                    None
                }
                Instruction::JumpIfZero { condition, to } => {
                    if condition.of(slots) == 0 {
                        next = *to;
                    }
                    None
                }
                Instruction::Jump { to } => {
                    next = *to;
                    None
                }
                Instruction::Bound { counter, max, site } => {
                    slots[*counter] += 1;
                    (slots[*counter] > *max).then_some(Abort::LoopBound { site: *site })
                }
                Instruction::Assert {
                    condition,
                    site,
                    name,
                } => {
                    let failed = condition.of(slots) == 0;
                    failed.then(|| Abort::Failed {
                        site: *site,
                        name: name.clone(),
                    })
                }
            };
            if abort.is_some() {
                self.abort = self.abort.take().or(abort);
                return;
            }
            thread.counter = next;
        }
        self.abort = Some(Abort::Endless);
    }

    /// A lock nobody can release any more: no trace could show the join.
    fn check_end(&mut self, id: ThreadId) {
        let held = self.syncs.iter().position(|s| s.held_by(id).is_some());
        let Some(lock) = held.map(SyncId::from_index) else {
            return;
        };
        let thread = self.program.tables.thread_name(id);
        let lock = self.program.tables.sync_name(lock);
        // It has taken a lock, so it has a last step.
        if let Some(site) = self.threads[id.index()].last {
            let message = format!("`{thread}` ends while it holds `{lock}`");
            self.abort = self.abort.take().or(Some(Abort::Misuse { site, message }));
        }
    }
}
