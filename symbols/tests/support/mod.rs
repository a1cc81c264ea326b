//! Real programs, built by the compilers of the machine.

#![allow(dead_code)]

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use racehound_symbols::{Frame, Symbolizer};
use tempfile::TempDir;

pub(crate) const WORK: &str = include_str!("../programs/work.c");
pub(crate) const SHAPES: &str = include_str!("../programs/shapes.cpp");
pub(crate) const TALLY: &str = include_str!("../programs/tally.rs");
pub(crate) const WORDS: &str = include_str!("../programs/words.cpp");

/// A directory to build in. Compilers run there, with relative paths.
pub(crate) struct Workshop {
    directory: TempDir,
}

impl Workshop {
    /// An empty workshop.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { directory }
    }

    /// A workshop with the C program, built by `cc` with these options.
    pub(crate) fn with_work(options: &str) -> Self {
        Self::with_source("cc", options, WORK)
    }

    /// A workshop with a C program. It is compiled and linked separately: that
    /// makes simpler names for what the compiler writes on the side.
    pub(crate) fn with_source(compiler: &str, options: &str, source: &str) -> Self {
        let shop = Self::new();
        shop.write("work.c", source);
        shop.run(&format!("{compiler} {options} -c work.c"));
        shop.run(&format!("{compiler} {options} work.o -o work"));
        shop
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        let to = self.path(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::rename(self.path(from), to).unwrap();
    }

    /// Runs a command, which must succeed.
    pub(crate) fn run(&self, command: &str) -> String {
        let output = self.output(command).expect(command);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}\n{errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a command that this machine may not have, or not in a version that
    /// can do what is asked. Says whether it worked.
    pub(crate) fn try_run(&self, command: &str) -> bool {
        let worked = self
            .output(command)
            .is_some_and(|output| output.status.success());
        if !worked {
            eprintln!("skipped, for this does not work here: {command}");
        }
        worked
    }

    fn output(&self, command: &str) -> Option<Output> {
        let mut words = command.split_whitespace();
        let mut command = Command::new(words.next()?);
        command.args(words).current_dir(self.root());
        command.output().ok()
    }

    /// The addresses of a symbol, by its mangled name.
    pub(crate) fn addresses(&self, module: &str, symbol: &str) -> Range<u64> {
        let [addresses] = self.all_addresses(module, [symbol]);
        addresses
    }

    /// The addresses of each symbol.
    pub(crate) fn all_addresses<const N: usize>(
        &self,
        module: &str,
        symbols: [&str; N],
    ) -> [Range<u64>; N] {
        let table = self.symbols(module);
        symbols.map(|symbol| {
            let mut found = table.iter().filter(|(name, ..)| name == symbol);
            found
                .next()
                .unwrap_or_else(|| panic!("no {symbol}"))
                .2
                .clone()
        })
    }

    /// The symbols that have a size: name, type as `nm` gives it, addresses.
    pub(crate) fn symbols(&self, module: &str) -> Vec<(String, char, Range<u64>)> {
        let listing = self.run(&format!("nm -S {module}"));
        let symbols = listing.lines().filter_map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            let &[start, size, kind, name] = &words[..] else {
                return None;
            };
            let hex = |text| u64::from_str_radix(text, 16).unwrap();
            let addresses = hex(start)..hex(start) + hex(size);
            Some((name.to_owned(), kind.chars().next()?, addresses))
        });
        symbols.collect()
    }
}

/// The line of a source text that ends in the comment `mark`.
pub(crate) fn line(source: &str, mark: &str) -> u32 {
    let comments = [format!("/* {mark} */"), format!("// {mark}")];
    let marked = |line: &str| comments.iter().any(|comment| line.ends_with(comment));
    1 + source.lines().position(marked).unwrap() as u32
}

/// Function, file and line of each frame.
pub(crate) fn stack(frames: &[Frame]) -> Vec<(String, String, u32)> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let place = |frame: &Frame| (text(&frame.function), text(&frame.file), frame.line);
    frames.iter().map(place).collect()
}

/// Asserts that one of the addresses has these frames. Each is a function and
/// the mark of its line, innermost first.
#[track_caller]
pub(crate) fn assert_frames(
    symbolizer: &mut Symbolizer,
    module: &Path,
    addresses: Range<u64>,
    (file, source): (&Path, &str),
    expected: &[(&str, &str)],
) {
    let file = file.to_str().unwrap();
    let expected = expected.iter().map(|(function, mark)| {
        let line = line(source, mark);
        ((*function).to_owned(), file.to_owned(), line)
    });
    let expected: Vec<_> = expected.collect();
    let mut seen = Vec::new();
    for address in addresses {
        let frames = symbolizer.frames(module, address);
        let found = stack(&frames);
        if found == expected {
            let (outermost, inlined) = frames.split_last().unwrap();
            assert!(!outermost.inlined && inlined.iter().all(|frame| frame.inlined));
            assert!(frames.iter().all(|frame| frame.column > 0));
            return;
        }
        if !seen.contains(&found) {
            seen.push(found);
        }
    }
    panic!("expected {expected:#?}\nbut saw {seen:#?}");
}
