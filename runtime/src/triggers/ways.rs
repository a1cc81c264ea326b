//! Ways to locks: the calls that a thread is in when it takes one.
//!
//! Most acquisitions are made by a stack that took the same lock before, and have nothing
//! to tell. That is found out from the return addresses alone: a way is known by a number
//! made of them and of the lock. Another lock that has come to be at the same address is
//! overlooked at worst.

use crate::frames::Frame;

/// A way, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way(u64);

impl Way {
    /// Calls that count, from the innermost on. Relations take fewer functions of a stack,
    /// but there may be others between them that do not count.
    const CALLS: usize = 48;

    /// Through the innermost `calls` and those below `top` to a lock.
    ///
    /// # Safety
    /// `top` is behind a thread's innermost frame, or null.
    #[inline]
    pub(super) unsafe fn new<const N: usize>(
        calls: [usize; N],
        top: *const Frame,
        lock: usize,
    ) -> Self {
        let mut way = Self(lock as u64);
        for place in calls {
            way.step(place);
        }
        if top.is_null() {
            return way;
        }
        let mut frame = top;
        for _ in N..Self::CALLS {
            // SAFETY: there are frames without a caller below the outermost one.
            let caller = unsafe {
                frame = frame.sub(1);
                (*frame).caller
            };
            if caller == 0 {
                break;
            }
            way.step(caller);
        }
        way
    }

    #[inline(always)]
    fn step(&mut self, place: usize) {
        let mixed = (self.0 ^ place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

/// Ways that a thread has come lately.
#[derive(Default)]
pub(super) struct Ways(Vec<Way>);

impl Ways {
    /// So many at most; a power of two.
    const RECENT: usize = 512;

    #[inline]
    pub(super) fn include(&self, way: Way) -> bool {
        self.0.get(Self::slot(way)) == Some(&way)
    }

    pub(super) fn add(&mut self, way: Way) {
        if self.0.is_empty() {
            // No way leads to slot 0 by this number but one, which is told time and again.
            self.0 = vec![Way(0); Self::RECENT];
        }
        self.0[Self::slot(way)] = way;
    }

    #[inline(always)]
    fn slot(way: Way) -> usize {
        way.0 as usize % Self::RECENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::sampling::calls::CallWord;

    /// Frames of these callers, the outermost first, upon two without.
    fn frames(callers: &[usize]) -> Vec<Frame> {
        let frame = |caller| Frame {
            caller,
            context: Context::UNKNOWN.0,
            call: CallWord::OUTSIDE,
        };
        let ground = [0, 0].map(frame);
        ground
            .into_iter()
            .chain(callers.iter().copied().map(frame))
            .collect()
    }

    fn way<const N: usize>(calls: [usize; N], frames: &[Frame], lock: usize) -> Way {
        // SAFETY: there is firm ground.
        unsafe { Way::new(calls, frames.as_ptr_range().end, lock) }
    }

    #[test]
    fn a_way_is_the_same_before_and_in_the_function_that_takes_the_lock() {
        let (lock, locker, caller) = (0x1000, 0x77, 0x66);
        let before = frames(&[0x10, 0x20]);
        let inside = frames(&[0x10, 0x20, caller]);
        let known = way([locker], &inside, lock);
        assert_eq!(way([locker, caller], &before, lock), known);
        assert_ne!(way([locker, caller], &before, lock + 8), known);
        assert_ne!(way([locker, caller], &frames(&[0x11, 0x20]), lock), known);
        assert_ne!(way([locker, caller], &frames(&[0x20, 0x10]), lock), known);
        assert_ne!(way([locker, caller], &frames(&[0x20]), lock), known);
    }

    #[test]
    fn what_was_added_is_included_and_nothing_else() {
        let mut ways = Ways::default();
        let all: Vec<Way> = (1..100).map(|n| way([n], &frames(&[]), 8)).collect();
        assert!(all.iter().all(|&way| !ways.include(way)));
        for &way in &all {
            ways.add(way);
            assert!(ways.include(way));
        }
        let others = (100..200).map(|n| way([n], &frames(&[]), 8));
        assert_eq!(others.filter(|&way| ways.include(way)).count(), 0);
    }
}
