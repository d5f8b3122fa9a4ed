//! A frame in one line, for people: as much as could be read, whether it may pass or not.

use core::fmt;
use core::net::{IpAddr, SocketAddr};

use crate::headers::{ROCE_PORT, Udp, VXLAN_PORT, ethertype, ports};
use crate::ip::{Ip, Part, protocol};
use crate::outer::untag;
use crate::{Arp, Bth, Ethernet, Hook, Vxlan};

/// What could be read of a frame.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Flow {
    /// The packet that carries the tunnel, or the host's own packet; only at [`Hook::Fabric`].
    pub outer: Option<Packet>,
    /// The tunnel's header.
    pub vxlan: Option<Vxlan>,
    /// The innermost Ethernet header.
    pub ethernet: Option<Ethernet>,
    /// What the innermost frame says.
    pub spoken: Option<Spoken>,
}

/// What a frame says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Spoken {
    /// An ARP message.
    Arp(Arp),
    /// An IP packet.
    Packet(Packet),
}

/// What could be read of an IP packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Packet {
    /// Who says it sent it.
    pub source: IpAddr,
    /// Who shall have it.
    pub destination: IpAddr,
    /// The number of the transport protocol.
    pub protocol: u8,
    /// What it is for.
    pub service: FlowTransport,
    /// Where the fragment belongs, in bytes; none if it is no fragment.
    pub fragment_at: Option<u32>,
}

/// What could be read of a transport header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FlowTransport {
    /// TCP or UDP.
    Ports {
        /// The port it is from.
        source: u16,
        /// The port it is for.
        destination: u16,
    },
    /// RoCEv2.
    Roce {
        /// The port it is from, which only spreads the load.
        source: u16,
        /// Which queue pair it is for, and what it wants there.
        bth: Bth,
    },
    /// ICMP or ICMPv6.
    Icmp {
        /// The type of message.
        kind: u8,
        /// The code, which is of that type.
        code: u8,
    },
    /// Nothing could be read: another protocol, a later fragment, or too few bytes.
    Unread,
}

/// Reads a frame as the hook met it.
#[must_use]
pub fn flow(hook: Hook, frame: &[u8]) -> Flow {
    let innermost = inside(frame);
    let (Hook::Fabric, Some(Spoken::Packet(outer))) = (hook, innermost.spoken) else {
        return innermost;
    };
    match tunnel(frame) {
        Some((vxlan, frame)) => Flow { outer: Some(outer), vxlan: Some(vxlan), ..inside(frame) },
        None => Flow { outer: Some(outer), spoken: None, ..innermost },
    }
}

/// What a frame says, whatever VLAN tags are before it.
fn inside(frame: &[u8]) -> Flow {
    let Some((tagged, _)) = Ethernet::read(frame) else { return Flow::default() };
    let (ethernet, rest) = untag(frame).unwrap_or((tagged, &[]));
    let spoken = match ethernet.ethertype {
        ethertype::ARP => Arp::read(rest).map(Spoken::Arp),
        other => Ip::read(other, rest).ok().map(|ip| Spoken::Packet(Packet::of(&ip))),
    };
    Flow { ethernet: Some(ethernet), spoken, ..Flow::default() }
}

/// The tunnel in a frame, and the frame in the tunnel.
fn tunnel(frame: &[u8]) -> Option<(Vxlan, &[u8])> {
    let (ethernet, rest) = untag(frame).ok()?;
    let ip = Ip::read(ethernet.ethertype, rest).ok()?;
    let (udp, data) = Udp::read(ip.visible())?;
    let is_vxlan = ip.protocol == protocol::UDP && udp.destination == VXLAN_PORT;
    if is_vxlan && !matches!(ip.part(), Part::Later(_)) { Vxlan::read(data) } else { None }
}

