//! Timers of the program, in virtual time.
//!
//! The kernel's timers would go off by real time, between any two instructions.
//! Here a timer goes off when virtual time has come to it: at the next step of
//! whoever runs, or when all wait and time jumps there. What then happens is the
//! same in every execution.
//!
//! Time does not pass while a thread computes without any step. If it does so for
//! long the [`monitor`](super::monitor) lets real time count, and says so.

use std::ffi::c_int;

use super::clock::Moment;
use super::roster::Roster;
use super::signalling::{Addressee, Letter};
use super::turn::Turn;

/// Which timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// One of the three of each process.
    Interval(c_int),
    /// One that was made by `timer_create`, by its number.
    Made(usize),
    /// A descriptor.
    Descriptor(c_int),
}

/// What happens when it goes off.
#[derive(Clone, Copy)]
pub(crate) enum Notice {
    Nothing,
    Signal(Addressee, Letter),
    /// The descriptor has something to read.
    Ready(c_int),
}

/// When: at first, and how many nanoseconds apart from then on, or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) left: u64,
    pub(crate) every: u64,
}

struct Timer {
    key: Key,
    due: Moment,
    every: u64,
    notice: Notice,
}

/// All that are set.
#[derive(Default)]
pub(super) struct Timers(Vec<Timer>);

impl Timers {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// When the next one goes off.
    pub(super) fn next(&self) -> Option<Moment> {
        self.0.iter().map(|timer| timer.due).min()
    }

    /// Whether a descriptor is one of them.
    pub(super) fn includes(&self, fd: c_int) -> bool {
        self.0.iter().any(|timer| timer.key == Key::Descriptor(fd))
    }

    fn left(&self, key: Key, now: Moment) -> Times {
        let none = Times { left: 0, every: 0 };
        let found = self.0.iter().find(|timer| timer.key == key);
        found.map_or(none, |timer| Times {
            left: timer.due.0.saturating_sub(now.0).max(1),
            every: timer.every,
        })
    }

    /// Takes out what has gone off, and sets it again where it repeats: at most once
    /// for each, however late it is.
    fn due(&mut self, now: Moment) -> Vec<Notice> {
        let mut notices = Vec::new();
        self.0.retain_mut(|timer| {
            if timer.due > now {
                return true;
            }
            notices.push(timer.notice);
            let missed = (now.0 - timer.due.0).checked_div(timer.every);
            timer.due.0 += missed.map_or(0, |missed| (missed + 1) * timer.every);
            timer.every != 0
        });
        notices
    }
}

impl Roster {
    /// Does what the timers say whose time has come.
    pub(super) fn go_off(&mut self) {
        let now = self.clock.now();
        if self.timers.next().is_none_or(|next| next > now) {
            return;
        }
        let _errno = crate::interpose::Errno::keep();
        for notice in self.timers.due(now) {
            self.changes += 1;
            match notice {
                Notice::Nothing => {}
                Notice::Signal(to, letter) => _ = self.send(to, letter),
                Notice::Ready(fd) => make_ready(fd),
            }
        }
    }
}

/// Lets a timer that is a descriptor go off now.
fn make_ready(fd: c_int) {
    let at_once = libc::itimerspec {
        it_interval: libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        },
        it_value: libc::timespec {
            tv_sec: 0,
            tv_nsec: 1,
        },
    };
    let mut entry = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: a time, a descriptor of the program's, and one entry.
    unsafe {
        if libc::timerfd_settime(fd, 0, &raw const at_once, std::ptr::null_mut()) == 0 {
            const SOON: c_int = 100;
            libc::poll(&raw mut entry, 1, SOON);
        }
    }
}

impl Turn {
    /// Sets a timer, to go off at a moment, or stops it; what it was.
    pub(crate) fn set_timer(
        &self,
        key: Key,
        until: Option<super::clock::Until>,
        every: u64,
        notice: Notice,
    ) -> Times {
        self.touch();
        let due = self.moment(until);
        self.note(|roster| {
            let before = roster.timers.left(key, roster.clock.now());
            roster.timers.0.retain(|timer| timer.key != key);
            roster.timers.0.extend(due.map(|due| Timer {
                key,
                due,
                every,
                notice,
            }));
            before
        })
    }

    /// What a timer is at.
    pub(crate) fn timer(&self, key: Key) -> Times {
        self.note(|roster| roster.timers.left(key, roster.clock.now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timers(all: &[(u64, u64)]) -> Timers {
        let timer = |(index, (due, every)): (usize, &(u64, u64))| Timer {
            key: Key::Made(index),
            due: Moment(*due),
            every: *every,
            notice: Notice::Nothing,
        };
        Timers(all.iter().enumerate().map(timer).collect())
    }

    #[test]
    fn timers_go_off_once_or_again_and_again() {
        let mut timers = timers(&[(5, 0), (10, 10)]);
        assert_eq!(timers.next(), Some(Moment(5)));
        assert_eq!(timers.due(Moment(4)).len(), 0);
        assert_eq!(timers.due(Moment(10)).len(), 2);
        assert_eq!(timers.next(), Some(Moment(20)));
        // Late by several rounds.
        assert_eq!(timers.due(Moment(47)).len(), 1);
        assert_eq!(timers.next(), Some(Moment(50)));
        let left = timers.left(Key::Made(1), Moment(47));
        assert_eq!(left, Times { left: 3, every: 10 });
        assert_eq!(timers.left(Key::Made(0), Moment(47)).left, 0);
    }
}
