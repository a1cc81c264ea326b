//! A module: its file, and what has been parsed of it so far.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use self_cell::self_cell;

use crate::arena::Arena;
use crate::demangle::demangle;
use crate::dwarf::{self, Dwarf};
use crate::elements::Elements;
use crate::table::{Kind, Symbol, Symbols};
use crate::{Element, Frame, Variable, build_id, elf, separate};

self_cell!(
    /// An open module. What is parsed borrows from the files in the arena.
    pub(crate) struct Module {
        owner: Arena,
        #[not_covariant]
        dependent: Parsed,
    }
);

/// The parts of a module, each parsed when it is first needed.
pub(crate) struct Parsed<'a> {
    path: PathBuf,
    file: elf::File<'a>,
    debug_root: PathBuf,
    debug_file: OnceCell<Option<(PathBuf, elf::File<'a>)>>,
    dwarf: OnceCell<Option<Dwarf<'a>>>,
    elements: OnceCell<Option<Elements<'a>>>,
    /// Where the variables of a name start.
    starts: OnceCell<HashMap<String, Vec<u64>>>,
    functions: Symbols<'a>,
    variables: Symbols<'a>,
    arena: &'a Arena,
}

impl Module {
    /// Opens the module at `path`, if that is an ELF file. Separate debug files
    /// are looked for under `debug_root`.
    pub(crate) fn open(path: &Path, debug_root: &Path) -> Option<Self> {
        let parsed = Self::try_new(Arena::default(), |arena| {
            let file = arena.map(path).and_then(elf::parse).ok_or(())?;
            Ok::<_, ()>(Parsed {
                path: path.to_owned(),
                file,
                debug_root: debug_root.to_owned(),
                debug_file: OnceCell::new(),
                dwarf: OnceCell::new(),
                elements: OnceCell::new(),
                starts: OnceCell::new(),
                functions: Symbols::new(Kind::Functions),
                variables: Symbols::new(Kind::Variables),
                arena,
            })
        });
        parsed.ok()
    }

    /// Whether the file has this build id.
    pub(crate) fn has_build_id(&self, id: &[u8]) -> bool {
        self.with_dependent(|_, parsed| build_id::of(&parsed.file) == Some(id))
    }

    /// The functions active at the address, innermost first.
    pub(crate) fn frames(&self, address: u64) -> Vec<Frame> {
        self.with_dependent(|_, parsed| parsed.frames(address, parsed.dwarf()))
    }

    /// The same, as far as the module itself knows.
    pub(crate) fn frames_at_hand(&self, address: u64) -> Vec<Frame> {
        self.with_dependent(|_, parsed| {
            let own = elf::has_dwarf(&parsed.file);
            parsed.frames(address, own.then(|| parsed.dwarf()).flatten())
        })
    }

    /// The line at the address, in no function's name.
    pub(crate) fn line(&self, address: u64) -> Option<Frame> {
        self.with_dependent(|_, parsed| parsed.dwarf()?.line(address))
    }

    /// The same, as far as the module itself knows.
    pub(crate) fn line_at_hand(&self, address: u64) -> Option<Frame> {
        self.with_dependent(|_, parsed| match elf::has_dwarf(&parsed.file) {
            true => parsed.dwarf()?.line(address),
            false => None,
        })
    }

    /// The function that holds the address, by its symbol.
    pub(crate) fn function(&self, address: u64) -> Option<String> {
        self.with_dependent(|_, parsed| {
            let symbol = parsed.find(&parsed.functions, address)?;
            Some(demangle(&symbol.name()))
        })
    }

    /// What tells that function from all others of the module.
    pub(crate) fn function_identity(&self, address: u64) -> Option<String> {
        self.with_dependent(|_, parsed| {
            let symbol = parsed.find(&parsed.functions, address)?;
            let name = symbol.name();
            let debug_file = || Some(parsed.debug_file()?.1);
            let functions = &parsed.functions;
            Some(
                match functions.namesakes_before(&parsed.file, debug_file, &symbol) {
                    0 => name.into_owned(),
                    earlier => format!("{name}#{earlier}"),
                },
            )
        })
    }

    /// The variable that holds the address.
    pub(crate) fn variable(&self, address: u64) -> Option<Variable> {
        self.with_dependent(|_, parsed| parsed.variable(address))
    }

    /// The element so far into the variable of this name.
    pub(crate) fn element(&self, variable: &str, offset: u64) -> Option<Element> {
        self.with_dependent(|_, parsed| parsed.element(variable, offset))
    }
}

impl<'a> Parsed<'a> {
    fn frames(&self, address: u64, dwarf: Option<&Dwarf<'a>>) -> Vec<Frame> {
        let symbol = || Some(self.find(&self.functions, address)?.name().into_owned());
        let mut frames = match dwarf {
            Some(dwarf) => dwarf.frames(address, symbol),
            None => Vec::new(),
        };
        let named = |frame: &Frame| !frame.inlined && frame.function.is_some();
        if frames.last().is_some_and(named) {
            return frames;
        }
        if let Some(symbol) = symbol() {
            // The function that all others were inlined into has a symbol.
            if frames.last().is_none_or(|frame| frame.inlined) {
                frames.push(Frame::default());
            }
            if let Some(outermost) = frames.last_mut() {
                outermost.function = Some(demangle(&symbol));
            }
        }
        frames
    }

    fn variable(&self, address: u64) -> Option<Variable> {
        let symbol = self.find(&self.variables, address)?;
        let name = demangle(&symbol.name());
        let (start, size) = (symbol.start, symbol.end - symbol.start);
        Some(Variable { name, start, size })
    }

    fn element(&self, variable: &str, offset: u64) -> Option<Element> {
        let starts = self.starts.get_or_init(|| {
            let mut starts: HashMap<String, Vec<u64>> = HashMap::new();
            for symbol in self
                .variables
                .all(&self.file, || Some(self.debug_file()?.1))
            {
                let known = starts.entry(demangle(&symbol.name())).or_default();
                known.push(symbol.start);
            }
            starts
        });
        let parse = || {
            let (path, file) = self.with_dwarf()?;
            Elements::new(dwarf::sections(path, file, &self.debug_root, self.arena))
        };
        let elements = self.elements.get_or_init(parse).as_ref()?;
        let mut found = starts.get(variable)?.iter();
        let first = elements.find(*found.next()?, offset)?;
        // Namesakes may be declared alike.
        let agrees = |&start: &u64| elements.find(start, offset).as_ref() == Some(&first);
        found.all(agrees).then_some(first)
    }

    fn dwarf(&self) -> Option<&Dwarf<'a>> {
        let parse = || {
            let (path, file) = self.with_dwarf()?;
            Dwarf::new(path, file, &self.debug_root, self.arena)
        };
        self.dwarf.get_or_init(parse).as_ref()
    }

    /// The file that has the debug information.
    fn with_dwarf(&self) -> Option<(&PathBuf, &elf::File<'a>)> {
        match elf::has_dwarf(&self.file) {
            true => Some((&self.path, &self.file)),
            false => self.debug_file(),
        }
    }

    fn find(&self, symbols: &Symbols<'a>, address: u64) -> Option<Symbol<'a>> {
        symbols.find(&self.file, || Some(self.debug_file()?.1), address)
    }

    fn debug_file(&self) -> Option<(&PathBuf, &elf::File<'a>)> {
        let find = || separate::debug_file(&self.path, &self.file, &self.debug_root, self.arena);
        let found = self.debug_file.get_or_init(find).as_ref()?;
        Some((&found.0, &found.1))
    }
}
