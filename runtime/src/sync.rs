//! Synchronisation as the program performs it: each operation changes what
//! threads know, and is told to the recorder.
//!
//! The functions here are called on the safe side of the real operation: what
//! gives something away comes before it, what takes something comes after it,
//! so nobody can take what has not been given.

use racehound_detect::AccessKind;
use racehound_detect::order::AtomicOp;
use racehound_trace::{MemoryOrder, Mode};

use crate::cell::Cell;
use crate::deadlock;
use crate::detector::{self, Engine};
use crate::locks::Hold;
use crate::messages;
use crate::objects::{self, Held};
use crate::record;
use crate::report::{self, Misuse};
use crate::shadow;
use crate::shared_memory;
use crate::stamp::Stamp;
use crate::thread::{Thread, Visit};
use crate::triggers;

/// What is said of a lock when it is made or used.
#[derive(Clone, Copy, Default)]
pub(crate) struct Traits {
    pub(crate) recursive: bool,
    /// The lock was only tried for.
    pub(crate) tried: bool,
    /// It was free when the thread wanted to have it, so nothing was told of that
    /// before.
    pub(crate) at_once: bool,
    /// Depth gained at once, when a wait gives a recursive lock back.
    pub(crate) depth: u32,
}

/// A lock is made.
pub(crate) fn create(visit: &Visit, address: usize, traits: Traits, place: usize) {
    let thread = visit.thread();
    if let Some(object) = objects::existing(address) {
        let again = object.mutex.owner != 0;
        drop(object);
        if !again {
            objects::forget(thread, address);
        }
    }
    let mut object = objects::at(thread, address, place);
    object.mutex.recursive = traits.recursive;
    object.mutex.was_made = true;
    object.mutex.first_use = thread.stamp(visit.hot(), place);
    object.made = thread.context(place);
    objects::made(object.id, object.made);
}

/// A lock is destroyed.
pub(crate) fn destroy(visit: &Visit, address: usize, place: usize) {
    let thread = visit.thread();
    let Some(mut object) = objects::existing(address) else {
        return;
    };
    let mutex = object.mutex;
    let wrong = (mutex.owner != 0 || mutex.readers != 0) && !mutex.broken;
    object.mutex.broken |= wrong;
    object.mutex.owner = 0;
    object.mutex.depth = 0;
    object.mutex.readers = 0;
    let id = object.id();
    let node = std::mem::take(&mut object.mutex.node);
    drop(object);
    if node != 0 {
        deadlock::forget(node);
    }
    if thread.held.all().iter().any(|h| h.hold.lock == id) {
        thread.held.forget(id);
        thread.locks_changed();
    }
    if wrong {
        report::misuse(thread, Misuse::DestroyLocked, id.0, place, mutex.taken);
    }
    // Whoever used the lock last must be known to have finished with it.
    let last = (mutex.last_use, AccessKind::AtomicRead);
    must_be_over(visit, address, last, AccessKind::Write, place);
    objects::forget(thread, address);
}

/// The process was copied: locks in memory that both have are its parent's.
pub(crate) fn left_to_parent(visit: &Visit) {
    let thread = visit.thread();
    let held: Vec<_> = thread.held.all().iter().map(|h| h.hold.lock).collect();
    for id in held {
        let address = objects::past(id.0).map(|past| past.address);
        let Some(address) = address.filter(|&address| shared_memory::whose(address).is_some())
        else {
            continue;
        };
        if let Some(mut object) = objects::existing(address) {
            object.mutex.owner = 0;
            object.mutex.depth = 0;
            object.mutex.readers = 0;
        }
        thread.held.forget(id);
        thread.locks_changed();
    }
}

/// Reports an earlier use of a lock that is not known to be over, now that the
/// thread uses it.
fn must_be_over(
    visit: &Visit,
    address: usize,
    before: (Stamp, AccessKind),
    now: AccessKind,
    place: usize,
) {
    let thread = visit.thread();
    let over = |stamp: Stamp| stamp.is_none() || thread.made(stamp) || thread.knows(stamp);
    // A detector that has no shadow words does not go by what threads know.
    let unknown = detector::engine() == Engine::General;
    if over(before.0) || thread.ignore != 0 || unknown {
        return;
    }
    let race = report::Race {
        address,
        access_address: address,
        access_size: 1,
        now: (thread.stamp(visit.hot(), place), now),
        before,
        before_bytes: (address, 1),
        racing: 1,
        reason: racehound_detect::Reason::Unordered,
    };
    report::race(thread, race);
}

/// The thread is about to wait for a lock.
pub(crate) fn about_to_lock(
    visit: &Visit,
    address: usize,
    mode: Mode,
    traits: Traits,
    place: usize,
) {
    let thread = visit.thread();
    if thread.ignore_sync != 0 {
        return;
    }
    let mut object = objects::at(thread, address, place);
    let mutex = &mut object.mutex;
    let recursive = traits.recursive || mutex.recursive;
    if mutex.owner == thread.number + 1 && !recursive && !mutex.broken {
        mutex.broken = true;
        let (id, before) = (object.id, object.mutex.taken);
        drop(object);
        let misuse = match mode {
            Mode::Exclusive => Misuse::DoubleLock,
            Mode::Shared => Misuse::ReadLockOfWriteLocked,
        };
        return report::misuse(thread, misuse, id, place, before);
    }
    if !traits.tried && crate::options::get().detect_deadlocks {
        deadlock::before_lock(thread, object, place);
    }
}

