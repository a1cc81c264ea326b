//! The pairs that have met in the last executions, shared by all processes that run
//! the program now.
//!
//! A history is an array of words in memory that processes share: a file, mapped.
//! Every change is one atomic operation on one word that takes it from one sound
//! state to another. So nobody waits, nothing is lost that two processes do at the
//! same time, and a process that is killed leaves no damage and all that it has
//! noted. What a process sees is noted when it sees it, not when it ends.
//!
//! # Executions
//! Each gets a number when it begins. When it ends, or when a later one finds that
//! its process is no more, it counts among the last. A pair remembers by a bit for
//! each of the last [`WINDOW`] executions whether it met there. It is *n-frequent*
//! (atexrace.txt §4.4) if it met in each of the last n that had ended when the
//! current one began. In a suite that runs many processes at once these are the last
//! n to end; one after the other, they are the paper's: the last n.
//!
//! # Size
//! It is fixed. A pair that met in none of the last executions gives its place to
//! another. If that does not suffice, pairs are not remembered: they are sampled
//! again, which costs time and no race.
//!
//! # Functions
//! What a function is called is expensive to find out, so where it lies in which
//! build of its module is remembered with it. Builds that are gone give way to new ones.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Function, Pair, mix};

/// Executions that a pair remembers.
pub const WINDOW: u32 = 16;

/// Says what it is, and in which version.
const MAGIC: u64 = u64::from_le_bytes(*b"RHPAIRS\x01");

const AT_MAGIC: usize = 0;
/// Executions begun so far.
const AT_BEGUN: usize = 1;
/// Executions ended so far.
const AT_ENDED: usize = 2;
/// Pairs for which there was no room, ever.
const AT_REFUSED: usize = 3;
/// The numbers of those that ended last, plus one.
const AT_LAST: usize = 64;
const LAST: usize = 64;
/// Who is at it: the number plus one above, the process below; 0 is nobody.
const AT_ACTIVE: usize = AT_LAST + LAST;
const ACTIVE: usize = 384;
const AT_FUNCTIONS: usize = AT_ACTIVE + ACTIVE;
const FUNCTIONS: usize = 1 << 15;
const AT_PAIRS: usize = AT_FUNCTIONS + 2 * FUNCTIONS;
const PAIRS: usize = 1 << 16;

/// Words in a history.
pub const WORDS: usize = AT_PAIRS + 2 * PAIRS;

/// Bytes in its file.
pub const BYTES: u64 = (WORDS * size_of::<u64>()) as u64;

/// Whether a shorter file, which begins like that, was to become a history: who was about to
/// make it was killed, or there was no room.
pub fn is_unfinished(bytes: u64, first: &[u8]) -> bool {
    bytes < BYTES && first.iter().take(8).all(|&byte| byte == 0)
}

/// Places that are tried for an entry.
const PROBES: usize = 128;

/// Not a history, or one of another version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(
            "this is no history of pairs, or one of another version of Racehound; \
             remove it to begin anew",
        )
    }
}

impl std::error::Error for Damaged {}

/// A history in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct History<'a> {
    words: &'a [AtomicU64],
}

/// What a pair remembers: one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairRecord {
    /// The last execution that it met in.
    pub last: u32,
    /// Bit `i` is set if it met in execution `last - i`.
    pub met: u16,
    /// How often it has met, modulo 2¹⁶.
    pub calls: u16,
}

impl PairRecord {
    const NEVER: Self = Self {
        last: 0,
        met: 0,
        calls: 0,
    };

    fn from_word(word: u64) -> Self {
        Self {
            last: (word >> 32) as u32,
            met: (word >> 16) as u16,
            calls: word as u16,
        }
    }

    fn to_word(self) -> u64 {
        u64::from(self.last) << 32 | u64::from(self.met) << 16 | u64::from(self.calls)
    }

    /// Whether it met in that execution, as far as it remembers.
    pub fn met_in(self, execution: u32) -> bool {
        match self.last.checked_sub(execution) {
            Some(ago) if ago < WINDOW => self.met >> ago & 1 == 1,
            _ => false,
        }
    }

