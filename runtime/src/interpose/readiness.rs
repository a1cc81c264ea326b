//! Waiting until descriptors are ready: `poll`, `select`, `epoll`.
//!
//! Who is told that something can be read has learnt what whoever put it there knew.

use std::ffi::c_int;

use super::descriptors::{self, Outcome, puts, uses};
use super::files::makes;
use super::mutex::Patience;
use super::{Call, interpose};
use crate::control::{self, Came, Turn, clock::Until};
use crate::thread::Visit;

mod real {
    use std::ffi::c_int;

    unsafe extern "C" {
        pub(super) fn epoll_pwait2(
            epoll: c_int,
            events: *mut libc::epoll_event,
            room: c_int,
            timeout: *const libc::timespec,
            mask: *const libc::sigset_t,
        ) -> c_int;
        pub(super) fn __poll_chk(
            fds: *mut libc::pollfd,
            count: libc::nfds_t,
            timeout: c_int,
            room: usize,
        ) -> c_int;
        pub(super) fn __ppoll_chk(
            fds: *mut libc::pollfd,
            count: libc::nfds_t,
            timeout: *const libc::timespec,
            mask: *const libc::sigset_t,
            room: usize,
        ) -> c_int;
    }
}

/// Waits under control, if need be, with other signals blocked if some are given.
fn ready(
    call: &Call,
    patience: Patience,
    mask: Option<&libc::sigset_t>,
    wait: impl FnOnce(&Turn) -> Came,
) -> Came {
    let Some(turn) = call.turn() else {
        return Came::Fulfilled;
    };
    turn.touch();
    match patience {
        Patience::Tries => Came::Fulfilled,
        _ => turn.with_mask(mask, || wait(&turn)),
    }
}

/// The signals that are blocked stay so.
const NO_MASK: *const libc::sigset_t = std::ptr::null();

/// So many milliseconds, as these calls have it.
fn milliseconds(timeout: c_int) -> Patience {
    match timeout {
        0 => Patience::Tries,
        1.. => Patience::Until(Until::Passed(timeout as u64 * 1_000_000)),
        _ => Patience::ForEver,
    }
}

/// So much time, or for ever.
unsafe fn at_most(timeout: *const libc::timespec) -> Patience {
    // SAFETY: a time, or null.
    match unsafe { timeout.as_ref() } {
        Some(time) => Patience::Until(Until::passed(time)),
        None => Patience::ForEver,
    }
}

/// Waits for events.
unsafe fn happens(
    epoll: c_int,
    events: *const libc::epoll_event,
    (patience, mask): (Patience, *const libc::sigset_t),
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    let mut entry = libc::pollfd {
        fd: epoll,
        events: libc::POLLIN,
        revents: 0,
    };
    let wait = |turn: &Turn| turn.await_descriptors(&raw mut entry, 1, patience.moment());
    // SAFETY: signals, or null.
    let mask = unsafe { mask.as_ref() };
    let count = uses(&call, epoll, || match ready(&call, patience, mask, wait) {
        Came::Fulfilled => real(),
        Came::TimedOut => 0,
        Came::Interrupted => Outcome::fails(libc::EINTR),
    });
    if count > 0 {
        descriptors::learns(&call, epoll);
        call.writes(events, count as usize * size_of::<libc::epoll_event>());
        for i in 0..count as usize {
            // SAFETY: the kernel has written that many.
            let event = unsafe { events.add(i).read_unaligned() };
            let incoming = event.events & !(libc::EPOLLOUT as u32) != 0;
            if incoming && let Some(fd) = descriptors::watched(epoll, event.u64) {
                descriptors::learns(&call, fd);
            }
        }
    }
    count
}

