//! Places of the program, as strategies and schedules know them.
//!
//! Within an execution a place has a number. The first numbers are those of the
//! places that the strategy watches, which users name by file and line or by
//! module and offset, and which may be many instructions each; all others come in
//! the order in which they are met. From one execution to the next a place is
//! known by its module and its offset there.

use racehound_schedule::{Naming, Place};
use racehound_trace::{SiteId, ThreadId};
use rustc_hash::FxHashMap;

use crate::registry;
use crate::report::{Line, symbols};
use crate::spin::Locked;

static SITES: Locked<Option<Sites>> = Locked::new(None);

#[derive(Default)]
struct Sites {
    /// What users call the places that are watched.
    watched: Vec<String>,
    /// At some of them only reads or only writes are.
    distinguishes: bool,
    /// Those of them at which an access was made.
    accessed: Vec<SiteId>,
    known: FxHashMap<usize, SiteId>,
    /// The same of reads and writes, if it matters which of the two something is.
    accesses: FxHashMap<(usize, bool), SiteId>,
    /// The first place met of each number, behind those that are watched.
    places: Vec<usize>,
}

fn with<R>(use_them: impl FnOnce(&mut Sites) -> R) -> R {
    use_them(SITES.lock().get_or_insert_default())
}

/// The number of a place that is to be watched. Before any other is met.
pub(super) fn watch(name: &str) -> SiteId {
    with(|sites| {
        let known = sites.watched.iter().position(|other| other == name);
        let index = known.unwrap_or_else(|| {
            sites.watched.push(name.to_owned());
            sites.distinguishes |= Place::from(name).writes.is_some();
            sites.watched.len() - 1
        });
        SiteId::from_index(index)
    })
}

/// The number of a place: of a return address in the program.
pub(super) fn site(place: usize) -> SiteId {
    let (known, watched) = with(|sites| {
        let known = sites.known.get(&place).copied();
        (known, known.is_none().then(|| sites.watched.clone()))
    });
    if let Some(site) = known {
        return site;
    }
    let watched = watched.unwrap_or_default();
    let found = find(&watched, place, None);
    with(|sites| {
        let next = SiteId::from_index(sites.watched.len() + sites.places.len());
        let site = *sites
            .known
            .entry(place)
            .or_insert_with(|| found.map_or(next, SiteId::from_index));
        if site == next {
            sites.places.push(place);
        }
        site
    })
}

/// The number of a place where something is read or written.
pub(super) fn site_of_access(place: usize, is_write: bool) -> SiteId {
    let (known, watched) = with(|sites| {
        let known = match sites.distinguishes {
            true => sites.accesses.get(&(place, is_write)).copied(),
            false => return (None, None),
        };
        (known, known.is_none().then(|| sites.watched.clone()))
    });
    if let Some(site) = known {
        return site;
    }
    let Some(watched) = watched else {
        return site(place);
    };
    let site = match find(&watched, place, Some(is_write)) {
        Some(index) => SiteId::from_index(index),
        None => site(place),
    };
    with(|sites| sites.accesses.insert((place, is_write), site));
    site
}

/// Which of the places that are watched this is, where something is read or written
/// perhaps. Not with the lock held: it takes a look at the program's files.
fn find(watched: &[String], place: usize, is_write: Option<bool>) -> Option<usize> {
    if watched.is_empty() || place == 0 {
        return None;
    }
    let is_offset = |name: &String| Place::from(name.as_str()).offset().is_some();
    let line = match watched.iter().all(is_offset) {
        true => symbols::in_module(place),
        false => symbols::line(place),
    };
    watched.iter().position(|name| {
        let place = Place::from(name.as_str());
        (place.writes.is_none() || place.writes == is_write) && is_at(&line, place)
    })
}

/// The names of the places that are watched.
pub(super) fn watched() -> Vec<String> {
    with(|sites| sites.watched.clone())
}

