//! PECAN (pecan.txt): access anomalies predicted from one trace, each with a
//! schedule that makes it happen.
//!
//! * [`pattern`] says what an access anomaly looks like: data races, atomicity
//!   violations, atomic-set violations, and whatever a user writes down.
//! * [`regions`] finds the atomic region of each event of a trace.
//! * `guess` marks regions that may be meant, though nobody says so.
//! * `order` knows which events must come before which, `context` which locks let
//!   each other, `index` has the accesses by what patterns ask for.
//! * `hearsay` knows that nobody accesses memory before its maker has told of it.
//! * `search` finds the tuples of accesses that can fit a pattern.
//! * `weave` finds for each an order of the trace in which it happens, or that
//!   there is none; `clip` makes a [`Schedule`](racehound_schedule::Schedule) of it.
//! * `flow` knows what is read on the way, and `nearby` where else in the trace the same could
//!   happen, for whoever executes schedules.
//!
//! [`predict`] is all of it.
//!
//! ```
//! use racehound_predict::pattern::{Kind, Pattern};
//!
//! let pattern: Pattern = "
//!     pattern lost-pair
//!     T  = t1 t2 t2 t1
//!     SV = x  x  y  y
//!     AR = u1 u2 u2 u1
//!     AT = w  r  r  w
//! ".parse()?;
//! assert_eq!(pattern.name(), "lost-pair");
//! assert_eq!(pattern.kind(), Kind::User);
//! assert_eq!(pattern.to_string().parse::<Pattern>()?, pattern);
//! # Ok::<(), racehound_predict::pattern::NotationError>(())
//! ```

mod clip;
mod context;
mod flow;
mod forecast;
mod guess;
mod hearsay;
mod index;
mod nearby;
#[cfg(test)]
mod oracle;
mod order;
pub mod pattern;
pub mod regions;
mod search;
mod weave;

pub use forecast::{
    Abandoned, Circumstances, Forecast, Options, Prediction, predict, predict_until,
};
pub use guess::with_guessed_regions;
pub use order::Atomics;
