//! What a thread can do.
//!
//! An event is what pecan.txt §4.1 calls `e_i`: its position in the trace is
//! the global order *i*; thread, location and access type are fields. The
//! locks held and the atomic region are not stored: they follow from the
//! events before it.
//!
//! # Conventions every producer keeps
//! * An acquire is recorded after it succeeded, a release before it takes
//!   effect. So between the two the lock really was held.
//! * Locks may be re-entrant; then inner acquires and releases are recorded
//!   too, and consumers count the depth.
//! * [`Op::Wait`] gives up its lock whatever the depth; the matching
//!   [`Op::Wake`] of the same thread has taken it back at that depth.
//! * [`Op::Fork`] stands before the child's first event, [`Op::Join`] after
//!   its last.
//! * An atomic load reads from the last atomic store or read-modify-write of
//!   its location before it in the trace. A failed compare-and-exchange is a
//!   load.

use crate::id::{FunctionId, Loc, SiteId, SyncId, ThreadId};

/// One step of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Who.
    pub thread: ThreadId,
    /// Where in the program.
    pub site: SiteId,
    /// What.
    pub op: Op,
}

/// How a lock is held. A mutex or monitor is always held exclusively.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Write mode of a rwlock, or a plain mutex.
    Exclusive,
    /// Read mode of a rwlock.
    Shared,
}

/// C11's memory orders. A Java volatile is [`SeqCst`](Self::SeqCst).
/// `consume` is recorded as acquire, as every compiler treats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryOrder {
    /// No ordering.
    Relaxed,
    /// Acquire.
    Acquire,
    /// Release.
    Release,
    /// Acquire and release.
    AcqRel,
    /// Sequentially consistent.
    SeqCst,
}

impl MemoryOrder {
    /// Every order, weakest first.
    pub const ALL: [Self; 5] = [
        Self::Relaxed,
        Self::Acquire,
        Self::Release,
        Self::AcqRel,
        Self::SeqCst,
    ];

    /// Whether a load or fence of this order acquires.
    pub fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::SeqCst)
    }

    /// Whether a store or fence of this order releases.
    pub fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::SeqCst)
    }

    /// The name the model notation and reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Relaxed => "relaxed",
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::AcqRel => "acq_rel",
            Self::SeqCst => "seq_cst",
        }
    }
}

/// An operation. Sizes are in bytes; where locations are names a size is 1.
/// A block above 4 GiB is recorded as several events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The fields are the operands; the variants say what they are for.
pub enum Op {
    /// A plain read.
    Read { loc: Loc, size: u32 },
    /// A plain write.
    Write { loc: Loc, size: u32 },
    /// An atomic (or volatile) load, or a failed compare-and-exchange.
    AtomicLoad {
        loc: Loc,
        size: u32,
        order: MemoryOrder,
    },
    /// An atomic (or volatile) store.
    AtomicStore {
        loc: Loc,
        size: u32,
        order: MemoryOrder,
    },
    /// An atomic read-modify-write.
    AtomicRmw {
        loc: Loc,
        size: u32,
        order: MemoryOrder,
    },
    /// A fence.
    Fence { order: MemoryOrder },
    /// A lock was taken.
    Acquire { lock: SyncId, mode: Mode },
    /// A lock is about to be given back.
    Release { lock: SyncId, mode: Mode },
    /// A thread is created.
    Fork { child: ThreadId },
    /// A thread has ended and was waited for.
    Join { child: ThreadId },
    /// The thread begins to wait for `cond`, giving up `lock` completely.
    Wait { cond: SyncId, lock: Option<SyncId> },
    /// The wait is over and `lock` held again. `notified` is false after a
    /// time-out or a spurious wake-up: nobody ordered this thread then.
    Wake {
        cond: SyncId,
        lock: Option<SyncId>,
        notified: bool,
    },
    /// One waiter of `cond` is woken. `woken` is whom, where the host knows:
    /// a controlled run does, an observed one may not. Unknown means that any
    /// thread waiting now may be the one.
    NotifyOne {
        cond: SyncId,
        woken: Option<ThreadId>,
    },
    /// All waiters of `cond` are woken.
    NotifyAll { cond: SyncId },
    /// The thread reaches a barrier.
    BarrierArrive { barrier: SyncId },
    /// The thread leaves the barrier it reached last.
    BarrierLeave { barrier: SyncId },
    /// A semaphore is raised.
    SemPost { sem: SyncId },
    /// A semaphore was lowered.
    SemWait { sem: SyncId },
    /// A function is entered, called from the event's site.
    Call { function: FunctionId },
    /// The function entered last is left.
    Return,
    /// Memory comes into being: whatever was known of it is void.
    Alloc { loc: Loc, size: u32 },
    /// Memory is given back.
    Free { loc: Loc, size: u32 },
    /// An atomic region, as annotated in the program, begins.
    RegionBegin,
    /// The atomic region begun last ends.
    RegionEnd,
}

/// A memory access, seen apart from its being an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// First byte, or the variable.
    pub loc: Loc,
    /// Number of bytes.
    pub size: u32,
    /// Whether memory changes. A read-modify-write is a write.
    pub is_write: bool,
    /// Whether it is an atomic operation.
    pub is_atomic: bool,
}

impl Access {
    /// Two accesses of one location conflict when at least one writes and at
    /// least one is not atomic.
    pub fn conflicts_with(self, other: Self) -> bool {
        (self.is_write || other.is_write) && !(self.is_atomic && other.is_atomic)
    }

