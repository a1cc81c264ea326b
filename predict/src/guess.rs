//! Regions that may be meant to be atomic, though nobody says so.
//!
//! A thread that takes a lock, gives it back and soon takes it again, to do something
//! else under it, may rely on nothing having changed in between: a value is read in one
//! critical section and written in the next, a pair is updated half by half. Critical
//! sections of one lock that follow upon each other are therefore guessed to be one
//! region, up to the one that begins as an earlier one did: that is the next round of a
//! loop. What the paper says ends a region (§4.1) ends this one as well.
//!
//! It is a guess: most such regions are meant to be as they are. What is predicted from
//! them is worth telling only if it does harm when it happens.

use racehound_trace::{Event, Loc, Op, SiteId, SyncId, Trace};

/// Critical sections that are taken for one region, at most.
const MOST_SECTIONS: usize = 4;
/// Events of the thread from one section to the next, at most.
const MOST_BETWEEN: usize = 64;

/// The trace, with the regions that may be meant marked in it.
pub fn with_guessed_regions(trace: &Trace) -> Trace {
    let mut threads: Vec<Thread> = Vec::new();
    let mut guesses = Vec::new();
    for (at, event) in trace.events.iter().enumerate() {
        let thread = event.thread.index();
        if threads.len() <= thread {
            threads.resize_with(thread + 1, Thread::default);
        }
        guesses.extend(threads[thread].step(at, event));
    }
    guesses.extend(threads.iter_mut().filter_map(Thread::end));
    marked(trace, &guesses)
}

/// What a thread is in, or was in last.
#[derive(Default)]
struct Thread {
    /// The locks that it holds.
    held: Vec<SyncId>,
    chain: Option<Chain>,
}

/// Sections of one lock that follow upon each other.
struct Chain {
    lock: SyncId,
    begin: usize,
    /// Where the last section ended, or what was last in it if it is open: who fails in it
    /// never leaves it.
    end: usize,
    /// How each section began: where and to what its first access was.
    begun: Vec<(SiteId, Loc)>,
    /// Events since.
    idle: usize,
    /// The last section is open, and nothing was accessed in it yet.
    is_fresh: bool,
    /// Where it began.
    opened: usize,
}

impl Thread {
    /// Looks at the thread's next event; a region that ended before it, if one did.
    fn step(&mut self, at: usize, event: &Event) -> Option<(usize, usize)> {
        let was_free = self.held.is_empty();
        match event.op {
            Op::Acquire { lock, .. } => {
                self.held.push(lock);
                was_free.then(|| self.opens(at, lock)).flatten()
            }
            Op::Release { lock, .. } => {
                if let Some(i) = self.held.iter().rposition(|held| *held == lock) {
                    self.held.remove(i);
                }
                let is_free = self.held.is_empty();
                if let Some(chain) = self.chain.as_mut().filter(|_| is_free) {
                    chain.end = at;
                    chain.idle = 0;
                }
                None
            }
            Op::Read { loc, .. } | Op::Write { loc, .. } => self.accesses(at, (event.site, loc)),
            _ if event.op.synchronises() => self.end(),
            _ => None,
        }
    }

    fn opens(&mut self, at: usize, lock: SyncId) -> Option<(usize, usize)> {
        let goes_on = |chain: &&mut Chain| {
            chain.lock == lock
                && chain.begun.len() < MOST_SECTIONS
                && chain.idle <= MOST_BETWEEN
                && !chain.is_fresh
        };
        if let Some(chain) = self.chain.as_mut().filter(goes_on) {
            (chain.is_fresh, chain.opened) = (true, at);
            return None;
        }
        let ended = self.end();
        self.chain = Some(Chain::begin(at, lock));
        ended
    }

    fn accesses(&mut self, at: usize, first: (SiteId, Loc)) -> Option<(usize, usize)> {
        let chain = self.chain.as_mut()?;
        if self.held.is_empty() {
            chain.idle += 1;
            return None;
        }
        let is_first = std::mem::take(&mut chain.is_fresh);
        if !is_first || !chain.begun.contains(&first) {
            if is_first {
                chain.begun.push(first);
            }
            chain.end = at;
            return None;
        }
        // The same again: the last section belongs to the next round.
        let next = Chain {
            begun: vec![first],
            end: at,
            is_fresh: false,
            ..Chain::begin(chain.opened, chain.lock)
        };
        std::mem::replace(chain, next).region()
    }

    fn end(&mut self) -> Option<(usize, usize)> {
        self.chain.take().and_then(Chain::region)
    }
}

impl Chain {
    fn begin(at: usize, lock: SyncId) -> Self {
        Self {
            lock,
            begin: at,
            end: at,
            begun: Vec::new(),
            idle: 0,
            is_fresh: true,
            opened: at,
        }
    }

    /// From its first event to its last, if there is more than one section.
    fn region(self) -> Option<(usize, usize)> {
        (self.begun.len() > 1 && self.end > self.begin).then_some((self.begin, self.end))
    }
}

