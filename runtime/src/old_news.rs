//! Pairs of accesses that were reported and keep happening.
//!
//! A race is told once for two places, however many addresses it happens at. Where a
//! detector warns of memory that threads hand to each other, each piece of it is one more
//! address: what a thread has lately found to be told already it need not bring before
//! the reporter again.

use crate::context::Context;
use crate::stamp::Stamp;

const PAIRS: usize = 64;

/// Pairs that a thread has found to be told already: the context of its own access first.
pub(crate) struct OldNews {
    pairs: Box<[(Context, Context); PAIRS]>,
}

impl Default for OldNews {
    fn default() -> Self {
        let none = (Context::UNKNOWN, Context::UNKNOWN);
        Self {
            pairs: crate::memory::boxed(none),
        }
    }
}

fn slot((now, before): (Context, Context)) -> usize {
    let mixed = (now.0.rotate_left(16) ^ before.0).wrapping_mul(0x9e37_79b1);
    (mixed >> (32 - PAIRS.ilog2())) as usize
}

impl OldNews {
    /// Remembers a pair that nobody wants to hear of again.
    pub(crate) fn add(&mut self, now: Context, before: Context) {
        let pair = (now, before);
        self.pairs[slot(pair)] = pair;
    }

    /// Whether an access and an earlier one are such a pair. The places of a
    /// [merge](crate::merge) are several, and none of these.
    pub(crate) fn has(&self, now: Stamp, before: Stamp) -> bool {
        let pair = (now.record().context, before.record().context);
        pair.0 != Context::UNKNOWN && self.pairs[slot(pair)] == pair
    }
}
