//! What a project remembers between hunts: a SQLite database, `.racehound/store.db`
//! in the project's directory, which the `sqlite3` command opens as well.
//!
//! * [`Store::begin`] and [`Hunt::note`] keep the hunt's report up to date while it
//!   goes on, so nothing that was found is lost when it is killed.
//! * [`pairs`]: what sampled runs have seen, in files that they share.
//! * Findings have a number that stays: what was called R1 yesterday is R1 today.
//!
//! # Invariants
//! * Every change is one transaction, written ahead: a process that is killed leaves
//!   the state before it or after it. Processes wait for each other for seconds at
//!   most.
//! * The schema has a version, and is migrated from any older one. One that is newer
//!   than this program is refused, not touched.
//! * Only the last [`HUNTS_KEPT`] hunts of a program that came to their end stay; a
//!   finding stays as long as one of them, or a later one that was killed, has it.
//! * While a hunt goes on, nothing that was confirmed becomes less: it may just not
//!   have been tried again yet.

pub mod pairs;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use racehound_report::finding::{Finding, Report, Status};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

/// Where a project's store is, seen from the project.
pub const DIRECTORY: &str = ".racehound";

/// How many hunts of one program are remembered.
pub const HUNTS_KEPT: i64 = 20;

/// Why the store is of no use.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory cannot be made.
    #[error("{}: {source}", path.display())]
    Directory {
        /// It.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The database says no.
    #[error("{}: {source}{}", path.display(), out_of_space(path))]
    Database {
        /// Its file.
        path: PathBuf,
        /// Its reason.
        source: rusqlite::Error,
    },
    /// Somebody newer has written it.
    #[error(
        "{}: written by a newer Racehound (version {found} of the store, this one knows {VERSION})",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its schema.
        found: i64,
    },
}

/// What the database does not say: it calls a full disk an error of input and output.
fn out_of_space(path: &Path) -> &'static str {
    let disk = path.parent().and_then(|dir| rustix::fs::statvfs(dir).ok());
    match disk {
        Some(disk) if disk.f_bavail == 0 => " (no space is left on its disk)",
        _ => "",
    }
}

/// How the schema came to be: what leads from each version to the next.
const MIGRATIONS: [&str; 2] = [
    "
    CREATE TABLE hunts (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        program TEXT NOT NULL,      -- its words, as JSON
        directory TEXT NOT NULL,
        begun INTEGER NOT NULL,     -- seconds since 1970
        ended INTEGER,              -- NULL while it goes on, or if it was killed
        report TEXT NOT NULL        -- everything but the findings, as JSON
    );
    CREATE TABLE findings (
        id INTEGER PRIMARY KEY,
        program TEXT NOT NULL,
        identity TEXT NOT NULL,     -- sort and places, as JSON
        number INTEGER NOT NULL,    -- R1 is 1
        hunt INTEGER NOT NULL REFERENCES hunts (id),  -- the last that had it
        kind TEXT NOT NULL,
        status TEXT NOT NULL,
        harm TEXT,
        finding TEXT NOT NULL,      -- all of it, as JSON
        UNIQUE (program, identity)
    );
    CREATE INDEX hunts_by_program ON hunts (program, id);
",
    "
    ALTER TABLE findings ADD COLUMN since INTEGER NOT NULL DEFAULT 0;  -- the first hunt that had it
",
];

const VERSION: i64 = MIGRATIONS.len() as i64;

/// How long a process waits for another one that writes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A project's store.
pub struct Store {
    path: PathBuf,
    database: Connection,
}

/// A hunt that goes on.
pub struct Hunt {
    id: i64,
    program: String,
    directory: String,
    begun: i64,
}

impl Hunt {
    /// Its number.
    pub fn id(&self) -> i64 {
        self.id
    }
}

impl Store {
    /// The store of the project in this directory, made if there is none.
    pub fn open(project: &Path) -> Result<Self, Error> {
        let directory = project.join(DIRECTORY);
        std::fs::create_dir_all(&directory).map_err(|source| Error::Directory {
            path: directory.clone(),
            source,
        })?;
        let path = directory.join("store.db");
        let opened = Connection::open(&path).and_then(|database| {
            database.busy_timeout(PATIENCE)?;
            database.pragma_update(None, "journal_mode", "WAL")?;
            database.pragma_update(None, "foreign_keys", true)?;
            Ok(database)
        });
        let database = opened.map_err(|source| Error::Database {
            path: path.clone(),
            source,
        })?;
        let mut store = Self { path, database };
        store.migrate()?;
        Ok(store)
    }

