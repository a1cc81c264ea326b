//! Which variables and synchronisation objects several threads can touch.

use racehound_trace::SyncId;

use crate::program::{Code, Instruction, Sharing, Step};

/// Who touches something.
#[derive(Clone, Copy, Default)]
struct Users {
    first: Option<usize>,
    several: bool,
    written: bool,
}

impl Users {
    fn add(&mut self, thread: usize, writes: bool) {
        self.several |= self.first.is_some_and(|first| first != thread);
        self.first = Some(thread);
        self.written |= writes;
    }
}

pub(super) fn of(codes: &[Code], variables: usize, syncs: usize) -> Sharing {
    let mut variables = vec![Users::default(); variables];
    let mut syncs = vec![Users::default(); syncs];
    for (thread, code) in codes.iter().enumerate() {
        for instruction in &code.instructions {
            let Instruction::Step { step, .. } = instruction else {
                continue;
            };
            if let Some((variable, writes)) = variable(step) {
                variables[variable].add(thread, writes);
            }
            for sync in objects(step).into_iter().flatten() {
                syncs[sync.index()].add(thread, true);
            }
        }
    }
    Sharing {
        private_variables: variables
            .iter()
            .map(|u| !(u.several && u.written))
            .collect(),
        private_syncs: syncs.iter().map(|u| !u.several).collect(),
    }
}

/// The variable a step accesses, and whether it may write it.
fn variable(step: &Step) -> Option<(usize, bool)> {
    match *step {
        Step::Read { variable, .. } | Step::Load { variable, .. } => Some((variable, false)),
        Step::Write { variable, .. }
        | Step::Store { variable, .. }
        | Step::Add { variable, .. }
        | Step::Swap { variable, .. }
        | Step::CompareAndSwap { variable, .. } => Some((variable, true)),
        _ => None,
    }
}

/// The synchronisation objects a step uses.
fn objects(step: &Step) -> [Option<SyncId>; 2] {
    match *step {
        Step::Acquire { lock: object, .. }
        | Step::Release { lock: object }
        | Step::NotifyOne { condition: object }
        | Step::NotifyAll { condition: object }
        | Step::Post { semaphore: object }
        | Step::Take { semaphore: object }
        | Step::Barrier { barrier: object } => [Some(object), None],
        Step::Wait { condition, lock } => [Some(condition), Some(lock)],
        _ => [None, None],
    }
}
