//! Events for detectors that have no shadow words: the analysis of
//! `racehound-detect`, fed while the program runs.
//!
//! Each thread collects its events and hands them over in one piece, at the
//! latest before it gives something away that another thread could take. So the
//! detector gets them in an order that could have happened. Atomic operations
//! both give and take: they happen with the detector held.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use racehound_detect::offline::{Incremental, Options};
use racehound_detect::{AccessKind, Which};
use racehound_trace::{Event, Loc, Op, SiteId, Space, ThreadId};

use crate::access::Access;
use crate::context::Context;
use crate::detector::Engine;
use crate::interpose::Errno;
use crate::thread::{Thread, Visit};
use crate::{benign, options, report};

/// Events a thread collects at most.
const BATCH: usize = 1024;
/// Accesses of this epoch that a thread remembers having noted.
const FILTER: usize = 1 << 13;

static LISTENING: AtomicBool = AtomicBool::new(false);
/// Whether an access says nothing new if the thread had the same in this epoch.
static FILTERING: AtomicBool = AtomicBool::new(false);
static DETECTOR: Mutex<Option<Incremental>> = Mutex::new(None);

/// What a thread has collected. Sites of events are contexts here.
#[derive(Default)]
pub(crate) struct Collected {
    events: Vec<Event>,
    filter: Vec<u64>,
    epoch: u64,
}

/// Whether a detector wants events.
#[inline(always)]
pub(crate) fn is_listening() -> bool {
    LISTENING.load(Ordering::Relaxed)
}

fn detector() -> MutexGuard<'static, Option<Incremental>> {
    DETECTOR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the detector that the options name, if it is one of these.
pub(crate) fn init() {
    let options = options::get();
    if options.engine != Engine::General || options.detector == "none" {
        return;
    }
    let which = match options.detector.parse::<Which>() {
        Ok(which) => which,
        Err(error) => crate::fatal(&format!("detector: {error}")),
    };
    let wanted = Options {
        all_pairs: options.all_pairs,
        ..Options::default()
    };
    *detector() = Some(Incremental::new(which, Space::Addresses, &wanted));
    // The others ask who accessed a location last: to them it does.
    let by_epochs = matches!(which, Which::Djit | Which::Hybrid);
    FILTERING.store(by_epochs, Ordering::Relaxed);
    LISTENING.store(true, Ordering::Relaxed);
}

/// Nobody listens any more.
pub(crate) fn finish() {
    LISTENING.store(false, Ordering::Relaxed);
}

/// Hands a thread's events over, and reports what they led to.
pub(crate) fn hand_over(thread: &mut Thread) {
    let _errno = Errno::keep();
    let guard = detector();
    hand_over_to(guard, thread);
}

fn hand_over_to(mut guard: MutexGuard<'_, Option<Incremental>>, thread: &mut Thread) {
    let Some(detector) = guard.as_mut() else {
        return;
    };
    let warnings = detector.feed(&thread.collected.events).to_vec();
    drop(guard);
    thread.collected.events.clear();
    for warning in &warnings {
        report::warning(thread, warning);
    }
}

fn collect(thread: &mut Thread, context: Context, op: Op) {
    let event = Event {
        thread: ThreadId(thread.number),
        site: SiteId(context.0),
        op,
    };
    thread.collected.events.push(event);
}

/// Notes an event that takes something, or nothing.
pub(crate) fn takes(thread: &mut Thread, context: Context, op: Op) {
    collect(thread, context, op);
    if thread.collected.events.len() >= BATCH {
        hand_over(thread);
    }
}

/// Notes an event that gives something away: everything up to it is handed over.
pub(crate) fn gives(thread: &mut Thread, context: Context, op: Op) {
    collect(thread, context, op);
    thread.collected.epoch += 1;
    hand_over(thread);
}

/// Carries an atomic operation out, with the detector held.
pub(crate) fn atomically(
    thread: &mut Thread,
    context: Context,
    operation: impl FnOnce(&mut Thread) -> Op,
) {
    let _errno = Errno::keep();
    let guard = detector();
    let op = operation(thread);
    if is_listening() {
        collect(thread, context, op);
        thread.collected.epoch += 1;
        hand_over_to(guard, thread);
    }
}

/// Notes an access, unless it says nothing new.
fn access(address: usize, size: usize, write: bool, place: usize) {
    let visit = Visit::begin();
    let thread = visit.thread();
    if thread.ignore != 0 || !is_listening() || benign::holds(address, size) {
        return;
    }
    let context = thread.context_of(visit.hot(), place);
    let mark = address as u64 ^ u64::from(context.0) << 40 ^ size as u64;
    if FILTERING.load(Ordering::Relaxed) && thread.collected.has_noted(mark, write) {
        return;
    }
    let (loc, size) = (Loc(address as u64), size.min(u32::MAX as usize) as u32);
    let op = match write {
        true => Op::Write { loc, size },
        false => Op::Read { loc, size },
    };
    takes(thread, context, op);
}

impl Collected {
    /// Whether the same access was noted in this epoch; it is from now on.
    fn has_noted(&mut self, access: u64, write: bool) -> bool {
        if self.filter.is_empty() {
            self.filter = vec![0; FILTER];
        }
        let mark = (access ^ self.epoch << 20).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            | u64::from(write) << 1
            | 1;
        let slot = (mark >> 40) as usize % FILTER;
        std::mem::replace(&mut self.filter[slot], mark) == mark
    }
}

extern "C" fn slow<const SIZE: usize, const WRITE: bool>(address: usize, place: usize) {
    access(address, SIZE, WRITE, place);
}

/// The slow paths: all accesses come here.
pub(crate) fn slow_paths() -> [extern "C" fn(usize, usize); 10] {
    [
        slow::<1, false>,
        slow::<2, false>,
        slow::<4, false>,
        slow::<8, false>,
        slow::<16, false>,
        slow::<1, true>,
        slow::<2, true>,
        slow::<4, true>,
        slow::<8, true>,
        slow::<16, true>,
    ]
}

/// An access of any size.
pub(crate) fn range(_visit: &Visit, range: &Access) {
    if range.size != 0 {
        let write = range.kind == AccessKind::Write;
        access(range.address, range.size, write, range.place);
    }
}
