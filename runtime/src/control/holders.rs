//! Who holds which lock, and who may have it next.
//!
//! A read lock goes to whoever asks while nobody writes, unless the lock prefers
//! writers: then nobody begins to read while somebody waits to write, not even who
//! reads already. So a thread that reads twice and a writer that comes in between
//! wait for each other for ever. The C library has such locks
//! (`PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`); its others let readers in.
//!
//! # Invariants
//! * Only of locks that prefer writers is it known who waits to write.
//! * A lock that nobody holds or waits for in that way is not kept.

use racehound_trace::Mode;
use rustc_hash::FxHashMap;

/// Who holds a lock.
#[derive(Default)]
pub(super) struct Holders {
    pub(super) owner: Option<u32>,
    depth: u32,
    /// One entry for each time a thread holds it for reading.
    pub(super) readers: Vec<u32>,
    /// Who waits to write, and is preferred to those who want to read.
    pub(super) preferred: Vec<u32>,
}

impl Holders {
    fn admits(&self, thread: u32, mode: Mode, reentrant: bool) -> bool {
        match (self.owner, mode) {
            (Some(owner), _) => owner == thread && reentrant,
            (None, Mode::Shared) => self.preferred.is_empty(),
            (None, Mode::Exclusive) => self.readers.is_empty(),
        }
    }

    fn is_empty(&self) -> bool {
        self.owner.is_none() && self.readers.is_empty() && self.preferred.is_empty()
    }
}

/// All locks that somebody holds or waits for in a way that others notice.
#[derive(Default)]
pub(super) struct Locks(FxHashMap<usize, Holders>);

impl Locks {
    pub(super) fn holders(&self, address: usize) -> Option<&Holders> {
        self.0.get(&address)
    }

    /// How often a thread holds a lock, in whatever mode.
    pub(super) fn depth(&self, address: usize, thread: u32) -> u32 {
        let depth = |holders: &Holders| match holders.owner == Some(thread) {
            true => holders.depth,
            false => holders.readers.iter().filter(|&&r| r == thread).count() as u32,
        };
        self.holders(address).map_or(0, depth)
    }

    /// Whether a thread would get a lock. It may hold it already if that is `reentrant`.
    pub(super) fn admit(&self, address: usize, thread: u32, mode: Mode, reentrant: bool) -> bool {
        let holders = self.holders(address);
        holders.is_none_or(|holders| holders.admits(thread, mode, reentrant))
    }

    /// The locks that a thread holds, by address.
    pub(super) fn of(&self, thread: u32) -> Vec<(usize, Mode)> {
        let mode = |holders: &Holders| match holders.owner == Some(thread) {
            true => Some(Mode::Exclusive),
            false => holders.readers.contains(&thread).then_some(Mode::Shared),
        };
        let held = self.0.iter();
        let mut held: Vec<_> = held
            .filter_map(|(&address, holders)| Some((address, mode(holders)?)))
            .collect();
        held.sort_unstable_by_key(|(address, _)| *address);
        held
    }

    /// A thread has taken a lock.
    pub(super) fn taken(&mut self, thread: u32, address: usize, mode: Mode) {
        let holders = self.0.entry(address).or_default();
        match mode {
            Mode::Exclusive => {
                if holders.owner != Some(thread) {
                    holders.depth = 0;
                }
                holders.owner = Some(thread);
                holders.depth += 1;
            }
            Mode::Shared => holders.readers.push(thread),
        }
    }

    /// A thread has given a lock back.
    pub(super) fn given_back(&mut self, thread: u32, address: usize) {
        self.change(address, |holders| {
            if holders.owner == Some(thread) {
                holders.depth = holders.depth.saturating_sub(1);
                if holders.depth == 0 {
                    holders.owner = None;
                }
            } else if let Some(at) = holders.readers.iter().position(|&r| r == thread) {
                holders.readers.swap_remove(at);
            } else {
                // A lock that others may give back.
                holders.owner = None;
                holders.depth = 0;
                holders.readers.clear();
            }
        });
    }

