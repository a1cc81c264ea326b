//! Sets of concurrent reads, shared by all words that were read alike.
//!
//! Threads that go through the same data leave the same reads on every word of
//! it. Such a set is made once and referred to by number from the words' read
//! halves, so data that many threads read costs no more shadow than other data.
//! Where reads keep coming in new epochs sets would be made without end; there
//! are only so many, and then a [`cell`](crate::cell) takes over, until a
//! [`sweep`](crate::sweep) finds sets that no word refers to any more.
//!
//! A set never changes. Reads that happened before a later one are left out of
//! the set that the later one leads to: whatever is unordered with them is so
//! with it.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::memory;
use crate::shadow::Half;
use crate::spin::Locked;
use crate::stamp::Stamp;
use crate::tls;

/// Reads in a set.
pub(crate) const MOST: usize = 14;
/// Sets at a time.
pub(crate) const SETS: usize = 1 << 12;
const BUCKETS: usize = 1 << 12;

#[repr(C)]
struct Set {
    len: u32,
    next: u32,
    stamps: [Stamp; MOST],
}

const _: () = assert!(size_of::<Set>() == 64);

static BASE: AtomicUsize = AtomicUsize::new(0);
static HEADS: AtomicUsize = AtomicUsize::new(0);
static TABLE: Locked<Table> = Locked::new(Table {
    used: 1,
    free: Vec::new(),
});
/// Sets that there was no room for since the last sweep.
static LACKING: AtomicU32 = AtomicU32::new(0);
/// So many are worth a sweep.
static WORTH_A_SWEEP: AtomicU32 = AtomicU32::new(LACKING_AT_FIRST);
const LACKING_AT_FIRST: u32 = 1 << 12;

/// Which numbers are taken.
struct Table {
    /// From here on none has ever been. Set 0 is that of [constants](crate::constants),
    /// and no other comes in its place in the fast paths' memory.
    used: u32,
    /// Free after use.
    free: Vec<u32>,
}

impl Table {
    fn fresh(&mut self) -> u32 {
        let number = self.used;
        self.used += 1;
        if is_reserved(self.used) {
            self.used += 1;
        }
        number
    }
}

fn is_reserved(number: u32) -> bool {
    (number as usize).is_multiple_of(tls::SETS)
}

/// Reserves room for sets.
pub(crate) fn init() {
    let sets = memory::reserve(SETS * size_of::<Set>());
    let heads = memory::reserve(BUCKETS * size_of::<u32>());
    BASE.store(sets as usize, Ordering::Relaxed);
    HEADS.store(heads as usize, Ordering::Relaxed);
}

fn set(number: u32) -> &'static Set {
    // SAFETY: a set does not change while somebody refers to it.
    unsafe { &*place(number) }
}

/// The reads of a set.
#[inline(always)]
pub(crate) fn stamps(number: u32) -> &'static [Stamp] {
    let set = set(number);
    &set.stamps[..set.len as usize]
}

/// The number of the set of these reads, which are sorted and at most
/// [`MOST`]; none if there are too many sets.
pub(crate) fn intern(stamps: &[Stamp]) -> Option<u32> {
    let mut table = TABLE.lock();
    let head = head(stamps);
    let mut at = *head;
    while at != 0 && self::stamps(at) != stamps {
        at = set(at).next;
    }
    if at == 0 {
        at = match table.free.pop() {
            Some(number) => number,
            None if (table.used as usize) < SETS => table.fresh(),
            None => {
                LACKING.fetch_add(1, Ordering::Relaxed);
                return None;
            }
        };
        let mut new = Set {
            len: stamps.len() as u32,
            next: *head,
            stamps: [Stamp::NONE; MOST],
        };
        new.stamps[..stamps.len()].copy_from_slice(stamps);
        // SAFETY: nobody knows the number yet, or any more.
        unsafe { place(at).write(new) };
        *head = at;
    }
    Some(at)
}

/// The first set in the list of those with the same hash as these reads. The
/// table is held.
#[allow(clippy::mut_from_ref)]
fn head(stamps: &[Stamp]) -> &'static mut u32 {
    let hash = stamps.iter().fold(0u32, |hash, s| {
        (hash.rotate_left(7) ^ s.0).wrapping_mul(0x9e37_79b1)
    });
    let heads = HEADS.load(Ordering::Relaxed) as *mut u32;
    // SAFETY: within the lists' heads, which the table's lock guards.
    unsafe { &mut *heads.add(hash as usize % BUCKETS) }
}

