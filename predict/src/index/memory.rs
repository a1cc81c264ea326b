//! Locations: numbers for what is accessed.
//!
//! A *slot* is a named variable, or eight bytes at a multiple of eight, and a
//! mask says which of them. Accesses are to the same variable if slot and some
//! byte of the mask are the same, whatever their sizes are. Memory that comes
//! into being or goes gets new slots: what is at an address then is something
//! else than what was.

use racehound_trace::event::Access;
use racehound_trace::{Loc, Op, Space};
use rustc_hash::FxHashMap;

/// No slot, no group, no node.
pub(crate) const NONE: u32 = u32::MAX;

/// Slots of a page.
const PAGE: usize = 512;

/// A block larger than this is told by its beginning alone.
const LARGEST: u64 = 1 << 24;

/// Pages that are found without a look into the table.
const RECENT: usize = 64;

/// Slots by what is there now.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    space: Space,
    pages: Vec<[u32; PAGE]>,
    numbers: FxHashMap<u64, u32>,
    /// By the lower bits of a page, which one was there last, and its number.
    recent: Box<[(u64, u32); RECENT]>,
    next: u32,
}

impl Memory {
    pub(crate) fn new(space: Space) -> Self {
        Self {
            space,
            pages: Vec::new(),
            numbers: FxHashMap::default(),
            recent: Box::new([(u64::MAX, 0); RECENT]),
            next: 0,
        }
    }

    /// The words of an access, each with its bytes.
    pub(crate) fn words(&self, access: &Access) -> impl Iterator<Item = (u64, u8)> + use<> {
        let Loc(start) = access.loc;
        let (first, last, names) = match self.space {
            Space::Names => (start, start, true),
            Space::Addresses => {
                let size = u64::from(access.size).clamp(1, LARGEST);
                (start >> 3, start.saturating_add(size - 1) >> 3, false)
            }
        };
        let end = start.saturating_add(u64::from(access.size).clamp(1, LARGEST));
        (first..=last).map(move |word| {
            if names {
                return (word, 1);
            }
            let byte = |at: u64| at.saturating_sub(word << 3).min(8) as u32;
            let (from, to) = (byte(start), byte(end));
            (word, (((1u16 << to) - 1) & !((1u16 << from) - 1)) as u8)
        })
    }

    /// The slot of a word.
    pub(crate) fn slot(&mut self, word: u64) -> u32 {
        let page = word / PAGE as u64;
        let recent = &mut self.recent[(page % RECENT as u64) as usize];
        if recent.0 != page {
            let next = self.pages.len() as u32;
            let number = *self.numbers.entry(page).or_insert(next);
            if number == next {
                self.pages.push([NONE; PAGE]);
            }
            *recent = (page, number);
        }
        let slot = &mut self.pages[recent.1 as usize][(word % PAGE as u64) as usize];
        if *slot == NONE {
            *slot = self.next;
            self.next += 1;
        }
        *slot
    }

    /// Memory comes or goes: new slots for what lies within.
    pub(crate) fn renew(&mut self, op: &Op) {
        let (Op::Alloc { loc, size } | Op::Free { loc, size }) = *op else {
            return;
        };
        if self.space == Space::Names || size == 0 {
            return;
        }
        let last = loc.0.saturating_add(u64::from(size) - 1) >> 3;
        let mut word = loc.0 >> 3;
        while word <= last {
            let page = word / PAGE as u64;
            let end = (page * PAGE as u64 + PAGE as u64 - 1).min(last);
            if let Some(number) = self.numbers.get(&page) {
                let slots = &mut self.pages[*number as usize];
                let within = (word % PAGE as u64) as usize..=(end % PAGE as u64) as usize;
                slots[within].fill(NONE);
            }
            word = end + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(loc: u64, size: u32) -> Vec<(u64, u8)> {
        let read = Op::Read {
            loc: Loc(loc),
            size,
        };
        let memory = Memory::new(Space::Addresses);
        memory.words(&read.access().unwrap()).collect()
    }

    #[test]
    fn an_access_is_words_and_bytes() {
        assert_eq!(words(16, 8), [(2, 0xff)]);
        assert_eq!(words(20, 4), [(2, 0xf0)]);
        assert_eq!(words(22, 4), [(2, 0xc0), (3, 0x03)]);
        assert_eq!(words(17, 1), [(2, 0x02)]);
        assert_eq!(words(16, 24).len(), 3);
    }

    #[test]
    fn new_memory_is_something_else() {
        let mut memory = Memory::new(Space::Addresses);
        let before = [10, 11, 600].map(|word| memory.slot(word));
        let (loc, size) = (Loc(11 << 3), 8 * 600);
        memory.renew(&Op::Free { loc, size });
        let after = [10, 11, 600].map(|word| memory.slot(word));
        assert_eq!(before[0], after[0]);
        assert!(before[1] != after[1] && before[2] != after[2]);
    }
}
