//! `racehound hunt`: from a program to proven bugs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::{env, io};

use racehound_hunt::course::{self, Course, Phase, Settings, Task};
use racehound_hunt::program::Stop;
use racehound_hunt::{Ending, Program, crew, harm};
use racehound_report::finding::{Finding, Moment, Report, Status};
use racehound_report::{source, story};
use racehound_store::Store;
use tempfile::NamedTempFile;

use super::predict;
use super::run::relative;
use crate::args::Hunt;
use crate::error::Error;
use crate::known::Known;
use crate::progress::Display;
use crate::retelling::Retelling;
use crate::stdin::Spool;
use crate::{FINDINGS, build, compile, formats, predictions, store, subject, verdict};

/// Hunts.
pub(crate) fn run(args: &Hunt) -> Result<u8, Error> {
    args.output.check()?;
    let words = words(args)?;
    let mut program = subject::of(&words)?;
    if let Some(file) = &args.suppressions {
        let path = std::path::absolute(file).map_err(Error::file(file))?;
        program.options.add("suppressions", path)?;
    }
    let input = match &args.stdin {
        Some(file) => Spool::File(std::path::absolute(file).map_err(Error::file(file))?),
        None => Spool::take()?,
    };
    program.input = input.path();
    let begun = Instant::now();
    program.stop = Stop {
        now: stopped_by_signals().map_err(Error::file(Path::new("signals")))?,
        at: Some(begun + args.budget),
    };
    let mut hunt = Hunting::begin(args, &words, program, begun)?;
    hunt.go()?;
    hunt.end()
}

/// The program's words; sources are compiled first.
fn words(args: &Hunt) -> Result<Vec<OsString>, Error> {
    if args.sources.is_empty() && args.program.is_empty() {
        return Err(Error::Wish(
            "what is to be hunted in? Name sources (racehound hunt bank.c) or a program \
             (racehound hunt -- ./bank)"
                .to_owned(),
        ));
    }
    if args.sources.is_empty() {
        return Ok(args.program.clone());
    }
    let mut words = vec![compile::program(&args.sources)?.into_os_string()];
    words.extend(args.program.iter().cloned());
    Ok(words)
}

/// What becomes true when somebody wants us to stop. Who insists, is obeyed at once.
fn stopped_by_signals() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

struct Hunting<'a> {
    args: &'a Hunt,
    program: Program,
    begun: Instant,
    course: Course,
    report: Report,
    store: Store,
    record: racehound_store::Hunt,
    trace: NamedTempFile,
    schedules: PathBuf,
    display: Display,
    known: Known,
    retelling: Retelling,
}

impl<'a> Hunting<'a> {
    fn begin(
        args: &'a Hunt,
        words: &[OsString],
        program: Program,
        begun: Instant,
    ) -> Result<Self, Error> {
        let here = env::current_dir().map_err(Error::file(Path::new(".")))?;
        let known = Known::with(
            &here,
            args.baseline.as_deref(),
            args.suppressions.as_deref(),
        )?;
        let mut store = Store::open(&here)?;
        let report = Report {
            program: subject::in_words(words),
            seed: Some(args.seed),
            directory: Some(here.display().to_string()),
            build: build::of(&program.path),
            ..Report::default()
        };
        if args.fresh {
            store.forget(&report.program)?;
        }
        let earlier = store.findings(&report.program)?;
        let explored = store.runs(&report.program)?;
        let record = store.begin(&report)?;
        let trace = NamedTempFile::with_prefix("racehound-trace-");
        let trace = trace.map_err(Error::file(&env::temp_dir()))?;
        let schedules = store::schedules(&here, &report.program)?;
        let settings = Settings {
            seed: args.seed,
            limit: Duration::from_secs(args.timeout),
            attempts: ATTEMPTS,
            explorers: EXPLORERS.max(args.jobs as u64),
            patience: PATIENCE,
            relations: store::relations(&program.path)?,
            schedules: schedules.clone(),
            trace: trace.path().to_owned(),
        };
        Ok(Self {
            args,
            known,
            retelling: Retelling::default(),
            program,
            begun,
            course: Course::new(settings, earlier, explored),
            report,
            store,
            record,
            trace,
            schedules,
            display: Display::new(),
        })
    }

    /// Goes round until nothing new turns up, or time or executions run out.
    fn go(&mut self) -> Result<(), Error> {
        while !self.is_over()
            && let Some((phase, tasks)) = self.course.round()
        {
            self.show(phase, tasks.len());
            let display = &self.display;
            let work = |program: &mut Program, task: &Task| {
                let result = course::perform(program, task);
                display.ran();
                result
            };
            let results = crew::do_all(&tasks, self.args.jobs, &self.program, work);
            for (task, result) in tasks.iter().zip(results) {
                self.course.learn(task, result?);
            }
            if phase == Phase::Observing {
                self.predict();
            }
            let (findings, jobs) = (self.course.findings(), self.args.jobs);
            self.retelling
                .go_on(&findings, &self.program, jobs, self.begun);
            self.note(false)?;
        }
        Ok(())
    }

