//! `racehound run`: one execution of a program under a detector.
//!
//! The program takes this process's place, so that it behaves as it does by
//! itself; what it needs to know goes along in its environment. Where findings
//! are wanted in another form than the runtime prints, this process stays behind
//! the program instead, and collects what the runtime notes.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use clap::ValueEnum;
use racehound::runtime::{self, Runtime};
use racehound_report::finding::{Finding, Report};
use racehound_schedule::Plan;

use crate::args::{FailOn, Run, RunFormat};
use crate::attend::{self, Ending};
use crate::error::Error;
use crate::instrumentation::{self, Instrumentation};
use crate::journal::Journal;
use crate::{FINDINGS, output, plan, verdict};

/// Runs the program.
pub(crate) fn run(args: &Run) -> Result<u8, Error> {
    if args.json.as_deref() == Some(Path::new("-")) {
        return Err(Error::Wish(
            "--json -: standard output is the program's; name a file, or /dev/stderr".to_owned(),
        ));
    }
    let plan = plan::of(args)?;
    let (path, mut command) = command(&args.program)?;
    if plan.is_some() {
        attend::fix_addresses(&mut command);
    }
    let not_started =
        |error: std::io::Error| Error::NotStarted(format!("{}: {error}", path.display()));
    if args.json.is_none() && args.format == RunFormat::Tsan {
        command.env(OPTIONS, options(args, plan.as_ref(), None)?);
        // Returns only if it fails.
        return Err(not_started(command.exec()));
    }
    let journal = Journal::create(args.json.as_deref())?;
    command.env(OPTIONS, options(args, plan.as_ref(), Some(&journal))?);
    let ending = attend::run(&mut command).map_err(not_started)?;
    let report = report(args, &journal);
    drop(journal);
    conclude(args, &report?, ending)
}

/// Where the runtime finds its options.
pub(crate) const OPTIONS: &str = "RACEHOUND_OPTIONS";

/// The program's file, and the command that runs it.
pub(crate) fn command(program: &[OsString]) -> Result<(PathBuf, Command), Error> {
    let (name, arguments) = program.split_first().expect("clap requires one");
    let path = find(name)?;
    let mut command = Command::new(&path);
    command.arg0(name).args(arguments);
    match instrumentation::of(&path)? {
        Instrumentation::Ours | Instrumentation::Unknown => {}
        Instrumentation::Libtsan => replace_libtsan(&mut command)?,
        Instrumentation::Clang => {
            return Err(Error::NotInstrumented(format!(
                "{}: ThreadSanitizer is linked into it, so Racehound cannot take its place; \
                 build it with 'racehound cc' or 'racehound c++' in place of clang \
                 (make CC='racehound cc' CXX='racehound c++')",
                path.display()
            )));
        }
        Instrumentation::None => {
            return Err(Error::NotInstrumented(format!(
                "{}: it is not instrumented, so nothing can be seen of what it does; build it \
                 with 'racehound cc' or 'racehound c++' (make CC='racehound cc' \
                 CXX='racehound c++'), or with gcc -fsanitize=thread",
                path.display()
            )));
        }
    }
    Ok((path, command))
}

/// What the program's processes have noted.
fn report(args: &Run, journal: &Journal) -> Result<Report, Error> {
    let (findings, damaged) = journal.findings()?;
    if damaged > 0 {
        anstream::eprintln!("racehound: {damaged} findings were noted incompletely and are lost");
    }
    let words = args.program.iter();
    Ok(Report {
        program: words.map(|w| w.to_string_lossy().into_owned()).collect(),
        seed: args.seed,
        runs: 1,
        findings,
        ..Report::default()
    })
}

