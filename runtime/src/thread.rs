//! The current thread: its time, its locks, what it may reuse.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use racehound_detect::clock::Epoch;
use racehound_detect::order::{Order, Sync, ThreadCell, Volatiles};
use racehound_trace::ThreadId;

use crate::abi::loads::Loads;
use crate::cell::Spare;
use crate::context::{self, Context};
use crate::deadlock::Seen;
use crate::frames::{self, Frames};
use crate::graves::Graves;
use crate::hearsay::Hearsay;
use crate::locks::{Held, LocksId};
use crate::merge::{Merges, PARTS};
use crate::old_news::OldNews;
use crate::quarantine::Quarantine;
use crate::readers::Steps;
use crate::rule::Rule;
use crate::sampling::Calls;
use crate::shadow::Half;
use crate::stamp::{self, Record, Stamp};
use crate::tls::{Hot, NO_SETS, Noted, SETS, hot};
use crate::{registry, sampling, sweep};

/// A stamp that an access at some place got, to be used again in its epoch.
#[derive(Clone, Copy, Default)]
struct Recent {
    place: usize,
    parent: Context,
    context: Context,
    stamp: Stamp,
}

/// Stamps that an access may take: its own, and merges of both halves of the words at
/// both of its ends.
const ROOM: u32 = 1 + 2 * 2 * 2 * stamp::MERGE_STAMPS;

/// The most leases that a thread takes at once: a million stamps.
const GREEDIEST: u32 = 64;

/// Accesses that are remembered so, in pairs: the one that came last comes first.
const RECENT: usize = 1024;

/// Everything about a thread that no other thread touches.
pub(crate) struct Thread {
    /// `T1` in reports; 0 is the main thread.
    pub(crate) number: u32,
    /// A library made it behind our back.
    pub(crate) is_a_librarys: bool,
    /// Its stamps so far reach to this one.
    pub(crate) stamp: Stamp,
    /// The last stamp of what it has leased.
    last: Stamp,
    /// Leases that it takes at once.
    greed: u32,
    /// First stamp of the current epoch.
    floor: Stamp,
    /// First stamp since the epoch or the locks held have changed.
    fresh: Stamp,
    /// The time of the first access since the thread has synchronised other than by
    /// locks: where those do not count, nobody else knows of one from there on.
    unheard: Epoch,
    /// Accesses are not looked at while this is not 0.
    pub(crate) ignore: u32,
    /// Where the program asked for that, while it wants it.
    pub(crate) ignores: Vec<Context>,
    /// Synchronisation neither.
    pub(crate) ignore_sync: u32,
    pub(crate) clock: ThreadCell,
    /// What of it was asked for lately.
    hearsay: Hearsay,
    order: Sync,
    pub(crate) held: Held,
    /// Orders of locks that it has looked at.
    pub(crate) orders: Seen,
    pub(crate) spare: Spare,
    pub(crate) messages: crate::messages::Spare,
    /// What it does with descriptors now fails where it would have to wait.
    pub(crate) impatient: bool,
    /// Stacks with which it took locks, if these are collected.
    pub(crate) triggered: crate::triggers::Triggered,
    /// Delays before it synchronises, if such are wanted.
    pub(crate) noise: Option<racehound_schedule::Noise>,
    pub(crate) frames: Frames,
    /// Behind the innermost frame while it is not current anywhere; null while
    /// it is.
    pub(crate) resting: *mut frames::Frame,
    recent: Box<[Recent; RECENT]>,
    pub(crate) steps: Option<Steps>,
    pub(crate) merges: Merges,
    pub(crate) old_news: OldNews,
    pub(crate) loads: Loads,
    /// Its stack.
    pub(crate) extent: std::ops::Range<usize>,
    /// The blocks that it has freed.
    pub(crate) graves: Graves,
    /// Those of them that the C library has not got back.
    pub(crate) quarantine: Quarantine,
    /// Signals and handlers.
    pub(crate) signals: crate::signals::Signals,
    pub(crate) targets: crate::interpose::jumps::Targets,
    /// Locks that were held when their memory was given back.
    pub(crate) abandoned: Vec<crate::objects::Abandoned>,
    /// Where the thread has slept last, and what all had come to before.
    slept: Option<(Context, Vec<Epoch>)>,
    /// The team of OpenMP that it is a member of, or 0.
    pub(crate) team: usize,
    /// What it works at in it, and what it has worked at before the groups it is in.
    pub(crate) work: crate::interpose::tasks::Work,
    pub(crate) groups: Vec<crate::interpose::tasks::Work>,
    /// Things to be done once that it is about to do.
    pub(crate) once: Vec<usize>,
    /// Events for a detector without shadow words.
    pub(crate) collected: crate::general::Collected,
    /// Accesses, and all events, for the trace that is being recorded.
    pub(crate) log: crate::log::Log,
    pub(crate) recorder: crate::tape::Recorder,
    /// Which of its calls are looked at, if not all are.
    calls: Option<Box<Calls>>,
}

