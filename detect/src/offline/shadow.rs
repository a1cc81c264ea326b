//! Where the variable cells are.
//!
//! Named variables are an array. Bytes are finer than anybody needs most of the
//! time: memory is tracked in granules of eight, a granule starts with one cell
//! for the bytes that are accessed together, and a cell is split when an access
//! touches only part of them. Splitting copies the state, so every byte has
//! exactly the state it would have with a cell of its own.

use std::collections::{BTreeMap, VecDeque};

use racehound_trace::Loc;
use rustc_hash::FxHashMap;

/// One variable, or some bytes of a granule with a common history.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell<V> {
    pub(super) var: V,
    /// Which bytes of the granule; unused for named variables.
    bytes: u8,
    /// Reported and done with.
    pub(super) done: bool,
}

/// Cells of named variables, aligned to cache lines: the state of FastTrack and
/// AccuLock fits one, and reaching across two would cost as much again.
pub(super) struct Named<V> {
    cells: Vec<Line<V>>,
}

#[derive(Default)]
#[repr(align(64))]
struct Line<V>(Cell<V>);

impl<V: Default + Clone> Named<V> {
    pub(super) fn new() -> Self {
        Self { cells: Vec::new() }
    }

    #[inline]
    pub(super) fn cell(&mut self, loc: Loc) -> &mut Cell<V> {
        let index = loc.0 as usize;
        if index >= self.cells.len() {
            self.grow(index);
        }
        &mut self.cells[index].0
    }

    /// Whether the cells are too many for a second-level cache. As long as they
    /// are not, looking ahead costs more than it gains: what kind of event comes
    /// is hard to predict.
    pub(super) fn exceeds_cache(&self) -> bool {
        size_of_val(&self.cells[..]) > 512 * 1024
    }

    /// The cell, if there is one already.
    #[inline]
    pub(super) fn peek(&self, loc: Loc) -> Option<&Cell<V>> {
        self.cells.get(loc.0 as usize).map(|line| &line.0)
    }

    #[cold]
    fn grow(&mut self, index: usize) {
        self.cells.resize_with(index + 1, Line::default);
    }

    pub(super) fn forget(&mut self, loc: Loc) {
        *self.cell(loc) = Cell::default();
    }
}

const GRANULE: u64 = 8;
const GRANULES: usize = 64;
/// Bytes of memory that one page of cells stands for.
pub(super) const PAGE: u64 = GRANULE * GRANULES as u64;

/// Freed blocks that are remembered, to tell who freed what is used again.
const GRAVES: usize = 65_536;

#[derive(Clone)]
struct Granule<V> {
    first: Option<Cell<V>>,
    /// More cells, once the granule was split. The box keeps granules small.
    #[allow(clippy::box_collection)]
    rest: Option<Box<Vec<Cell<V>>>>,
}

impl<V> Default for Granule<V> {
    fn default() -> Self {
        Self {
            first: None,
            rest: None,
        }
    }
}

/// The cells of a page. Memory that is copied or cleared in large pieces has one
/// history for whole pages, and needs no more than one cell for each.
#[derive(Clone, Default)]
enum Page<V> {
    #[default]
    Empty,
    Whole(Cell<V>),
    Parts(Box<[Granule<V>; GRANULES]>),
}

impl<V: Clone> Page<V> {
    /// The page by granules.
    #[inline]
    fn parts(&mut self) -> &mut [Granule<V>; GRANULES] {
        if !matches!(self, Self::Parts(_)) {
            self.take_apart();
        }
        match self {
            Self::Parts(parts) => parts,
            Self::Empty | Self::Whole(_) => unreachable!("it was just taken apart"),
        }
    }

    #[cold]
    fn take_apart(&mut self) {
        let first = match std::mem::take(self) {
            Self::Whole(cell) => Some(Cell {
                bytes: 0xff,
                ..cell
            }),
            Self::Empty | Self::Parts(_) => None,
        };
        let granule = |_| Granule {
            first: first.clone(),
            rest: None,
        };
        *self = Self::Parts(Box::new(std::array::from_fn(granule)));
    }
}

