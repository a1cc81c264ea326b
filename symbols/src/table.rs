//! Symbol tables: which symbol covers an address.
//!
//! Symbols may overlap: aliases, a variable that is part of another. The one
//! that starts last wins, then the shortest, then the most visible. Functions
//! written in assembly often have no size; such a label lasts until something
//! else starts or its section ends, and gives way to symbols that know better.

use std::borrow::Cow;
use std::cmp::Reverse;

use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, SectionKind, SymbolKind, SymbolTable,
};

use crate::elf;

/// What the symbols of a table name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Functions,
    Variables,
}

/// A symbol and the addresses that it covers, from `start` to before `end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Symbol<'a> {
    name: &'a [u8],
    pub(crate) start: u64,
    pub(crate) end: u64,
    visibility: Visibility,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Visibility {
    Local,
    Weak,
    Global,
}

impl<'a> Symbol<'a> {
    /// The name, without the version that linkers append to some.
    pub(crate) fn name(&self) -> Cow<'a, str> {
        let version = self.name.iter().skip(1).position(|&b| b == b'@');
        let length = version.map_or(self.name.len(), |position| position + 1);
        String::from_utf8_lossy(&self.name[..length])
    }

    fn order(&self) -> (u64, Reverse<u64>, Visibility) {
        (self.start, Reverse(self.end), self.visibility)
    }
}

/// The symbols of one kind, by address.
#[derive(Debug, Default)]
pub(crate) struct Table<'a> {
    /// Of the symbols that cover an address, the best comes last.
    symbols: Vec<Symbol<'a>>,
    /// For each symbol, the highest end among it and those before it: it tells
    /// a search how far back to look.
    reach: Vec<u64>,
    /// Symbols without a size; their `end` is that of the section.
    labels: Vec<Symbol<'a>>,
}

impl<'a> Table<'a> {
    /// The best table there is: the full one of the module or of its debug
    /// file, else the module's table for dynamic linking.
    pub(crate) fn new<'f>(
        kind: Kind,
        module: &'f elf::File<'a>,
        debug_file: impl FnOnce() -> Option<&'f elf::File<'a>>,
    ) -> Self {
        let full = |file: &elf::File<'a>| Self::read(kind, file, file.symbol_table()?);
        let dynamic = |file: &elf::File<'a>| Self::read(kind, file, file.dynamic_symbol_table()?);
        full(module)
            .or_else(|| full(debug_file()?))
            .or_else(|| dynamic(module))
            .unwrap_or_default()
    }

    /// The symbols of the wanted kind, if there are any.
    fn read<'f>(kind: Kind, file: &'f elf::File<'a>, symbols: SymbolTable<'a, 'f>) -> Option<Self> {
        let mut table = Self::default();
        for symbol in symbols.symbols() {
            let Some(section) = symbol.section_index() else {
                continue;
            };
            let Some(name) = symbol.name_bytes().ok().filter(|name| !name.is_empty()) else {
                continue;
            };
            let start = symbol.address();
            let size = symbol.size();
            let visibility = match () {
                () if symbol.is_weak() => Visibility::Weak,
                () if symbol.is_global() => Visibility::Global,
                () => Visibility::Local,
            };
            let symbol_of = |end| Symbol {
                name,
                start,
                end,
                visibility,
            };
            match (kind, symbol.kind(), size) {
                (Kind::Functions, SymbolKind::Text | SymbolKind::Unknown, 0) => {
                    let section = file.section_by_index(section).ok();
                    if let Some(section) = section.filter(|s| s.kind() == SectionKind::Text) {
                        let end = section.address().saturating_add(section.size());
                        table.labels.push(symbol_of(end));
                    }
                }
                (Kind::Functions, SymbolKind::Text, _)
                | (Kind::Variables, SymbolKind::Data, 1..) => {
                    table.symbols.push(symbol_of(start.saturating_add(size)));
                }
                _ => {}
            }
        }
        table.sort();
        (!table.is_empty()).then_some(table)
    }

    fn sort(&mut self) {
        self.symbols.sort_by_key(Symbol::order);
        self.labels.sort_by_key(Symbol::order);
        let mut reach = 0;
        let ends = self.symbols.iter().map(|symbol| {
            reach = symbol.end.max(reach);
            reach
        });
        self.reach = ends.collect();
    }

    fn is_empty(&self) -> bool {
        self.symbols.is_empty() && self.labels.is_empty()
    }

    /// How many symbols before this one are called the same: local ones of other
    /// sources.
    pub(crate) fn namesakes_before(&self, symbol: &Symbol) -> usize {
        if symbol.visibility != Visibility::Local {
            return 0;
        }
        let starts_before = |other: &&Symbol| other.start < symbol.start;
        let before = self.symbols.iter().take_while(starts_before);
        before.filter(|other| other.name == symbol.name).count()
    }

    /// The symbol that covers the address.
    pub(crate) fn find(&self, address: u64) -> Option<&Symbol<'a>> {
        let earlier = started(&self.symbols, address);
        let within_reach = earlier.iter().zip(&self.reach).rev();
        let covering = within_reach
            .take_while(|(_, reach)| **reach > address)
            .find(|(symbol, _)| symbol.end > address);
        if let Some((symbol, _)) = covering {
            return Some(symbol);
        }
        let label = started(&self.labels, address).last()?;
        let ended = earlier
            .last()
            .is_some_and(|symbol| symbol.start >= label.start);
        (!ended && address < label.end).then_some(label)
    }
}

