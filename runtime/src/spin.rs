//! A lock for a few instructions. Who waits long sleeps until it is woken, so that
//! thousands may wait for one.
//!
//! The holder never waits for anything itself, and signal handlers of the
//! program do not run while the runtime is busy, so nobody can come to wait for
//! itself. Waiting is no place where the program's threads can be cancelled, and
//! leaves `errno` alone.
//!
//! Giving the lock back is a plain store, so it may overwrite the sign of one who
//! goes to sleep at this very moment: nobody sleeps longer than [`LONGEST_NAP`].

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::interpose::Errno;

/// The lock alone. It counts how often it was given back, so one can tell that
/// nobody had it meanwhile. Zeroes are a free one.
#[derive(Default)]
pub(crate) struct Spin(AtomicU32);

/// Set while it is held.
const HELD: u32 = 1;
/// Set while it is held and somebody may sleep until it is free. The rest is the
/// count.
const AWAITED: u32 = 2;

impl Spin {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    #[inline]
    pub(crate) fn lock(&self) {
        if !self.try_lock() {
            self.wait();
        }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub(crate) fn try_lock(&self) -> bool {
        let free = self.0.load(Ordering::Relaxed) & !(HELD | AWAITED);
        self.replace(free, free | HELD)
    }

    #[inline(always)]
    fn replace(&self, seen: u32, by: u32) -> bool {
        self.0
            .compare_exchange(seen, by, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    #[cold]
    fn wait(&self) {
        let mut rounds = 0;
        while rounds < NAPPING + NAPS {
            if self.0.load(Ordering::Relaxed) & HELD == 0 && self.try_lock() {
                return;
            }
            pause(&mut rounds);
        }
        let _errno = Errno::keep();
        loop {
            let seen = self.0.load(Ordering::Relaxed);
            // Others may sleep as well: whoever has slept leaves a lock that is awaited.
            if !self.replace(seen, seen | HELD | AWAITED) {
                continue;
            }
            if seen & HELD == 0 {
                return;
            }
            self.futex(libc::FUTEX_WAIT, seen | AWAITED);
        }
    }

    #[inline]
    pub(crate) fn unlock(&self) {
        let held = self.0.load(Ordering::Relaxed);
        self.0.store(after(held), Ordering::Release);
        if held & AWAITED != 0 {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        let _errno = Errno::keep();
        self.futex(libc::FUTEX_WAKE, 1);
    }

    fn futex(&self, operation: i32, value: u32) {
        let operation = operation | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: a word that stays, and what the call takes.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.0.as_ptr(),
                operation,
                value,
                &raw const LONGEST_NAP,
            )
        };
    }

    /// Different after somebody else has had the lock; none while one has it.
    #[inline(always)]
    pub(crate) fn version(&self) -> Option<u32> {
        let seen = self.0.load(Ordering::Acquire);
        (seen & HELD == 0).then_some(seen)
    }

    /// The version there will be when the holder, who asks, gives the lock back.
    #[inline(always)]
    pub(crate) fn version_after(&self) -> u32 {
        after(self.0.load(Ordering::Relaxed))
    }
}

/// A lock as it is when the one who holds it has given it back.
#[inline(always)]
fn after(held: u32) -> u32 {
    (held | HELD | AWAITED).wrapping_add(1)
}

/// Rounds of waiting with the processor busy, and those of giving it away. Who holds
/// the lock and runs is done within some hundred rounds; a processor that was given
/// away on a busy machine comes back after milliseconds.
const SPINS: u32 = 300;
const YIELDS: u32 = 20;
/// The round with which sleeping begins.
const NAPPING: u32 = SPINS + YIELDS;
/// Sleeps before a waiter asks to be woken: that costs the holder a system call,
/// again and again where two contend.
const NAPS: u32 = 4;

const SHORTEST_NAP: i64 = 100_000;
static LONGEST_NAP: libc::timespec = libc::timespec {
    tv_sec: 0,
    tv_nsec: SHORTEST_NAP << 5,
};

/// Waits a moment; the longer it has taken, the longer.
#[inline]
pub(crate) fn pause(rounds: &mut u32) {
    match *rounds {
        0..SPINS => std::hint::spin_loop(),
        // SAFETY: has no preconditions; it cannot fail.
        SPINS..NAPPING => _ = unsafe { libc::sched_yield() },
        slept => nap(slept - NAPPING),
    }
    *rounds = rounds.saturating_add(1);
}

/// Sleeps a tenth of a millisecond at first, and about three at last: where many
/// wait, the one they wait for needs the processor.
#[cold]
fn nap(slept: u32) {
    let _errno = Errno::keep();
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: SHORTEST_NAP << (slept / 4).min(5),
    };
    let nothing = std::ptr::null_mut::<libc::timespec>();
    // SAFETY: a time to sleep, and no wish to know what is left of it.
    unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, nothing) };
}

/// A value behind a lock.
pub(crate) struct Locked<T> {
    lock: Spin,
    value: UnsafeCell<T>,
}

// SAFETY: the lock lets one thread at a time to the value.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self {
            lock: Spin::new(),
            value: UnsafeCell::new(value),
        }
    }

    #[inline]
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        self.lock.lock();
        Guard { of: self }
    }
}

pub(crate) struct Guard<'a, T> {
    of: &'a Locked<T>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.of.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held.
        unsafe { &mut *self.of.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.of.lock.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The holder keeps the lock until the others must have gone to sleep.
    #[test]
    fn sleepers_are_woken_one_after_another() {
        static COUNT: Locked<u32> = Locked::new(0);
        let held = COUNT.lock();
        let count = || {
            for _ in 0..100 {
                *COUNT.lock() += 1;
            }
        };
        let threads: Vec<_> = (0..20).map(|_| std::thread::spawn(count)).collect();
        while COUNT.lock.0.load(Ordering::Relaxed) & AWAITED == 0 {
            std::thread::yield_now();
        }
        drop(held);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(*COUNT.lock(), 2000);
        assert!(COUNT.lock.version().is_some());
    }
}
