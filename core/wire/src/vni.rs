//! The number of a VXLAN segment.

use core::fmt;
use core::num::NonZeroU32;
use core::str::FromStr;

/// A VXLAN network identifier: 24 bits (RFC 7348, section 5); zero is never used here.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Vni(NonZeroU32);

impl Vni {
    /// The largest number that fits into 24 bits.
    pub const MAX: u32 = (1 << 24) - 1;

    /// The number as it stands in a configuration.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl TryFrom<u32> for Vni {
    type Error = NotAVni;

    fn try_from(raw: u32) -> Result<Self, NotAVni> {
        match NonZeroU32::new(raw) {
            Some(vni) if raw <= Self::MAX => Ok(Self(vni)),
            _ => Err(NotAVni),
        }
    }
}

impl FromStr for Vni {
    type Err = NotAVni;

    fn from_str(text: &str) -> Result<Self, NotAVni> {
        text.parse::<u32>().map_err(|_| NotAVni)?.try_into()
    }
}

impl fmt::Display for Vni {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// The number is no VNI.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotAVni;

impl fmt::Display for NotAVni {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a VNI is a number from 1 to {}", Vni::MAX)
    }
}

impl core::error::Error for NotAVni {}
