//! `racehound run`: one execution of a program under a detector.
//!
//! The program takes this process's place, so that it behaves as it does by
//! itself; what it needs to know goes along in its environment. Where findings
//! are wanted in another form than the runtime prints, this process stays behind
//! the program instead, and collects what the runtime notes.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

use clap::ValueEnum;
use racehound::aside::say;
use racehound_hunt::Ending;
use racehound_hunt::options::{self, Options};
use racehound_hunt::program::{Program, fix_addresses};
use racehound_report::finding::{Finding, Report};
use racehound_schedule::Plan;

use crate::args::{FailOn, Run, Sample};
use crate::commands::fuzz;
use crate::error::Error;
use crate::formats::{self, Form};
use crate::journal::Journal;
use crate::known::{self, Known};
use crate::{FINDINGS, attend, build, plan, subject, verdict};

/// Runs the program.
pub(crate) fn run(args: &Run) -> Result<u8, Error> {
    if args.output.here()? == Some(Form::Json) {
        return Err(Error::Wish(
            "--json -: standard output is the program's; name a file, or /dev/stderr".to_owned(),
        ));
    }
    args.output.check()?;
    let plan = plan::of(args)?;
    let program = subject::of(&args.program)?;
    let plan = plan::of_program(plan, &program.path)?;
    if let Plan::RaceFuzzer { .. } = plan {
        return fuzz::run(args, &plan, program);
    }
    let mut command = program.command();
    if plan != Plan::Free {
        fix_addresses(&mut command);
    }
    let not_started = |error| not_started(&program, error);
    if is_live(args)? && !args.output.has_files() {
        command.env(options::VARIABLE, options(args, &plan, None)?);
        // Returns only if it fails.
        return Err(not_started(command.exec()));
    }
    let journal = Journal::create(args.output.json().as_deref())?;
    command.env(options::VARIABLE, options(args, &plan, Some(&journal))?);
    let ending = attend::run(&mut command).map_err(not_started)?;
    let findings = journal.findings();
    drop(journal);
    conclude(args, report(args, &program, findings?, 1), ending)
}

/// Whether the runtime itself tells of findings, as they are found. It does not know what
/// somebody has accepted.
fn is_live(args: &Run) -> Result<bool, Error> {
    let form = args.output.here()?.unwrap_or(Form::Tsan);
    Ok(form == Form::Tsan && Known::here(&known::here()?)?.is_empty())
}

/// The program could not be started.
pub(super) fn not_started(program: &Program, error: std::io::Error) -> Error {
    Error::NotStarted(format!("{}: {error}", program.path.display()))
}

/// What was found, in so many runs.
pub(super) fn report(args: &Run, program: &Program, findings: Vec<Finding>, runs: u64) -> Report {
    let here = env::current_dir().ok();
    Report {
        program: subject::in_words(&args.program),
        seed: args.seed,
        runs,
        directory: here.map(|path| path.display().to_string()),
        build: build::of(&program.path),
        findings,
        ..Report::default()
    }
}

/// Tells what was found, and ends as the program did.
pub(super) fn conclude(args: &Run, mut report: Report, ending: Ending) -> Result<u8, Error> {
    let here = known::here()?;
    Known::here(&here)?.settle(&mut report);
    let failing = verdict::failing(&report, args.fail_on);
    let code = match ending {
        Ending::Code(_) if failing > 0 => FINDINGS,
        Ending::Code(code) => code,
        _ => 0,
    };
    let mut text = String::new();
    if !report.findings.is_empty() || !report.suppressed.is_empty() {
        text = verdict::listing(&relative(&report), 0);
        if let Ending::Code(_) = ending {
            text.push_str(&verdict::closing("", &report, failing, code));
        }
    }
    let root = formats::root(&here);
    let edition = verdict::edition(&report, args.fail_on, &root);
    if !is_live(args)? {
        let form = args.output.here()?.unwrap_or(Form::Tsan);
        let told = formats::render(form, &edition, &text);
        // Findings are findings, also if nobody reads them.
        let _ = anstream::stderr().write_all(told.as_bytes());
    }
    let written = args.output.write_files(&edition, &text);
    if let Ending::Signal(signal) = ending {
        if let Err(error) = written {
            say(error);
        }
        attend::die_of(signal);
    }
    written.map(|()| code)
}

/// The report with files as seen from the current directory.
pub(super) fn relative(report: &Report) -> Report {
    let mut report = report.clone();
    let Ok(mut here) = env::current_dir().map(|path| path.display().to_string()) else {
        return report;
    };
    here.push('/');
    let cut = |text: &mut String| *text = text.replace(&here, "");
    let cut_all = |finding: &mut Finding| {
        cut(&mut finding.location.name);
        for access in &mut finding.accesses {
            cut(&mut access.site);
            access.file.iter_mut().for_each(cut);
            access.locks.iter_mut().for_each(cut);
            let files = access.stack.iter_mut().flat_map(|frame| &mut frame.file);
            files.for_each(cut);
        }
        finding.reasons.iter_mut().for_each(|r| cut(&mut r.because));
        finding.replay.iter_mut().for_each(cut);
    };
    report.findings.iter_mut().for_each(cut_all);
    report
}

/// The runtime's options: the user's own, then what this command line says.
pub(super) fn options(
    args: &Run,
    plan: &Plan,
    journal: Option<&Journal>,
) -> Result<Options, Error> {
    let mut options = Options::inherited();
    options.add("detector", plan::detector(args, plan)?)?;
    if *plan != Plan::Free {
        options.add("schedule", plan.to_string())?;
    }
    if args.sample != Sample::None {
        if let Some(sample) = args.sample.to_possible_value() {
            options.add("sample", sample.get_name())?;
        }
        options.add("sample_frequency", args.sample_frequency.to_string())?;
    }
    match (args.sample, args.sample_rate) {
        (_, None) => {}
        (Sample::None, Some(_)) => {
            return Err(Error::Wish(
                "--sample-rate is for --sample, which was not given".to_owned(),
            ));
        }
        (Sample::Literace, Some(rate)) => match rate.one_in() {
            Some(least) => options.add("sample_least", least.to_string())?,
            None => {
                return Err(Error::Wish(format!(
                    "--sample-rate {rate}: literace takes one call in so many, as in 1/1000"
                )));
            }
        },
        (Sample::Atex, Some(rate)) => options.add("sample_rate", rate.to_string())?,
    }
    if args.explain {
        options.add("explain_schedule", "1")?;
    }
    if let Some(file) = &args.schedule_out {
        let path = std::path::absolute(file).map_err(Error::file(file))?;
        options.add("schedule_file", path)?;
    }
    if let Some(record) = &args.record {
        options.add("record", emptied(record)?)?;
    }
    if args.record_calls {
        options.add("record_calls", "1")?;
    }
    if let Some(level) = args.fail_on.to_possible_value()
        && args.fail_on != FailOn::Predicted
    {
        options.add("fail_on", level.get_name())?;
    }
    if let Some(journal) = journal {
        options.add("findings", journal.path())?;
    }
    if !is_live(args)? {
        options.add("print_reports", "0")?;
        options.add("fail_on", "never")?;
    }
    Ok(options)
}

/// The file that a trace is to be written to, empty: so the first of the program's
/// processes can tell that it is its own. A pipe or a device is left alone.
fn emptied(record: &Path) -> Result<PathBuf, Error> {
    if fs::metadata(record).map_or(true, |file| file.is_file() || file.is_dir()) {
        fs::File::create(record).map_err(Error::file(record))?;
    }
    std::path::absolute(record).map_err(Error::file(record))
}
