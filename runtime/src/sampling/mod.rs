//! Sampling: which calls the detector looks at (atexrace.txt).
//!
//! The decisions are those of `racehound-sample`; here is what they take. Entry
//! points of functions and accesses get twins (see [`entry`](crate::entry)): at the
//! entry of a function the thread decides, and each access tests one flag.
//!
//! | file | |
//! |---|---|
//! | [`calls`] | entry and exit of functions: the decision, and taking it back |
//! | [`presence`] | which function each thread is in, for the others to see |
//! | [`functions`] | who a function is, in every execution |
//! | [`past`] | the file that executions share |
//!
//! # What it costs
//! A call that need not be asked about (see [`Decision::rest`]) writes to memory of its
//! own thread only, and reads one word beside that changes when some thread enters a
//! function for the first time. Which function it is in a thread writes to a line that is
//! its own; others read it when they decide, and write there when they want the thread to
//! look: both happen a few times in a hundred calls.
//!
//! [`Decision::rest`]: racehound_sample::Decision::rest

pub(crate) mod calls;
mod functions;
mod past;
pub(crate) mod presence;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use racehound_sample::{AtexRace, LiteRace, Sampler};

use crate::detector::Engine;
use crate::tls::hot;
use crate::{options, output, signals};

pub(crate) use calls::Calls;
pub(crate) use functions::forget_places;

/// Which sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sample {
    None,
    LiteRace,
    Atex,
}

static ON: AtomicBool = AtomicBool::new(false);

/// Whether not everything is looked at.
#[inline]
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Whether accesses of the current thread are not looked at now.
#[inline]
pub(crate) fn looks_away() -> bool {
    // SAFETY: our own block.
    unsafe { !(*hot()).call.is_sampled() }
}

/// Begins, if that is wanted; whether it is.
pub(crate) fn start() -> bool {
    let options = options::get();
    let on = options.sample != Sample::None && options.engine != Engine::Off;
    if on && options.sample == Sample::Atex {
        past::open();
        signals::mourn();
    }
    ON.store(on, Ordering::Relaxed);
    on
}

/// Whether what executions share may become smaller, which the system tells by a signal.
pub(crate) fn may_be_cut_short() -> bool {
    past::is_file_in_use()
}

/// Whether a thread that cannot go on because of what is at an address can now.
pub(crate) fn mends(address: usize) -> bool {
    past::mends(address)
}

/// The process ends.
pub(crate) fn finish() {
    if is_on() {
        past::close();
        if options::get().verbosity > 0 {
            output::write(&calls::summary());
        }
    }
}

/// Modules are gone that lay there: what threads know of their functions is not true of those
/// that come to lie there.
pub(crate) fn forget_code(ranges: &[Range<usize>]) {
    if is_on() && !ranges.is_empty() {
        functions::gone(ranges);
        calls::decide_again();
    }
}

/// In the child of a fork only the current thread goes on.
pub(crate) fn in_child() {
    if is_on() {
        presence::only_mine();
    }
}

/// What decides for one thread.
fn sampler() -> Box<dyn Sampler> {
    let options = options::get();
    match options.sample {
        Sample::Atex => Box::new(AtexRace::new(options.sample_rate, past::shared())),
        Sample::LiteRace | Sample::None => {
            Box::new(LiteRace::new(options.sample_least.clamp(1, 1 << 24) as u32))
        }
    }
}
