//! Epochs and vector clocks (acculock.txt §II-A, §II-B).
//!
//! A thread's clock counts its synchronisation operations. It starts at 1, so
//! that 0 can mean "never": an epoch with clock 0 precedes everything.

use std::fmt;

use racehound_trace::ThreadId;

const CLOCK_BITS: u32 = 40;

/// `c@t`: a moment in the life of one thread. Packs into a machine word with
/// room for 2^24 threads and 2^40 releases of each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Epoch(u64);

impl Epoch {
    /// Before everything.
    pub const NEVER: Self = Self(0);

    /// `clock@thread`.
    #[inline]
    pub fn new(thread: ThreadId, clock: u64) -> Self {
        debug_assert!(clock < 1 << CLOCK_BITS && thread.0 < 1 << (64 - CLOCK_BITS));
        Self(u64::from(thread.0) << CLOCK_BITS | clock)
    }

    /// Whose moment it is.
    #[inline]
    pub fn thread(self) -> ThreadId {
        ThreadId((self.0 >> CLOCK_BITS) as u32)
    }

    /// When it is.
    #[inline]
    pub fn clock(self) -> u64 {
        self.0 & ((1 << CLOCK_BITS) - 1)
    }

    /// The thread's moment that many ticks later.
    #[inline]
    pub fn after(self, ticks: u64) -> Self {
        Self(self.0 + ticks)
    }

    /// The word it packs into; adding to it is [`after`](Self::after).
    #[inline]
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The moment in a packed word.
    #[inline]
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{:?}", self.clock(), self.thread())
    }
}

/// A clock for each thread; threads beyond the end are at 0.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct VectorClock {
    clocks: Vec<u64>,
}

impl VectorClock {
    /// The clock of one thread.
    #[inline]
    pub fn get(&self, thread: ThreadId) -> u64 {
        // Whether a thread is beyond the end cannot be foreseen where locks do
        // not spread knowledge, so this is written to compile without a jump.
        let Some(end) = self.clocks.len().checked_sub(1) else {
            return 0;
        };
        let at = thread.index().min(end);
        let clock = self.clocks[at];
        std::hint::select_unpredictable(at == thread.index(), clock, 0)
    }

    /// `c@t ≼ self`: whether that moment is known here.
    #[inline]
    pub fn knows(&self, epoch: Epoch) -> bool {
        epoch.clock() <= self.get(epoch.thread())
    }

    /// Makes `epoch` known.
    #[inline]
    fn raise(&mut self, epoch: Epoch) {
        let index = epoch.thread().index();
        if index >= self.clocks.len() {
            self.clocks.resize(index + 1, 0);
        }
        self.clocks[index] = self.clocks[index].max(epoch.clock());
    }

    /// `self ⊔= other`.
    #[inline]
    pub fn join(&mut self, other: &Self) {
        if self.clocks.len() < other.clocks.len() {
            self.clocks.resize(other.clocks.len(), 0);
        }
        for (mine, theirs) in self.clocks.iter_mut().zip(&other.clocks) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.clocks.clear();
    }

    /// Whether nothing is known here.
    pub fn is_empty(&self) -> bool {
        self.clocks.is_empty()
    }
}

impl fmt::Debug for VectorClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.clocks).finish()
    }
}

/// A thread's own view of time: `C_t`.
///
/// The thread's own entry is `epoch` and not in `known`, which so has entries
/// only for threads that were heard of: a thousand threads that never talk to
/// each other need no space for each other.
#[derive(Clone, Debug)]
pub struct ThreadClock {
    epoch: Epoch,
    known: VectorClock,
}

impl ThreadClock {
    /// A thread that knows nobody yet.
    pub fn new(thread: ThreadId) -> Self {
        Self {
            epoch: Epoch::new(thread, 1),
            known: VectorClock::default(),
        }
    }

    /// `epoch(t)`.
    #[inline]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// `c@u ≼ C_t`.
    #[inline]
    pub fn knows(&self, epoch: Epoch) -> bool {
        let own = epoch.thread() == self.epoch.thread();
        let known = self.known.get(epoch.thread());
        epoch.clock() <= std::hint::select_unpredictable(own, self.epoch.clock(), known)
    }

    /// `C_t[t] += 1`.
    #[inline]
    pub fn tick(&mut self) {
        self.epoch = self.epoch.after(1);
    }

    /// Sets the time to another moment of the same thread, not before the last
    /// one that was told: a host may let time pass whenever something happens,
    /// and not only when threads synchronise.
    #[inline]
    pub fn set_epoch(&mut self, epoch: Epoch) {
        debug_assert_eq!(epoch.thread(), self.epoch.thread());
        self.epoch = epoch;
    }

    /// Whether that moment of another thread is known.
    #[inline]
    pub fn has_heard(&self, epoch: Epoch) -> bool {
        self.known.knows(epoch)
    }

    /// What is known of another thread.
    #[inline]
    pub fn heard_of(&self, other: ThreadId) -> u64 {
        self.known.get(other)
    }

    /// `C_t ⊔= other`. Nobody knows more of `t` than `t` itself.
    #[inline]
    pub fn learn(&mut self, other: &VectorClock) {
        self.known.join(other);
    }

    /// `C_t ⊔= C_u`.
    pub fn learn_from(&mut self, other: &Self) {
        self.known.join(&other.known);
        self.known.raise(other.epoch);
    }

    /// `to ⊔= C_t`.
    #[inline]
    pub fn tell(&self, to: &mut VectorClock) {
        to.join(&self.known);
        to.raise(self.epoch);
    }

    /// `to = C_t`.
    pub fn overwrite(&self, to: &mut VectorClock) {
        to.clocks.clone_from(&self.known.clocks);
        to.raise(self.epoch);
    }

    /// Forgets what was learnt.
    pub fn forget(&mut self) {
        self.known = VectorClock::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_pack_and_unpack() {
        let epoch = Epoch::new(ThreadId((1 << 24) - 1), (1 << 40) - 1);
        assert_eq!(epoch.thread(), ThreadId((1 << 24) - 1));
        assert_eq!(epoch.clock(), (1 << 40) - 1);
    }

    #[test]
    fn what_was_told_is_known() {
        let (mut a, mut b) = (ThreadClock::new(ThreadId(0)), ThreadClock::new(ThreadId(5)));
        assert!(b.knows(Epoch::NEVER) && b.knows(b.epoch()));
        assert!(!b.knows(a.epoch()));
        a.tick();
        let mut message = VectorClock::default();
        a.tell(&mut message);
        b.learn(&message);
        assert!(b.knows(a.epoch()));
        let before = a.epoch();
        a.tick();
        assert!(b.knows(before) && !b.knows(a.epoch()));
        b.learn_from(&a);
        assert!(b.knows(a.epoch()));
    }
}