    /// Whether there is a store, without making one.
    pub fn exists(project: &Path) -> bool {
        project.join(DIRECTORY).join("store.db").is_file()
    }

    fn migrate(&mut self) -> Result<(), Error> {
        let found = self.change(|change| {
            let found: i64 = change.pragma_query_value(None, "user_version", |row| row.get(0))?;
            if found < VERSION {
                for migration in &MIGRATIONS[found.max(0) as usize..] {
                    change.execute_batch(migration)?;
                }
                change.pragma_update(None, "user_version", VERSION)?;
            }
            Ok(found)
        })?;
        match found > VERSION {
            true => Err(Error::Newer {
                path: self.path.clone(),
                found,
            }),
            false => Ok(()),
        }
    }

    /// One change, all of it or nothing.
    fn change<T>(
        &mut self,
        make: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let made = (|| {
            let behaviour = TransactionBehavior::Immediate;
            let transaction = self.database.transaction_with_behavior(behaviour)?;
            let made = make(&transaction)?;
            transaction.commit()?;
            Ok(made)
        })();
        made.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: rusqlite::Error) -> Error {
        Error::Database {
            path: self.path.clone(),
            source,
        }
    }

    /// A hunt begins.
    pub fn begin(&mut self, report: &Report) -> Result<Hunt, Error> {
        let program = words(report);
        let directory = report.directory.clone().unwrap_or_default();
        let begun = now();
        let id = self.change(|change| {
            change.execute(
                "INSERT INTO hunts (program, directory, begun, report) VALUES (?1, ?2, ?3, ?4)",
                params![program, directory, begun, json(&bare(report))],
            )?;
            let id = change.last_insert_rowid();
            forget(change, &program)?;
            Ok(id)
        })?;
        Ok(Hunt {
            id,
            program,
            directory,
            begun,
        })
    }

    /// What a hunt knows by now. Findings of earlier hunts keep their numbers. New ones get
    /// numbers to begin with, and when the hunt is over those that they keep: in the order
    /// of the report.
    pub fn note(&mut self, hunt: &Hunt, report: &mut Report, is_over: bool) -> Result<(), Error> {
        let bare = json(&bare(report));
        let findings = &mut report.findings;
        self.change(|change| {
            let ended = is_over.then(now);
            // It is there, unless many others have begun meanwhile.
            change.execute(
                "INSERT INTO hunts (id, program, directory, begun, ended, report)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                    ON CONFLICT (id) DO UPDATE SET ended = ?5, report = ?6",
                params![
                    hunt.id,
                    hunt.program,
                    hunt.directory,
                    hunt.begun,
                    ended,
                    bare
                ],
            )?;
            for finding in findings.iter_mut() {
                note_finding(change, hunt, finding, is_over)?;
            }
            if is_over {
                forget_but(change, hunt, findings)?;
                number_anew(change, hunt, findings)?;
                forget(change, &hunt.program)?;
            }
            Ok(())
        })
    }

    /// What is known of a program from earlier hunts, by number.
    pub fn findings(&self, program: &[String]) -> Result<Vec<Finding>, Error> {
        let found = self.findings_with_builds(program)?;
        Ok(found.into_iter().map(|(finding, _)| finding).collect())
    }

