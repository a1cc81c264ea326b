//! DrFinder: hidden races are uncovered by reversing lock orders (drfinder.txt
//! §4 and §5, Algorithms 2 and 3).
//!
//! # The idea
//! Two accesses that are ordered only because one thread came first to a lock
//! are a race that a happens-before detector does not see. So whoever comes
//! first is made to come second: a thread that requests a lock is *suspended* if
//! another one, by the function it is in, may trigger an acquisition of a lock
//! of the same class, as earlier executions have told ([`Relations`]). That one
//! is *escorted*: it goes, and nobody else, until it has acquired such a lock.
//! Then the first resumes. What the schedule brings to light is for the detector
//! to see; this strategy reports nothing. The same run collects the relations
//! for the next one (§4.4).
//!
//! # How the pseudo-code was read
//! * Algorithm 3, line 33, draws `t` from all threads, though lines 43 and 55
//!   need the lock it requests: `t` is drawn from those that request one.
//! * Line 43 sets `allowedLK` to the lock of `t'`, which need not request any:
//!   the expected lock is that of `t`, as §5.3 says.
//! * Line 53 removes `t'` from the requesting ones, which line 46 has done; `t`
//!   is meant, and line 55 reads its lock before that.
//! * Line 36 draws the escorted thread from all others. One that is blocked
//!   cannot be escorted to anywhere, so it is drawn from those that can go.
//! * `getCurrentMethod(t')` in line 22 is the function in which `t'` stands,
//!   and no other of its stack (§4.3: the size of `s'` is 1).
//!
//! # Invariants
//! * Everything random comes from the seed.
//! * Nobody waits for ever because of this strategy: if only threads that wait
//!   for a lock on purpose could go, one of them goes, taken at random
//!   (*thrashing*, §5.4); and nobody is escorted, or waits for those who request
//!   nothing, for more than [`patience`](DrFinder::with_patience) steps; nor is a thread
//!   suspended more than `MOST_SUSPENSIONS` times at requests for locks of one class.
//! * Every suspension ends in a meeting, in thrashing, or with the execution.
//!
//! # Deviations
//! * Threads that do not request a lock go on until they do, where Algorithm 2
//!   draws from all that can go (line 8), and only then is one that requests a
//!   lock drawn. So it is known of everybody what it may trigger, nobody has yet
//!   to be forked, and switches, which are expensive, are few. For the order over
//!   locks, which is all that this strategy reverses, it makes no difference.
//! * Threads of which it is not known yet where they stand go first, and those
//!   about to enter or to leave a function: nobody stands between two functions.
//! * Draws are uniform in three runs of four, as the seed has it. In the others the
//!   thread that went last is likely to be drawn again, so that it gets far ahead
//!   where nothing is foreseen.
//! * A thread that sleeps is drawn like one that requests a lock, and can be
//!   escorted.
//! * Taking a lock back after a wait for a condition is a request like any
//!   other.
//! * A thread that spins is no longer escorted: it waits for somebody else.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use racehound_trace::event::Kind;
use racehound_trace::{FunctionId, Rng, SyncId, ThreadId};

use crate::{ClassId, Collector, Naming, Pending, Relations, Strategy};

/// Decisions that are kept.
const MOST_DECISIONS: usize = 4_096;

/// How likely it may be that the thread that went last is drawn again: in one run of
/// four, since who gets ahead comes to a lock first, and is the one to be suspended.
const PERSISTENCES: [f64; 4] = [0.0, 0.0, 0.0, 0.96875];

/// How often a thread sleeps on its way to a lock: more often is a loop.
const MOST_RESTS: u32 = 100;

/// How often a thread is suspended at requests for locks of one class. Who takes several locks
/// by trying, and gives back what it has if it does not get all (`std::lock`), would be held up
/// by another such thread for ever.
const MOST_SUSPENSIONS: u32 = 1_000;

/// Where a thread stands.
#[derive(Clone, Copy, Debug, Default)]
struct Stand {
    function: Option<FunctionId>,
    class: Option<ClassId>,
}

/// `allowedTH` and `allowedLK`.
#[derive(Clone, Copy, Debug)]
enum Allowed {
    Nobody,
    /// Lines 41–50: a thread is expected to acquire a lock of a class.
    Escorted(Escort),
    /// Lines 52–55: a thread is expected to acquire the lock it was suspended
    /// from.
    Resumed {
        thread: ThreadId,
        since: u64,
    },
}

