//! What the runtime may cost, beside what it does.

use racehound_report::table::Table;
use serde::Serialize;

use super::figures::{Figures, Quantity, Ratio, mean, shown, worst};
use super::way::Way;

/// A limit, and what was measured.
#[derive(Debug, Serialize)]
pub(super) struct Limit {
    what: &'static str,
    over_all: OverAll,
    at_most: f64,
    /// Nothing, if a way it is about could not be measured.
    measured: Option<f64>,
    /// The same of each program.
    programs: Vec<Ratio>,
}

/// How one figure is made of those of all programs.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
enum OverAll {
    Mean,
    Worst,
    /// Dividing sums, not adding up quotients.
    Sum,
}

impl OverAll {
    fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Worst => "worst",
            Self::Sum => "sum",
        }
    }
}

impl Limit {
    fn on_mean(what: &'static str, at_most: f64, programs: Vec<Ratio>) -> Self {
        Self {
            what,
            over_all: OverAll::Mean,
            at_most,
            measured: mean(&programs),
            programs,
        }
    }

    fn on_worst(what: &'static str, at_most: f64, programs: Vec<Ratio>) -> Self {
        Self {
            what,
            over_all: OverAll::Worst,
            at_most,
            measured: worst(&programs).map(|ratio| ratio.value),
            programs,
        }
    }

    fn verdict(&self) -> &'static str {
        match self.measured {
            None => "–",
            Some(measured) if measured > self.at_most => "over",
            Some(_) => "held",
        }
    }
}

/// All limits.
pub(super) fn all(figures: &Figures) -> Vec<Limit> {
    let cpu = |way, over| figures.ratios(Quantity::Cpu, way, over);
    let peer = cpu(Way::FASTTRACK, Way::ClangTsan);
    let memory = figures.ratios(Quantity::Peak, Way::FASTTRACK, Way::ClangTsan);
    let acculock = cpu(Way::ACCULOCK, Way::FASTTRACK);
    let off = cpu(Way::Off, Way::Empty);
    let collect = cpu(Way::Collect, Way::Native);
    vec![
        Limit::on_mean("fasttrack ÷ clang-tsan, CPU time", 0.85, peer.clone()),
        Limit::on_worst("fasttrack ÷ clang-tsan, CPU time", 1.1, peer),
        Limit::on_mean("fasttrack ÷ clang-tsan, peak memory", 1.0, memory),
        Limit::on_mean("acculock ÷ fasttrack, CPU time", 1.06, acculock),
        Limit::on_mean("none ÷ empty, CPU time", 1.05, off),
        Limit::on_mean("collect ÷ native, CPU time", 1.39, collect),
        recording(
            figures,
            Way::Record,
            "record ÷ fasttrack, CPU time over none",
        ),
        recording(
            figures,
            Way::RecordOnly,
            "record-only ÷ fasttrack, CPU time over none",
        ),
    ]
}

/// What recording costs over `none`, with FastTrack or alone, over what FastTrack costs.
///
/// Where FastTrack costs next to nothing, the ratio of a single program is noise.
/// So the costs, each over native, are summed up before they are divided.
fn recording(figures: &Figures, recorded: Way, what: &'static str) -> Limit {
    let over_off = |way| {
        figures.compare(|cost| {
            // Only programs that have all count on both sides.
            cost(recorded).and(cost(Way::FASTTRACK))?;
            let (way, off, native) = (cost(way)?, cost(Way::Off)?, cost(Way::Native)?);
            Some((way.cpu - off.cpu) / native.cpu)
        })
    };
    let (record, fasttrack) = (over_off(recorded), over_off(Way::FASTTRACK));
    let sum = |ratios: &[Ratio]| ratios.iter().map(|ratio| ratio.value).sum::<f64>();
    let measured = (!record.is_empty()).then(|| sum(&record) / sum(&fasttrack));
    let divide = |(record, fasttrack): (Ratio, Ratio)| Ratio {
        value: record.value / fasttrack.value,
        ..record
    };
    Limit {
        what,
        over_all: OverAll::Sum,
        at_most: 2.0,
        measured,
        programs: record.into_iter().zip(fasttrack).map(divide).collect(),
    }
}

/// The limits as a table.
///
/// A program that could not be measured may be the worst of all: how many were is
/// told beside the `programs` there are.
pub(super) fn table(limits: &[Limit], programs: usize) -> Table {
    let mut table = Table::new([
        "",
        "",
        "at most",
        "measured",
        "",
        "programs",
        "worst program",
    ]);
    for limit in limits {
        let worst = worst(&limit.programs);
        let worst = worst.map(|ratio| format!("{} {}", ratio.program, shown(Some(ratio.value))));
        table.row([
            limit.what.to_owned(),
            limit.over_all.name().to_owned(),
            shown(Some(limit.at_most)),
            shown(limit.measured),
            limit.verdict().to_owned(),
            format!("{}/{programs}", limit.programs.len()),
            worst.unwrap_or_default(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::figures::tests::figures;
    use super::*;

    const WAYS: [Way; 9] = [
        Way::Native,
        Way::Empty,
        Way::Off,
        Way::FASTTRACK,
        Way::ACCULOCK,
        Way::Record,
        Way::RecordOnly,
        Way::Collect,
        Way::ClangTsan,
    ];

    fn verdicts(limits: &[Limit]) -> Vec<&'static str> {
        limits.iter().map(Limit::verdict).collect()
    }

    #[test]
    fn what_is_cheap_is_within_all_limits() {
        let figures = figures(
            &WAYS,
            &[("a", &[1.0, 2.0, 2.0, 4.0, 4.2, 6.0, 5.0, 1.2, 8.0])],
        );
        assert_eq!(verdicts(&all(&figures)), ["held"; 8]);
    }

    #[test]
    fn what_is_dear_is_over_all_limits() {
        let figures = figures(
            &WAYS,
            &[("a", &[1.0, 2.0, 2.2, 4.0, 4.4, 8.0, 7.0, 1.5, 3.0])],
        );
        assert_eq!(verdicts(&all(&figures)), ["over"; 8]);
    }

    #[test]
    fn one_program_may_be_over_a_mean_and_is_named() {
        let figures = figures(
            &WAYS,
            &[
                ("good", &[1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 8.0]),
                ("bad", &[1.0, 2.0, 2.0, 10.0, 10.0, 16.0, 9.0, 1.0, 8.0]),
            ],
        );
        let limits = all(&figures);
        assert_eq!(verdicts(&limits)[..2], ["held", "over"]);
        let text = table(&limits, 3).render();
        assert!(text.contains("over       2/3       bad 1.25"), "{text}");
    }

    #[test]
    fn without_the_peer_there_is_no_verdict() {
        let figures = figures(
            &WAYS[..8],
            &[("a", &[1.0, 2.0, 2.0, 4.0, 4.0, 6.0, 5.0, 1.0])],
        );
        let verdicts = verdicts(&all(&figures));
        assert_eq!(verdicts[..3], ["–"; 3]);
        assert_eq!(verdicts[3..], ["held"; 5]);
    }
}
