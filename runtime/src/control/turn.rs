//! A thread's turn: it says what it will do next, and goes on when the strategy
//! lets it.

use std::cell::Cell;

use racehound_trace::{Mode, Op, SiteId, ThreadId};

use super::baton::Baton;
use super::clock::{Moment, Until};
use super::roster::{Next, Roster, Standing, Want};
use super::wanderers::Away;
use super::{
    await_end, deadlock, interrupt, is_guided, is_on, meeting, noise, note_fate, pace,
    relations_file, roster, sites,
};
use crate::context::Context;
use crate::interpose::Errno;
use crate::thread::{self, Visit};
use crate::tls::hot;
use crate::{record, triggers};

/// Why a turn came.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// What the thread waited for is the case.
    Fulfilled,
    TimedOut,
    /// A signal was handled, or the thread is to be cancelled.
    Interrupted,
}

/// What a thread is about to do. There is one code for all of them.
type Announced<'a> = &'a dyn Fn(&mut Roster) -> Option<Op>;

/// A thread under control that is at a point where others may go on.
pub(crate) struct Turn {
    pub(super) number: u32,
    baton: &'static Baton,
    pub(super) place: usize,
    /// What stacks show innermost: the place, or a function that is called there.
    shown: usize,
    pub(super) site: SiteId,
    /// The lock that it is about to ask for.
    asks: Cell<Option<usize>>,
}

impl Turn {
    /// The current thread, about to do something at `place` on behalf of the
    /// program; none if it is not under control.
    #[inline(always)]
    pub(crate) fn here(place: usize) -> Option<Self> {
        if is_on() {
            return Self::find(place);
        }
        if noise::is_on() {
            noise::make();
        }
        None
    }

    #[inline(never)]
    fn find(place: usize) -> Option<Self> {
        // SAFETY: our own block, and a thread stays while it is in it.
        let number = unsafe {
            let hot = hot();
            match (*hot).home.as_ref() {
                Some(home) if (*hot).busy == 0 => home.number,
                _ => return None,
            }
        };
        let _visit = Visit::begin();
        let baton = roster().member(number)?.baton;
        Some(Self {
            number,
            baton,
            place,
            shown: place,
            site: sites::site(place),
            asks: Cell::new(None),
        })
    }

    /// The same turn, of a function that the program has called there.
    pub(crate) fn of_function(self, function: usize) -> Self {
        Self {
            shown: function,
            ..self
        }
    }

    /// The same turn, at a place that is known by another number.
    pub(super) fn at(&self, site: SiteId) -> Self {
        Self {
            site,
            asks: Cell::new(None),
            ..*self
        }
    }

    /// Changes the roster, with the turn as it is.
    pub(super) fn note<R>(&self, change: impl FnOnce(&mut Roster) -> R) -> R {
        let _visit = Visit::begin();
        change(&mut roster())
    }

    /// Does something that asks for a lock.
    pub(super) fn asking<R>(&self, lock: usize, ask: impl FnOnce() -> R) -> R {
        self.asks.set(Some(lock));
        let result = ask();
        self.asks.set(None);
        result
    }

    /// The thread gives a lock back.
    pub(super) fn gives_back(&self, lock: usize) {
        if triggers::is_asked() {
            triggers::gives_back(&Visit::begin(), self.place, lock);
        }
    }

    /// Says where the thread stands, if somebody asks for that.
    fn stand(&self) {
        if !triggers::is_asked() {
            return;
        }
        let visit = Visit::begin();
        let stand = triggers::stand(&visit, self.place, self.asks.get());
        let new = roster().stands(self.number, &stand);
        triggers::keep(&new, relations_file());
    }

    /// Says what comes next, and waits for the turn to do it, whatever comes in
    /// between. False if it was too late.
    pub(super) fn wait(
        &self,
        want: Want,
        until: Option<Until>,
        op: impl Fn(&mut Roster) -> Option<Op>,
    ) -> bool {
        self.wait_long(want, until, &op)
    }

    fn wait_long(&self, want: Want, until: Option<Until>, op: Announced<'_>) -> bool {
        let until = self.moment(until);
        loop {
            match self.step(want, until, op) {
                Came::Fulfilled => return true,
                Came::TimedOut => return false,
                Came::Interrupted => {}
            }
        }
    }