#[derive(Clone, Copy, Debug)]
struct Escort {
    suspended: ThreadId,
    lock: SyncId,
    class: ClassId,
    escorted: ThreadId,
    since: u64,
    /// How often the escorted one has slept.
    rests: u32,
    thrashed: bool,
}

/// What the strategy did in one execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Relations that earlier executions have told.
    pub known: usize,
    /// Relations that only this one has told.
    pub new: usize,
    /// Threads suspended at a request.
    pub suspensions: u64,
    /// Escorted threads that came to acquire a lock of the class.
    pub met: u64,
    /// Those of them that acquired the very lock: the order of two acquisitions
    /// was reversed.
    pub reversed: u64,
    /// Suspensions during which nobody but suspended threads could go.
    pub thrashings: u64,
}

impl Statistics {
    /// The share of suspensions that led to thrashing (§6.3.1).
    pub fn thrashing_rate(&self) -> f64 {
        match self.suspensions {
            0 => 0.0,
            suspensions => self.thrashings as f64 / suspensions as f64,
        }
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} relations known, {} new; {} suspensions, {} escorts met, {} edges reversed, \
             thrashing rate {:.1} %",
            self.known,
            self.new,
            self.suspensions,
            self.met,
            self.reversed,
            100.0 * self.thrashing_rate()
        )
    }
}

/// A decision, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A thread was suspended, and another one escorted.
    Suspended {
        /// Who requested a lock,
        thread: ThreadId,
        /// in which function, if in any,
        at: Option<FunctionId>,
        /// of which class.
        class: ClassId,
        /// Who may acquire such a lock,
        escorted: ThreadId,
        /// because of the function it is in.
        inside: FunctionId,
    },
    /// The escorted thread acquires a lock of the class.
    Met {
        /// Who resumes.
        thread: ThreadId,
        /// Who acquires it.
        escorted: ThreadId,
        /// Whether it is the very lock.
        same_lock: bool,
    },
    /// Nobody but suspended threads could go, or the escorted one did not get
    /// anywhere.
    Thrashing {
        /// Who was suspended.
        thread: ThreadId,
        /// Who goes.
        goes: ThreadId,
    },
}

/// Reverses the orders in which threads come to locks.
#[derive(Clone, Debug)]
pub struct DrFinder {
    rng: Rng,
    /// How likely it is that the thread that went last is drawn again.
    persistence: f64,
    collector: Collector,
    patience: u64,
    step: u64,
    /// Who went last.
    current: Option<ThreadId>,
    /// The last step at which somebody got a lock, or nobody waited for one.
    granted: u64,
    stands: BTreeMap<ThreadId, Stand>,
    /// Threads that sleep.
    resting: BTreeSet<ThreadId>,
    allowed: Allowed,
    /// How often whom, and at requests for what.
    suspended: BTreeMap<(ThreadId, ClassId), u32>,
    statistics: Statistics,
    decisions: Vec<(u64, Decision)>,
}

impl DrFinder {
    /// Steps for which somebody is escorted at most, unless told otherwise.
    pub const PATIENCE: u64 = 10_000;

    /// The run of this seed, with what earlier ones have told.
    pub fn new(seed: u64, known: &Relations) -> Self {
        Self::with_collector(seed, Collector::new(known, Collector::DEPTH))
    }

    /// The same, with relations collected to another depth.
    pub fn with_collector(seed: u64, collector: Collector) -> Self {
        let mut rng = Rng::new(seed);
        let persistence = PERSISTENCES[rng.index(PERSISTENCES.len())];
        Self {
            rng,
            persistence,
            collector,
            patience: Self::PATIENCE,
            step: 0,
            current: None,
            granted: 0,
            stands: BTreeMap::new(),
            resting: BTreeSet::new(),
            allowed: Allowed::Nobody,
            suspended: BTreeMap::new(),
            statistics: Statistics::default(),
            decisions: Vec::new(),
        }
    }

    /// Escorts nobody for more than so many steps, at least one.
    pub fn with_patience(self, steps: u64) -> Self {
        let patience = steps.max(1);
        Self { patience, ..self }
    }

    /// The relations that this run has told so far.
    pub fn relations(&self) -> Relations {
        self.collector.relations()
    }

