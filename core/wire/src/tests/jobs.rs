//! What two known endpoints may exchange.

use core::net::Ipv4Addr;

use expect_test::expect;

use super::world::*;
use crate::forge::{ACK, ForgedFrame, ForgedPacket, RST, SYN, at};
use crate::{Mac, ipv6_of};

#[test]
fn roce_keeps_to_its_job_whatever_queue_pair_it_names() {
    let send = |destination, qp, pkey| {
        Sight::workload(between(HERE, destination, roce(HERE, destination, qp, pkey)))
    };
    let short = ForgedPacket::udp(HERE, PEER, 49152, 4791, 15);
    let version = between(HERE, PEER, roce(HERE, PEER, 17, 0xffff)).with(at::TRANSPORT + 9, 0x41);
    check(
        &[
            send(PEER, 17, 0xffff),
            send(OFFERS, 17, 0xffff),
            send(STRANGER, 1, 0x7fff),
            send(NOBODY, 17, 0xffff),
            send(PEER, 17, 0x8000),
            send(PEER, 17, 0),
            Sight::workload(between(HERE, PEER, short)),
            Sight::workload(version),
            Sight::local(1002, between(OFFERS, HERE, roce(OFFERS, HERE, 17, 0xffff))),
            Sight::fabric(
                between(OFFERS, HERE, roce(OFFERS, HERE, 17, 0xffff)).vxlan(FAR, OWN, VNI, 1002),
            ),
        ],
        &expect![[r#"
            job 1001 1001
              10.1.0.2:49152 > 10.1.0.3:4791 roce opcode 4 qp 17 pkey 0xffff
            roce 1001 1002
              10.1.0.2:49152 > 10.1.0.19:4791 roce opcode 4 qp 17 pkey 0xffff
            roce 1001 1003
              10.1.0.2:49152 > 10.1.0.20:4791 roce opcode 4 qp 1 pkey 0x7fff
            destination 1001 0
              10.1.0.2:49152 > 10.1.0.9:4791 roce opcode 4 qp 17 pkey 0xffff
            bth 1001 0
              10.1.0.2:49152 > 10.1.0.3:4791 roce opcode 4 qp 17 pkey 0x8000
            bth 1001 0
              10.1.0.2:49152 > 10.1.0.3:4791 roce opcode 4 qp 17 pkey 0x0000
            bth 1001 0
              10.1.0.2:49152 > 10.1.0.3:4791 roce opcode 0 qp 329223 pkey 0x0203
            bth 1001 0
              10.1.0.2:49152 > 10.1.0.3:4791 roce opcode 4 qp 17 pkey 0xffff
            roce 1002 1001
              10.1.0.19:49152 > 10.1.0.2:4791 roce opcode 4 qp 17 pkey 0xffff
            roce 1002 1001
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1002 10.1.0.19:49152 > 10.1.0.2:4791 roce opcode 4 qp 17 pkey 0xffff
        "#]],
    );
}

#[test]
fn a_permit_finds_the_other_tenant_under_its_own_number() {
    let (here, other) = (six(HERE), ipv6_of(BLUE, OFFERS));
    let ask = |port| ForgedPacket::tcp(here, other, 40000, port, SYN, 16);
    let answer = ForgedPacket::tcp(other, here, 2049, 40000, SYN | ACK, 16);
    let answer = between(OFFERS, HERE, answer);
    check(
        &[
            Sight::workload(between(HERE, OFFERS, ask(2049))),
            Sight::workload(between(HERE, OFFERS, ask(22))),
            Sight::fabric(answer.clone().vxlan(FAR, OWN, VNI, 1002)),
            Sight::local(1002, answer),
        ],
        &expect![[r#"
            permit 1001 1002
              [fd8e:5b3a:71c4:11::a01:2]:40000 > [fd8e:5b3a:71c4:12::a01:13]:2049 tcp
            other-job 1001 1002
              [fd8e:5b3a:71c4:11::a01:2]:40000 > [fd8e:5b3a:71c4:12::a01:13]:22 tcp
            permit 1002 1001
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1002 [fd8e:5b3a:71c4:12::a01:13]:2049 > [fd8e:5b3a:71c4:11::a01:2]:40000 tcp
            permit 1002 1001
              [fd8e:5b3a:71c4:12::a01:13]:2049 > [fd8e:5b3a:71c4:11::a01:2]:40000 tcp
        "#]],
    );
}

#[test]
fn a_permit_opens_one_service_one_way() {
    let fabric = |frame: ForgedFrame| Sight::fabric(frame.vxlan(FAR, OWN, VNI, 1002));
    check(
        &[
            Sight::workload(tcp(HERE, OFFERS, [40000, 2049], SYN)),
            fabric(tcp(OFFERS, HERE, [2049, 40000], SYN | ACK)),
            fabric(tcp(OFFERS, HERE, [2049, 40000], RST)),
            // The provider may answer from its service's port, but not open a connection.
            fabric(tcp(OFFERS, HERE, [2049, 22], SYN)),
            fabric(tcp(OFFERS, HERE, [40000, 2049], ACK)),
            Sight::workload(tcp(HERE, OFFERS, [2049, 22], SYN)),
            Sight::workload(udp(HERE, OFFERS, 2049)),
            Sight::workload(udp(HERE, OFFERS, 53)),
            Sight::workload(udp(OFFERS_HERE, HERE, 53)).on(SWP6),
            Sight::local(1002, between(OFFERS, HERE, ForgedPacket::udp(OFFERS, HERE, 53, 9, 8))),
            Sight::workload(tcp(HERE, STRANGER, [40000, 2049], SYN)),
            Sight::workload(between(HERE, OFFERS, ForgedPacket::echo(HERE, OFFERS, 8))),
        ],
        &expect![[r#"
            permit 1001 1002
              10.1.0.2:40000 > 10.1.0.19:2049 tcp
            permit 1002 1001
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1002 10.1.0.19:2049 > 10.1.0.2:40000 tcp
            permit 1002 1001
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1002 10.1.0.19:2049 > 10.1.0.2:40000 tcp
            other-job 1002 1001
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1002 10.1.0.19:2049 > 10.1.0.2:22 tcp
            other-job 1002 1001
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1002 10.1.0.19:40000 > 10.1.0.2:2049 tcp
            other-job 1001 1002
              10.1.0.2:2049 > 10.1.0.19:22 tcp
            other-job 1001 1002
              10.1.0.2:49152 > 10.1.0.19:2049 udp
            permit 1001 1002
              10.1.0.2:49152 > 10.1.0.19:53 udp
            other-job 1002 1001
              10.1.0.18:49152 > 10.1.0.2:53 udp
            permit 1002 1001
              10.1.0.19:53 > 10.1.0.2:9 udp
            other-job 1001 1003
              10.1.0.2:40000 > 10.1.0.20:2049 tcp
            other-job 1001 1002
              10.1.0.2 > 10.1.0.19 icmp type 8 code 0
        "#]],
    );
}

#[test]
fn a_workload_is_bound_to_its_addresses_and_what_reaches_one_is_for_it() {
    let frame = |from, to| udp(from, to, 80);
    check(
        &[
            Sight::workload(ForgedPacket::udp(HERE, PEER, 1, 2, 8).ethernet(mac(PEER), mac(HERE))),
            Sight::workload(
                ForgedPacket::udp(PEER, THIRD, 1, 2, 8).ethernet(mac(HERE), mac(THIRD)),
            ),
            Sight::workload(
                ForgedPacket::udp(HERE, PEER, 1, 2, 8).ethernet(mac(HERE), Mac::BROADCAST),
            ),
            Sight::workload(frame(HERE, Ipv4Addr::new(224, 0, 0, 251))),
            Sight::local(1001, frame(PEER, HERE)),
            Sight::local(1001, frame(PEER, THIRD)),
            Sight::local(0, frame(PEER, HERE)),
            Sight::local(1002, frame(PEER, HERE)),
            Sight::local(1001, frame(NOBODY, HERE)),
            Sight::local(1003, frame(STRANGER, HERE)),
            // The same frame on the port of a tenant with the same addresses.
            Sight::local(1001, frame(PEER, HERE)).on(SWP8),
            Sight::local(2001, frame(PEER, HERE)).on(SWP8),
            Sight::local(1001, frame(PEER, HERE)).on(SWP7),
        ],
        &expect![[r#"
            source-mac 1001 0
              10.1.0.2:1 > 10.1.0.3:2 udp
            source 1001 0
              10.1.0.3:1 > 10.1.0.4:2 udp
            flood 1001 0
              10.1.0.2:1 > 10.1.0.3:2 udp
            destination 1001 0
              10.1.0.2:49152 > 224.0.0.251:80 udp
            job 1001 1001
              10.1.0.3:49152 > 10.1.0.2:80 udp
            destination 0 1001
              10.1.0.3:49152 > 10.1.0.4:80 udp
            untagged 0 1001
              10.1.0.3:49152 > 10.1.0.2:80 udp
            tag 1001 1001
              10.1.0.3:49152 > 10.1.0.2:80 udp
            source 0 1001
              10.1.0.9:49152 > 10.1.0.2:80 udp
            other-job 1003 1001
              10.1.0.20:49152 > 10.1.0.2:80 udp
            tag 2001 2001
              10.1.0.3:49152 > 10.1.0.2:80 udp
            job 2001 2001
              10.1.0.3:49152 > 10.1.0.2:80 udp
            port 0 0
              10.1.0.3:49152 > 10.1.0.2:80 udp
        "#]],
    );
}
