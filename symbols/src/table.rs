//! Symbol tables: which symbol covers an address.
//!
//! To find a symbol or two, the file's own table is gone through from its beginning to its
//! end. Who looks for more gets an index, which takes as long as some such passes, much of
//! it for the memory.
//!
//! Symbols may overlap: aliases, a variable that is part of another. The one
//! that starts last wins, then the shortest, then the most visible. Functions
//! written in assembly often have no size; such a label lasts until something
//! else starts or its section ends, and gives way to symbols that know better.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::cmp::Reverse;

use crate::elf;
use crate::symtab::{self, Sort, Visibility, Which};

/// What the symbols of a table name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Functions,
    Variables,
}

impl Kind {
    fn sorts(self) -> &'static [Sort] {
        match self {
            Self::Functions => &[Sort::Function, Sort::Unknown],
            Self::Variables => &[Sort::Variable],
        }
    }
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

/// A symbol as a file lists it.
enum Listed<'a> {
    /// One that knows its end.
    Sized(Symbol<'a>),
    /// One without a size; its `end` is that of the section.
    Label(Symbol<'a>),
}

/// A table of a file.
type Source<'f, 'a> = (&'f elf::File<'a>, Which);

/// The symbols of one kind that a table lists, up to those that start at an address.
fn listed<'f, 'a>(
    kind: Kind,
    (file, which): Source<'f, 'a>,
    last: u64,
) -> impl Iterator<Item = Listed<'a>> + use<'f, 'a> {
    symtab::entries(file, which, kind.sorts(), last).filter_map(move |entry| {
        let symbol_of = |end| Symbol {
            name: entry.name,
            start: entry.start,
            end,
            visibility: entry.visibility,
        };
        match (kind, entry.sort, entry.size) {
            (Kind::Functions, Sort::Function | Sort::Unknown, 0) => {
                let end = symtab::end_of_code(file, entry.section)?;
                Some(Listed::Label(symbol_of(end)))
            }
            (Kind::Functions, Sort::Function, size)
            | (Kind::Variables, Sort::Variable, size @ 1..) => {
                let end = entry.start.saturating_add(size);
                Some(Listed::Sized(symbol_of(end)))
            }
            _ => None,
        }
    })
}

/// The symbols of one kind of a module.
#[derive(Debug)]
pub(crate) struct Symbols<'a> {
    kind: Kind,
    passes: Cell<u32>,
    index: OnceCell<Index<'a>>,
}

impl<'a> Symbols<'a> {
    /// Passes through the file's table before there is an index.
    const PASSES: u32 = 6;

    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            passes: Cell::new(0),
            index: OnceCell::new(),
        }
    }

    /// The best table there is: the full one of the module or of its debug
    /// file, else the module's table for dynamic linking.
    fn source<'f>(
        &self,
        module: &'f elf::File<'a>,
        debug_file: impl FnOnce() -> Option<&'f elf::File<'a>>,
    ) -> Option<Source<'f, 'a>> {
        let has_some = |source: &Source<'f, 'a>| {
            let mut all = listed(self.kind, *source, u64::MAX);
            all.next().is_some()
        };
        let usable = |file, which| Some((file, which)).filter(has_some);
        usable(module, Which::Full)
            .or_else(|| usable(debug_file()?, Which::Full))
            .or_else(|| usable(module, Which::Dynamic))
    }

    /// The index, if it is worth while by now.
    fn index(&self, source: Source<'_, 'a>) -> Option<&Index<'a>> {
        let passes = self.passes.get();
        self.passes.set(passes.saturating_add(1));
        (passes >= Self::PASSES).then(|| {
            let all = listed(self.kind, source, u64::MAX);
            self.index.get_or_init(|| Index::new(all))
        })
    }

    /// The symbol that covers the address.
    pub(crate) fn find<'f>(
        &self,
        module: &'f elf::File<'a>,
        debug_file: impl FnOnce() -> Option<&'f elf::File<'a>>,
        address: u64,
    ) -> Option<Symbol<'a>> {
        if let Some(index) = self.index.get() {
            return index.find(address).cloned();
        }
        let source = self.source(module, debug_file)?;
        match self.index(source) {
            Some(index) => index.find(address).cloned(),
            None => pick(listed(self.kind, source, address), address),
        }
    }

    /// Those that know their end, in the file's order.
    pub(crate) fn all<'f>(
        &self,
        module: &'f elf::File<'a>,
        debug_file: impl FnOnce() -> Option<&'f elf::File<'a>>,
    ) -> impl Iterator<Item = Symbol<'a>> {
        let source = self.source(module, debug_file).into_iter();
        let all = source.flat_map(|source| listed(self.kind, source, u64::MAX));
        all.filter_map(|listed| match listed {
            Listed::Sized(symbol) => Some(symbol),
            Listed::Label(_) => None,
        })
    }

    /// How many symbols before this one are called the same: local ones of other
    /// sources.
    pub(crate) fn namesakes_before<'f>(
        &self,
        module: &'f elf::File<'a>,
        debug_file: impl FnOnce() -> Option<&'f elf::File<'a>>,
        symbol: &Symbol,
    ) -> usize {
        if symbol.visibility != Visibility::Local {
            return 0;
        }
        let source = self.source(module, debug_file);
        let all = source.map(|source| listed(self.kind, source, symbol.start));
        namesakes(all.into_iter().flatten(), symbol)
    }
}

