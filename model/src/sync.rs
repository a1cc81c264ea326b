//! The state of locks, conditions, semaphores and barriers.

use racehound_trace::{Mode, ThreadId};

use crate::notation::tree::Declared;

#[derive(Clone, Debug)]
pub(crate) enum Sync {
    Lock {
        recursive: bool,
        owner: Option<ThreadId>,
        depth: u32,
    },
    RwLock {
        writer: Option<ThreadId>,
        /// A thread that holds it twice is in it twice.
        readers: Vec<ThreadId>,
    },
    Condition {
        /// Those not yet notified, longest wait first.
        waiters: Vec<ThreadId>,
    },
    Semaphore {
        value: i64,
    },
    Barrier {
        size: u32,
        /// How many have come since the barrier last opened.
        arrived: u32,
        /// How often it has opened.
        generation: u32,
    },
}

impl Sync {
    pub(crate) fn new(declared: Declared) -> Self {
        match declared {
            Declared::Lock { recursive } => Self::Lock {
                recursive,
                owner: None,
                depth: 0,
            },
            Declared::RwLock => Self::RwLock {
                writer: None,
                readers: Vec::new(),
            },
            Declared::Condition => Self::Condition {
                waiters: Vec::new(),
            },
            Declared::Semaphore { initial } => Self::Semaphore { value: initial },
            Declared::Barrier { size } => Self::Barrier {
                size,
                arrived: 0,
                generation: 0,
            },
            Declared::Variable { .. } => unreachable!("variables do not synchronise"),
        }
    }

    /// Whether the lock can be taken now. A plain lock cannot be taken twice:
    /// the second attempt blocks for ever, as a normal POSIX mutex does. The
    /// same goes for a rwlock in write mode.
    pub(crate) fn can_acquire(&self, thread: ThreadId, mode: Mode) -> bool {
        match self {
            Self::Lock {
                recursive, owner, ..
            } => owner.is_none() || (*recursive && *owner == Some(thread)),
            Self::RwLock { writer, readers } => {
                writer.is_none() && (mode == Mode::Shared || readers.is_empty())
            }
            _ => unreachable!("only locks are acquired"),
        }
    }

    pub(crate) fn acquire(&mut self, thread: ThreadId, mode: Mode, times: u32) {
        match self {
            Self::Lock { owner, depth, .. } => {
                *owner = Some(thread);
                *depth += times;
            }
            Self::RwLock { writer, readers } => match mode {
                Mode::Exclusive => *writer = Some(thread),
                Mode::Shared => readers.push(thread),
            },
            _ => unreachable!("only locks are acquired"),
        }
    }

    /// How the thread holds the lock, if it does.
    pub(crate) fn held_by(&self, thread: ThreadId) -> Option<Mode> {
        match self {
            Self::Lock { owner, .. } => (*owner == Some(thread)).then_some(Mode::Exclusive),
            Self::RwLock { writer, readers } => match *writer == Some(thread) {
                true => Some(Mode::Exclusive),
                false => readers.contains(&thread).then_some(Mode::Shared),
            },
            _ => None,
        }
    }

    /// Gives a held lock back once.
    pub(crate) fn release(&mut self, thread: ThreadId) {
        match self {
            Self::Lock { owner, depth, .. } => {
                *depth -= 1;
                if *depth == 0 {
                    *owner = None;
                }
            }
            Self::RwLock { writer, readers } => match *writer == Some(thread) {
                true => *writer = None,
                false => {
                    if let Some(i) = readers.iter().position(|r| *r == thread) {
                        readers.remove(i);
                    }
                }
            },
            _ => unreachable!("only locks are released"),
        }
    }

    /// Gives a held lock back completely; says how often it was held.
    pub(crate) fn release_all(&mut self) -> u32 {
        match self {
            Self::Lock { owner, depth, .. } => {
                *owner = None;
                std::mem::take(depth)
            }
            _ => unreachable!("a wait gives up a lock"),
        }
    }

    pub(crate) fn waiters(&self) -> &[ThreadId] {
        match self {
            Self::Condition { waiters } => waiters,
            _ => unreachable!("only conditions have waiters"),
        }
    }

    pub(crate) fn waiters_mut(&mut self) -> &mut Vec<ThreadId> {
        match self {
            Self::Condition { waiters } => waiters,
            _ => unreachable!("only conditions have waiters"),
        }
    }

    pub(crate) fn semaphore(&self) -> i64 {
        match self {
            Self::Semaphore { value } => *value,
            _ => unreachable!("only semaphores have a value"),
        }
    }

    pub(crate) fn add_to_semaphore(&mut self, by: i64) {
        match self {
            Self::Semaphore { value } => *value += by,
            _ => unreachable!("only semaphores have a value"),
        }
    }

    pub(crate) fn generation(&self) -> u32 {
        match self {
            Self::Barrier { generation, .. } => *generation,
            _ => unreachable!("only barriers open"),
        }
    }

    /// One more thread has come; the last one opens the barrier.
    pub(crate) fn arrive(&mut self) {
        match self {
            Self::Barrier {
                size,
                arrived,
                generation,
            } => {
                *arrived += 1;
                if *arrived == *size {
                    *arrived = 0;
                    *generation += 1;
                }
            }
            _ => unreachable!("only barriers are arrived at"),
        }
    }
}
