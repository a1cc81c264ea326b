//! The one interface between strategies and hosts.

use racehound_trace::event::Kind;
use racehound_trace::{Event, Op, SiteId, ThreadId};

use crate::Meeting;

/// What an enabled thread is about to do: RaceFuzzer's `NextStmt(s, t)`
/// (racefuzzer.txt §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Who.
    pub thread: ThreadId,
    /// Where it stands.
    pub site: SiteId,
    /// What it will do, as far as that is known before it is done: a notify
    /// has woken nobody yet. `None` is a step that touches nothing shared.
    pub op: Option<Op>,
}

impl Pending {
    /// The kind of operation, if it touches anything shared.
    pub fn kind(&self) -> Option<Kind> {
        self.op.map(|op| op.kind())
    }

    /// Whether it is an operation by which threads order each other.
    pub fn is_synchronisation(&self) -> bool {
        self.op.is_some_and(|op| op.synchronises())
    }

    /// Whether the two, done next to each other by their threads, are a race:
    /// the same memory, at least one write, not both atomic.
    pub fn races_with(&self, other: &Self) -> bool {
        let access = |pending: &Self| pending.op.and_then(|op| op.access());
        match (access(self), access(other)) {
            (Some(a), Some(b)) => {
                self.thread != other.thread && a.overlaps(b) && a.conflicts_with(b)
            }
            _ => false,
        }
    }
}

/// Decides the order in which threads run.
///
/// The host calls [`pick`](Self::pick) whenever some thread may go, lets that
/// thread do exactly the operation it announced, and calls
/// [`observe`](Self::observe) with what happened. Which operations are
/// announced is up to the host: a model announces every step, the native
/// runtime synchronisation and what the strategy [watches](Self::watched).
///
/// Everything a strategy is told is an argument, and everything random comes
/// from its seed. So the same seed, asked the same questions, gives the same
/// answers.
pub trait Strategy {
    /// The index of the thread to go next. `enabled` is never empty, holds
    /// each thread at most once, and is sorted by thread.
    fn pick(&mut self, enabled: &[Pending]) -> usize;

    /// The index of the waiter a notify-one wakes. `waiters` has at least two
    /// threads, the one that has waited longest first.
    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        let _ = waiters;
        0
    }

    /// Learns what happened.
    fn observe(&mut self, event: &Event) {
        let _ = event;
    }

    /// Learns that this thread waits for others without being blocked: it
    /// yields, sleeps, or spins. It stays enabled, and to run it on and on
    /// would be to wait for ever.
    fn yields(&mut self, thread: ThreadId) {
        let _ = thread;
    }

    /// Lets go of a thread, if it is held back on purpose: the host's monitor
    /// finds that it has waited for too long.
    fn release(&mut self, thread: ThreadId) {
        let _ = thread;
    }

    /// The thread without which it does not go on: if that one waits for nothing
    /// but time, the host lets time pass.
    fn awaits(&self) -> Option<ThreadId> {
        None
    }

    /// Sites, sorted, whose plain accesses must be announced although they
    /// synchronise nothing.
    fn watched(&self) -> &[SiteId] {
        &[]
    }

    /// The races the strategy has brought about so far.
    fn meetings(&self) -> &[Meeting] {
        &[]
    }
}

macro_rules! forward {
    () => {
        fn pick(&mut self, enabled: &[Pending]) -> usize {
            (**self).pick(enabled)
        }
        fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
            (**self).pick_waiter(waiters)
        }
        fn observe(&mut self, event: &Event) {
            (**self).observe(event);
        }
        fn yields(&mut self, thread: ThreadId) {
            (**self).yields(thread);
        }
        fn release(&mut self, thread: ThreadId) {
            (**self).release(thread);
        }
        fn awaits(&self) -> Option<ThreadId> {
            (**self).awaits()
        }
        fn watched(&self) -> &[SiteId] {
            (**self).watched()
        }
        fn meetings(&self) -> &[Meeting] {
            (**self).meetings()
        }
    };
}

impl<S: Strategy + ?Sized> Strategy for &mut S {
    forward!();
}

impl<S: Strategy + ?Sized> Strategy for Box<S> {
    forward!();
}
