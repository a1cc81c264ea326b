//! Who a function is.
//!
//! A function is known by the place in it that its entry returns to, while the
//! process lasts; by its module's build and an offset, while that build lasts; and by
//! its module's and its own name, whatever becomes of the module. Names take a look
//! at the program's files: they are found out once for each build, and kept with the
//! pairs.

use racehound_sample::Function;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::past;
use crate::interpose::Errno;
use crate::report::symbols;
use crate::spin::Locked;

/// A function in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number(pub(super) u32);

impl Number {
    pub(super) const NONE: Self = Self(0);
    /// Bits that a number may have.
    pub(super) const BITS: u32 = 20;

    /// The function of that number.
    pub(super) fn function(self) -> Function {
        Function(FUNCTIONS[self.0 as usize].load(Ordering::Relaxed))
    }
}

static FUNCTIONS: [AtomicU64; 1 << Number::BITS] = [const { AtomicU64::new(0) }; 1 << Number::BITS];

#[derive(Default)]
struct Known {
    by_place: FxHashMap<usize, Number>,
    by_function: FxHashMap<Function, Number>,
}

static KNOWN: Locked<Option<Known>> = Locked::new(None);

/// The function around a place; none if there are too many.
pub(super) fn at(place: usize) -> Number {
    let known = |known: &Known| known.by_place.get(&place).copied();
    if let Some(number) = KNOWN.lock().as_ref().and_then(known) {
        return number;
    }
    let _errno = Errno::keep();
    // Not with the lock held: it may take a look at the program's files.
    let function = identify(place);
    let mut guard = KNOWN.lock();
    let known = guard.get_or_insert_default();
    let next = known.by_function.len() + 1;
    let number = *known.by_function.entry(function).or_insert_with(|| {
        match FUNCTIONS.get(next) {
            Some(entry) => entry.store(function.0, Ordering::Relaxed),
            None => return Number::NONE,
        }
        Number(next as u32)
    });
    known.by_place.insert(place, number);
    number
}

/// Modules come and go: places may mean something else.
pub(crate) fn forget_places() {
    if let Some(known) = KNOWN.lock().as_mut() {
        known.by_place.clear();
    }
}

/// Code that is not there any more, each with when it went last.
static GONE: Locked<Vec<(Range<usize>, u64)>> = Locked::new(Vec::new());

/// How often some code went.
static DEPARTURES: AtomicU64 = AtomicU64::new(0);

/// Modules are gone that lay there; others may come to lie there.
pub(super) fn gone(ranges: &[Range<usize>]) {
    let mut all = GONE.lock();
    let departure = DEPARTURES.load(Ordering::Relaxed) + 1;
    for range in ranges {
        match all.iter_mut().find(|(other, _)| other == range) {
            Some((_, last)) => *last = departure,
            None => all.push((range.clone(), departure)),
        }
    }
    DEPARTURES.store(departure, Ordering::Release);
}

/// How often some code has gone so far.
#[inline]
pub(super) fn departures() -> u64 {
    DEPARTURES.load(Ordering::Acquire)
}

/// What has gone since so many departures.
pub(super) fn gone_since(departures: u64) -> Vec<Range<usize>> {
    let all = GONE.lock();
    let later = all.iter().filter(|(_, last)| *last > departures);
    later.map(|(range, _)| range.clone()).collect()
}

fn identify(place: usize) -> Function {
    let Some((module, build, offset)) = symbols::build(place) else {
        return Function::named("", &format!("{place:#x}"));
    };
    let key = Function::named(&build, &format!("{offset:#x}")).0;
    past::function(key, || {
        let name = symbols::function_identity(place);
        let name = name.unwrap_or_else(|| format!("{build}+{offset:#x}"));
        (Function::named(&module, &name), format!("{module} {name}"))
    })
}
