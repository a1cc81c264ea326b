//! Any strategy, with its choices written down for [`Replay`](crate::Replay).

use racehound_trace::{Event, ThreadId};

use crate::{Choice, Pending, Strategy};

/// Passes every question on to `S` and keeps the answers.
#[derive(Clone, Debug)]
pub struct Recording<S> {
    strategy: S,
    choices: Vec<Choice>,
}

impl<S> Recording<S> {
    /// Records what `strategy` chooses from now on.
    pub fn new(strategy: S) -> Self {
        Self {
            strategy,
            choices: Vec::new(),
        }
    }

    /// The choices so far.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// The choices, to replay.
    pub fn into_choices(self) -> Vec<Choice> {
        self.choices
    }

    /// The strategy that chooses.
    pub fn strategy(&self) -> &S {
        &self.strategy
    }
}

impl<S: Strategy> Strategy for Recording<S> {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        let index = self.strategy.pick(enabled);
        let Pending { thread, site, .. } = enabled[index];
        self.choices.push(Choice::Thread { thread, site });
        index
    }

    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        let index = self.strategy.pick_waiter(waiters);
        self.choices.push(Choice::Waiter(waiters[index]));
        index
    }

    fn observe(&mut self, event: &Event) {
        self.strategy.observe(event);
    }
}

#[cfg(test)]
mod tests {
    use racehound_trace::SiteId;

    use super::*;
    use crate::Sequential;
    use crate::testing::enabled;

    #[test]
    fn threads_and_waiters_are_kept_in_order() {
        let mut recording = Recording::new(Sequential::new());
        recording.pick(&enabled(&[(4, 9), (5, 8)]));
        recording.pick_waiter(&[ThreadId(3), ThreadId(2)]);
        let thread = Choice::Thread {
            thread: ThreadId(4),
            site: SiteId(9),
        };
        assert_eq!(recording.choices(), [thread, Choice::Waiter(ThreadId(3))]);
    }
}
