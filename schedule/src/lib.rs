//! Strategies: who goes next?
//!
//! A strategy is an *oracle*, as in Shuttle: given the enabled threads and the
//! operation each is about to perform, it names one. It owns no thread, clock
//! or global, and never learns how the host makes a thread go or wait. So one
//! implementation serves model programs, the native runtime and a virtual
//! machine, and every strategy is tested without any of them.
//!
//! | strategy | who goes |
//! |---|---|
//! | [`Random`] | every enabled thread is as likely as any other |
//! | [`Restless`] | the same, and who sleeps may wake at any time |
//! | [`Overtake`] | others, while somebody is held who comes back to what they change |
//! | [`Embrace`] | others, while somebody is held who has a lock and wants another |
//! | [`Sequential`] | the current thread, as long as it can |
//! | [`Pct`] | the thread of the highest priority, which changes now and then |
//! | [`RaceFuzzer`] | anybody at random, but two suspects wait for each other |
//! | [`DrFinder`] | who may come to a lock that another one requests, before that |
//! | [`Replay`] | who went the last time |
//! | [`Follow`] | who has to, for a predicted anomaly to happen |
//! | [`Parallel`] | whoever would on a machine of many cores, for models |
//!
//! Two ways to run a program need no strategy. *Free* is the operating system's
//! own scheduling: the host just does not interfere, and this crate has but the
//! word for it, [`Plan::Free`]. [`ConTest`] is the same with a little noise: the
//! host asks how long to hold a thread up, not which to pick.
//!
//! Around them:
//! * [`Recording`]: any strategy, with its choices written down.
//! * [`Schedule`]: recorded choices as a file to read, edit and replay.
//! * [`Fingerprint`]: an execution in 64 bits, to see whether two are the same.
//! * [`Relations`]: which functions may acquire locks of which classes, kept from
//!   run to run.
//! * [`Plan`]: which strategy, with which settings, in a word.
//!
//! ```
//! use racehound_schedule::{Pending, Random, Recording, Replay, Schedule, Strategy};
//! use racehound_trace::{SiteId, Tables, ThreadId};
//!
//! let at = |thread| Pending { thread: ThreadId(thread), site: SiteId(7), op: None };
//! let enabled = [at(0), at(1), at(2)];
//!
//! let mut recording = Recording::new(Random::new(42));
//! let picks = [0; 5].map(|_| recording.pick(&enabled));
//! let text = recording.schedule(&Tables::default()).to_string();
//!
//! let schedule: Schedule = text.parse()?;
//! let mut replay = Replay::new(schedule, Tables::default());
//! assert_eq!(picks, [0; 5].map(|_| replay.pick(&enabled)));
//! assert!(replay.is_complete());
//! # Ok::<(), racehound_schedule::ScheduleError>(())
//! ```

mod choice;
mod contest;
mod cursor;
mod drfinder;
mod embrace;
mod fingerprint;
mod follow;
mod naming;
mod overtake;
mod parallel;
mod pct;
mod place;
mod plan;
mod racefuzzer;
mod random;
mod recording;
mod relations;
mod replay;
mod restless;
mod schedule;
mod sequential;
mod strategy;

pub use choice::Choice;
pub use contest::{ConTest, Delay, Noise};
pub use drfinder::{Decision, DrFinder, Statistics};
pub use embrace::Embrace;
pub use fingerprint::Fingerprint;
pub use follow::{Fate, Follow, is_landmark};
pub use naming::Naming;
pub use overtake::Overtake;
pub use parallel::Parallel;
pub use pct::Pct;
pub use place::{Place, Position};
pub use plan::{Collecting, Places, Plan, PlanError};
pub use racefuzzer::{Meeting, Pair, RaceFuzzer, Resolution};
pub use random::Random;
pub use recording::Recording;
pub use relations::{Collector, Relations, RelationsError};
pub use replay::{Divergence, Replay, Turn};
pub use restless::Restless;
pub use schedule::{Anomaly, Mark, Move, Point, Points, Schedule, ScheduleError};
pub use sequential::Sequential;
pub use strategy::{ClassId, Pending, Strategy};

#[cfg(test)]
mod testing {
    use racehound_trace::{SiteId, ThreadId};

    use crate::{Naming, Pending};

    /// Threads standing at sites, about to do nothing in particular.
    pub(crate) fn enabled(at: &[(u32, u32)]) -> Vec<Pending> {
        let pending = |&(thread, site)| Pending {
            thread: ThreadId(thread),
            site: SiteId(site),
            op: None,
        };
        at.iter().map(pending).collect()
    }

    /// Threads and sites by their numbers.
    #[derive(Clone, Debug)]
    pub(crate) struct Numbers;

    impl Naming for Numbers {
        fn thread(&self, thread: ThreadId) -> String {
            thread.0.to_string()
        }
        fn site(&self, site: SiteId) -> String {
            format!("{site:?}")
        }
    }
}
