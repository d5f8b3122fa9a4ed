//! Who may say "I have this address", and who hears it.

use core::net::{Ipv4Addr, Ipv6Addr};

use expect_test::expect;

use super::world::*;
use crate::forge::{ForgedArp, ForgedFrame, ForgedPacket};
use crate::{Mac, ipv6_of};

fn arp(reply: bool, sender_mac: Mac, sender: Ipv4Addr, target: Ipv4Addr) -> ForgedArp {
    ForgedArp { reply, sender_mac, sender, target_mac: Mac([0; 6]), target }
}

#[test]
fn arp_speaks_only_for_the_own_address() {
    let (own, other) = (mac(HERE), mac(PEER));
    let say = |arp, to| Sight::workload(ForgedFrame::arp(arp, to));
    let all = Mac::BROADCAST;
    check(
        &[
            say(arp(false, own, HERE, PEER), all),
            say(arp(true, own, HERE, HERE), all),
            // Gratuitous ARP for somebody else, and for the gateway.
            say(arp(true, own, PEER, PEER), all),
            say(arp(false, own, Ipv4Addr::new(10, 1, 0, 1), PEER), all),
            say(arp(false, own, Ipv4Addr::UNSPECIFIED, HERE), all),
            say(arp(true, own, Ipv4Addr::UNSPECIFIED, HERE), all),
            say(arp(false, other, HERE, PEER), all),
            say(arp(false, own, HERE, PEER), all).byte(27, 9),
            say(arp(false, own, HERE, PEER), all).byte(15, 6),
            say(arp(false, own, HERE, PEER), Mac([1, 0, 0x5e, 0, 0, 1])),
            say(arp(false, own, HERE, PEER), all).byte(6, 3),
        ],
        &expect![[r#"
            neighbour 1001 0
              arp 10.1.0.2 at 02:00:00:00:00:02 asks for 10.1.0.3
            neighbour 1001 0
              arp 10.1.0.2 is at 02:00:00:00:00:02
            source 1001 0
              arp 10.1.0.3 is at 02:00:00:00:00:02
            source 1001 0
              arp 10.1.0.1 at 02:00:00:00:00:02 asks for 10.1.0.3
            neighbour 1001 0
              arp 0.0.0.0 at 02:00:00:00:00:02 asks for 10.1.0.2
            source 1001 0
              arp 0.0.0.0 is at 02:00:00:00:00:02
            source-mac 1001 0
              arp 10.1.0.2 at 02:00:00:00:00:03 asks for 10.1.0.3
            forged 1001 0
              arp 10.1.0.2 at 02:00:00:00:00:09 asks for 10.1.0.3
            forged 1001 0
              arp 10.1.0.2 at 02:00:00:00:00:02 asks for 10.1.0.3
            flood 1001 0
              arp 10.1.0.2 at 02:00:00:00:00:02 asks for 10.1.0.3
            source-mac 1001 0
              arp 10.1.0.2 at 02:00:00:00:00:02 asks for 10.1.0.3
        "#]],
    );
}

#[test]
fn arp_is_heard_only_inside_a_job() {
    let say = |mark, source, sender| {
        Sight::local(mark, ForgedFrame::arp(arp(false, source, sender, HERE), Mac::BROADCAST))
    };
    let far = |vtep, sender| {
        let frame = ForgedFrame::arp(arp(false, mac(sender), sender, HERE), Mac::BROADCAST);
        Sight::fabric(frame.vxlan(vtep, OWN, VNI, 1001))
    };
    let gateway = Mac([2, 0, 0, 0, 0, 1]);
    check(
        &[
            say(0, gateway, Ipv4Addr::new(10, 1, 0, 1)),
            say(1001, gateway, Ipv4Addr::new(10, 1, 0, 1)),
            say(0, mac(PEER), PEER),
            say(1001, mac(PEER), PEER),
            say(1002, mac(PEER), PEER),
            say(0, mac(OFFERS), OFFERS),
            say(0, mac(NOBODY), NOBODY),
            far(FAR, PEER),
            far(FARTHER, PEER),
            far(FAR, OFFERS),
            far(FAR, NOBODY),
        ],
        &expect![[r#"
            neighbour 0 1001
              arp 10.1.0.1 at 02:00:00:00:00:01 asks for 10.1.0.2
            source 0 1001
              arp 10.1.0.1 at 02:00:00:00:00:01 asks for 10.1.0.2
            neighbour 1001 1001
              arp 10.1.0.3 at 02:00:00:00:00:03 asks for 10.1.0.2
            neighbour 1001 1001
              arp 10.1.0.3 at 02:00:00:00:00:03 asks for 10.1.0.2
            tag 1001 1001
              arp 10.1.0.3 at 02:00:00:00:00:03 asks for 10.1.0.2
            other-job 1002 1001
              arp 10.1.0.19 at 02:00:00:00:00:13 asks for 10.1.0.2
            source 0 1001
              arp 10.1.0.9 at 02:00:00:00:00:09 asks for 10.1.0.2
            neighbour 1001 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 arp 10.1.0.3 at 02:00:00:00:00:03 asks for 10.1.0.2
            outer-source 1001 0
              10.255.0.5 > 10.255.0.3 vni 101001 tag 1001 arp 10.1.0.3 at 02:00:00:00:00:03 asks for 10.1.0.2
            tag 1002 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 arp 10.1.0.19 at 02:00:00:00:00:13 asks for 10.1.0.2
            source 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 arp 10.1.0.9 at 02:00:00:00:00:09 asks for 10.1.0.2
        "#]],
    );
}

#[test]
fn neighbour_discovery_speaks_only_for_the_own_address_and_routers_are_not_workloads() {
    let (own, all) = (mac(HERE), Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1));
    let say =
        |packet: ForgedPacket| Sight::workload(packet.ethernet(own, Mac([0x33, 0x33, 0, 0, 0, 1])));
    let nobody = Ipv6Addr::UNSPECIFIED;
    let mut extra = ForgedPacket::solicit(six(HERE), six(PEER), Some(own));
    extra.payload_mut().extend([14, 1, 0, 0, 0, 0, 0, 0]);
    check(
        &[
            say(ForgedPacket::solicit(six(HERE), six(PEER), Some(own))),
            say(ForgedPacket::solicit(nobody, six(HERE), None)),
            say(ForgedPacket::solicit(nobody, six(PEER), None)),
            say(ForgedPacket::advertise(six(HERE), all, six(HERE), Some(own))),
            say(ForgedPacket::advertise(six(HERE), all, six(PEER), Some(own))),
            say(ForgedPacket::advertise(six(HERE), all, six(HERE), Some(mac(PEER)))),
            say(ForgedPacket::advertise(six(HERE), all, all, Some(own))),
            say(ForgedPacket::solicit(ipv6_of(BLUE, HERE), six(PEER), Some(own))),
            say(ForgedPacket::solicit(six(HERE), six(PEER), Some(own)).hop_limit(64)),
            say(extra),
            say(ForgedPacket::icmp(six(HERE), all, 133, 0, 0)),
            // A rogue router, and a redirect.
            say(ForgedPacket::icmp(six(HERE), all, 134, 0, 8).hop_limit(255)),
            say(ForgedPacket::icmp(six(HERE), six(PEER), 137, 0, 32).hop_limit(255)),
            say(ForgedPacket::echo(six(HERE), all, 8)),
        ],
        &expect![[r#"
            neighbour 1001 0
              fd8e:5b3a:71c4:11::a01:2 > ff02::1:ff01:3 icmp type 135 code 0
            neighbour 1001 0
              :: > ff02::1:ff01:2 icmp type 135 code 0
            source 1001 0
              :: > ff02::1:ff01:3 icmp type 135 code 0
            neighbour 1001 0
              fd8e:5b3a:71c4:11::a01:2 > ff02::1 icmp type 136 code 0
            source 1001 0
              fd8e:5b3a:71c4:11::a01:2 > ff02::1 icmp type 136 code 0
            forged 1001 0
              fd8e:5b3a:71c4:11::a01:2 > ff02::1 icmp type 136 code 0
            forged 1001 0
              fd8e:5b3a:71c4:11::a01:2 > ff02::1 icmp type 136 code 0
            source 1001 0
              fd8e:5b3a:71c4:12::a01:2 > ff02::1:ff01:3 icmp type 135 code 0
            forged 1001 0
              fd8e:5b3a:71c4:11::a01:2 > ff02::1:ff01:3 icmp type 135 code 0
            forged 1001 0
              fd8e:5b3a:71c4:11::a01:2 > ff02::1:ff01:3 icmp type 135 code 0
            forged 1001 0
              fd8e:5b3a:71c4:11::a01:2 > ff02::1 icmp type 133 code 0
            forged 1001 0
              fd8e:5b3a:71c4:11::a01:2 > ff02::1 icmp type 134 code 0
            forged 1001 0
              fd8e:5b3a:71c4:11::a01:2 > fd8e:5b3a:71c4:11::a01:3 icmp type 137 code 0
            flood 1001 0
              fd8e:5b3a:71c4:11::a01:2 > ff02::1 icmp type 128 code 0
        "#]],
    );
}
