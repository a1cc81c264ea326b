//! What was measured, as ratios.

use racehound_report::table::Table;
use serde::Serialize;
use serde_json::{Value, json};

use super::trial::{Cost, Trial};
use super::way::Way;

/// What a program spends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    Cpu,
    Peak,
}

impl Quantity {
    fn of(self, cost: Cost) -> f64 {
        match self {
            Self::Cpu => cost.cpu,
            Self::Peak => cost.peak as f64,
        }
    }
}

/// The costs of all programs in all ways.
#[derive(Debug)]
pub(super) struct Figures {
    ways: Vec<Way>,
    programs: Vec<Measured>,
}

/// One program; a cost for each way, if it was to be had.
#[derive(Clone, Debug)]
struct Measured {
    name: String,
    costs: Vec<Option<Cost>>,
}

/// A ratio of a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Ratio {
    pub(super) program: String,
    pub(super) value: f64,
}

impl Figures {
    /// The figures of trials; the same ways in the same order for each program.
    pub(super) fn new(ways: &[Way], trials: &[Trial]) -> Self {
        let measured = |trials: &[Trial]| Measured {
            name: trials[0].program.clone(),
            costs: trials.iter().map(Trial::cost).collect(),
        };
        Self {
            ways: ways.to_vec(),
            programs: trials
                .chunk_by(|a, b| a.program == b.program)
                .map(measured)
                .collect(),
        }
    }

    /// What each program spends in one way, over what it spends in another.
    pub(super) fn ratios(&self, quantity: Quantity, way: Way, over: Way) -> Vec<Ratio> {
        self.compare(|cost| {
            let of = |way| cost(way).map(|cost| quantity.of(cost));
            Some(of(way)? / of(over)?)
        })
    }

    /// The figure of each program for which there is one, given its costs.
    pub(super) fn compare(
        &self,
        figure: impl Fn(&dyn Fn(Way) -> Option<Cost>) -> Option<f64>,
    ) -> Vec<Ratio> {
        let of = |program: &Measured| {
            let value = figure(&|way| self.cost(program, way))?;
            let program = program.name.clone();
            Some(Ratio { program, value })
        };
        self.programs.iter().filter_map(of).collect()
    }

    /// How many programs there are, whatever is known of them.
    pub(super) fn programs(&self) -> usize {
        self.programs.len()
    }

    /// Only the programs that could be measured in all ways: means over different
    /// programs are not to be compared.
    fn complete(&self) -> Self {
        let programs = self.programs.iter();
        let complete = programs.filter(|program| program.costs.iter().all(Option::is_some));
        Self {
            ways: self.ways.clone(),
            programs: complete.cloned().collect(),
        }
    }

    fn cost(&self, program: &Measured, way: Way) -> Option<Cost> {
        let index = self.ways.iter().position(|w| *w == way)?;
        program.costs[index]
    }

    /// A row for each program, with the mean and the worst of the complete ones
    /// below: CPU time over native; memory as it is.
    pub(super) fn table(&self, quantity: Quantity) -> Table {
        let names = self.ways.iter().map(|way| way.name());
        let heads = ["program"].into_iter().chain(names);
        let mut table = Table::new(heads.chain(["fasttrack ÷ clang-tsan"]));
        for program in &self.programs {
            let cells = self
                .ways
                .iter()
                .map(|way| self.cell(quantity, program, *way));
            let row = [program.name.clone()].into_iter().chain(cells);
            let peer = self.ratios(quantity, Way::FASTTRACK, Way::ClangTsan);
            let peer = peer.iter().find(|ratio| ratio.program == program.name);
            table.row(row.chain([shown(peer.map(|ratio| ratio.value))]));
        }
        let complete = self.complete();
        type Summary = fn(&[Ratio]) -> Option<f64>;
        let largest: Summary = |ratios| worst(ratios).map(|ratio| ratio.value);
        for (name, summary) in [
            ("mean ÷ native", mean as Summary),
            ("worst ÷ native", largest),
        ] {
            let ratios = |way: &Way| complete.ratios(quantity, *way, Way::Native);
            let cells = self.ways.iter().map(|way| shown(summary(&ratios(way))));
            let row = [name.to_owned()].into_iter().chain(cells);
            let peer = complete.ratios(quantity, Way::FASTTRACK, Way::ClangTsan);
            table.row(row.chain([shown(summary(&peer))]));
        }
        table
    }

