//! Entry and exit of functions where not all calls are looked at.
//!
//! A thread's frames tell for each call which function it is of, whether it is
//! looked at, and in which *generation* that was decided: the number of times that
//! some thread had entered a function it was never in before. A decision of an
//! earlier generation is made again when the function is called or returned to,
//! because there may be new company.
//!
//! A call that is looked at [briefly](Look::Briefly) looks until a place in it accesses memory
//! for the second time: then the thread's flag says that it looks away, until it enters or
//! leaves a function, or others want it to look. What the function that it returns to has
//! accessed before is still known unless calls were looked at meanwhile.

use std::alloc::{self, Layout};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use racehound_sample::{Decision, Function, Look, Raised, Sampler, Since};
use rustc_hash::FxHashMap;

use super::functions::{self, Number};
use super::presence::{self, Presence};
use crate::frames::Frame;
use crate::thread::Visit;
use crate::tls::{Hot, hot};

/// In steps of [`STEP`], as words have it.
pub(crate) static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Above what words say of how closely a call is looked at.
const STEP: u32 = 4;

/// What was decided about calls to come is decided again.
pub(super) fn decide_again() {
    GENERATION.fetch_add(STEP, Ordering::SeqCst);
}

fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// What a frame knows of its call: function, generation, how closely it is looked at.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct CallWord(u32);

impl CallWord {
    /// Of no function, and looked at closely.
    pub(crate) const OUTSIDE: Self = Self(0);

    /// Set while the call is not looked at.
    pub(crate) const AWAY: u32 = 1;

    /// Set unless it is looked at closely: also while it is not looked at, so that a bit
    /// less is to look briefly, and both less is to look closely.
    pub(crate) const BRIEF: u32 = 2;

    /// Where the generation is, as far as it is kept.
    pub(crate) const GENERATION: u32 = ((1 << (32 - Number::BITS)) - 1) & !(STEP - 1);

    #[inline(always)]
    fn new(function: Number, generation: u32, look: Look) -> Self {
        let function = function.0 << (32 - Number::BITS);
        Self(function | generation & Self::GENERATION).with_look(look)
    }

    pub(super) fn of_bits(bits: u32) -> Self {
        Self(bits)
    }

    pub(super) fn bits(self) -> u32 {
        self.0
    }

    #[inline(always)]
    pub(super) fn function(self) -> Number {
        Number(self.0 >> (32 - Number::BITS))
    }

    #[inline(always)]
    fn is_of(self, generation: u32) -> bool {
        (self.0 ^ generation) & Self::GENERATION == 0
    }

    #[inline(always)]
    pub(crate) fn is_sampled(self) -> bool {
        self.0 & Self::AWAY == 0
    }

    #[inline(always)]
    fn look(self) -> Look {
        match self.0 & (Self::AWAY | Self::BRIEF) {
            0 => Look::Closely,
            Self::BRIEF => Look::Briefly,
            _ => Look::Away,
        }
    }

    #[inline(always)]
    fn with_look(self, look: Look) -> Self {
        let bits = match look {
            Look::Away => Self::AWAY | Self::BRIEF,
            Look::Briefly => Self::BRIEF,
            Look::Closely => 0,
        };
        Self(self.0 & !(Self::AWAY | Self::BRIEF) | bits)
    }

    /// The same call, looked at as closely as that if it is not anyway.
    #[inline(always)]
    fn at_least(self, look: Look) -> Self {
        self.with_look(self.look().max(look))
    }
}

/// Functions that a thread finds at once; a power of two.
const RECENT: usize = 1024;

/// A function about whose next calls it is decided. The layout, and which one is whose,
/// are known to the assembly in [`entry`](crate::entry).
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Resting {
    place: usize,
    word: CallWord,
    /// So many of them are left.
    left: u32,
}

const _: () = assert!(size_of::<Resting>() == 16 && RECENT == 1024);
const _: () = assert!(std::mem::offset_of!(Resting, word) == 8);
const _: () = assert!(std::mem::offset_of!(Resting, left) == 12);

