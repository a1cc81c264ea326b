//! What can go wrong between accesses, as PECAN (pecan.txt) sees it.
//!
//! * [`pattern`] says what an access anomaly looks like: data races, atomicity
//!   violations, atomic-set violations, and whatever a user writes down.
//! * [`regions`] finds the atomic region of each event of a trace.
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

pub mod pattern;
pub mod regions;
