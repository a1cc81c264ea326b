//! A report as a finding of the contract that `--json` writes.

use racehound_detect::{AccessKind, Which};
use racehound_report::finding as contract;
use racehound_report::finding::{Finding, Status, is_librarys};
use racehound_trace::Mode;

use super::{Access, Cause, Edge, Kept, Kind, Line, Location, Report, Stuck, ThreadInfo};
use crate::{options, real, registry};

/// What finds circles in the order of locks.
const LOCK_ORDER: &str = "lock-order";
/// What makes races happen.
const RACEFUZZER: &str = "racefuzzer";
/// What finds all that a detector has no part in.
const RUNTIME: &str = "runtime";

/// How certain a report is.
pub(crate) fn status(report: &Report) -> Status {
    if report.met {
        return Status::Observed;
    }
    let precise = match report.kind.family() {
        // Locks were taken in a circle, but nobody got stuck.
        contract::Kind::Deadlock => report.kind == Kind::Stuck,
        contract::Kind::Race => {
            let detector = options::get().detector.parse();
            detector.is_ok_and(Which::is_precise)
        }
        _ => true,
    };
    match precise {
        true => Status::Observed,
        false => Status::Predicted,
    }
}

/// The report, without a number; that is given by who has all of them.
pub(crate) fn finding(report: &Report) -> Finding {
    let found_by = match report.kind.family() {
        _ if report.met => RACEFUZZER,
        contract::Kind::Race => options::get().detector.as_str(),
        contract::Kind::Deadlock if report.kind == Kind::Deadlock => LOCK_ORDER,
        _ => RUNTIME,
    };
    let is_gone = matches!(report.kind, Kind::UseAfterFree | Kind::VptrUseAfterFree);
    let reasons = report.reason.iter().map(|why| contract::Explanation {
        by: found_by.to_owned(),
        because: match is_gone {
            true => "the block had been freed by then".to_owned(),
            false => why.in_words(|lock| report.mutex_name(lock.0)),
        },
    });
    Finding {
        id: String::new(),
        kind: report.kind.family(),
        detail: report.kind.detail().map(str::to_owned),
        status: status(report),
        harm: (report.kind == Kind::Stuck).then(|| contract::Harm {
            kind: "deadlock".to_owned(),
            detail: match report.stuck.len() {
                1 => "a thread waits for ever".to_owned(),
                many => format!("{many} threads wait for ever"),
            },
            run: 1,
            ..contract::Harm::default()
        }),
        location: location(report),
        locations: 1,
        accesses: accesses(report),
        threads: report.threads.iter().map(thread).collect(),
        found_by: vec![found_by.to_owned()],
        reasons: reasons.collect(),
        first_run: 1,
        ..Finding::default()
    }
}

impl Kind {
    /// The contract's word for it.
    fn family(self) -> contract::Kind {
        match self {
            Self::Race
            | Self::VptrRace
            | Self::UseAfterFree
            | Self::VptrUseAfterFree
            | Self::ExternalRace => contract::Kind::Race,
            Self::Deadlock | Self::Stuck => contract::Kind::Deadlock,
            Self::ThreadLeak => contract::Kind::ThreadLeak,
            Self::SignalUnsafe | Self::ErrnoInHandler => contract::Kind::SignalUnsafe,
            Self::DestroyLocked
            | Self::DoubleLock
            | Self::InvalidMutex
            | Self::BadUnlock
            | Self::BadReadLock
            | Self::BadReadUnlock
            | Self::HeldLocks => contract::Kind::MutexMisuse,
        }
    }

