//! Writing traces and texts where they belong.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use racehound_trace::{Event, Space, Tables, binary, rapid};

use crate::args::Format;
use crate::error::Error;

/// A trace being written.
pub(crate) enum TraceOutput {
    Binary(binary::Writer<Box<dyn Write>>),
    Std(rapid::Writer<Box<dyn Write>>),
}

impl TraceOutput {
    /// Creates the output; `-` is standard output.
    pub(crate) fn create(path: &Path, to: Option<Format>, space: Space) -> Result<Self, Error> {
        let format = to.or_else(|| format_of(path)).ok_or(Error::UnknownTarget {
            path: path.to_owned(),
        })?;
        let out: Box<dyn Write> = match path == Path::new("-") {
            true => Box::new(io::stdout()),
            false => Box::new(File::create(path).map_err(Error::file(path))?),
        };
        Ok(match format {
            Format::Binary => {
                Self::Binary(binary::Writer::new(out, space).map_err(Error::trace(path))?)
            }
            Format::Std => Self::Std(rapid::Writer::new(out, space)),
        })
    }

    /// Appends events.
    pub(crate) fn write(
        &mut self,
        tables: &Tables,
        events: &[Event],
    ) -> racehound_trace::Result<()> {
        match self {
            Self::Binary(writer) => writer.write(tables, events),
            Self::Std(writer) => writer.write(tables, events),
        }
    }

    /// Completes the file, and says what the format could not express.
    pub(crate) fn finish(self) -> racehound_trace::Result<Vec<String>> {
        match self {
            Self::Binary(writer) => writer.finish().map(|_| Vec::new()),
            Self::Std(writer) => {
                let losses = writer.losses();
                let losses = losses
                    .map(|(kind, how, count)| format!("{count} × {}: {how}", kind.name()))
                    .collect();
                writer.finish()?;
                Ok(losses)
            }
        }
    }
}

fn format_of(path: &Path) -> Option<Format> {
    if path == Path::new("-") {
        return Some(Format::Binary);
    }
    match path.extension()?.to_str()? {
        "rht" => Some(Format::Binary),
        "std" => Some(Format::Std),
        _ => None,
    }
}

/// Writes a text to standard output, coloured if that is a terminal that wants
/// it.
pub(crate) fn show(text: &str) -> Result<(), Error> {
    let mut out = anstream::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(Error::file(Path::new("standard output")))
}

/// Writes a text to a file; `-` is standard output.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Error> {
    match path == Path::new("-") {
        true => show(text),
        false => std::fs::write(path, text).map_err(Error::file(path)),
    }
}
