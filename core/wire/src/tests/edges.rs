//! Every number of the page at its edge: one field goes through all its values.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use expect_test::{Expect, expect};

use super::world::*;
use crate::forge::{ACK, ForgedArp, ForgedFrame, ForgedPacket, at};
use crate::{Mac, Reason, ipv6_of};

const ALL: RangeInclusive<u16> = 0..=u16::MAX;
const BYTE: RangeInclusive<u16> = 0..=255;

fn check(sweeps: &[String], expected: &Expect) {
    expected.assert_eq(&sweeps.concat());
}

/// One line: which values get which reason, and what all the others get.
fn sweep(name: &str, values: RangeInclusive<u16>, sight: impl Fn(u16) -> Sight) -> String {
    let mut groups: Vec<(Reason, Vec<u16>)> = vec![];
    for value in values {
        let reason = sight(value).judge().reason;
        match groups.iter_mut().find(|(same, _)| *same == reason) {
            Some((_, values)) => values.push(value),
            None => groups.push((reason, vec![value])),
        }
    }
    groups.sort_by_key(|(_, values)| values.len());
    let (others, _) = groups.pop().unwrap();
    let said = groups.iter().map(|(reason, values)| format!("{reason} {}, ", runs(values)));
    format!("{name}: {}else {others}\n", said.collect::<String>())
}