/// An access is made at a place that is watched.
pub(super) fn accessed(site: SiteId) {
    with(|sites| {
        if !sites.accessed.contains(&site) {
            sites.accessed.push(site);
        }
    });
}

/// The names of those at which none was made.
pub(super) fn never_accessed() -> Vec<String> {
    with(|sites| {
        let names = sites.watched.iter().enumerate();
        let never = |index: usize| !sites.accessed.contains(&SiteId::from_index(index));
        let unmet = names.filter(|(index, _)| never(*index));
        unmet.map(|(_, name)| name.clone()).collect()
    })
}

/// Whether a place is one of those that are watched.
pub(super) fn is_watched(site: SiteId) -> bool {
    with(|sites| site.index() < sites.watched.len())
}

/// Whether there are such.
pub(super) fn any_watched() -> bool {
    with(|sites| !sites.watched.is_empty())
}

/// Whether a line is what a user calls by that name: `bank.c:12`, with as much of
/// the path as is needed, or `bank+0x11d0`.
fn is_at(line: &Line, place: Place<'_>) -> bool {
    if let Some((module, offset)) = place.offset() {
        let same_module = line.module.as_deref() == Some(module) || line.build_id == module;
        return offset == line.offset && same_module;
    }
    let Some(position) = place.position() else {
        return false;
    };
    let same_file = line.file.as_deref().is_some_and(|path| {
        let before = path.strip_suffix(position.file.trim_start_matches("./"));
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    });
    let same_column = position.column.is_none_or(|column| column == line.column);
    same_file && position.line == line.line && same_column
}

/// What threads and places are called beyond this execution.
pub(super) struct Names;

impl Naming for Names {
    fn thread(&self, thread: ThreadId) -> String {
        registry::info(thread.0).map_or_else(|| "?".to_owned(), |info| info.path)
    }

    fn site(&self, site: SiteId) -> String {
        let place = with(|sites| match sites.watched.get(site.index()) {
            Some(name) => Err(name.clone()),
            None => Ok(sites
                .places
                .get(site.index() - sites.watched.len())
                .copied()),
        });
        let place = match place {
            Err(name) => return name,
            Ok(place) => place.unwrap_or(0),
        };
        match symbols::module_name(place) {
            // The call is before the address it returns to.
            Some((module, offset)) => format!("{module}+{:#x}", offset - 1),
            None => String::new(),
        }
    }
}

/// The same, as traces have them: places by what their module was built from.
pub(super) struct TraceNames;

impl Naming for TraceNames {
    fn thread(&self, thread: ThreadId) -> String {
        Names.thread(thread)
    }

    fn site(&self, site: SiteId) -> String {
        let place = with(|sites| {
            let unwatched = site.index().checked_sub(sites.watched.len());
            unwatched.and_then(|index| sites.places.get(index).copied())
        });
        match place.map(symbols::in_module) {
            Some(line) if !line.build_id.is_empty() => {
                format!("{}+{:#x}", line.build_id, line.offset)
            }
            Some(Line {
                module: Some(module),
                offset,
                ..
            }) => format!("{module}+{offset:#x}"),
            _ => Names.site(site),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_name_places_as_they_see_them() {
        let line = Line {
            file: Some("/home/ann/bank/src/bank.c".to_owned()),
            line: 12,
            column: 9,
            module: Some("bank".to_owned()),
            offset: 0x11d0,
            ..Line::default()
        };
        for name in [
            "bank.c:12",
            "src/bank.c:12",
            "./bank.c:12",
            "bank.c:12:9",
            "bank+0x11d0",
        ] {
            assert!(is_at(&line, name.into()), "{name}");
        }
        for name in [
            "bank.c:13",
            "bank.c:12:8",
            "ank.c:12",
            "bank.c",
            "libbank.so+0x11d0",
            "bank+0x11d1",
        ] {
            assert!(!is_at(&line, name.into()), "{name}");
        }
    }
}
