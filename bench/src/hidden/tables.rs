//! The tables and curves of drfinder.txt §6, and what is to hold.

use std::collections::BTreeSet;

use racehound_report::table::Table;

use super::campaign::Campaign;
use crate::races::Race;

/// A program's row in Table 3.
pub(super) struct Row {
    pub(super) name: String,
    /// It sleeps, which under control takes no time: what it costs tells nothing.
    pub(super) sleeps: bool,
    /// Seconds of the fastest run without anybody who looks on.
    pub(super) native: f64,
    /// FastTrack alone, ConTest and PCT.
    pub(super) others: [Campaign; 3],
    pub(super) drfinder: Campaign,
    /// Seconds of the fastest run that collects.
    pub(super) collecting: f64,
    /// What each of the others has shown of DrFinder's new races in many runs,
    /// if that was tried.
    pub(super) later: Option<[BTreeSet<Race>; 3]>,
}

const OTHERS: [&str; 3] = ["FT", "CT", "PCT"];

impl Row {
    pub(super) fn new_races(&self) -> BTreeSet<Race> {
        let mut new = self.drfinder.races();
        for other in &self.others {
            new = &new - &other.races();
        }
        new
    }

    fn total(&self) -> BTreeSet<Race> {
        let mut total = self.drfinder.races();
        for other in &self.others {
            total.extend(other.races());
        }
        total
    }

    /// Runs that did not end by themselves.
    pub(super) fn hung(&self) -> usize {
        self.campaigns().map(|campaign| campaign.hung).sum()
    }

    fn factor(&self, seconds: f64) -> f64 {
        seconds / self.native
    }

    fn campaigns(&self) -> impl Iterator<Item = &Campaign> {
        self.others.iter().chain([&self.drfinder])
    }
}

fn sum(rows: &[Row], of: impl Fn(&Row) -> usize) -> usize {
    rows.iter().map(of).sum()
}

fn mean(rows: &[Row], of: impl Fn(&Row) -> f64) -> f64 {
    rows.iter().map(of).sum::<f64>() / rows.len().max(1) as f64
}

/// What DrFinder costs over FastTrack alone, in programs that do not sleep.
fn cost_over_fasttrack(rows: &[Row]) -> Option<f64> {
    let awake = || rows.iter().filter(|row| !row.sleeps);
    let sum = |of: fn(&Row) -> f64| awake().map(|row| row.factor(of(row))).sum::<f64>();
    let fasttrack = sum(|row| row.others[0].seconds);
    (fasttrack > 0.0).then(|| sum(|row| row.drfinder.seconds) / fasttrack)
}

fn percent(part: usize, whole: usize) -> String {
    match whole {
        0 if part == 0 => "+0 %".to_owned(),
        0 => "+∞ %".to_owned(),
        whole => format!("+{:.1} %", 100.0 * part as f64 / whole as f64),
    }
}

/// Table 3.
pub(super) fn table_3(rows: &[Row]) -> Table {
    let mut table = Table::new([
        "program",
        "FT",
        "CT",
        "PCT",
        "DR",
        "new",
        "more",
        "total",
        "missed by FT",
        "CT",
        "PCT",
        "DR",
        "native s",
        "FT ×",
        "CT ×",
        "PCT ×",
        "DR P-I ×",
        "DR P-II ×",
        "thrashing",
    ]);
    for row in rows {
        let total = row.total().len();
        let counts: Vec<usize> = row.campaigns().map(|c| c.races().len()).collect();
        let best = row.others.iter().map(|c| c.races().len()).max();
        let new = row.new_races().len();
        let mut cells = vec![row.name.clone()];
        cells.extend(counts.iter().map(ToString::to_string));
        cells.extend([
            new.to_string(),
            percent(new, best.unwrap_or(0)),
            total.to_string(),
        ]);
        cells.extend(counts.iter().map(|count| (total - count).to_string()));
        cells.push(format!("{:.3}", row.native));
        let seconds = row.others.iter().map(|c| c.seconds);
        let seconds = seconds.chain([row.collecting, row.drfinder.seconds]);
        cells.extend(seconds.map(|seconds| format!("{:.2}", row.factor(seconds))));
        cells.push(format!("{:.1} %", 100.0 * row.drfinder.thrashing));
        table.row(cells);
    }
    let count = |index: usize| {
        sum(rows, |row| {
            row.campaigns().nth(index).map_or(0, |c| c.races().len())
        })
    };
    let counts: Vec<usize> = (0..4).map(count).collect();
    let (total, new) = (
        sum(rows, |row| row.total().len()),
        sum(rows, |row| row.new_races().len()),
    );
    let best = counts[..3].iter().max().copied().unwrap_or(0);
    let mut cells = vec!["sum, mean".to_owned()];
    cells.extend(counts.iter().map(ToString::to_string));
    cells.extend([new.to_string(), percent(new, best), total.to_string()]);
    cells.extend(counts.iter().map(|count| (total - count).to_string()));
    cells.push(String::new());
    for index in 0..3 {
        let factor = mean(rows, |row| row.factor(row.others[index].seconds));
        cells.push(format!("{factor:.2}"));
    }
    cells.push(format!(
        "{:.2}",
        mean(rows, |row| row.factor(row.collecting))
    ));
    cells.push(format!(
        "{:.2}",
        mean(rows, |row| row.factor(row.drfinder.seconds))
    ));
    let thrashing = mean(rows, |row| row.drfinder.thrashing);
    cells.push(format!("{:.1} %", 100.0 * thrashing));
    table.row(cells);
    table
}

