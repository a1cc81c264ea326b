//! Table 1: what the hybrid detector warns of, how much of it RaceFuzzer confirms, what
//! comes of it, and how probable that is in one run.

use std::collections::BTreeSet;

use racehound_report::finding::{Access, Finding, Kind};
use racehound_report::table::Table;
use racehound_schedule::Place;

use super::bench::{Bench, Built};
use crate::live::Error;

/// The programs, what they are called in the paper, and how probable it was there to
/// hit a race.
const PROGRAMS: [(&str, &str, Option<f64>); 9] = [
    ("vector.cpp", "vector 1.1", Some(0.94)),
    ("linked_list.cpp", "LinkedList", Some(0.85)),
    ("array_list.cpp", "ArrayList", Some(0.55)),
    ("hash_set.cpp", "HashSet", Some(0.54)),
    ("tree_set.cpp", "TreeSet", Some(0.41)),
    ("cache.cpp", "cache4j", Some(1.0)),
    ("crawler.cpp", "hedc", Some(0.86)),
    ("mirror.cpp", "weblech", Some(0.83)),
    ("sor.cpp", "sor", None),
];

/// Executions that the detector sees: what is never reached nobody warns of.
const WATCHED: u64 = 10;

type Pair = [String; 2];

/// What is done where: as in the paper, a statement reads or writes.
fn place(access: &Access) -> Option<String> {
    let file = access.file.as_deref()?;
    let name = file.rsplit('/').next().unwrap_or(file);
    let at = format!("{name}:{}", access.line?);
    let writes = (!access.atomic).then_some(access.op == "write");
    Some(Place { at: &at, writes }.to_string())
}

/// The two accesses of a race.
pub(super) fn pair(finding: &Finding) -> Option<Pair> {
    let [first, second] = &finding.accesses[..] else {
        return None;
    };
    let mut pair = [place(first)?, place(second)?];
    pair.sort_unstable();
    (finding.kind == Kind::Race).then_some(pair)
}

/// The pairs that the hybrid detector warns of.
fn warnings(bench: &Bench, program: &Built) -> Result<BTreeSet<Pair>, Error> {
    let mut pairs = BTreeSet::new();
    for seed in 0..WATCHED {
        let plan = format!("random:seed={seed}");
        let run = bench.run::<&str>(program, &[], ("hybrid", plan.as_str()))?;
        pairs.extend(run.findings.iter().filter_map(pair));
    }
    Ok(pairs)
}

/// What became of a pair over all seeds.
struct Tried {
    confirmed: u64,
    harmed: u64,
}

fn try_pair(bench: &Bench, program: &Built, pair: &Pair, seeds: u64) -> Result<Tried, Error> {
    let (mut confirmed, mut harmed) = (0, 0);
    for seed in 0..seeds {
        let plan = format!("racefuzzer:seed={seed},pair={},{}", pair[0], pair[1]);
        let run = bench.run::<&str>(program, &[], ("none", plan.as_str()))?;
        confirmed += u64::from(run.is_confirmed());
        harmed += u64::from(run.is_confirmed() && run.is_harmed());
    }
    Ok(Tried { confirmed, harmed })
}

/// Measures the programs that are wanted, and tells of each pair if that is wanted.
pub(super) fn print(
    bench: &Bench,
    seeds: u64,
    each_pair: bool,
    wants: impl Fn(&str) -> bool,
) -> Result<(), Error> {
    let mut details = Table::new(["program", "pair", "confirmed", "harmful"]);
    let mut table = Table::new([
        "program",
        "like",
        "hybrid",
        "confirmed",
        "harmful",
        "harm in free runs",
        "hit probability",
        "paper",
    ]);
    for (source, like, expected) in PROGRAMS {
        if !wants(source.trim_end_matches(".cpp")) {
            continue;
        }
        let program = bench.build(&format!("programs/racefuzzer/{source}"), "-O1")?;
        let pairs = warnings(bench, &program)?;
        let tried = pairs
            .iter()
            .map(|pair| try_pair(bench, &program, pair, seeds));
        let tried: Vec<Tried> = tried.collect::<Result<_, Error>>()?;
        for (pair, tried) in pairs.iter().zip(&tried) {
            details.row([
                program.name(),
                pair.join(", "),
                tried.confirmed.to_string(),
                tried.harmed.to_string(),
            ]);
        }
        let real: Vec<&Tried> = tried.iter().filter(|tried| tried.confirmed > 0).collect();
        let harmful = real.iter().filter(|tried| tried.harmed > 0).count();
        let mut free = 0;
        for _ in 0..seeds {
            let run = bench.run::<&str>(&program, &[], ("none", "free"))?;
            free += u64::from(run.is_harmed());
        }
        let hits: u64 = real.iter().map(|tried| tried.confirmed).sum();
        let probability = match real.len() {
            0 => "–".to_owned(),
            count => format!("{:.2}", hits as f64 / (count as u64 * seeds) as f64),
        };
        table.row([
            program.name(),
            like.to_owned(),
            pairs.len().to_string(),
            real.len().to_string(),
            harmful.to_string(),
            format!("{free} of {seeds}"),
            probability,
            expected.map_or("–".to_owned(), |expected| format!("≥ {expected:.2}")),
        ]);
    }
    println!("Table 1, {seeds} seeds for each pair:");
    print!("{}", table.render());
    if each_pair {
        println!("Table 1, runs out of {seeds} for each pair:");
        print!("{}", details.render());
    }
    Ok(())
}
