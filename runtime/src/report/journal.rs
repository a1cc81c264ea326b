//! Notes for other programs ([`Note`]): each as a line of JSON, appended to the file
//! that the options name.
//!
//! The file is there already, and is opened for each line anew. So the program
//! under test may close whatever it finds open, forked and executed children add
//! to the same file, and a note is on record before the program goes on: what
//! kills it then, loses none. A line is written by one call, in a mode in which
//! lines of several processes do not mix. Empty lines mean nothing.

use std::fs::OpenOptions;
use std::io::{self, Write};

use racehound_report::journal::Note;

/// Appends a note.
pub(crate) fn append(path: &str, note: &Note) -> io::Result<()> {
    // A line that was cut off ends where this one begins.
    let mut line = b"\n".to_vec();
    serde_json::to_writer(&mut line, note)?;
    line.push(b'\n');
    let mut file = OpenOptions::new().append(true).open(path)?;
    match file.write(&line)? {
        written if written == line.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}
