//! What is found, told: collected from the tables while it is fresh, put into
//! words, checked against suppressions, and written in one piece.

mod finding;
mod journal;
pub(crate) mod modules;
mod occasions;
mod reporter;
mod suppress;
pub(crate) mod symbols;
mod text;

use racehound_detect::AccessKind;
use racehound_detect::offline::Why;
use racehound_trace::Mode;

use crate::abi::external;
use crate::{blocks, registry};

pub(crate) use occasions::{
    Inversion, Keeper, Misuse, Race, Stand, Wait, held_locks, in_handler, inversion, meeting,
    misuse, race, stuck, thread_leak, warning,
};
pub(crate) use racehound_report::glob::glob;
pub(crate) use reporter::{
    Reporting, VPTR, count, has_failed, is_ours, matched_suppressions, note, reset_count,
};
pub(crate) use suppress::Suppressions;
pub(crate) use symbols::Line;
pub(crate) use text::render_stack;

/// What sort of bug is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Race,
    VptrRace,
    UseAfterFree,
    VptrUseAfterFree,
    ExternalRace,
    ThreadLeak,
    DestroyLocked,
    DoubleLock,
    InvalidMutex,
    BadUnlock,
    BadReadLock,
    BadReadUnlock,
    SignalUnsafe,
    ErrnoInHandler,
    Deadlock,
    /// Nobody can go on.
    Stuck,
    HeldLocks,
}

impl Kind {
    /// As TSan words it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Race => "data race",
            Self::VptrRace => "data race on vptr (ctor/dtor vs virtual call)",
            Self::UseAfterFree => "heap-use-after-free",
            Self::VptrUseAfterFree => "heap-use-after-free (virtual call vs free)",
            Self::ExternalRace => "race on external object",
            Self::ThreadLeak => "thread leak",
            Self::DestroyLocked => "destroy of a locked mutex",
            Self::DoubleLock => "double lock of a mutex",
            Self::InvalidMutex => "use of an invalid mutex (e.g. uninitialized or destroyed)",
            Self::BadUnlock => "unlock of an unlocked mutex (or by a wrong thread)",
            Self::BadReadLock => "read lock of a write locked mutex",
            Self::BadReadUnlock => "read unlock of a write locked mutex",
            Self::SignalUnsafe => "signal-unsafe call inside of a signal",
            Self::ErrnoInHandler => "signal handler spoils errno",
            Self::Deadlock => "lock-order-inversion (potential deadlock)",
            Self::Stuck => "deadlock",
            Self::HeldLocks => "mutex held in the wrong context",
        }
    }

    /// The word for it in files of suppressions.
    pub(crate) fn suppression(self) -> &'static str {
        match self {
            Self::Race
            | Self::VptrRace
            | Self::UseAfterFree
            | Self::VptrUseAfterFree
            | Self::ExternalRace => "race",
            Self::ThreadLeak => "thread",
            Self::SignalUnsafe | Self::ErrnoInHandler => "signal",
            Self::Deadlock | Self::Stuck => "deadlock",
            _ => "mutex",
        }
    }
}

/// One access of a race.
pub(crate) struct Access {
    pub(crate) thread: u32,
    pub(crate) kind: AccessKind,
    pub(crate) address: usize,
    pub(crate) size: usize,
    pub(crate) locks: Vec<(u32, Mode)>,
    pub(crate) stack: Vec<Line>,
    pub(crate) places: Vec<usize>,
}

/// The memory that a race is about.
pub(crate) enum Location {
    Global {
        name: String,
        size: usize,
        start: usize,
        module: String,
        offset: usize,
    },
    Heap {
        block: blocks::Block,
        stack: Vec<Line>,
    },
    Stack(u32),
    Tls(u32),
    Descriptor {
        number: i32,
        thread: u32,
        stack: Vec<Line>,
    },
    Unknown,
}

/// A lock that plays a part.
pub(crate) struct MutexInfo {
    pub(crate) id: u32,
    pub(crate) address: usize,
    /// What people would call it.
    pub(crate) name: String,
    pub(crate) stack: Vec<Line>,
}

/// A thread that plays a part.
pub(crate) struct ThreadInfo {
    pub(crate) info: registry::Info,
    pub(crate) stack: Vec<Line>,
}

/// Why a lock is not given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Its holder has ended.
    Ended,
    /// Its holder is a thread of the process that this one is a copy of.
    NotCopied,
    /// A handler of a signal, which waits for it, has interrupted its holder.
    Interrupted,
}

