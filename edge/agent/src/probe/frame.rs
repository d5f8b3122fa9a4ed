//! What a probe looks like on the wire.

use std::net::{Ipv4Addr, Ipv6Addr};

use filter::Mark;
use wire::Mac;

use super::{Family, ProbeRequest, ProbeWay};

/// Protocol numbers (IANA).
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP6: u8 = 58;

const ROCE_PORT: u16 = 4791;
/// A base transport header: the only packet of a send, the default partition, a queue pair that
/// nobody has.
const BTH: [u8; 12] = [0x04, 0, 0xff, 0xff, 0, 0xff, 0xff, 0xfe, 0, 0, 0, 0];
const HOPS: u8 = 64;

/// Who sends, as the packet program knows the endpoint behind a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    pub(super) mac: Mac,
    pub(super) address: Ipv4Addr,
    pub(super) tenant: u16,
}

/// Why no frame is made: what would leave the endpoints of a fleet.
pub(super) fn refused(ask: &ProbeRequest) -> Option<String> {
    let to = ask.to;
    let is_special =
        to.is_multicast() || to.is_broadcast() || to.is_loopback() || to.is_unspecified();
    if is_special || to.is_link_local() {
        return Some(format!("{to} is no endpoint's address: probes go to single endpoints"));
    }
    let via = Mac(ask.via);
    via.is_group().then(|| format!("{via} is a group's address: probes go to single endpoints"))
}

/// The whole frame.
pub(super) fn frame(sender: Sender, ask: &ProbeRequest, mark: Mark) -> Vec<u8> {
    let mut frame = Vec::new();
    frame.extend(ask.via);
    frame.extend(sender.mac.0);
    match ask.family {
        Family::V4 => packet4(sender, ask, mark, &mut frame),
        Family::V6 => packet6(sender, ask, mark, &mut frame),
    }
    frame
}

/// IPv4 without options (RFC 791); nothing may cut it into pieces.
fn packet4(sender: Sender, ask: &ProbeRequest, mark: Mark, frame: &mut Vec<u8>) {
    frame.extend([0x08, 0x00]);
    let (protocol, mut message) = message(ask, mark);
    let [l0, l1] = (20 + message.len() as u16).to_be_bytes(); // a few dozen
    let mut header = vec![0x45, 0, l0, l1, 0, 0, 0x40, 0, HOPS, protocol, 0, 0];
    header.extend(sender.address.octets());
    header.extend(ask.to.octets());
    let sum = checksum(&header).to_be_bytes();
    header[10..12].copy_from_slice(&sum);
    // ICMP of IPv4 sums itself alone.
    let ends = if protocol == ICMP { &[][..] } else { &header[12..] };
    spoil(protocol, ends, &mut message);
    frame.extend(header);
    frame.extend(message);
}

/// IPv6 without extensions (RFC 8200), between the twins of the IPv4 addresses.
fn packet6(sender: Sender, ask: &ProbeRequest, mark: Mark, frame: &mut Vec<u8>) {
    frame.extend([0x86, 0xdd]);
    let (protocol, mut message) = message(ask, mark);
    let from: Ipv6Addr = wire::ipv6_of(sender.tenant, sender.address);
    let to: Ipv6Addr = wire::ipv6_of(ask.tenant, ask.to);
    let ends = [from.octets(), to.octets()].concat();
    spoil(protocol, &ends, &mut message);
    let [l0, l1] = (message.len() as u16).to_be_bytes();
    frame.extend([0x60, 0, 0, 0, l0, l1, protocol, HOPS]);
    frame.extend(ends);
    frame.extend(message);
}

/// The transport's header and what it carries, with room for its checksum.
fn message(ask: &ProbeRequest, mark: Mark) -> (u8, Vec<u8>) {
    let (protocol, mut message) = match (ask.way, ask.family) {
        (ProbeWay::Icmp, Family::V4) => (ICMP, echo([8, 0][usize::from(ask.answers)])),
        (ProbeWay::Icmp, Family::V6) => (ICMP6, echo([128, 129][usize::from(ask.answers)])),
        (ProbeWay::Tcp(port), _) => (TCP, segment(ask, port)),
        (ProbeWay::Udp(port), _) => (UDP, datagram(ask, port, &[])),
        // RDMA answers to the same port that it asks at.
        (ProbeWay::Roce, _) => {
            (UDP, datagram(&ProbeRequest { answers: false, ..ask.clone() }, ROCE_PORT, &BTH))
        }
    };
    message.extend(mark.bytes());
    (protocol, message)
}

