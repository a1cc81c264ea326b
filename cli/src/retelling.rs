//! How findings happen: each that was confirmed is made to happen once more, recorded, and
//! its steps are told (see `racehound_hunt::interleaving`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use racehound_hunt::callers::Lines;
use racehound_hunt::interleaving;
use racehound_hunt::{Program, crew};
use racehound_report::finding::{Finding, Frame, Interleaving, Kind, NOT_COPIED, Status};
use racehound_schedule::Plan;
use racehound_symbols::Symbolizer;
use racehound_trace::Trace;

use crate::{build, recordings};

/// The steps of findings, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Retelling {
    /// By finding and schedule; nothing where the recorded execution did not show it.
    known: BTreeMap<Key, Option<Interleaving>>,
    /// Time that was spent on it.
    spent: Duration,
}

type Key = ((String, Option<String>, Vec<String>), Option<String>);

/// Time that it may take in any case, and one part in so many of the hunt.
const START: Duration = Duration::from_secs(1);
const SHARE: u32 = 10;
/// Time for it when the budget is spent.
const GRACE: Duration = Duration::from_secs(5);
/// More findings are not retold.
const MOST: usize = 60;

impl Retelling {
    /// The budget is spent: what is confirmed by now has a little time beyond.
    pub(crate) fn end(&mut self, findings: &[Finding], program: &Program, jobs: usize) {
        let mut program = program.clone();
        program.stop.at = Some(Instant::now() + GRACE);
        self.retell_all(findings, &program, jobs);
    }

    /// Makes what is newly confirmed happen again, unless that has taken more than its
    /// share of the time since the hunt began.
    pub(crate) fn go_on(
        &mut self,
        findings: &[Finding],
        program: &Program,
        jobs: usize,
        begun: Instant,
    ) {
        if self.spent <= START + begun.elapsed() / SHARE {
            self.retell_all(findings, program, jobs);
        }
    }

    fn retell_all(&mut self, findings: &[Finding], program: &Program, jobs: usize) {
        let is_new = |finding: &&Finding| {
            finding.status == Status::Confirmed
                && finding.schedule.is_some()
                && !self.known.contains_key(&key(finding))
        };
        let room = MOST.saturating_sub(self.known.len());
        let new: Vec<&Finding> = findings.iter().filter(is_new).take(room).collect();
        let before = Instant::now();
        let stop = program.stop.clone();
        let tool = |job: usize| Program {
            job,
            ..program.clone()
        };
        let work = |program: &mut Program, finding: &&Finding| retell(program, finding);
        let known = &mut self.known;
        crew::do_all(&new, jobs, tool, work, |finding, interleaving| {
            // Who was stopped may try again.
            if interleaving.is_some() || !stop.is_due() {
                known.insert(key(finding), interleaving);
            }
        });
        self.spent += before.elapsed();
    }

    /// Adds the steps to findings.
    pub(crate) fn add_to(&self, findings: &mut [Finding]) {
        for finding in findings {
            // What an earlier hunt has told may have been of another build.
            finding.interleaving = None;
            if let Some(Some(interleaving)) = self.known.get(&key(finding)) {
                interleaving::add(finding, interleaving.clone());
            }
        }
    }
}

fn key(finding: &Finding) -> Key {
    (finding.identity(), finding.schedule.clone())
}

/// What happened in an execution by the finding's schedule. Whatever goes wrong, there is
/// nothing to tell then, and the finding is none the worse.
fn retell(program: &Program, finding: &Finding) -> Option<Interleaving> {
    let schedule: Plan = finding.schedule.as_ref()?.parse().ok()?;
    let mut traces = recordings::record(program, schedule)?.traces;
    // What has failed is whose threads took turns.
    if finding.kind == Kind::Failure {
        traces.sort_by_key(|(trace, _)| std::cmp::Reverse(interleaving::turns(trace)));
        traces.truncate(1);
    }
    let symbols = Symbols::of(&program.path);
    if finding
        .accesses
        .iter()
        .any(|access| access.op == NOT_COPIED)
    {
        return of_child(finding, traces, &symbols);
    }
    traces.iter().find_map(|(trace, is_childs)| {
        let mut told = interleaving::of(trace, finding, &symbols)?;
        if *is_childs {
            interleaving::tell_of_child(&mut told, finding);
        }
        Some(told)
    })
}

/// What happened in a copy of the process, which may have got stuck before it has done
/// anything.
fn of_child(
    finding: &Finding,
    mut traces: Vec<(Trace, bool)>,
    symbols: &Symbols<'_>,
) -> Option<Interleaving> {
    let is_of_one_child = traces.iter().filter(|(_, is_childs)| *is_childs).count() == 1;
    traces.sort_by_key(|(_, is_childs)| !is_childs);
    let (mut trace, _) = traces.into_iter().next()?;
    if !is_of_one_child {
        trace.events.clear();
    }
    let mut told = interleaving::of(&trace, finding, symbols)?;
    interleaving::tell_of_child(&mut told, finding);
    Some(told)
}

/// The program's global variables, by their address in an execution that was scheduled, and
/// its lines.
struct Symbols<'a> {
    program: &'a Path,
    build: Option<String>,
    symbolizer: RefCell<Symbolizer>,
}

/// Where Linux puts a program that does not care where, on x86-64, while addresses are the
/// same in every run.
const BIAS: u64 = 0x5555_5555_4000;

impl<'a> Symbols<'a> {
    fn of(program: &'a Path) -> Self {
        let mut symbolizer = Symbolizer::new();
        symbolizer.open(program, None);
        Self {
            program,
            build: build::of(program),
            symbolizer: RefCell::new(symbolizer),
        }
    }
}

impl interleaving::Names for Symbols<'_> {
    fn memory(&self, address: u64) -> Option<String> {
        let address = address.checked_sub(BIAS)?;
        let mut symbolizer = self.symbolizer.borrow_mut();
        let variable = symbolizer.variable(self.program, address)?;
        Some(match address - variable.start {
            0 => variable.name,
            offset => format!("{}+{offset}", variable.name),
        })
    }
}

impl Lines for Symbols<'_> {
    fn frames(&self, module: &str, offset: u64) -> Vec<Frame> {
        if self.build.as_deref() != Some(module) {
            return Vec::new();
        }
        let frames = self.symbolizer.borrow_mut().frames(self.program, offset);
        let module = self.program.file_name().map(|name| name.to_string_lossy());
        let frame = |frame: racehound_symbols::Frame| Frame {
            function: frame.function.unwrap_or_default(),
            file: frame.file,
            line: Some(frame.line).filter(|line| *line > 0),
            column: Some(frame.column).filter(|column| *column > 0),
            module: module.as_deref().map(str::to_owned),
            offset: Some(offset),
        };
        frames.into_iter().map(frame).collect()
    }
}
