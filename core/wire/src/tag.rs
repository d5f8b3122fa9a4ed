//! The tag by which a frame says of which group its sender is.

use core::fmt;
use core::num::NonZeroU16;
use core::str::FromStr;

/// A group tag: the 16-bit group policy id of VXLAN-GBP; zero means "no group" and is no tag.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Tag(NonZeroU16);

impl Tag {
    /// The number as it stands on the wire.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0.get()
    }
}

impl TryFrom<u16> for Tag {
    type Error = NotATag;

    fn try_from(raw: u16) -> Result<Self, NotATag> {
        NonZeroU16::new(raw).map(Self).ok_or(NotATag)
    }
}

impl FromStr for Tag {
    type Err = NotATag;

    fn from_str(text: &str) -> Result<Self, NotATag> {
        text.parse::<u16>().map_err(|_| NotATag)?.try_into()
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// The number is no group tag.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotATag;

impl fmt::Display for NotATag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a group tag is a number from 1 to 65535")
    }
}

impl core::error::Error for NotATag {}
