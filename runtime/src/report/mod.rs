//! What is found, told: collected from the tables while it is fresh, put into
//! words, checked against suppressions, and written in one piece.

mod finding;
mod journal;
pub(crate) mod modules;
mod suppress;
pub(crate) mod symbols;
mod text;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use racehound_detect::lockset::READERS;
use racehound_detect::offline::{Side, Warning, Why};
use racehound_detect::{AccessKind, Reason};
use racehound_report::journal::{Note, Scheduled};
use racehound_trace::Mode;
use rustc_hash::FxHashSet;

use crate::abi::external;
use crate::context::Context;
use crate::interpose::{Errno, threads};
use crate::locks::{self, LocksId};
use crate::stamp::Stamp;
use crate::thread::{self, Thread};
use crate::{blocks, fork, objects, options, output, real, registry};

pub(crate) use racehound_report::glob::glob;
pub(crate) use suppress::Suppressions;
pub(crate) use symbols::Line;
pub(crate) use text::render_stack;

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

/// What sort of bug is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Race,
    VptrRace,
    UseAfterFree,
    VptrUseAfterFree,
    ExternalRace,
    ThreadLeak,
    DestroyLocked,
    DoubleLock,
    InvalidMutex,
    BadUnlock,
    BadReadLock,
    BadReadUnlock,
    SignalUnsafe,
    ErrnoInHandler,
    Deadlock,
    /// Nobody can go on.
    Stuck,
    HeldLocks,
}

impl Kind {
    /// As TSan words it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Race => "data race",
            Self::VptrRace => "data race on vptr (ctor/dtor vs virtual call)",
            Self::UseAfterFree => "heap-use-after-free",
            Self::VptrUseAfterFree => "heap-use-after-free (virtual call vs free)",
            Self::ExternalRace => "race on external object",
            Self::ThreadLeak => "thread leak",
            Self::DestroyLocked => "destroy of a locked mutex",
            Self::DoubleLock => "double lock of a mutex",
            Self::InvalidMutex => "use of an invalid mutex (e.g. uninitialized or destroyed)",
            Self::BadUnlock => "unlock of an unlocked mutex (or by a wrong thread)",
            Self::BadReadLock => "read lock of a write locked mutex",
            Self::BadReadUnlock => "read unlock of a write locked mutex",
            Self::SignalUnsafe => "signal-unsafe call inside of a signal",
            Self::ErrnoInHandler => "signal handler spoils errno",
            Self::Deadlock => "lock-order-inversion (potential deadlock)",
            Self::Stuck => "deadlock",
            Self::HeldLocks => "mutex held in the wrong context",
        }
    }

    /// The word for it in files of suppressions.
    pub(crate) fn suppression(self) -> &'static str {
        match self {
            Self::Race
            | Self::VptrRace
            | Self::UseAfterFree
            | Self::VptrUseAfterFree
            | Self::ExternalRace => "race",
            Self::ThreadLeak => "thread",
            Self::SignalUnsafe | Self::ErrnoInHandler => "signal",
            Self::Deadlock | Self::Stuck => "deadlock",
            _ => "mutex",
        }
    }
}

/// One access of a race.
pub(crate) struct Access {
    pub(crate) thread: u32,
    pub(crate) kind: AccessKind,
    pub(crate) address: usize,
    pub(crate) size: usize,
    pub(crate) locks: Vec<(u32, Mode)>,
    pub(crate) stack: Vec<Line>,
    pub(crate) places: Vec<usize>,
}

/// The memory that a race is about.
pub(crate) enum Location {
    Global {
        name: String,
        size: usize,
        start: usize,
        module: String,
        offset: usize,
    },
    Heap {
        block: blocks::Block,
        stack: Vec<Line>,
    },
    Stack(u32),
    Tls(u32),
    Descriptor {
        number: i32,
        thread: u32,
        stack: Vec<Line>,
    },
    Unknown,
}

/// A lock that plays a part.
pub(crate) struct MutexInfo {
    pub(crate) id: u32,
    pub(crate) address: usize,
    /// What people would call it.
    pub(crate) name: String,
    pub(crate) stack: Vec<Line>,
}

