//! Queues of messages and semaphores between processes, POSIX's and System V's.
//!
//! A POSIX queue is a descriptor, so it can be told when something can be done with
//! it. Of the others it cannot: they are tried again and again.

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};

use super::descriptors::{Outcome, gets, hands_on, uses};
use super::{Call, callbacks, interpose};
use crate::control::Came;
use crate::control::clock::Until;
use crate::sync;
use crate::thread::Visit;

type Queue = libc::mqd_t;

mod real {
    use std::ffi::{c_int, c_long, c_void};

    unsafe extern "C" {
        pub(super) fn mq_notify(queue: libc::mqd_t, event: *const libc::sigevent) -> c_int;
        pub(super) fn msgrcv(
            queue: c_int,
            to: *mut c_void,
            size: usize,
            sort: c_long,
            flags: c_int,
        ) -> isize;
    }
}

/// Does something with a queue when that is possible without waiting, if in time.
unsafe fn when_ready<R: Outcome>(
    call: &Call,
    queue: Queue,
    events: i16,
    timeout: *const libc::timespec,
    real: impl FnOnce() -> R,
) -> R {
    // SAFETY: a time, or null.
    let until = unsafe { timeout.as_ref() };
    let until = until.map(|time| Until::Shows(libc::CLOCK_REALTIME, *time));
    match call.awaits(queue, events, until) {
        Came::Fulfilled => real(),
        Came::TimedOut => R::fails(libc::ETIMEDOUT),
        Came::Interrupted => R::fails(libc::EINTR),
    }
}

unsafe fn sends(
    queue: Queue,
    (from, size): (*const c_char, usize),
    timeout: *const libc::timespec,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    call.reads(from, size);
    // SAFETY: what the program gave.
    uses(&call, queue, || unsafe {
        when_ready(&call, queue, libc::POLLOUT, timeout, || {
            hands_on(&call, queue);
            real()
        })
    })
}

unsafe fn receives(
    queue: Queue,
    to: *mut c_char,
    priority: *mut c_uint,
    timeout: *const libc::timespec,
    real: impl FnOnce() -> isize,
) -> isize {
    let Some(call) = Call::begin() else {
        return real();
    };
    // SAFETY: what the program gave.
    let got = gets(&call, queue, || unsafe {
        when_ready(&call, queue, libc::POLLIN, timeout, real)
    });
    if got >= 0 {
        call.writes(to, got as usize);
        call.writes(priority, size_of::<c_uint>());
    }
    got
}

/// An object of System V, and what is done with it: something is given, for others to
/// take, or taken.
struct Deed {
    object: c_int,
    gives: bool,
    takes: bool,
    /// Whether it may have to wait.
    waits: bool,
}

impl Deed {
    /// What stands for the object. Several may have the same: then more is in order than
    /// the program says.
    fn address(&self) -> usize {
        static OBJECTS: [u64; 256] = [0; 256];
        &raw const OBJECTS[self.object as usize % OBJECTS.len()] as usize
    }
}

/// Does something with an object of System V, which `attempt` only tries.
fn persists<R: Outcome>(deed: &Deed, attempt: impl FnMut() -> R, real: impl FnOnce() -> R) -> R {
    let Some(call) = Call::begin() else {
        return real();
    };
    if deed.gives {
        sync::post(&Visit::begin(), deed.address(), call.place);
    }
    let result = if deed.waits {
        let is_busy = |error| error == libc::EAGAIN || error == libc::ENOMSG;
        call.persists(attempt, is_busy, real)
    } else {
        if let Some(turn) = call.turn() {
            turn.touch();
        }
        real()
    };
    if deed.takes && !result.failed() {
        sync::take(&Visit::begin(), deed.address(), call.place);
    }
    result
}