/// As `4 47 50-51`.
fn runs(values: &[u16]) -> String {
    let runs = values.chunk_by(|one, next| one + 1 == *next).map(|run| match run {
        [only] => format!("{only}"),
        _ => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    runs.collect::<Vec<_>>().join(" ")
}

/// A sound frame of each kind, in which one place is set to a value.
fn workload(at: usize, value: &[u8]) -> Sight {
    set(Sight::workload(udp(HERE, PEER, 80)), at, value)
}

fn workload_six(at: usize, value: &[u8]) -> Sight {
    let packet = ForgedPacket::udp(six(HERE), six(PEER), 1, 2, 64);
    set(Sight::workload(between(HERE, PEER, packet)), at, value)
}

fn fabric(at: usize, value: &[u8]) -> Sight {
    set(Sight::fabric(tunnelled(udp(PEER, HERE, 80))), at, value)
}

fn fabric_six(at: usize, value: &[u8]) -> Sight {
    let frame = udp(PEER, HERE, 80).vxlan(ipv6_of(0, FAR), ipv6_of(0, OWN), VNI, 1001);
    set(Sight::fabric(frame), at, value)
}

fn set(mut sight: Sight, at: usize, value: &[u8]) -> Sight {
    sight.frame[at..at + value.len()].copy_from_slice(value);
    sight
}

/// A value as one byte, and as two.
fn byte(value: u16) -> [u8; 1] {
    [value.to_le_bytes()[0]]
}

fn word(value: u16) -> [u8; 2] {
    value.to_be_bytes()
}

fn send(packet: ForgedPacket) -> Sight {
    Sight::workload(between(HERE, PEER, packet))
}

#[test]
fn ethertypes() {
    check(
        &[
            sweep("workload", ALL, |value| workload(12, &word(value))),
            sweep("fabric", ALL, |value| fabric(12, &word(value))),
        ],
        &expect![[r#"
            workload: job 2048, forged 2054, header 34525, vlan 33024 34984 37120, else ethertype
            fabric: job 2048, header 34525, underlay 2054 35020, else ethertype
        "#]],
    );
}

#[test]
fn versions_and_header_lengths() {
    check(
        &[
            sweep("workload, IPv4", BYTE, |value| workload(at::IP, &byte(value))),
            sweep("workload, IPv6", BYTE, |value| workload_six(at::IP, &byte(value))),
            sweep("fabric, IPv4", BYTE, |value| fabric(at::IP, &byte(value))),
            sweep("fabric, IPv6", BYTE, |value| fabric_six(at::IP, &byte(value))),
        ],
        &expect![[r#"
            workload, IPv4: job 69, options 70-79, else header
            workload, IPv6: job 96-111, else header
            fabric, IPv4: job 69, options 70-79, else header
            fabric, IPv6: job 96-111, else header
        "#]],
    );
}

#[test]
fn protocols() {
    check(
        &[
            sweep("workload, IPv4", BYTE, |value| workload(at::IP + 9, &byte(value))),
            sweep("workload, IPv6", BYTE, |value| workload_six(at::IP + 6, &byte(value))),
            sweep("fabric, IPv4", BYTE, |value| fabric(at::IP + 9, &byte(value))),
            sweep("fabric, IPv6", BYTE, |value| fabric_six(at::IP + 6, &byte(value))),
        ],
        &expect![[r#"
            workload, IPv4: header 6, job 1 17, tunnel 4 41 47 55 94 97 115 137, else protocol
            workload, IPv6: header 6, fragment 44, job 17 58, options 0 43 50-51 60 135 139-140, tunnel 4 41 47 55 94 97 115 137, else protocol
            fabric, IPv4: job 17, underlay 1 6, tunnel 4 41 47 55 94 97 115 137, else protocol
            fabric, IPv6: job 17, fragment 44, underlay 6 58, options 0 43 50-51 60 135 139-140, tunnel 4 41 47 55 94 97 115 137, else protocol
        "#]],
    );
}

#[test]
fn fragment_flags_and_offsets() {
    check(
        &[
            sweep("workload", ALL, |value| workload(at::IP + 6, &word(value))),
            sweep("fabric", ALL, |value| fabric(at::IP + 6, &word(value))),
        ],
        &expect![[r#"
            workload: fragment 1-2 8193-8194 16385-16386 24577-24578, job 0 3-8192 8195-16384 16387-24576 24579-32767, else header
            fabric: job 0 16384, fragment 1-16383 16385-32767, else header
        "#]],
    );
}

#[test]
fn ports() {
    let outer = |port| Sight::fabric(between(FAR, OWN, ForgedPacket::udp(FAR, OWN, 1, port, 16)));
    check(
        &[
            sweep("workload", ALL, |port| Sight::workload(udp(HERE, PEER, port))),
            sweep("fabric", ALL, outer),
        ],
        &expect![[r#"
            workload: bth 4791, tunnel 2152 3544 4789-4790 6081 6635 8472, else job
            fabric: truncated 4789, tunnel 2152 3544 4790 6081 6635 8472, else underlay
        "#]],
    );
}

#[test]
fn transports_that_are_too_short() {
    let short = |packet: ForgedPacket, len: u16, more: bool| {
        let payload = packet.payload()[..len.into()].to_vec();
        send(ForgedPacket::new(HERE, PEER, packet.encode()[9], payload).fragment(0, more))
    };
    let tcp = || ForgedPacket::tcp(HERE, PEER, 1, 2, ACK, 20);
    let echo = || ForgedPacket::echo(HERE, PEER, 32);
    let udp = |len: u16| ForgedPacket::udp(HERE, PEER, 1, 2, usize::from(len).saturating_sub(8));
    check(
        &[
            sweep("TCP", 0..=30, |len| short(tcp(), len, false)),
            sweep("TCP, first", 0..=30, |len| short(tcp(), len, true)),
            sweep("UDP", 0..=30, |len| short(udp(len), len, false)),
            sweep("UDP, first", 0..=30, |len| short(udp(len), len, true)),
            sweep("ICMP", 0..=30, |len| short(echo(), len, false)),
            sweep("ICMP, first", 0..=30, |len| short(echo(), len, true)),
        ],
        &expect![[r#"
            TCP: job 20-30, else length
            TCP, first: job 20-30, else fragment
            UDP: length 0-7, else job
            UDP, first: fragment 0-7, else job
            ICMP: length 0-7, else job
            ICMP, first: fragment 0-7, else job
        "#]],
    );
}

#[test]
fn lengths_that_are_said() {
    let first = |length| {
        let packet = ForgedPacket::udp(HERE, PEER, 1, 2, 16).fragment(0, true);
        set(send(packet), at::TRANSPORT + 4, &word(length))
    };
    check(
        &[
            sweep("IPv4", ALL, |length| workload(at::IP + 2, &word(length))),
            sweep("IPv6", ALL, |length| workload_six(at::IP + 4, &word(length))),
            sweep("UDP", ALL, |length| workload(at::TRANSPORT + 4, &word(length))),
            sweep("UDP, first", ALL, first),
            sweep("outer IPv4", ALL, |length| fabric(at::IP + 2, &word(length))),
            sweep("outer UDP", ALL, |length| fabric(at::TRANSPORT + 4, &word(length))),
        ],
        &expect![[r#"
            IPv4: job 44, else length
            IPv6: job 72, else length
            UDP: job 24, else length
            UDP, first: length 0-7, else job
            outer IPv4: job 94, else length
            outer UDP: job 74, else length
        "#]],
    );
}

#[test]
fn what_is_in_a_tunnel_and_too_short() {
    let inner = |len: u16| Sight::fabric(tunnelled(udp(PEER, HERE, 80).cut(len.into())));
    let outer = |len: u16| {
        Sight::fabric(between(FAR, OWN, ForgedPacket::udp(FAR, OWN, 1, 4789, len.into())))
    };
    check(
        &[sweep("frame", 0..=58, inner), sweep("datagram", 0..=30, outer)],
        &expect![[r#"
        frame: job 58, length 34-57, else truncated
        datagram: vxlan 22-30, else truncated
    "#]],
    );
}

#[test]
fn roce_headers() {
    let sound = || send(roce(HERE, PEER, 17, 0xffff));
    // The header and the checksum need sixteen bytes, with nothing between them.
    let cut = |len: u16| {
        let mut packet = ForgedPacket::udp(HERE, PEER, 1, 4791, len.into());
        for (place, byte) in packet.payload_mut()[8..].iter_mut().zip([4, 0, 0xff, 0xff]) {
            *place = byte;
        }
        send(packet)
    };
    check(
        &[
            sweep("version", 0..=32, |value| set(sound(), at::TRANSPORT + 9, &byte(value))),
            sweep("P_Key", ALL, |value| set(sound(), at::TRANSPORT + 10, &word(value))),
            sweep("length", 0..=30, cut),
        ],
        &expect![[r#"
            version: job 0 16 32, else bth
            P_Key: bth 0 32768, else job
            length: job 16-30, else bth
        "#]],
    );
}

#[test]
fn vxlan_bits() {
    check(
        &[
            sweep("first", BYTE, |value| fabric(at::VXLAN, &byte(value))),
            sweep("second", BYTE, |value| fabric(at::VXLAN + 1, &byte(value))),
            sweep("last", BYTE, |value| fabric(at::VXLAN + 7, &byte(value))),
        ],
        &expect![[r#"
            first: untagged 8, job 136, else vxlan
            second: job 0 8 64 72, else vxlan
            last: job 0, else vxlan
        "#]],
    );
}

#[test]
fn what_arp_begins_with() {
    let (sender_mac, target_mac) = (mac(HERE), Mac([0; 6]));
    let arp = ForgedArp { reply: false, sender_mac, sender: HERE, target_mac, target: PEER };
    let frame = || ForgedFrame::arp(arp, Mac::BROADCAST);
    let spoiled = |place: u16| {
        let at = 14 + usize::from(place);
        set(Sight::workload(frame()), at, &[frame()[at] ^ 0x10])
    };
    check(
        &[
            sweep("a byte that is another", 0..=27, spoiled),
            sweep("operation", ALL, |value| set(Sight::workload(frame()), 20, &word(value))),
            sweep("length", 0..=28, |len| Sight::workload(frame().cut(14 + usize::from(len)))),
        ],
        &expect![[r#"
            a byte that is another: source 14-17, neighbour 18-27, else forged
            operation: neighbour 1-2, else forged
            length: neighbour 28, else truncated
        "#]],
    );
}

#[test]
fn neighbour_discovery() {
    let icmp = |kind| send(ForgedPacket::icmp(six(HERE), six(PEER), kind, 0, 16).hop_limit(255));
    let solicit = || send(ForgedPacket::solicit(six(HERE), six(PEER), Some(mac(HERE))));
    let advertise =
        || send(ForgedPacket::advertise(six(HERE), six(PEER), six(HERE), Some(mac(HERE))));
    let (hops, code, target, option) = (at::IP + 7, at::IP + 41, at::IP + 48, at::IP + 64);
    // A header, a target, and at most one option.
    let short = |len: u16| {
        let whole = ForgedPacket::solicit(six(HERE), six(PEER), Some(mac(HERE)));
        let payload = whole.payload()[..len.into()].to_vec();
        send(ForgedPacket::new(six(HERE), six(PEER), 58, payload).hop_limit(255))
    };
    check(
        &[
            sweep("type", BYTE, |value| icmp(byte(value)[0])),
            sweep("hop limit", BYTE, |value| set(solicit(), hops, &byte(value))),
            sweep("code", BYTE, |value| set(solicit(), code, &byte(value))),
            sweep("target asked for", BYTE, |value| set(solicit(), target, &byte(value))),
            sweep("target told", BYTE, |value| set(advertise(), target, &byte(value))),
            sweep("option of 135", BYTE, |value| set(solicit(), option, &byte(value))),
            sweep("option of 136", BYTE, |value| set(advertise(), option, &byte(value))),
            sweep("its length", BYTE, |value| set(advertise(), option + 1, &byte(value))),
            sweep("its address", BYTE, |value| set(advertise(), option + 7, &byte(value))),
            sweep("length", 0..=32, short),
        ],
        &expect![[r#"
            type: neighbour 135, source 136, forged 133-134 137, else job
            hop limit: neighbour 255, else forged
            code: neighbour 0, else forged
            target asked for: forged 255, else neighbour
            target told: neighbour 253, forged 255, else source
            option of 135: neighbour 1, else forged
            option of 136: neighbour 2, else forged
            its length: neighbour 1, else forged
            its address: neighbour 2, else forged
            length: neighbour 24 32, length 0-7, else forged
        "#]],
    );
}

#[test]
fn vlan_tags_of_an_uplink() {
    let tagged = |count: u16| {
        let frame = tunnelled(udp(PEER, HERE, 80));
        (0..count).fold(frame, |frame, id| frame.vlan(0x8100, id))
    };
    check(
        &[
            sweep("number", 0..=5, |count| Sight::fabric(tagged(count))),
            // A third tag is known by its first two bytes.
            sweep("length", 0..=40, |len| Sight::fabric(tagged(3).cut(len.into()))),
        ],
        &expect![[r#"
            number: job 0-2, else vlan
            length: vlan 22-40, else truncated
        "#]],
    );
}
