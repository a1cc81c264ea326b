//! Doing what the course of a hunt asks for.

use racehound_report::journal::CONFIRMED;

use super::{Result, Task};
use crate::confirm;
use crate::execution::{Assignment, Error, Executor};

/// Follows each schedule twice, to see whether it does what it is meant to each time.
fn follow(
    program: &mut dyn Executor,
    assignments: &[Assignment],
) -> std::result::Result<Result, Error> {
    let (mut runs, mut happened) = (0, Vec::new());
    for assignment in assignments {
        let mut times = 0;
        let mut last = None;
        while times < 2 {
            let execution = program.execute(assignment)?;
            runs += 1;
            let fate = execution.scheduled.as_ref().and_then(|s| s.fate.as_deref());
            if fate != Some(CONFIRMED) {
                break;
            }
            times += 1;
            last = Some(execution);
        }
        if let Some(execution) = last.filter(|_| times == 2) {
            happened.push((assignment.schedule.clone(), execution));
        }
    }
    Ok(Result::Followed(runs, happened))
}

/// Does a task.
pub fn perform(program: &mut dyn Executor, task: &Task) -> std::result::Result<Result, Error> {
    let result = match task {
        Task::Usual(assignment) | Task::Explore(assignment) | Task::Repeat(_, assignment) => {
            program
                .execute(assignment)
                .map(|execution| Result::Executed(Box::new(execution)))
        }
        Task::Confirm(suspect) => {
            confirm::confirm(program, suspect, &mut |_| {}).map(Result::Tried)
        }
        Task::Follow(_, assignments) => follow(program, assignments),
    };
    match result {
        Err(Error::Stopped) => Ok(Result::Dropped),
        result => result,
    }
}
