//! Writing, as a stream.

use std::io::Write;

use super::block::{self, Header, Kind};
use super::codec::Encoder;
use super::definitions::{self, Written};
use crate::error::Result;
use crate::event::Event;
use crate::table::{Space, Tables};

/// A block is written once it has this many bytes: what a crash may lose.
const BLOCK_BYTES: usize = 32 * 1024;

/// Writes a binary trace.
///
/// Call [`finish`](Self::finish) at the end; a writer that is merely dropped
/// leaves a trace that reads as cut short, as it would after a crash.
pub struct Writer<W: Write> {
    out: W,
    encoder: Encoder,
    written: Written,
    definitions: Vec<u8>,
    definition_count: u32,
    events: Vec<u8>,
    event_count: u32,
    total: u64,
}

impl<W: Write> Writer<W> {
    /// Starts a trace on `out`, which is written in large pieces and needs no
    /// buffer of its own.
    pub fn new(mut out: W, space: Space) -> Result<Self> {
        out.write_all(&block::file_header(space))?;
        Ok(Self {
            out,
            encoder: Encoder::default(),
            written: Written::default(),
            definitions: Vec::new(),
            definition_count: 0,
            events: Vec::new(),
            event_count: 0,
            total: 0,
        })
    }

    /// Appends events. `tables` must hold every id they use, and be the same
    /// tables as in earlier calls, perhaps grown.
    pub fn write(&mut self, tables: &Tables, events: &[Event]) -> Result<()> {
        self.definition_count +=
            definitions::put_new(&mut self.definitions, tables, &mut self.written);
        for event in events {
            self.encoder.put(&mut self.events, event);
            self.event_count += 1;
            if self.events.len() >= BLOCK_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Writes what is buffered, whether or not a block is full. What came
    /// before is then safe from a crash of this process.
    pub fn flush(&mut self) -> Result<()> {
        if self.definition_count > 0 {
            let count = std::mem::take(&mut self.definition_count);
            let payload = std::mem::take(&mut self.definitions);
            self.block(Kind::Definitions, count, &payload)?;
        }
        if self.event_count > 0 {
            let count = std::mem::take(&mut self.event_count);
            let mut payload = std::mem::take(&mut self.events);
            self.block(Kind::Events, count, &payload)?;
            self.total += u64::from(count);
            payload.clear();
            self.events = payload;
        }
        Ok(())
    }

    fn block(&mut self, kind: Kind, count: u32, payload: &[u8]) -> Result<()> {
        let header = Header {
            kind,
            length: u32::try_from(payload.len())
                .map_err(|_| std::io::Error::other("a block of more than 4 GiB of definitions"))?,
            count,
            first: self.total,
            payload_crc: crc32fast::hash(payload),
        };
        self.out.write_all(&header.to_bytes())?;
        self.out.write_all(payload)?;
        Ok(())
    }

    /// Writes the rest and the closing block, and gives the output back.
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        self.block(Kind::End, 0, &[])?;
        self.out.flush()?;
        Ok(self.out)
    }
}
