//! A lock for a few instructions. Who waits long gives the processor away.
//!
//! The holder never waits for anything itself, and signal handlers of the
//! program do not run while the runtime is busy, so nobody can come to wait for
//! itself.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

/// The lock alone.
#[derive(Default)]
pub(crate) struct Spin(AtomicU32);

impl Spin {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    #[inline]
    pub(crate) fn lock(&self) {
        if self.0.swap(1, Ordering::Acquire) != 0 {
            self.wait();
        }
    }

    /// Takes the lock if it is free.
    pub(crate) fn try_lock(&self) -> bool {
        self.0.swap(1, Ordering::Acquire) == 0
    }

    #[cold]
    fn wait(&self) {
        let mut rounds = 0u32;
        loop {
            while self.0.load(Ordering::Relaxed) != 0 {
                pause(&mut rounds);
            }
            if self.0.swap(1, Ordering::Acquire) == 0 {
                return;
            }
        }
    }

    #[inline]
    pub(crate) fn unlock(&self) {
        self.0.store(0, Ordering::Release);
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
