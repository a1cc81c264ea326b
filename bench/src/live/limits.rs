//! What the runtime may cost, beside what it does.

use racehound_report::table::Table;
use serde::Serialize;

use super::figures::{Figures, Quantity, Ratio, mean, shown, worst};
use super::way::Way;

/// A limit, and what was measured.
#[derive(Debug, Serialize)]
pub(super) struct Limit {
    what: &'static str,
    at_most: f64,
    /// Nothing, if a way it is about could not be measured.
    measured: Option<f64>,
    /// The programs that are over it by themselves.
    over: Vec<Ratio>,
}

/// All limits.
pub(super) fn all(figures: &Figures) -> Vec<Limit> {
    let ratios = |quantity, way, over| figures.ratios(quantity, way, over);
    let peer = ratios(Quantity::Cpu, Way::FASTTRACK, Way::ClangTsan);
    let memory = ratios(Quantity::Peak, Way::FASTTRACK, Way::ClangTsan);
    let acculock = ratios(Quantity::Cpu, Way::ACCULOCK, Way::FASTTRACK);
    let off = ratios(Quantity::Cpu, Way::Off, Way::Empty);
    vec![
        limit(
            "fasttrack ÷ clang TSan, CPU time, mean",
            0.85,
            mean(&peer),
            &peer,
        ),
        limit(
            "fasttrack ÷ clang TSan, CPU time, worst",
            1.1,
            worst(&peer),
            &peer,
        ),
        limit(
            "fasttrack ÷ clang TSan, memory, mean",
            1.0,
            mean(&memory),
            &memory,
        ),
        limit(
            "acculock ÷ fasttrack, CPU time, mean",
            1.06,
            mean(&acculock),
            &acculock,
        ),
        limit("none ÷ empty, CPU time, mean", 1.05, mean(&off), &off),
        recording(figures),
    ]
}

fn limit(what: &'static str, at_most: f64, measured: Option<f64>, ratios: &[Ratio]) -> Limit {
    let over = ratios.iter().filter(|ratio| ratio.value > at_most);
    Limit {
        what,
        at_most,
        measured,
        over: over.cloned().collect(),
    }
}

/// What recording costs over `none`, over what FastTrack costs over it.
///
/// Where FastTrack costs next to nothing, the ratio of a single program is noise.
/// So the costs, each over native, are summed up before they are divided.
fn recording(figures: &Figures) -> Limit {
    let over_off = |way| {
        figures.compare(|cost| {
            let (way, off, native) = (cost(way)?, cost(Way::Off)?, cost(Way::Native)?);
            // Only programs that have all three count on both sides.
            cost(Way::Record).and(cost(Way::FASTTRACK))?;
            Some((way.cpu - off.cpu) / native.cpu)
        })
    };
    let (record, fasttrack) = (over_off(Way::Record), over_off(Way::FASTTRACK));
    let sum = |ratios: &[Ratio]| ratios.iter().map(|ratio| ratio.value).sum::<f64>();
    let measured = (!record.is_empty()).then(|| sum(&record) / sum(&fasttrack));
    let each = record
        .iter()
        .zip(&fasttrack)
        .map(|(record, fasttrack)| Ratio {
            program: record.program.clone(),
            value: record.value / fasttrack.value,
        });
    let each: Vec<_> = each.collect();
    limit(
        "record ÷ fasttrack, CPU time over none",
        2.0,
        measured,
        &each,
    )
}

/// The limits as a table.
pub(super) fn table(limits: &[Limit]) -> Table {
    let mut table = Table::new(["", "at most", "measured", "", "programs over it"]);
    for limit in limits {
        let verdict = match limit.measured {
            None => "–",
            Some(measured) if measured > limit.at_most => "over",
            Some(_) => "held",
        };
        let over = limit.over.iter();
        let over = over.map(|ratio| format!("{} {}", ratio.program, shown(Some(ratio.value))));
        table.row([
            limit.what.to_owned(),
            shown(Some(limit.at_most)),
            shown(limit.measured),
            verdict.to_owned(),
            over.collect::<Vec<_>>().join(", "),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::figures::tests::figures;
    use super::*;

    const WAYS: [Way; 7] = [
        Way::Native,
        Way::Empty,
        Way::Off,
        Way::FASTTRACK,
        Way::ACCULOCK,
        Way::Record,
        Way::ClangTsan,
    ];

    fn verdicts(limits: &[Limit]) -> Vec<&'static str> {
        let held = |limit: &Limit| limit.measured.map(|measured| measured <= limit.at_most);
        let verdict = |limit| match held(limit) {
            None => "–",
            Some(true) => "held",
            Some(false) => "over",
        };
        limits.iter().map(verdict).collect()
    }

    #[test]
    fn what_is_cheap_is_within_all_limits() {
        let figures = figures(&WAYS, &[("a", &[1.0, 2.0, 2.0, 4.0, 4.2, 8.0, 8.0])]);
        assert_eq!(verdicts(&all(&figures)), ["held"; 6]);
    }

    #[test]
    fn what_is_dear_is_over_all_limits() {
        let figures = figures(&WAYS, &[("a", &[1.0, 2.0, 2.2, 4.0, 4.4, 8.0, 3.0])]);
        assert_eq!(verdicts(&all(&figures)), ["over"; 6]);
    }

    #[test]
    fn one_program_may_be_over_a_mean_and_is_named() {
        let figures = figures(
            &WAYS,
            &[
                ("good", &[1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 8.0]),
                ("bad", &[1.0, 2.0, 2.0, 9.0, 9.0, 16.0, 8.0]),
            ],
        );
        let limits = all(&figures);
        assert_eq!(verdicts(&limits)[..2], ["held", "over"]);
        assert_eq!(limits[1].over[0].program, "bad");
        let text = table(&limits).render();
        assert!(text.contains("bad 1.13"), "{text}");
    }

    #[test]
    fn without_the_peer_there_is_no_verdict() {
        let figures = figures(&WAYS[..6], &[("a", &[1.0, 2.0, 2.0, 4.0, 4.0, 6.0])]);
        let verdicts = verdicts(&all(&figures));
        assert_eq!(verdicts, ["–", "–", "–", "held", "held", "held"]);
    }
}