    /// What tells it from others of the family.
    fn detail(self) -> Option<&'static str> {
        match self {
            Self::Race | Self::ThreadLeak | Self::SignalUnsafe | Self::Stuck => None,
            Self::VptrRace => Some("vptr"),
            Self::UseAfterFree => Some("use-after-free"),
            Self::VptrUseAfterFree => Some("vptr-use-after-free"),
            Self::ExternalRace => Some("external"),
            Self::Deadlock => Some("lock-order-inversion"),
            Self::ErrnoInHandler => Some("errno"),
            Self::DestroyLocked => Some("destroy-locked"),
            Self::DoubleLock => Some("double-lock"),
            Self::InvalidMutex => Some("invalid-mutex"),
            Self::BadUnlock => Some("unlock-unlocked"),
            Self::BadReadLock => Some("read-lock-of-write-locked"),
            Self::BadReadUnlock => Some("read-unlock-of-write-locked"),
            Self::HeldLocks => Some("held"),
        }
    }

    /// What the thread did that is wrong.
    fn operation(self) -> &'static str {
        match self {
            Self::DestroyLocked => "destroy",
            Self::DoubleLock | Self::BadReadLock => "lock",
            Self::BadUnlock | Self::BadReadUnlock => "unlock",
            Self::SignalUnsafe | Self::ErrnoInHandler => "call",
            _ => "use",
        }
    }
}

/// A thread's path in the creation tree.
pub(super) fn path(thread: u32) -> String {
    registry::info(thread).map_or_else(|| "?".to_owned(), |info| info.path)
}

fn thread(thread: &ThreadInfo) -> contract::Thread {
    let name = Some(thread.info.name.clone());
    contract::Thread {
        thread: thread.info.path.clone(),
        name: name.filter(|name| !name.is_empty()),
        stack: frames(&thread.stack),
    }
}

/// What the threads did, in the order of the execution.
fn accesses(report: &Report) -> Vec<contract::Access> {
    let accesses = report.accesses.iter().rev();
    let accesses = accesses.map(|access| of_memory(report, access));
    let circle = report.circle.iter().map(|edge| of_lock(report, edge));
    // Who only waits for another thread's end has not brought it about.
    let (ends, others): (Vec<&Stuck>, Vec<&Stuck>) =
        report.stuck.iter().partition(|stuck| stuck.for_end);
    let stuck = others.into_iter().chain(ends);
    let stuck = stuck.map(|stuck| contract::Access {
        locks: names(report, &stuck.locks),
        shared_locks: names(report, &shared(&stuck.locks)),
        awaits: Some(awaits(report, stuck)),
        ..done("wait", Some(path(stuck.thread)), &stuck.stack)
    });
    let causes = report.causes.iter().map(|cause| cause_of(report, cause));
    let steps = report.stacks.iter().enumerate().map(|(i, stack)| match i {
        0 => done(report.kind.operation(), report.thread.map(path), stack),
        // Where what it collides with was done.
        _ => done("lock", None, stack),
    });
    let leaks = report
        .threads
        .iter()
        .filter(|_| report.kind == Kind::ThreadLeak);
    let leaks = leaks.map(|t| done("create", t.info.parent.map(path), &t.stack));
    accesses
        .chain(circle)
        .chain(stuck)
        .chain(causes)
        .chain(steps)
        .chain(leaks)
        .collect()
}

/// What has brought it about that others wait.
fn cause_of(report: &Report, cause: &Cause) -> contract::Access {
    let op = match cause.kept {
        Some((_, Kept::Ended)) => contract::ENDED,
        Some((_, Kept::NotCopied)) => contract::NOT_COPIED,
        Some((_, Kept::Interrupted)) => contract::INTERRUPTED,
        None => contract::FORK,
    };
    let lock = cause.kept.map(|(lock, _)| report.mutex_name(lock));
    contract::Access {
        locks: lock.into_iter().collect(),
        ..done(op, Some(path(cause.thread)), &cause.stack)
    }
}

fn of_memory(report: &Report, access: &Access) -> contract::Access {
    let op = match access.kind.is_write() {
        true => "write",
        false => "read",
    };
    contract::Access {
        size: access.size as u32,
        locks: names(report, &access.locks),
        shared_locks: names(report, &shared(&access.locks)),
        atomic: matches!(
            access.kind,
            AccessKind::AtomicRead | AccessKind::AtomicWrite
        ),
        ..at(
            own(&access.stack),
            op,
            Some(path(access.thread)),
            &access.stack,
        )
    }
}