/// Cells of addressed memory.
pub(super) struct Memory<V> {
    pages: FxHashMap<u64, usize>,
    arena: Vec<Page<V>>,
    free: Vec<usize>,
    last: Option<(u64, usize)>,
    /// Freed blocks: start to end and the state that freeing left.
    graves: BTreeMap<u64, Grave<V>>,
    /// Which grave came when; those that are gone or were dug again differ in
    /// their number.
    burials: VecDeque<(u64, u64)>,
    buried: u64,
}

/// A freed block.
#[derive(Clone)]
struct Grave<V> {
    end: u64,
    /// The state that freeing left.
    var: V,
    number: u64,
}

/// A piece of an access that lies within one granule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// First byte of the granule.
    granule: u64,
    /// Bytes of the granule that are accessed, lowest first.
    bytes: u8,
}

/// Cuts an access into pieces. Works by the granules' numbers: the address
/// behind the last one may not exist.
fn pieces(loc: Loc, size: u32) -> impl Iterator<Item = Piece> {
    let (start, last) = (loc.0, last_byte(loc, size));
    let first = start / GRANULE;
    let count = match size {
        0 => 0,
        _ => last / GRANULE - first + 1,
    };
    (first..first + count).map(move |number| {
        let granule = number * GRANULE;
        let from = start.saturating_sub(granule);
        let to = (last - granule).min(GRANULE - 1) + 1;
        let bytes = ((1u16 << to) - (1u16 << from)) as u8;
        Piece { granule, bytes }
    })
}

/// The last byte of a range that is not empty.
fn last_byte(loc: Loc, size: u32) -> u64 {
    loc.0.saturating_add(u64::from(size).saturating_sub(1))
}

/// The part of a range that lies in a page, if any.
fn within(page: u64, loc: Loc, size: u32) -> (Loc, u32) {
    let (start, last) = (
        loc.0.max(page * PAGE),
        last_byte(loc, size).min(page * PAGE + (PAGE - 1)),
    );
    match size > 0 && start <= last {
        true => (Loc(start), (last - start + 1) as u32),
        false => (loc, 0),
    }
}

impl Piece {
    /// Location and size of some bytes of this granule.
    fn place(self, bytes: u8) -> (Loc, u32) {
        let first = bytes.trailing_zeros();
        let past = u8::BITS - bytes.leading_zeros();
        (Loc(self.granule + u64::from(first)), past - first)
    }
}

impl<V: Default + Clone> Memory<V> {
    pub(super) fn new() -> Self {
        Self {
            pages: FxHashMap::default(),
            arena: Vec::new(),
            free: Vec::new(),
            last: None,
            graves: BTreeMap::new(),
            burials: VecDeque::new(),
            buried: 0,
        }
    }

    fn page(&mut self, number: u64) -> usize {
        match self.last {
            Some((page, index)) if page == number => index,
            _ => {
                let Self {
                    pages, arena, free, ..
                } = self;
                let index = *pages.entry(number).or_insert_with(|| match free.pop() {
                    Some(index) => index,
                    None => {
                        arena.push(Page::Empty);
                        arena.len() - 1
                    }
                });
                self.last = Some((number, index));
                index
            }
        }
    }

    /// Calls `each` with every cell of a range and the place it covers, on those
    /// pages that are `wanted`.
    #[inline]
    pub(super) fn range(
        &mut self,
        loc: Loc,
        size: u32,
        wanted: impl Fn(u64) -> bool,
        mut each: impl FnMut((Loc, u32), &mut Cell<V>),
    ) {
        if u64::from(size) < PAGE {
            for piece in pieces(loc, size) {
                if wanted(piece.granule / PAGE) {
                    self.cells(piece, |cell, bytes| each(piece.place(bytes), cell));
                }
            }
            return;
        }
        for page in loc.0 / PAGE..=last_byte(loc, size) / PAGE {
            if !wanted(page) {
                continue;
            }
            let (start, part) = within(page, loc, size);
            if u64::from(part) == PAGE
                && let Some(cell) = self.whole(page)
            {
                each((start, part), cell);
                continue;
            }
            for piece in pieces(start, part) {
                self.cells(piece, |cell, bytes| each(piece.place(bytes), cell));
            }
        }
    }

