//! What there is to report, and what belongs into each report.

use racehound_detect::lockset::READERS;
use racehound_detect::offline::{Side, Warning, Why};
use racehound_detect::{AccessKind, Reason};
use racehound_trace::Mode;

use super::reporter::{Reporting, VPTR, variable_name, why};
use super::{Access, Cause, Edge, Kept, Kind, Report, Stuck};
use crate::context::Context;
use crate::interpose::Errno;
use crate::stamp::Stamp;
use crate::thread::{self, Thread};
use crate::{fork, objects, options, real, registry};

/// A race, as it was found.
pub(crate) struct Race {
    pub(crate) address: usize,
    pub(crate) access_address: usize,
    pub(crate) access_size: usize,
    pub(crate) now: (Stamp, AccessKind),
    pub(crate) before: (Stamp, AccessKind),
    pub(crate) before_bytes: (usize, u8),
    /// Bytes of the same eight that race with something, for tests.
    #[cfg_attr(not(test), allow(dead_code))]
    pub(crate) racing: u8,
    pub(crate) reason: Reason,
}

/// A lock that is used wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misuse {
    DestroyLocked,
    Destroyed,
    DoubleLock,
    UnlockUnlocked,
    ReadLockOfWriteLocked,
    ReadUnlockOfWriteLocked,
}

/// Whether the innermost place is a function that gives memory back.
fn frees(places: &[usize]) -> bool {
    let name = places.first().and_then(|&place| real::name_at(place));
    name.is_some_and(|name| {
        name.starts_with("_Zd") || ["free", "cfree", "realloc", "reallocarray"].contains(&name)
    })
}

/// Reports a race.
#[cold]
pub(crate) fn race(thread: &mut Thread, race: Race) {
    #[cfg(test)]
    if crate::agreement::catch(&race) {
        return;
    }
    let _errno = Errno::keep();
    let (now, before) = (race.now.0.record().context, race.before.0.record().context);
    let mut is_no_news = || {
        if !options::get().all_pairs {
            thread.old_news.add(now, before);
        }
    };
    if !options::get().report_bugs {
        return is_no_news();
    }
    let atomic = race.now.1.is_atomic() || race.before.1.is_atomic();
    if atomic && !options::get().report_atomic_races {
        return;
    }
    let mut reporter = Reporting::begin();
    let pair = (0, now.min(before), now.max(before));
    if options::get().suppress_equal_stacks && !reporter.told.insert(pair) {
        return is_no_news();
    }
    let mut report = Report::new(Kind::Race);
    // What lies in the eight bytes around, as TSan has it.
    let (start, end) = (race.address & !7, (race.address & !7) + 8);
    let address = race.access_address.max(start);
    let size = (race.access_address + race.access_size)
        .min(end)
        .saturating_sub(address);
    let (group, bytes) = race.before_bytes;
    let first = bytes.trailing_zeros() as usize;
    let before_size = (bytes >> first).trailing_ones() as usize;
    let now = reporter.access(race.now, address, size);
    let before = reporter.access(race.before, group + first, before_size);
    let is_vptr = |access: &Access| access.places.first().is_some_and(|p| p & VPTR != 0);
    let vptr = is_vptr(&now) || is_vptr(&before);
    report.kind = match (frees(&before.places), vptr) {
        (true, true) => Kind::VptrUseAfterFree,
        (true, false) => Kind::UseAfterFree,
        (false, true) => Kind::VptrRace,
        (false, false) => Kind::Race,
    };
    report.location = Some(reporter.location(race.address));
    report.accesses = vec![now, before];
    if report.tag() != 0 {
        report.kind = Kind::ExternalRace;
    }
    report.reason = Some(why(race.reason));
    if !matches!(report.kind, Kind::UseAfterFree | Kind::VptrUseAfterFree) {
        let slept = thread.slept_since(race.before.0);
        report.slept = slept.map(|context| reporter.stack(context));
    }
    reporter.tell(report);
}

/// A thread about to make an access.
pub(crate) struct Stand {
    pub(crate) thread: u32,
    pub(crate) kind: AccessKind,
    pub(crate) address: usize,
    pub(crate) size: usize,
    pub(crate) context: Context,
}

