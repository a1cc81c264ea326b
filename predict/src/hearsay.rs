//! Who has heard of memory: nobody accesses a block before its maker has let others know.
//!
//! # The idea
//! A thread makes an object, fills it in and then links it into a list. Whoever reads the
//! object has found it by that link, so the object is never read before it was filled in,
//! whatever the locks allow. PECAN's partial order (pecan.txt §4.2) does not know that; it
//! has such pairs of accesses for races, and every one of them is false.
//!
//! A block's maker *tells* of it by its first event behind the allocation that others can
//! learn an address by: a write outside of the block, or any synchronisation, by which it
//! may be passed on unseen. Until then nobody else can have the address, so an access of
//! another thread to the block comes behind that event in every order. That may be far too
//! early, but it is never too late, as far as the maker's writes are recorded.
//!
//! # What is left out
//! Memory that was in use before: who knows it from then need not be told. Unless it was one
//! thread that made, used and freed it: others have never seen it, and that one is done with
//! it.

use std::cell::{Cell, RefCell};

use racehound_trace::event::Kind;
use racehound_trace::{Loc, Op, Space, ThreadId, Trace};
use rustc_hash::FxHashMap;

/// So many blocks that begin before a location are looked at to find its own. Where there are
/// more, nothing is claimed.
const NEAR: usize = 64;

/// Of a block that lived longer than so many events, it is not found out who has used it.
const LIFETIME: usize = 1 << 14;

/// A block, from its allocation on.
#[derive(Clone, Copy, Debug)]
struct Block {
    start: u64,
    end: u64,
    /// The event of its allocation.
    made: u32,
    /// Where the last one ends of those that begin before it, itself included.
    furthest: u64,
}

impl Block {
    fn covers(&self, loc: Loc) -> bool {
        (self.start..self.end).contains(&loc.0)
    }
}

/// The blocks of a trace.
#[derive(Debug)]
pub(crate) struct Hearsay<'t> {
    trace: &'t Trace,
    /// By where they begin.
    blocks: Vec<Block>,
    /// By allocation: by which event its thread tells of it.
    told: RefCell<FxHashMap<u32, u32>>,
    /// By allocation: whether only its thread has had to do with it.
    private: RefCell<FxHashMap<u32, bool>>,
    /// So many events may still be looked at. Nothing is claimed of blocks for which it takes
    /// more.
    patience: Cell<u64>,
}

impl<'t> Hearsay<'t> {
    pub(crate) fn new(trace: &'t Trace) -> Self {
        Self::with_patience(trace, u64::MAX)
    }

    /// The same, by looking at so many events at most, besides those with allocations.
    pub(crate) fn with_patience(trace: &'t Trace, patience: u64) -> Self {
        let mut blocks: Vec<Block> = Vec::new();
        if trace.space == Space::Addresses {
            for (event, made) in trace.events.iter().zip(0..) {
                if let Op::Alloc { loc, size } = event.op {
                    let end = loc.0.saturating_add(u64::from(size));
                    blocks.push(Block {
                        start: loc.0,
                        end,
                        made,
                        furthest: end,
                    });
                }
            }
        }
        blocks.sort_unstable_by_key(|block| (block.start, block.made));
        let mut furthest = 0;
        for block in &mut blocks {
            furthest = block.end.max(furthest);
            block.furthest = furthest;
        }
        Self {
            trace,
            blocks,
            told: RefCell::default(),
            private: RefCell::default(),
            patience: Cell::new(patience),
        }
    }

    /// By which event others may learn of the block that an event has made here.
    pub(crate) fn told(&self, start: Loc, made: u32) -> Option<u32> {
        let key = (start.0, made);
        let at = self
            .blocks
            .binary_search_by_key(&key, |b| (b.start, b.made));
        at.ok().map(|at| self.told_by(&self.blocks[at]))
    }