    /// Predicts from what was recorded. What cannot be read, as the trace of a program
    /// that became another one, is not predicted from.
    fn predict(&mut self) {
        let size = self.trace.as_file().metadata().map_or(0, |file| file.len());
        if !(1..=LARGEST_TRACE).contains(&size) {
            return;
        }
        let Ok(trace) = predict::read(self.trace.path()) else {
            return;
        };
        let forecast = racehound_predict::predict(&trace, &racehound_predict::Options::default());
        for predicted in predictions::findings(&trace, &forecast) {
            let mut files = Vec::new();
            for (name, schedule) in predict::schedules(&forecast, &predicted) {
                let id = self.record.id();
                let file = self.schedules.join(format!("{id}-{name}.schedule"));
                if std::fs::write(&file, schedule.to_string()).is_ok() {
                    files.push(file);
                }
            }
            self.course.predict(predicted.finding, &files);
        }
    }

    fn is_over(&self) -> bool {
        let runs = self.args.runs;
        self.program.stop.is_due() || runs.is_some_and(|most| self.course.runs() >= most)
    }

    fn show(&mut self, phase: Phase, tasks: usize) {
        let doing = match phase {
            Phase::Observing => "observing",
            Phase::Confirming => "confirming",
            Phase::Exploring => "exploring",
        };
        let confirmed = count(&self.report.findings, Status::Confirmed);
        let left = self.args.budget.saturating_sub(self.begun.elapsed());
        self.display.phase(
            doing,
            format!(
                "{} runs, {tasks} to do, {} suspects open, {confirmed} confirmed, {} s left",
                self.course.runs(),
                self.course.open(),
                left.as_secs()
            ),
        );
    }

    fn note(&mut self, is_over: bool) -> Result<(), Error> {
        self.report.findings = self.course.findings();
        self.report.runs = self.course.runs();
        self.report.costs = self.course.costs().to_vec();
        self.report.history.push(Moment {
            runs: self.report.runs,
            milliseconds: self.begun.elapsed().as_millis() as u64,
            found: self.report.findings.len(),
            confirmed: count(&self.report.findings, Status::Confirmed),
        });
        self.retelling.add_to(&mut self.report.findings);
        source::embed(&mut self.report);
        self.store.note(&self.record, &mut self.report, is_over)?;
        Ok(())
    }

    /// Removes schedules of which nothing came.
    fn sweep(&self) {
        let known = self
            .store
            .findings(&self.report.program)
            .unwrap_or_default();
        let kept: Vec<String> = known.into_iter().filter_map(|f| f.schedule).collect();
        for file in self.course.schedules() {
            let name = file.display().to_string();
            if !kept.iter().any(|schedule| schedule.contains(&name)) {
                // It may never have been written.
                let _ = std::fs::remove_file(file);
            }
        }
    }

    fn end(mut self) -> Result<u8, Error> {
        let findings = self.course.findings();
        self.retelling.end(&findings, &self.program, self.args.jobs);
        self.note(true)?;
        self.sweep();
        self.display.clear();
        let gone = self.known.settle(&mut self.report);
        let failing = verdict::failing(&self.report, self.args.fail_on);
        let code = if failing > 0 { FINDINGS } else { 0 };
        let mut text = story::all(&relative(&self.report));
        for ending in self.course.ailing() {
            text += &format!(
                "By itself the program {}; that is no finding.\n",
                ends(*ending)
            );
        }
        text += &verdict::absent(gone);
        let seconds = self.begun.elapsed().as_secs_f64();
        let runs = self.course.runs();
        text += &format!("{runs} runs in {seconds:.1} s: ");
        text += &verdict::closing(&self.report, failing, code);
        let directory = self.report.directory.clone().unwrap_or_default();
        let root = formats::root(Path::new(&directory));
        let edition = verdict::edition(&self.report, self.args.fail_on, &root);
        self.args.output.publish(&edition, &text)?;
        Ok(code)
    }
}

/// Longer traces are not predicted from, in bytes.
const LARGEST_TRACE: u64 = 64 << 20;
/// Attempts to make a suspected pair meet.
const ATTEMPTS: u64 = 5;
/// Exploring executions in a round, at least.
const EXPLORERS: u64 = 8;
/// Rounds of them that bring nothing new before the hunt ends.
const PATIENCE: u32 = 4;

fn count(findings: &[Finding], status: Status) -> usize {
    findings.iter().filter(|f| f.status == status).count()
}

fn ends(ending: Ending) -> String {
    match ending {
        Ending::Code(code) => format!("ends with exit code {code}"),
        Ending::Signal(signal) => format!("dies of {}", harm::signal(signal)),
        Ending::Limit => "does not end in time".to_owned(),
    }
}
