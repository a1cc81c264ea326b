//! `racehound store`: what the project remembers, shown and managed.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use racehound_report::table::{Table, counted, thousands};
use racehound_schedule::Relations;
use racehound_store::pairs::Pairs;
use racehound_store::{DIRECTORY, Store};
use racehound_symbols::demangle;
use serde_json::json;

use crate::args::{StoreMerge, StoreReset, StoreStat};
use crate::error::Error;
use crate::{CLEAN, output};

/// Tells what is there.
pub(crate) fn stat(args: &StoreStat) -> Result<u8, Error> {
    let store = match &args.project {
        Some(given) => store_in(given)?,
        None => nearest()?,
    };
    let mut programs = Vec::new();
    // What is damaged is told, but not before all that is not.
    let mut unread = None;
    for pairs in Pairs::all(&store).map_err(Error::file(&store))? {
        match pairs.read(|history| history.summary(args.sample_frequency)) {
            Ok(summary) => programs.push((summary, pairs)),
            Err(error) => {
                unread.get_or_insert_with(|| Error::file(&pairs.path)(error));
            }
        }
    }
    let parts = [
        "schedules",
        "relations",
        "traces",
        racehound_sample::DIRECTORY,
    ];
    let parts = parts.map(|part| (part, size(&store.join(part))));
    let (hunts, findings) = match store.join("store.db").exists() {
        true => Store::open(store.parent().unwrap_or(&store))?.counts()?,
        false => (0, 0),
    };
    if args.json {
        let programs: Vec<_> = programs
            .iter()
            .map(|(summary, pairs)| {
                json!({
                    "program": pairs.program(),
                    "executions": summary.begun,
                    "ended": summary.ended,
                    "pairs": summary.pairs,
                    "frequent": summary.frequent,
                    "functions": summary.functions,
                    "refused": summary.refused,
                })
            })
            .collect();
        let sizes: serde_json::Map<_, _> = parts
            .iter()
            .map(|(part, (files, bytes))| {
                ((*part).to_owned(), json!({"files": files, "bytes": bytes}))
            })
            .collect();
        let all = json!({
            "store": store, "hunts": hunts, "findings": findings, "sizes": sizes,
            "sampled": programs,
        });
        output::show(&format!("{all:#}\n"))?;
        return unread.map_or(Ok(CLEAN), Err);
    }
    let mut text = format!("{}\n\n", store.display());
    let _ = writeln!(
        text,
        "{}, {}",
        counted(hunts, "hunt"),
        counted(findings, "finding")
    );
    let mut table = Table::new(["part", "files", "kilobytes"]);
    for (part, (files, bytes)) in parts {
        table.row([
            part.to_owned(),
            thousands(files),
            thousands(bytes.div_ceil(1024)),
        ]);
    }
    text += &table.render();
    if programs.is_empty() && unread.is_none() {
        text += "\nNo program was run with --sample atex.\n";
    }
    if !programs.is_empty() {
        let frequent = format!("in the last {}", args.sample_frequency);
        let mut table = Table::new(["sampled program", "runs", "functions", "pairs", &frequent]);
        for (summary, pairs) in &programs {
            table.row([
                pairs.program(),
                thousands(u64::from(summary.begun)),
                thousands(summary.functions as u64),
                thousands(summary.pairs as u64),
                thousands(summary.frequent as u64),
            ]);
        }
        let _ = write!(text, "\n{}", table.render());
    }
    for (summary, pairs) in &programs {
        if summary.refused > 0 {
            let _ = writeln!(
                text,
                "{}: {} times there was no room for a pair; what is not kept is looked at again",
                pairs.program(),
                thousands(summary.refused)
            );
        }
        if args.pairs {
            let _ = writeln!(text, "\n{}", pairs.program());
            text += &named_pairs(pairs).map_err(Error::file(&pairs.path))?;
        }
    }
    output::show(&text)?;
    unread.map_or(Ok(CLEAN), Err)
}

/// The pairs of a program, by name.
fn named_pairs(pairs: &Pairs) -> io::Result<String> {
    let names = pairs.names()?;
    let known: Vec<_> = pairs.read(|history| history.pairs().collect::<Vec<_>>())?;
    let mut by_key = std::collections::BTreeMap::new();
    for (i, (one, name)) in names.iter().enumerate() {
        for (other, other_name) in names.iter().skip(i) {
            let key = racehound_sample::Pair::new(*one, *other);
            by_key.insert(key, (name.as_str(), other_name.as_str()));
        }
    }
    let mut table = Table::new(["function", "beside", "runs", "calls"]);
    let mut rows: Vec<_> = known
        .iter()
        .map(|(pair, record)| {
            let (one, other) = by_key.get(pair).copied().unwrap_or(("?", "?"));
            [
                readable(one),
                readable(other),
                record.met.count_ones().to_string(),
                record.calls.to_string(),
            ]
        })
        .collect();
    rows.sort();
    for row in rows {
        table.row(row);
    }
    Ok(table.render())
}

/// A function's module and name, as its source has it.
fn readable(name: &str) -> String {
    match name.split_once(' ') {
        Some((module, symbol)) => format!("{module} {}", demangle(symbol)),
        None => name.to_owned(),
    }
}

