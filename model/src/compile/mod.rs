//! From the syntax tree to instructions.
//!
//! Functions are inlined: they see the locals of the thread that calls them,
//! and recursion is refused, so each call is simply its body between a call
//! and a return event. A statement of a function has the same sites in every
//! copy.

mod coder;
mod names;
mod sharing;

use std::collections::HashMap;

use racehound_trace::{NameId, Site, SiteId, Tables, Thread, ThreadId};

use crate::notation::tree::{Body, Tree};
use crate::notation::{Position, Result};
use crate::program::{Code, Program};

use coder::Coder;
use names::Names;

/// The name of the thread that starts all others.
const MAIN: &str = "main";

pub(crate) fn compile(text: &str, file: Option<&str>, tree: &Tree) -> Result<Program> {
    let mut tables = Tables::default();
    let names = Names::resolve(tree, &mut tables)?;
    let file = file.map(|file| tables.names.add(file));
    let threads = declare_threads(&names, &mut tables);
    let mut sites = Sites {
        tables,
        file,
        known: HashMap::new(),
        labels: HashMap::new(),
    };
    let mut codes = vec![Code::default(); threads.len()];
    for (id, thread) in threads.iter().enumerate() {
        let mut coder = Coder::new(&names, &threads, &mut sites);
        match thread {
            Some(body) => coder.block(&tree.threads[*body].block)?,
            None => coder.fork_and_join(&tree.threads),
        }
        codes[id] = coder.finish();
    }
    let syncs = names.syncs.clone();
    let sharing = sharing::of(&codes, names.initial.len(), syncs.len());
    Ok(Program {
        source: text.to_owned(),
        tables: sites.tables,
        threads: codes,
        variables: names.initial,
        syncs,
        labels: sites.labels,
        sharing,
    })
}

/// Numbers the threads, parents before children: main first. Gives the body of
/// each, `None` for a main that nobody wrote.
fn declare_threads(names: &Names<'_>, tables: &mut Tables) -> Vec<Option<usize>> {
    let bodies: &[Body] = &names.tree.threads;
    let mut add = |name: &str, parent: Option<ThreadId>, ordinal| {
        let name = Some(tables.names.add(name));
        tables.add_thread(Thread {
            parent,
            ordinal,
            name,
        })
    };
    let main = bodies.iter().position(|body| body.name.text == MAIN);
    let root = add(MAIN, None, 0);
    let mut threads = vec![main];
    if main.is_none() {
        for (body, ordinal) in (0..bodies.len()).zip(1..) {
            add(&bodies[body].name.text, Some(root), ordinal);
            threads.push(Some(body));
        }
        return threads;
    }
    let mut next = 0;
    while let Some(&parent) = threads.get(next) {
        let children = parent.map_or(&[][..], |body| &names.children[body]);
        for (&child, ordinal) in children.iter().zip(1..) {
            let parent = Some(ThreadId::from_index(next));
            add(&bodies[child].name.text, parent, ordinal);
            threads.push(Some(child));
        }
        next += 1;
    }
    // Threads that main never gets to start, directly or indirectly.
    for (body, ordinal) in (0..bodies.len()).zip(1..) {
        if !threads.contains(&Some(body)) {
            add(&bodies[body].name.text, None, ordinal);
            threads.push(Some(body));
        }
    }
    threads
}

/// The sites met so far, one for each position that has one.
struct Sites {
    tables: Tables,
    file: Option<NameId>,
    known: HashMap<Position, SiteId>,
    labels: HashMap<String, Vec<SiteId>>,
}

impl Sites {
    fn at(
        &mut self,
        at: Position,
        text: &str,
        function: Option<racehound_trace::FunctionId>,
    ) -> SiteId {
        let tables = &mut self.tables;
        *self.known.entry(at).or_insert_with(|| {
            let text = Some(tables.names.add(text));
            tables.add_site(Site {
                file: self.file,
                line: at.line,
                column: at.column,
                function,
                text,
                ..Site::default()
            })
        })
    }
}