/// What the assembly in [`entry`](crate::entry) finds by the place that it is called from.
#[repr(C)]
pub(crate) struct Tables {
    resting: [Resting; RECENT],
    /// Places that have accessed memory in a call that is looked at
    /// [briefly](Look::Briefly): the low half of each, and [`SERIAL`] for each call.
    accessed: [u32; RECENT],
}

impl Tables {
    /// Empty, and never on the program's stack, which may be small.
    fn new() -> Box<Self> {
        let layout = Layout::new::<Self>();
        // SAFETY: a size that is not 0; zeroes are what all fields begin with; the box gives
        // back what has this layout.
        unsafe {
            let tables = alloc::alloc_zeroed(layout).cast::<Self>();
            if tables.is_null() {
                alloc::handle_alloc_error(layout);
            }
            Box::from_raw(tables)
        }
    }
}

const _: () = assert!(std::mem::offset_of!(Tables, resting) == 0);
const _: () = assert!(std::mem::offset_of!(Tables, accessed) == 16384);

/// What else is known of a [`Resting`].
#[derive(Clone, Copy, Default)]
struct Rest {
    /// So many calls were left in the beginning.
    of: u32,
    /// So many calls behind those are not looked at.
    then: u32,
    /// So many calls have rested before.
    before: u32,
}

/// A function that the thread was in before.
struct Known {
    number: Number,
    /// Calls that nobody has asked about, as far as they are not with its
    /// [`Resting`].
    rested: u32,
}

/// The calls of a thread.
pub(crate) struct Calls {
    tables: Box<Tables>,
    rests: Box<[Rest; RECENT]>,
    sampler: Box<dyn Sampler>,
    presence: Option<&'static Presence>,
    /// Calls that were looked at for the sake of others since somebody asked.
    obliged: u32,
    /// Calls so far, as far as somebody has asked, and how many of them were looked at.
    made: u64,
    looked_at: u64,
    /// Functions that the thread was ever in.
    known: FxHashMap<usize, Known>,
    /// Departures of code of which it has heard.
    departures: u64,
    // Of the current decision, kept for their memory.
    company: Vec<Function>,
    companions: Vec<&'static Presence>,
    raised: Raised,
}

impl Calls {
    /// For a new thread.
    pub(crate) fn new() -> Box<Self> {
        Box::new(Self {
            tables: Tables::new(),
            rests: crate::memory::boxed(Rest::default()),
            sampler: super::sampler(),
            presence: Presence::take(),
            obliged: 0,
            made: 0,
            looked_at: 0,
            known: FxHashMap::default(),
            departures: functions::departures(),
            company: Vec::new(),
            companions: Vec::new(),
            raised: Raised::default(),
        })
    }

    /// The processor's thread goes on as this one.
    pub(crate) fn attach(&mut self, hot: *mut Hot) {
        // SAFETY: our own block.
        unsafe {
            (*hot).tables = &raw mut *self.tables;
            (*hot).presence = self.presence.unwrap_or(&presence::UNSEEN);
        }
        if let Some(presence) = self.presence {
            presence.attach();
        }
    }

    /// It goes on as another one.
    pub(crate) fn detach(&self) {
        if let Some(presence) = self.presence {
            presence.detach();
        }
    }

