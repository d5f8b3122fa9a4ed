//! A device with two tenants whose addresses are the same, three jobs, two permits, and every kind
//! of frame one can meet there.

use std::net::{Ipv4Addr, Ipv6Addr};

use model::Port;
use wire::forge::{ACK, ForgedArp, ForgedFrame, ForgedPacket, SYN};
use wire::{Bth, Hook, Mac, ipv6_of};

/// 10.9.0.0 lies far from 10.1.0.0, so that t17 is paged and t18 is not.
pub(crate) const TEXT: &str = "\
vtep 10.255.0.3
default drop
space t17 vni 50017
space t17 vni 101001
space t17 vni 101002
endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp2 tag 1001
endpoint t17 10.1.0.3 mac 02:00:00:00:00:06 port swp3 tag 1001
endpoint t17 10.1.1.2 mac 02:00:00:00:00:07 port swp4 tag 1002
peers t17 10.1.0.4-10.1.0.11 vtep 10.255.0.4 every 4 tag 1001
peers t17 10.1.1.3-10.1.1.4 vtep 10.255.0.4 tag 1002
peers t17 10.9.0.2-10.9.0.2 vtep 10.255.0.9 tag 2001
permit t17 1001 2001 tcp 2049
permit t17 1001 1002 udp 443
space t18 vni 50018
space t18 vni 102001
endpoint t18 10.1.0.2 mac 02:00:00:00:00:08 port swp5 tag 2001
peers t18 10.1.0.3-10.1.0.6 vtep 10.255.0.5 tag 2001
peers t18 10.1.0.7-10.1.0.7 vtep 10.255.0.4 tag 1001
permit t18 1001 2001 tcp 2049
";

pub(crate) const PORTS: u32 = 4;
pub(crate) const TAGS: [u16; 4] = [1001, 1002, 2001, 0];
const VTEPS: [[u8; 4]; 4] = [[10, 255, 0, 3], [10, 255, 0, 4], [10, 255, 0, 5], [10, 255, 0, 9]];
pub(crate) const ADDRESSES: [Ipv4Addr; 10] = [
    Ipv4Addr::new(10, 1, 0, 2),
    Ipv4Addr::new(10, 1, 0, 3),
    Ipv4Addr::new(10, 1, 0, 4),
    Ipv4Addr::new(10, 1, 0, 9),
    Ipv4Addr::new(10, 1, 1, 2),
    Ipv4Addr::new(10, 1, 1, 3),
    Ipv4Addr::new(10, 9, 0, 2),
    Ipv4Addr::new(10, 1, 0, 200),
    Ipv4Addr::new(10, 255, 0, 3),
    Ipv4Addr::new(10, 255, 0, 4),
];

/// Port `swp2` is interface 2, and so on.
pub(crate) fn interface(port: &Port) -> Option<u32> {
    port.to_string().strip_prefix("swp")?.parse().ok()
}

/// Frames of every kind, each at a hook where somebody could send it.
pub(crate) fn frames() -> Vec<(Hook, Vec<u8>)> {
    let mut frames = Vec::new();
    for from in &ADDRESSES[..8] {
        for to in &ADDRESSES[..8] {
            for packet in packets(*from, *to) {
                let frame = packet.ethernet(mac_of(*from), mac_of(*to));
                frames.extend(tunnelled(&frame));
                frames.push((Hook::Workload, frame.clone().into_bytes()));
                frames.push((Hook::Local, frame.into_bytes()));
            }
        }
        for frame in neighbours(*from) {
            frames.extend(tunnelled(&frame));
            frames.push((Hook::Workload, frame.clone().into_bytes()));
            frames.push((Hook::Local, frame.into_bytes()));
        }
    }
    frames.extend(underlay());
    frames
}

