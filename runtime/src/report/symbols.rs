//! Places and addresses, in words. What was looked up once is remembered.
//!
//! All of it is behind one lock. Whoever holds that runs nothing of the program's
//! and waits for no other lock of ours, so it may be asked for anywhere in the
//! runtime: in the middle of a report as well as with an object or a cell held.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use racehound_symbols::{Symbolizer, Variable};
use rustc_hash::FxHashMap;

use super::modules::{self, Module};
use crate::abi::external;
use crate::{hooks, options, real, sampling};

/// A line of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) function: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) module: Option<String>,
    pub(crate) module_path: Option<String>,
    /// Address in the module.
    pub(crate) offset: usize,
    pub(crate) build_id: String,
    /// The place it was found for; 0 for all but the innermost function there.
    pub(crate) place: usize,
}

impl Line {
    /// The file, without what the options say is not to be shown of it.
    pub(crate) fn shown_file(&self) -> Option<&str> {
        let file = self.file.as_deref()?;
        let prefix = options::get().strip_path_prefix.as_str();
        Some(match file.find(prefix) {
            Some(at) if !prefix.is_empty() => &file[at + prefix.len()..],
            _ => file,
        })
    }
}

static SYMBOLS: Mutex<Option<Symbols>> = Mutex::new(None);