    /// Whether an access is to memory of which only its thread knows yet.
    pub(crate) fn is_untold(&self, access: u32) -> bool {
        let thread = self.trace.events[access as usize].thread;
        let secret = self.secret(access);
        secret.is_some_and(|(maker, told)| maker == thread && access <= told)
    }

    /// Whether accesses can happen in this order as far as memory is known to who accesses it,
    /// or, if they are to meet, side by side.
    pub(crate) fn allows(&self, events: &[u32], side_by_side: bool) -> bool {
        let thread = |event: u32| self.trace.events[event as usize].thread;
        events.iter().enumerate().all(|(number, &access)| {
            let others = events.iter().enumerate();
            let mut behind = others.filter(|(n, _)| *n > number || side_by_side);
            let secret = self.secret(access);
            let secret = secret.filter(|(maker, _)| thread(access) != *maker);
            secret.is_none_or(|(maker, told)| {
                !behind.any(|(_, &other)| thread(other) == maker && other <= told)
            })
        })
    }

    /// Of memory that is known to nobody from before: who has made it, and by which event
    /// others may learn of it.
    fn secret(&self, access: u32) -> Option<(ThreadId, u32)> {
        let loc = self.trace.events[access as usize].op.access()?.loc;
        let count = self.blocks.partition_point(|block| block.start <= loc.0);
        let before = self.blocks[..count].iter().rev();
        let mut near = before.take_while(|block| block.furthest > loc.0);
        let covers = |block: &&Block| block.made < access && block.covers(loc);
        let all: Vec<&Block> = near.by_ref().take(NEAR).filter(covers).collect();
        let block = *all.iter().max_by_key(|block| block.made)?;
        let mut earlier = all.iter().filter(|other| other.made != block.made);
        if near.next().is_some() || earlier.any(|block| !self.is_private(block)) {
            return None;
        }
        let maker = self.trace.events[block.made as usize].thread;
        Some((maker, self.told_by(block)))
    }

    fn told_by(&self, block: &Block) -> u32 {
        let mut known = self.told.borrow_mut();
        *known.entry(block.made).or_insert_with(|| self.tells(block))
    }

    /// The events behind one, as many as there is patience for.
    fn behind(&self, event: u32) -> impl Iterator<Item = (&racehound_trace::Event, u32)> {
        let next = event + 1;
        let behind = self.trace.events[next as usize..].iter().zip(next..);
        behind.take_while(|_| {
            let left = self.patience.get();
            self.patience.set(left.saturating_sub(1));
            left > 0
        })
    }

    /// Whether a block was made, used and freed by one thread.
    fn is_private(&self, block: &Block) -> bool {
        let mut known = self.private.borrow_mut();
        *known.entry(block.made).or_insert_with(|| {
            let made = block.made as usize;
            let maker = self.trace.events[made].thread;
            for (event, _) in self.behind(block.made).take(LIFETIME) {
                let is_own = event.thread == maker;
                match event.op {
                    Op::Free { loc, .. } if loc.0 == block.start => return is_own,
                    op => {
                        let access = op.access().filter(|access| block.covers(access.loc));
                        if access.is_some() && !is_own {
                            return false;
                        }
                    }
                }
            }
            false
        })
    }

