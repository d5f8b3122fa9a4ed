//! A policy that is broken, or was never whole.

use expect_test::expect;

use super::world::*;
use crate::forge::{ACK, ForgedPacket, at};
use crate::layout;

#[test]
fn a_policy_that_contradicts_itself_lets_nothing_pass() {
    let fabric = || Sight::fabric(tunnelled(udp(PEER, HERE, 80)));
    let workload = || Sight::workload(udp(HERE, OFFERS, 53));
    check(
        &[
            fabric().policy_cut(127),
            fabric().policy_cut(128),
            // The list of VNIs, the spaces and the records are far away.
            fabric().policy_byte(layout::VNIS + 11, 0xff),
            fabric().policy_byte(layout::SPACES + 3, 0xff),
            fabric().policy_byte(SPACES_AT + 11, 0xff),
            fabric().policy_byte(SPACES_AT + 12, 1),
            // A VNI, a port and a port's space name what is not there.
            fabric().policy_byte(VNIS_AT, 9),
            workload().policy_byte(INTERFACES_AT, 9),
            workload().policy_byte(PORTS_AT + 4, 9),
            workload().policy_byte(layout::PORTS + 3, 0xff),
            workload().policy_byte(layout::INTERFACES + 11, 0xff),
            workload().policy_byte(layout::PERMITS + 3, 0xff),
            workload().policy_cut(PERMITS_AT),
            // Without permits there is none.
            workload().policy_byte(layout::PERMITS, 0).policy_byte(layout::PERMITS + 1, 0),
            Sight::local(2001, udp(PEER, HERE, 80)).on(SWP8).policy_byte(LISTS_AT + 3, 0xff),
            Sight::local(2001, udp(PEER, HERE, 80)).on(SWP8).policy_byte(PAGES_AT + 3, 0xff),
            Sight::local(2001, udp(PEER, HERE, 80)).on(SWP8).policy_cut(PAGE_AT),
        ],
        &expect![[r#"
            table 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            table 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            table 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            table 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            table 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            source 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            table 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            table 0 0
              10.1.0.2:49152 > 10.1.0.19:53 udp
            table 1001 0
              10.1.0.2:49152 > 10.1.0.19:53 udp
            table 0 0
              10.1.0.2:49152 > 10.1.0.19:53 udp
            table 0 0
              10.1.0.2:49152 > 10.1.0.19:53 udp
            table 1001 1002
              10.1.0.2:49152 > 10.1.0.19:53 udp
            table 1001 1002
              10.1.0.2:49152 > 10.1.0.19:53 udp
            other-job 1001 1002
              10.1.0.2:49152 > 10.1.0.19:53 udp
            table 0 2001
              10.1.0.3:49152 > 10.1.0.2:80 udp
            table 0 2001
              10.1.0.3:49152 > 10.1.0.2:80 udp
            table 0 2001
              10.1.0.3:49152 > 10.1.0.2:80 udp
        "#]],
    );
}

#[test]
fn without_a_policy_only_the_underlay_passes() {
    let bgp = between(FAR, OWN, ForgedPacket::tcp(FAR, OWN, 179, 40000, ACK, 0));
    let agent = between(FAR, OWN, ForgedPacket::udp(FAR, OWN, 50000, 4000, 8));
    check(
        &[
            Sight::fabric(bgp.clone()).closed(),
            Sight::fabric(bgp).policy_byte(0, 0),
            Sight::fabric(agent).closed(),
            Sight::fabric(between(FAR, OWN, ForgedPacket::echo(FAR, OWN, 8))).closed(),
            Sight::fabric(tunnelled(udp(PEER, HERE, 80))).closed(),
            Sight::fabric(tunnelled(udp(PEER, HERE, 80))).policy_byte(0, 0),
            // A header that cannot be is refused for that, policy or not.
            Sight::fabric(tunnelled(udp(PEER, HERE, 80)).with(at::IP, 0x46)).closed(),
            Sight::workload(udp(HERE, PEER, 80)).closed(),
            Sight::workload(udp(HERE, PEER, 80)).policy_byte(0, 0),
            Sight::local(1001, udp(PEER, HERE, 80)).closed(),
            Sight::local(1001, udp(PEER, HERE, 80)).policy_byte(0, 0),
        ],
        &expect![[r#"
            underlay 0 0
              10.255.0.4:179 > 10.255.0.3:40000 tcp
            underlay 0 0
              10.255.0.4:179 > 10.255.0.3:40000 tcp
            underlay 0 0
              10.255.0.4:50000 > 10.255.0.3:4000 udp
            underlay 0 0
              10.255.0.4 > 10.255.0.3 icmp type 8 code 0
            closed 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            table 0 0
              10.255.0.4 > 10.255.0.3 vni 101001 tag 1001 10.1.0.3:49152 > 10.1.0.2:80 udp
            options 0 0
              10.255.0.4:74 > 10.255.0.3:0 udp
            closed 0 0
              10.1.0.2:49152 > 10.1.0.3:80 udp
            table 0 0
              10.1.0.2:49152 > 10.1.0.3:80 udp
            closed 0 0
              10.1.0.3:49152 > 10.1.0.2:80 udp
            table 0 0
              10.1.0.3:49152 > 10.1.0.2:80 udp
        "#]],
    );
}
