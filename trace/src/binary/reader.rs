//! Reading, block by block.

use std::io::{ErrorKind, Read};

use super::block::{self, FILE_HEADER, Header, Kind};
use super::codec::{Decoder, Limits};
use super::definitions;
use super::varint::{Bytes, SLACK};
use super::{MAGIC, MOST_EVENTS, VERSION};
use crate::error::{Error, Result, Truncation};
use crate::event::Event;
use crate::source::Source;
use crate::table::{Space, Tables};

/// A payload is read in pieces of this size, so that a header which announces
/// gigabytes that are not there costs no memory.
const PIECE: usize = 1 << 20;

/// Reads a binary trace.
pub struct Reader<R: Read> {
    input: R,
    /// Bytes read, all of them checked.
    offset: u64,
    space: Space,
    tables: Tables,
    decoder: Decoder,
    payload: Vec<u8>,
    events: u64,
    state: State,
}

enum State {
    Reading,
    Ended,
    CutShort(Truncation),
}

impl<R: Read> Reader<R> {
    /// Reads the file header.
    pub fn new(mut input: R) -> Result<Self> {
        let mut header = [0; FILE_HEADER];
        let got = read_up_to(&mut input, &mut header)?;
        let whole = got == FILE_HEADER;
        if !whole && (got == 0 || !MAGIC.starts_with(&header[..got.min(MAGIC.len())])) {
            return Err(Error::NotATrace {
                found: match got {
                    0 => "missing: the file is empty".to_owned(),
                    _ => format!("{:?}", String::from_utf8_lossy(&header[..got])),
                },
            });
        }
        let (space, version) = match whole {
            true => block::read_file_header(&header)?,
            false => (Space::Names, VERSION),
        };
        let mut reader = Self {
            input,
            offset: FILE_HEADER as u64,
            space,
            tables: Tables::default(),
            decoder: Decoder::new(version),
            payload: Vec::new(),
            events: 0,
            state: State::Reading,
        };
        if !whole {
            reader.offset = 0;
            reader.cut_short(got as u64, None);
        }
        Ok(reader)
    }

    fn damaged<T>(&self, what: impl Into<String>) -> Result<T> {
        Err(Error::Damaged {
            offset: self.offset,
            what: what.into(),
        })
    }

    fn cut_short(&mut self, leftover: u64, lost: Option<(u64, u64)>) {
        self.state = State::CutShort(Truncation {
            offset: self.offset,
            leftover,
            events: self.events,
            lost,
        });
    }

    /// Reads one block into `payload`. `None` at the end, whichever it is.
    fn next_block(&mut self) -> Result<Option<Header>> {
        if !matches!(self.state, State::Reading) {
            return Ok(None);
        }
        let mut bytes = [0; Header::SIZE];
        let got = read_up_to(&mut self.input, &mut bytes)?;
        if got < Header::SIZE {
            self.cut_short(got as u64, None);
            return Ok(None);
        }
        let header = Header::from_bytes(&bytes, self.offset)?;
        if header.first != self.events {
            return self.damaged(format!(
                "the block begins with event {}, but {} came before it",
                header.first, self.events
            ));
        }
        let length = header.length as usize;
        self.payload.clear();
        while self.payload.len() < length {
            let start = self.payload.len();
            self.payload.resize(length.min(start + PIECE), 0);
            let got = read_up_to(&mut self.input, &mut self.payload[start..])?;
            if start + got < self.payload.len() {
                let events = match header.kind {
                    Kind::Events => u64::from(header.count),
                    Kind::Definitions | Kind::End => 0,
                };
                self.cut_short((start + got) as u64, Some((events, length as u64)));
                return Ok(None);
            }
        }
        if crc32fast::hash(&self.payload) != header.payload_crc {
            return self.damaged("the checksum of the block does not fit");
        }
        self.payload.resize(length + SLACK, 0);
        Ok(Some(header))
    }

    fn define(&mut self, header: Header) -> Result<()> {
        let payload = std::mem::take(&mut self.payload);
        let mut bytes = Bytes::new(&payload);
        for i in 0..header.count {
            if definitions::get(&mut bytes, &mut self.tables).is_none() {
                return self.damaged(format!("definition {i} of the block makes no sense"));
            }
        }
        if bytes.remaining() > 0 {
            return self.damaged("bytes are left over after the block's definitions");
        }
        self.payload = payload;
        Ok(())
    }

    fn decode(&mut self, header: Header, batch: &mut Vec<Event>) -> Result<()> {
        if header.count as usize > MOST_EVENTS {
            return self.damaged("the block has more events than any");
        }
        let limits = Limits::new(&self.tables, self.space);
        let mut bytes = Bytes::new(&self.payload);
        batch.reserve(header.count as usize);
        for i in 0..header.count {
            match self.decoder.get(&mut bytes, &limits) {
                Some(event) => batch.push(event),
                None => return self.damaged(format!("event {i} of the block makes no sense")),
            }
        }
        if bytes.remaining() > 0 || self.decoder.expects_more() {
            return self.damaged("something is left over after the block's events");
        }
        self.events += u64::from(header.count);
        Ok(())
    }
}

impl<R: Read> Source for Reader<R> {
    fn space(&self) -> Space {
        self.space
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn next_batch(&mut self, batch: &mut Vec<Event>) -> Result<()> {
        batch.clear();
        while batch.is_empty() {
            let Some(header) = self.next_block()? else {
                break;
            };
            match header.kind {
                Kind::Definitions => self.define(header)?,
                Kind::Events => self.decode(header, batch)?,
                Kind::End => {
                    let mut one = [0];
                    self.offset += Header::SIZE as u64;
                    if read_up_to(&mut self.input, &mut one)? > 0 {
                        return self.damaged("something follows the closing block");
                    }
                    self.state = State::Ended;
                    break;
                }
            }
            self.offset += Header::SIZE as u64 + u64::from(header.length);
        }
        Ok(())
    }

    fn truncation(&self) -> Option<&Truncation> {
        match &self.state {
            State::CutShort(truncation) => Some(truncation),
            State::Reading | State::Ended => None,
        }
    }

    fn position(&self) -> u64 {
        self.offset
    }
}

/// Fills `buffer` as far as the input goes.
fn read_up_to(input: &mut impl Read, buffer: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(filled)
}
