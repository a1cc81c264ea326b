//! Threads that are outside and come back without anybody's help, sooner or later.
//!
//! When they come back would depend on how fast they are. So the others wait for them before
//! each step, for as long as it makes a difference that is the same in every execution.
//!
//! Who computes where nobody sees it perhaps does so until another thread has done something.
//! The [`monitor`](super::monitor) has sent it outside. Before each step of the others it gets
//! some time of a processor: who has been waiting in a loop for what the last step did is back
//! by then. Who computes for long indeed keeps others from going on for a while only.
//!
//! Who waits for processes with which memory is shared is back, or asleep.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::monitor::is_asleep;
use super::roster::{Member, Standing};
use super::turn::Turn;
use super::{children, doubt, roster};
use crate::interpose::Errno;
use crate::thread::Visit;

/// What a thread does outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Away {
    /// Something of which nobody knows when it ends.
    #[default]
    Whatever,
    Computing,
    AmongKin,
}

/// Steps before which threads that compute are still waited for.
static PATIENCE: AtomicU32 = AtomicU32::new(0);
const STEPS: u32 = 20_000;
/// What they get before each: enough to leave a loop.
const TIME: Duration = Duration::from_micros(100);
/// How long they are waited for on a machine that is busy elsewhere.
const LONGEST: Duration = Duration::from_secs(2);

/// Somebody was sent outside who computes.
pub(super) fn begin() {
    PATIENCE.store(STEPS, Ordering::Relaxed);
}

impl Turn {
    /// Waits for those who may be about to come back.
    #[inline]
    pub(super) fn let_wanderers_return(&self) {
        if PATIENCE.load(Ordering::Relaxed) > 0 || children::are_waited_for() {
            await_all(self.number);
        }
    }
}

#[cold]
fn await_all(me: u32) {
    let _errno = Errno::keep();
    let _visit = Visit::begin();
    let all: Vec<(u32, i32, Away)> = {
        let mut roster = roster();
        if roster.running != Some(me) {
            return;
        }
        roster.excused = true;
        let members = roster.members.iter().enumerate();
        let members = members.filter_map(|(number, member)| Some((number, member.as_ref()?)));
        let away = members.filter(|(_, member)| is_away(member));
        away.map(|(number, member)| (number as u32, member.os_id, member.away))
            .collect()
    };
    if !all.iter().any(|(_, _, away)| *away == Away::Computing) {
        PATIENCE.store(0, Ordering::Relaxed);
    }
    for (number, os_id, away) in all {
        let began = Instant::now();
        let before = time_of(os_id);
        let may_return = || match away {
            Away::Computing => time_of(os_id) < before.map(|before| before + TIME),
            Away::AmongKin | Away::Whatever => true,
        };
        let is_out = || {
            roster()
                .member(number)
                .is_some_and(|member| is_away(member))
        };
        while may_return() && is_out() && !is_asleep(os_id) {
            if began.elapsed() > LONGEST {
                doubt::tell(&format!("T{number}"), "takes long to come back");
                break;
            }
            // SAFETY: lets others run.
            unsafe { libc::sched_yield() };
        }
        if away == Away::Computing {
            let spend = |left: u32| left.checked_sub(1);
            _ = PATIENCE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend);
        }
    }
    roster().excused = false;
}

fn is_away(member: &Member) -> bool {
    member.standing == Standing::Outside && member.away != Away::Whatever
}

/// How long a thread has computed; none if it is gone.
fn time_of(os_id: i32) -> Option<Duration> {
    /// The clock of a thread, as the kernel numbers them.
    const OF_THREAD: libc::clockid_t = 6;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: room for the result.
    let result = unsafe { libc::clock_gettime(!os_id << 3 | OF_THREAD, &raw mut time) };
    (result == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_thread_passes_while_it_computes() {
        // SAFETY: asks who we are.
        let me = unsafe { libc::gettid() };
        let before = time_of(me).unwrap();
        while time_of(me).unwrap() < before + TIME {}
        // There are never so many.
        assert_eq!(time_of(1 << 23), None);
    }
}
