//! RaceFuzzer: a suspected race is made to happen (racefuzzer.txt §2.2,
//! Algorithms 1 and 2).
//!
//! # The idea
//! Threads run at random, except that one about to execute a statement of the
//! suspected pair is *postponed* until another thread stands at such a
//! statement, too, and the two accesses race: same memory, at least one write.
//! Then the race is a fact, both threads being able to go, and it is resolved
//! at random: either the one who arrived executes its statement or those that
//! were waiting for it do. If every enabled thread is postponed, one of them,
//! taken at random, goes.
//!
//! Switches happen before synchronisation operations and at the statements of
//! the pair only (§4): a thread about to do anything else goes on.
//!
//! # Invariants
//! * A [`Meeting`] is a race: both threads were enabled in one state, about to
//!   make conflicting accesses. There are no false alarms (§1).
//! * Everything random comes from the seed, so the seed alone replays a run
//!   (§2.2), unless a host [releases](Strategy::release) threads by the clock.
//! * Nobody waits for ever because of this strategy: who is postponed for more
//!   than [`patience`](RaceFuzzer::with_patience) steps is let go, and so is
//!   everybody else when one thread went on for that long.
//!
//! # Deviations
//! * Taken literally, Algorithm 1 has a thread that line 27 removed from
//!   `postponed` put back by line 21 when its turn comes, and does so for ever.
//!   As §3.1 tells it, such a thread executes its statement. So it does here,
//!   unless it meets somebody at last.
//! * Two atomic accesses do not race.
//! * A statement is a *set* of sites, since a source line has several; accesses
//!   overlap where the paper's are to one object. Who knows which access of the line
//!   is meant names only that one, as the paper's statements have one each.
//! * As in the paper, any two postponed statements may meet, also two threads
//!   at the same one of the pair. That is a race, though not the one asked for:
//!   [`Meeting::pair`] says so.
//! * [`Resolution`] can be other than random, to try both orders on purpose.
//! * Who sleeps is enabled in the paper. Here it wakes when somebody who is postponed
//!   would go otherwise; with every other seed, the odd ones, before that as well if it
//!   takes a nap, with some seeds sooner, with others later: what a thread does after that
//!   may have to come before all else. Where who is postponed holds a lock that others wait for, who has gone to sleep
//!   for long is mostly left alone: there the paper's algorithm lets the postponed one go,
//!   and the others come to the pair after that.
//!
//! # What is promised, and what is not
//! A pair is confirmed in every run if every run brings some thread to one of
//! the two statements while another can still get to the other one (§3.2). It
//! is confirmed with some probability if some sequence of the algorithm's
//! choices leads there, and over enough seeds then certainly. Some races no
//! sequence leads to:
//!
//! * Those behind *another* race: if a thread gets to its statement only after
//!   it has seen a value in between two plain accesses, a switch would be
//!   needed where there is none. The other race has to be confirmed first.
//! * Those that need a statement of the pair executed *before*, while somebody
//!   else could go on: who stands there is postponed, so everything else runs
//!   as far as it can first.

use std::collections::VecDeque;

use racehound_trace::{Rng, SiteId, ThreadId};

use crate::{Pending, Strategy, restless};

/// Meetings that are kept; a race in a hot loop has millions.
const MOST_MEETINGS: usize = 4_096;

/// How different the odd seeds are in how long they let threads sleep.
const RESTLESSNESS: u64 = 6;

/// Two statements suspected to race, each as all the sites it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The sites of one statement.
    pub first: Vec<SiteId>,
    /// The sites of the other one, which may be the same.
    pub second: Vec<SiteId>,
}

/// Which access of a race goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolution {
    /// Either, at random: Algorithm 1.
    #[default]
    Random,
    /// The one of [`Pair::first`]; of two threads at the same statement, the
    /// one that was there first.
    First,
    /// The one of [`Pair::second`].
    Second,
}

/// A race that stood open: two threads, both able to go, about to make
/// conflicting accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// At which step, counted from 0.
    pub step: u64,
    /// Who was waiting.
    pub postponed: Pending,
    /// Who came.
    pub arrived: Pending,
    /// Which of them went first.
    pub first: ThreadId,
    /// The index of the pair this confirms. `None` where the two are a race
    /// nobody asked for, such as two threads at the same statement of a pair.
    pub pair: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Postponed {
    thread: ThreadId,
    /// The step from which on it waits.
    since: u64,
}

