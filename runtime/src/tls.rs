//! What the hot paths know of the current thread, in thread-local storage.
//!
//! The block is declared in assembly so that it is reached by the initial-exec
//! model: one load of its offset, or none where the linker can see the whole
//! executable. `thread_local!` in a shared library would call
//! `__tls_get_addr` for every access that the program makes.
//!
//! All zeroes is the state of a thread that we have not met: every fast path
//! then fails, and the slow path introduces the thread.

use std::arch::asm;

use crate::frames::Frame;
use crate::sampling::Calls;
use crate::sampling::calls::{CallWord, Tables};
use crate::sampling::presence::Presence;
use crate::shadow::{Half, Word};
use crate::thread::Thread;

/// The current thread's block. The offsets of the first fields are known to the
/// assembly in [`entry`](crate::entry).
#[repr(C)]
pub(crate) struct Hot {
    /// First stamp of the current epoch, shifted to where shadow words have it.
    pub(crate) floor: u32,
    /// How many stamps from there on may belong to the current epoch.
    pub(crate) span: u32,
    /// Behind the innermost frame.
    pub(crate) top: *mut Frame,
    /// The rest of what is known of the thread.
    pub(crate) thread: *mut Thread,
    /// How deep the thread is inside the runtime: signals wait meanwhile. With
    /// [`ASIDE`](Self::ASIDE) it is not, but what it calls is not the program's.
    pub(crate) busy: u32,
    /// Whether signals wait.
    pub(crate) pending: u32,
    /// Who called the function that stands in for the C library's, and which
    /// one that is.
    pub(crate) caller: usize,
    pub(crate) function: usize,
    /// Eight times the number that the thread has in clocks: where its slot is
    /// among the readers of a cell.
    pub(crate) reader: u32,
    /// The thread has ended, as far as we are concerned.
    pub(crate) gone: u32,
    /// What the processor's thread began as: it may be on a fiber since.
    pub(crate) home: *mut Thread,
    /// Where the next entry of the thread's [`log`](crate::log) goes.
    pub(crate) log: usize,
    /// Set while the thread waits for its turn: signals wait meanwhile, too, but
    /// the thread is not inside.
    pub(crate) parked: u32,
    /// Accesses under control until the thread has to let others go first, see
    /// [`pace`](crate::control::pace).
    pub(crate) reads_left: u32,
    pub(crate) writes_left: u32,
    /// Signals that have come for it and wait, counted.
    pub(crate) arrivals: u32,
    /// The call that the thread is in, and whether its accesses are looked at, see
    /// [`sampling`](crate::sampling). Other threads may want them to be.
    pub(crate) call: CallWord,
    /// Set while none of the sets of readers is of this epoch.
    pub(crate) no_sets: u32,
    /// What decides about that, if anything.
    pub(crate) calls: *mut Calls,
    /// Set while the thread, which can be cancelled, cannot because it is inside.
    pub(crate) sheltered: u32,
    /// Goes on with each call in which the thread looks, and when others want it to.
    pub(crate) serial: u32,
    /// Functions about whose next calls is decided, places that have accessed memory in a
    /// call, and where others see which function the thread is in: both or none.
    pub(crate) tables: *mut Tables,
    pub(crate) presence: *const Presence,
    /// Sets of readers that a read of this epoch is in.
    pub(crate) sets: Sets,
}

impl Hot {
    /// In `busy`: the thread is in the C library on our behalf, where it may wait
    /// for threads that wait for the runtime.
    pub(crate) const ASIDE: u32 = 1 << 31;

    /// Whether the thread has ended.
    pub(crate) fn gone(&self) -> bool {
        self.gone != 0
    }

    /// Sets of readers may get new numbers. The thread goes on in its fast paths
    /// meanwhile.
    pub(crate) fn forget_sets(this: *mut Self) {
        // SAFETY: the block is there; its thread is out of the runtime, so it
        // only reads them.
        unsafe { (&raw mut (*this).sets).write_volatile(NO_SETS) };
    }
}

/// Sets of readers that the fast path knows of, at most. Where a set goes is said
/// by its number.
pub(crate) const SETS: usize = 64;

/// The read half of a word that refers to a set, plus one: 0 is none, and so is the read
/// half of a word that nobody has read. So far apart that a mask makes the number of a
/// set in such a half the place of it.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Noted(pub(crate) u32);

pub(crate) type Sets = [Noted; SETS];

/// Only the one that everybody is in.
pub(crate) const NO_SETS: Sets = {
    let mut sets = [Noted(0); SETS];
    sets[0] = Noted(Half::CONSTANT.0 + 1);
    sets
};

/// Bytes reserved for [`Hot`].
const SIZE: usize = 128 + 16 * SETS;
const _: () = assert!(size_of::<Hot>() <= SIZE);
const _: () = assert!(std::mem::offset_of!(Hot, span) == 4);
const _: () = assert!(std::mem::offset_of!(Hot, top) == 8);
const _: () = assert!(std::mem::offset_of!(Hot, caller) == 32);
const _: () = assert!(std::mem::offset_of!(Hot, function) == 40);
const _: () = assert!(std::mem::offset_of!(Hot, reader) == 48);
const _: () = assert!(std::mem::offset_of!(Hot, log) == 64);
const _: () = assert!(std::mem::offset_of!(Hot, reads_left) == 76);
const _: () = assert!(std::mem::offset_of!(Hot, writes_left) == 80);
const _: () = assert!(std::mem::offset_of!(Hot, call) == 88);
const _: () = assert!(std::mem::offset_of!(Hot, serial) == 108);
const _: () = assert!(std::mem::offset_of!(Hot, tables) == 112);
const _: () = assert!(std::mem::offset_of!(Hot, presence) == 120);
const _: () = assert!(std::mem::offset_of!(Hot, sets) == 128);
const _: () = assert!(SETS == 64);

std::arch::global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".hidden __racehound_hot",
    ".globl __racehound_hot",
    ".type __racehound_hot, @object",
    ".size __racehound_hot, {size}",
    ".p2align 6",
    "__racehound_hot:",
    ".zero {size}",
    ".text",
    size = const SIZE,
);

/// The current thread's block.
#[inline(always)]
pub(crate) fn hot() -> *mut Hot {
    let at: *mut Hot;
    // SAFETY: reads the thread pointer and the block's offset from it; changes
    // nothing.
    unsafe {
        asm!(
            "mov {at}, qword ptr [rip + __racehound_hot@GOTTPOFF]",
            "add {at}, qword ptr fs:[0]",
            at = out(reg) at,
            options(pure, nomem, nostack),
        );
    }
    at
}

/// Whether a word says that the current thread has accessed all its bytes in this epoch:
/// one comparison for each half, see [`entry`](crate::entry).
#[inline(always)]
pub(crate) fn is_now<const WRITE: bool>(word: Word) -> bool {
    let hot = hot();
    // SAFETY: our own block.
    let (floor, span) = unsafe { ((*hot).floor, (*hot).span) };
    let is_now = |half: Half| half.0.wrapping_sub(floor).rotate_right(4) < span;
    is_now(word.write()) || (!WRITE && is_now(word.read()))
}

/// Where the block is, from the thread pointer: the same for all threads.
pub(crate) fn offset() -> isize {
    let at: isize;
    // SAFETY: as above.
    unsafe {
        asm!(
            "mov {at}, qword ptr [rip + __racehound_hot@GOTTPOFF]",
            at = out(reg) at,
            options(pure, nomem, nostack),
        );
    }
    at
}
