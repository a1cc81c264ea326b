//! The instructions of one thread.

use std::collections::HashMap;

use racehound_trace::{FunctionId, MemoryOrder, Mode, SiteId, SyncId, ThreadId};

use super::Sites;
use super::names::{Meaning, Names};
use crate::notation::tree::{
    Action, Atomic, Block, Body, Declared, Expression, Method, Name, Operator, Statement,
};
use crate::notation::{NotationError, Position, Result};
use crate::program::{Code, Instruction, Step, Value};

/// Inlining can multiply a text; beyond this it is surely a mistake.
const MOST_INSTRUCTIONS: usize = 100_000;

pub(super) struct Coder<'c> {
    names: &'c Names<'c>,
    /// The body of each thread, by thread id.
    threads: &'c [Option<usize>],
    sites: &'c mut Sites,
    code: Vec<Instruction>,
    locals: HashMap<String, usize>,
    slots: usize,
    /// Slots for what a statement reads, free again at the next statement.
    scratch: Vec<usize>,
    scratch_used: usize,
    /// The function being inlined.
    function: Option<FunctionId>,
    /// The sites of the statement being compiled.
    own: Vec<SiteId>,
}

impl<'c> Coder<'c> {
    pub(super) fn new(
        names: &'c Names<'c>,
        threads: &'c [Option<usize>],
        sites: &'c mut Sites,
    ) -> Self {
        Self {
            names,
            threads,
            sites,
            code: Vec::new(),
            locals: HashMap::new(),
            slots: 0,
            scratch: Vec::new(),
            scratch_used: 0,
            function: None,
            own: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> Code {
        Code {
            instructions: self.code,
            slots: self.slots,
        }
    }

    /// The code of a main that nobody wrote: forks all, joins all.
    pub(super) fn fork_and_join(&mut self, bodies: &[Body]) {
        for (i, body) in bodies.iter().enumerate() {
            let text = format!("fork {}", body.name.text);
            let child = self.thread_id(i);
            self.step(body.at, &text, Step::Fork { child });
        }
        for (i, body) in bodies.iter().enumerate() {
            let text = format!("join {}", body.name.text);
            let child = self.thread_id(i);
            self.step(body.name.at, &text, Step::Join { child });
        }
    }

    pub(super) fn block(&mut self, block: &Block) -> Result<()> {
        for statement in &block.statements {
            self.statement(statement)?;
            if self.code.len() > MOST_INSTRUCTIONS {
                let what = "the program is too long once functions are inlined";
                return Err(NotationError::new(statement.at, what));
            }
        }
        Ok(())
    }

    fn statement(&mut self, statement: &Statement) -> Result<()> {
        self.scratch_used = 0;
        self.own.clear();
        let (at, text) = (statement.at, statement.text.as_str());
        match &statement.action {
            Action::If {
                condition,
                then,
                otherwise,
            } => {
                let condition = self.value(condition, text)?;
                self.label(statement);
                let to_else = self.jump(|to| Instruction::JumpIfZero { condition, to });
                self.block(then)?;
                if let Some(otherwise) = otherwise {
                    let to_end = self.jump(|to| Instruction::Jump { to });
                    self.land(to_else);
                    self.block(otherwise)?;
                    self.land(to_end);
                } else {
                    self.land(to_else);
                }
            }
            Action::Repeat { times, body } => {
                self.label(statement);
                let counter = self.slot();
                let count = |operator, n| {
                    let (slot, n) = (Value::Slot(counter), Value::Integer(n));
                    Value::Binary(operator, Box::new(slot), Box::new(n))
                };
                self.set(counter, Value::Integer(0));
                let start = self.code.len();
                let condition = count(Operator::Less, i64::from(*times));
                let to_end = self.jump(|to| Instruction::JumpIfZero { condition, to });
                self.block(body)?;
                self.set(counter, count(Operator::Add, 1));
                self.code.push(Instruction::Jump { to: start });
                self.land(to_end);
            }
            Action::While {
                condition,
                max,
                body,
            } => {
                let counter = self.slot();
                self.set(counter, Value::Integer(0));
                let start = self.code.len();
                let condition = self.value(condition, text)?;
                self.label(statement);
                let to_end = self.jump(|to| Instruction::JumpIfZero { condition, to });
                let site = self.sites.at(at, text, self.function);
                self.code.push(Instruction::Bound {
                    counter,
                    max: i64::from(*max),
                    site,
                });
                self.block(body)?;
                self.code.push(Instruction::Jump { to: start });
                self.land(to_end);
            }
            Action::AtomicBlock(body) => {
                self.step(at, text, Step::RegionBegin);
                self.label(statement);
                self.block(body)?;
                self.step(body.end, "}", Step::RegionEnd);
            }
            Action::Call(name) => {
                let (function, body) = self.names.function(name)?;
                self.step(at, text, Step::Call { function });
                self.label(statement);
                let caller = self.function.replace(function);
                let block = &self.names.tree.functions[body].block;
                self.block(block)?;
                self.step(block.end, "}", Step::Return);
                self.function = caller;
            }
            simple => {
                self.simple(at, text, simple)?;
                self.label(statement);
            }
        }
        Ok(())
    }

    /// A statement without a block.
    fn simple(&mut self, at: Position, text: &str, action: &Action) -> Result<()> {
        let step = match action {
            Action::Read(name) => {
                let Some(Meaning::Variable { .. }) = self.names.meaning(name) else {
                    return self.names.is_not(name, "a shared variable");
                };
                self.read(name, text)?;
                return Ok(());
            }
            Action::Assign { target, value } => {
                let value = self.value(value, text)?;
                return self.assign(target, value, text);
            }
            Action::Atomic { target, atomic } => return self.atomic(target.as_ref(), atomic, text),
            Action::Assert(condition) => {
                let condition = self.value(condition, text)?;
                self.assert(at, text, condition, text.to_owned());
                return Ok(());
            }
            Action::Error(name) => {
                self.assert(at, text, Value::Integer(0), name.text.clone());
                return Ok(());
            }
            Action::Skip(0) => return Ok(()),
            Action::Skip(times) => Step::Skip { times: *times },
            Action::Fence(order) => Step::Fence { order: *order },
            Action::Lock(name) => {
                let is_lock = |what| matches!(what, Declared::Lock { .. });
                let lock = self.sync(name, "a lock", is_lock)?;
                let mode = Mode::Exclusive;
                Step::Acquire { lock, mode }
            }
            Action::ReadLock(name) => {
                let lock = self.sync(name, "a rwlock", |what| what == Declared::RwLock)?;
                let mode = Mode::Shared;
                Step::Acquire { lock, mode }
            }
            Action::WriteLock(name) => {
                let lock = self.sync(name, "a rwlock", |what| what == Declared::RwLock)?;
                let mode = Mode::Exclusive;
                Step::Acquire { lock, mode }
            }
            Action::Unlock(name) => {
                let is_lock = |what| matches!(what, Declared::Lock { .. } | Declared::RwLock);
                let lock = self.sync(name, "a lock", is_lock)?;
                Step::Release { lock }
            }
            Action::Wait { condition, lock } => {
                let is_lock = |what| matches!(what, Declared::Lock { .. });
                Step::Wait {
                    condition: self.condition(condition)?,
                    lock: self.sync(lock, "a lock", is_lock)?,
                }
            }
            Action::Notify(name) => Step::NotifyOne {
                condition: self.condition(name)?,
            },
            Action::NotifyAll(name) => Step::NotifyAll {
                condition: self.condition(name)?,
            },
            Action::Post(name) => Step::Post {
                semaphore: self.semaphore(name)?,
            },
            Action::Take(name) => Step::Take {
                semaphore: self.semaphore(name)?,
            },
            Action::Barrier(name) => {
                let is_barrier = |what| matches!(what, Declared::Barrier { .. });
                let barrier = self.sync(name, "a barrier", is_barrier)?;
                Step::Barrier { barrier }
            }
            Action::Fork(name) => Step::Fork {
                child: self.thread_id(self.names.thread(name)?),
            },
            Action::Join(name) => {
                let child = self.thread_id(self.names.thread(name)?);
                if self.threads[0].is_none() {
                    let what = "all threads are joined by an implicit main; declare `thread main` to do it yourself";
                    return Err(NotationError::new(name.at, what));
                }
                Step::Join { child }
            }
            Action::If { .. }
            | Action::Repeat { .. }
            | Action::While { .. }
            | Action::AtomicBlock(_)
            | Action::Call(_) => unreachable!("statements with a block are compiled apart"),
        };
        self.step(at, text, step);
        Ok(())
    }

    fn atomic(&mut self, target: Option<&Name>, atomic: &Atomic, text: &str) -> Result<()> {
        let Atomic {
            variable: name,
            method,
            order,
        } = atomic;
        let order = *order;
        let Some(Meaning::Variable {
            index: variable, ..
        }) = self.names.meaning(name)
        else {
            return self.names.is_not(name, "a shared variable");
        };
        let forbidden = match method {
            Method::Load => matches!(order, MemoryOrder::Release | MemoryOrder::AcqRel),
            Method::Store(_) => matches!(order, MemoryOrder::Acquire | MemoryOrder::AcqRel),
            _ => false,
        };
        if forbidden {
            let kind = if matches!(method, Method::Load) {
                "load"
            } else {
                "store"
            };
            let what = format!("a {kind} cannot be {}", order.name());
            return Err(NotationError::new(name.at, what));
        }
        let into = self.scratch();
        let step = match method {
            Method::Load => Step::Load {
                variable,
                order,
                into,
            },
            Method::Store(value) => Step::Store {
                variable,
                order,
                value: self.value(value, text)?,
            },
            Method::Add(value) => Step::Add {
                variable,
                order,
                value: self.value(value, text)?,
                into,
            },
            Method::Swap(value) => Step::Swap {
                variable,
                order,
                value: self.value(value, text)?,
                into,
            },
            Method::CompareAndSwap { old, new } => Step::CompareAndSwap {
                variable,
                order,
                old: self.value(old, text)?,
                new: self.value(new, text)?,
                into,
            },
        };
        self.step(name.at, text, step);
        match target {
            Some(target) => self.assign(target, Value::Slot(into), text),
            None => Ok(()),
        }
    }

    fn assign(&mut self, target: &Name, value: Value, text: &str) -> Result<()> {
        match self.names.meaning(target) {
            None => {
                let slot = self.local(target);
                self.set(slot, value);
            }
            Some(Meaning::Variable {
                index: variable,
                volatile,
            }) => {
                let order = MemoryOrder::SeqCst;
                let step = if volatile {
                    Step::Store {
                        variable,
                        order,
                        value,
                    }
                } else {
                    Step::Write { variable, value }
                };
                self.step(target.at, text, step);
            }
            Some(_) => return self.names.is_not(target, "a variable"),
        }
        Ok(())
    }

    /// Reads every shared variable of an expression, left to right; what is
    /// left is local.
    fn value(&mut self, expression: &Expression, text: &str) -> Result<Value> {
        Ok(match expression {
            Expression::Integer(value) => Value::Integer(*value),
            Expression::Name(name) => self.read(name, text)?,
            Expression::Not(inner) => Value::Not(Box::new(self.value(inner, text)?)),
            Expression::Negate(inner) => Value::Negate(Box::new(self.value(inner, text)?)),
            Expression::Binary(operator, a, b) => {
                let a = self.value(a, text)?;
                let b = self.value(b, text)?;
                Value::Binary(*operator, Box::new(a), Box::new(b))
            }
        })
    }

    fn read(&mut self, name: &Name, text: &str) -> Result<Value> {
        match self.names.meaning(name) {
            None => Ok(Value::Slot(self.local(name))),
            Some(Meaning::Variable {
                index: variable,
                volatile,
            }) => {
                let into = self.scratch();
                let order = MemoryOrder::SeqCst;
                let step = if volatile {
                    Step::Load {
                        variable,
                        order,
                        into,
                    }
                } else {
                    Step::Read { variable, into }
                };
                self.step(name.at, text, step);
                Ok(Value::Slot(into))
            }
            Some(_) => self.names.is_not(name, "a variable"),
        }
    }

    fn sync(&self, name: &Name, wanted: &str, fits: impl Fn(Declared) -> bool) -> Result<SyncId> {
        match self.names.meaning(name) {
            Some(Meaning::Sync { id, what }) if fits(what) => Ok(id),
            _ => self.names.is_not(name, wanted),
        }
    }

    fn condition(&self, name: &Name) -> Result<SyncId> {
        self.sync(name, "a condition", |what| what == Declared::Condition)
    }

    fn semaphore(&self, name: &Name) -> Result<SyncId> {
        let is_semaphore = |what| matches!(what, Declared::Semaphore { .. });
        self.sync(name, "a semaphore", is_semaphore)
    }

    fn thread_id(&self, body: usize) -> ThreadId {
        let id = self.threads.iter().position(|t| *t == Some(body));
        ThreadId::from_index(id.expect("every thread has a number"))
    }

    fn local(&mut self, name: &Name) -> usize {
        if let Some(&slot) = self.locals.get(&name.text) {
            return slot;
        }
        let slot = self.slot();
        self.locals.insert(name.text.clone(), slot);
        slot
    }

    fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    fn scratch(&mut self) -> usize {
        if self.scratch_used == self.scratch.len() {
            let slot = self.slot();
            self.scratch.push(slot);
        }
        self.scratch_used += 1;
        self.scratch[self.scratch_used - 1]
    }

    fn own_site(&mut self, at: Position, text: &str) -> SiteId {
        let site = self.sites.at(at, text, self.function);
        self.own.push(site);
        site
    }

    fn step(&mut self, at: Position, text: &str, step: Step) {
        let site = self.own_site(at, text);
        self.code.push(Instruction::Step { site, step });
    }

    fn assert(&mut self, at: Position, text: &str, condition: Value, name: String) {
        let site = self.own_site(at, text);
        self.code.push(Instruction::Assert {
            condition,
            site,
            name,
        });
    }

    fn set(&mut self, slot: usize, value: Value) {
        self.code.push(Instruction::Set { slot, value });
    }

    /// Emits a jump whose target is not yet known; [`land`](Self::land) says
    /// it.
    fn jump(&mut self, make: impl FnOnce(usize) -> Instruction) -> usize {
        self.code.push(make(usize::MAX));
        self.code.len() - 1
    }

    fn land(&mut self, jump: usize) {
        let here = self.code.len();
        match &mut self.code[jump] {
            Instruction::Jump { to } | Instruction::JumpIfZero { to, .. } => *to = here,
            _ => unreachable!("only jumps land"),
        }
    }

    /// Files the sites of a statement under its label. A purely local
    /// statement gets a site that no event will have.
    fn label(&mut self, statement: &Statement) {
        let Some(label) = &statement.label else {
            return;
        };
        if self.own.is_empty() {
            self.own_site(statement.at, &statement.text);
        }
        let sites = std::mem::take(&mut self.own);
        self.sites.labels.insert(label.text.clone(), sites);
    }
}
