//! `racehound replay`: a finding, made to happen again.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, io};

use racehound::aside::say;
use racehound_hunt::execution::Executor;
use racehound_hunt::options::{Options, VARIABLE};
use racehound_hunt::program::fix_addresses;
use racehound_hunt::{Assignment, Ending, Execution, Program, witness};
use racehound_report::finding::{Finding, Harm, Kind, Report, Surroundings};
use racehound_report::journal::Scheduled;
use racehound_schedule::Plan;
use racehound_store::Store;

use super::run::not_started;
use crate::args::Replay;
use crate::error::Error;
use crate::journal::Journal;
use crate::known;
use crate::progress::Progress;
use crate::{
    CLEAN, FINDINGS, attend, build, gdb, output, pairs, schedules, stdin, subject, surroundings,
};

/// Replays it.
pub(crate) fn run(args: &Replay) -> Result<u8, Error> {
    let target = Target::of(args)?;
    let mut program = target.program()?;
    let limit = Duration::from_secs(args.timeout);
    if args.gdb {
        set_up(&program, limit)?;
        if let Some(client) = &target.surroundings.client {
            say(format_args!(
                "when the program is ready, run its client: {client}"
            ));
        }
        return gdb::run(&program, &target.options()?);
    }
    match args.times {
        Some(times) => target.count(&mut program, times, limit),
        None if program.surroundings.client.is_some() => target.serve(&mut program, limit),
        None => {
            set_up(&program, limit)?;
            let (ending, happened) = target.show(&program)?;
            program.surroundings.tear_down(program.job);
            target.end(ending, happened)
        }
    }
}

/// The finding of that name, if hunts here know it and no file is called so.
fn remembered(name: &Path) -> Result<Option<Report>, Error> {
    let here = env::current_dir().map_err(Error::file(Path::new(".")))?;
    let Some(id) = name
        .to_str()
        .filter(|_| !name.exists() && Store::exists(&here))
    else {
        return Ok(None);
    };
    Ok(Store::open(&here)?.finding(id)?)
}

/// Why there is nothing of that name, if it may be a finding's.
fn missing(name: &Path, error: io::Error) -> Error {
    let is_id = |name: &str| {
        let number = name.strip_prefix('R').unwrap_or_default();
        !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    };
    if error.kind() != io::ErrorKind::NotFound || !name.to_str().is_some_and(is_id) {
        return Error::file(name)(error);
    }
    let name = name.display();
    match known_ids() {
        Ok(ids) if ids.is_empty() => {
            Error::Wish(format!("{name}: no hunt here has found anything yet"))
        }
        Ok(ids) => Error::Wish(format!(
            "{name}: there is no such finding; the last hunt here has found {}, which 'racehound \
             report' tells of",
            ids.join(", ")
        )),
        Err(error) => error,
    }
}

/// What the findings of the last hunt here are called.
fn known_ids() -> Result<Vec<String>, Error> {
    let here = known::here()?;
    if !Store::exists(&here) {
        return Ok(Vec::new());
    }
    let last = Store::open(&here)?.last()?.unwrap_or_default();
    Ok(last
        .findings
        .into_iter()
        .map(|finding| finding.id)
        .collect())
}

/// What is to happen again.
struct Target {
    /// What it is called.
    name: String,
    plan: Plan,
    /// What was found; nothing if it is just a schedule.
    finding: Option<Finding>,
    words: Vec<OsString>,
    /// The build of the program that did it.
    build: Option<String>,
    /// What went on around it.
    surroundings: Surroundings,
}

impl Target {
    fn of(args: &Replay) -> Result<Self, Error> {
        let file = &args.finding;
        if let Some(report) = remembered(file)? {
            let target = Self::of_report(file, None, report)?;
            return Ok(match args.program.is_empty() {
                true => target,
                false => Self {
                    words: args.program.clone(),
                    ..target
                },
            });
        }
        let text = std::fs::read(file).map_err(|error| missing(file, error))?;
        let is_report = text.trim_ascii_start().starts_with(b"{");
        let target = match schedules::is_one(&text) {
            true => Self::of_schedule(file)?,
            false if is_report => Self::of_report(file, args.id.as_deref(), pairs::report(file)?)?,
            false => {
                return Err(Error::Wish(format!(
                    "{}: neither a report that --json writes nor a schedule, so there is nothing \
                     to replay",
                    file.display()
                )));
            }
        };
        let words = match args.program.is_empty() {
            true => target.words.clone(),
            false => args.program.clone(),
        };
        if words.is_empty() {
            return Err(Error::Wish(format!(
                "{}: a schedule does not say which program it is of; add -- PROGRAM",
                file.display()
            )));
        }
        Ok(Self { words, ..target })
    }

