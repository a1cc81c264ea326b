//! Traces from a seed.
//!
//! * [`Workload`] imitates programs: threads that work on data of their own,
//!   on guarded data inside critical sections and on read-only data, with just
//!   as many races as asked for. For benchmarks and for trying things out.
//! * [`chaos()`] does anything a program may do, in any order that could happen:
//!   every kind of operation, racy or not. For property tests.

mod chaos;
mod workload;

pub use chaos::{Chaos, chaos};
pub use workload::{Generator, PRESETS, Preset, Workload};
