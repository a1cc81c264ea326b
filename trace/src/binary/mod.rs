//! The binary trace format, version 2.
//!
//! ```text
//! file   = header block* end-block
//! header = magic[8] version:u16 space:u8 0:u8 crc32:u32
//! block  = kind:u32 length:u32 count:u32 first:u64 payload-crc32:u32 header-crc32:u32
//!          payload[length]
//! ```
//! All numbers are little-endian; inside payloads they are LEB128 varints.
//!
//! A *definitions* block appends to the tables, an *events* block carries
//! `count` events beginning with number `first` of the global order, an *end*
//! block says that the writer closed the file on purpose. A block is written
//! in one go when it is full, and nothing is ever written backwards: a crash
//! loses at most the block being filled. Definitions always come before the
//! events that need them.
//!
//! The global order is the order in the file. The order of one thread is its
//! subsequence. Both survive truncation, because both are prefixes.
//!
//! # Telling truncated from damaged
//! A block header has a checksum of its own, so its length can be believed. A
//! file that ends inside a block therefore is *truncated* (read up to there,
//! with a [`Truncation`](crate::Truncation) that says what is missing), and
//! anything else that does not fit is *damage* and an error with its offset.
//!
//! # How an event becomes a byte, or nothing
//! One byte says kind, common size, and whether the thread changes. The site is
//! the difference to the thread's previous site: code runs forwards. The
//! location is the difference to the thread's previous location *at that site*: a
//! site mostly walks through one array or looks at one variable again.
//!
//! Loops go round and round. What comes after a site is expected to be what came
//! after it the last time, and its location to have moved as far as it did then.
//! As many accesses as are just so are written as their number. The codec's
//! memory lives on from block to block, and is one for each thread: so the events
//! of different threads can be encoded side by side.
//!
//! # Version 1
//! is read. It expected nothing, and had one memory of locations for all threads.

mod block;
mod codec;
mod definitions;
mod expectation;
mod reader;
mod strand;
mod varint;
mod writer;

pub use reader::Reader;
pub use strand::Strand;
pub use writer::Writer;

/// What every binary trace starts with. The bytes outside ASCII and the line
/// ends show at once when a transfer took it for text.
pub const MAGIC: [u8; 8] = *b"\x89RHT\r\n\x1a\n";

/// The format version this crate writes, and the newest it reads.
pub const VERSION: u16 = 2;

/// Events in a block, at most: a reader need not believe in more.
const MOST_EVENTS: usize = 1 << 17;

/// Whether these first bytes of a file are those of a binary trace, perhaps one
/// that ends already there.
pub fn recognises(start: &[u8]) -> bool {
    !start.is_empty() && MAGIC.starts_with(&start[..start.len().min(MAGIC.len())])
}

#[cfg(test)]
mod tests;
