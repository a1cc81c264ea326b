//! The trace that is being recorded: a file, and what each thread will add to it.
//!
//! A thread encodes its events by itself and adds them to the file in pieces, at
//! the latest before it gives something away that another thread could take:
//! before it unlocks, signals, posts, creates a thread or ends. What it takes it
//! tells after it was taken. So in the file a release comes before the
//! acquisitions it led to, and accesses keep their place between. Atomic
//! operations both give and take: they are added while their location is held.
//!
//! When the process ends, what other threads have not added yet is added for them.
//! A process that is killed leaves a file without its last block and without what
//! threads had not added yet. On a file that cannot be written further, the trace
//! ends, which is said once; the program goes on.
//!
//! # Locks
//! The tape is asked for anywhere in the runtime, also with objects and cells held.
//! Who holds it waits for nothing but the [registry]'s lock, the heap's and the
//! disk; who holds those waits for nothing. In particular places are put into words
//! before the tape is taken. Everybody who takes it is inside the runtime, so
//! handlers of signals wait, and no process is copied meanwhile.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use racehound_report::finding::is_librarys;
use racehound_trace::binary::{Strand, Writer};
use racehound_trace::{FunctionId, Loc, NameId, Op, Site, SiteId, Space, SyncId, Tables, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::context::Context;
use crate::interpose::Errno;
use crate::log::Note;
use crate::report::{self, Line, symbols};
use crate::spool::Spool;
use crate::{objects, options, output, registry, signals};

static RECORDING: AtomicBool = AtomicBool::new(false);
static TAPE: Mutex<Option<Tape>> = Mutex::new(None);
/// How many synchronisation objects the tape knows, for those who do not hold it: it may know
/// more by then.
static KNOWN_SYNCS: AtomicUsize = AtomicUsize::new(0);
/// How often places may have got new meanings, because modules were unloaded.
static MEANINGS: AtomicU32 = AtomicU32::new(0);

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
    if !path.is_empty() {
        begin(|| Spool::begin(path), path);
    }
}

/// Begins a trace on a file.
fn begin(file: impl FnOnce() -> std::io::Result<Spool>, path: &str) {
    let new = |file| Writer::new(file, Space::Addresses).map_err(std::io::Error::other);
    match file().and_then(new) {
        Ok(writer) => *tape() = Some(Tape::new(writer)),
        Err(error) => {
            let text = format!("racehound: {path}: {error}; the program is not recorded\n");
            return output::write(&text);
        }
    }
    RECORDING.store(true, Ordering::Relaxed);
}

fn tape() -> MutexGuard<'static, Option<Tape>> {
    TAPE.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Tape {
    writer: Writer<Spool>,
    tables: Tables,
    sites: FxHashMap<Spot, SiteId>,
    names: FxHashMap<String, NameId>,
    functions: FxHashMap<String, FunctionId>,
    /// Where those variables begin that have a name.
    variables: FxHashSet<usize>,
}

/// A variable of the program, where it is now.
struct Global {
    name: String,
    start: usize,
    size: u64,
}

impl Global {
    /// The one that has this address. The tape is not held.
    fn at(address: usize) -> Option<Self> {
        if let Some(kept) = crate::interpose::hidden::describe(address) {
            return Some(Self {
                name: kept.to_owned(),
                start: address,
                size: size_of::<u64>() as u64,
            });
        }
        let (variable, module) = symbols::variable(address)?;
        Some(Self {
            name: variable.name,
            start: variable.start as usize + module.bias,
            size: variable.size,
        })
    }
}

/// Where in the program something is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Spot {
    /// The place of an access that the compiler has announced.
    Place(usize),
    Context(Context),
    /// The same, of what is no access to memory.
    Deed(Context),
}

