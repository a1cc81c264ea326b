//! Control: one thread runs at a time, and a strategy decides which.
//!
//! Before everything that orders threads a thread says what it is about to do and
//! what must be the case before it can, gives the [`baton`] away, and goes on when
//! it has it back. The [`roster`] knows who can go on; the strategy, an oracle from
//! `racehound-schedule`, picks one of them. What a thread does between two such
//! points nobody else sees happen, so the picks alone determine the execution.
//!
//! Threads do not wait in the C library: whoever gets the baton can do what it
//! announced without waiting. So the real operation is only tried, and where it
//! would have to wait nevertheless somebody whom we do not see has the lock.
//!
//! Waiting for a moment is done in virtual time (see [`clock`]). A thread that
//! waits for the outside world goes [outside]: others go on meanwhile, and it has
//! to wait for its turn when it comes back. The [`monitor`] sends those outside who
//! turn out to be there without having said so.
//!
//! # Invariants
//! * No lock of the runtime is held by who waits for the baton, and no
//!   [`Visit`] lasts meanwhile.
//! * A thread that is not on the roster, and a process without control, never get
//!   further than [`Turn::here`].

mod baton;
pub(crate) mod children;
pub(crate) mod clock;
mod deadlock;
pub(crate) mod doubt;
mod ending;
mod holders;
mod meeting;
mod monitor;
mod noise;
pub(crate) mod pace;
pub(crate) mod processor;
mod roster;
pub(crate) mod signalling;
mod sites;
pub(crate) mod tasks;
mod team;
pub(crate) mod timers;
mod turn;
mod waits;
mod wanderers;
pub(crate) mod watch;

use std::sync::atomic::{AtomicBool, Ordering};

use racehound_schedule::{Collector, DrFinder, Fate, Follow, Plan, Replay, Schedule};

use crate::interpose::Errno;
use crate::spin::{Guard, Locked};
use crate::thread::Visit;
use crate::tls::hot;
use crate::{options, signals, triggers};
use roster::{Chooser, Next, Roster, Standing};

pub(crate) use ending::{conclude, gives_up, may_end};
pub(crate) use turn::{Came, Turn};
pub(crate) use waits::{ANY_BITS, Lock};

static ON: AtomicBool = AtomicBool::new(false);
/// Threads are guided to locks, or were when the schedule was made.
static GUIDED: AtomicBool = AtomicBool::new(false);
static ROSTER: Locked<Option<Roster>> = Locked::new(None);

/// Whether the process is under control.
#[inline]
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Whether threads are guided to locks: then taking an annotated one is announced,
/// and who sleeps can go at any time, for whoever foresees what a thread will do
/// does not wait until it wakes up. With somebody outside it has to: time passes as
/// it does there.
fn is_guided() -> bool {
    GUIDED.load(Ordering::Relaxed)
}

/// Takes control, if that is wanted. Only the main thread exists.
pub(crate) fn start() {
    let options = options::get();
    let Some(plan) = &options.plan else {
        return;
    };
    if let Plan::ConTest(settings) = plan {
        return noise::start(*settings);
    }
    if let Plan::Collect(collecting) = plan {
        return triggers::begin_collecting(collecting);
    }
    let chooser = match (plan, plan.strategy(|place| vec![sites::watch(place)])) {
        (_, Some(oracle)) => Chooser::Oracle(oracle),
        (Plan::Replay { file }, None) => {
            Chooser::Replay(Box::new(Replay::new(schedule(file), sites::Names)))
        }
        (Plan::Follow { file, .. }, None) => {
            let follow = Follow::new(schedule(file), sites::TraceNames);
            Chooser::Follow(Box::new(follow))
        }
        (Plan::DrFinder { seed, collecting }, None) => {
            let known = collecting.relations.as_deref().map(triggers::load);
            let depth = collecting.depth as usize;
            let collector = Collector::new(&known.unwrap_or_default(), depth);
            triggers::begin(depth);
            GUIDED.store(true, Ordering::Relaxed);
            Chooser::DrFinder(Box::new(DrFinder::with_collector(*seed, collector)))
        }
        (_, None) => return,
    };
    let mut roster = Roster::new(chooser, !options.schedule_file.is_empty());
    roster.join(0, sites::site(0));
    if let Some(main) = roster.member(0) {
        // SAFETY: asks who we are.
        main.os_id = unsafe { libc::gettid() };
        main.hot = hot();
    }
    let last_stack = roster.last_stack_of(0);
    *ROSTER.lock() = Some(roster);
    ON.store(true, Ordering::Relaxed);
    last_stack.put_by();
    pace::begin();
    processor::init();
    signals::mourn();
    monitor::start();
}

/// The file in which DrFinder's relations are kept.
fn relations_file() -> Option<&'static str> {
    match options::get().plan.as_ref()? {
        Plan::DrFinder { collecting, .. } => collecting.relations.as_deref(),
        _ => None,
    }
}

