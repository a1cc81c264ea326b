//! Atomic loads that were accounted for, so that the next ones like them need not
//! be: a thread that waits for a value loads it a thousand times.

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
}

const RECENT: usize = 8;

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

    /// Notes a load that was accounted for.
    pub(crate) fn note(&mut self, load: Load) {
        self.recent[slot(load)] = load;
    }
}
