//! RAPID's STD text format: one event a line, `thread|operation(operand)|place`.
//!
//! ```text
//! T0|fork(T1)|1
//! T0|acq(L3)|340
//! T0|w(V234.23[0])|345
//! T0|rel(L3)|346
//! ```
//! Operations are `r`, `w`, `acq`, `rel`, `fork`, `join`, and `begin`/`end`
//! for atomic regions (with or without an operand, as RAPID takes them). Blank
//! lines and lines that begin with `#` are skipped.
//!
//! The format has no sizes, read locks, atomics, condition variables, barriers
//! or semaphores. [`Writer`] turns into locks what it can (which orders threads
//! for happens-before, and not for detectors that let locks order nothing),
//! leaves out the rest, and counts all of it in [`Writer::losses`]. Names that
//! would fall together are told apart by their number.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::io::{ErrorKind, Read, Write};

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::error::{Error, Result};
use crate::event::{Event, Kind, MemoryOrder, Mode, Op};
use crate::id::{Loc, NameId, SiteId, SyncId, ThreadId};
use crate::source::{BATCH, Source};
use crate::table::{Names, Site, Space, SyncObject, Tables, Thread, Variable};

/// What some editors begin a text with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads STD text.
pub struct Reader<R: Read> {
    input: R,
    /// Text not yet parsed is `buffer[start..end]`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    at_end: bool,
    line: u64,
    position: u64,
    tables: Tables,
    threads: Interner,
    syncs: Interner,
    variables: Interner,
    sites: Interner,
    children: Vec<u32>,
}

impl<R: Read> Reader<R> {
    /// Reads from `input`, in large pieces.
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: vec![0; 1 << 18],
            start: 0,
            end: 0,
            at_end: false,
            line: 0,
            position: 0,
            tables: Tables::default(),
            threads: Interner::default(),
            syncs: Interner::default(),
            variables: Interner::default(),
            sites: Interner::default(),
            children: Vec::new(),
        }
    }

    /// Makes sure that `buffer[start..]` holds a whole line, and returns where
    /// it ends; `None` at the end of the input.
    fn next_line(&mut self) -> Result<Option<(usize, usize)>> {
        let mut searched = self.start;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                let line = (self.start, searched + at);
                self.start = searched + at + 1;
                return Ok(Some(line));
            }
            searched = self.end;
            if self.at_end {
                let line = (self.start, self.end);
                self.start = self.end;
                return Ok((line.0 < line.1).then_some(line));
            }
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                searched -= self.start;
                self.end -= self.start;
                self.start = 0;
            }
            if self.end == self.buffer.len() {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(n) => {
                    self.end += n;
                    self.position += n as u64;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    fn parse(&mut self, from: usize, to: usize) -> std::result::Result<Option<Event>, String> {
        let line = self.buffer[from..to].trim_ascii();
        let line = match self.line {
            1 => line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line),
            _ => line,
        };
        if line.is_empty() || line[0] == b'#' {
            return Ok(None);
        }
        let Some((name, operation, place)) = fields(line) else {
            return Err(format!(
                "expected thread|operation(operand)|place, found {}",
                quoted(line)
            ));
        };
        // The longest verb has five letters: looking is quicker than searching.
        let (verb, operand) = match operation.iter().take(6).position(|b| *b == b'(') {
            Some(open) => match operation.split_last() {
                Some((b')', inner)) => (&operation[..open], &inner[open + 1..]),
                _ => return Err("the operand has no closing parenthesis".to_owned()),
            },
            None => (operation, &b""[..]),
        };

        let tables = &mut self.tables;
        let names = &mut tables.names;
        if name.is_empty() {
            return Err("the thread has no name".to_owned());
        }
        let thread = self.threads.id(name, names, |name, _| {
            tables.threads.push(Thread {
                parent: None,
                ordinal: 0,
                name: Some(name),
            });
        })?;
        let site = self.sites.id(place, names, |text, names| {
            tables.sites.push(site(text, names));
        })?;
        let needed = || match operand {
            b"" => Err(format!(
                "{} needs an operand",
                String::from_utf8_lossy(verb)
            )),
            _ => Ok(operand),
        };
        let op = match verb {
            b"r" | b"w" => {
                let variable = self.variables.id(needed()?, names, |name, _| {
                    tables.variables.push(Variable {
                        name: Some(name),
                        ..Variable::default()
                    });
                })?;
                let loc = Loc(u64::from(variable));
                match verb {
                    b"r" => Op::Read { loc, size: 1 },
                    _ => Op::Write { loc, size: 1 },
                }
            }
            b"acq" | b"rel" => {
                let lock = self.syncs.id(needed()?, names, |name, _| {
                    tables.syncs.push(SyncObject {
                        name: Some(name),
                        class: None,
                    });
                })?;
                let (lock, mode) = (SyncId(lock), Mode::Exclusive);
                match verb {
                    b"acq" => Op::Acquire { lock, mode },
                    _ => Op::Release { lock, mode },
                }
            }
            b"fork" => {
                let children = &mut self.children;
                let child = self.threads.id(needed()?, names, |name, _| {
                    let parent = thread as usize;
                    children.resize(children.len().max(parent + 1), 0);
                    children[parent] += 1;
                    tables.threads.push(Thread {
                        parent: Some(ThreadId(thread)),
                        ordinal: children[parent],
                        name: Some(name),
                    });
                })?;
                Op::Fork {
                    child: ThreadId(child),
                }
            }
            b"join" => {
                let child = self.threads.id(needed()?, names, |name, _| {
                    tables.threads.push(Thread {
                        parent: None,
                        ordinal: 0,
                        name: Some(name),
                    });
                })?;
                Op::Join {
                    child: ThreadId(child),
                }
            }
            b"begin" => Op::RegionBegin,
            b"end" => Op::RegionEnd,
            _ => {
                return Err(format!(
                    "unknown operation {}; STD has r, w, acq, rel, fork, join, begin and end",
                    quoted(verb)
                ));
            }
        };
        Ok(Some(Event {
            thread: ThreadId(thread),
            site: SiteId(site),
            op,
        }))
    }
}

