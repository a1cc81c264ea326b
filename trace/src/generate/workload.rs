//! Program-like traces of any length.
//!
//! Main writes the read-only data, creates the workers, and joins them at the
//! end. Workers do one *task* after the other: a run of accesses to data of
//! their own, or a critical section (perhaps nested) on data guarded by the
//! innermost lock, with reads of the read-only data in between. Tasks are cut
//! into pieces by switches between threads, also inside critical sections.
//!
//! # Why there are no races but the planted ones
//! Data of a worker's own is touched by nobody else; guarded data only under
//! its lock; read-only data is written before the first fork. A planted race
//! is two accesses of two workers to a variable of its own, one right after the
//! other: nothing stands between them that could order them, so every
//! happens-before detector must report it. A planted *hidden* race puts a
//! release and an acquire of one lock between the two accesses: ordered in
//! this execution, not in others, which is what AccuLock is for.

use std::collections::VecDeque;

use crate::error::{Error, Result};
use crate::event::{Event, Mode, Op};
use crate::id::{Loc, SiteId, SyncId, ThreadId};
use crate::rng::Rng;
use crate::source::{BATCH, Source};
use crate::table::{Site, Space, Tables, Thread};

/// What to generate.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Determines everything else.
    pub seed: u64,
    /// About how many events; tasks are finished and threads joined after it.
    pub events: u64,
    /// Worker threads.
    pub threads: u32,
    /// Locks.
    pub locks: u32,
    /// Variables of all sorts, planted ones not counted.
    pub variables: u32,
    /// Share of reads among accesses, 0 to 1.
    pub read_ratio: f64,
    /// Share of accesses that go to data of several threads, 0 to 1.
    pub sharing: f64,
    /// Share of those that go to read-only data, 0 to 1.
    pub read_only: f64,
    /// Accesses in a critical section, on average.
    pub section: u32,
    /// Deepest nesting of locks.
    pub depth: u32,
    /// Events a thread runs until another one does, on average.
    pub burst: u32,
    /// Races that every happens-before detector sees.
    pub races: u32,
    /// Races that this interleaving hides from happens-before detectors.
    pub hidden_races: u32,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            seed: 1,
            events: 1_000_000,
            threads: 8,
            locks: 64,
            variables: 20_000,
            read_ratio: 0.8,
            sharing: 0.3,
            read_only: 0.5,
            section: 8,
            depth: 2,
            burst: 50,
            races: 0,
            hidden_races: 0,
        }
    }
}

/// A named workload.
pub struct Preset {
    /// What to call it.
    pub name: &'static str,
    /// What it imitates.
    pub about: &'static str,
    adjust: fn(&mut Workload),
}

/// The workloads that the benchmarks use, beginning with the default.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "default",
        about: "a bit of everything: 8 threads, 64 locks, 30 % shared accesses",
        adjust: |_| {},
    },
    Preset {
        name: "lock-heavy",
        about: "32 threads, short critical sections that update, hardly any work outside",
        adjust: |w| {
            w.sharing = 0.9;
            w.read_only = 0.1;
            w.read_ratio = 0.5;
            w.section = 2;
            w.depth = 1;
            w.threads = 32;
            w.locks = 64;
            w.variables = 2_000;
            w.burst = 20;
        },
    },
    Preset {
        name: "read-shared",
        about: "16 threads look things up in tables that nobody changes",
        adjust: |w| {
            w.threads = 16;
            w.sharing = 0.8;
            w.read_only = 0.9;
            w.read_ratio = 0.9;
        },
    },
    Preset {
        name: "local",
        about: "threads work on data of their own and seldom meet",
        adjust: |w| {
            w.sharing = 0.02;
            w.burst = 500;
        },
    },
    Preset {
        name: "many-threads",
        about: "64 threads, moderate sharing",
        adjust: |w| {
            w.threads = 64;
            w.locks = 256;
            w.variables = 50_000;
        },
    },
    Preset {
        name: "nested",
        about: "locks held four deep, write-mostly",
        adjust: |w| {
            w.depth = 4;
            w.section = 12;
            w.read_ratio = 0.4;
            w.sharing = 0.6;
        },
    },
    Preset {
        name: "large",
        about: "a million variables: the state does not fit the caches",
        adjust: |w| w.variables = 1_000_000,
    },
    Preset {
        name: "racy",
        about: "the default with 20 planted races and 20 hidden ones",
        adjust: |w| {
            w.races = 20;
            w.hidden_races = 20;
        },
    },
];