    /// Learns that this thread sleeps. It can go at any time, for how long
    /// somebody sleeps orders nothing, but it has no reason to go first.
    pub fn rests(&mut self, thread: ThreadId) {
        self.resting.insert(thread);
        if let Allowed::Escorted(escort) = &mut self.allowed
            && escort.escorted == thread
        {
            escort.rests += 1;
            if escort.rests > MOST_RESTS {
                let escort = *escort;
                self.give_up(&escort);
            }
        }
    }

    /// Those that it has added since this was called last.
    pub fn take_unsaved(&mut self) -> Relations {
        self.collector.take_unsaved()
    }

    /// What was done so far.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            known: self.collector.known(),
            new: self.collector.new_ones(),
            ..self.statistics
        }
    }

    /// The first few thousand decisions, each with its step, counted from 0.
    pub fn decisions(&self) -> &[(u64, Decision)] {
        &self.decisions
    }

    /// A decision in words.
    pub fn explain(&self, decision: &Decision, names: &impl Naming) -> String {
        let name = |thread: ThreadId| names.thread(thread);
        match *decision {
            Decision::Suspended {
                thread,
                at,
                class,
                escorted,
                inside,
            } => {
                let place = at.map_or_else(String::new, |function| {
                    format!(" in {}", self.collector.function_name(function))
                });
                format!(
                    "{} requests {}{place} and is suspended: {} is in {}, which may trigger that, \
                     and is escorted",
                    name(thread),
                    self.collector.class_name(class),
                    name(escorted),
                    self.collector.function_name(inside)
                )
            }
            Decision::Met {
                thread,
                escorted,
                same_lock,
            } => {
                let which = match same_lock {
                    true => "the very lock: the edge is reversed",
                    false => "another lock of the class",
                };
                format!(
                    "{} acquires {which}, {} resumes",
                    name(escorted),
                    name(thread)
                )
            }
            Decision::Thrashing { thread, goes } => format!(
                "thrashing while {} is suspended: {} goes",
                name(thread),
                name(goes)
            ),
        }
    }

    fn decide(&mut self, decision: Decision) {
        if self.decisions.len() < MOST_DECISIONS {
            self.decisions.push((self.step, decision));
        }
    }

    fn choose(&mut self, enabled: &[Pending]) -> usize {
        let index_of = |thread| enabled.binary_search_by_key(&thread, |p| p.thread).ok();
        let passes = |p: &Pending| matches!(p.kind(), Some(Kind::Call | Kind::Return));
        let newcomer = |p: &Pending| !self.stands.contains_key(&p.thread);
        if let Some(index) = enabled.iter().position(|p| newcomer(p) || passes(p)) {
            return index;
        }
        match self.allowed {
            Allowed::Escorted(escort) if self.step - escort.since > self.patience => {
                self.give_up(&escort);
            }
            Allowed::Resumed { since, .. } if self.step - since > self.patience => {
                self.allowed = Allowed::Nobody;
            }
            _ => {}
        }
        match self.allowed {
            Allowed::Nobody => match self.somebody_free(enabled) {
                Some(index) => index,
                None => self.request(enabled),
            },
            Allowed::Escorted(escort) => match index_of(escort.escorted) {
                Some(index) => index,
                None => self.somebody_free(enabled).unwrap_or_else(|| {
                    let lucky = self.rng.index(enabled.len());
                    self.thrash(escort, enabled[lucky].thread);
                    lucky
                }),
            },
            Allowed::Resumed { thread, .. } => match index_of(thread) {
                Some(index) => {
                    self.allowed = Allowed::Nobody;
                    index
                }
                None => self
                    .somebody_free(enabled)
                    .unwrap_or_else(|| self.rng.index(enabled.len())),
            },
        }
    }

    /// Algorithm 3, lines 33–55: one of those that request a lock, or sleep, is
    /// drawn, and goes or is suspended.
    fn request(&mut self, enabled: &[Pending]) -> usize {
        let last = |p: &Pending| Some(p.thread) == self.current;
        let again = enabled.iter().position(last);
        let again = again.filter(|_| self.rng.chance(self.persistence));
        let index = again.unwrap_or_else(|| self.rng.index(enabled.len()));
        let drawn = enabled[index];
        let stand = self.stands.get(&drawn.thread).copied().unwrap_or_default();
        let (Some(lock), Some(class)) = (drawn.requested(), stand.class) else {
            return index;
        };
        let inside = |p: &Pending| {
            let function = self.stands.get(&p.thread)?.function?;
            let triggers = p.thread != drawn.thread && self.collector.may_trigger(function, class);
            triggers.then_some(function)
        };
        let candidates: Vec<(usize, FunctionId)> = enabled
            .iter()
            .enumerate()
            .filter_map(|(index, p)| Some((index, inside(p)?)))
            .collect();
        let Some(&(chosen, inside)) = self.rng.pick(&candidates) else {
            return index;
        };
        let times = self.suspended.entry((drawn.thread, class)).or_default();
        if *times == MOST_SUSPENSIONS {
            return index;
        }
        *times += 1;
        let escorted = enabled[chosen].thread;
        self.statistics.suspensions += 1;
        self.decide(Decision::Suspended {
            thread: drawn.thread,
            at: stand.function,
            class,
            escorted,
            inside,
        });
        self.allowed = Allowed::Escorted(Escort {
            suspended: drawn.thread,
            lock,
            class,
            escorted,
            since: self.step,
            rests: 0,
            thrashed: false,
        });
        chosen
    }

    /// Somebody who neither requests a lock nor sleeps, the thread that went last
    /// if it can; nobody if those who request one have waited for long.
    fn somebody_free(&mut self, enabled: &[Pending]) -> Option<usize> {
        if self.step - self.granted > self.patience {
            return None;
        }
        let is_free = |index: &usize| {
            let Pending { thread, .. } = enabled[*index];
            enabled[*index].requested().is_none() && !self.resting.contains(&thread)
        };
        let free: Vec<usize> = (0..enabled.len()).filter(is_free).collect();
        let last = |index: &&usize| Some(enabled[**index].thread) == self.current;
        let goes_on = free.iter().find(last).copied();
        goes_on.or_else(|| self.rng.pick(&free).copied())
    }

    /// Only threads that wait on purpose could go: one of them does.
    fn thrash(&mut self, mut escort: Escort, goes: ThreadId) {
        if !escort.thrashed {
            escort.thrashed = true;
            self.statistics.thrashings += 1;
            let thread = escort.suspended;
            self.decide(Decision::Thrashing { thread, goes });
        }
        self.allowed = match goes == escort.suspended {
            true => Allowed::Nobody,
            false => Allowed::Escorted(escort),
        };
    }

    /// The escort does not get anywhere: the suspended thread is let go.
    fn give_up(&mut self, escort: &Escort) {
        self.thrash(*escort, escort.suspended);
        self.allowed = Allowed::Resumed {
            thread: escort.suspended,
            since: self.step,
        };
    }

    /// `lockAcquired`: what was picked will be done.
    fn acquires(&mut self, picked: &Pending) {
        let class = self.stands.get(&picked.thread).and_then(|s| s.class);
        let Allowed::Escorted(escort) = self.allowed else {
            return;
        };
        let Some(lock) = picked.requested() else {
            return;
        };
        if picked.thread != escort.escorted || class != Some(escort.class) {
            return;
        }
        let same_lock = lock == escort.lock;
        self.statistics.met += 1;
        self.statistics.reversed += u64::from(same_lock);
        self.decide(Decision::Met {
            thread: escort.suspended,
            escorted: escort.escorted,
            same_lock,
        });
        self.allowed = Allowed::Resumed {
            thread: escort.suspended,
            since: self.step,
        };
    }
}

