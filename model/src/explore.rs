//! All interleavings of a program, each once up to dependence.
//!
//! The search is depth-first over prefixes of executions. It is made small in
//! two ways that lose nothing.
//!
//! **Happens-before caching.** Two prefixes with the same dependence order
//! ([`Order`]) lead to the same state and have the same continuations, so the
//! second one is not continued. Every state is still visited, which is what
//! makes "two threads stand at conflicting accesses" a check of states.
//!
//! **Private steps first.** If the next step of some thread is a skip, or
//! touches only what no other thread can ever change or notice, and does not
//! end the execution, it alone is explored. Let `p` be that step of thread `t`
//! and `w` any continuation. Nothing another thread does can disable `p` or
//! depend on it. If `p` is in `w`, moving it to the front gives an execution of
//! the same dependence order. If not, `t` does not move in `w`, and `p w` leads
//! to the state of `w` with `p` done: `t` stands at a private access before,
//! which races with nobody, and deadlocks are impossible while `p` is enabled.
//! An execution that another thread's failure cuts short before `p` is explored
//! with `p` in it; the failure is the same, and its accesses are among those
//! with `p`. That is why `p` must not itself end the execution: it would cut
//! off everybody else.
//!
//! An execution that is cut short, by a failure, a misuse or a loop bound, ends
//! for all threads at once: the last step comes after everything else.
//!
//! # Limits
//! Sequential consistency: memory orders are recorded, and do not add
//! behaviour. No spurious wake-ups, no time-outs. Loops are bounded. Beyond
//! [`Limits`] there is an error, never a partial truth.

use rustc_hash::FxHashSet;

use racehound_predict::pattern::{Kind, Pattern, builtin};
use racehound_schedule::Pending;
use racehound_trace::ThreadId;

use crate::machine::{Abort, Machine, Skips};
use crate::order::Order;
use crate::program::Program;
use crate::truth::Truth;
use crate::violations::{Accesses, Placed};

/// How much work the explorer may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most states to visit.
    pub max_states: u64,
    /// Most steps of one execution.
    pub max_steps: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_states: 1_000_000,
            max_steps: 10_000,
        }
    }
}

/// Why there is no truth to be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    /// Too many interleavings.
    #[error("the program has more than {0} states: use fewer threads or steps, or raise the limit")]
    States(u64),
    /// Too long an execution.
    #[error(
        "an execution has more than {0} steps: lower the bounds of its loops, or raise the limit"
    )]
    Steps(usize),
    /// Too much local computation between two steps.
    #[error("a thread computes without end: lower the bounds of its loops")]
    Endless,
}

/// The truth about a program, with the built-in patterns.
///
/// ```
/// use racehound_model::{Limits, Program, explore};
///
/// let program = Program::parse("
///     var x
///     lock l
///     thread T1 { A: read x; lock l; B: read x; unlock l }
///     thread T2 { lock l; C: x = 1; unlock l }
/// ")?;
/// let truth = explore(&program, &Limits::default()).unwrap();
/// assert!(truth.has_race(program.site("A"), program.site("C")));
/// assert_eq!(truth.races.len(), 1);
/// # Ok::<(), racehound_model::NotationError>(())
/// ```
pub fn explore(program: &Program, limits: &Limits) -> Result<Truth, TooLarge> {
    explore_patterns(program, &builtin(), limits)
}

/// The truth about a program, with the given patterns. Those of data races
/// are covered by [`Truth::races`] and are not matched.
pub fn explore_patterns(
    program: &Program,
    patterns: &[Pattern],
    limits: &Limits,
) -> Result<Truth, TooLarge> {
    let mut search = Search {
        program,
        patterns: patterns.iter().filter(|p| p.kind() != Kind::Race).collect(),
        limits,
        seen: FxHashSet::default(),
        path: Vec::new(),
        stack: Vec::new(),
        truth: Truth::default(),
    };
    search.enter(Machine::start(program, Skips::AtOnce), Order::new(program))?;
    while search.advance()? {}
    Ok(search.truth)
}

struct Search<'p> {
    program: &'p Program,
    patterns: Vec<&'p Pattern>,
    limits: &'p Limits,
    seen: FxHashSet<u128>,
    /// The events that lead to the state on top of the stack.
    path: Vec<Placed>,
    stack: Vec<Frame<'p>>,
    truth: Truth,
}

