//! Finding out which leases of stamps are still referred to, so that the others
//! can be let again.
//!
//! All threads stay out of the runtime meanwhile. They go on in the program, and
//! the fast paths go on, because these change nothing; who enters the runtime
//! waits. Entering costs a store and a load; the order of the two is enforced
//! from here, by a barrier that the kernel runs on all processors.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::memory::{self, PAGE};
use crate::shadow::{self, Word};
use crate::spin::{self, Spin};
use crate::stamp::{self, LEASES};
use crate::thread::{PAUSED, Thread};
use crate::tls::{Hot, hot};
use crate::{cell, objects, readers, registry, resident};

/// One at a time.
static TURN: Spin = Spin::new();

/// Leases in use beyond which it is time to sweep.
static LIMIT: AtomicU32 = AtomicU32::new(FEWEST);
/// Sixteen megabytes of records.
const FEWEST: u32 = 128;

const MEMBARRIER_PRIVATE: i32 = 1 << 3;
const MEMBARRIER_REGISTER: i32 = 1 << 4;

fn membarrier(command: i32) -> bool {
    // SAFETY: changes nothing in memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Asks the kernel for barriers, and for a view of our memory.
pub(crate) fn init() {
    membarrier(MEMBARRIER_REGISTER);
    resident::open();
}

/// Whether so many leases, or sets of readers, are in use that a sweep is due.
#[inline]
pub(crate) fn is_due() -> bool {
    // Tests have threads that the registry does not know of.
    !cfg!(test)
        && (stamp::IN_USE.load(Ordering::Relaxed) >= LIMIT.load(Ordering::Relaxed)
            || readers::are_lacking())
}

/// Waits outside of the runtime until it may be entered.
#[cold]
pub(crate) fn wait(hot: *mut Hot) {
    // SAFETY: our own block.
    unsafe {
        let busy = (*hot).busy;
        let mut rounds = 0;
        loop {
            set_busy(hot, 0);
            while PAUSED.load(Ordering::Acquire) {
                spin::pause(&mut rounds);
            }
            set_busy(hot, busy);
            if !PAUSED.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

unsafe fn set_busy(hot: *mut Hot, busy: u32) {
    // SAFETY: the caller's own block; others only read it.
    unsafe { (&raw mut (*hot).busy).write_volatile(busy) };
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// The time during which nobody else is in the runtime.
pub(crate) struct Pause;

impl Pause {
    /// Waits until everybody else is out; the current thread may be in.
    pub(crate) fn begin() -> Self {
        while !TURN.try_lock() {
            wait(hot());
        }
        let pause = Self::announce();
        let mut rounds = 0;
        while !pause.is_complete() {
            spin::pause(&mut rounds);
        }
        pause
    }

    /// The same, unless it takes too long. The current thread stays in meanwhile.
    pub(crate) fn within(patience: Duration) -> Option<Self> {
        let begun = Instant::now();
        let mut rounds = 0;
        let mut until = |condition: &dyn Fn() -> bool| {
            while !condition() {
                if begun.elapsed() > patience {
                    return None;
                }
                spin::pause(&mut rounds);
            }
            Some(())
        };
        until(&|| TURN.try_lock())?;
        let pause = Self::announce();
        until(&|| pause.is_complete())?;
        Some(pause)
    }

    /// Nobody may come in any more. It is our turn.
    fn announce() -> Self {
        PAUSED.store(true, Ordering::SeqCst);
        if !membarrier(MEMBARRIER_PRIVATE) {
            // An old kernel: every store that was on its way has arrived by then.
            std::thread::sleep(Duration::from_millis(1));
        }
        Self
    }

    /// Whether everybody else is out.
    fn is_complete(&self) -> bool {
        !registry::any_busy(hot() as usize)
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        PAUSED.store(false, Ordering::Release);
        TURN.unlock();
    }
}

/// Sweeps.
#[cold]
pub(crate) fn now() {
    let _pause = Pause::begin();
    if !is_due() {
        // Somebody else has just done it.
        return;
    }
    let mut live = Live {
        leases: vec![0; LEASES / 64],
        sets: vec![0; readers::SETS / 64],
    };
    registry::each_thread(|thread| {
        live.mark_thread(thread);
        thread.forget_steps();
    });
    objects::each_stamp(|stamp| live.mark(*stamp));
    for (_, base) in shadow::chunks() {
        // SAFETY: shadow memory; nobody is there to change it now.
        unsafe {
            resident::each_page(base, shadow::CHUNK_LENGTH, |page| live.mark_page(page));
        }
    }
    readers::reclaim(&live.sets);
    registry::each_block(Hot::forget_sets);
    stamp::reclaim(&live.leases);
    let left = stamp::IN_USE.load(Ordering::Relaxed);
    if left as usize > LEASES / 8 * 7 {
        forget_everything();
        return;
    }
    LIMIT.store(
        (left * 2).max(FEWEST).min(LEASES as u32 / 8 * 7),
        Ordering::Relaxed,
    );
}

struct Live {
    leases: Vec<u64>,
    /// Sets of readers that some word refers to.
    sets: Vec<u64>,
}

impl Live {
    fn mark(&mut self, stamp: stamp::Stamp) {
        self.mark_lease(stamp.lease());
        for part in stamp::merged(stamp).into_iter().flatten() {
            self.mark_lease(part.stamp().lease());
        }
    }

    fn mark_lease(&mut self, lease: usize) {
        self.leases[lease / 64] |= 1 << (lease % 64);
    }

    fn mark_thread(&mut self, thread: &Thread) {
        self.mark(thread.stamp);
        for lease in thread.leases() {
            self.mark_lease(lease);
        }
        self.mark(thread.graves.stamp());
    }

    fn mark_page(&mut self, page: &[u64]) {
        let mut last = 0;
        for &word in page {
            if word == last || word == 0 {
                continue;
            }
            last = word;
            let word = Word(word);
            if let Some(number) = word.as_cell() {
                cell::stamps(number, |stamp| self.mark(stamp));
                continue;
            }
            self.mark(word.write().stamp());
            match word.read().as_set() {
                None => self.mark(word.read().stamp()),
                Some(set) => {
                    self.sets[set as usize / 64] |= 1 << (set % 64);
                    for &stamp in readers::stamps(set) {
                        self.mark(stamp);
                    }
                }
            }
        }
    }
}

/// Forgets all accesses, and gives back the memory of what is known of them.
pub(crate) fn forget_all(_pause: &Pause) {
    registry::each_thread(Thread::forget_steps);
    forget_everything();
}

/// Forgets all accesses, the last resort of a program that remembers too many:
/// whatever races from now on is found as before.
fn forget_everything() {
    for (_, base) in shadow::chunks() {
        let empty = |page: &[u64]| {
            if page.iter().all(|word| Word(*word).as_cell().is_none()) {
                let base = page.as_ptr().cast_mut().cast();
                // SAFETY: a page of shadow; nobody else is in the runtime.
                return unsafe { memory::forget(base, PAGE) };
            }
            for word in page {
                match Word(*word).as_cell() {
                    Some(number) => cell::empty(number),
                    // SAFETY: nobody else is in the runtime.
                    None => unsafe { std::ptr::from_ref(word).cast_mut().write_volatile(0) },
                }
            }
        };
        // SAFETY: as above; and what is changed has been looked at already.
        unsafe { resident::each_page(base, shadow::CHUNK_LENGTH, empty) };
    }
    objects::each_stamp(|stamp| *stamp = stamp::Stamp::NONE);
    let mut live = Live {
        leases: vec![0; LEASES / 64],
        sets: vec![0; readers::SETS / 64],
    };
    readers::reclaim(&live.sets);
    registry::each_block(Hot::forget_sets);
    registry::each_thread(|thread| live.mark_thread(thread));
    stamp::reclaim(&live.leases);
}