/// What these operations do: who raises a semaphore gives, who lowers it or waits for zero
/// takes.
unsafe fn deed(set: c_int, operations: *const libc::sembuf, count: usize) -> Deed {
    // SAFETY: the caller has that many.
    let all = || (0..count).map(|i| unsafe { operations.add(i).read() });
    let waits = |operation: libc::sembuf| c_int::from(operation.sem_flg) & libc::IPC_NOWAIT == 0;
    Deed {
        object: set,
        gives: all().any(|operation| operation.sem_op > 0),
        takes: all().any(|operation| operation.sem_op <= 0),
        waits: all().all(waits),
    }
}

/// The same operations, without waiting.
unsafe fn attempt(set: c_int, operations: *const libc::sembuf, count: usize) -> c_int {
    /// The kernel's limit.
    const MOST: usize = 500;
    // SAFETY: zeroes are an operation.
    let mut tried: [libc::sembuf; MOST] = unsafe { std::mem::zeroed() };
    let count = count.min(MOST);
    for (i, tried) in tried[..count].iter_mut().enumerate() {
        // SAFETY: the caller has that many.
        *tried = unsafe { operations.add(i).read() };
        tried.sem_flg |= libc::IPC_NOWAIT as i16;
    }
    // SAFETY: that many of our own.
    unsafe { libc::semop(set, tried.as_mut_ptr(), count) }
}

interpose! {
    fn mq_send(queue: Queue, from: *const c_char, size: usize, priority: c_uint) -> c_int {
        sends(queue, (from, size), std::ptr::null(), || libc::mq_send(queue, from, size, priority))
    }

    fn mq_timedsend(
        queue: Queue,
        from: *const c_char,
        size: usize,
        priority: c_uint,
        timeout: *const libc::timespec,
    ) -> c_int {
        sends(queue, (from, size), timeout, || {
            libc::mq_timedsend(queue, from, size, priority, timeout)
        })
    }

    fn mq_receive(queue: Queue, to: *mut c_char, size: usize, priority: *mut c_uint) -> isize {
        receives(queue, to, priority, std::ptr::null(), || {
            libc::mq_receive(queue, to, size, priority)
        })
    }

    fn mq_timedreceive(
        queue: Queue,
        to: *mut c_char,
        size: usize,
        priority: *mut c_uint,
        timeout: *const libc::timespec,
    ) -> isize {
        receives(queue, to, priority, timeout, || {
            libc::mq_timedreceive(queue, to, size, priority, timeout)
        })
    }

    fn mq_notify(queue: Queue, event: *const libc::sigevent) -> c_int {
        let Some(call) = Call::begin() else {
            return real::mq_notify(queue, event);
        };
        uses(&call, queue, || match callbacks::around(event, Some(queue)) {
            Some((event, at)) => {
                call.hands_on(at);
                real::mq_notify(queue, &raw const event)
            }
            None => real::mq_notify(queue, event),
        })
    }

    fn msgsnd(queue: c_int, from: *const c_void, size: usize, flags: c_int) -> c_int {
        let waits = flags & libc::IPC_NOWAIT == 0;
        persists(
            &Deed { object: queue, gives: true, takes: false, waits },
            || libc::msgsnd(queue, from, size, flags | libc::IPC_NOWAIT),
            || libc::msgsnd(queue, from, size, flags),
        )
    }

    fn msgrcv(queue: c_int, to: *mut c_void, size: usize, sort: c_long, flags: c_int) -> isize {
        let waits = flags & libc::IPC_NOWAIT == 0;
        persists(
            &Deed { object: queue, gives: false, takes: true, waits },
            || real::msgrcv(queue, to, size, sort, flags | libc::IPC_NOWAIT),
            || real::msgrcv(queue, to, size, sort, flags),
        )
    }

    fn semop(set: c_int, operations: *mut libc::sembuf, count: usize) -> c_int {
        persists(
            &deed(set, operations, count),
            || attempt(set, operations, count),
            || libc::semop(set, operations, count),
        )
    }
}
