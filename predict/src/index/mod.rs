//! A trace, made ready for the search (pecan.txt §5.1).
//!
//! Three passes. The first follows locks and order, and writes down what of the
//! trace has to do with them, the [nodes](Node); and it finds out which locations
//! can be of interest at all: not those of one thread, nor those that nobody
//! writes, nor those that one lock protects whose critical sections are the
//! regions around every access. What somebody does [alone](solitude), or with memory that is
//! [new](novelty), does not count. The second one leaves out those that stay
//! [sheltered](shelter). The third one indexes the accesses of the
//! others by location, thread, site, access type and lock context: accesses that
//! agree in all of these are one [`Group`], and those of a group in the same moment
//! of their thread are one [`Spell`], be there two or a million. Besides, it has the
//! accesses of each region.

pub(crate) mod memory;
mod novelty;
mod shelter;
mod solitude;

use racehound_trace::event::Access;
use racehound_trace::{Event, Mode, Op, SiteId, SyncId, ThreadId, Trace};
use rustc_hash::FxHashMap;

use crate::context::{ContextId, Contexts, Holding};
use crate::order::{Atomics, Moment, OrderBuilder, OrderGraph};
use crate::regions::{RegionId, Regions, Root};

use memory::Memory;
pub(crate) use memory::NONE;
use novelty::Novelty;
use solitude::Solitude;

/// What a node does about locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Takes a lock that the thread does not hold.
    Acquire(SyncId, Mode),
    /// Gives a lock back for good.
    Release(SyncId),
    /// Lowers a semaphore.
    Take(SyncId),
    /// Raises a semaphore.
    Post(SyncId),
    /// Nothing.
    None,
}

/// An event that has to do with locks or order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// Its index in the trace.
    pub(crate) event: u32,
    pub(crate) act: Act,
    /// Whether the thread hears of others here, or begins.
    pub(crate) hears: bool,
    /// The locks from here on.
    pub(crate) context: ContextId,
    /// The thread's moment at the event.
    pub(crate) moment: Moment,
    /// Of an acquire: the node of the release; `NONE` if there is none.
    pub(crate) release: u32,
    /// Of an acquire: what is taken before that release, as a range of
    /// [`Index::inner`].
    pub(crate) inner: (u32, u32),
}

/// Where an event is: behind so many nodes of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stand {
    thread: ThreadId,
    passed: u32,
    is_node: bool,
}

/// Accesses of one thread that differ in time only.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) slot: u32,
    pub(crate) mask: u8,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) atomic: bool,
    pub(crate) thread: ThreadId,
    pub(crate) site: SiteId,
    pub(crate) context: ContextId,
    pub(crate) spells: Vec<Spell>,
    /// The next group of the slot.
    next: u32,
}

impl Group {
    /// The first and the last access of each spell.
    pub(crate) fn ends(&self) -> impl Iterator<Item = u32> + '_ {
        let ends = |spell: &Spell| {
            [
                Some(spell.first),
                (spell.first < spell.last).then_some(spell.last),
            ]
        };
        self.spells.iter().flat_map(ends).flatten()
    }
}

/// Accesses of a group in one moment of their thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spell {
    pub(crate) moment: Moment,
    /// The first and the last of them.
    pub(crate) first: u32,
    pub(crate) last: u32,
}

/// One execution of a region, with its accesses of interest.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) id: RegionId,
    pub(crate) thread: ThreadId,
    /// Its accesses, by group, in order: in between two of the same group that
    /// are not the first and the last, nothing is left out that matters.
    pub(crate) accesses: Vec<(u32, u32)>,
}

/// What is known of a location before anything is indexed.
#[derive(Clone, Copy, Debug)]
struct Summary {
    thread: ThreadId,
    shared: bool,
    written: bool,
    /// The last context and whether it wrote: it need not be looked at again.
    seen: (ContextId, bool),
    /// The locks that have protected every access.
    common: u32,
    root: Option<Root>,
    roots_differ: bool,
}

/// Sets of locks that shrink, interned.
struct Commons {
    known: FxHashMap<Vec<SyncId>, u32>,
    all: Vec<Vec<SyncId>>,
    met: FxHashMap<(u32, ContextId, bool), u32>,
}