/// Reports a race that was made to happen: two threads stood at their accesses
/// together.
#[cold]
pub(crate) fn meeting(later: &Stand, earlier: &Stand) {
    let _errno = Errno::keep();
    let mut reporter = Reporting::begin();
    let pair = (1, later.context, earlier.context);
    if !reporter.told.insert(pair) {
        return;
    }
    let mut report = Report::new(Kind::Race);
    report.met = true;
    for stand in [later, earlier] {
        let held = registry::held_by(stand.thread);
        report.accesses.push(Access {
            thread: stand.thread,
            kind: stand.kind,
            address: stand.address,
            size: stand.size,
            locks: held,
            stack: reporter.stack(stand.context),
            places: stand.context.places().collect(),
        });
    }
    report.location = Some(reporter.location(later.address.max(earlier.address)));
    reporter.tell(report);
}

/// Reports what a detector of `racehound-detect` holds against two accesses.
#[cold]
pub(crate) fn warning(_thread: &mut Thread, warning: &Warning) {
    let _errno = Errno::keep();
    if !options::get().report_bugs {
        return;
    }
    let context = |side: &Side| Context(side.site.0);
    let mut reporter = Reporting::begin();
    let pair = (0, context(&warning.second), context(&warning.first));
    if options::get().suppress_equal_stacks && !reporter.told.insert(pair) {
        return;
    }
    let address = warning.loc.0 as usize;
    let mut report = Report::new(Kind::Race);
    for side in [&warning.second, &warning.first] {
        let stack = reporter.stack(context(side));
        let mut locks = side.locks.clone();
        locks.retain(|lock| *lock < READERS);
        report.accesses.push(Access {
            thread: side.thread.0,
            kind: side.kind,
            address,
            size: warning.size as usize,
            locks: locks.iter().map(|lock| (lock.0, Mode::Exclusive)).collect(),
            stack,
            places: context(side).places().collect(),
        });
    }
    if frees(&report.accesses[1].places) {
        report.kind = Kind::UseAfterFree;
    }
    report.location = Some(reporter.location(address));
    report.reason = Some(match &warning.why {
        Why::WritesShareOnly(locks) => {
            let locks = locks.iter().copied();
            Why::WritesShareOnly(locks.filter(|lock| *lock < READERS).collect())
        }
        why => why.clone(),
    });
    reporter.tell(report);
}

/// Reports the wrong use of a lock.
#[cold]
pub(crate) fn misuse(thread: &mut Thread, misuse: Misuse, id: u32, place: usize, before: Context) {
    let _errno = Errno::keep();
    let options = options::get();
    if !options.report_bugs || !options.report_mutex_bugs {
        return;
    }
    if misuse == Misuse::DestroyLocked && !options.report_destroy_locked {
        return;
    }
    let mut reporter = Reporting::begin();
    let mut report = Report::new(match misuse {
        Misuse::DestroyLocked => Kind::DestroyLocked,
        Misuse::Destroyed => Kind::InvalidMutex,
        Misuse::DoubleLock => Kind::DoubleLock,
        Misuse::UnlockUnlocked => Kind::BadUnlock,
        Misuse::ReadLockOfWriteLocked => Kind::BadReadLock,
        Misuse::ReadUnlockOfWriteLocked => Kind::BadReadUnlock,
    });
    let now = thread.context(place);
    if options.suppress_equal_stacks && !reporter.told.insert((report.kind as u8, now, before)) {
        return;
    }
    report.thread = Some(thread.number);
    report.stacks.push(reporter.stack(now));
    if misuse == Misuse::DestroyLocked && before != Context::UNKNOWN {
        report.stacks.push(reporter.stack(before));
    }
    reporter.add_mutex(&mut report, id);
    if let Some(mutex) = report.mutexes.first() {
        let address = mutex.address;
        report.location = Some(reporter.location(address));
    }
    reporter.tell(report);
}

/// A lock taken in another order, as the graph of locks has it.
pub(crate) struct Inversion {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) thread: u32,
    pub(crate) taken: Context,
    pub(crate) held: Context,
}

