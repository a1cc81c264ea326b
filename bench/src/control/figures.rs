//! The two figures of the paper.

use racehound_report::table::{Table, thousands};

use super::bench::Bench;
use crate::live::Error;

const PADDINGS: [u64; 6] = [10, 100, 1_000, 10_000, 100_000, 1_000_000];

fn fuzz(seed: u64, pair: &[String; 2]) -> String {
    format!("racefuzzer:seed={seed},pair={},{}", pair[0], pair[1])
}

/// Figure 1: of two pairs that are suspected one is real.
pub(super) fn print_first(bench: &Bench, seeds: u64) -> Result<(), Error> {
    let program = bench.build("programs/figures/racefuzzer_1.c", "-O1")?;
    let real = [program.place("// 5: RACE")?, program.place("// 7: RACE")?];
    let unreal = [program.place("// 1")?, program.place("// 10")?];
    let headings = [
        "pair",
        "seeds",
        "confirmed",
        "aborted by an ERROR",
        "limits",
    ];
    let mut table = Table::new(headings);
    for (name, pair, expected) in [
        ("z: 5, 7", real, "all, some"),
        ("x: 1, 10", unreal, "0, any"),
    ] {
        let (mut confirmed, mut aborted) = (0, 0);
        for seed in 0..seeds {
            let run = bench.run::<&str>(&program, &[], ("none", fuzz(seed, &pair).as_str()))?;
            confirmed += u64::from(run.is_confirmed());
            aborted += u64::from(run.is_harmed());
        }
        let counts = [seeds, confirmed, aborted].map(thousands);
        table.row(
            [
                vec![name.to_owned()],
                counts.to_vec(),
                vec![expected.to_owned()],
            ]
            .concat(),
        );
    }
    println!("Figure 1, runs out of all seeds:");
    print!("{}", table.render());
    Ok(())
}

/// Figure 2: however many statements come before, the race is brought about.
pub(super) fn print_second(bench: &Bench, seeds: u64) -> Result<(), Error> {
    let program = bench.build("bench/programs/control/figure2.c", "-O1")?;
    let pair = [program.place("// 8")?, program.place("// 10")?];
    let mut table = Table::new([
        "statements",
        "free: ERROR",
        "random: ERROR",
        "racefuzzer: confirmed",
        "racefuzzer: ERROR",
    ]);
    for padding in PADDINGS {
        let arguments = [padding.to_string()];
        let count = |plan: &dyn Fn(u64) -> String| {
            let (mut confirmed, mut errors) = (0, 0);
            for seed in 0..seeds {
                let run = bench.run(&program, &arguments, ("none", plan(seed).as_str()))?;
                confirmed += u64::from(run.is_confirmed());
                errors += u64::from(run.says("ERROR"));
            }
            Ok::<_, Error>((confirmed, errors))
        };
        let (_, free) = count(&|_| "free".to_owned())?;
        let (_, random) = count(&|seed| format!("random:seed={seed}"))?;
        let (confirmed, fuzzed) = count(&|seed| fuzz(seed, &pair))?;
        let counts = [free, random, confirmed, fuzzed].map(thousands);
        table.row([vec![thousands(padding)], counts.to_vec()].concat());
    }
    table.row(["limit, of 100", "few", "few", "≥ 99", "50 ± 15"]);
    println!("Figure 2, runs out of {seeds} seeds:");
    print!("{}", table.render());
    Ok(())
}
