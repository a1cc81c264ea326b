//! Who takes part, what each waits for, and whose turn it is.
//!
//! Of the threads that are under control one runs. The others have said what they
//! will do next and what must be the case before they can: their *want*. All that
//! wants depend on is kept here, so it is known at every moment who is *enabled*,
//! and when nobody is, whether time, the outside world or nothing at all can help.
//!
//! # Invariants
//! * At most one thread is [running](Standing::Running).
//! * What the strategy sees depends on nothing but what the threads have done.

use std::ffi::c_int;

use racehound_schedule::{
    Choice, DrFinder, Fate, Fingerprint, Follow, Meeting, Pending, Relations, Replay, Strategy,
};
use racehound_trace::{Event, Mode, Op, Rng, SiteId, SyncId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::baton::Baton;
use super::clock::{Clock, Moment};
use super::ending::LastStack;
use super::holders::{Holders, Locks};
use super::signalling::{self, Set};
use super::sites::{Names, TraceNames};
use super::tasks::{Tasks, Which};
use super::team::Team;
use super::timers::Timers;
use super::wanderers::Away;
use super::{is_guided, monitor};
use crate::context::Context;
use crate::interpose::descriptors;
use crate::memory_limit;
use crate::signals;
use crate::tls::Hot;
use crate::triggers::{self, Stand};

/// What must be the case before a thread can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// Nothing.
    Nothing,
    /// A lock is free. The thread may hold it already if it is `reentrant`; its
    /// `word`, if it has one, is zero when it is free, whatever we think.
    Lock {
        address: usize,
        mode: Mode,
        reentrant: bool,
        word: bool,
    },
    /// A semaphore is above zero.
    Semaphore(usize),
    /// A thread has ended.
    End(u32),
    /// Somebody notifies who waits for the condition; then the lock must be free.
    Notice { condition: usize, lock: usize },
    /// Somebody wakes who waits for the futex.
    Wake { futex: usize, bits: u32 },
    /// The round of a barrier is complete.
    Round { barrier: usize, round: u64 },
    /// All members of a team are there.
    Gathering { team: usize, round: u64 },
    /// All members of a team are at its end, and its tasks are done; or there is one to run.
    Finish(usize),
    /// There is a task to run, or none is left.
    Tasks(Which),
    /// Nobody is doing what is to be done once.
    Once(usize),
    /// Time has passed.
    Time,
    /// Somebody has changed something since.
    Change { since: u64 },
    /// Something can be done with a descriptor without waiting.
    Ready { fd: c_int, events: i16 },
    /// The same with one of many, which the program keeps there.
    Polled { fds: usize, count: usize },
    /// A child process has something to tell.
    Child {
        kind: libc::idtype_t,
        id: u32,
        options: c_int,
    },
    /// One of some signals waits to be taken by the thread, or any was handled.
    Signal { os_id: i32, signals: Set },
}

/// Who may fulfil a want, beside other threads.
#[derive(PartialEq, Eq)]
enum World {
    Nobody,
    /// Others might, but rarely: nobody waits for them as long as there is
    /// something else to wait for.
    Perhaps,
    /// The outside world: meanwhile time passes as it does there.
    Outside,
}

/// Whether something can be done with one of these descriptors, or an error tells
/// that waiting is of no use.
pub(super) fn is_ready(fds: *mut libc::pollfd, count: usize) -> bool {
    // SAFETY: that many entries, of the program or ours.
    unsafe { libc::poll(fds, count as libc::nfds_t, 0) != 0 }
}

/// Whether nobody beside the threads of this process can write to descriptors both ends of
/// which it has made: no child may have them, and no handler of a signal is there to do it.
fn is_shut_in() -> bool {
    // SAFETY: zeroes are such information, and the call fills it in.
    let has_no_child = unsafe {
        let mut about: libc::siginfo_t = std::mem::zeroed();
        let peek = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(libc::P_ALL, 0, &raw mut about, peek) != 0
    };
    has_no_child && !signals::are_handled()
}

