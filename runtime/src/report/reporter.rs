//! Who reports: one thread at a time. Collects what is known from the tables while it is
//! fresh, asks the suppressions, and publishes.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use racehound_detect::offline::Why;
use racehound_detect::{AccessKind, Reason};
use racehound_report::journal::{Note, Scheduled};
use racehound_trace::Mode;
use rustc_hash::FxHashSet;

use super::occasions::Keeper;
use super::{
    Access, Cause, Kept, Kind, Line, Location, MutexInfo, Report, Suppressions, ThreadInfo,
    finding, journal, symbols, text,
};
use crate::abi::external;
use crate::context::Context;
use crate::interpose::threads;
use crate::locks::{self, LocksId};
use crate::stamp::Stamp;
use crate::{blocks, objects, options, output, registry};

/// What is needed to report, one thread at a time.
#[derive(Default)]
pub(crate) struct Reporter {
    pub(crate) suppressions: Option<Suppressions>,
    /// Pairs of stacks that were reported.
    pub(super) told: FxHashSet<(Kind2, Context, Context)>,
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

    pub(super) fn access(
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

    pub(super) fn location(&mut self, address: usize) -> Location {
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

    pub(super) fn add_mutex(&mut self, report: &mut Report, id: u32) {
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

    pub(super) fn add_thread(&mut self, report: &mut Report, number: u32) {
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
    pub(super) fn add_keeper(&mut self, report: &mut Report, keeper: &Keeper, waiting: Context) {
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
    pub(super) fn tell(&mut self, mut report: Report) {
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
pub(super) fn variable_name(address: usize) -> Option<String> {
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

pub(super) fn holds(set: LocksId) -> Vec<(u32, Mode)> {
    let holds = locks::holds(set);
    holds.iter().map(|h| (h.lock.0, h.mode)).collect()
}

/// A reason with its locks spelt out.
pub(super) fn why(reason: Reason) -> Why {
    match reason {
        Reason::Unordered => Why::Unordered,
        Reason::NoCommonLock => Why::NoCommonLock,
        Reason::WritesShareOnly(set) => Why::WritesShareOnly(locks::members(set)),
        Reason::NoConsistentLock => Why::NoConsistentLock,
        Reason::NoConsistentLockAndConcurrent => Why::NoConsistentLockAndConcurrent,
    }
}

/// What suppressions have kept quiet, in words.
pub(crate) fn matched_suppressions() -> Option<String> {
    Reporting::begin()
        .suppressions
        .as_ref()
        .and_then(Suppressions::summary)
}
