//! The end of an execution, whatever it is: what is said of it then.
//!
//! The hash and the schedule are there also when the program dies, for what it
//! dies of is what one wants to see again. It may end by itself, at once
//! (`_exit`), by becoming another program, or by a signal that nobody handles:
//! [`signals`](crate::signals) stands in for what the system would do, and comes
//! here first. A thread that has run out of stack says it on one that was put by
//! for that. Only who is killed by `SIGKILL` says nothing.
//!
//! One process speaks: the copies that it makes of itself run under the same
//! strategy, but their executions are their own.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use racehound_report::journal::Scheduled;
use racehound_schedule::Schedule;

use super::{doubt, is_on, note_fate, roster, sites};
use crate::interpose::Errno;
use crate::thread::{self, Visit};
use crate::{memory, options, output, record, report, tape, triggers};

/// Whether all is said, or for others to say.
static SILENT: AtomicBool = AtomicBool::new(false);

/// The process is a copy.
pub(super) fn leave_it_to_the_parent() {
    SILENT.store(true, Ordering::Relaxed);
    roster().choices = None;
}

/// What is said in the end, once; the schedule is kept, if that is wanted.
pub(crate) fn conclude() -> Option<String> {
    if SILENT.swap(true, Ordering::Relaxed) {
        return None;
    }
    match is_on() {
        true => summary(),
        false => triggers::conclude(),
    }
}

/// The program ends without ceremony. A thread that has ended may do that, too, while the
/// C library tidies up after it; it is not introduced as another one, for that takes
/// memory of a heap that may be why the program dies.
pub(crate) fn gives_up() {
    if is_on() {
        let _errno = Errno::keep();
        let visit = thread::current().map(|_| Visit::begin());
        match &visit {
            Some(visit) => record::save(visit.thread()),
            None => tape::flush(),
        }
        if let Some(text) = conclude() {
            output::write(&text);
        }
    }
}

/// The program becomes another one, or fails to: then it goes on, and there will
/// be more to say.
pub(crate) fn may_end() {
    if is_on() && !SILENT.load(Ordering::Relaxed) {
        let _errno = Errno::keep();
        let visit = Visit::begin();
        record::save(visit.thread());
        if let Some(text) = summary() {
            output::write(&text);
        }
    }
}

/// What DrFinder did, and why if that is wanted.
fn foresight() -> String {
    let mut roster = roster();
    let Some(finder) = roster.finder() else {
        return String::new();
    };
    let mut text = format!("racehound: {}\n", finder.statistics());
    if options::get().explain_schedule {
        for (step, decision) in finder.decisions() {
            let reason = finder.explain(decision, &sites::Names);
            text += &format!("racehound: step {step}: {reason}\n");
        }
    }
    text
}

fn summary() -> Option<String> {
    let options = options::get();
    let (choices, fingerprint, steps, divergence, fate, news) = {
        let mut roster = roster();
        (
            roster.choices.clone(),
            roster.fingerprint,
            roster.steps,
            roster.divergence(),
            roster.fate(),
            roster.news.take(),
        )
    };
    if let Some(fate) = news {
        note_fate(&fate);
    }
    let plan = options.plan.as_ref()?;
    let mut text = format!("racehound: schedule {plan}: {steps} steps, hash {fingerprint}\n");
    let unvisited = sites::never_accessed();
    text += &foresight();
    for place in &unvisited {
        text += &format!("racehound: no access was made at {place}\n");
    }
    if let Some(divergence) = &divergence {
        text += &format!("racehound: the execution left the schedule at {divergence}\n");
    }
    if let Some((anomaly, fate)) = &fate {
        text += &format!("racehound: {anomaly}: {fate}\n");
    }
    report::note(Scheduled {
        process: std::process::id(),
        plan: plan.to_string(),
        steps,
        hash: fingerprint.to_string(),
        unvisited,
        divergence,
        fate: fate.map(|(_, fate)| fate.to_string()),
        doubts: doubt::told(),
    });
    if let Some(choices) = choices {
        let mut schedule = Schedule::of(&choices, &sites::Names);
        schedule.plan = Some(plan.clone());
        schedule.fingerprint = Some(fingerprint);
        schedule.watched = sites::watched();
        let file = &options.schedule_file;
        if let Err(error) = std::fs::write(file, schedule.to_string()) {
            text += &format!("racehound: {file}: {error}; the schedule is lost\n");
        }
    }
    Some(text)
}

/// A stack for signals that come when a thread has none left. Threads that begin
/// later use those of threads that have ended.
#[derive(Clone, Copy)]
pub(super) struct LastStack(*mut u8);

// SAFETY: memory that nobody but its thread uses.
unsafe impl Send for LastStack {}

impl LastStack {
    /// Enough for a schedule to be written with names of places.
    const SIZE: usize = 256 << 10;

    pub(super) fn new() -> Self {
        Self(memory::reserve(Self::SIZE).cast())
    }

    /// The current thread has it from now on.
    pub(super) fn put_by(self) {
        let stack = libc::stack_t {
            ss_sp: self.0.cast(),
            ss_flags: 0,
            ss_size: Self::SIZE,
        };
        // SAFETY: memory of that size, which stays.
        unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) };
    }
}