/// Where an access is looked for among the recent ones: the first of a pair.
#[inline(always)]
fn slot(parent: Context, place: usize, locks: LocksId) -> usize {
    let key = place as u64 ^ u64::from(parent.0) << 24 ^ u64::from(locks.to_bits()) << 32;
    let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (64 - RECENT.ilog2())) as usize & !1
}

/// Whether a library has made the current thread behind our back.
#[inline]
pub(crate) fn is_a_librarys() -> bool {
    // SAFETY: our own block, and the thread is its own.
    unsafe { (*hot()).thread.as_ref() }.is_some_and(|thread| thread.is_a_librarys)
}

/// Nobody may enter the runtime: shadow memory is being swept.
pub(crate) static PAUSED: AtomicBool = AtomicBool::new(false);

/// Threads are cancelled in this program: nobody may be while inside, where it may hold
/// what others wait for.
static CANCELS: AtomicBool = AtomicBool::new(false);

/// Threads will be cancelled from now on. Who is inside by now comes out first.
pub(crate) fn expect_cancellation() {
    if !CANCELS.load(Ordering::Relaxed) {
        let _pause = sweep::Pause::begin();
        CANCELS.store(true, Ordering::Relaxed);
    }
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

const CAN_BE_CANCELLED: c_int = 0;
const CANNOT_BE: c_int = 1;

/// Keeps the thread from being cancelled while it is inside.
#[cold]
fn shelter(hot: *mut Hot) {
    let mut before = CANNOT_BE;
    // SAFETY: our own block, and the thread's own state.
    unsafe {
        pthread_setcancelstate(CANNOT_BE, &raw mut before);
        (*hot).sheltered = u32::from(before == CAN_BE_CANCELLED);
    }
}

#[cold]
fn unshelter(hot: *mut Hot) {
    // SAFETY: as above.
    unsafe {
        (*hot).sheltered = 0;
        pthread_setcancelstate(CAN_BE_CANCELLED, std::ptr::null_mut());
    }
}

impl Thread {
    /// A thread that begins with what `clock` knows.
    pub(crate) fn new(number: u32, clock: ThreadCell, order: Order, stack: usize) -> Box<Self> {
        let mut thread = Box::new(Self {
            number,
            is_a_librarys: false,
            stamp: Stamp::NONE,
            last: Stamp::NONE,
            greed: 1,
            floor: Stamp::NONE,
            fresh: Stamp::NONE,
            unheard: clock.epoch(),
            ignore: 0,
            ignores: Vec::new(),
            ignore_sync: 0,
            order: Sync::new(order, Volatiles::AsEdges),
            clock,
            hearsay: Hearsay::default(),
            held: Held::default(),
            orders: Seen::default(),
            spare: Spare::default(),
            messages: crate::messages::Spare::default(),
            impatient: false,
            triggered: crate::triggers::Triggered::default(),
            noise: None,
            frames: Frames::new(stack),
            resting: std::ptr::null_mut(),
            recent: crate::memory::boxed(Recent::default()),
            steps: Some(Steps::default()),
            merges: Merges::default(),
            old_news: OldNews::default(),
            loads: Loads::default(),
            extent: 0..0,
            graves: Graves::default(),
            quarantine: Quarantine::default(),
            signals: crate::signals::Signals::default(),
            targets: crate::interpose::jumps::Targets::default(),
            abandoned: Vec::new(),
            slept: None,
            team: 0,
            work: Default::default(),
            groups: Vec::new(),
            once: Vec::new(),
            collected: crate::general::Collected::default(),
            log: crate::log::Log::default(),
            recorder: crate::tape::Recorder::default(),
            calls: sampling::is_on().then(Calls::new),
        });
        thread.signals.prepare();
        thread.attend();
        thread.lease();
        thread
    }

    /// Looks away from all that nobody wants to know.
    pub(crate) fn attend(&mut self) {
        if crate::triggers::is_all() {
            (self.ignore, self.ignore_sync) = (1, 1);
        }
    }

    /// Whether that access happened before now.
    #[inline(always)]
    pub(crate) fn knows(&self, stamp: Stamp) -> bool {
        self.hearsay.has(stamp) || self.has_heard_of(stamp)
    }

    /// Whether that is known without a look at the clock.
    #[inline(always)]
    pub(crate) fn recalls(&self, stamp: Stamp) -> bool {
        self.hearsay.has(stamp)
    }

    /// The same by the clock; the answer is noted for other stamps of the lease.
    #[cold]
    #[inline(never)]
    fn has_heard_of(&self, stamp: Stamp) -> bool {
        let (epoch, clock) = (stamp.epoch(), &self.clock.clock);
        let known = match epoch.thread() == clock.epoch().thread() {
            true => u64::MAX,
            false => clock.heard_of(epoch.thread()),
        };
        let Some(later) = known.checked_sub(epoch.clock()) else {
            return false;
        };
        let later = later.min(u64::from(stamp.left_in_lease())) as u32;
        self.hearsay.note(Stamp(stamp.0 + later));
        true
    }

    /// Whether this thread made that access.
    #[inline(always)]
    pub(crate) fn made(&self, stamp: Stamp) -> bool {
        stamp.epoch().thread() == self.clock.clock.epoch().thread()
    }

    /// Whether the access was made by this thread in this epoch.
    #[inline(always)]
    pub(crate) fn is_now(&self, stamp: Stamp) -> bool {
        (self.floor..=self.stamp).contains(&stamp)
    }

    /// Whether an access with these locks may pass for one that this thread has made
    /// before: the locks were the same, and who does not know of the one does not know of
    /// the other. Only where locks do not order threads.
    #[inline(always)]
    pub(crate) fn repeats(&self, before: Stamp, locks: LocksId) -> bool {
        let time = before.epoch();
        time.thread() == self.unheard.thread()
            && time.clock() >= self.unheard.clock()
            && before.record().locks == locks
    }

    /// Whether half a word is about an access to all its bytes by this thread in this
    /// epoch: one comparison, see [`entry`](crate::entry).
    #[inline(always)]
    pub(crate) fn is_whole_now(&self, half: Half) -> bool {
        let offset = half.0.wrapping_sub(self.floor.0 << 4).rotate_right(4);
        offset < self.stamp.0 + 1 - self.floor.0
    }

    /// Whether the lease has room for what an access may take.
    #[inline(always)]
    fn has_room(&self) -> bool {
        self.left() >= ROOM
    }

    /// Stamps that are left.
    #[inline(always)]
    fn left(&self) -> u32 {
        self.last.0 - self.stamp.0
    }

    /// The stamp of an access at `place`.
    #[inline(always)]
    pub(crate) fn stamp(&mut self, hot: *mut Hot, place: usize) -> Stamp {
        if !self.has_room() {
            self.lease();
        }
        // SAFETY: our own block.
        let parent = unsafe { frames::context((*hot).top, |p, place| self.context_in(p, place)) };
        let locks = match self.order.locks_order() {
            true => LocksId::NONE,
            false => self.held.set(),
        };
        let slot = self.recent(parent, place, locks);
        let recent = self.recent[slot].stamp;
        let again = (self.fresh..=self.stamp).contains(&recent)
            || (!self.order.locks_order() && self.stands_for(recent, locks));
        if again {
            return recent;
        }
        let stamp = self.next(self.recent[slot].context);
        self.recent[slot].stamp = stamp;
        stamp
    }

    /// Whether a stamp that was made at the place of an access serves for that, too, see
    /// [`repeats`](Self::repeats).
    #[inline(always)]
    fn stands_for(&self, before: Stamp, locks: LocksId) -> bool {
        !before.is_none() && self.repeats(before, locks)
    }

    /// The same, unless it takes more than a look at what was done lately.
    #[inline(always)]
    pub(crate) fn stamp_at_once<R: Rule>(&mut self, hot: *mut Hot, place: usize) -> Option<Stamp> {
        if !self.has_room() {
            return None;
        }
        let parent = self.context_at_once(hot)?;
        let key = match R::FIRST_COUNTS {
            true => self.held.known_set()?,
            false => LocksId::NONE,
        };
        let at = self.find_recent(parent, place, key)?;
        let recent = self.recent[at].stamp;
        if (self.fresh..=self.stamp).contains(&recent)
            || (R::FIRST_COUNTS && self.stands_for(recent, key))
        {
            return Some(recent);
        }
        self.renewed(at)
    }

    /// The same if the context of the innermost call is known, where locks order threads.
    #[inline(always)]
    pub(crate) fn usual_stamp(&mut self, top: *mut frames::Frame, place: usize) -> Option<Stamp> {
        // SAFETY: the thread's innermost frame, or the sentinel below.
        let parent = Context(unsafe { (*top.sub(1)).context });
        if parent == Context::UNKNOWN {
            return None;
        }
        let at = self.find_recent(parent, place, LocksId::NONE)?;
        let recent = self.recent[at].stamp;
        if (self.fresh..=self.stamp).contains(&recent) {
            return Some(recent);
        }
        if !self.has_room() {
            return None;
        }
        self.renewed(at)
    }

    /// A new stamp for what is remembered there, in a lease that has room, if the set of the
    /// locks held is known.
    #[inline(always)]
    fn renewed(&mut self, at: usize) -> Option<Stamp> {
        let locks = self.held.known_set()?;
        let recent = &mut self.recent[at];
        let stamp = Stamp(self.stamp.0 + 1);
        self.stamp = stamp;
        recent.stamp = stamp;
        let context = recent.context;
        stamp.set_record(Record { context, locks });
        Some(stamp)
    }

    /// The context of the innermost call, if it is known or was made lately, and was so in
    /// a call whose context is known.
    #[inline(always)]
    fn context_at_once(&self, hot: *mut Hot) -> Option<Context> {
        // SAFETY: our own block, and below a frame that is no sentinel is another one.
        unsafe {
            let frame = (*hot).top.sub(1);
            let known = Context((*frame).context);
            if known != Context::UNKNOWN {
                return Some(known);
            }
            let (parent, place) = (Context((*frame.sub(1)).context), (*frame).caller);
            if parent == Context::UNKNOWN {
                return None;
            }
            let context = self.recent[self.find_recent(parent, place, LocksId::NONE)?].context;
            (*frame).context = context.0;
            Some(context)
        }
    }

    /// The context of an access at `place`, without a stamp.
    #[inline(always)]
    pub(crate) fn context_of(&mut self, hot: *mut Hot, place: usize) -> Context {
        // SAFETY: our own block.
        let parent = unsafe { frames::context((*hot).top, |p, place| self.context_in(p, place)) };
        self.context_in(parent, place)
    }

    /// The context of a place in another.
    #[inline(always)]
    pub(crate) fn context_in(&mut self, parent: Context, place: usize) -> Context {
        let slot = self.recent(parent, place, LocksId::NONE);
        self.recent[slot].context
    }

    /// Where an access at `place` is remembered, from now on if not before. Where locks do
    /// not order threads, that under other locks is remembered elsewhere.
    #[inline(always)]
    fn recent(&mut self, parent: Context, place: usize, locks: LocksId) -> usize {
        self.find_recent(parent, place, locks)
            .unwrap_or_else(|| self.remember(parent, place, locks))
    }

    /// Where it is remembered, if it is.
    #[inline(always)]
    fn find_recent(&self, parent: Context, place: usize, locks: LocksId) -> Option<usize> {
        let first = slot(parent, place, locks);
        for at in first..first + 2 {
            let recent = &self.recent[at];
            if recent.place == place && recent.parent == parent {
                return Some(at);
            }
        }
        None
    }

    /// Makes an access the first of its pair.
    #[inline(never)]
    fn remember(&mut self, parent: Context, place: usize, locks: LocksId) -> usize {
        let first = slot(parent, place, locks);
        self.recent.swap(first, first + 1);
        self.recent[first] = Recent {
            place,
            parent,
            context: context::inside(parent, place),
            stamp: Stamp::NONE,
        };
        first
    }

    /// A new stamp for an access in that context.
    #[inline]
    pub(crate) fn next(&mut self, context: Context) -> Stamp {
        if self.left() == 0 {
            self.lease();
        } else {
            self.stamp.0 += 1;
        }
        let locks = self.held.set();
        self.stamp.set_record(Record { context, locks });
        self.stamp
    }

    /// A new stamp that stands for others; none at the end of a lease.
    pub(crate) fn merged(&mut self, parts: [Half; PARTS]) -> Option<Stamp> {
        if self.left() < stamp::MERGE_STAMPS {
            return None;
        }
        let merge = Stamp(self.stamp.0 + 1);
        stamp::set_merged(merge, parts);
        self.stamp.0 += stamp::MERGE_STAMPS;
        Some(merge)
    }

    /// Takes a new lease; the epoch goes on.
    #[cold]
    fn lease(&mut self) {
        let epoch = match self.stamp {
            Stamp::NONE => self.clock.epoch(),
            last => last.epoch().after(1),
        };
        if sweep::is_due() {
            sweep::now();
        }
        // An epoch that takes more than a lease is likely to take many more.
        let used = self.stamp.0.saturating_sub(self.floor.0);
        self.greed = match used >= stamp::LEASE / 2 {
            true => (self.greed * 2).min(GREEDIEST),
            false => 1,
        };
        let (stamp, last) = loop {
            match stamp::lease(epoch, self.number, self.greed) {
                Some(run) => break run,
                None => sweep::now(),
            }
        };
        self.last = last;
        // Stamps of an earlier tenancy of the same lease must not be taken for
        // new ones.
        for recent in self.recent.iter_mut() {
            recent.stamp = Stamp::NONE;
        }
        self.stamp = stamp;
        self.stamp.set_record(Record::default());
        self.floor = stamp;
        self.fresh = stamp;
        self.publish();
    }

    /// Tells the fast paths which stamps are of this epoch.
    fn publish(&self) {
        let hot = hot();
        // SAFETY: our own block.
        unsafe {
            if (*hot).thread.cast_const() == std::ptr::from_ref(self) {
                (*hot).floor = self.floor.0 << 4;
                (*hot).span = match crate::detector::engine() {
                    // Every access is an event.
                    crate::detector::Engine::General => 0,
                    _ => self.last.0 + 1 - self.floor.0,
                };
                (*hot).reader = self.chain().0 * 8;
                if (*hot).no_sets == 0 {
                    (*hot).sets = NO_SETS;
                    (*hot).no_sets = 1;
                }
            }
        }
    }

    /// Makes this the current thread of the processor's thread.
    ///
    /// # Safety
    /// The thread is not current anywhere else.
    pub(crate) unsafe fn enter(&mut self, top: *mut frames::Frame) {
        let hot = hot();
        // SAFETY: our own block.
        unsafe {
            (*hot).thread = self;
            (*hot).top = top;
            (*hot).log = self.log.start();
            if let Some(calls) = &mut self.calls {
                (*hot).calls = &raw mut **calls;
                calls.attach(hot);
                sampling::calls::resume(hot);
            }
        }
        self.log.set_ignored(self.ignore != 0);
        self.resting = std::ptr::null_mut();
        self.publish();
    }

    /// Makes another one current in its place. False if that is current
    /// elsewhere.
    ///
    /// # Safety
    /// This is the current thread, and the other one exists.
    pub(crate) unsafe fn switch(&mut self, to: *mut Self) -> bool {
        if std::ptr::from_mut(self) == to {
            return true;
        }
        let hot = hot();
        // SAFETY: our own block; who rests is touched by nobody else.
        unsafe {
            let top = (*to).resting;
            if top.is_null() {
                return false;
            }
            self.settle_log();
            self.resting = (*hot).top;
            if let Some(calls) = &self.calls {
                calls.detach();
            }
            (*to).enter(top);
            if (*hot).pending != 0 {
                (*to).signals.take_over(&mut self.signals);
            }
        }
        true
    }

    /// Carries out a synchronisation: what the thread knows may grow, and a new
    /// epoch begins if it handed knowledge on.
    pub(crate) fn synchronise<R>(
        &mut self,
        operation: impl FnOnce(&mut Sync, &mut ThreadCell) -> R,
    ) -> R {
        let result = self.synchronise_by_lock(operation);
        self.unheard = self.now().after(1);
        result
    }

    /// The same where a lock is taken or given back.
    pub(crate) fn synchronise_by_lock<R>(
        &mut self,
        operation: impl FnOnce(&mut Sync, &mut ThreadCell) -> R,
    ) -> R {
        let now = self.up_to_now().epoch();
        let result = operation(&mut self.order, &mut self.clock);
        if self.clock.epoch() != now {
            self.floor = Stamp(self.stamp.0 + 1);
            self.fresh = self.floor;
            self.publish();
        }
        result
    }

    /// The leases with the stamps of this epoch, and those that are left.
    pub(crate) fn leases(&self) -> std::ops::RangeInclusive<usize> {
        self.floor.min(self.stamp).lease()..=self.last.lease()
    }

    /// The first stamp of this epoch.
    pub(crate) fn floor(&self) -> Stamp {
        self.floor
    }

    /// What the thread knows, with the time of its last access.
    pub(crate) fn up_to_now(&mut self) -> &ThreadCell {
        self.clock.clock.set_epoch(self.stamp.epoch());
        &self.clock
    }

    /// The time of the last access.
    pub(crate) fn now(&self) -> Epoch {
        self.stamp.epoch()
    }

    /// A read of this thread in this epoch is in that set: the fast path may
    /// know.
    #[inline(always)]
    pub(crate) fn note_set(&self, set: Half) {
        let hot = hot();
        // SAFETY: our own block.
        unsafe {
            (*hot).sets[(set.0 >> 4) as usize % SETS] = Noted(set.0 + 1);
            (*hot).no_sets = 0;
        }
    }

    /// Tells the fast paths whether accesses are looked at.
    pub(crate) fn publish_ignore(&mut self) {
        self.settle_log();
        self.log.set_ignored(self.ignore != 0);
        self.publish();
    }

    /// Takes over what the hot path has noted for the trace, if this is the
    /// current thread.
    pub(crate) fn settle_log(&mut self) {
        let hot = hot();
        // SAFETY: our own block.
        if unsafe { (*hot).thread.cast_const() } == std::ptr::from_ref(self) {
            self.log.drain(hot, self.number, &mut self.recorder);
        }
    }

    /// The same for a thread that runs elsewhere and goes on, while nobody is in
    /// the runtime and when its log is of no use to it any more.
    pub(crate) fn peek_log(&mut self, hot: *const Hot) {
        // SAFETY: the block of a thread that has not ended.
        let cursor = unsafe { (&raw const (*hot).log).read_volatile() };
        self.log.tell(cursor, self.number, &mut self.recorder);
    }

    /// Stamps and sets of readers may get new meanings.
    pub(crate) fn forget_steps(&mut self) {
        if let Some(steps) = &mut self.steps {
            steps.forget();
        }
        self.merges.forget();
        self.hearsay.forget();
        self.loads = Loads::default();
    }

    /// The locks held have changed: accesses from now on are new ones.
    pub(crate) fn locks_changed(&mut self) {
        self.fresh = Stamp(self.stamp.0 + 1);
    }

    /// The context of the current call, or of `place` in it.
    pub(crate) fn context(&self, place: usize) -> Context {
        // SAFETY: our own block.
        let parent = unsafe { frames::context((*hot()).top, context::inside) };
        match place {
            0 => parent,
            place => context::inside(parent, place),
        }
    }

    /// The thread has slept, or is about to.
    pub(crate) fn sleeps(&mut self, place: usize) {
        let context = self.context(place);
        self.slept = Some((context, registry::everybody()));
    }

    /// Where the thread slept while an access was over already: that looks like
    /// synchronisation and is none.
    pub(crate) fn slept_since(&self, access: Stamp) -> Option<Context> {
        let (context, everybody) = self.slept.as_ref()?;
        let epoch = access.epoch();
        let over =
            |known: &Epoch| known.thread() == epoch.thread() && known.clock() >= epoch.clock();
        everybody.iter().any(over).then_some(*context)
    }

    /// Whose time it is.
    pub(crate) fn chain(&self) -> ThreadId {
        self.clock.epoch().thread()
    }
}

/// The current thread, from the moment it enters the runtime until it leaves:
/// signals wait, and shadow memory is not swept.
pub(crate) struct Visit {
    hot: *mut Hot,
}

impl Visit {
    /// Enters the runtime; introduces the thread if it is new.
    #[inline(always)]
    pub(crate) fn begin() -> Self {
        let hot = hot();
        // SAFETY: our own block.
        unsafe {
            (*hot).busy += 1;
            std::sync::atomic::compiler_fence(Ordering::SeqCst);
            if PAUSED.load(Ordering::Relaxed) && (*hot).busy == 1 {
                sweep::wait(hot);
            }
            if CANCELS.load(Ordering::Relaxed) && (*hot).busy == 1 {
                shelter(hot);
            }
            if (*hot).thread.is_null() {
                registry::introduce();
            }
        }
        Self { hot }
    }

    /// The same for a thread that we know, at a time when nobody has to wait.
    #[inline(always)]
    pub(crate) fn of_known() -> Option<Self> {
        let hot = hot();
        // SAFETY: our own block.
        unsafe {
            (*hot).busy += 1;
            std::sync::atomic::compiler_fence(Ordering::SeqCst);
            if PAUSED.load(Ordering::Relaxed) || (*hot).thread.is_null() {
                (*hot).busy -= 1;
                return None;
            }
        }
        Some(Self { hot })
    }

    /// Ends the visit of a [known](Self::of_known) thread, for which nothing had to be done
    /// when it began.
    #[inline(always)]
    pub(crate) fn end(self) {
        let hot = self.hot;
        self.give_up();
        // SAFETY: our own block.
        if unsafe { (*hot).pending != 0 && (*hot).busy == 0 } {
            crate::signals::deliver();
        }
    }

    /// The same for one who comes back at once: signals can wait until then.
    #[inline(always)]
    pub(crate) fn give_up(self) {
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
        // SAFETY: our own block.
        unsafe { (*self.hot).busy -= 1 };
        std::mem::forget(self);
    }

    /// The thread.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub(crate) fn thread(&self) -> &'static mut Thread {
        // SAFETY: our own thread, which stays until it ends. Nobody else has a
        // reference to it, and visits within a visit do not use theirs at the
        // same time.
        unsafe { &mut *(*self.hot).thread }
    }

    #[inline(always)]
    pub(crate) fn hot(&self) -> *mut Hot {
        self.hot
    }
}

