//! The atomic region of each event (pecan.txt §4.1).
//!
//! Every critical section is an atomic region, whatever the mode of its lock,
//! and so is every region annotated in the program, and every execution of a
//! function that is said to be atomic. Fork, join, wait and notify are region
//! boundaries. Of several regions open at once an event belongs to the outermost.
//!
//! # Where the paper leaves room
//! * Re-entrant acquires are folded: only the first and the last of a lock
//!   open and close its section (§7 does the same when recording).
//! * Sections of different locks need not nest. The outermost is the one
//!   opened first of those still open; when it closes, the next one takes its
//!   place under its own id.
//! * A boundary belongs to no region. The sections around it stay open, and go
//!   on after it as new regions. A wait gives up its lock and has it back when
//!   it is over, so its section goes on, too, as a new region.
//! * Semaphores and barriers are not on the paper's list of boundaries, and are
//!   none here.

use racehound_trace::{Event, FunctionId, Op, SyncId};
use rustc_hash::FxHashSet;

/// One execution of one region by one thread: unique within a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId(pub u64);

/// Follows a trace and tells each event's region.
///
/// ```
/// use racehound_predict::regions::Regions;
/// use racehound_trace::{rapid, Trace};
///
/// let text = "T0|acq(l)|1\nT0|r(x)|2\nT0|rel(l)|3\nT0|r(x)|4\n";
/// let trace = Trace::collect(rapid::Reader::new(text.as_bytes()))?;
/// let mut regions = Regions::default();
/// let found: Vec<_> = trace.events.iter().map(|e| regions.step(e)).collect();
/// assert!(found[1].is_some() && found[1] == found[0] && found[1] == found[2]);
/// assert_eq!(found[3], None);
/// # Ok::<(), racehound_trace::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Regions {
    threads: Vec<Thread>,
    next: u64,
    /// Functions that are regions.
    atomic: FxHashSet<FunctionId>,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    /// What is open, outermost first.
    open: Vec<Section>,
    /// The functions that were entered and not left, as far as they are atomic.
    calls: Vec<Option<FunctionId>>,
}

/// What makes a region one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// This lock is held throughout.
    Lock(SyncId),
    /// The program says so.
    Annotation,
    /// It is an execution of this function, and the user says so.
    Function(FunctionId),
}

#[derive(Clone, Debug)]
struct Section {
    id: RegionId,
    root: Root,
    /// How often it was entered.
    depth: u32,
}

