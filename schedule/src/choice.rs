//! A schedule as it comes about, choice by choice.

use racehound_trace::event::Kind;
use racehound_trace::{SiteId, ThreadId};

/// One decision of a strategy, by what it means and not by its index: indices
/// shift when one more thread happens to be enabled, meanings do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// This thread went next.
    Thread {
        /// Who.
        thread: ThreadId,
        /// Where it stood,
        site: SiteId,
        /// and what it was about to do, to notice an execution that has gone
        /// astray.
        kind: Option<Kind>,
    },
    /// A notify woke this thread.
    Waiter(ThreadId),
    /// Time passed until who sleeps wakes, although others could go.
    Time,
}