    /// The same, each with the build of the program in which it was found last.
    pub fn findings_with_builds(
        &self,
        program: &[String],
    ) -> Result<Vec<(Finding, Option<String>)>, Error> {
        let query = "SELECT findings.finding, json_extract(hunts.report, '$.build')
            FROM findings JOIN hunts ON hunts.id = findings.hunt
            WHERE findings.program = ?1 ORDER BY number";
        let found = (|| {
            let mut statement = self.database.prepare(query)?;
            let row = |row: &rusqlite::Row<'_>| {
                Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?))
            };
            let rows = statement.query_map([json(&program)], row)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })();
        let texts = found.map_err(|source| self.failed(source))?;
        let read = texts
            .into_iter()
            .filter_map(|(text, build)| Some((serde_json::from_str(&text).ok()?, build)));
        Ok(read.collect())
    }

    /// Whether a file is named by something that was found.
    pub fn refers_to(&self, file: &Path) -> Result<bool, Error> {
        // As it stands in JSON.
        let name = json(&file.display().to_string());
        let name = name.trim_matches('"');
        let query = "SELECT EXISTS (SELECT 1 FROM findings JOIN hunts ON hunts.id = hunt
            WHERE instr(finding, ?1) > 0 OR instr(report, ?1) > 0)";
        let found = self.database.query_row(query, [name], |row| row.get(0));
        found.map_err(|source| self.failed(source))
    }

    /// What is wrong with the database; nothing, as a rule.
    pub fn faults(&self) -> Result<Vec<String>, Error> {
        let found = (|| {
            let mut faults = Vec::new();
            for query in ["PRAGMA integrity_check", "PRAGMA foreign_key_check"] {
                let mut statement = self.database.prepare(query)?;
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    faults.push(row.get::<_, String>(0)?);
                }
            }
            faults.retain(|fault| fault != "ok");
            Ok(faults)
        })();
        found.map_err(|source| self.failed(source))
    }

    /// How many executions the hunts of a program had.
    pub fn runs(&self, program: &[String]) -> Result<u64, Error> {
        let query = "SELECT coalesce(sum(json_extract(report, '$.runs')), 0) FROM hunts
            WHERE program = ?1";
        let runs = self
            .database
            .query_row(query, [json(&program)], |row| row.get::<_, i64>(0));
        let runs = runs.map_err(|source| self.failed(source))?;
        Ok(runs.max(0) as u64)
    }

    /// How many hunts and findings are remembered.
    pub fn counts(&self) -> Result<(usize, usize), Error> {
        let query = "SELECT (SELECT count(*) FROM hunts), (SELECT count(*) FROM findings)";
        let counts = self.database.query_row(query, [], |row| {
            Ok((row.get::<_, usize>(0)?, row.get::<_, usize>(1)?))
        });
        counts.map_err(|source| self.failed(source))
    }

    /// The report of the last hunt, of any program.
    pub fn last(&self) -> Result<Option<Report>, Error> {
        self.newest(None)
    }

    /// The report of the hunt in the same program before this one.
    pub fn before(&self, hunt: &Hunt) -> Result<Option<Report>, Error> {
        self.newest(Some(hunt))
    }

    /// The last report, or the last in the program of a hunt before that.
    fn newest(&self, before: Option<&Hunt>) -> Result<Option<Report>, Error> {
        let read = (|| {
            let query = "SELECT id, report FROM hunts
                WHERE program = coalesce(?1, program) AND id < coalesce(?2, id + 1)
                ORDER BY id DESC LIMIT 1";
            let row =
                |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
            let of = params![before.map(|hunt| &hunt.program), before.map(|hunt| hunt.id)];
            let last = self.database.query_row(query, of, row);
            let Some((hunt, report)) = last.optional()? else {
                return Ok(None);
            };
            let query = "SELECT finding FROM findings WHERE hunt = ?1 ORDER BY number";
            let mut statement = self.database.prepare(query)?;
            let rows = statement.query_map([hunt], |row| row.get::<_, String>(0))?;
            let findings: Vec<String> = rows.collect::<rusqlite::Result<_>>()?;
            Ok(Some((report, findings)))
        })();
        let Some((report, findings)) = read.map_err(|source| self.failed(source))? else {
            return Ok(None);
        };
        let mut report: Report = serde_json::from_str(&report).unwrap_or_default();
        let read = findings
            .iter()
            .filter_map(|text| serde_json::from_str(text).ok());
        report.findings = read.collect();
        Ok(Some(report))
    }

    /// The last hunt's finding of that number, in a report of its own.
    pub fn finding(&self, id: &str) -> Result<Option<Report>, Error> {
        let Some(number) = id.strip_prefix('R').and_then(|n| n.parse::<i64>().ok()) else {
            return Ok(None);
        };
        let query = "SELECT hunts.report, findings.finding FROM findings
            JOIN hunts ON hunts.id = findings.hunt
            WHERE number = ?1 ORDER BY hunt DESC LIMIT 1";
        let row =
            |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let found = self.database.query_row(query, [number], row).optional();
        let found = found.map_err(|source| self.failed(source))?;
        Ok(found.and_then(|(report, finding)| {
            let mut report: Report = serde_json::from_str(&report).ok()?;
            report.findings = vec![serde_json::from_str(&finding).ok()?];
            Some(report)
        }))
    }

    /// Forgets what is known of a program.
    pub fn forget(&mut self, program: &[String]) -> Result<(), Error> {
        let words = json(&program);
        self.change(|change| {
            change.execute("DELETE FROM findings WHERE program = ?1", [&words])?;
            change.execute("DELETE FROM hunts WHERE program = ?1", [&words])?;
            Ok(())
        })
    }
}

