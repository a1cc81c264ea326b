//! What is expected to come next, for all that is usual to cost nothing.
//!
//! After an event at some site comes, it is expected, the access that came after
//! it last time, as far from its last location as that was from the one before.
//! Writer and reader keep the same memory of a thread, so they expect the same.

use super::varint;
use crate::event::Op;
use crate::id::Loc;

/// Memory of one thread.
pub(super) struct Memory {
    /// Where the last event was.
    site: u32,
    /// What is known of each site. Sites may share an entry: then less is as
    /// expected, and nothing is wrong.
    seen: Box<[Seen; Self::ENTRIES]>,
}

/// What is known of a site.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) loc: u64,
    /// How far the last location was from the one before.
    pub(super) stride: u64,
    /// The site of the event that came next.
    next: u32,
    pub(super) shape: Shape,
}

/// Size and direction of an access.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape(u32);

impl Shape {
    /// Of no access yet, or of one that is never expected.
    pub(super) const NONE: Self = Self(u32::MAX);

    #[inline(always)]
    pub(super) fn new(size: u32, write: bool) -> Self {
        match size < u32::MAX / 2 {
            true => Self(size << 1 | u32::from(write)),
            false => Self::NONE,
        }
    }

    /// The access of this shape.
    #[inline(always)]
    pub(super) fn at(self, loc: Loc) -> Op {
        let size = self.size();
        match self.0 & 1 == 0 {
            true => Op::Read { loc, size },
            false => Op::Write { loc, size },
        }
    }

    pub(super) fn size(self) -> u32 {
        self.0 >> 1
    }
}

impl Memory {
    const ENTRIES: usize = 512;

    /// The last event's site.
    pub(super) fn site(&self) -> u32 {
        self.site
    }

    /// Where the next event is expected to be.
    #[inline(always)]
    pub(super) fn next(&mut self) -> u32 {
        self.at(self.site).next
    }

    #[inline(always)]
    pub(super) fn at(&mut self, site: u32) -> &mut Seen {
        &mut self.seen[site as usize % Self::ENTRIES]
    }

    /// How far it is from the last event's site to another, in the [form](varint::zigzag) in
    /// which it is written.
    #[inline(always)]
    pub(super) fn way_to(&self, site: u32) -> u64 {
        varint::zigzag(u64::from(site).wrapping_sub(u64::from(self.site)))
    }

    /// An event follows where one was [expected](Self::next).
    #[inline(always)]
    pub(super) fn follow(&mut self, site: u32) {
        self.site = site;
    }

    /// An event at that site follows.
    #[inline(always)]
    pub(super) fn go_to(&mut self, site: u32) {
        self.at(self.site).next = site;
        self.site = site;
    }
}

impl Seen {
    #[inline(always)]
    pub(super) fn move_by(&mut self, stride: u64) -> u64 {
        self.stride = stride;
        self.loc = self.loc.wrapping_add(stride);
        self.loc
    }
}

impl Default for Memory {
    fn default() -> Self {
        let nothing = Seen {
            loc: 0,
            stride: 0,
            next: 0,
            shape: Shape::NONE,
        };
        Self {
            site: 0,
            // Not on the stack first: that may be a small one.
            seen: vec![nothing; Self::ENTRIES]
                .try_into()
                .unwrap_or_else(|_| unreachable!("it has that many")),
        }
    }
}
