//! The vocabulary every part of Racehound shares: what a program under test
//! *did*, written down.
//!
//! A trace is a sequence of [`Event`]s in one global order, and the [`Tables`]
//! behind the small ids those events carry. Nothing here knows C, a compiler
//! or a virtual machine: a native front end fills the tables with build ids and
//! code offsets, a JVM front end with classes and bytecode indices, a model
//! program with the lines of its text.
//!
//! * [`event`] is the list of operations (PECAN §4.1, extended to what C11,
//!   POSIX and the JVM synchronise with).
//! * [`binary`] is the format traces are recorded in: a checksummed stream.
//! * [`rapid`] reads and writes RAPID's STD text format.
//! * [`generate`] makes well-formed traces from a seed.
//! * [`stat`] counts, [`check`] tells whether a trace could have happened.
//!
//! Everything that produces events, from whatever format, is a [`Source`]:
//!
//! ```
//! use racehound_trace::{rapid, Op, Source, Trace};
//!
//! let text = "T0|fork(T1)|1\nT0|w(x)|2\nT1|r(x)|3\n";
//! let trace = Trace::collect(rapid::Reader::new(text.as_bytes()))?;
//!
//! assert_eq!(trace.events.len(), 3);
//! assert!(matches!(trace.events[1].op, Op::Write { .. }));
//! # Ok::<(), racehound_trace::Error>(())
//! ```

pub mod binary;
pub mod check;
mod error;
pub mod event;
pub mod generate;
mod id;
mod memory;
pub mod rapid;
mod rng;
mod source;
pub mod stat;
mod table;

pub use error::{Error, Result, Truncation};
pub use event::{Event, MemoryOrder, Mode, Op};
pub use id::{FunctionId, Loc, NameId, SiteId, SyncId, ThreadId};
pub use memory::{Builder, Trace};
pub use rng::Rng;
pub use source::{BATCH, Source};
pub use table::{Function, Names, Site, Space, SyncObject, Tables, Thread, Variable};
