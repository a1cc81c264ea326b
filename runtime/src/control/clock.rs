//! Virtual time: it passes when threads do something, and jumps when all of them
//! wait for a moment to come.
//!
//! A program under control reads the same times in every execution. It begins at
//! a moment that never changes; what it does takes a microsecond each, and who
//! looks at a clock again and again, with nothing happening in between, sees time
//! go faster and faster: loops that wait for a moment to pass come to an end.

use std::ffi::c_int;

/// Nanoseconds since the beginning of the execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(crate) u64);

const SECOND: u64 = 1_000_000_000;

/// The first of January 2024 in seconds since 1970, and how long the machine has
/// been up then.
const CALENDAR: u64 = 1_704_067_200 * SECOND;
const UP: u64 = 1000 * SECOND;

/// What a step takes, and the most that looking at the clock takes.
const STEP: u64 = 1_000;
const LONGEST_LOOK: u64 = 1_000_000;

/// What a clock of the system shows at the beginning; none if it does not go with
/// time.
fn beginning(clock: c_int) -> Option<u64> {
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => Some(CALENDAR),
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_BOOTTIME => Some(UP),
        // What a process or a thread has computed.
        _ => Some(0),
    }
}

#[derive(Debug)]
pub(super) struct Clock {
    now: u64,
    look: u64,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { now: 0, look: STEP }
    }

    pub(super) fn now(&self) -> Moment {
        Moment(self.now)
    }

    /// Something happens.
    pub(super) fn step(&mut self) {
        self.now += STEP;
        self.look = STEP;
    }

    /// All wait for a moment.
    pub(super) fn jump(&mut self, to: Moment) {
        self.now = self.now.max(to.0);
    }

    /// What a clock of the system shows.
    pub(super) fn look(&mut self, clock: c_int) -> Option<libc::timespec> {
        self.now += self.look;
        self.look = (self.look * 2).min(LONGEST_LOOK);
        beginning(clock).map(|beginning| timespec(beginning + self.now))
    }
}

fn timespec(nanoseconds: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanoseconds / SECOND) as i64,
        tv_nsec: (nanoseconds % SECOND) as i64,
    }
}

fn nanoseconds(time: &libc::timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(SECOND).saturating_add(rest)
}

/// When a wait is to end, as programs say it.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    /// When a clock shows that time.
    Shows(c_int, libc::timespec),
    /// After so many nanoseconds.
    Passed(u64),
}

impl Until {
    /// After some time.
    pub(crate) fn passed(time: &libc::timespec) -> Self {
        Self::Passed(nanoseconds(time))
    }

    pub(super) fn moment(self, now: Moment) -> Moment {
        match self {
            Self::Passed(time) => Moment(now.0.saturating_add(time)),
            Self::Shows(clock, time) => {
                let beginning = beginning(clock).unwrap_or(0);
                Moment(nanoseconds(&time).saturating_sub(beginning))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_looks_at_the_clock_long_enough_sees_any_time() {
        let mut clock = Clock::new();
        let shown = |clock: &mut Clock| nanoseconds(&clock.look(libc::CLOCK_MONOTONIC).unwrap());
        let begin = shown(&mut clock);
        let mut looks = 0;
        while shown(&mut clock) < begin + SECOND {
            looks += 1;
        }
        assert!(looks < 1100, "{looks}");
    }

    #[test]
    fn what_a_clock_will_show_is_a_moment() {
        let mut clock = Clock::new();
        clock.step();
        let shown = clock.look(libc::CLOCK_REALTIME).unwrap();
        let until = Until::Shows(libc::CLOCK_REALTIME, shown);
        assert_eq!(until.moment(clock.now()), clock.now());
        let later = Until::passed(&timespec(5 * SECOND)).moment(clock.now());
        assert_eq!(later.0, clock.now().0 + 5 * SECOND);
    }
}