/// The trace with marks before the first event of each region and behind its last.
fn marked(trace: &Trace, regions: &[(usize, usize)]) -> Trace {
    let mut marks: Vec<(usize, bool, Op)> = Vec::new();
    for &(begin, end) in regions {
        marks.push((begin, false, Op::RegionBegin));
        marks.push((end, true, Op::RegionEnd));
    }
    marks.sort_by_key(|(at, is_behind, _)| (*at, *is_behind));
    let mut marks = marks.into_iter().peekable();
    let mut events = Vec::with_capacity(trace.events.len() + 2 * regions.len());
    for (at, event) in trace.events.iter().enumerate() {
        let mark = |op| Event { op, ..*event };
        while let Some((_, _, op)) = marks.next_if(|m| m.0 == at && !m.1) {
            events.push(mark(op));
        }
        events.push(*event);
        while let Some((_, _, op)) = marks.next_if(|m| m.0 == at) {
            events.push(mark(op));
        }
    }
    Trace {
        space: trace.space,
        tables: trace.tables.clone(),
        events,
    }
}

#[cfg(test)]
mod tests {
    use racehound_trace::rapid;

    use super::*;
    use crate::pattern::Kind;
    use crate::{Options, predict};

    fn trace(text: &str) -> Trace {
        Trace::collect(rapid::Reader::new(text.as_bytes())).unwrap()
    }

    /// How many events are in each guessed region.
    fn guessed(text: &str) -> Vec<usize> {
        let trace = with_guessed_regions(&trace(text));
        let at = |op: Op| {
            let events = trace.events.iter().enumerate();
            events
                .filter(move |(_, e)| e.op == op)
                .map(|(at, _)| at)
                .collect::<Vec<_>>()
        };
        let (begins, ends) = (at(Op::RegionBegin), at(Op::RegionEnd));
        begins
            .iter()
            .zip(&ends)
            .map(|(begin, end)| end - begin - 1)
            .collect()
    }

    const READ: &str = "T|acq(l)|1\nT|r(x)|2\nT|rel(l)|3\n";
    const WRITE: &str = "T|acq(l)|4\nT|w(x)|5\nT|rel(l)|6\n";
    const OTHER: &str = "T|acq(m)|7\nT|w(y)|8\nT|rel(m)|9\n";

    #[test]
    fn sections_of_one_lock_that_follow_upon_each_other_are_a_region() {
        assert_eq!(guessed(&format!("{READ}{WRITE}")), [6]);
        assert_eq!(guessed(READ), [] as [usize; 0]);
        assert_eq!(guessed(&format!("{READ}{OTHER}")), [] as [usize; 0]);
        assert_eq!(guessed(&format!("{READ}T|w(z)|20\n{WRITE}")), [7]);
    }

    #[test]
    fn every_round_of_a_loop_is_one_of_its_own() {
        let round = format!("{READ}{WRITE}");
        assert_eq!(guessed(&round.repeat(3)), [6, 6, 6]);
        assert_eq!(guessed(&READ.repeat(3)), [] as [usize; 0]);
    }

    #[test]
    fn the_same_function_for_another_location_is_no_new_round() {
        let other = READ.replace('x', "y");
        assert_eq!(guessed(&format!("{READ}{other}")), [6]);
    }

    #[test]
    fn a_section_that_is_never_left_belongs_to_it_as_far_as_it_went() {
        let fails = WRITE.replace("T|rel(l)|6\n", "T|w(y)|7\n");
        assert_eq!(guessed(&format!("{READ}{fails}")), [6]);
        let waits = fails.replace("T|w(y)|7\n", "T|fork(U)|7\nT|w(y)|8\n");
        assert_eq!(guessed(&format!("{READ}{waits}")), [5]);
    }

    #[test]
    fn what_ends_a_region_ends_a_guess() {
        assert_eq!(
            guessed(&format!("{READ}T|fork(U)|10\n{WRITE}")),
            [] as [usize; 0]
        );
        let far = "T|w(z)|20\n".repeat(MOST_BETWEEN + 1);
        assert_eq!(guessed(&format!("{READ}{far}{WRITE}")), [] as [usize; 0]);
    }

    #[test]
    fn a_lost_update_and_a_torn_pair_are_predicted() {
        let update = |thread: &str| format!("{READ}{WRITE}").replace('T', thread);
        let lost = format!("{}{}", update("A"), update("B"));
        let torn = "A|acq(l)|1\nA|w(x)|2\nA|rel(l)|3\nA|acq(l)|4\nA|w(y)|5\nA|rel(l)|6\n\
                    B|acq(l)|7\nB|r(x)|8\nB|r(y)|9\nB|rel(l)|10\n";
        for (text, kind) in [(&*lost, Kind::Atomicity), (torn, Kind::AtomicSet)] {
            let plain = trace(text);
            assert!(predict(&plain, &Options::default()).predictions.is_empty());
            let guessed = with_guessed_regions(&plain);
            let forecast = predict(&guessed, &Options::default());
            let kinds: Vec<Kind> = forecast
                .predictions
                .iter()
                .map(|prediction| forecast.pattern(prediction).kind())
                .collect();
            assert!(kinds.contains(&kind), "{kinds:?}");
        }
    }
}