/// Table 4: races, and those of them that are new, for each depth.
pub(super) fn table_4(depths: &[u32], rows: &[(&Row, Vec<Campaign>)]) -> Table {
    let headings = ["program".to_owned()].into_iter();
    let mut table = Table::new(headings.chain(depths.iter().map(ToString::to_string)));
    let mut sums = vec![(0, 0); depths.len()];
    for (row, campaigns) in rows {
        let mut cells = vec![row.name.clone()];
        for (campaign, sum) in campaigns.iter().zip(&mut sums) {
            let races = campaign.races();
            let mut new = races.clone();
            for other in &row.others {
                new = &new - &other.races();
            }
            sum.0 += races.len();
            sum.1 += new.len();
            cells.push(format!("{} ({})", races.len(), new.len()));
        }
        table.row(cells);
    }
    let sums = sums.iter().map(|(all, new)| format!("{all} ({new})"));
    table.row(["sum".to_owned()].into_iter().chain(sums));
    table
}

/// Figure 6: distinct races after each run, of all programs together.
pub(super) fn figure_6(rows: &[Row], runs: usize) -> Table {
    let headings = ["runs".to_owned()].into_iter();
    let mut table = Table::new(headings.chain((1..=runs).map(|run| run.to_string())));
    let names = OTHERS.iter().chain(&["DR"]);
    for (index, name) in names.enumerate() {
        let after = |run: usize| {
            sum(rows, |row| {
                let campaign = row.campaigns().nth(index);
                campaign
                    .and_then(|c| c.cumulative.get(run))
                    .map_or(0, BTreeSet::len)
            })
        };
        let cells = (0..runs).map(|run| after(run).to_string());
        table.row([(*name).to_owned()].into_iter().chain(cells));
    }
    table
}

/// Figure 7: the share of DrFinder's new races that the first runs have shown.
pub(super) fn figure_7(rows: &[Row], runs: usize) -> Table {
    let headings = ["program".to_owned()].into_iter();
    let mut table = Table::new(headings.chain((1..=runs).map(|run| run.to_string())));
    for row in rows.iter().filter(|row| !row.new_races().is_empty()) {
        let new = row.new_races();
        let share = |run: usize| {
            let seen = row.drfinder.cumulative.get(run);
            let seen = seen.map_or(0, |seen| seen.intersection(&new).count());
            format!("{} %", 100 * seen / new.len())
        };
        let cells = (0..runs).map(share);
        table.row([row.name.clone()].into_iter().chain(cells));
    }
    table
}

/// What is to hold, and what is the case.
pub(super) fn conditions(rows: &[Row], runs: usize, many: usize) -> Table {
    let verdict = |held: bool| if held { "held" } else { "missed" }.to_owned();
    let mut table = Table::new(["condition", "measured", ""]);
    let count = |index: usize| sum(rows, |row| row.others[index].races().len());
    let best = (0..3).map(count).max().unwrap_or(0);
    let found = sum(rows, |row| row.drfinder.races().len());
    let more = found as f64 / best as f64 - 1.0;
    let (measured, held) = match best {
        0 => (format!("{found} and none"), found > 0),
        best => (
            format!("{found} and {best}: {:+.1} %", 100.0 * more),
            more >= 0.23,
        ),
    };
    let held = match found + best {
        0 => "nothing to be found".to_owned(),
        _ => verdict(held),
    };
    table.row([
        format!("DrFinder finds at least 23 % more than the best of the others in {runs} runs"),
        measured,
        held,
    ]);
    if let Some(cost) = cost_over_fasttrack(rows) {
        table.row([
            "it costs at most 1.7 times what FastTrack costs (6.49 ÷ 3.84)".to_owned(),
            format!("{cost:.2}"),
            verdict(cost <= 1.7),
        ]);
    }
    let tried = || {
        rows.iter()
            .filter_map(|row| Some((row.new_races(), row.later.as_ref()?)))
    };
    let new: usize = tried().map(|(new, _)| new.len()).sum();
    let unseen: usize = tried()
        .map(|(new, later)| {
            let seen = |race: &&Race| later.iter().any(|seen| seen.contains(*race));
            new.iter().filter(|race| !seen(race)).count()
        })
        .sum();
    if new > 0 {
        table.row([
            format!("half of its new races are unseen by the others in {many} runs"),
            format!("{unseen} of {new}"),
            verdict(2 * unseen >= new),
        ]);
        for (index, name) in OTHERS.iter().enumerate() {
            let seen: usize = tried()
                .map(|(new, later)| later[index].intersection(&new).count())
                .sum();
            table.row([
                format!("  {name} has seen"),
                format!("{seen} of {new}"),
                String::new(),
            ]);
        }
    }
    table
}
