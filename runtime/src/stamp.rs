//! Stamps: an access in 28 bits.
//!
//! A shadow word has no room for thread, time, place and locks of an access,
//! so it holds a number instead. Each thread numbers its accesses, as far as
//! they differ in place, locks or epoch; the table entry behind the number has
//! the rest. Numbers grow with time, so they *are* the thread's clock, only
//! finer: an access happened before us if its number is not greater than what
//! we have heard of its thread. Finding the order takes no look at the table,
//! and the call stack of every access that is still remembered can be told,
//! however long ago it was.
//!
//! Numbers are handed out in leases of 16384. A lease belongs to one thread for
//! one stretch of its time; when no shadow word refers to it any more, it can be
//! let again (see [`sweep`](crate::sweep)). So neither the number of threads nor
//! their time is limited by the bits of a shadow word. Who needs many numbers within
//! one epoch gets several leases that follow each other: with the first number of a
//! lease that does not, nothing that was accessed before looks like an access of this
//! epoch.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use racehound_detect::clock::Epoch;

use crate::context::Context;
use crate::locks::LocksId;
use crate::memory;
use crate::merge::PARTS;
use crate::shadow::Half;
use crate::spin::Locked;

/// An access that was made. 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Stamp(pub(crate) u32);

pub(crate) const STAMP_BITS: u32 = 28;
const LEASE_BITS: u32 = 14;
/// Stamps in a lease.
pub(crate) const LEASE: u32 = 1 << LEASE_BITS;
/// Leases there can be.
pub(crate) const LEASES: usize = 1 << (STAMP_BITS - LEASE_BITS);

/// Free leases that keep the memory of their records.
const KEPT: usize = 128;

/// What is known of an access beside its order.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Record {
    pub(crate) context: Context,
    pub(crate) locks: LocksId,
}

/// Of each lease, the epoch of its first stamp; the others follow. Looked at
/// by nearly every access, so it has no neighbours that are not.
static EPOCHS: [AtomicU64; LEASES] = [const { AtomicU64::new(0) }; LEASES];
/// Who made the accesses, as reports name it.
static THREADS: [AtomicU32; LEASES] = [const { AtomicU32::new(0) }; LEASES];
/// Room for all records, each as large as an entry: one mapping, however many
/// threads come and go.
static ROOM: memory::Table<AtomicU64, { 1 << STAMP_BITS }> = memory::Table::new();
const _: () = assert!(size_of::<Record>() == size_of::<AtomicU64>());
static RECORDS: [AtomicPtr<Record>; LEASES] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; LEASES];

impl Stamp {
    pub(crate) const NONE: Self = Self(0);

    #[inline(always)]
    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }

    #[inline(always)]
    pub(crate) fn lease(self) -> usize {
        (self.0 >> LEASE_BITS) as usize % LEASES
    }

    #[inline(always)]
    fn offset(self) -> u32 {
        self.0 & (LEASE - 1)
    }

    /// Stamps that the lease has after this one.
    #[inline]
    pub(crate) fn left_in_lease(self) -> u32 {
        LEASE - 1 - self.offset()
    }

    /// Thread and time.
    #[inline(always)]
    pub(crate) fn epoch(self) -> Epoch {
        let base = EPOCHS[self.lease()].load(Ordering::Relaxed);
        Epoch::from_bits(base + u64::from(self.offset()))
    }

    /// Which thread it was, as reports name it.
    #[inline]
    pub(crate) fn thread(self) -> u32 {
        THREADS[self.lease()].load(Ordering::Relaxed)
    }

    /// Where it was and which locks were held.
    #[inline]
    pub(crate) fn record(self) -> Record {
        let records = RECORDS[self.lease()].load(Ordering::Acquire);
        if records.is_null() {
            return Record::default();
        }
        // SAFETY: the records of a lease are LEASE of them, and stay while a
        // shadow word refers to the lease.
        unsafe { records.add(self.offset() as usize).read_volatile() }
    }

    /// Writes the record of a stamp of one's own lease.
    #[inline(always)]
    pub(crate) fn set_record(self, record: Record) {
        let records = RECORDS[self.lease()].load(Ordering::Relaxed);
        // SAFETY: as above; nobody reads it before the stamp is published.
        unsafe { records.add(self.offset() as usize).write(record) }
    }
}

/// Leases with a merge among their stamps.
static MERGES: [AtomicBool; LEASES] = [const { AtomicBool::new(false) }; LEASES];

/// In place of a context: the stamp is a merge, and its parts are in the next two
/// records.
const MERGE: Context = Context(u32::MAX);

/// Stamps that a merge takes.
pub(crate) const MERGE_STAMPS: u32 = 3;

/// Whether it stands for several accesses.
#[inline(always)]
pub(crate) fn is_merge(stamp: Stamp) -> bool {
    MERGES[stamp.lease()].load(Ordering::Relaxed) && stamp.record().context == MERGE
}

