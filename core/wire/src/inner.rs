//! What one endpoint says to another: "The inner frame" of the README.

use core::net::{IpAddr, Ipv6Addr};

use crate::headers::{Arp, Bth, Ethernet, ROCE_PORT, Tcp, Udp, ethertype, is_tunnel_port};
use crate::ip::{Ip, Part, is_tunnel, protocol};
use crate::{Mac, Reason};

/// A sound frame, of which nobody knows yet whether it may pass.
pub(crate) struct Inner {
    pub(crate) ethernet: Ethernet,
    pub(crate) saying: Saying,
}

/// What a frame says.
pub(crate) enum Saying {
    /// ARP or neighbour discovery: "I have this address".
    Neighbour { speaker: IpAddr, is_arp_request: bool },
    /// An IP packet.
    Packet { source: IpAddr, destination: IpAddr, asks: Asks },
}

/// What two jobs would have to have agreed on.
pub(crate) enum Asks {
    /// TCP or UDP.
    Service { protocol: u8, source: u16, destination: u16, opens: bool },
    /// A sound RoCEv2 packet.
    Roce,
    /// A fragment, first or later: its service is not known or not all there.
    Fragment,
    /// Whatever no permit can name.
    Nothing,
}

/// Opens a frame, or says what is wrong with it.
pub(crate) fn open(frame: &[u8]) -> Result<Inner, Reason> {
    let (ethernet, rest) = Ethernet::read(frame).ok_or(Reason::Truncated)?;
    if ethernet.source.is_group() {
        return Err(Reason::SourceMac);
    }
    let saying = match ethernet.ethertype {
        ethertype::VLAN | ethertype::QINQ | ethertype::OLD_QINQ => return Err(Reason::Vlan),
        ethertype::ARP => arp(ethernet, rest)?,
        other => packet(ethernet.source, Ip::read(other, rest)?)?,
    };
    Ok(Inner { ethernet, saying })
}

fn arp(ethernet: Ethernet, bytes: &[u8]) -> Result<Saying, Reason> {
    let arp = Arp::read(bytes).ok_or(Reason::Truncated)?;
    let is_sound = arp.is_ours && matches!(arp.operation, Arp::REQUEST | Arp::REPLY);
    if !is_sound || arp.sender_mac != ethernet.source {
        return Err(Reason::Forged);
    }
    if ethernet.destination.is_group() && ethernet.destination != Mac::BROADCAST {
        return Err(Reason::Flood);
    }
    let is_arp_request = arp.operation == Arp::REQUEST;
    Ok(Saying::Neighbour { speaker: arp.sender.into(), is_arp_request })
}

fn packet(source_mac: Mac, ip: Ip<'_>) -> Result<Saying, Reason> {
    let payload = ip.payload()?;
    if is_tunnel(ip.protocol) {
        return Err(Reason::Tunnel);
    }
    if !matches!(ip.protocol, protocol::TCP | protocol::UDP) && !ip.is_icmp() {
        return Err(Reason::Protocol);
    }
    let asks = match ip.part() {
        // A fragment this early could overwrite the transport header of the first one.
        Part::Later(offset) if offset < 3 => return Err(Reason::Fragment),
        Part::Later(_) => Asks::Fragment,
        Part::First => {
            transport(&ip, payload, Reason::Fragment)?;
            Asks::Fragment
        }
        Part::Whole if ip.protocol == protocol::ICMPV6 => return icmpv6(source_mac, &ip, payload),
        Part::Whole => transport(&ip, payload, Reason::Length)?,
    };
    Ok(Saying::Packet { source: ip.source, destination: ip.destination, asks })
}

/// The transport of a whole packet or of a first fragment; `short` is what it is called when the
/// header is not all there.
fn transport(ip: &Ip<'_>, payload: &[u8], short: Reason) -> Result<Asks, Reason> {
    match ip.protocol {
        protocol::TCP => tcp(payload, short),
        protocol::UDP => udp(payload, short, ip.part() == Part::First),
        _ if payload.len() < 8 => Err(short),
        _ => Ok(Asks::Nothing),
    }
}

fn tcp(payload: &[u8], short: Reason) -> Result<Asks, Reason> {
    let Tcp { source, destination, data_offset, opens } = Tcp::read(payload).ok_or(short)?;
    if data_offset < 5 {
        return Err(Reason::Header);
    }
    Ok(Asks::Service { protocol: protocol::TCP, source, destination, opens })
}

fn udp(payload: &[u8], short: Reason, is_first: bool) -> Result<Asks, Reason> {
    let (Udp { source, destination, length }, data) = Udp::read(payload).ok_or(short)?;
    let length = usize::from(length);
    // The length of a fragmented datagram is that of all its fragments together.
    let is_true = if is_first { length >= 8 } else { length == payload.len() };
    if !is_true {
        return Err(Reason::Length);
    }
    if is_tunnel_port(destination) {
        return Err(Reason::Tunnel);
    }
    if destination != ROCE_PORT {
        return Ok(Asks::Service { protocol: protocol::UDP, source, destination, opens: false });
    }
    match Bth::read(data) {
        Some(bth) if !is_first && data.len() >= 16 && bth.is_sound() => Ok(Asks::Roce),
        _ => Err(Reason::Bth),
    }
}

fn icmpv6(source_mac: Mac, ip: &Ip<'_>, payload: &[u8]) -> Result<Saying, Reason> {
    match payload {
        &[kind, code, _, _, _, _, _, _, ref body @ ..] => match kind {
            // Routers, and whoever redirects, are devices of the plan and not workloads.
            133 | 134 | 137 => Err(Reason::Forged),
            135 | 136 if code != 0 || ip.hop_limit != 255 => Err(Reason::Forged),
            135 | 136 => discovery(kind, source_mac, ip.source, body),
            _ => {
                let (source, destination) = (ip.source, ip.destination);
                Ok(Saying::Packet { source, destination, asks: Asks::Nothing })
            }
        },
        _ => Err(Reason::Length),
    }
}

/// Neighbour solicitation (135) and advertisement (136): RFC 4861, sections 4.3 and 4.4.
fn discovery(kind: u8, source_mac: Mac, source: IpAddr, body: &[u8]) -> Result<Saying, Reason> {
    let (&target, option) = body.split_first_chunk::<16>().ok_or(Reason::Forged)?;
    let is_named = match *option {
        [] => true,
        [of, 1, a, b, c, d, e, f] => of == kind - 134 && Mac([a, b, c, d, e, f]) == source_mac,
        _ => false,
    };
    if target[0] == 0xff || !is_named {
        return Err(Reason::Forged);
    }
    // Whoever advertises, and whoever asks from `::` whether it may have an address, speaks for
    // the target.
    let is_for_target = kind == 136 || source == Ipv6Addr::UNSPECIFIED;
    let speaker = if is_for_target { Ipv6Addr::from(target).into() } else { source };
    Ok(Saying::Neighbour { speaker, is_arp_request: false })
}
