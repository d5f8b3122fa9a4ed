//! The forge makes frames that a stranger finds sound.

use alloc::vec::Vec;
use core::net::IpAddr;

use super::world::*;
use crate::forge::{ACK, ForgedPacket, at};
use crate::{Bth, FlowTransport, Hook, Spoken, flow};

fn check(packet: ForgedPacket) {
    let bytes = packet.encode();
    let (header, source, destination) = match bytes[0] >> 4 {
        4 => (20, &bytes[12..16], &bytes[16..20]),
        _ => (40, &bytes[8..24], &bytes[24..40]),
    };
    if header == 20 {
        assert_eq!(sum(&[&bytes[..20]]), 0xffff, "the header's checksum");
        assert_eq!(usize::from(u16::from_be_bytes([bytes[2], bytes[3]])), bytes.len());
    } else {
        assert_eq!(usize::from(u16::from_be_bytes([bytes[4], bytes[5]])), bytes.len() - 40);
    }
    let payload = &bytes[header..];
    let protocol = if header == 20 { bytes[9] } else { bytes[6] };
    let pseudo = [(payload.len() as u16).to_be_bytes(), [0, protocol]].concat();
    let transport = match protocol {
        1 => sum(&[payload]),
        _ => sum(&[source, destination, &pseudo, payload]),
    };
    assert_eq!(transport, 0xffff, "the transport's checksum");
}

/// The sum that is all ones over whatever contains its own checksum.
fn sum(parts: &[&[u8]]) -> u16 {
    let bytes: Vec<u8> = parts.concat();
    let mut sum = 0_u16;
    for pair in bytes.chunks(2) {
        let word = u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]);
        let (added, carry) = sum.overflowing_add(word);
        sum = added + u16::from(carry);
    }
    sum
}

#[test]
fn lengths_and_checksums_are_right_in_both_versions() {
    let bth = Bth { opcode: 4, version: 0, pkey: 0xffff, destination_qp: 17 };
    let ends: [(IpAddr, IpAddr); 2] =
        [(HERE.into(), PEER.into()), (six(HERE).into(), six(PEER).into())];
    for (source, destination) in ends {
        for len in [0, 1, 7, 1000] {
            check(ForgedPacket::tcp(source, destination, 1, 2, ACK, len));
            check(ForgedPacket::udp(source, destination, 1, 2, len));
            check(ForgedPacket::roce(source, destination, 1, bth, len));
            check(ForgedPacket::echo(source, destination, len));
        }
    }
    check(ForgedPacket::solicit(six(HERE), six(PEER), Some(mac(HERE))));
    check(ForgedPacket::advertise(six(HERE), six(PEER), six(HERE), None));
}

#[test]
fn what_was_asked_for_is_what_is_read() {
    let bth = Bth { opcode: 0x81, version: 0, pkey: 0x8001, destination_qp: 0x0012_3456 };
    let frame = tunnelled(between(PEER, HERE, ForgedPacket::roce(PEER, HERE, 50000, bth, 16)));
    let seen = flow(Hook::Fabric, &frame);
    let Some(Spoken::Packet(packet)) = seen.spoken else { panic!("no packet in {seen}") };
    assert_eq!(packet.service, FlowTransport::Roce { source: 50000, bth });
    assert_eq!((packet.source, packet.destination), (PEER.into(), HERE.into()));
    assert_eq!(seen.vxlan.map(|vxlan| (vxlan.vni, vxlan.tag)), Some((VNI, 1001)));
    assert_eq!(seen.outer.map(|outer| outer.source), Some(FAR.into()));
    assert_eq!(&frame[at::INNER + 6..at::INNER + 12], mac(PEER).0);
}

#[test]
fn fragments_together_are_the_packet() {
    let packet = ForgedPacket::udp(HERE, PEER, 1, 2, 100);
    for at in [8, 13, 64, 104] {
        let (first, last) = packet.clone().fragments(at);
        assert_eq!([first.payload(), last.payload()].concat(), packet.payload());
        let offset = u16::from_be_bytes([last.encode()[6], last.encode()[7]]);
        assert_eq!(usize::from(offset) * 8, first.payload().len());
    }
}

#[test]
fn a_destination_of_the_other_version_follows_the_source() {
    let v6 = ForgedPacket::udp(six(HERE), PEER, 1, 2, 8).encode();
    assert_eq!(v6[24..40], PEER.to_ipv6_mapped().octets());
    let v4 = ForgedPacket::udp(HERE, six(PEER), 1, 2, 8).encode();
    assert_eq!(v4[16..20], PEER.octets());
}
