//! The one interface between strategies and hosts.

use racehound_trace::{Event, Op, SiteId, ThreadId};

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

/// Decides the order in which threads run.
///
/// The host calls [`pick`](Self::pick) whenever some thread may go, lets that
/// thread do exactly the operation it announced, and calls
/// [`observe`](Self::observe) with what happened.
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
}

impl<S: Strategy + ?Sized> Strategy for &mut S {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        (**self).pick(enabled)
    }
    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        (**self).pick_waiter(waiters)
    }
    fn observe(&mut self, event: &Event) {
        (**self).observe(event);
    }
}

impl<S: Strategy + ?Sized> Strategy for Box<S> {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        (**self).pick(enabled)
    }
    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        (**self).pick_waiter(waiters)
    }
    fn observe(&mut self, event: &Event) {
        (**self).observe(event);
    }
}