/// Those of the sorted symbols that start at the address or before.
fn started<'t, 'a>(symbols: &'t [Symbol<'a>], address: u64) -> &'t [Symbol<'a>] {
    &symbols[..symbols.partition_point(|symbol| symbol.start <= address)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: &str, start: u64, end: u64) -> Symbol<'_> {
        let visibility = Visibility::Local;
        Symbol {
            name: name.as_bytes(),
            start,
            end,
            visibility,
        }
    }

    fn table<'a>(symbols: &[Symbol<'a>], labels: &[Symbol<'a>]) -> Table<'a> {
        let (symbols, labels) = (symbols.to_vec(), labels.to_vec());
        let mut table = Table {
            symbols,
            labels,
            reach: Vec::new(),
        };
        table.sort();
        table
    }

    fn found(table: &Table<'_>, address: u64) -> Option<String> {
        table.find(address).map(|symbol| symbol.name().into_owned())
    }

    #[test]
    fn a_symbol_covers_its_addresses_and_no_other() {
        let table = table(&[symbol("b", 20, 30), symbol("a", 10, 15)], &[]);
        let names: Vec<_> = [9, 10, 14, 15, 19, 20, 29, 30]
            .map(|a| found(&table, a))
            .into();
        let expected = [
            None,
            Some("a"),
            Some("a"),
            None,
            None,
            Some("b"),
            Some("b"),
            None,
        ];
        assert_eq!(names, expected.map(|name| name.map(str::to_owned)));
    }

    #[test]
    fn the_part_wins_over_the_whole() {
        let table = table(
            &[
                symbol("whole", 0, 100),
                symbol("part", 10, 12),
                symbol("x", 20, 30),
            ],
            &[],
        );
        assert_eq!(found(&table, 11).as_deref(), Some("part"));
        assert_eq!(found(&table, 12).as_deref(), Some("whole"));
        assert_eq!(found(&table, 99).as_deref(), Some("whole"));
        assert_eq!(found(&table, 100), None);
    }

    #[test]
    fn of_aliases_the_most_visible_wins() {
        let mut global = symbol("global", 10, 20);
        global.visibility = Visibility::Global;
        let table = table(&[symbol("a", 10, 20), global, symbol("z", 10, 20)], &[]);
        assert_eq!(found(&table, 15).as_deref(), Some("global"));
    }

    #[test]
    fn a_label_lasts_until_something_else_starts() {
        let labels = [symbol("start", 10, 50), symbol("inside", 25, 50)];
        let table = table(&[symbol("sized", 20, 30)], &labels);
        let at = |address| found(&table, address);
        assert_eq!(at(9), None);
        assert_eq!(at(19).as_deref(), Some("start"));
        assert_eq!(at(26).as_deref(), Some("sized"));
        assert_eq!(at(40).as_deref(), Some("inside"));
        assert_eq!(at(50), None);
    }

    #[test]
    fn versions_are_not_part_of_the_name() {
        assert_eq!(symbol("environ@@GLIBC_2.2.5", 0, 8).name(), "environ");
        assert_eq!(symbol("@", 0, 8).name(), "@");
        assert_eq!(symbol("plain", 0, 8).name(), "plain");
    }
}
