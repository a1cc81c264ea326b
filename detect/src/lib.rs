//! Race detectors, as state machines that own neither storage nor threads.
//!
//! | detector | order | idea |
//! |---|---|---|
//! | [`lockset_only`] | none | one lock must protect every access |
//! | [`eraser`] | none | the same, after initialisation |
//! | [`racetrack`] | accu-hb | the same, once seen concurrent |
//! | [`hybrid`] | accu-hb | every pair: unordered and no common lock |
//! | [`acculock`] | accu-hb | the same at FastTrack's cost |
//! | [`multirace`] | hb | Djit+ where Eraser finds no lock |
//! | [`djit`] | hb | vector clocks |
//! | [`fasttrack`] | hb | epochs |
//!
//! A detector implements [`Detector`](detector::Detector): what to remember of
//! one location, and what to conclude from one access. [`order`] keeps the
//! threads' clocks and locks. A *host* brings the two together; [`offline`] is
//! the one that reads traces:
//!
//! ```
//! use racehound_detect::offline::{analyze, Options};
//! use racehound_detect::Which;
//! use racehound_trace::rapid;
//!
//! // T0 writes, passes a lock on to T1, and T1 reads: ordered here by luck.
//! let text = "T0|w(x)|1\nT0|acq(m)|2\nT0|rel(m)|3\nT1|acq(m)|4\nT1|rel(m)|5\nT1|r(x)|6\n";
//! let mut source = rapid::Reader::new(text.as_bytes());
//! let which = [Which::FastTrack, Which::AccuLock];
//! let outcomes = analyze(&mut source, &which, &Options::default(), &mut |_| {})?;
//!
//! assert_eq!(outcomes[0].warnings.len(), 0);
//! assert_eq!(outcomes[1].warnings.len(), 1);
//! # Ok::<(), racehound_trace::Error>(())
//! ```

pub mod access;
pub mod acculock;
pub mod clock;
pub mod detector;
pub mod djit;
pub mod eraser;
pub mod fasttrack;
pub mod hybrid;
pub mod lockset;
pub mod lockset_only;
pub mod multirace;
pub mod offline;
pub mod order;
pub mod racetrack;
pub mod stats;
mod which;

pub use access::AccessKind;
pub use detector::Reason;
pub use which::Which;