/// Waits for some of many descriptors.
unsafe fn polls(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
    (patience, mask): (Patience, *const libc::sigset_t),
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    let wait = |turn: &Turn| turn.await_descriptors(fds, count as usize, patience.moment());
    // SAFETY: signals, or null.
    let result = match ready(&call, patience, unsafe { mask.as_ref() }, wait) {
        Came::Fulfilled => real(),
        // SAFETY: what the program gave.
        Came::TimedOut => unsafe { libc::poll(fds, count, 0) },
        Came::Interrupted => Outcome::fails(libc::EINTR),
    };
    if result < 0 || fds.is_null() {
        return result;
    }
    for i in 0..count as usize {
        // SAFETY: the kernel has used that many.
        let entry = unsafe { fds.add(i) };
        // SAFETY: as above.
        let libc::pollfd { fd, revents, .. } = unsafe { entry.read() };
        call.reads(entry, std::mem::offset_of!(libc::pollfd, revents));
        // SAFETY: a field of it.
        call.writes(unsafe { &raw const (*entry).revents }, size_of::<i16>());
        if fd < 0 || revents & libc::POLLNVAL != 0 {
            continue;
        }
        uses(&call, fd, || 0);
        if revents & !libc::POLLOUT != 0 {
            descriptors::learns(&call, fd);
        }
    }
    result
}

/// What such sets ask for, as `poll` has it. Only under control somebody looks.
unsafe fn entries(count: c_int, sets: [*mut libc::fd_set; 3]) -> Vec<libc::pollfd> {
    let mut entries = Vec::new();
    if !control::is_on() {
        return entries;
    }
    let _visit = Visit::begin();
    for fd in 0..count {
        let mut events = 0;
        for (set, event) in sets
            .iter()
            .zip([libc::POLLIN, libc::POLLOUT, libc::POLLPRI])
        {
            // SAFETY: the caller has that many bits, or none.
            if !set.is_null() && unsafe { includes(*set, fd) } {
                events |= event;
            }
        }
        if events != 0 {
            entries.push(libc::pollfd {
                fd,
                events,
                revents: 0,
            });
        }
    }
    entries
}

/// Whether a descriptor is in a set. Programs may have larger sets than the type has
/// room for.
unsafe fn includes(set: *const libc::fd_set, fd: c_int) -> bool {
    // SAFETY: the caller has that many bits.
    unsafe { set.cast::<u64>().add(fd as usize / 64).read() >> (fd % 64) & 1 != 0 }
}

/// The same with sets of them: those to be read come first.
unsafe fn selects(
    count: c_int,
    sets: [*mut libc::fd_set; 3],
    (patience, mask): (Patience, *const libc::sigset_t),
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    let bytes = usize::try_from(count).unwrap_or(0).div_ceil(64) * 8;
    for set in sets {
        call.reads(set, bytes);
    }
    // SAFETY: the program has sets of that many bits, and signals, or null.
    let (mut wanted, mask) = unsafe { (entries(count, sets), mask.as_ref()) };
    let wait =
        |turn: &Turn| turn.await_descriptors(wanted.as_mut_ptr(), wanted.len(), patience.moment());
    let result = match ready(&call, patience, mask, wait) {
        Came::Fulfilled => real(),
        Came::TimedOut => {
            for set in sets.into_iter().filter(|set| !set.is_null()) {
                // SAFETY: as above.
                unsafe { set.cast::<u8>().write_bytes(0, bytes) };
            }
            0
        }
        Came::Interrupted => Outcome::fails(libc::EINTR),
    };
    if result < 0 {
        return result;
    }
    for (i, set) in sets.into_iter().enumerate() {
        call.writes(set, bytes);
        if set.is_null() {
            continue;
        }
        for fd in 0..count {
            // SAFETY: the kernel has written that many bits.
            if unsafe { includes(set, fd) } {
                uses(&call, fd, || 0);
                if i != 1 {
                    descriptors::learns(&call, fd);
                }
            }
        }
    }
    result
}