/// Brings the statements of pairs together.
#[derive(Clone, Debug)]
pub struct RaceFuzzer {
    seed: u64,
    rng: Rng,
    pairs: Vec<Pair>,
    /// `RaceSet`: the sites of all pairs, sorted.
    race_set: Vec<SiteId>,
    resolution: Resolution,
    patience: u64,
    /// Steps so far.
    step: u64,
    /// Who went last, and since which step nobody else has.
    current: Option<(ThreadId, u64)>,
    /// In the order in which they were postponed.
    postponed: Vec<Postponed>,
    /// Lines 15–18: those of `R` that have yet to go.
    resolved: VecDeque<ThreadId>,
    /// No longer postponed, and next to go.
    released: VecDeque<ThreadId>,
    /// Has gone first, and goes on when nobody else can.
    hesitant: Option<ThreadId>,
    meetings: Vec<Meeting>,
}

impl RaceFuzzer {
    /// Steps for which somebody is kept waiting, unless told otherwise. Where
    /// only synchronisation is announced, these are some tenths of a second.
    pub const PATIENCE: u64 = 100_000;

    /// The run of this seed, with these suspects.
    pub fn new(seed: u64, pairs: Vec<Pair>) -> Self {
        let sides = pairs.iter().flat_map(|pair| [&pair.first, &pair.second]);
        let mut race_set: Vec<SiteId> = sides.flatten().copied().collect();
        race_set.sort_unstable();
        race_set.dedup();
        Self {
            seed,
            rng: Rng::new(seed),
            pairs,
            race_set,
            resolution: Resolution::default(),
            patience: Self::PATIENCE,
            step: 0,
            current: None,
            postponed: Vec::new(),
            resolved: VecDeque::new(),
            released: VecDeque::new(),
            hesitant: None,
            meetings: Vec::new(),
        }
    }

    /// Resolves races of the pairs this way.
    pub fn with_resolution(self, resolution: Resolution) -> Self {
        Self { resolution, ..self }
    }

    /// Keeps nobody waiting for more than so many steps, at least one.
    pub fn with_patience(self, steps: u64) -> Self {
        let patience = steps.max(1);
        Self { patience, ..self }
    }

    /// The threads postponed now, the one that waits longest first.
    pub fn postponed(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.postponed.iter().map(|p| p.thread)
    }

    fn in_race_set(&self, pending: &Pending) -> bool {
        let accesses = pending.op.is_some_and(|op| op.access().is_some());
        accesses && self.race_set.binary_search(&pending.site).is_ok()
    }

    /// Algorithm 1, from one execution of a statement to the next.
    fn choose(&mut self, enabled: &[Pending]) -> usize {
        let index_of = |thread| enabled.binary_search_by_key(&thread, |p| p.thread).ok();
        while let Some(thread) = self.resolved.pop_front() {
            if let Some(index) = index_of(thread) {
                return index;
            }
        }
        self.postponed.retain(|p| index_of(p.thread).is_some());
        self.let_go_of_the_overdue();
        if self.released.is_empty()
            && let Some(index) = self.goes_on(enabled)
        {
            return index;
        }
        loop {
            let (index, is_released) = self.candidate(enabled);
            let arrived = enabled[index];
            if !self.in_race_set(&arrived) {
                return index;
            }
            let racing = self.racing(&arrived, enabled);
            if racing.is_empty() {
                if is_released {
                    return index;
                }
                self.postpone(arrived.thread);
                continue;
            }
            let arrived_first = self.arrived_goes_first(&arrived, &racing);
            let goes = |thread| racing.iter().any(|p| p.thread == thread);
            if arrived_first {
                if self.hesitant.is_some() {
                    self.postponed.retain(|p| !goes(p.thread));
                    self.resolved.extend(racing.iter().map(|p| p.thread));
                }
                return index;
            }
            self.postponed.retain(|p| !goes(p.thread));
            self.resolved.extend(racing.iter().map(|p| p.thread));
            match self.hesitant {
                Some(_) => self.resolved.push_back(arrived.thread),
                None => self.postpone(arrived.thread),
            }
            let first = self.resolved.pop_front().and_then(index_of);
            return first.expect("who races is enabled");
        }
    }