    /// After it has met in an execution, so many more times.
    fn after(self, execution: u32, calls: u32) -> Self {
        let mut now = self;
        if self.met == 0 || execution.saturating_sub(self.last) >= WINDOW {
            now = Self {
                last: execution,
                ..Self::NEVER
            };
        } else if execution > self.last {
            now.met <<= execution - self.last;
            now.last = execution;
        }
        if let Some(ago) = now.last.checked_sub(execution).filter(|&ago| ago < WINDOW) {
            now.met |= 1 << ago;
        }
        now.calls = now.calls.wrapping_add(calls as u16);
        now
    }

    /// Whether nobody would miss it.
    fn is_stale(self, now: u32) -> bool {
        now.saturating_sub(self.last) >= WINDOW
    }
}

/// An execution that the history knows of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Its number.
    pub number: u32,
    /// The last that ended before it began, as many as a pair has to have met in;
    /// none if there were fewer.
    pub last: Option<Vec<u32>>,
}

/// A history in figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Executions that have begun.
    pub begun: u32,
    /// Executions that have ended.
    pub ended: u32,
    /// Pairs that are remembered.
    pub pairs: usize,
    /// Those of them that met in each of the last executions.
    pub frequent: usize,
    /// Functions that are known by where they are.
    pub functions: usize,
    /// How often there was no room for a pair.
    pub refused: u64,
}

