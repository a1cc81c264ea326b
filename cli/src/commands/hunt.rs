//! `racehound hunt`: from a program to proven bugs.

mod comparison;
mod forecasting;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{env, io};

use racehound_hunt::allowance::Allowance;
use racehound_hunt::course::{self, Course, Earlier, Phase, Settings, Task};
use racehound_hunt::program::Stop;
use racehound_hunt::{Ending, Program, crew, findings, harm, suite};
use racehound_report::finding::{Finding, Moment, Report, Status, Test, Tested};
use racehound_report::table::counted;
use racehound_report::text::{WIDTH, wrapped};
use racehound_report::{source, story};
use racehound_store::Store;

use super::run::relative;
use crate::args::{self, Hunt};
use crate::error::Error;
use crate::known::Known;
use crate::progress::Display;
use crate::retelling::Retelling;
use crate::stdin::Spool;
use crate::workplace::{self, Workplace};
use crate::{
    FINDINGS, build, compile, formats, rust_library, store, subject, surroundings, verdict,
};

/// Hunts.
pub(crate) fn run(args: &Hunt) -> Result<u8, Error> {
    args.output.check()?;
    if let Some(file) = &args.stdin {
        File::open(file).map_err(Error::file(file))?;
    }
    if args.sources.is_empty() && args.program.is_empty() {
        return Err(nothing_to_hunt_in());
    }
    let words = words(args)?;
    let mut program = subject::of(&words)?;
    store::prepare()?;
    if let Some(file) = &args.suppressions {
        let path = std::path::absolute(file).map_err(Error::file(file))?;
        program.options.add("suppressions", path)?;
    }
    let begun = Instant::now();
    program.surroundings = surroundings::of(&args.around);
    program.stop = Stop {
        now: stopped_by_signals().map_err(Error::file(Path::new("signals")))?,
        at: Some(begun + args.budget),
    };
    let mut hunt = Hunting::begin(args, &words, program, begun)?;
    let gone = hunt.go();
    // What is known is told, whatever has gone wrong.
    let code = hunt.end(gone.is_ok())?;
    gone.map(|()| code)
}

fn nothing_to_hunt_in() -> Error {
    Error::Wish(
        "what is to be hunted in? Name sources (racehound hunt bank.c) or a program \
         (racehound hunt -- ./bank)"
            .to_owned(),
    )
}

/// The program's words; sources are compiled first.
fn words(args: &Hunt) -> Result<Vec<OsString>, Error> {
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
    project: PathBuf,
    report: Report,
    store: Store,
    record: racehound_store::Hunt,
    place: Workplace,
    display: Display,
    known: Known,
    retelling: Retelling,
    /// What was found where the hunt is over: in earlier tests.
    settled: Vec<Finding>,
    /// How many executions there were there.
    settled_runs: u64,
    /// Failures whose reason was looked for.
    looked_into: BTreeSet<(String, Option<String>, Vec<String>)>,
    /// What has one thread only.
    alone: Vec<String>,
    /// It has a standard library of which part of the work is not seen.
    is_library_unseen: bool,
    /// Executions are in each other's way.
    is_crowded: bool,
    /// What is to be said beside the findings.
    remarks: Vec<String>,
}