    pub(super) fn moment(&self, until: Option<Until>) -> Option<Moment> {
        until.map(|until| self.note(|roster| until.moment(roster.clock.now())))
    }

    /// The same, but signals that come in between end the wait.
    pub(super) fn wait_once(
        &self,
        want: Want,
        until: Option<Moment>,
        op: impl Fn(&mut Roster) -> Option<Op>,
    ) -> Came {
        self.step(want, until, &op)
    }

    fn step(&self, want: Want, until: Option<Moment>, op: Announced<'_>) -> Came {
        record::hand_over();
        pace::begin();
        self.let_children_settle();
        self.let_wanderers_return();
        park(true);
        self.stand();
        let context = match sites::is_watched(self.site) {
            true => thread::current().map_or(Context::UNKNOWN, |t| t.context(self.shown)),
            false => Context::UNKNOWN,
        };
        let (next, has_news) = self.note(|roster| {
            let op = op(roster);
            if context != Context::UNKNOWN && op.is_some_and(|op| op.access().is_some()) {
                sites::accessed(self.site);
            }
            let now = roster.clock.now();
            let member = roster.member(self.number).expect("it was found");
            member.standing = Standing::Waiting;
            member.want = want;
            (member.since, member.until) = (now, until);
            member.timed_out = until.is_some_and(|until| until <= now);
            member.told = false;
            member.overtaken = false;
            member.away = Away::Whatever;
            // SAFETY: our own block.
            member.interrupted |= unsafe { (*hot()).pending } != 0;
            member.op = op;
            member.site = self.site;
            member.context = context;
            if matches!(want, Want::Notice { .. } | Want::Wake { .. }) {
                roster.enlist(self.number);
            }
            if roster.running == Some(self.number) {
                roster.running = None;
            }
            let next = roster.next(self.number);
            (next, !roster.met.is_empty() || roster.news.is_some())
        });
        if has_news {
            self.tell_meetings();
        }
        self.pass(next);
        let (came, leaving) = self.note(|roster| {
            roster.strike(self.number);
            let leaving = std::mem::take(&mut roster.leaving);
            let member = roster.member(self.number).expect("it was found");
            let (timed_out, told) = (member.timed_out, member.told);
            let came = match std::mem::take(&mut member.interrupted) {
                true if !timed_out && !told => Came::Interrupted,
                _ if timed_out && !told => Came::TimedOut,
                _ => Came::Fulfilled,
            };
            (came, leaving)
        });
        leaving.into_iter().for_each(await_end);
        park(false);
        came
    }

    /// Gives the baton to whoever is next, and waits until it is back.
    fn pass(&self, next: Next) {
        match next {
            Next::Same => return,
            Next::Other(baton) => baton.give(),
            Next::Nobody => {}
            Next::Deadlock => deadlock::report(),
        }
        // SAFETY: our own block.
        if unsafe { (*hot()).pending } != 0 {
            interrupt();
        }
        self.baton.take();
    }

    /// Reports the races that have been brought about.
    fn tell_meetings(&self) {
        let _visit = Visit::begin();
        let (met, news) = {
            let mut roster = roster();
            (std::mem::take(&mut roster.met), roster.news.take())
        };
        if let Some(fate) = news {
            note_fate(&fate);
        }
        for met in met.iter().filter(|met| met.meeting.pair.is_some()) {
            meeting::report(met);
        }
    }

    /// Something that has an effect on others, and never waits.
    pub(super) fn act(&self, op: impl Fn(&mut Roster) -> Option<Op>) {
        self.act_as(&op);
    }

    fn act_as(&self, op: Announced<'_>) {
        self.wait_long(Want::Nothing, None, op);
        self.note(|roster| {
            roster.changes += 1;
            if let Some(member) = roster.member(self.number) {
                member.idle = 0;
            }
        });
    }

