//! What an attacker who owns a port, or a host of the fabric, would put into its headers.

use alloc::vec;
use core::net::{Ipv4Addr, Ipv6Addr};

use expect_test::expect;

use super::world::*;
use crate::forge::{ACK, ForgedFrame, ForgedPacket, SYN, at};
use crate::ipv6_of;

#[test]
fn a_vlan_tag_opens_no_way_for_a_workload_and_two_are_skipped_on_an_uplink() {
    let frame = || udp(HERE, PEER, 80);
    let tunnel = || tunnelled(udp(PEER, HERE, 80));
    check(
        &[
            Sight::workload(frame().vlan(0x8100, 100)),
            Sight::workload(frame().vlan(0x8100, 100).vlan(0x88a8, 7)),
            Sight::workload(frame().vlan(0x9100, 100)),
            Sight::local(1001, udp(PEER, HERE, 80)).vlan_beside(),
            Sight::fabric(tunnel().vlan(0x8100, 100).vlan(0x88a8, 7)),
            Sight::fabric(tunnel().vlan(0x8100, 1).vlan(0x8100, 2).vlan(0x88a8, 3)),
            Sight::fabric(tunnel().vlan(0x8100, 100).cut(17)),
            Sight::fabric(tunnelled(udp(PEER, HERE, 80).vlan(0x8100, 100))),
        ],
        &expect![[r#"
            vlan 1001 0
              10.1.0.2:49152 > 10.1.0.3:80 udp
            vlan 1001 0
              10.1.0.2:49152 > 10.1.0.3:80 udp
            vlan 1001 0
              02:00:00:00:00:02 > 02:00:00:00:00:03 ethertype 0x9100
            vlan 0 1001
              10.1.0.3:49152 > 10.1.0.2:80 udp
            job 1001 1001
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            vlan 0 0
              02:ff:00:00:00:01 > 02:ff:00:00:00:02 ethertype 0x88a8
            truncated 0 0
              02:ff:00:00:00:01 > 02:ff:00:00:00:02 ethertype 0x8100
            vlan 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
        "#]],
    );
}

#[test]
fn a_tunnel_from_a_workload_or_in_a_tunnel_is_refused() {
    let geneve = vec![0, 0, 0x65, 0x58, 0, 0, 1, 0];
    let packet = || ForgedPacket::udp(HERE, PEER, 1, 2, 8);
    check(
        &[
            Sight::workload(between(HERE, PEER, ForgedPacket::udp(HERE, PEER, 49152, 4789, 64))),
            Sight::workload(udp(HERE, OFFERS, 8472)),
            Sight::workload(udp(HERE, PEER, 80).tunnel(HERE, PEER, 6081, geneve)),
            Sight::workload(between(HERE, PEER, packet().inside(HERE, PEER, 4))),
            Sight::workload(between(HERE, PEER, packet().inside(six(HERE), six(PEER), 4))),
            Sight::workload(between(HERE, PEER, packet().inside(HERE, PEER, 47))),
            Sight::fabric(tunnelled(tunnelled(udp(PEER, HERE, 80)))),
            Sight::fabric(udp(PEER, HERE, 80).tunnel(
                FAR,
                OWN,
                4790,
                vec![0x0c, 0, 0, 3, 0, 0, 1, 0],
            )),
            Sight::fabric(between(FAR, OWN, packet().inside(FAR, OWN, 41))),
        ],
        &expect![[r#"
            tunnel 1001 0
              10.1.0.2:49152 > 10.1.0.3:4789 udp
            tunnel 1001 0
              10.1.0.2:49152 > 10.1.0.19:8472 udp
            tunnel 1001 0
              10.1.0.2:49152 > 10.1.0.3:6081 udp
            tunnel 1001 0
              10.1.0.2 > 10.1.0.3 protocol 4
            tunnel 1001 0
              fd8e:5b3a:71c4:11::a01:2 > fd8e:5b3a:71c4:11::a01:3 protocol 4
            tunnel 1001 0
              10.1.0.2 > 10.1.0.3 protocol 47
            tunnel 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.255.0.4:49152 > 10.255.0.3:4789 udp
            tunnel 0 0
              10.255.0.4:49152 > 10.255.0.3:4790 udp
            tunnel 0 0
              10.255.0.4 > 10.255.0.3 protocol 41
        "#]],
    );
}

#[test]
fn a_fragment_never_carries_a_service_between_jobs_and_none_can_overwrite_a_header() {
    let packet = || ForgedPacket::tcp(HERE, OFFERS, 40000, 2049, SYN, 64);
    let peer = || ForgedPacket::tcp(HERE, PEER, 40000, 2049, SYN, 64);
    let send = |packet: ForgedPacket| Sight::workload(between(HERE, PEER, packet));
    let (first, last) = peer().fragments(40);
    let (foreign_first, foreign_last) = packet().fragments(40);
    check(
        &[
            send(first),
            send(last),
            send(foreign_first),
            send(foreign_last),
            // The first fragment ends inside of the TCP header.
            send(peer().fragments(8).0),
            send(peer().fragments(8).1),
            send(peer().fragments(16).0),
            // A second one that lies over the first one's ports or flags.
            send(peer().fragment(8, true)),
            send(peer().fragment(16, false)),
            send(peer().fragment(24, false)),
            // RoCEv2 is not taken apart.
            send(roce(HERE, PEER, 17, 0xffff).fragments(32).0),
            send(ForgedPacket::echo(HERE, PEER, 32).fragments(0).0),
            Sight::fabric(tunnelled(udp(PEER, HERE, 80)).with(at::IP + 6, 0x20)),
            Sight::fabric(tunnelled(udp(PEER, HERE, 80)).with(at::IP + 7, 9)),
        ],
        &expect![[r#"
            job 1001 1001
              10.1.0.2:40000 > 10.1.0.3:2049 tcp fragment at 0
            job 1001 1001
              10.1.0.2 > 10.1.0.3 tcp fragment at 40
            fragment 1001 1002
              10.1.0.2:40000 > 10.1.0.19:2049 tcp fragment at 0
            fragment 1001 1002
              10.1.0.2 > 10.1.0.19 tcp fragment at 40
            fragment 1001 0
              10.1.0.2:40000 > 10.1.0.3:2049 tcp fragment at 0
            fragment 1001 0
              10.1.0.2 > 10.1.0.3 tcp fragment at 8
            fragment 1001 0
              10.1.0.2:40000 > 10.1.0.3:2049 tcp fragment at 0
            fragment 1001 0
              10.1.0.2 > 10.1.0.3 tcp fragment at 8
            fragment 1001 0
              10.1.0.2 > 10.1.0.3 tcp fragment at 16
            job 1001 1001
              10.1.0.2 > 10.1.0.3 tcp fragment at 24
            bth 1001 0
              10.1.0.2:49152 > 10.1.0.3:4791 roce opcode 4 qp 17 pkey 0xffff fragment at 0
            fragment 1001 0
              10.1.0.2 > 10.1.0.3 protocol 1 fragment at 0
            fragment 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            fragment 0 0
              10.255.0.4 > 10.255.0.3 udp fragment at 72
        "#]],
    );
}

#[test]
fn ipv6_extension_headers_and_fragments_hide_nothing() {
    let send = |next| {
        let packet = ForgedPacket::udp(six(HERE), six(PEER), 1, 2, 64).protocol(next);
        Sight::workload(between(HERE, PEER, packet))
    };
    let all = [17, 0, 43, 44, 50, 51, 60, 135, 139, 140, 59, 1, 41].map(send);
    check(
        &all,
        &expect![[r#"
        job 1001 1001
          [fd8e:5b3a:71c4:11::a01:2]:1 > [fd8e:5b3a:71c4:11::a01:3]:2 udp
        options 1001 0
          fd8e:5b3a:71c4:11::a01:2 > fd8e:5b3a:71c4:11::a01:3 protocol 0
        options 1001 0
          fd8e:5b3a:71c4:11::a01:2 > fd8e:5b3a:71c4:11::a01:3 protocol 43
        fragment 1001 0
          fd8e:5b3a:71c4:11::a01:2 > fd8e:5b3a:71c4:11::a01:3 protocol 44
        options 1001 0
          fd8e:5b3a:71c4:11::a01:2 > fd8e:5b3a:71c4:11::a01:3 protocol 50
        options 1001 0
          fd8e:5b3a:71c4:11::a01:2 > fd8e:5b3a:71c4:11::a01:3 protocol 51
        options 1001 0
          fd8e:5b3a:71c4:11::a01:2 > fd8e:5b3a:71c4:11::a01:3 protocol 60
        options 1001 0
          fd8e:5b3a:71c4:11::a01:2 > fd8e:5b3a:71c4:11::a01:3 protocol 135
        options 1001 0
          fd8e:5b3a:71c4:11::a01:2 > fd8e:5b3a:71c4:11::a01:3 protocol 139
        options 1001 0
          fd8e:5b3a:71c4:11::a01:2 > fd8e:5b3a:71c4:11::a01:3 protocol 140
        protocol 1001 0
          fd8e:5b3a:71c4:11::a01:2 > fd8e:5b3a:71c4:11::a01:3 protocol 59
        protocol 1001 0
          fd8e:5b3a:71c4:11::a01:2 > fd8e:5b3a:71c4:11::a01:3 protocol 1
        tunnel 1001 0
          fd8e:5b3a:71c4:11::a01:2 > fd8e:5b3a:71c4:11::a01:3 protocol 41
    "#]],
    );
}

#[test]
fn ipv6_addresses_under_another_tenants_number_are_never_of_the_job() {
    let send = |source: Ipv6Addr, destination: Ipv6Addr| {
        Sight::workload(between(HERE, PEER, ForgedPacket::udp(source, destination, 1, 2, 8)))
    };
    let tunnel = |source, destination| {
        let packet = ForgedPacket::udp(six(PEER), six(HERE), 1, 2, 8);
        Sight::fabric(between(PEER, HERE, packet).vxlan(source, destination, VNI, 1001))
    };
    check(
        &[
            send(six(HERE), six(PEER)),
            send(ipv6_of(BLUE, HERE), six(PEER)),
            send(six(HERE), ipv6_of(BLUE, PEER)),
            send(six(HERE), ipv6_of(0, PEER)),
            send("fe80::2".parse().unwrap(), six(PEER)),
            tunnel(ipv6_of(0, FAR), ipv6_of(0, OWN)),
            tunnel(ipv6_of(RED, FAR), ipv6_of(0, OWN)),
            tunnel(ipv6_of(0, FARTHER), ipv6_of(0, OWN)),
            tunnel(ipv6_of(0, FAR), ipv6_of(RED, OWN)),
        ],
        &expect![[r#"
            job 1001 1001
              [fd8e:5b3a:71c4:11::a01:2]:1 > [fd8e:5b3a:71c4:11::a01:3]:2 udp
            source 1001 0
              [fd8e:5b3a:71c4:12::a01:2]:1 > [fd8e:5b3a:71c4:11::a01:3]:2 udp
            other-job 1001 1001
              [fd8e:5b3a:71c4:11::a01:2]:1 > [fd8e:5b3a:71c4:12::a01:3]:2 udp
            destination 1001 0
              [fd8e:5b3a:71c4:11::a01:2]:1 > [fd8e:5b3a:71c4::a01:3]:2 udp
            source 1001 0
              [fe80::2]:1 > [fd8e:5b3a:71c4:11::a01:3]:2 udp
            job 1001 1001
              fd8e:5b3a:71c4::aff:4 > fd8e:5b3a:71c4::aff:3 vni 101001 tag 1001 [fd8e:5b3a:71c4:11::a01:3]:1 > [fd8e:5b3a:71c4:11::a01:2]:2 udp
            outer-source 1001 0
              fd8e:5b3a:71c4:11::aff:4 > fd8e:5b3a:71c4::aff:3 vni 101001 tag 1001 [fd8e:5b3a:71c4:11::a01:3]:1 > [fd8e:5b3a:71c4:11::a01:2]:2 udp
            outer-source 1001 0
              fd8e:5b3a:71c4::aff:5 > fd8e:5b3a:71c4::aff:3 vni 101001 tag 1001 [fd8e:5b3a:71c4:11::a01:3]:1 > [fd8e:5b3a:71c4:11::a01:2]:2 udp
            not-ours 0 0
              fd8e:5b3a:71c4::aff:4 > fd8e:5b3a:71c4:11::aff:3 vni 101001 tag 1001 [fd8e:5b3a:71c4:11::a01:3]:1 > [fd8e:5b3a:71c4:11::a01:2]:2 udp
        "#]],
    );
}

#[test]
fn a_forged_tunnel_does_not_enter() {
    let frame = || udp(PEER, HERE, 80);
    check(
        &[
            Sight::fabric(frame().vxlan(FAR, OWN, VNI, 1001)),
            // Of the right fabric, but not the tunnel endpoint this peer is behind.
            Sight::fabric(frame().vxlan(FARTHER, OWN, VNI, 1001)),
            Sight::fabric(frame().vxlan(Ipv4Addr::new(192, 0, 2, 1), OWN, VNI, 1001)),
            Sight::fabric(frame().vxlan(FAR, FARTHER, VNI, 1001)),
            // The tag is missing, zero, or another job's.
            Sight::fabric(frame().vxlan(FAR, OWN, VNI, 0)),
            Sight::fabric(frame().vxlan(FAR, OWN, VNI, 1001).with_u16(at::VXLAN + 2, 0)),
            Sight::fabric(frame().vxlan(FAR, OWN, VNI, 1002)),
            Sight::fabric(frame().vxlan(FAR, OWN, VNI_OF_NOBODY, 1001)),
            Sight::fabric(frame().vxlan(FAR, OWN, VNI - 1, 1001)),
            Sight::fabric(frame().vxlan(FAR, OWN, VNI_OF_BLUE, 1001)),
            Sight::fabric(udp(PEER, HERE, 80).vxlan(FAR, OWN, VNI_OF_BLUE, 2001)),
            Sight::fabric(udp(PEER, THIRD, 80).vxlan(FAR, OWN, VNI, 1001)),
            Sight::fabric(udp(NOBODY, HERE, 80).vxlan(FAR, OWN, VNI, 1001)),
            Sight::fabric(tunnelled(frame()).with(at::VXLAN + 1, 0x48)),
            Sight::fabric(tunnelled(frame()).with(at::VXLAN + 1, 0x01)),
            Sight::fabric(tunnelled(frame()).with(at::VXLAN + 7, 0x01)),
        ],
        &expect![[r#"
            job 1001 1001
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            outer-source 1001 0
              10.255.0.5 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            outer-source 1001 0
              192.0.2.1 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            not-ours 0 0
              10.255.0.4 > 10.255.0.5 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            untagged 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 untagged 10.1.0.3:49152 > 10.1.0.2:80 udp
            untagged 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 untagged 10.1.0.3:49152 > 10.1.0.2:80 udp
            tag 1001 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1002 10.1.0.3:49152 > 10.1.0.2:80 udp
            vni 0 0
              10.255.0.4 > 10.255.0.3 vni 101003 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            vni 0 0
              10.255.0.4 > 10.255.0.3 vni 101000 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            tag 2001 0
              10.255.0.4 > 10.255.0.3 vni 101004 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            job 2001 2001
              10.255.0.4 > 10.255.0.3 vni 101004 tag 2001 10.1.0.3:49152 > 10.1.0.2:80 udp
            elsewhere 1001 1001
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.4:80 udp
            source 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.9:49152 > 10.1.0.2:80 udp
            job 1001 1001
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            vxlan 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            vxlan 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
        "#]],
    );
}

#[test]
fn lengths_that_lie_are_named() {
    let frame = || udp(HERE, PEER, 80);
    let tunnel = || tunnelled(udp(PEER, HERE, 80));
    check(
        &[
            Sight::workload(frame().padded(60)),
            Sight::workload(frame().with_u16(at::IP + 2, 19)),
            Sight::workload(frame().with_u16(at::IP + 2, 1500)),
            Sight::workload(frame().with_u16(at::IP + 2, 27)),
            Sight::workload(frame().with_u16(at::TRANSPORT + 4, 23)),
            Sight::workload(tcp(HERE, PEER, [1, 2], ACK).with(at::TRANSPORT + 12, 0x40)),
            Sight::workload(frame().cut(13)),
            Sight::fabric(tunnel().with_u16(at::TRANSPORT + 4, 60)),
            Sight::fabric(tunnel().with_u16(at::IP + 2, 27)),
            Sight::fabric(ForgedFrame::cut(udp(PEER, HERE, 80), 13).vxlan(FAR, OWN, VNI, 1001)),
            // The inner packet reaches beyond what the outer one carries, into padding.
            Sight::fabric(tunnelled(udp(PEER, HERE, 80).cut(57)).padded(200)),
        ],
        &expect![[r#"
            job 1001 1001
              10.1.0.2:49152 > 10.1.0.3:80 udp
            length 1001 0
              10.1.0.2 > 10.1.0.3 udp
            length 1001 0
              10.1.0.2:49152 > 10.1.0.3:80 udp
            length 1001 0
              10.1.0.2:49152 > 10.1.0.3:80 udp
            length 1001 0
              10.1.0.2:49152 > 10.1.0.3:80 udp
            header 1001 0
              10.1.0.2:1 > 10.1.0.3:2 tcp
            truncated 1001 0
              unreadable
            length 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            length 0 0
              10.255.0.4:49152 > 10.255.0.3:4789 udp
            truncated 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 unreadable
            length 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
        "#]],
    );
}
