//! What each kind of finding is, for those who meet it in a list: name, meaning, and what
//! to do about it.

use crate::finding::Kind;

/// A kind of finding, explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The contract's word for it.
    pub id: String,
    /// The same as one word for programs.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// What it means, and what helps.
    pub help: &'static str,
}

impl Rule {
    /// The rule that a finding of this kind breaks.
    pub fn of(kind: &Kind) -> Self {
        let (name, summary, help) = explained(kind);
        Self {
            id: kind.clone().into(),
            name,
            summary,
            help,
        }
    }
}

fn explained(kind: &Kind) -> (&'static str, &'static str, &'static str) {
    match kind {
        Kind::Race => (
            "DataRace",
            "Two threads access the same memory, one of them writes, and nothing orders them.",
            "The outcome depends on who comes first, and compilers and processors may make \
             anything of it. Let both accesses hold the same lock, make the variable atomic, or \
             order the threads by joining or signalling.",
        ),
        Kind::Atomicity => (
            "AtomicityViolation",
            "Another thread changes a variable in the middle of what should be one operation.",
            "Each access may be protected and the combination still wrong: what was checked or \
             read is not true any more when it is used. Keep the lock from the first access to \
             the last, or use one atomic operation for all of it.",
        ),
        Kind::AtomicSet => (
            "AtomicSetViolation",
            "Variables that belong together are seen, or changed, when only one of them is new.",
            "Protect the variables as one: by the same lock, held over all of them.",
        ),
        Kind::Deadlock => (
            "Deadlock",
            "Threads wait for each other, or can come to.",
            "Take locks in the same order everywhere, or all at once (std::scoped_lock), and wait \
             for nothing else while holding one.",
        ),
        Kind::MutexMisuse => (
            "MutexMisuse",
            "A lock is used in a way that locks must not be.",
            "Unlock what you have locked, once, in the same thread, and destroy it when nobody \
             holds it.",
        ),
        Kind::ThreadLeak => (
            "ThreadLeak",
            "A thread that nobody waits for.",
            "Join it, or detach it.",
        ),
        Kind::SignalUnsafe => (
            "SignalUnsafeCall",
            "A signal handler does what signal handlers must not.",
            "In a handler only a few functions are safe (see signal-safety(7)); set a flag, and do \
             the work elsewhere. A handler that calls anything keeps errno as it was.",
        ),
        Kind::Failure => (
            "FailureUnderSchedule",
            "The program fails in one order of its threads, and never by itself.",
            "Replay it: the schedule makes it fail again, also in the debugger. The steps show who \
             came between whom.",
        ),
        Kind::Pattern(_) => (
            "Pattern",
            "Accesses fit a pattern of your own.",
            "What it means is up to whoever wrote the pattern.",
        ),
    }
}