/// An echo, or its answer (RFC 792, RFC 4443).
fn echo(kind: u8) -> Vec<u8> {
    vec![kind, 0, 0, 0, 0, 0, 0, 0]
}

/// The first segment of a connection, or of its answer (RFC 9293).
fn segment(ask: &ProbeRequest, service: u16) -> Vec<u8> {
    const SYN: u8 = 0x02;
    const SYN_ACK: u8 = 0x12;
    let mut segment = ports(ask, service);
    segment.extend([0; 8]);
    segment.extend([0x50, if ask.answers { SYN_ACK } else { SYN }, 0xff, 0xff, 0, 0, 0, 0]);
    segment
}

/// A datagram (RFC 768) that begins with this and ends in a mark.
fn datagram(ask: &ProbeRequest, service: u16, begin: &[u8]) -> Vec<u8> {
    let mut datagram = ports(ask, service);
    let length = (8 + begin.len() + Mark::LEN) as u16; // a few dozen
    datagram.extend(length.to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(begin);
    datagram
}

fn ports(ask: &ProbeRequest, service: u16) -> Vec<u8> {
    let (from, to) = if ask.answers { (service, ask.asker) } else { (ask.asker, service) };
    [from.to_be_bytes(), to.to_be_bytes()].concat()
}

/// Puts a checksum that is wrong, whoever looks: neither the right one nor, for UDP, none.
fn spoil(protocol: u8, ends: &[u8], message: &mut [u8]) {
    let at = match protocol {
        TCP => 16,
        UDP => 6,
        _ => 2,
    };
    let mut summed = ends.to_vec();
    if !ends.is_empty() {
        let [l0, l1] = (message.len() as u16).to_be_bytes();
        summed.extend([0, protocol, l0, l1]);
    }
    summed.extend(&*message);
    let wrong = match checksum(&summed) ^ 0x5555 {
        0 => 0xaaaa,
        wrong => wrong,
    };
    message[at..at + 2].copy_from_slice(&wrong.to_be_bytes());
}

/// The internet checksum (RFC 1071) of an even number of bytes.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks_exact(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !(((folded & 0xffff) + (folded >> 16)) as u16)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use wire::Hook;

    use super::*;

    const SENDER: Sender =
        Sender { mac: Mac([2, 1, 0, 0, 0, 5]), address: Ipv4Addr::new(10, 1, 0, 2), tenant: 17 };
    const MARK: Mark = Mark { run: 7, number: 70_000 };

    fn ask(way: ProbeWay, family: Family, answers: bool) -> ProbeRequest {
        let (to, via) = (Ipv4Addr::new(10, 1, 0, 9), [2, 0, 0, 0, 0, 1]);
        let port = "swp5".to_owned();
        ProbeRequest { port, to, tenant: 18, via, way, family, answers, asker: 61_000 }
    }

    fn check(ways: &[(ProbeWay, bool)], said: Expect) {
        let mut all = String::new();
        for &(way, answers) in ways {
            for family in [Family::V4, Family::V6] {
                let frame = frame(SENDER, &ask(way, family, answers), MARK);
                assert_eq!(Mark::of(&frame), Some(MARK));
                assert!((64..192 - 50).contains(&frame.len()), "{way}: {} bytes", frame.len());
                all.push_str(&format!("{}\n", wire::flow(Hook::Workload, &frame)));
            }
        }
        said.assert_eq(&all);
    }

    #[test]
    fn frames_say_what_was_asked_for() {
        let ways = [
            (ProbeWay::Icmp, false),
            (ProbeWay::Icmp, true),
            (ProbeWay::Tcp(2049), false),
            (ProbeWay::Tcp(2049), true),
            (ProbeWay::Udp(53), false),
            (ProbeWay::Udp(53), true),
            (ProbeWay::Roce, false),
            (ProbeWay::Roce, true),
        ];
        check(
            &ways,
            expect![[r#"
            10.1.0.2 > 10.1.0.9 icmp type 8 code 0
            fd8e:5b3a:71c4:11::a01:2 > fd8e:5b3a:71c4:12::a01:9 icmp type 128 code 0
            10.1.0.2 > 10.1.0.9 icmp type 0 code 0
            fd8e:5b3a:71c4:11::a01:2 > fd8e:5b3a:71c4:12::a01:9 icmp type 129 code 0
            10.1.0.2:61000 > 10.1.0.9:2049 tcp
            [fd8e:5b3a:71c4:11::a01:2]:61000 > [fd8e:5b3a:71c4:12::a01:9]:2049 tcp
            10.1.0.2:2049 > 10.1.0.9:61000 tcp
            [fd8e:5b3a:71c4:11::a01:2]:2049 > [fd8e:5b3a:71c4:12::a01:9]:61000 tcp
            10.1.0.2:61000 > 10.1.0.9:53 udp
            [fd8e:5b3a:71c4:11::a01:2]:61000 > [fd8e:5b3a:71c4:12::a01:9]:53 udp
            10.1.0.2:53 > 10.1.0.9:61000 udp
            [fd8e:5b3a:71c4:11::a01:2]:53 > [fd8e:5b3a:71c4:12::a01:9]:61000 udp
            10.1.0.2:61000 > 10.1.0.9:4791 roce opcode 4 qp 16777214 pkey 0xffff
            [fd8e:5b3a:71c4:11::a01:2]:61000 > [fd8e:5b3a:71c4:12::a01:9]:4791 roce opcode 4 qp 16777214 pkey 0xffff
            10.1.0.2:61000 > 10.1.0.9:4791 roce opcode 4 qp 16777214 pkey 0xffff
            [fd8e:5b3a:71c4:11::a01:2]:61000 > [fd8e:5b3a:71c4:12::a01:9]:4791 roce opcode 4 qp 16777214 pkey 0xffff
        "#]],
        );
    }

    #[test]
    fn the_header_is_sound_and_the_transport_is_not() {
        for way in [ProbeWay::Icmp, ProbeWay::Tcp(22), ProbeWay::Udp(22), ProbeWay::Roce] {
            let frame = frame(SENDER, &ask(way, Family::V4, false), MARK);
            assert_eq!(checksum(&frame[14..34]), 0, "{way}");
            let (ends, message) = (&frame[26..34], &frame[34..]);
            let [l0, l1] = (message.len() as u16).to_be_bytes();
            let mut summed = if way == ProbeWay::Icmp {
                vec![]
            } else {
                [ends, &[0, frame[23], l0, l1]].concat()
            };
            summed.extend(message);
            assert!(!matches!(checksum(&summed), 0 | 0xffff), "{way}: a receiver would take it");
        }
    }

    #[test]
    fn a_checksum_that_would_mean_none_is_never_put() {
        let mut message = vec![0; 8];
        // The right sum is 0x5555, so that its complement in these bits is 0.
        message[0..2].copy_from_slice(&0xaaaa_u16.to_be_bytes());
        spoil(UDP, &[], &mut message);
        assert_eq!(message[6..8], [0xaa, 0xaa]);
    }

    #[test]
    fn what_is_no_single_endpoint_is_refused() {
        let to = |to: &str| {
            refused(&ProbeRequest {
                to: to.parse().unwrap(),
                ..ask(ProbeWay::Icmp, Family::V4, false)
            })
        };
        assert_eq!(to("10.1.0.9"), None);
        for special in ["224.0.0.1", "255.255.255.255", "127.0.0.1", "0.0.0.0", "169.254.1.1"] {
            assert!(to(special).is_some(), "{special}");
        }
        let group = ProbeRequest { via: [0xff; 6], ..ask(ProbeWay::Icmp, Family::V4, false) };
        assert!(refused(&group).is_some());
    }
}
