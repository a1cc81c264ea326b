//! Findings that are known, and not to fail for: what somebody has accepted, what
//! ThreadSanitizer's suppression files name, and what a baseline has.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use racehound_report::finding::Report;
use racehound_report::suppressions::{FILE, Suppressions};
use racehound_report::{baseline, source, tsan_suppressions};

use crate::error::Error;
use crate::{element_names, pairs};

/// What is known.
#[derive(Debug, Default)]
pub(crate) struct Known {
    accepted: Suppressions,
    tsan: tsan_suppressions::Suppressions,
    baseline: Option<Report>,
}

impl Known {
    /// What is known in this directory.
    pub(crate) fn here(directory: &Path) -> Result<Self, Error> {
        Ok(Self {
            accepted: accepted(directory)?,
            ..Self::default()
        })
    }

    /// The same, with an earlier report and a file of ThreadSanitizer's.
    pub(crate) fn with(
        directory: &Path,
        baseline: Option<&Path>,
        tsan: Option<&Path>,
    ) -> Result<Self, Error> {
        let mut known = Self::here(directory)?;
        known.baseline = baseline.map(pairs::report).transpose()?;
        if let Some(file) = tsan.map(Path::to_owned).or_else(of_environment) {
            let text = fs::read_to_string(&file).map_err(Error::file(&file))?;
            known.tsan.add(&text);
        }
        Ok(known)
    }

    /// Completes a report with what it is to be known by, and puts aside what is not to be
    /// heard of. Says how many of the baseline are gone.
    pub(crate) fn settle(&self, report: &mut Report) -> Option<usize> {
        source::embed(report);
        // Their patterns are about symbols, what is accepted about what people read.
        self.tsan.apply(report);
        element_names::tell(report);
        self.accepted.apply(report);
        let baseline = self.baseline.as_ref()?;
        Some(baseline::compare(report, baseline))
    }

    /// Whether somebody has accepted something.
    pub(crate) fn is_empty(&self) -> bool {
        self.accepted.entries().is_empty()
    }
}

/// What was accepted in this directory: nothing, if there is no file that says so.
pub(crate) fn accepted(directory: &Path) -> Result<Suppressions, Error> {
    let path = directory.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) => Suppressions::parse(&text)
            .map_err(|error| Error::Wish(format!("{}: {error}", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Suppressions::default()),
        Err(error) => Err(Error::file(&path)(error)),
    }
}

/// The file that the runtime's options name. A name that is relative to the program and
/// not to us is left to the runtime.
fn of_environment() -> Option<PathBuf> {
    let named = |variable: &str| {
        let options = env::var(variable).ok()?;
        let mut words = options.split([':', ',', ' ']);
        let file = words.find_map(|word| word.strip_prefix("suppressions="))?;
        Some(PathBuf::from(file.trim_matches(['\'', '"'])))
    };
    let file = named("RACEHOUND_OPTIONS").or_else(|| named("TSAN_OPTIONS"))?;
    file.is_file().then_some(file)
}

/// Where we are.
pub(crate) fn here() -> Result<PathBuf, Error> {
    env::current_dir().map_err(Error::file(Path::new(".")))
}
