//! Every event of an execution, in an order that happened: for a trace file, and
//! for detectors that have no shadow words of their own.
//!
//! Each thread collects its events and hands them over in one piece, at the
//! latest before it gives something away that another thread could take: before
//! it unlocks, signals, posts, creates a thread or ends. What one takes is noted
//! after it was taken. So in the common stream a release comes before the
//! acquisitions it led to, and accesses keep their place between. Atomic
//! operations happen with the stream held, because they both give and take.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use racehound_detect::Which;
use racehound_detect::offline::{Incremental, Options, Warning};
use racehound_detect::order::AtomicOp;
use racehound_trace::binary::Writer;
use racehound_trace::{
    Event, Loc, MemoryOrder, Mode, NameId, Op, Site, SiteId, Space, SyncId, Tables, ThreadId,
};
use rustc_hash::FxHashMap;

use crate::context::Context;
use crate::thread::Thread;
use crate::{options, output, registry, report};

/// Events a thread collects at most.
const BATCH: usize = 1024;
/// Accesses of this epoch that a thread remembers having noted.
const FILTER: usize = 1 << 13;

static ACTIVE: AtomicBool = AtomicBool::new(false);
static STREAM: Mutex<Option<Stream>> = Mutex::new(None);

/// What a thread has collected.
#[derive(Default)]
pub(crate) struct Collected {
    events: Vec<Event>,
    filter: Vec<u64>,
    epoch: u64,
}

/// The common stream.
struct Stream {
    writer: Option<Writer<File>>,
    detector: Option<Incremental>,
    tables: Tables,
    /// Contexts to sites of the file.
    sites: FxHashMap<u32, SiteId>,
    places: FxHashMap<usize, SiteId>,
    names: FxHashMap<String, NameId>,
    scratch: Vec<Event>,
    failed: bool,
}

/// Whether events are wanted.
#[inline(always)]
pub(crate) fn is_active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

fn stream() -> MutexGuard<'static, Option<Stream>> {
    STREAM.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the trace file and starts the detector that the options name.
pub(crate) fn init() {
    let options = options::get();
    if options.engine != crate::detector::Engine::General {
        return;
    }
    let which = match options.detector.as_str() {
        "none" => None,
        name => match name.parse::<Which>() {
            Ok(which) => Some(which),
            Err(error) => crate::fatal(&format!("detector: {error}")),
        },
    };
    let writer = (!options.record.is_empty()).then(|| open(&options.record));
    let wanted = Options {
        all_pairs: options.all_pairs,
        ..Options::default()
    };
    *stream() = Some(Stream {
        writer,
        detector: which.map(|which| Incremental::new(which, Space::Addresses, &wanted)),
        tables: Tables::default(),
        sites: FxHashMap::default(),
        places: FxHashMap::default(),
        names: FxHashMap::default(),
        scratch: Vec::new(),
        failed: false,
    });
    ACTIVE.store(true, Ordering::Relaxed);
}

fn open(path: &str) -> Writer<File> {
    let opened = File::create(path).map_err(|error| error.to_string());
    let writer = opened
        .and_then(|file| Writer::new(file, Space::Addresses).map_err(|error| error.to_string()));
    match writer {
        Ok(writer) => writer,
        Err(error) => crate::fatal(&format!("{path}: {error}; the trace cannot be written")),
    }
}

impl Stream {
    fn take(&mut self, events: &[Event]) -> Vec<Warning> {
        if self.writer.is_some() {
            self.write(events);
        }
        match &mut self.detector {
            Some(detector) => detector.feed(events).to_vec(),
            None => Vec::new(),
        }
    }