    /// The cell of a page whose bytes have one history.
    fn whole(&mut self, page: u64) -> Option<&mut Cell<V>> {
        let index = self.page(page);
        if let Page::Empty = self.arena[index] {
            let start = page * PAGE;
            let (var, end) = self.fresh(start);
            if end - start >= PAGE {
                self.arena[index] = Page::Whole(Cell {
                    var,
                    bytes: 0xff,
                    done: false,
                });
            }
        }
        match &mut self.arena[index] {
            Page::Whole(cell) => Some(cell),
            Page::Empty | Page::Parts(_) => None,
        }
    }

    /// Calls `each` with every cell that the piece consists of, and the bytes
    /// it covers, after splitting what it covers only in part.
    #[inline]
    fn cells(&mut self, piece: Piece, mut each: impl FnMut(&mut Cell<V>, u8)) {
        let index = self.page(piece.granule / PAGE);
        let granule = (piece.granule / GRANULE) as usize % GRANULES;
        if let Some(cell) = &mut self.arena[index].parts()[granule].first
            && cell.bytes == piece.bytes
        {
            return each(cell, piece.bytes);
        }
        self.split(index, granule, piece);
        let Granule { first, rest } = &mut self.arena[index].parts()[granule];
        let rest = rest.iter_mut().flat_map(|rest| rest.iter_mut());
        for cell in first.iter_mut().chain(rest) {
            if cell.bytes & piece.bytes != 0 {
                each(cell, cell.bytes);
            }
        }
    }

    /// Makes the granule's cells such that each is inside the piece or outside
    /// of it, and the piece is covered.
    #[cold]
    fn split(&mut self, index: usize, granule: usize, piece: Piece) {
        let Granule { first, rest } = std::mem::take(&mut self.arena[index].parts()[granule]);
        let before: Vec<Cell<V>> = first
            .into_iter()
            .chain(rest.into_iter().flat_map(|r| *r))
            .collect();
        let mut after = Vec::with_capacity(before.len() + 1);
        let mut missing = piece.bytes;
        for cell in before {
            missing &= !cell.bytes;
            for bytes in [cell.bytes & piece.bytes, cell.bytes & !piece.bytes] {
                if bytes != 0 {
                    after.push(Cell {
                        bytes,
                        ..cell.clone()
                    });
                }
            }
        }
        // Bytes seen for the first time: one cell for those alike.
        while missing != 0 {
            let (place, _) = piece.place(missing);
            let (var, end) = self.fresh(place.0);
            let length = (end - place.0).min(GRANULE) as u32;
            let window = (((1u16 << length) - 1) << (place.0 - piece.granule)) as u8;
            after.push(Cell {
                var,
                bytes: missing & window,
                done: false,
            });
            missing &= !window;
        }
        // Bytes in address order: warnings name the lowest first.
        after.sort_by_key(|cell| cell.bytes.trailing_zeros());
        let mut after = after.into_iter();
        let first = after.next();
        let rest: Vec<_> = after.collect();
        self.arena[index].parts()[granule] = Granule {
            first,
            rest: (!rest.is_empty()).then(|| Box::new(rest)),
        };
    }

    /// The state of memory never seen, and where such memory ends.
    fn fresh(&self, at: u64) -> (V, u64) {
        if let Some((_, grave)) = self.graves.range(..=at).next_back()
            && at < grave.end
        {
            return (grave.var.clone(), grave.end);
        }
        let next = self.graves.range(at + 1..).next();
        (V::default(), next.map_or(u64::MAX, |(start, _)| *start))
    }

    /// The bytes of a granule that have cells.
    fn covered(&self, piece: Piece) -> u8 {
        let Some(&index) = self.pages.get(&(piece.granule / PAGE)) else {
            return 0;
        };
        let parts = match &self.arena[index] {
            Page::Empty => return 0,
            Page::Whole(_) => return piece.bytes,
            Page::Parts(parts) => parts,
        };
        let Granule { first, rest } = &parts[(piece.granule / GRANULE) as usize % GRANULES];
        let rest = rest.iter().flat_map(|rest| rest.iter());
        first
            .iter()
            .chain(rest)
            .fold(0, |all, cell| all | cell.bytes)
            & piece.bytes
    }

