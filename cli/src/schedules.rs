//! Schedules in files.

use std::fs;
use std::path::Path;

use racehound_schedule::Schedule;

use crate::error::Error;

/// The schedule in a file.
pub(crate) fn read(file: &Path) -> Result<Schedule, Error> {
    let text = fs::read_to_string(file).map_err(Error::file(file))?;
    let schedule = text.parse();
    schedule.map_err(|error| Error::Wish(format!("{}: {error}", file.display())))
}

/// Whether a text is meant to be one.
pub(crate) fn is_one(text: &[u8]) -> bool {
    str::from_utf8(text).is_ok_and(Schedule::is_meant_by)
}
