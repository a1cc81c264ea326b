//! Sets of concurrent reads, shared by all words that were read alike.
//!
//! Threads that go through the same data leave the same reads on every word of
//! it. Such a set is made once and referred to by number from the words' read
//! halves, so data that many threads read costs no more shadow than other data.
//! Where reads keep coming in new epochs sets would be made without end; there
//! are only so many, and then a [`cell`](crate::cell) takes over.
//!
//! A set never changes. Reads that happened before a later one are left out of
//! the set that the later one leads to: whatever is unordered with them is so
//! with it.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::memory;
use crate::shadow::Half;
use crate::spin::Spin;
use crate::stamp::Stamp;

/// Reads in a set.
pub(crate) const MOST: usize = 14;
/// Sets at a time.
const SETS: usize = 1 << 12;
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
static USED: AtomicU32 = AtomicU32::new(1);
static LOCK: Spin = Spin::new();

/// Reserves room for sets.
pub(crate) fn init() {
    let sets = memory::reserve(SETS * size_of::<Set>());
    let heads = memory::reserve(BUCKETS * size_of::<u32>());
    BASE.store(sets as usize, Ordering::Relaxed);
    HEADS.store(heads as usize, Ordering::Relaxed);
}

fn set(number: u32) -> &'static Set {
    let base = BASE.load(Ordering::Relaxed) as *const Set;
    // SAFETY: numbers are below SETS; a set does not change while somebody
    // refers to it.
    unsafe { &*base.add(number as usize) }
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
    let hash = stamps.iter().fold(0u32, |hash, s| {
        (hash.rotate_left(7) ^ s.0).wrapping_mul(0x9e37_79b1)
    });
    let heads = HEADS.load(Ordering::Relaxed) as *mut u32;
    LOCK.lock();
    // SAFETY: within the table, which the lock guards.
    let head = unsafe { &mut *heads.add(hash as usize % BUCKETS) };
    let mut at = *head;
    while at != 0 && self::stamps(at) != stamps {
        at = set(at).next;
    }
    let used = USED.load(Ordering::Relaxed);
    if at == 0 && (used as usize) < SETS {
        let mut new = Set {
            len: stamps.len() as u32,
            next: *head,
            stamps: [Stamp::NONE; MOST],
        };
        new.stamps[..stamps.len()].copy_from_slice(stamps);
        let base = BASE.load(Ordering::Relaxed) as *mut Set;
        // SAFETY: nobody knows the number yet.
        unsafe { base.add(used as usize).write(new) };
        USED.store(used + 1, Ordering::Release);
        *head = used;
        at = used;
    }
    LOCK.unlock();
    (at != 0).then_some(at)
}

/// Forgets all sets: nobody refers to any.
pub(crate) fn clear() {
    let heads = HEADS.load(Ordering::Relaxed) as *mut u8;
    // SAFETY: the table; zeroes are empty buckets.
    unsafe { memory::forget(heads, BUCKETS * size_of::<u32>()) };
    USED.store(1, Ordering::Release);
}

/// Whether there is room for no more than a few sets.
pub(crate) fn is_full() -> bool {
    USED.load(Ordering::Relaxed) as usize + 16 >= SETS
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
            recent: Box::new([Step::default(); STEPS]),
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
