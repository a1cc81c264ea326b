//! Words that several commands understand: times, counts, numbers of executions, levels.

use std::time::Duration;

use clap::ValueEnum;

/// How many executions can go on at once.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(256)
}

/// A time such as 90s, 5m or 1h; seconds if it has no unit.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a time like 90s, 5m or 1h");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let seconds = match &text[digits.len()..] {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    match Duration::try_from_secs_f64(number * seconds) {
        Ok(Duration::ZERO) => Err("there is nothing to be found in no time".to_owned()),
        duration => duration.map_err(|_| wrong()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Any finding
    Predicted,
    /// What happened in a real execution
    Observed,
    /// What was made to happen and replayed
    Confirmed,
    /// No finding
    Never,
}

pub(super) fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=256) => Ok(n),
        _ => Err("a number from 1 to 256 is needed".to_owned()),
    }
}

/// A number, perhaps with k, M or G behind it and underscores inside.
pub(super) fn count(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a number like 5000, 200k or 50M");
    let (digits, unit) = match text.strip_suffix(['k', 'K', 'M', 'G']) {
        Some(digits) => match text.as_bytes()[text.len() - 1] {
            b'k' | b'K' => (digits, 1_000),
            b'M' => (digits, 1_000_000),
            _ => (digits, 1_000_000_000),
        },
        None => (text, 1),
    };
    let number: u64 = digits.replace('_', "").parse().map_err(|_| wrong())?;
    number.checked_mul(unit).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_people_write_them() {
        assert_eq!(count("50M"), Ok(50_000_000));
        assert_eq!(count("5_000"), Ok(5_000));
        assert!(count("5X").is_err());
        assert!(count("99999999999G").is_err());
    }
}
