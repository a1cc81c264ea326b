//! Events to bytes and back. Both sides keep the same small memory of what
//! came before, so what is usual costs one byte.
//!
//! ```text
//! event = tag [thread] site operands
//! tag   = kind (5 bits) | detail (2 bits) << 5 | thread-changes << 7
//! ```

use super::varint::{self, Bytes};
use crate::event::{Event, Kind, MemoryOrder, Mode, Op};
use crate::id::{FunctionId, Loc, SiteId, SyncId, ThreadId};
use crate::table::{Space, Tables};

const KIND: u8 = 0x1f;
const SWITCH: u8 = 0x80;
const FLAG_A: u8 = 0x20;
const FLAG_B: u8 = 0x40;

/// Sizes that fit the tag; any other is written out under [`OTHER_SIZE`].
const SIZES: [u32; 3] = [1, 4, 8];
const OTHER_SIZE: u8 = 3;

/// What writer and reader both remember.
#[derive(Default)]
struct Memory {
    thread: u32,
    site_of_thread: Vec<u32>,
    loc_of_site: Vec<u64>,
}

impl Memory {
    #[inline]
    fn site(&mut self, thread: u32) -> &mut u32 {
        entry(&mut self.site_of_thread, thread)
    }

    #[inline]
    fn loc(&mut self, site: u32) -> &mut u64 {
        entry(&mut self.loc_of_site, site)
    }
}

#[inline]
fn entry<T: Default + Clone>(table: &mut Vec<T>, index: u32) -> &mut T {
    let index = index as usize;
    if index >= table.len() {
        table.resize(index + 1, T::default());
    }
    &mut table[index]
}

#[derive(Default)]
pub(super) struct Encoder {
    memory: Memory,
}

impl Encoder {
    pub(super) fn put(&mut self, out: &mut Vec<u8>, event: &Event) {
        let Event { thread, site, op } = *event;
        let tag_at = out.len();
        let mut tag = op.kind() as u8;
        out.push(tag);
        if thread.0 != self.memory.thread {
            tag |= SWITCH;
            varint::put(out, u64::from(thread.0));
            self.memory.thread = thread.0;
        }
        let last_site = self.memory.site(thread.0);
        varint::put_delta(out, u64::from(*last_site), u64::from(site.0));
        *last_site = site.0;

        match op {
            Op::Read { loc, size }
            | Op::Write { loc, size }
            | Op::Alloc { loc, size }
            | Op::Free { loc, size } => tag |= self.place(out, site, loc, size),
            Op::AtomicLoad { loc, size, order }
            | Op::AtomicStore { loc, size, order }
            | Op::AtomicRmw { loc, size, order } => {
                tag |= self.place(out, site, loc, size);
                out.push(order as u8);
            }
            Op::Fence { order } => out.push(order as u8),
            Op::Acquire { lock, mode } | Op::Release { lock, mode } => {
                if mode == Mode::Shared {
                    tag |= FLAG_A;
                }
                varint::put(out, u64::from(lock.0));
            }
            Op::Fork { child } | Op::Join { child } => varint::put(out, u64::from(child.0)),
            Op::Wait { cond, lock } => {
                varint::put(out, u64::from(cond.0));
                tag |= optional(out, lock.map(|l| l.0));
            }
            Op::Wake {
                cond,
                lock,
                notified,
            } => {
                varint::put(out, u64::from(cond.0));
                tag |= optional(out, lock.map(|l| l.0));
                if notified {
                    tag |= FLAG_A;
                }
            }
            Op::NotifyOne { cond, woken } => {
                varint::put(out, u64::from(cond.0));
                tag |= optional(out, woken.map(|t| t.0));
            }
            Op::NotifyAll { cond: object }
            | Op::BarrierArrive { barrier: object }
            | Op::BarrierLeave { barrier: object }
            | Op::SemPost { sem: object }
            | Op::SemWait { sem: object } => varint::put(out, u64::from(object.0)),
            Op::Call { function } => varint::put(out, u64::from(function.0)),
            Op::Return | Op::RegionBegin | Op::RegionEnd => {}
        }
        out[tag_at] = tag;
    }

    fn place(&mut self, out: &mut Vec<u8>, site: SiteId, loc: Loc, size: u32) -> u8 {
        let last = self.memory.loc(site.0);
        varint::put_delta(out, *last, loc.0);
        *last = loc.0;
        let class = match SIZES.iter().position(|&s| s == size) {
            Some(class) => class as u8,
            None => {
                varint::put(out, u64::from(size));
                OTHER_SIZE
            }
        };
        class << 5
    }
}

fn optional(out: &mut Vec<u8>, id: Option<u32>) -> u8 {
    match id {
        Some(id) => {
            varint::put(out, u64::from(id));
            FLAG_B
        }
        None => 0,
    }
}

#[derive(Default)]
pub(super) struct Decoder {
    memory: Memory,
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
}

impl Decoder {
    /// The next event, or `None` if these bytes are not one.
    #[inline(always)]
    pub(super) fn get(&mut self, bytes: &mut Bytes<'_>, limits: &Limits) -> Option<Event> {
        let tag = bytes.byte()?;
        if tag & SWITCH != 0 {
            self.memory.thread = below(bytes.u32()?, limits.threads)?;
        }
        let thread = self.memory.thread;
        if thread as usize >= limits.threads {
            return None;
        }
        let last_site = self.memory.site(thread);
        let site = varint::add_delta(u64::from(*last_site), bytes.varint()?);
        if site >= limits.sites as u64 {
            return None;
        }
        let site = site as u32;
        *last_site = site;

        // Nearly all events are plain accesses. Telling reads from writes only
        // here, without a jump that depends on it, saves a misprediction each.
        let code = tag & KIND;
        let op = if code <= Kind::Write as u8 {
            let (loc, size) = self.place(bytes, site, tag, limits)?;
            match code == Kind::Read as u8 {
                true => Op::Read { loc, size },
                false => Op::Write { loc, size },
            }
        } else {
            self.rare(bytes, site, tag, limits)?
        };
        Some(Event {
            thread: ThreadId(thread),
            site: SiteId(site),
            op,
        })
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
        let last = self.memory.loc(site);
        let loc = varint::add_delta(*last, bytes.varint_any()?);
        *last = loc;
        let class = tag >> 5 & 3;
        let size = match SIZES.get(usize::from(class)) {
            Some(&size) => size,
            None => bytes.u32()?,
        };
        // No access reaches around the end of the address space.
        (loc < limits.locs && loc.checked_add(u64::from(size)).is_some())
            .then_some((Loc(loc), size))
    }
}

#[inline]
fn below(id: u32, limit: usize) -> Option<u32> {
    ((id as usize) < limit).then_some(id)
}

fn memory_order(bytes: &mut Bytes<'_>) -> Option<MemoryOrder> {
    MemoryOrder::ALL.get(usize::from(bytes.byte()?)).copied()
}