fn place(number: u32) -> *mut Set {
    let base = BASE.load(Ordering::Relaxed) as *mut Set;
    // SAFETY: numbers are below SETS.
    unsafe { base.add(number as usize) }
}

/// Whether sets are missing so badly that a sweep should look for some.
#[inline]
pub(crate) fn are_lacking() -> bool {
    LACKING.load(Ordering::Relaxed) >= WORTH_A_SWEEP.load(Ordering::Relaxed)
}

/// Takes sets back that no word refers to: `live` says which must stay.
pub(crate) fn reclaim(live: &[u64]) {
    let mut table = TABLE.lock();
    let heads = HEADS.load(Ordering::Relaxed) as *mut u8;
    // SAFETY: the lists are made anew; zeroes are empty ones.
    unsafe { memory::forget(heads, BUCKETS * size_of::<u32>()) };
    table.free.clear();
    for number in (1..table.used).rev().filter(|&n| !is_reserved(n)) {
        if live[number as usize / 64] >> (number % 64) & 1 == 0 {
            table.free.push(number);
            continue;
        }
        let head = head(stamps(number));
        // SAFETY: nobody else is in the runtime.
        unsafe { (*place(number)).next = *head };
        *head = number;
    }
    // Where most sets stay it takes more to try again.
    let worth = match table.free.len() * 4 < SETS {
        true => WORTH_A_SWEEP.load(Ordering::Relaxed).saturating_mul(2),
        false => LACKING_AT_FIRST,
    };
    WORTH_A_SWEEP.store(worth, Ordering::Relaxed);
    LACKING.store(0, Ordering::Relaxed);
}

/// Steps from one set to the next that a thread took lately.
pub(crate) struct Steps {
    recent: Box<[Step; STEPS]>,
}

#[derive(Clone, Copy, Default)]
struct Step {
    before: u32,
    stamp: Stamp,
    after: u32,
}

const STEPS: usize = 64;

impl Default for Steps {
    fn default() -> Self {
        Self {
            recent: memory::boxed(Step::default()),
        }
    }
}

impl Steps {
    /// The read half after a read at `stamp` where `before` was: of the reads
    /// before, those that are not `implied` by it stay. None if it takes a cell.
    #[inline(always)]
    pub(crate) fn step(
        &mut self,
        before: Half,
        stamp: Stamp,
        implied: impl Fn(Stamp) -> bool,
    ) -> Option<Half> {
        let slot = (before.0 >> 4 ^ stamp.0.wrapping_mul(5)) as usize % STEPS;
        let step = self.recent[slot];
        if step.before == before.0 && step.stamp == stamp {
            return Some(Half(step.after));
        }
        let after = next(before, stamp, implied)?;
        self.recent[slot] = Step {
            before: before.0,
            stamp,
            after: after.0,
        };
        Some(after)
    }

    /// Sets have new numbers.
    pub(crate) fn forget(&mut self) {
        self.recent.fill(Step::default());
    }
}

#[inline(never)]
fn next(before: Half, stamp: Stamp, implied: impl Fn(Stamp) -> bool) -> Option<Half> {
    let mut kept = [Stamp::NONE; MOST];
    let mut len = 0;
    let one = [before.stamp()];
    let reads = match before.as_set() {
        Some(number) => stamps(number),
        None => &one,
    };
    for &read in reads {
        if !implied(read) {
            kept[len] = read;
            len += 1;
        }
    }
    if len == 0 {
        return Some(Half::new(stamp, 15));
    }
    if len == MOST {
        return None;
    }
    kept[len] = stamp;
    kept[..=len].sort_unstable();
    intern(&kept[..=len]).map(Half::set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_stay_as_long_as_they_are_referred_to() {
        crate::init();
        let _alone = crate::agreement::alone();
        let reads = |n: u32| [Stamp(1000 + n), Stamp(2000 + n)];
        let numbers: Vec<u32> = (0..8).map(|n| intern(&reads(n)).unwrap()).collect();
        let mut live = [0; SETS / 64];
        for &number in &numbers[..4] {
            live[number as usize / 64] |= 1 << (number % 64);
        }
        reclaim(&live);
        for (n, &number) in numbers[..4].iter().enumerate() {
            assert_eq!(stamps(number), reads(n as u32));
            assert_eq!(intern(&reads(n as u32)), Some(number));
        }
        let others: Vec<u32> = (8..12).map(|n| intern(&reads(n)).unwrap()).collect();
        assert!(others.iter().all(|number| !numbers[..4].contains(number)));
    }
}
