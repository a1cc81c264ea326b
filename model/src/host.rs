//! The host: one execution of a program under a strategy.

use racehound_schedule::Strategy;
use racehound_trace::{SiteId, Space, ThreadId, Trace};

use crate::machine::{Abort, Machine, Skips};
use crate::program::Program;
use crate::stacks::Stacks;

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every thread that was forked has ended.
    Finished,
    /// Nobody can go on.
    Deadlock {
        /// The threads that have not ended, and where each stands.
        blocked: Vec<(ThreadId, SiteId)>,
    },
    /// An assertion failed or an `error` was reached: the execution ends at
    /// once, as with abort.
    Failed {
        /// The statement.
        site: SiteId,
        /// The error's name, or the assertion as written.
        name: String,
    },
    /// A primitive was used in a way it does not allow.
    Misuse {
        /// The statement.
        site: SiteId,
        /// What is wrong.
        message: String,
    },
    /// A loop would have gone beyond its bound.
    LoopBound {
        /// The loop.
        site: SiteId,
    },
    /// The execution was cut: too many steps.
    StepLimit,
}

/// What happened, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The events. The trace obeys the conventions of
    /// [`racehound_trace::event`] whatever the outcome.
    pub trace: Trace,
    /// How it ended.
    pub outcome: Outcome,
}

/// More steps than any program for tests should need.
pub const MAX_STEPS: u64 = 1_000_000;

/// Executes a program, asking `strategy` at every step.
///
/// ```
/// use racehound_model::{Outcome, Program, run};
/// use racehound_schedule::Sequential;
///
/// let program = Program::parse("
///     var x
///     thread T1 { x = x + 1 }
///     thread T2 { x = x + 1; assert x == 2 }
/// ")?;
/// assert_eq!(run(&program, &mut Sequential::new()).outcome, Outcome::Finished);
/// # Ok::<(), racehound_model::NotationError>(())
/// ```
pub fn run(program: &Program, strategy: &mut dyn Strategy) -> Execution {
    run_at_most(program, strategy, MAX_STEPS)
}

/// As [`run`], cut after `max_steps` steps.
pub fn run_at_most(program: &Program, strategy: &mut dyn Strategy, max_steps: u64) -> Execution {
    let mut machine = Machine::start(program, Skips::Each);
    let mut stacks = Stacks::of(program.tables(), strategy);
    // Who stands where it stood when the strategy was told.
    let mut told = vec![false; program.tables().threads.len()];
    let mut events = Vec::new();
    let mut steps = 0;
    let outcome = loop {
        if let Some(abort) = machine.abort() {
            break match abort.clone() {
                Abort::Failed { site, name } => Outcome::Failed { site, name },
                Abort::Misuse { site, message } => Outcome::Misuse { site, message },
                Abort::LoopBound { site } => Outcome::LoopBound { site },
                Abort::Endless => Outcome::StepLimit,
            };
        }
        let enabled = machine.enabled();
        if enabled.is_empty() {
            let blocked = machine.alive();
            break match blocked.is_empty() {
                true => Outcome::Finished,
                false => Outcome::Deadlock { blocked },
            };
        }
        if steps == max_steps {
            break Outcome::StepLimit;
        }
        steps += 1;
        if let Some(stacks) = &stacks {
            for pending in &enabled {
                if !std::mem::replace(&mut told[pending.thread.index()], true) {
                    stacks.tell(pending, strategy);
                }
            }
        }
        let thread = enabled[strategy.pick(&enabled)].thread;
        told[thread.index()] = false;
        let waiter = match machine.waiters(thread) {
            waiters @ [_, _, ..] => strategy.pick_waiter(waiters),
            _ => 0,
        };
        if let Some(event) = machine.step(thread, waiter) {
            if let Some(stacks) = &mut stacks {
                stacks.note(&event);
            }
            strategy.observe(&event);
            events.push(event);
        }
    };
    let trace = Trace {
        space: Space::Names,
        tables: program.tables().clone(),
        events,
    };
    Execution { trace, outcome }
}
