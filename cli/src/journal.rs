//! The file to which a program's processes append what they find while it runs.

use std::path::{Path, PathBuf};
use std::{fs, io};

use racehound::aside::say;
use racehound_hunt::findings;
use racehound_report::finding::Finding;
use racehound_report::journal::{Note, Scheduled};
use tempfile::NamedTempFile;

use crate::error::Error;
use crate::output;

/// The file; it goes away with this.
pub(crate) struct Journal {
    file: NamedTempFile,
}

impl Journal {
    /// Makes the file: beside the one where the report will be, which shows
    /// whether that can be written at all and keeps the findings should we be
    /// killed; else among the temporary files.
    pub(crate) fn create(report: Option<&Path>) -> Result<Self, Error> {
        let temporary = std::env::temp_dir();
        let (directory, name, about) = match report {
            Some(path) if path.is_dir() => {
                return Err(Error::file(path)(io::ErrorKind::IsADirectory.into()));
            }
            Some(path) if output::is_replaceable(path) => {
                let absolute = std::path::absolute(path).map_err(Error::file(path))?;
                let directory = absolute.parent().map(PathBuf::from).unwrap_or_default();
                let name = absolute.file_name().unwrap_or_default().to_owned();
                (directory, name, path)
            }
            _ => (temporary.clone(), "racehound".into(), &*temporary),
        };
        let mut prefix = name;
        prefix.push(".findings-");
        let file = tempfile::Builder::new()
            .prefix(&prefix)
            .tempfile_in(directory)
            .map_err(Error::file(about))?;
        Ok(Self { file })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// What was found, each once, numbered, the most certain first; says so if
    /// something was lost.
    pub(crate) fn findings(&self) -> Result<Vec<Finding>, Error> {
        let text = fs::read(self.path()).map_err(Error::file(self.path()))?;
        let (notes, damaged) = Note::read_all(&text);
        if damaged > 0 {
            say(format_args!(
                "{damaged} findings were noted incompletely and are lost"
            ));
        }
        Ok(findings::folded(notes))
    }

    /// How the scheduling of the first process went, if that was under control.
    pub(crate) fn scheduled(&self) -> Option<Scheduled> {
        let text = fs::read(self.path()).ok()?;
        let (notes, _) = Note::read_all(&text);
        notes.into_iter().rev().find_map(|note| match note {
            Note::Scheduled { scheduled } => Some(scheduled),
            Note::Finding(_) => None,
        })
    }
}