/// A thread that plays a part.
pub(crate) struct ThreadInfo {
    pub(crate) info: registry::Info,
    pub(crate) stack: Vec<Line>,
}

/// Why a lock is not given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Its holder has ended.
    Ended,
    /// Its holder is a thread of the process that this one is a copy of.
    NotCopied,
    /// A handler of a signal, which waits for it, has interrupted its holder.
    Interrupted,
}

impl Kept {
    /// What has become of the holder: `which has ended`.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Ended => "which has ended",
            Self::NotCopied => "which is not in this copy of the process",
            Self::Interrupted => "which the handler has interrupted",
        }
    }
}

/// Something done before, without which nobody would wait.
pub(crate) struct Cause {
    pub(crate) thread: u32,
    /// The lock that was taken, and why it was not given back; nothing where the process
    /// was copied.
    pub(crate) kept: Option<(u32, Kept)>,
    pub(crate) stack: Vec<Line>,
}

/// An edge of a circle of locks.
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) thread: u32,
    pub(crate) stack: Vec<Line>,
    /// Where the first of the two was taken, if that is to be told.
    pub(crate) holder: Option<Vec<Line>>,
}

/// A thread that cannot go on.
pub(crate) struct Stuck {
    pub(crate) thread: u32,
    /// What it waits for, in words.
    pub(crate) for_what: String,
    /// Whether that is the end of another thread.
    pub(crate) for_end: bool,
    /// The lock it waits for, if it is one.
    pub(crate) lock: Option<u32>,
    /// The name of anything else that it waits for.
    pub(crate) object: Option<String>,
    /// The locks it holds.
    pub(crate) locks: Vec<(u32, Mode)>,
    pub(crate) stack: Vec<Line>,
}

/// Everything that is told about a finding.
pub(crate) struct Report {
    pub(crate) kind: Kind,
    pub(crate) accesses: Vec<Access>,
    pub(crate) location: Option<Location>,
    pub(crate) mutexes: Vec<MutexInfo>,
    pub(crate) threads: Vec<ThreadInfo>,
    /// Stacks without a heading of their own.
    pub(crate) stacks: Vec<Vec<Line>>,
    pub(crate) circle: Vec<Edge>,
    /// Threads that cannot go on.
    pub(crate) stuck: Vec<Stuck>,
    /// What those wait for who cannot go on was brought about by.
    pub(crate) causes: Vec<Cause>,
    pub(crate) reason: Option<Why>,
    /// Who did what is wrong, if it is not about accesses.
    pub(crate) thread: Option<u32>,
    /// How many more there are of a leak.
    pub(crate) count: usize,
    /// The signal whose handler it is about.
    pub(crate) signal: Option<i32>,
    /// It was made to happen: both threads stood at their accesses.
    pub(crate) met: bool,
    /// Where a thread slept before, which looks like synchronisation.
    pub(crate) slept: Option<Vec<Line>>,
}

impl Report {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            accesses: Vec::new(),
            location: None,
            mutexes: Vec::new(),
            threads: Vec::new(),
            stacks: Vec::new(),
            circle: Vec::new(),
            stuck: Vec::new(),
            causes: Vec::new(),
            reason: None,
            thread: None,
            count: 1,
            signal: None,
            met: false,
            slept: None,
        }
    }

    /// The number a lock has within this report.
    pub(crate) fn mutex_number(&self, id: u32) -> usize {
        let number = self.mutexes.iter().position(|m| m.id == id);
        number.unwrap_or(self.mutexes.len())
    }

    /// What a lock is called.
    fn mutex_name(&self, id: u32) -> String {
        let known = self.mutexes.iter().find(|m| m.id == id);
        known.map_or_else(|| format!("M{id}"), |mutex| mutex.name.clone())
    }

    /// What sort of objects of a library it is about; 0 if it is not.
    pub(crate) fn tag(&self) -> usize {
        let tags = self.accesses.iter().map(|a| external::tag(&a.places));
        tags.into_iter().find(|&tag| tag != 0).unwrap_or(0)
    }

    /// What it is called.
    pub(crate) fn title(&self) -> String {
        let own = match self.kind {
            Kind::ExternalRace => external::heading(self.tag()),
            _ => None,
        };
        own.unwrap_or_else(|| self.kind.title().to_owned())
    }

    /// All stacks whose functions a suppression may name.
    fn all_stacks(&self) -> impl Iterator<Item = &Vec<Line>> {
        let accesses = self.accesses.iter().map(|a| &a.stack);
        let threads = self.threads.iter().map(|t| &t.stack);
        let circle = self.circle.iter().map(|e| &e.stack);
        let stuck = self.stuck.iter().map(|s| &s.stack);
        accesses
            .chain(&self.stacks)
            .chain(circle)
            .chain(stuck)
            .chain(threads.filter(|_| self.kind == Kind::ThreadLeak))
    }
}

