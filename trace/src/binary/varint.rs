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

/// Appends the difference `to - from`, wrapping, small in either direction.
#[inline]
pub(super) fn put_delta(out: &mut Vec<u8>, from: u64, to: u64) {
    let delta = to.wrapping_sub(from) as i64;
    put(out, ((delta << 1) ^ (delta >> 63)) as u64);
}

/// Undoes [`put_delta`].
#[inline]
pub(super) fn add_delta(from: u64, zigzag: u64) -> u64 {
    let delta = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
    from.wrapping_add(delta as u64)
}

/// Reads from the front of a slice. `None` means that the bytes ran out or a
/// number does not fit 64 bits.
pub(super) struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    #[inline]
    pub(super) fn varint(&mut self) -> Option<u64> {
        // Most numbers in a trace fit one or two bytes.
        match *self.rest {
            [a, ref rest @ ..] if a < 0x80 => {
                self.rest = rest;
                Some(u64::from(a))
            }
            [a, b, ref rest @ ..] if b < 0x80 => {
                self.rest = rest;
                Some(u64::from(a & 0x7f) | u64::from(b) << 7)
            }
            _ => self.long_varint(),
        }
    }

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
        fn numbers_come_back(values: Vec<u64>) {
            let mut out = Vec::new();
            for &v in &values {
                put(&mut out, v);
            }
            let mut bytes = Bytes::new(&out);
            for &v in &values {
                prop_assert_eq!(bytes.varint(), Some(v));
            }
            prop_assert_eq!(bytes.varint(), None);
        }

        #[test]
        fn differences_come_back(from: u64, to: u64) {
            let mut out = Vec::new();
            put_delta(&mut out, from, to);
            let zigzag = Bytes::new(&out).varint().unwrap();
            prop_assert_eq!(add_delta(from, zigzag), to);
        }
    }

    #[test]
    fn a_number_beyond_64_bits_is_refused() {
        let mut eleven = vec![0xff; 10];
        eleven.push(1);
        assert_eq!(Bytes::new(&eleven).varint(), None);
        let mut too_big = vec![0xff; 9];
        too_big.push(2);
        assert_eq!(Bytes::new(&too_big).varint(), None);
    }
}