/// A state that is being explored.
struct Frame<'p> {
    machine: Machine<'p>,
    order: Order,
    /// How many events lead here.
    events: usize,
    /// What is still to be tried: who goes, and whom it wakes.
    choices: Vec<(ThreadId, usize)>,
}

impl<'p> Search<'p> {
    /// Tries the next choice of the last state; false when all is done.
    fn advance(&mut self) -> Result<bool, TooLarge> {
        let Some(frame) = self.stack.last_mut() else {
            return Ok(false);
        };
        self.path.truncate(frame.events);
        let Some((thread, waiter)) = frame.choices.pop() else {
            self.stack.pop();
            return Ok(true);
        };
        let (mut machine, mut order) = (frame.machine.clone(), frame.order.clone());
        let event = machine.step(thread, waiter);
        let mut clock = order.add(thread, event.as_ref().map(|e| &e.op));
        let aborted = machine.abort().is_some();
        if aborted {
            clock = order.after_everything();
        } else if !self.seen.insert(order.identity()) {
            return Ok(true);
        }
        if let Some(event) = event {
            self.path.push(Placed { event, clock });
        }
        self.enter(machine, order)?;
        Ok(true)
    }

    /// Looks at a state that was not seen before.
    fn enter(&mut self, machine: Machine<'p>, order: Order) -> Result<(), TooLarge> {
        self.truth.states += 1;
        if self.truth.states > self.limits.max_states {
            return Err(TooLarge::States(self.limits.max_states));
        }
        if self.stack.len() > self.limits.max_steps {
            return Err(TooLarge::Steps(self.limits.max_steps));
        }
        let enabled = machine.enabled();
        if enabled.is_empty() {
            return self.end(&machine);
        }
        self.note_races(&enabled);
        let choices = self.choices(&machine, &enabled);
        self.stack.push(Frame {
            machine,
            order,
            events: self.path.len(),
            choices,
        });
        Ok(())
    }

    fn note_races(&mut self, enabled: &[Pending]) {
        for (i, a) in enabled.iter().enumerate() {
            let Some(access) = a.op.and_then(|op| op.access()) else {
                continue;
            };
            for b in &enabled[i + 1..] {
                let Some(other) = b.op.and_then(|op| op.access()) else {
                    continue;
                };
                if access.loc == other.loc && access.conflicts_with(other) {
                    let pair = (a.site.min(b.site), a.site.max(b.site));
                    self.truth.races.insert(pair);
                }
            }
        }
    }

    fn choices(&self, machine: &Machine<'p>, enabled: &[Pending]) -> Vec<(ThreadId, usize)> {
        for pending in enabled {
            if !self.program.sharing.is_private(pending.op.as_ref()) {
                continue;
            }
            let mut trial = machine.clone();
            trial.step(pending.thread, 0);
            if trial.abort().is_none() {
                return vec![(pending.thread, 0)];
            }
        }
        let waiters = |p: &Pending| 0..machine.waiters(p.thread).len().max(1);
        let choices = |p: &'_ Pending| waiters(p).map(|w| (p.thread, w)).collect::<Vec<_>>();
        enabled.iter().flat_map(choices).collect()
    }

    /// Notes how an execution ended, and what its accesses violate.
    fn end(&mut self, machine: &Machine<'p>) -> Result<(), TooLarge> {
        let truth = &mut self.truth;
        truth.executions += 1;
        match machine.abort().cloned() {
            Some(Abort::Failed { site, name }) => {
                truth.failures.insert((site, name));
            }
            Some(Abort::Misuse { site, message }) => {
                truth.misuses.insert((site, message));
            }
            Some(Abort::LoopBound { site }) => {
                truth.loop_bounds.insert(site);
            }
            Some(Abort::Endless) => return Err(TooLarge::Endless),
            None => {
                let alive = machine.alive();
                if !alive.is_empty() {
                    truth.deadlocks.insert(alive);
                }
            }
        }
        let accesses = Accesses::of(&self.path);
        for pattern in &self.patterns {
            let mut found = truth.violations.remove(pattern.name()).unwrap_or_default();
            accesses.matches(pattern, &mut found);
            if !found.is_empty() {
                truth.violations.insert(pattern.name().to_owned(), found);
            }
        }
        Ok(())
    }
}