/// What is needed to report, one thread at a time.
#[derive(Default)]
pub(crate) struct Reporter {
    pub(crate) suppressions: Option<Suppressions>,
    /// Pairs of stacks that were reported.
    told: FxHashSet<(Kind2, Context, Context)>,
}

type Kind2 = u8;

static REPORTER: Mutex<Option<Reporter>> = Mutex::new(None);
static REPORTED: AtomicU32 = AtomicU32::new(0);
static FAILED: AtomicBool = AtomicBool::new(false);

/// How many reports there were.
pub(crate) fn count() -> u32 {
    REPORTED.load(Ordering::Relaxed)
}

/// Whether there was one that is certain enough for the process to fail.
pub(crate) fn has_failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}

/// In the child of a fork the count begins anew.
pub(crate) fn reset_count() {
    REPORTED.store(0, Ordering::Relaxed);
    FAILED.store(false, Ordering::Relaxed);
}

pub(crate) struct Reporting(MutexGuard<'static, Option<Reporter>>);

impl Reporting {
    pub(crate) fn begin() -> Self {
        let mut guard = REPORTER.lock().unwrap_or_else(PoisonError::into_inner);
        guard.get_or_insert_default();
        Self(guard)
    }
}

impl std::ops::Deref for Reporting {
    type Target = Reporter;
    fn deref(&self) -> &Reporter {
        self.0.as_ref().expect("set at the beginning")
    }
}

impl std::ops::DerefMut for Reporting {
    fn deref_mut(&mut self) -> &mut Reporter {
        self.0.as_mut().expect("set at the beginning")
    }
}

/// Set in the place of an access to a table of virtual functions.
pub(crate) const VPTR: usize = 1 << 63;

impl Reporter {
    /// The suppressions, read when they are first asked for.
    pub(crate) fn suppressions(&mut self) -> &Suppressions {
        self.suppressions.get_or_insert_with(Suppressions::load)
    }

    /// The stack of a context, in words, without what lies outside of the
    /// program's own.
    pub(crate) fn stack(&mut self, context: Context) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        for place in context.places() {
            let place = place & !VPTR;
            if place == 0 || external::is_tag(place) || threads::is_beginning(place) {
                continue;
            }
            let mut more = symbols::lines(place);
            let main = more
                .iter()
                .position(|line| line.function.as_deref() == Some("main"));
            more.truncate(main.map_or(more.len(), |main| main + 1));
            lines.extend(more.into_iter().filter(|line| !is_ours(line)));
            // Around it is the C library, which may have tens of megabytes to
            // tell about itself.
            if main.is_some() {
                break;
            }
        }
        lines
    }

    fn access(
        &mut self,
        (stamp, kind): (Stamp, AccessKind),
        address: usize,
        size: usize,
    ) -> Access {
        let record = stamp.record();
        Access {
            thread: stamp.thread(),
            kind,
            address,
            size,
            locks: holds(record.locks),
            stack: self.stack(record.context),
            places: record.context.places().collect(),
        }
    }

    fn location(&mut self, address: usize) -> Location {
        if let Some((number, thread, context)) = crate::interpose::descriptors::describe(address) {
            return Location::Descriptor {
                number,
                thread,
                stack: self.stack(context),
            };
        }
        if let Some(kept) = crate::interpose::hidden::describe(address) {
            return Location::Global {
                name: kept.to_owned(),
                size: size_of::<u64>(),
                start: address,
                module: "the C library".to_owned(),
                offset: 0,
            };
        }
        if let Some(block) = blocks::around(address) {
            let stack = self.stack(block.context);
            return Location::Heap { block, stack };
        }
        if let Some((variable, module)) = symbols::variable(address) {
            let start = variable.start as usize + module.bias;
            return Location::Global {
                name: variable.name,
                size: variable.size as usize,
                start,
                module: module.name(),
                offset: address - module.bias,
            };
        }
        match registry::whose_stack(address) {
            Some((thread, false)) => Location::Stack(thread),
            Some((thread, true)) => Location::Tls(thread),
            None => match symbols::module_name(address) {
                Some((module, offset)) => Location::Global {
                    name: String::new(),
                    size: 0,
                    start: address,
                    module,
                    offset,
                },
                None => Location::Unknown,
            },
        }
    }

    fn add_mutex(&mut self, report: &mut Report, id: u32) {
        if report.mutexes.iter().any(|m| m.id == id) {
            return;
        }
        if let Some(past) = objects::past(id) {
            let stack = self.stack(past.made);
            let location = self.location(past.address);
            let name = lock_name(&location, past.address, &stack);
            // Locks of the same place are told apart.
            let is_same = |other: &&MutexInfo| {
                let numbered = other.name.strip_prefix(&name);
                numbered.is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
            };
            let name = match report.mutexes.iter().filter(is_same).count() {
                0 => name,
                others => format!("{name} ({})", others + 1),
            };
            report.mutexes.push(MutexInfo {
                id,
                address: past.address,
                name,
                stack,
            });
        }
    }

    fn add_thread(&mut self, report: &mut Report, number: u32) {
        if number == 0 || report.threads.iter().any(|t| t.info.number == number) {
            return;
        }
        let Some(info) = registry::info(number) else {
            return;
        };
        let stack = self.stack(info.made);
        report.threads.push(ThreadInfo { info, stack });
    }

    /// Adds who holds a lock for ever that a thread waits for at `waiting`.
    fn add_keeper(&mut self, report: &mut Report, keeper: &Keeper, waiting: Context) {
        let &Keeper {
            thread,
            address,
            why,
        } = keeper;
        let lock = objects::existing(address).map(|object| (object.id, object.mutex.taken));
        let Some((id, taken)) = lock else {
            return;
        };
        // A handler that has taken the lock itself has not interrupted who did.
        let is_inside = why == Kept::Interrupted && outermost(taken) == outermost(waiting);
        let is_known = |cause: &Cause| cause.thread == thread && cause.kept == Some((id, why));
        if is_inside || report.causes.iter().any(is_known) {
            return;
        }
        self.add_thread(report, thread);
        report.causes.push(Cause {
            thread,
            kept: Some((id, why)),
            stack: self.stack(taken),
        });
    }

    /// Adds who made the threads that play a part, and who made those.
    fn add_makers(&mut self, report: &mut Report) {
        let mut next = 0;
        while let Some(thread) = report.threads.get(next) {
            let parent = thread.info.parent;
            if let Some(parent) = parent {
                self.add_thread(report, parent);
            }
            next += 1;
        }
    }

    /// Tells it, unless it is suppressed.
    fn tell(&mut self, mut report: Report) {
        let options = options::get();
        let wanted = options.reports() || report.met || report.kind == Kind::Stuck;
        if !wanted || self.suppressions().apply(&report) {
            return;
        }
        let accesses = std::mem::take(&mut report.accesses);
        for access in &accesses {
            for &(id, _) in &access.locks {
                self.add_mutex(&mut report, id);
            }
            self.add_thread(&mut report, access.thread);
        }
        report.accesses = accesses;
        let owner = match &report.location {
            Some(Location::Heap { block, .. }) => Some(block.thread),
            Some(Location::Stack(thread) | Location::Tls(thread)) => Some(*thread),
            Some(Location::Descriptor { thread, .. }) => Some(*thread),
            _ => None,
        };
        if let Some(owner) = owner {
            self.add_thread(&mut report, owner);
        }
        if let Some(Why::WritesShareOnly(locks)) = report.reason.clone() {
            for lock in locks {
                self.add_mutex(&mut report, lock.0);
            }
        }
        if options.print_full_thread_history {
            self.add_makers(&mut report);
        }
        REPORTED.fetch_add(1, Ordering::Relaxed);
        if options.fail_on.includes(finding::status(&report)) {
            FAILED.store(true, Ordering::Relaxed);
        }
        publish(&report);
        crate::hooks::on_report(&report);
        if options.halt_on_error {
            crate::finish::die();
        }
    }
}