/// The C library says that there is no lock.
pub(crate) fn invalid(visit: &Visit, address: usize, place: usize) {
    let thread = visit.thread();
    let object = objects::at(thread, address, place);
    let (id, before) = (object.id, object.mutex.taken);
    drop(object);
    report::misuse(thread, Misuse::Destroyed, id, place, before);
}

/// The thread has taken a lock.
pub(crate) fn acquired(visit: &Visit, address: usize, mode: Mode, traits: Traits, place: usize) {
    triggers::collect(visit, place, address);
    let thread = visit.thread();
    if thread.ignore_sync != 0 {
        return;
    }
    if traits.at_once && !thread.held.all().is_empty() {
        about_to_lock(visit, address, mode, traits, place);
    }
    let taken = thread.context_of(visit.hot(), place);
    let mut object = objects::at(thread, address, place);
    // Whoever made it must be known to have finished; if not, once is enough.
    let first = object.mutex.first_use;
    if !first.is_none() && !thread.made(first) && !thread.knows(first) {
        object.mutex.first_use = Stamp::NONE;
        drop(object);
        let made = (first, AccessKind::Write);
        must_be_over(visit, address, made, AccessKind::AtomicRead, place);
        object = objects::at(thread, address, place);
    }
    let mut misuse = None;
    let me = thread.number + 1;
    object.mutex.recursive |= traits.recursive;
    let mutex = &mut object.mutex;
    let depth = traits.depth.max(1);
    match mode {
        Mode::Exclusive => {
            let held = mutex.owner != 0 && (mutex.owner != me || !mutex.recursive);
            if held && !mutex.broken {
                misuse = Some(Misuse::DoubleLock);
                mutex.broken = true;
            }
            mutex.depth = match mutex.owner == me {
                true => mutex.depth + depth,
                false => depth,
            };
            mutex.owner = me;
        }
        Mode::Shared => {
            if mutex.owner != 0 && !mutex.broken {
                misuse = Some(Misuse::ReadLockOfWriteLocked);
                mutex.broken = true;
            }
            mutex.readers += 1;
        }
    }
    let before = mutex.taken;
    mutex.taken = taken;
    let id = object.id();
    if thread.held.push(id, mode, taken) {
        thread.synchronise_by_lock(|sync, t| sync.enter(t, mode, &object.order));
        thread.locks_changed();
        record::acquire(thread, id, mode, place);
    }
    for _ in 1..depth {
        thread.held.push(id, mode, taken);
    }
    if crate::options::get().detect_deadlocks {
        deadlock::after_lock(&mut object);
    }
    drop(object);
    if let Some(misuse) = misuse {
        report::misuse(thread, misuse, id.0, place, before);
    }
}

/// The thread gives a lock back. How deep it still holds it.
pub(crate) fn releasing(visit: &Visit, address: usize, mode: Option<Mode>, place: usize) -> u32 {
    let thread = visit.thread();
    if thread.ignore_sync != 0 {
        return 0;
    }
    let last_use = thread.stamp(visit.hot(), place);
    let mut object = objects::at(thread, address, place);
    let me = thread.number + 1;
    let id = object.id();
    let before = object.mutex.taken;
    let mutex = &mut object.mutex;
    let mut misuse = None;
    let mode = match mode {
        Some(mode) => mode,
        // A rwlock's unlock serves both.
        None if mutex.owner == me => Mode::Exclusive,
        None if mutex.readers > 0 => Mode::Shared,
        None => Mode::Exclusive,
    };
    match mode {
        Mode::Exclusive if mutex.owner == me => {
            mutex.depth -= 1;
            if mutex.depth == 0 {
                mutex.owner = 0;
            }
        }
        Mode::Exclusive => {
            if !mutex.broken {
                misuse = Some(Misuse::UnlockUnlocked);
                mutex.broken = true;
            }
        }
        Mode::Shared => {
            if mutex.readers == 0 && !mutex.broken {
                misuse = Some(Misuse::ReadUnlockOfWriteLocked);
                mutex.broken = true;
            }
            mutex.readers = mutex.readers.saturating_sub(1);
        }
    }
    let left = mutex.depth;
    mutex.last_use = last_use;
    if thread.held.pop(id, mode) {
        record::release(thread, id, mode, place);
        let object: &mut Held = &mut object;
        thread.synchronise_by_lock(|sync, t| sync.leave(t, mode, &mut object.order));
        thread.locks_changed();
    }
    drop(object);
    if let Some(misuse) = misuse {
        report::misuse(thread, misuse, id.0, place, before);
    }
    left
}