/// While it lasts, the current thread looks things up.
struct Looking(MutexGuard<'static, Option<Symbols>>);

impl Looking {
    fn begin() -> Self {
        let mut guard = SYMBOLS.lock().unwrap_or_else(PoisonError::into_inner);
        guard.get_or_insert_default();
        Self(guard)
    }
}

impl std::ops::Deref for Looking {
    type Target = Symbols;
    fn deref(&self) -> &Symbols {
        self.0.as_ref().expect("set at the beginning")
    }
}

impl std::ops::DerefMut for Looking {
    fn deref_mut(&mut self) -> &mut Symbols {
        self.0.as_mut().expect("set at the beginning")
    }
}

/// The functions at a return address or a function of ours, innermost first.
pub(crate) fn lines(place: usize) -> Vec<Line> {
    match external::is_external(place) {
        true => external_lines(place),
        false => Looking::begin().lines(place),
    }
}

/// Where a return address is, without the names of functions, which take far longer.
pub(crate) fn line(place: usize) -> Line {
    match external::is_external(place) {
        true => external_lines(place).into_iter().next().unwrap_or_default(),
        false => Looking::begin().line(place),
    }
}

/// In which module a return address is, and where in it, without a look at debug information,
/// which takes longer than many a program.
pub(crate) fn in_module(place: usize) -> Line {
    match external::is_external(place) {
        true => line(place),
        false => Looking::begin().in_module(place).0,
    }
}

/// The same at a place that only the program knows.
fn external_lines(place: usize) -> Vec<Line> {
    let known = Looking::begin().known.get(&place).cloned();
    known.unwrap_or_else(|| {
        let lines = hooks::symbolize(place).into_iter().map(|function| Line {
            function: function.name,
            file: function.file,
            line: function.line,
            column: function.column,
            ..Line::default()
        });
        let lines: Vec<Line> = lines.collect();
        let lines = match lines.is_empty() {
            true => vec![Line::default()],
            false => lines,
        };
        Looking::begin().remember(place, lines)
    })
}

/// The function that a call at a place is in, if it has a symbol; and the name of its
/// module, and how far into that it is.
pub(crate) fn function(place: usize) -> Option<(Option<String>, String, usize)> {
    let mut looking = Looking::begin();
    let module = looking.module(place)?;
    // The call is before the address it returns to.
    let offset = place - 1 - module.bias;
    let function = looking.symbolizer.function(&module.path, offset as u64);
    Some((function, module.name(), offset))
}

/// What tells that function from all others of its module, if it has a symbol.
pub(crate) fn function_identity(place: usize) -> Option<String> {
    let mut looking = Looking::begin();
    let module = looking.module(place)?;
    let offset = place - 1 - module.bias;
    looking
        .symbolizer
        .function_identity(&module.path, offset as u64)
}

/// The name of the module at a place, what tells this build of it from others, and
/// how far into it that is.
pub(crate) fn build(place: usize) -> Option<(String, String, usize)> {
    let module = Looking::begin().module(place)?;
    let build = match module.build_id.is_empty() {
        true => module.path.to_string_lossy().into_owned() + &stamp_of(&module.path),
        false => hex(&module.build_id),
    };
    Some((module.name(), build, place - module.bias))
}

/// What changes with a file.
fn stamp_of(path: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    match path.metadata() {
        Ok(file) => format!(":{}:{}.{}", file.size(), file.mtime(), file.mtime_nsec()),
        Err(_) => String::new(),
    }
}

/// The variable at an address, with its module.
pub(crate) fn variable(address: usize) -> Option<(Variable, Module)> {
    Looking::begin().variable(address)
}

/// The path of the module at an address, and how far into it that is.
pub(crate) fn module_path(address: usize) -> Option<(String, usize)> {
    let module = Looking::begin().module(address)?;
    let path = module.path.to_string_lossy().into_owned();
    Some((path, address - module.bias))
}

/// The name of the module at an address, and how far into it that is.
pub(crate) fn module_name(address: usize) -> Option<(String, usize)> {
    let module = Looking::begin().module(address)?;
    Some((module.name(), address - module.bias))
}

/// Modules come and go.
pub(crate) fn forget_modules() {
    let mut symbols = Looking::begin();
    symbols.modules.clear();
    symbols.known.clear();
    drop(symbols);
    sampling::forget_places();
}

/// Looks places up.
#[derive(Default)]
struct Symbols {
    modules: Vec<Module>,
    symbolizer: Symbolizer,
    known: FxHashMap<usize, Vec<Line>>,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Symbols {
    fn module(&mut self, address: usize) -> Option<Module> {
        let find = |modules: &[Module]| modules.iter().find(|m| m.holds(address)).cloned();
        if let Some(module) = find(&self.modules) {
            return Some(module);
        }
        // Perhaps it was loaded since.
        self.modules = modules::loaded();
        let module = find(&self.modules)?;
        self.symbolizer.open(
            &module.path,
            Some(&module.build_id[..]).filter(|id| !id.is_empty()),
        );
        Some(module)
    }

    fn lines(&mut self, place: usize) -> Vec<Line> {
        if let Some(lines) = self.known.get(&place) {
            return lines.clone();
        }
        let lines = self.look_up(place);
        self.remember(place, lines)
    }

    fn remember(&mut self, place: usize, mut lines: Vec<Line>) -> Vec<Line> {
        if let Some(line) = lines.first_mut() {
            line.place = place;
        }
        self.known.insert(place, lines.clone());
        lines
    }

    fn line(&mut self, place: usize) -> Line {
        if let Some(line) = self.known.get(&place).and_then(|lines| lines.first()) {
            return line.clone();
        }
        let (line, module) = self.in_module(place);
        let Some(module) = module else {
            return line;
        };
        let offset = line.offset as u64;
        let found = match module.is_instrumented() {
            true => self.symbolizer.line(&module.path, offset),
            false => self.symbolizer.line_at_hand(&module.path, offset),
        };
        let Some(found) = found else {
            return line;
        };
        Line {
            file: found.file,
            line: found.line,
            column: found.column,
            ..line
        }
    }

    /// What is known without debug information, and the module where there may be some.
    fn in_module(&mut self, place: usize) -> (Line, Option<Module>) {
        let Some(module) = self.module(place) else {
            let offset = place;
            let line = Line {
                offset,
                ..Line::default()
            };
            return (line, None);
        };
        let ours = real::name_at(place);
        // The call is before the address it returns to.
        let address = match ours {
            Some(_) => place,
            None => place - 1,
        };
        let line = Line {
            function: ours.map(racehound_symbols::demangle),
            module: Some(module.name()),
            module_path: Some(module.path.to_string_lossy().into_owned()),
            offset: address - module.bias,
            build_id: hex(&module.build_id),
            ..Line::default()
        };
        (line, ours.is_none().then_some(module))
    }

    fn look_up(&mut self, place: usize) -> Vec<Line> {
        let (line, module) = self.in_module(place);
        let Some(module) = module else {
            return vec![line];
        };
        let offset = line.offset;
        // Nobody wants to debug the C library.
        let frames = match module.is_instrumented() {
            true => self.symbolizer.frames(&module.path, offset as u64),
            false => self.symbolizer.frames_at_hand(&module.path, offset as u64),
        };
        if frames.is_empty() {
            return vec![line];
        }
        let frames = frames.into_iter().map(|frame| Line {
            function: frame.function,
            file: frame.file,
            line: frame.line,
            column: frame.column,
            ..line.clone()
        });
        frames.collect()
    }

    fn variable(&mut self, address: usize) -> Option<(Variable, Module)> {
        let module = self.module(address)?;
        let offset = address - module.bias;
        let variable = self.symbolizer.variable(&module.path, offset as u64)?;
        Some((variable, module))
    }
}
