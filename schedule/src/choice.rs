//! A schedule, choice by choice.

use racehound_trace::{SiteId, ThreadId};

/// One decision of a strategy, by what it means and not by its index: indices
/// shift when one more thread happens to be enabled, meanings do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// This thread went next.
    Thread {
        /// Who.
        thread: ThreadId,
        /// Where it stood, to notice an execution that has gone astray.
        site: SiteId,
    },
    /// A notify woke this thread.
    Waiter(ThreadId),
}