impl Drop for Visit {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: our own block.
        unsafe {
            std::sync::atomic::compiler_fence(Ordering::SeqCst);
            (*self.hot).busy -= 1;
            if (*self.hot).sheltered != 0 && (*self.hot).busy == 0 {
                unshelter(self.hot);
            }
            if (*self.hot).pending != 0 && (*self.hot).busy == 0 {
                crate::signals::deliver();
            }
        }
    }
}

/// Notes a call, as function entry does.
pub(crate) fn push_call(caller: usize) {
    let hot = hot();
    // SAFETY: our own block and frames.
    unsafe {
        let top = (*hot).top;
        top.write(frames::Frame {
            caller,
            context: 0,
            call: (*hot).call,
        });
        (*hot).top = top.add(1);
    }
}

/// Notes the end of a call.
pub(crate) fn pop_call() {
    let hot = hot();
    // SAFETY: as above.
    unsafe { (*hot).top = (*hot).top.sub(1) };
}

/// While it lasts, the thread's calls are those of a context that is not its own:
/// of the moment at which what it does now was asked for.
pub(crate) struct Inside {
    top: *mut frames::Frame,
}

impl Inside {
    pub(crate) fn begin(context: Context) -> Self {
        let hot = hot();
        // SAFETY: our own block and frames; without a thread there are none.
        unsafe {
            let top = (*hot).top;
            if !top.is_null() {
                let context = context.0.max(Context::ROOT.0);
                let call = (*top.sub(1)).call;
                top.write(frames::Frame {
                    caller: 0,
                    context,
                    call,
                });
                (*hot).top = top.add(1);
            }
            Self { top }
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let hot = hot();
        // SAFETY: as above; the thread may have ended meanwhile.
        unsafe {
            if !(*hot).top.is_null() && !self.top.is_null() {
                (*hot).top = self.top;
            }
        }
    }
}

/// The current thread, if it is known.
pub(crate) fn current() -> Option<&'static mut Thread> {
    // SAFETY: our own thread.
    unsafe { (*hot()).thread.as_mut() }
}
