//! Writing traces and texts where they belong.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use racehound_report::finding::Report;
use racehound_trace::{Event, Space, Tables, binary, rapid};

use crate::args::Format;
use crate::error::Error;

/// A trace being written.
pub(crate) struct TraceOutput {
    writer: Writer,
    /// The file that is written to until all is well, and its final name.
    partial: Option<(PathBuf, PathBuf)>,
}

enum Writer {
    Binary(binary::Writer<Box<dyn Write>>),
    Std(rapid::Writer<Box<dyn Write>>),
}

impl TraceOutput {
    /// Creates the output; `-` is standard output. A file gets its name only
    /// when it is complete: until then what had that name stays, and it is safe
    /// to read from it.
    pub(crate) fn create(path: &Path, to: Option<Format>, space: Space) -> Result<Self, Error> {
        let format = to.or_else(|| format_of(path)).ok_or(Error::UnknownTarget {
            path: path.to_owned(),
        })?;
        let mut partial = None;
        let out: Box<dyn Write> = if path == Path::new("-") {
            Box::new(io::stdout())
        } else {
            let target = match is_replaceable(path) {
                true => {
                    let temporary = until_complete(path);
                    partial = Some((temporary.clone(), path.to_owned()));
                    temporary
                }
                false => path.to_owned(),
            };
            Box::new(File::create(target).map_err(Error::file(path))?)
        };
        let writer = match format {
            Format::Binary => {
                Writer::Binary(binary::Writer::new(out, space).map_err(Error::trace(path))?)
            }
            Format::Std => Writer::Std(rapid::Writer::new(out, space)),
        };
        Ok(Self { writer, partial })
    }

    /// Appends events.
    pub(crate) fn write(
        &mut self,
        tables: &Tables,
        events: &[Event],
    ) -> racehound_trace::Result<()> {
        match &mut self.writer {
            Writer::Binary(writer) => writer.write(tables, events),
            Writer::Std(writer) => writer.write(tables, events),
        }
    }

    /// Completes the file, and says what the format could not express.
    pub(crate) fn finish(mut self) -> racehound_trace::Result<Vec<String>> {
        let losses = match std::mem::replace(&mut self.writer, Writer::nowhere()) {
            Writer::Binary(writer) => writer.finish().map(|_| Vec::new()),
            Writer::Std(writer) => {
                let losses = writer.losses();
                let losses = losses
                    .map(|(kind, how, count)| format!("{count} × {}: {how}", kind.name()))
                    .collect();
                writer.finish().map(|_| losses)
            }
        }?;
        if let Some((temporary, path)) = &self.partial {
            std::fs::rename(temporary, path)?;
            self.partial = None;
        }
        Ok(losses)
    }
}

impl Writer {
    fn nowhere() -> Self {
        Self::Std(rapid::Writer::new(Box::new(io::sink()), Space::Names))
    }
}

impl Drop for TraceOutput {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.partial {
            // What could not be completed is of no use; nor is complaining.
            let _ = std::fs::remove_file(temporary);
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

/// Whether a file of that name can be replaced by a new one; a device or a pipe
/// cannot.
pub(crate) fn is_replaceable(path: &Path) -> bool {
    path.metadata().map_or(true, |data| data.is_file())
}

/// The name of a file that is to replace another when it is complete.
fn until_complete(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".partial-{}", std::process::id()));
    PathBuf::from(name)
}

/// A report as JSON.
pub(crate) fn json(report: &Report) -> String {
    let mut json = serde_json::to_string_pretty(report).expect("a report is plain data");
    json.push('\n');
    json
}

/// Writes a text to a file, which appears complete or not at all.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    if !is_replaceable(path) {
        return std::fs::write(path, text).map_err(Error::file(path));
    }
    let temporary = until_complete(path);
    let written = std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, path));
    written.map_err(|error| {
        // What could not be completed is of no use.
        let _ = std::fs::remove_file(&temporary);
        Error::file(path)(error)
    })
}