impl<'a> History<'a> {
    /// The history in these words, which is a new one if all of them are 0.
    pub fn over(words: &'a [AtomicU64]) -> Result<Self, Damaged> {
        let words = words.get(..WORDS).ok_or(Damaged)?;
        let magic = &words[AT_MAGIC];
        match magic.compare_exchange(0, MAGIC, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) | Err(MAGIC) => Ok(Self { words }),
            Err(_) => Err(Damaged),
        }
    }

    /// Begins an execution in a process, and tells those that are over from those
    /// that go on. Pairs will have to have met in each of the last `frequency`.
    pub fn begin(self, process: u32, frequency: u32, goes_on: impl Fn(u32) -> bool) -> Execution {
        for slot in self.active() {
            let word = slot.load(Ordering::Acquire);
            let other = word as u32;
            let is_over = word != 0 && (other == process || !goes_on(other));
            if is_over
                && Self::take(slot, word)
                && let Some(number) = ((word >> 32) as u32).checked_sub(1)
            {
                self.ended(number);
            }
        }
        let last = self.last(frequency);
        let begun = self.words[AT_BEGUN].fetch_add(1, Ordering::AcqRel);
        let number = Self::number(begun);
        let mark = (u64::from(number) + 1) << 32 | u64::from(process);
        for slot in self.active() {
            if slot
                .compare_exchange(0, mark, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
            {
                break;
            }
        }
        Execution { number, last }
    }

    /// The number of an execution before which so many have begun.
    fn number(begun: u64) -> u32 {
        // Clear of both ends of the range.
        (begun % (u64::from(u32::MAX) - 1)) as u32
    }

    /// Ends an execution.
    pub fn end(self, execution: u32) {
        let mark = u64::from(execution) + 1;
        for slot in self.active() {
            let word = slot.load(Ordering::Acquire);
            if word >> 32 == mark && !Self::take(slot, word) {
                // Somebody has ended it for us.
                return;
            }
        }
        self.ended(execution);
    }

    fn active(self) -> &'a [AtomicU64] {
        &self.words[AT_ACTIVE..][..ACTIVE]
    }

    fn take(slot: &AtomicU64, word: u64) -> bool {
        slot.compare_exchange(word, 0, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    fn ended(self, execution: u32) {
        let position = self.words[AT_ENDED].fetch_add(1, Ordering::AcqRel) as usize;
        let mark = u64::from(execution) + 1;
        self.words[AT_LAST + position % LAST].store(mark, Ordering::Release);
    }

    /// The executions that ended last, the latest first; none if there were fewer.
    fn last(self, count: u32) -> Option<Vec<u32>> {
        let ended = self.words[AT_ENDED].load(Ordering::Acquire) as usize;
        let count = count as usize;
        if count > ended.min(LAST) {
            return None;
        }
        let number = |i: usize| {
            let mark = self.words[AT_LAST + (ended - i) % LAST].load(Ordering::Acquire);
            (mark as u32).checked_sub(1)
        };
        (1..=count).map(number).collect()
    }

    /// Whether a pair met in each of these executions, and how often ever.
    pub fn recall(self, pair: Pair, last: &[u32]) -> Option<u32> {
        let slot = self.find(pair)?;
        let record = PairRecord::from_word(slot.load(Ordering::Acquire));
        let frequent = last.iter().all(|&execution| record.met_in(execution));
        frequent.then(|| u32::from(record.calls))
    }

    /// A pair has met in an execution, so many more times. False if there is no room
    /// for it.
    pub fn note(self, pair: Pair, execution: u32, calls: u32) -> bool {
        let slot = match self.find(pair) {
            Some(slot) => Some(slot),
            None => self.room(pair, execution),
        };
        let Some(slot) = slot else {
            self.words[AT_REFUSED].fetch_add(1, Ordering::Relaxed);
            return false;
        };
        let more = |word| {
            Some(
                PairRecord::from_word(word)
                    .after(execution, calls)
                    .to_word(),
            )
        };
        let changed = slot.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        changed.is_ok()
    }

    /// Where a pair's record is.
    fn find(self, pair: Pair) -> Option<&'a AtomicU64> {
        for at in probes(AT_PAIRS, PAIRS, pair.key()) {
            match self.words[at].load(Ordering::Acquire) {
                0 => return None,
                key if key == pair.key() => return Some(&self.words[at + 1]),
                _ => {}
            }
        }
        None
    }

    /// Makes room for a pair: where there is none yet, or one that nobody would miss.
    /// A pair that two processes make room for at the same time may come to have two
    /// records, of which the first counts.
    fn room(self, pair: Pair, now: u32) -> Option<&'a AtomicU64> {
        for at in probes(AT_PAIRS, PAIRS, pair.key()) {
            let (key, record) = (&self.words[at], &self.words[at + 1]);
            let current = key.load(Ordering::Acquire);
            let old = PairRecord::from_word(record.load(Ordering::Acquire));
            if current != 0 && !(old.met != 0 && old.is_stale(now)) {
                continue;
            }
            match key.compare_exchange(current, pair.key(), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(record),
                Err(key) if key == pair.key() => return Some(record),
                Err(_) => {}
            }
        }
        None
    }

    /// The function at a place in a build of a module: both are in `place`, spread.
    pub fn function(self, place: u64) -> Option<Function> {
        let place = place.max(1);
        for at in probes(AT_FUNCTIONS, FUNCTIONS, place) {
            match self.words[at].load(Ordering::Acquire) {
                0 => return None,
                key if key == place => {
                    let function = self.words[at + 1].load(Ordering::Acquire);
                    // Who has found it may not have come to say which it is.
                    return (function != 0).then_some(Function(function));
                }
                _ => {}
            }
        }
        None
    }

    /// Remembers which function is there. Where there is no room, another one is forgotten:
    /// most of them are in builds that are gone.
    pub fn set_function(self, place: u64, function: Function) {
        let place = place.max(1);
        for at in probes(AT_FUNCTIONS, FUNCTIONS, place) {
            let key = &self.words[at];
            let found = key.compare_exchange(0, place, Ordering::AcqRel, Ordering::Acquire);
            if found.is_ok() || found == Err(place) {
                // Everybody finds the same.
                self.words[at + 1].store(function.0, Ordering::Release);
                return;
            }
        }
        let chosen = mix(place ^ function.0) as usize % PROBES;
        if let Some(at) = probes(AT_FUNCTIONS, FUNCTIONS, place).nth(chosen) {
            let (key, named) = (&self.words[at], &self.words[at + 1]);
            let old = key.load(Ordering::Acquire);
            // Who looks for either meanwhile finds that nobody has said yet which it is.
            named.store(0, Ordering::Release);
            let taken = key.compare_exchange(old, place, Ordering::AcqRel, Ordering::Acquire);
            if taken.is_ok() {
                named.store(function.0, Ordering::Release);
            }
        }
    }

    /// All pairs that met in one of the last executions.
    pub fn pairs(self) -> impl Iterator<Item = (Pair, PairRecord)> + 'a {
        let now = self.words[AT_BEGUN].load(Ordering::Acquire) as u32;
        let entries = self.words[AT_PAIRS..][..2 * PAIRS].chunks_exact(2);
        entries.filter_map(move |entry| {
            let pair = Pair::from_key(entry[0].load(Ordering::Acquire))?;
            let record = PairRecord::from_word(entry[1].load(Ordering::Acquire));
            (record.met != 0 && !record.is_stale(now)).then_some((pair, record))
        })
    }

    /// The history in figures; frequent is what met in each of the last so many
    /// executions.
    pub fn summary(self, frequency: u32) -> Summary {
        let last = self.last(frequency);
        let is_frequent = |record: PairRecord| {
            last.as_ref()
                .is_some_and(|last| last.iter().all(|&number| record.met_in(number)))
        };
        let mut summary = Summary {
            begun: self.words[AT_BEGUN].load(Ordering::Acquire) as u32,
            ended: self.words[AT_ENDED].load(Ordering::Acquire) as u32,
            refused: self.words[AT_REFUSED].load(Ordering::Acquire),
            functions: self.functions().count(),
            ..Summary::default()
        };
        for (_, record) in self.pairs() {
            summary.pairs += 1;
            summary.frequent += usize::from(is_frequent(record));
        }
        summary
    }

    fn functions(self) -> impl Iterator<Item = (u64, Function)> + 'a {
        let entries = self.words[AT_FUNCTIONS..][..2 * FUNCTIONS].chunks_exact(2);
        entries.filter_map(|entry| {
            let (place, function) = (
                entry[0].load(Ordering::Acquire),
                entry[1].load(Ordering::Acquire),
            );
            (place != 0 && function != 0).then_some((place, Function(function)))
        })
    }

    /// Adds what another history has. The last executions of both are laid on each
    /// other, the latest on the latest, and count as the last from now on: what was
    /// frequent in either is so in both. What was merged before changes nothing.
    pub fn merge(self, other: History) {
        for (place, function) in other.functions() {
            self.set_function(place, function);
        }
        let (ours, theirs) = (self.latest(), other.latest());
        if self.has_all_of(&ours, other, &theirs) {
            return;
        }
        let known: Vec<_> = self.pairs().collect();
        let fresh = ours.len().max(theirs.len());
        let fresh = fresh as u64;
        let first = self.words[AT_BEGUN].fetch_add(fresh, Ordering::AcqRel);
        let fresh: Vec<u32> = (0..fresh)
            .rev()
            .map(|i| Self::number(first.wrapping_add(i)))
            .collect();
        // The earliest first, so that none is forgotten over a later one.
        for (i, &number) in fresh.iter().enumerate().rev() {
            let met = |records: &[(Pair, PairRecord)], executions: &[u32], with_calls: bool| {
                let Some(&execution) = executions.get(i) else {
                    return;
                };
                for (pair, record) in records.iter().filter(|(_, r)| r.met_in(execution)) {
                    // They come along once.
                    let calls = match with_calls && record.last == execution {
                        true => u32::from(record.calls),
                        false => 0,
                    };
                    self.note(*pair, number, calls);
                }
            };
            met(&known, &ours, false);
            met(&other.pairs().collect::<Vec<_>>(), &theirs, true);
            self.ended(number);
        }
    }

    /// Whether laying the other's last executions on our own would add nothing.
    fn has_all_of(self, ours: &[u32], other: History, theirs: &[u32]) -> bool {
        let known: HashMap<u64, PairRecord> = self
            .pairs()
            .map(|(pair, record)| (pair.key(), record))
            .collect();
        let is_known = |(pair, record): (Pair, PairRecord)| {
            let known = known.get(&pair.key());
            theirs.iter().enumerate().all(|(i, &execution)| {
                let met = known
                    .zip(ours.get(i))
                    .is_some_and(|(k, &our)| k.met_in(our));
                met || !record.met_in(execution)
            })
        };
        theirs.len() <= ours.len() && other.pairs().all(is_known)
    }

    /// The executions that pairs may remember, the latest first.
    fn latest(self) -> Vec<u32> {
        let ended = self.words[AT_ENDED].load(Ordering::Acquire);
        self.last(ended.min(u64::from(WINDOW)) as u32)
            .unwrap_or_default()
    }
}

/// The places to be tried for a key in a table of pairs of words.
fn probes(table: usize, size: usize, key: u64) -> impl Iterator<Item = usize> {
    let start = mix(key) as usize;
    (0..PROBES).map(move |i| table + 2 * ((start + i) % size))
}