fn names(report: &Report, locks: &[(u32, Mode)]) -> Vec<String> {
    let names = locks.iter().map(|&(id, _)| report.mutex_name(id));
    names.collect()
}

/// The locks that are held for reading.
fn shared(locks: &[(u32, Mode)]) -> Vec<(u32, Mode)> {
    let shared = locks.iter().filter(|(_, mode)| *mode == Mode::Shared);
    shared.copied().collect()
}

/// What a thread waits for: `accounts, which thread 0.2 holds`.
fn awaits(report: &Report, stuck: &Stuck) -> String {
    let what = stuck.for_what.trim_end_matches(':');
    let name = match (stuck.lock, &stuck.object) {
        (Some(lock), _) => Some(report.mutex_name(lock)),
        (None, object) => object.clone(),
    };
    let (what, why) = match what.split_once(" that ") {
        Some((what, why)) => (what, Some(why)),
        None => (what, None),
    };
    let what = match name {
        Some(name) => name,
        None => with_paths(what),
    };
    match why {
        Some(why) => format!("{what}, which {}", with_paths(why)),
        None => what,
    }
}

/// A text in which threads have their paths in place of their numbers: `T2 holds`.
fn with_paths(text: &str) -> String {
    let thread = |word: &str| -> Option<String> {
        let number = word.strip_prefix('T')?;
        let digits = number.trim_end_matches(|c: char| !c.is_ascii_digit());
        let rest = &number[digits.len()..];
        Some(format!("thread {}{rest}", path(digits.parse().ok()?)))
    };
    let words = text.split(' ');
    let words = words.map(|word| thread(word).unwrap_or_else(|| word.to_owned()));
    words.collect::<Vec<String>>().join(" ")
}

fn of_lock(report: &Report, edge: &Edge) -> contract::Access {
    contract::Access {
        locks: vec![report.mutex_name(edge.from)],
        ..done("lock", Some(path(edge.thread)), &edge.stack)
    }
}

/// Something that a thread did, where its own code has it done.
fn done(op: &str, thread: Option<String>, stack: &[Line]) -> contract::Access {
    at(users(stack), op, thread, stack)
}

fn at(at: Option<&Line>, op: &str, thread: Option<String>, stack: &[Line]) -> contract::Access {
    contract::Access {
        op: op.to_owned(),
        size: 0,
        thread: thread.unwrap_or_else(|| "?".to_owned()),
        file: at.and_then(file),
        line: at.and_then(|line| known(line.line)),
        column: at.and_then(|line| known(line.column)),
        function: at.and_then(|line| line.function.clone()),
        site: at.map_or_else(|| "?".to_owned(), site),
        stack: frames(stack),
        ..contract::Access::default()
    }
}

/// The innermost line that is the program's own: what a function of the C
/// library does is done where it is called.
pub(super) fn own(stack: &[Line]) -> Option<&Line> {
    let ours = |line: &&Line| line.place == 0 || real::name_at(line.place).is_none();
    stack.iter().find(ours).or_else(|| stack.first())
}

/// The innermost line that is neither the C library's nor in a header of a library: who
/// asks a container to grow wants to know which.
pub(super) fn users(stack: &[Line]) -> Option<&Line> {
    let is_users = |line: &&Line| line.file.as_deref().is_some_and(|file| !is_librarys(file));
    stack.iter().find(is_users).or_else(|| own(stack))
}

fn known(number: u32) -> Option<u32> {
    (number > 0).then_some(number)
}

fn file(line: &Line) -> Option<String> {
    line.shown_file().map(str::to_owned)
}

/// A line's place in the sources, or in the module where those are not known.
pub(super) fn site(line: &Line) -> String {
    match (line.shown_file(), line.line, line.column) {
        (Some(file), 0, _) => file.to_owned(),
        (Some(file), line, 0) => format!("{file}:{line}"),
        (Some(file), line, column) => format!("{file}:{line}:{column}"),
        (None, ..) => in_module(line),
    }
}

fn in_module(line: &Line) -> String {
    match &line.module {
        Some(module) => format!("{module}+{:#x}", line.offset),
        None => format!("{:#x}", line.offset),
    }
}