impl Commons {
    fn new() -> Self {
        Self {
            known: FxHashMap::from_iter([(Vec::new(), 0)]),
            all: vec![Vec::new()],
            met: FxHashMap::default(),
        }
    }

    fn intern(&mut self, locks: Vec<SyncId>) -> u32 {
        let next = self.all.len() as u32;
        let id = *self.known.entry(locks.clone()).or_insert(next);
        if id == next {
            self.all.push(locks);
        }
        id
    }

    /// Locks that protect an access: a writer has to exclude others.
    fn protecting(contexts: &Contexts, context: ContextId, writes: bool) -> Vec<SyncId> {
        let protects = |mode: Mode| mode == Mode::Exclusive || !writes;
        let locks = contexts.locks(context);
        locks
            .filter(|(_, mode)| protects(*mode))
            .map(|(lock, _)| lock)
            .collect()
    }

    fn meet(&mut self, contexts: &Contexts, common: u32, context: ContextId, writes: bool) -> u32 {
        if common == 0 {
            return 0;
        }
        if let Some(&met) = self.met.get(&(common, context, writes)) {
            return met;
        }
        let mut locks = Self::protecting(contexts, context, writes);
        locks.retain(|lock| self.all[common as usize].contains(lock));
        let met = self.intern(locks);
        self.met.insert((common, context, writes), met);
        met
    }
}

/// How to index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) atomics: Atomics,
    pub(crate) regions: Regions,
    /// Keep locations that locks protect, or that are of one thread: some
    /// pattern can match them nevertheless.
    pub(crate) thorough: bool,
    /// Leave out locations that stay [sheltered](shelter), and what somebody does
    /// [alone](solitude) or with memory that is [new](novelty): no pattern can match them.
    pub(crate) sparing: bool,
    /// Keep every access of a region, not the first and last of each group.
    pub(crate) every_access: bool,
}

/// A trace with its indices.
#[derive(Debug)]
pub(crate) struct Index<'t> {
    pub(crate) trace: &'t Trace,
    pub(crate) order: OrderGraph,
    pub(crate) contexts: Contexts,
    /// By thread.
    pub(crate) nodes: Vec<Vec<Node>>,
    pub(crate) inner: Vec<(SyncId, Mode)>,
    pub(crate) semaphores: FxHashMap<SyncId, u64>,
    pub(crate) groups: Vec<Group>,
    /// By slot: its first group.
    heads: Vec<u32>,
    /// By slot: locks that protect every access.
    pub(crate) common: FxHashMap<u32, Vec<SyncId>>,
    pub(crate) regions: Vec<Region>,
}

impl<'t> Index<'t> {
    /// Indexes a trace.
    pub(crate) fn new(trace: &'t Trace, settings: &Settings) -> Self {
        let mut index = Self {
            trace,
            order: OrderGraph::default(),
            contexts: Contexts::default(),
            nodes: Vec::new(),
            inner: Vec::new(),
            semaphores: FxHashMap::default(),
            groups: Vec::new(),
            heads: Vec::new(),
            common: FxHashMap::default(),
            regions: Vec::new(),
        };
        let (summaries, commons, slots) = index.survey(settings);
        let interesting = |s: &Summary| {
            let common = &commons.all[s.common as usize];
            let guarded = match s.root {
                Some(Root::Lock(lock)) => !s.roots_differ && common.contains(&lock),
                _ => false,
            };
            settings.thorough || (s.shared && s.written && !guarded)
        };
        let mut interesting: Vec<bool> = summaries.iter().map(interesting).collect();
        if settings.sparing && !settings.thorough && interesting.contains(&true) {
            let common = |slot: u32| &commons.all[summaries[slot as usize].common as usize][..];
            interesting = index.unsheltered(settings, &slots, &interesting, &common);
        }
        for (slot, summary) in summaries.iter().enumerate() {
            if interesting[slot] && summary.common != 0 && !settings.thorough {
                let common = commons.all[summary.common as usize].clone();
                index.common.insert(slot as u32, common);
            }
        }
        drop(summaries);
        index.enter_accesses(settings, &slots, &interesting);
        index
    }