    fn cell(&self, quantity: Quantity, program: &Measured, way: Way) -> String {
        let Some(cost) = self.cost(program, way) else {
            return shown(None);
        };
        match quantity {
            Quantity::Peak => format!("{:.1}", cost.peak as f64 / 1024.0),
            Quantity::Cpu if way == Way::Native => format!("{:.2} s", cost.cpu),
            Quantity::Cpu => {
                let native = self.cost(program, Way::Native);
                shown(native.map(|native| cost.cpu / native.cpu))
            }
        }
    }

    /// The costs, for programs to read.
    pub(super) fn rows(&self) -> Vec<Value> {
        let row = |program: &Measured| {
            let ways = self.ways.iter().zip(&program.costs);
            let ways = ways.filter_map(|(way, cost)| Some((way.name(), (*cost)?)));
            let ways: Vec<_> = ways
                .map(|(way, cost)| json!({ "way": way, "cpu_seconds": cost.cpu, "peak_kib": cost.peak }))
                .collect();
            json!({ "name": program.name, "ways": ways })
        };
        self.programs.iter().map(row).collect()
    }
}

/// The geometric mean, as is right for ratios.
pub(super) fn mean(ratios: &[Ratio]) -> Option<f64> {
    let logarithms = ratios.iter().map(|ratio| ratio.value.ln());
    let sum: f64 = logarithms.sum();
    (!ratios.is_empty()).then(|| (sum / ratios.len() as f64).exp())
}

/// The largest.
pub(super) fn worst(ratios: &[Ratio]) -> Option<&Ratio> {
    ratios.iter().max_by(|a, b| a.value.total_cmp(&b.value))
}

/// A ratio as the tables show it.
pub(super) fn shown(ratio: Option<f64>) -> String {
    ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Programs with CPU seconds in each way; as many KiB as milliseconds.
    pub(in crate::live) fn figures(ways: &[Way], programs: &[(&str, &[f64])]) -> Figures {
        let cost = |cpu: &f64| Cost {
            cpu: *cpu,
            peak: (cpu * 1000.0) as u64,
        };
        let measured = |(name, cpus): &(&str, &[f64])| Measured {
            name: (*name).to_owned(),
            costs: cpus
                .iter()
                .map(|cpu| (*cpu > 0.0).then(|| cost(cpu)))
                .collect(),
        };
        Figures {
            ways: ways.to_vec(),
            programs: programs.iter().map(measured).collect(),
        }
    }

    #[test]
    fn ratios_are_of_programs_that_have_both() {
        let figures = figures(
            &[Way::Native, Way::Empty],
            &[("a", &[1.0, 3.0]), ("b", &[1.0, 0.0]), ("c", &[2.0, 1.0])],
        );
        let ratios = figures.ratios(Quantity::Cpu, Way::Empty, Way::Native);
        let values: Vec<_> = ratios
            .iter()
            .map(|r| (r.program.as_str(), r.value))
            .collect();
        assert_eq!(values, [("a", 3.0), ("c", 0.5)]);
        assert_eq!(figures.ratios(Quantity::Cpu, Way::GccTsan, Way::Native), []);
    }

    #[test]
    fn the_mean_of_ratios_is_geometric() {
        let ratio = |value| Ratio {
            program: String::new(),
            value,
        };
        let mean = mean(&[ratio(0.5), ratio(8.0)]).unwrap();
        assert!((mean - 2.0).abs() < 1e-12, "{mean}");
        assert_eq!(super::mean(&[]), None);
        let ratios = [ratio(0.5), ratio(8.0), ratio(1.0)];
        assert_eq!(worst(&ratios), Some(&ratios[1]));
        assert_eq!(worst(&[]), None);
    }

    #[test]
    fn tables_show_ratios_of_time_and_plain_memory() {
        let figures = figures(
            &[Way::Native, Way::FASTTRACK, Way::ClangTsan],
            &[("a", &[1.024, 4.096, 8.192]), ("b", &[2.048, 2.048, 0.0])],
        );
        let expected = [
            "  program         native  fasttrack  clang-tsan  fasttrack ÷ clang-tsan",
            "  a               1.02 s       4.00        8.00                    0.50",
            "  b               2.05 s       1.00           –                       –",
            "  mean ÷ native     1.00       4.00        8.00                    0.50",
            "  worst ÷ native    1.00       4.00        8.00                    0.50",
        ];
        let times = figures.table(Quantity::Cpu).render();
        assert_eq!(times.lines().collect::<Vec<_>>(), expected);
        let memory = figures.table(Quantity::Peak).render();
        assert!(
            memory.contains("\n  a                  1.0        4.0         8.0"),
            "{memory}"
        );
    }
}
