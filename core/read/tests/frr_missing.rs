//! What a text of FRR lacks, and what stands where FRR reads it otherwise than it looks.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use expect_test::{Expect, expect};
use model::{Dialect, Part};

const LEAF: &str = "\
frr version 8.4.4
frr defaults datacenter
no zebra nexthop kernel enable
interface lo
 ip address 10.255.0.3/32
exit
interface swp33
 ip address 172.16.0.4/31
exit
router bgp 4200000003
 bgp bestpath as-path multipath-relax
 neighbor 172.16.0.5 remote-as 4200000100
 address-family ipv4 unicast
  network 10.255.0.3/32
 exit-address-family
exit
vrf t17
 vni 50017
exit-vrf
router bgp 4200000003 vrf t17
 address-family ipv4 unicast
  redistribute connected
 exit-address-family
 address-family ipv6 unicast
  redistribute connected
 exit-address-family
 address-family l2vpn evpn
  advertise ipv4 unicast
  advertise ipv6 unicast
  route-target both 65000:50017
 exit-address-family
exit
";

#[test]
fn a_leaf_that_says_all_of_it_lacks_nothing() {
    check("", "", expect![""]);
}

#[test]
fn defaults_that_others_are_read_by_are_demanded() {
    check(
        "frr defaults datacenter\n",
        "",
        expect![[r#"
        lacks frr defaults datacenter
    "#]],
    );
    check(
        "no zebra nexthop kernel enable\n",
        "",
        expect![[r#"
        lacks no zebra nexthop kernel enable
    "#]],
    );
    check(
        " bgp bestpath as-path multipath-relax\n",
        "",
        expect![[r#"
        lacks bgp bestpath as-path multipath-relax
    "#]],
    );
}

#[test]
fn a_vrf_tells_others_of_its_networks() {
    check(
        "  redistribute connected\n",
        "",
        expect![[r#"
        lacks redistribute connected of ipv4 unicast in VRF t17
    "#]],
    );
    check(
        "  advertise ipv6 unicast\n",
        "",
        expect![[r#"
        lacks advertise ipv6 unicast in VRF t17
    "#]],
    );
}

#[test]
fn a_device_announces_what_it_is_and_nothing_else() {
    check(
        "  network 10.255.0.3/32\n",
        "",
        expect![[r#"
        lacks network 10.255.0.3/32 of address-family ipv4 unicast
    "#]],
    );
    check(
        "  network 10.255.0.3/32\n",
        "  network 10.255.0.9/32\n",
        expect![[r#"
        lacks network 10.255.0.3/32 of address-family ipv4 unicast
        stray network 10.255.0.9/32
    "#]],
    );
    check(
        " ip address 10.255.0.3/32\n",
        "",
        expect![[r#"
        lacks ip address … of interface lo
        stray network 10.255.0.3/32
    "#]],
    );
}

#[test]
fn an_address_on_a_port_is_that_of_a_cable_to_a_neighbour() {
    check(
        "interface swp33\n",
        "interface swp33\n ip address 10.1.0.1/24\n",
        expect![[r#"
        stray ip address 10.1.0.1/24
    "#]],
    );
    check(
        "interface swp33\n",
        "interface swp33\n ip address 172.16.0.8/31\n",
        expect![[r#"
        stray ip address 172.16.0.8/31
    "#]],
    );
}

#[test]
fn a_lost_neighbour_is_noticed_soon() {
    let sound = " bgp bestpath as-path multipath-relax\n";
    for (line, is_known) in [
        (" timers bgp 10 30\n", true),
        (" timers bgp 0 0\n", false),
        (" timers bgp 20000 60000\n", false),
        (" neighbor 172.16.0.5 timers 3 9\n", true),
        (" neighbor 172.16.0.5 timers 0 0\n", false),
        (" neighbor 172.16.0.5 timers connect 65535\n", false),
    ] {
        let said = said(&LEAF.replacen(sound, &format!("{sound}{line}"), 1));
        assert_eq!(said.is_empty(), is_known, "{line}: {said}");
    }
}

#[test]
fn one_way_alone_is_not_known_to_be_enough() {
    let sound = "  network 10.255.0.3/32\n";
    check(sound, &format!("{sound}  maximum-paths 16\n"), expect![""]);
    check(
        sound,
        &format!("{sound}  maximum-paths 1\n"),
        expect![[r#"
        unknown maximum-paths 1: no line of this block is written so
    "#]],
    );
}

#[test]
fn what_stands_in_front_of_the_defaults_is_read_by_others() {
    let defaults = "frr defaults datacenter\n";
    let late = LEAF.replacen(defaults, "", 1) + defaults;
    expect![[r#"
        unknown frr defaults datacenter: what stands above was read by other defaults
    "#]]
    .assert_eq(&said(&late));
    check(
        "frr version 8.4.4",
        "frr version 6.0",
        expect![[r#"
        unknown frr version 6.0: the defaults of this version are not known
    "#]],
    );
}

#[test]
fn a_vrfs_speaker_has_evpn_only_behind_the_devices_own() {
    let (begin, rest) = LEAF.split_at(LEAF.find("router bgp").unwrap());
    let (own, tenant) = rest.split_at(rest.find("vrf t17").unwrap());
    expect![[r#"
        unknown router bgp 4200000003: the VRFs above are no VRFs of EVPN then
    "#]]
    .assert_eq(&said(&format!("{begin}{tenant}{own}")));
}

#[test]
fn comments_begin_with_either_sign() {
    check("interface lo\n", "# looked at on Monday\n! and on Tuesday\ninterface lo\n", expect![""]);
}

/// What is told of a leaf in which these lines stand in place of those.
fn check(from: &str, to: &str, expected: Expect) {
    assert!(LEAF.contains(from));
    expected.assert_eq(&said(&LEAF.replacen(from, to, 1)));
}

fn said(text: &str) -> String {
    let reading = read::part(Dialect::Frr, &Part::Whole, text);
    let unknown = reading.unknown.iter().map(|one| format!("unknown {}: {}\n", one.text, one.why));
    let lacking = reading.lacking.iter().map(|one| format!("lacks {}\n", one.text));
    let strays = reading.claims.iter().filter_map(|claim| match &claim.fact {
        read::Fact::Stray { line, .. } => Some(format!("stray {line}\n")),
        _ => None,
    });
    unknown.chain(lacking).chain(strays).collect()
}