    /// Line 5, and lines 26 and 27: somebody who is not postponed, at random,
    /// or else somebody who is; and whether its waiting is over.
    fn candidate(&mut self, enabled: &[Pending]) -> (usize, bool) {
        let index_of = |thread| enabled.binary_search_by_key(&thread, |p| p.thread).ok();
        while let Some(thread) = self.released.pop_front() {
            if let Some(index) = index_of(thread) {
                return (index, true);
            }
        }
        let waits = |thread| self.postponed.iter().any(|p| p.thread == thread);
        let free = |hesitant: Option<ThreadId>| -> Vec<usize> {
            let goes = |thread| !waits(thread) && hesitant != Some(thread);
            let all = 0..enabled.len();
            all.filter(|&index| goes(enabled[index].thread)).collect()
        };
        let mut candidates = free(self.hesitant);
        if candidates.is_empty() && self.hesitant.take().is_some() {
            candidates = free(None);
        }
        match self.rng.pick(&candidates) {
            Some(&index) => (index, false),
            None => {
                let lucky = self.rng.index(self.postponed.len());
                let thread = self.postponed.remove(lucky).thread;
                let index = index_of(thread).expect("only enabled threads stay postponed");
                (index, true)
            }
        }
    }

    /// Algorithm 2.
    fn racing(&self, arrived: &Pending, enabled: &[Pending]) -> Vec<Pending> {
        let stands = |p: &Postponed| enabled.iter().find(|e| e.thread == p.thread);
        let waiting = self.postponed.iter().filter_map(stands);
        waiting
            .filter(|waiting| waiting.races_with(arrived))
            .copied()
            .collect()
    }

    /// Lines 8–18: notes the races and resolves them.
    fn arrived_goes_first(&mut self, arrived: &Pending, racing: &[Pending]) -> bool {
        let confirmed = |postponed: &Pending| self.pair_of(postponed, arrived);
        let pairs: Vec<_> = racing.iter().map(confirmed).collect();
        let wanted = pairs.iter().flatten().next();
        let arrived_first = match (self.resolution, wanted) {
            (Resolution::First, Some((_, waiting_is_first))) => !waiting_is_first,
            (Resolution::Second, Some((_, waiting_is_first))) => *waiting_is_first,
            _ => self.rng.chance(0.5),
        };
        if self.hesitates() && wanted.is_some() && self.meetings.is_empty() {
            self.hesitant = Some(match arrived_first {
                true => arrived.thread,
                false => racing[0].thread,
            });
        }
        for (postponed, pair) in racing.iter().zip(pairs) {
            if self.meetings.len() == MOST_MEETINGS {
                break;
            }
            self.meetings.push(Meeting {
                step: self.step,
                postponed: *postponed,
                arrived: *arrived,
                first: match arrived_first {
                    true => arrived.thread,
                    false => postponed.thread,
                },
                pair: pair.map(|(index, _)| index),
            });
        }
        arrived_first
    }

    /// Whether who goes first waits right behind its access until nobody else can go: what
    /// it has published too early, or freed too early, is then used. Half of the seeds do
    /// so where an order was asked for; Algorithm 1 knows nothing of it.
    fn hesitates(&self) -> bool {
        self.resolution != Resolution::Random && self.seed.is_multiple_of(2)
    }

    /// The pair whose two statements these are, and whether the one who
    /// waited stands at its first.
    fn pair_of(&self, waiting: &Pending, arrived: &Pending) -> Option<(usize, bool)> {
        self.pairs.iter().enumerate().find_map(|(index, pair)| {
            let at = |side: &[SiteId], pending: &Pending| side.contains(&pending.site);
            if at(&pair.first, waiting) && at(&pair.second, arrived) {
                return Some((index, true));
            }
            let other_way = at(&pair.second, waiting) && at(&pair.first, arrived);
            other_way.then_some((index, false))
        })
    }

    fn postpone(&mut self, thread: ThreadId) {
        let since = self.step;
        self.postponed.push(Postponed { thread, since });
    }

    fn let_go_of_the_overdue(&mut self) {
        // Those who wait longest come first.
        while let Some(first) = self.postponed.first()
            && self.step - first.since > self.patience
        {
            self.released.push_back(first.thread);
            self.postponed.remove(0);
        }
    }

    /// Whether everybody stands at a statement of the race set, and nobody has met.
    fn all_stand(&self, enabled: &[Pending]) -> bool {
        let meets = |a: &Pending| enabled.iter().any(|b| a.races_with(b));
        enabled.iter().all(|p| self.in_race_set(p) && !meets(p))
    }