impl<'a> Hunting<'a> {
    fn begin(
        args: &'a Hunt,
        words: &[OsString],
        mut program: Program,
        begun: Instant,
    ) -> Result<Self, Error> {
        let project = env::current_dir().map_err(Error::file(Path::new(".")))?;
        let (baseline, suppressions) = (args.baseline.as_deref(), args.suppressions.as_deref());
        let known = Known::with(&project, baseline, suppressions)?;
        let mut store = Store::open(&project)?;
        let mut report = Report {
            program: subject::in_words(words),
            seed: Some(args.seed),
            directory: Some(project.display().to_string()),
            build: build::of(&program.path),
            ..Report::default()
        };
        if args.fresh {
            store.forget(&report.program)?;
        }
        workplace::tidy(&project, &store);
        let record = store.begin(&report)?;
        let place = Workplace::of(&project, record.id())?;
        program.scratch = Some(place.path().to_owned());
        program.input = match &args.stdin {
            Some(file) => Some(std::path::absolute(file).map_err(Error::file(file))?),
            None => Spool::take()?.kept_in(place.path())?,
        };
        report.surroundings = surroundings::told(&args.around, program.input.as_ref());
        let display = Display::new(Arc::clone(&program.executions), begun + args.budget);
        let is_library_unseen = rust_library::is_unseen(&program.path);
        let remarks = is_library_unseen.then(|| UNSEEN_LIBRARY.to_owned());
        Ok(Self {
            args,
            program,
            begun,
            project,
            report,
            store,
            record,
            place,
            display,
            known,
            retelling: Retelling::default(),
            settled: Vec::new(),
            settled_runs: 0,
            looked_into: BTreeSet::new(),
            alone: Vec::new(),
            is_library_unseen,
            is_crowded: false,
            remarks: remarks.into_iter().collect(),
        })
    }

    fn go(&mut self) -> Result<(), Error> {
        match self.args.each_test {
            true => self.go_through_tests(),
            false => {
                self.program.allowance = Allowance::of(self.args.runs);
                self.hunt_in(None)
            }
        }
    }

    /// Each test gets its share of what is left; what it does not need is for the
    /// others. Those that the last hunt did not reach come first.
    fn go_through_tests(&mut self) -> Result<(), Error> {
        let limit = Duration::from_secs(self.args.timeout);
        let mut tests = suite::tests(&self.program, limit)?;
        if tests.is_empty() && !self.program.stop.is_due() {
            return Err(Error::Wish(format!(
                "{}: it does not tell its tests as GoogleTest, Catch2 and Rust's libtest do, so \
                 --each-test cannot hunt in them one by one",
                self.program.path.display()
            )));
        }
        let last = self.store.before(&self.record)?.unwrap_or_default();
        let reached: BTreeSet<&String> = last.tests.iter().map(|test| &test.name).collect();
        tests.sort_by_key(|test| reached.contains(&test.name));
        let (words, all) = (self.program.words.clone(), self.program.stop.at);
        let mut waiting: Vec<Test> = tests.into_iter().rev().collect();
        let mut runs = self.args.runs;
        while !(runs == Some(0) || self.program.stop.is_due())
            && let Some(test) = waiting.pop()
        {
            let others = waiting.len() as u64 + 1;
            let left = self.args.budget.saturating_sub(self.begun.elapsed());
            let share = (left / others as u32).max(SHORTEST_SHARE.min(left));
            let allowed = runs.map(|left| (left / others).max(1));
            self.program.allowance = Allowance::of(allowed);
            self.program.stop.at = Some(Instant::now() + share);
            self.program.words = words.clone();
            let arguments = test.arguments.iter().map(OsString::from);
            self.program.words.extend(arguments);
            self.display.in_test(&test.name);
            self.hunt_in(Some(test))?;
            let kept = self.program.allowance.left().unwrap_or_default();
            runs = runs.map(|left| left + kept - allowed.unwrap_or_default());
            self.program.stop.at = all;
        }
        if !waiting.is_empty() {
            self.remarks.push(format!(
                "{} of {} tests were not reached within the budget; the next hunt begins with \
                 them.",
                waiting.len(),
                waiting.len() + self.report.tests.len()
            ));
        }
        Ok(())
    }

    fn settings(&self, test: Option<Test>) -> Result<Settings, Error> {
        let number = self.report.tests.len();
        Ok(Settings {
            seed: self.args.seed,
            limit: self.limit(),
            attempts: ATTEMPTS,
            jobs: self.jobs(),
            explorers: EXPLORERS.max(self.jobs() as u64),
            patience: MOST_PATIENCE,
            relations: store::relations(&self.program.path)?,
            schedules: self.place.path().to_owned(),
            trace: self.place.trace(&format!("trace-{number}")),
            store: store::directory()?,
            is_library_unseen: self.is_library_unseen,
            test,
        })
    }