impl Packet {
    fn of(ip: &Ip<'_>) -> Self {
        let Ip { source, destination, protocol, .. } = *ip;
        let fragment_at = match ip.part() {
            Part::Whole => None,
            Part::First => Some(0),
            Part::Later(offset) => Some(u32::from(offset) * 8),
        };
        Self { source, destination, protocol, service: FlowTransport::of(ip), fragment_at }
    }

    fn ports(&self) -> Option<(u16, u16)> {
        match self.service {
            FlowTransport::Ports { source, destination } => Some((source, destination)),
            FlowTransport::Roce { source, .. } => Some((source, ROCE_PORT)),
            FlowTransport::Icmp { .. } | FlowTransport::Unread => None,
        }
    }
}

impl FlowTransport {
    fn of(ip: &Ip<'_>) -> Self {
        let bytes = ip.visible();
        match (ip.part(), ip.protocol) {
            (Part::Later(_), _) => Self::Unread,
            (_, protocol::TCP | protocol::UDP) => Self::of_ports(ip.protocol, bytes),
            _ if ip.is_icmp() => match *bytes {
                [kind, code, ..] => Self::Icmp { kind, code },
                _ => Self::Unread,
            },
            _ => Self::Unread,
        }
    }

    fn of_ports(protocol: u8, bytes: &[u8]) -> Self {
        let Some((source, destination)) = ports(bytes) else { return Self::Unread };
        let is_roce = protocol == protocol::UDP && destination == ROCE_PORT;
        let bth = Udp::read(bytes).filter(|_| is_roce).and_then(|(_, data)| Bth::read(data));
        match bth {
            Some(bth) => Self::Roce { source, bth },
            None => Self::Ports { source, destination },
        }
    }
}

/// As `10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 tcp`.
impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.outer, self.vxlan) {
            (Some(outer), Some(vxlan)) => {
                write!(f, "{} > {} {vxlan}", outer.source, outer.destination)?;
            }
            (Some(outer), None) => return outer.fmt(f),
            (None, _) => {}
        }
        let gap = if self.vxlan.is_some() { " " } else { "" };
        match (self.spoken, self.ethernet) {
            (Some(Spoken::Packet(packet)), _) => write!(f, "{gap}{packet}"),
            (Some(Spoken::Arp(arp)), _) => write!(f, "{gap}{arp}"),
            (None, Some(ethernet)) => write!(f, "{gap}{ethernet}"),
            (None, None) => write!(f, "{gap}unreadable"),
        }
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ports() {
            Some((source, destination)) => {
                let source = SocketAddr::new(self.source, source);
                write!(f, "{source} > {}", SocketAddr::new(self.destination, destination))?;
            }
            None => write!(f, "{} > {}", self.source, self.destination)?,
        }
        match (self.service, self.protocol) {
            (FlowTransport::Roce { bth, .. }, _) => write!(f, " roce {bth}")?,
            (FlowTransport::Icmp { kind, code }, _) => write!(f, " icmp type {kind} code {code}")?,
            (_, protocol::TCP) => f.write_str(" tcp")?,
            (_, protocol::UDP) => f.write_str(" udp")?,
            (_, other) => write!(f, " protocol {other}")?,
        }
        match self.fragment_at {
            Some(at) => write!(f, " fragment at {at}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Vxlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tag {
            0 => write!(f, "vni {} untagged", self.vni),
            tag => write!(f, "vni {} tag {tag}", self.vni),
        }
    }
}

impl fmt::Display for Bth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "opcode {} qp {} pkey {:#06x}", self.opcode, self.destination_qp, self.pkey)
    }
}

impl fmt::Display for Arp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, sender_mac, sender, target, .. } = self;
        match *operation {
            Self::REQUEST => write!(f, "arp {sender} at {sender_mac} asks for {target}"),
            Self::REPLY => write!(f, "arp {sender} is at {sender_mac}"),
            other => write!(f, "arp operation {other} of {sender} at {sender_mac}"),
        }
    }
}

impl fmt::Display for Ethernet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {} ethertype {:#06x}", self.source, self.destination, self.ethertype)
    }
}
