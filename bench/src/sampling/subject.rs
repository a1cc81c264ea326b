//! What is run, and in which ways.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use racehound_sample::Pair;
use racehound_store::pairs::Pairs;

use super::Error;
use crate::live;
use crate::races::{self, Race};

/// How much of their usual work the programs do.
const PERCENT: &str = "300";

/// Who looks, and at how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    None,
    FastTrack,
    LiteRace,
    AtexRace,
}

impl Tool {
    pub(super) const ALL: [Self; 4] = [Self::None, Self::FastTrack, Self::LiteRace, Self::AtexRace];
    /// Those that look.
    pub(super) const LOOKING: [Self; 3] = [Self::FastTrack, Self::LiteRace, Self::AtexRace];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::FastTrack => "FastTrack",
            Self::LiteRace => "LiteRace",
            Self::AtexRace => "AtexRace",
        }
    }

    fn options(self) -> &'static str {
        match self {
            Self::None => "detector=none",
            Self::FastTrack => "sample=none",
            Self::LiteRace => "sample=literace",
            Self::AtexRace => "sample=atex",
        }
    }
}

/// A program, and the ways to execute it.
pub(super) struct Subject {
    pub(super) name: String,
    directory: PathBuf,
    /// What is run for each case.
    command: Vec<OsString>,
    /// One for each execution; what `$CASE` is.
    pub(super) cases: Vec<String>,
}

/// An execution.
pub(super) struct Execution {
    /// CPU time in seconds.
    pub(super) cpu: f64,
    pub(super) races: Vec<Race>,
    /// How it ended, unless well.
    pub(super) failure: Option<String>,
}

impl Subject {
    /// The programs that were made for it, built.
    pub(super) fn programs(
        wanted: &str,
        directory: &Path,
        executions: usize,
    ) -> Result<Vec<Self>, Error> {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/sampling");
        let entries = fs::read_dir(&sources).map_err(Error::file(&sources))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let name = |path: &Path| {
            path.file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        };
        let subjects: Result<Vec<Self>, Error> = paths
            .iter()
            .filter(|path| name(path).contains(wanted))
            .map(|path| Self::program(name(path), path, directory, executions))
            .collect();
        match subjects {
            Ok(subjects) if subjects.is_empty() => Err(Error::NoProgram(wanted.to_owned())),
            subjects => subjects,
        }
    }

    fn program(
        name: String,
        source: &Path,
        directory: &Path,
        executions: usize,
    ) -> Result<Self, Error> {
        let directory = directory.join(&name);
        fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
        let executable = directory.join("program");
        live::build_with_racehound(source, "-O2", &executable)?;
        Ok(Self {
            name,
            directory,
            command: vec![executable.into_os_string(), OsString::from(PERCENT)],
            cases: vec![String::new(); executions],
        })
    }

    /// A test suite from outside.
    pub(super) fn suite(command: &str, cases: &Path, directory: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(cases).map_err(Error::file(cases))?;
        let directory = directory.join("suite");
        fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        Ok(Self {
            name: "suite".to_owned(),
            directory,
            command: ["/bin/sh", "-c", command].map(OsString::from).to_vec(),
            cases: lines.map(str::to_owned).collect(),
        })
    }

    fn store(&self) -> PathBuf {
        self.directory.join(".racehound")
    }

    /// Forgets what earlier executions have seen.
    pub(super) fn forget(&self) -> io::Result<()> {
        match fs::remove_dir_all(self.store()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Executes a case.
    pub(super) fn execute(&self, tool: Tool, case: &str) -> io::Result<Execution> {
        let findings = self.directory.join("findings");
        fs::write(&findings, "")?;
        let options = format!(
            "{}:findings='{}':store='{}':print_reports=0:exitcode=0:atexit_sleep_ms=0",
            tool.options(),
            findings.display(),
            self.store().display(),
        );
        let variables = [
            ("RACEHOUND_OPTIONS", OsString::from(options)),
            ("CASE", OsString::from(case)),
        ];
        let run = live::spend_on(&self.command, &variables)?;
        Ok(Execution {
            cpu: run.cpu,
            races: races::all(&fs::read_to_string(&findings)?),
            failure: run.failure,
        })
    }

    /// The pairs in the store.
    pub(super) fn pairs(&self) -> io::Result<Seen> {
        let mut seen = Seen::default();
        for (program, file) in Pairs::all(&self.store())?.iter().enumerate() {
            file.read(|history| {
                seen.frequent += history.summary(2).frequent;
                seen.pairs
                    .extend(history.pairs().map(|(pair, _)| (program, pair)));
            })?;
        }
        Ok(seen)
    }
}

/// Pairs of functions.
#[derive(Default)]
pub(super) struct Seen {
    /// Each with the program that it is of.
    pub(super) pairs: Vec<(usize, Pair)>,
    /// How many of them met in the last two executions.
    pub(super) frequent: usize,
}
