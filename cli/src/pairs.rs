//! The pairs of accesses that a user names: by their places, or by the findings
//! that suspect them.

use std::path::Path;

use racehound_hunt::places;
use racehound_report::finding::{Finding, Kind, Report};
use racehound_schedule::{Place, Places, Plan};

use crate::error::Error;

/// A pair, and the finding that suspects it, if there is one.
pub(crate) type Suspicion = (Places, Option<Finding>);

/// The pairs that a word of the command line stands for: `bank.c:12,bank.c:30`, or
/// the file of a report with races in it, all of them or the one named after `#`.
pub(crate) fn named(word: &str) -> Result<Vec<Suspicion>, Error> {
    let (file, id) = match word.rsplit_once('#') {
        Some((file, id)) if Path::new(file).is_file() => (file, Some(id)),
        _ => (word, None),
    };
    if !Path::new(file).is_file() {
        return by_hand(word);
    }
    let report = report(file.as_ref())?;
    let wanted =
        |finding: &Finding| id.is_none_or(|id| finding.id == id) && finding.kind == Kind::Race;
    let races = report.findings.into_iter().filter(wanted);
    let pairs: Vec<Suspicion> = races
        .filter_map(|f| Some((places::of(&f)?, Some(f))))
        .collect();
    match (pairs.is_empty(), id) {
        (false, _) => Ok(pairs),
        (true, Some(id)) => Err(Error::Wish(format!("{file}: it has no race {id}"))),
        (true, None) => Err(Error::Wish(format!("{file}: there is no race in it"))),
    }
}

/// The report in a file.
pub(crate) fn report(file: &Path) -> Result<Report, Error> {
    let text = std::fs::read(file).map_err(Error::file(file))?;
    serde_json::from_slice(&text).map_err(|error| {
        let file = file.display();
        Error::Wish(format!("{file}: no report that --json writes: {error}"))
    })
}

fn by_hand(word: &str) -> Result<Vec<Suspicion>, Error> {
    match format!("racefuzzer:pair={word}").parse() {
        Ok(Plan::RaceFuzzer { pairs, .. }) => {
            let names = pairs
                .iter()
                .flat_map(|pair| pair.first.iter().chain(&pair.second));
            let unknown = names.map(String::as_str).find(|&name| {
                let place = Place::from(name);
                place.position().is_none() && place.offset().is_none()
            });
            match unknown {
                Some(name) => Err(Error::Wish(format!(
                    "--pair {word}: `{name}` is no place: expected something such as bank.c:12, \
                     bank.c:12:9 or bank.c:12:write"
                ))),
                None => Ok(pairs.into_iter().map(|pair| (pair, None)).collect()),
            }
        }
        Ok(_) => unreachable!("that is a plan of RaceFuzzer's"),
        Err(error) => Err(Error::Wish(format!(
            "--pair {word}: {error}; nor is it the file of a report"
        ))),
    }
}
