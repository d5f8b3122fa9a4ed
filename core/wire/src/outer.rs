//! What came over the fabric: hook `fabric` of the README, steps 1 to 4.

use crate::Reason;
use crate::headers::{Ethernet, Udp, VXLAN_PORT, Vxlan, ethertype, is_tunnel_port};
use crate::ip::{Ip, Part, is_tunnel, protocol};

/// A frame from the fabric.
pub(crate) enum Outer<'a> {
    /// The host's own traffic.
    Underlay,
    /// A tunnel's packet, not judged yet, and the frame inside.
    Tunnel { ip: Ip<'a>, vxlan: Vxlan, frame: &'a [u8] },
}

/// Opens the outer headers as far as they are sound.
pub(crate) fn open(frame: &[u8]) -> Result<Outer<'_>, Reason> {
    let (ethernet, packet) = untag(frame)?;
    if matches!(ethernet.ethertype, ethertype::ARP | ethertype::LLDP) {
        return Ok(Outer::Underlay);
    }
    let ip = Ip::read(ethernet.ethertype, packet)?;
    let payload = ip.payload()?;
    if ip.part() != Part::Whole {
        return Err(Reason::Fragment);
    }
    if ip.protocol == protocol::TCP || ip.is_icmp() {
        return Ok(Outer::Underlay);
    }
    if is_tunnel(ip.protocol) {
        return Err(Reason::Tunnel);
    }
    if ip.protocol != protocol::UDP {
        return Err(Reason::Protocol);
    }
    datagram(ip, payload)
}

/// The Ethernet header behind at most two VLAN tags.
pub(crate) fn untag(frame: &[u8]) -> Result<(Ethernet, &[u8]), Reason> {
    let (mut ethernet, mut rest) = Ethernet::read(frame).ok_or(Reason::Truncated)?;
    for _ in 0..2 {
        if ethernet.has_tag() {
            (ethernet, rest) = ethernet.skip_tag(rest).ok_or(Reason::Truncated)?;
        }
    }
    if ethernet.has_tag() { Err(Reason::Vlan) } else { Ok((ethernet, rest)) }
}

fn datagram<'a>(ip: Ip<'a>, payload: &'a [u8]) -> Result<Outer<'a>, Reason> {
    let (udp, data) = Udp::read(payload).ok_or(Reason::Length)?;
    if !is_tunnel_port(udp.destination) {
        return Ok(Outer::Underlay);
    }
    if udp.destination != VXLAN_PORT {
        return Err(Reason::Tunnel);
    }
    if usize::from(udp.length) != payload.len() {
        return Err(Reason::Length);
    }
    // The shortest frame inside is an Ethernet header; the page counts 30 bytes from UDP on.
    match Vxlan::read(data) {
        Some((vxlan, frame)) if frame.len() >= 14 => Ok(Outer::Tunnel { ip, vxlan, frame }),
        _ => Err(Reason::Truncated),
    }
}