    /// How long an execution may take.
    fn limit(&self) -> Duration {
        Duration::from_secs(self.args.timeout).min(self.args.budget / LONGEST_PART)
    }

    /// Executions that share files or ports do not go on side by side unless somebody
    /// says so.
    fn jobs(&self) -> usize {
        let alone = !self.program.surroundings.is_empty() || self.is_crowded;
        let usual = if alone { 1 } else { args::cores() };
        self.args.jobs.unwrap_or(usual)
    }

    /// What earlier hunts know of this test, or of the program.
    fn earlier(&self, test: Option<&Test>) -> Result<Vec<Earlier>, Error> {
        let known = self.store.findings_with_builds(&self.report.program)?;
        let name = |test: Option<&Test>| test.map(|test| test.name.clone());
        let earlier = known
            .into_iter()
            .filter(|(finding, _)| name(finding.test.as_ref()) == name(test));
        let earlier = earlier.map(|(finding, build)| Earlier {
            finding,
            is_of_this_build: build == self.report.build,
        });
        Ok(earlier.collect())
    }

    /// Goes round until nothing new turns up, or time or executions run out.
    fn hunt_in(&mut self, test: Option<Test>) -> Result<(), Error> {
        let explored = self.store.runs(&self.report.program)?;
        let earlier = self.earlier(test.as_ref())?;
        let mut course = Course::new(self.settings(test.clone())?, earlier, explored);
        // One of many tests has its turn, and no more.
        let enough = match test {
            Some(_) => Duration::ZERO,
            None => self.args.budget / IDLE_PART,
        };
        // To watch a program that hangs is not to look for anything.
        let mut looked = Duration::ZERO;
        let mut gone = Ok(());
        while gone.is_ok()
            && !self.is_over()
            && !(course.idle() >= PATIENCE
                && (course.has_confirmed() || looked >= enough && course.stuck() == 0))
            && let Some((phase, tasks)) = course.round()
        {
            let begun = Instant::now();
            gone = self.go_round(&mut course, phase, &tasks);
            if phase != Phase::Observing {
                looked += begun.elapsed();
            }
        }
        course.close();
        self.settle(&course, test)?;
        gone
    }

    fn go_round(&mut self, course: &mut Course, phase: Phase, tasks: &[Task]) -> Result<(), Error> {
        self.display.phase(match phase {
            Phase::Observing => "observing",
            Phase::Confirming => "confirming",
            Phase::Exploring => "exploring",
        });
        let program = self.program.clone();
        let tool = |job: usize| Program {
            job,
            ..program.clone()
        };
        let mut waiting = match phase {
            Phase::Confirming => tasks.len(),
            Phase::Observing | Phase::Exploring => 0,
        };
        let mut gone = Ok(());
        let perform = |program: &mut Program, task: &Task| course::perform(program, task);
        crew::do_all(tasks, self.jobs(), tool, perform, |task, result| {
            waiting = waiting.saturating_sub(1);
            match result {
                Ok(result) => course.learn(task, result),
                Err(error) if gone.is_ok() => gone = Err(Error::from(error)),
                Err(_) => {}
            }
            if gone.is_ok() {
                gone = self.note(course, waiting);
            }
        });
        gone?;
        self.make_room(course);
        if phase == Phase::Observing && course.is_recorded() {
            self.predict(course);
        }
        self.look_into_failures(course);
        let jobs = self.jobs();
        self.retelling
            .go_on(&course.findings(), &self.program, jobs, self.begun);
        self.report.costs = course.costs().to_vec();
        self.mark();
        Ok(())
    }

