//! IP packets made to order: TCP, UDP, RoCE, ICMP, neighbour discovery, and fragments of them.

use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{ForgedFrame, sum};
use crate::headers::{ROCE_PORT, ethertype};
use crate::ip::protocol;
use crate::{Bth, Mac};

/// The flag of TCP that ends a direction.
pub const FIN: u8 = 0x01;
/// The flag of TCP that opens a connection.
pub const SYN: u8 = 0x02;
/// The flag of TCP that breaks a connection.
pub const RST: u8 = 0x04;
/// The flag of TCP that acknowledges.
pub const ACK: u8 = 0x10;

/// An IP packet: IPv4 or IPv6 as its source is. A destination of the other version is brought into
/// that of the source: an IPv4 one is mapped, of an IPv6 one the last four bytes are taken.
///
/// Payloads of a wanted length are filled with the bytes 0, 1, 2 and so on.
#[derive(Clone, Debug)]
pub struct ForgedPacket {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    hop_limit: u8,
    fragment: u16,
    payload: Vec<u8>,
}

impl ForgedPacket {
    /// Any payload.
    #[must_use]
    pub fn new(
        source: impl Into<IpAddr>,
        destination: impl Into<IpAddr>,
        protocol: u8,
        payload: Vec<u8>,
    ) -> Self {
        let source = source.into();
        let destination = match (source, destination.into()) {
            (IpAddr::V6(_), IpAddr::V4(address)) => address.to_ipv6_mapped().into(),
            (IpAddr::V4(_), IpAddr::V6(address)) => {
                let [.., a, b, c, d] = address.octets();
                Ipv4Addr::new(a, b, c, d).into()
            }
            (_, same) => same,
        };
        Self { source, destination, protocol, hop_limit: 64, fragment: 0, payload }
    }

    /// TCP with the given flags and no options.
    #[must_use]
    pub fn tcp(
        source: impl Into<IpAddr>,
        destination: impl Into<IpAddr>,
        source_port: u16,
        destination_port: u16,
        flags: u8,
        payload_len: usize,
    ) -> Self {
        let ([s0, s1], [d0, d1]) = (source_port.to_be_bytes(), destination_port.to_be_bytes());
        let header = [s0, s1, d0, d1, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0];
        let segment = [&header[..], &filling(payload_len)].concat();
        Self::new(source, destination, protocol::TCP, segment).summed(16)
    }

    /// UDP.
    #[must_use]
    pub fn udp(
        source: impl Into<IpAddr>,
        destination: impl Into<IpAddr>,
        source_port: u16,
        destination_port: u16,
        payload_len: usize,
    ) -> Self {
        let datagram = datagram(source_port, destination_port, &filling(payload_len));
        Self::new(source, destination, protocol::UDP, datagram).summed(6)
    }

    /// RoCEv2: UDP to port 4791 with the header, a payload and four zero bytes in place of the
    /// invariant checksum, which only an RDMA NIC reads.
    #[must_use]
    pub fn roce(
        source: impl Into<IpAddr>,
        destination: impl Into<IpAddr>,
        source_port: u16,
        bth: Bth,
        payload_len: usize,
    ) -> Self {
        let ([p0, p1], [_, q0, q1, q2]) =
            (bth.pkey.to_be_bytes(), bth.destination_qp.to_be_bytes());
        let header = [bth.opcode, bth.version & 0x0f, p0, p1, 0, q0, q1, q2, 0, 0, 0, 1];
        let data = [&header[..], &filling(payload_len), &[0; 4]].concat();
        let datagram = datagram(source_port, ROCE_PORT, &data);
        Self::new(source, destination, protocol::UDP, datagram).summed(6)
    }

    /// An echo request: ICMP or ICMPv6.
    #[must_use]
    pub fn echo(
        source: impl Into<IpAddr>,
        destination: impl Into<IpAddr>,
        payload_len: usize,
    ) -> Self {
        let source = source.into();
        let kind = if source.is_ipv4() { 8 } else { 128 };
        Self::icmp(source, destination, kind, 0, payload_len)
    }

    /// Any message of ICMP or ICMPv6 whose header is eight bytes.
    #[must_use]
    pub fn icmp(
        source: impl Into<IpAddr>,
        destination: impl Into<IpAddr>,
        kind: u8,
        code: u8,
        payload_len: usize,
    ) -> Self {
        let message = [&[kind, code, 0, 0, 0, 1, 0, 1][..], &filling(payload_len)].concat();
        Self::control(source.into(), destination.into(), message)
    }