/// The schedule in a file. What it watches is watched from now on.
fn schedule(file: &str) -> Schedule {
    let schedule = match std::fs::read_to_string(file) {
        Ok(text) => text.parse::<Schedule>().map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match schedule {
        Ok(schedule) => {
            for name in &schedule.watched {
                sites::watch(name);
            }
            let guided = matches!(schedule.plan, Some(Plan::DrFinder { .. }));
            GUIDED.store(guided, Ordering::Relaxed);
            schedule
        }
        Err(error) => crate::fatal(&format!("{file}: {error}")),
    }
}

/// It is known what becomes of the anomaly that is followed: writes it down before
/// anything else happens. If it cannot happen any more, the execution is over.
fn note_fate(fate: &Fate) {
    let plan = options::get().plan.as_ref();
    if let Some(Plan::Follow {
        verdict: Some(file),
        ..
    }) = plan
    {
        // Who asked finds nothing, and knows that something went wrong.
        let _ = std::fs::write(file, fate.to_string());
        if *fate != Fate::Confirmed {
            // SAFETY: ends the process, as is.
            unsafe { libc::_exit(0) };
        }
    }
}

/// Whether accesses at some places are watched.
#[inline]
pub(crate) fn is_watching() -> bool {
    is_on() && sites::any_watched()
}

/// The roster, held. There is one while control is on.
pub(crate) struct Held(Guard<'static, Option<Roster>>);

impl std::ops::Deref for Held {
    type Target = Roster;
    fn deref(&self) -> &Roster {
        self.0.as_ref().expect("control is on")
    }
}

impl std::ops::DerefMut for Held {
    fn deref_mut(&mut self) -> &mut Roster {
        self.0.as_mut().expect("control is on")
    }
}

fn roster() -> Held {
    Held(ROSTER.lock())
}

/// Keeps everybody from the roster, if there is one.
pub(crate) fn hold() -> Option<Held> {
    is_on().then(roster)
}

/// A signal has come for the current thread, which waits for its turn: it has to
/// look after that first.
pub(crate) fn interrupt() {
    // SAFETY: our own block, and a thread stays while it is in it.
    if let Some(number) = unsafe { (*hot()).home.as_ref().map(|home| home.number) } {
        interrupt_thread(number);
    }
}

/// The same for any thread: somebody has cancelled it.
pub(crate) fn interrupt_thread(number: u32) {
    if is_on()
        && let Some(baton) = roster().interrupt(number)
    {
        baton.give();
    }
}

/// A new thread waits for its first turn.
pub(crate) fn begin(number: u32) {
    if !is_on() {
        return;
    }
    let baton = {
        let _visit = Visit::begin();
        let mut roster = roster();
        let Some(member) = roster.member(number) else {
            return;
        };
        // SAFETY: asks who we are.
        member.os_id = unsafe { libc::gettid() };
        member.hot = hot();
        let (baton, is_idle) = (member.baton, member.standing == Standing::Idle);
        roster.last_stack_of(number).put_by();
        (!is_idle).then_some(baton)
    };
    pace::begin();
    if let Some(baton) = baton {
        baton.take();
        let _visit = Visit::begin();
        let leaving = std::mem::take(&mut roster().leaving);
        leaving.into_iter().for_each(await_end);
    }
}

/// The thread has ended. Signals are blocked.
pub(crate) fn end(number: u32) {
    if !is_on() {
        return;
    }
    let next = {
        let mut roster = roster();
        if roster.member(number).is_none() {
            return;
        }
        roster.leave(number);
        if roster.is_deserted() {
            drop(roster);
            return monitor::dismiss();
        }
        roster.next(u32::MAX)
    };
    match next {
        Next::Other(baton) => baton.give(),
        Next::Deadlock => deadlock::report(),
        Next::Same | Next::Nobody => {}
    }
}

/// Waits until a thread that has ended is gone: what it had, its stack above all,
/// can be had by others only then.
fn await_end(os_id: i32) {
    /// It takes a few dozen microseconds. Should it be kept from ending, so be it.
    const LOOKS: usize = 10_000;
    let _errno = Errno::keep();
    // SAFETY: asks who we are.
    let process = unsafe { libc::getpid() };
    // The first thread of a process is there, and has its stack, until the process ends.
    if os_id == process {
        return;
    }
    for _ in 0..LOOKS {
        // SAFETY: asks whether there is such a thread.
        unsafe {
            if libc::syscall(libc::SYS_tgkill, process, os_id, 0) != 0 {
                return;
            }
            libc::sched_yield();
        }
    }
}

/// The process was copied: only the current thread is in the copy.
pub(crate) fn in_child() {
    if !is_on() {
        return;
    }
    // SAFETY: our own block, and a thread stays while it is in it.
    let number = unsafe { (*hot()).home.as_ref().map(|home| home.number) };
    {
        let mut roster = roster();
        for (other, member) in roster.members.iter_mut().enumerate() {
            if Some(other as u32) != number {
                *member = None;
            }
        }
        roster.running = number;
        roster.leaving.clear();
        roster.forget_doers();
        // Who holds them is the parent.
        let is_shared = |address| crate::shared_memory::whose(address).is_some();
        roster.locks.forget(is_shared);
        if let Some(member) = number.and_then(|number| roster.member(number)) {
            // SAFETY: asks who we are.
            member.os_id = unsafe { libc::gettid() };
        }
    }
    children::forget();
    ending::leave_it_to_the_parent();
    monitor::start();
}