/// Forgets.
pub(crate) fn reset(args: &StoreReset) -> Result<u8, Error> {
    let store = nearest()?;
    if args.everything {
        fs::remove_dir_all(&store).map_err(Error::file(&store))?;
        output::show(&format!("{} is gone.\n", store.display()))?;
        return Ok(CLEAN);
    }
    let all = Pairs::all(&store).map_err(Error::file(&store))?;
    for program in &args.programs {
        if !all.iter().any(|pairs| pairs.program() == *program) {
            return Err(Error::Wish(format!(
                "{program}: no sampled run of such a program is remembered; \
                 see racehound store stat"
            )));
        }
    }
    let mut forgotten = 0;
    for pairs in &all {
        if args.programs.is_empty() || args.programs.contains(&pairs.program()) {
            pairs.remove().map_err(Error::file(&pairs.path))?;
            forgotten += 1;
        }
    }
    let what = counted(forgotten, "program");
    output::show(&format!("Forgot what sampled runs of {what} have seen.\n"))?;
    Ok(CLEAN)
}

/// Adds what others know.
pub(crate) fn merge(args: &StoreMerge) -> Result<u8, Error> {
    let store = nearest().or_else(|_| {
        let here = env::current_dir().map_err(Error::file(Path::new(".")))?;
        Ok::<_, Error>(here.join(DIRECTORY))
    })?;
    let mut programs = 0;
    let mut relations = 0;
    for other in &args.others {
        let other = store_in(other)?;
        if fs::canonicalize(&other).ok() == fs::canonicalize(&store).ok() {
            return Err(Error::Wish(format!(
                "{}: this is the store itself",
                other.display()
            )));
        }
        for pairs in Pairs::all(&other).map_err(Error::file(&other))? {
            pairs.read(|_| ()).map_err(Error::file(&pairs.path))?;
            let ours = pairs.namesake(&store);
            ours.merge(&pairs).map_err(Error::file(&ours.path))?;
            programs += 1;
        }
        relations += merge_relations(&other.join("relations"), &store.join("relations"))?;
    }
    output::show(&format!(
        "Merged into {}: pairs of {}, {}.\n",
        store.display(),
        counted(programs, "program"),
        counted(relations, "new relation"),
    ))?;
    Ok(CLEAN)
}

/// Adds may-trigger relations; how many were new.
fn merge_relations(from: &Path, to: &Path) -> Result<usize, Error> {
    let entries = match fs::read_dir(from) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(Error::file(from)(error)),
    };
    let mut new = 0;
    for entry in entries {
        let entry = entry.map_err(Error::file(from))?;
        let read = |path: &Path| -> Result<Relations, Error> {
            match fs::read_to_string(path) {
                Ok(text) => text
                    .parse()
                    .map_err(|error| Error::Wish(format!("{}: {error}", path.display()))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Relations::default()),
                Err(error) => Err(Error::file(path)(error)),
            }
        };
        let ours = to.join(entry.file_name());
        let mut known = read(&ours)?;
        new += known.merge(&read(&entry.path())?);
        fs::create_dir_all(to).map_err(Error::file(to))?;
        fs::write(&ours, known.to_string()).map_err(Error::file(&ours))?;
    }
    Ok(new)
}

/// The store around the current directory.
fn nearest() -> Result<PathBuf, Error> {
    let here = env::current_dir().map_err(Error::file(Path::new(".")))?;
    let mut around = here.ancestors().map(|path| path.join(DIRECTORY));
    around.find(|store| store.is_dir()).ok_or_else(|| {
        Error::Wish(format!(
            "there is no {DIRECTORY} here or above; racehound hunt and run --sample atex make one"
        ))
    })
}

/// The store of a project, or the store itself.
fn store_in(given: &Path) -> Result<PathBuf, Error> {
    let inside = given.join(DIRECTORY);
    match () {
        () if inside.is_dir() => Ok(inside),
        () if given.is_dir() && is_store(given) => Ok(given.to_owned()),
        () => Err(Error::Wish(format!(
            "{}: there is no {DIRECTORY}",
            given.display()
        ))),
    }
}

/// Whether a directory is a store, whatever it is called: the runtime's option `store` may name
/// any.
fn is_store(directory: &Path) -> bool {
    let is_named_so = directory.file_name().is_some_and(|name| name == DIRECTORY);
    let parts = ["store.db", "relations", racehound_sample::DIRECTORY];
    is_named_so || parts.iter().any(|part| directory.join(part).exists())
}

/// Files below a directory, and their bytes.
fn size(directory: &Path) -> (u64, u64) {
    let Ok(entries) = fs::read_dir(directory) else {
        return (0, 0);
    };
    let mut total = (0, 0);
    for entry in entries.flatten() {
        match entry.metadata() {
            Ok(data) if data.is_dir() => {
                let (files, bytes) = size(&entry.path());
                total = (total.0 + files, total.1 + bytes);
            }
            Ok(data) => total = (total.0 + 1, total.1 + data.len()),
            Err(_) => {}
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_shown_as_their_source_has_them() {
        assert_eq!(
            readable("prog _ZN2ns5Class6methodEi"),
            "prog ns::Class::method(int)"
        );
        assert_eq!(readable("prog work#1"), "prog work#1");
        assert_eq!(readable("?"), "?");
    }
}