fn note_finding(
    change: &Transaction<'_>,
    hunt: &Hunt,
    finding: &mut Finding,
    is_over: bool,
) -> rusqlite::Result<()> {
    let identity = json(&finding.identity());
    let known: Option<(i64, String)> = change
        .query_row(
            "SELECT number, status FROM findings WHERE program = ?1 AND identity = ?2",
            params![hunt.program, identity],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    let confirmed = Status::Confirmed.name();
    let was_more = known
        .as_ref()
        .is_some_and(|(_, status)| status == confirmed)
        && finding.status != Status::Confirmed;
    let number: i64 = match known {
        Some((number, _)) => number,
        None => change.query_row(
            "SELECT coalesce(max(number), 0) + 1 FROM findings WHERE program = ?1",
            [&hunt.program],
            |row| row.get(0),
        )?,
    };
    call(finding, number);
    if was_more && !is_over {
        return Ok(());
    }
    change.execute(
        "INSERT INTO findings (program, identity, number, hunt, kind, status, harm, finding, since)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?4)
            ON CONFLICT (program, identity) DO UPDATE SET
                hunt = ?4, status = ?6, harm = ?7, finding = ?8",
        params![
            hunt.program,
            identity,
            number,
            hunt.id,
            String::from(finding.kind.clone()),
            finding.status.name(),
            finding.harm.as_ref().map(|harm| harm.kind.clone()),
            json(finding),
        ],
    )?;
    Ok(())
}

/// Gives a finding its number.
fn call(finding: &mut Finding, number: i64) {
    finding.id = format!("R{number}");
    if finding.schedule.is_some() {
        finding.replay = Some(format!("racehound replay {}", finding.id));
    }
}

/// Forgets what a hunt has told on its way and not in the end, for something else says it
/// better.
fn forget_but(change: &Transaction<'_>, hunt: &Hunt, findings: &[Finding]) -> rusqlite::Result<()> {
    let told: Vec<String> = findings.iter().map(|f| json(&f.identity())).collect();
    change.execute(
        "DELETE FROM findings WHERE hunt = ?1
            AND identity NOT IN (SELECT value FROM json_each(?2))",
        params![hunt.id, json(&told)],
    )?;
    Ok(())
}

/// Numbers what no earlier hunt has found, in the order given, after what one has.
fn number_anew(
    change: &Transaction<'_>,
    hunt: &Hunt,
    findings: &mut [Finding],
) -> rusqlite::Result<()> {
    let mut number: i64 = change.query_row(
        "SELECT coalesce(max(number), 0) FROM findings WHERE program = ?1 AND since <> ?2",
        params![hunt.program, hunt.id],
        |row| row.get(0),
    )?;
    for finding in findings {
        let identity = json(&finding.identity());
        let is_new: bool = change.query_row(
            "SELECT since = ?3 FROM findings WHERE program = ?1 AND identity = ?2",
            params![hunt.program, identity, hunt.id],
            |row| row.get(0),
        )?;
        if is_new {
            number += 1;
            call(finding, number);
            change.execute(
                "UPDATE findings SET number = ?3, finding = ?4
                    WHERE program = ?1 AND identity = ?2",
                params![hunt.program, identity, number, json(finding)],
            )?;
        }
    }
    Ok(())
}

/// Forgets the oldest hunts of a program, and what only they had found. Hunts that were
/// killed make no others old.
fn forget(change: &Transaction<'_>, program: &str) -> rusqlite::Result<()> {
    let oldest = "SELECT id FROM hunts WHERE program = ?1 AND id <= (
            SELECT id FROM hunts WHERE program = ?1 AND ended IS NOT NULL
            ORDER BY id DESC LIMIT 1 OFFSET ?2)";
    let killed = "SELECT id FROM hunts WHERE program = ?1 AND ended IS NULL
            AND id NOT IN (SELECT hunt FROM findings) ORDER BY id DESC LIMIT -1 OFFSET ?2";
    for table in [
        format!("DELETE FROM findings WHERE hunt IN ({oldest})"),
        format!("DELETE FROM hunts WHERE id IN ({oldest})"),
        format!("DELETE FROM hunts WHERE id IN ({killed})"),
    ] {
        change.execute(&table, params![program, HUNTS_KEPT])?;
    }
    Ok(())
}

