//! How an event is written, and the way back; the way there is a
//! [`Strand`](super::Strand). Both sides keep the same small memory of what came
//! before, so what is usual costs one byte, and what was expected even less.
//!
//! ```text
//! event = tag [thread] site operands
//!       | tag [thread] [length]     as many as that are as expected
//!       | tag [thread] stride       as expected, but for the location
//! tag   = kind (5 bits) | detail (2 bits) << 5 | thread-changes << 7
//! ```

use super::expectation::{Memory, Shape};
use super::varint::{self, Bytes};
use crate::event::{Event, Kind, MemoryOrder, Mode, Op};
use crate::id::{FunctionId, Loc, SiteId, SyncId, ThreadId};
use crate::table::{Space, Tables};

const KIND: u8 = 0x1f;
pub(super) const SWITCH: u8 = 0x80;
pub(super) const FLAG_A: u8 = 0x20;
pub(super) const FLAG_B: u8 = 0x40;

/// Sizes that fit the tag; any other is written out under [`OTHER_SIZE`].
pub(super) const SIZES: [u32; 3] = [1, 4, 8];
pub(super) const OTHER_SIZE: u8 = 3;

/// Accesses that are all as expected. The detail is their number less one;
/// [`LONG_RUN`] says that the number follows.
pub(super) const RUN: u8 = 24;
pub(super) const LONG_RUN: u8 = 3;
/// An access that is as expected but for its location.
pub(super) const ELSEWHERE: u8 = 25;
const _: () = assert!(Kind::ALL.len() <= RUN as usize);

/// A detail, where the tag has it.
pub(super) fn detail(detail: u8) -> u8 {
    detail << 5
}

/// What came before, to tell from it what comes now.
pub(super) struct Decoder {
    thread: u32,
    /// Accesses as expected that are still to come.
    run: u32,
    /// What is remembered of each thread.
    memories: Vec<Option<Memory>>,
    /// In files of version 1 nothing was expected, and the last location at each
    /// site was remembered for all threads together.
    together: Option<Vec<u64>>,
}

/// How large each table is: ids beyond are damage.
pub(super) struct Limits {
    threads: usize,
    sites: usize,
    syncs: usize,
    functions: usize,
    locs: u64,
}

impl Limits {
    pub(super) fn new(tables: &Tables, space: Space) -> Self {
        Self {
            threads: tables.threads.len(),
            sites: tables.sites.len(),
            syncs: tables.syncs.len(),
            functions: tables.functions.len(),
            locs: match space {
                Space::Names => tables.variables.len() as u64,
                Space::Addresses => u64::MAX,
            },
        }
    }

    /// No access reaches around the end of the address space.
    #[inline(always)]
    fn loc(&self, loc: u64, size: u32) -> Option<Loc> {
        (loc < self.locs && loc.checked_add(u64::from(size)).is_some()).then_some(Loc(loc))
    }
}

impl Decoder {
    pub(super) fn new(version: u16) -> Self {
        Self {
            thread: 0,
            run: 0,
            memories: Vec::new(),
            together: (version == 1).then(Vec::new),
        }
    }

    /// Whether events are still to come although there are no bytes for them.
    pub(super) fn expects_more(&self) -> bool {
        self.run > 0
    }

    #[inline]
    fn memory(&mut self) -> &mut Memory {
        let index = self.thread as usize;
        if index >= self.memories.len() {
            self.memories.resize_with(index + 1, || None);
        }
        self.memories[index].get_or_insert_default()
    }

    /// The next event, or `None` if these bytes are not one.
    #[inline(always)]
    pub(super) fn get(&mut self, bytes: &mut Bytes<'_>, limits: &Limits) -> Option<Event> {
        if self.run > 0 {
            self.run -= 1;
            return self.expected(None, limits);
        }
        let tag = bytes.byte()?;
        if tag & SWITCH != 0 {
            self.thread = below(bytes.u32()?, limits.threads)?;
        }
        if self.thread as usize >= limits.threads {
            return None;
        }
        let code = tag & KIND;
        if code >= RUN {
            return self.run_or_elsewhere(bytes, tag, limits);
        }
        let memory = self.memory();
        let site = varint::add_delta(u64::from(memory.site()), bytes.varint()?);
        if site >= limits.sites as u64 {
            return None;
        }
        let site = site as u32;
        memory.go_to(site);

        // Nearly all events are plain accesses. Telling reads from writes only
        // here, without a jump that depends on it, saves a misprediction each.
        let op = if code <= Kind::Write as u8 {
            let (loc, size) = self.place(bytes, site, tag, limits)?;
            let shape = Shape::new(size, code == Kind::Write as u8);
            self.memory().at(site).shape = shape;
            match code == Kind::Read as u8 {
                true => Op::Read { loc, size },
                false => Op::Write { loc, size },
            }
        } else {
            self.rare(bytes, site, tag, limits)?
        };
        Some(self.event(site, op))
    }

    fn event(&self, site: u32, op: Op) -> Event {
        Event {
            thread: ThreadId(self.thread),
            site: SiteId(site),
            op,
        }
    }

    fn run_or_elsewhere(
        &mut self,
        bytes: &mut Bytes<'_>,
        tag: u8,
        limits: &Limits,
    ) -> Option<Event> {
        if self.together.is_some() {
            return None;
        }
        match tag & KIND {
            RUN => {
                let length = match tag >> 5 & 3 {
                    LONG_RUN => bytes.u32()?,
                    less_one => u32::from(less_one) + 1,
                };
                self.run = length.checked_sub(1)?;
                self.expected(None, limits)
            }
            ELSEWHERE => {
                let stride = varint::signed(bytes.varint_any()?);
                self.expected(Some(stride), limits)
            }
            _ => None,
        }
    }