/// Tells what was found, and ends as the program did.
fn conclude(args: &Run, report: &Report, ending: Ending) -> Result<u8, Error> {
    let failing = verdict::failing(report, args.fail_on);
    let code = match ending {
        Ending::Code(_) if failing > 0 => FINDINGS,
        Ending::Code(code) => code,
        Ending::Signal(_) => 0,
    };
    if args.format == RunFormat::Text && !report.findings.is_empty() {
        let mut text = verdict::listing(&relative(report), 0);
        if let Ending::Code(_) = ending {
            text.push_str(&verdict::closing(report, failing, code));
        }
        // Findings are findings, also if nobody reads them.
        let _ = anstream::stderr().write_all(text.as_bytes());
    }
    let written = match &args.json {
        Some(path) => output::write_report(path, report),
        None => Ok(()),
    };
    if let Ending::Signal(signal) = ending {
        if let Err(error) = written {
            anstream::eprintln!("racehound: {error}");
        }
        attend::die_of(signal);
    }
    written.map(|()| code)
}

/// The report with files as seen from the current directory.
fn relative(report: &Report) -> Report {
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
    };
    report.findings.iter_mut().for_each(cut_all);
    report
}

/// The program's file, looked for as a shell does.
fn find(name: &OsStr) -> Result<PathBuf, Error> {
    let path = Path::new(name);
    let missing = |why: &str| Err(Error::NotStarted(format!("{}: {why}", path.display())));
    if path.components().count() > 1 || path.is_absolute() {
        return match fs::metadata(path) {
            Ok(file) if file.is_file() => Ok(path.to_owned()),
            Ok(_) => missing("not a program"),
            Err(error) => missing(&error.to_string()),
        };
    }
    let directories = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&directories)
        .map(|directory| directory.join(path))
        .find(|candidate| candidate.is_file());
    match found {
        Some(found) => Ok(found),
        None if path.is_file() => missing(&format!(
            "not on the PATH; did you mean ./{}?",
            path.display()
        )),
        None => missing("no such program on the PATH"),
    }
}

/// The runtime's options: the user's own, then what this command line says.
fn options(args: &Run, plan: Option<&Plan>, journal: Option<&Journal>) -> Result<OsString, Error> {
    let mut options = env::var_os(OPTIONS).unwrap_or_default();
    let mut add = |name: &str, value: &OsStr| {
        let quotes = ["'", "\""].into_iter();
        let unused = |text: &str| quotes.clone().find(|quote| !text.contains(quote));
        let Some(quote) = value.to_str().and_then(unused) else {
            return Err(Error::Wish(format!(
                "{}: the runtime wants a name in UTF-8, with at most one sort of quotes in it",
                value.display()
            )));
        };
        if !options.is_empty() {
            options.push(":");
        }
        options.push(format!("{name}={quote}"));
        options.push(value);
        options.push(quote);
        Ok(())
    };
    add("detector", OsStr::new(&plan::detector(args, plan)?))?;
    if let Some(plan) = plan {
        add("schedule", OsStr::new(&plan.to_string()))?;
    }
    if let Some(file) = &args.schedule_out {
        let path = std::path::absolute(file).map_err(Error::file(file))?;
        add("schedule_file", path.as_os_str())?;
    }
    if let Some(record) = &args.record {
        add("record", emptied(record)?.as_os_str())?;
    }
    if let Some(level) = args.fail_on.to_possible_value()
        && args.fail_on != FailOn::Predicted
    {
        add("fail_on", OsStr::new(level.get_name()))?;
    }
    if let Some(journal) = journal {
        add("findings", journal.path().as_os_str())?;
    }
    if args.format != RunFormat::Tsan {
        add("print_reports", OsStr::new("0"))?;
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

/// Lets the program find our library where it looks for gcc's.
fn replace_libtsan(command: &mut Command) -> Result<(), Error> {
    let started = |error: runtime::Error| Error::NotStarted(error.to_string());
    let runtime: Runtime = runtime::locate().map_err(started)?;
    let mut path = runtime
        .in_place_of_libtsan()
        .map_err(started)?
        .into_os_string();
    if let Some(more) = env::var_os("LD_LIBRARY_PATH").filter(|more| !more.is_empty()) {
        path.push(":");
        path.push(more);
    }
    command.env("LD_LIBRARY_PATH", path);
    Ok(())
}
