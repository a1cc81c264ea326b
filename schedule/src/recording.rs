//! Any strategy, with its choices written down for [`Replay`](crate::Replay).

use racehound_trace::{Event, FunctionId, SiteId, ThreadId};

use crate::{Choice, ClassId, Fingerprint, Meeting, Naming, Pending, Schedule, Strategy};

/// Passes every question on to `S` and keeps the answers.
#[derive(Clone, Debug)]
pub struct Recording<S> {
    strategy: S,
    choices: Vec<Choice>,
    fingerprint: Fingerprint,
}

impl<S> Recording<S> {
    /// Records what `strategy` chooses from now on.
    pub fn new(strategy: S) -> Self {
        Self {
            strategy,
            choices: Vec::new(),
            fingerprint: Fingerprint::new(),
        }
    }

    /// The choices so far.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// The fingerprint of what has happened so far.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The strategy that chooses.
    pub fn strategy(&self) -> &S {
        &self.strategy
    }
}

impl<S: Strategy> Recording<S> {
    /// The choices so far, to be kept beyond this execution. How they came
    /// about, its [plan](Schedule::plan), is for the host to add.
    pub fn schedule(&self, names: &impl Naming) -> Schedule {
        let watched = self.strategy.watched().iter();
        let mut schedule = Schedule::of(&self.choices, names);
        schedule.fingerprint = Some(self.fingerprint);
        schedule.watched = watched.map(|site| names.site(*site)).collect();
        schedule.watched.sort();
        schedule.watched.dedup();
        schedule
    }
}

impl<S: Strategy> Strategy for Recording<S> {
    fn pick(&mut self, enabled: &[Pending]) -> usize {
        let index = self.strategy.pick(enabled);
        let chosen = &enabled[index];
        self.choices.push(Choice::Thread {
            thread: chosen.thread,
            site: chosen.site,
            kind: chosen.kind(),
        });
        index
    }

    fn pick_waiter(&mut self, waiters: &[ThreadId]) -> usize {
        let index = self.strategy.pick_waiter(waiters);
        self.choices.push(Choice::Waiter(waiters[index]));
        index
    }

    fn observe(&mut self, event: &Event) {
        self.fingerprint.add_event(event);
        self.strategy.observe(event);
    }

    fn yields(&mut self, thread: ThreadId) {
        self.strategy.yields(thread);
    }

    fn awaits_sleepers(&self, enabled: &[Pending]) -> bool {
        self.strategy.awaits_sleepers(enabled)
    }

    fn awaits_naps_only(&self, enabled: &[Pending], keeps_others: bool) -> bool {
        self.strategy.awaits_naps_only(enabled, keeps_others)
    }

    fn time_passed(&mut self) {
        self.choices.push(Choice::Time);
        self.strategy.time_passed();
    }

    fn stops(&self, thread: ThreadId) -> bool {
        self.strategy.stops(thread)
    }

    fn held(&self) -> Vec<ThreadId> {
        self.strategy.held()
    }

    fn release(&mut self, thread: ThreadId) {
        self.strategy.release(thread);
    }

    fn awaits(&self) -> Option<ThreadId> {
        self.strategy.awaits()
    }

    fn watched(&self) -> &[SiteId] {
        self.strategy.watched()
    }

    fn meetings(&self) -> &[Meeting] {
        self.strategy.meetings()
    }

    fn stack_depth(&self) -> usize {
        self.strategy.stack_depth()
    }

    fn name_function(&mut self, function: FunctionId, name: &str) {
        self.strategy.name_function(function, name);
    }

    fn name_class(&mut self, class: ClassId, name: &str) {
        self.strategy.name_class(class, name);
    }

    fn stands(&mut self, thread: ThreadId, functions: &[FunctionId], class: Option<ClassId>) {
        self.strategy.stands(thread, functions, class);
    }
}

#[cfg(test)]
mod tests {
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
            kind: None,
        };
        assert_eq!(recording.choices(), [thread, Choice::Waiter(ThreadId(3))]);
    }
}
