//! The rules on shadow words against the detectors of `racehound-detect`, on
//! random executions: the same bytes race, and the earlier access that is told
//! did happen.
//!
//! Several threads of ours take turns on the one thread of the test; each step is
//! done to shadow memory, by way of the compiler's entry points or of the paths
//! behind them, and noted as an event for the offline detector.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

use proptest::prelude::*;
use racehound_detect::offline::{Incremental, Options};
use racehound_detect::order::{AtomicOp, ThreadCell};
use racehound_detect::{AccessKind, Which};
use racehound_trace::{Event, Loc, MemoryOrder, Mode, Op, SiteId, Space, SyncId, ThreadId};

use crate::access::Access;
use crate::detector::Engine;
use crate::entry;
use crate::range;
use crate::report::Race;
use crate::rule::{AccuLock, FastTrack, Rule};
use crate::sync::{self, Traits};
use crate::thread::{Thread, Visit};

thread_local! {
    static CAUGHT: RefCell<Option<Caught>> = const { RefCell::new(None) };
}

/// The races of an execution.
#[derive(Default)]
struct Caught {
    bytes: BTreeSet<usize>,
    /// Earlier accesses: thread, place, kind, first byte in conflict.
    earlier: Vec<(u32, usize, AccessKind, usize)>,
}

/// Takes a race for the test that is running, if one is.
pub(crate) fn catch(race: &Race) -> bool {
    CAUGHT.with_borrow_mut(|caught| match caught {
        None => false,
        Some(caught) => {
            let group = race.before_bytes.0;
            let racing = (0..8).filter(|i| race.racing >> i & 1 == 1);
            caught.bytes.extend(racing.map(|i| group + i));
            let (stamp, kind) = race.before;
            let place = stamp.record().context.split().map_or(0, |(place, _)| place);
            let whose = stamp.epoch().thread().0;
            caught.earlier.push((whose, place, kind, race.address));
            true
        }
    })
}

/// The entry points lead to the slow paths of one detector at a time.
static DETECTOR: Mutex<()> = Mutex::new(());

/// Keeps other tests from the runtime's tables.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    DETECTOR.lock().unwrap_or_else(|e| e.into_inner())
}

type EntryPoint = extern "C" fn(usize);

/// The compiler's function for an access of this size.
fn entry_point(size: usize, write: bool) -> Option<EntryPoint> {
    use crate::entry::*;
    let function: extern "C" fn() = match (size, write) {
        (1, false) => __tsan_read1,
        (2, false) => __tsan_unaligned_read2,
        (4, false) => __tsan_unaligned_read4,
        (8, false) => __tsan_unaligned_read8,
        (16, false) => __tsan_unaligned_read16,
        (1, true) => __tsan_write1,
        (2, true) => __tsan_unaligned_write2,
        (4, true) => __tsan_unaligned_write4,
        (8, true) => __tsan_unaligned_write8,
        (16, true) => __tsan_unaligned_write16,
        _ => return None,
    };
    // SAFETY: they take an address, and are declared without because they are
    // naked.
    Some(unsafe { std::mem::transmute::<extern "C" fn(), EntryPoint>(function) })
}

/// What is behind it, with a place of our choice.
fn behind_it<R: Rule>(size: usize, write: bool) -> Option<entry::Slow> {
    let sizes = [1, 2, 4, 8, 16];
    let at = sizes.iter().position(|&s| s == size)?;
    Some(entry::slow_paths::<R>()[at + if write { sizes.len() } else { 0 }])
}

/// A step of an execution, still without its addresses.
#[derive(Clone, Debug)]
enum Step {
    Access {
        at: usize,
        size: usize,
        write: bool,
        /// Through the compiler's function, or as one of a few places.
        place: Option<usize>,
    },
    Atomic {
        at: usize,
        op: u8,
        order: u8,
    },
    Fence(u8),
    Lock(usize),
    Unlock(usize),
    Post(usize),
    Take(usize),
}

const THREADS: usize = 4;
const BYTES: usize = 32;
const LOCKS: usize = 3;
const PLACES: usize = 5;
const SIZES: [usize; 10] = [1, 2, 3, 4, 7, 8, 13, 16, 22, 24];

