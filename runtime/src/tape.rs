//! The trace that is being recorded: a file, and what each thread will add to it.
//!
//! A thread encodes its events by itself and adds them to the file in pieces, at
//! the latest before it gives something away that another thread could take:
//! before it unlocks, signals, posts, creates a thread or ends. What it takes it
//! tells after it was taken. So in the file a release comes before the
//! acquisitions it led to, and accesses keep their place between. Atomic
//! operations both give and take: they are added while their location is held.
//!
//! A process that is killed leaves a file without its last block and without what
//! threads had not added yet. On a file that cannot be written further, the trace
//! ends, which is said once; the program goes on.
//!
//! Who holds the tape waits for no lock under which others wait for the tape.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use racehound_trace::binary::{Strand, Writer};
use racehound_trace::{Loc, NameId, Op, Site, SiteId, Space, SyncId, Tables, ThreadId};
use rustc_hash::FxHashMap;

use crate::context::Context;
use crate::interpose::Errno;
use crate::{options, output, registry, report};

static RECORDING: AtomicBool = AtomicBool::new(false);
static TAPE: Mutex<Option<Tape>> = Mutex::new(None);

/// A thread adds its events when they are so many, or so many bytes.
const MOST_EVENTS: usize = 1 << 15;
const MOST_BYTES: usize = 16 << 10;

/// Whether a trace is being recorded.
#[inline(always)]
pub(crate) fn is_recording() -> bool {
    RECORDING.load(Ordering::Relaxed)
}

/// Begins to record, if the options say so.
pub(crate) fn init() {
    let path = &options::get().record;
    if path.is_empty() {
        return;
    }
    let writer = File::create(path)
        .map_err(|error| error.to_string())
        .and_then(|file| Writer::new(file, Space::Addresses).map_err(|error| error.to_string()));
    match writer {
        Ok(writer) => *tape() = Some(Tape::new(writer)),
        Err(error) => crate::fatal(&format!("{path}: {error}; the trace cannot be written")),
    }
    RECORDING.store(true, Ordering::Relaxed);
}

fn tape() -> MutexGuard<'static, Option<Tape>> {
    TAPE.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Tape {
    writer: Writer<File>,
    tables: Tables,
    sites: FxHashMap<Spot, SiteId>,
    names: FxHashMap<String, NameId>,
}

/// Where in the program something is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Spot {
    /// The place of an access that the compiler has announced.
    Place(usize),
    Context(Context),
}

impl Tape {
    fn new(writer: Writer<File>) -> Self {
        Self {
            writer,
            tables: Tables::default(),
            sites: FxHashMap::default(),
            names: FxHashMap::default(),
        }
    }

