//! What IPv4 and IPv6 have in common.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Reason;
use crate::headers::ethertype;

/// Protocol numbers (IANA, "Assigned Internet Protocol Numbers").
pub(crate) mod protocol {
    pub(crate) const ICMP: u8 = 1;
    pub(crate) const TCP: u8 = 6;
    pub(crate) const UDP: u8 = 17;
    pub(crate) const FRAGMENT: u8 = 44;
    pub(crate) const ICMPV6: u8 = 58;
}

/// Whether the protocol carries other packets: IPv4, IPv6, GRE, mobility, IPIP, `EtherIP`, L2TP,
/// MPLS.
pub(crate) const fn is_tunnel(protocol: u8) -> bool {
    matches!(protocol, 4 | 41 | 47 | 55 | 94 | 97 | 115 | 137)
}

/// Whether another header follows before the transport's.
const fn is_extension(protocol: u8) -> bool {
    matches!(protocol, 0 | 43 | 50 | 51 | 60 | 135 | 139 | 140)
}

/// A header of either version, and the bytes from its first on.
#[derive(Clone, Copy)]
pub(crate) struct Ip<'a> {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) protocol: u8,
    pub(crate) hop_limit: u8,
    /// Three flags and the offset, as IPv4 has them; IPv6 has them in another header.
    fragment: u16,
    /// How long the header is, and the packet with it, as the header says.
    header_len: usize,
    total_len: usize,
    bytes: &'a [u8],
}

/// Which part of a packet this is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Part {
    Whole,
    First,
    /// With its offset in units of eight bytes.
    Later(u16),
}

impl<'a> Ip<'a> {
    /// The header behind an Ethernet header that announced it.
    pub(crate) fn read(ethertype: u16, bytes: &'a [u8]) -> Result<Self, Reason> {
        match ethertype {
            ethertype::IPV4 => Self::v4(bytes),
            ethertype::IPV6 => Self::v6(bytes),
            _ => Err(Reason::Ethertype),
        }
    }

    fn v4(bytes: &'a [u8]) -> Result<Self, Reason> {
        let &[
            first,
            _,
            l0,
            l1,
            _,
            _,
            f0,
            f1,
            hop_limit,
            protocol,
            _,
            _,
            s0,
            s1,
            s2,
            s3,
            d0,
            d1,
            d2,
            d3,
        ] = bytes.first_chunk().ok_or(Reason::Truncated)?;
        if first >> 4 != 4 || first & 0x0f < 5 {
            return Err(Reason::Header);
        }
        Ok(Self {
            source: Ipv4Addr::new(s0, s1, s2, s3).into(),
            destination: Ipv4Addr::new(d0, d1, d2, d3).into(),
            protocol,
            hop_limit,
            fragment: u16::from_be_bytes([f0, f1]),
            header_len: usize::from(first & 0x0f) * 4,
            total_len: usize::from(u16::from_be_bytes([l0, l1])),
            bytes,
        })
    }

    fn v6(bytes: &'a [u8]) -> Result<Self, Reason> {
        let (&[first, _, _, _, l0, l1, protocol, hop_limit], rest) =
            bytes.split_first_chunk().ok_or(Reason::Truncated)?;
        let (source, rest) = rest.split_first_chunk::<16>().ok_or(Reason::Truncated)?;
        let destination = rest.first_chunk::<16>().ok_or(Reason::Truncated)?;
        if first >> 4 != 6 {
            return Err(Reason::Header);
        }
        Ok(Self {
            source: Ipv6Addr::from(*source).into(),
            destination: Ipv6Addr::from(*destination).into(),
            protocol,
            hop_limit,
            fragment: 0,
            header_len: 40,
            total_len: 40 + usize::from(u16::from_be_bytes([l0, l1])),
            bytes,
        })
    }

    /// What the packet carries, if its header is one that may be.
    pub(crate) fn payload(&self) -> Result<&'a [u8], Reason> {
        let is_v6 = self.source.is_ipv6();
        if !is_v6 && self.header_len > 20 {
            return Err(Reason::Options);
        }
        let payload = self.bytes.get(self.header_len..self.total_len).ok_or(Reason::Length)?;
        if self.fragment & 0x8000 != 0 {
            return Err(Reason::Header);
        }
        if is_v6 && self.protocol == protocol::FRAGMENT {
            return Err(Reason::Fragment);
        }
        if is_v6 && is_extension(self.protocol) {
            return Err(Reason::Options);
        }
        Ok(payload)
    }

    /// As much of the payload as is there, for those who only look.
    pub(crate) fn visible(&self) -> &'a [u8] {
        let end = self.total_len.min(self.bytes.len());
        self.bytes.get(self.header_len..end).unwrap_or_default()
    }

    pub(crate) const fn part(&self) -> Part {
        match (self.fragment & 0x1fff, self.fragment & 0x2000 != 0) {
            (0, false) => Part::Whole,
            (0, true) => Part::First,
            (offset, _) => Part::Later(offset),
        }
    }

    /// Whether the protocol is the control protocol of this version.
    pub(crate) const fn is_icmp(&self) -> bool {
        match self.source {
            IpAddr::V4(_) => self.protocol == protocol::ICMP,
            IpAddr::V6(_) => self.protocol == protocol::ICMPV6,
        }
    }
}
