//! What a finding has in common with itself in other builds of a program.
//!
//! [`identity`](Finding::identity) has the places of a finding to the line and column:
//! right within a hunt, useless once somebody has added a line above. A *fingerprint*
//! has functions instead, and the text of the lines, as far as it is known. So it stays
//! the same while code moves about, in its file or to another directory, and changes
//! with the code itself.
//!
//! # Invariants
//! * It depends on nothing but the kind of the finding and its places: not on who found
//!   it, how certain it is, which threads or addresses it had.
//! * Findings of one report may have the same; [`numbered`] tells them apart.

use std::collections::BTreeMap;

use crate::finding::{Access, Finding};

/// The fingerprint: sixteen hexadecimal digits.
pub fn of(finding: &Finding) -> String {
    let accesses = finding.accesses.iter().filter(|a| !a.is_cause());
    let mut places: Vec<String> = accesses.map(place).collect();
    places.sort_unstable();
    if places.is_empty() {
        places.push(without_positions(&finding.location.name));
    }
    let kind = String::from(finding.kind.clone());
    let detail = finding.detail.clone().unwrap_or_default();
    let parts = [kind, detail].into_iter().chain(places);
    let text: Vec<String> = parts.collect();
    format!("{:016x}", fnv(text.join("\0").as_bytes()))
}

/// The fingerprints of findings, each with a number that tells it from others of the
/// same: `9c52ab31f00d7e44:1`.
pub fn numbered<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<String> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let number = |finding: &Finding| {
        let fingerprint = of(finding);
        let count = seen.entry(fingerprint.clone()).or_default();
        *count += 1;
        format!("{fingerprint}:{count}")
    };
    findings.into_iter().map(number).collect()
}

fn place(access: &Access) -> String {
    let file = access.file.as_deref().map(base).unwrap_or_default();
    let function = match &access.function {
        Some(function) => function.clone(),
        None => without_positions(&access.site),
    };
    let text = access.text().unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    format!("{file}\u{1}{function}\u{1}{}", words.join(" "))
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A text without directories, and without the numbers that stand for lines and
/// addresses.
fn without_positions(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let mut parts = base(word).split(':');
        let first = parts.next().unwrap_or_default();
        let rest = parts.filter(|part| part.is_empty() || part.parse::<u32>().is_err());
        let kept: Vec<&str> = std::iter::once(first).chain(rest).collect();
        match kept[0].starts_with("0x") {
            true => "0x".to_owned(),
            false => kept.join(":"),
        }
    });
    words.collect::<Vec<String>>().join(" ")
}

/// FNV-1a: small, and the same everywhere and for ever.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Excerpt, Kind, Location, Status};

    fn access(function: &str, line: u32, text: &str) -> Access {
        Access {
            file: Some("/home/you/bank/bank.c".into()),
            line: Some(line),
            site: format!("/home/you/bank/bank.c:{line}:3"),
            function: Some(function.into()),
            source: Some(Excerpt {
                first: line,
                lines: vec![text.to_owned()],
            }),
            ..Access::default()
        }
    }

    fn race(accesses: [Access; 2]) -> Finding {
        Finding {
            accesses: accesses.to_vec(),
            ..Finding::default()
        }
    }

    #[test]
    fn it_survives_what_does_not_matter() {
        let here = race([
            access("deposit", 12, "  balance += 10;"),
            access("audit", 30, "return balance;"),
        ]);
        let mut moved = race([
            access("audit", 41, "    return  balance;"),
            access("deposit", 15, "\tbalance += 10;"),
        ]);
        moved.status = Status::Confirmed;
        moved.accesses[0].file = Some("src/bank.c".into());
        moved.accesses[0].thread = "0.7".into();
        assert_eq!(of(&here), of(&moved));
    }

    #[test]
    fn it_changes_with_what_does() {
        let pair = |text: &str| {
            race([
                access("deposit", 12, text),
                access("audit", 30, "return balance;"),
            ])
        };
        let here = pair("balance += 10;");
        assert_ne!(of(&here), of(&pair("served++;")));
        let mut other = here.clone();
        other.kind = Kind::Atomicity;
        assert_ne!(of(&here), of(&other));
        let mut elsewhere = here.clone();
        elsewhere.accesses[1].function = Some("close".into());
        assert_ne!(of(&here), of(&elsewhere));
        assert_ne!(numbered([&here, &here])[0], numbered([&here, &here])[1]);
    }

    #[test]
    fn a_failure_is_known_by_what_is_said_of_it() {
        let failure = |said: &str| Finding {
            kind: Kind::Failure,
            location: Location {
                name: said.into(),
                ..Location::default()
            },
            ..Finding::default()
        };
        let here = failure("bank: bank.c:36: main: Assertion `balance == 130' failed.");
        let moved = failure("bank: ../src/bank.c:40: main: Assertion `balance == 130' failed.");
        let other = failure("bank: bank.c:36: main: Assertion `balance == 10' failed.");
        assert_eq!(of(&here), of(&moved));
        assert_ne!(of(&here), of(&other));
    }
}