    /// Lets executions go one after the other if they are in each other's way.
    fn make_room(&mut self, course: &Course) {
        if !course.is_crowded() || self.is_crowded || self.args.jobs.is_some() {
            return;
        }
        self.is_crowded = true;
        self.remarks.push(
            "Executions side by side fail where one alone does not, as if they had files or ports \
             in common: they went one after the other from then on. --jobs 1 does so from the \
             beginning."
                .to_owned(),
        );
    }

    fn is_over(&self) -> bool {
        self.program.allowance.is_used_up() || self.program.stop.is_due()
    }

    /// What is new is in the store before the hunt goes on.
    fn note(&mut self, course: &Course, waiting: usize) -> Result<(), Error> {
        let mut all = self.settled.clone();
        findings::merge(&mut all, course.findings());
        let is_new = all.len() != self.report.findings.len()
            || all
                .iter()
                .zip(&self.report.findings)
                .any(|(new, old)| (new.identity(), new.status) != (old.identity(), old.status));
        self.report.runs = self.settled_runs + course.runs();
        if is_new {
            self.report.findings = all;
            self.keep(false)?;
        }
        let confirmed = count(&self.report.findings, Status::Confirmed);
        if confirmed > 0
            && !self
                .report
                .history
                .iter()
                .any(|moment| moment.confirmed > 0)
        {
            self.mark();
        }
        self.display.found(course.open() + waiting, confirmed);
        Ok(())
    }

    /// Notes how far the hunt is.
    fn mark(&mut self) {
        self.report.history.push(Moment {
            runs: self.report.runs,
            milliseconds: self.begun.elapsed().as_millis() as u64,
            found: self.report.findings.len(),
            confirmed: count(&self.report.findings, Status::Confirmed),
        });
    }

    /// Brings the store up to date.
    fn keep(&mut self, is_over: bool) -> Result<(), Error> {
        self.retelling.add_to(&mut self.report.findings);
        source::embed(&mut self.report);
        Ok(self.store.note(&self.record, &mut self.report, is_over)?)
    }

    /// A program or test is done with.
    fn settle(&mut self, course: &Course, test: Option<Test>) -> Result<(), Error> {
        let (found, jobs) = (course.findings(), self.jobs());
        match test {
            Some(_) => self
                .retelling
                .go_on(&found, &self.program, jobs, self.begun),
            None => self.retelling.end(&found, &self.program, jobs),
        }
        findings::merge(&mut self.settled, found);
        self.settled_runs += course.runs();
        self.report.findings = self.settled.clone();
        self.report.runs = self.settled_runs;
        let subject = match &test {
            Some(test) => format!("test {}", test.name),
            None => "the program".to_owned(),
        };
        for (ending, times, of) in course.usual().ailing() {
            let (often, so) = match course.usual().always_ails() && times == of {
                true => (String::new(), "that is no finding"),
                false => (
                    format!(" in {times} of {of} executions"),
                    "told above only if a schedule does it each time",
                ),
            };
            self.remarks.push(format!(
                "By itself {subject} {}{often}; {so}.{}",
                ends(ending),
                self.advice(ending)
            ));
        }
        if course.stuck() > 0 && !course.has_confirmed() {
            self.remarks.push(format!(
                "By itself {subject} did not end in {} of the executions that were observed; no \
                 schedule was found that makes it hang each time. More time may: --budget.",
                course.stuck()
            ));
        }
        if course.unfinished() > 0 {
            self.remarks.push(format!(
                "{} took longer than one may ({:.0} s), and had to be ended: give the program less to \
                 do, or more time by --budget and --timeout.",
                counted(course.unfinished() as usize, "execution"),
                self.limit().as_secs_f64()
            ));
        }
        self.report.tests.extend(test.map(|test| Tested {
            name: test.name,
            runs: course.runs(),
        }));
        self.keep(false)
    }

