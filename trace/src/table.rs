//! The tables behind the ids: identity that survives a rerun, as far as the
//! front end knows it.
//!
//! Tables only grow, so a writer can emit what is new and a reader can append.

use crate::id::{FunctionId, Loc, NameId, SiteId, SyncId, ThreadId};

/// What a [`Loc`] of a trace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Indices into [`Tables::variables`]; an access touches exactly one.
    Names,
    /// Byte addresses; an access touches `size` bytes from `loc` on.
    Addresses,
}

/// A place in the program. Front ends fill what they have; reports use the
/// best there is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site {
    /// Source file.
    pub file: Option<NameId>,
    /// Line in the file, from 1; 0 if unknown.
    pub line: u32,
    /// Column in the line, from 1; 0 if unknown.
    pub column: u32,
    /// The function the site is in.
    pub function: Option<FunctionId>,
    /// Build id of the module, or class name: with `offset`, what stays the
    /// same between runs.
    pub module: Option<NameId>,
    /// Offset of the instruction in its module, or bytecode index.
    pub offset: u64,
    /// The statement itself, or the bare label of a format that has no more.
    pub text: Option<NameId>,
}

/// A thread: its place in the creation tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Who created it; the main thread has nobody.
    pub parent: Option<ThreadId>,
    /// Which child of its parent it is, from 1.
    pub ordinal: u32,
    /// What the program or the format calls it.
    pub name: Option<NameId>,
}

/// A mutex, rwlock, condition variable, semaphore or barrier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncObject {
    /// What the program calls it.
    pub name: Option<NameId>,
    /// Its lock class: where it was declared or allocated.
    pub class: Option<NameId>,
}

/// A function or method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Its name, demangled.
    pub name: Option<NameId>,
    /// Build id of the module, or class name.
    pub module: Option<NameId>,
    /// Offset of its entry in the module.
    pub offset: u64,
}

/// A named location.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: Option<NameId>,
    /// Where it is, and how many bytes it takes, where [`Space::Addresses`] is used.
    pub extent: Option<(Loc, u64)>,
}

/// Strings, one after the other in one allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    text: String,
    ends: Vec<usize>,
}

impl Names {
    /// Appends a string. Equal strings may be added twice; who wants one id
    /// for one string remembers it.
    pub fn add(&mut self, name: &str) -> NameId {
        self.text.push_str(name);
        self.ends.push(self.text.len());
        NameId::from_index(self.ends.len() - 1)
    }

    /// How many strings there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The string with this id.
    pub fn get(&self, id: NameId) -> Option<&str> {
        let end = *self.ends.get(id.index())?;
        let start = match id.index() {
            0 => 0,
            i => self.ends[i - 1],
        };
        Some(&self.text[start..end])
    }
}

/// Everything the ids of a trace stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// Strings used by the other tables.
    pub names: Names,
    /// Places in the program.
    pub sites: Vec<Site>,
    /// Threads.
    pub threads: Vec<Thread>,
    /// Synchronisation objects.
    pub syncs: Vec<SyncObject>,
    /// Functions.
    pub functions: Vec<Function>,
    /// Named locations.
    pub variables: Vec<Variable>,
}

impl Tables {
    /// Adds a site and returns its id.
    pub fn add_site(&mut self, site: Site) -> SiteId {
        self.sites.push(site);
        SiteId::from_index(self.sites.len() - 1)
    }

    /// Adds a thread and returns its id.
    pub fn add_thread(&mut self, thread: Thread) -> ThreadId {
        self.threads.push(thread);
        ThreadId::from_index(self.threads.len() - 1)
    }

    /// Adds a named synchronisation object and returns its id.
    pub fn add_sync(&mut self, name: &str) -> SyncId {
        let name = Some(self.names.add(name));
        self.syncs.push(SyncObject { name, class: None });
        SyncId::from_index(self.syncs.len() - 1)
    }

    /// Adds a function and returns its id.
    pub fn add_function(&mut self, name: &str) -> FunctionId {
        let name = Some(self.names.add(name));
        self.functions.push(Function {
            name,
            ..Function::default()
        });
        FunctionId::from_index(self.functions.len() - 1)
    }

    /// Adds a named location.
    pub fn add_variable(&mut self, name: &str) -> Loc {
        let name = Some(self.names.add(name));
        self.variables.push(Variable { name, extent: None });
        Loc(self.variables.len() as u64 - 1)
    }

    /// Names what is at an address, for so many bytes.
    pub fn add_variable_at(&mut self, name: &str, loc: Loc, size: u64) {
        let name = Some(self.names.add(name));
        let extent = Some((loc, size));
        self.variables.push(Variable { name, extent });
    }