/// How many start before a symbol and are called the same.
fn namesakes<'a>(all: impl Iterator<Item = Listed<'a>>, symbol: &Symbol) -> usize {
    let name = symbol.full_name();
    let is_namesake = |listed: &Listed| match listed {
        Listed::Sized(other) => other.start < symbol.start && other.is_called(name),
        Listed::Label(_) => false,
    };
    all.filter(is_namesake).count()
}

/// The symbol that covers an address, among those that start there or before.
fn pick<'a>(started: impl Iterator<Item = Listed<'a>>, address: u64) -> Option<Symbol<'a>> {
    let (mut covering, mut label) = (None::<Symbol>, None::<Symbol>);
    let mut latest = None;
    for listed in started {
        let (best, symbol) = match listed {
            Listed::Sized(symbol) => {
                latest = latest.max(Some(symbol.start));
                if symbol.end <= address {
                    continue;
                }
                (&mut covering, symbol)
            }
            Listed::Label(symbol) => (&mut label, symbol),
        };
        // Of those that are alike, the last one.
        if best
            .as_ref()
            .is_none_or(|best| symbol.order() >= best.order())
        {
            *best = Some(symbol);
        }
    }
    covering.or_else(|| label.filter(|label| latest < Some(label.start) && address < label.end))
}

/// The symbols of one kind, by address.
#[derive(Debug, Default)]
struct Index<'a> {
    /// Of the symbols that cover an address, the best comes last.
    symbols: Vec<Symbol<'a>>,
    /// For each symbol, the highest end among it and those before it: it tells
    /// a search how far back to look.
    reach: Vec<u64>,
    /// Symbols without a size; their `end` is that of the section.
    labels: Vec<Symbol<'a>>,
}

impl<'a> Index<'a> {
    fn new(all: impl Iterator<Item = Listed<'a>>) -> Self {
        let mut index = Self::default();
        for listed in all {
            match listed {
                Listed::Sized(symbol) => index.symbols.push(symbol),
                Listed::Label(symbol) => index.labels.push(symbol),
            }
        }
        index.sort();
        index
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

    /// The symbol that covers the address.
    fn find(&self, address: u64) -> Option<&Symbol<'a>> {
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

    /// A table, as it is listed.
    struct Table<'a> {
        symbols: Vec<Symbol<'a>>,
        labels: Vec<Symbol<'a>>,
    }

    impl<'a> Table<'a> {
        fn listed(&self) -> impl Iterator<Item = Listed<'a>> {
            let symbols = self.symbols.iter().cloned().map(Listed::Sized);
            symbols.chain(self.labels.iter().cloned().map(Listed::Label))
        }
    }

    fn table<'a>(symbols: &[Symbol<'a>], labels: &[Symbol<'a>]) -> Table<'a> {
        let (symbols, labels) = (symbols.to_vec(), labels.to_vec());
        Table { symbols, labels }
    }

    /// What covers an address, by the index and by a pass through the table.
    fn found(table: &Table<'_>, address: u64) -> Option<String> {
        let started = table.listed().filter(|listed| match listed {
            Listed::Sized(symbol) | Listed::Label(symbol) => symbol.start <= address,
        });
        let index = Index::new(table.listed());
        let found = index.find(address);
        assert_eq!(pick(started, address).as_ref(), found, "{address}");
        found.map(|symbol| symbol.name().into_owned())
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
        let table = table(&[one, symbol("one", 30, 40)], &[symbol("one", 5, 40)]);
        assert_eq!(namesakes(table.listed(), &symbol("one\0", 30, 40)), 1);
    }

    #[test]
    fn an_index_has_what_a_pass_through_the_table_finds() {
        let mut number = 11u64;
        let mut next = move |below: u64| {
            number = number.wrapping_mul(6364136223846793005).wrapping_add(1);
            (number >> 33) % below
        };
        const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
        for _ in 0..300 {
            let mut random = |longest: u64| {
                let start = next(60);
                let end = start + next(longest);
                let name = NAMES[next(6) as usize];
                let mut symbol = symbol(name, start, end);
                if next(2) == 0 {
                    symbol.visibility = Visibility::Global;
                }
                symbol
            };
            let symbols: Vec<Symbol> = (0..12).map(|_| random(20)).collect();
            let labels: Vec<Symbol> = (0..4).map(|_| random(60)).collect();
            let table = table(&symbols, &labels);
            for address in 0..90 {
                found(&table, address);
            }
        }
    }

    #[test]
    fn versions_are_not_part_of_the_name() {
        assert_eq!(symbol("environ@@GLIBC_2.2.5", 0, 8).name(), "environ");
        assert_eq!(symbol("@", 0, 8).name(), "@");
        assert_eq!(symbol("plain", 0, 8).name(), "plain");
    }
}
