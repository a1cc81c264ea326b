//! Programs from Rust: each method writes a line of the notation, and
//! [`Builder::finish`] parses it. So there is one path from a program to its
//! execution, and a program that was built can be printed and read.

use std::fmt::Display;

use racehound_trace::MemoryOrder;

use crate::notation::NotationError;
use crate::program::Program;

/// A program in the making. Expressions are given in the notation.
///
/// ```
/// use racehound_model::Builder;
///
/// let mut builder = Builder::new();
/// builder.var("x", 0).lock("m");
/// for name in ["T1", "T2"] {
///     builder.thread(name, |t| {
///         t.lock("m").assign("x", "x + 1").unlock("m");
///         t.if_("r == 0", |t| { t.skip(2); });
///     });
/// }
/// let program = builder.finish()?;
/// assert!(program.source().contains("x = x + 1"));
/// # Ok::<(), racehound_model::NotationError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    text: String,
}

impl Builder {
    /// An empty program.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was built so far, in the notation.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The program.
    pub fn finish(&self) -> Result<Program, NotationError> {
        Program::parse(&self.text)
    }

    fn line(&mut self, line: impl Display) -> &mut Self {
        self.text.push_str(&format!("{line}\n"));
        self
    }

    /// `var NAME = INITIAL`
    pub fn var(&mut self, name: &str, initial: i64) -> &mut Self {
        self.line(format_args!("var {name} = {initial}"))
    }

    /// `volatile NAME = INITIAL`
    pub fn volatile(&mut self, name: &str, initial: i64) -> &mut Self {
        self.line(format_args!("volatile {name} = {initial}"))
    }

    /// `lock NAME`
    pub fn lock(&mut self, name: &str) -> &mut Self {
        self.line(format_args!("lock {name}"))
    }

    /// `recursive lock NAME`
    pub fn recursive_lock(&mut self, name: &str) -> &mut Self {
        self.line(format_args!("recursive lock {name}"))
    }

    /// `rwlock NAME`
    pub fn rwlock(&mut self, name: &str) -> &mut Self {
        self.line(format_args!("rwlock {name}"))
    }

    /// `cond NAME`
    pub fn cond(&mut self, name: &str) -> &mut Self {
        self.line(format_args!("cond {name}"))
    }

    /// `semaphore NAME = INITIAL`
    pub fn semaphore(&mut self, name: &str, initial: u32) -> &mut Self {
        self.line(format_args!("semaphore {name} = {initial}"))
    }

    /// `barrier NAME = SIZE`
    pub fn barrier(&mut self, name: &str, size: u32) -> &mut Self {
        self.line(format_args!("barrier {name} = {size}"))
    }

    /// `fn NAME { … }`
    pub fn function(&mut self, name: &str, body: impl FnOnce(&mut Body)) -> &mut Self {
        self.body("fn", name, body)
    }

    /// `thread NAME { … }`
    pub fn thread(&mut self, name: &str, body: impl FnOnce(&mut Body)) -> &mut Self {
        self.body("thread", name, body)
    }

    fn body(&mut self, what: &str, name: &str, body: impl FnOnce(&mut Body)) -> &mut Self {
        let mut inner = Body {
            text: String::new(),
            depth: 1,
            label: String::new(),
        };
        body(&mut inner);
        self.line(format_args!("{what} {name} {{\n{}}}", inner.text))
    }
}

/// The statements of a thread, a function or a block.
#[derive(Clone, Debug)]
pub struct Body {
    text: String,
    depth: usize,
    /// Waits for its statement.
    label: String,
}

impl Body {
    /// Any statement, as written.
    pub fn statement(&mut self, statement: impl Display) -> &mut Self {
        let indent = "  ".repeat(self.depth);
        let label = std::mem::take(&mut self.label);
        self.text.push_str(&format!("{indent}{label}{statement}\n"));
        self
    }

    fn nested(&mut self, head: impl Display, body: impl FnOnce(&mut Self)) -> &mut Self {
        self.statement(format_args!("{head} {{"));
        self.depth += 1;
        body(self);
        self.depth -= 1;
        self.statement("}")
    }

    /// `LABEL:` before the next statement.
    pub fn label(&mut self, label: &str) -> &mut Self {
        self.label = format!("{label}: ");
        self
    }

    /// `read VARIABLE`
    pub fn read(&mut self, variable: &str) -> &mut Self {
        self.statement(format_args!("read {variable}"))
    }

    /// `TARGET = VALUE`
    pub fn assign(&mut self, target: &str, value: &str) -> &mut Self {
        self.statement(format_args!("{target} = {value}"))
    }

    /// `if CONDITION { … }`
    pub fn if_(&mut self, condition: &str, then: impl FnOnce(&mut Self)) -> &mut Self {
        self.nested(format_args!("if {condition}"), then)
    }

    /// `if CONDITION { … } else { … }`
    pub fn if_else(
        &mut self,
        condition: &str,
        then: impl FnOnce(&mut Self),
        otherwise: impl FnOnce(&mut Self),
    ) -> &mut Self {
        self.nested(format_args!("if {condition}"), then);
        self.nested("else", otherwise)
    }

