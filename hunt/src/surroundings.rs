//! What goes on around an execution: commands before and after it, and a client that
//! drives a program which does not end by itself.
//!
//! All of them are run by `sh`, where the program is run. Executions that go on side by
//! side tell themselves apart by [`JOB`] in the environment, which the program has as
//! well.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::process::{LONGEST_NAP, Patience, Process, watch};
use crate::program::out_of_the_way;

/// Which of the executions side by side this is: 0, 1, …
pub const JOB: &str = "RACEHOUND_JOB";
/// The process of the server, for its client.
pub const SERVER: &str = "RACEHOUND_SERVER";

/// What is around an execution.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Done before it; without that it does not begin.
    pub setup: Option<OsString>,
    /// Done after it, however it ended.
    pub teardown: Option<OsString>,
    /// Who drives it.
    pub client: Option<Client>,
    /// What went wrong in tearing down, and how often.
    pub troubles: Troubles,
}

/// Who drives a server.
#[derive(Clone, Debug)]
pub struct Client {
    /// What it does.
    pub command: OsString,
    /// When it begins.
    pub ready: Ready,
}

/// When a server is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// When it listens at a socket.
    Listening,
    /// When it has printed this.
    Said(String),
}

/// What went wrong without spoiling an execution, and how often.
#[derive(Clone, Debug, Default)]
pub struct Troubles(Arc<Mutex<BTreeMap<String, u64>>>);

impl Troubles {
    fn add(&self, trouble: String) {
        let mut all = self.0.lock().unwrap_or_else(|e| e.into_inner());
        *all.entry(trouble).or_default() += 1;
    }

    /// All of them.
    pub fn all(&self) -> Vec<(String, u64)> {
        let all = self.0.lock().unwrap_or_else(|e| e.into_inner());
        all.iter()
            .map(|(what, times)| (what.clone(), *times))
            .collect()
    }
}

/// How long a command that tidies up may take.
const TIDYING: Duration = Duration::from_secs(20);

impl Surroundings {
    /// Whether there is nothing around.
    pub fn is_empty(&self) -> bool {
        self.setup.is_none() && self.teardown.is_none() && self.client.is_none()
    }

    /// Prepares an execution; the error is for a person.
    pub fn set_up(
        &self,
        job: usize,
        limit: Duration,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<(), String> {
        let Some(command) = &self.setup else {
            return Ok(());
        };
        let done = run(command, job, limit, is_stopped);
        done.map_err(|why| format!("the setup command {why}; it was: {}", command.display()))
    }

    /// Tidies up after one. What goes wrong is kept to be told.
    pub fn tear_down(&self, job: usize) {
        if let Some(command) = &self.teardown
            && let Err(why) = run(command, job, TIDYING, &|| false)
        {
            let command = command.display();
            self.troubles
                .add(format!("the teardown command {why}; it was: {command}"));
        }
    }
}

/// A command for the shell.
pub(crate) fn shell(command: &OsString, job: usize) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).env(JOB, job.to_string());
    out_of_the_way(&mut shell);
    shell
}

fn run(
    command: &OsString,
    job: usize,
    limit: Duration,
    is_stopped: &dyn Fn() -> bool,
) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot be run: {error}");
    let mut process = Process::start(&mut shell(command, job)).map_err(failed)?;
    let patience = Patience {
        until: Instant::now() + limit,
        is_stopped,
        nap: LONGEST_NAP,
    };
    let in_time =
        watch([&mut process], &patience, |[process]| process.has_ended()).map_err(failed)?;
    let remains = process.end().map_err(failed)?;
    if !in_time {
        return Err(format!("was still running after {} s", limit.as_secs()));
    }
    if remains.status.success() {
        return Ok(());
    }
    let said = remains.complaints.excerpt();
    let said = said.trim().lines().last().unwrap_or("nothing").to_owned();
    Err(format!("failed ({}), saying: {said}", remains.status))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_up(command: &str, limit: Duration) -> Result<(), String> {
        let surroundings = Surroundings {
            setup: Some(command.into()),
            ..Surroundings::default()
        };
        surroundings.set_up(3, limit, &|| false)
    }

    #[test]
    fn what_fails_is_told_with_what_it_said() {
        let second = Duration::from_secs(60);
        assert_eq!(set_up("test $RACEHOUND_JOB = 3", second), Ok(()));
        let why = set_up("echo no; echo 'no disk' >&2; exit 4", second).unwrap_err();
        assert!(
            why.contains("exit status: 4") && why.contains("saying: no disk"),
            "{why}"
        );
        let why = set_up("sleep 100", Duration::from_millis(50)).unwrap_err();
        assert!(
            why.contains("still running") && why.contains("sleep 100"),
            "{why}"
        );
    }

    #[test]
    fn what_cannot_be_torn_down_is_counted() {
        let surroundings = Surroundings {
            teardown: Some("exit 1".into()),
            ..Surroundings::default()
        };
        surroundings.tear_down(0);
        let shared = surroundings.troubles.clone();
        surroundings.tear_down(1);
        assert_eq!(shared.all()[0].1, 2);
    }
}