    /// Whether the two have a byte, or the variable, in common.
    pub fn overlaps(self, other: Self) -> bool {
        let starts_in = |a: Self, b: Self| a.loc.0.wrapping_sub(b.loc.0) < u64::from(b.size);
        starts_in(self, other) || starts_in(other, self)
    }
}

impl Kind {
    /// Whether threads order each other by operations of this kind. Atomics and
    /// fences do; plain accesses, calls, and memory coming and going do not.
    pub fn synchronises(self) -> bool {
        !matches!(
            self,
            Self::Read
                | Self::Write
                | Self::Call
                | Self::Return
                | Self::Alloc
                | Self::Free
                | Self::RegionBegin
                | Self::RegionEnd
        )
    }
}

impl Op {
    /// The memory access this operation makes, if it is one.
    pub fn access(&self) -> Option<Access> {
        let (loc, size, is_write, is_atomic) = match *self {
            Self::Read { loc, size } => (loc, size, false, false),
            Self::Write { loc, size } => (loc, size, true, false),
            Self::AtomicLoad { loc, size, .. } => (loc, size, false, true),
            Self::AtomicStore { loc, size, .. } | Self::AtomicRmw { loc, size, .. } => {
                (loc, size, true, true)
            }
            _ => return None,
        };
        Some(Access {
            loc,
            size,
            is_write,
            is_atomic,
        })
    }

    /// Whether it is an operation by which threads order each other.
    pub fn synchronises(&self) -> bool {
        self.kind().synchronises()
    }

    /// The operation's kind, for counting and for messages.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Read { .. } => Kind::Read,
            Self::Write { .. } => Kind::Write,
            Self::AtomicLoad { .. } => Kind::AtomicLoad,
            Self::AtomicStore { .. } => Kind::AtomicStore,
            Self::AtomicRmw { .. } => Kind::AtomicRmw,
            Self::Fence { .. } => Kind::Fence,
            Self::Acquire { .. } => Kind::Acquire,
            Self::Release { .. } => Kind::Release,
            Self::Fork { .. } => Kind::Fork,
            Self::Join { .. } => Kind::Join,
            Self::Wait { .. } => Kind::Wait,
            Self::Wake { .. } => Kind::Wake,
            Self::NotifyOne { .. } => Kind::NotifyOne,
            Self::NotifyAll { .. } => Kind::NotifyAll,
            Self::BarrierArrive { .. } => Kind::BarrierArrive,
            Self::BarrierLeave { .. } => Kind::BarrierLeave,
            Self::SemPost { .. } => Kind::SemPost,
            Self::SemWait { .. } => Kind::SemWait,
            Self::Call { .. } => Kind::Call,
            Self::Return => Kind::Return,
            Self::Alloc { .. } => Kind::Alloc,
            Self::Free { .. } => Kind::Free,
            Self::RegionBegin => Kind::RegionBegin,
            Self::RegionEnd => Kind::RegionEnd,
        }
    }
}

macro_rules! kinds {
    ($($name:ident = $code:literal $text:literal,)*) => {
        /// [`Op`] without its operands. The numbers are those of the binary
        /// format: never reuse one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Kind { $($name = $code,)* }

        impl Kind {
            /// Every kind, in the order of its number.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The kind with this number in the binary format.
            #[inline]
            pub fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$name),)* _ => None }
            }

            /// A few words for people.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

kinds! {
    Read = 0 "read",
    Write = 1 "write",
    AtomicLoad = 2 "atomic load",
    AtomicStore = 3 "atomic store",
    AtomicRmw = 4 "atomic read-modify-write",
    Fence = 5 "fence",
    Acquire = 6 "acquire",
    Release = 7 "release",
    Fork = 8 "fork",
    Join = 9 "join",
    Wait = 10 "wait",
    Wake = 11 "wake",
    NotifyOne = 12 "notify one",
    NotifyAll = 13 "notify all",
    BarrierArrive = 14 "barrier arrive",
    BarrierLeave = 15 "barrier leave",
    SemPost = 16 "semaphore post",
    SemWait = 17 "semaphore wait",
    Call = 18 "call",
    Return = 19 "return",
    Alloc = 20 "allocation",
    Free = 21 "free",
    RegionBegin = 22 "atomic region begin",
    RegionEnd = 23 "atomic region end",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_three_words() {
        assert_eq!(size_of::<Event>(), 24);
    }

    #[test]
    fn accesses_overlap_when_they_share_a_byte() {
        let bytes = |loc, size| Op::Read {
            loc: Loc(loc),
            size,
        };
        let overlap = |a: Op, b: Op| a.access().unwrap().overlaps(b.access().unwrap());
        for (a, b, expected) in [
            (bytes(8, 4), bytes(8, 1), true),
            (bytes(8, 4), bytes(11, 8), true),
            (bytes(8, 4), bytes(12, 4), false),
            (bytes(u64::MAX - 1, 2), bytes(u64::MAX, 1), true),
            (bytes(0, 4), bytes(u64::MAX, 1), false),
        ] {
            assert_eq!(overlap(a, b), expected, "{a:?} {b:?}");
            assert_eq!(overlap(b, a), expected, "{b:?} {a:?}");
        }
    }

    #[test]
    fn kinds_are_numbered_in_order() {
        for (i, kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(Kind::from_code(i as u8), Some(*kind));
        }
        assert_eq!(Kind::from_code(Kind::ALL.len() as u8), None);
    }
}
