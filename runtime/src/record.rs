//! What threads do, told to those who want to know it as events: a detector that
//! has no shadow words, and the trace that is being recorded.
//!
//! What one gives away is told before others can take it, and what one takes is
//! told after it was taken; see [`general`] and [`tape`] for what they make of it.

use std::time::Duration;

use racehound_detect::AccessKind;
use racehound_detect::order::AtomicOp;
use racehound_trace::{Loc, MemoryOrder, Mode, Op, SyncId, ThreadId};

use crate::access::Access;
use crate::context::Context;
use crate::sweep::Pause;
use crate::tape::{self, Recorder};
use crate::thread::{Thread, Visit};
use crate::tls::hot;
use crate::{benign, general, registry};

/// Begins to listen, as far as the options want that.
pub(crate) fn init() {
    general::init();
    tape::init();
}

/// Whether anybody wants events.
#[inline(always)]
pub(crate) fn is_active() -> bool {
    general::is_listening() || tape::is_recording()
}

/// The context of `place` in the current call, or of the call itself. Who has ended is in
/// none.
fn context(thread: &mut Thread, place: usize) -> Context {
    // SAFETY: our own block.
    let has_ended = unsafe { (*hot()).top.is_null() };
    match place {
        _ if has_ended => Context::ROOT,
        0 => thread.context(0),
        place => thread.context_of(hot(), place),
    }
}

/// Whether a trace is wanted, with every access.
#[inline(always)]
pub(crate) fn is_recorded() -> bool {
    tape::is_recording()
}

/// Tells of an event that takes something, or nothing.
#[inline]
fn takes(thread: &mut Thread, place: usize, op: Op) {
    if is_active() {
        tell_taken(thread, place, op);
    }
}

#[inline(never)]
fn tell_taken(thread: &mut Thread, place: usize, op: Op) {
    let context = context(thread, place);
    if general::is_listening() {
        general::takes(thread, context, op);
    }
    if tape::is_recording() {
        thread.settle_log();
        thread.recorder.event(thread.number, context, &op);
    }
}

/// Tells of an event that gives something away.
#[inline]
fn gives(thread: &mut Thread, place: usize, op: Op) {
    if is_active() {
        tell_given(thread, place, op);
    }
}

#[inline(never)]
fn tell_given(thread: &mut Thread, place: usize, op: Op) {
    let context = context(thread, place);
    if general::is_listening() {
        general::gives(thread, context, op);
    }
    if tape::is_recording() {
        thread.settle_log();
        thread.recorder.event(thread.number, context, &op);
        thread.recorder.add();
    }
}

/// Tells the tape that an atomic region begins or ends; that orders nothing.
pub(crate) fn region(visit: &Visit, place: usize, op: Op) {
    let thread = visit.thread();
    if tape::is_recording() && thread.ignore == 0 {
        let context = context(thread, place);
        thread.settle_log();
        thread.recorder.event(thread.number, context, &op);
    }
}

/// Tells the tape that the thread has jumped out of calls: it is in so many only.
pub(crate) fn left_calls(visit: &Visit, depth: usize) {
    let thread = visit.thread();
    if tape::is_recording() {
        thread.settle_log();
        let context = context(thread, 0);
        thread.recorder.leave_calls(thread.number, context, depth);
    }
}

/// Tells the tape of an access of any size; detectors look for themselves.
#[inline(always)]
pub(crate) fn range(visit: &Visit, access: &Access) {
    if tape::is_recording() {
        note_range(visit, access);
    }
}

fn note_range(visit: &Visit, access: &Access) {
    let thread = visit.thread();
    let is_nothing = access.size == 0 || benign::holds(access.address, access.size);
    if thread.ignore != 0 || is_nothing {
        return;
    }
    let (loc, size) = extent(access.address, access.size);
    let op = match access.kind {
        AccessKind::Write => Op::Write { loc, size },
        AccessKind::AtomicWrite => Op::AtomicStore {
            loc,
            size,
            order: MemoryOrder::Relaxed,
        },
        AccessKind::Read | AccessKind::AtomicRead => Op::Read { loc, size },
    };
    let context = thread.context_of(visit.hot(), access.place);
    thread.settle_log();
    thread.recorder.event(thread.number, context, &op);
}

fn extent(address: usize, size: usize) -> (Loc, u32) {
    (Loc(address as u64), size.min(u32::MAX as usize) as u32)
}

/// An atomic operation, as an event.
pub(crate) fn atomic_op((address, size): (usize, usize), op: AtomicOp, order: MemoryOrder) -> Op {
    let (loc, size) = extent(address, size);
    match op {
        AtomicOp::Load => Op::AtomicLoad { loc, size, order },
        AtomicOp::Store => Op::AtomicStore { loc, size, order },
        AtomicOp::Rmw => Op::AtomicRmw { loc, size, order },
    }
}

/// Tells the tape of an atomic operation that has just happened, before anybody
/// else can have one at the same location.
#[inline]
pub(crate) fn atomic(thread: &mut Thread, place: usize, op: Op) {
    if tape::is_recording() && thread.ignore == 0 && thread.ignore_sync == 0 {
        let context = context(thread, place);
        thread.settle_log();
        thread.recorder.event(thread.number, context, &op);
        thread.recorder.add();
    }
}

pub(crate) fn fork(thread: &mut Thread, child: u32) {
    gives(
        thread,
        0,
        Op::Fork {
            child: ThreadId(child),
        },
    );
}

/// The thread ends.
pub(crate) fn end(thread: &mut Thread) {
    if general::is_listening() {
        general::hand_over(thread);
    }
    if tape::is_recording() {
        thread.recorder.add();
    }
}

