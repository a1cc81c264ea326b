//! What a thread knows of the leases that it has met lately.
//!
//! Whether what a word remembers happened before is asked by nearly every access that is
//! the first of its epoch there. The answer takes the thread and the time behind its
//! [`Stamp`] and what was heard of that thread: three loads that wait for each other. But
//! the stamps of a lease are in the order of time and all of one thread, and what is known
//! stays known: so of each lease, the last stamp that is known answers for all before it.
//!
//! # Invariants
//! * What is noted is true until leases get new tenants: then all is [forgotten](Hearsay::forget).
//! * Nothing is noted of what is not known: who is not answered has to ask the clock.

use std::cell::Cell;

use crate::stamp::{LEASE, Stamp};

const SLOTS: usize = 64;

pub(crate) struct Hearsay {
    /// The last known stamp of some lease with that number, but for a multiple of the
    /// number of slots: so those of two leases are further apart than a lease is long.
    last: [Cell<u32>; SLOTS],
}

impl Default for Hearsay {
    fn default() -> Self {
        Self {
            last: [const { Cell::new(0) }; SLOTS],
        }
    }
}

impl Hearsay {
    /// Whether that stamp is known, and noted to be.
    #[inline(always)]
    pub(crate) fn has(&self, stamp: Stamp) -> bool {
        self.last[stamp.lease() % SLOTS].get().wrapping_sub(stamp.0) < LEASE
    }

    /// This stamp is known, and so are those of its lease before it.
    #[inline(always)]
    pub(crate) fn note(&self, last: Stamp) {
        self.last[last.lease() % SLOTS].set(last.0);
    }

    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_answers_for_those_before_it_in_its_lease_and_for_no_others() {
        let hearsay = Hearsay::default();
        let stamp = |lease: u32, offset: u32| Stamp(lease * LEASE + offset);
        assert!(!hearsay.has(stamp(5, 0)));
        hearsay.note(stamp(5, 100));
        assert!(hearsay.has(stamp(5, 0)) && hearsay.has(stamp(5, 100)));
        assert!(!hearsay.has(stamp(5, 101)));
        for other in [4, 6, 5 + SLOTS as u32, 5 + 2 * SLOTS as u32] {
            for offset in [0, 100, 101, LEASE - 1] {
                assert!(!hearsay.has(stamp(other, offset)), "{other} {offset}");
            }
        }
        hearsay.note(stamp(5 + SLOTS as u32, LEASE - 1));
        assert!(!hearsay.has(stamp(5, 0)) && !hearsay.has(stamp(5, LEASE - 1)));
    }
}