/// Reports locks that are taken in a circle.
#[cold]
pub(crate) fn inversion(circle: &[Inversion]) {
    let _errno = Errno::keep();
    let options = options::get();
    if !options.report_bugs {
        return;
    }
    let mut reporter = Reporting::begin();
    let mut report = Report::new(Kind::Deadlock);
    for edge in circle {
        let holder = options
            .second_deadlock_stack
            .then(|| reporter.stack(edge.held));
        report.circle.push(Edge {
            from: edge.from,
            to: edge.to,
            thread: edge.thread,
            stack: reporter.stack(edge.taken),
            holder,
        });
    }
    for edge in circle {
        reporter.add_mutex(&mut report, edge.from);
    }
    for edge in circle {
        reporter.add_thread(&mut report, edge.thread);
    }
    reporter.tell(report);
}

/// What a thread waits for that cannot go on.
pub(crate) struct Wait {
    pub(crate) thread: u32,
    /// In words; a lock is named by its address.
    pub(crate) for_what: String,
    /// Whether that is the end of another thread.
    pub(crate) for_end: bool,
    pub(crate) address: Option<usize>,
    /// Where anything else is that it waits for.
    pub(crate) object: Option<usize>,
    /// Those who hold the lock, and do not wait.
    pub(crate) keepers: Vec<Keeper>,
    /// The locks that it holds, by address: what it is about to give back as well.
    pub(crate) holds: Vec<(usize, Mode)>,
}

/// A thread that holds a lock for ever.
pub(crate) struct Keeper {
    pub(crate) thread: u32,
    pub(crate) address: usize,
    pub(crate) why: Kept,
}

/// Reports that nobody can go on.
pub(crate) fn stuck(waits: Vec<Wait>) {
    let mut reporter = Reporting::begin();
    let mut report = Report::new(Kind::Stuck);
    for Wait {
        thread,
        for_what,
        for_end,
        address,
        object,
        keepers,
        holds,
    } in waits
    {
        let context = registry::parked_at(thread);
        let mut locks = registry::held_by(thread);
        for (address, mode) in holds {
            let id = objects::existing(address).map(|object| object.id);
            let id = id.filter(|id| locks.iter().all(|(other, _)| other != id));
            locks.extend(id.map(|id| (id, mode)));
        }
        let lock = address.and_then(|address| Some(objects::existing(address)?.id));
        for &(id, _) in &locks {
            reporter.add_mutex(&mut report, id);
        }
        if let Some(id) = lock {
            reporter.add_mutex(&mut report, id);
        }
        reporter.add_thread(&mut report, thread);
        report.stuck.push(Stuck {
            thread,
            for_what,
            for_end,
            lock,
            object: object.and_then(variable_name),
            locks,
            stack: reporter.stack(context),
        });
        for keeper in keepers {
            reporter.add_keeper(&mut report, &keeper, context);
        }
    }
    let is_copys = |cause: &Cause| matches!(cause.kept, Some((_, Kept::NotCopied)));
    if report.causes.iter().any(is_copys)
        && let Some((thread, context)) = fork::origin()
    {
        report.causes.push(Cause {
            thread,
            kept: None,
            stack: reporter.stack(context),
        });
    }
    reporter.tell(report);
}

/// Reports threads that nobody waited for.
pub(crate) fn thread_leak(number: u32, count: usize) {
    let mut reporter = Reporting::begin();
    let mut report = Report::new(Kind::ThreadLeak);
    report.count = count;
    reporter.add_thread(&mut report, number);
    reporter.tell(report);
}

/// Reports something that happens in a signal handler.
pub(crate) fn in_handler(kind: Kind, context: Context, signal: Option<i32>) {
    let _errno = Errno::keep();
    let mut reporter = Reporting::begin();
    if !reporter
        .told
        .insert((kind as u8, context, Context::UNKNOWN))
    {
        return;
    }
    let mut report = Report::new(kind);
    report.signal = signal;
    report.thread = thread::current().map(|thread| thread.number);
    report.stacks.push(reporter.stack(context));
    reporter.tell(report);
}

/// Reports that the thread holds locks where it should not.
pub(crate) fn held_locks(thread: &Thread, place: usize) {
    let Some(last) = thread.held.all().last() else {
        return;
    };
    let mut reporter = Reporting::begin();
    let mut report = Report::new(Kind::HeldLocks);
    report.thread = Some(thread.number);
    report.stacks.push(reporter.stack(thread.context(place)));
    for hold in thread.held.all() {
        reporter.add_mutex(&mut report, hold.hold.lock.0);
    }
    report.stacks.push(reporter.stack(last.taken));
    reporter.tell(report);
}