    /// Calls `each` with everything that is known of a range: its cells, after
    /// splitting those at its ends, and what freeing left where no cell is, page
    /// by page.
    pub(super) fn existing(
        &mut self,
        loc: Loc,
        size: u32,
        mut each: impl FnMut(Loc, u32, &mut Cell<V>),
    ) {
        for page in self.pages_of(loc, size) {
            let (start, part) = within(page, loc, size);
            let index = self.pages[&page];
            if let Page::Whole(cell) = &mut self.arena[index]
                && u64::from(part) == PAGE
            {
                each(start, part, cell);
                continue;
            }
            for piece in pieces(start, part) {
                let bytes = self.covered(piece);
                if bytes != 0 {
                    let piece = Piece { bytes, ..piece };
                    self.cells(piece, |cell, bytes| {
                        let (loc, size) = piece.place(bytes);
                        each(loc, size, cell);
                    });
                }
            }
        }
        for (start, end, var) in self.graves_in(loc.0, loc.0.saturating_add(u64::from(size))) {
            let (grave, size) = (Loc(start), (end - start) as u32);
            for page in start / PAGE..=last_byte(grave, size) / PAGE {
                let (part, size) = within(page, grave, size);
                if pieces(part, size).any(|piece| self.covered(piece) != piece.bytes) {
                    let mut cell = Cell {
                        var: var.clone(),
                        bytes: 0,
                        done: false,
                    };
                    each(part, size, &mut cell);
                }
            }
        }
    }

    /// The parts of freed blocks within a range.
    fn graves_in(&self, start: u64, end: u64) -> Vec<(u64, u64, V)> {
        let before = self.graves.range(..start).next_back();
        let within = self.graves.range(start..end);
        before
            .into_iter()
            .chain(within)
            .map(|(from, grave)| (start.max(*from), end.min(grave.end), &grave.var))
            .filter(|(from, to, _)| from < to)
            .map(|(from, to, var)| (from, to, var.clone()))
            .collect()
    }

    fn pages_of(&self, loc: Loc, size: u32) -> Vec<u64> {
        if size == 0 {
            return Vec::new();
        }
        let numbers = loc.0 / PAGE..=last_byte(loc, size) / PAGE;
        if (numbers.end() - numbers.start()) < self.pages.len() as u64 {
            numbers
                .filter(|page| self.pages.contains_key(page))
                .collect()
        } else {
            let there = self.pages.keys().copied();
            let mut pages: Vec<u64> = there.filter(|page| numbers.contains(page)).collect();
            pages.sort_unstable();
            pages
        }
    }

    /// Forgets all about a range.
    pub(super) fn forget(&mut self, loc: Loc, size: u32) {
        self.exhume(loc.0, loc.0.saturating_add(u64::from(size)));
        for page in self.pages_of(loc, size) {
            let index = self.pages[&page];
            let (start, part) = within(page, loc, size);
            if u64::from(part) == PAGE {
                self.drop_page(page, index);
                continue;
            }
            for piece in pieces(start, part) {
                let granule = (piece.granule / GRANULE) as usize % GRANULES;
                let there = std::mem::take(&mut self.arena[index].parts()[granule]);
                let rest = there.rest.into_iter().flat_map(|rest| *rest);
                let mut left = there.first.into_iter().chain(rest).filter_map(|mut cell| {
                    cell.bytes &= !piece.bytes;
                    (cell.bytes != 0).then_some(cell)
                });
                let first = left.next();
                let rest: Vec<_> = left.collect();
                self.arena[index].parts()[granule] = Granule {
                    first,
                    rest: (!rest.is_empty()).then(|| Box::new(rest)),
                };
            }
            let parts = self.arena[index].parts();
            if parts.iter().all(|granule| granule.first.is_none()) {
                self.drop_page(page, index);
            }
        }
    }

    fn drop_page(&mut self, page: u64, index: usize) {
        self.arena[index] = Page::Empty;
        self.pages.remove(&page);
        self.free.push(index);
        self.last = None;
    }