impl Preset {
    /// The preset of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|p| p.name == name)
    }

    /// Its workload, with the default seed and length.
    pub fn workload(&self) -> Workload {
        let mut workload = Workload::default();
        (self.adjust)(&mut workload);
        workload
    }
}

/// Sites in a piece of code; code runs from its first site to its last and
/// around again.
const SITES_PER_ROUTINE: u32 = 16;
const ROUTINES: u32 = 48;
/// Accesses in a run on data of the worker's own: a loop that goes over a few
/// variables several times, as loops do.
const RUN: u32 = 32;
const RUN_VARIABLES: u64 = 6;
/// Fields of the object that a critical section is about.
const FIELDS: u64 = 3;
/// Entries of a read-only table that a piece of code looks at.
const ENTRIES: u64 = 12;

/// Produces the events of a [`Workload`].
pub struct Generator {
    workload: Workload,
    rng: Rng,
    tables: Tables,
    workers: Vec<Worker>,
    /// Who holds each lock.
    owner: Vec<Option<usize>>,
    /// The worker running now, and for how many more events.
    running: (usize, u32),
    /// Races still to plant, each after this many events.
    plants: VecDeque<(u64, Plant)>,
    emitted: u64,
    phase: Phase,
    layout: Layout,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Start,
    Work,
    WindDown,
    Over,
}

#[derive(Clone, Copy)]
struct Plant {
    index: u64,
    hidden: bool,
}

/// Which variable is which: read-only ones first, then guarded ones (guarded
/// by lock `i mod locks`), then each worker's own, then the planted.
struct Layout {
    read_only: u64,
    guarded: u64,
    own: u64,
    planted: u64,
}

#[derive(Default)]
struct Worker {
    held: Vec<u32>,
    task: Task,
    routine: u32,
    step: u32,
}

#[derive(Default)]
enum Task {
    #[default]
    None,
    Own {
        base: u64,
        left: u32,
    },
    Section {
        object: u64,
        left: u32,
        deeper: u32,
    },
}

impl Generator {
    /// Checks the description and prepares.
    pub fn new(workload: Workload) -> Result<Self> {
        let w = &workload;
        for (name, value) in [
            ("read ratio", w.read_ratio),
            ("sharing", w.sharing),
            ("read-only share", w.read_only),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return Err(Error::Generate(format!(
                    "the {name} must be between 0 and 1, not {value}"
                )));
            }
        }
        for (name, value, most) in [
            ("threads", w.threads, 100_000),
            ("locks", w.locks, 10_000_000),
            ("variables", w.variables, 100_000_000),
            ("races", w.races, 1_000_000),
            ("hidden races", w.hidden_races, 1_000_000),
        ] {
            if value > most {
                return Err(Error::Generate(format!(
                    "at most {most} {name}, not {value}"
                )));
            }
        }
        let (threads, locks) = (w.threads, w.locks);
        if threads == 0 {
            return Err(Error::Generate("at least one thread is needed".into()));
        }
        let planted = u64::from(w.races) + u64::from(w.hidden_races);
        if planted > 0 && threads < 2 {
            return Err(Error::Generate("a race needs two threads".into()));
        }
        if locks == 0 && (w.sharing > 0.0 && w.read_only < 1.0 || w.hidden_races > 0) {
            return Err(Error::Generate(
                "shared data needs at least one lock: give --locks, or --sharing 0".into(),
            ));
        }
        let variables = u64::from(w.variables);
        let share = |part: f64| (variables as f64 * part) as u64;
        let read_only = share(0.2).max(1);
        let guarded = share(0.4).max(u64::from(locks.max(1)));
        let own = (share(0.4) / u64::from(threads)).max(1);
        let layout = Layout {
            read_only,
            guarded,
            own,
            planted: read_only + guarded + own * u64::from(threads),
        };

        let mut rng = Rng::new(w.seed);
        let mut plants: Vec<(u64, Plant)> = (0..planted)
            .map(|index| {
                let hidden = index >= u64::from(w.races);
                (rng.below(w.events.max(1)), Plant { index, hidden })
            })
            .collect();
        plants.sort_by_key(|(at, plant)| (*at, plant.index));

