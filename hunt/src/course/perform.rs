//! Doing what the course of a hunt asks for.

use racehound_report::finding::Finding;
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

/// Executes plan after plan until one shows the finding, and does so again.
fn witness(
    program: &mut dyn Executor,
    finding: &Finding,
    assignments: &[Assignment],
) -> std::result::Result<Result, Error> {
    let is_it = |other: &Finding| other.identity() == finding.identity();
    let mut runs = 0;
    for assignment in assignments {
        let mut shows = || -> std::result::Result<Option<_>, Error> {
            runs += 1;
            let execution = program.execute(assignment)?;
            let shown = execution.findings.iter().any(is_it);
            Ok(shown.then_some(execution))
        };
        if shows()?.is_some()
            && let Some(execution) = shows()?
        {
            let happened = vec![(assignment.schedule.clone(), execution)];
            return Ok(Result::Followed(runs, happened));
        }
    }
    Ok(Result::Followed(runs, Vec::new()))
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
        Task::Witness(finding, assignments) => witness(program, finding, assignments),
        Task::Follow(_, assignments) | Task::Guess(_, assignments) => follow(program, assignments),
    };
    match result {
        Err(Error::Stopped) => Ok(Result::Dropped),
        result => result,
    }
}
