//! The one interface between strategies and hosts.

use racehound_trace::event::Kind;
use racehound_trace::{Event, FunctionId, Op, SiteId, SyncId, ThreadId};

use crate::Meeting;

/// A lock class, as the host numbers it: the papers' "type of the lock object".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

impl ClassId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

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

    /// The lock that it will hold afterwards, and does not hold now.
    pub fn requested(&self) -> Option<SyncId> {
        match self.op? {
            Op::Acquire { lock, .. } => Some(lock),
            Op::Wake { lock, .. } => lock,
            _ => None,
        }
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

    /// Whether it would rather wait for a thread that sleeps than let any of these
    /// go. A host that can let time pass, does so first.
    fn awaits_sleepers(&self, enabled: &[Pending]) -> bool {
        let _ = enabled;
        false
    }

    /// Whether it waits for such a thread only if that takes a nap and is not away for
    /// long, one of these perhaps keeping others from going on meanwhile.
    fn awaits_naps_only(&self, enabled: &[Pending], keeps_others: bool) -> bool {
        let _ = (enabled, keeps_others);
        false
    }

    /// Learns that time has passed for that reason, and somebody woke.
    fn time_passed(&mut self) {}

    /// Whether the thread that goes now should stop again right after what it does. A host
    /// that announces not everything asks.
    fn stops(&self, thread: ThreadId) -> bool {
        let _ = thread;
        false
    }

    /// The threads that are held back on purpose.
    fn held(&self) -> Vec<ThreadId> {
        Vec::new()
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

    /// How many functions of their stacks the strategy wants to know of threads
    /// that [stand](Self::stands) somewhere. 0 spares the host telling it.
    fn stack_depth(&self) -> usize {
        0
    }

    /// Learns what a function is called beyond this execution. The host numbers
    /// functions, and tells their names before it uses the numbers.
    fn name_function(&mut self, function: FunctionId, name: &str) {
        let _ = (function, name);
    }

    /// The same for lock classes.
    fn name_class(&mut self, class: ClassId, name: &str) {
        let _ = (class, name);
    }

    /// Learns where a thread stands that is about to announce an operation:
    /// the innermost functions of its stack, innermost first, at least one if it
    /// is in any; and, if it [requests](Pending::requested) a lock, all that the
    /// strategy asked for, and the class of the lock.
    fn stands(&mut self, thread: ThreadId, functions: &[FunctionId], class: Option<ClassId>) {
        let _ = (thread, functions, class);
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
        fn awaits_sleepers(&self, enabled: &[Pending]) -> bool {
            (**self).awaits_sleepers(enabled)
        }
        fn awaits_naps_only(&self, enabled: &[Pending], keeps_others: bool) -> bool {
            (**self).awaits_naps_only(enabled, keeps_others)
        }
        fn time_passed(&mut self) {
            (**self).time_passed();
        }
        fn stops(&self, thread: ThreadId) -> bool {
            (**self).stops(thread)
        }
        fn held(&self) -> Vec<ThreadId> {
            (**self).held()
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
        fn stack_depth(&self) -> usize {
            (**self).stack_depth()
        }
        fn name_function(&mut self, function: FunctionId, name: &str) {
            (**self).name_function(function, name);
        }
        fn name_class(&mut self, class: ClassId, name: &str) {
            (**self).name_class(class, name);
        }
        fn stands(&mut self, thread: ThreadId, functions: &[FunctionId], class: Option<ClassId>) {
            (**self).stands(thread, functions, class);
        }
    };
}

impl<S: Strategy + ?Sized> Strategy for &mut S {
    forward!();
}

impl<S: Strategy + ?Sized> Strategy for Box<S> {
    forward!();
}