/// Whether a child has something to tell, or there is none to wait for.
pub(super) fn has_told(kind: libc::idtype_t, id: u32, options: c_int) -> bool {
    // SAFETY: zeroes are such information, and the call fills it in.
    unsafe {
        let mut about: libc::siginfo_t = std::mem::zeroed();
        let peek = options | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(kind, id, &raw mut about, peek) != 0 || about.si_pid() != 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Running,
    Waiting,
    /// Somewhere we do not see: in the kernel, or in code that is not under
    /// control.
    Outside,
    /// In a library that runs teams of threads, see [`team`](super::team). It will
    /// come back, when others are there perhaps.
    Library,
    /// The same, but it comes back without anybody's help.
    Returning,
    /// The same, but it waits there for others, and may not come back.
    Idle,
    Ended,
}

pub(super) struct Member {
    pub(super) standing: Standing,
    pub(super) want: Want,
    pub(super) until: Option<Moment>,
    /// When it began to wait.
    pub(super) since: Moment,
    /// The moment has come before the want was fulfilled.
    pub(super) timed_out: bool,
    /// It was notified or woken.
    pub(super) told: bool,
    /// A signal waits for it, or it was cancelled, so it has to look after that
    /// first.
    pub(super) interrupted: bool,
    pub(super) op: Option<Op>,
    pub(super) site: SiteId,
    pub(super) context: Context,
    pub(super) baton: &'static Baton,
    last_stack: Option<LastStack>,
    pub(super) os_id: i32,
    /// Its own block, which stays as long as it does.
    pub(super) hot: *mut Hot,
    /// Steps without any effect since the last one that had some.
    pub(super) idle: u32,
    /// Others have gone on while it waited for something that the outside world may bring.
    pub(super) overtaken: bool,
    /// Operations of a lock's own code that it may go on with, since it was its turn to take
    /// the lock.
    pub(super) locking: u32,
    /// What it does where nobody sees it.
    pub(super) away: Away,
}

// SAFETY: of another thread's block only numbers are read that it alone writes.
unsafe impl Send for Member {}

impl Member {
    /// How many signals have come for it.
    pub(super) fn arrivals(&self) -> u32 {
        match self.hot.is_null() {
            true => 0,
            // SAFETY: as above; the block is there while the thread is.
            false => unsafe { (&raw const (*self.hot).arrivals).read_volatile() },
        }
    }
}

/// Whether a mutex goes to the next one when its owner dies: a bit in its kind, as the
/// C library lays it out.
fn is_robust(mutex: usize) -> bool {
    const KIND: usize = 16;
    const ROBUST: u32 = 0x10;
    // SAFETY: the program's mutex, for which it waits.
    unsafe { ((mutex + KIND) as *const u32).read_volatile() & ROBUST != 0 }
}

/// Whether somebody does what is to be done once, as the C library marks it. Who gives it
/// up, by an exception or because it is cancelled, takes the mark away.
fn is_being_done(once: usize) -> bool {
    const STATE: u32 = 3;
    const BEGUN: u32 = 1;
    // SAFETY: the program's own, for which it waits.
    unsafe { (once as *const u32).read_volatile() & STATE == BEGUN }
}

/// How a thread comes to a barrier.
pub(super) enum Arrival {
    /// Others have yet to come: it waits until this round is over.
    Early(u64),
    Last,
}

struct Barrier {
    size: u32,
    inside: u32,
    round: u64,
}

pub(crate) struct Roster {
    pub(super) members: Vec<Option<Member>>,
    pub(super) running: Option<u32>,
    chooser: Chooser,
    /// What was chosen, if that is to be kept.
    pub(super) choices: Option<Vec<Choice>>,
    /// Meetings that nobody was told of yet.
    pub(super) met: Vec<Met>,
    seen_meetings: usize,
    /// What becomes of an anomaly that is followed, once it is known.
    pub(super) news: Option<Fate>,
    pub(super) clock: Clock,
    pub(super) timers: Timers,
    pub(super) locks: Locks,
    barriers: FxHashMap<usize, Barrier>,
    pub(super) teams: FxHashMap<usize, Team>,
    /// What is being done once, and by whom.
    under_way: FxHashMap<usize, u32>,
    /// Words that somebody has waited for in the kernel, or woken others by.
    futexes: FxHashSet<usize>,
    /// In the order in which they began to wait.
    waiting: Vec<u32>,
    /// Threads that have ended but may not be gone yet.
    pub(super) leaving: Vec<i32>,
    /// The running thread sleeps, and that is as it should be.
    pub(super) excused: bool,
    /// A library has run a team.
    pub(super) uses_library: bool,
    /// A library has run tasks of the program: who waits for them it knows alone.
    pub(super) has_tasks: bool,
    pub(super) tasks: Tasks,
    /// Steps that may have fulfilled somebody's want.
    pub(super) changes: u64,
    pub(super) steps: u64,
    pub(super) fingerprint: Fingerprint,
    ordinals: FxHashMap<SiteId, usize>,
    spare_batons: Vec<&'static Baton>,
    spare_stacks: Vec<LastStack>,
    /// What programs get when they ask for randomness: the same in every execution.
    pub(super) chance: Rng,
    enabled: Vec<Pending>,
    /// Objects by the order in which they first take part.
    objects: FxHashMap<usize, u32>,
    /// Who goes on although others could, and for how many steps by now.
    insistent: (u32, u32),
}

/// Who chooses.
pub(super) enum Chooser {
    Oracle(Box<dyn Strategy + Send>),
    DrFinder(Box<DrFinder>),
    Replay(Box<Replay<Names>>),
    Follow(Box<Follow<TraceNames>>),
}

impl Chooser {
    fn strategy(&mut self) -> &mut dyn Strategy {
        match self {
            Self::Oracle(oracle) => oracle,
            Self::DrFinder(finder) => &mut **finder,
            Self::Replay(replay) => &mut **replay,
            Self::Follow(follow) => &mut **follow,
        }
    }
}

/// A race that the strategy has brought about, and where both were.
#[derive(Clone, Copy)]
pub(super) struct Met {
    pub(super) meeting: Meeting,
    pub(super) postponed: Context,
    pub(super) arrived: Context,
}

/// Who goes on.
pub(super) enum Next {
    /// The one who asks.
    Same,
    Other(&'static Baton),
    /// Nobody, until somebody comes back from outside.
    Nobody,
    /// Nobody, for ever.
    Deadlock,
}

impl Roster {
    pub(super) fn new(chooser: Chooser, keep_choices: bool) -> Self {
        Self {
            members: Vec::new(),
            running: None,
            chooser,
            choices: keep_choices.then(Vec::new),
            met: Vec::new(),
            seen_meetings: 0,
            news: None,
            clock: Clock::new(),
            timers: Timers::default(),
            locks: Locks::default(),
            barriers: FxHashMap::default(),
            teams: FxHashMap::default(),
            under_way: FxHashMap::default(),
            futexes: FxHashSet::default(),
            waiting: Vec::new(),
            leaving: Vec::new(),
            excused: false,
            uses_library: false,
            has_tasks: false,
            tasks: Tasks::default(),
            changes: 0,
            steps: 0,
            fingerprint: Fingerprint::new(),
            ordinals: FxHashMap::default(),
            spare_batons: Vec::new(),
            spare_stacks: Vec::new(),
            chance: Rng::new(0),
            enabled: Vec::new(),
            objects: FxHashMap::default(),
            insistent: (0, 0),
        }
    }

    /// What the strategy calls the object at an address.
    pub(super) fn object(&mut self, address: usize) -> SyncId {
        let next = self.objects.len() as u32;
        SyncId(*self.objects.entry(address).or_insert(next))
    }

    /// Takes a thread in; the first one runs, others wait for their first turn.
    pub(super) fn join(&mut self, number: u32, site: SiteId) {
        let baton = match self.spare_batons.pop() {
            Some(baton) => baton,
            None => Box::leak(Box::default()),
        };
        baton.bond.renew();
        let first = self.members.is_empty();
        let member = Member {
            standing: match first {
                true => Standing::Running,
                false => Standing::Waiting,
            },
            want: Want::Nothing,
            until: None,
            since: Moment(0),
            timed_out: false,
            told: false,
            interrupted: false,
            op: None,
            site,
            context: Context::UNKNOWN,
            baton,
            last_stack: None,
            os_id: 0,
            hot: std::ptr::null_mut(),
            idle: 0,
            overtaken: false,
            locking: 0,
            away: Away::default(),
        };
        if first {
            self.running = Some(number);
        }
        let at = number as usize;
        if self.members.len() <= at {
            self.members.resize_with(at + 1, || None);
        }
        self.members[at] = Some(member);
    }

    pub(super) fn member(&mut self, number: u32) -> Option<&mut Member> {
        self.members.get_mut(number as usize)?.as_mut()
    }

    /// The stack on which a thread may say its last words.
    pub(super) fn last_stack_of(&mut self, number: u32) -> LastStack {
        let stack = self.spare_stacks.pop().unwrap_or_else(LastStack::new);
        if let Some(member) = self.member(number) {
            member.last_stack = Some(stack);
        }
        stack
    }

    /// A thread has ended.
    pub(super) fn leave(&mut self, number: u32) {
        if let Some(member) = self.member(number) {
            member.standing = Standing::Ended;
            let (baton, os_id) = (member.baton, member.os_id);
            let last_stack = member.last_stack.take();
            baton.bond.loosen(os_id);
            self.spare_batons.push(baton);
            self.spare_stacks.extend(last_stack);
            self.leaving.push(os_id);
            self.changes += 1;
        }
        if self.running == Some(number) {
            self.running = None;
        }
    }

    /// Whether all have ended.
    pub(super) fn is_deserted(&self) -> bool {
        let mut members = self.members.iter().flatten();
        members.all(|member| member.standing == Standing::Ended)
    }

    fn is_fulfilled(&self, number: u32, want: Want, told: bool) -> bool {
        match want {
            Want::Nothing => true,
            Want::Time => false,
            Want::Lock {
                address,
                mode,
                reentrant,
                word,
            } => {
                let free = || {
                    // SAFETY: the program's mutex, for which it waits.
                    let value = unsafe { (address as *const u32).read_volatile() };
                    let owner = || self.locks.holders(address).and_then(|h| h.owner);
                    value == 0 || is_robust(address) && self.is_dead(owner())
                };
                self.locks.admit(address, number, mode, reentrant) || word && free()
            }
            Want::Semaphore(address) => {
                let mut value = 0;
                // SAFETY: the program's semaphore, for which it waits.
                unsafe { libc::sem_getvalue(address as *mut libc::sem_t, &raw mut value) };
                value > 0
            }
            Want::End(other) => self
                .members
                .get(other as usize)
                .and_then(Option::as_ref)
                .is_none_or(|member| member.standing == Standing::Ended),
            Want::Notice { lock, .. } => {
                told && self.locks.admit(lock, number, Mode::Exclusive, true)
            }
            Want::Wake { .. } => told,
            Want::Round { barrier, round } => {
                self.barriers.get(&barrier).is_none_or(|b| b.round != round)
            }
            Want::Gathering { team, round } => {
                self.has_gathered(team, round) || self.tasks.are_ready(Which::Team(team))
            }
            Want::Finish(team) => {
                self.has_finished(team) || self.tasks.are_ready(Which::Team(team))
            }
            Want::Tasks(which) => self.tasks.are_ready(which) || self.tasks.are_done(which),
            Want::Once(address) => {
                !self.under_way.contains_key(&address) || !is_being_done(address)
            }
            Want::Change { since } => self.changes != since,
            Want::Ready { fd, events } => {
                let mut entry = libc::pollfd {
                    fd,
                    events,
                    revents: 0,
                };
                is_ready(&raw mut entry, 1) || descriptors::leads_wrong_way(fd, events)
            }
            Want::Polled { fds, count } => is_ready(fds as *mut libc::pollfd, count),
            Want::Child { kind, id, options } => has_told(kind, id, options),
            Want::Signal { os_id, signals } => signals != 0 && signalling::waits(os_id, signals),
        }
    }

    /// The descriptors for which the outside world has let a thread wait while others went
    /// on, if it is what did.
    pub(super) fn was_overtaken_for(&mut self, number: u32) -> Vec<c_int> {
        let Some(member) = self.member(number).filter(|member| member.overtaken) else {
            return Vec::new();
        };
        let want = member.want;
        match want {
            _ if self.world(want) != World::Outside => Vec::new(),
            Want::Ready { fd, .. } => vec![fd],
            Want::Polled { fds, count } => {
                let fds = fds as *const libc::pollfd;
                // SAFETY: that many entries, of the program or ours.
                (0..count).map(|i| unsafe { (*fds.add(i)).fd }).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether nobody outside decides when there is something to be had from these
    /// descriptors. Those below 0 are not looked at.
    fn lead_nowhere_else(&self, fds: usize, count: usize) -> bool {
        let fds = fds as *const libc::pollfd;
        (0..count).all(|i| {
            // SAFETY: that many entries, of the program or ours.
            let fd = unsafe { (*fds.add(i)).fd };
            fd < 0 || self.timers.includes(fd) || descriptors::leads_nowhere_else(fd)
        })
    }

    fn world(&self, want: Want) -> World {
        match want {
            // A timer that is virtual.
            Want::Ready { fd, .. } if self.timers.includes(fd) => World::Nobody,
            Want::Ready { fd, .. } if descriptors::leads_nowhere_else(fd) => World::Perhaps,
            Want::Polled { fds, count } if self.lead_nowhere_else(fds, count) => World::Perhaps,
            Want::Ready { .. } | Want::Polled { .. } | Want::Child { .. } => World::Outside,
            // Threads come from the library that runs the team.
            Want::Gathering { round: 0, .. } => World::Outside,
            Want::Signal { .. } => World::Perhaps,
            _ => World::Nobody,
        }
    }

    /// Decides who goes on, if nobody runs.
    pub(super) fn next(&mut self, me: u32) -> Next {
        if self.running.is_some() {
            return Next::Nobody;
        }
        if self.uses_library {
            self.complete_gatherings();
            if self.awaits_library() {
                return Next::Nobody;
            }
        }
        // Who sleeps wakes when nobody else can go; but others may wait for it in vain, as
        // busy as they look.
        const A_WHILE: u64 = 10_000;
        if self.steps.is_multiple_of(A_WHILE) {
            self.time_out();
        }
        let sleeps_end = is_guided() && !self.depends_on_the_world();
        /// Rounds in which nothing comes of a timer that goes off again and again.
        const IN_VAIN: u32 = 10_000;
        let mut rounds = 0;
        loop {
            self.go_off();
            let mut enabled = std::mem::take(&mut self.enabled);
            enabled.clear();
            let mut kept_waiting = Vec::new();
            for (number, member) in self.members.iter().enumerate() {
                let Some(member) = member else { continue };
                let number = number as u32;
                let ready = member.standing == Standing::Waiting
                    && (member.timed_out
                        || member.interrupted
                        || member.want == Want::Time && sleeps_end
                        || self.is_fulfilled(number, member.want, member.told));
                if ready {
                    enabled.push(Pending {
                        thread: ThreadId(number),
                        site: member.site,
                        op: member.op,
                    });
                } else if matches!(member.want, Want::Ready { .. } | Want::Polled { .. }) {
                    kept_waiting.push(number);
                }
            }
            let would_wait =
                !enabled.is_empty() && self.chooser.strategy().awaits_sleepers(&enabled);
            if would_wait && self.wake_a_sleeper(&enabled) {
                self.chooser.strategy().time_passed();
                if let Some(choices) = &mut self.choices {
                    choices.push(Choice::Time);
                }
                self.enabled = enabled;
                continue;
            }
            if self.hurry(&enabled) {
                self.enabled = enabled;
                continue;
            }
            let picked = match enabled.len() {
                0 => None,
                _ => Some(self.pick(&enabled)),
            };
            for number in kept_waiting.iter().filter(|_| picked.is_some()) {
                if let Some(member) = self.member(*number) {
                    member.overtaken = true;
                }
            }
            self.enabled = enabled;
            let Some(Pending { thread, site, op }) = picked else {
                if rounds < IN_VAIN && self.let_time_pass() {
                    rounds += 1;
                    continue;
                }
                let mut waiting = self.standing(Standing::Waiting);
                let is_shut_in = is_shut_in();
                let perhaps = |member: &Member| {
                    let is_descriptor =
                        matches!(member.want, Want::Ready { .. } | Want::Polled { .. });
                    self.world(member.want) == World::Perhaps && !(is_descriptor && is_shut_in)
                };
                let somebody_may_help =
                    self.depends_on_the_world() || waiting.any(perhaps) || !self.timers.is_empty();
                let somebody_waits = self.standing(Standing::Waiting).next().is_some();
                let is_stuck = somebody_waits && !somebody_may_help;
                return match is_stuck && !self.has_tasks && !self.has_strangers() {
                    true => Next::Deadlock,
                    false => Next::Nobody,
                };
            };
            if self.enabled.len() > 1 {
                self.note_insistence(thread.0);
            }
            self.note_meetings();
            if let Some(choices) = &mut self.choices {
                let kind = op.map(|op| op.kind());
                choices.push(Choice::Thread { thread, site, kind });
            }
            let number = thread.0;
            self.running = Some(number);
            self.steps += 1;
            self.clock.step();
            let site = self.ordinal(site);
            match op {
                Some(op) => self.fingerprint.add_event(&Event { thread, site, op }),
                None => self
                    .fingerprint
                    .add(u64::from(thread.0) << 32 | u64::from(site.0)),
            }
            let member = self.members[thread.index()].as_mut().expect("it is ready");
            member.standing = Standing::Running;
            let next = match number == me {
                true => Next::Same,
                false => Next::Other(member.baton),
            };
            if sleeps_end && member.want == Want::Time && !member.interrupted {
                self.wake_early(number);
            }
            return next;
        }
    }

    /// Which place this is, counted in the order in which steps are made there. Places
    /// have numbers before, but in an order that depends on what else is looked up.
    fn ordinal(&mut self, site: SiteId) -> SiteId {
        let next = self.ordinals.len();
        SiteId::from_index(*self.ordinals.entry(site).or_insert(next))
    }

    fn pick(&mut self, enabled: &[Pending]) -> Pending {
        let is_open = |chooser: &Chooser| matches!(chooser, Chooser::Follow(f) if *f.fate() == Fate::Unfinished);
        let was_open = is_open(&self.chooser);
        let picked = enabled[self.chooser.strategy().pick(enabled)];
        if was_open && let Some((_, fate)) = self.fate() {
            self.news = Some(fate).filter(|fate| *fate != Fate::Unfinished);
        }
        picked
    }

    /// A thread goes on although others could. Who does so for very long may wait for them,
    /// however busy it looks: it takes a lock, sees that nothing has changed and gives it
    /// back, over and over.
    fn note_insistence(&mut self, number: u32) {
        const LONG: u32 = 10_000;
        let (before, steps) = self.insistent;
        let steps = if number == before { steps + 1 } else { 1 };
        self.insistent = (number, steps % LONG);
        if steps == LONG {
            self.yields(number);
        }
    }

    /// If the strategy does not go on without a thread that only waits for time to
    /// pass, although others can go, it has passed.
    fn hurry(&mut self, enabled: &[Pending]) -> bool {
        if enabled.is_empty() {
            return false;
        }
        let Some(thread) = self.chooser.strategy().awaits() else {
            return false;
        };
        if enabled.iter().any(|pending| pending.thread == thread) {
            return false;
        }
        let member = self.member(thread.0);
        let waits = member.filter(|m| m.standing == Standing::Waiting && m.want == Want::Time);
        let Some(moment) = waits.and_then(|member| member.until) else {
            return false;
        };
        self.clock.jump(moment);
        self.time_out();
        true
    }

    /// Keeps what the strategy has just brought about, while both are there.
    fn note_meetings(&mut self) {
        let strategy = self.chooser.strategy();
        let meetings = strategy.meetings();
        let new: Vec<Meeting> = meetings[self.seen_meetings.min(meetings.len())..].to_vec();
        self.seen_meetings = meetings.len();
        for meeting in new {
            let context = |pending: Pending| {
                let member = self.members[pending.thread.index()].as_ref();
                member.map_or(Context::UNKNOWN, |member| member.context)
            };
            self.met.push(Met {
                meeting,
                postponed: context(meeting.postponed),
                arrived: context(meeting.arrived),
            });
        }
    }

    /// The first point at which a replay has left its schedule, in words.
    pub(super) fn divergence(&self) -> Option<String> {
        match &self.chooser {
            Chooser::Oracle(_) | Chooser::DrFinder(_) | Chooser::Follow(_) => None,
            Chooser::Replay(replay) => replay.divergence().map(ToString::to_string),
        }
    }

    /// The threads that the strategy holds back.
    pub(super) fn held(&mut self) -> Vec<ThreadId> {
        self.chooser.strategy().held()
    }

    /// Has the strategy let go of a thread.
    pub(super) fn release(&mut self, thread: ThreadId) {
        self.chooser.strategy().release(thread);
    }

    /// DrFinder, if that is who chooses.
    pub(super) fn finder(&mut self) -> Option<&mut DrFinder> {
        match &mut self.chooser {
            Chooser::DrFinder(finder) => Some(finder),
            _ => None,
        }
    }

    /// A thread is about to sleep.
    pub(super) fn rests(&mut self, number: u32) {
        if let Some(finder) = self.finder() {
            finder.rests(ThreadId(number));
        }
    }

    /// A thread says where it stands. The relations that this adds.
    pub(super) fn stands(&mut self, number: u32, stand: &Stand) -> Relations {
        let Some(finder) = self.finder() else {
            return Relations::default();
        };
        let names = triggers::new_names();
        for (function, name) in &names.functions {
            finder.name_function(*function, name);
        }
        for (class, name) in &names.classes {
            finder.name_class(*class, name);
        }
        finder.stands(ThreadId(number), &stand.functions, stand.class);
        finder.take_unsaved()
    }

    /// The name of the anomaly that is followed, and what has become of it.
    pub(super) fn fate(&self) -> Option<(String, Fate)> {
        let Chooser::Follow(follow) = &self.chooser else {
            return None;
        };
        let anomaly = follow.schedule().anomaly.as_ref();
        let name = anomaly.map_or("the schedule", |anomaly| &anomaly.name);
        Some((name.to_owned(), follow.fate().clone()))
    }

    /// A thread waits for others without being blocked.
    pub(super) fn yields(&mut self, number: u32) {
        self.chooser.strategy().yields(ThreadId(number));
    }

    fn standing(&self, standing: Standing) -> impl Iterator<Item = &Member> {
        let members = self.members.iter().flatten();
        members.filter(move |member| member.standing == standing)
    }

    /// Whether somebody is outside, or waits for something from there.
    fn depends_on_the_world(&self) -> bool {
        let mut waiting = self.standing(Standing::Waiting);
        let away = |member: &Member| {
            let standing = member.standing;
            matches!(
                standing,
                Standing::Outside | Standing::Library | Standing::Returning
            )
        };
        self.members.iter().flatten().any(away)
            || waiting.any(|member| self.world(member.want) == World::Outside)
    }

    /// Whether there are threads that nobody has told us of: libraries make them, and have
    /// them call functions of the program.
    fn has_strangers(&self) -> bool {
        let here = |member: &&Member| member.standing != Standing::Ended;
        let members = self.members.iter().flatten().filter(here).count();
        let own = usize::from(monitor::is_there()) + usize::from(memory_limit::is_watched());
        monitor::threads().is_some_and(|all| all > members + self.leaving.len() + own)
    }

    /// Lets the next moment come that somebody still waits for. With somebody outside,
    /// time passes as it does there.
    fn let_time_pass(&mut self) -> bool {
        if self.depends_on_the_world() {
            return false;
        }
        let waiting = self.standing(Standing::Waiting).filter(|m| !m.timed_out);
        let next = waiting.filter_map(|m| m.until);
        let Some(moment) = next.chain(self.timers.next()).min() else {
            return false;
        };
        self.clock.jump(moment);
        self.time_out();
        true
    }

    /// Whether a thread that goes now is to stop right after what it does.
    pub(super) fn stops(&mut self, number: u32) -> bool {
        self.chooser.strategy().stops(ThreadId(number))
    }

    /// Whether one of these has a lock that somebody waits for.
    fn keep_others(&self, enabled: &[Pending]) -> bool {
        let has = |holders: &Holders| {
            let mut holding = holders.readers.iter().chain(&holders.owner);
            holding.any(|&thread| enabled.iter().any(|p| p.thread.0 == thread))
        };
        let wanted = |member: &Member| match member.want {
            Want::Lock { address, .. } => Some(address),
            Want::Notice { lock, .. } if member.told => Some(lock),
            _ => None,
        };
        let mut wanted = self.standing(Standing::Waiting).filter_map(wanted);
        wanted.any(|lock| self.locks.holders(lock).is_some_and(has))
    }

    /// Lets time pass if who waits for the next moment just sleeps, or waits for so short
    /// a time that a busy machine may well let it pass, be it what is left of a longer one.
    /// Whoever is more patient counts on what others do in time.
    fn wake_a_sleeper(&mut self, enabled: &[Pending]) -> bool {
        const SHORT: u64 = 250_000_000;
        const SHORT_REST: u64 = 100_000_000;
        const NAP: u64 = 10_000_000;
        let now = self.clock.now();
        let keeps_others = self.keep_others(enabled);
        let naps_only = self
            .chooser
            .strategy()
            .awaits_naps_only(enabled, keeps_others);
        let waiting = self.standing(Standing::Waiting);
        let next = waiting.filter(|m| m.until.is_some() && !m.timed_out);
        let next = next.min_by_key(|m| m.until);
        let passes = |member: &Member| {
            let is_short = |since: Moment, most: u64| {
                let until = member.until.map(|until| until.0.saturating_sub(since.0));
                until.is_some_and(|time| time <= most)
            };
            match naps_only {
                true => is_short(now, NAP),
                false => {
                    let is_brief = is_short(member.since, SHORT) || is_short(now, SHORT_REST);
                    member.want == Want::Time || is_brief
                }
            }
        };
        next.is_some_and(passes) && self.let_time_pass()
    }

    /// The moment that a thread sleeps for comes now.
    fn wake_early(&mut self, number: u32) {
        let now = self.clock.now();
        let Some(member) = self.member(number) else {
            return;
        };
        member.timed_out = true;
        if let Some(moment) = member.until
            && moment > now
        {
            self.clock.jump(moment);
            self.time_out();
        }
    }

    /// Wakes who has waited for a moment that has come.
    pub(super) fn time_out(&mut self) {
        let now = self.clock.now();
        for member in self.members.iter_mut().flatten() {
            if member.standing == Standing::Waiting && member.until.is_some_and(|m| m <= now) {
                member.timed_out = true;
            }
        }
    }

    /// A thread has to look after something else than what it waits for. Its baton,
    /// if nobody else runs.
    pub(super) fn interrupt(&mut self, number: u32) -> Option<&'static Baton> {
        let member = self.member(number)?;
        member.interrupted |= member.standing == Standing::Waiting;
        match self.next(u32::MAX) {
            Next::Other(baton) => Some(baton),
            Next::Same | Next::Nobody | Next::Deadlock => None,
        }
    }

    /// Whether a lock's owner has ended without giving it back.
    fn is_dead(&self, owner: Option<u32>) -> bool {
        let Some(owner) = owner else {
            return false;
        };
        let member = self.members.get(owner as usize).and_then(Option::as_ref);
        member.is_none_or(|member| member.standing == Standing::Ended)
    }

    /// A thread has given a lock back.
    pub(super) fn given_back(&mut self, number: u32, address: usize) {
        self.locks.given_back(number, address);
        self.changes += 1;
    }

    /// A thread that was preferred to readers does not wait to write any more.
    pub(super) fn no_longer_prefer(&mut self, number: u32, address: usize) {
        self.locks.no_longer_prefer(number, address);
        self.changes += 1;
    }

    /// A thread begins to wait to be told of something.
    pub(super) fn enlist(&mut self, number: u32) {
        self.waiting.retain(|&other| other != number);
        self.waiting.push(number);
    }

    /// Tells up to `most` of those whose want is like that; how many it were. Which
    /// of them is up to the strategy.
    pub(super) fn tell(&mut self, most: usize, wanted: impl Fn(Want) -> bool) -> usize {
        let mut told = 0;
        self.changes += 1;
        while told < most {
            let members = &self.members;
            let candidates: Vec<ThreadId> = self
                .waiting
                .iter()
                .filter(|&&number| {
                    let member = members[number as usize].as_ref();
                    member.is_some_and(|m| {
                        m.standing == Standing::Waiting && !m.told && !m.timed_out && wanted(m.want)
                    })
                })
                .map(|&number| ThreadId(number))
                .collect();
            let number = match candidates[..] {
                [] => break,
                [only] => only.0,
                _ if most == usize::MAX => candidates[0].0,
                _ => {
                    let woken = candidates[self.chooser.strategy().pick_waiter(&candidates)];
                    if let Some(choices) = &mut self.choices {
                        choices.push(Choice::Waiter(woken));
                    }
                    woken.0
                }
            };
            self.waiting.retain(|&other| other != number);
            if let Some(member) = self.member(number) {
                member.told = true;
                member.until = None;
            }
            told += 1;
        }
        told
    }

    /// Lets up to `most` of those who wait for a futex wait for another one.
    pub(super) fn requeue(&mut self, from: usize, to: usize, most: usize) -> usize {
        let mut moved = 0;
        for &number in &self.waiting {
            if moved == most {
                break;
            }
            if let Some(member) = self.members[number as usize].as_mut()
                && let Want::Wake { futex, .. } = &mut member.want
                && *futex == from
                && !member.told
            {
                *futex = to;
                moved += 1;
            }
        }
        moved
    }

    /// A word is used to wait by.
    pub(super) fn is_futex(&mut self, address: usize) {
        self.futexes.insert(address);
    }

    /// Whether changing a word of that size looks like taking a lock that is made of
    /// a futex: such locks are 0 while they are free.
    pub(super) fn is_free_futex(&self, address: usize, size: usize) -> bool {
        // SAFETY: the program's own word, which it is about to change.
        let value = || unsafe { (address as *const u32).read_volatile() };
        size == 4 && self.futexes.contains(&address) && value() == 0
    }

    /// A thread does not wait any more.
    pub(super) fn strike(&mut self, number: u32) {
        self.waiting.retain(|&other| other != number);
    }

    pub(super) fn make_barrier(&mut self, address: usize, size: u32) {
        let barrier = Barrier {
            size,
            inside: 0,
            round: 0,
        };
        self.barriers.insert(address, barrier);
    }

    /// A thread reaches a barrier. None if nobody has said how many must come.
    pub(super) fn arrive(&mut self, address: usize) -> Option<Arrival> {
        let barrier = self.barriers.get_mut(&address)?;
        barrier.inside += 1;
        if barrier.inside < barrier.size {
            return Some(Arrival::Early(barrier.round));
        }
        barrier.inside = 0;
        barrier.round += 1;
        self.changes += 1;
        Some(Arrival::Last)
    }

    /// Who does what is to be done once.
    pub(super) fn doer(&self, address: usize) -> Option<u32> {
        self.under_way.get(&address).copied()
    }

    /// Nobody of before does anything any more.
    pub(super) fn forget_doers(&mut self) {
        self.under_way.clear();
    }

    pub(super) fn begin_once(&mut self, number: u32, address: usize) {
        self.under_way.insert(address, number);
    }

    pub(super) fn end_once(&mut self, address: usize) {
        self.under_way.remove(&address);
        self.changes += 1;
    }
}
