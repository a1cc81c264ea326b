//! Memory that other processes have as well. Who waits for something that is there may be
//! waiting for them, of whom we know nothing.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::spin::Locked;
use crate::thread::Visit;

/// Who else may have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// It has no name: only processes that were made by copying have it.
    Family,
    Anybody,
}

/// Which part of what is mapped: in which file or segment, and where it begins in there.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) of: (u64, u64),
    pub(crate) from: usize,
}

#[derive(Clone)]
struct Mapped {
    range: Range<usize>,
    whose: Whose,
    part: Option<Part>,
}

impl Mapped {
    /// What is left of it within a range.
    fn within(&self, range: Range<usize>) -> Option<Self> {
        let range = self.range.start.max(range.start)..self.range.end.min(range.end);
        let part = self.part.map(|part| Part {
            from: part.from + range.start.saturating_sub(self.range.start),
            ..part
        });
        let whose = self.whose;
        (!range.is_empty()).then_some(Self { range, whose, part })
    }

    /// Where a place in a file is here, if it is.
    fn place_of(&self, of: (u64, u64), at: usize) -> Option<usize> {
        let part = self.part.filter(|part| part.of == of)?;
        let address = self.range.start + at.checked_sub(part.from)?;
        self.range.contains(&address).then_some(address)
    }
}

static MAPPED: Locked<Vec<Mapped>> = Locked::new(Vec::new());
static IS_THERE_ANY: AtomicBool = AtomicBool::new(false);
/// Whether some is or was at several addresses.
static IS_THERE_AGAIN: AtomicBool = AtomicBool::new(false);

/// Whether there may be some that processes have who were made by copying.
pub(crate) fn is_in_family() -> bool {
    IS_THERE_ANY.load(Ordering::Relaxed)
}

/// There is shared memory here now.
pub(crate) fn add(range: Range<usize>, whose: Whose, part: Option<Part>) {
    let mut all = MAPPED.lock();
    let of = part.map(|part| part.of);
    if of.is_some() && all.iter().any(|one| one.part.map(|part| part.of) == of) {
        IS_THERE_AGAIN.store(true, Ordering::Relaxed);
    }
    IS_THERE_ANY.store(true, Ordering::Relaxed);
    all.push(Mapped { range, whose, part });
}

/// There is something else here now, or nothing.
pub(crate) fn remove(range: &Range<usize>) {
    if !IS_THERE_ANY.load(Ordering::Relaxed) {
        return;
    }
    let left = |one: &Mapped| {
        [
            one.within(0..range.start),
            one.within(range.end..usize::MAX),
        ]
    };
    let mut all = MAPPED.lock();
    *all = all.iter().flat_map(left).flatten().collect();
}

/// Who else may have what is at an address; none if it is not shared. Not to be interrupted
/// by a signal.
#[inline]
pub(crate) fn whose(address: usize) -> Option<Whose> {
    match IS_THERE_ANY.load(Ordering::Relaxed) {
        true => look_up(address),
        false => None,
    }
}

#[cold]
fn look_up(address: usize) -> Option<Whose> {
    let all = MAPPED.lock();
    let found = all.iter().find(|one| one.range.contains(&address));
    found.map(|one| one.whose)
}

/// The address by which that is known what is at an address: a file that is mapped twice
/// is the same memory, and what orders threads by it does so whichever address they use.
#[inline]
pub(crate) fn known_as(address: usize) -> usize {
    match IS_THERE_AGAIN.load(Ordering::Relaxed) {
        true => first_of(address).unwrap_or(address),
        false => address,
    }
}

#[cold]
fn first_of(address: usize) -> Option<usize> {
    let _visit = Visit::begin();
    let all = MAPPED.lock();
    let here = all.iter().find(|one| one.range.contains(&address))?;
    let part = here.part?;
    let at = part.from + (address - here.range.start);
    all.iter().find_map(|one| one.place_of(part.of, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unmapped_in_the_middle_is_not_shared() {
        add(0x1000..0x5000, Whose::Family, None);
        remove(&(0x2000..0x3000));
        let shared = [
            0xfff, 0x1000, 0x1fff, 0x2000, 0x2fff, 0x3000, 0x4fff, 0x5000,
        ]
        .map(|address| whose(address).is_some());
        assert_eq!(shared, [false, true, true, false, false, true, true, false]);
    }

    #[test]
    fn what_is_mapped_again_is_known_by_its_first_address() {
        let part = |from| {
            let of = (1, 2);
            Some(Part { of, from })
        };
        add(0x10_0000..0x10_4000, Whose::Anybody, part(0));
        add(0x20_0000..0x20_4000, Whose::Anybody, part(0x2000));
        remove(&(0x10_2000..0x10_3000));
        let known = |address| first_of(address).unwrap_or(address);
        assert_eq!(known(0x10_0008), 0x10_0008);
        assert_eq!(known(0x20_0008), 0x20_0008, "its first address is gone");
        assert_eq!(known(0x20_1008), 0x10_3008);
        assert_eq!(known(0x20_2008), 0x20_2008);
        assert_eq!(known(0x30_0000), 0x30_0000);
    }
}