        Ok(Self {
            tables: tables(w, layout.planted + planted),
            workers: (0..threads).map(|_| Worker::default()).collect(),
            owner: vec![None; locks as usize],
            running: (0, 0),
            plants: plants.into(),
            emitted: 0,
            phase: Phase::Start,
            rng,
            layout,
            workload,
        })
    }

    fn thread_id(worker: usize) -> ThreadId {
        ThreadId::from_index(worker + 1)
    }

    fn emit(&mut self, batch: &mut Vec<Event>, thread: ThreadId, site: u32, op: Op) {
        let site = SiteId(site);
        batch.push(Event { thread, site, op });
        self.emitted += 1;
    }

    /// The next site of the worker's routine.
    fn site(&mut self, worker: usize) -> u32 {
        let w = &mut self.workers[worker];
        w.step = (w.step + 1) % SITES_PER_ROUTINE;
        w.routine * SITES_PER_ROUTINE + w.step
    }

    fn access(&mut self, batch: &mut Vec<Event>, worker: usize, variable: u64, write: bool) {
        let site = self.site(worker);
        let (loc, size) = (Loc(variable), 1);
        let op = match write {
            true => Op::Write { loc, size },
            false => Op::Read { loc, size },
        };
        self.emit(batch, Self::thread_id(worker), site, op);
    }

    fn start(&mut self, batch: &mut Vec<Event>) {
        let main = ThreadId(0);
        // In a short trace with much data, what is not written stays at its
        // initial value: it is read-only all the same.
        for variable in 0..self.layout.read_only.min(self.workload.events / 10) {
            let (loc, size) = (Loc(variable), 1);
            self.emit(batch, main, 0, Op::Write { loc, size });
        }
        for worker in 0..self.workers.len() {
            let child = Self::thread_id(worker);
            self.emit(batch, main, 1, Op::Fork { child });
        }
        self.phase = Phase::Work;
    }

    fn acquire(&mut self, batch: &mut Vec<Event>, worker: usize, lock: u32) {
        self.owner[lock as usize] = Some(worker);
        self.workers[worker].held.push(lock);
        let site = self.site(worker);
        let (lock, mode) = (SyncId(lock), Mode::Exclusive);
        self.emit(
            batch,
            Self::thread_id(worker),
            site,
            Op::Acquire { lock, mode },
        );
    }

    fn release(&mut self, batch: &mut Vec<Event>, worker: usize) {
        if let Some(lock) = self.workers[worker].held.pop() {
            self.owner[lock as usize] = None;
            let site = self.site(worker);
            let (lock, mode) = (SyncId(lock), Mode::Exclusive);
            self.emit(
                batch,
                Self::thread_id(worker),
                site,
                Op::Release { lock, mode },
            );
        }
    }

    /// A free lock above those held, so that locks always nest one way.
    fn free_lock(&mut self, worker: usize) -> Option<u32> {
        let held = self.workers[worker].held.last();
        let lowest = held.map_or(0, |&lock| u64::from(lock) + 1);
        let span = u64::from(self.workload.locks).checked_sub(lowest)?;
        if span == 0 {
            return None;
        }
        // A few tries: a contended lock would make the thread wait, and
        // another one is as good for our purpose.
        (0..4).find_map(|_| {
            let lock = lowest + self.rng.below(span);
            self.owner[lock as usize].is_none().then_some(lock as u32)
        })
    }

    fn begin_task(&mut self, batch: &mut Vec<Event>, worker: usize) {
        let w = &self.workload;
        let guarded_share = w.sharing * (1.0 - w.read_only);
        // A section has `section` guarded accesses, a run of own accesses has
        // RUN: choose so that the accesses come out in proportion.
        let (per_section, per_run) = (f64::from(w.section.max(1)), f64::from(RUN));
        let (a, b) = (guarded_share / per_section, (1.0 - guarded_share) / per_run);
        let section = self.rng.chance(a / (a + b));
        let depth = w.depth;
        let length = 1 + self.rng.below(u64::from(w.section.max(1)) * 2 - 1) as u32;
        self.workers[worker].routine = self.rng.below(u64::from(ROUTINES)) as u32 + 1;
        self.workers[worker].step = 0;
        if section && let Some(lock) = self.free_lock(worker) {
            self.acquire(batch, worker, lock);
            let deeper = match depth {
                0 | 1 => 0,
                _ => self.rng.below(u64::from(depth)) as u32,
            };
            self.workers[worker].task = Task::Section {
                object: self.rng.next_u64() >> 32,
                left: length,
                deeper,
            };
        } else {
            let base = self.rng.below(self.layout.own);
            self.workers[worker].task = Task::Own { base, left: RUN };
        }
    }

    /// A field of an object that the lock guards.
    fn guarded(&self, lock: u32, field: u64) -> u64 {
        let locks = u64::from(self.workload.locks);
        // Numbers below `guarded` that are `lock` modulo `locks`.
        let count = (self.layout.guarded - u64::from(lock)).div_ceil(locks);
        self.layout.read_only + u64::from(lock) + locks * (field % count)
    }

    /// An entry of the table that the worker's present code looks at.
    fn table_entry(&mut self, worker: usize) -> u64 {
        let table = u64::from(self.workers[worker].routine) * 97;
        (table + self.rng.below(ENTRIES)) % self.layout.read_only
    }

    fn work(&mut self, batch: &mut Vec<Event>, worker: usize) {
        let write = !self.rng.chance(self.workload.read_ratio);
        let read_only = self
            .rng
            .chance(self.workload.sharing * self.workload.read_only);
        let task = std::mem::take(&mut self.workers[worker].task);
        self.workers[worker].task = match task {
            Task::None => return self.begin_task(batch, worker),
            Task::Own { left: 0, .. } => Task::None,
            Task::Own { base, left } => {
                if read_only {
                    let variable = self.table_entry(worker);
                    self.access(batch, worker, variable, false);
                } else {
                    let at = (base + u64::from(left) % RUN_VARIABLES) % self.layout.own;
                    let first = self.layout.read_only + self.layout.guarded;
                    let variable = first + worker as u64 * self.layout.own + at;
                    self.access(batch, worker, variable, write);
                }
                let left = left - 1;
                Task::Own { base, left }
            }
            Task::Section {
                left: 0, object, ..
            } => {
                self.release(batch, worker);
                match self.workers[worker].held.is_empty() {
                    true => Task::None,
                    false => Task::Section {
                        object,
                        left: 0,
                        deeper: 0,
                    },
                }
            }
            Task::Section {
                object,
                left,
                deeper,
            } if deeper > 0 && self.rng.chance(0.5) => {
                let lock = self.free_lock(worker);
                if let Some(lock) = lock {
                    self.acquire(batch, worker, lock);
                }
                Task::Section {
                    object,
                    left,
                    deeper: lock.map_or(0, |_| deeper - 1),
                }
            }
            Task::Section {
                object,
                left,
                deeper,
            } => {
                let lock = *self.workers[worker].held.last().expect("in a section");
                let field = object + u64::from(left) % FIELDS;
                self.access(batch, worker, self.guarded(lock, field), write);
                Task::Section {
                    object,
                    left: left - 1,
                    deeper,
                }
            }
        };
    }

    fn plant(&mut self, batch: &mut Vec<Event>, plant: Plant) {
        let first = self.rng.index(self.workers.len());
        let second = (first + 1 + self.rng.index(self.workers.len() - 1)) % self.workers.len();
        let loc = Loc(self.layout.planted + plant.index);
        let site = (ROUTINES + 1) * SITES_PER_ROUTINE + 2 * plant.index as u32;
        let (one, two) = (Self::thread_id(first), Self::thread_id(second));
        self.emit(batch, one, site, Op::Write { loc, size: 1 });
        if plant.hidden {
            // The lock of its own that every hidden race brings along.
            let number = plant.index as u32 - self.workload.races;
            let lock = SyncId(self.workload.locks + number);
            let mode = Mode::Exclusive;
            for thread in [one, two] {
                self.emit(batch, thread, site, Op::Acquire { lock, mode });
                self.emit(batch, thread, site, Op::Release { lock, mode });
            }
        }
        let op = match self.rng.chance(0.5) {
            true => Op::Write { loc, size: 1 },
            false => Op::Read { loc, size: 1 },
        };
        self.emit(batch, two, site + 1, op);
    }

    fn step(&mut self, batch: &mut Vec<Event>) {
        if let Some(&(at, plant)) = self.plants.front()
            && (self.emitted >= at || self.phase == Phase::WindDown)
        {
            self.plants.pop_front();
            return self.plant(batch, plant);
        }
        if self.phase == Phase::Work && self.emitted >= self.workload.events {
            self.phase = Phase::WindDown;
        }
        if self.phase == Phase::WindDown {
            let busy = self.workers.iter().position(|w| !w.held.is_empty());
            match busy {
                Some(worker) => self.release(batch, worker),
                None => {
                    for worker in 0..self.workers.len() {
                        let child = Self::thread_id(worker);
                        self.emit(batch, ThreadId(0), 2, Op::Join { child });
                    }
                    self.phase = Phase::Over;
                }
            }
            return;
        }
        if self.running.1 == 0 {
            let worker = self.rng.index(self.workers.len());
            let burst = u64::from(self.workload.burst.max(1));
            self.running = (worker, 1 + self.rng.below(2 * burst - 1) as u32);
        }
        self.running.1 -= 1;
        self.work(batch, self.running.0);
    }
}