    /// `repeat TIMES { … }`
    pub fn repeat(&mut self, times: u32, body: impl FnOnce(&mut Self)) -> &mut Self {
        self.nested(format_args!("repeat {times}"), body)
    }

    /// `while CONDITION max MAX { … }`
    pub fn while_(&mut self, condition: &str, max: u32, body: impl FnOnce(&mut Self)) -> &mut Self {
        self.nested(format_args!("while {condition} max {max}"), body)
    }

    /// `atomic { … }`
    pub fn atomic(&mut self, body: impl FnOnce(&mut Self)) -> &mut Self {
        self.nested("atomic", body)
    }

    /// `lock LOCK`
    pub fn lock(&mut self, lock: &str) -> &mut Self {
        self.statement(format_args!("lock {lock}"))
    }

    /// `rdlock LOCK`
    pub fn rdlock(&mut self, lock: &str) -> &mut Self {
        self.statement(format_args!("rdlock {lock}"))
    }

    /// `wrlock LOCK`
    pub fn wrlock(&mut self, lock: &str) -> &mut Self {
        self.statement(format_args!("wrlock {lock}"))
    }

    /// `unlock LOCK`
    pub fn unlock(&mut self, lock: &str) -> &mut Self {
        self.statement(format_args!("unlock {lock}"))
    }

    /// `wait CONDITION LOCK`
    pub fn wait(&mut self, condition: &str, lock: &str) -> &mut Self {
        self.statement(format_args!("wait {condition} {lock}"))
    }

    /// `notify CONDITION`
    pub fn notify(&mut self, condition: &str) -> &mut Self {
        self.statement(format_args!("notify {condition}"))
    }

    /// `notifyall CONDITION`
    pub fn notify_all(&mut self, condition: &str) -> &mut Self {
        self.statement(format_args!("notifyall {condition}"))
    }

    /// `post SEMAPHORE`
    pub fn post(&mut self, semaphore: &str) -> &mut Self {
        self.statement(format_args!("post {semaphore}"))
    }

    /// `take SEMAPHORE`
    pub fn take(&mut self, semaphore: &str) -> &mut Self {
        self.statement(format_args!("take {semaphore}"))
    }

    /// `barrier BARRIER`
    pub fn barrier(&mut self, barrier: &str) -> &mut Self {
        self.statement(format_args!("barrier {barrier}"))
    }

    /// `fork THREAD`
    pub fn fork(&mut self, thread: &str) -> &mut Self {
        self.statement(format_args!("fork {thread}"))
    }

    /// `join THREAD`
    pub fn join(&mut self, thread: &str) -> &mut Self {
        self.statement(format_args!("join {thread}"))
    }

    /// `call FUNCTION`
    pub fn call(&mut self, function: &str) -> &mut Self {
        self.statement(format_args!("call {function}"))
    }

    /// `assert CONDITION`
    pub fn assert(&mut self, condition: &str) -> &mut Self {
        self.statement(format_args!("assert {condition}"))
    }

    /// `error NAME`
    pub fn error(&mut self, name: &str) -> &mut Self {
        self.statement(format_args!("error {name}"))
    }

    /// `skip STEPS`
    pub fn skip(&mut self, steps: u32) -> &mut Self {
        self.statement(format_args!("skip {steps}"))
    }

    /// `fence(ORDER)`
    pub fn fence(&mut self, order: MemoryOrder) -> &mut Self {
        self.statement(format_args!("fence({})", order.name()))
    }

    /// `TARGET = VARIABLE.load(ORDER)`
    pub fn load(&mut self, target: &str, variable: &str, order: MemoryOrder) -> &mut Self {
        self.statement(format_args!("{target} = {variable}.load({})", order.name()))
    }

    /// `VARIABLE.store(VALUE, ORDER)`
    pub fn store(&mut self, variable: &str, value: &str, order: MemoryOrder) -> &mut Self {
        self.statement(format_args!("{variable}.store({value}, {})", order.name()))
    }

    /// `TARGET = VARIABLE.add(VALUE, ORDER)`
    pub fn add(
        &mut self,
        target: &str,
        variable: &str,
        value: &str,
        order: MemoryOrder,
    ) -> &mut Self {
        let order = order.name();
        self.statement(format_args!("{target} = {variable}.add({value}, {order})"))
    }

    /// `TARGET = VARIABLE.swap(VALUE, ORDER)`
    pub fn swap(
        &mut self,
        target: &str,
        variable: &str,
        value: &str,
        order: MemoryOrder,
    ) -> &mut Self {
        let order = order.name();
        self.statement(format_args!("{target} = {variable}.swap({value}, {order})"))
    }

    /// `TARGET = VARIABLE.cas(OLD, NEW, ORDER)`
    pub fn cas(
        &mut self,
        target: &str,
        variable: &str,
        old: &str,
        new: &str,
        order: MemoryOrder,
    ) -> &mut Self {
        let order = order.name();
        self.statement(format_args!(
            "{target} = {variable}.cas({old}, {new}, {order})"
        ))
    }
}
