//! ConTest's delays: the system schedules, and now and then a thread yields or
//! sleeps a little before it synchronises.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use racehound_schedule::{ConTest, Delay, Pending};
use racehound_trace::{MemoryOrder, Op, SiteId, ThreadId};

use crate::interpose::Errno;
use crate::registry;
use crate::thread::Visit;
use crate::tls::hot;

static ON: AtomicBool = AtomicBool::new(false);
static SETTINGS: OnceLock<ConTest> = OnceLock::new();

/// Whether there are to be delays.
#[inline]
pub(super) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

pub(super) fn start(settings: ConTest) {
    SETTINGS.get_or_init(|| settings);
    ON.store(true, Ordering::Relaxed);
}

/// The current thread is about to synchronise.
#[cold]
pub(super) fn make() {
    // SAFETY: our own block.
    if unsafe { (*hot()).busy } != 0 {
        return;
    }
    let _errno = Errno::keep();
    // SAFETY: system calls that change nothing; nothing of ours is held.
    match delay() {
        Delay::None => {}
        Delay::Yield => _ = unsafe { libc::sched_yield() },
        Delay::Sleep { micros } => _ = unsafe { libc::usleep(micros) },
    }
}

fn delay() -> Delay {
    let visit = Visit::begin();
    let thread = visit.thread();
    let Some(settings) = SETTINGS.get() else {
        return Delay::None;
    };
    let path = || registry::info(thread.number).map_or_else(String::new, |info| info.path);
    let noise = thread
        .noise
        .get_or_insert_with(|| settings.of_thread(&path()));
    noise.before(&Pending {
        thread: ThreadId(thread.number),
        site: SiteId(0),
        // Whatever it is, it orders threads.
        op: Some(Op::Fence {
            order: MemoryOrder::SeqCst,
        }),
    })
}