impl Kept {
    /// What has become of the holder: `which has ended`.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Ended => "which has ended",
            Self::NotCopied => "which is not in this copy of the process",
            Self::Interrupted => "which the handler has interrupted",
        }
    }
}

/// Something done before, without which nobody would wait.
pub(crate) struct Cause {
    pub(crate) thread: u32,
    /// The lock that was taken, and why it was not given back; nothing where the process
    /// was copied.
    pub(crate) kept: Option<(u32, Kept)>,
    pub(crate) stack: Vec<Line>,
}

/// An edge of a circle of locks.
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) thread: u32,
    pub(crate) stack: Vec<Line>,
    /// Where the first of the two was taken, if that is to be told.
    pub(crate) holder: Option<Vec<Line>>,
}

/// A thread that cannot go on.
pub(crate) struct Stuck {
    pub(crate) thread: u32,
    /// What it waits for, in words.
    pub(crate) for_what: String,
    /// Whether that is the end of another thread.
    pub(crate) for_end: bool,
    /// The lock it waits for, if it is one.
    pub(crate) lock: Option<u32>,
    /// The name of anything else that it waits for.
    pub(crate) object: Option<String>,
    /// The locks it holds.
    pub(crate) locks: Vec<(u32, Mode)>,
    pub(crate) stack: Vec<Line>,
}

/// Everything that is told about a finding.
pub(crate) struct Report {
    pub(crate) kind: Kind,
    pub(crate) accesses: Vec<Access>,
    pub(crate) location: Option<Location>,
    pub(crate) mutexes: Vec<MutexInfo>,
    pub(crate) threads: Vec<ThreadInfo>,
    /// Stacks without a heading of their own.
    pub(crate) stacks: Vec<Vec<Line>>,
    pub(crate) circle: Vec<Edge>,
    /// Threads that cannot go on.
    pub(crate) stuck: Vec<Stuck>,
    /// What those wait for who cannot go on was brought about by.
    pub(crate) causes: Vec<Cause>,
    pub(crate) reason: Option<Why>,
    /// Who did what is wrong, if it is not about accesses.
    pub(crate) thread: Option<u32>,
    /// How many more there are of a leak.
    pub(crate) count: usize,
    /// The signal whose handler it is about.
    pub(crate) signal: Option<i32>,
    /// It was made to happen: both threads stood at their accesses.
    pub(crate) met: bool,
    /// Where a thread slept before, which looks like synchronisation.
    pub(crate) slept: Option<Vec<Line>>,
}

impl Report {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            accesses: Vec::new(),
            location: None,
            mutexes: Vec::new(),
            threads: Vec::new(),
            stacks: Vec::new(),
            circle: Vec::new(),
            stuck: Vec::new(),
            causes: Vec::new(),
            reason: None,
            thread: None,
            count: 1,
            signal: None,
            met: false,
            slept: None,
        }
    }

    /// The number a lock has within this report.
    pub(crate) fn mutex_number(&self, id: u32) -> usize {
        let number = self.mutexes.iter().position(|m| m.id == id);
        number.unwrap_or(self.mutexes.len())
    }

    /// What a lock is called.
    fn mutex_name(&self, id: u32) -> String {
        let known = self.mutexes.iter().find(|m| m.id == id);
        known.map_or_else(|| format!("M{id}"), |mutex| mutex.name.clone())
    }

    /// What sort of objects of a library it is about; 0 if it is not.
    pub(crate) fn tag(&self) -> usize {
        let tags = self.accesses.iter().map(|a| external::tag(&a.places));
        tags.into_iter().find(|&tag| tag != 0).unwrap_or(0)
    }

    /// What it is called.
    pub(crate) fn title(&self) -> String {
        let own = match self.kind {
            Kind::ExternalRace => external::heading(self.tag()),
            _ => None,
        };
        own.unwrap_or_else(|| self.kind.title().to_owned())
    }

    /// All stacks whose functions a suppression may name.
    fn all_stacks(&self) -> impl Iterator<Item = &Vec<Line>> {
        let accesses = self.accesses.iter().map(|a| &a.stack);
        let threads = self.threads.iter().map(|t| &t.stack);
        let circle = self.circle.iter().map(|e| &e.stack);
        let stuck = self.stuck.iter().map(|s| &s.stack);
        accesses
            .chain(&self.stacks)
            .chain(circle)
            .chain(stuck)
            .chain(threads.filter(|_| self.kind == Kind::ThreadLeak))
    }
}
