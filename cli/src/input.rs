//! Opening a trace, whichever format it is in.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use racehound_trace::{Source, binary, rapid};

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

fn recognise(path: &Path, raw: Box<dyn Read>, size: Option<u64>) -> Result<Input, Error> {
    let mut input = BufReader::with_capacity(1 << 16, raw);
    let start = input.fill_buf().map_err(Error::file(path))?;
    let source: Box<dyn Source> = if binary::recognises(start) {
        Box::new(binary::Reader::new(input).map_err(Error::trace(path))?)
    } else if looks_like_text(start) {
        Box::new(rapid::Reader::new(input))
    } else {
        return Err(Error::UnknownFormat {
            path: path.to_owned(),
        });
    };
    Ok(Input { source, size })
}

/// Text has no control characters but white space; an empty file is a trace of
/// nothing. A few hundred bytes tell.
fn looks_like_text(start: &[u8]) -> bool {
    let control = |b: &u8| b.is_ascii_control() && !b.is_ascii_whitespace();
    !start.iter().take(512).any(control)
}

/// Warns of a trace that was cut short, once it was read.
pub(crate) fn warn_if_cut_short(path: &Path, source: &dyn Source) {
    if let Some(truncation) = source.truncation() {
        anstream::eprintln!("racehound: warning: {}: {truncation}", path.display());
    }
}