    fn write(&mut self, events: &[Event]) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        for event in events {
            let site = self.site(Context(event.site.0));
            self.know(event);
            scratch.push(Event { site, ..*event });
        }
        let Some(writer) = &mut self.writer else {
            return;
        };
        if let Err(error) = writer.write(&self.tables, &scratch)
            && !self.failed
        {
            self.failed = true;
            output::write(&format!(
                "racehound: {}: {error}; the trace ends here\n",
                options::get().record
            ));
        }
        if self.failed {
            self.writer = None;
        }
        self.scratch = scratch;
    }

    /// Makes sure that the tables have all that an event refers to.
    fn know(&mut self, event: &Event) {
        self.know_thread(event.thread);
        match event.op {
            Op::Acquire { lock, .. } | Op::Release { lock, .. } => self.know_sync(lock),
            Op::Wait { cond, .. }
            | Op::Wake { cond, .. }
            | Op::NotifyOne { cond, .. }
            | Op::NotifyAll { cond } => self.know_sync(cond),
            Op::BarrierArrive { barrier } | Op::BarrierLeave { barrier } => self.know_sync(barrier),
            Op::SemPost { sem } | Op::SemWait { sem } => self.know_sync(sem),
            Op::Fork { child } | Op::Join { child } => self.know_thread(child),
            _ => {}
        }
    }

    fn know_thread(&mut self, thread: ThreadId) {
        while self.tables.threads.len() <= thread.index() {
            let number = self.tables.threads.len() as u32;
            let info = registry::info(number);
            let ordinal = info.as_ref().map_or(0, |info| info.ordinal);
            self.tables.add_thread(racehound_trace::Thread {
                parent: info.and_then(|info| info.parent).map(ThreadId),
                ordinal,
                name: None,
            });
        }
    }

    fn know_sync(&mut self, sync: SyncId) {
        while self.tables.syncs.len() <= sync.index() {
            let number = self.tables.syncs.len() as u32;
            self.tables.add_sync(&format!("M{number}"));
        }
    }

    fn name(&mut self, name: &str) -> NameId {
        if let Some(&id) = self.names.get(name) {
            return id;
        }
        let id = self.tables.names.add(name);
        self.names.insert(name.to_owned(), id);
        id
    }

    /// The site of a context's innermost place.
    fn site(&mut self, context: Context) -> SiteId {
        if let Some(&site) = self.sites.get(&context.0) {
            return site;
        }
        let mut places = context.places();
        // A function of the C library is where the program calls it.
        let mut place = places.next().unwrap_or(0) & !report::VPTR;
        if crate::real::name_at(place).is_some() {
            place = places.next().unwrap_or(place);
        }
        let site = match self.places.get(&place) {
            Some(&site) => site,
            None => {
                let site = self.new_site(place);
                self.places.insert(place, site);
                site
            }
        };
        self.sites.insert(context.0, site);
        site
    }

    fn new_site(&mut self, place: usize) -> SiteId {
        let lines = match place {
            0 => Vec::new(),
            place => report::Reporting::begin().symbols.lines(place),
        };
        let Some(line) = lines.into_iter().next() else {
            return self.tables.add_site(Site::default());
        };
        let file = line.file.as_deref().map(|file| self.name(file));
        let module = match line.build_id.as_str() {
            "" => line.module.as_deref().map(|module| self.name(module)),
            id => Some(self.name(id)),
        };
        let function = line
            .function
            .as_deref()
            .map(|name| self.tables.add_function(name));
        self.tables.add_site(Site {
            file,
            line: line.line,
            column: line.column,
            function,
            module,
            offset: line.offset as u64,
            text: None,
        })
    }
}

/// Hands a thread's events over, and reports what they led to.
fn hand_over(thread: &mut Thread, more: &[Event]) {
    let mut guard = stream();
    let Some(stream) = guard.as_mut() else {
        return;
    };
    let mut warnings = Vec::new();
    if !thread.collected.events.is_empty() {
        warnings = stream.take(&thread.collected.events);
        thread.collected.events.clear();
    }
    if !more.is_empty() {
        warnings.extend(stream.take(more));
    }
    drop(guard);
    for warning in &warnings {
        report::warning(thread, warning);
    }
}

fn event(thread: &Thread, context: Context, op: Op) -> Event {
    Event {
        thread: ThreadId(thread.number),
        site: SiteId(context.0),
        op,
    }
}

/// Collects an event.
#[inline]
fn note(thread: &mut Thread, context: Context, op: Op) {
    let event = event(thread, context, op);
    thread.collected.events.push(event);
    if thread.collected.events.len() >= BATCH {
        hand_over(thread, &[]);
    }
}

/// Notes an event that takes something.
fn takes(thread: &mut Thread, place: usize, op: Op) {
    if is_active() {
        let context = thread.context(place);
        note(thread, context, op);
    }
}

/// Notes an event that gives something away: everything up to it is handed over.
fn gives(thread: &mut Thread, place: usize, op: Op) {
    if is_active() {
        let context = thread.context(place);
        let event = event(thread, context, op);
        thread.collected.epoch += 1;
        hand_over(thread, &[event]);
    }
}

/// Notes an access, unless the same was noted in this epoch.
pub(crate) fn access(
    thread: &mut Thread,
    context: Context,
    address: usize,
    size: usize,
    write: bool,
) {
    if thread.collected.filter.is_empty() {
        thread.collected.filter = vec![0; FILTER];
    }
    let mark =
        (address as u64 ^ u64::from(context.0) << 40 ^ size as u64 ^ thread.collected.epoch << 20)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            | u64::from(write) << 1
            | 1;
    let slot = (mark >> 40) as usize % FILTER;
    if thread.collected.filter[slot] == mark {
        return;
    }
    thread.collected.filter[slot] = mark;
    let (loc, size) = (Loc(address as u64), size.min(u32::MAX as usize) as u32);
    let op = match write {
        true => Op::Write { loc, size },
        false => Op::Read { loc, size },
    };
    note(thread, context, op);
}