impl<R: Read> Source for Reader<R> {
    fn space(&self) -> Space {
        Space::Names
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn next_batch(&mut self, batch: &mut Vec<Event>) -> Result<()> {
        batch.clear();
        while batch.len() < BATCH {
            let Some((from, to)) = self.next_line()? else {
                break;
            };
            self.line += 1;
            match self.parse(from, to) {
                Ok(Some(event)) => batch.push(event),
                Ok(None) => {}
                Err(what) => {
                    return Err(Error::Syntax {
                        line: self.line,
                        what,
                    });
                }
            }
        }
        Ok(())
    }

    fn position(&self) -> u64 {
        self.position
    }
}

/// What stands in a line, for a message: not more than fits one.
fn quoted(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Without blanks around it; there mostly are none.
#[inline]
fn trim(field: &[u8]) -> &[u8] {
    match field {
        [b' ' | b'\t', ..] | [.., b' ' | b'\t'] => field.trim_ascii(),
        _ => field,
    }
}

/// Thread, operation and place of a line.
#[inline]
fn fields(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let first = memchr::memchr(b'|', line)?;
    let rest = &line[first + 1..];
    let second = memchr::memchr(b'|', rest)?;
    let place = &rest[second + 1..];
    // More fields, or a line end of another kind, would end up in the place.
    if place.iter().any(|b| matches!(b, b'|' | b'\r')) {
        return None;
    }
    Some((trim(&line[..first]), trim(&rest[..second]), trim(place)))
}

/// A site from its name: a position if it reads like `bank.c:12` or
/// `bank.c:12:9`, else a bare label.
fn site(text: NameId, names: &mut Names) -> Site {
    let name = names.get(text).unwrap_or_default();
    let mut site = Site {
        text: Some(text),
        ..Site::default()
    };
    let number = |text: &str| text.parse().ok().filter(|n: &u32| *n > 0);
    let (rest, last) = match name.rsplit_once(':') {
        Some((rest, last)) => (rest, number(last)),
        None => return site,
    };
    let Some(last) = last else { return site };
    let (file, line, column) = match rest.rsplit_once(':') {
        Some((file, line)) if number(line).is_some() => (file, number(line), last),
        _ => (rest, Some(last), 0),
    };
    if !file.is_empty() {
        let file = file.to_owned();
        site.file = Some(names.add(&file));
        site.line = line.unwrap_or(0);
        site.column = column;
    }
    site
}

/// Gives equal names equal ids, counting from zero.
///
/// Nearly all names in traces are short, so they are their own key, and no
/// lookup leaves the table. The last one is at hand: threads run in bursts.
#[derive(Default)]
struct Interner {
    last: Option<(Short, u32)>,
    short: HashTable<(Short, u32)>,
    /// Names of more than eight bytes, compared through the name table.
    long: HashTable<(NameId, u32)>,
}

/// A name of at most eight bytes, packed, with zeros behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Short(u64);

impl Short {
    /// Two loads that overlap if they must, instead of a copy whose length is
    /// not known beforehand. A name that ends in a zero byte is not one: its
    /// length would be lost.
    #[inline]
    fn new(name: &[u8]) -> Option<Self> {
        let length = name.len();
        let packed = match length {
            4..=8 => {
                let low = u64::from(u32::from_le_bytes(*name.first_chunk()?));
                let high = u64::from(u32::from_le_bytes(*name.last_chunk()?));
                low | high << (8 * (length - 4))
            }
            1..=3 => {
                let [first, middle, last] = [name[0], name[length / 2], name[length - 1]];
                u64::from(first)
                    | u64::from(middle) << (8 * (length / 2))
                    | u64::from(last) << (8 * (length - 1))
            }
            _ => return None,
        };
        (packed >> (8 * (length - 1)) > 0).then_some(Self(packed))
    }

    #[inline]
    fn hash(self) -> u64 {
        let mixed = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 32
    }
}

impl Interner {
    #[inline]
    fn id(
        &mut self,
        name: &[u8],
        names: &mut Names,
        define: impl FnOnce(NameId, &mut Names),
    ) -> std::result::Result<u32, String> {
        let Some(short) = Short::new(name) else {
            return self.long_id(name, names, define);
        };
        if let Some((last, id)) = self.last
            && last == short
        {
            return Ok(id);
        }
        let id = match self.short.find(short.hash(), |(known, _)| *known == short) {
            Some(&(_, id)) => id,
            None => {
                let (_, id) = self.define(name, names, define)?;
                let entry = (short, id);
                self.short
                    .insert_unique(short.hash(), entry, |(known, _)| known.hash());
                id
            }
        };
        self.last = Some((short, id));
        Ok(id)
    }

    fn long_id(
        &mut self,
        name: &[u8],
        names: &mut Names,
        define: impl FnOnce(NameId, &mut Names),
    ) -> std::result::Result<u32, String> {
        let hash = FxBuildHasher.hash_one(name);
        let same = |&(id, _): &(NameId, u32)| names.get(id).map(str::as_bytes) == Some(name);
        if let Some(&(_, id)) = self.long.find(hash, same) {
            return Ok(id);
        }
        let entry = self.define(name, names, define)?;
        self.long.insert_unique(hash, entry, |&(id, _)| {
            FxBuildHasher.hash_one(names.get(id).unwrap_or_default().as_bytes())
        });
        Ok(entry.1)
    }

    fn define(
        &self,
        name: &[u8],
        names: &mut Names,
        define: impl FnOnce(NameId, &mut Names),
    ) -> std::result::Result<(NameId, u32), String> {
        let text = std::str::from_utf8(name)
            .map_err(|_| format!("the name {} is not UTF-8", quoted(name)))?;
        let known = self.short.len() + self.long.len();
        let id = u32::try_from(known).map_err(|_| "too many names".to_owned())?;
        let name = names.add(text);
        define(name, names);
        Ok((name, id))
    }
}

/// What became of a kind of operation that STD has no word for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Written as locks: threads stay ordered, perhaps more than they were.
    AsLock,
    /// Read mode is lost.
    AsExclusive,
    /// Not written at all.
    Dropped,
    /// Only accesses that begin at the same byte still meet.
    Unsized,
    /// Told apart from another of the same name.
    Renamed,
}

impl Loss {
    /// A few words for people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::AsLock => "written as acquire and release of a lock",
            Self::AsExclusive => "read mode written as a plain lock",
            Self::Dropped => "left out",
            Self::Unsized => "of several bytes, written without their size",
            Self::Renamed => "renamed, because another has the same name",
        }
    }
}