/// Writes the report where it is wanted.
fn publish(report: &Report) {
    let options = options::get();
    let mut unrecorded = None;
    if !options.findings.is_empty() {
        let note = Note::Finding(Box::new(finding::finding(report)));
        unrecorded = journal::append(&options.findings, &note).err();
    }
    if let Some(error) = &unrecorded {
        let path = &options.findings;
        output::write(&format!("racehound: {path}: {error}; lost from there:\n"));
    }
    if options.print_reports || unrecorded.is_some() {
        text::print(report);
    }
}

/// Notes how a scheduled execution went, if notes are wanted.
pub(crate) fn note(scheduled: Scheduled) {
    let path = &options::get().findings;
    if path.is_empty() {
        return;
    }
    if let Err(error) = journal::append(path, &Note::Scheduled { scheduled }) {
        output::write(&format!("racehound: {path}: {error}\n"));
    }
}

/// What people would call a lock: by where it is, else by where it was made.
fn lock_name(location: &Location, address: usize, made: &[Line]) -> String {
    match (location, finding::users(made)) {
        (Location::Stack(_) | Location::Unknown, Some(line)) => {
            format!("lock made at {}", finding::site(line))
        }
        _ => match finding::offset(location, address) {
            None | Some(0) => finding::name(location, address),
            Some(offset) => format!("{}+{offset}", finding::name(location, address)),
        },
    }
}

