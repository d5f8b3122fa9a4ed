//! Frames made to order, for tests and benches: sound unless one asks for a fault.
//!
//! A [`ForgedPacket`] is made from the transport up, put into a [`ForgedFrame`], and the frame into a tunnel;
//! lengths and checksums are right at every step, and the same calls give the same bytes:
//!
//! ```
//! use core::net::Ipv4Addr;
//! use wire::{Hook, Mac, forge::ForgedPacket};
//!
//! let (a, b) = (Ipv4Addr::new(10, 1, 0, 3), Ipv4Addr::new(10, 1, 0, 2));
//! let frame = ForgedPacket::udp(a, b, 5000, 53, 32)
//!     .ethernet(Mac([2, 0, 0, 0, 0, 3]), Mac([2, 0, 0, 0, 0, 2]))
//!     .vxlan(Ipv4Addr::new(10, 255, 0, 4), Ipv4Addr::new(10, 255, 0, 3), 101_001, 1001);
//! assert_eq!(
//!     wire::flow(Hook::Fabric, &frame).to_string(),
//!     "10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:5000 > 10.1.0.2:53 udp",
//! );
//! ```
//!
//! A fault is a change of a sound frame: [`ForgedFrame::with`] one byte, [`ForgedFrame::cut`] the end. What
//! was right around it (an outer length, a checksum) then stays as it was.

mod packet;
mod sum;

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};
use core::ops::Deref;

pub use packet::{ACK, FIN, ForgedPacket, RST, SYN};

use crate::headers::{VXLAN_PORT, ethertype};
use crate::ip::protocol;
use crate::vxlan::{G, I};
use crate::{Mac, Vni};

/// Where things stand in a frame without VLAN tags whose IP headers are all IPv4.
pub mod at {
    /// The IP header; of a tunnel's frame, the outer one.
    pub const IP: usize = 14;
    /// The transport header; of a tunnel's frame, the outer UDP.
    pub const TRANSPORT: usize = 34;
    /// The VXLAN header.
    pub const VXLAN: usize = 42;
    /// The Ethernet header inside.
    pub const INNER: usize = 50;
    /// The IP header inside.
    pub const INNER_IP: usize = 64;
    /// The transport header inside.
    pub const INNER_TRANSPORT: usize = 84;
}

/// The Ethernet address outer headers are sent from.
pub const OUTER_SOURCE: Mac = Mac([0x02, 0xff, 0, 0, 0, 1]);
/// The Ethernet address outer headers are sent to.
pub const OUTER_DESTINATION: Mac = Mac([0x02, 0xff, 0, 0, 0, 2]);

/// An Ethernet frame.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ForgedFrame(Vec<u8>);

/// What an ARP message says.
#[derive(Clone, Copy, Debug)]
pub struct ForgedArp {
    /// Whether it answers; it asks otherwise.
    pub reply: bool,
    /// Who speaks.
    pub sender_mac: Mac,
    /// The address the speaker says is its own.
    pub sender: Ipv4Addr,
    /// Whom it is for, if that is known; zeros otherwise.
    pub target_mac: Mac,
    /// The address it is about.
    pub target: Ipv4Addr,
}

impl ForgedFrame {
    /// Any payload behind an Ethernet header.
    #[must_use]
    pub fn ethertype(source: Mac, destination: Mac, ethertype: u16, payload: Vec<u8>) -> Self {
        let ethertype = ethertype.to_be_bytes();
        Self([&destination.0[..], &source.0, &ethertype, &payload].concat())
    }

    /// An ARP message from its sender's Ethernet address to the one given.
    #[must_use]
    pub fn arp(arp: ForgedArp, destination: Mac) -> Self {
        let operation = if arp.reply { [0, 2] } else { [0, 1] };
        let payload = [
            &[0, 1, 8, 0, 6, 4][..],
            &operation,
            &arp.sender_mac.0,
            &arp.sender.octets(),
            &arp.target_mac.0,
            &arp.target.octets(),
        ];
        Self::ethertype(arp.sender_mac, destination, ethertype::ARP, payload.concat())
    }

    /// The frame with a VLAN tag after its addresses; the tag put in last is the outermost.
    #[must_use]
    pub fn vlan(mut self, tpid: u16, id: u16) -> Self {
        let ([t0, t1], [i0, i1]) = (tpid.to_be_bytes(), id.to_be_bytes());
        let place = self.0.len().min(12);
        self.0.splice(place..place, [t0, t1, i0, i1]);
        self
    }

    /// The frame in VXLAN with the group tag, from one tunnel endpoint to another; with tag 0 in
    /// VXLAN without group policy. Of the VNI the low 24 bits are taken.
    #[must_use]
    pub fn vxlan(
        self,
        source: impl Into<IpAddr>,
        destination: impl Into<IpAddr>,
        vni: u32,
        tag: u16,
    ) -> Self {
        let flags = if tag == 0 { I } else { G | I };
        let ([t0, t1], vni) = (tag.to_be_bytes(), (vni & Vni::MAX) << 8);
        let header = [&[flags, 0, t0, t1][..], &vni.to_be_bytes()].concat();
        self.tunnel(source, destination, VXLAN_PORT, header)
    }

    /// The frame in any tunnel over UDP: behind the header, to the port.
    #[must_use]
    pub fn tunnel(
        self,
        source: impl Into<IpAddr>,
        destination: impl Into<IpAddr>,
        port: u16,
        header: Vec<u8>,
    ) -> Self {
        let data = [&header[..], &self.0].concat();
        // A tunnel's checksum may be zero, also over IPv6 (RFC 6935), and mostly is.
        let datagram = packet::datagram(49152, port, &data);
        ForgedPacket::new(source, destination, protocol::UDP, datagram)
            .ethernet(OUTER_SOURCE, OUTER_DESTINATION)
    }

    /// The frame with one byte changed; unchanged if it is shorter than that.
    #[must_use]
    pub fn with(mut self, at: usize, byte: u8) -> Self {
        if let Some(place) = self.0.get_mut(at) {
            *place = byte;
        }
        self
    }

    /// The frame with two bytes changed to a big-endian number.
    #[must_use]
    pub fn with_u16(self, at: usize, number: u16) -> Self {
        let [high, low] = number.to_be_bytes();
        self.with(at, high).with(at + 1, low)
    }

    /// The first bytes of the frame.
    #[must_use]
    pub fn cut(mut self, len: usize) -> Self {
        self.0.truncate(len);
        self
    }

    /// The frame with zeros at its end, up to this length: as short frames are sent.
    #[must_use]
    pub fn padded(mut self, len: usize) -> Self {
        self.0.resize(len.max(self.0.len()), 0);
        self
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, to keep.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl Deref for ForgedFrame {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for ForgedFrame {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