/// The parts of a stamp that is a [merge](crate::merge).
#[inline(always)]
pub(crate) fn merged(stamp: Stamp) -> Option<[Half; PARTS]> {
    match MERGES[stamp.lease()].load(Ordering::Relaxed) {
        false => None,
        true => look_up(stamp),
    }
}

#[inline]
fn look_up(stamp: Stamp) -> Option<[Half; PARTS]> {
    if stamp.record().context != MERGE {
        return None;
    }
    let half = |n: u32| Stamp(stamp.0 + 1 + n).record().as_halves();
    let ([a, b], [c, d]) = (half(0), half(1));
    Some([a, b, c, d])
}

/// Makes a stamp of one's own lease, and the two after it, a merge.
#[inline]
pub(crate) fn set_merged(stamp: Stamp, [a, b, c, d]: [Half; PARTS]) {
    let mark = Record {
        context: MERGE,
        locks: LocksId::MIXED,
    };
    stamp.set_record(mark);
    Stamp(stamp.0 + 1).set_record(Record::of_halves([a, b]));
    Stamp(stamp.0 + 2).set_record(Record::of_halves([c, d]));
    MERGES[stamp.lease()].store(true, Ordering::Relaxed);
}

impl Record {
    fn of_halves([a, b]: [Half; 2]) -> Self {
        Self {
            context: Context(a.0),
            locks: LocksId::from_bits(b.0),
        }
    }

    fn as_halves(self) -> [Half; 2] {
        [Half(self.context.0), Half(self.locks.to_bits())]
    }
}

/// Which leases are free.
pub(crate) struct Pool {
    /// Free after use.
    pub(crate) free: Vec<u16>,
    /// From here on none has ever been let. Lease 0 is none.
    fresh: u32,
}

pub(crate) static POOL: Locked<Pool> = Locked::new(Pool {
    free: Vec::new(),
    fresh: 1,
});

/// Leases in use.
pub(crate) static IN_USE: AtomicU32 = AtomicU32::new(0);

impl Pool {
    /// Takes that many leases that follow each other, or one; the first.
    fn take(&mut self, count: u32) -> Option<(u32, u32)> {
        if count > 1 {
            self.free.sort_unstable();
            let apart = count as usize - 1;
            let adjacent = |w: &[u16]| usize::from(w[apart] - w[0]) == apart;
            if let Some(at) = self.free.windows(apart + 1).position(adjacent) {
                let first = self.free.drain(at..=at + apart).next()?;
                return Some((u32::from(first), count));
            }
            if (self.fresh + count) as usize <= LEASES {
                self.fresh += count;
                return Some((self.fresh - count, count));
            }
        }
        if let Some(number) = self.free.pop() {
            return Some((u32::from(number), 1));
        }
        if (self.fresh as usize) < LEASES {
            self.fresh += 1;
            return Some((self.fresh - 1, 1));
        }
        None
    }
}

/// Lets a lease whose stamps begin at `epoch`, and others after it, `count` in all if
/// so many follow each other; none if all are taken. The first stamp and the last.
pub(crate) fn lease(epoch: Epoch, thread: u32, count: u32) -> Option<(Stamp, Stamp)> {
    let (first, count) = POOL.lock().take(count)?;
    IN_USE.fetch_add(count, Ordering::Relaxed);
    for i in 0..count {
        let at = (first + i) as usize;
        let epoch = epoch.after(u64::from(i) << LEASE_BITS);
        EPOCHS[at].store(epoch.to_bits(), Ordering::Relaxed);
        MERGES[at].store(false, Ordering::Relaxed);
        THREADS[at].store(thread, Ordering::Relaxed);
        if RECORDS[at].load(Ordering::Relaxed).is_null() {
            let records = std::ptr::from_ref(ROOM.get(at << LEASE_BITS)).cast_mut();
            RECORDS[at].store(records.cast(), Ordering::Release);
        }
    }
    Some((
        Stamp(first << LEASE_BITS),
        Stamp(((first + count) << LEASE_BITS) - 1),
    ))
}

/// Takes leases back that no shadow word refers to: `live` says which must stay.
pub(crate) fn reclaim(live: &[u64]) {
    let mut pool = POOL.lock();
    let mut free = vec![false; LEASES];
    for &number in &pool.free {
        free[number as usize] = true;
    }
    for number in 1..pool.fresh {
        let n = number as usize;
        if free[n] || live[n / 64] >> (n % 64) & 1 == 1 {
            continue;
        }
        if pool.free.len() >= KEPT {
            let records = RECORDS[n].load(Ordering::Relaxed);
            // SAFETY: no stamp of the lease is left, so nobody reads the records.
            unsafe { memory::forget(records.cast(), LEASE as usize * size_of::<Record>()) };
        }
        pool.free.push(number as u16);
        IN_USE.fetch_sub(1, Ordering::Relaxed);
    }
}
