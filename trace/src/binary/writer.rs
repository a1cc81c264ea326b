//! Writing, as a stream.

use std::io::Write;

use super::MOST_EVENTS;
use super::block::{self, Header, Kind};
use super::definitions::{self, Written};
use super::strand::Strand;
use crate::error::Result;
use crate::event::Event;
use crate::table::{Space, Tables};

/// A block is written once it has this many bytes or events: what a crash may
/// lose.
const BLOCK_BYTES: usize = 32 * 1024;
const BLOCK_EVENTS: usize = MOST_EVENTS / 2;

/// Writes a binary trace.
///
/// Call [`finish`](Self::finish) at the end; a writer that is merely dropped
/// leaves a trace that reads as cut short, as it would after a crash.
pub struct Writer<W: Write> {
    out: W,
    /// Of the threads whose events were given as such.
    strands: Vec<Option<Strand>>,
    /// The one that was added to last.
    current: usize,
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
            strands: Vec::new(),
            current: 0,
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
        self.define(tables);
        for event in events {
            let thread = event.thread.index();
            if thread != self.current {
                self.unwind_current();
                self.current = thread;
            }
            if self.strands.len() <= thread {
                self.strands.resize_with(thread + 1, || None);
            }
            let strand = self.strands[thread].get_or_insert_with(|| Strand::new(event.thread));
            strand.put(event.site, &event.op);
            let is_full = is_full(
                self.events.len() + strand.size(),
                self.event_count as usize + strand.count(),
            );
            if is_full {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Appends what a strand has, which must have been made for this trace. A
    /// thread whose events come on a strand must not have any given to
    /// [`write`](Self::write).
    pub fn append(&mut self, tables: &Tables, strand: &mut Strand) -> Result<()> {
        self.define(tables);
        if self.event_count as usize + strand.count() > MOST_EVENTS {
            self.flush()?;
        }
        self.event_count += strand.unwind_into(&mut self.events);
        match is_full(self.events.len(), self.event_count as usize) {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn define(&mut self, tables: &Tables) {
        self.definition_count +=
            definitions::put_new(&mut self.definitions, tables, &mut self.written);
    }

    fn unwind_current(&mut self) {
        if let Some(Some(strand)) = self.strands.get_mut(self.current) {
            self.event_count += strand.unwind_into(&mut self.events);
        }
    }

    /// Writes what is buffered, whether or not a block is full. What came
    /// before is then safe from a crash of this process.
    pub fn flush(&mut self) -> Result<()> {
        self.unwind_current();
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
        // In one piece: a crash between two would leave half a block.
        self.out
            .write_all(&[&header.to_bytes(), payload].concat())?;
        Ok(())
    }

    /// What is written to.
    pub fn get_ref(&self) -> &W {
        &self.out
    }

    /// Writes the rest and the closing block, and gives the output back.
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        self.block(Kind::End, 0, &[])?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Whether it is time to write a block.
fn is_full(bytes: usize, events: usize) -> bool {
    bytes >= BLOCK_BYTES || events >= BLOCK_EVENTS
}