    /// Decides about a call of the function at a place.
    #[inline(never)]
    fn entered(&mut self, place: usize) -> CallWord {
        if self.departures != functions::departures() {
            self.forget_gone();
        }
        let slot = slot(place);
        let before = std::mem::take(&mut self.tables.resting[slot]);
        let rest = std::mem::take(&mut self.rests[slot]);
        let done = rest.of - before.left;
        self.made += u64::from(done);
        if before.word.is_sampled() {
            self.looked_at += u64::from(done);
        }
        let rested = rest.before + done;
        let is_at_hand = before.place == place;
        if is_at_hand
            && before.left == 0
            && let Some(left) = rest.then.checked_sub(1)
            && before.word.is_of(generation())
        {
            let word = before.word.with_look(Look::Away);
            self.tables.resting[slot] = Resting { place, word, left };
            self.rests[slot] = Rest {
                of: left + 1,
                then: 0,
                before: rested,
            };
            return self.as_others_want(word);
        }
        let (number, is_new, rested) = match is_at_hand {
            true => (before.word.function(), false, rested),
            false => self.look_up(place, before.place, rested),
        };
        let (word, decision) = self.decide(number, is_new, rested);
        self.rests[slot] = Rest {
            of: decision.rest,
            then: decision.then,
            before: 0,
        };
        self.tables.resting[slot] = Resting {
            place,
            word: word.with_look(decision.look),
            left: decision.rest,
        };
        word
    }

    /// Forgets the functions in code that is gone: others may lie there now.
    #[cold]
    fn forget_gone(&mut self) {
        let departures = functions::departures();
        let gone = functions::gone_since(self.departures);
        self.departures = departures;
        let is_gone = |place: usize| gone.iter().any(|range| range.contains(&place));
        self.known.retain(|&place, _| !is_gone(place));
        for (resting, rest) in self.tables.resting.iter_mut().zip(self.rests.iter_mut()) {
            if is_gone(resting.place) {
                (*resting, *rest) = (Resting::default(), Rest::default());
            }
        }
    }

    /// A call that nobody asks about, which others may want looked at.
    #[inline(always)]
    fn as_others_want(&mut self, word: CallWord) -> CallWord {
        let Some(presence) = self.presence else {
            return word;
        };
        let word = match presence.raised() {
            Look::Away => word,
            look => {
                self.obliged += 1;
                word.at_least(look)
            }
        };
        presence.set(word);
        word
    }

    /// Finds a function that is not at hand: which it is, whether the thread is in it for
    /// the first time, and calls that nobody has asked about. Those of the function
    /// `before`, in whose place it will be, are kept.
    fn look_up(&mut self, place: usize, before: usize, rested: u32) -> (Number, bool, u32) {
        if let Some(evicted) = self.known.get_mut(&before) {
            evicted.rested += rested;
        }
        let is_new = !self.known.contains_key(&place);
        let known = self.known.entry(place).or_insert_with(|| Known {
            number: functions::at(place),
            rested: 0,
        });
        (known.number, is_new, std::mem::take(&mut known.rested))
    }

    /// Decides about a call, or about what is left of it; and about how many further
    /// ones.
    fn decide(&mut self, function: Number, is_new: bool, rested: u32) -> (CallWord, Decision) {
        let mut generation = generation();
        let Some(presence) = self.presence.filter(|_| function != Number::NONE) else {
            let always = Decision {
                look: Look::Closely,
                rest: 0,
                then: 0,
            };
            return (
                CallWord::new(Number::NONE, generation, Look::Closely),
                always,
            );
        };
        presence.set(CallWord::new(function, generation, Look::Closely));
        self.company.clear();
        self.companions.clear();
        if self.sampler.minds_company() {
            if is_new {
                generation = GENERATION
                    .fetch_add(STEP, Ordering::SeqCst)
                    .wrapping_add(STEP);
                // Who enters a function for the first time at the same moment sees this
                // one, or is seen.
                fence(Ordering::SeqCst);
            }
            for (companion, function) in presence.company() {
                self.companions.push(companion);
                self.company.push(function.function());
            }
        }
        self.made += 1;
        self.looked_at += u64::from(self.obliged);
        let since = Since {
            rested,
            obliged: std::mem::take(&mut self.obliged),
        };
        let decision =
            self.sampler
                .enter(function.function(), since, &self.company, &mut self.raised);
        for &position in &self.raised.positions {
            let companion = self.companions[position];
            companion.raise(decision.look, decision.rest, self.raised.are_new);
        }
        self.looked_at += u64::from(decision.is_sampled());
        let raised = presence.raised();
        self.obliged += u32::from(raised > Look::Away && !decision.is_sampled());
        let word = CallWord::new(function, generation, decision.look.max(raised));
        (word, decision)
    }
}