fn frames(stack: &[Line]) -> Vec<contract::Frame> {
    let frame = |line: &Line| contract::Frame {
        function: line.function.clone().unwrap_or_else(|| in_module(line)),
        file: file(line),
        line: known(line.line),
        column: known(line.column),
        module: line.module.clone(),
        offset: line.module.as_ref().map(|_| line.offset as u64),
    };
    stack.iter().map(frame).collect()
}

/// What a place in memory is called.
pub(super) fn name(location: &Location, address: usize) -> String {
    match location {
        Location::Global {
            name,
            module,
            offset,
            ..
        } if name.is_empty() => {
            format!("{module}+{offset:#x}")
        }
        Location::Global { name, .. } => name.clone(),
        Location::Heap { block, stack } => match users(stack) {
            Some(line) => format!("{}{}", contract::BLOCK, site(line)),
            None => format!("block of {} bytes", block.size),
        },
        Location::Stack(thread) => format!("stack of thread {}", path(*thread)),
        Location::Tls(thread) => format!("thread-local storage of thread {}", path(*thread)),
        Location::Descriptor { number, .. } => format!("file descriptor {number}"),
        Location::Unknown => format!("{address:#x}"),
    }
}

/// How far into it an address is.
pub(super) fn offset(location: &Location, address: usize) -> Option<usize> {
    let start = match location {
        Location::Global { start, .. } => *start,
        Location::Heap { block, .. } => block.start,
        _ => return None,
    };
    address.checked_sub(start)
}

fn location(report: &Report) -> contract::Location {
    match (report.kind.family(), &report.location) {
        (contract::Kind::Race, Some(location)) => memory(report, location),
        (contract::Kind::ThreadLeak, _) => about(
            "thread",
            report.threads.iter().map(|thread| &thread.info.path),
        ),
        (contract::Kind::SignalUnsafe, _) => {
            let stack = report.stacks.first();
            let function = stack.and_then(|stack| stack.first()?.function.as_ref());
            about("function", function.into_iter())
        }
        (contract::Kind::Deadlock, _) if report.mutexes.is_empty() && !report.stuck.is_empty() => {
            let mut objects: Vec<&String> = report.stuck.iter().flat_map(|s| &s.object).collect();
            objects.sort_unstable();
            objects.dedup();
            match objects.is_empty() {
                true => {
                    let threads = report.stuck.iter().map(|stuck| stuck.thread);
                    let threads: Vec<String> = threads.map(path).collect();
                    about("thread", [format!("thread {}", threads.join(", "))].iter())
                }
                false => about("object", objects.into_iter()),
            }
        }
        _ => about("lock", report.mutexes.iter().map(|mutex| &mutex.name)),
    }
}

/// What it is about where that is not memory.
fn about<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> contract::Location {
    let names: Vec<&str> = names.map(String::as_str).collect();
    contract::Location {
        what: what.to_owned(),
        name: match &names[..] {
            [] => "?".to_owned(),
            names => names.join(", "),
        },
        ..contract::Location::default()
    }
}

fn memory(report: &Report, location: &Location) -> contract::Location {
    // Where both are.
    let address = report.accesses.iter().map(|access| access.address).max();
    let address = address.unwrap_or(0);
    let (what, size, thread, stack) = match location {
        Location::Global { size, .. } => ("global", *size, None, None),
        Location::Heap { block, stack } => ("heap", block.size, Some(block.thread), Some(stack)),
        Location::Stack(thread) => ("stack", 0, Some(*thread), None),
        Location::Tls(thread) => ("tls", 0, Some(*thread), None),
        Location::Descriptor { thread, stack, .. } => ("descriptor", 0, Some(*thread), Some(stack)),
        Location::Unknown => ("address", 0, None, None),
    };
    contract::Location {
        what: what.to_owned(),
        name: name(location, address),
        size: u32::try_from(size).unwrap_or(u32::MAX),
        offset: offset(location, address).map(|offset| offset as u64),
        thread: thread.map(path),
        stack: stack.map(|stack| frames(stack)).unwrap_or_default(),
    }
}
