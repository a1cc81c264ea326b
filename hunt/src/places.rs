//! Where the accesses of a finding are, as RaceFuzzer is told.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use racehound_report::finding::{Access, Finding};
use racehound_schedule::{Place, Places};

/// The two places of a race, and what is done there.
pub fn of(finding: &Finding) -> Option<Places> {
    match &finding.accesses[..] {
        [first, second] => Some(Places {
            first: vec![name(first, &place(first)?)],
            second: vec![name(second, &place(second)?)],
        }),
        _ => None,
    }
}

/// An access by its line, which outlives the build; else by where its code is.
fn place(access: &Access) -> Option<String> {
    if let (Some(file), Some(line)) = (&access.file, access.line) {
        return Some(format!("{file}:{line}"));
    }
    let frame = access.stack.first()?;
    let module = Path::new(frame.module.as_ref()?).file_name()?.to_str()?;
    Some(format!("{module}+{:#x}", frame.offset?))
}

/// The place of an access together with what it does there, as far as there is a choice:
/// an atomic operation may do both.
fn name(access: &Access, at: &str) -> String {
    let writes = match access.op.as_str() {
        "read" if !access.atomic => Some(false),
        "write" if !access.atomic => Some(true),
        _ => None,
    };
    Place { at, writes }.to_string()
}

/// What a suspicion adds to those before it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Two places that nobody has suspected.
    Pair,
    /// Something else that is done at two places that were suspected.
    Access,
    Nothing,
}

/// What is suspected to race, by pairs of places. Different accesses at the same two places
/// are one suspicion: the lines of a race are its identity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Suspicions(BTreeMap<[String; 2], BTreeSet<String>>);

impl Suspicions {
    /// Notes a race, if it has places.
    pub(crate) fn note(&mut self, finding: &Finding) -> Option<News> {
        let ([first, second], pair) = (&finding.accesses[..], key(finding)?) else {
            return None;
        };
        let is_new = !self.0.contains_key(&pair);
        let names = self.0.entry(pair).or_default();
        let before = names.len();
        for access in [first, second] {
            names.insert(name(access, &place(access)?));
        }
        Some(match is_new {
            true => News::Pair,
            false if names.len() > before => News::Access,
            false => News::Nothing,
        })
    }

    /// The two places of a race, with all that was suspected of them so far.
    pub(crate) fn places(&self, finding: &Finding) -> Option<Places> {
        let Some(names) = key(finding).and_then(|pair| self.0.get(&pair)) else {
            return of(finding);
        };
        let at = |access: &Access| {
            let place = place(access)?;
            let here = |name: &&String| Place::from(name.as_str()).at == place;
            Some(names.iter().filter(here).cloned().collect())
        };
        match &finding.accesses[..] {
            [first, second] => Some(Places {
                first: at(first)?,
                second: at(second)?,
            }),
            _ => None,
        }
    }
}

fn key(finding: &Finding) -> Option<[String; 2]> {
    let [first, second] = &finding.accesses[..] else {
        return None;
    };
    let mut pair = [place(first)?, place(second)?];
    pair.sort_unstable();
    Some(pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn race(accesses: [(&str, u32); 2]) -> Finding {
        let access = |(op, line): (&str, u32)| Access {
            op: op.to_owned(),
            file: Some("a.c".to_owned()),
            line: Some(line),
            ..Access::default()
        };
        Finding {
            accesses: accesses.map(access).to_vec(),
            ..Finding::default()
        }
    }

    #[test]
    fn a_suspicion_is_about_what_is_done_at_its_places() {
        let places = of(&race([("write", 5), ("read", 7)])).unwrap();
        assert_eq!(places.to_string(), "a.c:5:write,a.c:7:read");
        let mut atomic = race([("write", 5), ("write", 7)]);
        atomic.accesses[0].atomic = true;
        assert_eq!(of(&atomic).unwrap().to_string(), "a.c:5,a.c:7:write");
    }

    #[test]
    fn whatever_was_suspected_of_two_places_is_tried_together() {
        let mut suspicions = Suspicions::default();
        let first = race([("write", 5), ("read", 7)]);
        assert_eq!(suspicions.note(&first), Some(News::Pair));
        let places = |s: &Suspicions, f: &Finding| s.places(f).unwrap().to_string();
        assert_eq!(places(&suspicions, &first), "a.c:5:write,a.c:7:read");
        assert_eq!(suspicions.note(&first), Some(News::Nothing));
        let other_way = race([("read", 7), ("write", 5)]);
        assert_eq!(suspicions.note(&other_way), Some(News::Nothing));
        let second = race([("read", 5), ("write", 7)]);
        assert_eq!(suspicions.note(&second), Some(News::Access));
        let all = "a.c:5:read|a.c:5:write,a.c:7:read|a.c:7:write";
        assert_eq!(places(&suspicions, &first), all);
        assert_eq!(suspicions.note(&race([("write", 5); 2])), Some(News::Pair));
    }
}