interpose! {
    fn epoll_create(size: c_int) -> c_int {
        let epoll = makes(|| libc::epoll_create(size));
        descriptors::watch_nothing(epoll);
        descriptors::is_its_own_end(epoll);
        epoll
    }

    fn epoll_create1(flags: c_int) -> c_int {
        let epoll = makes(|| libc::epoll_create1(flags));
        descriptors::watch_nothing(epoll);
        descriptors::is_its_own_end(epoll);
        epoll
    }

    fn epoll_ctl(epoll: c_int, what: c_int, fd: c_int, event: *mut libc::epoll_event) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::epoll_ctl(epoll, what, fd, event);
        };
        let real = || uses(&call, fd, || libc::epoll_ctl(epoll, what, fd, event));
        if what == libc::EPOLL_CTL_DEL || event.is_null() {
            return uses(&call, epoll, real);
        }
        call.reads(event, size_of::<libc::epoll_event>());
        let result = puts(&call, epoll, real);
        // Only now it is known to be a good pointer. Who is told of an event
        // before this will have to read to learn anything.
        if result == 0 {
            descriptors::watch(epoll, fd, (&raw const (*event).u64).read_unaligned());
        }
        result
    }

    fn epoll_wait(
        epoll: c_int,
        events: *mut libc::epoll_event,
        room: c_int,
        timeout: c_int,
    ) -> c_int {
        happens(epoll, events, (milliseconds(timeout), NO_MASK), || {
            libc::epoll_wait(epoll, events, room, timeout)
        })
    }

    fn epoll_pwait(
        epoll: c_int,
        events: *mut libc::epoll_event,
        room: c_int,
        timeout: c_int,
        mask: *const libc::sigset_t,
    ) -> c_int {
        happens(epoll, events, (milliseconds(timeout), mask), || {
            libc::epoll_pwait(epoll, events, room, timeout, mask)
        })
    }

    fn epoll_pwait2(
        epoll: c_int,
        events: *mut libc::epoll_event,
        room: c_int,
        timeout: *const libc::timespec,
        mask: *const libc::sigset_t,
    ) -> c_int {
        happens(epoll, events, (at_most(timeout), mask), || {
            real::epoll_pwait2(epoll, events, room, timeout, mask)
        })
    }

    fn poll(fds: *mut libc::pollfd, count: libc::nfds_t, timeout: c_int) -> c_int {
        polls(fds, count, (milliseconds(timeout), NO_MASK), || libc::poll(fds, count, timeout))
    }

    fn __poll_chk(fds: *mut libc::pollfd, count: libc::nfds_t, timeout: c_int, room: usize) -> c_int {
        polls(fds, count, (milliseconds(timeout), NO_MASK), || {
            real::__poll_chk(fds, count, timeout, room)
        })
    }

    fn ppoll(
        fds: *mut libc::pollfd,
        count: libc::nfds_t,
        timeout: *const libc::timespec,
        mask: *const libc::sigset_t,
    ) -> c_int {
        polls(fds, count, (at_most(timeout), mask), || libc::ppoll(fds, count, timeout, mask))
    }

    fn __ppoll_chk(
        fds: *mut libc::pollfd,
        count: libc::nfds_t,
        timeout: *const libc::timespec,
        mask: *const libc::sigset_t,
        room: usize,
    ) -> c_int {
        polls(fds, count, (at_most(timeout), mask), || {
            real::__ppoll_chk(fds, count, timeout, mask, room)
        })
    }

    fn select(
        count: c_int,
        readable: *mut libc::fd_set,
        writable: *mut libc::fd_set,
        special: *mut libc::fd_set,
        timeout: *mut libc::timeval,
    ) -> c_int {
        let sets = [readable, writable, special];
        let patience = match timeout.as_ref() {
            Some(time) => Patience::Until(Until::Passed(
                time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000,
            )),
            None => Patience::ForEver,
        };
        selects(count, sets, (patience, NO_MASK), || {
            libc::select(count, readable, writable, special, timeout)
        })
    }

    fn pselect(
        count: c_int,
        readable: *mut libc::fd_set,
        writable: *mut libc::fd_set,
        special: *mut libc::fd_set,
        timeout: *const libc::timespec,
        mask: *const libc::sigset_t,
    ) -> c_int {
        let sets = [readable, writable, special];
        selects(count, sets, (at_most(timeout), mask), || {
            libc::pselect(count, readable, writable, special, timeout, mask)
        })
    }
}
