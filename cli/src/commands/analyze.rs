//! `racehound analyze`.

use std::collections::BTreeSet;
use std::fmt::Write;

use racehound_detect::Which;
use racehound_detect::offline::{Options, Outcome, analyze};
use racehound_detect::order::Volatiles;
use racehound_report::finding::Report;
use racehound_report::table::{Table, thousands};

use crate::args::{Analyze, Selection, Volatile};
use crate::error::Error;
use crate::input::{self, Input};
use crate::known::{self, Known};
use crate::progress::Progress;
use crate::{CLEAN, FINDINGS, findings, formats, verdict};

pub(crate) fn run(args: &Analyze) -> Result<u8, Error> {
    args.output.check()?;
    let Input { mut source, size } = input::open(&args.trace)?;
    let detectors = Selection::resolve(&args.detector);
    let options = Options {
        volatiles: match args.volatile {
            Volatile::Hb => Volatiles::AsEdges,
            Volatile::Lock => Volatiles::AsLocks,
        },
        all_pairs: args.all_pairs,
        // Counts are those of one worker.
        jobs: if args.stats { 1 } else { args.jobs },
    };
    let mut progress = Progress::bytes(size);
    let outcomes = analyze(&mut source, &detectors, &options, &mut |at| progress.at(at))
        .map_err(Error::trace(&args.trace))?;
    drop(progress);
    input::warn_if_incomplete(&args.trace, &source);

    let here = known::here()?;
    let mut report = Report {
        program: vec![args.trace.display().to_string()],
        directory: Some(here.display().to_string()),
        runs: 1,
        findings: findings::from_warnings(&outcomes, source.space(), source.tables()),
        ..Report::default()
    };
    Known::with(&here, None, None)?.settle(&mut report);
    let failing = verdict::failing(&report, args.fail_on);
    let code = match failing {
        0 => CLEAN,
        _ => FINDINGS,
    };
    let mut text = verdict::listing(&report, args.limit);
    if outcomes.len() > 1 {
        comparison(&mut text, &outcomes, args.all_pairs);
    }
    if args.stats {
        counts(&mut text, &outcomes);
    }
    text.push_str(&verdict::closing("", &report, failing, code));
    let root = formats::root(&here);
    args.output
        .publish(&verdict::edition(&report, args.fail_on, &root), &text)?;
    Ok(code)
}

/// What a detector found, for comparing: locations, as acculock.txt counts, or
/// pairs of sites if those were asked for.
fn found(outcome: &Outcome, all_pairs: bool) -> BTreeSet<(u64, u64)> {
    let key = |w: &racehound_detect::offline::Warning| match all_pairs {
        true => (u64::from(w.pair().0.0), u64::from(w.pair().1.0)),
        false => (w.loc.0, 0),
    };
    outcome.warnings.iter().map(key).collect()
}

/// The side-by-side tables: acculock.txt Tables I and V.
fn comparison(out: &mut String, outcomes: &[Outcome], all_pairs: bool) {
    let sets: Vec<_> = outcomes.iter().map(|o| found(o, all_pairs)).collect();
    let unit = if all_pairs {
        "pairs of places"
    } else {
        "locations"
    };
    let _ = writeln!(out, "Found by the row and missed by the column ({unit}):");
    let names = outcomes.iter().map(|o| o.detector.title().to_owned());
    let heads = ["".to_owned(), "found".to_owned()].into_iter().chain(names);
    let mut table = Table::new(heads);
    for (outcome, mine) in outcomes.iter().zip(&sets) {
        let missed = sets.iter().zip(outcomes).map(|(theirs, other)| {
            match other.detector == outcome.detector {
                true => "·".to_owned(),
                false => mine.difference(theirs).count().to_string(),
            }
        });
        let row = [outcome.detector.title().to_owned(), mine.len().to_string()];
        table.row(row.into_iter().chain(missed));
    }
    out.push_str(&table.render());
    out.push('\n');
}

/// What the detectors did: acculock.txt Tables III and IV.
fn counts(out: &mut String, outcomes: &[Outcome]) {
    out.push_str("Reads and writes by what they met, operations on clocks and locksets:\n");
    let mut table = Table::new([
        "",
        "r same",
        "r excl",
        "r shared",
        "w same",
        "w |R|≤1",
        "w |R|>1",
        "VC ops",
        "lookups",
        "intersects",
        "inserts",
    ]);
    for outcome in outcomes {
        let s = &outcome.stats;
        // Detectors without epochs do not tell reads and writes apart this way.
        let epochs = !matches!(
            outcome.detector,
            Which::LockSet | Which::Eraser | Which::RaceTrack | Which::Hybrid
        );
        let shown = |n: u64| if epochs { thousands(n) } else { "-".to_owned() };
        let row = [
            s.read_same_epoch,
            s.read_exclusive,
            s.read_shared,
            s.write_same_epoch,
            s.write_exclusive,
            s.write_after_shared,
        ]
        .map(shown);
        let operations = [
            s.clock_ops,
            s.locksets.lookups,
            s.locksets.intersects,
            s.locksets.inserts,
        ]
        .map(thousands);
        let name = [outcome.detector.title().to_owned()];
        table.row(name.into_iter().chain(row).chain(operations));
    }
    out.push_str(&table.render());
    out.push('\n');
}