/// Carries an atomic operation out, with the stream held.
pub(crate) fn atomically<T>(
    thread: &mut Thread,
    place: usize,
    (address, size): (usize, usize),
    operation: impl FnOnce() -> (T, AtomicOp, MemoryOrder),
) -> T {
    let context = thread.context(place);
    let mut guard = stream();
    let (value, op, order) = operation();
    let Some(stream) = guard.as_mut() else {
        return value;
    };
    let (loc, size) = (Loc(address as u64), size as u32);
    let op = match op {
        AtomicOp::Load => Op::AtomicLoad { loc, size, order },
        AtomicOp::Store => Op::AtomicStore { loc, size, order },
        AtomicOp::Rmw => Op::AtomicRmw { loc, size, order },
    };
    let event = event(thread, context, op);
    thread.collected.events.push(event);
    thread.collected.epoch += 1;
    let warnings = stream.take(&thread.collected.events);
    thread.collected.events.clear();
    drop(guard);
    for warning in &warnings {
        report::warning(thread, warning);
    }
    value
}

pub(crate) fn fork(thread: &mut Thread, child: u32) {
    gives(
        thread,
        0,
        Op::Fork {
            child: ThreadId(child),
        },
    );
}

/// The thread ends.
pub(crate) fn end(thread: &mut Thread) {
    if is_active() {
        hand_over(thread, &[]);
    }
}

pub(crate) fn join(thread: &mut Thread, child: u32) {
    takes(
        thread,
        0,
        Op::Join {
            child: ThreadId(child),
        },
    );
}

pub(crate) fn acquire(thread: &mut Thread, lock: SyncId, mode: Mode, place: usize) {
    takes(thread, place, Op::Acquire { lock, mode });
}

pub(crate) fn release(thread: &mut Thread, lock: SyncId, mode: Mode, place: usize) {
    gives(thread, place, Op::Release { lock, mode });
}

pub(crate) fn wait(thread: &mut Thread, cond: SyncId, place: usize) {
    gives(thread, place, Op::Wait { cond, lock: None });
}

pub(crate) fn wake(thread: &mut Thread, cond: SyncId, notified: bool, place: usize) {
    takes(
        thread,
        place,
        Op::Wake {
            cond,
            lock: None,
            notified,
        },
    );
}

pub(crate) fn notify(thread: &mut Thread, cond: SyncId, everybody: bool, place: usize) {
    let op = match everybody {
        true => Op::NotifyAll { cond },
        false => Op::NotifyOne { cond, woken: None },
    };
    gives(thread, place, op);
}

pub(crate) fn post(thread: &mut Thread, sem: SyncId, place: usize) {
    gives(thread, place, Op::SemPost { sem });
}

pub(crate) fn take(thread: &mut Thread, sem: SyncId, place: usize) {
    takes(thread, place, Op::SemWait { sem });
}

pub(crate) fn arrive(thread: &mut Thread, barrier: SyncId, place: usize) {
    gives(thread, place, Op::BarrierArrive { barrier });
}

pub(crate) fn depart(thread: &mut Thread, barrier: SyncId, place: usize) {
    takes(thread, place, Op::BarrierLeave { barrier });
}

pub(crate) fn fence(thread: &mut Thread, order: MemoryOrder, place: usize) {
    gives(thread, place, Op::Fence { order });
}

/// A block was allocated; `written` if that counts as a write to it.
pub(crate) fn alloc(thread: &mut Thread, address: usize, size: usize, written: bool, place: usize) {
    if !is_active() || size == 0 {
        return;
    }
    let context = thread.context(place);
    let (loc, size) = (Loc(address as u64), size.min(u32::MAX as usize) as u32);
    note(thread, context, Op::Alloc { loc, size });
    if written {
        note(thread, context, Op::Write { loc, size });
    }
}

/// A block is about to be freed: somebody else may get it then.
pub(crate) fn free(thread: &mut Thread, address: usize, size: usize, place: usize) {
    if is_active() && size != 0 {
        let (loc, size) = (Loc(address as u64), size.min(u32::MAX as usize) as u32);
        gives(thread, place, Op::Free { loc, size });
    }
}

/// The process ends: what is collected goes into the file, which is closed.
pub(crate) fn finish() {
    if !is_active() {
        return;
    }
    if let Some(thread) = crate::thread::current() {
        hand_over(thread, &[]);
    }
    ACTIVE.store(false, Ordering::Relaxed);
    let mut guard = stream();
    if let Some(stream) = guard.as_mut()
        && let Some(writer) = stream.writer.take()
        && let Err(error) = writer.finish()
    {
        output::write(&format!("racehound: {}: {error}\n", options::get().record));
    }
}

/// Before a fork the file is complete up to here.
pub(crate) fn before_fork(thread: &mut Thread) {
    if is_active() {
        hand_over(thread, &[]);
        if let Some(stream) = stream().as_mut()
            && let Some(writer) = &mut stream.writer
        {
            _ = writer.flush();
        }
    }
}

/// The child of a fork leaves the parent's file alone.
pub(crate) fn in_child() {
    if let Some(stream) = stream().as_mut() {
        stream.writer = None;
    }
}
