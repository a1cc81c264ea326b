//! Places and addresses, in words. What was looked up once is remembered.

use racehound_symbols::{Symbolizer, Variable};
use rustc_hash::FxHashMap;

use super::modules::{self, Module};
use crate::abi::external;
use crate::{hooks, options, real};

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

/// Looks places up.
#[derive(Default)]
pub(crate) struct Symbols {
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

    /// Modules come and go.
    pub(crate) fn forget_modules(&mut self) {
        self.modules.clear();
        self.known.clear();
    }

    /// The functions at a return address or a function of ours, innermost first.
    pub(crate) fn lines(&mut self, place: usize) -> Vec<Line> {
        if let Some(lines) = self.known.get(&place) {
            return lines.clone();
        }
        let mut lines = self.look_up(place);
        if let Some(line) = lines.first_mut() {
            line.place = place;
        }
        self.known.insert(place, lines.clone());
        lines
    }

    fn look_up(&mut self, place: usize) -> Vec<Line> {
        if external::is_external(place) {
            let lines = hooks::symbolize(place).into_iter().map(|function| Line {
                function: function.name,
                file: function.file,
                line: function.line,
                column: function.column,
                ..Line::default()
            });
            let lines: Vec<Line> = lines.collect();
            return match lines.is_empty() {
                true => vec![Line::default()],
                false => lines,
            };
        }
        let Some(module) = self.module(place) else {
            return vec![Line {
                offset: place,
                ..Line::default()
            }];
        };
        let ours = real::name_at(place);
        // The call is before the address it returns to.
        let address = match ours {
            Some(_) => place,
            None => place - 1,
        };
        let offset = address - module.bias;
        let line = Line {
            module: Some(module.name()),
            module_path: Some(module.path.to_string_lossy().into_owned()),
            offset,
            build_id: hex(&module.build_id),
            ..Line::default()
        };
        if let Some(name) = ours {
            return vec![Line {
                function: Some(racehound_symbols::demangle(name)),
                ..line
            }];
        }
        let frames = self.symbolizer.frames(&module.path, offset as u64);
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

    /// The variable at an address, with its module.
    pub(crate) fn variable(&mut self, address: usize) -> Option<(Variable, Module)> {
        let module = self.module(address)?;
        let offset = address - module.bias;
        let variable = self.symbolizer.variable(&module.path, offset as u64)?;
        Some((variable, module))
    }

    /// The path of the module at an address.
    pub(crate) fn module_path(&mut self, address: usize) -> Option<(String, usize)> {
        let module = self.module(address)?;
        let path = module.path.to_string_lossy().into_owned();
        Some((path, address - module.bias))
    }

    /// The module at an address.
    pub(crate) fn module_name(&mut self, address: usize) -> Option<(String, usize)> {
        let module = self.module(address)?;
        Some((module.name(), address - module.bias))
    }
}
