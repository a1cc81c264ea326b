//! Atomic loads that were accounted for, so that the next ones like them need not
//! be: a thread that waits for a value loads it a thousand times.
//!
//! With more threads than processors the one that it waits for may need the very
//! processor that it keeps busy. So it gives it away now and then.

use crate::stamp::Stamp;

/// A load.
#[derive(Clone, Copy, Default)]
pub(crate) struct Load {
    /// Address and size.
    pub(crate) at: (usize, usize),
    /// The cell there, and its version: nobody has stored anything while it is the
    /// same.
    pub(crate) cell: (u32, u32),
    /// First stamp of the epoch.
    pub(crate) epoch: Stamp,
    /// Whether the thread learns what was released there.
    pub(crate) acquires: bool,
}

/// The last loads of a thread.
#[derive(Default)]
pub(crate) struct Loads {
    recent: [Load; RECENT],
    /// Loads that had nothing new, one after another.
    in_vain: u32,
}

const RECENT: usize = 8;

/// So many loads in vain are waiting: some ten microseconds, more than it takes
/// another thread to go on, and less than it takes the system to let it.
const PATIENCE: u32 = 1024;

fn slot(load: Load) -> usize {
    load.at.0 / 4 % RECENT
}

impl Loads {
    /// Whether an equal load, or one that learnt more, was noted.
    #[inline]
    pub(crate) fn includes(&self, load: Load) -> bool {
        let known = self.recent[slot(load)];
        known.at == load.at
            && known.cell == load.cell
            && known.epoch == load.epoch
            && (known.acquires || !load.acquires)
    }

    /// There was nothing new once more. Whether it is time to let others go on.
    #[inline]
    pub(crate) fn is_waiting(&mut self) -> bool {
        self.in_vain = self.in_vain.wrapping_add(1);
        self.in_vain.is_multiple_of(PATIENCE)
    }

    /// Notes a load that was accounted for.
    pub(crate) fn note(&mut self, load: Load) {
        self.in_vain = 0;
        self.recent[slot(load)] = load;
    }
}
