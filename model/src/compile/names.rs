//! What the names of a program mean, and what can be wrong with them as a
//! whole: two meanings, recursion, a thread with two parents.

use std::collections::{HashMap, HashSet};

use racehound_trace::{FunctionId, SyncId, Tables};

use super::MAIN;
use crate::notation::tree::{Action, Block, Declared, Name, Tree};
use crate::notation::{NotationError, Position, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Variable { index: usize, volatile: bool },
    Sync { id: SyncId, what: Declared },
    Function { id: FunctionId, body: usize },
    Thread { body: usize },
}

impl Meaning {
    fn what(self) -> &'static str {
        match self {
            Self::Variable { .. } => "a variable",
            Self::Sync { what, .. } => match what {
                Declared::Lock { .. } => "a lock",
                Declared::RwLock => "a rwlock",
                Declared::Condition => "a condition",
                Declared::Semaphore { .. } => "a semaphore",
                Declared::Barrier { .. } | Declared::Variable { .. } => "a barrier",
            },
            Self::Function { .. } => "a function",
            Self::Thread { .. } => "a thread",
        }
    }
}

pub(super) struct Names<'t> {
    pub(super) tree: &'t Tree,
    meanings: HashMap<&'t str, Meaning>,
    /// Initial values of the variables.
    pub(super) initial: Vec<i64>,
    pub(super) syncs: Vec<Declared>,
    /// The threads each thread forks, in the order of the text; empty where
    /// main is implicit.
    pub(super) children: Vec<Vec<usize>>,
}

impl<'t> Names<'t> {
    pub(super) fn resolve(tree: &'t Tree, tables: &mut Tables) -> Result<Self> {
        let mut names = Self {
            tree,
            meanings: HashMap::new(),
            initial: Vec::new(),
            syncs: Vec::new(),
            children: vec![Vec::new(); tree.threads.len()],
        };
        for declaration in &tree.declarations {
            let name = &declaration.name;
            let meaning = match declaration.what {
                Declared::Variable { initial, volatile } => {
                    tables.add_variable(&name.text);
                    names.initial.push(initial);
                    Meaning::Variable {
                        index: names.initial.len() - 1,
                        volatile,
                    }
                }
                what => {
                    let id = tables.add_sync(&name.text);
                    // Unless it is said otherwise each is alone in its class.
                    let class = declaration.class.as_ref();
                    let class = class.map(|class| tables.names.add(&class.text));
                    let sync = &mut tables.syncs[id.index()];
                    sync.class = class.or(sync.name);
                    names.syncs.push(what);
                    Meaning::Sync { id, what }
                }
            };
            names.define(name, meaning)?;
        }
        for (body, function) in tree.functions.iter().enumerate() {
            let id = tables.add_function(&function.name.text);
            names.define(&function.name, Meaning::Function { id, body })?;
        }
        for (body, thread) in tree.threads.iter().enumerate() {
            names.define(&thread.name, Meaning::Thread { body })?;
        }
        names.check_labels()?;
        names.check_recursion()?;
        names.check_forks()?;
        Ok(names)
    }

    fn define(&mut self, name: &'t Name, meaning: Meaning) -> Result<()> {
        match self.meanings.insert(&name.text, meaning) {
            None => Ok(()),
            Some(first) => {
                let what = format!("`{}` is already {}", name.text, first.what());
                Err(NotationError::new(name.at, what))
            }
        }
    }

    /// What a name was declared as; undeclared names are locals.
    pub(super) fn meaning(&self, name: &Name) -> Option<Meaning> {
        self.meanings.get(name.text.as_str()).copied()
    }

    pub(super) fn is_not<T>(&self, name: &Name, wanted: &str) -> Result<T> {
        let found = match self.meaning(name) {
            Some(meaning) => format!("`{}` is {}", name.text, meaning.what()),
            None => format!("`{}` is not declared", name.text),
        };
        let what = format!("{found}; {wanted} is wanted here");
        Err(NotationError::new(name.at, what))
    }

    pub(super) fn function(&self, name: &Name) -> Result<(FunctionId, usize)> {
        match self.meaning(name) {
            Some(Meaning::Function { id, body }) => Ok((id, body)),
            _ => self.is_not(name, "a function"),
        }
    }