pub(crate) fn join(thread: &mut Thread, child: u32) {
    takes(
        thread,
        0,
        Op::Join {
            child: ThreadId(child),
        },
    );
}

#[inline]
pub(crate) fn acquire(thread: &mut Thread, lock: SyncId, mode: Mode, place: usize) {
    takes(thread, place, Op::Acquire { lock, mode });
}

#[inline]
pub(crate) fn release(thread: &mut Thread, lock: SyncId, mode: Mode, place: usize) {
    gives(thread, place, Op::Release { lock, mode });
}

pub(crate) fn wait(thread: &mut Thread, cond: SyncId, place: usize) {
    gives(thread, place, Op::Wait { cond, lock: None });
}

pub(crate) fn wake(thread: &mut Thread, cond: SyncId, notified: bool, place: usize) {
    takes(
        thread,
        place,
        Op::Wake {
            cond,
            lock: None,
            notified,
        },
    );
}

pub(crate) fn notify(thread: &mut Thread, cond: SyncId, everybody: bool, place: usize) {
    let op = match everybody {
        true => Op::NotifyAll { cond },
        false => Op::NotifyOne { cond, woken: None },
    };
    gives(thread, place, op);
}

pub(crate) fn post(thread: &mut Thread, sem: SyncId, place: usize) {
    gives(thread, place, Op::SemPost { sem });
}

/// Told at once: others may give there meanwhile, and the thread has not taken it.
pub(crate) fn take(thread: &mut Thread, sem: SyncId, place: usize) {
    gives(thread, place, Op::SemWait { sem });
}

pub(crate) fn arrive(thread: &mut Thread, barrier: SyncId, place: usize) {
    gives(thread, place, Op::BarrierArrive { barrier });
}

pub(crate) fn depart(thread: &mut Thread, barrier: SyncId, place: usize) {
    takes(thread, place, Op::BarrierLeave { barrier });
}

pub(crate) fn fence(thread: &mut Thread, order: MemoryOrder, place: usize) {
    gives(thread, place, Op::Fence { order });
}

/// A block was allocated; `written` if that counts as a write to it.
#[inline]
pub(crate) fn alloc(thread: &mut Thread, address: usize, size: usize, written: bool, place: usize) {
    if size == 0 {
        return;
    }
    let (loc, length) = extent(address, size);
    takes(thread, place, Op::Alloc { loc, size: length });
    if written {
        self::written(thread, address, size, place);
    }
}

/// Memory counts as written by the thread; detectors with shadow words know.
pub(crate) fn written(thread: &mut Thread, address: usize, size: usize, place: usize) {
    let (loc, size) = extent(address, size);
    takes(thread, place, Op::Write { loc, size });
}

/// A block is about to be freed: somebody else may get it then.
#[inline]
pub(crate) fn free(thread: &mut Thread, address: usize, size: usize, place: usize) {
    if size != 0 {
        let (loc, size) = extent(address, size);
        gives(thread, place, Op::Free { loc, size });
    }
}

/// A stretch of memory has no past any more.
pub(crate) fn forget(thread: &mut Thread, address: usize, size: usize) {
    /// An event cannot be about more.
    const MOST: usize = 1 << 31;
    if !is_active() {
        return;
    }
    let end = address + size;
    for address in (address..end).step_by(MOST) {
        let (loc, size) = extent(address, MOST.min(end - address));
        gives(thread, 0, Op::Alloc { loc, size });
    }
}

/// The process ends: what is collected is told, for all threads.
pub(crate) fn finish() {
    if !is_active() {
        return;
    }
    let visit = Visit::begin();
    let me = visit.thread();
    // Whoever is in the runtime may wait for something that this thread has, if it
    // is in the middle of a report. Then the trace is that of the others up to what
    // they have told.
    let pause = Pause::within(PATIENCE);
    if pause.is_some() {
        registry::peek_logs(visit.hot());
        for other in registry::others(me) {
            end(other);
        }
    }
    me.settle_log();
    end(me);
    general::finish();
    tape::finish();
}

/// How long the end of the process waits for others to leave the runtime.
const PATIENCE: Duration = Duration::from_millis(200);

/// The current thread's accesses so far are told, with what their places mean now.
pub(crate) fn settle() {
    if tape::is_recording() {
        Visit::begin().thread().settle_log();
    }
}

/// Another thread may go on: what the current one did comes before what that does.
pub(crate) fn hand_over() {
    if tape::is_recording() {
        let visit = Visit::begin();
        let thread = visit.thread();
        thread.settle_log();
        thread.recorder.add();
    }
}

/// Places may get new meanings.
pub(crate) fn forget_places() {
    if tape::is_recording() {
        tape::forget_places();
    }
}

/// Everything that the current thread has to tell is in the file: before a fork, and
/// before the process dies while others stand still.
pub(crate) fn save(thread: &mut Thread) {
    thread.settle_log();
    end(thread);
    tape::flush();
}

/// In the child of a fork, what threads did that are not there is over for its
/// detector; and it is recorded by itself, with the locks that it has got.
pub(crate) fn in_child(thread: &mut Thread, gone: &[u32]) {
    if general::is_listening() {
        for &number in gone {
            let child = ThreadId(number);
            general::takes(thread, Context::ROOT, Op::Join { child });
        }
    }
    if !tape::in_child() {
        return;
    }
    for other in registry::others(thread) {
        other.recorder = Recorder::default();
    }
    thread.recorder = Recorder::default();
    for held in thread.held.all() {
        let (lock, mode) = (held.hold.lock, held.hold.mode);
        let op = Op::Acquire { lock, mode };
        thread.recorder.event(thread.number, held.taken, &op);
    }
}