    fn know_threads(&mut self, up_to: u32) {
        while self.tables.threads.len() <= up_to as usize {
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

    fn know_syncs(&mut self, count: usize) {
        while self.tables.syncs.len() < count {
            let number = self.tables.syncs.len();
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

    fn site(&mut self, spot: Spot) -> SiteId {
        if let Some(&site) = self.sites.get(&spot) {
            return site;
        }
        let site = match spot {
            Spot::Place(place) => self.new_site(place),
            Spot::Context(context) => {
                let mut places = context.places();
                // A function of the C library is where the program calls it.
                let mut place = places.next().unwrap_or(0) & !report::VPTR;
                if crate::real::name_at(place).is_some() {
                    place = places.next().unwrap_or(place);
                }
                self.site(Spot::Place(place))
            }
        };
        self.sites.insert(spot, site);
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

/// A thread's side of the recording.
#[derive(Default)]
pub(crate) struct Recorder(Option<Box<Pending>>);

/// What a thread has to add to the tape.
struct Pending {
    strand: Strand,
    /// Sites of places where it was lately.
    known: [Option<(Spot, SiteId)>; Self::KNOWN],
    /// The highest thread that the events are about, and how many synchronisation
    /// objects there must be.
    thread: u32,
    syncs: usize,
}

impl Pending {
    const KNOWN: usize = 512;

    #[inline(always)]
    fn site(&mut self, spot: Spot) -> SiteId {
        let number = match spot {
            Spot::Place(place) => place,
            Spot::Context(context) => context.0 as usize,
        };
        let slot = (number ^ number >> 9) % Self::KNOWN;
        match self.known[slot] {
            Some((known, site)) if known == spot => site,
            _ => self.find_site(spot, slot),
        }
    }

    #[cold]
    fn find_site(&mut self, spot: Spot, slot: usize) -> SiteId {
        let site = tape().as_mut().map_or(SiteId(0), |tape| tape.site(spot));
        self.known[slot] = Some((spot, site));
        site
    }

    /// The tables must have what the operation refers to.
    fn need(&mut self, op: &Op) {
        match *op {
            Op::Acquire { lock: sync, .. }
            | Op::Release { lock: sync, .. }
            | Op::Wait { cond: sync, .. }
            | Op::Wake { cond: sync, .. }
            | Op::NotifyOne { cond: sync, .. }
            | Op::NotifyAll { cond: sync }
            | Op::BarrierArrive { barrier: sync }
            | Op::BarrierLeave { barrier: sync }
            | Op::SemPost { sem: sync }
            | Op::SemWait { sem: sync } => self.need_sync(sync),
            Op::Fork { child } | Op::Join { child } => self.thread = self.thread.max(child.0),
            _ => {}
        }
    }

    fn need_sync(&mut self, sync: SyncId) {
        self.syncs = self.syncs.max(sync.index() + 1);
    }
}

impl Recorder {
    fn pending(&mut self, thread: u32) -> &mut Pending {
        self.0.get_or_insert_with(|| {
            Box::new(Pending {
                strand: Strand::new(ThreadId(thread)),
                known: [None; Pending::KNOWN],
                thread,
                syncs: 0,
            })
        })
    }

    /// Tells of accesses that the compiler has announced.
    pub(crate) fn accesses(
        &mut self,
        thread: u32,
        accesses: impl Iterator<Item = (usize, Loc, u32, bool)>,
    ) {
        let pending = self.pending(thread);
        for (place, loc, size, write) in accesses {
            let site = pending.site(Spot::Place(place));
            pending.strand.access(site, loc, size, write);
        }
        if pending.strand.count() >= MOST_EVENTS || pending.strand.size() >= MOST_BYTES {
            self.add();
        }
    }

    /// Tells of anything else.
    pub(crate) fn event(&mut self, thread: u32, context: Context, op: &Op) {
        let pending = self.pending(thread);
        let site = pending.site(Spot::Context(context));
        pending.need(op);
        pending.strand.put(site, op);
    }

    /// Adds everything so far to the tape.
    pub(crate) fn add(&mut self) {
        let Some(pending) = &mut self.0 else {
            return;
        };
        let _errno = Errno::keep();
        let mut guard = tape();
        let Some(tape) = guard.as_mut() else {
            return;
        };
        tape.know_threads(pending.thread);
        tape.know_syncs(pending.syncs);
        if let Err(error) = tape.writer.append(&tape.tables, &mut pending.strand) {
            RECORDING.store(false, Ordering::Relaxed);
            *guard = None;
            drop(guard);
            let path = &options::get().record;
            output::write(&format!(
                "racehound: {path}: {error}; the trace ends here\n"
            ));
        }
    }
}

/// The process ends: the file is closed.
pub(crate) fn finish() {
    RECORDING.store(false, Ordering::Relaxed);
    let tape = tape().take();
    if let Some(Err(error)) = tape.map(|tape| tape.writer.finish()) {
        let path = &options::get().record;
        output::write(&format!("racehound: {path}: {error}\n"));
    }
}

/// Before a fork the file is complete up to here.
pub(crate) fn flush() {
    if let Some(tape) = tape().as_mut() {
        // Whoever adds next will find out, and say so.
        _ = tape.writer.flush();
    }
}

/// The child of a fork leaves the parent's file alone.
pub(crate) fn in_child() {
    RECORDING.store(false, Ordering::Relaxed);
    *tape() = None;
}