/// How far one call is from the next: all bits of it differ, as those of places do.
pub(crate) const SERIAL: u32 = 0x9e37_79b1;

/// Calls of threads that are over, and how many of them were looked at.
static MADE: AtomicU64 = AtomicU64::new(0);
static LOOKED_AT: AtomicU64 = AtomicU64::new(0);

/// How much of what threads have done that are over was looked at, in words.
pub(super) fn summary() -> String {
    let (made, looked_at) = (
        MADE.load(Ordering::Relaxed),
        LOOKED_AT.load(Ordering::Relaxed),
    );
    let share = 100.0 * looked_at as f64 / made.max(1) as f64;
    format!("racehound: {looked_at} of {made} calls looked at ({share:.1} %)\n")
}

impl Drop for Calls {
    fn drop(&mut self) {
        MADE.fetch_add(self.made, Ordering::Relaxed);
        LOOKED_AT.fetch_add(self.looked_at, Ordering::Relaxed);
        if let Some(presence) = self.presence {
            presence.give_back();
        }
    }
}

#[inline(always)]
fn slot(place: usize) -> usize {
    (place ^ place >> 10) >> 2 & (RECENT - 1)
}

/// A function is entered: `place` is in it. Whoever comes here is not done with in
/// [`entry`](crate::entry).
pub(crate) extern "C" fn enter(caller: usize, place: usize) {
    let hot = hot();
    // SAFETY: our own block, frames and calls.
    unsafe {
        let calls = (*hot).calls;
        if !calls.is_null() {
            let resting = &mut (&mut (*calls).tables.resting)[slot(place)];
            let word = resting.word;
            if resting.place == place && resting.left != 0 && word.is_of(generation()) {
                resting.left -= 1;
                let word = (*calls).as_others_want(word);
                push(hot, caller, word);
                (*hot).call = word;
                return;
            }
        }
    }
    enter_slowly(caller, place);
}

/// # Safety
/// `hot` is our own block, of a thread that is known.
#[inline(always)]
unsafe fn push(hot: *mut Hot, caller: usize, call: CallWord) {
    // SAFETY: our own frames; there is at least the sentinel.
    unsafe {
        let top = (*hot).top;
        // Others may have made it look meanwhile.
        if (*(*hot).presence).takes_whole() {
            (*top.sub(1)).call = (*top.sub(1)).call.with_look(Look::Closely);
        }
        top.write(Frame {
            caller,
            context: 0,
            call,
        });
        (*hot).top = top.add(1);
        // Also if it is not looked at: others may want it to be in a moment.
        (*hot).serial = (*hot).serial.wrapping_add(SERIAL);
    }
}

#[inline(never)]
fn enter_slowly(caller: usize, place: usize) {
    let visit = Visit::begin();
    let hot = visit.hot();
    // SAFETY: our own block.
    unsafe {
        if (*hot).calls.is_null() {
            crate::thread::push_call(caller);
            return;
        }
        push(hot, caller, CallWord::default());
        let word = (*(*hot).calls).entered(place);
        (*(*hot).top.sub(1)).call = word;
        (*hot).call = word;
    }
}

/// The thread finds itself in other calls than before.
#[inline(always)]
pub(crate) fn resume(hot: *mut Hot) {
    // SAFETY: our own block, frames and calls.
    unsafe {
        let word = (*(*hot).top.sub(1)).call;
        if let Some(calls) = (*hot).calls.as_ref() {
            (*hot).call = word;
            if let Some(presence) = calls.presence {
                presence.set(word);
            }
        }
    }
}

