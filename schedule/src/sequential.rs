//! One thread at a time: the schedule a person has in mind when reading the
//! program, with as few context switches as the program allows.

use racehound_trace::ThreadId;

use crate::{Pending, Strategy};

/// Runs the current thread until it blocks or ends, then the lowest enabled
/// one. Who yields waits for somebody else, so everybody else gets a turn first.
#[derive(Clone, Debug, Default)]
pub struct Sequential {
    current: Option<ThreadId>,
    yields: bool,
}

impl Sequential {
    /// Starts with the lowest enabled thread.
    pub fn new() -> Self {
        Self::default()
    }

    /// Goes on with a thread another strategy ran last.
    pub(crate) fn after(current: Option<ThreadId>) -> Self {
        Self {
            current,
            yields: false,
        }
    }
}

impl Strategy for Sequential {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        let is_current = |p: &Pending| Some(p.thread) == self.current;
        // `enabled` is sorted by thread.
        let next = || {
            let behind = enabled.iter().position(|p| Some(p.thread) > self.current);
            behind.or_else(|| enabled.iter().position(|p| !is_current(p)))
        };
        let other = if self.yields { next() } else { None };
        let same = || enabled.iter().position(is_current);
        let index = other.or_else(same).unwrap_or(0);
        if !is_current(&enabled[index]) {
            *self = Self::after(Some(enabled[index].thread));
        }
        index
    }

    fn yields(&mut self, thread: ThreadId) {
        self.yields |= self.current == Some(thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::enabled;

    #[test]
    fn stays_with_a_thread_until_it_blocks() {
        let mut sequential = Sequential::new();
        assert_eq!(sequential.pick(&enabled(&[(1, 0), (2, 0)])), 0);
        assert_eq!(sequential.pick(&enabled(&[(0, 0), (1, 0), (2, 0)])), 1);
        assert_eq!(sequential.pick(&enabled(&[(0, 0), (2, 0)])), 0);
        assert_eq!(sequential.pick(&enabled(&[(0, 0), (1, 0)])), 0);
    }

    #[test]
    fn who_yields_comes_last() {
        let mut sequential = Sequential::new();
        let all = enabled(&[(0, 0), (1, 0), (2, 0)]);
        let mut turns = Vec::new();
        for _ in 0..4 {
            let index = sequential.pick(&all);
            sequential.yields(all[index].thread);
            turns.push(index);
        }
        assert_eq!(turns, [0, 1, 2, 0]);
        // There is nobody else for a while.
        assert_eq!(sequential.pick(&enabled(&[(0, 0)])), 0);
        assert_eq!(sequential.pick(&all), 1);
        assert_eq!(sequential.pick(&all), 1);
    }
}
