//! A program as it was written: names not resolved, functions not inlined.

use racehound_trace::MemoryOrder;

use super::Position;

#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) declarations: Vec<Declaration>,
    pub(crate) functions: Vec<Body>,
    pub(crate) threads: Vec<Body>,
}

#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) at: Position,
}

#[derive(Debug)]
pub(crate) struct Declaration {
    pub(crate) name: Name,
    pub(crate) what: Declared,
    /// The class of which it is an instance, if not the only one of its own.
    pub(crate) class: Option<Name>,
}

/// What a declared name is, with its initial state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Declared {
    Variable { initial: i64, volatile: bool },
    Lock { recursive: bool },
    RwLock,
    Condition,
    Semaphore { initial: i64 },
    Barrier { size: u32 },
}

/// A thread or a function.
#[derive(Debug)]
pub(crate) struct Body {
    /// The keyword's position.
    pub(crate) at: Position,
    pub(crate) name: Name,
    pub(crate) block: Block,
}

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) statements: Vec<Statement>,
    /// The closing brace.
    pub(crate) end: Position,
}

#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) label: Option<Name>,
    pub(crate) at: Position,
    /// As written, up to the block it may have.
    pub(crate) text: String,
    pub(crate) action: Action,
}

#[derive(Debug)]
pub(crate) enum Action {
    Read(Name),
    Assign {
        target: Name,
        value: Expression,
    },
    Atomic {
        target: Option<Name>,
        atomic: Atomic,
    },
    Fence(MemoryOrder),
    If {
        condition: Expression,
        then: Block,
        otherwise: Option<Block>,
    },
    Repeat {
        times: u32,
        body: Block,
    },
    While {
        condition: Expression,
        max: u32,
        body: Block,
    },
    AtomicBlock(Block),
    Lock(Name),
    ReadLock(Name),
    WriteLock(Name),
    Unlock(Name),
    Wait {
        condition: Name,
        lock: Name,
    },
    Notify(Name),
    NotifyAll(Name),
    Post(Name),
    Take(Name),
    Barrier(Name),
    Fork(Name),
    Join(Name),
    Call(Name),
    Assert(Expression),
    Error(Name),
    Skip(u32),
}

/// `x.method(arguments, order)`.
#[derive(Debug)]
pub(crate) struct Atomic {
    pub(crate) variable: Name,
    pub(crate) method: Method,
    pub(crate) order: MemoryOrder,
}

#[derive(Debug)]
pub(crate) enum Method {
    Load,
    Store(Expression),
    Add(Expression),
    Swap(Expression),
    CompareAndSwap { old: Expression, new: Expression },
}

#[derive(Debug)]
pub(crate) enum Expression {
    Integer(i64),
    Name(Name),
    Not(Box<Expression>),
    Negate(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
}

impl Operator {
    /// Arithmetic wraps; truth is 1.
    pub(crate) fn apply(self, a: i64, b: i64) -> i64 {
        match self {
            Self::Or => i64::from(a != 0 || b != 0),
            Self::And => i64::from(a != 0 && b != 0),
            Self::Equal => i64::from(a == b),
            Self::NotEqual => i64::from(a != b),
            Self::Less => i64::from(a < b),
            Self::LessOrEqual => i64::from(a <= b),
            Self::Greater => i64::from(a > b),
            Self::GreaterOrEqual => i64::from(a >= b),
            Self::Add => a.wrapping_add(b),
            Self::Subtract => a.wrapping_sub(b),
            Self::Multiply => a.wrapping_mul(b),
        }
    }
}