    /// The access that is expected, perhaps at another location.
    #[inline(always)]
    fn expected(&mut self, stride: Option<u64>, limits: &Limits) -> Option<Event> {
        let memory = self.memory();
        let site = below(memory.next(), limits.sites)?;
        memory.go_to(site);
        let seen = memory.at(site);
        if seen.shape == Shape::NONE {
            return None;
        }
        let loc = seen.move_by(stride.unwrap_or(seen.stride));
        let shape = seen.shape;
        let op = shape.at(limits.loc(loc, shape.size())?);
        Some(self.event(site, op))
    }

    /// Everything that is not a plain access.
    fn rare(&mut self, bytes: &mut Bytes<'_>, site: u32, tag: u8, limits: &Limits) -> Option<Op> {
        let sync = |bytes: &mut Bytes<'_>| below(bytes.u32()?, limits.syncs).map(SyncId);
        let child = |bytes: &mut Bytes<'_>| below(bytes.u32()?, limits.threads).map(ThreadId);
        let maybe_sync = |bytes: &mut Bytes<'_>| match tag & FLAG_B {
            0 => Some(None),
            _ => sync(bytes).map(Some),
        };
        let mode = match tag & FLAG_A {
            0 => Mode::Exclusive,
            _ => Mode::Shared,
        };

        Some(match Kind::from_code(tag & KIND)? {
            Kind::Read | Kind::Write => return None,
            Kind::Alloc => {
                let (loc, size) = self.place(bytes, site, tag, limits)?;
                Op::Alloc { loc, size }
            }
            Kind::Free => {
                let (loc, size) = self.place(bytes, site, tag, limits)?;
                Op::Free { loc, size }
            }
            Kind::AtomicLoad => {
                let (loc, size) = self.place(bytes, site, tag, limits)?;
                let order = memory_order(bytes)?;
                Op::AtomicLoad { loc, size, order }
            }
            Kind::AtomicStore => {
                let (loc, size) = self.place(bytes, site, tag, limits)?;
                let order = memory_order(bytes)?;
                Op::AtomicStore { loc, size, order }
            }
            Kind::AtomicRmw => {
                let (loc, size) = self.place(bytes, site, tag, limits)?;
                let order = memory_order(bytes)?;
                Op::AtomicRmw { loc, size, order }
            }
            Kind::Fence => Op::Fence {
                order: memory_order(bytes)?,
            },
            Kind::Acquire => Op::Acquire {
                lock: sync(bytes)?,
                mode,
            },
            Kind::Release => Op::Release {
                lock: sync(bytes)?,
                mode,
            },
            Kind::Fork => Op::Fork {
                child: child(bytes)?,
            },
            Kind::Join => Op::Join {
                child: child(bytes)?,
            },
            Kind::Wait => Op::Wait {
                cond: sync(bytes)?,
                lock: maybe_sync(bytes)?,
            },
            Kind::Wake => Op::Wake {
                cond: sync(bytes)?,
                lock: maybe_sync(bytes)?,
                notified: tag & FLAG_A != 0,
            },
            Kind::NotifyOne => Op::NotifyOne {
                cond: sync(bytes)?,
                woken: match tag & FLAG_B {
                    0 => None,
                    _ => Some(child(bytes)?),
                },
            },
            Kind::NotifyAll => Op::NotifyAll { cond: sync(bytes)? },
            Kind::BarrierArrive => Op::BarrierArrive {
                barrier: sync(bytes)?,
            },
            Kind::BarrierLeave => Op::BarrierLeave {
                barrier: sync(bytes)?,
            },
            Kind::SemPost => Op::SemPost { sem: sync(bytes)? },
            Kind::SemWait => Op::SemWait { sem: sync(bytes)? },
            Kind::Call => Op::Call {
                function: FunctionId(below(bytes.u32()?, limits.functions)?),
            },
            Kind::Return => Op::Return,
            Kind::RegionBegin => Op::RegionBegin,
            Kind::RegionEnd => Op::RegionEnd,
        })
    }

    #[inline(always)]
    fn place(
        &mut self,
        bytes: &mut Bytes<'_>,
        site: u32,
        tag: u8,
        limits: &Limits,
    ) -> Option<(Loc, u32)> {
        let stride = varint::signed(bytes.varint_any()?);
        let loc = match &mut self.together {
            None => self.memory().at(site).move_by(stride),
            Some(locs) => {
                let index = site as usize;
                if index >= locs.len() {
                    locs.resize(index + 1, 0);
                }
                locs[index] = locs[index].wrapping_add(stride);
                locs[index]
            }
        };
        let size = match SIZES.get(usize::from(tag >> 5 & 3)) {
            Some(&size) => size,
            None => bytes.u32()?,
        };
        Some((limits.loc(loc, size)?, size))
    }
}

#[inline]
fn below(id: u32, limit: usize) -> Option<u32> {
    ((id as usize) < limit).then_some(id)
}

fn memory_order(bytes: &mut Bytes<'_>) -> Option<MemoryOrder> {
    MemoryOrder::ALL.get(usize::from(bytes.byte()?)).copied()
}
