//! Blocks that were freed.
//!
//! Nobody may access one, whatever order there is between the access and the
//! free. So a freed block looks written at a moment that no thread ever hears
//! of: by the one who freed it, but in a time apart from everybody's. Any access
//! then races with it, and the stack of the free is told as that of any other
//! access.

use racehound_detect::clock::Epoch;
use racehound_trace::ThreadId;

use crate::context::Context;
use crate::locks::LocksId;
use crate::stamp::{self, Record, Stamp};
use crate::sweep;

/// Whose time it is: no thread has so high a number.
const NOBODY: ThreadId = ThreadId((1 << 20) - 1);

/// Places whose stamps are remembered.
const RECENT: usize = 16;

/// The stamps of a thread's frees.
#[derive(Default)]
pub(crate) struct Graves {
    /// The last one of the lease.
    last: Stamp,
    recent: [(Context, Stamp); RECENT],
}

impl Graves {
    /// A stamp of the lease in use.
    pub(crate) fn stamp(&self) -> Stamp {
        self.last
    }

    /// The stamp of a free by thread `number` in that context.
    #[inline]
    pub(crate) fn stamp_of(&mut self, number: u32, context: Context) -> Stamp {
        let slot = context.0 as usize % RECENT;
        let (known, stamp) = self.recent[slot];
        if known == context && stamp.lease() == self.last.lease() {
            return stamp;
        }
        match self.last.is_none() || self.last.left_in_lease() == 0 {
            true => self.last = lease(number),
            false => self.last.0 += 1,
        }
        // A lock that was held does not excuse anything.
        let locks = LocksId::NONE;
        self.last.set_record(Record { context, locks });
        self.recent[slot] = (context, self.last);
        self.last
    }
}

#[cold]
fn lease(number: u32) -> Stamp {
    if sweep::is_due() {
        sweep::now();
    }
    loop {
        match stamp::lease(Epoch::new(NOBODY, 1), number, 1) {
            Some((first, _)) => return first,
            None => sweep::now(),
        }
    }
}
