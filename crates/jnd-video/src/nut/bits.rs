//! Variable-length numbers and the checksum.

/// CRC-32, polynomial 0x04C11DB7, most significant bit first, from 0, not inverted.
const TABLE: [u32; 256] = {
    let mut table = [0u32; 256];
    let mut i = 0;
    while i < 256 {
        let mut c = (i as u32) << 24;
        let mut k = 0;
        while k < 8 {
            c = if c & 0x8000_0000 != 0 { (c << 1) ^ 0x04C1_1DB7 } else { c << 1 };
            k += 1;
        }
        table[i] = c;
        i += 1;
    }
    table
};

pub(super) fn crc(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |c, &b| (c << 8) ^ TABLE[((c >> 24) as u8 ^ b) as usize])
}

/// Appends a number, seven bits a byte, high bits first.
pub(super) fn put_v(out: &mut Vec<u8>, value: u64) {
    let bits = 64 - value.leading_zeros().min(63);
    for i in (1..bits.div_ceil(7)).rev() {
        out.push(0x80 | (value >> (7 * i)) as u8 & 0x7F);
    }
    out.push(value as u8 & 0x7F);
}

/// Appends bytes with their count before them.
pub(super) fn put_vb(out: &mut Vec<u8>, bytes: &[u8]) {
    put_v(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Numbers out of a packet that is in memory. `None` means that the packet ends too early or a number is too long.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn v(&mut self) -> Option<u64> {
        let mut value = 0u64;
        loop {
            let (&b, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            if value >> 57 != 0 {
                return None;
            }
            value = value << 7 | u64::from(b & 0x7F);
            if b & 0x80 == 0 {
                return Some(value);
            }
        }
    }

    pub(super) fn s(&mut self) -> Option<i64> {
        self.v().map(signed)
    }

    pub(super) fn vb(&mut self) -> Option<&'a [u8]> {
        let n = usize::try_from(self.v()?).ok()?;
        if n > self.bytes.len() {
            return None;
        }
        let (head, rest) = self.bytes.split_at(n);
        self.bytes = rest;
        Some(head)
    }
}

/// Signed numbers alternate: 0, 1, -1, 2, -2.
pub(super) fn signed(v: u64) -> i64 {
    let half = (v / 2) as i64;
    if v & 1 == 1 { half + 1 } else { -half }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive() {
        for v in [0, 1, 127, 128, 16383, 16384, u64::from(u32::MAX), (1 << 62) + 5, u64::MAX >> 1] {
            let mut out = Vec::new();
            put_v(&mut out, v);
            assert_eq!(Cursor::new(&out).v(), Some(v), "{v}");
        }
        assert_eq!([0, 1, 2, 3, 4].map(signed), [0, 1, -1, 2, -2]);
        // Ten bytes of continuation hold more than 64 bits.
        assert_eq!(Cursor::new(&[0xFF; 12]).v(), None);
        assert_eq!(Cursor::new(&[0x80]).v(), None);
    }

    #[test]
    fn the_checksum_is_the_one_of_the_format() {
        // Appending a checksum makes the whole come to 0; a known value guards the polynomial.
        let mut data = b"123456789".to_vec();
        let c = crc(&data);
        assert_eq!(c, 0x89A1_897F);
        data.extend(c.to_be_bytes());
        assert_eq!(crc(&data), 0);
    }
}