    /// A neighbour solicitation: who has the target? To the target's group; from `::` it asks
    /// whether the target may be taken. The option names the asker's Ethernet address.
    #[must_use]
    pub fn solicit(source: Ipv6Addr, target: Ipv6Addr, option: Option<Mac>) -> Self {
        let [.., a, b, c] = target.octets();
        let (a, bc) = (0xff00 | u16::from(a), u16::from_be_bytes([b, c]));
        let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, a, bc);
        Self::discovery(135, source, group, target, option)
    }

    /// A neighbour advertisement: the target is here, at the Ethernet address of the option.
    #[must_use]
    pub fn advertise(
        source: Ipv6Addr,
        destination: Ipv6Addr,
        target: Ipv6Addr,
        option: Option<Mac>,
    ) -> Self {
        Self::discovery(136, source, destination, target, option)
    }

    fn discovery(
        kind: u8,
        source: Ipv6Addr,
        destination: Ipv6Addr,
        target: Ipv6Addr,
        option: Option<Mac>,
    ) -> Self {
        let mut message = [&[kind, 0, 0, 0, 0, 0, 0, 0][..], &target.octets()].concat();
        if let Some(mac) = option {
            message.extend([kind - 134, 1]);
            message.extend(mac.0);
        }
        Self::control(source.into(), destination.into(), message).hop_limit(255)
    }

    fn control(source: IpAddr, destination: IpAddr, message: Vec<u8>) -> Self {
        if source.is_ipv6() {
            return Self::new(source, destination, protocol::ICMPV6, message).summed(2);
        }
        // The checksum of ICMP is the only one that leaves the addresses out.
        let mut packet = Self::new(source, destination, protocol::ICMP, message);
        let checksum = sum::of(&packet.payload);
        packet.write(2, checksum);
        packet
    }

    /// The same packet as another protocol's; nothing else changes.
    #[must_use]
    pub fn protocol(self, protocol: u8) -> Self {
        Self { protocol, ..self }
    }

    /// The same packet with another hop limit, which IPv4 calls time to live.
    #[must_use]
    pub fn hop_limit(self, hop_limit: u8) -> Self {
        Self { hop_limit, ..self }
    }

    /// The same packet as a fragment: at this many bytes, of which the low three bits are lost,
    /// and with more to come or not. IPv6 packets stay whole.
    #[must_use]
    pub fn fragment(self, offset: u16, more: bool) -> Self {
        let more = if more { 0x2000 } else { 0 };
        Self { fragment: (offset / 8) | more, ..self }
    }

    /// The packet in two fragments, cut at this many bytes of its payload, rounded down to a
    /// multiple of eight.
    #[must_use]
    pub fn fragments(mut self, at: u16) -> (Self, Self) {
        let cut = usize::from(at & !7).min(self.payload.len());
        let rest = self.payload.split_off(cut);
        let last = Self { payload: rest, ..self.clone() };
        (self.fragment(0, true), last.fragment(at, false))
    }

    /// The packet inside of another one: IPv4 in IPv4 (4), IPv6 (41), or whatever is said.
    #[must_use]
    pub fn inside(
        self,
        source: impl Into<IpAddr>,
        destination: impl Into<IpAddr>,
        protocol: u8,
    ) -> Self {
        Self::new(source, destination, protocol, self.encode())
    }

    /// What the packet carries.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// What the packet carries, to change it; its checksum stays as it was.
    #[must_use]
    pub fn payload_mut(&mut self) -> &mut Vec<u8> {
        &mut self.payload
    }

    /// The packet in a frame.
    #[must_use]
    pub fn ethernet(self, source: Mac, destination: Mac) -> ForgedFrame {
        let is_v4 = self.source.is_ipv4();
        let ethertype = if is_v4 { ethertype::IPV4 } else { ethertype::IPV6 };
        ForgedFrame::ethertype(source, destination, ethertype, self.encode())
    }

    /// The bytes from the IP header on. Of a payload that is longer than a length can say, the
    /// length says the most it can.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let header = match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => self.v4(source, destination),
            (IpAddr::V6(source), IpAddr::V6(destination)) => self.v6(source, destination),
            // `new` has brought both into one version.
            _ => Vec::new(),
        };
        [&header[..], &self.payload].concat()
    }

    fn v4(&self, source: Ipv4Addr, destination: Ipv4Addr) -> Vec<u8> {
        let [l0, l1] = length(20 + self.payload.len());
        let [f0, f1] = self.fragment.to_be_bytes();
        let fixed = [0x45, 0, l0, l1, 0, 1, f0, f1, self.hop_limit, self.protocol, 0, 0];
        let mut header = [&fixed[..], &source.octets(), &destination.octets()].concat();
        let checksum = sum::of(&header).to_be_bytes();
        header.splice(10..12, checksum);
        header
    }

    fn v6(&self, source: Ipv6Addr, destination: Ipv6Addr) -> Vec<u8> {
        let [l0, l1] = length(self.payload.len());
        let fixed = [0x60, 0, 0, 0, l0, l1, self.protocol, self.hop_limit];
        [&fixed[..], &source.octets(), &destination.octets()].concat()
    }

    /// The packet with the transport's checksum at its place.
    fn summed(mut self, at: usize) -> Self {
        let Self { source, destination, protocol, .. } = self;
        let checksum = match sum::of_transport(source, destination, protocol, &self.payload) {
            // Zero would mean that UDP has none; all ones is the same sum.
            0 if protocol == protocol::UDP => 0xffff,
            checksum => checksum,
        };
        self.write(at, checksum);
        self
    }

    fn write(&mut self, at: usize, number: u16) {
        if let Some(place) = self.payload.get_mut(at..at + 2) {
            place.copy_from_slice(&number.to_be_bytes());
        }
    }
}

/// A UDP header without checksum, and its data.
pub(super) fn datagram(source: u16, destination: u16, data: &[u8]) -> Vec<u8> {
    let [[s0, s1], [d0, d1]] = [source, destination].map(u16::to_be_bytes);
    let [l0, l1] = length(8 + data.len());
    [&[s0, s1, d0, d1, l0, l1, 0, 0][..], data].concat()
}

/// A length as a header says it; what is too long for it says the most.
fn length(len: usize) -> [u8; 2] {
    u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes()
}

fn filling(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    for (byte, number) in bytes.iter_mut().zip(0_usize..) {
        *byte = number.to_le_bytes()[0];
    }
    bytes
}
