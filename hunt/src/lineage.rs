//! What threads know of each other because they were created and joined.
//!
//! That order holds in every execution, whoever takes which lock first: what a thread did
//! before it created another, and what one did that was joined, are over for good.

use std::collections::BTreeMap;

use racehound_trace::{Event, Op, ThreadId};

/// Up to which event of each other one a thread knows, in a trace that is gone through.
#[derive(Default)]
pub(crate) struct Lineage {
    known: BTreeMap<ThreadId, BTreeMap<ThreadId, usize>>,
    births: BTreeMap<ThreadId, usize>,
}

impl Lineage {
    /// The next event of the trace, by its number there.
    pub(crate) fn follow(&mut self, at: usize, event: &Event) {
        let (learner, teller) = match event.op {
            Op::Fork { child } => {
                self.births.insert(child, at);
                (child, event.thread)
            }
            Op::Join { child } => (event.thread, child),
            _ => return,
        };
        let mut news = self.known.get(&teller).cloned().unwrap_or_default();
        news.insert(teller, at);
        let known = self.known.entry(learner).or_default();
        for (thread, until) in news {
            let before = known.entry(thread).or_default();
            *before = until.max(*before);
        }
    }

    /// Whether a thread that stands here may have been at its access, too, when an earlier
    /// event of another one happened.
    pub(crate) fn may_meet(&self, thread: ThreadId, other: ThreadId, earlier: usize) -> bool {
        let known = self.known.get(&thread).and_then(|known| known.get(&other));
        let birth = self.births.get(&thread);
        birth.is_none_or(|&birth| earlier > birth) && known.is_none_or(|&until| earlier > until)
    }
}

#[cfg(test)]
mod tests {
    use racehound_trace::{Trace, rapid};

    use super::*;

    #[test]
    fn what_was_before_creation_and_what_was_joined_are_over() {
        let text = "T0|w(x)|1\nT0|fork(T1)|2\nT1|w(x)|3\nT0|fork(T2)|4\nT0|join(T1)|5\nT2|w(x)|6";
        let trace = Trace::collect(rapid::Reader::new(text.as_bytes())).unwrap();
        let mut lineage = Lineage::default();
        for (at, event) in trace.events.iter().enumerate() {
            lineage.follow(at, event);
        }
        let thread = |at: usize| trace.events[at].thread;
        let meet = |later: ThreadId, at: usize| lineage.may_meet(later, thread(at), at);
        // Main has joined the first, the second knows nothing of that.
        assert!(!meet(thread(0), 2));
        assert!(meet(thread(0), 5));
        assert!(!meet(thread(5), 0));
        // It was not there yet, though.
        assert!(!meet(thread(5), 2));
        assert!(!meet(thread(2), 0));
    }
}