/// What most frames are, at each hook: in one job, and by a permit. They come from and go to the
/// endpoint of port `swp2`; beside each what its port puts on it.
pub(crate) fn ordinary() -> Vec<(Hook, u16, Vec<u8>)> {
    let (here, peer, server) = (ADDRESSES[0], ADDRESSES[2], ADDRESSES[6]);
    let bth = Bth { opcode: 4, pkey: 0xffff, destination_qp: 17, version: 0 };
    let mut frames = Vec::new();
    for packet in [
        |from, to| ForgedPacket::udp(from, to, 49152, 443, 40),
        |from, to| ForgedPacket::tcp(from, to, 40000, 2049, SYN, 0),
        |from, to| ForgedPacket::tcp(from, to, 2049, 40000, ACK, 1000),
        |from, to| ForgedPacket::echo(from, to, 56),
    ] {
        frames.extend(both_directions(packet(here, peer), packet(peer, here), 1001, VTEPS[1]));
    }
    let roce = |from, to| ForgedPacket::roce(from, to, 49152, bth, 64);
    frames.extend(both_directions(roce(here, peer), roce(peer, here), 1001, VTEPS[1]));
    let asks = ForgedPacket::tcp(here, server, 40000, 2049, SYN, 0);
    let answers = ForgedPacket::tcp(server, here, 2049, 40000, SYN | ACK, 0);
    frames.extend(both_directions(asks, answers, 2001, VTEPS[3]));
    frames
}

/// The same frame with tag 0: on the wire where it is tunnelled, beside it at a port.
pub(crate) fn untagged((hook, mark, frame): &(Hook, u16, Vec<u8>)) -> Option<(Hook, u16, Vec<u8>)> {
    let mut frame = frame.clone();
    let has_mark = *mark != 0;
    let has_tag = *hook == Hook::Fabric && frame.len() > 50 && frame[36..38] == [0x12, 0xb5];
    if has_tag {
        frame[44..46].fill(0);
    }
    (has_mark || has_tag).then_some((*hook, 0, frame))
}

/// A packet that leaves the endpoint of `swp2`, and one with a tag that comes to it from behind a
/// tunnel endpoint: through the fabric, and to the port.
fn both_directions(
    leaves: ForgedPacket,
    comes: ForgedPacket,
    tag: u16,
    vtep: [u8; 4],
) -> [(Hook, u16, Vec<u8>); 3] {
    let (here, there) = (mac_of(ADDRESSES[0]), Mac([2, 0, 0, 0, 0, 1]));
    let comes = comes.ethernet(there, here);
    let tunnelled = comes.clone().vxlan(vtep, VTEPS[0], 50017, tag);
    [
        (Hook::Workload, 0, leaves.ethernet(here, there).into_bytes()),
        (Hook::Fabric, 0, tunnelled.into_bytes()),
        (Hook::Local, tag, comes.into_bytes()),
    ]
}

fn mac_of(address: Ipv4Addr) -> Mac {
    let last = match address.octets() {
        [10, 1, 0, 2] => 5,
        [10, 1, 0, 3] => 6,
        [10, 1, 1, 2] => 7,
        [.., last] => last.wrapping_add(40),
    };
    Mac([2, 0, 0, 0, 0, last])
}

fn packets(from: Ipv4Addr, to: Ipv4Addr) -> Vec<ForgedPacket> {
    let (from6, to6) = (ipv6_of(17, from), ipv6_of(17, to));
    let (theirs, others) = (ipv6_of(18, from), ipv6_of(18, to));
    let bth = Bth { opcode: 4, pkey: 0xffff, destination_qp: 17, version: 0 };
    let (first, last) = ForgedPacket::udp(from, to, 5000, 6000, 120).fragments(64);
    vec![
        ForgedPacket::udp(from, to, 49152, 443, 40),
        ForgedPacket::udp(from, to, 443, 49152, 0),
        ForgedPacket::udp(from, to, 5000, 4789, 60),
        ForgedPacket::tcp(from, to, 40000, 2049, SYN, 0),
        ForgedPacket::tcp(from, to, 2049, 40000, SYN, 0),
        ForgedPacket::tcp(from, to, 2049, 40000, SYN | ACK, 30),
        ForgedPacket::roce(from, to, 49152, bth, 64),
        ForgedPacket::roce(from, to, 49152, Bth { pkey: 0x8000, ..bth }, 64),
        ForgedPacket::echo(from, to, 56),
        ForgedPacket::new(from, to, 47, vec![0; 30]),
        ForgedPacket::new(from, to, 132, vec![0; 30]),
        first,
        last,
        ForgedPacket::udp(from6, to6, 49152, 443, 40),
        ForgedPacket::tcp(from6, to6, 40000, 2049, ACK, 0),
        ForgedPacket::tcp(from6, others, 40000, 2049, SYN, 0),
        ForgedPacket::tcp(theirs, to6, 2049, 40000, ACK, 0),
        ForgedPacket::udp(theirs, to6, 49152, 443, 40),
        ForgedPacket::roce(from6, to6, 49152, bth, 64),
        ForgedPacket::echo(from6, to6, 56),
        ForgedPacket::icmp(from6, to6, 134, 0, 16),
    ]
}