    /// What was done had no effect: a thread that does nothing else for long waits
    /// for somebody to change something, or for time to pass.
    pub(super) fn idles(&self) {
        /// So many steps may be by chance, or come before the thread goes to sleep: waiting
        /// in libstdc++ looks sixteen times first, and yields in between.
        const PATIENCE: u32 = 32;
        /// After that time others may have changed something that we do not see; it
        /// doubles as long as nothing comes of it, up to a second.
        const LONGEST: u64 = 1_000_000;
        const DOUBLINGS: u32 = 10;
        let spin = self.note(|roster| {
            let since = roster.changes;
            let member = roster.member(self.number).expect("it was found");
            member.idle += 1;
            let idle = member.idle;
            let spins = idle > PATIENCE;
            if spins {
                roster.yields(self.number);
            }
            let rounds = idle.saturating_sub(PATIENCE).min(DOUBLINGS);
            spins.then_some((since, LONGEST << rounds))
        });
        if let Some((since, longest)) = spin {
            let until = Some(Until::Passed(longest));
            self.wait(Want::Change { since }, until, |_| None);
        }
    }

    /// Something happens that others may wait for.
    pub(crate) fn touch(&self) {
        self.act(|_| None);
    }

    /// Does something that may wait for the outside world: others go on meanwhile.
    pub(crate) fn outside<R>(&self, real: impl FnOnce() -> R) -> R {
        self.leaves();
        let result = real();
        let _errno = Errno::keep();
        self.comes_back();
        result
    }

    fn leaves(&self) {
        let next = self.note(|roster| {
            let member = roster.member(self.number).expect("it was found");
            member.standing = Standing::Outside;
            if roster.running == Some(self.number) {
                roster.running = None;
            }
            roster.next(self.number)
        });
        if let Next::Other(baton) = next {
            baton.give();
        }
    }

    fn comes_back(&self) {
        self.wait_long(Want::Nothing, None, &|_| None);
    }

    /// The thread makes another one, whose number is known already.
    pub(crate) fn fork(&self, child: u32) {
        self.act(|_| {
            let child = ThreadId(child);
            Some(Op::Fork { child })
        });
        self.note(|roster| roster.join(child, self.site));
    }

    /// A lock of the program's own is about to be taken: an annotated one, or one
    /// that is made of a futex. Those who guide threads to locks want to know of
    /// that. Whether it is free only its own code knows.
    pub(crate) fn about_to_lock(&self, address: usize, mode: Mode) {
        if !is_guided() {
            return;
        }
        let op = |roster: &mut Roster| {
            let lock = roster.object(address);
            Some(Op::Acquire { lock, mode })
        };
        self.asking(address, || self.wait(Want::Nothing, None, op));
    }

    /// The same for an annotated lock, which the code up to
    /// [`has_locked`](Self::has_locked) takes. It goes on until it has tried: who resumes
    /// because this thread has the lock must not have it first.
    pub(crate) fn begins_to_lock(&self, address: usize, mode: Mode) {
        /// A lock that is free is taken by so many; one that is not is waited for in a loop.
        const OPERATIONS: u32 = 4;
        self.about_to_lock(address, mode);
        self.is_locking(OPERATIONS);
    }

    /// An annotated lock is taken, or was tried for.
    pub(crate) fn has_locked(&self) {
        self.is_locking(0);
    }

    fn is_locking(&self, operations: u32) {
        if is_guided() {
            self.note(|roster| {
                if let Some(member) = roster.member(self.number) {
                    member.locking = operations;
                }
            });
        }
    }

    /// Whether an atomic operation is part of taking a lock, for which the turn has come
    /// already; one that changes something is the last.
    pub(super) fn goes_on_locking(&self, is_load: bool) -> bool {
        is_guided()
            && self.note(|roster| {
                let Some(member) = roster.member(self.number) else {
                    return false;
                };
                let goes_on = member.locking > 0;
                member.locking = match is_load {
                    true => member.locking.saturating_sub(1),
                    false => 0,
                };
                goes_on
            })
    }

    /// There is no such thread after all.
    pub(crate) fn never_began(&self, child: u32) {
        self.note(|roster| roster.members[child as usize] = None);
    }
}

/// The thread begins to wait for its turn, or has it.
pub(super) fn park(parked: bool) {
    let hot = hot();
    // SAFETY: our own block.
    unsafe {
        (&raw mut (*hot).parked).write_volatile(u32::from(parked));
        if !parked && (*hot).pending != 0 {
            crate::signals::deliver();
        }
    }
}

/// Ends the thread here if somebody wants that.
pub(super) fn cancellation_point() {
    unsafe extern "C" {
        fn pthread_testcancel();
    }
    // SAFETY: nothing of ours is held.
    unsafe { pthread_testcancel() };
}
