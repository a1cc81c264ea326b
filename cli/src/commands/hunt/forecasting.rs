//! What may happen, predicted from what was recorded.
//!
//! Of an execution that went well: each anomaly that another order of the same events would
//! bring about. Critical sections that follow upon each other are guessed to be meant as one
//! region, which counts if it does harm (see `racehound_predict::with_guessed_regions`).
//!
//! Of an execution that failed, by an order of its threads that nothing explains yet: the
//! same guesses, as far as they tell executions that failed from others (see
//! [`comparison`](super::comparison)). A program may have to fail before it comes to the place in question at all:
//! what withdraws money that is not there had to be let in first.

use std::path::{Path, PathBuf};
use std::time::Instant;

use racehound_hunt::course::Course;
use racehound_report::finding::{Finding, Kind, Status};
use racehound_trace::Trace;

use super::Hunting;
use crate::commands::predict;
use crate::predictions::{self, Predicted};

impl Hunting<'_> {
    /// Predicts from what was recorded. What cannot be read, as the trace of a program
    /// that became another one, is not predicted from.
    pub(super) fn predict(&mut self, course: &mut Course) {
        let file = course.trace();
        let size = file.metadata().map_or(0, |file| file.len());
        if !(1..=LARGEST_TRACE).contains(&size) {
            return;
        }
        let (begun, share) = (Instant::now(), self.args.budget / FORECASTING);
        let is_over = || self.program.stop.is_due() || begun.elapsed() > share;
        let (trace, is_whole) = match predict::read_quietly(file, &is_over) {
            Ok(Some(read)) => read,
            Ok(None) => {
                self.remarks.push(
                    "What was recorded was not predicted from, for there was no time to read it: \
                     give the program less to do, or the hunt more time by --budget."
                        .to_owned(),
                );
                return;
            }
            Err(_) => return,
        };
        let is_alone = is_whole && trace.tables.threads.len() <= 1 && !has_company(file);
        if is_alone && course.findings().is_empty() {
            course.has_one_thread();
            let name = course.test().map_or("the program", |test| &test.name);
            self.alone.push(name.to_owned());
            return;
        }
        let whole = self.forecast(&trace, "", |predicted, files| {
            let finding = predicted.finding;
            match finding.kind == Kind::Race || predicted.is_meant {
                true => course.predict(finding, files),
                false => course.guess(finding, files),
            }
        });
        if self.program.stop.is_due() {
            return;
        }
        let mut guesses = 0;
        let guessed = racehound_predict::with_guessed_regions(&trace);
        let guessed_whole = self.forecast(&guessed, "guess-", |predicted, files| {
            let finding = predicted.finding;
            if finding.kind != Kind::Race && guesses < MOST_GUESSES {
                guesses += 1;
                course.guess(finding, files);
            }
        });
        if !(whole && guessed_whole || self.program.stop.is_due()) {
            let (name, events) = (course.test(), trace.events.len());
            let name = name.map_or("the program", |test| &test.name);
            self.remarks.push(format!(
                "Not everything was looked for in the {events} recorded events of {name}: \
                 `racehound predict` on a trace takes its time."
            ));
        }
    }

    /// Looks for what a failure comes of that nothing explains yet.
    pub(super) fn look_into_failures(&mut self, course: &mut Course) {
        let is_unexplained = |f: &Finding| {
            f.kind == Kind::Failure && f.status == Status::Confirmed && f.schedule.is_some()
        };
        let mut failures = course.findings();
        failures.retain(|f| is_unexplained(f) && self.looked_into.insert(f.identity()));
        let room = MOST_FAILURES.saturating_sub(self.looked_into.len() - failures.len());
        for failure in failures.into_iter().take(room) {
            let schedule = failure.schedule.as_deref().unwrap_or_default();
            let Ok(schedule) = schedule.parse() else {
                continue;
            };
            let Some((failed, execution)) = self.record(schedule) else {
                continue;
            };
            let judge = |execution: &_| course.usual().judge_even_if_flaky(execution);
            let Some(harm) = judge(&execution) else {
                continue;
            };
            let share = self.args.budget / FORECASTING;
            let compared = self.compare(&failed, &harm, judge, share);
            let guessed = racehound_predict::with_guessed_regions(&failed);
            let prefix = format!("failed-{}-", self.looked_into.len());
            let mut guesses = 0;
            self.forecast(&guessed, &prefix, |predicted, files| {
                let finding = predicted.finding;
                let is_guess = finding.kind != Kind::Race && guesses < MOST_GUESSES;
                if is_guess && compared.blames(&finding) {
                    guesses += 1;
                    course.guess(finding, files);
                }
            });
        }
    }

    /// Predicts, and has each prediction taken with the files of its schedules; false if
    /// there was no time for all of it.
    fn forecast(
        &self,
        trace: &Trace,
        prefix: &str,
        mut take: impl FnMut(Predicted, &[PathBuf]),
    ) -> bool {
        let number = self.report.tests.len();
        let (begun, share) = (Instant::now(), self.args.budget / FORECASTING);
        let stop = || self.program.stop.is_due() || begun.elapsed() > share;
        let options = racehound_predict::Options::default();
        let forecast = racehound_predict::predict_until(trace, &options, &stop);
        let places = predict::places(trace);
        for predicted in predictions::findings(trace, &forecast) {
            if begun.elapsed() > 2 * share || self.program.stop.is_due() {
                return false;
            }
            let mut files = Vec::new();
            for (name, schedule) in predict::more_schedules(&forecast, &predicted, 2) {
                let file = format!("{prefix}{number}-{name}.schedule");
                let file = self.place.path().join(file);
                let text = predict::explained(&predicted, &schedule, &places);
                if std::fs::write(&file, text).is_ok() {
                    files.push(file);
                }
            }
            take(predicted, &files);
        }
        forecast.is_complete
    }
}

/// Longer traces are not predicted from, in bytes.
const LARGEST_TRACE: u64 = 64 << 20;
/// What part of the budget a search for predictions may take, and their schedules as much
/// again; that is done twice, the second time with guessed regions.
const FORECASTING: u32 = 20;

/// Guesses that are followed.
const MOST_GUESSES: usize = 16;

/// Failures that are looked into.
const MOST_FAILURES: usize = 8;
/// Whether further processes have written their traces beside this one.
fn has_company(trace: &Path) -> bool {
    let name = trace.file_name().unwrap_or_default().to_string_lossy();
    let beside = trace.parent().map(std::fs::read_dir);
    beside
        .into_iter()
        .flatten()
        .flatten()
        .flatten()
        .any(|entry| {
            let other = entry.file_name();
            other.to_string_lossy().starts_with(&format!("{name}."))
        })
}