    /// What is known to be at an address, and how far behind its beginning that is; the
    /// latest if there was something else.
    pub fn variable_at(&self, loc: Loc) -> Option<(&str, u64)> {
        self.variables.iter().rev().find_map(|variable| {
            let (start, size) = variable.extent?;
            let behind = loc.0.checked_sub(start.0).filter(|&behind| behind < size)?;
            Some((self.name(variable.name)?, behind))
        })
    }

    /// What people call a location: the variable there if it is known, and else what
    /// [`loc_name`](Self::loc_name) says.
    pub fn shown_loc(&self, space: Space, loc: Loc) -> String {
        match self.variable_at(loc) {
            Some((name, 0)) => name.to_owned(),
            Some((name, behind)) => format!("{name}+{behind}"),
            None => self.loc_name(space, loc),
        }
    }

    fn name(&self, id: Option<NameId>) -> Option<&str> {
        self.names.get(id?)
    }

    /// A thread's name, or its path in the creation tree: `0` is main, `0.2`
    /// main's second child.
    pub fn thread_name(&self, id: ThreadId) -> String {
        match self.threads.get(id.index()) {
            Some(thread) => match self.name(thread.name) {
                Some(name) => name.to_owned(),
                None => self.thread_path(id),
            },
            None => format!("{id:?}"),
        }
    }

    /// A thread's path in the creation tree.
    pub fn thread_path(&self, id: ThreadId) -> String {
        let mut ordinals = Vec::new();
        let mut at = id;
        // A parent always has the smaller id in what we write; a foreign file
        // may say otherwise, and then the path ends there.
        while let Some(thread) = self.threads.get(at.index()) {
            match thread.parent {
                Some(parent) if parent < at => {
                    ordinals.push(thread.ordinal);
                    at = parent;
                }
                _ => break,
            }
        }
        let root = match self.threads.get(at.index()).map(|t| (t.parent, t.ordinal)) {
            Some((None, ordinal)) => ordinal,
            _ => at.0,
        };
        let mut path = root.to_string();
        for ordinal in ordinals.iter().rev() {
            path.push('.');
            path.push_str(&ordinal.to_string());
        }
        path
    }

    /// A synchronisation object's name, or its number.
    pub fn sync_name(&self, id: SyncId) -> String {
        let named = self.syncs.get(id.index()).and_then(|s| self.name(s.name));
        named.map_or_else(|| format!("lock {}", id.0), str::to_owned)
    }

    /// A function's name, or its number.
    pub fn function_name(&self, id: FunctionId) -> String {
        let named = self
            .functions
            .get(id.index())
            .and_then(|f| self.name(f.name));
        named.map_or_else(|| format!("function {}", id.0), str::to_owned)
    }

    /// What to call a location.
    pub fn loc_name(&self, space: Space, loc: Loc) -> String {
        match space {
            Space::Addresses => format!("{:#x}", loc.0),
            Space::Names => usize::try_from(loc.0)
                .ok()
                .and_then(|i| self.variables.get(i))
                .and_then(|v| self.name(v.name))
                .map_or_else(|| format!("variable {}", loc.0), str::to_owned),
        }
    }

    /// Where a site is: `file:line:column` if known, else its text, else its
    /// offset, else its number.
    pub fn site_name(&self, id: SiteId) -> String {
        let Some(site) = self.sites.get(id.index()) else {
            return format!("{id:?}");
        };
        if let Some(file) = self.name(site.file) {
            return match (site.line, site.column) {
                (0, _) => file.to_owned(),
                (line, 0) => format!("{file}:{line}"),
                (line, column) => format!("{file}:{line}:{column}"),
            };
        }
        match (self.name(site.text), self.name(site.module)) {
            (Some(text), _) => text.to_owned(),
            (None, Some(module)) => format!("{module}+{:#x}", site.offset),
            (None, None) => format!("site {}", id.0),
        }
    }

    /// The source file of a site, if known.
    pub fn site_file(&self, id: SiteId) -> Option<&str> {
        self.name(self.sites.get(id.index())?.file)
    }

    /// The statement at a site, if known.
    pub fn site_text(&self, id: SiteId) -> Option<&str> {
        self.name(self.sites.get(id.index())?.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_paths_follow_the_creation_tree() {
        let mut tables = Tables::default();
        let main = tables.add_thread(Thread::default());
        let child = |parent, ordinal| Thread {
            parent: Some(parent),
            ordinal,
            name: None,
        };
        tables.add_thread(child(main, 1));
        let second = tables.add_thread(child(main, 2));
        let grandchild = tables.add_thread(child(second, 1));
        assert_eq!(tables.thread_name(main), "0");
        assert_eq!(tables.thread_path(grandchild), "0.2.1");
    }

    #[test]
    fn a_cycle_of_parents_still_has_a_path() {
        let mut tables = Tables::default();
        for parent in [1, 0] {
            tables.add_thread(Thread {
                parent: Some(ThreadId(parent)),
                ordinal: 1,
                name: None,
            });
        }
        assert_eq!(tables.thread_path(ThreadId(1)), "0.1");
    }
}