fn bare(report: &Report) -> Report {
    Report {
        findings: Vec::new(),
        ..report.clone()
    }
}

fn words(report: &Report) -> String {
    json(&report.program)
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("plain data")
}

fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs() as i64)
}

#[cfg(test)]
mod tests {
    use racehound_report::finding::Access;

    use super::*;

    fn race(sites: [&str; 2], status: Status) -> Finding {
        let access = |site: &str| Access {
            site: site.to_owned(),
            ..Access::default()
        };
        Finding {
            status,
            accesses: sites.map(access).to_vec(),
            schedule: (status == Status::Confirmed).then(|| "random:seed=1".to_owned()),
            ..Finding::default()
        }
    }

    fn report(findings: Vec<Finding>) -> Report {
        Report {
            program: vec!["./bank".to_owned()],
            findings,
            ..Report::default()
        }
    }

    fn hunted(store: &mut Store, findings: Vec<Finding>) -> Report {
        let mut report = report(findings);
        let hunt = store.begin(&report).unwrap();
        store.note(&hunt, &mut report, true).unwrap();
        report
    }

    fn ids(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|finding| &*finding.id).collect()
    }

    #[test]
    fn a_finding_keeps_its_number() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path()).unwrap();
        let (a, b, c) = (["1", "2"], ["1", "3"], ["1", "4"]);
        let suspected = |sites| race(sites, Status::Predicted);
        let first = hunted(&mut store, vec![suspected(a), suspected(b)]);
        assert_eq!(ids(&first.findings), ["R1", "R2"]);
        drop(store);
        let mut store = Store::open(project.path()).unwrap();
        let confirmed = race(["3", "1"], Status::Confirmed);
        let second = hunted(&mut store, vec![suspected(c), confirmed]);
        assert_eq!(ids(&second.findings), ["R3", "R2"]);
        let kept = store.finding("R2").unwrap().unwrap();
        assert_eq!(kept.findings[0].status, Status::Confirmed);
        assert_eq!(
            kept.findings[0].replay.as_deref(),
            Some("racehound replay R2")
        );
        assert_eq!(kept.program, ["./bank"]);
        assert_eq!(
            ids(&store.findings(&kept.program).unwrap()),
            ["R1", "R2", "R3"]
        );
        assert_eq!(ids(&store.last().unwrap().unwrap().findings), ["R2", "R3"]);
        assert!(store.finding("R9").unwrap().is_none());
    }

    #[test]
    fn what_a_hunt_tells_in_the_end_is_numbered_from_one() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path()).unwrap();
        let (a, b, c) = (["1", "2"], ["1", "3"], ["1", "4"]);
        let suspected = |sites| race(sites, Status::Predicted);
        let mut told = report(vec![suspected(a), suspected(b)]);
        let hunt = store.begin(&told).unwrap();
        store.note(&hunt, &mut told, false).unwrap();
        assert_eq!(ids(&told.findings), ["R1", "R2"]);
        told.findings = vec![race(c, Status::Confirmed), suspected(b)];
        store.note(&hunt, &mut told, false).unwrap();
        assert_eq!(ids(&told.findings), ["R3", "R2"]);
        store.note(&hunt, &mut told, true).unwrap();
        assert_eq!(ids(&told.findings), ["R1", "R2"]);
        assert_eq!(
            told.findings[0].replay.as_deref(),
            Some("racehound replay R1")
        );
        let known = store.last().unwrap().unwrap();
        assert_eq!(known.findings, told.findings);
        // Another hunt, which finds something else to be worse.
        let again = hunted(&mut store, vec![suspected(a), race(c, Status::Confirmed)]);
        assert_eq!(ids(&again.findings), ["R3", "R1"]);
    }

    #[test]
    fn old_hunts_are_forgotten() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path()).unwrap();
        hunted(&mut store, vec![race(["1", "2"], Status::Observed)]);
        for _ in 0..HUNTS_KEPT {
            hunted(&mut store, vec![race(["1", "3"], Status::Observed)]);
        }
        let program = ["./bank".to_owned()];
        assert_eq!(ids(&store.findings(&program).unwrap()), ["R2"]);
        store.forget(&program).unwrap();
        assert!(store.last().unwrap().is_none());
    }

    #[test]
    fn what_was_confirmed_survives_hunts_that_were_killed() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path()).unwrap();
        let sites = ["a.c:1", "a.c:2"];
        let program = hunted(&mut store, vec![race(sites, Status::Confirmed)]).program;
        for _ in 0..3 * HUNTS_KEPT {
            let mut seen = report(vec![race(sites, Status::Observed)]);
            let hunt = store.begin(&seen).unwrap();
            store.note(&hunt, &mut seen, false).unwrap();
        }
        let statuses = |store: &Store| -> Vec<Status> {
            let known = store.findings(&program).unwrap();
            known.iter().map(|finding| finding.status).collect()
        };
        assert_eq!(statuses(&store), [Status::Confirmed]);
        let count = "SELECT count(*) FROM hunts";
        let count: i64 = store
            .database
            .query_row(count, [], |row| row.get(0))
            .unwrap();
        assert!(count <= HUNTS_KEPT + 1, "{count}");
        // Who came to the end knows better.
        hunted(&mut store, vec![race(sites, Status::Observed)]);
        assert_eq!(statuses(&store), [Status::Observed]);
        assert!(store.faults().unwrap().is_empty());
    }

    #[test]
    fn files_are_kept_for_what_was_found() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path()).unwrap();
        let file = Path::new("/tmp/\"odd\"/1.schedule");
        assert!(!store.refers_to(file).unwrap());
        let schedule = Some(format!("replay:file={}", file.display()));
        let finding = race(["a.c:1", "a.c:2"], Status::Confirmed);
        hunted(
            &mut store,
            vec![Finding {
                schedule,
                ..finding
            }],
        );
        assert!(store.refers_to(file).unwrap());
        assert!(!store.refers_to(Path::new("/tmp/2.schedule")).unwrap());
    }

    #[test]
    fn a_newer_store_is_left_alone() {
        let project = tempfile::tempdir().unwrap();
        let store = Store::open(project.path()).unwrap();
        store
            .database
            .pragma_update(None, "user_version", VERSION + 1)
            .unwrap();
        drop(store);
        let refused = Store::open(project.path()).err().unwrap();
        assert!(matches!(refused, Error::Newer { .. }), "{refused}");
    }

    #[test]
    fn many_write_at_once_and_nothing_is_lost() {
        let project = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = project.path();
                scope.spawn(move || {
                    let mut store = Store::open(path).unwrap();
                    for i in 0..10 {
                        let site = format!("{writer}-{i}");
                        hunted(&mut store, vec![race(["0", &site], Status::Observed)]);
                    }
                });
            }
        });
        let store = Store::open(project.path()).unwrap();
        let count: i64 = store
            .database
            .query_row("SELECT count(*) FROM hunts", [], |row| row.get(0))
            .unwrap();
        // Those that were forgotten while they went on have come back.
        assert!((HUNTS_KEPT..HUNTS_KEPT + 8).contains(&count), "{count}");
        let hunts = "SELECT count(DISTINCT hunt) FROM findings";
        let kept: i64 = store
            .database
            .query_row(hunts, [], |row| row.get(0))
            .unwrap();
        assert_eq!(kept, count);
        let integrity: String = store
            .database
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(integrity, "ok");
    }
}