fn tables(workload: &Workload, variables: u64) -> Tables {
    let mut tables = Tables::default();
    for i in 0..workload.threads + 1 {
        tables.add_thread(Thread {
            parent: (i > 0).then_some(ThreadId(0)),
            ordinal: i,
            name: None,
        });
    }
    for i in 0..workload.locks {
        tables.add_sync(&format!("L{i}"));
    }
    for i in 0..workload.hidden_races {
        tables.add_sync(&format!("H{i}"));
    }
    for i in 0..variables {
        tables.add_variable(&format!("V{i}"));
    }
    let planted = 2 * (workload.races + workload.hidden_races);
    for i in 0..(ROUTINES + 1) * SITES_PER_ROUTINE + planted {
        let text = Some(tables.names.add(&i.to_string()));
        tables.add_site(Site {
            text,
            ..Site::default()
        });
    }
    tables
}

impl Source for Generator {
    fn space(&self) -> Space {
        Space::Names
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn next_batch(&mut self, batch: &mut Vec<Event>) -> Result<()> {
        batch.clear();
        if self.phase == Phase::Start {
            self.start(batch);
        }
        while batch.len() < BATCH && self.phase != Phase::Over {
            self.step(batch);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Trace;
    use crate::stat::Stats;

    #[test]
    fn presets_could_have_happened_and_are_what_they_say() {
        for preset in PRESETS {
            let mut workload = preset.workload();
            workload.events = 60_000;
            let (events, threads) = (workload.events, workload.threads as usize + 1);
            let stats = Stats::of(Generator::new(workload).unwrap()).unwrap();
            assert_eq!(stats.problem(), None, "{}", preset.name);
            assert!(stats.events >= events, "{}", preset.name);
            assert_eq!(stats.threads(), threads, "{}", preset.name);
        }
    }

    #[test]
    fn ratios_come_out_as_asked() {
        let workload = Workload {
            events: 200_000,
            variables: 5_000,
            read_ratio: 0.6,
            sharing: 0.5,
            read_only: 0.0,
            ..Workload::default()
        };
        let stats = Stats::of(Generator::new(workload).unwrap()).unwrap();
        let reads = stats.kind(crate::event::Kind::Read) as f64;
        let ratio = reads / stats.accesses() as f64;
        assert!((0.57..0.63).contains(&ratio), "{ratio}");
    }

    #[test]
    fn one_seed_one_trace() {
        let trace = |seed| {
            let workload = Workload {
                seed,
                events: 5_000,
                races: 3,
                hidden_races: 3,
                ..Workload::default()
            };
            Trace::collect(Generator::new(workload).unwrap()).unwrap()
        };
        assert_eq!(trace(7), trace(7));
        assert_ne!(trace(7).events, trace(8).events);
    }

    #[test]
    fn impossible_wishes_are_refused() {
        let refuse = |change: fn(&mut Workload)| {
            let mut workload = Workload::default();
            change(&mut workload);
            Generator::new(workload).err().unwrap().to_string()
        };
        assert!(refuse(|w| w.threads = 0).contains("at least one thread"));
        assert!(refuse(|w| w.read_ratio = 1.5).contains("between 0 and 1"));
        assert!(refuse(|w| w.locks = 0).contains("at least one lock"));
        assert!(
            refuse(|w| {
                w.threads = 1;
                w.races = 1;
            })
            .contains("two threads")
        );
    }
}