impl Tape {
    fn new(writer: Writer<Spool>) -> Self {
        KNOWN_SYNCS.store(0, Ordering::Relaxed);
        Self {
            writer,
            tables: Tables::default(),
            sites: FxHashMap::default(),
            names: FxHashMap::default(),
            functions: FxHashMap::default(),
            variables: FxHashSet::default(),
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

    /// Adds synchronisation objects, unless somebody else has meanwhile.
    fn know_syncs(&mut self, names: &[(usize, String)]) {
        for (number, name) in names {
            if *number == self.tables.syncs.len() {
                self.tables.add_sync(name);
            }
        }
        if !names.is_empty() {
            KNOWN_SYNCS.store(self.tables.syncs.len(), Ordering::Relaxed);
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

    fn function(&mut self, name: &str) -> FunctionId {
        if let Some(&id) = self.functions.get(name) {
            return id;
        }
        let id = self.tables.add_function(name);
        self.functions.insert(name.to_owned(), id);
        id
    }

    /// Names a variable, unless it has a name.
    fn know_variable(&mut self, variable: &Global) {
        if self.variables.insert(variable.start) {
            let start = Loc(variable.start as u64);
            self.tables
                .add_variable_at(&variable.name, start, variable.size);
        }
    }

    /// The site of a spot, given the source line there.
    fn add_site(&mut self, spot: Spot, line: Option<Line>) -> SiteId {
        // Somebody else may have added it meanwhile.
        if let Some(&site) = self.sites.get(&spot) {
            return site;
        }
        let site = line.map_or_else(Site::default, |line| self.described(&line));
        let site = self.tables.add_site(site);
        self.sites.insert(spot, site);
        site
    }

    fn described(&mut self, line: &Line) -> Site {
        let file = line.file.as_deref().map(|file| self.name(file));
        let module = match line.build_id.as_str() {
            "" => line.module.as_deref().map(|module| self.name(module)),
            id => Some(self.name(id)),
        };
        let function = line.function.as_deref().map(|name| self.function(name));
        // Nobody knows a library by what it was built from.
        let nameless = line.module.as_deref().filter(|_| file.is_none());
        let text = nameless.map(|module| self.name(&format!("{module}+{:#x}", line.offset)));
        Site {
            file,
            line: line.line,
            column: line.column,
            function,
            module,
            offset: line.offset as u64,
            text,
        }
    }

    fn add(
        &mut self,
        pending: &mut Pending,
        new_syncs: &[(usize, String)],
    ) -> racehound_trace::Result<()> {
        self.know_threads(pending.thread);
        self.know_syncs(new_syncs);
        self.writer.append(&self.tables, &mut pending.strand)
    }

    fn path(&self) -> String {
        self.writer.get_ref().path().display().to_string()
    }
}

impl Spot {
    /// The source line there. The tape is not held.
    fn line(self) -> Option<Line> {
        let place = match self {
            Self::Place(place) => place,
            Self::Context(context) | Self::Deed(context) => {
                let mut places = context.places();
                // A function of the C library is where the program calls it.
                let place = places.next().unwrap_or(0);
                match crate::real::name_at(place) {
                    Some(_) => places.next().unwrap_or(place),
                    None => place,
                }
            }
        };
        let place = place & !report::VPTR;
        let lines = (place != 0).then(|| symbols::lines(place));
        lines.into_iter().flatten().next()
    }

    /// The same, for who wants to read it: what a library does, unless it is an access, is
    /// done where the program's own code has it done.
    fn readable_line(self) -> Option<Line> {
        let line = self.line()?;
        let is_users = |line: &Line| {
            let file = line.file.as_deref();
            file.is_some_and(|file| !is_librarys(file)) && !report::is_ours(line)
        };
        let context = match self {
            Self::Deed(context) if !is_users(&line) => context,
            _ => return Some(line),
        };
        let places = context.places().map(|place| place & !report::VPTR);
        let places = places.filter(|place| *place != 0);
        let users = places.flat_map(symbols::lines).find(is_users);
        Some(match users {
            None => line,
            Some(users) => Line {
                function: users.function,
                file: users.file,
                line: users.line,
                column: users.column,
                ..line
            },
        })
    }
}

/// A thread's side of the recording.
#[derive(Default)]
pub(crate) struct Recorder(Option<Box<Pending>>);

/// What a thread has to add to the tape.
struct Pending {
    strand: Strand,
    /// Sites of places where it was lately, and of contexts.
    places: Known<usize>,
    contexts: Known<u32>,
    /// What [`MEANINGS`] was then.
    meanings: u32,
    /// The highest thread that the events are about, and how many synchronisation
    /// objects there must be.
    thread: u32,
    syncs: usize,
    calls: Calls,
}

/// The sites of spots that were asked for lately; those of nowhere are unknown.
type Known<N> = Box<[(N, SiteId); Pending::KNOWN]>;

/// The calls that a thread is in, where calls are recorded.
///
/// One is told when something happens in it: most functions do nothing that is in the
/// trace, and are left out.
#[derive(Default)]
struct Calls {
    /// How many are in the trace.
    told: usize,
    /// Inside those: the places of others, which are not, and where they were called.
    untold: Vec<(usize, usize)>,
    /// By place: the function.
    known: FxHashMap<usize, FunctionId>,
}

impl Pending {
    const KNOWN: usize = 1024;

    #[cold]
    #[inline(never)]
    fn new(thread: u32) -> Box<Self> {
        Box::new(Self {
            strand: Strand::new(ThreadId(thread)),
            places: crate::memory::boxed((usize::MAX, SiteId(0))),
            contexts: crate::memory::boxed((u32::MAX, SiteId(0))),
            meanings: 0,
            thread,
            syncs: 0,
            calls: Calls::default(),
        })
    }

    /// Where the site of that number is looked for: neighbours are far from each other, and
    /// so are an access and a deed in one context.
    #[inline(always)]
    fn slot(number: u64) -> usize {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (64 - Self::KNOWN.ilog2())) as usize
    }

    /// The site of a place in the program. Where it is new, the variable that is accessed
    /// there gets its name.
    #[inline(always)]
    fn site_of_place(&mut self, place: usize, address: Option<usize>) -> SiteId {
        let slot = Self::slot(place as u64);
        let (known, site) = self.places[slot];
        if known == place {
            return site;
        }
        let site = self.find_site(Spot::Place(place), address);
        self.places[slot] = (place, site);
        site
    }

    /// The same of a context.
    fn site_of_context(&mut self, context: Context, address: Option<usize>) -> SiteId {
        /// No context has a number as large.
        const DEED: u32 = 1 << 31;
        let (key, spot) = match address {
            Some(_) => (context.0, Spot::Context(context)),
            None => (context.0 | DEED, Spot::Deed(context)),
        };
        let slot = Self::slot(u64::from(key));
        let (known, site) = self.contexts[slot];
        if known == key {
            return site;
        }
        let site = self.find_site(spot, address);
        self.contexts[slot] = (key, site);
        site
    }

    fn site(&mut self, spot: Spot) -> SiteId {
        match spot {
            Spot::Place(place) => self.site_of_place(place, None),
            Spot::Context(context) | Spot::Deed(context) => self.site_of_context(context, None),
        }
    }

    #[cold]
    fn find_site(&self, spot: Spot, address: Option<usize>) -> SiteId {
        let _errno = Errno::keep();
        let known = tape()
            .as_ref()
            .and_then(|tape| tape.sites.get(&spot).copied());
        known.unwrap_or_else(|| {
            let line = spot.readable_line();
            let variable = address.and_then(Global::at);
            let mut guard = tape();
            let Some(tape) = guard.as_mut() else {
                return SiteId(0);
            };
            if let Some(variable) = variable {
                tape.know_variable(&variable);
            }
            tape.add_site(spot, line)
        })
    }

    /// Forgets what was known of places, which may not be true any more.
    #[cold]
    fn forget_places(&mut self, meanings: u32) {
        self.meanings = meanings;
        self.places.fill((usize::MAX, SiteId(0)));
        self.contexts.fill((u32::MAX, SiteId(0)));
        self.calls.known.clear();
    }

    /// Tells of the calls in which something happens now.
    #[cold]
    fn tell_calls(&mut self) {
        let untold = std::mem::take(&mut self.calls.untold);
        for &(place, from) in &untold {
            let function = self.function_at(place);
            let site = self.site_of_place(from, None);
            self.strand.put(site, &Op::Call { function });
        }
        self.calls.told += untold.len();
        self.calls.untold = untold;
        self.calls.untold.clear();
    }

    /// A call is over. What was never told to begin is not told to end.
    fn end_call(&mut self, spot: Spot) {
        if self.calls.untold.pop().is_none() && self.calls.told > 0 {
            self.calls.told -= 1;
            let site = self.site(spot);
            self.strand.put(site, &Op::Return);
        }
    }

    /// The function that begins at a place.
    fn function_at(&mut self, place: usize) -> FunctionId {
        if let Some(&known) = self.calls.known.get(&place) {
            return known;
        }
        let _errno = Errno::keep();
        // Others may be inlined at the place.
        let function = symbols::lines(place).pop().and_then(|line| line.function);
        let name = function.unwrap_or_else(|| format!("{place:#x}"));
        let function = tape().as_mut().map(|tape| tape.function(&name));
        let found = function.unwrap_or(FunctionId(0));
        self.calls.known.insert(place, found);
        found
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
    #[inline]
    fn pending(&mut self, thread: u32) -> &mut Pending {
        let pending = self.0.get_or_insert_with(|| Pending::new(thread));
        let meanings = MEANINGS.load(Ordering::Relaxed);
        if pending.meanings != meanings {
            pending.forget_places(meanings);
        }
        pending
    }

    /// Tells of what the compiler has announced, with the places.
    pub(crate) fn notes(&mut self, thread: u32, notes: impl Iterator<Item = (usize, Note)>) {
        let pending = self.pending(thread);
        notes.for_each(|(place, note)| match note {
            Note::Access { loc, size, write } => {
                if !pending.calls.untold.is_empty() {
                    pending.tell_calls();
                }
                let site = pending.site_of_place(place, Some(loc.0 as usize));
                pending.strand.access(site, loc, size, write);
            }
            Note::Call { from } => pending.calls.untold.push((place, from)),
            Note::Return => pending.end_call(Spot::Place(place)),
        });
        if pending.strand.count() >= MOST_EVENTS || pending.strand.size() >= MOST_BYTES {
            self.add();
        }
    }

    /// Tells of anything else.
    pub(crate) fn event(&mut self, thread: u32, context: Context, op: &Op) {
        let pending = self.pending(thread);
        if !pending.calls.untold.is_empty() {
            pending.tell_calls();
        }
        let address = op.access().map(|memory| memory.loc.0 as usize);
        let site = pending.site_of_context(context, address);
        pending.need(op);
        pending.strand.put(site, op);
    }

    /// How many calls the thread is in, of those that were noted.
    pub(crate) fn depth(&self) -> usize {
        let calls = self.0.as_ref().map(|pending| &pending.calls);
        calls.map_or(0, |calls| calls.told + calls.untold.len())
    }

    /// The thread has left calls without returning: it is in so many only.
    pub(crate) fn leave_calls(&mut self, thread: u32, context: Context, depth: usize) {
        for _ in depth..self.depth() {
            self.pending(thread).end_call(Spot::Context(context));
        }
    }

    /// Adds everything so far to the tape.
    pub(crate) fn add(&mut self) {
        let Some(pending) = self.0.as_mut().filter(|p| p.strand.count() > 0) else {
            return;
        };
        let _errno = Errno::keep();
        let known = KNOWN_SYNCS.load(Ordering::Relaxed);
        let new_syncs: Vec<(usize, String)> = (known..pending.syncs)
            .map(|number| (number, sync_name(number)))
            .collect();
        let mut guard = tape();
        let Some(tape) = guard.as_mut() else {
            return;
        };
        if let Err(error) = tape.add(pending, &new_syncs) {
            give_up(guard, &error);
        }
    }
}

/// What a synchronisation object is called: as the variable that it is in, else by its
/// number. The tape is not held.
fn sync_name(number: usize) -> String {
    let past = u32::try_from(number).ok().and_then(objects::past);
    let of_signals = |past: &objects::Past| signals::describe(past.address);
    if let Some(name) = past.as_ref().and_then(of_signals) {
        return name;
    }
    let variable = past.and_then(|past| {
        let (variable, module) = symbols::variable(past.address)?;
        let start = variable.start as usize + module.bias;
        Some((variable.name, past.address - start))
    });
    match variable {
        Some((name, 0)) => name,
        Some((name, offset)) => format!("{name}+{offset}"),
        None => format!("M{number}"),
    }
}

/// The trace ends here.
fn give_up(mut guard: MutexGuard<'_, Option<Tape>>, error: &racehound_trace::Error) {
    RECORDING.store(false, Ordering::Relaxed);
    let Some(tape) = guard.take() else {
        return;
    };
    drop(guard);
    let path = tape.path();
    output::write(&format!(
        "racehound: {path}: {error}; the trace ends here\n"
    ));
}

/// Modules were unloaded: others may come to be where they were.
pub(crate) fn forget_places() {
    if let Some(tape) = tape().as_mut() {
        tape.sites.clear();
        tape.variables.clear();
    }
    MEANINGS.fetch_add(1, Ordering::Relaxed);
}

/// The process ends: the file is closed.
pub(crate) fn finish() {
    let _errno = Errno::keep();
    RECORDING.store(false, Ordering::Relaxed);
    let Some(tape) = tape().take() else {
        return;
    };
    let path = tape.path();
    if let Err(error) = tape.writer.finish() {
        output::write(&format!(
            "racehound: {path}: {error}; the trace ends before the program did\n"
        ));
    }
}

/// Before a fork the file is complete up to here.
pub(crate) fn flush() {
    let _errno = Errno::keep();
    let mut guard = tape();
    if let Some(tape) = guard.as_mut()
        && let Err(error) = tape.writer.flush()
    {
        give_up(guard, &error);
    }
}

/// The child of a fork leaves the parent's file alone and begins one of its own.
/// Whether it is recorded.
pub(crate) fn in_child() -> bool {
    let _errno = Errno::keep();
    if tape().take().is_some() {
        RECORDING.store(false, Ordering::Relaxed);
        let path = &options::get().record;
        begin(|| Ok(Spool::later(path)), path);
    }
    is_recording()
}