impl Strategy for DrFinder {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        let index = self.choose(enabled);
        let picked = &enabled[index];
        self.acquires(picked);
        self.stands.entry(picked.thread).or_default();
        let waits = |p: &Pending| p.requested().is_some();
        if waits(picked) || !enabled.iter().any(waits) {
            self.granted = self.step;
        }
        self.resting.remove(&picked.thread);
        self.current = Some(picked.thread);
        self.step += 1;
        index
    }

    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        self.rng.index(waiters.len())
    }

    fn yields(&mut self, thread: ThreadId) {
        self.current = self.current.filter(|current| *current != thread);
        if let Allowed::Escorted(escort) = self.allowed
            && escort.escorted == thread
        {
            self.give_up(&escort);
        }
    }

    fn release(&mut self, thread: ThreadId) {
        if let Allowed::Escorted(escort) = self.allowed
            && escort.suspended == thread
        {
            self.give_up(&escort);
        }
    }

    fn stack_depth(&self) -> usize {
        self.collector.depth()
    }

    fn name_function(&mut self, function: FunctionId, name: &str) {
        self.collector.name_function(function, name);
    }

    fn name_class(&mut self, class: ClassId, name: &str) {
        self.collector.name_class(class, name);
    }

    fn stands(&mut self, thread: ThreadId, functions: &[FunctionId], class: Option<ClassId>) {
        let function = functions.first().copied();
        self.stands.insert(thread, Stand { function, class });
        if let Some(class) = class {
            self.collector.acquires(functions, class);
        }
    }
}