    /// The thread that went last, if there is no reason for a switch (§4).
    fn goes_on(&self, enabled: &[Pending]) -> Option<usize> {
        let (thread, since) = self.current.filter(|&(thread, _)| !self.stops(thread))?;
        let index = enabled.iter().position(|p| p.thread == thread)?;
        let at = &enabled[index];
        let switch = at.is_synchronisation() || self.in_race_set(at);
        (!switch && self.step - since <= self.patience).then_some(index)
    }
}

impl Strategy for RaceFuzzer {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        let index = self.choose(enabled);
        let thread = enabled[index].thread;
        let since = match self.current {
            Some((same, since)) if same == thread && self.step - since <= self.patience => since,
            _ => self.step,
        };
        self.current = Some((thread, since));
        self.step += 1;
        index
    }

    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        self.rng.index(waiters.len())
    }

    fn yields(&mut self, thread: ThreadId) {
        self.current = self.current.filter(|(current, _)| *current != thread);
    }

    /// Everybody stands at a statement of the race set, and nobody has met: who
    /// sleeps may yet come, while who is let go has missed them.
    fn awaits_sleepers(&self, enabled: &[Pending]) -> bool {
        let overdue = |p: &Postponed| self.step - p.since > self.patience;
        let somebody_goes = !self.resolved.is_empty()
            || !self.released.is_empty()
            || self.postponed.iter().any(overdue);
        // As probably as the others go, or half as probably, or a quarter: whoever has to
        // come in between may need more than a step.
        let of = (enabled.len() + 1) << (self.seed / 2 % RESTLESSNESS);
        let wakes = || restless::wakes(self.seed, self.step, enabled, of);
        let is_restless = self.seed % 2 == 1 && wakes();
        !somebody_goes && (is_restless || self.all_stand(enabled))
    }

    /// Restlessness is about naps. Who stands at its statement with a lock that others wait
    /// for keeps away those who are awake; whoever has gone to bed is waited for then in one
    /// case of eight.
    fn awaits_naps_only(&self, enabled: &[Pending], keeps_others: bool) -> bool {
        let for_once = || restless::wakes(self.seed ^ 1 << 32, self.step, enabled, 8);
        !self.all_stand(enabled) || keeps_others && !for_once()
    }

    fn stops(&self, thread: ThreadId) -> bool {
        self.hesitant == Some(thread)
    }

    fn held(&self) -> Vec<ThreadId> {
        self.postponed().collect()
    }

    fn release(&mut self, thread: ThreadId) {
        if let Some(index) = self.postponed.iter().position(|p| p.thread == thread) {
            self.postponed.remove(index);
            self.released.push_back(thread);
        }
    }

    fn watched(&self) -> &[SiteId] {
        &self.race_set
    }

    fn meetings(&self) -> &[Meeting] {
        &self.meetings
    }
}

#[cfg(test)]
mod tests {
    use racehound_trace::{Loc, Mode, Op, SyncId};

    use super::*;

    const A: SiteId = SiteId(10);
    const B: SiteId = SiteId(20);
    const ELSEWHERE: SiteId = SiteId(99);

    fn at(thread: u32, site: SiteId, op: Op) -> Pending {
        Pending {
            thread: ThreadId(thread),
            site,
            op: Some(op),
        }
    }

    fn read(loc: u64) -> Op {
        Op::Read {
            loc: Loc(loc),
            size: 4,
        }
    }

    fn write(loc: u64) -> Op {
        Op::Write {
            loc: Loc(loc),
            size: 4,
        }
    }

    fn acquire() -> Op {
        Op::Acquire {
            lock: SyncId(0),
            mode: Mode::Exclusive,
        }
    }

    fn fuzzer(seed: u64) -> RaceFuzzer {
        let pair = Pair {
            first: vec![A],
            second: vec![B],
        };
        RaceFuzzer::new(seed, vec![pair])
    }

    fn postponed(fuzzer: &RaceFuzzer) -> Vec<u32> {
        fuzzer.postponed().map(|t| t.0).collect()
    }

    #[test]
    fn who_sleeps_is_waited_for_as_long_as_nobody_else_can_be_met() {
        let mut fuzzer = fuzzer(2);
        let writes = at(0, A, write(7));
        let elsewhere = at(2, ELSEWHERE, acquire());
        assert!(fuzzer.awaits_sleepers(&[writes]));
        assert!(!fuzzer.awaits_sleepers(&[writes, elsewhere]));
        assert!(!fuzzer.awaits_sleepers(&[writes, at(1, B, read(7))]));
        assert!(fuzzer.awaits_sleepers(&[at(0, A, read(7)), at(1, B, read(7))]));
        while postponed(&fuzzer).is_empty() {
            fuzzer.pick(&[writes, elsewhere]);
        }
        fuzzer.release(ThreadId(0));
        assert!(!fuzzer.awaits_sleepers(&[writes]));
    }

