//! The rules on shadow words against the detectors of `racehound-detect`, on
//! random executions: the same bytes race.
//!
//! Several threads of ours take turns on the one thread of the test; each step is
//! done to shadow memory and noted as an event for the offline detector.

use std::cell::RefCell;
use std::collections::BTreeSet;

use proptest::prelude::*;
use racehound_detect::offline::{Incremental, Options};
use racehound_detect::order::{AtomicOp, ThreadCell};
use racehound_detect::{AccessKind, Which};
use racehound_trace::{Event, Loc, MemoryOrder, Mode, Op, SiteId, Space, SyncId, ThreadId};

use crate::access::{self, Access};
use crate::report::Race;
use crate::rule::{AccuLock, FastTrack, Rule};
use crate::sync::{self, Traits};
use crate::thread::{Thread, Visit};

thread_local! {
    static CAUGHT: RefCell<Option<BTreeSet<usize>>> = const { RefCell::new(None) };
}

/// Takes a race for the test that is running, if one is.
pub(crate) fn catch(race: &Race) -> bool {
    CAUGHT.with_borrow_mut(|caught| match caught {
        None => false,
        Some(bytes) => {
            let group = race.before_bytes.0;
            bytes.extend(
                (0..8)
                    .filter(|i| race.racing >> i & 1 == 1)
                    .map(|i| group + i),
            );
            true
        }
    })
}

/// A step of an execution, still without its addresses.
#[derive(Clone, Debug)]
enum Step {
    Access { at: usize, size: usize, write: bool },
    Atomic { at: usize, op: u8, order: u8 },
    Fence(u8),
    Lock(usize),
    Unlock(usize),
    Post(usize),
    Take(usize),
}

const THREADS: usize = 4;
const BYTES: usize = 32;
const LOCKS: usize = 3;
const SIZES: [usize; 6] = [1, 2, 4, 8, 16, 24];

fn step() -> impl Strategy<Value = Step> {
    let access = (0..BYTES, 0..SIZES.len(), any::<bool>()).prop_map(|(at, size, write)| {
        let size = SIZES[size].min(BYTES - at);
        Step::Access { at, size, write }
    });
    let atomic = (0..BYTES / 4, 0..3u8, 0..5u8).prop_map(|(at, op, order)| Step::Atomic {
        at: at * 4,
        op,
        order,
    });
    prop_oneof![
        12 => access,
        2 => atomic,
        1 => (0..5u8).prop_map(Step::Fence),
        3 => (0..LOCKS).prop_map(Step::Lock),
        3 => (0..LOCKS).prop_map(Step::Unlock),
        1 => (0..2usize).prop_map(Step::Post),
        1 => (0..2usize).prop_map(Step::Take),
    ]
}

/// Memory that nobody else has, for one execution: its shadow is fresh.
fn fresh(bytes: usize) -> usize {
    let words = vec![0u64; bytes.div_ceil(8) + 8];
    words.leak().as_ptr() as usize
}

struct Execution {
    // Each stays where it is: the hot paths point to it.
    #[allow(clippy::vec_box)]
    threads: Vec<Box<Thread>>,
    memory: usize,
    objects: usize,
    owners: [Option<usize>; LOCKS],
    events: Vec<Event>,
}

impl Execution {
    fn new(which: Which) -> Self {
        crate::init();
        let order = match which {
            Which::AccuLock => racehound_detect::order::Order::WithoutLocks,
            _ => racehound_detect::order::Order::HappensBefore,
        };
        let thread = |number: usize| {
            let chain = ThreadCell::new(ThreadId(number as u32));
            Thread::new(number as u32, chain, order, 1 << 20)
        };
        Self {
            threads: (0..THREADS).map(thread).collect(),
            memory: fresh(BYTES),
            objects: fresh(64 * 8),
            owners: [None; LOCKS],
            events: Vec::new(),
        }
    }

    fn object(&self, number: usize) -> usize {
        self.objects + number * 64
    }

    fn note(&mut self, thread: usize, op: Op) {
        self.events.push(Event {
            thread: ThreadId(thread as u32),
            site: SiteId(self.events.len() as u32),
            op,
        });
    }