#[cfg(test)]
mod tests {
    use racehound_trace::{Mode, Op, SiteId};

    use super::*;
    use crate::testing::Numbers;

    /// A thread at a request for a lock, or at something else.
    fn at(thread: u32, lock: Option<u32>) -> Pending {
        Pending {
            thread: ThreadId(thread),
            site: SiteId(thread),
            op: lock.map(|lock| Op::Acquire {
                lock: SyncId(lock),
                mode: Mode::Exclusive,
            }),
        }
    }

    /// Functions 1, 2 and 3; locks 10 and 11 are of class 1. Function 2 may
    /// trigger it.
    fn finder(seed: u64) -> DrFinder {
        let mut relations = Relations::default();
        relations.add("f2", "k");
        let mut finder = DrFinder::new(seed, &relations);
        for function in 1..=3 {
            finder.name_function(FunctionId(function), &format!("f{function}"));
        }
        finder.name_class(ClassId(1), "k");
        for thread in 1..=3 {
            finder.stands(ThreadId(thread), &[FunctionId(thread)], None);
        }
        finder
    }

    fn requests(finder: &mut DrFinder, thread: u32) {
        let function = FunctionId(thread);
        finder.stands(ThreadId(thread), &[function], Some(ClassId(1)));
    }

    /// A run in which thread 1 requests lock 10 and is drawn while thread 2,
    /// which requests another one, can go.
    fn suspending() -> DrFinder {
        let enabled = [at(1, Some(10)), at(2, Some(20))];
        let finders = (0..).map(|seed| {
            let mut finder = finder(seed);
            finder.name_class(ClassId(2), "other");
            requests(&mut finder, 1);
            finder.stands(ThreadId(2), &[FunctionId(2)], Some(ClassId(2)));
            assert_eq!(finder.pick(&enabled), 1, "thread 2 goes in any case");
            finder.stands(ThreadId(2), &[FunctionId(2)], None);
            finder
        });
        let mut suspending = finders.filter(|finder| finder.statistics().suspensions == 1);
        suspending.next().expect("some seed draws it")
    }

    #[test]
    fn who_comes_first_comes_second() {
        let mut finder = suspending();
        let enabled = [at(1, Some(10)), at(2, None), at(3, None)];
        for _ in 0..5 {
            assert_eq!(finder.pick(&enabled), 1, "thread 2 is escorted");
        }
        requests(&mut finder, 2);
        let enabled = [at(1, Some(10)), at(2, Some(10)), at(3, None)];
        assert_eq!(finder.pick(&enabled), 1);
        // Thread 2 has the lock, so thread 1 cannot go, and nobody else gets one.
        assert_eq!(finder.pick(&[at(2, None), at(3, Some(11))]), 0);
        assert_eq!(finder.pick(&[at(1, Some(10)), at(2, None), at(3, None)]), 0);
        let log: Vec<String> = finder
            .decisions()
            .iter()
            .map(|(_, decision)| finder.explain(decision, &Numbers))
            .collect();
        assert_eq!(
            log,
            [
                "1 requests k in f1 and is suspended: 2 is in f2, which may trigger that, and is \
                 escorted",
                "2 acquires the very lock: the edge is reversed, 1 resumes",
            ]
        );
        let statistics = finder.statistics();
        assert_eq!((statistics.met, statistics.reversed), (1, 1));
        assert_eq!((statistics.known, statistics.new), (1, 2));
        assert_eq!(statistics.thrashing_rate(), 0.0);
    }

    #[test]
    fn another_lock_of_the_class_meets_but_reverses_nothing() {
        let mut finder = suspending();
        requests(&mut finder, 2);
        finder.pick(&[at(1, Some(10)), at(2, Some(11))]);
        let statistics = finder.statistics();
        assert_eq!((statistics.met, statistics.reversed), (1, 0));
    }

