//! Events to bytes, one thread at a time.

use super::codec::{ELSEWHERE, FLAG_A, FLAG_B, LONG_RUN, OTHER_SIZE, RUN, SIZES, SWITCH, detail};
use super::expectation::{Memory, Shape};
use super::varint;
use crate::event::{Mode, Op};
use crate::id::{Loc, SiteId, ThreadId};

/// The events of one thread, encoded: a part of a trace that is made without
/// regard to all others, and [appended](super::Writer::append) when its turn has
/// come.
pub struct Strand {
    thread: ThreadId,
    memory: Memory,
    bytes: Vec<u8>,
    /// Events, including those of the run.
    count: u32,
    /// How many of them are as expected, and not among the bytes yet.
    run: u32,
}

impl Strand {
    /// Nothing of a thread yet. Of each thread there is one strand in a trace.
    pub fn new(thread: ThreadId) -> Self {
        Self {
            thread,
            memory: Memory::default(),
            bytes: Vec::new(),
            count: 0,
            run: 0,
        }
    }

    /// How many events wait to be appended.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// How many bytes they take, about.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Adds an event of the thread.
    pub fn put(&mut self, site: SiteId, op: &Op) {
        match *op {
            Op::Read { loc, size } => self.access(site, loc, size, false),
            Op::Write { loc, size } => self.access(site, loc, size, true),
            _ => self.in_full(site, op),
        }
    }

    /// Adds a read or a write.
    #[inline]
    pub fn access(&mut self, site: SiteId, loc: Loc, size: u32, write: bool) {
        let shape = Shape::new(size, write);
        let follows = self.memory.next() == site.0;
        let seen = self.memory.at(site.0);
        if !follows || seen.shape != shape || shape == Shape::NONE {
            let op = match write {
                true => Op::Write { loc, size },
                false => Op::Read { loc, size },
            };
            seen.shape = shape;
            return self.in_full(site, &op);
        }
        let stride = loc.0.wrapping_sub(seen.loc);
        let expected = seen.stride == stride;
        seen.move_by(stride);
        self.memory.go_to(site.0);
        match expected {
            true => {
                self.run += 1;
                self.count += 1;
            }
            false => {
                self.begin(ELSEWHERE);
                varint::put_signed(&mut self.bytes, stride);
            }
        }
    }

    /// Begins an event that is not just as expected; where its tag is.
    fn begin(&mut self, tag: u8) -> usize {
        self.end_run();
        self.count += 1;
        self.tag(tag)
    }

    fn end_run(&mut self) {
        match std::mem::take(&mut self.run) {
            0 => {}
            run if run <= u32::from(LONG_RUN) => {
                self.tag(RUN | detail(run as u8 - 1));
            }
            run => {
                self.tag(RUN | detail(LONG_RUN));
                varint::put(&mut self.bytes, u64::from(run));
            }
        }
    }

    /// The first tag of a piece also says whose it is.
    fn tag(&mut self, tag: u8) -> usize {
        let at = self.bytes.len();
        match at {
            0 => {
                self.bytes.push(tag | SWITCH);
                varint::put(&mut self.bytes, u64::from(self.thread.0));
            }
            _ => self.bytes.push(tag),
        }
        at
    }

    #[inline(never)]
    fn in_full(&mut self, site: SiteId, op: &Op) {
        let at = self.begin(op.kind() as u8);
        let before = u64::from(self.memory.site());
        varint::put_delta(&mut self.bytes, before, u64::from(site.0));
        self.memory.go_to(site.0);
        self.bytes[at] |= self.operands(site, op);
    }

    /// Appends what an operation is about; what the tag says of it.
    fn operands(&mut self, site: SiteId, op: &Op) -> u8 {
        match *op {
            Op::Read { loc, size }
            | Op::Write { loc, size }
            | Op::Alloc { loc, size }
            | Op::Free { loc, size } => self.place(site, loc, size),
            Op::AtomicLoad { loc, size, order }
            | Op::AtomicStore { loc, size, order }
            | Op::AtomicRmw { loc, size, order } => {
                let tag = self.place(site, loc, size);
                self.bytes.push(order as u8);
                tag
            }
            Op::Fence { order } => {
                self.bytes.push(order as u8);
                0
            }
            Op::Acquire { lock, mode } | Op::Release { lock, mode } => {
                self.number(lock.0);
                flag(FLAG_A, mode == Mode::Shared)
            }
            Op::Fork { child } | Op::Join { child } => self.number(child.0),
            Op::Wait { cond, lock } => {
                self.number(cond.0);
                self.optional(lock.map(|l| l.0))
            }
            Op::Wake {
                cond,
                lock,
                notified,
            } => {
                self.number(cond.0);
                self.optional(lock.map(|l| l.0)) | flag(FLAG_A, notified)
            }
            Op::NotifyOne { cond, woken } => {
                self.number(cond.0);
                self.optional(woken.map(|t| t.0))
            }
            Op::NotifyAll { cond: object }
            | Op::BarrierArrive { barrier: object }
            | Op::BarrierLeave { barrier: object }
            | Op::SemPost { sem: object }
            | Op::SemWait { sem: object } => self.number(object.0),
            Op::Call { function } => self.number(function.0),
            Op::Return | Op::RegionBegin | Op::RegionEnd => 0,
        }
    }

    fn place(&mut self, site: SiteId, loc: Loc, size: u32) -> u8 {
        let seen = self.memory.at(site.0);
        let stride = loc.0.wrapping_sub(seen.loc);
        seen.move_by(stride);
        varint::put_signed(&mut self.bytes, stride);
        let class = match SIZES.iter().position(|&s| s == size) {
            Some(class) => class as u8,
            None => {
                self.number(size);
                OTHER_SIZE
            }
        };
        detail(class)
    }

    fn number(&mut self, number: u32) -> u8 {
        varint::put(&mut self.bytes, u64::from(number));
        0
    }

    fn optional(&mut self, id: Option<u32>) -> u8 {
        match id {
            Some(id) => {
                self.number(id);
                FLAG_B
            }
            None => 0,
        }
    }

    /// Moves everything so far to the end of `out`; how many events that is.
    pub(super) fn unwind_into(&mut self, out: &mut Vec<u8>) -> u32 {
        self.end_run();
        out.append(&mut self.bytes);
        std::mem::take(&mut self.count)
    }
}

fn flag(flag: u8, set: bool) -> u8 {
    if set { flag } else { 0 }
}