/// Writes STD text.
pub struct Writer<W: Write> {
    out: W,
    space: Space,
    text: String,
    losses: BTreeMap<(Kind, &'static str), u64>,
    threads: Unique,
    locks: Unique,
    variables: Unique,
    /// How deep each thread holds each lock, to give it up for a wait.
    depths: FxHashMap<(ThreadId, SyncId), u32>,
}

/// Names, each for one thing only.
#[derive(Default)]
struct Unique {
    of: FxHashMap<u64, String>,
    taken: FxHashSet<String>,
}

impl Unique {
    /// The name of the thing with this number; true if it had to be changed.
    fn name(&mut self, number: u64, wanted: impl FnOnce() -> String) -> (&str, bool) {
        let mut renamed = false;
        let Self { of, taken } = self;
        let name = of.entry(number).or_insert_with(|| {
            let mut name = clean(&wanted());
            while !taken.insert(name.clone()) {
                renamed = true;
                name = format!("{name}.{number}");
            }
            name
        });
        (name, renamed)
    }
}

/// Atomics become locks, with numbers above those of real ones.
const ATOMICS: u64 = 1 << 32;

impl<W: Write> Writer<W> {
    /// Starts writing to `out`, in large pieces.
    pub fn new(out: W, space: Space) -> Self {
        Self {
            out,
            space,
            text: String::new(),
            losses: BTreeMap::new(),
            threads: Unique::default(),
            locks: Unique::default(),
            variables: Unique::default(),
            depths: FxHashMap::default(),
        }
    }

