//! Where the threads of an execution stand, for strategies that ask.
//!
//! A thread's body counts as a function of the thread's name, the outermost one:
//! Java's `run()`.

use racehound_schedule::{ClassId, Pending, Strategy};
use racehound_trace::{Event, FunctionId, Op, Tables, ThreadId};

pub(crate) struct Stacks {
    depth: usize,
    /// Of each thread, the outermost function first.
    stacks: Vec<Vec<FunctionId>>,
    /// Of each synchronisation object.
    classes: Vec<ClassId>,
}

impl Stacks {
    /// Tells the strategy all names; none if it does not ask.
    pub(crate) fn of(tables: &Tables, strategy: &mut dyn Strategy) -> Option<Self> {
        let depth = strategy.stack_depth();
        if depth == 0 {
            return None;
        }
        let functions = tables.functions.len();
        for id in (0..functions).map(FunctionId::from_index) {
            strategy.name_function(id, &tables.function_name(id));
        }
        let threads = (0..tables.threads.len()).map(ThreadId::from_index);
        let stacks = threads.map(|thread| {
            let body = FunctionId::from_index(functions + thread.index());
            strategy.name_function(body, &tables.thread_name(thread));
            vec![body]
        });
        let stacks = stacks.collect();
        let mut names: Vec<&str> = Vec::new();
        let classes = tables.syncs.iter().map(|sync| {
            let name = sync.class.and_then(|name| tables.names.get(name));
            let name = name.unwrap_or_default();
            let known = names.iter().position(|other| *other == name);
            let index = known.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            let class = ClassId(index as u32);
            strategy.name_class(class, name);
            class
        });
        let classes = classes.collect();
        Some(Self {
            depth,
            stacks,
            classes,
        })
    }

    /// Something has happened.
    pub(crate) fn note(&mut self, event: &Event) {
        let stack = &mut self.stacks[event.thread.index()];
        match event.op {
            Op::Call { function } => stack.push(function),
            Op::Return => _ = stack.pop(),
            _ => {}
        }
    }

    /// A thread is about to do something.
    pub(crate) fn tell(&self, pending: &Pending, strategy: &mut dyn Strategy) {
        let stack = &self.stacks[pending.thread.index()];
        let functions: Vec<_> = stack.iter().rev().take(self.depth).copied().collect();
        let lock = pending.requested();
        let class = lock.map(|lock| self.classes[lock.index()]);
        strategy.stands(pending.thread, &functions, class);
    }
}