    fn of_schedule(file: &Path) -> Result<Self, Error> {
        schedules::read(file)?;
        let path = std::path::absolute(file).map_err(Error::file(file))?;
        Ok(Self {
            name: file.display().to_string(),
            plan: Plan::Replay {
                file: path.display().to_string(),
            },
            finding: None,
            words: Vec::new(),
            build: None,
            surroundings: Surroundings::default(),
        })
    }

    fn of_report(file: &Path, id: Option<&str>, report: Report) -> Result<Self, Error> {
        let wrong = |what: &str| Error::Wish(format!("{}: {what}", file.display()));
        let finding = match id {
            Some(id) => {
                let mut findings = report.findings.into_iter();
                let found = findings.find(|finding| finding.id == id);
                found.ok_or_else(|| wrong(&format!("there is no finding {id} in it")))?
            }
            None => {
                let mut findings = report.findings.into_iter();
                let found = findings.find(|finding| finding.schedule.is_some());
                found.ok_or_else(|| wrong("no finding in it has a schedule to replay"))?
            }
        };
        let Some(schedule) = &finding.schedule else {
            return Err(wrong(&format!(
                "{} is {}: it has no schedule to replay",
                finding.id,
                finding.status.name()
            )));
        };
        let plan = schedule.parse();
        let plan = plan.map_err(|error| wrong(&format!("{schedule}: {error}")))?;
        if let Some(directory) = &report.directory
            && !env::current_dir().is_ok_and(|here| here == Path::new(directory))
        {
            env::set_current_dir(directory).map_err(Error::file(directory.as_ref()))?;
        }
        let test = finding.test.clone().unwrap_or_default();
        let words = report.program.into_iter().chain(test.arguments);
        Ok(Self {
            name: finding.id.clone(),
            plan,
            finding: Some(finding),
            words: words.map(OsString::from).collect(),
            build: report.build,
            surroundings: report.surroundings.unwrap_or_default(),
        })
    }

    fn program(&self) -> Result<Program, Error> {
        let mut program = subject::of(&self.words)?;
        let input = self.surroundings.stdin.as_ref().map(PathBuf::from);
        program.input = stdin::file().or(input);
        program.surroundings = surroundings::retold(&self.surroundings);
        if self.build.is_some() && self.build != build::of(&program.path) {
            say(format_args!(
                "{} was built anew since {} was found; it may take another course, and a new \
                 hunt finds out",
                program.path.display(),
                self.name
            ));
        }
        Ok(program)
    }

    fn options(&self) -> Result<Options, Error> {
        let mut options = Options::inherited();
        options.add("detector", self.witness())?;
        options.add("schedule", self.plan.to_string())?;
        options.add("fail_on", "never")?;
        Ok(options)
    }

    /// Once, for everybody to see.
    fn show(&self, program: &Program) -> Result<(Ending, bool), Error> {
        let journal = Journal::create(None)?;
        let mut command = program.command();
        if let Some(file) = &program.input {
            command.stdin(File::open(file).map_err(Error::file(file))?);
        }
        fix_addresses(&mut command);
        let mut options = self.options()?;
        options.add("findings", journal.path())?;
        command.env(VARIABLE, options);
        let ended = |error: io::Error| not_started(program, error);
        let ending = attend::run(&mut command).map_err(ended)?;
        let scheduled = journal.scheduled();
        let happened = self.is_among(&journal.findings()?, scheduled.as_ref(), ending);
        Ok((ending, happened))
    }

