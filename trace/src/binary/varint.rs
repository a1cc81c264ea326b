//! LEB128 numbers, and zigzag for signed differences.

/// Appends `value` in seven-bit groups, low ones first.
#[inline]
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A number that is small in either direction, as one that is small.
#[inline]
pub(super) fn zigzag(value: u64) -> u64 {
    let value = value as i64;
    ((value << 1) ^ (value >> 63)) as u64
}

/// Undoes [`zigzag`].
#[inline]
pub(super) fn signed(zigzag: u64) -> u64 {
    let value = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
    value as u64
}

/// Adds a difference in [that form](zigzag).
#[inline]
pub(super) fn add_delta(from: u64, zigzag: u64) -> u64 {
    from.wrapping_add(signed(zigzag))
}

/// Bytes to which numbers are appended all the time: a word at a time, most of which is
/// written over by the next, instead of byte by byte.
#[derive(Default)]
pub(super) struct Output {
    /// What is written, and room.
    bytes: Vec<u8>,
    len: usize,
}

impl Output {
    /// What one call may write.
    const MOST: usize = 16;

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn written(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Sets bits of a byte.
    pub(super) fn add_to(&mut self, at: usize, bits: u8) {
        self.bytes[at] |= bits;
    }

    #[inline(always)]
    pub(super) fn push(&mut self, byte: u8) {
        self.make_room();
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// Appends a number.
    #[inline(always)]
    pub(super) fn put(&mut self, value: u64) {
        self.make_room();
        self.number(value);
    }

    /// Appends a byte and a number.
    #[inline(always)]
    pub(super) fn put_tagged(&mut self, tag: u8, value: u64) {
        self.make_room();
        self.bytes[self.len] = tag;
        self.len += 1;
        self.number(value);
    }

    #[inline(always)]
    fn make_room(&mut self) {
        if self.bytes.len() < self.len + Self::MOST {
            self.grow();
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let more = self.bytes.len().max(4096);
        self.bytes.resize(self.bytes.len() + more, 0);
    }

    /// Appends a number, for which there is room.
    #[inline(always)]
    fn number(&mut self, value: u64) {
        let (word, length) = match value >> 56 {
            0 => groups(value),
            _ => return self.long_number(value),
        };
        let at = &mut self.bytes[self.len..self.len + 8];
        at.copy_from_slice(&word.to_le_bytes());
        self.len += length;
    }

    #[cold]
    fn long_number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes[self.len] = value as u8 | 0x80;
            self.len += 1;
            value >>= 7;
        }
        self.bytes[self.len] = value as u8;
        self.len += 1;
    }
}

/// A number below 2^56 in groups of seven bits, a byte each, and how many there are: without
/// branching on it.
#[inline(always)]
fn groups(value: u64) -> (u64, usize) {
    let length = (70 - (value | 1).leading_zeros() as usize) / 7;
    let mut x = value;
    x = (x & 0x0000_0000_0fff_ffff) | ((x & 0x00ff_ffff_f000_0000) << 4);
    x = (x & 0x0000_3fff_0000_3fff) | ((x & 0x0fff_c000_0fff_c000) << 2);
    x = (x & 0x007f_007f_007f_007f) | ((x & 0x3f80_3f80_3f80_3f80) << 1);
    let others = (1u64 << (8 * (length - 1))) - 1;
    (x | 0x8080_8080_8080_8080 & others, length)
}

/// Zero bytes that a buffer must have behind its contents, so that a number can
/// always be read as one word.
pub(super) const SLACK: usize = 8;

/// Reads from the front of a slice. `None` means that the bytes ran out or a
/// number does not fit 64 bits.
pub(super) struct Bytes<'a> {
    /// Contents and [`SLACK`].
    buffer: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Bytes<'a> {
    /// Reads `buffer` but for its last [`SLACK`] bytes.
    pub(super) fn new(buffer: &'a [u8]) -> Self {
        let end = buffer.len().saturating_sub(SLACK);
        Self { buffer, at: 0, end }
    }

