//! Edits that were proved once, each with the code by which it is found now: the network's, in the
//! world of `src/mutant/worlds/network.yaml`. Those of FRR's texts alone are in
//! `core/read/tests/frr_missing.rs`.
#![allow(clippy::unwrap_used, reason = "a fixture that is wrong fails its test")]

use cases::mutant::sound;
use model::{Dialect, Part, PartText};

#[test]
fn a_target_of_a_segment_is_no_target_of_a_vrf() {
    let vrf = "  route-target export 65000:50001\n";
    check(Dialect::Frr, vrf, &format!("{vrf}  route-target export 65000:100016\n"), "mixed-target");
    let segment = "   rd 10.255.0.2:16\n";
    let both = format!("{segment}   route-target both 65000:50001\n");
    check(Dialect::Frr, segment, &both, "mixed-target");
}

#[test]
fn what_a_vrf_tells_others_comes_in_elsewhere() {
    let own = "route-target import 65000:50002 evpn";
    check(Dialect::Nxos, own, "description nobody", "missing-line");
}

#[test]
fn a_vrf_has_the_vni_of_its_tunnel() {
    check(Dialect::Frr, " vni 50001\n", " vni 50901\n", "vni-down");
    check(Dialect::Linux, "vxlan vx50001 id 50001 ", "# ", "vni-down");
}

#[test]
fn a_vni_is_one_segment_of_a_device() {
    let vlan = "vlan 99\n  vn-segment 100017\nvlan 2\n";
    check(Dialect::Nxos, "vlan 2\n", vlan, "contradiction");
    check(Dialect::Nxos, "vlan 2\n", "vlan 1\n  vn-segment 100099\nvlan 2\n", "unknown-line");
}

#[test]
fn a_bridge_domain_has_one_gateway_and_nobody_else_has_its_address() {
    let gateway = "  ip address 10.1.0.1/29\n";
    check(Dialect::Nxos, gateway, &format!("{gateway}  ip address 10.1.0.9/29\n"), "contradiction");
    let up = "  fabric forwarding mode anycast-gateway\n";
    check(Dialect::Nxos, up, &format!("{up}  shutdown\n"), "missing-line");
    let bridge = "bridge br17 ";
    let second = "bridge br17 vrf t2 address 10.1.0.1/29 mac 02:00:00:00:00:01\nbridge br17 ";
    check(Dialect::Linux, bridge, second, "contradiction");
    let bound = "neigh 10.0.0.1 lladdr 02:01:00:00:00:00 dev swp1 master br17\nbridge br17 ";
    check(Dialect::Linux, bridge, bound, "contradiction");
    let other = "address 10.0.0.1/29 mac 02:00:00:00:00:01";
    check(Dialect::Linux, other, "address 10.0.0.1/29 mac 02:00:00:00:01:01", "unknown-line");
}

#[test]
fn a_way_out_of_a_vrf_is_the_only_one_to_its_addresses() {
    let planned = "reach 10.9.0.2-10.9.0.3 vrf t2 ";
    for other in [
        "reach 10.9.0.2-10.9.0.9 vrf t2 vtep 10.255.0.2 vni 50003",
        "reach 10.9.0.2-10.9.0.3 vrf t2 vtep 10.255.0.9 vni 50003",
        "reach 10.9.0.3-10.9.0.3 vrf t2 vtep 10.255.0.2 vni 50002",
    ] {
        check(Dialect::Linux, planned, &format!("{other}\n{planned}"), "contradiction");
    }
}

#[test]
fn a_session_has_a_secret_at_both_ends_or_at_none() {
    let neighbor = "    remote-as 4200000001\n";
    let secret = format!("{neighbor}    password 3 9125d59c18a9b015\n");
    check(Dialect::Nxos, neighbor, &secret, "half-session");
}

#[test]
fn a_group_takes_in_single_addresses() {
    let host = "match connected-endpoints vrf t1 ipv4 10.1.0.2/32";
    let network = "match connected-endpoints vrf t1 ipv4 10.1.0.0/24";
    check(Dialect::Nxos, host, network, "unknown-line");
}

#[test]
fn nobody_but_the_administrator_may_change_a_switch() {
    let user = "username mallory password 5 $5$JKLMNO$kq1 role network-admin\nfeature bgp\n";
    check(Dialect::Nxos, "feature bgp\n", user, "unknown-line");
}

#[test]
fn what_workloads_are_sent_waits_nowhere() {
    let planned = "queue swp5 rate ";
    check(Dialect::Linux, planned, &format!("queue swp4 rate 8\n{planned}"), "broken-link");
}

/// The first text of the dialect that says `from` is found by this code once it says `to`.
fn check(dialect: Dialect, from: &str, to: &str, code: &str) {
    let mut world = sound(dialect).unwrap();
    let says = |artifact: &&mut model::Artifact| {
        artifact.dialect == dialect && artifact.text().contains(from)
    };
    let artifact = world.artifacts.iter_mut().find(says).unwrap();
    let text = artifact.text().replacen(from, to, 1);
    artifact.parts = vec![PartText { part: Part::Whole, text }];
    let found = verify::findings(&world.plan.fleet, &world.owners, &world.artifacts);
    let codes: Vec<&str> = found.iter().map(|finding| finding.code().as_str()).collect();
    assert!(codes.contains(&code), "{dialect}: {to}: {codes:?}");
}