    /// Forgets a range but for the state that freeing it left.
    pub(super) fn bury(&mut self, loc: Loc, size: u32, var: V) {
        self.forget(loc, size);
        if size > 0 {
            self.dig(loc.0, loc.0.saturating_add(u64::from(size)), var);
        }
    }

    fn dig(&mut self, start: u64, end: u64, var: V) {
        let number = self.buried;
        self.buried += 1;
        self.graves.insert(start, Grave { end, var, number });
        self.burials.push_back((start, number));
        if self.burials.len() > GRAVES
            && let Some((oldest, number)) = self.burials.pop_front()
            && self.graves.get(&oldest).is_some_and(|g| g.number == number)
        {
            self.graves.remove(&oldest);
        }
    }

    /// Removes graves from a range, leaving what reaches beyond it.
    fn exhume(&mut self, start: u64, end: u64) {
        if self.graves.is_empty() {
            return;
        }
        let before = self.graves.range(..start).next_back();
        let within = self.graves.range(start..end);
        let starts: Vec<u64> = before
            .into_iter()
            .chain(within)
            .map(|(at, _)| *at)
            .collect();
        for grave in starts {
            let Some(Grave { end: past, var, .. }) = self.graves.remove(&grave) else {
                continue;
            };
            if past > end {
                self.dig(end, past, var.clone());
            }
            if grave < start {
                self.dig(grave, start.min(past), var);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn accesses_are_cut_at_granules() {
        let cut = |at, size| {
            pieces(Loc(at), size)
                .map(|p| (p.granule, p.bytes))
                .collect::<Vec<_>>()
        };
        assert_eq!(cut(16, 8), [(16, 0xff)]);
        assert_eq!(cut(18, 2), [(16, 0b1100)]);
        assert_eq!(cut(14, 4), [(8, 0b1100_0000), (16, 0b11)]);
        assert_eq!(cut(7, 18), [(0, 0x80), (8, 0xff), (16, 0xff), (24, 1)]);
        assert_eq!(cut(5, 0), []);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Touch(u64, u32),
        Forget(u64, u32),
        Free(u64, u32),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let place = || (0u64..1100, 0u32..40);
        prop::collection::vec(
            prop_oneof![
                4 => place().prop_map(|(at, size)| Step::Touch(at, size)),
                2 => (0u64..600, 400u32..1300).prop_map(|(at, size)| Step::Touch(at, size)),
                1 => (0u64..1100, 0u32..700).prop_map(|(at, size)| Step::Forget(at, size)),
                1 => place().prop_map(|(at, size)| Step::Free(at, size)),
            ],
            0..60,
        )
    }

    proptest! {
        /// The state is the list of accesses a byte has seen; a cell for every
        /// byte is the model.
        #[test]
        fn every_byte_has_the_state_of_its_own(steps in steps()) {
            let mut memory: Memory<Vec<usize>> = Memory::new();
            let mut model = vec![Vec::new(); 2048];
            let mut buried = vec![None; 2048];
            for (i, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Touch(at, size) => {
                        memory.range(Loc(at), size, |_| true, |_, cell| cell.var.push(i));
                        for byte in at as usize..at as usize + size as usize {
                            if model[byte].is_empty() {
                                model[byte].extend(buried[byte]);
                            }
                            model[byte].push(i);
                        }
                    }
                    Step::Forget(at, size) => {
                        memory.forget(Loc(at), size);
                        for byte in at as usize..at as usize + size as usize {
                            model[byte].clear();
                            buried[byte] = None;
                        }
                    }
                    Step::Free(at, size) => {
                        memory.bury(Loc(at), size, vec![i]);
                        for byte in at as usize..at as usize + size as usize {
                            model[byte].clear();
                            buried[byte] = Some(i);
                        }
                    }
                }
            }
            let mut seen = vec![Vec::new(); 2048];
            memory.existing(Loc(0), 2048, |loc, size, cell| {
                if cell.bytes == 0 {
                    return; // A freed block that nobody touched since.
                }
                for byte in loc.0..loc.0 + u64::from(size) {
                    if cell.bytes & 1 << (byte % 8) != 0 {
                        seen[byte as usize] = cell.var.clone();
                    }
                }
            });
            prop_assert_eq!(seen, model);
        }
    }
}
