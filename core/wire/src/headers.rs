//! What the headers say, before anyone asks whether they may.
//!
//! A reader here gives `None` for one reason only: there are too few bytes. The rule (`outer`,
//! `inner`) and the line for people (`flow`) share these readers, so that both see the same.

use core::net::Ipv4Addr;

use crate::Mac;
use crate::vxlan::{G, I};

/// The numbers that decide what comes next.
pub(crate) mod ethertype {
    pub(crate) const IPV4: u16 = 0x0800;
    pub(crate) const ARP: u16 = 0x0806;
    pub(crate) const VLAN: u16 = 0x8100;
    pub(crate) const IPV6: u16 = 0x86dd;
    pub(crate) const QINQ: u16 = 0x88a8;
    pub(crate) const LLDP: u16 = 0x88cc;
    /// What QinQ was before IEEE 802.1ad; nobody here sends it, some switches still read it.
    pub(crate) const OLD_QINQ: u16 = 0x9100;
}

/// The port of VXLAN (RFC 7348, section 8).
pub(crate) const VXLAN_PORT: u16 = 4789;
/// The port of RoCEv2 (InfiniBand Architecture, annex A17).
pub(crate) const ROCE_PORT: u16 = 4791;

/// Whether UDP to this port is a tunnel: VXLAN, VXLAN-GPE, Geneve, VXLAN as Linux first had it,
/// GTP-U, Teredo, MPLS.
pub(crate) const fn is_tunnel_port(port: u16) -> bool {
    matches!(port, VXLAN_PORT | 4790 | 6081 | 8472 | 2152 | 3544 | 6635)
}

/// An Ethernet header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ethernet {
    /// Who shall have it.
    pub destination: Mac,
    /// Who says it sent it.
    pub source: Mac,
    /// What comes next.
    pub ethertype: u16,
}

impl Ethernet {
    pub(crate) fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (&[d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1], rest) =
            bytes.split_first_chunk()?;
        let ethernet = Self {
            destination: Mac([d0, d1, d2, d3, d4, d5]),
            source: Mac([s0, s1, s2, s3, s4, s5]),
            ethertype: u16::from_be_bytes([t0, t1]),
        };
        Some((ethernet, rest))
    }

    /// Whether a VLAN tag follows that may be skipped.
    pub(crate) const fn has_tag(self) -> bool {
        matches!(self.ethertype, ethertype::VLAN | ethertype::QINQ)
    }

    /// The same header as it was before the tag was put in.
    pub(crate) fn skip_tag(self, rest: &[u8]) -> Option<(Self, &[u8])> {
        let (&[_, _, t0, t1], rest) = rest.split_first_chunk()?;
        Some((Self { ethertype: u16::from_be_bytes([t0, t1]), ..self }, rest))
    }
}

/// An ARP message, as Ethernet and IPv4 have it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Arp {
    /// 1 asks, 2 answers.
    pub operation: u16,
    /// Who speaks.
    pub sender_mac: Mac,
    /// The address the speaker says is its own.
    pub sender: Ipv4Addr,
    /// The address it is about.
    pub target: Ipv4Addr,
    /// Whether it is about Ethernet and IPv4 at all.
    pub(crate) is_ours: bool,
}

impl Arp {
    pub(crate) const REQUEST: u16 = 1;
    pub(crate) const REPLY: u16 = 2;

    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (
            &[
                k0,
                k1,
                k2,
                k3,
                k4,
                k5,
                o0,
                o1,
                m0,
                m1,
                m2,
                m3,
                m4,
                m5, //
                s0,
                s1,
                s2,
                s3,
                _,
                _,
                _,
                _,
                _,
                _,
                t0,
                t1,
                t2,
                t3,
            ],
            _,
        ) = bytes.split_first_chunk()?;
        Some(Self {
            operation: u16::from_be_bytes([o0, o1]),
            sender_mac: Mac([m0, m1, m2, m3, m4, m5]),
            sender: Ipv4Addr::new(s0, s1, s2, s3),
            target: Ipv4Addr::new(t0, t1, t2, t3),
            is_ours: [k0, k1, k2, k3, k4, k5] == [0, 1, 8, 0, 6, 4],
        })
    }
}

/// The ports of TCP and UDP, which stand at the same place.
pub(crate) fn ports(payload: &[u8]) -> Option<(u16, u16)> {
    let &[s0, s1, d0, d1] = payload.first_chunk()?;
    Some((u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1])))
}

/// A TCP header.
#[derive(Clone, Copy)]
pub(crate) struct Tcp {
    pub(crate) source: u16,
    pub(crate) destination: u16,
    /// In words of four bytes.
    pub(crate) data_offset: u8,
    /// SYN without ACK.
    pub(crate) opens: bool,
}

impl Tcp {
    pub(crate) fn read(payload: &[u8]) -> Option<Self> {
        let header: &[u8; 20] = payload.first_chunk()?;
        let (source, destination) = ports(header)?;
        let (data_offset, opens) = (header[12] >> 4, header[13] & 0x12 == 0x02);
        Some(Self { source, destination, data_offset, opens })
    }
}

/// A UDP header.
#[derive(Clone, Copy)]
pub(crate) struct Udp {
    pub(crate) source: u16,
    pub(crate) destination: u16,
    pub(crate) length: u16,
}

impl Udp {
    pub(crate) fn read(payload: &[u8]) -> Option<(Self, &[u8])> {
        let (&[s0, s1, d0, d1, l0, l1, _, _], data) = payload.split_first_chunk()?;
        let [source, destination, length] = [[s0, s1], [d0, d1], [l0, l1]].map(u16::from_be_bytes);
        Some((Self { source, destination, length }, data))
    }
}

/// The header every RoCEv2 packet begins with, the Base Transport Header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bth {
    /// What is asked for: 4 is "send only" of a reliable connection, 0x81 a congestion notice.
    pub opcode: u8,
    /// Four bits that are always 0.
    pub version: u8,
    /// The partition; its highest bit says full or limited membership.
    pub pkey: u16,
    /// The queue pair it is for: 24 bits.
    pub destination_qp: u32,
}

impl Bth {
    /// Whether the header can be: P_Key 0 is no partition, whatever the membership.
    pub(crate) const fn is_sound(self) -> bool {
        self.version == 0 && self.pkey & 0x7fff != 0
    }

    pub(crate) fn read(data: &[u8]) -> Option<Self> {
        let &[opcode, flags, p0, p1, _, q0, q1, q2, _, _, _, _] = data.first_chunk()?;
        Some(Self {
            opcode,
            version: flags & 0x0f,
            pkey: u16::from_be_bytes([p0, p1]),
            destination_qp: u32::from_be_bytes([0, q0, q1, q2]),
        })
    }
}

/// A VXLAN header as it stands on the wire, well formed or not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Vxlan {
    /// The segment: 24 bits.
    pub vni: u32,
    /// The group tag; 0 if the header has none.
    pub tag: u16,
    /// Whether every bit is one that may be there.
    pub(crate) is_ours: bool,
}

impl Vxlan {
    pub(crate) fn read(data: &[u8]) -> Option<(Self, &[u8])> {
        let (&[flags, policy, t0, t1, v0, v1, v2, reserved], frame) = data.split_first_chunk()?;
        let tag = if flags & G != 0 { u16::from_be_bytes([t0, t1]) } else { 0 };
        // D and A of the group policy draft may be set: switches set them, and nothing is
        // decided by them here.
        let is_ours = flags & !G == I && policy & !0x48 == 0 && reserved == 0;
        Some((Self { vni: u32::from_be_bytes([0, v0, v1, v2]), tag, is_ours }, frame))
    }
}
