//! Who is alone: the program's first thread before it makes others and after it has waited for
//! all of them.
//!
//! What a thread does alone comes wholly before or after whatever others do, so it races with
//! nothing, and nobody acts in the middle of it: it begins and ends at a fork or join, which
//! are boundaries of regions. A program fills in its tables alone, without a lock; and what
//! one lock protects from then on is protected.

use racehound_trace::{Event, Op, ThreadId};

/// Follows a trace and knows who is alone.
#[derive(Debug)]
pub(super) struct Solitude {
    /// By thread: the event by which it has ended for all who follow; none if it never does.
    ends: Vec<Option<u32>>,
    /// By thread: whether it may be doing something.
    is_about: Vec<bool>,
    about: usize,
}

impl Solitude {
    pub(super) fn new(events: &[Event], threads: usize) -> Self {
        // Of a thread that is not seen to begin nobody knows what it follows upon.
        let mut is_made = vec![false; threads];
        let mut is_about = vec![false; threads];
        let mut ends = vec![None; threads];
        for (event, at) in events.iter().zip(0..) {
            let thread = event.thread.index();
            is_about[thread] |= !is_made[thread];
            ends[thread] = None;
            match event.op {
                Op::Fork { child } => is_made[child.index()] |= child != event.thread,
                Op::Join { child } if child != event.thread => ends[child.index()] = Some(at),
                _ => {}
            }
        }
        let about = is_about.iter().filter(|is| **is).count();
        Self {
            ends,
            is_about,
            about,
        }
    }

    /// Whether the thread of an event has it all to itself then. All events are to be shown, in
    /// their order.
    pub(super) fn step(&mut self, at: u32, event: &Event) -> bool {
        match event.op {
            Op::Fork { child } => self.set(child, true),
            Op::Join { child } if self.ends[child.index()] == Some(at) => self.set(child, false),
            _ => {}
        }
        self.about <= 1
    }

    fn set(&mut self, thread: ThreadId, is_about: bool) {
        let known = &mut self.is_about[thread.index()];
        self.about += usize::from(is_about);
        self.about -= usize::from(*known);
        *known = is_about;
    }
}

#[cfg(test)]
mod tests {
    use racehound_trace::{Trace, rapid};

    use super::*;

    /// For each access of a text, whether its thread is alone: `a`, or `-`.
    fn alone(steps: &str) -> String {
        let lines = steps.split_whitespace().zip(1..);
        let text: String = lines.map(|(step, at)| format!("{step}|{at}\n")).collect();
        let trace = Trace::collect(rapid::Reader::new(text.as_bytes())).unwrap();
        let mut solitude = Solitude::new(&trace.events, trace.tables.threads.len());
        let mut told = String::new();
        for (event, at) in trace.events.iter().zip(0..) {
            let is_alone = solitude.step(at, event);
            if event.op.access().is_some() {
                told.push(if is_alone { 'a' } else { '-' });
            }
        }
        told
    }

    #[test]
    fn who_has_made_nobody_or_waited_for_all_is_alone() {
        for (steps, expected) in [
            ("T|w(x) T|w(x)", "aa"),
            ("T|w(x) T|fork(U) T|w(x) U|w(x) T|join(U) T|w(x)", "a--a"),
            (
                "T|fork(U) T|fork(V) U|w(x) T|join(U) T|w(x) V|w(x) T|join(V) T|w(x)",
                "---a",
            ),
            // Whose beginning is not seen may have been there all the time,
            ("T|w(x) U|w(x)", "--"),
            ("T|w(x) U|w(x) T|join(U) T|w(x)", "--a"),
            ("T|w(x) U|w(x) T|fork(U) T|w(x)", "---"),
            // and who goes on after its end has not ended.
            ("T|fork(U) T|join(U) T|w(x) U|w(x)", "--"),
            // Nobody knows when a thread ends that nobody waits for.
            ("T|fork(U) U|w(x) T|w(x)", "--"),
            // Who makes others and is waited for before them.
            ("T|fork(U) U|fork(V) T|join(U) T|w(x) V|w(x)", "--"),
        ] {
            assert_eq!(alone(steps), expected, "{steps}");
        }
    }
}