    /// Nobody here holds these locks.
    pub(super) fn forget(&mut self, which: impl Fn(usize) -> bool) {
        self.0.retain(|&address, _| !which(address));
    }

    /// A thread begins to wait to write, and nobody begins to read before it has.
    pub(super) fn prefer(&mut self, thread: u32, address: usize) {
        self.0.entry(address).or_default().preferred.push(thread);
    }

    /// It does not wait any more.
    pub(super) fn no_longer_prefer(&mut self, thread: u32, address: usize) {
        self.change(address, |holders| {
            holders.preferred.retain(|&other| other != thread);
        });
    }

    fn change(&mut self, address: usize, change: impl FnOnce(&mut Holders)) {
        if let Some(holders) = self.0.get_mut(&address) {
            change(holders);
            if holders.is_empty() {
                self.0.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: usize = 0x1000;

    #[test]
    fn it_is_known_how_often_a_thread_holds_a_lock() {
        let mut locks = Locks::default();
        assert_eq!(locks.depth(LOCK, 1), 0);
        locks.taken(1, LOCK, Mode::Exclusive);
        locks.taken(1, LOCK, Mode::Exclusive);
        assert_eq!([1, 2].map(|thread| locks.depth(LOCK, thread)), [2, 0]);
        locks.given_back(1, LOCK);
        locks.given_back(1, LOCK);
        for reader in [1, 2, 2] {
            locks.taken(reader, LOCK, Mode::Shared);
        }
        assert_eq!([1, 2].map(|thread| locks.depth(LOCK, thread)), [1, 2]);
    }

    #[test]
    fn a_mutex_is_free_when_it_was_given_back_as_often_as_taken() {
        let mut locks = Locks::default();
        locks.taken(1, LOCK, Mode::Exclusive);
        locks.taken(1, LOCK, Mode::Exclusive);
        assert!(locks.admit(LOCK, 1, Mode::Exclusive, true));
        assert!(!locks.admit(LOCK, 1, Mode::Exclusive, false));
        locks.given_back(1, LOCK);
        assert!(!locks.admit(LOCK, 2, Mode::Exclusive, true));
        locks.given_back(1, LOCK);
        assert!(locks.admit(LOCK, 2, Mode::Exclusive, false));
        assert!(locks.holders(LOCK).is_none());
    }

    #[test]
    fn readers_share_and_keep_writers_out() {
        let mut locks = Locks::default();
        locks.taken(1, LOCK, Mode::Shared);
        locks.taken(2, LOCK, Mode::Shared);
        locks.taken(1, LOCK, Mode::Shared);
        locks.given_back(1, LOCK);
        locks.given_back(2, LOCK);
        assert!(!locks.admit(LOCK, 3, Mode::Exclusive, false));
        assert!(locks.admit(LOCK, 3, Mode::Shared, false));
        locks.given_back(1, LOCK);
        assert!(locks.admit(LOCK, 3, Mode::Exclusive, false));
    }

    #[test]
    fn nobody_begins_to_read_while_a_preferred_writer_waits() {
        let mut locks = Locks::default();
        locks.taken(1, LOCK, Mode::Shared);
        locks.prefer(2, LOCK);
        assert!(!locks.admit(LOCK, 1, Mode::Shared, false));
        assert!(!locks.admit(LOCK, 3, Mode::Shared, false));
        locks.given_back(1, LOCK);
        assert!(locks.admit(LOCK, 2, Mode::Exclusive, false));
        assert!(!locks.admit(LOCK, 3, Mode::Shared, false));
        locks.no_longer_prefer(2, LOCK);
        assert!(locks.admit(LOCK, 3, Mode::Shared, false));
    }

    #[test]
    fn who_waits_to_write_is_preferred_also_if_a_stranger_gives_the_lock_back() {
        let mut locks = Locks::default();
        locks.taken(1, LOCK, Mode::Exclusive);
        locks.prefer(2, LOCK);
        locks.given_back(3, LOCK);
        assert!(locks.admit(LOCK, 2, Mode::Exclusive, false));
        assert!(!locks.admit(LOCK, 3, Mode::Shared, false));
    }
}
