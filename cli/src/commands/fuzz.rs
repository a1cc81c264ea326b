//! `racehound run --schedule racefuzzer`: a suspected pair, put to the test.
//!
//! Without `--times` the program runs once as it is, with the given seed. If the
//! two accesses met, it runs again out of sight, to see whether the seed brings
//! them together each time: then the race is confirmed. With `--times` all of it
//! happens out of sight, and harm is looked for (see `racehound_hunt::confirm`).

use std::time::{Duration, Instant};

use racehound::aside::say;
use racehound_hunt::confirm::{self, Outcome, Phase, Suspect};
use racehound_hunt::options::VARIABLE;
use racehound_hunt::program::fix_addresses;
use racehound_hunt::{Program, findings};
use racehound_report::finding::{Finding, Report, Status};
use racehound_schedule::Plan;

use super::run::{conclude, not_started, options, relative, report};
use crate::args::Run;
use crate::error::Error;
use crate::journal::Journal;
use crate::known::{self, Known};
use crate::pairs::{self, Suspicion};
use crate::progress::Progress;
use crate::stdin::{self, Spool};
use crate::{FINDINGS, attend, formats, shell, subject, verdict};

/// Puts the pairs of the plan to the test.
pub(crate) fn run(args: &Run, plan: &Plan, program: Program) -> Result<u8, Error> {
    match args.times {
        Some(times) => many(args, plan, program, times),
        None => once(args, plan, program),
    }
}

fn once(args: &Run, plan: &Plan, mut program: Program) -> Result<u8, Error> {
    let journal = Journal::create(args.output.json().as_deref())?;
    let mut command = program.command();
    fix_addresses(&mut command);
    let mut options = options(args, plan, Some(&journal))?;
    options.add("fail_on", "never")?;
    command.env(VARIABLE, options);
    program.input = stdin::file();
    let begun = Instant::now();
    let ending = attend::run(&mut command).map_err(|error| not_started(&program, error))?;
    let elapsed = begun.elapsed();
    let mut findings = journal.findings()?;
    drop(journal);
    let mut runs = 1;
    if confirm::is_met(&findings) {
        let limit = Duration::from_secs(args.timeout).max(elapsed * 20);
        let settled = confirm::settle(&mut program, findings, ending, plan, limit)?;
        (findings, runs) = (settled.findings, runs + settled.runs);
        tell(&findings, plan, settled.varies);
    }
    let mut report = report(args, &program, findings, runs);
    add_replays(args, &mut report);
    conclude(args, report, ending)
}

/// Says what the second execution has shown.
fn tell(findings: &[Finding], plan: &Plan, varies: bool) {
    let Plan::RaceFuzzer { seed, .. } = plan else {
        return;
    };
    let fate = match findings.iter().any(|f| f.status == Status::Confirmed) {
        true => "confirmed: it has happened again",
        false => "not confirmed: it has not happened again",
    };
    say(format_args!("{fate} with seed {seed}"));
    if varies {
        say(format_args!(
            "the two executions differ: the program depends on more than its threads"
        ));
    }
}

fn many(args: &Run, plan: &Plan, mut program: Program, times: u64) -> Result<u8, Error> {
    let Plan::RaceFuzzer { seed, pairs, .. } = plan else {
        unreachable!("only RaceFuzzer makes attempts");
    };
    if args.record.is_some() || args.schedule_out.is_some() {
        return Err(Error::Wish(
            "--times runs the program more than once: --record and --schedule-out are for one \
             execution"
                .to_owned(),
        ));
    }
    // Whether the report can be written is better known before than after.
    drop(Journal::create(args.output.json().as_deref())?);
    let input = Spool::take()?;
    program.input = input.path();
    let mut all = Vec::new();
    let mut runs = 0;
    let mut suspicions: Vec<Suspicion> = Vec::new();
    for word in &args.pair {
        suspicions.extend(pairs::named(word)?);
    }
    for pair in pairs {
        let suspicion = suspicions.iter().find(|(suspected, _)| suspected == pair);
        let suspect = Suspect {
            usual: None,
            pair: pair.clone(),
            finding: suspicion.and_then(|(_, finding)| finding.clone()),
            seed: *seed,
            attempts: times,
            harm_seeds: times.min(MOST_HARM_SEEDS),
            limit: Duration::from_secs(args.timeout),
        };
        let outcome = attempt(&mut program, &suspect)?;
        for place in &outcome.unvisited {
            say(format_args!("no access was made at {place}"));
        }
        if outcome.varies {
            say(format_args!(
                "{pair}: two executions with one seed differ: the program depends on \
                 more than its threads"
            ));
        }
        runs += outcome.runs;
        all.extend(outcome.findings);
    }
    findings::number(&mut all);
    let mut report = report(args, &program, all, runs);
    add_replays(args, &mut report);
    let here = known::here()?;
    Known::here(&here)?.settle(&mut report);
    let failing = verdict::failing(&report, args.fail_on);
    let code = if failing > 0 { FINDINGS } else { 0 };
    let mut text = verdict::listing(&relative(&report), 0);
    text.push_str(&verdict::closing("", &report, failing, code));
    let root = formats::root(&here);
    args.output
        .publish(&verdict::edition(&report, args.fail_on, &root), &text)?;
    Ok(code)
}

/// More is seldom worth it.
const MOST_HARM_SEEDS: u64 = 10;

fn attempt(program: &mut Program, suspect: &Suspect) -> Result<Outcome, Error> {
    let most = suspect.attempts + suspect.harm_seeds;
    let mut progress = Progress::steps(most, suspect.pair.to_string());
    let mut tell = |phase| match phase {
        Phase::Usual => progress.at(0),
        Phase::Attempt(seed) | Phase::Replay(seed) => progress.at(seed - suspect.seed),
        Phase::Harm(_) => progress.next(),
    };
    Ok(confirm::confirm(program, suspect, &mut tell)?)
}

/// Says how each finding is made to happen again.
fn add_replays(args: &Run, report: &mut Report) {
    for finding in &mut report.findings {
        let Some(schedule) = &finding.schedule else {
            continue;
        };
        finding.replay = Some(match args.output.json() {
            Some(file) => {
                let file = file.display().to_string();
                shell::line(["racehound", "replay", &file, "--id", &finding.id])
            }
            None => {
                let start = ["racehound", "run", "--schedule", schedule, "--"];
                let words = subject::in_words(&args.program);
                shell::line(start.into_iter().chain(words.iter().map(String::as_str)))
            }
        });
    }
}
