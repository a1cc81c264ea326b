//! Which function each thread is in, for the others to see; and a way to make a
//! thread look.
//!
//! A thread writes to its own line only, and others read it only when they decide
//! about a call.

use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use super::functions::Number;
use crate::spin::Spin;
use crate::tls::{Hot, hot};

/// Threads at a time that others see; more sample everything, and are not seen.
const MOST: usize = 1024;

/// A thread's line.
#[repr(align(64))]
pub(crate) struct Presence {
    /// The function that it is in, or none.
    current: AtomicU32,
    taken: AtomicU32,
    /// Calls of its own that others want it to look at.
    raised: AtomicU32,
    /// Where its flag is while it runs: null, or not given back while the lock is
    /// held.
    hot: AtomicPtr<Hot>,
    lock: Spin,
}

static PRESENCES: [Presence; MOST] = [const {
    Presence {
        current: AtomicU32::new(0),
        taken: AtomicU32::new(0),
        raised: AtomicU32::new(0),
        hot: AtomicPtr::new(std::ptr::null_mut()),
        lock: Spin::new(),
    }
}; MOST];

/// No presence from there on was ever taken.
static USED: AtomicUsize = AtomicUsize::new(0);

impl Presence {
    /// One for a new thread, if there are any left.
    pub(super) fn take() -> Option<&'static Self> {
        // The lines of others are not written to.
        let is_free = |presence: &Self| {
            presence.taken.load(Ordering::Relaxed) == 0
                && presence.taken.swap(1, Ordering::AcqRel) == 0
        };
        let at = PRESENCES.iter().position(is_free)?;
        USED.fetch_max(at + 1, Ordering::AcqRel);
        Some(&PRESENCES[at])
    }

    /// The thread is in that function now.
    #[inline(always)]
    pub(super) fn set(&self, function: Number) {
        self.current.store(function.0, Ordering::Relaxed);
    }

    /// The processor's thread goes on as this one.
    pub(super) fn attach(&self) {
        self.set_hot(hot());
    }

    /// It does not any more.
    pub(super) fn detach(&self) {
        self.set_hot(std::ptr::null_mut());
    }

    fn set_hot(&self, hot: *mut Hot) {
        self.lock.lock();
        self.hot.store(hot, Ordering::Relaxed);
        self.lock.unlock();
    }

    /// Whether others want the next call looked at.
    #[inline(always)]
    pub(super) fn is_raised(&self) -> bool {
        let calls = self.raised.load(Ordering::Relaxed);
        if calls == 0 {
            return false;
        }
        // What others add meanwhile may be lost; they want it now, not later.
        self.raised.store(calls - 1, Ordering::Relaxed);
        true
    }

    /// Makes the thread look from now on, and in so many further calls.
    pub(super) fn raise(&self, calls: u32) {
        self.raised.store(calls, Ordering::Relaxed);
        self.lock.lock();
        let hot = self.hot.load(Ordering::Relaxed);
        if !hot.is_null() {
            // SAFETY: it is not given back while the lock is held.
            let flag = unsafe { AtomicU32::from_ptr(&raw mut (*hot).unsampled) };
            flag.store(0, Ordering::Relaxed);
        }
        self.lock.unlock();
    }

    /// The other threads that are in a function, and in which.
    pub(super) fn company(&self) -> impl Iterator<Item = (&'static Self, Number)> {
        let used = USED.load(Ordering::Acquire);
        PRESENCES[..used].iter().filter_map(|other| {
            let current = Number(other.current.load(Ordering::Relaxed));
            let counts = current != Number::NONE && !std::ptr::eq(self, other);
            counts.then_some((other, current))
        })
    }

    /// The thread is over.
    pub(super) fn give_back(&self) {
        self.detach();
        self.set(Number::NONE);
        self.raised.store(0, Ordering::Relaxed);
        self.taken.store(0, Ordering::Release);
    }
}

/// All threads but the current one are gone.
pub(super) fn only_mine() {
    let used = USED.load(Ordering::Acquire);
    for presence in &PRESENCES[..used] {
        if presence.hot.load(Ordering::Relaxed) != hot() {
            presence.hot.store(std::ptr::null_mut(), Ordering::Relaxed);
            presence.set(Number::NONE);
        }
    }
}