    /// What to do about a program that ends so by itself.
    fn advice(&self, ending: Ending) -> &'static str {
        match ending {
            Ending::Limit => {
                " If it takes long, say --timeout; if it is a server, --client has it driven."
            }
            Ending::Unready if self.args.around.ready.is_some() => {
                " It has not printed what --ready waits for; if that is left out, the client begins \
                 when the program listens at a socket."
            }
            Ending::Unready => " If it does not listen at a socket, say --ready.",
            _ => "",
        }
    }

    /// Tells what was found; whether it came to its end makes a difference to what that
    /// means.
    fn end(mut self, has_ended: bool) -> Result<u8, Error> {
        self.mark();
        self.keep(true)?;
        self.place.leave(&self.project, &self.store);
        self.display.clear();
        let gone = self.known.settle(&mut self.report);
        let failing = verdict::failing(&self.report, self.args.fail_on);
        let code = if failing > 0 { FINDINGS } else { 0 };
        let mut text = story::all(&relative(&self.report));
        if let Some(first) = self.alone.first() {
            let who = match self.alone.len() {
                1 => format!("{first} has"),
                more => format!("{first} and {} more tests have", more - 1),
            };
            self.remarks.push(format!(
                "No order of threads to look at: {who} one thread only."
            ));
        }
        for (trouble, times) in self.program.surroundings.troubles.all() {
            let times = if times == 1 {
                "once".to_owned()
            } else {
                format!("{times} times")
            };
            self.remarks
                .push(format!("It happened {times}: {trouble}."));
        }
        if self.program.stop.now.load(Ordering::Relaxed) {
            self.remarks.push(
                "The hunt was interrupted before its end; what it has found is kept.".to_owned(),
            );
        }
        for remark in &self.remarks {
            text += &wrapped(remark, WIDTH).join("\n");
            text.push('\n');
        }
        text += &verdict::absent(gone);
        let seconds = self.begun.elapsed().as_secs_f64();
        let tests = match self.report.tests.len() {
            0 => String::new(),
            tests => format!(" of {}", counted(tests, "test")),
        };
        let runs = counted(self.report.runs as usize, "run");
        let before = format!("{runs}{tests} in {seconds:.1} s: ");
        text += &match (has_ended, self.report.runs) {
            (true, _) => verdict::closing(&before, &self.report, failing, code),
            (false, 0) => String::new(),
            (false, _) => verdict::cut_short(&before, &self.report),
        };
        let root = formats::root(&self.project);
        let edition = verdict::edition(&self.report, self.args.fail_on, &root);
        self.args.output.publish(&edition, &text)?;
        Ok(code)
    }
}

/// What is to be known of a program in Rust whose library is the one that is shipped.
const UNSEEN_LIBRARY: &str = "Rust's standard library is not instrumented in it, so part of what \
     its locks, channels and Once do is not seen: what looks like a race is told as predicted, \
     unless two threads stood at it together. cargo build -Zbuild-std builds the library along.";

/// What part of the budget one execution may take; else nothing comes of the others.
const LONGEST_PART: u32 = 4;
/// Attempts to make a suspected pair meet.
const ATTEMPTS: u64 = 5;
/// Exploring executions in a round, at least.
const EXPLORERS: u64 = 8;
/// Rounds of them that bring nothing new before a hunt ends that has confirmed something,
/// or has taken this part of its budget; and before any does.
const PATIENCE: u32 = 4;
const IDLE_PART: u32 = 5;
const MOST_PATIENCE: u32 = 60;

/// What is of any use to a test; rather some are not reached.
const SHORTEST_SHARE: Duration = Duration::from_secs(2);

fn count(findings: &[Finding], status: Status) -> usize {
    findings.iter().filter(|f| f.status == status).count()
}

fn ends(ending: Ending) -> String {
    match ending {
        Ending::Code(code) => format!("ends with exit code {code}"),
        Ending::Signal(signal) => format!("dies of {}", harm::signal(signal)),
        Ending::Limit => "does not end in time".to_owned(),
        Ending::Unready => "is not ready in time for its client".to_owned(),
        Ending::Client(code) => format!("makes its client end with exit code {code}"),
        Ending::Stubborn => "does not end when it is told to".to_owned(),
    }
}
