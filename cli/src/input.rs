//! Opening a trace, whichever format it is in.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use racehound::aside::say;
use racehound_trace::{Source, binary, rapid};

use crate::args::Format;
use crate::error::Error;

/// An open trace.
pub(crate) struct Input {
    pub(crate) source: Box<dyn Source>,
    /// Size of the file; unknown for standard input and pipes.
    pub(crate) size: Option<u64>,
}

/// Opens a trace; `-` is standard input.
pub(crate) fn open(path: &Path) -> Result<Input, Error> {
    if path == Path::new("-") {
        return recognise(path, Box::new(io::stdin()), None);
    }
    let file = File::open(path).map_err(Error::file(path))?;
    let data = file.metadata().map_err(Error::file(path))?;
    if data.is_dir() {
        return Err(Error::file(path)(io::Error::other(
            "a directory is no trace",
        )));
    }
    recognise(path, Box::new(file), data.is_file().then_some(data.len()))
}

fn recognise(path: &Path, mut raw: Box<dyn Read>, size: Option<u64>) -> Result<Input, Error> {
    // A pipe may hand out a few bytes at first: ask until there is enough.
    let mut start = Vec::new();
    let beginning = (&mut raw).take(512).read_to_end(&mut start);
    beginning.map_err(Error::file(path))?;
    let format = match binary::recognises(&start) {
        true => Format::Binary,
        false if looks_like_text(&start) => Format::Std,
        false => {
            return Err(Error::UnknownFormat {
                path: path.to_owned(),
            });
        }
    };
    let input = Cursor::new(start).chain(raw);
    let source: Box<dyn Source> = match format {
        Format::Binary => {
            let input = BufReader::with_capacity(1 << 16, input);
            Box::new(binary::Reader::new(input).map_err(Error::trace(path))?)
        }
        Format::Std => Box::new(rapid::Reader::new(input)),
    };
    Ok(Input { source, size })
}

/// Text has no control characters but white space; an empty file is a trace of
/// nothing. A few hundred bytes tell.
fn looks_like_text(start: &[u8]) -> bool {
    let control = |b: &u8| b.is_ascii_control() && !b.is_ascii_whitespace();
    !start.iter().any(control)
}

/// Warns of a trace that was cut short or that has nothing in it, once it was
/// read.
pub(crate) fn warn_if_incomplete(path: &Path, source: &dyn Source) {
    if let Some(truncation) = source.truncation() {
        say(format_args!("warning: {}: {truncation}", path.display()));
    } else if source.tables().sites.is_empty() {
        say(format_args!(
            "warning: {}: the trace is empty",
            path.display()
        ));
    }
}
