//! Which function each thread is in, for the others to see; and a way to make a
//! thread look.
//!
//! A thread writes to its own line only, and others read it only when they decide
//! about a call.

use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicUsize, Ordering};

use racehound_sample::Look;

use super::calls::{CallWord, SERIAL};
use super::functions::Number;
use crate::spin::Spin;
use crate::tls::{Hot, hot};

/// Threads at a time that others see; more sample everything, and are not seen.
const MOST: usize = 1024;

/// A thread's line. The offsets of the first fields are known to the assembly in
/// [`entry`](crate::entry).
#[repr(C, align(64))]
pub(crate) struct Presence {
    /// The call that it is in, of a function or of none.
    current: AtomicU32,
    /// Calls of its own that others want it to look at, and [`CLOSELY`](Self::CLOSELY) or
    /// not.
    raised: AtomicU16,
    /// Set if others want it to look at all of its current call, whatever it enters
    /// meanwhile.
    whole: AtomicU16,
    taken: AtomicU32,
    /// Where its flag is while it runs: null, or not given back while the lock is
    /// held.
    hot: AtomicPtr<Hot>,
    lock: Spin,
}

const _: () = assert!(std::mem::offset_of!(Presence, current) == 0);
const _: () = assert!(std::mem::offset_of!(Presence, raised) == 4);
const _: () = assert!(std::mem::offset_of!(Presence, whole) == 6);

static PRESENCES: [Presence; MOST] = [const { Presence::new() }; MOST];

/// Where threads write that nobody sees.
pub(super) static UNSEEN: Presence = Presence::new();

/// No presence from there on was ever taken.
static USED: AtomicUsize = AtomicUsize::new(0);

impl Presence {
    /// In `raised`: others want it to look closely.
    const CLOSELY: u16 = 1 << 15;

    const fn new() -> Self {
        Self {
            current: AtomicU32::new(0),
            raised: AtomicU16::new(0),
            whole: AtomicU16::new(0),
            taken: AtomicU32::new(0),
            hot: AtomicPtr::new(std::ptr::null_mut()),
            lock: Spin::new(),
        }
    }

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

    /// The thread is in that call now.
    #[inline(always)]
    pub(super) fn set(&self, call: CallWord) {
        self.current.store(call.bits(), Ordering::Relaxed);
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

    /// How closely others want the next call looked at.
    #[inline(always)]
    pub(super) fn raised(&self) -> Look {
        let raised = self.raised.load(Ordering::Relaxed);
        if raised == 0 {
            return Look::Away;
        }
        let left = match raised - 1 {
            Self::CLOSELY => 0,
            left => left,
        };
        // What others add meanwhile may be lost; they want it now, not later.
        self.raised.store(left, Ordering::Relaxed);
        match raised & Self::CLOSELY {
            0 => Look::Briefly,
            _ => Look::Closely,
        }
    }

    /// Whether others have wanted all of the current call looked at.
    #[inline(always)]
    pub(super) fn takes_whole(&self) -> bool {
        let wanted = self.whole.load(Ordering::Relaxed) != 0;
        if wanted {
            self.whole.store(0, Ordering::Relaxed);
        }
        wanted
    }

    /// Makes the thread look as closely as that, until it enters or leaves a function, or in
    /// the whole call that it is in; and in so many further calls.
    pub(super) fn raise(&self, look: Look, calls: u32, whole: bool) {
        let calls = calls.min(u32::from(Self::CLOSELY - 1)) as u16;
        let (raised, cleared) = match look {
            Look::Closely if calls > 0 => (calls | Self::CLOSELY, CallWord::AWAY | CallWord::BRIEF),
            Look::Closely => (0, CallWord::AWAY | CallWord::BRIEF),
            Look::Briefly | Look::Away => (calls, CallWord::AWAY),
        };
        // Who wants less does not take away what others have wanted.
        if raised >= Self::CLOSELY || self.raised.load(Ordering::Relaxed) < Self::CLOSELY {
            self.raised.store(raised, Ordering::Relaxed);
        }
        if whole {
            self.whole.store(1, Ordering::Relaxed);
        }
        self.lock.lock();
        let hot = self.hot.load(Ordering::Relaxed);
        if !hot.is_null() {
            // SAFETY: it is not given back while the lock is held.
            let call = unsafe { AtomicU32::from_ptr((&raw mut (*hot).call).cast()) };
            call.fetch_and(!cleared, Ordering::Relaxed);
            // What it has done in the call before is no repetition. Should it count a call
            // at the same moment, that will do as well.
            // SAFETY: as above.
            let serial = unsafe { AtomicU32::from_ptr(&raw mut (*hot).serial) };
            serial.fetch_add(SERIAL, Ordering::Relaxed);
        }
        self.lock.unlock();
    }

    /// The other threads that are in a function, and in which.
    pub(super) fn company(&self) -> impl Iterator<Item = (&'static Self, Number)> {
        let used = USED.load(Ordering::Acquire);
        PRESENCES[..used].iter().filter_map(|other| {
            let current = CallWord::of_bits(other.current.load(Ordering::Relaxed)).function();
            let counts = current != Number::NONE && !std::ptr::eq(self, other);
            counts.then_some((other, current))
        })
    }

    /// The thread is over.
    pub(super) fn give_back(&self) {
        self.detach();
        self.set(CallWord::OUTSIDE);
        self.raised.store(0, Ordering::Relaxed);
        self.whole.store(0, Ordering::Relaxed);
        self.taken.store(0, Ordering::Release);
    }
}

/// All threads but the current one are gone.
pub(super) fn only_mine() {
    let used = USED.load(Ordering::Acquire);
    for presence in &PRESENCES[..used] {
        if presence.hot.load(Ordering::Relaxed) != hot() {
            presence.hot.store(std::ptr::null_mut(), Ordering::Relaxed);
            presence.set(CallWord::OUTSIDE);
        }
    }
}