impl Regions {
    /// Regions of a trace in which these functions are atomic.
    pub fn with_functions(atomic: impl IntoIterator<Item = FunctionId>) -> Self {
        Self {
            atomic: atomic.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The region of the next event of the trace, if it is in one.
    pub fn step(&mut self, event: &Event) -> Option<RegionId> {
        let thread = event.thread.index();
        if self.threads.len() <= thread {
            self.threads.resize_with(thread + 1, Thread::default);
        }
        match event.op {
            Op::Acquire { lock, .. } => {
                self.enter(thread, Root::Lock(lock));
                self.outermost(thread)
            }
            Op::RegionBegin => {
                self.enter(thread, Root::Annotation);
                self.outermost(thread)
            }
            Op::Release { lock, .. } => {
                let region = self.outermost(thread);
                self.leave(thread, Root::Lock(lock));
                region
            }
            Op::RegionEnd => {
                let region = self.outermost(thread);
                self.leave(thread, Root::Annotation);
                region
            }
            Op::Call { function } if !self.atomic.is_empty() => {
                let atomic = self.atomic.get(&function).copied();
                self.threads[thread].calls.push(atomic);
                if let Some(function) = atomic {
                    self.enter(thread, Root::Function(function));
                }
                self.outermost(thread)
            }
            Op::Return if !self.atomic.is_empty() => {
                let region = self.outermost(thread);
                if let Some(Some(function)) = self.threads[thread].calls.pop() {
                    self.leave(thread, Root::Function(function));
                }
                region
            }
            Op::Fork { .. }
            | Op::Join { .. }
            | Op::Wait { .. }
            | Op::Wake { .. }
            | Op::NotifyOne { .. }
            | Op::NotifyAll { .. } => {
                for section in &mut self.threads[thread].open {
                    section.id = RegionId(self.next);
                    self.next += 1;
                }
                None
            }
            _ => self.outermost(thread),
        }
    }

    /// What makes the region in which a thread is now.
    pub fn root(&self, thread: racehound_trace::ThreadId) -> Option<Root> {
        let thread = self.threads.get(thread.index())?;
        thread.open.first().map(|section| section.root)
    }

    fn outermost(&self, thread: usize) -> Option<RegionId> {
        self.threads[thread].open.first().map(|section| section.id)
    }

    fn enter(&mut self, thread: usize, root: Root) {
        let open = &mut self.threads[thread].open;
        match open.iter_mut().find(|section| section.root == root) {
            Some(section) => section.depth += 1,
            None => {
                open.push(Section {
                    id: RegionId(self.next),
                    root,
                    depth: 1,
                });
                self.next += 1;
            }
        }
    }

    /// Leaving what was never entered is left to the trace checker.
    fn leave(&mut self, thread: usize, root: Root) {
        let open = &mut self.threads[thread].open;
        if let Some(i) = open.iter().position(|section| section.root == root) {
            open[i].depth -= 1;
            if open[i].depth == 0 {
                open.remove(i);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use racehound_trace::{Builder, Mode, Trace};

    use super::*;

    /// One thread's events, such as `acq l`, `r x`, `begin`, `wait c l`.
    fn trace(script: &str) -> Trace {
        let mut b = Builder::new();
        let t = b.thread("T");
        let child = b.thread("U");
        for step in script.split(';') {
            let words: Vec<_> = step.split_whitespace().collect();
            let mode = Mode::Exclusive;
            let op = match words[..] {
                ["acq", l] => Op::Acquire {
                    lock: b.sync(l),
                    mode,
                },
                ["rd", l] => Op::Acquire {
                    lock: b.sync(l),
                    mode: Mode::Shared,
                },
                ["rel", l] => Op::Release {
                    lock: b.sync(l),
                    mode,
                },
                ["r", x] => Op::Read {
                    loc: b.variable(x),
                    size: 1,
                },
                ["wait", c, l] => Op::Wait {
                    cond: b.sync(c),
                    lock: Some(b.sync(l)),
                },
                ["wake", c, l] => Op::Wake {
                    cond: b.sync(c),
                    lock: Some(b.sync(l)),
                    notified: true,
                },
                ["notify", c] => Op::NotifyAll { cond: b.sync(c) },
                ["fork"] => Op::Fork { child },
                ["call", f] => Op::Call {
                    function: FunctionId(u32::from(f == "atomic")),
                },
                ["return"] => Op::Return,
                ["begin"] => Op::RegionBegin,
                ["end"] => Op::RegionEnd,
                _ => panic!("{step}"),
            };
            b.push(t, step, op);
        }
        b.finish()
    }

    /// The regions of the reads, as letters in the order of first appearance,
    /// with `-` for none.
    fn reads(script: &str) -> String {
        let trace = trace(script);
        let mut regions = Regions::with_functions([FunctionId(1)]);
        let mut seen = Vec::new();
        let mut letters = String::new();
        for event in &trace.events {
            let region = regions.step(event);
            if event.op.access().is_none() {
                continue;
            }
            letters.push(match region {
                None => '-',
                Some(id) => {
                    if !seen.contains(&id) {
                        seen.push(id);
                    }
                    let index = seen.iter().position(|s| *s == id).unwrap();
                    char::from(b'a' + index as u8)
                }
            });
        }
        letters
    }

    #[test]
    fn a_critical_section_is_a_region_each_time() {
        assert_eq!(
            reads("r x; acq l; r x; r x; rel l; r x; rd l; r x"),
            "-aa-b"
        );
    }

    #[test]
    fn the_outermost_section_wins() {
        assert_eq!(
            reads("acq l; r x; acq m; r x; rel m; r x; rel l; r x"),
            "aaa-"
        );
    }

    #[test]
    fn hand_over_hand_moves_on_to_the_next_section() {
        assert_eq!(
            reads("acq l; r x; acq m; r x; rel l; r x; rel m; r x"),
            "aab-"
        );
    }

    #[test]
    fn re_entrant_locks_are_folded() {
        assert_eq!(
            reads("acq l; r x; acq l; r x; rel l; r x; rel l; r x"),
            "aaa-"
        );
    }

    #[test]
    fn annotated_regions_are_regions_and_nest() {
        assert_eq!(
            reads("begin; r x; begin; r x; end; acq l; r x; rel l; end; r x"),
            "aaa-"
        );
        assert_eq!(reads("acq l; begin; r x; rel l; r x; end; r x"), "ab-");
    }

    #[test]
    fn functions_that_are_said_to_be_atomic_are_regions() {
        assert_eq!(
            reads("call f; r x; call atomic; r x; call f; r x; return; r x; return; r x; return"),
            "-aaa-"
        );
        assert_eq!(
            reads("call atomic; r x; call atomic; r x; return; r x; return; r x"),
            "aaa-"
        );
    }

    #[test]
    fn fork_and_notify_cut_a_region() {
        assert_eq!(
            reads("acq l; r x; fork; r x; notify c; r x; rel l; r x"),
            "abc-"
        );
    }

    #[test]
    fn a_wait_cuts_a_region_and_its_lock_goes_on() {
        assert_eq!(
            reads("acq l; r x; wait c l; wake c l; r x; rel l; r x"),
            "ab-"
        );
        assert_eq!(
            reads("begin; acq l; r x; wait c l; wake c l; r x; rel l; r x; end; r x"),
            "abb-"
        );
    }

    #[test]
    fn regions_of_different_threads_differ() {
        let mut b = Builder::new();
        let (t, u, l, m) = (b.thread("T"), b.thread("U"), b.sync("l"), b.sync("m"));
        let mode = Mode::Exclusive;
        b.push(t, "1", Op::Acquire { lock: l, mode });
        b.push(u, "2", Op::Acquire { lock: m, mode });
        let trace = b.finish();
        let mut regions = Regions::default();
        let found: Vec<_> = trace.events.iter().map(|e| regions.step(e)).collect();
        assert_ne!(found[0], found[1]);
    }
}