    fn perform<R: Rule>(&mut self, thread: usize, step: &Step) {
        let bottom = self.threads[thread].frames.bottom();
        // SAFETY: one thread of ours at a time is current here.
        unsafe { self.threads[thread].enter(bottom) };
        let visit = Visit::begin();
        let place = 0x1000 + self.events.len();
        match *step {
            Step::Access { at, size, write } => {
                let address = self.memory + at;
                let (loc, length) = (Loc(address as u64), size as u32);
                self.note(
                    thread,
                    match write {
                        true => Op::Write { loc, size: length },
                        false => Op::Read { loc, size: length },
                    },
                );
                let kind = match write {
                    true => AccessKind::Write,
                    false => AccessKind::Read,
                };
                access::range::<R>(
                    &visit,
                    &Access {
                        address,
                        size,
                        kind,
                        place,
                    },
                );
            }
            Step::Atomic { at, op, order } => {
                let address = self.memory + at;
                let (loc, size) = (Loc(address as u64), 4);
                let order = MemoryOrder::ALL[order as usize];
                let (op, event) = match op {
                    0 => (AtomicOp::Load, Op::AtomicLoad { loc, size, order }),
                    1 => (AtomicOp::Store, Op::AtomicStore { loc, size, order }),
                    _ => (AtomicOp::Rmw, Op::AtomicRmw { loc, size, order }),
                };
                self.note(thread, event);
                crate::abi::atomic::account::<R>(&visit, (address, 4), place, op, order);
            }
            Step::Fence(order) => {
                let order = MemoryOrder::ALL[order as usize];
                self.note(thread, Op::Fence { order });
                sync::fence(&visit, order, place);
            }
            Step::Lock(lock) if self.owners[lock].is_none() => {
                self.owners[lock] = Some(thread);
                let id = SyncId(lock as u32);
                self.note(
                    thread,
                    Op::Acquire {
                        lock: id,
                        mode: Mode::Exclusive,
                    },
                );
                let at = self.object(lock);
                sync::acquired(&visit, at, Mode::Exclusive, Traits::default(), place);
            }
            Step::Unlock(lock) if self.owners[lock] == Some(thread) => {
                self.owners[lock] = None;
                let id = SyncId(lock as u32);
                self.note(
                    thread,
                    Op::Release {
                        lock: id,
                        mode: Mode::Exclusive,
                    },
                );
                sync::releasing(&visit, self.object(lock), Some(Mode::Exclusive), place);
            }
            Step::Post(number) => {
                self.note(
                    thread,
                    Op::SemPost {
                        sem: SyncId((LOCKS + number) as u32),
                    },
                );
                sync::post(&visit, self.object(LOCKS + number), place);
            }
            Step::Take(number) => {
                self.note(
                    thread,
                    Op::SemWait {
                        sem: SyncId((LOCKS + number) as u32),
                    },
                );
                sync::take(&visit, self.object(LOCKS + number), place);
            }
            Step::Lock(_) | Step::Unlock(_) => {}
        }
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        let hot = crate::tls::hot();
        // SAFETY: our own block; the threads go.
        unsafe {
            (*hot).thread = std::ptr::null_mut();
            (*hot).top = std::ptr::null_mut();
        }
    }
}

/// The bytes that race live, and offline, by their offsets.
fn racy<R: Rule>(which: Which, steps: &[(usize, Step)]) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let mut execution = Execution::new(which);
    CAUGHT.set(Some(BTreeSet::new()));
    for (thread, step) in steps {
        execution.perform::<R>(*thread, step);
    }
    let live = CAUGHT.take().unwrap();
    let mut offline = Incremental::new(which, Space::Addresses, &Options::default());
    let warnings = offline.feed(&execution.events);
    let bytes = warnings
        .iter()
        .flat_map(|w| w.loc.0 as usize..w.loc.0 as usize + w.size as usize)
        .collect::<BTreeSet<usize>>();
    let base = execution.memory;
    let relative = |set: BTreeSet<usize>| set.into_iter().map(|at| at - base).collect();
    (relative(live), relative(bytes))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn fasttrack_finds_the_same_bytes_live_and_offline(
        steps in prop::collection::vec((0..THREADS, step()), 1..60),
    ) {
        let (live, offline) = racy::<FastTrack>(Which::FastTrack, &steps);
        prop_assert_eq!(live, offline);
    }

    #[test]
    fn acculock_finds_the_same_bytes_live_and_offline(
        steps in prop::collection::vec((0..THREADS, step()), 1..60),
    ) {
        let (live, offline) = racy::<AccuLock>(Which::AccuLock, &steps);
        prop_assert_eq!(live, offline);
    }
}
