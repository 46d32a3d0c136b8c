//! CRC32C of stored bytes: finds every flip of one byte and nearly every other accident. It is no protection against someone who wants to deceive.

use std::fmt::{self, Debug, Display};

/// A CRC32C, shown in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Checksum(pub u32);

impl Checksum {
    /// The checksum of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(crc32c::crc32c(bytes))
    }

    /// The checksum of what came before and these bytes.
    pub fn and(self, bytes: &[u8]) -> Self {
        Self(crc32c::crc32c_append(self.0, bytes))
    }
}

impl Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:08x}", self.0)
    }
}

impl Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_castagnoli_polynomial() {
        assert_eq!(Checksum::of(b"123456789").to_string(), "0xe3069283");
        assert_eq!(Checksum::of(b"1234").and(b"56789"), Checksum::of(b"123456789"));
    }
}