/// The thread has ended and still holds locks: who gets one of them because its holder
/// died knows what it knew.
pub(crate) fn leave_behind(thread: &mut Thread) {
    while let Some(holding) = thread.held.all().last().copied() {
        let Hold { lock, mode } = holding.hold;
        thread.held.forget(lock);
        let object = objects::past(lock.0).and_then(|past| objects::existing(past.address));
        let Some(mut object) = object.filter(|object| object.id() == lock) else {
            continue;
        };
        record::release(thread, lock, mode, 0);
        let object: &mut Held = &mut object;
        thread.synchronise(|sync, t| sync.leave(t, mode, &mut object.order));
    }
}

/// The lock's holder died: it is free, in a state to be repaired.
pub(crate) fn holder_died(visit: &Visit, address: usize, place: usize) {
    let mut object = objects::at(visit.thread(), address, place);
    object.mutex.owner = 0;
    object.mutex.depth = 0;
}

/// The thread begins to wait for a condition; the lock is given up. How deep it
/// was held.
pub(crate) fn waiting(visit: &Visit, condition: usize, lock: usize, place: usize) -> u32 {
    let thread = visit.thread();
    if thread.ignore_sync != 0 {
        return 1;
    }
    let mut depth = 1;
    while releasing(visit, lock, Some(Mode::Exclusive), place) != 0 {
        depth += 1;
    }
    let mut object = objects::at(thread, condition, place);
    let id = object.id();
    thread.synchronise(|sync, t| sync.wait(t, &mut object.order, None));
    drop(object);
    record::wait(thread, id, place);
    depth
}

/// The wait is over, and the thread has the lock back.
pub(crate) fn woken(
    visit: &Visit,
    condition: usize,
    lock: usize,
    depth: u32,
    notified: bool,
    place: usize,
) {
    let thread = visit.thread();
    if thread.ignore_sync != 0 {
        return triggers::collect(visit, place, lock);
    }
    let mut object = objects::at(thread, condition, place);
    let id = object.id();
    thread.synchronise(|sync, t| sync.wake(t, &mut object.order, notified));
    drop(object);
    record::wake(thread, id, notified, place);
    let traits = Traits {
        depth,
        ..Traits::default()
    };
    acquired(visit, lock, Mode::Exclusive, traits, place);
}

/// The thread wakes those who wait for a condition.
pub(crate) fn notify(visit: &Visit, condition: usize, everybody: bool, place: usize) {
    let thread = visit.thread();
    if thread.ignore_sync != 0 {
        return;
    }
    let mut object = objects::at(thread, condition, place);
    let id = object.id();
    record::notify(thread, id, everybody, place);
    thread.synchronise(|sync, t| sync.notify(t, &mut object.order, None));
}

/// The thread hands on what it knows to whoever [`take`]s from there.
pub(crate) fn post(visit: &Visit, address: usize, place: usize) {
    let thread = visit.thread();
    if thread.ignore_sync != 0 {
        return;
    }
    let mut object = objects::at(thread, address, place);
    let id = object.id();
    record::post(thread, id, place);
    thread.synchronise(|sync, t| sync.post(t, &mut object.order));
}

/// The thread learns what was handed on there.
pub(crate) fn take(visit: &Visit, address: usize, place: usize) {
    let thread = visit.thread();
    if thread.ignore_sync != 0 {
        return;
    }
    let object = objects::at(thread, address, place);
    let id = object.id();
    thread.synchronise(|sync, t| sync.take(t, &object.order));
    record::take(thread, id, place);
}

/// The thread learns what atomic operations have handed on there.
pub(crate) fn take_atomic(visit: &Visit, address: usize) {
    let thread = visit.thread();
    if thread.ignore_sync != 0 {
        return;
    }
    let address = shared_memory::known_as(address);
    let Some(mut cell) = Cell::existing(shadow::group(address)) else {
        return;
    };
    if let Some(message) = messages::find(&mut cell, address) {
        let (op, order) = (AtomicOp::Load, MemoryOrder::Acquire);
        thread.synchronise(|sync, t| sync.before_atomic(t, op, order, message));
    }
    cell.unlock();
}

/// The thread reaches a barrier.
pub(crate) fn arrive(visit: &Visit, address: usize, place: usize) {
    let thread = visit.thread();
    if thread.ignore_sync != 0 {
        return;
    }
    let mut object = objects::at(thread, address, place);
    let id = object.id();
    record::arrive(thread, id, place);
    thread.synchronise(|sync, t| sync.arrive(t, &mut object.order));
}

/// The thread leaves it: all have reached it.
pub(crate) fn depart(visit: &Visit, address: usize, place: usize) {
    let thread = visit.thread();
    if thread.ignore_sync != 0 {
        return;
    }
    let mut object = objects::at(thread, address, place);
    let id = object.id();
    thread.synchronise(|sync, t| sync.depart(t, &mut object.order));
    record::depart(thread, id, place);
}

/// The thread executes a fence.
pub(crate) fn fence(visit: &Visit, order: MemoryOrder, place: usize) {
    let thread = visit.thread();
    if thread.ignore_sync != 0 {
        return;
    }
    thread.synchronise(|sync, t| sync.fence(t, order));
    record::fence(thread, order, place);
}