    /// The body of a thread.
    pub(super) fn thread(&self, name: &Name) -> Result<usize> {
        match self.meaning(name) {
            Some(Meaning::Thread { body }) => Ok(body),
            _ => self.is_not(name, "a thread"),
        }
    }

    fn check_labels(&self) -> Result<()> {
        let mut seen = HashSet::new();
        for body in self.tree.threads.iter().chain(&self.tree.functions) {
            walk(&body.block, &mut |label, _| match label {
                Some(label) if !seen.insert(label.text.as_str()) => {
                    let what = format!("a second statement labelled `{}`", label.text);
                    Err(NotationError::new(label.at, what))
                }
                _ => Ok(()),
            })?;
        }
        Ok(())
    }

    fn check_recursion(&self) -> Result<()> {
        let mut done = vec![false; self.tree.functions.len()];
        for body in 0..self.tree.functions.len() {
            self.check_calls(body, &mut Vec::new(), &mut done)?;
        }
        Ok(())
    }

    fn check_calls(&self, body: usize, open: &mut Vec<usize>, done: &mut [bool]) -> Result<()> {
        if done[body] {
            return Ok(());
        }
        open.push(body);
        walk(&self.tree.functions[body].block, &mut |_, action| {
            let Action::Call(name) = action else {
                return Ok(());
            };
            let (_, callee) = self.function(name)?;
            if open.contains(&callee) {
                let what = format!("`{}` would call itself: recursion is refused", name.text);
                return Err(NotationError::new(name.at, what));
            }
            self.check_calls(callee, open, done)
        })?;
        open.pop();
        done[body] = true;
        Ok(())
    }

    /// Finds out who forks whom.
    fn check_forks(&mut self) -> Result<()> {
        if self.tree.threads.is_empty() {
            let what = "a program needs a thread";
            return Err(NotationError::new(Position { line: 1, column: 1 }, what));
        }
        let explicit = self.meanings.contains_key(MAIN);
        let mut parents: Vec<Option<usize>> = vec![None; self.tree.threads.len()];
        for thread in 0..self.tree.threads.len() {
            let mut forked = Vec::new();
            self.forks(&self.tree.threads[thread].block, &mut forked)?;
            for name in forked {
                let child = self.thread(name)?;
                let fail = |what: String| Err(NotationError::new(name.at, what));
                if !explicit {
                    return fail(format!(
                        "all threads are forked by an implicit main; declare `thread {MAIN}` to do it yourself"
                    ));
                }
                if name.text == MAIN {
                    return fail(format!("`{MAIN}` runs from the start"));
                }
                match parents[child].replace(thread) {
                    Some(parent) if parent != thread => {
                        let parent = &self.tree.threads[parent].name.text;
                        return fail(format!("`{}` is already forked by `{parent}`", name.text));
                    }
                    Some(_) => {}
                    None => self.children[thread].push(child),
                }
            }
        }
        Ok(())
    }

    /// The names after `fork` in a block and the functions it calls.
    fn forks(&self, block: &'t Block, found: &mut Vec<&'t Name>) -> Result<()> {
        walk(block, &mut |_, action| {
            match action {
                Action::Fork(name) => found.push(name),
                Action::Call(name) => {
                    let (_, body) = self.function(name)?;
                    self.forks(&self.tree.functions[body].block, found)?;
                }
                _ => {}
            }
            Ok(())
        })
    }
}

/// Every statement of a block, outer before inner.
fn walk<'t>(
    block: &'t Block,
    visit: &mut dyn FnMut(Option<&'t Name>, &'t Action) -> Result<()>,
) -> Result<()> {
    for statement in &block.statements {
        visit(statement.label.as_ref(), &statement.action)?;
        match &statement.action {
            Action::If {
                then, otherwise, ..
            } => {
                walk(then, visit)?;
                if let Some(otherwise) = otherwise {
                    walk(otherwise, visit)?;
                }
            }
            Action::Repeat { body, .. }
            | Action::While { body, .. }
            | Action::AtomicBlock(body) => walk(body, visit)?,
            _ => {}
        }
    }
    Ok(())
}
