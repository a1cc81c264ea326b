//! Executions of a program under test, and what they prove.
//!
//! An execution is described by a small value, an [`Assignment`], and leaves an
//! [`Execution`]: how it ended, what was found, what it printed. Whoever wants to
//! know something only decides which assignment comes next and reads what came
//! back, so what is decided here is tested without running anything.
//!
//! * [`program`] is what is run, [`execution`] runs it once, out of the way, with its
//!   [`surroundings`]: what is done before and after, and the client of a server.
//! * [`suite`] asks a test program for its tests.
//! * [`harm`] tells whether an execution did what the program never does by itself.
//! * [`confirm`] puts a suspected pair to the test: RaceFuzzer, over several seeds,
//!   until the two accesses meet, and again to see whether they do so each time;
//!   then both orders of the two, for the harm they do (racefuzzer.txt §3.3).
//! * [`interleaving`] tells the steps of a recorded execution that shows a finding.
//! * [`course`] is the hunt: which executions come next; [`crew`] has them done side
//!   by side.

pub mod allowance;
pub mod callers;
pub mod confirm;
pub mod course;
pub mod crew;
pub mod execution;
pub mod findings;
pub mod harm;
pub mod interleaving;
mod lineage;
mod listening;
pub mod options;
pub mod places;
mod process;
pub mod program;
mod serve;
pub mod suite;
pub mod surroundings;
mod text;
pub mod witness;

pub use execution::{Assignment, Ending, Execution, Executor};
pub use program::Program;
