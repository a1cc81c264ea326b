//! A lock for a few instructions. Who waits long gives the processor away.
//!
//! The holder never waits for anything itself, and signal handlers of the
//! program do not run while the runtime is busy, so nobody can come to wait for
//! itself.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

/// The lock alone. It counts how often it was given back, so one can tell that
/// nobody had it meanwhile.
#[derive(Default)]
pub(crate) struct Spin(AtomicU32);

/// Set while it is held. The rest is the count.
const HELD: u32 = 1;

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
        let seen = self.0.load(Ordering::Relaxed) & !HELD;
        self.0
            .compare_exchange(seen, seen | HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    #[cold]
    fn wait(&self) {
        let mut rounds = 0u32;
        while !self.try_lock() {
            while self.0.load(Ordering::Relaxed) & HELD != 0 {
                pause(&mut rounds);
            }
        }
    }

    #[inline]
    pub(crate) fn unlock(&self) {
        let held = self.0.load(Ordering::Relaxed);
        self.0.store(held.wrapping_add(1), Ordering::Release);
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
        self.0.load(Ordering::Relaxed).wrapping_add(1)
    }
}

/// Waits a moment; the longer it has taken, the longer.
#[inline]
pub(crate) fn pause(rounds: &mut u32) {
    *rounds += 1;
    match *rounds {
        0..50 => std::hint::spin_loop(),
        // SAFETY: has no preconditions.
        50..70 => _ = unsafe { libc::sched_yield() },
        // Where many wait, the one they wait for needs the processor.
        _ => std::thread::sleep(std::time::Duration::from_micros(100)),
    }
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
