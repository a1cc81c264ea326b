//! An execution in 64 bits: two runs with the same fingerprint did the same.
//!
//! What goes in is who did what where, in order, by the ids the host has given
//! in the order of first appearance, or by name. Addresses do not: they differ
//! between runs of the same execution. A run that differs in anything else has
//! another value, but for one chance in 2^64.
//!
//! The value is defined by this file and nothing else: words are mixed in one
//! after the other by SplitMix64's finaliser, the same on every platform and in
//! every version. It is no protection against malice.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use racehound_trace::{Event, Op};

/// A running hash of what happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint of nothing.
    pub fn new() -> Self {
        Self(0x5261_6365_686f_756e)
    }

    /// The fingerprint of these events.
    pub fn of<'e>(events: impl IntoIterator<Item = &'e Event>) -> Self {
        let mut all = Self::new();
        for event in events {
            all.add_event(event);
        }
        all
    }

    /// Adds a number.
    #[inline]
    pub fn add(&mut self, word: u64) {
        let mut z = (self.0.rotate_left(23) ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = z ^ (z >> 31);
    }

    /// Adds a text, and where it ends.
    pub fn add_text(&mut self, text: &str) {
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
        self.add(text.len() as u64);
    }

    /// Adds an event: thread, site, kind, and the objects or threads it is
    /// about, but not where in memory.
    pub fn add_event(&mut self, event: &Event) {
        self.add(u64::from(event.thread.0) << 32 | u64::from(event.site.0));
        self.add(event.op.kind() as u64);
        for operand in operands(&event.op) {
            self.add(operand);
        }
    }

    /// The value so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self::new()
    }
}

/// The ids in an operation, and what else there is to tell two apart.
fn operands(op: &Op) -> [u64; 2] {
    let some = |id: Option<u32>| id.map_or(0, |id| u64::from(id) + 1);
    let (a, b) = match *op {
        Op::Read { size, .. } | Op::Write { size, .. } => (size, 0),
        Op::AtomicLoad { size, order, .. }
        | Op::AtomicStore { size, order, .. }
        | Op::AtomicRmw { size, order, .. } => (size, order as u64),
        Op::Fence { order } => (0, order as u64),
        Op::Acquire { lock, mode } | Op::Release { lock, mode } => (lock.0, mode as u64),
        Op::Fork { child } | Op::Join { child } => (child.0, 0),
        Op::Wait { cond, lock } => (cond.0, some(lock.map(|l| l.0))),
        Op::Wake {
            cond,
            lock,
            notified,
        } => (cond.0, some(lock.map(|l| l.0)) << 1 | u64::from(notified)),
        Op::NotifyOne { cond, woken } => (cond.0, some(woken.map(|t| t.0))),
        Op::NotifyAll { cond } => (cond.0, 0),
        Op::BarrierArrive { barrier } | Op::BarrierLeave { barrier } => (barrier.0, 0),
        Op::SemPost { sem } | Op::SemWait { sem } => (sem.0, 0),
        Op::Call { function } => (function.0, 0),
        Op::Alloc { size, .. } | Op::Free { size, .. } => (size, 0),
        Op::Return | Op::RegionBegin | Op::RegionEnd => (0, 0),
    };
    [u64::from(a), b]
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Fingerprint {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        u64::from_str_radix(text, 16).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use racehound_trace::{Loc, Mode, SiteId, SyncId, ThreadId};

    use super::*;

    fn event(thread: u32, site: u32, op: Op) -> Event {
        Event {
            thread: ThreadId(thread),
            site: SiteId(site),
            op,
        }
    }

    fn write(loc: u64, size: u32) -> Op {
        Op::Write {
            loc: Loc(loc),
            size,
        }
    }

    #[test]
    fn values_keep_their_meaning() {
        let mut print = Fingerprint::new();
        print.add(7);
        print.add_text("bank.c:12");
        print.add_event(&event(1, 2, write(0x1000, 4)));
        assert_eq!(print.to_string(), "626755d9a705c24b");
        assert_eq!(print.to_string().parse(), Ok(print));
    }

    #[test]
    fn whatever_differs_differs() {
        let acquire = |lock, mode| Op::Acquire {
            lock: SyncId(lock),
            mode,
        };
        let wake = |notified| Op::Wake {
            cond: SyncId(0),
            lock: Some(SyncId(1)),
            notified,
        };
        let events = [
            event(1, 2, write(0, 4)),
            event(2, 1, write(0, 4)),
            event(1, 2, write(0, 8)),
            event(1, 2, acquire(3, Mode::Exclusive)),
            event(1, 2, acquire(3, Mode::Shared)),
            event(1, 2, acquire(4, Mode::Shared)),
            event(1, 2, wake(true)),
            event(1, 2, wake(false)),
            event(1, 2, Op::Return),
        ];
        let mut seen = std::collections::BTreeSet::from([Fingerprint::new().value()]);
        for a in &events {
            assert!(seen.insert(Fingerprint::of([a]).value()), "{a:?}");
            for b in &events {
                assert!(seen.insert(Fingerprint::of([a, b]).value()), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn addresses_do_not_matter() {
        let [a, b] = [0x1000, 0x7f00].map(|loc| event(1, 2, write(loc, 4)));
        assert_eq!(Fingerprint::of([&a]), Fingerprint::of([&b]));
    }

    #[test]
    fn texts_end_somewhere() {
        let texts = |texts: &[&str]| {
            let mut print = Fingerprint::new();
            texts.iter().for_each(|text| print.add_text(text));
            print
        };
        assert_ne!(texts(&["ab", "c"]), texts(&["a", "bc"]));
        assert_ne!(texts(&["a"]), texts(&["a\0"]));
    }
}