    /// The first event by which others can learn of a block: that of its allocation, if some
    /// have learned of it nobody knows how.
    fn tells(&self, block: &Block) -> u32 {
        let events = &self.trace.events;
        let maker = events[block.made as usize].thread;
        for (event, at) in self.behind(block.made) {
            let access = event.op.access();
            let is_inside = access.is_some_and(|access| block.covers(access.loc));
            let tells = match event.op.kind() {
                // These only listen.
                Kind::Acquire | Kind::AtomicLoad | Kind::Join => false,
                kind if kind.synchronises() => true,
                _ => access.is_some_and(|access| access.is_write && !is_inside),
            };
            match event.thread == maker {
                true if tells => return at,
                false if is_inside => return block.made,
                _ => {}
            }
        }
        match self.patience.get() {
            0 => block.made,
            _ => u32::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use racehound_trace::rapid;

    use super::*;

    const BLOCK: Op = Op::Alloc {
        loc: Loc(64),
        size: 16,
    };

    /// The trace of a text, whose variables are addresses, with allocations of memory at 64
    /// before some of its events.
    fn trace(text: &str, allocated: &[usize]) -> Trace {
        let mut trace = Trace::collect(rapid::Reader::new(text.as_bytes())).unwrap();
        let name = |at| trace.tables.shown_loc(Space::Names, Loc(at as u64));
        let names: Vec<u64> = (0..trace.tables.variables.len())
            .map(|at| name(at).parse().unwrap())
            .collect();
        trace.space = Space::Addresses;
        for event in &mut trace.events {
            if let Op::Read { loc, size } | Op::Write { loc, size } = &mut event.op {
                (*loc, *size) = (Loc(names[loc.0 as usize]), 8);
            }
        }
        for &at in allocated.iter().rev() {
            let event = trace.events[at];
            let op = BLOCK;
            trace
                .events
                .insert(at, racehound_trace::Event { op, ..event });
        }
        trace
    }

    /// A makes something, links it, and changes it; B follows the link.
    const LINKED: &str = "A|w(64)|1\nA|w(8)|2\nA|w(72)|3\nB|r(8)|4\nB|r(64)|5\nB|r(72)|6\n";

    #[test]
    fn what_is_linked_was_filled_in_before() {
        let trace = trace(LINKED, &[0]);
        let heard = Hearsay::new(&trace);
        let [filled, linked, changed, read] = [1, 2, 3, 5];
        assert!(heard.allows(&[filled, read], false));
        assert!(!heard.allows(&[read, filled], false));
        assert!(!heard.allows(&[filled, read], true));
        assert!(!heard.allows(&[read, linked], false));
        assert!(heard.allows(&[read, changed], false));
        assert!(heard.allows(&[changed, read], true));
    }

    #[test]
    fn who_knows_already_need_not_be_told() {
        let trace = trace("A|w(64)|1\nB|r(64)|2\nA|w(72)|3\nA|w(8)|4\n", &[0]);
        assert!(Hearsay::new(&trace).allows(&[2, 3], false));
    }

    #[test]
    fn a_message_may_be_one_that_nobody_sees() {
        let text = "A|acq(l)|1\nA|rel(l)|2\nA|w(64)|3\nB|r(64)|4\n";
        let trace = trace(text, &[1]);
        let heard = Hearsay::new(&trace);
        // It may have been told by the release.
        assert!(heard.allows(&[4, 3], false));
    }

    #[test]
    fn memory_that_was_in_use_may_be_known_from_then() {
        let trace = trace(&format!("B|r(64)|7\n{LINKED}"), &[0, 1]);
        let heard = Hearsay::new(&trace);
        let (filled, read) = (3, 7);
        assert!(heard.allows(&[read, filled], false));
    }

    #[test]
    fn memory_that_was_of_one_thread_is_known_to_nobody() {
        let mut trace = trace(&format!("B|w(64)|7\nB|w(128)|8\n{LINKED}"), &[0, 2]);
        let Op::Alloc { loc, size } = BLOCK else {
            unreachable!()
        };
        trace.events[2].op = Op::Free { loc, size };
        let heard = Hearsay::new(&trace);
        let (filled, read) = (4, 8);
        assert!(!heard.allows(&[read, filled], false));
        trace.events[2].thread = trace.events[4].thread;
        assert!(Hearsay::new(&trace).allows(&[read, filled], false));
    }

    #[test]
    fn memory_that_nobody_made_is_known_to_all() {
        let trace = trace(LINKED, &[]);
        assert!(Hearsay::new(&trace).allows(&[4, 0], false));
    }
}
