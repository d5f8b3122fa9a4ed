//! The VXLAN header with a group tag, from bytes and to bytes.

use core::fmt;

use crate::{Tag, Vni};

/// The eight bytes of VXLAN with the Group Policy Option (draft-smith-vxlan-group-policy):
/// flags G=0x80 and I=0x08, then D=0x40 and A=0x08, the group, the VNI and a reserved byte.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Header {
    /// The segment.
    pub vni: Vni,
    /// The sender's group; none when the G bit is not set.
    pub tag: Option<Tag>,
}

pub(crate) const G: u8 = 0x80;
pub(crate) const I: u8 = 0x08;

impl Header {
    /// The bytes on the wire.
    #[must_use]
    pub fn encode(self) -> [u8; 8] {
        let [_, v0, v1, v2] = self.vni.get().to_be_bytes();
        let flags = if self.tag.is_some() { G | I } else { I };
        let [t0, t1] = self.tag.map_or(0, Tag::get).to_be_bytes();
        [flags, 0, t0, t1, v0, v1, v2, 0]
    }

    /// The meaning of the bytes; what is not a well-formed header is refused.
    pub fn decode(bytes: [u8; 8]) -> Result<Self, NotVxlan> {
        let [flags, _policy, t0, t1, v0, v1, v2, _reserved] = bytes;
        if flags & !G != I {
            return Err(NotVxlan::Flags(flags));
        }
        let vni = Vni::try_from(u32::from_be_bytes([0, v0, v1, v2])).map_err(|_| NotVxlan::Vni)?;
        let group = u16::from_be_bytes([t0, t1]);
        let tag = match (flags & G != 0, Tag::try_from(group)) {
            (true, Ok(tag)) => Some(tag),
            (true, Err(_)) => return Err(NotVxlan::GroupZero),
            (false, _) => None,
        };
        Ok(Self { vni, tag })
    }
}

/// Why eight bytes are no VXLAN header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NotVxlan {
    /// The I bit is missing, or a bit that is not ours is set.
    Flags(u8),
    /// The VNI is zero.
    Vni,
    /// The G bit is set and the group is zero.
    GroupZero,
}

impl fmt::Display for NotVxlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flags(flags) => write!(f, "VXLAN flags {flags:#04x} are not known"),
            Self::Vni => f.write_str("VNI 0 is never used"),
            Self::GroupZero => f.write_str("group 0 is no group"),
        }
    }
}

impl core::error::Error for NotVxlan {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_1001_on_vni_10100_has_the_bytes_of_the_draft() {
        let header = Header { vni: 10100.try_into().unwrap(), tag: Some(1001.try_into().unwrap()) };
        assert_eq!(header.encode(), [0x88, 0x00, 0x03, 0xe9, 0x00, 0x27, 0x74, 0x00]);
    }

    #[test]
    fn every_header_made_is_read_back() {
        for raw_vni in [1, 2, 10100, Vni::MAX] {
            for raw_tag in [0, 1, 999, u16::MAX] {
                let header =
                    Header { vni: raw_vni.try_into().unwrap(), tag: Tag::try_from(raw_tag).ok() };
                assert_eq!(Header::decode(header.encode()), Ok(header));
            }
        }
    }

    #[test]
    fn what_is_malformed_is_refused_with_its_reason() {
        assert_eq!(Header::decode([0x00, 0, 0, 0, 0, 0, 1, 0]), Err(NotVxlan::Flags(0)));
        assert_eq!(Header::decode([0x0c, 0, 0, 0, 0, 0, 1, 0]), Err(NotVxlan::Flags(0x0c)));
        assert_eq!(Header::decode([0x08, 0, 0, 0, 0, 0, 0, 0]), Err(NotVxlan::Vni));
        assert_eq!(Header::decode([0x88, 0, 0, 0, 0, 0, 1, 0]), Err(NotVxlan::GroupZero));
    }
}
