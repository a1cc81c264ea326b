//! What a detector did: the counts of acculock.txt Tables III and IV.

use crate::access::AccessKind;
use crate::lockset::LockSetCounts;

/// Counts of one analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Reads that added nothing to what was known.
    pub read_same_epoch: u64,
    /// Reads after which the location's readers are one thread.
    pub read_exclusive: u64,
    /// Reads after which they are several.
    pub read_shared: u64,
    /// Writes that added nothing to what was known.
    pub write_same_epoch: u64,
    /// Writes that met at most one reader.
    pub write_exclusive: u64,
    /// Writes that met several readers.
    pub write_after_shared: u64,
    /// O(n) operations on clocks of synchronisation objects.
    pub clock_ops: u64,
    /// Lockset operations.
    pub locksets: LockSetCounts,
}

impl Stats {
    /// Counts an access that needed no analysis.
    #[inline]
    pub fn same_epoch(&mut self, kind: AccessKind) {
        match kind.is_write() {
            true => self.write_same_epoch += 1,
            false => self.read_same_epoch += 1,
        }
    }

    /// Counts a read that left the location with one reader, or shared.
    #[inline]
    pub fn read(&mut self, shared: bool) {
        match shared {
            true => self.read_shared += 1,
            false => self.read_exclusive += 1,
        }
    }

    /// Counts a write that met one reader at most, or several.
    #[inline]
    pub fn write(&mut self, shared: bool) {
        match shared {
            true => self.write_after_shared += 1,
            false => self.write_exclusive += 1,
        }
    }
}
