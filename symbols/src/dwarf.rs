//! Frames from DWARF.

use std::convert::Infallible;
use std::path::Path;

use addr2line::{Context, FunctionName, Location, LookupContinuation, LookupResult};
use gimli::{DwLang, EndianSlice, RunTimeEndian, SectionId};
use object::Object;

use crate::arena::Arena;
use crate::demangle::{demangle, is_mangled};
use crate::split::Split;
use crate::{Frame, elf, separate};

/// A section, while it is read.
pub(crate) type Reader<'a> = EndianSlice<'a, RunTimeEndian>;

/// The debug information of a module. Its units are indexed at once and parsed
/// when an address falls into them.
pub(crate) struct Dwarf<'a> {
    context: Context<Reader<'a>>,
    split: Split<'a>,
}

impl<'a> Dwarf<'a> {
    /// The debug information in `file`, which was read from `path`.
    pub(crate) fn new(
        path: &Path,
        file: &elf::File<'a>,
        root: &Path,
        arena: &'a Arena,
    ) -> Option<Self> {
        let mut sections = sections(path, file, root, arena);
        sections.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let context = Context::from_dwarf(sections).ok()?;
        let split = Split::new(path, arena);
        Some(Self { context, split })
    }

    /// The functions active at the address, innermost first. `symbol` is the
    /// symbol that covers the address, for names that DWARF has only in part.
    pub(crate) fn frames(&self, address: u64, symbol: impl Fn() -> Option<String>) -> Vec<Frame> {
        // The context computes the address after this one.
        if address == u64::MAX {
            return Vec::new();
        }
        let mut lookup = self.context.find_frames(address);
        let found = loop {
            match lookup {
                LookupResult::Output(found) => break found,
                LookupResult::Load { load, continuation } => {
                    lookup = continuation.resume(self.split.load(&load));
                }
            }
        };
        let Ok(mut found) = found else {
            return self.line(address).into_iter().collect();
        };
        let mut frames = Vec::new();
        let mut outermost = None;
        while let Some(next) = found.next().transpose() {
            // Damage ends the list early, among the inlined frames.
            let Ok(next) = next else {
                return frames;
            };
            let function = next.function.as_ref().and_then(name);
            frames.push(Frame {
                function,
                inlined: true,
                ..place(next.location)
            });
            outermost = next.function;
        }
        if let Some(frame) = frames.last_mut() {
            frame.inlined = false;
            if let Some(full) = outermost.and_then(|function| full_name(&function, symbol)) {
                frame.function = Some(full);
            }
        }
        frames
    }

    /// The line at the address, of whatever function: the line table may be
    /// intact where the description of functions is not.
    pub(crate) fn line(&self, address: u64) -> Option<Frame> {
        let location = self.context.find_location(address).ok()??;
        Some(place(Some(location)))
    }
}

/// The sections of `file`, which was read from `path`, with those that it shares with
/// others.
pub(crate) fn sections<'a>(
    path: &Path,
    file: &elf::File<'a>,
    root: &Path,
    arena: &'a Arena,
) -> gimli::Dwarf<Reader<'a>> {
    let mut sections = load(file, |id| Some(id.name()), arena);
    if let Some(shared) = separate::shared(path, file, root, arena) {
        sections.set_sup(load(&shared, |id| Some(id.name()), arena));
    }
    sections
}

/// A frame that says where, but not in which function.
fn place(location: Option<Location<'_>>) -> Frame {
    let Some(location) = location else {
        return Frame::default();
    };
    Frame {
        function: None,
        file: location
            .file
            .filter(|file| !file.is_empty())
            .map(str::to_owned),
        line: location.line.unwrap_or(0),
        column: location.column.unwrap_or(0),
        inlined: false,
    }
}

fn name(function: &FunctionName<Reader<'_>>) -> Option<String> {
    function.raw_name().ok().map(|name| demangle(&name))
}

/// The name with scope and parameters of a function that DWARF has only the
/// bare name of: GCC does that to C++ functions that are local to their file.
fn full_name(
    function: &FunctionName<Reader<'_>>,
    symbol: impl Fn() -> Option<String>,
) -> Option<String> {
    let bare = function.raw_name().ok()?;
    if is_mangled(&bare) || is_c(function.language) {
        return None;
    }
    let symbol = symbol().filter(|symbol| is_mangled(symbol) && could_mangle(symbol, &bare))?;
    // The symbol of a part that was split off ends in what part it is.
    symbol.split('.').next().map(demangle)
}

/// Whether the symbol could be the function's: its identifier is part of it.
/// Folding of identical code leaves one symbol for many functions.
fn could_mangle(symbol: &str, bare: &str) -> bool {
    let identifier = bare.trim_start_matches('~');
    let end = identifier.find(|c: char| !c.is_alphanumeric() && c != '_');
    let identifier = &identifier[..end.unwrap_or(identifier.len())];
    identifier == "operator" || symbol.contains(identifier)
}

/// Whether names are what the programmer wrote. Unknown is not C: in split
/// debug information, the language is in the other file.
fn is_c(language: Option<DwLang>) -> bool {
    use gimli::{DW_LANG_C, DW_LANG_C11, DW_LANG_C17, DW_LANG_C89, DW_LANG_C99};
    let c = [
        DW_LANG_C,
        DW_LANG_C89,
        DW_LANG_C99,
        DW_LANG_C11,
        DW_LANG_C17,
    ];
    language.is_some_and(|language| c.contains(&language))
}

/// The sections of `file`, by the names that `name` gives them. Those that
/// say nothing about functions and lines stay empty: they may be compressed,
/// and large.
pub(crate) fn load<'a>(
    file: &elf::File<'a>,
    name: impl Fn(SectionId) -> Option<&'static str>,
    arena: &'a Arena,
) -> gimli::Dwarf<Reader<'a>> {
    let Ok(sections) =
        gimli::Dwarf::load(|id| Ok::<_, Infallible>(section(file, id, &name, arena)));
    sections
}

/// One section of `file`.
pub(crate) fn section<'a>(
    file: &elf::File<'a>,
    id: SectionId,
    name: impl Fn(SectionId) -> Option<&'static str>,
    arena: &'a Arena,
) -> Reader<'a> {
    let unused = matches!(
        id,
        SectionId::DebugLoc
            | SectionId::DebugLocLists
            | SectionId::DebugMacinfo
            | SectionId::DebugMacro
            | SectionId::DebugNames
            | SectionId::DebugTypes
    );
    let data = match name(id) {
        Some(name) if !unused => elf::section(file, name, arena),
        _ => &[],
    };
    EndianSlice::new(data, endian(file))
}

/// The byte order of `file`.
pub(crate) fn endian(file: &elf::File<'_>) -> RunTimeEndian {
    match file.is_little_endian() {
        true => RunTimeEndian::Little,
        false => RunTimeEndian::Big,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_may_be_of_another_function() {
        assert!(could_mangle("_ZN2nsL3runEi", "run"));
        assert!(could_mangle("_ZN12_GLOBAL__N_13runIiEEvT_", "run<int>"));
        assert!(could_mangle("_ZN12_GLOBAL__N_13BoxD2Ev", "~Box"));
        assert!(could_mangle(
            "_ZN12_GLOBAL__N_1eqERKNS_3BoxES2_",
            "operator=="
        ));
        assert!(!could_mangle("_ZN2nsL4walkEi", "run"));
    }
}