    #[test]
    fn whoever_sleeps_for_long_is_rarely_waited_for_while_others_are_kept_away() {
        let stand = [at(0, A, write(7))];
        let elsewhere = [at(2, ELSEWHERE, acquire())];
        assert!(!fuzzer(2).awaits_naps_only(&stand, false));
        assert!(fuzzer(3).awaits_naps_only(&elsewhere, false));
        let naps_only = |seed: &u64| fuzzer(*seed).awaits_naps_only(&stand, true);
        let often = (0..1_000).filter(naps_only).count();
        assert!((800..950).contains(&often), "{often}");
    }

    #[test]
    fn with_odd_seeds_who_sleeps_wakes_at_any_time() {
        let enabled = [at(0, ELSEWHERE, acquire()), at(2, ELSEWHERE, acquire())];
        let woken = |seed: u64| {
            let mut fuzzer = fuzzer(seed);
            let mut wakes = || {
                fuzzer.pick(&enabled);
                fuzzer.awaits_sleepers(&enabled)
            };
            (0..1_000).filter(|_| wakes()).count()
        };
        assert_eq!(woken(4), 0);
        // As probably as each of the others goes, and half as probably with the next.
        assert!((270..400).contains(&woken(1)), "{}", woken(1));
        assert!((120..220).contains(&woken(3)), "{}", woken(3));
        let last = 2 * RESTLESSNESS - 1;
        assert!((1..40).contains(&woken(last)), "{}", woken(last));
    }

    #[test]
    fn two_at_the_pair_meet_and_either_goes() {
        let enabled = [at(1, A, write(0)), at(2, B, read(2))];
        let mut first = [0, 0];
        for seed in 0..400 {
            let mut fuzzer = fuzzer(seed);
            let index = fuzzer.pick(&enabled);
            let [meeting] = *fuzzer.meetings() else {
                panic!("seed {seed}: {:?}", fuzzer.meetings());
            };
            assert_eq!(meeting.pair, Some(0));
            assert_eq!(meeting.first, enabled[index].thread);
            assert_ne!(meeting.postponed.thread, meeting.arrived.thread);
            // The other one keeps waiting.
            assert_eq!(postponed(&fuzzer), [enabled[1 - index].thread.0]);
            first[index] += 1;
        }
        assert!(first.iter().all(|n| (150..250).contains(n)), "{first:?}");
    }

    #[test]
    fn other_memory_two_reads_and_two_atomics_do_not_meet() {
        let atomic = |loc| Op::AtomicStore {
            loc: Loc(loc),
            size: 4,
            order: racehound_trace::MemoryOrder::Relaxed,
        };
        for (a, b) in [
            (write(0), write(4)),
            (read(0), read(0)),
            (atomic(0), atomic(0)),
        ] {
            for seed in 0..20 {
                let mut fuzzer = fuzzer(seed);
                fuzzer.pick(&[at(1, A, a), at(2, B, b)]);
                assert_eq!(fuzzer.meetings(), []);
                // Both were postponed, and one let go.
                assert_eq!(fuzzer.postponed().count(), 1);
            }
        }
    }

    #[test]
    fn a_thread_at_the_pair_waits_while_others_can_go() {
        let mut fuzzer = fuzzer(3);
        for _ in 0..100 {
            let enabled = [at(1, A, write(0)), at(2, ELSEWHERE, acquire())];
            assert_eq!(fuzzer.pick(&enabled), 1);
        }
        assert_eq!(postponed(&fuzzer), [1]);
        assert_eq!(fuzzer.pick(&[at(1, A, write(0))]), 0);
        assert_eq!(postponed(&fuzzer), []);
    }

    #[test]
    fn when_all_wait_anyone_may_be_let_go_however_long_it_has_waited() {
        let mut let_go = [0, 0];
        for seed in 0..400 {
            let mut fuzzer = fuzzer(seed);
            while postponed(&fuzzer).is_empty() {
                fuzzer.pick(&[at(1, A, write(0)), at(2, ELSEWHERE, acquire())]);
            }
            let_go[fuzzer.pick(&[at(1, A, write(0)), at(2, B, write(8))])] += 1;
            assert_eq!(fuzzer.meetings(), []);
        }
        assert!(let_go.iter().all(|n| (150..250).contains(n)), "{let_go:?}");
    }

