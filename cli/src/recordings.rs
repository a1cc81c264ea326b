//! Executions that are made once more, and recorded to be looked at.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use racehound_hunt::allowance::Allowance;
use racehound_hunt::{Assignment, Execution, Executor, Program};
use racehound_schedule::Plan;
use racehound_trace::{Trace, binary};

/// How long one execution may take.
const LIMIT: Duration = Duration::from_secs(10);
/// Longer traces are not read, in bytes.
const LARGEST: u64 = 64 << 20;

/// An execution, and what was recorded of it.
pub(crate) struct Recording {
    pub(crate) execution: Execution,
    /// Of each process, the first one first, and whether it is another.
    pub(crate) traces: Vec<(Trace, bool)>,
}

/// Executes the program by a schedule, with its calls. Whatever goes wrong, there is nothing
/// to look at then. It costs the hunt none of its executions.
pub(crate) fn record(program: &Program, schedule: Plan) -> Option<Recording> {
    let mut program = Program {
        allowance: Allowance::default(),
        ..program.clone()
    };
    program.options.add("record_calls", "1").ok()?;
    let directory = tempfile::Builder::new()
        .prefix("racehound-steps-")
        .tempdir()
        .ok()?;
    let assignment = Assignment {
        detector: "none".to_owned(),
        schedule,
        record: Some(directory.path().join("steps")),
        schedule_out: None,
        sample: None,
        limit: LIMIT,
    };
    let execution = program.execute(&assignment).ok()?;
    Some(Recording {
        execution,
        traces: traces(directory.path()),
    })
}

/// What each process has recorded, the first one first, and whether it is another.
fn traces(directory: &Path) -> Vec<(Trace, bool)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    let read = |path: &PathBuf| {
        let file = File::open(path).ok()?;
        let size = file.metadata().ok()?.len();
        if !(1..=LARGEST).contains(&size) {
            return None;
        }
        let trace = Trace::collect(binary::Reader::new(file).ok()?).ok()?;
        // The others have their number behind a dot.
        Some((trace, path.extension().is_some()))
    };
    files.iter().filter_map(read).collect()
}
