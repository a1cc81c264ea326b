//! Freed blocks that the C library does not get back yet.
//!
//! It keeps notes of its own in the memory it has: a program that still writes
//! there, or frees a block twice, would make it fail over them, perhaps before
//! anybody has read what we had to say. So the last few blocks that a thread has
//! freed stay as they are. Nor are they handed out again meanwhile, and whoever
//! still uses one is found out for sure.
//!
//! A thread keeps no more than [`BLOCKS`] of [`LARGEST`] bytes.

use std::ffi::c_void;
use std::ptr;

/// How many blocks wait.
const BLOCKS: usize = 16;

/// Larger blocks do not wait.
const LARGEST: usize = 4 << 10;

unsafe extern "C" {
    fn __libc_free(block: *mut c_void);
}

/// The blocks that a thread has freed last.
pub(crate) struct Quarantine {
    blocks: [*mut c_void; BLOCKS],
    /// The one that has waited longest.
    oldest: usize,
}

impl Default for Quarantine {
    fn default() -> Self {
        Self {
            blocks: [ptr::null_mut(); BLOCKS],
            oldest: 0,
        }
    }
}

impl Quarantine {
    /// Takes a block of that size in, and lets another one go, which may be the
    /// same or null.
    #[inline]
    pub(crate) fn exchange(&mut self, block: *mut c_void, size: usize) -> *mut c_void {
        if size > LARGEST {
            return block;
        }
        let released = std::mem::replace(&mut self.blocks[self.oldest], block);
        self.oldest = (self.oldest + 1) % BLOCKS;
        released
    }

    /// Gives all blocks back to the C library.
    pub(crate) fn clear(&mut self) {
        for block in &mut self.blocks {
            // SAFETY: the C library's block, which the program has freed, or null.
            unsafe { __libc_free(std::mem::replace(block, ptr::null_mut())) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_leave_in_the_order_they_came() {
        let block = |number: usize| ptr::without_provenance_mut::<c_void>(number * 16);
        let mut quarantine = Quarantine::default();
        for number in 1..=BLOCKS {
            assert!(quarantine.exchange(block(number), LARGEST).is_null());
        }
        for number in 1..=3 * BLOCKS {
            let released = quarantine.exchange(block(BLOCKS + number), 1);
            assert_eq!(released, block(number));
        }
        let large = block(1000);
        assert_eq!(quarantine.exchange(large, LARGEST + 1), large);
    }
}
