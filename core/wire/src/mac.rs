//! Ethernet addresses, as they are written and read.

use core::fmt;
use core::str::FromStr;

/// An Ethernet address. Written with colons; `0200.0000.0001`, as NX-OS writes it, is read too.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Everyone on the segment.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Whether it means a group of stations, everyone included (IEEE 802, the lowest bit of the
    /// first byte).
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }
}

impl FromStr for Mac {
    type Err = NotAMac;

    fn from_str(text: &str) -> Result<Self, NotAMac> {
        let (separator, group) = if text.contains(':') { (':', 2) } else { ('.', 4) };
        let mut digits = [0_u8; 12];
        let mut count = 0;
        for part in text.split(separator) {
            if part.len() != group || count + group > digits.len() {
                return Err(NotAMac);
            }
            for letter in part.chars() {
                let digit = letter.to_digit(16).ok_or(NotAMac)?;
                digits[count] = u8::try_from(digit).map_err(|_| NotAMac)?;
                count += 1;
            }
        }
        if count != digits.len() {
            return Err(NotAMac);
        }
        let mut bytes = [0_u8; 6];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// The text is no Ethernet address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotAMac;

impl fmt::Display for NotAMac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an Ethernet address is six bytes such as 02:00:00:00:00:01")
    }
}

impl core::error::Error for NotAMac {}
