//! The usual access that the fast path cannot settle: the first of its epoch, to whole
//! words that were last accessed by this thread, or by others of whom it has heard.
//!
//! Programs that synchronise often make little else, so this is the second of the hot
//! paths: what is decided here is what [`access`] would decide, in half the instructions.
//! It calls nothing, and whatever is not as usual is left to [`access`] from the
//! beginning: then this has changed nothing that would have to be undone.
//!
//! Only FastTrack's rule: to AccuLock, the first access of an epoch counts and the locks
//! matter.

use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use crate::access;
use crate::bulk;
use crate::cell;
use crate::rule::FastTrack;
use crate::shadow::{self, Group, Half, Word};
use crate::signals;
use crate::stamp::Stamp;
use crate::thread::{self, Thread};
use crate::tls::hot;

/// The way of an access that the fast path has not settled.
pub(crate) extern "C" fn enter<const SIZE: usize, const WRITE: bool>(address: usize, place: usize) {
    let hot = hot();
    // SAFETY: our own block, and our own thread: the visit begins and ends here, see
    // `Visit::of_known`.
    unsafe {
        (*hot).busy += 1;
        compiler_fence(Ordering::SeqCst);
        let settled = !(*hot).thread.is_null()
            && !thread::PAUSED.load(Ordering::Relaxed)
            && settles::<SIZE, WRITE>(&mut *(*hot).thread, (*hot).top, address, place);
        let beside = bulk::is_active();
        compiler_fence(Ordering::SeqCst);
        (*hot).busy -= 1;
        match (settled, beside) {
            (false, _) => access::small::<FastTrack, SIZE, WRITE>(address, place),
            (true, true) => access::beside_a_range::<FastTrack, SIZE, WRITE>(address, place),
            (true, false) if (*hot).pending != 0 && (*hot).busy == 0 => signals::deliver(),
            (true, false) => {}
        }
    }
}

#[inline(always)]
fn settles<const SIZE: usize, const WRITE: bool>(
    thread: &mut Thread,
    top: *mut crate::frames::Frame,
    address: usize,
    place: usize,
) -> bool {
    if !address.is_multiple_of(SIZE.min(8)) || !shadow::is_user(address) || thread.ignore != 0 {
        return false;
    }
    let group = shadow::readable(address);
    match SIZE {
        4 => {
            let at = &group[address / 4 % 2];
            let before = shadow::word(at);
            if !WRITE && let Some(number) = before.as_cell() {
                let bytes = 15 << (4 * (address / 4 % 2));
                return among_others(thread, top, group, (number, bytes), place);
            }
            is_usual(thread, before)
                && thread
                    .usual_stamp(top, place)
                    .is_some_and(|stamp| word::<WRITE>(at, before, stamp))
        }
        8 => {
            let before = shadow::load(group);
            if !WRITE && let Some(number) = before[0].as_cell() {
                return among_others(thread, top, group, (number, 0xff), place);
            }
            before[0] == before[1]
                && is_usual(thread, before[0])
                && thread
                    .usual_stamp(top, place)
                    .is_some_and(|stamp| words::<WRITE>(group, before[0], stamp))
        }
        _ => {
            if !shadow::is_in_one_piece(address, SIZE) {
                return false;
            }
            let next = shadow::next(group);
            let [first, second] = [shadow::load(group), shadow::load(next)];
            shadow::are_same(first, second)
                && first[0] == first[1]
                && is_usual(thread, first[0])
                && thread.usual_stamp(top, place).is_some_and(|stamp| {
                    words::<WRITE>(group, first[0], stamp) && words::<WRITE>(next, first[0], stamp)
                })
        }
    }
}

/// A read by one of several who read there: what all know and nobody changes is read in
/// every epoch.
#[inline(never)]
fn among_others(
    thread: &mut Thread,
    top: *mut crate::frames::Frame,
    group: &Group,
    (number, bytes): (u32, u8),
    place: usize,
) -> bool {
    cell::is_shared(number)
        && thread
            .usual_stamp(top, place)
            .is_some_and(|stamp| access::reread::<FastTrack>(thread, group, number, bytes, stamp))
}

/// Whether what a word remembers is known to have happened before, without a second look.
#[inline(always)]
fn is_usual(thread: &Thread, word: Word) -> bool {
    let (write, read) = (word.write(), word.read());
    word != Word::EMPTY
        && word.as_cell().is_none()
        && read.as_set().is_none()
        && (write.is_none() || thread.recalls(write.stamp()))
        && (read.is_none() || thread.recalls(read.stamp()))
}

#[inline(always)]
fn after<const WRITE: bool>(before: Word, stamp: Stamp) -> Word {
    let now = Half::new(stamp, 15);
    match WRITE {
        true => Word::new(now, Half::NONE),
        false => Word::new(before.write(), now),
    }
}

#[inline(always)]
fn word<const WRITE: bool>(at: &AtomicU64, before: Word, stamp: Stamp) -> bool {
    shadow::exchange_one(at, before, after::<WRITE>(before, stamp))
}

#[inline(always)]
fn words<const WRITE: bool>(group: &Group, before: Word, stamp: Stamp) -> bool {
    shadow::exchange(group, [before; 2], [after::<WRITE>(before, stamp); 2])
}