    /// The groups of a slot.
    pub(crate) fn at(&self, slot: u32) -> impl Iterator<Item = (u32, &Group)> + '_ {
        let mut next = self.heads[slot as usize];
        std::iter::from_fn(move || {
            let group = self.groups.get(next as usize)?;
            let id = std::mem::replace(&mut next, group.next);
            Some((id, group))
        })
    }

    /// All slots that have groups.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        let used = |&slot: &u32| self.heads[slot as usize] != NONE;
        (0..self.heads.len() as u32).filter(used)
    }

    /// Where an event is, as far as locks and order go.
    pub(crate) fn stand(&self, event: u32) -> Stand {
        let thread = self.trace.events[event as usize].thread;
        let nodes = &self.nodes[thread.index()];
        let passed = nodes.partition_point(|n| n.event < event);
        Stand {
            thread,
            passed: passed as u32,
            is_node: nodes.get(passed).is_some_and(|n| n.event == event),
        }
    }

    /// The locks a thread holds just before one of its events.
    pub(crate) fn context_before(&self, thread: ThreadId, event: u32) -> ContextId {
        let nodes = &self.nodes[thread.index()];
        let count = nodes.partition_point(|n| n.event < event);
        count
            .checked_sub(1)
            .map_or(ContextId::FREE, |i| nodes[i].context)
    }

    /// Pass one.
    fn survey(&mut self, settings: &Settings) -> (Vec<Summary>, Commons, Slots) {
        let trace = self.trace;
        let threads = threads(trace);
        let mut order = OrderBuilder::new(&trace.events, threads, settings.atomics);
        self.semaphores = order.semaphores();
        self.nodes = vec![Vec::new(); threads];
        let mut sections = vec![Sections::default(); threads];
        let mut regions = settings.regions.clone();
        let mut memory = Memory::new(trace.space);
        let mut solitude = Solitude::new(&trace.events, threads);
        let mut novelty = Novelty::new(trace, threads);
        let spares = settings.sparing && !settings.thorough;
        let mut commons = Commons::new();
        let mut summaries: Vec<Summary> = Vec::new();
        let mut slots = Slots::default();
        for (at, event) in trace.events.iter().enumerate() {
            let (at, t) = (at as u32, event.thread.index());
            let hears = order.hear(at, event);
            regions.step(event);
            let is_alone = solitude.step(at, event);
            let is_spared = spares
                && (is_alone || novelty.step(at, event) && regions.root(event.thread).is_none());
            let moment = order.moment(event.thread);
            let access = access_at(trace, at);
            if let Some(access) = access.filter(|_| !is_spared) {
                let context = sections[t].context;
                let root = regions.root(event.thread);
                for (word, mask) in memory.words(&access) {
                    let slot = memory.slot(word) as usize;
                    slots.push(at, slot as u32, mask);
                    if slot == summaries.len() {
                        let locks = Commons::protecting(&self.contexts, context, access.is_write);
                        summaries.push(Summary {
                            thread: event.thread,
                            shared: false,
                            written: access.is_write,
                            seen: (context, access.is_write),
                            common: commons.intern(locks),
                            root,
                            roots_differ: false,
                        });
                        continue;
                    }
                    let s = &mut summaries[slot];
                    s.shared |= s.thread != event.thread;
                    s.written |= access.is_write;
                    s.roots_differ |= s.root != root;
                    if s.seen != (context, access.is_write) {
                        s.seen = (context, access.is_write);
                        let common = s.common;
                        s.common = commons.meet(&self.contexts, common, context, access.is_write);
                    }
                }
            } else if access.is_none() {
                memory.renew(&event.op);
            }
            let act = self.lock_act(&mut sections[t], event);
            let tells = order.tell(at, event);
            let waits = matches!(event.op, Op::Wait { .. } | Op::Wake { .. });
            if hears || tells || waits || act != Act::None {
                self.push_node(
                    &mut sections[t],
                    event.thread,
                    Node {
                        event: at,
                        act,
                        hears,
                        context: ContextId::FREE,
                        moment,
                        release: NONE,
                        inner: (0, 0),
                    },
                );
            }
        }
        for sections in &mut sections {
            while let Some(open) = sections.open.pop() {
                self.close(open, NONE);
            }
        }
        self.order = order.finish();
        (summaries, commons, slots)
    }

    fn lock_act(&mut self, sections: &mut Sections, event: &Event) -> Act {
        let holding = &mut sections.holding;
        match event.op {
            Op::Acquire { lock, mode } if holding.take(lock, mode, 1) => Act::Acquire(lock, mode),
            Op::Release { lock, .. } if holding.give(lock) => Act::Release(lock),
            Op::Wait {
                lock: Some(lock), ..
            } => match holding.give_all(lock) {
                0 => Act::None,
                depth => {
                    sections.waiting_depth = depth;
                    Act::Release(lock)
                }
            },
            Op::Wake {
                lock: Some(lock), ..
            } => {
                let depth = std::mem::take(&mut sections.waiting_depth).max(1);
                match holding.take(lock, Mode::Exclusive, depth) {
                    true => Act::Acquire(lock, Mode::Exclusive),
                    false => Act::None,
                }
            }
            Op::SemWait { sem } => Act::Take(sem),
            Op::SemPost { sem } => Act::Post(sem),
            _ => Act::None,
        }
    }

    fn push_node(&mut self, sections: &mut Sections, thread: ThreadId, mut node: Node) {
        let number = self.nodes[thread.index()].len() as u32;
        match node.act {
            Act::Acquire(lock, mode) => {
                for open in &mut sections.open {
                    if !open.inner.contains(&(lock, mode)) {
                        open.inner.push((lock, mode));
                    }
                }
                sections.open.push(Open {
                    thread,
                    node: number,
                    lock,
                    inner: Vec::new(),
                });
            }
            Act::Release(lock) => {
                if let Some(at) = sections.open.iter().rposition(|open| open.lock == lock) {
                    let open = sections.open.remove(at);
                    self.close(open, number);
                }
            }
            _ => {}
        }
        if matches!(node.act, Act::Acquire(..) | Act::Release(_)) {
            sections.context = sections.holding.context(&mut self.contexts);
        }
        node.context = sections.context;
        self.nodes[thread.index()].push(node);
    }

    fn close(&mut self, open: Open, release: u32) {
        let from = self.inner.len() as u32;
        self.inner.extend(open.inner);
        let node = &mut self.nodes[open.thread.index()][open.node as usize];
        node.release = release;
        node.inner = (from, self.inner.len() as u32);
    }

    /// The last pass.
    fn enter_accesses(&mut self, settings: &Settings, slots: &Slots, interesting: &[bool]) {
        self.heads = vec![NONE; interesting.len()];
        if !interesting.contains(&true) {
            return;
        }
        let trace = self.trace;
        let mut regions = settings.regions.clone();
        let mut slots = slots.by_event();
        let mut passed = vec![0; self.nodes.len()];
        let mut open: Vec<Option<Region>> = vec![None; self.nodes.len()];
        let mut known: FxHashMap<Key, u32> = FxHashMap::default();
        for (at, event) in trace.events.iter().enumerate() {
            let (at, t) = (at as u32, event.thread.index());
            let region = regions.step(event);
            let Some(access) = event.op.access() else {
                continue;
            };
            for (slot, mask) in slots.of(at) {
                if !interesting[slot as usize] {
                    continue;
                }
                let nodes = &self.nodes[t];
                while passed[t] < nodes.len() && nodes[passed[t]].event < at {
                    passed[t] += 1;
                }
                let context = match passed[t] {
                    0 => ContextId::FREE,
                    n => nodes[n - 1].context,
                };
                let moment = self.order.moment(event.thread, at);
                let key = Key {
                    slot,
                    mask,
                    thread: event.thread,
                    site: event.site,
                    context,
                    kind: event.op.kind() as u8,
                };
                let group = *known.entry(key).or_insert_with_key(|key| {
                    let rmw = matches!(event.op, Op::AtomicRmw { .. });
                    self.groups.push(Group {
                        slot,
                        mask,
                        reads: rmw || !access.is_write,
                        writes: access.is_write,
                        atomic: access.is_atomic,
                        thread: key.thread,
                        site: key.site,
                        context,
                        spells: Vec::new(),
                        next: self.heads[slot as usize],
                    });
                    self.heads[slot as usize] = self.groups.len() as u32 - 1;
                    self.heads[slot as usize]
                });
                let spells = &mut self.groups[group as usize].spells;
                match spells.last_mut() {
                    Some(spell) if spell.moment == moment => spell.last = at,
                    _ => spells.push(Spell {
                        moment,
                        first: at,
                        last: at,
                    }),
                }
                let Some(id) = region else { continue };
                if open[t].as_ref().is_some_and(|r| r.id != id) {
                    self.end_region(open[t].take(), settings);
                }
                let region = open[t].get_or_insert_with(|| Region {
                    id,
                    thread: event.thread,
                    accesses: Vec::new(),
                });
                region.accesses.push((group, at));
            }
        }
        for region in open {
            self.end_region(region, settings);
        }
    }

    fn end_region(&mut self, region: Option<Region>, settings: &Settings) {
        let Some(mut region) = region else { return };
        if region.accesses.len() < 2 {
            return;
        }
        if !settings.every_access && region.accesses.len() > 8 {
            let mut ends: FxHashMap<u32, (u32, u32)> = FxHashMap::default();
            for &(group, at) in &region.accesses {
                ends.entry(group).or_insert((at, at)).1 = at;
            }
            region.accesses.retain(|(group, at)| {
                let (first, last) = ends[group];
                first == *at || last == *at
            });
        }
        region.accesses.shrink_to_fit();
        self.regions.push(region);
    }
}

