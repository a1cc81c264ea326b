//! `racehound model explore` and `racehound model run`.

use std::fmt::Write;
use std::path::Path;

use racehound_model::{Execution, Limits, Outcome, Program, Truth};
use racehound_report::table::{counted, thousands};
use racehound_schedule::{Random, Sequential, Strategy};
use racehound_trace::{SiteId, Tables, ThreadId};

use crate::args::{Explore, ModelRun, StrategyName};
use crate::error::Error;
use crate::output::{self, TraceOutput};
use crate::{CLEAN, FINDINGS};

pub(crate) fn explore(args: &Explore) -> Result<u8, Error> {
    let program = read(&args.program)?;
    let limits = Limits {
        max_states: args.max_states,
        ..Limits::default()
    };
    let truth = racehound_model::explore(&program, &limits)
        .map_err(|e| Error::Wish(format!("{}: {e}", args.program.display())))?;
    output::show(&describe(&truth, program.tables()))?;
    let harmless = truth.races.is_empty()
        && truth.deadlocks.is_empty()
        && truth.failures.is_empty()
        && truth.misuses.is_empty()
        && truth.violations.is_empty();
    Ok(if harmless { CLEAN } else { FINDINGS })
}

pub(crate) fn run(args: &ModelRun) -> Result<u8, Error> {
    let program = read(&args.program)?;
    let mut strategy: Box<dyn Strategy> = match args.schedule {
        StrategyName::Random => Box::new(Random::new(args.seed)),
        StrategyName::Sequential => Box::new(Sequential::new()),
    };
    let Execution { trace, outcome } = racehound_model::run(&program, &mut strategy);
    if let Some(path) = &args.record {
        let mut output = TraceOutput::create(path, None, trace.space)?;
        let written = output.write(&trace.tables, &trace.events);
        written.map_err(Error::trace(path))?;
        output.finish().map_err(Error::trace(path))?;
    }
    let events = trace.events.len() as u64;
    let (ending, code) = ending(&outcome, program.tables());
    output::show(&format!("{} events; {ending}\n", thousands(events)))?;
    Ok(code)
}

fn read(path: &Path) -> Result<Program, Error> {
    let text = match path == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(path),
    };
    let text = text.map_err(Error::file(path))?;
    let name = path.display().to_string();
    Program::parse_file(&name, &text).map_err(|e| Error::Wish(e.to_string()))
}

fn ending(outcome: &Outcome, tables: &Tables) -> (String, u8) {
    match outcome {
        Outcome::Finished => ("finished".to_owned(), CLEAN),
        Outcome::Deadlock { blocked } => {
            (format!("deadlock: {}", standing(blocked, tables)), FINDINGS)
        }
        Outcome::Failed { site, name } => (
            format!("{name} failed at {}", place(*site, tables)),
            FINDINGS,
        ),
        Outcome::Misuse { site, message } => {
            (format!("{message} at {}", place(*site, tables)), FINDINGS)
        }
        Outcome::LoopBound { site } => {
            let place = place(*site, tables);
            (format!("cut: the loop at {place} reached its bound"), CLEAN)
        }
        Outcome::StepLimit => ("cut: too many steps".to_owned(), CLEAN),
    }
}

fn describe(truth: &Truth, tables: &Tables) -> String {
    let mut out = String::new();
    for (a, b) in &truth.races {
        let _ = writeln!(
            out,
            "race\n    {}\n    {}",
            place(*a, tables),
            place(*b, tables)
        );
    }
    for blocked in &truth.deadlocks {
        let _ = writeln!(out, "deadlock\n    {}", standing(blocked, tables));
    }
    for (site, name) in &truth.failures {
        let _ = writeln!(out, "failure of {name}\n    {}", place(*site, tables));
    }
    for (site, message) in &truth.misuses {
        let _ = writeln!(out, "misuse: {message}\n    {}", place(*site, tables));
    }
    for (pattern, tuples) in &truth.violations {
        for sites in tuples {
            let _ = writeln!(out, "{pattern}");
            for site in sites {
                let _ = writeln!(out, "    {}", place(*site, tables));
            }
        }
    }
    for site in &truth.loop_bounds {
        let place = place(*site, tables);
        let _ = writeln!(out, "note: true up to the bound of the loop at {place}");
    }
    let violations = truth.violations.values().map(|tuples| tuples.len()).sum();
    let _ = writeln!(
        out,
        "{}, {}, {}, {} in all {} executions ({} states)",
        counted(truth.races.len(), "race"),
        counted(truth.deadlocks.len(), "deadlock"),
        counted(truth.failures.len() + truth.misuses.len(), "failure"),
        counted(violations, "access anomaly"),
        thousands(truth.executions),
        thousands(truth.states)
    );
    out
}

fn standing(blocked: &[(ThreadId, SiteId)], tables: &Tables) -> String {
    let each = blocked.iter().map(|(thread, site)| {
        format!(
            "{} at {}",
            tables.thread_name(*thread),
            place(*site, tables)
        )
    });
    each.collect::<Vec<_>>().join(", ")
}

/// A position with the statement that is there.
fn place(site: SiteId, tables: &Tables) -> String {
    let name = tables.site_name(site);
    match tables.site_text(site) {
        Some(text) if text != name => format!("{name}: {text}"),
        _ => name,
    }
}