/// A function is left, and [`entry`](crate::entry) is not done with it.
pub(crate) extern "C" fn leave() {
    let hot = hot();
    // SAFETY: our own block, frames and calls.
    unsafe {
        if (*hot).top.is_null() {
            return;
        }
        let top = (*hot).top.sub(1);
        (*hot).top = top;
        let word = (*top.sub(1)).call;
        if word.is_of(generation()) || word.function() == Number::NONE || (*hot).calls.is_null() {
            return resume(hot);
        }
    }
    return_slowly();
}

/// There may be new company for the function that is returned to.
#[inline(never)]
fn return_slowly() {
    let visit = Visit::begin();
    let hot = visit.hot();
    // SAFETY: our own block, frames and calls.
    unsafe {
        let frame = (*hot).top.sub(1);
        let before = (*frame).call;
        let (word, _) = (*(*hot).calls).decide(before.function(), false, 0);
        let word = word.at_least(before.look());
        (*frame).call = word;
        (*hot).call = word;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry;

    #[inline(never)]
    fn at_one_place(access: extern "C" fn(usize), address: usize) {
        access(address);
        // No jump, which would be from another place each time.
        std::hint::black_box(());
    }

    /// How a call goes on that is looked at like that and makes so many accesses.
    fn looks_on(access: extern "C" fn(usize), look: Look, accesses: usize) -> Look {
        let numbers = [0u64; 8];
        let hot: *mut Hot = hot();
        // SAFETY: our own block.
        unsafe {
            (*hot).serial = (*hot).serial.wrapping_add(SERIAL);
            (*hot).call = CallWord::OUTSIDE.with_look(look);
        }
        for at in 0..accesses {
            at_one_place(access, &raw const numbers[at % 2 * 2] as usize);
        }
        // SAFETY: our own block.
        unsafe { (*hot).call.look() }
    }

    #[test]
    fn a_call_that_is_looked_at_briefly_is_until_it_repeats_itself() {
        crate::init();
        let _alone = crate::agreement::alone();
        let hot: *mut Hot = hot();
        let mut tables = Tables::new();
        let numbers = [0u32; 8];
        let address = |at: usize| &raw const numbers[at] as usize;
        // SAFETY: our own block; what is found for the thread afterwards is what was there.
        unsafe {
            let before = ((*hot).tables, (*hot).call);
            (*hot).tables = &raw mut *tables;
            for twins in entry::accesses() {
                let access = twins.sampled as *const ();
                let access = std::mem::transmute::<*const (), extern "C" fn(usize)>(access);
                assert!(looks_on(access, Look::Briefly, 1) == Look::Briefly);
                assert!(looks_on(access, Look::Briefly, 2) == Look::Away);
                assert!(looks_on(access, Look::Closely, 9) == Look::Closely);
                (*hot).call = CallWord::OUTSIDE.with_look(Look::Briefly);
                (*hot).serial = (*hot).serial.wrapping_add(SERIAL);
                // Two places, once each.
                at_one_place(access, address(0));
                access(address(0));
                assert!((*hot).call.look() == Look::Briefly);
                // Who is made to look does, whatever it has done before.
                assert!(looks_on(access, Look::Briefly, 2) == Look::Away);
                let presence = Presence::take().expect("there are many");
                presence.attach();
                presence.raise(Look::Briefly, 0, false);
                at_one_place(access, address(0));
                assert!((*hot).call.look() == Look::Briefly);
                at_one_place(access, address(0));
                assert!((*hot).call.look() == Look::Away);
                presence.give_back();
            }
            ((*hot).tables, (*hot).call) = before;
        }
    }

    #[test]
    fn who_wants_less_leaves_those_their_way_who_want_more() {
        let presence = Presence::take().expect("there are many");
        let next = || presence.raised();
        presence.raise(Look::Closely, 2, false);
        presence.raise(Look::Briefly, 9, false);
        assert!([next(), next(), next()] == [Look::Closely, Look::Closely, Look::Away]);
        presence.raise(Look::Briefly, 1, false);
        assert!([next(), next()] == [Look::Briefly, Look::Away]);
        presence.raise(Look::Closely, 0, false);
        assert!(next() == Look::Away);
        presence.give_back();
    }
}
