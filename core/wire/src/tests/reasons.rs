//! Every reason has a frame that gets it, and a sibling that differs in one thing and does not.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use expect_test::expect;

use super::world::*;
use crate::forge::{ACK, ForgedArp, ForgedFrame, ForgedPacket, SYN, at};
use crate::{Mac, Reason};

/// The sight that gets the reason, and its sibling.
fn siblings(reason: Reason) -> Option<(Sight, Sight)> {
    let fabric = || Sight::fabric(tunnelled(udp(PEER, HERE, 80)));
    let workload = || Sight::workload(udp(HERE, PEER, 80));
    let foreign = |sight: Sight| sight.byte(at::IP + 19, STRANGER.octets()[3]);
    let roce = || Sight::workload(between(HERE, PEER, roce(HERE, PEER, 17, 0xffff)));
    let service = || Sight::workload(tcp(HERE, OFFERS, [40000, 2049], SYN));
    let pair = match reason {
        Reason::Job => (workload(), foreign(workload())),
        Reason::Permit => (service(), service().byte(at::TRANSPORT + 3, 2)),
        Reason::Underlay => {
            let bgp = ForgedPacket::tcp(FAR, OWN, 179, 40000, ACK, 0);
            let bgp = Sight::fabric(bgp.ethernet(mac(FAR), mac(OWN)));
            (bgp.clone(), bgp.byte(at::IP + 9, 47))
        }
        Reason::Neighbour => (request(), request().byte(21, 3)),
        Reason::Closed => (fabric().closed(), fabric()),
        Reason::Table => (fabric().policy_byte(0, 0), fabric()),
        Reason::Port => (workload().on(SWP7), workload()),
        Reason::Truncated => (
            Sight::workload(udp(HERE, PEER, 80).cut(33)),
            Sight::workload(udp(HERE, PEER, 80).cut(34)),
        ),
        Reason::Vlan => (workload().vlan_beside(), workload()),
        Reason::Ethertype => (workload().byte(13, 1), workload()),
        Reason::Header => (workload().byte(at::IP, 0x44), workload()),
        Reason::Options => (workload().byte(at::IP, 0x46), workload()),
        Reason::Fragment => (workload().byte(at::IP + 7, 2), workload().byte(at::IP + 7, 3)),
        Reason::Length => (workload().byte(at::IP + 3, 45), workload()),
        Reason::Protocol => (workload().byte(at::IP + 9, 132), workload()),
        Reason::Tunnel => (workload().byte(at::IP + 9, 47), workload()),
        Reason::NotOurs => (fabric().byte(at::IP + 19, 4), fabric()),
        Reason::Vxlan => (fabric().byte(at::VXLAN, 0x8c), fabric()),
        Reason::Untagged => (fabric().byte(at::VXLAN, 0x08), fabric()),
        Reason::Vni => (fabric().byte(at::VXLAN + 6, 0x8b), fabric()),
        Reason::Flood => (fabric().byte(at::INNER, 0x03), fabric()),
        Reason::SourceMac => (workload().byte(11, 3), workload()),
        Reason::Source => (workload().byte(at::IP + 15, 3), workload()),
        Reason::OuterSource => (fabric().byte(at::IP + 15, 5), fabric()),
        Reason::Tag => (fabric().byte(at::VXLAN + 3, 0xea), fabric()),
        Reason::Destination => (fabric().byte(at::INNER_IP + 19, 9), fabric()),
        Reason::Elsewhere => (fabric().byte(at::INNER_IP + 19, 4), fabric()),
        Reason::OtherJob => (foreign(workload()), workload()),
        Reason::Roce => (foreign(roce()), roce()),
        Reason::Bth => (roce().byte(at::TRANSPORT + 9, 1), roce()),
        Reason::Forged => (request().byte(27, 9), request()),
        Reason::Rate => return None,
    };
    Some(pair)
}

fn request() -> Sight {
    let (sender_mac, target_mac) = (mac(HERE), Mac([0; 6]));
    let arp = ForgedArp { reply: false, sender_mac, sender: HERE, target_mac, target: PEER };
    Sight::workload(ForgedFrame::arp(arp, Mac::BROADCAST))
}

#[test]
fn every_reason_has_a_frame_and_a_sibling_that_is_judged_otherwise() {
    let lines: Vec<String> = Reason::ALL
        .into_iter()
        .filter_map(siblings)
        .map(|(one, other)| format!("{:<22} {}", one.verdict(), other.verdict()))
        .collect();
    expect![[r#"
        job 1001 1001          other-job 1001 1003
        permit 1001 1002       other-job 1001 1002
        underlay 0 0           tunnel 0 0
        neighbour 1001 0       forged 1001 0
        closed 0 0             job 1001 1001
        table 0 0              job 1001 1001
        port 0 0               job 1001 1001
        truncated 1001 0       length 1001 0
        vlan 1001 0            job 1001 1001
        ethertype 1001 0       job 1001 1001
        header 1001 0          job 1001 1001
        options 1001 0         job 1001 1001
        fragment 1001 0        job 1001 1001
        length 1001 0          job 1001 1001
        protocol 1001 0        job 1001 1001
        tunnel 1001 0          job 1001 1001
        not-ours 0 0           job 1001 1001
        vxlan 0 0              job 1001 1001
        untagged 0 0           job 1001 1001
        vni 0 0                job 1001 1001
        flood 0 0              job 1001 1001
        source-mac 1001 0      job 1001 1001
        source 1001 0          job 1001 1001
        outer-source 1001 0    job 1001 1001
        tag 1001 0             job 1001 1001
        destination 1001 0     job 1001 1001
        elsewhere 1001 1001    job 1001 1001
        other-job 1001 1003    job 1001 1001
        roce 1001 1003         job 1001 1001
        bth 1001 0             job 1001 1001
        forged 1001 0          neighbour 1001 0"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn a_frame_listed_for_a_reason_gets_it_and_only_the_kernel_says_rate() {
    let mut met = BTreeSet::new();
    for reason in Reason::ALL {
        if let Some((one, other)) = siblings(reason) {
            met.insert(reason);
            assert_eq!(one.judge().reason, reason);
            assert_ne!(other.judge().reason, reason);
            assert_eq!(one.differences(&other), 1, "{reason}");
        }
    }
    assert_eq!(met.len() + 1, Reason::ALL.len());
    assert!(!met.contains(&Reason::Rate));
}