fn step() -> impl Strategy<Value = Step> {
    let place = prop::option::of(0..PLACES);
    let access =
        (0..BYTES, 0..SIZES.len(), any::<bool>(), place).prop_map(|(at, size, write, place)| {
            Step::Access {
                at,
                size: SIZES[size].min(BYTES - at),
                write,
                place,
            }
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
    /// Accesses so far: thread, place if it was ours to choose, kind, bytes.
    accesses: Vec<(u32, Option<usize>, AccessKind, Range<usize>)>,
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
            accesses: Vec::new(),
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
            Step::Access {
                at,
                size,
                write,
                place,
            } => {
                let address = self.memory + at;
                let (loc, length) = (Loc(address as u64), size as u32);
                let kind = match write {
                    true => AccessKind::Write,
                    false => AccessKind::Read,
                };
                self.note(
                    thread,
                    match write {
                        true => Op::Write { loc, size: length },
                        false => Op::Read { loc, size: length },
                    },
                );
                let number = place.map(|place| 0x1000 + place * 2 + usize::from(write));
                self.accesses
                    .push((thread as u32, number, kind, address..address + size));
                match (
                    number,
                    entry_point(size, write),
                    behind_it::<R>(size, write),
                ) {
                    (None, Some(entry_point), _) => entry_point(address),
                    (Some(place), _, Some(small)) => small(address, place),
                    _ => {
                        let place = number.unwrap_or(0x2000);
                        let access = Access {
                            address,
                            size,
                            kind,
                            place,
                        };
                        let at_once = match write {
                            true => range::at_once::<R, true>(address, size, place),
                            false => range::at_once::<R, false>(address, size, place),
                        };
                        if !at_once {
                            range::of::<R>(&visit, &access);
                        }
                    }
                }
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
    let _alone = alone();
    let mut execution = Execution::new(which);
    crate::detector::set(match which {
        Which::AccuLock => Engine::AccuLock,
        _ => Engine::FastTrack,
    });
    CAUGHT.set(Some(Caught::default()));
    for (thread, step) in steps {
        execution.perform::<R>(*thread, step);
    }
    let live = CAUGHT.take().unwrap();
    crate::detector::set(Engine::Off);
    for (whose, place, kind, byte) in live.earlier.iter().filter(|e| !e.2.is_atomic()) {
        let happened = execution
            .accesses
            .iter()
            .any(|(thread, number, is, bytes)| {
                thread == whose
                    && is == kind
                    && bytes.contains(byte)
                    && number.is_none_or(|number| number == *place)
            });
        assert!(
            happened,
            "thread {whose}, place {place:#x}, {kind:?} of {byte:#x}"
        );
    }
    let mut offline = Incremental::new(which, Space::Addresses, &Options::default());
    let warnings = offline.feed(&execution.events);
    let bytes = warnings
        .iter()
        .flat_map(|w| w.loc.0 as usize..w.loc.0 as usize + w.size as usize)
        .collect::<BTreeSet<usize>>();
    let base = execution.memory;
    let relative = |set: BTreeSet<usize>| set.into_iter().map(|at| at - base).collect();
    (relative(live.bytes), relative(bytes))
}

// Threads here never give their leases of stamps back, of which there are enough
// for some thousand executions.
proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn fasttrack_finds_the_same_bytes_live_and_offline(
        steps in prop::collection::vec((0..THREADS, step()), 1..80),
    ) {
        let (live, offline) = racy::<FastTrack>(Which::FastTrack, &steps);
        prop_assert_eq!(live, offline);
    }

    #[test]
    fn acculock_finds_the_same_bytes_live_and_offline(
        steps in prop::collection::vec((0..THREADS, step()), 1..80),
    ) {
        let (live, offline) = racy::<AccuLock>(Which::AccuLock, &steps);
        prop_assert_eq!(live, offline);
    }
}

/// What a thread does again after it has given something away is news to who took that.
#[test]
fn an_access_of_a_later_epoch_takes_the_place_of_an_earlier_one() {
    for (size, write) in [4, 8, 16].into_iter().flat_map(|s| [(s, false), (s, true)]) {
        let access = |write| Step::Access {
            at: 0,
            size,
            write,
            place: Some(0),
        };
        let mut steps = Vec::new();
        for _ in 0..4 {
            steps.extend([(0, access(write)), (0, Step::Post(0))]);
        }
        steps.extend([(1, Step::Take(0)), (1, access(true))]);
        let (live, offline) = racy::<FastTrack>(Which::FastTrack, &steps);
        assert_eq!((live, offline), Default::default());

        // The same, but for one more access behind what was given away last.
        steps.insert(steps.len() - 2, (0, access(write)));
        let (live, offline) = racy::<FastTrack>(Which::FastTrack, &steps);
        assert_eq!(live, offline);
        assert_eq!(live.len(), size);
    }
}

/// What several threads read piece by piece takes no cell once all have read all of it, and
/// is not moved to and fro where they read it again.
#[test]
fn what_all_have_read_piece_by_piece_needs_no_cell() {
    let _alone = alone();
    let mut execution = Execution::new(Which::FastTrack);
    crate::detector::set(Engine::FastTrack);
    CAUGHT.set(Some(Caught::default()));
    let group = crate::shadow::group(execution.memory);
    let in_cell = || crate::shadow::load(group)[0].as_cell().is_some();
    let read = |at, size| Step::Access {
        at,
        size,
        write: false,
        place: Some(0),
    };
    for thread in 0..THREADS {
        for at in [0, 2, 4, 6] {
            execution.perform::<FastTrack>(thread, &read(at, 2));
            assert_eq!(in_cell(), thread > 0 && at != 6, "{thread} {at}");
        }
    }
    for thread in 0..THREADS {
        execution.perform::<FastTrack>(thread, &Step::Post(thread % 2));
        for at in [0, 2, 4, 6] {
            execution.perform::<FastTrack>(thread, &read(at, 2));
        }
        assert!(in_cell(), "{thread}");
    }
    let caught = CAUGHT.take().unwrap();
    crate::detector::set(Engine::Off);
    assert_eq!(caught.bytes, Default::default());
}