/// Whether a line is of the runtime itself: from where it calls the program back.
pub(crate) fn is_ours(line: &Line) -> bool {
    let function = line.function.as_deref();
    let is_ours = |name: &str| {
        let name = name.trim_start_matches('<');
        name.starts_with(concat!(env!("CARGO_CRATE_NAME"), "::"))
    };
    function.is_some_and(is_ours)
}

/// What people would call what is at an address, if it is in a variable.
fn variable_name(address: usize) -> Option<String> {
    let (variable, module) = symbols::variable(address)?;
    Some(match address - module.bias - variable.start as usize {
        0 => variable.name,
        offset => format!("{}+{offset}", variable.name),
    })
}

/// The call that all others of a context are in.
fn outermost(context: Context) -> Option<usize> {
    context.places().last()
}

fn holds(set: LocksId) -> Vec<(u32, Mode)> {
    let holds = locks::holds(set);
    holds.iter().map(|h| (h.lock.0, h.mode)).collect()
}

/// A reason with its locks spelt out.
fn why(reason: Reason) -> Why {
    match reason {
        Reason::Unordered => Why::Unordered,
        Reason::NoCommonLock => Why::NoCommonLock,
        Reason::WritesShareOnly(set) => Why::WritesShareOnly(locks::members(set)),
        Reason::NoConsistentLock => Why::NoConsistentLock,
        Reason::NoConsistentLockAndConcurrent => Why::NoConsistentLockAndConcurrent,
    }
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

/// What suppressions have kept quiet, in words.
pub(crate) fn matched_suppressions() -> Option<String> {
    Reporting::begin()
        .suppressions
        .as_ref()
        .and_then(Suppressions::summary)
}
