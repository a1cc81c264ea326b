//! A race that was made to happen, told.

use racehound_detect::AccessKind;
use racehound_schedule::Pending;

use super::roster::Met;
use crate::report::{self, Stand};

/// Reports it: both threads stood at their accesses together.
pub(super) fn report(met: &Met) {
    let meeting = &met.meeting;
    let stand = |pending: &Pending, context| {
        let access = pending.op.as_ref().and_then(|op| op.access())?;
        Some(Stand {
            thread: pending.thread.0,
            kind: match (access.is_write, access.is_atomic) {
                (false, false) => AccessKind::Read,
                (true, false) => AccessKind::Write,
                (false, true) => AccessKind::AtomicRead,
                (true, true) => AccessKind::AtomicWrite,
            },
            address: access.loc.0 as usize,
            size: access.size as usize,
            context,
        })
    };
    let postponed = stand(&meeting.postponed, met.postponed);
    let arrived = stand(&meeting.arrived, met.arrived);
    if let (Some(postponed), Some(arrived)) = (postponed, arrived) {
        // The one that goes first is told as the earlier one.
        let (later, earlier) = match meeting.first == meeting.arrived.thread {
            true => (postponed, arrived),
            false => (arrived, postponed),
        };
        report::meeting(&later, &earlier);
        __racehound_meeting();
    }
}

/// Where a debugger can stop: the thread that goes first is here, on its way to its
/// access, and the other one waits at its own.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn __racehound_meeting() {
    std::hint::black_box(());
}