    #[test]
    fn there_is_no_switch_at_other_accesses() {
        for seed in 0..20 {
            let mut fuzzer = fuzzer(seed);
            let enabled = |one| [at(1, ELSEWHERE, one), at(2, ELSEWHERE, acquire())];
            while fuzzer.pick(&enabled(acquire())) != 0 {}
            for _ in 0..50 {
                assert_eq!(fuzzer.pick(&enabled(write(7))), 0);
            }
            fuzzer.yields(ThreadId(1));
            let mut picks = (0..50).map(|_| {
                fuzzer.yields(ThreadId(1));
                fuzzer.pick(&enabled(write(7)))
            });
            assert!(picks.any(|p| p == 1));
        }
    }

    #[test]
    fn all_readers_go_before_the_writer_or_after_it() {
        let enabled = [at(1, A, read(0)), at(2, A, read(0)), at(3, B, write(0))];
        let mut orders = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let mut fuzzer = fuzzer(seed);
            let picked = fuzzer.pick(&enabled);
            let waiting = fuzzer.meetings().len();
            // The readers that waited go one after the other, undisturbed.
            if picked < 2 && waiting == 2 {
                let rest = match picked {
                    0 => [at(1, ELSEWHERE, acquire()), enabled[1], enabled[2]],
                    _ => [enabled[0], at(2, ELSEWHERE, acquire()), enabled[2]],
                };
                assert_eq!(fuzzer.pick(&rest), 1 - picked);
                assert_eq!(postponed(&fuzzer), [3]);
            }
            orders.insert((picked, waiting));
        }
        assert!(
            orders.contains(&(2, 2)) && orders.contains(&(0, 2)),
            "{orders:?}"
        );
    }

    #[test]
    fn two_at_the_same_statement_are_a_race_but_not_the_pair() {
        let mut fuzzer = fuzzer(1);
        fuzzer.pick(&[at(1, A, write(0)), at(2, A, write(0))]);
        assert_eq!(fuzzer.meetings()[0].pair, None);
    }

    #[test]
    fn the_resolution_can_be_forced() {
        for (seed, resolution, expected) in
            (0..50).flat_map(|seed| [(seed, Resolution::First, 1), (seed, Resolution::Second, 0)])
        {
            let mut fuzzer = fuzzer(seed).with_resolution(resolution);
            let enabled = [at(1, B, write(0)), at(2, A, write(0))];
            assert_eq!(fuzzer.pick(&enabled), expected, "seed {seed}");
        }
    }

    #[test]
    fn the_monitor_and_patience_let_go_at_once() {
        let enabled = [at(1, A, write(0)), at(2, ELSEWHERE, write(9))];
        for seed in 0..20 {
            let mut by_hand = fuzzer(seed);
            while postponed(&by_hand).is_empty() {
                by_hand.yields(ThreadId(2));
                assert_eq!(by_hand.pick(&enabled), 1);
            }
            by_hand.release(ThreadId(2));
            by_hand.release(ThreadId(1));
            assert_eq!(by_hand.pick(&enabled), 0);

            let mut by_itself = fuzzer(seed).with_patience(30);
            let picks: Vec<_> = (0..2_000).map(|_| by_itself.pick(&enabled)).collect();
            assert!(picks.contains(&0), "seed {seed}");
        }
    }

    #[test]
    fn a_released_thread_that_meets_somebody_still_meets() {
        // A compare-and-swap that would fail is a load, until memory changes.
        let cas = |succeeds: bool| match succeeds {
            true => Op::AtomicRmw {
                loc: Loc(0),
                size: 4,
                order: racehound_trace::MemoryOrder::SeqCst,
            },
            false => Op::AtomicLoad {
                loc: Loc(0),
                size: 4,
                order: racehound_trace::MemoryOrder::SeqCst,
            },
        };
        let enabled = |cas, other| [at(1, A, cas), at(2, B, read(0)), other];
        let mut fuzzer = fuzzer(5);
        let busy = at(3, ELSEWHERE, acquire());
        while fuzzer.postponed().count() < 2 {
            assert_eq!(fuzzer.pick(&enabled(cas(false), busy)), 2);
        }
        assert_eq!(fuzzer.meetings(), []);
        fuzzer.pick(&enabled(cas(true), busy)[..2]);
        assert_eq!(fuzzer.meetings().len(), 1);
    }
}