/// What makes accesses one group.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    slot: u32,
    mask: u8,
    kind: u8,
    thread: ThreadId,
    site: SiteId,
    context: ContextId,
}

/// A thread's locks and critical sections during the first pass.
#[derive(Clone, Debug, Default)]
struct Sections {
    holding: Holding,
    context: ContextId,
    waiting_depth: u32,
    open: Vec<Open>,
}

#[derive(Clone, Debug)]
struct Open {
    thread: ThreadId,
    node: u32,
    lock: SyncId,
    inner: Vec<(SyncId, Mode)>,
}

/// The access of an event, unless it is part of an allocation: that counts as a write for
/// those who use the block without having it from who allocated it, but nobody else can come
/// to it before.
pub(crate) fn access_at(trace: &Trace, at: u32) -> Option<Access> {
    let event = &trace.events[at as usize];
    let access = event.op.access()?;
    let allocates = |before: &Event| {
        let Op::Alloc { loc, .. } = before.op else {
            return false;
        };
        loc == access.loc && before.thread == event.thread
    };
    let before = at
        .checked_sub(1)
        .map(|before| &trace.events[before as usize]);
    (!access.is_write || !before.is_some_and(allocates)).then_some(access)
}

/// Which slots and bytes the accesses of a trace are to, in its order.
#[derive(Debug, Default)]
struct Slots {
    all: Vec<(u32, u32, u8)>,
}

impl Slots {
    fn push(&mut self, at: u32, slot: u32, mask: u8) {
        self.all.push((at, slot, mask));
    }

    fn by_event(&self) -> SlotsByEvent<'_> {
        SlotsByEvent { left: &self.all }
    }
}

/// Goes through them, event by event.
struct SlotsByEvent<'s> {
    left: &'s [(u32, u32, u8)],
}

impl<'s> SlotsByEvent<'s> {
    /// Those of an event; earlier ones must have been asked for.
    fn of(&mut self, at: u32) -> impl Iterator<Item = (u32, u8)> + use<'s> {
        let count = self
            .left
            .iter()
            .take_while(|(event, ..)| *event == at)
            .count();
        let (these, left) = self.left.split_at(count);
        self.left = left;
        these.iter().map(|(_, slot, mask)| (*slot, *mask))
    }
}

/// How many threads a trace has, whatever its tables say.
fn threads(trace: &Trace) -> usize {
    let of = |event: &Event| match event.op {
        Op::Fork { child } | Op::Join { child } => event.thread.max(child).index() + 1,
        _ => event.thread.index() + 1,
    };
    let used = trace.events.iter().map(of).max().unwrap_or(0);
    used.max(trace.tables.threads.len())
}
