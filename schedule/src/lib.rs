//! Strategies: who goes next?
//!
//! A strategy is an *oracle*, as in Shuttle: given the enabled threads and the
//! operation each is about to perform, it names one. It owns no thread, clock
//! or global, and never learns how the host makes a thread go or wait. So one
//! implementation serves model programs, the native runtime and a virtual
//! machine, and every strategy is tested without any of them.
//!
//! * [`Random`]: every enabled thread is as likely as any other.
//! * [`Sequential`]: the least surprising schedule.
//! * [`Replay`]: a recorded list of [`Choice`]s, again.
//! * [`Recording`]: any strategy, with its choices written down.
//!
//! ```
//! use racehound_schedule::{Pending, Random, Recording, Replay, Strategy};
//! use racehound_trace::{SiteId, ThreadId};
//!
//! let at = |thread| Pending { thread: ThreadId(thread), site: SiteId(7), op: None };
//! let enabled = [at(0), at(1), at(2)];
//!
//! let mut recording = Recording::new(Random::new(42));
//! let picks = [0; 5].map(|_| recording.pick(&enabled));
//!
//! let mut replay = Replay::new(recording.into_choices());
//! assert_eq!(picks, [0; 5].map(|_| replay.pick(&enabled)));
//! assert!(replay.divergence().is_none());
//! ```

mod choice;
mod random;
mod recording;
mod replay;
mod sequential;
mod strategy;

pub use choice::Choice;
pub use random::Random;
pub use recording::Recording;
pub use replay::{Divergence, Replay};
pub use sequential::Sequential;
pub use strategy::{Pending, Strategy};

#[cfg(test)]
mod testing {
    use racehound_trace::{SiteId, ThreadId};

    use crate::Pending;

    /// Threads standing at sites, about to do nothing in particular.
    pub(crate) fn enabled(at: &[(u32, u32)]) -> Vec<Pending> {
        let pending = |&(thread, site)| Pending {
            thread: ThreadId(thread),
            site: SiteId(site),
            op: None,
        };
        at.iter().map(pending).collect()
    }
}
