//! Events to bytes, one thread at a time.

use super::codec::{ELSEWHERE, FLAG_A, FLAG_B, LONG_RUN, OTHER_SIZE, RUN, SIZES, SWITCH, detail};
use super::expectation::{Memory, Shape};
use super::varint::{self, Output, zigzag};
use crate::event::{Kind, Mode, Op};
use crate::id::{Loc, SiteId, ThreadId};

/// The events of one thread, encoded: a part of a trace that is made without
/// regard to all others, and [appended](super::Writer::append) when its turn has
/// come.
pub struct Strand {
    thread: ThreadId,
    memory: Memory,
    bytes: Output,
    /// Events among the bytes.
    count: u32,
    /// Events after those, each as expected.
    run: u32,
}

impl Strand {
    /// Nothing of a thread yet. Of each thread there is one strand in a trace.
    pub fn new(thread: ThreadId) -> Self {
        Self {
            thread,
            memory: Memory::default(),
            bytes: Output::default(),
            count: 0,
            run: 0,
        }
    }

    /// How many events wait to be appended.
    pub fn count(&self) -> usize {
        (self.count + self.run) as usize
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
        let as_usual = follows && seen.shape == shape && shape != Shape::NONE;
        let stride = loc.0.wrapping_sub(seen.loc);
        if as_usual && seen.stride == stride {
            seen.move_by(stride);
            self.memory.follow(site.0);
            self.run += 1;
            return;
        }
        seen.shape = shape;
        seen.move_by(stride);
        self.begin();
        match as_usual {
            true => {
                self.bytes.put_tagged(ELSEWHERE, zigzag(stride));
                self.memory.follow(site.0);
            }
            false => {
                let kind = match write {
                    true => Kind::Write,
                    false => Kind::Read,
                };
                let class = class(size);
                let tag = kind as u8 | detail(class.unwrap_or(OTHER_SIZE));
                self.bytes.put_tagged(tag, self.memory.way_to(site.0));
                self.bytes.put(zigzag(stride));
                if class.is_none() {
                    self.bytes.put(u64::from(size));
                }
                self.memory.go_to(site.0);
            }
        }
    }

    /// Begins an event that is not just as expected.
    #[inline(always)]
    fn begin(&mut self) {
        self.end_run();
        self.count += 1;
    }

    #[inline(always)]
    fn end_run(&mut self) {
        self.count += self.run;
        match std::mem::take(&mut self.run) {
            0 => {}
            run if run <= u32::from(LONG_RUN) => self.bytes.push(RUN | detail(run as u8 - 1)),
            run => self
                .bytes
                .put_tagged(RUN | detail(LONG_RUN), u64::from(run)),
        }
    }

    #[inline(never)]
    fn in_full(&mut self, site: SiteId, op: &Op) {
        self.begin();
        let at = self.bytes.len();
        let way = self.memory.way_to(site.0);
        self.bytes.put_tagged(op.kind() as u8, way);
        self.memory.go_to(site.0);
        let tag = self.operands(site, op);
        self.bytes.add_to(at, tag);
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
        self.bytes.put(zigzag(stride));
        let class = class(size);
        if class.is_none() {
            self.number(size);
        }
        detail(class.unwrap_or(OTHER_SIZE))
    }

    fn number(&mut self, number: u32) -> u8 {
        self.bytes.put(u64::from(number));
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

    /// Moves everything so far to the end of `out`; how many events that is. The first tag
    /// also says whose they are.
    pub(super) fn unwind_into(&mut self, out: &mut Vec<u8>) -> u32 {
        self.end_run();
        if let Some((first, rest)) = self.bytes.written().split_first() {
            out.push(first | SWITCH);
            varint::put(out, u64::from(self.thread.0));
            out.extend_from_slice(rest);
        }
        self.bytes.clear();
        std::mem::take(&mut self.count)
    }
}

/// Which of the [sizes](SIZES) that fit the tag it is.
#[inline(always)]
fn class(size: u32) -> Option<u8> {
    match size {
        1 => Some(0),
        4 => Some(1),
        8 => Some(2),
        _ => None,
    }
}
const _: () = assert!(matches!(SIZES, [1, 4, 8]));

fn flag(flag: u8, set: bool) -> u8 {
    if set { flag } else { 0 }
}