    #[test]
    fn only_requests_are_suspended_and_only_for_those_who_may_trigger() {
        for seed in 0..50 {
            let mut finder = finder(seed);
            requests(&mut finder, 2);
            assert_ne!(finder.pick(&[at(1, None), at(2, Some(10)), at(3, None)]), 1);
            assert_eq!(finder.pick(&[at(2, Some(10))]), 0);
            requests(&mut finder, 3);
            finder.pick(&[at(1, Some(12)), at(3, Some(10))]);
            assert_eq!(finder.statistics().suspensions, 0, "seed {seed}");
        }
    }

    #[test]
    fn thrashing_is_broken_at_random_and_counted_once() {
        let mut first = [0, 0];
        for _ in 0..200 {
            let mut finder = suspending();
            finder.rng = Rng::new(first[0] + 31 * first[1]);
            requests(&mut finder, 3);
            // Thread 2 is blocked, and the others both request a lock.
            let enabled = [at(1, Some(10)), at(3, Some(11))];
            first[finder.pick(&enabled)] += 1;
            finder.pick(&enabled);
            let statistics = finder.statistics();
            assert_eq!((statistics.suspensions, statistics.thrashings), (1, 1));
        }
        assert!(first.iter().all(|n| (60..140).contains(n)), "{first:?}");
    }

    #[test]
    fn while_the_escorted_one_is_blocked_those_go_who_request_nothing() {
        let mut finder = suspending();
        for _ in 0..20 {
            assert_eq!(finder.pick(&[at(1, Some(10)), at(3, None)]), 1);
        }
        assert_eq!(finder.statistics().thrashings, 0);
    }

    #[test]
    fn who_gives_back_what_it_has_gets_two_locks_in_the_end() {
        /// What a thread of `std::lock` does next.
        #[derive(Clone, Copy, PartialEq)]
        enum Next {
            Takes,
            Tries,
            GivesBack,
            Ended,
        }
        let function = &[FunctionId(2)];
        for seed in 0..20 {
            let mut finder = finder(seed);
            let mut next = [Next::Takes; 2];
            let mut steps = 0;
            while next.iter().all(|next| *next != Next::Ended) {
                let mut enabled = Vec::new();
                for (i, next) in (0..).zip(next) {
                    let lock = match next {
                        Next::Takes => Some(10 + i),
                        Next::Tries => Some(11 - i),
                        _ => None,
                    };
                    finder.stands(ThreadId(1 + i), function, lock.map(|_| ClassId(1)));
                    enabled.push(at(1 + i, lock));
                }
                let thread = finder.pick(&enabled);
                let is_free = next[1 - thread] == Next::Takes;
                next[thread] = match next[thread] {
                    Next::Takes => Next::Tries,
                    Next::Tries if is_free => Next::Ended,
                    Next::Tries => Next::GivesBack,
                    _ => Next::Takes,
                };
                steps += 1;
                assert!(steps < 100_000, "seed {seed}");
            }
        }
    }

    #[test]
    fn nobody_is_escorted_for_ever() {
        let mut finder = suspending().with_patience(10);
        let enabled = [at(1, Some(10)), at(2, None)];
        assert!((0..1_000).any(|_| finder.pick(&enabled) == 0));
        assert!(finder.statistics().thrashings > 0);
        let mut finder = suspending();
        finder.yields(ThreadId(2));
        assert_eq!(finder.statistics().thrashings, 1);
        let mut finder = suspending();
        finder.release(ThreadId(1));
        assert_eq!(finder.statistics().thrashings, 1);
    }

    #[test]
    fn who_sleeps_can_be_escorted_and_goes_no_sooner_than_others() {
        let mut went = [0, 0];
        for seed in 0..100 {
            let mut finder = finder(seed);
            requests(&mut finder, 1);
            finder.rests(ThreadId(2));
            finder.rests(ThreadId(3));
            let enabled = [at(1, Some(10)), at(2, None), at(3, None)];
            match finder.pick(&enabled) {
                0 => panic!("thread 1 is suspended for thread 2"),
                index => went[index - 1] += 1,
            }
            assert_eq!(
                finder.pick(&[at(1, Some(20)), at(4, None)]),
                1,
                "it does not sleep"
            );
        }
        assert!(went[0] > 55 && went[1] > 20, "{went:?}");
    }

    #[test]
    fn newcomers_go_first() {
        for seed in 0..50 {
            let mut finder = finder(seed);
            requests(&mut finder, 1);
            let enabled = [at(1, Some(10)), at(2, None), at(7, None)];
            assert_eq!(finder.pick(&enabled), 2);
        }
    }
}