    /// Appends events.
    pub fn write(&mut self, tables: &Tables, events: &[Event]) -> Result<()> {
        for event in events {
            self.event(tables, event);
            if self.text.len() >= 1 << 16 {
                self.out.write_all(self.text.as_bytes())?;
                self.text.clear();
            }
        }
        Ok(())
    }

    /// How many events of each kind could not be written as they are, and
    /// what happened to them.
    pub fn losses(&self) -> impl Iterator<Item = (Kind, &'static str, u64)> + '_ {
        self.losses.iter().map(|(&(kind, how), &n)| (kind, how, n))
    }

    /// Writes the rest and gives the output back.
    pub fn finish(mut self) -> Result<W> {
        self.out.write_all(self.text.as_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn lose(&mut self, kind: Kind, loss: Loss) {
        *self.losses.entry((kind, loss.describe())).or_default() += 1;
    }

    fn event(&mut self, tables: &Tables, event: &Event) {
        let kind = event.op.kind();
        match event.op {
            Op::Read { loc, size } => self.access(tables, event, "r", loc, size),
            Op::Write { loc, size } => self.access(tables, event, "w", loc, size),
            Op::Acquire { lock, mode } => {
                self.lock_mode(kind, mode);
                *self.depths.entry((event.thread, lock)).or_default() += 1;
                self.lock(tables, event, "acq", lock);
            }
            Op::Release { lock, mode } => {
                self.lock_mode(kind, mode);
                let depth = self.depths.entry((event.thread, lock)).or_default();
                *depth = depth.saturating_sub(1);
                self.lock(tables, event, "rel", lock);
            }
            Op::Fork { child } => self.thread(tables, event, "fork", child),
            Op::Join { child } => self.thread(tables, event, "join", child),
            Op::RegionBegin => self.line(tables, event, "begin", None),
            Op::RegionEnd => self.line(tables, event, "end", None),
            Op::AtomicLoad { loc, order, .. }
            | Op::AtomicStore { loc, order, .. }
            | Op::AtomicRmw { loc, order, .. } => match order {
                MemoryOrder::Relaxed => self.lose(kind, Loss::Dropped),
                _ => {
                    let name = || format!("atomic.{}", tables.loc_name(self.space, loc));
                    let (name, _) = self.locks.name(ATOMICS + loc.0, name);
                    let name = name.to_owned();
                    self.as_lock(tables, event, &name);
                }
            },
            Op::Wait {
                lock: Some(lock), ..
            } => self.parked(tables, event, "rel", lock),
            Op::Wake {
                lock: Some(lock), ..
            } => self.parked(tables, event, "acq", lock),
            Op::BarrierArrive { barrier: object }
            | Op::BarrierLeave { barrier: object }
            | Op::SemPost { sem: object }
            | Op::SemWait { sem: object } => {
                let name = self.lock_name(tables, kind, object);
                self.as_lock(tables, event, &name);
            }
            Op::Wait { lock: None, .. }
            | Op::Wake { lock: None, .. }
            | Op::NotifyOne { .. }
            | Op::NotifyAll { .. }
            | Op::Fence { .. }
            | Op::Call { .. }
            | Op::Return
            | Op::Alloc { .. }
            | Op::Free { .. } => self.lose(kind, Loss::Dropped),
        }
    }

    fn access(&mut self, tables: &Tables, event: &Event, verb: &str, loc: Loc, size: u32) {
        let kind = event.op.kind();
        if self.space == Space::Addresses && size > 1 {
            self.lose(kind, Loss::Unsized);
        }
        let wanted = || tables.loc_name(self.space, loc);
        let (name, renamed) = self.variables.name(loc.0, wanted);
        let name = name.to_owned();
        if renamed {
            self.lose(kind, Loss::Renamed);
        }
        self.line(tables, event, verb, Some(&name));
    }

    fn lock_name(&mut self, tables: &Tables, kind: Kind, lock: SyncId) -> String {
        let (name, renamed) = self
            .locks
            .name(u64::from(lock.0), || tables.sync_name(lock));
        let name = name.to_owned();
        if renamed {
            self.lose(kind, Loss::Renamed);
        }
        name
    }

    fn lock(&mut self, tables: &Tables, event: &Event, verb: &str, lock: SyncId) {
        let name = self.lock_name(tables, event.op.kind(), lock);
        self.line(tables, event, verb, Some(&name));
    }

    /// A wait gives its lock up, and takes it back, as often as it is held.
    fn parked(&mut self, tables: &Tables, event: &Event, verb: &str, lock: SyncId) {
        self.lose(event.op.kind(), Loss::AsLock);
        let depth = self.depths.get(&(event.thread, lock)).copied();
        for _ in 0..depth.unwrap_or(1).max(1) {
            self.lock(tables, event, verb, lock);
        }
    }

    fn lock_mode(&mut self, kind: Kind, mode: Mode) {
        if mode == Mode::Shared {
            self.lose(kind, Loss::AsExclusive);
        }
    }

    fn as_lock(&mut self, tables: &Tables, event: &Event, name: &str) {
        self.lose(event.op.kind(), Loss::AsLock);
        self.line(tables, event, "acq", Some(name));
        self.line(tables, event, "rel", Some(name));
    }

    fn thread_name(&mut self, tables: &Tables, kind: Kind, thread: ThreadId) -> String {
        let number = u64::from(thread.0);
        let (name, renamed) = self.threads.name(number, || tables.thread_name(thread));
        let name = name.to_owned();
        if renamed {
            self.lose(kind, Loss::Renamed);
        }
        name
    }

    fn thread(&mut self, tables: &Tables, event: &Event, verb: &str, thread: ThreadId) {
        let name = self.thread_name(tables, event.op.kind(), thread);
        self.line(tables, event, verb, Some(&name));
    }

    fn line(&mut self, tables: &Tables, event: &Event, verb: &str, operand: Option<&str>) {
        let thread = self.thread_name(tables, event.op.kind(), event.thread);
        self.text.push_str(&thread);
        self.text.push('|');
        self.text.push_str(verb);
        if let Some(operand) = operand {
            self.text.push('(');
            self.text.push_str(operand);
            self.text.push(')');
        }
        self.text.push('|');
        self.text.push_str(&clean(&tables.site_name(event.site)));
        self.text.push('\n');
    }
}

/// A name without what would break a line apart, make it a comment, or leave
/// nothing to read.
fn clean(name: &str) -> String {
    if name.is_empty() {
        return "_".to_owned();
    }
    let clean = |(i, c): (usize, char)| match c {
        '|' => '/',
        '#' if i == 0 => '_',
        c if c.is_whitespace() || c.is_control() => '_',
        c => c,
    };
    name.char_indices().map(clean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Builder, Trace};

    const SAMPLE: &str = "\
T0|fork(T1)|1
T0|begin|2
T0|acq(L1)|3
T0|w(V234.23[0])|345
T0|rel(L1)|4
T0|end|5
T1|r(V234.23[0])|346
T0|join(T1)|6
";

    fn to_text(trace: &Trace) -> (String, Vec<(Kind, &'static str, u64)>) {
        let mut writer = Writer::new(Vec::new(), trace.space);
        writer.write(&trace.tables, &trace.events).unwrap();
        let losses = writer.losses().collect();
        (String::from_utf8(writer.finish().unwrap()).unwrap(), losses)
    }

    #[test]
    fn what_std_can_say_comes_back_letter_by_letter() {
        let trace = Trace::collect(Reader::new(SAMPLE.as_bytes())).unwrap();
        assert_eq!(trace.tables.threads[1].parent, Some(ThreadId(0)));
        assert_eq!(to_text(&trace), (SAMPLE.to_owned(), vec![]));
    }

    #[test]
    fn lines_may_end_and_begin_as_people_write_them() {
        let text = "# a comment\r\n\r\nT0|begin(3)|1\r\n  T0|w(x)|2  \nT0|end()|3";
        let trace = Trace::collect(Reader::new(text.as_bytes())).unwrap();
        let kinds: Vec<_> = trace.events.iter().map(|e| e.op.kind()).collect();
        assert_eq!(kinds, [Kind::RegionBegin, Kind::Write, Kind::RegionEnd]);
    }

    #[test]
    fn blanks_and_marks_of_editors_change_nothing() {
        let text = "\u{feff}T0|w(x)|1\n T0 | r(x) | 2 \n";
        let trace = Trace::collect(Reader::new(text.as_bytes())).unwrap();
        assert_eq!(to_text(&trace).0, "T0|w(x)|1\nT0|r(x)|2\n");
    }

    #[test]
    fn equal_names_stay_different_things() {
        let mut b = Builder::over(Space::Addresses);
        let t0 = b.thread("worker");
        let name = b.tables().threads[0].name;
        let t1 = b.tables().add_thread(Thread {
            name,
            ..Thread::default()
        });
        b.push(
            t0,
            "1",
            Op::Write {
                loc: Loc(8),
                size: 8,
            },
        );
        b.push(
            t1,
            "",
            Op::Read {
                loc: Loc(9),
                size: 1,
            },
        );
        let (text, losses) = to_text(&b.finish());
        assert_eq!(text, "worker|w(0x8)|1\nworker.1|r(0x9)|_\n");
        let lost: Vec<_> = losses.iter().map(|(kind, how, _)| (*kind, *how)).collect();
        assert!(lost.contains(&(Kind::Write, Loss::Unsized.describe())));
        assert!(lost.contains(&(Kind::Read, Loss::Renamed.describe())));
    }

    #[test]
    fn a_wait_gives_a_re_entrant_lock_up_completely() {
        let mut b = Builder::new();
        let (t, m, c) = (b.thread("T0"), b.sync("m"), b.sync("c"));
        let mode = Mode::Exclusive;
        let lock = Some(m);
        b.push(t, "1", Op::Acquire { lock: m, mode });
        b.push(t, "2", Op::Acquire { lock: m, mode });
        b.push(t, "3", Op::Wait { cond: c, lock });
        b.push(
            t,
            "4",
            Op::Wake {
                cond: c,
                lock,
                notified: true,
            },
        );
        let (text, _) = to_text(&b.finish());
        assert_eq!(text.matches("rel(m)").count(), 2);
        assert_eq!(text.matches("acq(m)").count(), 4);
    }

    #[test]
    fn places_that_read_like_positions_are_positions() {
        let text = "T0|r(x)|bank.c:12:9\nT0|r(x)|src/a.c:7\nT0|r(x)|345\nT0|r(x)|a:b\n";
        let trace = Trace::collect(Reader::new(text.as_bytes())).unwrap();
        let positions: Vec<_> = trace
            .tables
            .sites
            .iter()
            .map(|s| (s.line, s.column))
            .collect();
        assert_eq!(positions, [(12, 9), (7, 0), (0, 0), (0, 0)]);
        assert_eq!(trace.tables.site_file(SiteId(1)), Some("src/a.c"));
        assert_eq!(to_text(&trace).0, text);
    }

    #[test]
    fn short_and_long_names_are_told_apart() {
        let names = [
            "a",
            "aa",
            "aaa",
            "aaaa",
            "aaaaa",
            "aaaaaaaa",
            "aaaaaaaaa",
            "aba",
            "b",
        ];
        let text: String = names
            .iter()
            .chain(&names)
            .map(|n| format!("T|r({n})|1\n"))
            .collect();
        let trace = Trace::collect(Reader::new(text.as_bytes())).unwrap();
        assert_eq!(trace.tables.variables.len(), names.len());
        assert_eq!(to_text(&trace).0, text);
    }

    #[test]
    fn lines_longer_than_the_buffer_are_read() {
        let name = "v".repeat(1 << 20);
        let text = format!("T0|w({name})|1\nT0|r({name})|2\n");
        let trace = Trace::collect(Reader::new(text.as_bytes())).unwrap();
        assert_eq!(trace.tables.variables.len(), 1);
        assert_eq!(trace.events.len(), 2);
    }

    #[test]
    fn errors_name_the_line_and_the_trouble() {
        for (text, expected) in [
            (
                "T0|r(x)|1\nT0|read(x)|2",
                "line 2: unknown operation \"read\"",
            ),
            (
                "T0 r(x) 1",
                "line 1: expected thread|operation(operand)|place",
            ),
            ("T0|r(x|1", "line 1: the operand has no closing parenthesis"),
            ("T0|acq|1", "line 1: acq needs an operand"),
            ("|r(x)|1", "line 1: the thread has no name"),
            (
                "T0|r(x)|1T1|r(y)|2",
                "line 1: expected thread|operation(operand)|place",
            ),
            (
                "T0|r(x)|1\rT1|r(y)|2",
                "line 1: expected thread|operation(operand)|place",
            ),
        ] {
            let error = Trace::collect(Reader::new(text.as_bytes())).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
        }
        let error = Trace::collect(Reader::new(&b"T0|r(\xff)|1"[..])).unwrap_err();
        assert!(error.to_string().contains("not UTF-8"), "{error}");
    }

    #[test]
    fn what_std_cannot_say_is_counted() {
        let mut b = Builder::new();
        let (t, m, x) = (b.thread("T0"), b.sync("m"), b.variable("x"));
        let order = MemoryOrder::SeqCst;
        let mode = Mode::Shared;
        b.push(t, "1", Op::Acquire { lock: m, mode });
        b.push(
            t,
            "2",
            Op::AtomicLoad {
                loc: x,
                size: 1,
                order,
            },
        );
        b.push(t, "3", Op::Fence { order });
        let (text, losses) = to_text(&b.finish());
        assert_eq!(
            text,
            "T0|acq(m)|1\nT0|acq(atomic.x)|2\nT0|rel(atomic.x)|2\n"
        );
        assert_eq!(losses.len(), 3);
    }
}
