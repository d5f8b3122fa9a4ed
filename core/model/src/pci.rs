//! Where a function sits on the PCI bus, and the id of a port on InfiniBand.

use std::fmt;
use std::str::FromStr;

use wire::Mac;

/// Where a function sits on the PCI bus: `0000:1b:00.0`. It is stable as long as nobody moves a
/// card, which an index or a label is not.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PciAddress {
    /// The segment, which Linux calls domain.
    pub domain: u16,
    /// The bus.
    pub bus: u8,
    /// Device in the upper five bits, function in the lower three.
    pub devfn: u8,
}

impl FromStr for PciAddress {
    type Err = NotAPciAddress;

    fn from_str(text: &str) -> Result<Self, NotAPciAddress> {
        let bytes = text.as_bytes();
        let marks = [(4, b':'), (7, b':'), (10, b'.')];
        if bytes.len() != 12 || marks.iter().any(|&(at, mark)| bytes[at] != mark) {
            return Err(NotAPciAddress);
        }
        let device = hex(&bytes[8..10])?;
        let function = hex(&bytes[11..])?;
        if device > 0x1f || function > 7 {
            return Err(NotAPciAddress);
        }
        Ok(Self {
            domain: hex(&bytes[..4])?,
            bus: hex(&bytes[5..7])? as u8,
            devfn: (device << 3 | function) as u8,
        })
    }
}

/// Lower-case digits only, as the kernel writes them, so that equal addresses are equal texts.
fn hex(digits: &[u8]) -> Result<u16, NotAPciAddress> {
    digits.iter().try_fold(0, |value, digit| match digit {
        b'0'..=b'9' => Ok(value << 4 | u16::from(digit - b'0')),
        b'a'..=b'f' => Ok(value << 4 | u16::from(digit - b'a' + 10)),
        _ => Err(NotAPciAddress),
    })
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, bus, devfn } = self;
        write!(f, "{domain:04x}:{bus:02x}:{:02x}.{}", devfn >> 3, devfn & 7)
    }
}

/// The text is no PCI address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotAPciAddress;

impl fmt::Display for NotAPciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a PCI address is written 0000:1b:00.0, in lower-case digits")
    }
}

impl std::error::Error for NotAPciAddress {}

/// A port of an InfiniBand fabric, by its globally unique id.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Guid(pub u64);

impl Guid {
    /// The id that an interface's Ethernet address is extended to (EUI-64, RFC 4291 appendix A,
    /// with the universal bit as it is).
    #[must_use]
    pub const fn of(mac: Mac) -> Self {
        let [a, b, c, d, e, f] = mac.0;
        Self(u64::from_be_bytes([a, b, c, 0xff, 0xfe, d, e, f]))
    }
}

impl FromStr for Guid {
    type Err = NotAGuid;

    fn from_str(text: &str) -> Result<Self, NotAGuid> {
        // Rust's numbers may have a plus in front.
        let is_hex = |digits: &&str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let digits = text.strip_prefix("0x").filter(is_hex).filter(|digits| digits.len() == 16);
        let value = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        value.map(Self).ok_or(NotAGuid)
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

/// The text is no port GUID.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotAGuid;

impl fmt::Display for NotAGuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a port GUID is written 0x and sixteen digits")
    }
}

impl std::error::Error for NotAGuid {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_again(domain: u16, bus: u8, devfn: u8, guid: u64) {
            let address = PciAddress { domain, bus, devfn };
            prop_assert_eq!(address.to_string().parse(), Ok(address));
            prop_assert_eq!(Guid(guid).to_string().parse(), Ok(Guid(guid)));
        }

        #[test]
        fn only_one_text_is_an_address(text in "[0-9a-fA-F:.]{0,14}") {
            if let Ok(address) = text.parse::<PciAddress>() {
                prop_assert_eq!(address.to_string(), text);
            }
        }
    }

    #[test]
    fn a_guid_is_sixteen_digits_and_nothing_else() {
        for wrong in ["0x+20100000000ff00", "0x0201", "020100000000ff0011", "0x020100000000ff0011"]
        {
            assert_eq!(wrong.parse::<Guid>(), Err(NotAGuid), "{wrong}");
        }
    }

    #[test]
    fn a_device_has_five_bits_and_a_function_three() {
        for wrong in ["0000:1b:20.0", "0000:1b:00.8", "1b:00.0", "0000:1B:00.0"] {
            assert_eq!(wrong.parse::<PciAddress>(), Err(NotAPciAddress), "{wrong}");
        }
    }
}
