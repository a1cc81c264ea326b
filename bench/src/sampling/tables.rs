//! What the paper prints.

use racehound_report::table::Table;

use super::campaign::Campaign;
use super::subject::Tool;

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn mean(campaigns: &[Campaign], of: impl Fn(&Campaign) -> f64) -> f64 {
    campaigns.iter().map(of).sum::<f64>() / campaigns.len() as f64
}

fn final_overhead(tool: Tool) -> impl Fn(&Campaign) -> f64 {
    move |campaign| campaign.overhead(tool, campaign.len())
}

/// Time, overhead and distinct races of each program.
pub(super) fn table_1(campaigns: &[Campaign]) -> Table {
    let names = Tool::LOOKING.map(Tool::name);
    let headings = ["program", "none s"].into_iter().map(str::to_owned);
    let seconds = names.map(|name| format!("{name} s"));
    let overheads = names.map(|name| format!("{name} %"));
    let found = names.map(|name| format!("{name} races"));
    let mut table = Table::new(headings.chain(seconds).chain(overheads).chain(found));
    for campaign in campaigns {
        let all = campaign.len();
        let mut row = vec![campaign.name.clone()];
        row.extend(Tool::ALL.map(|tool| format!("{:.2}", campaign.cpu(tool, all))));
        row.extend(Tool::LOOKING.map(|tool| percent(campaign.overhead(tool, all))));
        row.extend(Tool::LOOKING.map(|tool| campaign.distinct(tool).len().to_string()));
        table.row(row);
    }
    let mut row = vec!["average, sum".to_owned()];
    row.extend(Tool::ALL.map(|_| String::new()));
    row.extend(Tool::LOOKING.map(|tool| percent(mean(campaigns, final_overhead(tool)))));
    row.extend(Tool::LOOKING.map(|tool| races(campaigns, tool).to_string()));
    table.row(row);
    table
}

fn races(campaigns: &[Campaign], tool: Tool) -> usize {
    campaigns.iter().map(|c| c.distinct(tool).len()).sum()
}

/// Races with repetitions.
pub(super) fn figure_9(campaigns: &[Campaign]) -> Table {
    let mut table = Table::new(["program"].into_iter().chain(Tool::LOOKING.map(Tool::name)));
    for campaign in campaigns {
        let mut row = vec![campaign.name.clone()];
        row.extend(Tool::LOOKING.map(|tool| campaign.total(tool).to_string()));
        table.row(row);
    }
    table
}

/// The executions at which something is printed.
fn stations(campaign: &Campaign) -> Vec<usize> {
    let all = campaign.len();
    let mut stations: Vec<usize> = [1, 2, 3, 5, 10, 20, 50, 100, 200]
        .into_iter()
        .filter(|&station| station < all)
        .collect();
    stations.push(all);
    stations
}

/// Cumulative overhead.
pub(super) fn figure_8(campaigns: &[Campaign]) -> Table {
    let headings = ["program", "executions"].into_iter();
    let mut table = Table::new(headings.chain(Tool::LOOKING.map(Tool::name)));
    for campaign in campaigns.iter().filter(|campaign| campaign.len() > 0) {
        for station in stations(campaign) {
            let mut row = vec![campaign.name.clone(), station.to_string()];
            row.extend(Tool::LOOKING.map(|tool| percent(campaign.overhead(tool, station))));
            table.row(row);
        }
    }
    table
}

/// Pairs.
pub(super) fn figure_11(campaigns: &[Campaign]) -> Table {
    let mut table = Table::new(["program", "executions", "all pairs", "2-frequent"]);
    for campaign in campaigns.iter().filter(|campaign| campaign.len() > 0) {
        for station in stations(campaign) {
            let (all, frequent) = campaign.pairs[station - 1];
            table.row([
                campaign.name.clone(),
                station.to_string(),
                all.to_string(),
                frequent.to_string(),
            ]);
        }
    }
    table
}

/// Whether AtexRace costs at most a tenth more than LiteRace, as it can be read: a tenth of
/// LiteRace's overhead, or of the time that the program takes when nobody looks.
fn a_tenth_more(lite_race: f64, atex_race: f64) -> [(String, bool); 2] {
    let measured = format!(
        "AtexRace's overhead is {} %, LiteRace's {} %",
        percent(atex_race),
        percent(lite_race)
    );
    [
        ("a tenth of it more", lite_race * 1.1),
        ("ten points more", lite_race + 0.1),
    ]
    .map(|(reading, most)| {
        let text = format!("{measured} (at most {reading}: {} %)", percent(most));
        (text, atex_race <= most)
    })
}

/// What the paper's averages ask for, and whether it holds.
pub(super) fn conditions(campaigns: &[Campaign]) -> (String, bool) {
    let [fast_track, lite_race, atex_race] =
        Tool::LOOKING.map(|tool| mean(campaigns, final_overhead(tool)));
    let [found_by_all, _, found] = Tool::LOOKING.map(|tool| races(campaigns, tool));
    let [by_share, by_points] = a_tenth_more(lite_race, atex_race);
    let conditions = [
        (
            format!(
                "AtexRace's overhead is {:.2} of FastTrack's (at most 0.41)",
                atex_race / fast_track
            ),
            atex_race <= 0.41 * fast_track,
        ),
        by_share,
        by_points,
        (
            format!(
                "AtexRace has shown {found} races, FastTrack {found_by_all} (at least as many)"
            ),
            found >= found_by_all,
        ),
    ];
    let mut text = String::new();
    for (condition, holds) in &conditions {
        let verdict = if *holds { "holds" } else { "does not hold" };
        text += &format!("{condition}: {verdict}\n");
    }
    (text, conditions.iter().all(|(_, holds)| *holds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_more_is_told_in_both_readings() {
        let [(share, fits_share), (points, fits_points)] = a_tenth_more(0.5, 0.58);
        assert_eq!(
            share,
            "AtexRace's overhead is 58.0 %, LiteRace's 50.0 % (at most a tenth of it more: 55.0 %)"
        );
        assert!(points.ends_with("(at most ten points more: 60.0 %)"));
        assert!(!fits_share && fits_points);
    }
}
