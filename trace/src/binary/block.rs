//! The fixed-size headers of the file and of its blocks.

use super::{MAGIC, VERSION};
use crate::error::{Error, Result};
use crate::table::Space;

/// What a block carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Definitions,
    Events,
    End,
}

impl Kind {
    const ALL: [(Self, [u8; 4]); 3] = [
        (Self::Definitions, *b"RHdf"),
        (Self::Events, *b"RHev"),
        (Self::End, *b"RHzz"),
    ];

    fn tag(self) -> [u8; 4] {
        let entry = Self::ALL.iter().find(|(kind, _)| *kind == self);
        entry.expect("every kind has a tag").1
    }
}

/// The header of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// Bytes of payload.
    pub(super) length: u32,
    /// Definitions or events in the payload.
    pub(super) count: u32,
    /// Number of events in all blocks before.
    pub(super) first: u64,
    pub(super) payload_crc: u32,
}

impl Header {
    pub(super) const SIZE: usize = 28;

    pub(super) fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut out = [0; Self::SIZE];
        out[0..4].copy_from_slice(&self.kind.tag());
        out[4..8].copy_from_slice(&self.length.to_le_bytes());
        out[8..12].copy_from_slice(&self.count.to_le_bytes());
        out[12..20].copy_from_slice(&self.first.to_le_bytes());
        out[20..24].copy_from_slice(&self.payload_crc.to_le_bytes());
        let crc = crc32fast::hash(&out[..24]);
        out[24..28].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads a header found at `offset`.
    pub(super) fn from_bytes(bytes: &[u8; Self::SIZE], offset: u64) -> Result<Self> {
        let damaged = |what: &str| Error::Damaged {
            offset,
            what: what.to_owned(),
        };
        if crc32fast::hash(&bytes[..24]) != u32_at(bytes, 24) {
            return Err(damaged("the checksum of the block header does not fit"));
        }
        let kind = Kind::ALL
            .iter()
            .find(|(_, tag)| bytes.starts_with(tag))
            .ok_or_else(|| damaged("no block of a known kind begins here"))?
            .0;
        Ok(Self {
            kind,
            length: u32_at(bytes, 4),
            count: u32_at(bytes, 8),
            first: u64::from(u32_at(bytes, 12)) | u64::from(u32_at(bytes, 16)) << 32,
            payload_crc: u32_at(bytes, 20),
        })
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(super) const FILE_HEADER: usize = 16;

pub(super) fn file_header(space: Space) -> [u8; FILE_HEADER] {
    let mut out = [0; FILE_HEADER];
    out[0..8].copy_from_slice(&MAGIC);
    out[8..10].copy_from_slice(&VERSION.to_le_bytes());
    out[10] = match space {
        Space::Names => 0,
        Space::Addresses => 1,
    };
    let crc = crc32fast::hash(&out[..12]);
    out[12..16].copy_from_slice(&crc.to_le_bytes());
    out
}

/// The kind of locations, and the version.
pub(super) fn read_file_header(bytes: &[u8; FILE_HEADER]) -> Result<(Space, u16)> {
    if !bytes.starts_with(&MAGIC) {
        return Err(Error::NotATrace {
            found: format!("{:?}", String::from_utf8_lossy(&bytes[..8])),
        });
    }
    if crc32fast::hash(&bytes[..12]) != u32_at(bytes, 12) {
        return Err(Error::Damaged {
            offset: 0,
            what: "the checksum of the file header does not fit".to_owned(),
        });
    }
    let version = u16::from_le_bytes([bytes[8], bytes[9]]);
    if version == 0 || version > VERSION {
        return Err(Error::Version {
            found: version,
            supported: VERSION,
        });
    }
    match bytes[10] {
        0 => Ok((Space::Names, version)),
        1 => Ok((Space::Addresses, version)),
        other => Err(Error::Damaged {
            offset: 10,
            what: format!("{other} is no kind of location"),
        }),
    }
}
