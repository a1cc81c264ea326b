//! A program ready to run: every thread's code as a list of instructions,
//! functions inlined, names resolved.

use std::collections::HashMap;

use racehound_trace::{FunctionId, MemoryOrder, Mode, Op, SiteId, SyncId, Tables, ThreadId};

use crate::compile;
use crate::notation::tree::{Declared, Operator};
use crate::notation::{NotationError, parser};

/// A model program.
///
/// ```
/// use racehound_model::Program;
///
/// let program = Program::parse("
///     var x
///     thread T1 { A: x = 1 }
///     thread T2 { B: read x }
/// ")?;
/// assert_eq!(program.tables().site_text(program.site("A")), Some("x = 1"));
///
/// let error = Program::parse("var x = 0, 7").unwrap_err();
/// assert_eq!(error.to_string(), "1:12: expected a name, found `7`");
/// # Ok::<(), racehound_model::NotationError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) source: String,
    pub(crate) tables: Tables,
    /// By thread id; thread 0 is main.
    pub(crate) threads: Vec<Code>,
    /// Initial values, by location.
    pub(crate) variables: Vec<i64>,
    /// By synchronisation object.
    pub(crate) syncs: Vec<Declared>,
    pub(crate) labels: HashMap<String, Vec<SiteId>>,
    pub(crate) sharing: Sharing,
}

/// What a thread runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub(crate) instructions: Vec<Instruction>,
    /// Locals, intermediate results and loop counters, all initially 0.
    pub(crate) slots: usize,
}

#[derive(Clone, Debug)]
pub(crate) enum Instruction {
    /// One step that others can see, or a skip.
    Step {
        site: SiteId,
        step: Step,
    },
    /// Everything below is local and takes no time.
    Set {
        slot: usize,
        value: Value,
    },
    JumpIfZero {
        condition: Value,
        to: usize,
    },
    Jump {
        to: usize,
    },
    /// Counts a loop's iterations; one more than `max` ends the execution.
    Bound {
        counter: usize,
        max: i64,
        site: SiteId,
    },
    /// Ends the execution if the condition is zero.
    Assert {
        condition: Value,
        site: SiteId,
        name: String,
    },
}

/// A visible step. Variables are indices of locations.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Read {
        variable: usize,
        into: usize,
    },
    Write {
        variable: usize,
        value: Value,
    },
    Load {
        variable: usize,
        order: MemoryOrder,
        into: usize,
    },
    Store {
        variable: usize,
        order: MemoryOrder,
        value: Value,
    },
    Add {
        variable: usize,
        order: MemoryOrder,
        value: Value,
        into: usize,
    },
    Swap {
        variable: usize,
        order: MemoryOrder,
        value: Value,
        into: usize,
    },
    CompareAndSwap {
        variable: usize,
        order: MemoryOrder,
        old: Value,
        new: Value,
        into: usize,
    },
    Fence {
        order: MemoryOrder,
    },
    Acquire {
        lock: SyncId,
        mode: Mode,
    },
    Release {
        lock: SyncId,
    },
    Wait {
        condition: SyncId,
        lock: SyncId,
    },
    NotifyOne {
        condition: SyncId,
    },
    NotifyAll {
        condition: SyncId,
    },
    Post {
        semaphore: SyncId,
    },
    Take {
        semaphore: SyncId,
    },
    Barrier {
        barrier: SyncId,
    },
    Fork {
        child: ThreadId,
    },
    Join {
        child: ThreadId,
    },
    Call {
        function: FunctionId,
    },
    Return,
    RegionBegin,
    RegionEnd,
    Skip {
        times: u32,
    },
}

/// An expression over a thread's slots.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Integer(i64),
    Slot(usize),
    Not(Box<Value>),
    Negate(Box<Value>),
    Binary(Operator, Box<Value>, Box<Value>),
}

impl Value {
    pub(crate) fn of(&self, slots: &[i64]) -> i64 {
        match self {
            Self::Integer(value) => *value,
            Self::Slot(slot) => slots[*slot],
            Self::Not(value) => i64::from(value.of(slots) == 0),
            Self::Negate(value) => value.of(slots).wrapping_neg(),
            Self::Binary(operator, a, b) => operator.apply(a.of(slots), b.of(slots)),
        }
    }
}

/// What no two threads can ever disagree about, read off the code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sharing {
    /// Variables that one thread alone accesses, or that nobody writes.
    pub(crate) private_variables: Vec<bool>,
    /// Synchronisation objects that one thread alone uses.
    pub(crate) private_syncs: Vec<bool>,
}

impl Sharing {
    /// Whether an operation commutes with everything another thread will ever
    /// do, and nothing another thread does can disable it. `None` is a skip.
    pub(crate) fn is_private(&self, op: Option<&Op>) -> bool {
        let Some(op) = op else { return true };
        if let Some(access) = op.access() {
            return self.private_variables[access.loc.0 as usize];
        }
        let private = |sync: SyncId| self.private_syncs[sync.index()];
        match *op {
            Op::Acquire { lock, .. } | Op::Release { lock, .. } => private(lock),
            Op::Wait { cond, lock } | Op::Wake { cond, lock, .. } => {
                private(cond) && lock.is_none_or(private)
            }
            Op::NotifyOne { cond, .. } | Op::NotifyAll { cond } => private(cond),
            Op::SemPost { sem } | Op::SemWait { sem } => private(sem),
            Op::BarrierArrive { barrier } | Op::BarrierLeave { barrier } => private(barrier),
            Op::Fork { .. } | Op::Join { .. } => false,
            _ => true,
        }
    }
}

impl Program {
    /// The program a text describes; see the [crate] for the notation.
    pub fn parse(text: &str) -> Result<Self, NotationError> {
        let tree = parser::parse(text)?;
        compile::compile(text, None, &tree)
    }

    /// As [`parse`](Self::parse), for a text with a name: sites and errors
    /// will carry it.
    pub fn parse_file(file: &str, text: &str) -> Result<Self, NotationError> {
        let program =
            parser::parse(text).and_then(|tree| compile::compile(text, Some(file), &tree));
        program.map_err(|error| NotationError {
            file: Some(file.to_owned()),
            ..error
        })
    }

    /// The text the program was parsed from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What the ids in its executions stand for.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The site of the labelled statement's access: for a statement that
    /// writes a shared variable the write, else its last read, else its
    /// operation.
    ///
    /// # Panics
    /// If no statement has this label: whoever asks has written the program.
    pub fn site(&self, label: &str) -> SiteId {
        let last = self.sites(label).last();
        *last.unwrap_or_else(|| panic!("no statement is labelled `{label}`"))
    }

    /// All sites of the labelled statement in the order of execution, not
    /// counting those of a block within it; empty if there is no such label.
    pub fn sites(&self, label: &str) -> &[SiteId] {
        self.labels.get(label).map_or(&[], Vec::as_slice)
    }

    /// The thread declared under this name.
    ///
    /// # Panics
    /// If there is none.
    pub fn thread(&self, name: &str) -> ThreadId {
        (0..self.threads.len())
            .map(ThreadId::from_index)
            .find(|&id| self.tables.thread_name(id) == name)
            .unwrap_or_else(|| panic!("no thread is called `{name}`"))
    }

    /// The label of a site's statement, if it has one.
    pub fn label(&self, site: SiteId) -> Option<&str> {
        let labelled = |sites: &Vec<SiteId>| sites.contains(&site);
        let mut labels = self.labels.iter();
        labels.find_map(|(label, sites)| labelled(sites).then_some(label.as_str()))
    }
}
