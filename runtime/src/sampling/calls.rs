//! Entry and exit of functions where not all calls are looked at.
//!
//! A thread's frames tell for each call which function it is of, whether it is
//! looked at, and in which *generation* that was decided: the number of times that
//! some thread had entered a function it was never in before. A decision of an
//! earlier generation is made again when the function is called or returned to,
//! because there may be new company.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use racehound_sample::{Decision, Function, Sampler, Since};
use rustc_hash::FxHashMap;

use super::functions::{self, Number};
use super::presence::{self, Presence};
use crate::frames::Frame;
use crate::thread::Visit;
use crate::tls::{Hot, hot};

/// In steps of two, as words have it.
pub(crate) static GENERATION: AtomicU32 = AtomicU32::new(0);

fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// What a frame knows of its call: function, generation, whether it is looked at.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct CallWord(u32);

impl CallWord {
    /// Of no function, and looked at.
    pub(crate) const OUTSIDE: Self = Self(0);

    /// Set while the call is not looked at.
    pub(crate) const AWAY: u32 = 1;

    /// Where the generation is, as far as it is kept.
    pub(crate) const GENERATION: u32 = ((1 << (32 - Number::BITS)) - 1) & !Self::AWAY;

    #[inline(always)]
    fn new(function: Number, generation: u32, sampled: bool) -> Self {
        let function = function.0 << (32 - Number::BITS);
        Self(function | generation & Self::GENERATION).with_sampled(sampled)
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
    fn with_sampled(self, sampled: bool) -> Self {
        Self(self.0 & !Self::AWAY | u32::from(!sampled))
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

/// A function that the thread was in before.
struct Known {
    number: Number,
    /// Calls that nobody has asked about, as far as they are not with its
    /// [`Resting`].
    rested: u32,
}

/// The calls of a thread.
pub(crate) struct Calls {
    resting: Box<[Resting; RECENT]>,
    /// How many calls each of them rested for in the beginning.
    rests: Box<[u32; RECENT]>,
    sampler: Box<dyn Sampler>,
    presence: Option<&'static Presence>,
    /// Calls that were looked at for the sake of others since somebody asked.
    obliged: u32,
    /// Calls so far, as far as somebody has asked, and how many of them were looked at.
    made: u64,
    looked_at: u64,
    /// Functions that the thread was ever in.
    known: FxHashMap<usize, Known>,
    // Of the current decision, kept for their memory.
    company: Vec<Function>,
    companions: Vec<&'static Presence>,
    raised: Vec<usize>,
}

impl Calls {
    /// For a new thread.
    pub(crate) fn new() -> Box<Self> {
        Box::new(Self {
            resting: crate::memory::boxed(Resting::default()),
            rests: crate::memory::boxed(0),
            sampler: super::sampler(),
            presence: Presence::take(),
            obliged: 0,
            made: 0,
            looked_at: 0,
            known: FxHashMap::default(),
            company: Vec::new(),
            companions: Vec::new(),
            raised: Vec::new(),
        })
    }

    /// The processor's thread goes on as this one.
    pub(crate) fn attach(&mut self, hot: *mut Hot) {
        // SAFETY: our own block.
        unsafe {
            (*hot).resting = self.resting.as_mut_ptr();
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
        let slot = slot(place);
        let before = std::mem::take(&mut self.resting[slot]);
        let rested = std::mem::take(&mut self.rests[slot]) - before.left;
        self.made += u64::from(rested);
        if before.word.is_sampled() {
            self.looked_at += u64::from(rested);
        }
        let (number, is_new, rested) = match before.place == place {
            true => (before.word.function(), false, rested),
            false => self.look_up(place, before.place, rested),
        };
        let (word, decision) = self.decide(number, is_new, rested);
        self.rests[slot] = decision.rest;
        self.resting[slot] = Resting {
            place,
            word: word.with_sampled(decision.sampled),
            left: decision.rest,
        };
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
                sampled: true,
                rest: 0,
            };
            return (CallWord::new(Number::NONE, generation, true), always);
        };
        presence.set(CallWord::new(function, generation, true));
        self.company.clear();
        self.companions.clear();
        self.raised.clear();
        if self.sampler.minds_company() {
            if is_new {
                generation = GENERATION.fetch_add(2, Ordering::SeqCst).wrapping_add(2);
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
        for &position in &self.raised {
            self.companions[position].raise(decision.rest);
        }
        self.looked_at += u64::from(decision.sampled);
        let raised = presence.is_raised();
        self.obliged += u32::from(raised && !decision.sampled);
        let sampled = decision.sampled || raised;
        let word = CallWord::new(function, generation, sampled);
        (word, decision)
    }
}

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
            let resting = &mut (&mut (*calls).resting)[slot(place)];
            let word = resting.word;
            // Who has no presence never rests.
            if resting.place == place
                && resting.left != 0
                && word.is_of(generation())
                && let Some(presence) = (*calls).presence
            {
                resting.left -= 1;
                let word = match presence.is_raised() {
                    false => word,
                    true => {
                        (*calls).obliged += 1;
                        word.with_sampled(true)
                    }
                };
                push(hot, caller, word);
                (*hot).call = word;
                presence.set(word);
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
        let below = top.sub(1);
        // Others may have made it look meanwhile.
        (*below).call = (*hot).call;
        top.write(Frame {
            caller,
            context: 0,
            call,
        });
        (*hot).top = top.add(1);
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
        let word = word.with_sampled(word.is_sampled() || before.is_sampled());
        (*frame).call = word;
        (*hot).call = word;
    }
}
