//! The modules of a program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::module::Module;
use crate::{Element, Frame, Variable};

/// Where distributions install debug files.
const DEBUG_ROOT: &str = "/usr/lib/debug";

/// Looks up addresses in modules, and keeps the modules open.
///
/// Looking up the same address twice does the work twice; whoever expects that
/// remembers the answer.
pub struct Symbolizer {
    debug_root: PathBuf,
    /// By path. Lookups do not try again what could not be opened.
    modules: BTreeMap<PathBuf, Option<Module>>,
}

impl Default for Symbolizer {
    fn default() -> Self {
        Self::new()
    }
}

impl Symbolizer {
    /// A symbolizer that has not opened any module.
    pub fn new() -> Self {
        Self::with_debug_root(DEBUG_ROOT)
    }

    /// A symbolizer that looks for separate debug files under `root`, besides
    /// the places that are relative to a module.
    pub fn with_debug_root(root: impl Into<PathBuf>) -> Self {
        let debug_root = root.into();
        let modules = BTreeMap::new();
        Self {
            debug_root,
            modules,
        }
    }

    /// Opens the module at `path`, and returns whether there is something to
    /// say about it.
    ///
    /// With a build id, that of the module as it was loaded, there is nothing
    /// to say unless the file has the same: it was replaced since. Without one,
    /// or for a module that was not opened before its first lookup, the file is
    /// taken for what was loaded.
    pub fn open(&mut self, path: &Path, build_id: Option<&[u8]>) -> bool {
        let expected = |module: &Module| build_id.is_none_or(|id| module.has_build_id(id));
        if self
            .modules
            .get(path)
            .is_some_and(|known| known.as_ref().is_some_and(expected))
        {
            return true;
        }
        // What is known was about another build, or the file has come only now.
        let module = Module::open(path, &self.debug_root).filter(expected);
        let known = module.is_some();
        self.modules.insert(path.to_owned(), module);
        known
    }

    /// The functions active at a code address, innermost first: those that were
    /// inlined there and the one they were inlined into. Empty if nothing is
    /// known.
    ///
    /// For the address that a call returns to, ask for the one before, which is
    /// still in the call.
    pub fn frames(&mut self, module: &Path, address: u64) -> Vec<Frame> {
        self.module(module)
            .map_or_else(Vec::new, |module| module.frames(address))
    }

    /// The function that holds a code address, by the symbols alone: which functions
    /// were inlined there, and from which lines, takes debug information and far
    /// longer.
    pub fn function(&mut self, module: &Path, address: u64) -> Option<String> {
        self.module(module)?.function(address)
    }

    /// The same, but without lines if those are in a separate file: large ones take long
    /// to read.
    pub fn frames_at_hand(&mut self, module: &Path, address: u64) -> Vec<Frame> {
        self.module(module)
            .map_or_else(Vec::new, |module| module.frames_at_hand(address))
    }

    /// The line at a code address, by the line tables alone: the innermost of
    /// [`frames`](Self::frames), but for its function. Names take most of the time
    /// that frames take.
    pub fn line(&mut self, module: &Path, address: u64) -> Option<Frame> {
        self.module(module)?.line(address)
    }

    /// The same, but nothing if the lines are in a separate file.
    pub fn line_at_hand(&mut self, module: &Path, address: u64) -> Option<Frame> {
        self.module(module)?.line_at_hand(address)
    }

    /// What tells the function that holds a code address from all others of its
    /// module, also in another build: its symbol, and which of several with the same
    /// name it is.
    pub fn function_identity(&mut self, module: &Path, address: u64) -> Option<String> {
        self.module(module)?.function_identity(address)
    }

    /// The global or static variable that holds a data address.
    pub fn variable(&mut self, module: &Path, address: u64) -> Option<Variable> {
        self.module(module)?.variable(address)
    }

    /// The element so many bytes into the variable of this name; nothing if it is not
    /// known, or has no better name, or could be one of several.
    ///
    /// The first time, this reads all debug information of the module.
    pub fn element(&mut self, module: &Path, variable: &str, offset: u64) -> Option<Element> {
        self.module(module)?.element(variable, offset)
    }

    fn module(&mut self, path: &Path) -> Option<&Module> {
        if !self.modules.contains_key(path) {
            self.open(path, None);
        }
        self.modules.get(path)?.as_ref()
    }
}
