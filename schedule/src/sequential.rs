//! One thread at a time: the schedule a person has in mind when reading the
//! program, with as few context switches as the program allows.

use racehound_trace::ThreadId;

use crate::{Pending, Strategy};

/// Runs the current thread until it blocks or ends, then the lowest enabled
/// one.
#[derive(Clone, Debug, Default)]
pub struct Sequential {
    current: Option<ThreadId>,
}

impl Sequential {
    /// Starts with the lowest enabled thread.
    pub fn new() -> Self {
        Self::default()
    }

    /// Goes on with a thread another strategy ran last.
    pub(crate) fn after(current: Option<ThreadId>) -> Self {
        Self { current }
    }
}

impl Strategy for Sequential {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        let same = enabled.iter().position(|p| Some(p.thread) == self.current);
        // `enabled` is sorted by thread.
        let index = same.unwrap_or(0);
        self.current = Some(enabled[index].thread);
        index
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
}
