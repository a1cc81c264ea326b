//! Symbol tables: which symbol covers an address.
//!
//! Symbols may overlap: aliases, a variable that is part of another. The one
//! that starts last wins, then the shortest, then the most visible. Functions
//! written in assembly often have no size; such a label lasts until something
//! else starts or its section ends, and gives way to symbols that know better.

use std::borrow::Cow;
use std::cmp::Reverse;

use crate::elf;
use crate::symtab::{self, Sort, Visibility, Which};

/// What the symbols of a table name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Functions,
    Variables,
}

/// A symbol and the addresses that it covers, from `start` to before `end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Symbol<'a> {
    /// It ends with the first 0, if there is one.
    name: &'a [u8],
    pub(crate) start: u64,
    pub(crate) end: u64,
    visibility: Visibility,
}

impl<'a> Symbol<'a> {
    /// The name, without the version that linkers append to some.
    pub(crate) fn name(&self) -> Cow<'a, str> {
        let name = self.full_name();
        let version = name.iter().skip(1).position(|&b| b == b'@');
        let length = version.map_or(name.len(), |position| position + 1);
        String::from_utf8_lossy(&name[..length])
    }

    fn full_name(&self) -> &'a [u8] {
        let length = self.name.iter().position(|&b| b == 0);
        &self.name[..length.unwrap_or(self.name.len())]
    }

    fn is_called(&self, name: &[u8]) -> bool {
        let rest = self.name.strip_prefix(name);
        rest.is_some_and(|rest| matches!(rest, [] | [0, ..]))
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
        Self::read(kind, module, Which::Full)
            .or_else(|| Self::read(kind, debug_file()?, Which::Full))
            .or_else(|| Self::read(kind, module, Which::Dynamic))
            .unwrap_or_default()
    }

    /// The symbols of the wanted kind, if there are any.
    fn read(kind: Kind, file: &elf::File<'a>, which: Which) -> Option<Self> {
        let mut table = Self::default();
        for entry in symtab::entries(file, which)? {
            let symbol_of = |end| Symbol {
                name: entry.name,
                start: entry.start,
                end,
                visibility: entry.visibility,
            };
            match (kind, entry.sort, entry.size) {
                (Kind::Functions, Sort::Function | Sort::Unknown, 0) => {
                    let end = symtab::end_of_code(file, entry.section);
                    table.labels.extend(end.map(symbol_of));
                }
                (Kind::Functions, Sort::Function, size)
                | (Kind::Variables, Sort::Variable, size @ 1..) => {
                    let end = entry.start.saturating_add(size);
                    table.symbols.push(symbol_of(end));
                }
                _ => {}
            }
        }
        table.sort();
        (!table.is_empty()).then_some(table)
    }

    fn sort(&mut self) {
        sort(&mut self.symbols);
        sort(&mut self.labels);
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
        let name = symbol.full_name();
        before.filter(|other| other.is_called(name)).count()
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

/// Puts symbols in their order. Most start at different addresses, which are small
/// numbers: they are dealt out by some bits at a time, the lowest first.
fn sort(symbols: &mut Vec<Symbol>) {
    const BITS: u32 = 11;
    let highest = symbols.iter().map(|symbol| symbol.start).max().unwrap_or(0);
    let mut order: Vec<(u64, u32)> = (0u32..)
        .zip(symbols.iter())
        .map(|(i, symbol)| (symbol.start, i))
        .collect();
    let mut dealt = order.clone();
    for shift in (0..u64::BITS - highest.leading_zeros()).step_by(BITS as usize) {
        let pile = |start: u64| (start >> shift) as usize & ((1 << BITS) - 1);
        let mut places = vec![0; 1 << BITS];
        for (start, _) in &order {
            places[pile(*start)] += 1;
        }
        let mut next = 0;
        for place in &mut places {
            next += std::mem::replace(place, next);
        }
        for &(start, i) in &order {
            let place = &mut places[pile(start)];
            dealt[*place] = (start, i);
            *place += 1;
        }
        std::mem::swap(&mut order, &mut dealt);
    }
    *symbols = order
        .iter()
        .map(|(_, i)| symbols[*i as usize].clone())
        .collect();
    for same in symbols.chunk_by_mut(|a, b| a.start == b.start) {
        if same.len() > 1 {
            same.sort_by_key(Symbol::order);
        }
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
    fn symbols_are_sorted_as_their_order_says() {
        let mut number = 7u64;
        let mut next = move |below: u64| {
            number = number.wrapping_mul(6364136223846793005).wrapping_add(1);
            (number >> 33) % below
        };
        for range in [1, 3, 1 << 9, 1 << 24, 1 << 40] {
            let random = |_| {
                let start = next(range);
                symbol("x", start, start + next(9))
            };
            let mut symbols: Vec<Symbol> = (0..500).map(random).collect();
            symbols.push(symbol("far", u64::MAX - range, u64::MAX));
            let mut expected = symbols.clone();
            expected.sort_by_key(Symbol::order);
            sort(&mut symbols);
            assert_eq!(symbols, expected);
        }
    }

    #[test]
    fn a_name_ends_with_a_zero() {
        let mut one = symbol("one\0two\0", 10, 20);
        one.end = 15;
        assert_eq!(one.name(), "one");
        assert!(one.is_called(b"one") && !one.is_called(b"on"));
        let table = table(&[one, symbol("one", 30, 40)], &[]);
        assert_eq!(table.namesakes_before(&symbol("one\0", 30, 40)), 1);
    }

    #[test]
    fn versions_are_not_part_of_the_name() {
        assert_eq!(symbol("environ@@GLIBC_2.2.5", 0, 8).name(), "environ");
        assert_eq!(symbol("@", 0, 8).name(), "@");
        assert_eq!(symbol("plain", 0, 8).name(), "plain");
    }
}