    pub(super) fn remaining(&self) -> usize {
        self.end - self.at
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        if self.at == self.end {
            return None;
        }
        let byte = self.buffer[self.at];
        self.at += 1;
        Some(byte)
    }

    /// The next `count` bytes, as something to read from.
    pub(super) fn split(&mut self, count: usize) -> Option<Self> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.end)?;
        let part = Self {
            buffer: self.buffer,
            at: self.at,
            end,
        };
        self.at = end;
        Some(part)
    }

    /// What is left.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.buffer[self.at..self.end]
    }

    /// A number, whose length is usually one byte.
    #[inline]
    pub(super) fn varint(&mut self) -> Option<u64> {
        match self.buffer.get(self.at) {
            Some(&byte) if byte < 0x80 && self.at < self.end => {
                self.at += 1;
                Some(u64::from(byte))
            }
            _ => self.varint_any(),
        }
    }

    /// A number, whose length is anybody's guess: without branching on it, as
    /// long as it has at most eight bytes.
    #[inline]
    pub(super) fn varint_any(&mut self) -> Option<u64> {
        const HIGH: u64 = 0x8080_8080_8080_8080;
        let word = self.buffer.get(self.at..self.at + 8)?;
        let word = u64::from_le_bytes(word.try_into().ok()?);
        // The high bit of the last byte, and of none before.
        let ends = !word & HIGH;
        if ends == 0 {
            return self.long_varint();
        }
        let up_to_end = ends ^ (ends - 1);
        self.at += (ends.trailing_zeros() as usize + 1) / 8;
        if self.at > self.end {
            return None;
        }
        // Close the gaps between groups of seven, then 14, then 28 bits.
        let mut x = word & up_to_end & !HIGH;
        x = (x & 0x007f_007f_007f_007f) | ((x & 0x7f00_7f00_7f00_7f00) >> 1);
        x = (x & 0x0000_3fff_0000_3fff) | ((x & 0x3fff_0000_3fff_0000) >> 2);
        x = (x & 0x0000_0000_0fff_ffff) | ((x & 0x0fff_ffff_0000_0000) >> 4);
        Some(x)
    }

    #[cold]
    fn long_varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(values: Vec<(u64, u32)>) {
            let mut out = Vec::new();
            for (v, keep) in &values {
                put(&mut out, v >> (keep % 64));
            }
            out.extend([0; SLACK]);
            let (mut one, mut any) = (Bytes::new(&out), Bytes::new(&out));
            for (v, keep) in &values {
                let expected = Some(v >> (keep % 64));
                prop_assert_eq!(one.varint(), expected);
                prop_assert_eq!(any.varint_any(), expected);
            }
            prop_assert_eq!(one.varint(), None);
            prop_assert_eq!(any.varint_any(), None);
        }

        #[test]
        fn a_word_at_a_time_is_the_same(values: Vec<(u64, u32, Option<u8>)>) {
            let (mut out, mut words) = (Vec::new(), Output::default());
            for &(v, keep, tag) in &values {
                let value = v >> (keep % 64);
                out.extend(tag);
                put(&mut out, value);
                match tag {
                    Some(tag) => words.put_tagged(tag, value),
                    None => words.put(value),
                }
            }
            prop_assert_eq!(words.written(), out);
        }

        #[test]
        fn differences_come_back(from: u64, to: u64) {
            let mut out = Vec::new();
            put(&mut out, zigzag(to.wrapping_sub(from)));
            out.extend([0; SLACK]);
            let zigzag = Bytes::new(&out).varint().unwrap();
            prop_assert_eq!(add_delta(from, zigzag), to);
        }
    }

    #[test]
    fn a_number_beyond_64_bits_is_refused() {
        let mut eleven = vec![0xff; 10];
        eleven.push(1);
        eleven.extend([0; SLACK]);
        assert_eq!(Bytes::new(&eleven).varint(), None);
        let mut too_big = vec![0xff; 9];
        too_big.push(2);
        too_big.extend([0; SLACK]);
        assert_eq!(Bytes::new(&too_big).varint(), None);
    }
}