fn neighbours(of: Ipv4Addr) -> Vec<ForgedFrame> {
    let mac = mac_of(of);
    let six = ipv6_of(17, of);
    let request = ForgedArp {
        reply: false,
        sender_mac: mac,
        sender: of,
        target_mac: Mac([0; 6]),
        target: ADDRESSES[0],
    };
    let probe = ForgedArp { sender: Ipv4Addr::UNSPECIFIED, ..request };
    let gateway = Mac([2, 0, 0, 0, 0, 1]);
    let answer =
        ForgedArp { reply: true, sender_mac: gateway, sender: [10, 1, 0, 1].into(), ..request };
    let group = Mac([0x33, 0x33, 0xff, 0, 0, 2]);
    vec![
        ForgedFrame::arp(request, Mac::BROADCAST),
        ForgedFrame::arp(ForgedArp { reply: true, ..request }, mac_of(ADDRESSES[0])),
        ForgedFrame::arp(probe, Mac::BROADCAST),
        ForgedFrame::arp(answer, mac),
        ForgedPacket::solicit(six, ipv6_of(17, ADDRESSES[0]), Some(mac)).ethernet(mac, group),
        ForgedPacket::solicit(Ipv6Addr::UNSPECIFIED, six, None).ethernet(mac, group),
        ForgedPacket::advertise(six, ipv6_of(17, ADDRESSES[0]), six, Some(mac))
            .ethernet(mac, gateway),
    ]
}

fn tunnelled(frame: &ForgedFrame) -> Vec<(Hook, Vec<u8>)> {
    let own = Ipv4Addr::from(VTEPS[0]);
    let outer = Ipv4Addr::from(VTEPS[1]);
    [
        frame.clone().vxlan(outer, own, 50017, 1001),
        frame.clone().vxlan(outer, own, 101_001, 1001).vlan(0x8100, 7),
        frame.clone().vxlan(Ipv4Addr::from(VTEPS[2]), own, 50018, 2001),
        frame.clone().vxlan(Ipv4Addr::from(VTEPS[3]), own, 50017, 2001).padded(300),
        frame.clone().vxlan(ipv6_of(0, outer), ipv6_of(0, own), 50017, 1002),
        frame.clone().vxlan(outer, own, 50017, 0),
    ]
    .into_iter()
    .map(|frame| (Hook::Fabric, frame.into_bytes()))
    .collect()
}

fn underlay() -> Vec<(Hook, Vec<u8>)> {
    let (from, to) = (Ipv4Addr::from(VTEPS[1]), Ipv4Addr::from(VTEPS[0]));
    let (a, b) = (Mac([2, 1, 0, 0, 0, 1]), Mac([2, 1, 0, 0, 0, 2]));
    let inner = ForgedPacket::udp(ADDRESSES[2], ADDRESSES[0], 5000, 6000, 30).ethernet(a, b);
    [
        ForgedPacket::tcp(from, to, 40000, 179, ACK, 19).ethernet(a, b),
        ForgedPacket::udp(from, to, 49152, 3784, 24).ethernet(a, b),
        ForgedPacket::echo(ipv6_of(0, from), ipv6_of(0, to), 8).ethernet(a, b),
        ForgedPacket::new(from, to, 47, vec![0; 20]).ethernet(a, b),
        ForgedFrame::ethertype(a, b, 0x88cc, vec![0; 46]),
        ForgedFrame::ethertype(a, b, 0x8847, vec![0; 46]),
        inner.tunnel(from, to, 6081, vec![0; 8]),
    ]
    .into_iter()
    .map(|frame| (Hook::Fabric, frame.into_bytes()))
    .collect()
}
