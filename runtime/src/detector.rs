//! Which detector is at work, and the way to it for everything that is not on
//! the hot path.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::access::Access;
use crate::rule::{AccuLock, FastTrack};
use crate::stamp::Stamp;
use crate::thread::Visit;
use crate::{entry, general, options, range, record, sampling, shadow_range};

/// How accesses are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Engine {
    /// Not at all.
    Off,
    /// Shadow words, by FastTrack's rules.
    FastTrack,
    /// Shadow words, by AccuLock's.
    AccuLock,
    /// As events for any detector of `racehound-detect`, or only to record them.
    General,
}

static ENGINE: AtomicU8 = AtomicU8::new(Engine::Off as u8);

/// Chooses the engine.
pub(crate) fn set(engine: Engine) {
    ENGINE.store(engine as u8, Ordering::Relaxed);
    match engine {
        Engine::Off => {}
        Engine::FastTrack => entry::set_slow_paths(entry::slow_paths::<FastTrack>()),
        Engine::AccuLock => entry::set_slow_paths(entry::slow_paths::<AccuLock>()),
        Engine::General => entry::set_slow_paths(general::slow_paths()),
    }
}

/// The engine at work.
#[inline]
pub(crate) fn engine() -> Engine {
    match ENGINE.load(Ordering::Relaxed) {
        1 => Engine::FastTrack,
        2 => Engine::AccuLock,
        3 => Engine::General,
        _ => Engine::Off,
    }
}

/// Whether nobody wants to know of accesses.
pub(crate) fn is_idle() -> bool {
    engine() == Engine::General && options::get().detector == "none"
}

/// Whether an access by a function that the program has called was one of those that take
/// no more than a glance: then it is done.
#[inline(always)]
pub(crate) fn settles<const WRITE: bool>(address: usize, size: usize, place: usize) -> bool {
    if record::is_recorded() || sampling::looks_away() {
        return false;
    }
    match engine() {
        Engine::FastTrack => range::at_once::<FastTrack, WRITE>(address, size, place),
        Engine::AccuLock => range::at_once::<AccuLock, WRITE>(address, size, place),
        Engine::Off | Engine::General => false,
    }
}

/// An access of any size.
#[inline]
pub(crate) fn range(visit: &Visit, access: &Access) {
    if sampling::looks_away() {
        return;
    }
    record::range(visit, access);
    match engine() {
        Engine::Off => {}
        Engine::FastTrack => range::of::<FastTrack>(visit, access),
        Engine::AccuLock => range::of::<AccuLock>(visit, access),
        Engine::General => general::range(visit, access),
    }
}

/// A write of memory whose past is forgotten with it, see [`range::last_write`].
#[inline]
pub(crate) fn last_write(visit: &Visit, access: &Access, after: Option<Stamp>) {
    record::range(visit, access);
    match engine() {
        Engine::FastTrack => return range::last_write::<FastTrack>(visit, access, after),
        Engine::AccuLock => return range::last_write::<AccuLock>(visit, access, after),
        Engine::General => general::range(visit, access),
        Engine::Off => {}
    }
    // What lives there goes with it.
    if let Some(after) = after {
        shadow_range::written(visit.thread(), access.address, access.size, after);
    }
}