    /// Driven by its client; what both have printed is shown in the end. When the client
    /// comes is not under control, so a finding has some tries.
    fn serve(&self, program: &mut Program, limit: Duration) -> Result<u8, Error> {
        const TRIES: u32 = 5;
        let mut tries = 1;
        let mut execution = program.execute(&self.assignment(limit))?;
        while self.finding.is_some() && !self.happened_in(&execution) && tries < TRIES {
            tries += 1;
            execution = program.execute(&self.assignment(limit))?;
        }
        if tries > 1 {
            say(format_args!(
                "tried {tries} times, for when the client comes is not under control"
            ));
        }
        let happened = self.happened_in(&execution);
        output::show(&execution.output.excerpt())?;
        // Who cannot be told that is told what came of it nevertheless.
        let _ = anstream::stderr().write_all(execution.complaints.excerpt().as_bytes());
        self.end(execution.ending, happened)
    }

    /// Says what came of it, and ends as the program did.
    fn end(&self, ending: Ending, happened: bool) -> Result<u8, Error> {
        let fate = match (&self.finding, happened) {
            (None, _) => None,
            (Some(_), true) => Some("happened again"),
            (Some(_), false) => Some("did not happen again"),
        };
        if let Some(fate) = fate {
            say(format_args!("{} {fate}", self.name));
        }
        match ending {
            Ending::Signal(signal) => attend::die_of(signal),
            _ if happened => Ok(FINDINGS),
            Ending::Code(code) | Ending::Client(code) => Ok(code),
            Ending::Limit | Ending::Unready | Ending::Stubborn => Ok(CLEAN),
        }
    }

    /// Who looks on.
    fn witness(&self) -> &'static str {
        let finding = self.finding.as_ref();
        finding.map_or("none", |finding| witness::of(finding, &self.plan))
    }

    fn assignment(&self, limit: Duration) -> Assignment {
        Assignment {
            detector: self.witness().to_owned(),
            schedule: self.plan.clone(),
            record: None,
            schedule_out: None,
            sample: None,
            limit,
        }
    }

    /// Several times, out of sight.
    fn count(&self, program: &mut Program, times: u64, limit: Duration) -> Result<u8, Error> {
        let mut progress = Progress::steps(times, self.name.clone());
        let mut happened = 0;
        for time in 0..times {
            progress.at(time);
            let execution = program.execute(&self.assignment(limit))?;
            happened += u64::from(self.happened_in(&execution));
        }
        drop(progress);
        output::show(&format!(
            "{} happened in {happened} of {times} replays\n",
            self.name
        ))?;
        match happened {
            0 => Ok(CLEAN),
            _ => Ok(FINDINGS),
        }
    }

    fn happened_in(&self, execution: &Execution) -> bool {
        let scheduled = execution.scheduled.as_ref();
        self.is_among(&execution.findings, scheduled, execution.ending)
    }

    /// Whether it happened. What has no finding happens if the program comes to
    /// grief.
    fn is_among(
        &self,
        findings: &[Finding],
        scheduled: Option<&Scheduled>,
        ending: Ending,
    ) -> bool {
        let harm = |finding: &Finding| finding.harm.is_some() && finding.kind == Kind::Deadlock;
        let stuck = findings.iter().any(harm);
        let Some(wanted) = &self.finding else {
            return stuck || ending != Ending::Code(0);
        };
        // Of a failure there is nothing to see but the harm.
        let again =
            wanted.kind == Kind::Failure || witness::saw(wanted, &self.plan, findings, scheduled);
        again
            && wanted
                .harm
                .as_ref()
                .is_none_or(|harm| shows(harm, ending, stuck))
    }
}

/// Does what is to be done before an execution.
fn set_up(program: &Program, limit: Duration) -> Result<(), Error> {
    let set_up = program.surroundings.set_up(program.job, limit, &|| false);
    set_up.map_err(Error::NotStarted)
}

/// Whether an execution that ended so did the harm.
fn shows(harm: &Harm, ending: Ending, stuck: bool) -> bool {
    match (harm.kind.as_str(), ending) {
        ("crash" | "assertion", Ending::Signal(_))
        | ("hang", Ending::Limit | Ending::Unready | Ending::Stubborn) => true,
        ("assertion", Ending::Code(code)) => code != 0,
        ("crash" | "assertion" | "hang", _) => false,
        ("exception", Ending::Signal(_)) => true,
        ("exception" | "exit-code", Ending::Code(code) | Ending::Client(code)) => code != 0,
        ("deadlock", _) => stuck,
        _ => true,
    }
}
